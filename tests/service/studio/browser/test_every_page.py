"""Every page of the navigation, for every role, as people have their browsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.served_studio import PLAYERS, ServedStudio

#: Of two persons with one role, the first.
ROLES = ["reader", *(role for role in PLAYERS if not role.startswith("second"))]
#: Pages that are reached from the corner, not from the row of pages.
ALSO = ("/", "/help", "/account", "/login")
#: Processor seconds until a page begins, once it has been read before; usually a tenth.
FIRST_BYTE = 0.5
#: Pages that show everybody their own, and are in the navigation of those who usually have some.
OWN = {"/approvals"}


def _paths(page: Any, *, more: bool) -> list[str]:
    """The pages that somebody is led to from the first page."""
    found = page.eval_on_selector_all("nav.pages a", "all => all.map(a => a.getAttribute('href'))")
    return [*dict.fromkeys([*found, *(ALSO if more else ("/",))])]


@pytest.mark.parametrize("role", ROLES)
def test_pages_of_a_role(
    role: str, logged_in: Callable[..., Any], check_page: Any, studio: ServedStudio
) -> None:
    """Each is accessible, quiet, small, and soon there."""
    page = logged_in(role)
    for path in _paths(page, more=True):
        for _ in range(2):
            answer = page.goto(path)
        assert answer.status == 200, path
        check_page(page, seconds=FIRST_BYTE)
        assert page.locator("h1").count() == 1, path


@pytest.mark.parametrize("look", ["narrow and german", "dark"])
@pytest.mark.parametrize("role", ["reader", "producer", "custodian", "reviewer", "admin"])
def test_pages_as_others_see_them(
    role: str, look: str, logged_in: Callable[..., Any], check_page: Any
) -> None:
    """On a telephone, in the dark, in German."""
    words: dict[str, Any] = {
        "narrow and german": {"width": 360, "height": 740, "language": "de"},
        "dark": {"dark": True},
    }[look]
    page = logged_in(role, **words)
    for path in _paths(page, more=False):
        page.goto(path)
        check_page(page)
        language = page.get_attribute("html", "lang")
        assert language == ("de" if "german" in look else "en"), path


def test_language_is_kept(logged_in: Callable[..., Any]) -> None:
    """Whoever chooses a language reads on in it, where they were."""
    page = logged_in("requester")
    page.goto("/account")
    page.get_by_role("button", name="Deutsch").click()
    assert page.get_attribute("html", "lang") == "de"
    assert page.url.endswith("/account")
    page.goto("/")
    assert page.get_attribute("html", "lang") == "de"
    page.get_by_role("button", name="English").click()
    assert page.get_attribute("html", "lang") == "en"


def test_language_without_a_script(logged_in: Callable[..., Any]) -> None:
    page = logged_in("reader", scripts=False)
    page.get_by_role("button", name="Deutsch").click()
    assert page.get_attribute("html", "lang") == "de"


def test_keyboard_gets_to_the_content_first(logged_in: Callable[..., Any]) -> None:
    """The first stop leads past the navigation, and can be seen when it is reached."""
    page = logged_in("requester")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["width"] > 20
    page.keyboard.press("Enter")
    page.wait_for_url("**/#content")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_navigation_leads_to_nothing_that_is_refused(
    logged_in: Callable[..., Any], studio: ServedStudio
) -> None:
    """Whoever sees a page in the navigation may read it; who does not, may not by its address."""
    every: set[str] = set()
    seen: dict[str, list[str]] = {}
    for role in ROLES:
        seen[role] = _paths(logged_in(role), more=False)
        every.update(seen[role])
    for role in ("reader", "requester", "admin"):
        page = logged_in(role)
        for path in sorted(every - set(seen[role]) - OWN):
            assert page.goto(path).status in (401, 403), (role, path)
    studio.check_nothing_told()


def test_policy_of_contents_is_strict(logged_in: Callable[..., Any]) -> None:
    """No page may run or load anything but our own files, and none has a style of its own."""
    page = logged_in("producer")
    table = "/tables/census/result?unit=person&by=region:state,sex"
    for path in (*_paths(page, more=True), table):
        answer = page.goto(path)
        policy = answer.header_value("content-security-policy")
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        text = answer.text()
        for wrong in (
            "built-in",
            "object at",
            " style=",
            "<style",
            "javascript:",
            " onclick=",
            " onload=",
        ):
            assert wrong not in text, (path, wrong)


def test_a_leap_within_the_page_loads_nothing(
    logged_in: Callable[..., Any], studio: ServedStudio
) -> None:
    """Who skips to the content by keys does not lose what they had filled in."""
    page = logged_in("requester")
    page.goto("/tables/census")
    page.check("input[name=by][value^='sex']")
    sent = len(studio.pages("/tables/census"))
    page.evaluate("location.hash = 'content'")
    page.wait_for_timeout(1_000)
    assert page.locator("input[name=by][value^='sex']").is_checked()
    assert len(studio.pages("/tables/census")) <= sent + 1  # the estimate
    page.go_back()
    page.wait_for_timeout(300)
    assert page.locator("input[name=by][value^='sex']").is_checked()
