"""`Table`: true values. CONFIDENTIAL – it can be protected, never published."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import TableError
from discreet.keygrid import KeyGrid
from discreet.tables.dimension import Dimension, IndexArray
from discreet.tables.magnitudes import Contributions
from discreet.tables.parts import Parts

if TYPE_CHECKING:
    import polars as pl

    from discreet.classifications import Classification

__all__ = ["Table", "grid_size", "sort_cells"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_ENOUGH_BITS = 256


def grid_size(dimensions: Sequence[Dimension]) -> int:
    """Number of cells of the complete grid over `dimensions`."""
    return math.prod(len(dimension) for dimension in dimensions)


def sort_cells(dimensions: Sequence[Dimension], index: Sequence[IndexArray]) -> IntArray:
    """The order in which cells stand: by position of their codes, first variable first.

    A table without spanning variables has one cell, its grand total.
    """
    if not index:
        return np.zeros(1, dtype=np.int64)
    if grid_size(dimensions) < 2**63:
        sizes = [len(dimension) for dimension in dimensions]
        flat = np.zeros(len(index[0]), dtype=np.int64)
        for size, part in zip(sizes, index, strict=True):
            flat = flat * size + part
        if flat.size and bool(np.all(flat[1:] > flat[:-1])):
            return np.arange(flat.size, dtype=np.int64)
        return np.argsort(flat, kind="stable").astype(np.int64)
    return np.lexsort(tuple(reversed(list(index)))).astype(np.int64)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Table:
    """Cells with their true values and cell keys (confidential).

    Made by `discreet.tabulate` from records, or by `Table.from_cells` from cells
    that a database or another tool has counted.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each cell's code in it.
        count: Number of records of each cell.
        cell_key: Sum of the record keys on the grid, if keys were given.
        grid: The key grid of the cell keys.
        weight: Sum of weights of each cell, if the table is weighted.
        sums: Per value column, its (weighted) sum in each cell.
        contributions: Per value column, its largest contributions, if asked for.
        where: The filter the records passed, as text; empty for all records.
        name: Name of the table.
        parts: The table parts it has, if cells made elsewhere lack some; None for all.
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[IndexArray, ...]
    count: IntArray
    cell_key: IntArray | None = None
    grid: KeyGrid | None = None
    weight: FloatArray | None = None
    sums: Mapping[str, FloatArray] = field(default_factory=dict)
    contributions: Mapping[str, Contributions] = field(default_factory=dict)
    where: str = ""
    name: str = "table"
    parts: Parts | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", MappingProxyType(dict(self.sums)))
        object.__setattr__(self, "contributions", MappingProxyType(dict(self.contributions)))
        if (self.cell_key is None) != (self.grid is None):
            raise TableError("cell keys and their grid come together", code="table")
        optional: list[IntArray | FloatArray | None] = [self.cell_key, self.weight]
        lengths = {len(part) for part in self.index} | {len(part) for part in self.sums.values()}
        lengths |= {len(part) for part in optional if part is not None}
        lengths |= {len(part) for part in self.contributions.values()}
        if lengths - {len(self.count)}:
            raise TableError("the columns of a table differ in length", code="table")

    @classmethod
    def from_cells(
        cls,
        cells: Any,
        by: Sequence[str | Classification | Sequence[Classification]],
        *,
        count: str,
        cell_key: str | None = None,
        weight: str | None = None,
        key_grid: KeyGrid | int | str = 10**15,
        where: str = "",
        name: str = "table",
    ) -> Table:
        """Take cells that were counted elsewhere.

        Args:
            cells: A frame (polars, pandas, pyarrow, …) with one row per cell.
            by: The spanning variables: names or classifications.
            count: Column with the number of records.
            cell_key: Column with the cell keys: integers of the grid, or decimals in
                [0, 1) with at most 15 digits.
            weight: Column with the sum of weights.
            key_grid: The grid of the cell keys.
            where: Description of a filter the cells were made with.
            name: Name of the table.

        Cells that are not listed are zero, but only on the parts (levels) that are
        there: a margin that was not handed in is unknown.

        >>> import polars as pl
        >>> cells = pl.DataFrame({"sex": ["Total", "m"], "n": [7, 3], "key": [0.25, 0.75]})
        >>> Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
        <Table table (confidential): sex, 2 cells>
        """
        from discreet.tables.cells import read_cells

        parts = read_cells(
            cells, by, count=count, cell_key=cell_key, weight=weight, grid=KeyGrid.of(key_grid)
        )
        return cls(**parts, where=where, name=name)

    def __len__(self) -> int:
        return len(self.count)

    def to_polars(self) -> pl.DataFrame:
        """All cells as a frame. CONFIDENTIAL: true counts and cell keys."""
        import polars as pl

        columns: dict[str, Any] = {}
        for dimension, part in zip(self.dimensions, self.index, strict=True):
            columns[dimension.name] = pl.Series(dimension.codes, dtype=pl.String).gather(part)
        columns["count"] = self.count
        if self.cell_key is not None:
            columns["cell_key"] = self.cell_key
        if self.weight is not None:
            columns["weight"] = self.weight
        columns.update(self.sums)
        return pl.DataFrame(columns)

    def fingerprint(self) -> bytes | None:
        """A digest of the cells to key other digests with; None when it could be guessed.

        A digest of few cells could be found by trial; 256 bits of keys cannot.
        """
        if self.cell_key is None or self.grid is None:
            return None
        inner = np.ones(len(self), dtype=np.bool_)
        for dimension, part in zip(self.dimensions, self.index, strict=True):
            inner &= dimension.is_leaf[part]
        if int(inner.sum()) * math.log2(self.grid.size) < _ENOUGH_BITS:
            return None
        digest = hashlib.sha256(b"discreet table 1")
        for dimension, part in zip(self.dimensions, self.index, strict=True):
            digest.update("\0".join((dimension.name, *dimension.codes)).encode())
            digest.update(np.ascontiguousarray(part, dtype="<i4").tobytes())
        digest.update(str(self.grid.size).encode())
        for column in (self.count, self.cell_key):
            digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        return digest.digest()

    def __repr__(self) -> str:
        names = " × ".join(dimension.name for dimension in self.dimensions) or "grand total"
        return f"<Table {self.name} (confidential): {names}, {len(self):,} cells>"
