"""The review queue in Chromium: from a program to a released log, by keys, and without a script."""

from typing import Any

from tests.helpers.studio_reviews import handed_in

#: What waits in the queue of the demonstration.
WAITING = "/reviews/2"


def test_decided_without_a_script_and_printed(logged_in: Any, check_page: Any) -> None:
    page = logged_in("reviewer", scripts=False, width=360, height=740, language="de", dark=True)
    page.goto(WAITING)
    assert page.locator("html").bounding_box()["width"] <= 360
    page.get_by_role("group", name="Entscheidung über Ergebnis 2").get_by_label(
        "zurückhalten"
    ).check()
    page.locator("#c2").fill("ein Betrieb")
    page.check("#rest")
    page.fill("#reason", "geprüft")
    page.get_by_role("button", name="Entscheidungen speichern").press("Enter")
    # Output 3 would give it away: said in the language of the page, and nothing was decided.
    said = page.locator("#problem").inner_text()
    assert "lässt sich aus Ergebnis 3 berechnen" in said
    assert "oder nehmen Sie verbundene als Ausnahme an" in said
    assert "the withheld output" not in said
    page.emulate_media(media="print")
    assert page.locator("#o3 pre").is_visible()
    assert page.locator("#o3 ol.code").is_visible()
    assert not page.locator("#reason").is_visible()


def test_decision_is_in_view_and_one_act_where_nothing_was_found(
    logged_in: Any, check_page: Any, studio: Any
) -> None:
    number = handed_in(studio.service, "clean.do", "summarize age\n")
    page = logged_in("reviewer")
    page.goto(f"/reviews/{number}")
    check_page(page)
    button = page.locator("button[value=accept]")
    box = button.bounding_box()
    assert 0 < box["y"] < 900
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 900
    page.mouse.wheel(0, 400)
    page.wait_for_timeout(200)
    assert button.bounding_box()["y"] < 900
    button.press("Enter")
    page.wait_for_selector("text=You have approved this submission")
    check_page(page)


def test_a_folder_is_dropped(logged_in: Any, check_page: Any) -> None:
    """What is dropped is listed, sent with the form, and what is wrong with it is told."""
    page = logged_in("researcher")
    page.goto("/submissions")
    zone = page.locator("[data-drop]")
    assert zone.is_visible()
    drop = """(zone, name) => {
        const files = new DataTransfer();
        files.items.add(new File(["tabulate sex\\n"], name, {type: "text/plain"}));
        zone.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
    }"""
    zone.evaluate(drop, "notes.txt")
    page.wait_for_function("document.querySelector('[data-drop] output').value === 'notes.txt'")
    page.locator("main form[action='/submissions'] button").press("Enter")
    page.wait_for_selector("#problem")
    check_page(page)
    page.locator("[data-drop]").evaluate(drop, "dropped.do")
    page.wait_for_function("document.querySelector('[data-drop] output').value === 'dropped.do'")
    page.locator("main form[action='/submissions'] button").press("Enter")
    page.wait_for_selector("#uploads:has-text('dropped.do'), #own:has-text('dropped.do')")
    assert not logged_in("researcher", scripts=False).locator("[data-drop]:visible").count()
