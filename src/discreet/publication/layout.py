"""Laying a table out on a page: which variables go down, which across.

In: `ProtectedTable`. Out: `Layout`, the shown combinations of codes for rows and
columns, and the body in blocks of rows. Public. What a cell of the shown rows and
columns is that is not stored, the table says; on parts it lacks, it is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, PublicationError
from discreet.publication.cells import (
    Cells,
    IntArray,
    StatusArray,
    ValueArray,
    flat_keys,
    is_complete,
    stored_cells,
)
from discreet.tables import CellStatus, Dimension, ProtectedTable
from discreet.tables.figures import FIGURE

__all__ = ["Block", "Layout", "arrange", "lay_out"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of the body.

    Args:
        first: Number of the first row.
        value: Published values, rows × columns.
        status: Their status, rows × columns.
        decimals: Digits after the decimal point of all cells, or of each.
    """

    first: int
    value: ValueArray
    status: StatusArray
    decimals: int | IntArray


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A table on a page.

    Args:
        table: The table.
        rows: Positions of the variables that go down.
        columns: Positions of the variables that go across.
        row_codes: Per shown row, the position of each row variable's code.
        column_codes: Per shown column, the position of each column variable's code.
    """

    table: ProtectedTable
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    row_codes: IntArray
    column_codes: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of body rows and columns."""
        return len(self.row_codes), len(self.column_codes)

    def dimension(self, at: int) -> Dimension:
        """The spanning variable at a position of the table."""
        return self.table.dimensions[at]

    def blocks(self, rows: int = 2_000) -> Iterator[Block]:
        """The body, so many rows at a time."""
        cells = stored_cells(self.table)
        down = _places(self.table, self.rows, self.row_codes, cells)
        across = _places(self.table, self.columns, self.column_codes, cells)
        shown = np.flatnonzero((down >= 0) & (across >= 0))
        order = shown[np.argsort(down[shown], kind="stable")]
        for first in range(0, len(self.row_codes), rows):
            last = min(first + rows, len(self.row_codes))
            low, high = np.searchsorted(down[order], [first, last])
            part = order[low:high]
            place = (down[part] - first, across[part])
            shape = (last - first, len(self.column_codes))
            value: Any = np.zeros(shape, dtype=cells.value.dtype)
            status = self._absent(first, last)
            value[place] = cells.value[part]
            status[place] = cells.status[part]
            yield Block(first, value, status, self._decimals(first, last))

    def _absent(self, first: int, last: int) -> StatusArray:
        """What the cells of some rows are where they are not stored."""
        table, shape = self.table, (last - first, len(self.column_codes))
        if table.parts is None and not table.figures and not table.suppressed_parts:
            return np.full(shape, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
        size = shape[0] * shape[1]
        index: list[Any] = [None] * len(table.dimensions)
        for k, at in enumerate(self.rows):
            index[at] = np.repeat(self.row_codes[first:last, k], shape[1])
        for k, at in enumerate(self.columns):
            index[at] = np.tile(self.column_codes[:, k], shape[0])
        status = table.absent(index, size)
        status[~table.known(index, size)] = CellStatus.suppressed  # shown as unknown
        return status.reshape(shape)

    def _decimals(self, first: int, last: int) -> int | IntArray:
        """Digits after the decimal point in some rows."""
        table, shape = self.table, (last - first, len(self.column_codes))
        if not table.several_figures:
            return table.figure_decimals()
        decimals = np.array([figure.decimals for figure in table.figures], dtype=np.int64)
        at = len(table.dimensions) - 1
        if at in self.columns:
            each = decimals[self.column_codes[:, self.columns.index(at)]]
        else:
            each = decimals[self.row_codes[first:last, self.rows.index(at)]][:, np.newaxis]
        return np.broadcast_to(each, shape)

    def chosen(self, wanted: Sequence[int | None]) -> tuple[Mask, Mask]:
        """Which rows and which columns belong to some codes.

        Args:
            wanted: Per dimension, the position of a code; None for all.
        """
        return (
            _matching(self.row_codes, [wanted[at] for at in self.rows]),
            _matching(self.column_codes, [wanted[at] for at in self.columns]),
        )


def _matching(codes: IntArray, wanted: Sequence[int | None]) -> Mask:
    match = np.ones(len(codes), dtype=np.bool_)
    for part, code in zip(codes.T, wanted, strict=True):
        if code is not None:
            match &= part == code
    return match


def _places(
    table: ProtectedTable, variables: Sequence[int], codes: IntArray, cells: Cells
) -> IntArray:
    """For each cell, the row (or column) it stands in; -1 if that is not shown."""
    sizes = [len(table.dimensions[at]) for at in variables]
    known = flat_keys(sizes, list(codes.T.astype(np.int32)), len(codes))
    keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, place, -1)


def arrange(
    table: ProtectedTable,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the variables that go down and across.

    By default the last variable goes across, and a single one down. Several figures go
    across, over the codes of the last variable, unless they are placed by name.

    Args:
        table: The table.
        rows: Names of the variables that go down.
        columns: Names of the variables that go across.
    """
    names = [dimension.name for dimension in table.dimensions]
    _check_names(names, rows, columns, free=table.several_figures)
    unplaced = table.several_figures and FIGURE not in (*(rows or ()), *(columns or ()))
    free = [FIGURE] if unplaced else []
    rest = [name for name in names if name not in free]
    if rows is None and columns is None:
        split = max(len(rest) - 1, min(len(rest), 1))
        rows, columns = rest[:split], rest[split:]
    elif rows is None:
        rows = [name for name in rest if name not in (columns or ())]
    elif columns is None:
        columns = [name for name in rest if name not in rows]
    down, across = rows or (), (*free, *(columns or ()))
    return tuple(names.index(n) for n in down), tuple(names.index(n) for n in across)


def _check_names(
    names: Sequence[str],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    *,
    free: bool,
) -> None:
    found = f"variables: {', '.join(names)}" if names else "this table has no variables"
    problems = []
    for where, given in (("rows", rows), ("columns", columns)):
        if isinstance(given, str):
            problems.append(Problem("a list of names is needed, not a text", where))
            continue
        problems += [
            Problem(f"there is no variable {name!r}", where, found)
            for name in given or ()
            if name not in names
        ]
    if not problems:
        named = [*(rows or ()), *(columns or ())]
        problems += [
            Problem(f"variable {name!r} is placed twice", "rows and columns")
            for name in dict.fromkeys(named)
            if named.count(name) > 1
        ]
        if rows is not None and columns is not None:
            lost = [name for name in names if name not in named and not (free and name == FIGURE)]
            problems += [
                Problem(f"variable {name!r} is not placed", "rows and columns") for name in lost
            ]
    if problems:
        first = problems[0]
        raise PublicationError(
            first.what if len(problems) == 1 else "the layout does not fit the table",
            code="layout",
            where=first.where,
            hint=first.hint or found,
            problems=problems,
        )


def lay_out(
    table: ProtectedTable,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    complete: bool | None = None,
    keep: Sequence[Mask] | None = None,
    limit: int | None = None,
) -> Layout:
    """Lay a table out.

    Args:
        table: The table.
        rows: Names of the variables that go down; all but the last if None.
        columns: Names of the variables that go across; the others if None.
        complete: Show every combination of codes, or only rows and columns that are
            not all zero; None leaves it to the size of the grid.
        keep: Per spanning variable, which codes to show; all if None.
        limit: Raise an error above so many cells.
    """
    down, across = arrange(table, rows, columns)
    masks = [np.ones(len(d), np.bool_) for d in table.dimensions] if keep is None else list(keep)
    whole = is_complete(table, complete) or keep is not None
    if limit is not None and whole:
        _check_limit(math.prod(int(mask.sum()) for mask in masks), limit, table.name)
    cells = None if whole else stored_cells(table)
    layout = Layout(
        table=table,
        rows=down,
        columns=across,
        row_codes=_shown(table, down, masks, cells),
        column_codes=_shown(table, across, masks, cells),
    )
    if limit is not None:
        _check_limit(math.prod(layout.shape), limit, table.name)
    return layout


def _check_limit(size: int, limit: int, name: str) -> None:
    if size > limit:
        raise PublicationError(
            f"a page or workbook holds at most {limit:,} cells; this table has {size:,}",
            code="too-large",
            where=name,
            hint="write csv or parquet instead, or publish fewer codes",
        )


def _shown(
    table: ProtectedTable, variables: Sequence[int], masks: Sequence[Mask], cells: Cells | None
) -> IntArray:
    """The combinations of codes to show: all, or those of the cells and the totals."""
    if not variables:
        return np.zeros((1, 0), dtype=np.int64)
    if cells is None:
        kept = [np.flatnonzero(masks[at]) for at in variables]
        grid = np.meshgrid(*kept, indexing="ij")
        return np.stack([part.ravel() for part in grid], axis=1).astype(np.int64)
    sizes = [len(table.dimensions[at]) for at in variables]
    keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
    rest = np.unique(np.append(keys, 0))
    parts = []
    for size in reversed(sizes):
        parts.append(rest % size)
        rest = rest // size
    return np.stack(parts[::-1], axis=1)
