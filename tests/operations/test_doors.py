"""Every door to every operation has all of its settings: one test per door, over all rows."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from discreet.demo import generate
from discreet.microdata import Secret, described_records
from discreet.operations import OPERATIONS, ChangedSource, MicrodataSource, Operation, fields_of
from discreet.pretabular import METHODS
from discreet_service.client import Client
from discreet_service.problems import ServiceError
from tests.helpers.asgi_browser import BASE
from tests.helpers.command import run
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import RoleCallers, bare_service

PERSONS = generate(persons=500, seed=2026).persons.select(
    *("person_id", "household_id", "state", "district", "sex", "age", "marital_status"),
    pl.len().over("household_id").alias("size"),
)
SECRET = "a long and secret sentence"
ROWS = [pytest.param(row, id=name) for name, row in OPERATIONS.items()]
PAGES = [pytest.param(row, id=name) for name, row in OPERATIONS.items() if row.page]
CALLED = [pytest.param(row, id=name) for name, row in OPERATIONS.items() if row.calls]
#: Settings that another row has as its own, that stand beside the others, or that nobody is asked.
NESTED = {"audit": {"suppression"}, "safe": {"record_key", "grid", "exact_up_to"}}


def settings_of(row: Operation) -> set[str]:
    return set(row.settings.model_fields) - NESTED.get(row.name, set())


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoleCallers]:
    service = bare_service(tmp_path_factory.mktemp("doors"))
    roles: dict[str, list[str]] = {"paula": ["producer"], "rita": ["requester"]}
    parts = ("operations", "jobs", "discreet_service.studio.operations")
    yield RoleCallers(service, parts, roles)
    service.close()


@pytest.mark.parametrize("row", ROWS)
def test_every_setting_has_words_in_both_languages(row: Operation) -> None:
    fields = {each.name: each for each in fields_of(row.settings, row.package)}
    assert set(fields) == settings_of(row)
    # Subtables are left out of perturbed tables, with the words of those.
    choices = {*row.words("choices"), *OPERATIONS["perturbation"].words("choices")}
    for field in fields.values():
        assert field.kind != "other", field.name
        texts = [field.label, field.help, *field.choice_labels.values()]
        for text in texts:
            assert text["en"], field.name
            assert text["de"], field.name
        assert {f"{field.name}-{each}" for each in field.choices} <= choices
    assert row.begin == row.settings.model_validate(row.begin.model_dump())


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name) for name, row in OPERATIONS.items() if row.command]
)
def test_commands_have_every_setting_as_an_option(row: Operation) -> None:
    words = [*row.command.split(), "--help"]
    shown = run(*words, env={"COLUMNS": "250"}).output
    for field in fields_of(row.settings, row.package):
        assert f"--{field.name.replace('_', '-')}" in shown
        if field.kind == "choice":
            assert "|".join(field.choices) in shown
        if field.usual not in (None, False, []):
            assert f"[default: {field.usual}]" in shown


@pytest.mark.parametrize("row", CALLED)
def test_endpoints_describe_every_setting_and_refuse_others(
    callers: RoleCallers, row: Operation
) -> None:
    document = callers.ask("", "GET", "/api/v1/openapi.json").json()
    ways = [f"/api/v1/{row.address}{end}" for end in row.ends][: len(row.calls)]
    for way in ways:
        (call,) = document["paths"][way].values()
        schema = call["requestBody"]["content"]["application/json"]["schema"]
        told = schema["properties"]
        if row.section:
            name = str(told[row.section]["$ref"]).rpartition("/")[2]
            told = document["components"]["schemas"][name]["properties"]
        assert settings_of(row) <= set(told), way
        said: dict[str, Any] = {"by": ["a"], "cells": [{"a": "Total", "n": 1}]}
        if row.on_records:
            said = {"records": [{"a": "b", "n": 1}]}
        said |= {row.section: {"magic": 1}} if row.section else {"magic": 1}
        answer = callers.ask("paula", "POST", way, json=said)
        assert answer.status_code == 422
        where = f"{row.section}.magic" if row.section else ""
        assert where in {each["where"] for each in answer.json()["problems"]}
        assert callers.ask("rita", "POST", way, json=said).status_code == 403
        assert callers.ask("", "POST", way, json=said).status_code == 401


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("row", PAGES)
def test_pages_have_a_field_for_every_setting(
    callers: RoleCallers, row: Operation, language: str
) -> None:
    head = {"Accept": "text/html", "Accept-Language": language}
    # Settings are asked for once data were read.
    page = callers.ask("paula", "GET", f"/{row.page}?example=1", headers=head).text
    for field in fields_of(row.settings, row.package):
        if field.kind == "steps":  # each has fields of its own
            assert all(f'<option value="{name}"' in page for name in METHODS)
            continue
        assert re.search(rf'<(input|select|textarea)[^>]* name="{field.name}"', page), field.name
        assert field.label[language] in page
        for choice in field.choices:
            assert f'<option value="{choice}"' in page
    assert row.words(row.name, language)["lead"] in page


@pytest.mark.parametrize("row", ROWS)
def test_clients_send_settings_where_requests_have_them(row: Operation) -> None:
    cells = {"a": ["Total"], "n": [1]}
    settings = row.begin.model_dump(mode="json", exclude_unset=True) or {
        name: getattr(row.begin, name) for name in sorted(settings_of(row))[:1]
    }
    name = next(iter(settings))
    beside = {"id": ["a"]} if row.on_records else {"by": ["a"]}
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, content=b"")

    client = Client(BASE, transport=httpx.MockTransport(handle))
    assert client.run(row.name, pl.DataFrame(cells), format="csv", **beside, **settings) == b""
    assert sent[0].url.path == f"/api/v1/{row.address}{row.ends[0]}"
    asked = sent[0].url.params["request"]
    assert f'"{name}"' in asked
    if row.step:
        assert f'"method": "{row.name}"' in asked
    elif row.section:
        assert f'"{row.section}": {{' in asked


@for_all_rows("row", [row for row in ROWS if row.values[0].on_records])
def test_methods_on_records_run_on_the_example(row: Operation) -> None:
    """By a row and by its command the same comes of invented persons."""
    source = MicrodataSource(records=PERSONS, id=["person_id"], files=False)
    if row.takes is ChangedSource:
        drop = {"person_id", "household_id"} - {*getattr(row.begin, "direct", ())}
        source = ChangedSource(
            records=PERSONS, id=["person_id"], files=False, drop=[*drop],
            keep=[], keys=["sex", "state"], tables=[["district"]],
        )  # fmt: skip
    secret = Secret.of(SECRET)
    made: Any = row.run(source, row.begin, secret)
    if row.answer == "report":
        assert made["rates"]["records"] == PERSONS.height
        return
    assert made.described.frame.height > 0
    assert set(made.statement) == {"en", "de"}
    if row.takes is ChangedSource:
        study = row.study(source, row.begin, secret)
        assert study.made.described.frame.equals(made.described.frame)
        assert study.described()["risk"][0]["records"] == PERSONS.height


@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0].step])
def test_the_example_of_a_command_does_what_its_row_does(
    row: Operation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PERSONS.write_csv("persons.csv")
    Path("secret.key").write_text(SECRET)
    Path("secret.key").chmod(0o600)
    Path("totals.csv").write_text(OPERATIONS["calibrate"].begin.totals)
    words = [*row.command.split(), "--help"]
    shown = run(*words, env={"COLUMNS": "400"}).output
    example = re.search(r"Example: discreet (.*)", shown)
    assert example is not None
    done = run(*shlex.split(example[1]))
    assert done.exit_code == 0, done.output
    assert row.words(row.name)["done"].partition(":")[0].partition("{")[0] in done.output
    drop = [] if row.name == "drop_identifiers" else ["person_id"]
    source = ChangedSource(
        records=described_records("persons.csv"), id=["person_id"], files=True, drop=drop,
        keep=[], keys=[], tables=[],
    )  # fmt: skip
    made: Any = row.run(source, row.begin, Secret.of(SECRET))
    assert pl.read_csv("changed.csv", infer_schema=False).rows() == [
        tuple(None if each is None else str(each) for each in values)
        for values in made.described.frame.rows()
    ]


def test_clients_know_settings_before_anything_is_sent() -> None:
    client, cells = Client(BASE), pl.DataFrame({"n": [1]})
    with pytest.raises(ServiceError) as caught:
        client.run("rounding", cells, base=1, method="controlled", margins=3)
    assert {each.where for each in caught.value.problems} == {"rounding.base", "rounding.margins"}
    with pytest.raises(ServiceError, match="unknown method"):
        client.run("magic", cells)
