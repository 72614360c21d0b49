"""Methods in Chromium: an example, a change, the file; and no script needed."""

from typing import Any

import pytest


def test_example_is_rounded_in_two_ways(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/rounding")
    check_page(page)
    page.get_by_role("link", name="Use synthetic firms").click()
    page.get_by_role("button", name="Round table", exact=True).click()
    page.wait_for_selector("#outcome")
    check_page(page)
    assert page.get_by_text("0 of 55").is_visible()
    page.get_by_text("Program code in Python, R and curl").click()
    page.get_by_role("button", name="Copy: curl").click()
    assert "/api/v1/protect/rounding?request=" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_label("Method").select_option("conventional")
    page.get_by_label("Base", exact=True).fill("3")
    page.get_by_role("button", name="Round table", exact=True).click()
    page.wait_for_selector(".study [role=alert]")
    check_page(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download table").click()
    assert download.value.suggested_filename == "firms.csv"
    page.get_by_label("Base", exact=True).fill("")
    page.get_by_label("Spanning variables: branch").uncheck()
    page.get_by_label("Cell keys: n", exact=True).check()
    page.get_by_role("button", name="Round table", exact=True).press("Enter")
    page.wait_for_selector("text=a column is used for two purposes")
    check_page(page)


def test_example_is_run_with_a_step_more(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/records")
    check_page(page)
    page.get_by_role("link", name="Use synthetic persons").click()
    page.get_by_label("New step").select_option("safe")
    page.get_by_role("button", name="Add step", exact=True).click()
    check_page(page)
    page.get_by_label("Control tables *").fill("district, sex\nmarital_status")
    step = page.locator("fieldset.step").nth(2)
    step.get_by_label("Variables *").fill("district, sex, marital_status")
    page.get_by_role("button", name="Show changes").click()
    page.wait_for_selector("#outcome")
    check_page(page)
    assert page.get_by_text("(SAFE)").is_visible()
    assert page.locator(".both").count() == 2
    with page.expect_download() as download:
        page.get_by_role("button", name="Download file").click()
    assert download.value.suggested_filename == "persons.csv"
    with page.expect_navigation():
        page.get_by_role("button", name="Remove step 3").click()
    assert page.locator("fieldset.step").count() == 2
    page.get_by_label("Dropped columns: person_id").uncheck()
    page.get_by_role("button", name="Show changes").press("Enter")
    page.wait_for_selector("text=the column identifies records")
    check_page(page)


def test_example_is_run_and_a_decision_tried(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    page.goto("/suppression")
    check_page(page)
    page.get_by_role("link", name="Use synthetic firms").click()
    page.get_by_role("button", name="Suppress cells").click()
    page.wait_for_selector("#outcome")
    check_page(page)
    first = page.locator(".cells td.primary").first
    why = first.locator(".why")
    assert not why.is_visible()
    first.locator("a").focus()
    assert why.is_visible()
    assert "feasibility interval: between" in why.inner_text()
    page.locator("h1").click()
    first.hover()
    assert why.is_visible()
    page.locator(".list input[type=checkbox]").first.check()
    page.get_by_role("button", name="Apply decisions").click()
    page.wait_for_selector("text=Without your decisions")
    check_page(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download table").click()
    assert download.value.suggested_filename == "turnover.csv"


@pytest.mark.parametrize(
    ("path", "button", "told"),
    [
        ("/rounding?example=firms", "Tabelle runden", "Summen, die nicht aufgehen"),
        ("/suppression?example=firms", "Felder sperren", "Gesperrte Felder"),
        ("/records?example=persons", "Änderungen zeigen", "Angaben für Nutzende"),
    ],
)
def test_on_a_telephone_in_german_without_scripts(
    logged_in: Any, path: str, button: str, told: str
) -> None:
    page = logged_in("producer", width=360, height=740, language="de", dark=True, scripts=False)
    page.goto(path)
    page.get_by_role("button", name=button, exact=True).press("Enter")
    page.wait_for_selector("#outcome")
    assert page.locator("#outcome").get_by_text(told, exact=True).first.is_visible()
    assert page.locator("html").bounding_box()["width"] <= 360


@pytest.mark.parametrize(
    ("path", "button", "shown", "only_pressed"),
    [
        ("/rounding", "Round table", ".both", "text=Program code in Python, R and curl"),
        ("/suppression", "Suppress cells", ".cells", "#cells"),
    ],
)
def test_printed_without_what_can_only_be_pressed(
    logged_in: Any, path: str, button: str, shown: str, only_pressed: str
) -> None:
    page = logged_in("producer")
    page.goto(f"{path}?example=firms")
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_selector("#outcome")
    page.emulate_media(media="print")
    assert page.locator(shown).first.is_visible()
    assert not page.locator(only_pressed).first.is_visible()
