"""What a perturbation table does to each count: `evaluate`, `describe` and `draw`.

In: a perturbation table. Out: figures per row, a description, a drawing that `rich` can
print. SECRET, like the table itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.assessment.probabilities import NoiseChances
from discreet.assessment.words import listed, number, percent, words_of
from discreet.protection.noise import PerturbationTable, moments

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Group
    from rich.text import Text


def evaluate(ptable: PerturbationTable) -> pl.DataFrame:
    """Figures of each row. SECRET.

    Columns: `i` (original count), `mean` and `variance` of the noise, `entropy` (in
    nats), `stay` (probability that the count is unchanged), `p_zero` (that it becomes
    or stays 0), `max_noise` (largest absolute noise). Mean and variance are exact
    before they become floats.

    Args:
        ptable: The perturbation table.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> evaluate(ptable).row(1, named=True)["p_zero"]
    0.25
    """
    import polars as pl

    rows = []
    for count, every in ptable.content.shares():
        share = {value: part for value, part in every.items() if part}
        mean, variance = moments(share)
        nats = -math.fsum(float(part) * math.log(part) for part in share.values())
        rows.append(
            {
                "i": count,
                "mean": float(mean),
                "variance": float(variance),
                "entropy": abs(nats),
                "stay": float(share.get(0, 0)),
                "p_zero": float(share.get(-count, 0)),
                "max_noise": max(abs(value) for value in share),
            }
        )
    return pl.DataFrame(rows)


def never_published(ptable: PerturbationTable) -> list[int]:
    """The values below the last row that no count ever becomes. SECRET.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}, 2: {0: 1}})
    >>> never_published(ptable)
    [1]
    """
    chances = NoiseChances.of(ptable)
    counts = np.arange(chances.n_max + ptable.max_noise + 1, dtype=np.int64)
    count, at = np.nonzero(chances.units[chances.rows_of(counts)])
    reached = set((count + chances.noise[at]).tolist())
    return [value for value in range(chances.n_max) if value not in reached]


def describe(ptable: PerturbationTable, language: str = "en") -> str:
    """The table in plain words. SECRET.

    Args:
        ptable: The perturbation table.
        language: "en" or "de".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> print(describe(ptable))
    Noise is at most 1. Zero stays zero.
    From count 1 on all counts are treated alike: 50 % stay as they are, the variance is 0.5.
    The noise averages zero in every row.
    Of the counts from 1 on, 100 % change by at most 1, 0 % by 3 or more, 0 % by 4 or more;
    on average they change by 0.5.
    """
    words = words_of("description", language)
    chances, rows = NoiseChances.of(ptable), evaluate(ptable)
    alike = chances.last_alike
    lines = [words["most"].format(most=number(ptable.max_noise, language))]
    lines[0] += " " + words["zeros changed" if ptable.changes_zeros else "zeros stay"]
    if never := never_published(ptable):
        lines.append(words["never"].format(values=listed(never, language)))
    if alike is None:
        lines.append(words["block"])
    else:
        lines += _alike(rows, alike, words, language)
    bias = max(abs(value) for value in rows["mean"].to_list())
    key = "no bias" if bias < 5e-7 else "bias"
    lines.append(words[key].format(bias=number(bias, language, 6)))
    if ptable.key_grid is not None:
        lines.append(words["grid"].format(keys=ptable.key_grid))
    if _permuted(ptable):
        lines.append(words["permuted"])
    if alike is not None:
        lines.append(_quality_words(chances, alike, words, language))
    return "\n".join(lines)


def _alike(rows: pl.DataFrame, alike: int, words: Mapping[str, str], language: str) -> list[str]:
    """The rows before all are alike, and the rest."""
    common = rows.row(alike, named=True)
    lines = []
    if alike > 1:
        before = rows.filter((rows["i"] > 0) & (rows["i"] < alike))
        stay = [percent(value, language) for value in sorted(before["stay"].to_list())]
        variance = [number(value, language) for value in sorted(before["variance"].to_list())]
        lines.append(
            words["before"].format(
                last=alike - 1,
                stay=_span(stay, words),
                variance=_span(variance, words),
            )
        )
    lines.append(
        words["alike"].format(
            first=max(alike, 1),
            stay=percent(common["stay"], language),
            variance=number(common["variance"], language),
        )
    )
    return lines


def _span(texts: list[str], words: Mapping[str, str]) -> str:
    """From the first text to the last, or the one there is."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} {words['to']} {texts[-1]}"


def _quality_words(
    chances: NoiseChances, alike: int, words: Mapping[str, str], language: str
) -> str:
    size = np.abs(chances.noise)
    common = chances.units[alike]

    def share(wanted: object) -> str:
        return percent(int(common[np.asarray(wanted)].sum()) / chances.scale, language)

    return words["quality"].format(
        first=max(alike, 1),
        one=share(size <= 1),
        three=share(size >= 3),
        four=share(size >= 4),
        mean=number(int((common * size).sum()) / chances.scale, language),
    )


def _permuted(ptable: PerturbationTable) -> bool:
    return any(
        later < earlier
        for _, _, noise in ptable.content.rows()
        for earlier, later in pairwise(noise)
    )


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

    words = words_of("drawing", language)
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
    return alike if NoiseChances.of(ptable).last_alike is not None else len(rows) - 1


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
