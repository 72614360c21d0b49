"""Cross products of columns that no order of the rows can change.

Every number is cut into slices of 20 bits (after Ozaki et al. 2012): slices are whole
numbers, so a matrix product over a block of rows is exact whatever the order in which a
library adds, and blocks are added as whole numbers.

In: blocks of rows of columns, their largest absolute values. Out: cross products as exact
whole numbers with the power of two that each column carries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.threads import side_by_side, slices

__all__ = ["ROWS", "SLICES", "Gram", "Scale", "exact_gram", "exact_group_sums", "powers_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
#: Gives the rows from one number up to another, one column per variable.
Blocks = Callable[[int, int], FloatArray]

#: Rows of one block; with slices of 20 bits their products stay below 2^53.
ROWS = 2**13
_BITS = 20
#: Slices of a number: 60 bits of the largest one.
SLICES = 3
_LOW = 2**26
#: Rows and columns of a piece of a block; no more than 2^18 multiplications.
_PIECE, _PANEL = 128, 40


@dataclass(frozen=True, repr=False)
class Scale:
    """How columns are cut: each by its own power of two, into as many slices as it needs."""

    powers: IntArray
    slices: IntArray

    def cut(self, block: FloatArray) -> FloatArray:
        """All first slices, then the second ones of columns that have one, and so on."""
        # Powers of two, as products: exact, and much faster than setting exponents.
        half = (_BITS - self.powers) // 2
        first, second = np.ldexp(1.0, half), np.ldexp(1.0, _BITS - self.powers - half)
        rest = block * (first * second) if np.all(np.abs(half) < 500) else block * first * second
        parts = []
        for number in range(SLICES):
            wanted = self.slices > number
            if not wanted.any():
                break
            known = wanted[self.slices >= number]
            now = rest if known.all() else rest[:, known]
            part = np.rint(now)
            parts.append(part)
            rest = (now - part) * 2.0**_BITS
        return np.concatenate(parts, axis=1)

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """Column and number of each slice, in the order of `cut`."""
        pairs = [
            (column, number)
            for number in range(SLICES)
            for column in np.flatnonzero(self.slices > number)
        ]
        columns, numbers = zip(*pairs, strict=True)
        return np.array(columns), np.array(numbers)


@dataclass(frozen=True, repr=False)
class Gram:
    """Exact cross products: entry (i, j) is `whole[i, j]` times 2^(power i + power j).

    CONFIDENTIAL.
    """

    whole: npt.NDArray[np.object_]
    powers: IntArray

    def number(self, i: int, j: int) -> float:
        """One entry, correctly rounded."""
        return scaled(int(self.whole[i, j]), int(self.powers[i] + self.powers[j]))

    def floats(self) -> FloatArray:
        """All entries, each correctly rounded."""
        size = len(self.powers)
        entries = [[self.number(i, j) for j in range(size)] for i in range(size)]
        return np.array(entries, dtype=np.float64).reshape(size, size)


def scaled(whole: int, power: int) -> float:
    """A whole number times a power of two, correctly rounded.

    >>> scaled(3, -1), scaled(2**70 + 1, -70)
    (1.5, 1.0)
    """
    surplus = max(0, abs(whole).bit_length() - 900)
    return math.ldexp(float(whole >> surplus), power + surplus)


def powers_of(largest: FloatArray, whole: npt.NDArray[np.bool_], slices: int = SLICES) -> Scale:
    """How to cut columns whose absolute values do not exceed `largest`.

    Args:
        largest: Bound of the absolute values of each column.
        whole: Columns that consist of whole numbers; small ones need one slice only.
        slices: Slices of the others; two keep 40 bits.
    """
    _, powers = np.frexp(largest)
    small = whole & (largest <= 2.0**_BITS)
    powers = np.where(small, _BITS, powers).astype(np.int64)
    return Scale(powers, np.where(small, 1, slices).astype(np.int64))


def exact_gram(blocks: Blocks, rows: int, scale: Scale) -> Gram:
    """The cross products of all pairs of columns.

    >>> columns = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 1e9]])
    >>> scale = powers_of(np.abs(columns).max(axis=0), np.array([True, False]))
    >>> exact_gram(lambda a, b: columns[a:b], 3, scale).number(0, 0)
    3.0
    """
    columns, numbers = scale.places
    size = len(columns)

    def inside(part: slice) -> npt.NDArray[np.int64]:
        sums = np.zeros((2, size, size), np.int64)
        for start in range(part.start, part.stop, ROWS):
            cut = scale.cut(blocks(start, min(start + ROWS, part.stop)))
            product = _crossed(cut).astype(np.int64)
            sums[0] += product // _LOW
            sums[1] += product % _LOW
        return sums

    high, low = np.sum(side_by_side([partial(inside, part) for part in slices(rows)]), axis=0)
    sums = high.astype(object) * _LOW + low.astype(object)
    whole = np.zeros((len(scale.powers),) * 2, dtype=object)
    most = 2 * (SLICES - 1) * _BITS
    shifts = np.array([2**_shift for _shift in range(0, most + 1, _BITS)], dtype=object)
    for number in range(SLICES):
        for other in range(SLICES):
            left, right = numbers == number, numbers == other
            if left.any() and right.any():
                part = sums[np.ix_(left, right)] * shifts[2 * (SLICES - 1) - number - other]
                whole[np.ix_(columns[left], columns[right])] += part
    return Gram(whole, scale.powers - _BITS * SLICES)


def _crossed(cut: FloatArray) -> FloatArray:
    """Cross products of a block, in pieces too small for a library to share among threads.

    Threads that wait for each other on a busy machine take far longer than the work.
    """
    rows, size = cut.shape
    stacked = np.zeros((-(-rows // _PIECE), _PIECE, size))
    stacked.reshape(-1, size)[:rows] = cut
    found = np.empty((size, size))
    for start in range(0, size, _PANEL):
        left = slice(start, start + _PANEL)
        for other in range(start, size, _PANEL):
            right = slice(other, other + _PANEL)
            part = np.matmul(stacked[:, :, left].transpose(0, 2, 1), stacked[:, :, right])
            found[left, right] = part.sum(axis=0)
            found[right, left] = found[left, right].T
    return found


def exact_group_sums(
    column: FloatArray, groups: IntArray, number: int, largest: float
) -> FloatArray:
    """The sum of a column in each group, whatever the order of the rows.

    >>> exact_group_sums(np.array([0.5, 1e9, 0.25]), np.array([0, 1, 0]), 2, 1e9).tolist()
    [0.75, 1000000000.0]
    """
    scale = powers_of(np.array([largest]), np.array([False]))
    total = np.zeros((number, SLICES), dtype=np.float64)
    carried: Any = np.zeros((number, SLICES), dtype=np.int64)
    step = 2 ** (53 - _BITS - 1)
    for start in range(0, len(column), step):
        cut = scale.cut(column[start : start + step, None])
        part = groups[start : start + step]
        for place in range(SLICES):
            total[:, place] = np.bincount(part, weights=cut[:, place], minlength=number)
        carried += total.astype(np.int64)
    return np.asarray(np.ldexp(_joined(carried), int(scale.powers[0]) - _BITS * SLICES))


def _joined(slices: IntArray) -> FloatArray:
    """Whole numbers of three slices of 20 bits, each correctly rounded.

    >>> _joined(np.array([[1, -1, 0], [0, 0, 7]])).tolist() == [2.0**40 - 2.0**20, 7.0]
    True
    """
    high, middle, low = (slices[:, place].copy() for place in range(SLICES))
    middle += low >> _BITS
    high += middle >> _BITS
    rest = ((middle & (2**_BITS - 1)) << _BITS) + (low & (2**_BITS - 1))
    # Both are exact as floating-point numbers, so the only rounding is that of their sum.
    return np.asarray(high * 2.0 ** (2 * _BITS) + rest, dtype=np.float64)
