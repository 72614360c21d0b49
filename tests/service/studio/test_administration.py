"""Administration: what pages show is what the interface gives, to those who may see it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from tests.service.studio.conftest import GERMAN, text_of


def _seqs(text: str) -> list[int]:
    return [int(each) for each in re.findall(r'<tr><th scope="row"[^>]*>(\d+)</th>', text)]


def test_trail_is_what_the_interface_gives(readers: Any) -> None:
    browser = readers.browser("otto")
    for asked in ("kind=login&person=otto", "kind=role_granted", "person=nobody-of-this-name"):
        told = browser.get(f"/api/v1/audit?{asked}&size=50").json()["entries"]
        text = readers.page(f"/administration/trail?{asked}", "otto")
        assert _seqs(text) == [each["seq"] for each in told]
        assert ("No matching entries." in text) is (not told)
    assert told == []
    assert _seqs(readers.page("/administration/trail?kind=login&person=otto&about=", "otto"))


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
