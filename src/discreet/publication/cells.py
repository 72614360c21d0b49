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
import polars as pl

from discreet.arrays import CellIndex, IntArray, PositionArray, SmallIntArray
from discreet.errors import PublicationError
from discreet.publication.formats import FILE_COMPLETE_LIMIT
from discreet.tables import CellStatus, ProtectedTable, lacks_number

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
    return ~lacks_number(status)


def is_complete(table: ProtectedTable, complete: bool | None) -> bool:
    """Whether a file lists the whole grid; None leaves it to the size of the grid."""
    return table.grid_size <= FILE_COMPLETE_LIMIT if complete is None else complete


def flat_keys(sizes: Sequence[int], index: Sequence[PositionArray], length: int) -> IntArray:
    """One number per cell that orders the cells as their positions do."""
    grid = CellIndex(tuple(sizes))
    if not grid.fits:
        message = "the complete table has too many cells"
        hint = "write csv or parquet with complete=False"
        raise PublicationError(message, code="too-large", hint=hint)
    return grid.numbers(index, length)


def cell_chunks(
    table: ProtectedTable, complete: bool | None = None, *, size: int = CHUNK
) -> Iterator[ListedCells]:
    """The cells of a table in its order, `size` at a time; at least one chunk."""
    stored = stored_cells(table)
    if not is_complete(table, complete):
        for start in range(0, max(len(stored), 1), size):
            part = slice(start, start + size)
            places = tuple(at[part] for at in stored.index)
            yield ListedCells(places, stored.value[part], stored.status[part])
        return
    grid = CellIndex.of(table.dimensions)
    keys = flat_keys(grid.sizes, stored.index, len(stored))
    for start in range(0, grid.size, size):
        stop = min(start + size, grid.size)
        low, high = np.searchsorted(keys, [start, stop])
        at = keys[low:high] - start
        index = grid.every(start, stop)
        value: Any = np.zeros(stop - start, dtype=table.value.dtype)
        status = table.absent(index, stop - start)
        value[at], status[at] = stored.value[low:high], stored.status[low:high]
        known = table.known(index, stop - start)
        yield ListedCells(tuple(part[known] for part in index), value[known], status[known])


_STATES = pl.Series([status.name for status in CellStatus])


def published_columns(table: ProtectedTable, cells: ListedCells) -> dict[str, pl.Series]:
    """Value, status, and what is said of hidden cells; null where there is none."""
    shown = has_number(cells.status)
    columns = {
        "value": pl.Series(cells.value).set(pl.Series(~shown), None),
        "status": _STATES.cast(pl.Enum(_STATES)).gather(cells.status),
    }
    if table.withheld is not None:
        columns |= table.withheld.beside(table.dimensions, cells.index, shown)
    return columns | margin_columns(table, cells)


#: Columns of the interval of each count, in files for programs.
MARGINS = ("low", "high")


def margin_columns(table: ProtectedTable, cells: ListedCells) -> dict[str, pl.Series]:
    """The interval of each count; official figures are exact, others without number have none."""
    if table.margin is None:
        return {}
    within = np.where(cells.status == CellStatus.official, 0, table.margin)
    unknown = pl.Series(~has_number(cells.status))
    low = pl.Series(np.maximum(cells.value - within, 0))
    return {
        "low": low.set(unknown, None),
        "high": pl.Series(cells.value + within).set(unknown, None),
    }
