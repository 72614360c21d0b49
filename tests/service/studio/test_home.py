"""The first page, its language, and the navigation."""

from __future__ import annotations

import re
from typing import Any

from tests.helpers.rows import for_all_rows
from tests.service.studio.conftest import GERMAN, HTML, text_of


def _pages(text: str) -> set[str]:
    part = text[text.index('<nav class="pages"') :]
    return set(re.findall(r'href="(/[a-z]+)"', part[: part.index("</nav>")]))


def test_reader_sees_what_is_published(readers: Any) -> None:
    text = readers.page("/")
    assert "Census (synthetic)" in text
    assert 'href="/tables/census"' in text
    assert 'href="/releases/census-2022"' in text
    for word in ("My jobs", "Waiting for me", "Alerts"):
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
