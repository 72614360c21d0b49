"""The base cube: the finest cells that occur, with sums that any order leaves alone.

In: whole-number measures per finest cell, from a kernel or a data engine.
Out: `Cube` (confidential). Every measure is a 64-bit integer that only ever is
added, so that cubes made by different engines are equal bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.keygrid import KeyGrid
from discreet.tables.table import FloatArray, IntArray
from discreet.tabulation.limbs import from_limbs

if TYPE_CHECKING:
    import polars as pl

    from discreet.tabulation.query import Axis

__all__ = ["Cube", "Layout"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which rows of the measures hold what.

    Row 0 counts records; then, with keys, the two parts of the key sums; then
    three limbs per sum. The sums are that of the weights, if any, and those of
    the value columns.

    Args:
        keyed: Whether there are record keys.
        weight: Column of weights.
        values: Columns to sum.
    """

    keyed: bool
    weight: str | None = None
    values: tuple[str, ...] = ()

    @property
    def sums(self) -> int:
        """How many exact sums there are."""
        return len(self.values) + (self.weight is not None)

    @property
    def first_limb(self) -> int:
        """Row of the first limb."""
        return 3 if self.keyed else 1

    @property
    def rows(self) -> int:
        """Number of measures."""
        return self.first_limb + 3 * self.sums

    def keys(self, measures: IntArray, grid: KeyGrid) -> IntArray | None:
        """The cell keys."""
        return grid.combine(measures[1], measures[2]) if self.keyed else None

    def weights(self, measures: IntArray) -> FloatArray | None:
        """The sums of weights."""
        return self._sum(measures, 0) if self.weight is not None else None

    def value(self, measures: IntArray, name: str) -> FloatArray:
        """The sums of one value column."""
        return self._sum(measures, self.values.index(name) + (self.weight is not None))

    def _sum(self, measures: IntArray, which: int) -> FloatArray:
        at = self.first_limb + 3 * which
        return from_limbs(measures[at], measures[at + 1], measures[at + 2])


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cube:
    """The finest cells that occur (confidential).

    Args:
        axes: What spans the cube.
        codes: Per axis, each cell's position in `values`.
        values: Per axis, the values as texts; null stands for missing.
        measures: One row per measure, one column per cell.
        layout: What the rows of `measures` are.
    """

    axes: tuple[Axis, ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    values: tuple[pl.Series, ...]
    measures: IntArray
    layout: Layout

    @cached_property
    def place(self) -> dict[Axis, int]:
        """Position of each axis."""
        return {axis: at for at, axis in enumerate(self.axes)}

    def __len__(self) -> int:
        return int(self.measures.shape[1])

    def __repr__(self) -> str:
        return f"<Cube (confidential): {len(self.axes)} axes, {len(self):,} cells>"
