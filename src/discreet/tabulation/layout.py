"""Which rows of a cube's measures hold what.

In: what is counted and summed. Out: the place of every measure. Nothing here has
seen data, but for which shares of the records occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet.keygrid import KeyGrid
from discreet.tables.table import FloatArray, IntArray
from discreet.tabulation.limbs import from_limbs

__all__ = ["LIMBS", "Layout", "Row", "Share"]

#: The parts of an exact sum.
LIMBS = ("coarse", "middle", "fine")
_KEYS = ("high", "low")

#: What a row of the measures is: of all records or a share of them, and what of these.
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """Records set apart by their value in one column, so that rest and whole differ.

    Most columns have none of them, and then need no measures of their own.

    Args:
        column: The value column.
        of: "missing" (no value), "zero" (value 0), "negative" (value below 0), or
            "plain" (all, without their weights).
    """

    column: str
    of: str

    @property
    def counted(self) -> bool:
        """Whether records and keys are counted."""
        return self.of in ("missing", "zero")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which rows of the measures hold what.

    Row 0 counts records; then, with keys, the two parts of the key sums; then
    three limbs per sum. The sums are that of the weights, if any, and those of
    the value columns. After them come the measures of the shares.

    Args:
        keyed: Whether there are record keys.
        weight: Column of weights.
        values: Columns to sum.
        largest: Per column, how many of the largest contributions are wanted.
        shares: The shares of the records that may occur.
    """

    keyed: bool
    weight: str | None = None
    values: tuple[str, ...] = ()
    largest: Mapping[str, int] = field(default_factory=dict)
    shares: tuple[Share, ...] = ()

    @property
    def possible(self) -> tuple[Share, ...]:
        """All shares the largest contributions may need."""
        kinds = ("missing", "zero", "negative", *(["plain"] if self.weight is not None else []))
        return tuple(Share(column, of) for column in self.largest for of in kinds)

    def with_shares(self, shares: Sequence[Share]) -> Layout:
        """The same with these shares only."""
        return replace(self, shares=tuple(share for share in self.possible if share in shares))

    def part(self, values: Sequence[str], largest: Mapping[str, int]) -> Layout:
        """The layout of a table that needs some of the columns only."""
        shares = tuple(share for share in self.shares if share.column in largest)
        return replace(self, values=tuple(values), largest=largest, shares=shares)

    @cached_property
    def rows(self) -> dict[Row, int]:
        """The place of each measure."""
        return {row: at for at, row in enumerate(dict.fromkeys(self._listed()))}

    def _listed(self) -> Iterator[Row]:
        keys = _KEYS if self.keyed else ()
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

    def sums_of(self, share: Share) -> bool:
        """Whether something is summed over a share: weights of missing, or values."""
        return not share.counted or (share.of == "missing" and self.weight is not None)

    def select(self, measures: IntArray, part: Layout) -> IntArray:
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
        return grid.combine(*(self.row(measures, "key", part) for part in _KEYS))

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
