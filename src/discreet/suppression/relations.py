"""`Relations`: what everyone knows about the cells of tables – which add up to which.

In: sums over codes, as rows of a sparse matrix. Out: the same, with the products that
methods and audits need. Values never stand here; a relation alone is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import TableError

__all__ = ["Relations"]

IntArray = npt.NDArray[np.int64]
CellArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Relations:
    """Linear relations: the sum of coefficient × value over a row is its right-hand side.

    Args:
        cells: Number of cells.
        start: Where each row begins in `cell` and `coef`; one more than there are rows.
        cell: Number of the cell of each entry.
        coef: Its coefficient, usually 1 for parts and -1 for their total.
        rhs: Right-hand side of each row, in units; usually 0.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> sums.residuals(np.array([5, 2, 3]))
    array([0])
    """

    cells: int
    start: IntArray
    cell: CellArray
    coef: IntArray
    rhs: IntArray

    def __post_init__(self) -> None:
        if len(self.start) != len(self.rhs) + 1 or len(self.cell) != len(self.coef):
            raise TableError("the rows of the relations differ in length", code="relations")
        if self.cell.size and not 0 <= int(self.cell.min()) <= int(self.cell.max()) < self.cells:
            raise TableError("a relation names a cell that is not there", code="relations")

    @classmethod
    def of(
        cls, cells: int, rows: Sequence[Sequence[tuple[int, int]]], rhs: Sequence[int] | None = None
    ) -> Relations:
        """From rows of (cell, coefficient)."""
        entries = [entry for row in rows for entry in row]
        return cls(
            cells=cells,
            start=np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
            cell=np.array([cell for cell, _ in entries], dtype=np.int32),
            coef=np.array([coef for _, coef in entries], dtype=np.int64),
            rhs=np.array(rhs if rhs is not None else [0] * len(rows), dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def row(self) -> IntArray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    @cached_property
    def by_cell(self) -> tuple[IntArray, IntArray]:
        """Where the entries of each cell begin, and the entries sorted by cell."""
        order = np.argsort(self.cell, kind="stable").astype(np.int64)
        start = np.zeros(self.cells + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.cell, minlength=self.cells), out=start[1:])
        return start, order

    def residuals(self, value: IntArray) -> IntArray:
        """Per row, by how much the values miss it. CONFIDENTIAL where the values are."""
        total = np.zeros(len(self), dtype=np.int64)
        np.add.at(total, self.row, self.coef * value[self.cell])
        return total - self.rhs

    def among(self, chosen: BoolArray) -> tuple[Relations, IntArray]:
        """The relations among the chosen cells when all others are known.

        Right-hand sides are 0: unknowns are deviations from the true values. Rows
        without a chosen cell are left out.

        Returns:
            Relations over the chosen cells, numbered anew, and their old numbers.
        """
        old = np.flatnonzero(chosen).astype(np.int64)
        new = np.full(self.cells, -1, dtype=np.int64)
        new[old] = np.arange(old.size)
        kept = chosen[self.cell]
        width = np.bincount(self.row[kept], minlength=len(self))
        rows = np.flatnonzero(width)
        start = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(width[rows], out=start[1:])
        among = Relations(
            cells=old.size,
            start=start,
            cell=new[self.cell[kept]].astype(np.int32),
            coef=self.coef[kept],
            rhs=np.zeros(rows.size, dtype=np.int64),
        )
        return among, old

    def rows(self, kept: BoolArray) -> Relations:
        """Some of the relations, over the same cells."""
        width = np.diff(self.start)[kept]
        start = np.zeros(width.size + 1, dtype=np.int64)
        np.cumsum(width, out=start[1:])
        entries = kept[self.row]
        return Relations(
            cells=self.cells,
            start=start,
            cell=self.cell[entries],
            coef=self.coef[entries],
            rhs=self.rhs[kept],
        )

    def joined(self, other: Relations) -> Relations:
        """These relations and others over the same cells."""
        if other.cells != self.cells:
            raise TableError("the relations are about different cells", code="relations")
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
