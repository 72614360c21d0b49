"""Attacks by questions on a whole service, with the policy of the demonstration."""

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import asked, replayed_packages

COUNTS = "/api/v1/protect/counts"


@pytest.fixture(scope="module")
def demo(demonstration: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDemo]:
    place = tmp_path_factory.mktemp("questions") / "service"
    with running_demo(demonstration, place) as found:
        found.clock.step = 20
        yield found


def _released(demo: RunningDemo) -> int:
    import sqlalchemy as sa

    from discreet_service.database.schema import RELEASED_TABLES

    with demo.service.database.reading() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(RELEASED_TABLES)) or 0)


def test_all_spellings_are_one_table_and_charged_once(demo: RunningDemo) -> None:
    spellings: list[dict[str, Any]] = [
        {"by": ["sex", "marital_status"]},
        {"by": [{"variable": "sex"}, {"variable": "marital_status"}]},
        {"by": ["sex", "marital_status"], "totals": "all", "version": "2022-1"},
        {"by": ["sex", "marital_status"], "where": [{"variable": "sex", "codes": ["w", "m"]}]},
        {"by": [{"variable": "sex", "level": 1}, "marital_status"], "measures": ["count"]},
    ]
    before = _released(demo)
    told = [asked(demo, **each) for each in spellings]
    assert {each.status for each in told} == {200}
    assert len({each.content for each in told}) == 1
    assert len({each.header("etag") for each in told}) == 1
    assert _released(demo) == before + 1
    rows = demo.ask("GET", "/api/v1/log?size=5", key="auditor").json()["rows"]
    assert len({row["digest"] for row in rows}) == 1


def test_groups_of_ones_own_are_not_answered(demo: RunningDemo) -> None:
    """Averaging over free partitions: with P6 off there are none, so nothing to average."""
    table = pl.read_csv(asked(demo, by=["marital_status"]).content)
    codes = [code for code in table["marital_status"] if code != "Total"]
    got = 0
    for size in (2, 3):
        for block in itertools.islice(itertools.combinations(codes, size), 6):
            where = [{"variable": "marital_status", "codes": list(block)}]
            got += asked(demo, key="everybody", where=where).status == 200
    assert got == 0


def test_averaging_within_a_place_is_held_by_its_depth(demo: RunningDemo) -> None:
    """All crossings of one municipality: only those as deep as its policy says are answered.

    Over the whole country crossings are answered, and averaging finds counts: those are large, and
    the policy says so. A municipality that is a whole district counts as a district. How often it
    succeeds in a place is measured in the attacks on policies.
    """
    where = [{"variable": "region", "codes": ["01002001"]}]
    names = ("sex", "age5", "marital_status", "education")
    wanted = [by for size in (1, 2, 3) for by in itertools.combinations(names, size)]
    answered = [
        by for by in wanted if asked(demo, key="producer", by=list(by), where=where).status == 200
    ]
    assert 0 < len(answered) <= 15
    assert all(len(by) <= 2 for by in answered)


def test_cells_in_is_for_trusted_systems_alone(demo: RunningDemo) -> None:
    cells = {"parameter_set": "census", "cells": [{"n": 3, "key": 5, "official": False}]}
    for key in ("reader", "requester", "producer", "reviewer", "custodian", "auditor", "admin"):
        told = demo.ask("POST", COUNTS, key=key, data=cells)
        assert (told.status, b"value" in told.content) == (403, False)
    assert demo.ask("POST", COUNTS, data=cells).status == 401
    assert demo.ask("POST", COUNTS, key="service", data=cells).status == 200


def test_extraction_of_parameters_is_seen(demo: RunningDemo) -> None:
    """A trusted system that tabulates the noise gets it, always; and the alarm is always given."""
    steps = np.linspace(1, 2**49, 2_000).astype(np.int64)
    cells = [{"n": 3, "key": int(key), "official": False} for key in steps]
    told = demo.ask("POST", COUNTS, key="service", data={"parameter_set": "census", "cells": cells})
    assert told.status == 200
    rows = demo.ask("GET", "/api/v1/log?size=1", key="auditor").json()["rows"]
    assert any("alarm" in rule for rule in rows[0]["rules"])
    assert any('"alarm"' in line for line in demo.logged())
    # And the caller is not told.
    assert "alarm" not in told.text + str(told.headers)


def _refusals(demo: RunningDemo) -> list[dict[str, Any]]:
    """Questions about few: one, two, some; and nobody. Refused, each for its people."""
    place = demo.folder / "datasets" / "census-2022-1" / "persons.parquet"
    sizes = pl.read_parquet(place)["nationality"].value_counts().sort("count", "nationality")
    few = sizes.filter(pl.col("count") < 25)["nationality"].cast(pl.String).to_list()
    one = {"variable": "nationality", "codes": [few[0]]}
    codes = [{"where": [{"variable": "nationality", "codes": [code]}]} for code in few[:6]]
    old = {"variable": "marital_status", "codes": ["widowed"]}
    return [*codes, {"where": [one, old]}]


def test_refusals_for_their_people_read_alike_and_take_alike(demo: RunningDemo) -> None:
    """Few, fewer, nobody: one body, the same headers, one class of time; measured for real."""
    refused = _refusals(demo)
    real = time.time_ns() // 1_000_000 - demo.clock.now
    told, took = [], []
    clock = demo.service.policies._clock
    demo.service.policies._clock = lambda: time.time_ns() // 1_000_000 - real
    try:
        for query in refused * 2:
            start = time.perf_counter()
            answer = asked(demo, key="producer", **query)
            took.append(time.perf_counter() - start)
            told.append(answer.without_number())
    finally:
        demo.service.policies._clock = clock
    assert {each[0] for each in told} == {403}
    assert len({repr(each) for each in told}) == 1
    assert not re.search(r'"P[457]"|universe of|\d+ (persons|records)', told[0][1])
    # Padded to a grid of 50 ms: none is answered sooner than that.
    assert min(took) >= 0.05


def test_who_asked_before_shows_in_time_and_that_is_said(demo: RunningDemo) -> None:
    """What was answered before comes faster. That is an oracle about askers, not about people.

    304 is given to whoever names the tag; the tag is keyed, so nobody makes it up, and a policy is
    asked before: who may not see a table is not told whether there is one.
    """
    told = asked(demo, key="producer", by=["education"])
    tag = told.header("etag")
    same = asked(demo, key="producer", known=tag, by=["education"])
    assert (same.status, same.content) == (304, b"")
    for known in ("*", tag, '"x"'):
        assert asked(demo, key="producer", known=known, **_refusals(demo)[0]).status == 403
    for key in ("reader", "service", ""):
        assert asked(demo, key=key, known="*", by=["education"]).status in (401, 403)


def test_old_packages_and_policies_are_not_taken_again(demo: RunningDemo) -> None:
    """The package in use, proposed once more; a policy of a revision that was; one not signed."""
    assert replayed_packages(demo, 8).hits == 0
    place = demo.folder / "datasets" / "census-2022-1"
    policy = (place / "POLICY.toml").read_text("utf-8")
    seal = (place / "POLICY.toml.sig").read_text("utf-8")
    laxer = policy.replace("least = 50", "least = 1").replace("revision = 1", "revision = 2")
    assert laxer.count("least = 1")
    assert "revision = 2" in laxer
    for text, status in ((policy, 409), (laxer, 422)):
        told = demo.ask(
            "POST", "/api/v1/policies/census/2022-1/changes", key="custodian",
            data={"policy": text, "signature": seal, "reason": "once more"},
        )  # fmt: skip
        assert told.status == status, told.text


def test_a_release_shows_cells_that_answers_hide_and_that_is_said(demo: RunningDemo) -> None:
    """A limit: releases are not looked at. What is read there is one figure with its noise."""
    names = ["region", "age5", "sex"]
    levels = {"variable": "region", "level": ["state", "district", "municipality"]}
    table = pl.read_csv(asked(demo, by=[levels, *names[1:]]).content, infer_schema=False)
    told = demo.ask("GET", "/api/v1/releases/census-2022/files/age_groups.csv", key="requester")
    assert told.status == 200
    released = pl.read_csv(told.content, infer_schema=False).select(
        *names, pl.col("value").alias("released"), pl.col("status").alias("there")
    )
    both = table.join(released, on=names)
    assert both.height == table.height
    hidden = both.filter(pl.col("status") == "suppressed")
    assert hidden.height > 500
    assert "suppressed" not in hidden["there"]
    # What both show is the same, so a released figure adds none to average with.
    shown = both.filter(pl.col("status") != "suppressed")
    assert shown.filter(pl.col("value") != pl.col("released")).is_empty()
    age = pl.col("age").clip(0, 85) // 5 * 5
    place = demo.folder / "datasets" / "census-2022-1" / "persons.parquet"
    true = pl.read_parquet(place).group_by(
        pl.col("municipality").cast(pl.String).alias("region"),
        pl.when(age == 85).then(pl.lit("85+")).otherwise(pl.format("{}-{}", age, age + 4))
        .alias("age5"),
        pl.col("sex").cast(pl.String),
    ).len()  # fmt: skip
    read = hidden.join(true, on=names)
    exact = (read["released"].cast(pl.Float64) == read["len"]).mean()
    assert read.height > 500
    assert isinstance(exact, float)
    assert 0.1 < exact < 0.6
