"""What is measured per cell: counts, keys, exact sums, lists of the largest contributions.

In: values and weights of records, or measures of finer cells. Out: the rows of a cube's
measures (`MeasureLayout`), and per cell the k largest contributions with the smallest
and the largest value (`Largest`; confidential). Neither the order of the records nor the
way to merge can change a sum or a list.

For exact sums every number is cut into three whole numbers (limbs), a multiple of 2^12,
of 2^-22 and of 2^-56; limbs are added as 64-bit integers. Numbers are exact where their
last bit is worth at least 2^-56, which holds for all numbers of at least 1/16 and for all
amounts in cents times a power of two; smaller remainders are cut off, per record and
always alike.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet.keygrid import KeyGrid

if TYPE_CHECKING:
    import narwhals as nw

#: Values must be smaller than this in absolute size.
LIMIT = 2.0**47

COARSE = 2.0**12
_BITS = 34
MIDDLE = 2.0**22
FINE = 2.0**_BITS
_MASK = (1 << _BITS) - 1


def to_limbs(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cut values into limbs (whole numbers, still as floats).

    >>> [int(part[0]) for part in to_limbs(np.array([(1 + 2**-52) / 16]))]
    [0, 262144, 1]
    """
    coarse = np.trunc(values / COARSE)
    rest = (values - coarse * COARSE) * MIDDLE
    middle = np.trunc(rest)
    return coarse, middle, np.trunc((rest - middle) * FINE)


def engine_limbs(value: nw.Expr) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    """These digits as expressions of a data engine."""
    import narwhals as nw

    sign = nw.when(value < 0).then(nw.lit(-1.0)).otherwise(nw.lit(1.0))
    size = value * sign
    coarse = (size / COARSE).floor()
    rest = (size - coarse * COARSE) * MIDDLE
    middle = rest.floor()
    return coarse * sign, middle * sign, ((rest - middle) * FINE).floor() * sign


def from_limbs(coarse: IntArray, middle: IntArray, fine: IntArray) -> FloatArray:
    """Put sums of limbs together.

    >>> parts = to_limbs(np.array([0.5, -1234567.25, 3.0]))
    >>> sums = [np.array([int(part.sum())]) for part in parts]
    >>> float(from_limbs(*sums)[0])
    -1234563.75
    """
    coarse, middle, fine = _carried(coarse, middle, fine)
    sign = np.where(coarse < 0, np.int64(-1), np.int64(1))
    coarse, middle, fine = _carried(coarse * sign, middle * sign, fine * sign)
    small: Any = middle.astype(np.float64) / MIDDLE + fine.astype(np.float64) / (MIDDLE * FINE)
    total: FloatArray = (coarse.astype(np.float64) * COARSE + small) * sign
    return total


def _carried(
    coarse: IntArray, middle: IntArray, fine: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The one form of a sum in which the lower limbs are at least 0 and have no carry left."""
    middle = middle + (fine >> _BITS)
    coarse = coarse + (middle >> _BITS)
    return coarse, middle & _MASK, fine & _MASK


#: The parts of an exact sum.
LIMBS = ("coarse", "middle", "fine")
#: The parts of a sum of keys.
KEYS = ("high", "low")

#: What a row of the measures is: of all records or a share of them, and what of these.
MeasureRow = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordShare:
    """Records set apart by their value in one column, so that rest and whole differ.

    Most columns have none of them, and then need no measures of their own.
    """

    column: str  # the value column
    #: "missing" (no value), "zero" (value 0), "negative" (value below 0), or "plain" (all, without
    #: their weights)
    of: str

    @property
    def counted(self) -> bool:
        """Whether records and keys are counted."""
        return self.of in ("missing", "zero")


@dataclass(frozen=True, kw_only=True)
class MeasureLayout:
    """Which rows of the measures hold what.

    Row 0 counts records; then, with keys, the two parts of the key sums; then
    three limbs per sum. The sums are that of the weights, if any, and those of
    the value columns. After them come the measures of the shares.
    """

    keyed: bool  # whether there are record keys
    weight: str | None = None  # column of weights
    values: tuple[str, ...] = ()  # columns to sum
    #: Per column, how many of the largest contributions are wanted
    largest: Mapping[str, int] = field(default_factory=dict)
    shares: tuple[RecordShare, ...] = ()  # the shares of the records that may occur

    @property
    def possible(self) -> tuple[RecordShare, ...]:
        """All shares the largest contributions may need."""
        kinds = ("missing", "zero", "negative", *(["plain"] if self.weight is not None else []))
        return tuple(RecordShare(column, of) for column in self.largest for of in kinds)

    def with_shares(self, shares: Sequence[RecordShare]) -> MeasureLayout:
        """A copy with these shares only."""
        return replace(self, shares=tuple(share for share in self.possible if share in shares))

    def part(self, values: Sequence[str], largest: Mapping[str, int]) -> MeasureLayout:
        """The layout of a table that needs some of the columns only."""
        shares = tuple(share for share in self.shares if share.column in largest)
        return replace(self, values=tuple(values), largest=largest, shares=shares)

    @cached_property
    def rows(self) -> dict[MeasureRow, int]:
        """The place of each measure."""
        return {row: at for at, row in enumerate(dict.fromkeys(self._listed()))}

    def _listed(self) -> Iterator[MeasureRow]:
        keys = KEYS if self.keyed else ()
        yield ("n",)
        yield from (("key", part) for part in keys)
        if self.weight is not None:
            yield from (("weight", limb) for limb in LIMBS)
        yield from (("sum", name, limb) for name in self.values for limb in LIMBS)
        for share in self.shares:
            if share.counted:
                yield (share.of, share.column, "n")
                yield from ((share.of, share.column, part) for part in keys)
            if self.sums_of(share):
                yield from ((share.of, share.column, limb) for limb in LIMBS)

    def sums_of(self, share: RecordShare) -> bool:
        """Whether something is summed over a share: weights of missing, or values."""
        return not share.counted or (share.of == "missing" and self.weight is not None)

    def select(self, measures: IntArray, part: MeasureLayout) -> IntArray:
        """The measures that another layout has; what does not occur here is 0."""
        if part.rows == self.rows:
            return measures
        nothing = np.zeros(measures.shape[1], dtype=np.int64)
        chosen = (self.rows.get(row) for row in part.rows)
        return np.vstack([nothing if at is None else measures[at] for at in chosen])

    def keys(self, measures: IntArray, grid: KeyGrid) -> IntArray | None:
        """The cell keys."""
        if not self.keyed:
            return None
        return grid.combine(*(self.row(measures, "key", part) for part in KEYS))

    def weights(self, measures: IntArray) -> FloatArray | None:
        """The sums of weights."""
        return from_limbs(*self.limbs(measures, "weight")) if self.weight is not None else None

    def value(self, measures: IntArray, name: str) -> FloatArray:
        """The sums of one value column."""
        return from_limbs(*self.limbs(measures, "sum", name))

    def row(self, measures: IntArray, *name: str) -> IntArray:
        """One measure; 0 where no record of its share occurs."""
        at = self.rows.get(name)
        return np.zeros(measures.shape[1], dtype=np.int64) if at is None else measures[at]

    def limbs(self, measures: IntArray, *name: str) -> tuple[IntArray, IntArray, IntArray]:
        """The limbs of one sum."""
        coarse, middle, fine = (self.row(measures, *name, limb) for limb in LIMBS)
        return coarse, middle, fine


#: At most so many contributions per cell.
LARGEST_K = 16
#: From this many lists on, they are merged by compiled loops; where these are loaded, always.
_COMPILED_FROM = 250_000
_LOOPS = "discreet.tabulation.compiled_largest"
_ENDS = 2


@dataclass(frozen=True, repr=False, eq=False)
class Largest:
    """The largest contributions of each cell (confidential)."""

    k: int  # length of a list
    #: One row per cell: smallest value, largest value, the k largest contributions, and their
    #: weights if there are any; NaN where there is none. All that one record needs to look at lies
    #: side by side in memory
    lists: FloatArray

    @classmethod
    def empty(cls, cells: int, k: int, *, weighted: bool) -> Largest:
        """Cells without contributions."""
        return cls(k, np.full((cells, _ENDS + k * (1 + weighted)), np.nan))

    @classmethod
    def of(
        cls, low: FloatArray, high: FloatArray, top: FloatArray, weights: FloatArray | None
    ) -> Largest:
        """From columns made elsewhere; a negative zero becomes a zero."""
        parts = [low[:, None], high[:, None], top, *([] if weights is None else [weights])]
        return cls(int(top.shape[1]), np.hstack(parts) + 0.0)

    @classmethod
    def joined(cls, parts: Sequence[Largest]) -> Largest:
        """The lists of several groups of cells, one after the other."""
        return cls(parts[0].k, np.concatenate([part.lists for part in parts]))

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def weighted(self) -> bool:
        """Whether contributions have weights."""
        return int(self.lists.shape[1]) > _ENDS + self.k

    @property
    def low(self) -> FloatArray:
        """The smallest value of each cell."""
        return self.lists[:, 0]

    @property
    def high(self) -> FloatArray:
        """The largest value of each cell."""
        return self.lists[:, 1]

    @property
    def top(self) -> FloatArray:
        """The largest contributions of each cell."""
        return self.lists[:, _ENDS : _ENDS + self.k]

    @property
    def weights(self) -> FloatArray | None:
        """The weights of the largest contributions."""
        return self.lists[:, _ENDS + self.k :] if self.weighted else None

    def of_cells(self, chosen: IntArray | npt.NDArray[np.bool_]) -> Largest:
        """The lists of some cells."""
        return Largest(self.k, self.lists[chosen])

    def shortened(self, k: int) -> Largest:
        """The first k contributions of each list."""
        if k == self.k:
            return self
        weights = None if self.weights is None else self.weights[:, :k]
        return Largest.of(self.low, self.high, self.top[:, :k], weights)

    def add_records(
        self, cells: IntArray, values: FloatArray, weights: FloatArray | None, *, compiled: bool
    ) -> None:
        """Take in records: each one's cell, value (NaN for none) and weight."""
        if compiled:
            from discreet.tabulation import compiled_largest as loops

            if weights is None:
                loops.add_values(cells, values, self.lists, self.k)
            else:
                loops.add_weighted_values(cells, values, weights, self.lists, self.k)
            return
        present = ~np.isnan(values)
        if not bool(present.all()):
            cells, values = cells[present], values[present]
            weights = None if weights is None else weights[present]
        self._widen(cells, values, values)
        self._take(cells, values + 0.0, weights)

    def add_lists(self, cells: IntArray, other: Largest) -> None:
        """Take in the lists of other cells: the place here of each, and the lists."""
        if len(other) >= _COMPILED_FROM or _LOOPS in sys.modules:
            from discreet.tabulation import compiled_largest as loops

            loops.add_lists(cells, other.lists, self.lists, self.k)
            return
        filled = ~np.isnan(other.high)
        self._widen(cells[filled], other.low[filled], other.high[filled])
        present = ~np.isnan(other.top)
        repeated = np.broadcast_to(cells[:, None], present.shape)[present]
        weights = other.weights
        self._take(repeated, other.top[present], None if weights is None else weights[present])

    def _widen(self, cells: IntArray, low: FloatArray, high: FloatArray) -> None:
        """Bring smallest and largest values up to date."""
        lowest, highest = self.low.copy(), self.high.copy()
        np.fmin.at(lowest, cells, low + 0.0)
        np.fmax.at(highest, cells, high + 0.0)
        self.lists[:, 0], self.lists[:, 1] = lowest, highest

    def _take(self, cells: IntArray, values: FloatArray, weights: FloatArray | None) -> None:
        """Merge contributions in."""
        kept = ~np.isnan(self.top)
        cells = np.concatenate([np.nonzero(kept)[0], cells])
        values = np.concatenate([self.top[kept], values])
        orders = [-values, -np.abs(values), cells]
        if weights is not None and self.weights is not None:
            weights = np.concatenate([self.weights[kept], weights])
            orders.insert(1, -weights)
        order = np.lexsort(orders)
        cells = cells[order]
        rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
        first = rank < self.k
        chosen, at, place = order[first], cells[first], rank[first] + _ENDS
        self.lists[at, place] = values[chosen]
        if weights is not None:
            self.lists[at, place + self.k] = weights[chosen]
