"""`Relations`: which cells add up to which, whoever tells of them.

A relation alone is public; values of cells are not. Rows are sparse: cells and coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, IntArray, PositionArray, mixed, ranges, set_sums, starts
from discreet.errors import TableError


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Relations:
    """Linear relations: the sum of coefficient × value over a row is its right-hand side.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> sums.residuals(np.array([5, 2, 3]))
    array([0])
    """

    cells: int  # number of cells
    start: IntArray  # where each row begins in `cell` and `coef`; one more than there are rows
    cell: PositionArray  # number of the cell of each entry
    coef: IntArray  # its coefficient, usually 1 for parts and -1 for their total
    rhs: IntArray  # right-hand side of each row, in units; usually 0

    def __post_init__(self) -> None:
        if len(self.start) != len(self.rhs) + 1 or len(self.cell) != len(self.coef):
            raise TableError("the rows of the relations differ in length", code="relations")
        if self.cell.size and not 0 <= int(self.cell.min()) <= int(self.cell.max()) < self.cells:
            raise TableError("a relation names a cell that does not exist", code="relations")

    @classmethod
    def of(
        cls, cells: int, rows: Sequence[Sequence[tuple[int, int]]], rhs: Sequence[int] | None = None
    ) -> Relations:
        """From rows of (cell, coefficient)."""
        entries = [(row, *entry) for row, own in enumerate(rows) for entry in own]
        row, cell, coef = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        right = None if rhs is None else np.array(rhs, dtype=np.int64)
        return cls.of_entries(cells, len(rows), row, cell, coef, right)

    @classmethod
    def of_entries(
        cls, cells: int, rows: int, row: IntArray, cell: Any, coef: Any, rhs: IntArray | None = None
    ) -> Relations:
        """From entries with the row of each; those of one row keep their order."""
        order = np.argsort(row, kind="stable")
        return cls(
            cells=cells,
            start=starts(np.bincount(row, minlength=rows)),
            cell=cell[order].astype(np.int32),
            coef=coef[order].astype(np.int64),
            rhs=np.zeros(rows, dtype=np.int64) if rhs is None else rhs,
        )

    @classmethod
    def of_pairs(cls, cells: int, pairs: IntArray) -> Relations:
        """Rows of two cells each, one per line."""
        row = np.repeat(np.arange(len(pairs)), 2)
        return cls.of_entries(cells, len(pairs), row, pairs.ravel(), np.ones(2 * len(pairs)))

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def row(self) -> IntArray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    @cached_property
    def heaviest(self) -> int:
        """The largest sum of absolute coefficients of a row, at least 1."""
        weight = np.bincount(self.row, np.abs(self.coef), minlength=len(self))
        return int(weight.max(initial=1.0))

    @cached_property
    def by_cell(self) -> tuple[IntArray, IntArray]:
        """Starts of the entries of each cell, and the entries sorted by cell."""
        order = np.argsort(self.cell, kind="stable").astype(np.int64)
        return starts(np.bincount(self.cell, minlength=self.cells)), order

    @cached_property
    def totals(self) -> IntArray:
        """The cell that each row gives a negative coefficient, its total; -1 for none."""
        totals = np.full(len(self), -1, dtype=np.int64)
        negative = self.coef < 0
        totals[self.row[negative]] = self.cell[negative]
        return totals

    @property
    def matrix(self) -> tuple[IntArray, PositionArray, IntArray]:
        """Row starts, cells and coefficients, as in compressed sparse rows."""
        return self.start, self.cell, self.coef

    def residuals(self, value: IntArray) -> IntArray:
        """Per row, by how much the values miss it. CONFIDENTIAL where the values are."""
        total = np.zeros(len(self), dtype=np.int64)
        np.add.at(total, self.row, self.coef * value[self.cell])
        return total - self.rhs

    def among(self, chosen: BoolArray) -> tuple[Relations, IntArray]:
        """The relations among the chosen cells, numbered anew, when all others are known.

        Right-hand sides are 0: unknowns are deviations from the true values. Rows without a chosen
        cell are left out. Gives the old numbers of the cells, too.
        """
        old = np.flatnonzero(chosen).astype(np.int64)
        new = np.full(self.cells, -1, dtype=np.int64)
        new[old] = np.arange(old.size)
        kept = chosen[self.cell]
        width = np.bincount(self.row[kept], minlength=len(self))
        rows = np.flatnonzero(width)
        among = Relations(
            cells=old.size,
            start=starts(width[rows]),
            cell=new[self.cell[kept]].astype(np.int32),
            coef=self.coef[kept],
            rhs=np.zeros(rows.size, dtype=np.int64),
        )
        return among, old

    def rows(self, kept: BoolArray) -> Relations:
        """Some of the relations, over the same cells."""
        entries = kept[self.row]
        return replace(
            self,
            start=starts(np.diff(self.start)[kept]),
            cell=self.cell[entries],
            coef=self.coef[entries],
            rhs=self.rhs[kept],
        )

    def renumbered(self, numbers: npt.NDArray[Any], cells: int) -> Relations:
        """These relations with other cell numbers, and perhaps more cells."""
        return replace(self, cells=cells, cell=numbers[self.cell].astype(np.int32))

    def joined(self, other: Relations) -> Relations:
        """These relations and others over the same cells."""
        if other.cells != self.cells:
            raise TableError("the relations concern different cells", code="relations")
        return Relations(
            cells=self.cells,
            start=np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            cell=np.concatenate([self.cell, other.cell]),
            coef=np.concatenate([self.coef, other.coef]),
            rhs=np.concatenate([self.rhs, other.rhs]),
        )

    def dense(self) -> npt.NDArray[Any]:
        """The matrix in full; for small systems."""
        matrix = np.zeros((len(self), self.cells), dtype=np.int64)
        np.add.at(matrix, (self.row, self.cell), self.coef)
        return matrix

    def __repr__(self) -> str:
        return f"<Relations: {len(self):,} over {self.cells:,} cells>"


def component_labels(relations: Relations) -> IntArray:
    """For each cell, the smallest cell that it hangs together with by relations."""
    label = np.arange(relations.cells, dtype=np.int64)
    if not relations.cell.size:
        return label
    starts = relations.start[:-1]
    filled = np.flatnonzero(np.diff(relations.start))
    while True:
        least = np.full(len(relations), relations.cells, dtype=np.int64)
        least[filled] = np.minimum.reduceat(label[relations.cell], starts[filled])
        fresh = label.copy()
        np.minimum.at(fresh, relations.cell, least[relations.row])
        fresh = fresh[fresh]
        if np.array_equal(fresh, label):
            return label
        label = fresh


def stacked_relations(cells: int, blocks: Sequence[tuple[Relations, IntArray]]) -> Relations:
    """The relations of several tables, each with the numbers of its cells, as one system."""
    result = Relations.of(cells, [])
    for relations, numbers in blocks:
        result = result.joined(relations.renumbered(numbers, cells))
    return tidied_relations(result)


def tidied_relations(relations: Relations) -> Relations:
    """Each cell once in a row, each row once, no empty rows.

    >>> rows = [[(0, -1), (1, 1), (0, 1)], [(0, -1), (2, 1)], [(2, 1), (0, -1)]]
    >>> tidied_relations(Relations.of(3, rows))
    <Relations: 2 over 3 cells>
    """
    order = np.lexsort((relations.cell, relations.row))
    row, cell = relations.row[order], relations.cell[order]
    if not row.size:
        return relations.rows(relations.rhs != 0)
    fresh = np.ones(row.size, dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])
    begin = np.flatnonzero(fresh)
    coef = np.add.reduceat(relations.coef[order], begin)
    row, cell = row[begin], cell[begin]
    row, cell, coef = row[coef != 0], cell[coef != 0], coef[coef != 0]
    start = starts(np.bincount(row, minlength=len(relations)))
    merged = replace(relations, start=start, cell=cell, coef=coef)
    filled = np.diff(start) > 0
    return merged.rows((filled | (relations.rhs != 0)) & ~_repeated(merged, row))


def _repeated(relations: Relations, row: IntArray) -> BoolArray:
    """Rows that an earlier one says already. Equal sums of mixed numbers only suggest it."""
    start, cell, coef = relations.matrix
    rhs, width = relations.rhs, np.diff(start)
    entries = cell.astype(np.uint64) * np.uint64(2**20) + coef.astype(np.uint64)
    marks = set_sums(row, mixed(entries + np.uint64(1)), len(rhs))
    marks += mixed(rhs.astype(np.uint64))
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    earlier = first[group]
    suspects = np.flatnonzero((earlier < np.arange(len(rhs))) & (width > 0))
    like = earlier[suspects]
    alike = (width[suspects] == width[like]) & (rhs[suspects] == rhs[like])
    suspects, like = suspects[alike], like[alike]
    sizes = width[suspects]
    one, other = ranges(start[suspects], sizes), ranges(start[like], sizes)
    differs = (cell[one] != cell[other]) | (coef[one] != coef[other])
    wrong = np.bincount(
        np.repeat(np.arange(suspects.size), sizes)[differs], minlength=suspects.size
    )
    repeated = np.zeros(len(rhs), dtype=np.bool_)
    repeated[suspects[wrong == 0]] = True
    return repeated


def with_equal_cells_merged(relations: Relations) -> tuple[IntArray, Relations]:
    """Make one cell of a total and its single part, and of all that equal each other so.

    Gives for each cell its number after folding, and the relations over the new cells.

    >>> chain = Relations.of(4, [[(0, -1), (1, 1)], [(1, -1), (2, 1), (3, 1)]])
    >>> with_equal_cells_merged(chain)
    (array([0, 0, 1, 2]), <Relations: 1 over 3 cells>)
    """
    numbers = np.arange(relations.cells, dtype=np.int64)
    while True:
        width = np.diff(relations.start)
        balanced = np.zeros(len(relations), dtype=np.int64)
        np.add.at(balanced, relations.row, relations.coef)
        pairs = (width == 2) & (balanced == 0) & (relations.rhs == 0)
        if not pairs.any():
            return numbers, relations
        equal = relations.rows(pairs)
        _, fresh = np.unique(component_labels(equal), return_inverse=True)
        numbers = fresh[numbers]
        relations = tidied_relations(relations.renumbered(fresh, int(fresh.max()) + 1))
