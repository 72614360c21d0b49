"""A perturbation table drawn in the terminal: `draw`.

In: a perturbation table. Out: something `rich` can print. SECRET, like the table.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.assessment.chances import Chances
from discreet.assessment.words import check_language
from discreet.perturbation import PerturbationTable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

__all__ = ["draw"]

_WIDTH = 64
_ROWS = 24
_LETTERS = 26
# Blue for less, orange for more: told apart by people with any colour vision, and by
# the letters where there is no colour. The darker, the larger.
_LESS = ("#d1e5f0", "#92c5de", "#4393c3", "#2166ac", "#053061")
_MORE = ("#fee0b6", "#fdb863", "#e08214", "#b35806", "#7f3b08")
_NOTHING = "#f7f7f7"
_DARK_FROM = 2  # colours from here on carry white letters


def draw(ptable: PerturbationTable, language: str = "en", *, width: int = _WIDTH) -> Group:
    """The rows as bars over the keys, intervals where they lie. SECRET.

    One letter stands for 1/width of the keys: a small letter for noise below zero
    (a = -1), a capital for noise above (A = +1), a dot for none. Rows that are alike
    at the end are drawn once, and at most 24 rows.

    Args:
        ptable: The perturbation table.
        language: "en" or "de".
        width: Number of letters of a bar.

    >>> from rich.console import Console
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> Console(width=60).print(draw(ptable, width=16))
        0  ················
       1+  aaaa········AAAA
    Small letters: noise below zero (a = -1); capitals: above
    zero (A = +1); dots: none.
    """
    from rich.console import Group
    from rich.text import Text

    words = _WORDS[check_language(language)]
    content = ptable.with_closed("left").content
    alike = _last_drawn(ptable)
    reach = max(ptable.max_noise, 1)
    lines: list[Text] = []
    for count, upper, noise in content.rows():
        if count > min(alike, _ROWS - 1):
            break
        mark = "+" if count == alike and content.beyond == "last" else ""
        bar = Text(f"{count}{mark}".rjust(5) + "  ")
        for value in _sampled(upper, noise, content.scale, width):
            bar.append(_letter(value), style=_style(value, reach))
        lines.append(bar)
    if alike >= _ROWS:
        lines.append(Text(words["more"].format(last=content.n_max)))
    return Group(*lines, Text(words["legend"]))


def _last_drawn(ptable: PerturbationTable) -> int:
    """The last row that is not just like the one before, with its intervals as they lie."""
    rows = [(upper, noise) for _, upper, noise in ptable.content.rows()]
    alike = len(rows) - 1
    for before, after in pairwise(reversed(rows)):
        if before != after:
            break
        alike -= 1
    return alike if Chances.of(ptable).last_alike is not None else len(rows) - 1


def _sampled(upper: list[int], noise: list[int], scale: int, width: int) -> list[int]:
    """The noise in the middle of each of `width` equal pieces."""
    sampled = []
    at = 0
    for piece in range(width):
        key = (2 * piece + 1) * scale // (2 * width)
        while upper[at] <= key:
            at += 1
        sampled.append(noise[at])
    return sampled


def _letter(value: int) -> str:
    if value == 0:
        return "·"
    return chr(ord("a" if value < 0 else "A") + min(abs(value), _LETTERS) - 1)


def _style(value: int, reach: int) -> str:
    if value == 0:
        return f"black on {_NOTHING}"
    shades = _LESS if value < 0 else _MORE
    shade = (abs(value) - 1) * len(shades) // reach
    return f"{'white' if shade > _DARK_FROM else 'black'} on {shades[shade]}"


_WORDS = {
    "en": {
        "legend": "Small letters: noise below zero (a = -1); capitals: above zero (A = +1); "
        "dots: none.",
        "more": "   …   more rows, up to {last}",
    },
    "de": {
        "legend": "Kleine Buchstaben: Überlagerung unter null (a = -1); große: über null "
        "(A = +1); Punkte: keine.",
        "more": "   …   weitere Zeilen bis {last}",
    },
}
