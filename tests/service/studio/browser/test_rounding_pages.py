"""Rounding in Chromium: an example, another method, the file; and no script needed."""

from __future__ import annotations

from typing import Any


def test_example_is_rounded_in_two_ways(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/rounding")
    check_page(page)
    page.get_by_role("link", name="Try it with invented firms").click()
    page.get_by_role("button", name="Round", exact=True).click()
    page.wait_for_selector("#outcome")
    check_page(page, seconds=8)
    assert page.get_by_text("0 of 55").is_visible()
    page.get_by_text("The same in Python, R and curl").click()
    page.get_by_role("button", name="Copy: curl").click()
    assert "/api/v1/protect/rounding?request=" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_label("Method").select_option("conventional")
    page.get_by_label("Base", exact=True).fill("3")
    page.get_by_role("button", name="Round", exact=True).click()
    page.wait_for_selector(".study [role=alert]")
    check_page(page, seconds=8)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the rounded table").click()
    assert download.value.suggested_filename == "firms.csv"
    page.get_by_label("Base", exact=True).fill("")
    page.get_by_label("Spanning variables").fill("region")
    page.get_by_role("button", name="Round", exact=True).press("Enter")
    page.wait_for_selector("text=there is no such column")
    check_page(page)


def test_on_a_telephone_in_german_without_scripts(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer", width=360, height=740, language="de", dark=True, scripts=False)
    page.goto("/rounding?example=firms")
    page.get_by_role("button", name="Runden", exact=True).press("Enter")
    page.wait_for_selector("#outcome")
    assert page.get_by_text("Summen, die nicht aufgehen").is_visible()
    assert page.locator("html").bounding_box()["width"] <= 360


def test_printed_without_what_can_only_be_pressed(logged_in: Any) -> None:
    page = logged_in("producer")
    page.goto("/rounding?example=firms")
    page.get_by_role("button", name="Round", exact=True).click()
    page.wait_for_selector("#outcome")
    page.emulate_media(media="print")
    assert page.locator(".both").is_visible()
    assert not page.get_by_text("The same in Python, R and curl").is_visible()
