"""Methods on records in Chromium: an example, a step more, the file; and no script needed."""

from __future__ import annotations

from typing import Any


def test_example_is_run_with_a_step_more(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/records")
    check_page(page)
    page.get_by_role("link", name="Try it with invented persons").click()
    page.get_by_label("Add a method").select_option("safe")
    page.get_by_role("button", name="Add", exact=True).click()
    check_page(page)
    page.get_by_label("Control tables *").fill("district, sex\nmarital_status")
    step = page.locator("fieldset.step").nth(2)
    step.get_by_label("Variables *").fill("district, sex, marital_status")
    page.get_by_role("button", name="Show what changes").click()
    page.wait_for_selector("#outcome")
    check_page(page, seconds=8)
    assert page.get_by_text("(SAFE)").is_visible()
    assert page.locator(".both").count() == 2
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the changed records").click()
    assert download.value.suggested_filename == "persons.csv"
    page.get_by_role("button", name="Take this step away 3").click()
    assert page.locator("fieldset.step").count() == 2
    page.get_by_label("Left out of the file").fill("household_id")
    page.get_by_role("button", name="Show what changes").press("Enter")
    page.wait_for_selector("text=say whether it stays")
    check_page(page)


def test_on_a_telephone_in_german_without_scripts(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer", width=360, height=740, language="de", dark=True, scripts=False)
    page.goto("/records?example=persons")
    page.get_by_role("button", name="Zeigen, was sich ändert").press("Enter")
    page.wait_for_selector("#outcome")
    assert page.get_by_role("heading", name="Was Nutzer der Datei erfahren").is_visible()
    assert page.locator("html").bounding_box()["width"] <= 360
