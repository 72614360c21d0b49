"""What a perturbation table does to each count, and the probabilities that assessments rest on.

In: a perturbation table; a confidential table, a list of counts, or a mapping. Out: exact
numbers of keys per row and noise; figures per row, a description, a drawing that `rich` can
print: SECRET, like the table itself; counts and their weights, checked, CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet.assessment.words import listed, number, percent, words_of
from discreet.confidential import SecretValues
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable, moments
from discreet.tables import Table

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Group
    from rich.text import Text


@dataclass(frozen=True, repr=False, eq=False)
class NoiseChances(SecretValues):
    """Rows 0 … n_max × noise values: how many of the `scale` keys carry which noise."""

    noise: IntArray  # the noise values, ascending, without gaps
    units: IntArray  # number of keys per row and noise value; each row sums to the scale
    scale: int  # number of keys in all
    beyond: tuple[int, int]  # first row and length of the block that larger counts use

    @classmethod
    def of(cls, ptable: PerturbationTable) -> NoiseChances:
        """The chances of a table."""
        content = ptable.content
        noise = np.arange(int(content.noise.min()), int(content.noise.max()) + 1, dtype=np.int64)
        units = np.zeros((content.n_max + 1, len(noise)), dtype=np.int64)
        np.add.at(units, (content.row_of, content.noise - noise[0]), content.widths)
        beyond = (content.n_max, 1) if content.beyond == "last" else content.beyond
        return cls(noise, units, content.scale, beyond)

    @property
    def n_max(self) -> int:
        """The last row."""
        return len(self.units) - 1

    @cached_property
    def share(self) -> FloatArray:
        """The probabilities."""
        return np.asarray(self.units / self.scale, dtype=np.float64)

    @cached_property
    def last_alike(self) -> int | None:
        """The first row from which on all counts have the same noise; None if there is none.

        Tables that repeat their last row many times, or a block of equal rows, are no
        larger than what is different in them.
        """
        start, _ = self.beyond
        if np.any(self.units[start:] != self.units[-1]):
            return None
        other = np.flatnonzero((self.units != self.units[-1]).any(axis=1))
        return int(other[-1]) + 1 if other.size else 0

    def rows_of(self, count: IntArray) -> IntArray:
        """The row that each count uses."""
        start, length = self.beyond
        return np.where(count <= self.n_max, count, start + (count - start) % length)


def exact_sum(values: npt.NDArray[np.integer]) -> int:
    """The sum of whole numbers as a Python number, which cannot overflow."""
    return sum(values.tolist())


def distribution(counts: Any) -> tuple[IntArray, FloatArray]:
    """Different counts, ascending, and the number of cells (or weight) of each.

    >>> distribution([3, 1, 3])
    (array([1, 3]), array([1., 2.]))
    >>> distribution({2: 0.5, 1: 0.5})
    (array([1, 2]), array([0.5, 0.5]))
    """
    if isinstance(counts, Table):
        values, cells = np.unique(counts.count, return_counts=True)
        weight = cells.astype(np.float64)
    elif isinstance(counts, Mapping):

        def order(pair: tuple[Any, Any]) -> float:
            return float(pair[0]) if isinstance(pair[0], int | np.integer) else math.inf

        pairs = sorted(counts.items(), key=order)
        values, weights = _whole([key for key, _ in pairs]), [cells for _, cells in pairs]
        if not all(isinstance(w, int | float | np.number) and 0 <= w < math.inf for w in weights):
            raise _wrong("the number of cells of a count must be at least 0")
        weight = np.array(weights, dtype=np.float64)
        values, weight = values[weight > 0], weight[weight > 0]
    else:
        values, cells = np.unique(_whole(counts), return_counts=True)
        weight = cells.astype(np.float64)
    if not values.size:
        raise _wrong("no counts given")
    if values[0] < 0:
        raise _wrong("counts must not be negative")
    return values.astype(np.int64), weight


def _whole(values: Any) -> IntArray:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        numbers = np.asarray(values)
    except ValueError:
        raise _wrong("not counts") from None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise _wrong("give counts as a list of whole numbers")
    return numbers.astype(np.int64)


def _wrong(message: str) -> PerturbationError:
    hint = "give a Table, a list of counts, or a mapping from count to number of cells"
    problem = Problem(message, "counts", hint)
    return PerturbationError(message, code="counts", where="counts", hint=hint, problems=[problem])


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
    From count 1 all counts are treated equally: 50 % stay unchanged, the variance is 0.5.
    The noise averages zero in every row.
    Counts from 1 on: 100 % change by at most 1, 0 % by 3 or more, 0 % by 4 or more;
    the mean change is 0.5.
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
        if alike > 1:  # the rows before all are alike, from the least to the most
            before = rows.filter((rows["i"] > 0) & (rows["i"] < alike))
            stay = [percent(value, language) for value in sorted(before["stay"].to_list())]
            variance = [number(value, language) for value in sorted(before["variance"].to_list())]
            spans = [
                texts[0] if texts[0] == texts[-1] else f"{texts[0]} {words['to']} {texts[-1]}"
                for texts in (stay, variance)
            ]
            line = words["before"].format(last=alike - 1, stay=spans[0], variance=spans[1])
            lines.append(line)
        common = rows.row(alike, named=True)
        lines.append(
            words["alike"].format(
                first=max(alike, 1),
                stay=percent(common["stay"], language),
                variance=number(common["variance"], language),
            )
        )
    bias = max(abs(value) for value in rows["mean"].to_list())
    key = "no bias" if bias < 5e-7 else "bias"
    lines.append(words[key].format(bias=number(bias, language, 6)))
    if ptable.key_grid is not None:
        lines.append(words["grid"].format(keys=ptable.key_grid))
    noise = [values for _, _, values in ptable.content.rows()]
    if any(later < earlier for values in noise for earlier, later in pairwise(values)):
        lines.append(words["permuted"])
    if alike is not None:
        size, units = np.abs(chances.noise), chances.units[alike]
        shares = {
            name: percent(int(units[mask].sum()) / chances.scale, language)
            for name, mask in (("one", size <= 1), ("three", size >= 3), ("four", size >= 4))
        }
        mean = number(int((units * size).sum()) / chances.scale, language)
        lines.append(words["quality"].format(first=max(alike, 1), mean=mean, **shares))
    return "\n".join(lines)


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
    # The last row that is not just like the one before, with its intervals as they lie.
    rows = [(upper, noise) for _, upper, noise in ptable.content.rows()]
    alike = len(rows) - 1
    if NoiseChances.of(ptable).last_alike is not None:
        while alike and rows[alike] == rows[alike - 1]:
            alike -= 1
    reach = max(ptable.max_noise, 1)
    lines: list[Text] = []
    for count, upper, noise in content.rows():
        if count > min(alike, _ROWS - 1):
            break
        mark = "+" if count == alike and content.beyond == "last" else ""
        bar = Text(f"{count}{mark}".rjust(5) + "  ")
        at = 0
        for piece in range(width):  # the noise in the middle of each of `width` equal pieces
            key = (2 * piece + 1) * content.scale // (2 * width)
            while upper[at] <= key:
                at += 1
            value = noise[at]
            letter, colours = "·", f"black on {_NOTHING}"
            if value:
                letter = chr(ord("a" if value < 0 else "A") + min(abs(value), _LETTERS) - 1)
                shades = _LESS if value < 0 else _MORE
                shade = (abs(value) - 1) * len(shades) // reach
                ink = "white" if shade > _DARK_FROM else "black"
                colours = f"{ink} on {shades[shade]}"
            bar.append(letter, colours)
        lines.append(bar)
    if alike >= _ROWS:
        lines.append(Text(words["more"].format(last=content.n_max)))
    return Group(*lines, Text(words["legend"]))
