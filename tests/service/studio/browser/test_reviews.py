"""The review queue in Chromium: from a program to a released log, by keys, and without a script."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from tests.helpers.studio_reviews import handed_in

#: What waits in the queue of the demonstration.
WAITING = "/reviews/2"


def program(number: int) -> dict[str, Any]:
    """A small program, as a file that is chosen."""
    text = f"* {number}\ntabulate sex\nsummarize wage\ntabulate occupation\n"
    return {"name": "pay.do", "mimeType": "text/plain", "buffer": text.encode()}


def hand_in(page: Any, number: int) -> None:
    """Choose a program, send it, and wait until it was run."""
    page.goto("/submissions")
    page.set_input_files("#files", program(number))
    page.fill("#project", f"P{number}")
    page.locator("main form[action='/submissions'] button").press("Enter")
    page.wait_for_selector("#mine")
    for _ in range(1200):
        if page.locator("#own tr", has_text=f"P{number}").count():
            return
        page.wait_for_timeout(250)
        page.goto("/submissions")
    raise AssertionError("nobody has run it")


def press(page: Any, selector: str) -> None:
    """Go to something by the keyboard, and press it."""
    page.locator(selector).first.focus()
    page.keyboard.press("Enter")


def test_from_submission_to_release_by_keys(logged_in: Any, check_page: Any) -> None:
    researcher = logged_in("researcher")
    check_page(researcher)
    hand_in(researcher, 101)
    check_page(researcher)
    press(researcher, "#own tr:has-text('P101') a")
    researcher.wait_for_selector("#state")
    check_page(researcher)
    assert researcher.locator("text=The submission waits for reviewers").count() == 1
    one, two = logged_in("reviewer"), logged_in("second reviewer")
    assert one.locator("nav.pages a[href='/reviews'] .count").is_visible()
    press(one, "#waiting ~ ul li:has-text('P101') a")
    one.wait_for_selector("#outputs")
    place = one.url
    check_page(one)
    # What is held back needs a comment: said above, and nothing is lost.
    one.locator("#v2-hold").focus()
    one.keyboard.press("Space")
    one.locator("#rest").focus()
    one.keyboard.press("Space")
    one.locator("#reason").focus()
    one.keyboard.type("one firm dominates")
    one.keyboard.press("Enter")
    assert "need a comment" in one.locator("#problem").inner_text()
    check_page(one)
    assert one.locator("#v2-hold").is_checked()
    one.locator("#c2").focus()
    one.keyboard.type("a mean of few firms")
    one.keyboard.press("Enter")
    one.wait_for_selector("button[value=approve]")
    check_page(one)
    for page in (one, two):
        page.goto(place)
        page.locator("#reason").focus()
        page.keyboard.type("looked at each")
        if page.locator("#despite").count():
            page.check("#despite")
        press(page, "button[value=approve]")
        page.wait_for_selector("#verdict")
    two.locator("#reason").focus()
    two.keyboard.type("approved by two")
    press(two, "button[value=release]")
    two.wait_for_selector("text=The researcher can download these files")
    check_page(two)
    digest = two.locator("#verdict table code").first.inner_text()
    researcher.goto("/")
    assert "Released:" in researcher.locator("main li:has-text('pay.do')").first.inner_text()
    researcher.go_back()
    researcher.reload()
    check_page(researcher)
    assert "a mean of few firms" in researcher.locator("main").inner_text()
    with researcher.expect_download() as waiting:
        press(researcher, "a:text-is('pay.log')")
    content = waiting.value.path().read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert content.count(b"(held back)") == 1
    assert b"summarize wage\n(held back)" in content


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


def test_nobody_else_sees_what_waits(logged_in: Any) -> None:
    """Figures of the log that waits are on the pages of reviewers alone."""
    page = logged_in("reviewer")
    page.goto(WAITING)
    figures = re.findall(r"(?<![\d.])\d{3,}\.\d{3,}(?![\d.])", page.content())
    assert len(figures) > 5
    for role in ("researcher", "auditor", "admin"):
        page = logged_in(role)
        for path in (
            WAITING,
            f"{WAITING}/log",
            f"{WAITING}/files/0",
            "/submissions",
            "/submissions/2",
        ):
            answer = page.goto(path)
            own = role == "researcher" and path.startswith("/submissions")
            assert answer.status == (200 if own else 403), (role, path)
            assert not [one for one in figures if one in page.content()], (role, path)
