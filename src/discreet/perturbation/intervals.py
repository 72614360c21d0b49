"""The content of a perturbation table: intervals of the key grid, each with its noise.

In: bounds as exact integers. Out: an immutable `Intervals`, the one form in
which all formats meet. SECRET: nothing here is ever printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["DECIMAL_SCALE", "Beyond", "Bound", "Closed", "Entry", "Intervals", "on_scale", "pack"]

IntArray = npt.NDArray[np.int64]
Bound = Fraction | int
Closed = Literal["left", "right"]
#: What counts beyond the last row use: that row, or (first row, length) of a repeating block.
Beyond = Literal["last"] | tuple[int, int]

#: Bounds written as decimals are stored in units of 10^-15, the precision of the keys.
DECIMAL_SCALE = 10**15


@dataclass(frozen=True, slots=True, repr=False)
class Entry:
    """One interval as a file or a caller states it, before it is checked.

    Args:
        line: Where it stands, for error messages ("line 12", "row 3").
        count: The original count it belongs to.
        noise: What is added to the count.
        upper: Its upper bound: a number up to 1, or units of a scale.
        lower: Its lower bound, if stated.
        share: Its probability, if stated.
        target: Count plus noise, if stated.
    """

    line: str
    count: int
    noise: int
    upper: Bound
    lower: Fraction | None = None
    share: Fraction | None = None
    target: Fraction | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Intervals:
    """Rows 0 … n_max, each a sequence of intervals; neighbours differ in noise.

    Args:
        scale: The bounds are integers 1 … scale.
        closed: "left" if a bound belongs to the interval above it, "right" if to
            the one below.
        starts: Where each row begins in `upper` and `noise`, and the end of the last.
        upper: Upper bounds.
        noise: What is added.
        beyond: What counts beyond the last row use.
        zeros: Whether row 0 is meant to change zeros.
    """

    scale: int
    closed: Closed
    starts: IntArray
    upper: IntArray
    noise: IntArray
    beyond: Beyond = "last"
    zeros: bool = False

    def __post_init__(self) -> None:
        for name in ("starts", "upper", "noise"):
            fixed = np.array(getattr(self, name), dtype=np.int64)
            fixed.setflags(write=False)
            object.__setattr__(self, name, fixed)

    @property
    def n_max(self) -> int:
        """The last original count with a row of its own."""
        return len(self.starts) - 2

    @property
    def row_of(self) -> IntArray:
        """The row each interval belongs to."""
        return np.repeat(np.arange(self.n_max + 1, dtype=np.int64), np.diff(self.starts))

    @property
    def widths(self) -> IntArray:
        """Width of each interval in units of 1/scale; the row's widths sum to the scale."""
        lower = np.concatenate([[0], self.upper[:-1]])
        lower[self.starts[:-1]] = 0
        return np.asarray(self.upper - lower, dtype=np.int64)

    def rows(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Each row with its upper bounds and its noise."""
        upper, noise = self.upper.tolist(), self.noise.tolist()
        starts = self.starts.tolist()
        for row, (first, last) in enumerate(pairwise(starts)):
            yield row, upper[first:last], noise[first:last]

    def canonical(self) -> bytes:
        """The same bytes for the same table, whatever file it came from."""
        head = (
            f"discreet perturbation table 1|{self.scale}|{self.closed}|{self.beyond}|{self.zeros}"
        )
        arrays = (self.starts, self.upper, self.noise)
        parts = [np.ascontiguousarray(part, dtype="<i8").tobytes() for part in arrays]
        return b"".join([head.encode(), *parts])

    def __repr__(self) -> str:
        return "<Intervals: secret>"


def on_scale(bound: Fraction, closed: Closed, scale: int = DECIMAL_SCALE) -> int:
    """A bound in units of 1/scale, such that no key on that grid changes sides.

    >>> on_scale(Fraction("0.25"), "left")
    250000000000000
    """
    exact = bound * scale
    whole = exact.numerator // exact.denominator
    return whole + 1 if closed == "left" and whole != exact else whole


def pack(
    rows: Sequence[Sequence[tuple[int, int]]],
    *,
    closed: Closed = "left",
    scale: int = DECIMAL_SCALE,
    beyond: Beyond = "last",
    zeros: bool = False,
) -> Intervals:
    """Put checked rows of (upper bound, noise) together.

    Intervals without a key in them are left out and neighbours of equal noise
    joined, so that equal tables are equal however they were written.
    """
    starts: list[int] = [0]
    upper: list[int] = []
    noise: list[int] = []
    for row in rows:
        last = 0 if closed == "left" else -1
        first = len(upper)
        for bound, value in row:
            if bound == last:
                continue
            if len(upper) > first and noise[-1] == value:
                upper[-1] = bound
            else:
                upper.append(bound)
                noise.append(value)
            last = bound
        starts.append(len(upper))
    return Intervals(
        scale,
        closed,
        np.array(starts, dtype=np.int64),
        np.array(upper, dtype=np.int64),
        np.array(noise, dtype=np.int64),
        beyond=beyond,
        zeros=zeros,
    )
