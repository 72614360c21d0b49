"""Where cells stand in a table: lookup by codes, parents, names for messages. CONFIDENTIAL.

In: a confidential `Table`, and codes or another table over the same codes. Out: numbers
of cells; which cells occur is confidential as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, find_sorted
from discreet.errors import Problem, SuppressionError, shortened
from discreet.tables import Dimension, Table

_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class CellLookup:
    """The cells of a table, to be found by the positions of their codes."""

    table: Table

    def __post_init__(self) -> None:
        self.grid.require(self.table.name, SuppressionError)

    @cached_property
    def grid(self) -> CellIndex:
        """The numbering of the cells."""
        return CellIndex.of(self.table.dimensions)

    @cached_property
    def flat(self) -> IntArray:
        """A number for each cell, the same for the same codes."""
        return self.numbers(self.table.index, len(self.table))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.flat, kind="stable").astype(np.int64)

    @cached_property
    def _sorted(self) -> IntArray:
        return self.flat[self._order]

    def numbers(self, index: Sequence[npt.NDArray[np.integer]], length: int) -> IntArray:
        """The numbers of cells given by the positions of their codes."""
        return self.grid.numbers(index, length)

    def find(self, numbers: IntArray) -> IntArray:
        """The cells with these numbers; -1 where there is none."""
        at = find_sorted(self._sorted, numbers)
        return np.where(at >= 0, self._order[at], -1) if len(self.flat) else at

    def parents(self, variable: int) -> IntArray:
        """Per cell the one above it in a variable; -1 for totals, only children, and if absent.

        The only child of a code is the same cell as its parent and says nothing about it.
        """
        dimension, code = self.table.dimensions[variable], self.table.index[variable]
        parent = dimension.parents[code].astype(np.int64)
        above = self.find(self.flat + (parent - code) * self.grid.strides[variable])
        return np.where((parent >= 0) & ~_only_child(dimension)[code], above, -1)

    def name(self, cell: int) -> str:
        """The codes of a cell, for messages."""
        return ", ".join(
            f"{dimension.name}={dimension.codes[part[cell]]}"
            for dimension, part in zip(self.table.dimensions, self.table.index, strict=True)
        )


def _only_child(dimension: Dimension) -> BoolArray:
    """Which codes are the only child of their parent in their classification."""
    trees = len(dimension.classifications)
    family = dimension.parents.astype(np.int64) * trees + dimension.breakdown
    below = np.flatnonzero(dimension.parents >= 0)
    alone = np.zeros(len(dimension), dtype=np.bool_)
    _, family_of, size = np.unique(family[below], return_inverse=True, return_counts=True)
    alone[below] = size[family_of] == 1
    return alone


def places_in(table: Table, other: Table, what: str) -> IntArray:
    """For each cell of `table`, its number in `other`, or -1.

    The codes of the other table, `what` it is in messages, stand in `table` too.
    """
    names = [dimension.name for dimension in table.dimensions]
    if [dimension.name for dimension in other.dimensions] != names:
        what = f"the table of {what} has other spanning variables"
        hint = f"tabulate it by {', '.join(names) or 'nothing'}"
        raise SuppressionError(what, code="other-table", where=table.name, hint=hint)
    problems, translated = [], []
    for own, theirs, part in zip(table.dimensions, other.dimensions, other.index, strict=True):
        codes = np.array([own.index.get(code, -1) for code in theirs.codes], dtype=np.int64)
        unknown = np.unique(part[codes[part] < 0])
        problems += [
            Problem(f"the table of {what} has code {theirs.codes[at]!r}", own.name)
            for at in unknown
        ]
        translated.append(codes[part])
    if problems:
        raise SuppressionError(
            f"the table of {what} has codes that the table lacks",
            code="other-table",
            where=table.name,
            hint="tabulate both from the same records and classifications",
            problems=shortened(problems, _SHOWN),
        )
    places = CellLookup(table)
    mine = places.find(places.numbers(translated, len(other)))
    positions = np.full(len(table), -1, dtype=np.int64)
    positions[mine[mine >= 0]] = np.flatnonzero(mine >= 0)
    return positions
