"""Statistics on a table of counts in one pass over its cells, by compiled loops.

In: a true and a protected table of the same codes. Out: the same tallies as those that
are made step by step, bit for bit. CONFIDENTIAL.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.assessment.release_quality.additivity import family
from discreet.assessment.release_quality.pairs import PartGrid
from discreet.assessment.release_quality.tallies import SIZE_CLASSES, CountStatistics, filled_rows
from discreet.tables import CellStatus, ProtectedTable, Table

#: From so many cells on; where the compiler is loaded already, from fewer.
_COMPILED_FROM = 1_000_000
_WORTH = 2_000
_COMPILER = "numba"

#: Sums need a place for each cell of the grid: so many in all, or per stored cell.
_PLACES = 2**23
_PLACES_PER_CELL = 16

#: Tables with larger noise than this are looked at step by step.
_MOST_NOISE = 128


@dataclass(frozen=True, repr=False, eq=False)
class Tallies:
    """What is known of a table of counts (confidential)."""

    counts: CountStatistics
    states: IntArray
    sums: IntArray

    def __repr__(self) -> str:
        return "<Tallies: confidential>"


@dataclass(frozen=True, repr=False, eq=False)
class _JointCells:
    """The stored cells of a protected table (public)."""

    index: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    value: IntArray
    status: np.ndarray[tuple[int], np.dtype[np.int8]]
    place: IntArray
    part: IntArray

    @classmethod
    def of(cls, table: ProtectedTable, grid: PartGrid) -> _JointCells:
        """The cells of a table with their places and parts."""
        index = _joint(table)
        value = np.ascontiguousarray(table.value, dtype=np.int64)
        status = np.ascontiguousarray(table.status)
        return cls(index, value, status, *_numbered(index, grid))


def one_pass(
    table: Table | None,
    protected: ProtectedTable,
    grid: PartGrid,
    *,
    hidden: BoolArray,
    unknown: BoolArray,
) -> Tallies | None:
    """The statistics on a table of counts; None where they are made step by step."""
    if table is None or not _suits(table, protected, grid):
        return None
    from discreet.assessment.release_quality import compiled_loops

    index = _joint(table)
    places, parts = _numbered(index, grid)
    cells = _JointCells.of(protected, grid)
    groups = len(grid) * len(SIZE_CLASSES)
    noise = np.zeros((groups, 2 * _MOST_NOISE + 1), dtype=np.int64)
    others = np.zeros((groups, 4), dtype=np.int64)
    states = np.zeros((len(grid), len(CellStatus)), dtype=np.int64)
    beside = np.zeros(1, dtype=np.int64)
    done = compiled_loops.in_order(cells.place, cells.part, cells.value, cells.status, states)
    done = done and compiled_loops.tally(
        (places, parts, np.ascontiguousarray(table.count)),
        (cells.place, cells.value, cells.status),
        *(hidden.astype(np.uint8), noise, others, beside),
    )
    if not done:
        return None
    return Tallies(
        counts=_counts(noise, others, int(beside[0])),
        states=_states(states),
        sums=_sums(cells, grid, hidden | unknown),
    )


def _numbered(
    index: np.ndarray[tuple[int, int], np.dtype[np.int32]], grid: PartGrid
) -> tuple[IntArray, IntArray]:
    """The place of each cell, and its part."""
    from discreet.assessment.release_quality import compiled_loops

    length = index.shape[1]
    place, part = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.int64)
    widths = [len(rank) for rank in grid.rank]
    steps = [rank * stride for rank, stride in zip(grid.rank, grid.strides, strict=True)]
    strides = np.array(grid.cells.strides, dtype=np.int64)
    compiled_loops.number(
        index, strides, np.concatenate(steps), np.cumsum([0, *widths[:-1]]), place, part
    )
    return place, part


def _suits(table: Table, protected: ProtectedTable, grid: PartGrid) -> bool:
    """Whether tables are such that one pass does, and large enough to be worth it."""
    least = _WORTH if _COMPILER in sys.modules else _COMPILED_FROM
    plain = not protected.figures and table.weight is None and protected.value.dtype == np.int64
    if not plain or not grid.dimensions or min(len(table), protected.stored) < max(1, least):
        return False
    room = max(_PLACES, _PLACES_PER_CELL * protected.stored)
    return (
        grid.cells.size <= room
        and [d.name for d in table.dimensions] == [d.name for d in grid.dimensions]
        and all(a.codes == b.codes for a, b in zip(table.dimensions, grid.dimensions, strict=True))
    )


def _joint(
    table: Table | ProtectedTable,
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """The codes of all cells, one row per variable."""
    return np.stack([part.astype(np.int32, copy=False) for part in table.index])


def _counts(noise: IntArray, others: IntArray, zeros_changed: int) -> CountStatistics:
    """Tallies as rows of those that are not empty."""
    group, change = np.nonzero(noise)
    rows = [*np.divmod(group, len(SIZE_CLASSES)), change - _MOST_NOISE, noise[group, change]]
    tallied = np.stack(rows, axis=1).astype(np.int64)
    return CountStatistics(tallied, filled_rows(others), zeros_changed)


def _states(cells: IntArray) -> IntArray:
    part, status = np.nonzero(cells)
    rows = [np.zeros_like(part), part, status, cells[part, status]]
    return np.stack(rows, axis=1).astype(np.int64)


def _sums(cells: _JointCells, grid: PartGrid, hidden: BoolArray) -> IntArray:
    """Totals beside the sums of their parts, variable by variable."""
    from discreet.assessment.release_quality.compiled_loops import compare

    size = grid.cells.size
    secrets = bool((cells.status == CellStatus.suppressed).any())
    gaps = bool(hidden.any())
    sums = np.zeros(size, dtype=np.int64)
    marks = np.zeros(size if secrets else 0, dtype=np.uint8)
    total = np.zeros((len(grid.dimensions), 5), dtype=np.int64)
    total[:, 0] = np.arange(len(grid.dimensions))
    for at, dimension in enumerate(grid.dimensions):
        stride, rank = grid.cells.strides[at], grid.rank[at]
        for tree in range(len(dimension.classifications)):
            branch, above = family(dimension, tree)
            parents = np.where(branch, dimension.parents, np.arange(len(dimension)))
            kind, left_out = _left_out(grid, at, branch, hidden)
            found = np.zeros(4, dtype=np.int64)
            compare(
                (cells.index[at], cells.place, cells.part, cells.value, cells.status),
                (
                    (parents - np.arange(len(dimension))) * stride,
                    (rank[parents] - rank) * grid.strides[at],
                    (branch + 2 * above).astype(np.uint8),
                    *(kind, kind[parents]),
                ),
                *(left_out, secrets, gaps, sums, marks, found),
            )
            total[at, 1:4] += found[:3]
            total[at, 4] = max(total[at, 4], found[3])
    return total


def _left_out(
    grid: PartGrid, at: int, branch: BoolArray, hidden: BoolArray
) -> tuple[IntArray, np.ndarray[tuple[int, int], np.dtype[np.uint8]]]:
    """Kinds of codes; per part and kind, whether totals or their parts are hidden.

    Codes are of one kind if the codes below them are on the same levels.
    """
    dimension, rank, stride = grid.dimensions[at], grid.rank[at], grid.strides[at]
    levels = len(grid.numbers[at])
    if not bool(hidden.any()):
        return np.zeros(len(dimension), dtype=np.int64), np.zeros((1, 1), dtype=np.uint8)
    below = np.zeros((len(dimension), levels), dtype=np.bool_)
    below[dimension.parents[branch], rank[branch]] = True
    kinds, kind = np.unique(below, axis=0, return_inverse=True)
    part = np.arange(len(grid))
    outside = part - part // stride % levels * stride
    left_out = np.repeat(hidden[:, None], len(kinds), axis=1)
    for level in range(levels):
        left_out |= kinds[:, level] & hidden[outside + level * stride][:, None]
    return kind.astype(np.int64).ravel(), left_out.astype(np.uint8)
