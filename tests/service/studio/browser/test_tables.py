"""The table builder in Chromium: by keyboard, without a script, narrow, in German, in the dark."""

import csv
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.helpers.places import ROOT
from tests.helpers.served_studio import ServedStudio

BUILDER = "/tables/census?unit=person&by=region:district"
RESULT = "/tables/census/result?unit=person&by=region:district,sex"
TOO_MUCH = "unit=person&by=region:municipality,sex,age5,education:2"

LoggedIn = Callable[..., Any]


def _cells(page: Any) -> list[str]:
    return list(page.locator("#table tbody td").all_inner_texts())


def test_estimate_follows_what_is_chosen(logged_in: LoggedIn, check_page: Any) -> None:
    """Each change is asked for after a moment, and told to who cannot see it."""
    page = logged_in("requester")
    page.goto(BUILDER)
    before = page.inner_text("#cells")
    page.get_by_label(re.compile("male|in the table")).nth(1).check()
    page.wait_for_function("b => document.querySelector('#cells').textContent !== b", arg=before)
    page.wait_for_function("document.querySelector('#live').textContent.startsWith('Cells')")
    page.get_by_role("button", name="Show table").click()
    page.wait_for_url("**/result?**")
    assert "pick." not in page.url
    assert page.locator("#table").is_visible()
    check_page(page)


def test_codes_are_found_and_picked(logged_in: LoggedIn) -> None:
    page = logged_in("requester")
    page.goto(BUILDER)
    page.get_by_role("button", name="Choose categories: Nationality").click()
    search = page.get_by_label("Search the categories of Nationality")
    search.fill("french")
    assert page.locator("ul.codes > li:visible").count() == 1
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Apply categories").click()
    page.get_by_text("Counted categories only: French").wait_for()
    page.get_by_role("button", name="Show table").click()
    page.wait_for_url("**/result?**where.nationality=fr**")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_category_is_found_and_counted_alone(logged_in: LoggedIn, scripts: bool) -> None:
    """In five steps by keys: the field, the word, what was found, the table."""
    page = logged_in("requester", language="de", scripts=scripts)
    page.goto(BUILDER)
    field = page.get_by_label("Merkmale und Ausprägungen suchen")
    field.focus()
    page.keyboard.type("französisch")
    if scripts:
        page.keyboard.press("Enter")
    else:
        _tab_to(page, page.get_by_role("button", name="Suchen", exact=True).first)
        page.keyboard.press("Enter")
    button = page.get_by_role("button", name=re.compile("Nur diese zählen: französisch", re.I))
    button.wait_for()
    field.focus()
    _tab_to(page, button)
    page.keyboard.press("Enter")
    page.locator("#hits .tag.good").wait_for()
    page.get_by_role("button", name="Tabelle zeigen").press("Enter")
    page.wait_for_url("**/result?**where.nationality=fr**")
    assert scripts or page.locator("button[data-copy]:visible").count() == 0


def test_a_search_that_is_late_does_not_undo_a_choice(logged_in: LoggedIn) -> None:
    page = logged_in("requester", language="de")
    page.goto(f"{BUILDER}&search=französisch")
    choose = page.get_by_role("button", name=re.compile("Nur diese zählen: französisch", re.I))
    choose.evaluate(
        "one => { one.form.search.dispatchEvent(new Event('input', { bubbles: true }));"
        " one.click() }"
    )
    chosen = page.locator("#hits .tag.good")
    chosen.wait_for()
    page.wait_for_timeout(1_000)  # a search begins after a third of it
    page.wait_for_load_state("networkidle")
    assert chosen.count() == 1


def _tab_to(page: Any, target: Any, most: int = 120) -> None:
    for _ in range(most):
        page.keyboard.press("Tab")
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("the keyboard does not get there")


def test_turned_by_dragging_and_sorted(logged_in: LoggedIn) -> None:
    page = logged_in("requester")
    page.goto(RESULT)
    plain = _cells(page)
    page.locator("#arrange > summary").click()
    page.locator("[data-move=sex]").drag_to(page.locator("[data-onto=down]"))
    page.get_by_role("link", name="Sex: to columns").press("Enter")
    page.get_by_role("link", name="Sex: to rows").press("Enter")
    page.get_by_role("link", name="Sex: to columns").wait_for()
    # Who turned a variable by keys goes on from there.
    assert page.evaluate("document.activeElement.dataset.focus") == "turn-sex"
    assert "across=" in page.url
    assert sorted(_cells(page)) == sorted(plain)
    page.goto(RESULT)
    page.wait_for_function(
        "n => document.querySelectorAll('#table td').length === n", arg=len(plain)
    )
    page.locator("#arrange > summary").click()
    page.select_option("#sort", "1")
    page.locator("#sort-now").click()
    page.wait_for_url("**sort=1**")
    page.wait_for_function(
        "first => document.querySelectorAll('#table tbody tr')[1].innerText !== first",
        arg=page.evaluate("''"),
    )
    numbers = [
        int(each.replace(",", "").replace("*", "").replace("–", "0"))
        for each in page.locator("#table tbody tr td:nth-of-type(1)").all_inner_texts()
    ]
    assert numbers == sorted(numbers, reverse=True)


def test_large_table_is_followed_to_its_result(logged_in: LoggedIn, check_page: Any) -> None:
    """A job is handed in, followed by events, and fetched."""
    page = logged_in("requester")
    page.goto("/tables/census/result?unit=person&by=nationality:2,occupation:2,age5")
    check_page(page)
    page.get_by_role("button", name="Create table").click()
    page.wait_for_url("**/jobs/**")
    check_page(page)
    page.get_by_role("link", name="Download result").wait_for(timeout=60_000)
    check_page(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download result").click()
    assert waiting.value.path().read_bytes().count(b"\n") > 10_000


def test_code_of_the_page_gives_the_figures_of_the_page(
    logged_in: LoggedIn, studio: ServedStudio, tmp_path: Path
) -> None:
    """What Python, curl and R are told to do is run as it stands."""
    page = logged_in("requester")
    page.goto(RESULT)
    page.locator("details", has=page.locator("#code-r")).locator("summary").click()
    code = {name: page.inner_text(f"#code-{name}") for name in ("python", "r", "curl")}
    shown = [float(_plain(each)) for each in _cells(page)]
    address = f"http://{urlsplit(studio.url).netloc}"
    base = studio.service.settings.base_url
    assert all(base in text for text in code.values())
    settings = {**os.environ, "DISCREET_SERVICE_KEY": studio.keys["demo-client"]}
    settings["PYTHONPATH"] = str(ROOT / "src")
    script = code["python"].replace(base, address) + "\nprint(table.write_csv())\n"
    text = _run(["sh", "-c", code["curl"].replace(base, address) + " --silent"], settings)
    for said in (_run([sys.executable, "-c", script], settings), text):
        head, *lines = csv.reader(said.split("\n\n")[0].strip().splitlines())
        figures = [float(line[head.index("value")]) for line in lines]
        assert sorted(figures) == sorted(shown)
    assert set(code["r"].splitlines()) >= {"library(discreet)"}
    assert f'Sys.setenv(DISCREET_SERVICE_URL = "{base}")' in code["r"]


def _plain(symbol: str) -> str:
    """A figure as programs write it."""
    return re.sub(r"[^0-9.-]", "", symbol) or "0"


def _run(words: list[str], settings: dict[str, str]) -> str:
    done = subprocess.run(words, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_table_is_shown_and_kept_with_few_keys(logged_in: LoggedIn, check_page: Any) -> None:
    """From the first page of the builder to the table: nine keys; no mouse."""
    page = logged_in("requester")
    page.goto("/tables/census")
    first = page.locator("input[name=by]").first
    keys = ["Tab", "Enter"]  # past the navigation
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_function("location.hash === '#content'")
    while not first.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
        keys.append("Tab")
    for key in ("Space", "Enter"):
        page.keyboard.press(key)
        keys.append(key)
    page.locator("table#table").wait_for()
    assert len(keys) <= 10, keys
    page.get_by_role("link", name="Bars").press("Enter")
    page.locator("figure svg").wait_for()
    check_page(page)
    page.get_by_role("button", name="Add to basket").press("Enter")
    page.wait_for_url("**/basket")
    check_page(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="csv", exact=True).press("Enter")
    assert waiting.value.suggested_filename == "tables.zip"
    page.get_by_role("button", name="Remove").press("Enter")
    page.get_by_text("The basket is empty.").wait_for()


def test_what_cannot_be_added_is_greyed_while_one_chooses(logged_in: LoggedIn) -> None:
    page = logged_in("requester")
    page.goto("/tables/census")
    box = page.locator("input[name=by][value='marital_status:1']")
    # Another table than the one whose refusal two producers override.
    for value in ("region:municipality", "sex:1", "education:2"):
        page.locator(f"input[name=by][value='{value}']").check()
    page.locator("[data-reason=marital_status]").wait_for()
    assert box.is_disabled()
    page.locator("input[name=by][value='education:2']").uncheck()
    page.locator("[data-reason=marital_status]").wait_for(state="hidden")
    assert box.is_enabled()
