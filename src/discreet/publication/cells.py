"""The cells of a protected table in long form, whole or in chunks.

In: `ProtectedTable`. Out: positions of codes, values and status, one entry per
cell. Public. A zero is never listed with another status than zero, so an
original zero, a count changed to zero and an absent cell look alike. What cells
are that are not stored (zero, without a number, suppressed), the table says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import CellIndex, IntArray, PositionArray, SmallIntArray
from discreet.errors import PublicationError
from discreet.publication.formats import FILE_COMPLETE_LIMIT
from discreet.tables import WITHOUT_NUMBER, ProtectedTable

#: Number of cells written at a time.
CHUNK = 1_000_000

ValueArray = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ListedCells:
    """Some cells of a table, in its order."""

    index: tuple[PositionArray, ...]  # per spanning variable, the position of each cell's code
    value: ValueArray  # published values; 0 for cells without a number
    status: SmallIntArray  # `CellStatus` of each cell

    def __len__(self) -> int:
        return len(self.value)


def stored_cells(table: ProtectedTable) -> ListedCells:
    """The cells of a table that differ from what an absent cell is."""
    return ListedCells(table.index, table.value, table.status)


def has_number(status: SmallIntArray) -> npt.NDArray[np.bool_]:
    """Which cells show a number: those that are neither suppressed, inapplicable nor imprecise."""
    return np.isin(status, WITHOUT_NUMBER, invert=True)


def decimals_of(table: ProtectedTable, cells: ListedCells) -> int | IntArray:
    """Digits after the decimal point of all cells, or of each if there are several figures."""
    if not table.several_figures:
        return table.figure_decimals()
    return np.array([figure.decimals for figure in table.figures])[cells.index[-1]]


def is_complete(table: ProtectedTable, complete: bool | None) -> bool:
    """Whether a file lists the whole grid; None leaves it to the size of the grid."""
    return table.grid_size <= FILE_COMPLETE_LIMIT if complete is None else complete


def distinct_figures(
    value: ValueArray, status: SmallIntArray
) -> tuple[ValueArray, SmallIntArray, IntArray]:
    """The different pairs of value and status, and which of them each cell holds.

    Few pairs make up most tables, so that texts are made of pairs instead of cells.

    >>> distinct_figures(np.array([3, 0, 3]), np.array([0, 1, 0], np.int8))
    (array([0, 3]), array([1, 0], dtype=int8), array([1, 0, 1]))
    """
    order = np.lexsort((status, value))
    values, states = value[order], status[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (values[1:] != values[:-1]) | (states[1:] != states[:-1])
    where = np.empty(len(order), dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return values[new], states[new], where


def flat_keys(sizes: Sequence[int], index: Sequence[PositionArray], length: int) -> IntArray:
    """One number per cell that orders the cells as their positions do."""
    grid = CellIndex(tuple(sizes))
    if not grid.fits:
        message = "the complete grid has more cells than can be numbered"
        hint = "write csv or parquet with complete=False"
        raise PublicationError(message, code="too-large", hint=hint)
    return grid.numbers(index, length)


def cell_chunks(
    table: ProtectedTable, complete: bool | None = None, *, size: int = CHUNK
) -> Iterator[ListedCells]:
    """The cells of a table in its order, `size` at a time; at least one chunk."""
    stored = stored_cells(table)
    if is_complete(table, complete):
        yield from _grid_chunks(table, stored, size)
        return
    for start in range(0, max(len(stored), 1), size):
        part = slice(start, start + size)
        yield ListedCells(
            tuple(at[part] for at in stored.index), stored.value[part], stored.status[part]
        )


def _grid_chunks(table: ProtectedTable, stored: ListedCells, size: int) -> Iterator[ListedCells]:
    grid = CellIndex.of(table.dimensions)
    keys = flat_keys(grid.sizes, stored.index, len(stored))
    whole = grid.size
    for start in range(0, whole, size):
        stop = min(start + size, whole)
        low, high = np.searchsorted(keys, [start, stop])
        at = keys[low:high] - start
        index = grid.every(start, stop)
        value: Any = np.zeros(stop - start, dtype=table.value.dtype)
        status = table.absent(index, stop - start)
        value[at] = stored.value[low:high]
        status[at] = stored.status[low:high]
        known = table.known(index, stop - start)
        yield ListedCells(tuple(part[known] for part in index), value[known], status[known])
