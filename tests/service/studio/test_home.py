"""The first page, its language, and the navigation."""

import re
from dataclasses import replace
from typing import Any

import pytest

from discreet_service.people import ProposalKind
from discreet_service.permissions import Grant, Principal
from tests.helpers.rows import for_all_rows
from tests.service.studio.conftest import GERMAN, HTML, plain, text_of


def _pages(text: str) -> set[str]:
    part = text[text.index('<nav class="pages"') :]
    return set(re.findall(r'href="(/[a-z]+)"', part[: part.index("</nav>")]))


def test_reader_sees_what_is_published(readers: Any) -> None:
    text = readers.page("/")
    assert "Census (synthetic)" in text
    assert 'href="/tables/census"' in text
    assert 'href="/releases/census-2022"' in text
    for word in ("Waiting for you", "In progress", "Your last actions"):
        assert word not in text
    assert _pages(text) == {"/tables", "/releases"}


def test_first_table_can_be_tried(readers: Any) -> None:
    link = re.search(r'class="button" href="(/tables/census\?[^"]+)"', readers.page("/", "rita"))
    assert link
    # Nobody is invited to what needs a key.
    assert link[0] not in readers.page("/")
    page = readers.page(link[1].replace("&amp;", "&"), "rita")
    assert int(text_of(page, "cells")) > 0
    assert "All checks passed so far." in page


def test_staff_is_told_of_releases_that_are_not_served(readers: Any) -> None:
    broken = readers.folder / "releases" / "half"
    broken.mkdir()
    try:
        readers.service.releases.look_again()
        told = readers.page("/", "paul")
        assert "half: " in told
        assert str(readers.folder) not in told
        assert "half: " not in readers.page("/", "rita")
    finally:
        broken.rmdir()
        readers.service.releases.look_again()


def _work(text: str, heading: str) -> str:
    """The part of the work list below a heading, in words."""
    part = re.search(rf'<section[^>]*aria-labelledby="{heading}">(.*?)</section>', text, re.DOTALL)
    return plain(part[1]) if part else ""


def _counted(text: str, path: str) -> str:
    """What the navigation counts beside a page."""
    found = re.search(rf'<a href="{path}"[^>]*>[^<]*<span class="count"[^>]*>(\d+)<', text)
    return found[1] if found else ""


def test_work_list_follows_a_proposal_from_hand_to_hand(fresh_readers: Any) -> None:
    """It waits for the second person, is under way for the first, comes back, and is done."""
    readers, approvals = fresh_readers, fresh_readers.service.approvals
    sets = readers.service.parameter_sets
    cora = Principal(name="cora", kind="session", grants=(Grant("custodian"),))
    with readers.service.database.writing() as connection:
        one = sets.show("census", "1")
        made = approvals.propose(connection, ProposalKind.parameter_retirement, one.subject,
                                 one.file, cora, "the census ends")  # fmt: skip
    path = f"/approvals/{made.id}"
    second, first = readers.page("/", "carl"), readers.page("/", "cora")
    assert "Decide: Withdrawal of a parameter set: census 1 cora until " in _work(second, "waiting")
    assert f'<a href="{path}">' in second
    assert _counted(second, "/approvals") == "1"
    proposal = "Needs a second person: Withdrawal of a parameter set: census 1"
    assert proposal in _work(first, "under-way")
    assert "proposed: Withdrawal of a parameter set, census 1" in _work(first, "last")
    assert _counted(first, "/approvals") == ""
    assert "census 1" not in _work(readers.page("/", "rita"), "waiting")
    carl = readers.browser("carl")
    assert carl.submit(path, path, act="reject", reason="").status_code == 422
    assert carl.submit(path, path, act="reject", reason="not this year").status_code == 303
    back = readers.page("/", "cora", **GERMAN)
    waiting = _work(back, "waiting")
    assert "Zurückgegeben: Rücknahme eines Parametersatzes: census 1 carl" in waiting
    assert "not this year" in waiting
    assert _counted(readers.page("/", "carl"), "/approvals") == ""
    last = _work(readers.page("/", "carl"), "last")
    assert "sent back: Withdrawal of a parameter set, census 1" in last


def test_work_list_of_each_role(readers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told of what waits in the rooms that they may enter, and of no other."""
    assert "Check submission 2: wages.do rosa, P7 wages" in _work(
        readers.page("/", "vera"), "waiting"
    )
    assert _counted(readers.page("/", "vera"), "/reviews") == "1"
    own = _work(readers.page("/", "rosa"), "under-way")
    assert "Submission 2: wages.do waiting" in own
    assert "Released: 1: persons.do" in own
    ends = _work(readers.page("/", "adam"), "waiting")
    assert "API key ends: created by command (dsc_" in ends
    assert "demo-tool" in ends
    keys, past = readers.service.api_keys.listed(), readers.service.clock() - 1_000
    with monkeypatch.context() as patched:
        patched.setattr(readers.service.api_keys, "listed",
                        lambda owner: [replace(key, expires=past) for key in keys])  # fmt: skip
        ended = _work(readers.page("/", "adam"), "waiting")
    assert "API key has ended: created by command (dsc_" in ended
    for name in ("rita", "paul", "mira"):
        waiting = _work(readers.page("/", name), "waiting")
        assert "wages.do" not in waiting
        assert "dsc_" not in waiting


def test_language_is_chosen_and_kept(readers: Any) -> None:
    browser = readers.browser()
    assert 'lang="de"' in browser.get("/", headers=GERMAN).text
    answer = browser.post("/language", data={"to": "de", "back": "/help?x=1"}, headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/help?x=1")
    cookie = answer.headers["set-cookie"]
    assert "discreet-language=de" in cookie
    assert "HttpOnly" in cookie
    assert '<html lang="de">' in browser.get("/help", headers=HTML).text
    told = browser.get("/api/v1/datasets", headers={"Accept-Language": "en"}).json()
    assert told["datasets"][0]["title"] == "Census (synthetic)"


@for_all_rows(
    "back", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/a\r\nb", "", "x"]
)
def test_language_leads_to_no_other_site(readers: Any, back: str) -> None:
    answer = readers.browser().post("/language", data={"to": "en", "back": back}, headers=HTML)
    assert answer.headers["location"] == "/"


def test_other_sites_cannot_choose_the_language(readers: Any) -> None:
    head = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    browser = readers.browser("rita")
    answer = browser.ask("POST", "/language", data={"to": "de"}, headers=head)
    assert answer.status_code == 403
