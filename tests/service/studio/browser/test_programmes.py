"""Programmes in Chromium: written, mended and compared, also without a script."""

from typing import Any

import pytest

from tests.helpers.studio_programmes import (
    LATER,
    PEOPLE,
    WRONG,
    hand_in,
    publish,
    run,
)


@pytest.fixture(scope="module")
def made(studio: Any) -> dict[str, str]:
    """A programme that is published, and the draft of a later one."""
    first, later = hand_in(studio.service, PEOPLE), hand_in(studio.service, LATER)
    publish(studio.service, first, run(studio.service, first), "people")
    draft = run(studio.service, later)
    wrong = hand_in(studio.service, WRONG)
    return {"first": first, "later": later, "draft": draft, "wrong": wrong}


def press(page: Any, selector: str) -> None:
    """Go to it by the tab key, and press Enter."""
    page.locator(selector).first.focus()
    page.keyboard.press("Enter")


def test_a_programme_is_written_by_keys(logged_in: Any, check_page: Any) -> None:
    page = logged_in("producer")
    press(page, 'nav.pages a[href="/programmes"]')
    page.wait_for_url("**/programmes")
    check_page(page)
    press(page, 'main a[href="/programmes/new"]')
    page.wait_for_selector("#check .good")
    check_page(page)
    page.locator("#text").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type('[tables.ages]\nby = ["regoin", "age5"]\n')
    page.wait_for_selector("#check .problems")
    assert page.evaluate("document.activeElement.id") == "text"
    assert "closest match: 'region'" in page.locator("#check").inner_text()
    line = page.locator("#text").input_value().split("\n").index('by = ["regoin", "age5"]') + 1
    assert f"Line {line}" in page.locator("#check").inner_text()
    check_page(page)
    for _ in range(len('oin", "age5"]\n')):
        page.keyboard.press("Backspace")
    page.keyboard.type('ion", "age5"]\n')
    page.wait_for_selector("#check .good")
    assert page.locator(".tables li").count() == 2
    # A table is changed by its form, and the text with it.
    press(page, "button[value='edit:ages']")
    page.wait_for_selector("#open-table")
    check_page(page)
    for shown in ("Persons by Region, Sex and Age", "Persons by Region and Age"):
        page.locator("input[name=by][value=sex]").focus()
        page.keyboard.press("Space")
        page.locator(".tables li.used").get_by_text(shown).wait_for()
        in_text = page.locator("#text").input_value().count('by = ["region", "sex", "age5"]')
        assert in_text == shown.count("Sex")
    press(page, ".choose summary")
    page.fill("#title_en", "People by age")
    press(page, "button[value=close]")
    page.wait_for_selector("#open-table", state="detached")
    assert 'en = "People by age"' in page.locator("#text").input_value()
    press(page, "button[value=save]")
    page.wait_for_selector("#verdict.good")
    check_page(page)


def test_keys_and_names_are_offered_where_they_may_stand(logged_in: Any, check_page: Any) -> None:
    """By keys alone; a mistake is marked at its line, which is found from what is said of it."""
    page = logged_in("producer")
    page.goto("/programmes/new")
    page.locator("#text").focus()

    def offered() -> list[str]:
        return list(page.locator("#may button:visible").all_inner_texts())

    def take(name: str) -> None:
        page.keyboard.press("Control+Space")
        while page.evaluate("document.activeElement.textContent") != name:
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")

    page.keyboard.press("Control+End")
    page.keyboard.type("[tables.ages]\n")
    assert {"from", "by", "title", "figures", "where"} <= set(offered())
    assert "dataset" not in offered()
    page.keyboard.type("fi")
    assert offered() == ["figures"]
    for _ in "fi":
        page.keyboard.press("Backspace")
    take("by")
    page.keyboard.type("[")
    assert {"region", "sex", "age5"} <= set(offered())
    take("age5")
    page.keyboard.type("]\n")
    text = page.locator("#text").input_value()
    assert text.endswith('[tables.ages]\nby = ["age5"]\n')
    page.wait_for_selector("#check .good")
    page.keyboard.type('[tables.homes]\nby = ["sexx"]\n')
    line = text.count("\n") + 2
    page.wait_for_selector(f"[data-line='{line}']")
    assert page.locator(".gutter .wrong").inner_text().strip() == f"{line}"
    check_page(page)
    press(page, f"[data-line='{line}']")
    chosen = "t => t.value.slice(t.selectionStart, t.selectionEnd)"
    assert page.eval_on_selector("#text", chosen) == 'by = ["sexx"]'


def test_what_would_change_on_a_telephone_in_german_in_the_dark(
    logged_in: Any, check_page: Any, made: dict[str, str]
) -> None:
    page = logged_in("producer", width=360, height=740, language="de", dark=True)
    here = f"/programmes/{made['later']}"
    for path in (here, f"{here}/drafts/{made['draft']}?release=people",
                 f"{here}/drafts/{made['draft']}/tables/homes", f"/programmes/{made['wrong']}",
                 f"/programmes/new?of={made['wrong']}"):  # fmt: skip
        page.goto(path)
        check_page(page)
    page.goto(f"{here}/drafts/{made['draft']}?release=people")
    assert page.locator("#tally-cells").inner_text() == "9"
    assert page.get_by_text("geänderter Wert").first.is_visible()
