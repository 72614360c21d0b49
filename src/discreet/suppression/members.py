"""`Members`: which cells of which table a cell of a problem stands for. CONFIDENTIAL.

In: a pattern over the cells of a problem. Out: which cells are hidden in each table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError

__all__ = ["Members"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Members:
    """Where the cells of tables stand in a problem (confidential).

    Several cells of tables are one cell of a problem if they are the same cell of
    linked tables, or a total and its only part.

    Args:
        names: Names of the tables, in the order given.
        cells: Per table, the problem cell of each of its cells; -1 for empty ones,
            which take no part.
        values: Per table, the values of its cells in units, as the problem has them.
        differences: Per table, by how many units these differ from the values given;
            rounding, or repairs that were asked for.
        name: Gives the name of a problem cell.
        notes: What users should know about how the problem was built, in words.
    """

    names: tuple[str, ...]
    cells: tuple[IntArray, ...]
    values: tuple[IntArray, ...]
    differences: tuple[IntArray, ...]
    name: Callable[[int], str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.cells)

    def hidden(self, pattern: BoolArray, table: int = 0) -> BoolArray:
        """Which cells of one table a pattern hides.

        Args:
            pattern: Which cells of the problem are hidden.
            table: Which table, from 0.
        """
        if not 0 <= table < len(self.cells):
            raise SuppressionError(f"there is no table {table}", code="members")
        cells = self.cells[table]
        if not pattern.size:
            return np.zeros(len(cells), dtype=np.bool_)
        return np.where(cells >= 0, pattern[np.maximum(cells, 0)], False)

    def all_hidden(self, pattern: BoolArray) -> tuple[BoolArray, ...]:
        """The same for every table."""
        return tuple(self.hidden(pattern, table) for table in range(len(self)))

    def gathered(self, masks: tuple[BoolArray, ...], problem_cells: int) -> BoolArray:
        """Problem cells of which a cell is marked in any table; the way back.

        Args:
            masks: Per table, one boolean per cell.
            problem_cells: Number of cells of the problem.
        """
        marked = np.zeros(problem_cells, dtype=np.bool_)
        for cells, mask in zip(self.cells, masks, strict=True):
            marked[cells[mask & (cells >= 0)]] = True
        return marked

    def numbers(self, columns: tuple[IntArray, ...], problem_cells: int) -> IntArray:
        """One number for each problem cell, such as its respondents; the largest of its cells.

        Args:
            columns: Per table, one number for each of its cells.
            problem_cells: Number of cells of the problem.
        """
        largest = np.zeros(problem_cells, dtype=np.int64)
        for cells, column in zip(self.cells, columns, strict=True):
            there = cells >= 0
            np.maximum.at(largest, cells[there], column[there])
        return largest

    def __repr__(self) -> str:
        sizes = sum(len(part) for part in self.cells)
        return f"<Members (confidential): {sizes:,} cells of {len(self):,} tables>"
