"""Perturbation tables on 256 or 4096 keys, for offices that list the noise of every key.

In: a perturbation table. Out: one whose probabilities are whole numbers of keys,
and what the rounding has changed. SECRET on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray
from discreet.errors import PerturbationError
from discreet.files import texts_of
from discreet.protection.noise.formats import FULL_ROWS, KEYS, REPEATING
from discreet.protection.noise.intervals import Beyond, moments, pack
from discreet.protection.noise.table import PerturbationTable

if TYPE_CHECKING:
    import polars as pl

_NEVER = np.int64(2**62)
_SPARE = 6  # roundings up that a part of a row may have beyond its expectation


@dataclass(frozen=True, repr=False, eq=False)
class RoundingError:
    """Error from rounding a table to few keys. SECRET."""

    keys: int  # number of keys
    #: Per row i: the largest change of a probability, the changes of mean and variance, and how
    #: many noise values were too rare to keep a key
    rows: pl.DataFrame

    @property
    def largest(self) -> float:
        """The largest change of any probability."""
        return max(self.rows["largest"].to_list(), default=0.0)

    @property
    def largest_mean(self) -> float:
        """The largest change of a row's mean."""
        return max((abs(value) for value in self.rows["mean"].to_list()), default=0.0)

    @property
    def largest_variance(self) -> float:
        """The largest change of a row's variance."""
        return max((abs(value) for value in self.rows["variance"].to_list()), default=0.0)

    def text(self, language: str = "en") -> str:
        """The largest errors in plain words. SECRET."""
        if language not in ("en", "de"):
            raise PerturbationError(f"unknown language {language!r}", code="language")
        text = texts_of("discreet.protection.noise", "rounding", language)["few-keys"]
        return text.format(
            keys=self.keys,
            largest=f"{self.largest:.2g}",
            mean=f"{self.largest_mean:.2g}",
            variance=f"{self.largest_variance:.2g}",
            lost=int(self.rows["lost"].sum()),
        )

    def described(self) -> dict[str, object]:
        """The largest errors and those of each row, for programs. SECRET."""
        return {
            "keys": self.keys,
            "largest": self.largest,
            "largest_mean": self.largest_mean,
            "largest_variance": self.largest_variance,
            "rows": self.rows.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"<RoundingError on {self.keys} keys: secret>"


def discretised(
    ptable: PerturbationTable, keys: int = 256, *, fill: bool = True
) -> tuple[PerturbationTable, RoundingError]:
    """Round a table to 256 or 4096 keys, with the exact error.

    Each probability becomes one of the two whole numbers of keys beside it, chosen so
    that the mean stays as near as it can and, with that, the squared changes are least. Noise that
    was impossible stays impossible. Permute afterwards, not before.

    Args:
        ptable: The table; each noise has one interval in a row.
        keys: 256 or 4096.
        fill: Repeat the last row up to row 750, as programs that read this layout need:
            they take rows that are missing for "no noise".

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.3, 0: 0.4, 1: 0.3}})
    >>> on_keys, error = discretised(ptable, 256, fill=False)
    >>> on_keys.transition_matrix()[1] * 256
    array([ 77., 102.,  77.])
    >>> error.largest, error.largest_mean
    (0.0015625, 0.0)
    """
    import polars as pl

    if keys not in KEYS or isinstance(keys, bool):
        raise PerturbationError(
            "the number of keys must be 256 or 4096", code="discretising", where="keys"
        )
    content = ptable.with_closed("left").content
    scale = content.scale
    _check_rows(ptable, fill=fill)
    rows, changes = [], []
    for count, upper, noise in content.rows():
        widths = [bound - below for below, bound in pairwise([0, *upper])]
        numbers = _rounded(widths, noise, keys, scale)
        bounds = np.cumsum(numbers).tolist()
        rows.append(list(zip(bounds, noise, strict=True)))
        before = {at: Fraction(width, scale) for at, width in zip(noise, widths, strict=True)}
        after = {at: Fraction(number, keys) for at, number in zip(noise, numbers, strict=True)}
        (mean, variance), (new_mean, new_variance) = moments(before), moments(after)
        changes.append(
            {
                "i": count,
                "largest": float(max(abs(after[value] - before[value]) for value in noise)),
                "mean": float(new_mean - mean),
                "variance": float(new_variance - variance),
                "lost": sum(before[value] > 0 and after[value] == 0 for value in noise),
            }
        )
    beyond: Beyond = content.beyond
    if fill:
        rows += [rows[-1]] * (FULL_ROWS - content.n_max)
        beyond = REPEATING
    packed = pack(rows, scale=keys, beyond=beyond, zeros=content.zeros)
    return replace(ptable, content=packed), RoundingError(keys, pl.DataFrame(changes))


def _check_rows(ptable: PerturbationTable, *, fill: bool) -> None:
    content = ptable.content
    split = [row for row, _, noise in content.rows() if len(set(noise)) < len(noise)]
    if split:
        raise PerturbationError(
            f"{len(split)} rows have several intervals of the same noise",
            code="discretising",
            where=f"row {split[0]}",
            hint="discretise the table first, then split and permute it",
        )
    if fill and content.beyond not in ("last", REPEATING):
        message = "counts beyond the table use a repeated block, which this layout lacks"
        raise PerturbationError(message, code="discretising", hint="use fill=False")
    if fill and content.n_max > FULL_ROWS:
        message = f"the table has more rows than this layout, {FULL_ROWS}"
        raise PerturbationError(message, code="discretising", hint="use fill=False")


def _rounded(widths: list[int], noise: list[int], keys: int, scale: int) -> list[int]:
    """Whole numbers of keys that sum to all keys and keep the mean."""
    numbers = [width * keys // scale for width in widths]
    rests = [width * keys % scale for width in widths]
    open_ = [at for at, rest in enumerate(rests) if rest]
    if open_:
        chosen = _choose([rests[at] for at in open_], [noise[at] for at in open_], scale)
        for at, up in zip(open_, chosen, strict=True):
            numbers[at] += up
    return numbers


def _choose(rests: list[int], noise: list[int], scale: int) -> list[int]:
    """Which probabilities to round up (1) so that number and mean come out right.

    A state is (how many are up, sum of their noise), both less what is expected so
    far; the least cost of each state is found item by item. To bound the work, states
    far from the expectation are left aside.
    """
    reach = 4 * max(1, *(abs(value) for value in noise))
    shape = (2 * _SPARE + 1, 2 * reach + 1)
    cost = np.full(shape, _NEVER, dtype=np.int64)
    cost[_SPARE, reach] = 0
    number, total = Fraction(0), Fraction(0)
    went_up: list[npt.NDArray[np.bool_]] = []
    moves: list[tuple[int, int]] = []
    for rest, value in zip(rests, noise, strict=True):
        before = round(number), round(total)
        number += Fraction(rest, scale)
        total += Fraction(rest * value, scale)
        drop = before[0] - round(number), before[1] - round(total)
        stays = _moved(cost, *drop)
        rises = _moved(cost, drop[0] + 1, drop[1] + value)
        rises = np.where(rises < _NEVER, rises + (scale - 2 * rest), _NEVER)
        went_up.append(rises < stays)
        moves.append(drop)
        cost = np.minimum(stays, rises)
    return _traced(cost[_SPARE], total - round(total), went_up, moves, noise)


def _moved(cost: IntArray, rows: int, columns: int) -> IntArray:
    """The array with its content moved; what leaves it is lost."""
    moved = np.full_like(cost, _NEVER)
    height, width = cost.shape
    if abs(rows) < height and abs(columns) < width:
        to = slice(max(rows, 0), height + min(rows, 0))
        of = slice(max(-rows, 0), height - max(rows, 0))
        across_to = slice(max(columns, 0), width + min(columns, 0))
        across_of = slice(max(-columns, 0), width - max(columns, 0))
        moved[to, across_to] = cost[of, across_of]
    return moved


def _traced(
    ends: IntArray,
    wanted: Fraction,
    went_up: list[npt.NDArray[np.bool_]],
    moves: list[tuple[int, int]],
    noise: list[int],
) -> list[int]:
    """Back from the end state nearest to the mean that is wanted."""
    middle = len(ends) // 2
    reached = np.flatnonzero(ends < _NEVER).tolist()
    row = _SPARE
    column = min(reached, key=lambda at: (abs(at - middle - wanted), int(ends[at])))
    chosen = []
    for up, (drop, fall), value in zip(
        reversed(went_up), reversed(moves), reversed(noise), strict=True
    ):
        rises = bool(up[row, column])
        chosen.append(int(rises))
        row -= drop + rises
        column -= fall + value * rises
    return chosen[::-1]
