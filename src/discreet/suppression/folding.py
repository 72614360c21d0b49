"""Cells that always have the same value become one; relations are put in order.

In: relations over cells, perhaps with cells that stand twice in a row, rows that stand
twice, totals of a single part. Out: relations over fewer cells that say the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.suppression.relations import Relations
from discreet.suppression.unknowns import labels_of

__all__ = ["folded", "stacked", "tidied"]

IntArray = npt.NDArray[np.int64]
UintArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]


def stacked(cells: int, blocks: Sequence[tuple[Relations, IntArray]]) -> Relations:
    """The relations of several tables as one system.

    Args:
        cells: Number of cells of the system.
        blocks: Per table, its relations and the number of each of its cells.
    """
    result = Relations.of(cells, [])
    for relations, numbers in blocks:
        moved = Relations(
            cells=cells,
            start=relations.start,
            cell=numbers[relations.cell].astype(np.int32),
            coef=relations.coef,
            rhs=relations.rhs,
        )
        result = result.joined(moved)
    return tidied(result)


def tidied(relations: Relations) -> Relations:
    """Each cell once in a row, each row once, no empty rows.

    >>> tidied(Relations.of(3, [[(0, -1), (1, 1), (0, 1)], [(0, -1), (2, 1)], [(2, 1), (0, -1)]]))
    <Relations: 2 over 3 cells>
    """
    order = np.lexsort((relations.cell, relations.row))
    row, cell = relations.row[order], relations.cell[order]
    if not row.size:
        return _kept(relations, row, cell, relations.coef, np.flatnonzero(relations.rhs))
    fresh = np.ones(row.size, dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])
    begin = np.flatnonzero(fresh)
    coef = np.add.reduceat(relations.coef[order], begin)
    row, cell = row[begin], cell[begin]
    row, cell, coef = row[coef != 0], cell[coef != 0], coef[coef != 0]
    width = np.bincount(row, minlength=len(relations))
    again = _repeated(row, cell, coef, relations.rhs, width)
    rows = np.flatnonzero(((width > 0) | (relations.rhs != 0)) & ~again)
    return _kept(relations, row, cell, coef, rows)


def _kept(
    relations: Relations,
    row: IntArray,
    cell: npt.NDArray[np.int32],
    coef: IntArray,
    rows: IntArray,
) -> Relations:
    keep = np.zeros(len(relations), dtype=np.bool_)
    keep[rows] = True
    entries = keep[row] if row.size else np.zeros(0, dtype=np.bool_)
    width = np.bincount(row[entries], minlength=len(relations))[rows]
    start = np.zeros(rows.size + 1, dtype=np.int64)
    np.cumsum(width, out=start[1:])
    return Relations(
        cells=relations.cells,
        start=start,
        cell=cell[entries],
        coef=coef[entries],
        rhs=relations.rhs[rows],
    )


def _repeated(
    row: IntArray,
    cell: npt.NDArray[np.int32],
    coef: IntArray,
    rhs: IntArray,
    width: IntArray,
) -> BoolArray:
    """Rows that an earlier one says already. Equal sums of mixed numbers only suggest it."""
    marks = np.zeros(len(rhs), dtype=np.uint64)
    np.add.at(
        marks, row, _mixed(cell.astype(np.uint64) * np.uint64(2**20) + coef.astype(np.uint64))
    )
    marks += _mixed(rhs.astype(np.uint64))
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    earlier = first[group]
    suspects = np.flatnonzero((earlier < np.arange(len(rhs))) & (width > 0))
    start = np.zeros(len(rhs) + 1, dtype=np.int64)
    np.cumsum(width, out=start[1:])
    like = earlier[suspects]
    alike = (width[suspects] == width[like]) & (rhs[suspects] == rhs[like])
    suspects, like = suspects[alike], like[alike]
    sizes = width[suspects]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = np.repeat(start[suspects], sizes) + within
    other = np.repeat(start[like], sizes) + within
    differs = (cell[one] != cell[other]) | (coef[one] != coef[other])
    wrong = np.bincount(
        np.repeat(np.arange(suspects.size), sizes)[differs], minlength=suspects.size
    )
    repeated = np.zeros(len(rhs), dtype=np.bool_)
    repeated[suspects[wrong == 0]] = True
    return repeated


def _mixed(numbers: UintArray) -> UintArray:
    """Numbers whose sums hardly ever agree by chance (the finaliser of splitmix64)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def folded(relations: Relations) -> tuple[IntArray, Relations]:
    """Make one cell of a total and its single part, and of all that equal each other so.

    Returns:
        For each cell its number after folding, and the relations over the new cells.

    >>> chain = Relations.of(4, [[(0, -1), (1, 1)], [(1, -1), (2, 1), (3, 1)]])
    >>> folded(chain)
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
        _, fresh = np.unique(labels_of(equal), return_inverse=True)
        numbers = fresh[numbers]
        moved = Relations(
            cells=int(fresh.max()) + 1,
            start=relations.start,
            cell=fresh[relations.cell].astype(np.int32),
            coef=relations.coef,
            rhs=relations.rhs,
        )
        relations = tidied(moved)
