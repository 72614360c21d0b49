"""The six task lists, each in at most eight steps of one person, by keys alone: with scripts in
English, and without them in German, on a telephone, in the dark.
"""

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

MOST_STEPS = 8
WAYS = {
    "scripts-english": {},
    "no-scripts-german-narrow-dark": {
        "scripts": False,
        "language": "de",
        "width": 390,
        "height": 844,
        "dark": True,
    },
}
#: How wide and tall a page is, or the tallest part with a decision of its own; and what it says,
#: but for details that are folded until somebody wants them.
_LOOKED_AT = """() => {
    const page = document.documentElement, main = document.querySelector("main").cloneNode(true);
    const own = "section.output, .builder .choose, .builder .outcome";
    const parts = [...document.querySelectorAll(own)].map(one => one.offsetHeight);
    main.querySelectorAll("details, textarea").forEach(one => one.remove());
    return [page.scrollWidth, Math.max(...parts, parts.length ? 0 : page.scrollHeight),
            main.textContent];
}"""
_PUBLISH = "form[action$='/publish'] button"
_MINE = "#waiting ~ ul li"

#: Task list → who does what: a step is a key pressed on something ("Enter", "Space"), or a text
#: written into a field ("= …"). No steps are what somebody waits for, and looks at: "wait", "look",
#: "decide" (a page of two screens at most, with what is pressed in it), "note" (a value of the
#: page), "keep" (a file with a text in it). Words in braces are noted ones.
TASKS: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "reader": [
        ("reader", [
            ("Enter", "nav.pages a[href='/releases']"),
            ("Enter", "a[href='/releases/census-2022']"),
            ("Enter", "a[href='/releases/census-2022/population']"),
            ("Enter", "nav.charts a[data-focus='chart-map']"),
            ("look", "figure.chart-paper svg"),
            ("keep region", ".formats a >> text=/^csv$/"),
        ]),
    ],
    "methodologist and custodian": [
        ("methodologist", [
            ("Enter", "nav.pages a[href='/designs']"),
            ("= 2.5", "#a_exact"),
            ("Enter", "button[value=effect]"),
            ("look", "#effect"),
            ("note version", "#version"),
            ("Enter", "button[value=save]"),
            ("= less noise", "form[action='/designs/sets/census/{version}'] [name=reason]"),
            ("Enter", "form[action='/designs/sets/census/{version}'] [value=activate]"),
            ("wait", "a[href^='/approvals/']"),
        ]),
        ("second custodian", [
            ("Enter", f"{_MINE} a:has-text('census {{version}}')"),
            ("wait", "#effect"),
            ("decide", "button[value=approve]"),
            ("wait", "#figures thead :text('census {version}')"),
            ("Enter", "button[value=approve]"),
            ("wait", "#find-state"),
        ]),
    ],
    "producer": [
        ("producer", [
            ("Enter", "nav.pages a[href='/programmes']"),
            ("Enter", "main a[href='/programmes/new']"),
            ("Enter", "button[value='edit:person']"),
            ("decide", "button[value=run]"),
            ("Space", "#protection input[name=parts]"),
            ("Enter", "button[value=run]"),
            ("until", "#look, #reason"),
            ("Enter?", "#look"),
            ("= it is due", "#reason"),
            ("decide", _PUBLISH),
            ("Enter", _PUBLISH),
            ("look", "#proposals"),
            ("undo", "#proposals a"),
        ]),
    ],
    "researcher and officer": [
        ("researcher", [
            ("Enter", "nav.pages a[href='/submissions']"),
            ("file", "#files"),
            ("= {project}", "#project"),
            ("Enter", "main form[action='/submissions'] button[type=submit]"),
            ("until", "#own tr:has-text('{project}')"),
        ]),
        ("reviewer", [
            ("Enter", f"{_MINE}:has-text('{{project}}') a"),
            ("decide", "#bar button:not([value])"),
            ("Space", "#v2-hold"),
            ("= a mean of few firms", "#c2"),
            ("Space", "#rest"),
            ("= looked at each", "#reason"),
            ("Enter", "#bar button:not([value])"),
            ("wait", "button[value=approve]"),
            ("= nothing is disclosed", "#reason"),
            ("Enter", "button[value=approve]"),
            ("look", "#verdict"),
        ]),
    ],
    "auditor": [
        ("auditor", [
            ("Enter", "nav.pages a[href='/administration']"),
            ("Enter", "a[href='/administration/trail']"),
            ("= cora", "#find-person"),
            ("Enter", "form.fields button"),
            ("wait", "#rows tbody tr:has-text('cora')"),
            ("Enter", "#rows summary"),
            ("look", "#rows details[open] code"),
            ("Enter", "form[action$='/verify'] button"),
            ("wait", "#verdict.good"),
            ('keep "kind"', "a[href$='/audit/export']"),
        ]),
    ],
}  # fmt: skip


@dataclass
class Walk:
    """Somebody with a keyboard."""

    page: Any
    scripts: bool
    check_page: Callable[[Any], None]
    noted: dict[str, str]
    steps: list[str] = field(default_factory=list)
    #: Requests on their way: who looks again before they are answered takes them back.
    waiting: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("request", lambda one: self.waiting.add(one))
        for end in ("requestfinished", "requestfailed"):
            self.page.on(end, lambda one: self.waiting.discard(one))

    def take(self, act: str, selector: str) -> None:
        """Do one step, or wait for something."""
        selector, (verb, _, text) = selector.format_map(self.noted), act.partition(" ")
        page, first = self.page, self.page.locator(selector).first
        if verb == "until":
            for _ in range(600):  # a job; without scripts, one looks again
                if page.locator(selector).count():
                    return
                page.wait_for_timeout(200)
                if self.waiting or (self.scripts and page.locator("[data-events]").count()):
                    continue
                with suppress(PlaywrightError):  # another page comes by itself
                    page.goto(page.url.partition("#")[0])
            raise AssertionError(f"nothing came: {selector}")
        if verb == "Enter?" and not page.locator(selector).count():
            return
        first.wait_for()
        if verb == "note":
            self.noted[text] = first.input_value()
        elif verb in ("wait", "look", "decide"):
            self._look(verb)
        elif verb == "undo":
            first.press("Enter")
            page.locator("button[value=withdraw]").press("Enter")
            page.locator("#find-state").wait_for()
        else:
            self._press(verb, text.format_map(self.noted), first)

    def _press(self, verb: str, text: str, target: Any) -> None:
        self.steps.append(f"{verb} {text}")
        target.focus()
        assert target.evaluate("one => one === document.activeElement && one.tabIndex >= 0")
        if verb == "file":
            program = f"* {text}\ntabulate sex\nsummarize wage\ntabulate occupation\n"
            target.set_input_files(
                {"name": "pay.do", "mimeType": "text/plain", "buffer": program.encode()}
            )
        elif verb == "keep":
            with self.page.expect_download() as waiting:
                self.page.keyboard.press("Enter")
            assert text.encode() in waiting.value.path().read_bytes()
        elif verb == "=":
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        else:
            self.page.keyboard.press(verb.rstrip("?"))

    def _look(self, verb: str) -> None:
        wide, tall, shown = self.page.evaluate(_LOOKED_AT)
        window = self.page.viewport_size
        assert wide <= window["width"]
        assert not re.search(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", shown), "a time as machines have it"
        if verb == "decide":
            assert tall <= 2 * window["height"], self.page.url
        if verb != "wait" and self.scripts:
            self.check_page(self.page)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("way", WAYS)
def test_task_list(task: str, way: str, logged_in: Callable[..., Any], check_page: Any) -> None:
    noted = {"project": f"P{int(secrets.token_hex(3), 16)}"}
    for role, steps in TASKS[task]:
        page, scripts = logged_in(role, **WAYS[way]), WAYS[way].get("scripts", True)
        walk = Walk(page, scripts, check_page, noted)
        for act, selector in steps:
            walk.take(act, selector)
        assert len(walk.steps) <= MOST_STEPS, walk.steps
