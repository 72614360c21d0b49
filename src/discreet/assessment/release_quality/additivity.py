"""How far published parts and their published totals differ.

In: a protected table of counts. Out: per spanning variable, how many totals were
compared with their parts, how many differ, and by how much. Public: every number
can be computed from what is published.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray
from discreet.assessment.release_quality.pairs import PartGrid
from discreet.tables import CellStatus, Dimension, ProtectedTable

#: Up to so many places per cell, sums are made on the whole range of places.
_DENSE = 16

_CellArrays = tuple[tuple[PositionArray, ...], npt.NDArray[np.int64], npt.NDArray[np.int8]]
ComparedTotals = tuple[int, int, int, int]


def differences(table: ProtectedTable, grid: PartGrid) -> IntArray:
    """Rows (variable, totals compared, that differ, sum of |difference|, largest).

    Each total is compared with the sum of the codes directly below it in one variable.
    Totals with a part that is suppressed or unknown are left out. Of several figures
    only counts are looked at.
    """
    hidden = grid.suppressed(table) | grid.unknown(table)
    total = np.zeros((len(grid.dimensions), 5), dtype=np.int64)
    total[:, 0] = np.arange(len(grid.dimensions))
    for cells in _counts(table):
        whole = _whole_grid(cells, grid, hidden)
        for at in range(len(grid.dimensions)):
            for tree in range(len(grid.dimensions[at].classifications)):
                if whole is not None:
                    tally = _compared_at_once(cells, grid, at, tree, whole)
                else:
                    tally = _compared(cells, grid, at, tree, hidden)
                total[at, 1:4] += tally[:3]
                total[at, 4] = max(total[at, 4], tally[3])
    return total


def _counts(table: ProtectedTable) -> list[_CellArrays]:
    """The cells of each figure that is a count."""
    if not table.several_figures:
        kind = table.figures[0].kind if table.figures else "count"
        if kind != "count" or table.value.dtype.kind != "i":
            return []
        return [(table.index, table.value.astype(np.int64, copy=False), table.status)]
    counts: list[_CellArrays] = []
    for at, figure in enumerate(table.figures):
        here = table.index[-1] == at
        value = table.value[here]
        if figure.kind == "count" and bool((value == np.floor(value)).all()):
            index = tuple(part[here] for part in table.index[:-1])
            counts.append((index, value.astype(np.int64), table.status[here]))
    return counts


def _whole_grid(cells: _CellArrays, grid: PartGrid, hidden: BoolArray) -> IntArray | None:
    """The places of the cells if all are known and sums fit on the grid; else nothing."""
    index, value, status = cells
    few = grid.cells.size <= _DENSE * len(value)
    if not few or bool(hidden.any()) or bool((status == CellStatus.suppressed).any()):
        return None
    return grid.cells.numbers(index, len(value))


def _compared_at_once(
    cells: _CellArrays, grid: PartGrid, at: int, tree: int, places: IntArray
) -> ComparedTotals:
    """As `_compared`, where nothing is suppressed: every cell is moved to its parent's place.

    Cells without a parent in this classification stay, and count twice at their place.
    """
    index, value, _ = cells
    dimension = grid.dimensions[at]
    branch, above = family(dimension, tree)
    codes = np.arange(len(dimension))
    shift = np.where(branch, dimension.parents - codes, 0) * grid.cells.strides[at]
    # Whole numbers in floats: exact below 2^53.
    sums = np.bincount(places + shift.take(index[at]), value, minlength=grid.cells.size)
    stored = np.flatnonzero(above.take(index[at]))
    twice = np.where(branch, 1, 2).take(index[at][stored])
    here = np.abs(sums[places[stored]] - twice * value[stored])
    sums[places] = 0
    missing = sums[sums != 0]  # totals that became zero, while their parts did not
    difference = np.concatenate([here, missing]).astype(np.int64)
    return _described(difference)


def family(dimension: Dimension, tree: int) -> tuple[BoolArray, BoolArray]:
    """Which codes of a variable are parts in a classification, and which have parts."""
    branch: BoolArray = (dimension.breakdown == tree) & (dimension.levels > 0)
    above = np.zeros(len(dimension), dtype=np.bool_)
    above[dimension.parents[branch]] = True
    return branch, above


def _described(difference: IntArray) -> ComparedTotals:
    return (
        len(difference),
        int(np.count_nonzero(difference)),
        int(difference.sum()),
        int(difference.max(initial=0)),
    )


def _compared(
    cells: _CellArrays, grid: PartGrid, at: int, tree: int, hidden: BoolArray
) -> ComparedTotals:
    """Totals compared in one variable, differing ones, their |difference|, the largest."""
    index, value, status = cells
    dimension = grid.dimensions[at]
    branch, above = family(dimension, tree)
    if not bool(above.any()) or not len(value):
        return 0, 0, 0, 0
    rest, size = _rest(grid, index, at)
    child, parent = branch[index[at]], above[index[at]]
    width = len(dimension)
    places = CellIndex((size, width))
    child_key = places.numbers([rest[child], dimension.parents[index[at][child]]])
    parent_key = places.numbers([rest[parent], index[at][parent]])
    sums, totals, rows = _by_place(child_key, value[child], parent_key, value[parent])
    difference = np.abs(sums - totals)
    secret = status == CellStatus.suppressed
    left_out = np.zeros(len(difference), dtype=np.bool_)
    if bool(secret.any()):
        marked = (child_key[secret[child]], parent_key[secret[parent]])
        left_out |= np.isin(rows, np.concatenate(marked))
    if bool(hidden.any()):
        keys, positions = np.concatenate([child_key, parent_key]), np.arange(len(value))
        where = np.concatenate([positions[child], positions[parent]])
        first = np.unique(keys, return_index=True)
        cell = where[first[1][np.searchsorted(first[0], rows)]]
        left_out |= _on_hidden(cells, grid, at, branch, hidden, cell, rows % width)
    return _described(difference[~left_out])


def _rest(grid: PartGrid, index: tuple[PositionArray, ...], at: int) -> tuple[IntArray, int]:
    """A number for the codes of all other variables, and a bound above all numbers."""
    others = [k for k in range(len(index)) if k != at]
    rest = CellIndex(tuple(grid.cells.sizes[k] for k in others))
    numbers, size = rest.joined([index[k] for k in others], len(index[at]))
    if CellIndex((size, grid.cells.sizes[at])).fits:
        return numbers, size
    distinct, numbers = np.unique(numbers, return_inverse=True)
    return numbers, len(distinct)


def _by_place(
    child_key: IntArray, child: IntArray, parent_key: IntArray, parent: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Sum of the parts and total of each place that has either, and the places."""
    size = max(int(child_key.max(initial=0)), int(parent_key.max(initial=0))) + 1
    if size <= _DENSE * (len(child_key) + len(parent_key)):
        # Whole numbers in floats: exact below 2^53.
        sums = np.bincount(child_key, child, minlength=size).astype(np.int64)
        totals = np.zeros(size, dtype=np.int64)
        totals[parent_key] = parent
        rows = np.flatnonzero((sums != 0) | (totals != 0))
        return sums[rows], totals[rows], rows
    rows, number = np.unique(np.concatenate([child_key, parent_key]), return_inverse=True)
    sums = np.bincount(number[: len(child_key)], child, minlength=len(rows)).astype(np.int64)
    totals = np.zeros(len(rows), dtype=np.int64)
    totals[number[len(child_key) :]] = parent
    return sums, totals, rows


def _on_hidden(
    cells: _CellArrays,
    grid: PartGrid,
    at: int,
    branch: BoolArray,
    hidden: BoolArray,
    cell: IntArray,
    code: IntArray,
) -> BoolArray:
    """Which totals, or any of their parts, lie on hidden table parts.

    `cell` is, per total, a cell with the same codes of all other variables; `code` is
    its own code of the variable.
    """
    dimension, rank, stride = grid.dimensions[at], grid.rank[at], grid.strides[at]
    elsewhere = grid.part([part[cell] for part in cells[0]], len(cell))
    elsewhere -= rank[cells[0][at][cell]] * stride
    left_out: BoolArray = hidden[elsewhere + rank[code] * stride]
    for level in range(len(grid.numbers[at])):
        has = np.zeros(len(dimension), dtype=np.bool_)
        has[dimension.parents[branch & (rank == level)]] = True
        left_out |= has[code] & hidden[elsewhere + level * stride]
    return left_out
