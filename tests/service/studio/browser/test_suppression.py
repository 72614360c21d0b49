"""Suppression in Chromium: an example, the reasons on focus, consent, and no script needed."""

from __future__ import annotations

from typing import Any


def test_example_is_run_and_a_decision_tried(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/suppression")
    check_page(page)
    page.get_by_role("link", name="Try it with invented firms").click()
    page.get_by_role("button", name="Hide cells").click()
    page.wait_for_selector("#outcome")
    check_page(page, seconds=8)
    first = page.locator(".cells td.primary").first
    why = first.locator(".why")
    assert not why.is_visible()
    first.locator("a").focus()
    assert why.is_visible()
    assert "anyone can tell that it lies between" in why.inner_text()
    page.locator("h1").click()
    first.hover()
    assert why.is_visible()
    page.locator(".list input[type=checkbox]").first.check()
    page.get_by_role("button", name="Try these decisions").click()
    page.wait_for_selector("text=Without your decisions")
    check_page(page, seconds=8)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the protected table").click()
    assert download.value.suggested_filename == "turnover.csv"


def test_on_a_telephone_in_german_without_scripts(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer", width=360, height=740, language="de", dark=True, scripts=False)
    page.goto("/suppression?example=firms")
    page.get_by_role("button", name="Sperren", exact=True).press("Enter")
    page.wait_for_selector("#outcome")
    assert page.get_by_role("heading", name="Gesperrte Zellen").is_visible()
    wide = page.locator("html").bounding_box()["width"]
    assert wide <= 360


def test_what_came_of_it_is_printed(logged_in: Any) -> None:
    page = logged_in("producer")
    page.goto("/suppression?example=firms")
    page.get_by_role("button", name="Hide cells").click()
    page.wait_for_selector("#outcome")
    page.emulate_media(media="print")
    assert page.locator(".cells").is_visible()
    assert not page.locator("#cells").is_visible()
