"""`LinkedCounts`: the counts of tables as one system, each cell once. CONFIDENTIAL.

In: tables of counts that may share cells. Out: the number of every cell, its count, and the
relations that say which cells add up to which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, IntArray
from discreet.errors import CountRoundingError, Problem, raise_all
from discreet.protection.rounding.bases import inner_cells
from discreet.protection.suppression import (
    CellNames,
    Confidential,
    Relations,
    linked_cells,
    stacked_relations,
    table_relations,
)
from discreet.tables import Table

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedCounts(Confidential):
    """The cells of tables, each of them once (confidential)."""

    cells: tuple[IntArray, ...]  # per table, the number of each of its cells
    count: IntArray  # the count of each number
    inner: BoolArray  # which of them are totals in no table
    relations: Relations  # which add up to which; empty cells stand in none
    name: CellNames  # gives the name of a cell

    @classmethod
    def of(cls, tables: Sequence[Table]) -> LinkedCounts:
        """Number the cells of tables.

        Raises:
            CountRoundingError: If totals are not the sums of their parts, or tables disagree.
        """
        linked = linked_cells(tables)
        count = np.zeros(linked.number, dtype=np.int64)
        inner = np.ones(linked.number, dtype=np.bool_)
        for table, cells in zip(tables, linked.cells, strict=True):
            count[cells] = table.count
            inner[cells[~inner_cells(table)]] = False
        differ = [
            cells[count[cells] != table.count]
            for table, cells in zip(tables, linked.cells, strict=True)
        ]
        blocks = []
        for table, cells in zip(tables, linked.cells, strict=True):
            occupied = table.count > 0
            blocks.append((table_relations(table, occupied)[0], cells[occupied]))
        relations = stacked_relations(linked.number, blocks)
        wrong = relations.totals[np.flatnonzero(relations.residuals(count))]
        hint = "make all tables from the same records, with all of their parts"
        message = "the total is not the sum of its parts"
        problems = [Problem(message, linked.names(int(at)), hint) for at in np.unique(wrong)]
        message = "tables give this cell different counts"
        apart = np.unique(np.concatenate(differ))
        problems += [Problem(message, linked.names(int(at)), hint) for at in apart]
        raise_all(
            CountRoundingError, problems, code="additivity", many="{} cells contradict each other"
        )
        return cls(
            cells=linked.cells, count=count, inner=inner, relations=relations, name=linked.names
        )

    def gathered(self, columns: Sequence[npt.NDArray[Number]]) -> npt.NDArray[Number]:
        """One value for each number, from columns of the tables that agree where they meet."""
        values = np.zeros(len(self.count), dtype=columns[0].dtype)
        for cells, column in zip(self.cells, columns, strict=True):
            values[cells] = column
        return values
