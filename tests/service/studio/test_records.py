"""Methods on records in the studio: the file of a page is that of a programme; nothing is kept."""

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.operations import OPERATIONS
from discreet.pretabular import METHODS
from discreet_service.studio.operations import (
    LONGEST_SHOWN,
    MOST_STEPS,
    example_form,
    setting_fields,
    stated_step,
)
from tests.helpers.record_files import STEPS, people, programme_file
from tests.helpers.rows import for_all_rows
from tests.service.cells.test_changed_records import secret_of_file
from tests.service.studio.conftest import problems_of

RECORDS = people()
FIELDS = {
    "rows": RECORDS.write_csv(),
    "id": "person",
    "drop": "person, household",
    "keys": "region, sex, status",
    "tables": "region, status\nage",
    "name": "people",
    "format": "csv",
    "act": "run",
}
#: What people fill in for the steps of `STEPS`.
FILLED: dict[str, dict[str, str]] = {
    "recode": {"variable": "age", "intervals": "0, 30, 60"},
    "top_code": {"variable": "age", "above": "70"},
    "bottom_code": {"variable": "income", "below": "1000", "mean": "on"},
    "round_values": {"variables": "income", "base": "1000"},
    "calibrate": {"totals": "sex,value\nm,40000\nw,42000", "weight": "income"},
    "drop_identifiers": {"direct": "person", "harmless": "income"},
    "local_suppression": {"keys": "region, sex, status", "k": "5"},
    "microaggregate": {"variables": "age, income", "k": "4"},
    "permute": {"variables": "status", "share": "0,4", "within": "region"},
    "pram": {"variables": "status, .7\nsex, .9, .5"},
    "rank_swap": {"variables": "income", "window": "0.1"},
    "safe": {"variables": "region, sex, status", "controls": "region, sex\nstatus"},
    "swap": {
        "household": "household", "areas": "region", "risk": "status, sex", "similar": "size",
        "k": "3", "rate": "0.1",
    },
}  # fmt: skip


def sent_steps(*methods: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for at, method in enumerate(methods):
        found[f"step{at}"] = method
        found |= {f"step{at}-{name}": text for name, text in FILLED[method].items()}
    return found


def send(readers: Any, fields: dict[str, Any], **more: Any) -> Any:
    return readers.post("/records", fields, **more)


def test_fields_fit_what_programmes_have() -> None:
    """Every method of the library is offered; what people fill in is the step of a programme."""
    assert set(FILLED) == set(METHODS)
    for method, texts in FILLED.items():
        problems: list[Any] = []
        step = stated_step(method, texts, "steps[0]", problems)
        assert problems == []
        assert step == {"method": method, **STEPS[method]}, method


def test_no_option_names_a_file() -> None:
    named = {one: {each.name for each in setting_fields(OPERATIONS[one])} for one in METHODS}
    assert "classification" not in named["recode"]
    assert not any("secret" in names for names in named.values())


@pytest.mark.parametrize("method", ["swap", "drop_identifiers"])
def test_files_are_those_of_a_programme(readers: Any, tmp_path: Path, method: str) -> None:
    fields = {**FIELDS, **sent_steps(method), "act": "download"}
    drop = ["person", "household"]
    if method == "drop_identifiers":
        fields["drop"], drop = "household", ["household"]
    answer = send(readers, fields)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="people.csv"'
    assert answer.headers["cache-control"] == "no-store"
    secret = secret_of_file(readers.service, "paul", "people")
    steps = [{"method": method, **STEPS[method]}]
    assert answer.content == programme_file(tmp_path, RECORDS, steps, secret, drop)


def test_page_shows_tables_and_risk_before_and_after(readers: Any) -> None:
    fields = {**FIELDS, **sent_steps("recode", "pram")}
    answer = send(readers, fields)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    page = html.unescape(answer.text)
    file = pl.read_csv(send(readers, {**fields, "act": "download"}).content)
    part = page[page.index("region × status") : page.index('id="table2"')].replace("−", "-")
    rows = re.findall(r"<tr><th scope=\"row\">(\w+)</th>(.*?)</tr>", part, re.DOTALL)
    assert [name for name, _ in rows] == ["Total", "1", "2", "3"] or rows[1][0] == "01"
    found = re.findall(r"<td>(\d+)<small>(\d+)(?: <b>([+-]\d+)</b>)?</small></td>", rows[0][1])
    codes = ["Total", *sorted({"s", "m", "d", "w"})]
    expected = []
    for code in codes:
        before, after = (
            each.height if code == "Total" else each.filter(pl.col("status") == code).height
            for each in (RECORDS, file)
        )
        expected.append((after, before, after - before))
    assert [(int(a), int(b), int(c or 0)) for a, b, c in found] == expected
    assert "Codes were recoded to coarser ones: age." in page
    assert "Re-identification risk by" in page
    secret = secret_of_file(readers.service, "paul", "people")
    assert secret.derive("x").hex() not in page


def test_steps_are_added_and_taken_away_without_a_script(readers: Any) -> None:
    fields = {**FIELDS, **sent_steps("recode"), "act": "add", "add": "safe"}
    page = send(readers, fields).text
    assert 'name="step1" value="safe"' in page
    assert 'name="step0-intervals" value="0, 30, 60"' in page
    both = {**FIELDS, **sent_steps("recode", "pram"), "act": "remove-0"}
    left = send(readers, both).text
    assert 'name="step0" value="pram"' in left
    assert "status, .7\nsex, .9, .5" in left
    assert 'name="step1"' not in left
    full = sent_steps(*["recode"] * MOST_STEPS)
    assert 'name="add"' not in send(readers, {**FIELDS, **full, "act": "add", "add": "safe"}).text


def test_large_files_are_not_sent_back(readers: Any) -> None:
    more = people(2_500).write_csv()
    assert len(more) > LONGEST_SHOWN
    fields = {**FIELDS, **sent_steps("recode"), "rows": ""}
    file = {"file": ("people.csv", more.encode(), "text/csv")}
    page = send(readers, fields, files=file).text
    assert "Choose it again for the next run" in page
    assert more.splitlines()[1_000] not in page
    assert len(page) < 60_000


@for_all_rows(
    ("wrong", "told"),
    [
        ({"rows": ""}, "no records"),
        ({"step0": "magic"}, "no steps given"),
        ({"step0-variable": ""}, "steps[0].variable: is missing"),
        ({"step0-variable": "shoe"}, "column not found"),
        ({"step0-intervals": "0, young"}, "must be a number"),
        ({"step0-intervals": ""}, ""),
        ({"id": "pid"}, "column 'pid' not found"),
        ({"drop": "person"}, ""),
        ({"drop": "household"}, "the column identifies records"),
        ({"drop": "person, household, shoe"}, "column not found"),
        ({"keys": "shoe"}, "column not found"),
        ({"tables": "region, shoe"}, "column not found"),
        ({"tables": "income, age, size"}, "more than 500 cells"),
        ({"tables": "a, b, c, d"}, "tables"),
        ({"rows": "a,b\n1\n2,3,4\n"}, "lines.csv, line 2: 1 fields instead of 2"),
    ],
)
def test_what_is_wrong_is_said(readers: Any, wrong: dict[str, str], told: str) -> None:
    answer = send(readers, {**FIELDS, **sent_steps("recode"), **wrong})
    if wrong == {"drop": "person"}:  # a household is no identifier that was named
        assert answer.status_code == 200
        return
    assert answer.status_code == 422, answer.text
    text = re.sub(r"<[^>]+>", "", problems_of(answer.text))
    assert told in text


def test_lines_that_say_something_else_are_named() -> None:
    for method, option, text in (
        ("pram", "variables", "sex, much"),
        ("pram", "variables", "sex, .8\nsex, .9"),
        ("recode", "codes", "married partnered"),
        ("recode", "codes", "m = a\nm = b"),
    ):
        problems: list[Any] = []
        stated_step(method, {option: text}, "steps[2]", problems)
        assert [each.where for each in problems][-1] == f"steps[2].{option}"


@pytest.mark.parametrize("path", ["/structure-file", "/record-risk"])
def test_other_methods_on_records_run_on_their_example(readers: Any, path: str) -> None:
    row = next(row for row in OPERATIONS.values() if f"/{row.page}" == path)
    texts = example_form(row).texts
    page = readers.post(path, texts)
    assert page.status_code == 200, page.text
    file = readers.post(path, {**texts, "act": "download"})
    if path == "/structure-file":  # there is nothing to be shown beside the file
        assert page.content == file.content
        assert file.text.startswith("person_id,household_id,state")
        return
    assert page.headers["cache-control"] == "no-store"
    assert file.json()["keys"] == ["district", "sex", "age"]
    assert (
        file.headers["content-disposition"] == 'attachment; filename="persons-assess_records.json"'
    )
