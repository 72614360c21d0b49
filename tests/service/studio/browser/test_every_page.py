"""Every page of the navigation, for every role, as people have their browsers."""

from collections.abc import Callable
from typing import Any

import pytest

from discreet.operations import OPERATIONS
from tests.helpers.served_studio import PLAYERS, ServedStudio

#: Of two persons with one role, the first.
ROLES = ["reader", *(role for role in PLAYERS if not role.startswith("second"))]
#: Pages that are reached from the corner, not from the row of pages.
ALSO = ("/", "/help", "/account", "/login")
_TABLES, _BY = "/tables/census", "unit=person&by=region:district"
_TOO_MUCH = "unit=person&by=region:municipality,sex,age5,education:2"
_POLICY = "/policies/census/2022-1"
#: Further pages, by who reads them.
FURTHER: dict[str, tuple[str, ...]] = {
    "reader": (),
    "requester": (
        *(_TABLES, f"{_TABLES}?{_BY}", f"{_TABLES}?{_BY}&open=nationality&pick.sex=w"),
        *(f"{_TABLES}?{_TOO_MUCH}", f"{_TABLES}/result?{_TOO_MUCH}"),
        *(f"{_TABLES}/result?{_BY},sex", f"{_TABLES}/result?{_BY},sex&sort=1"),
        *(f"{_TABLES}/result?{_BY},sex&chart={kind}" for kind in ("lines", "pyramid", "map")),
        *("/basket", "/login/password"),
        *("/releases/census-2022", "/releases/census-2022?query=zzz"),
        "/releases/census-2022/rents",
    ),
    "producer": (
        "/administration",
        *(f"/{row.page}" for row in OPERATIONS.values() if row.page),
        *("/suppression?example=firms", "/records?example=persons"),
    ),
    "custodian": (
        *(_POLICY, f"{_POLICY}/changes", f"{_POLICY}/areas/person"),
        *("/quality/census/2022-1", "/designs/sets"),
        "/approvals?state=",
    ),
    "auditor": (
        *("/administration/trail", "/administration/trail?kind=login&person=nobody"),
        "/administration/trail?kind=approved&since=2026-01-01",
        *("/administration/overrides", "/administration/log", _POLICY),
    ),
    "admin": ("/people?name=zzz",),
    "researcher": ("/submissions/1", "/submissions/2"),
    "reviewer": ("/reviews?state=all", "/reviews/2", "/reviews/1"),
}


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
        assert page.goto(path).status == 200, path
        check_page(page)
        assert page.locator("h1").count() == 1, path


@pytest.mark.parametrize("role", ["producer", "auditor", "admin"])
def test_pages_from_another_database(role: str, logged_in: Callable[..., Any]) -> None:
    page = logged_in(role)
    for path in _paths(page, more=True):
        assert page.goto(path).status == 200, path
        assert page.locator("h1").count() == 1, path


@pytest.mark.parametrize("role", FURTHER)
def test_further_pages(role: str, logged_in: Callable[..., Any], check_page: Any) -> None:
    """On a telephone, in the dark, in German; with what can be opened."""
    page = logged_in(role, width=360, height=740, language="de", dark=True)
    for path in (*_paths(page, more=False), *FURTHER[role]):
        page.goto(path)
        check_page(page)
        assert page.get_attribute("html", "lang") == "de", path
    for each in page.locator("details").all():
        each.evaluate("one => { one.open = true }")
    check_page(page)


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
