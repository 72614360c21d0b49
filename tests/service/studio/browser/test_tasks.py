"""The task of a reader in at most eight steps, by keys alone: with scripts in English, and without
them in German, on a telephone, in the dark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MOST_STEPS = 8
WAYS = [
    pytest.param({}, id="scripts-english"),
    pytest.param(
        {"scripts": False, "language": "de", "width": 390, "height": 844, "dark": True},
        id="no-scripts-german-narrow-dark",
    ),
]
pytestmark = pytest.mark.parametrize("way", WAYS)


class Walk:
    """Somebody with a keyboard: each thing that they press, write or choose is a step."""

    def __init__(self, page: Any, *, scripts: bool) -> None:
        self.page, self.scripts, self.steps = page, scripts, 0

    def look(self, check_page: Callable[[Any], None]) -> None:
        """Look at the page as browsers with scripts can."""
        if self.scripts:
            check_page(self.page)
        wide = self.page.locator("html").bounding_box()["width"]
        assert wide <= self.page.viewport_size["width"]

    def _to(self, selector: str) -> Any:
        self.steps += 1
        assert self.steps <= MOST_STEPS, selector
        target = self.page.locator(selector).first
        target.wait_for(timeout=15_000)
        target.focus()
        assert target.evaluate("one => one === document.activeElement && one.tabIndex >= 0")
        return target

    def press(self, selector: str, key: str = "Enter") -> None:
        """Press something: a link, a button or a box."""
        self._to(selector)
        self.page.keyboard.press(key)

    def kept(self, selector: str) -> bytes:
        """Press what gives a file, and what is in that."""
        with self.page.expect_download() as waiting:
            self.press(selector)
        content: bytes = waiting.value.path().read_bytes()
        return content


@pytest.fixture
def walk(logged_in: Callable[..., Any], way: dict[str, Any]) -> Callable[[str], Walk]:
    return lambda role: Walk(logged_in(role, **way), scripts=way.get("scripts", True))


def test_reader_looks_at_a_map_and_keeps_the_table(walk: Any, check_page: Any) -> None:
    reader = walk("reader")
    reader.press("nav.pages a[href='/releases']")
    reader.press("a[href='/releases/census-2022']")
    reader.press("a[href='/releases/census-2022/population']")
    reader.press("nav.charts a[data-focus='chart-map']")
    reader.page.wait_for_selector("figure.chart-paper svg")
    reader.look(check_page)
    assert b"region" in reader.kept(".formats a >> text=/^csv$/")
