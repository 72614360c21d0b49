"""Administration: what pages show is what the interface gives, to those who may see it."""

import csv
import dataclasses
import html
import io
import re
from typing import Any

import pytest

from discreet_service.audit import AuditKind
from discreet_service.permissions import Grant
from discreet_service.web import words
from tests.service.studio.conftest import GERMAN, text_of


def _seqs(text: str) -> list[int]:
    """The numbers of all entries that a page holds, folded or not, in their order."""
    return [int(number) for number in re.findall(r"<li><code>(\d+) · 20", text)]


def _rows(text: str) -> list[list[str]]:
    part = text[text.index('<table id="rows"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</table>")], re.DOTALL)[1:]
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows)
    return [[html.unescape(re.sub(r"<[^>]+>", " ", cell)).strip() for cell in row] for row in cells]


def test_trail_is_what_the_interface_gives(readers: Any) -> None:
    browser = readers.browser("otto")
    for asked in ("kind=login&person=otto", "kind=role_granted", "person=nobody-of-this-name"):
        told = browser.get(f"/api/v1/audit?{asked}&size=50").json()["entries"]
        text = readers.page(f"/administration/trail?{asked}", "otto")
        assert _seqs(text) == [each["seq"] for each in told]
        assert ("No matching entries." in text) is (not told)
    assert told == []
    assert _seqs(readers.page("/administration/trail?kind=login&person=otto&about=", "otto"))


def test_trail_speaks_in_words_and_folds_what_is_one_act(readers: Any) -> None:
    """What was done, by whom; a use that two persons agreed on is one row, with its raw codes."""
    text = readers.page("/administration/trail?person=carl&about=census%401", "otto")
    [row] = _rows(text)
    assert row[1] == "carl"
    assert row[2] == ("approved: Use of a parameter set, census 1; "
                      "brought parameter set census 1 into use")  # fmt: skip
    assert re.search(r"· parameters_activated · carl · census@1 · digest: [0-9a-f]{64}", row[3])
    german = _rows(
        readers.page("/administration/trail?kind=approved&about=housing%401", "otto", **GERMAN)
    )
    assert german[0][2] == "hat genehmigt: Einsatz eines Parametersatzes, housing 1"


def test_each_kind_of_act_has_words() -> None:
    for language in ("en", "de"):
        spoken = words("acts", language).keys() - {name for name in words("acts", language)
                                                   if name.startswith("decision_")}  # fmt: skip
        assert spoken == {one.value for one in AuditKind} == words("act_kinds", language).keys()


def test_trail_of_some_days_and_its_file(readers: Any) -> None:
    every = _seqs(readers.page("/administration/trail?kind=role_granted", "otto"))
    day = (
        readers.browser("otto")
        .get("/api/v1/audit?kind=role_granted")
        .json()["entries"][0]["at"][:10]
    )
    here = f"/administration/trail?kind=role_granted&since={day}&until={day}"
    assert _seqs(readers.page(here, "otto")) == every
    assert _seqs(readers.page("/administration/trail?until=2020-01-01", "otto")) == []
    readers.page("/administration/trail?since=2020-13-01", "otto", 422)
    answer = readers.browser("otto").get(f"{here}&format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    lines = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [int(line[0]) for line in lines[1:]] == every
    assert lines[1][3].startswith("granted ")
    exported = readers.browser("otto").get("/api/v1/audit?kind=trail_exported").json()["entries"]
    assert exported[0]["facts"] == {"entries": len(every)}


def test_query_log_names_tables_in_words(readers: Any) -> None:
    readers.page("/tables/census/result?unit=person&by=region:district,sex", "rita")
    [row, *_] = _rows(readers.page("/administration/log?person=rita", "otto"))
    assert row[1:4] == ["rita", "Persons by Region (district), Sex", "census 2022-1"]
    assert row[4] == "answered"
    answer = readers.browser("otto").get("/administration/log?format=csv&person=rita")
    lines = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert lines[1][2] == "Persons by Region (district), Sex"


def test_files_start_no_formula(readers: Any) -> None:
    """A name that a sheet would take for a formula is written as a text."""
    readers.add("@sum", Grant("requester"))
    answer = readers.browser("otto").get("/administration/trail?about=%40sum&format=csv")
    lines = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert {line[5] for line in lines[1:]} == {"'@sum"}


def test_unknown_kind_is_refused(readers: Any) -> None:
    readers.page("/administration/trail?kind=nothing", "otto", 422)
    readers.page("/administration/log?verdict=nothing", "otto", 422)


def test_trail_is_verified_and_that_is_written_down(readers: Any) -> None:
    answer = readers.browser("otto").submit("/administration/trail", "/administration/trail/verify")
    assert answer.status_code == 200
    assert "The audit trail is complete and unchanged." in text_of(answer.text, "verdict")
    latest = readers.page("/administration/trail?kind=trail_verified", "otto")
    assert "otto" in text_of(latest, "rows")


def test_log_page_leaves_a_trace(readers: Any) -> None:
    browser = readers.browser("otto")
    before = browser.get("/api/v1/audit?kind=log_read").json()["entries"]
    text = readers.page("/administration/log?verdict=answered", "otto", **GERMAN)
    assert "Abfrageprotokoll" in text
    after = browser.get("/api/v1/audit?kind=log_read").json()["entries"]
    assert len(after) == len(before) + 1


def test_status_is_what_the_interface_gives(readers: Any) -> None:
    text = readers.page("/administration", "adam")
    told = readers.browser("adam").get("/api/v1/config").json()
    assert text_of(text, "version") == told["version"]
    assert "The service is ready. Its database responds." in text_of(text, "ready")
    assert 'id="ready"' not in readers.page("/administration", "paul")


def _acts(text: str) -> set[tuple[str, str]]:
    """Forms of data versions: where each leads to, and what it does."""
    forms = re.findall(
        r'action="/administration/datasets/([^"]+)".*?name="act" value="(\w+)"', text, re.DOTALL
    )
    return set(forms)


def test_drafts_can_be_published_and_published_versions_retired(
    readers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = readers.service.datasets
    records = datasets.records()
    wanted = {(f"{one.dataset}/{one.version}", "retire") for one in records}
    assert {one.state for one in records} == {"published"}
    assert _acts(readers.page("/administration", "paul")) == wanted
    assert not _acts(readers.page("/administration", "otto"))
    drafts = {**datasets.drafts(), ("census", "next"): readers.folder}
    monkeypatch.setattr(type(datasets), "drafts", lambda _: drafts)
    wanted.add(("census/next", "publish"))
    assert _acts(readers.page("/administration", "paul")) == wanted
    gone = [dataclasses.replace(one, state="retired") for one in records]
    monkeypatch.setattr(type(datasets), "records", lambda *_: gone)
    assert _acts(readers.page("/administration", "paul")) == {("census/next", "publish")}
