"""Relations of a table: every total is the sum of its parts, on every level.

In: the cells of a table, as positions of their codes. Out: `Relations` over them.
Cells that do not occur are zeros that everyone knows and appear in no relation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.relations import Relations
from discreet.tables import Dimension
from discreet.tables.table import grid_size

__all__ = ["added_up", "relations_of"]

IntArray = npt.NDArray[np.int64]
IndexArray = npt.NDArray[np.int32]

_FLAT_LIMIT = 2**62


def relations_of(dimensions: Sequence[Dimension], index: Sequence[IndexArray]) -> Relations:
    """The relations of one table: per variable, per parent code, per breakdown.

    A parent without children among the cells stands in no relation as a total; if it
    occurs, so does at least one child, unless the table lacks the part of the children.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each cell's code.
    """
    size = len(index[0]) if index else 1
    sizes = [len(dimension) for dimension in dimensions]
    if grid_size(dimensions) >= _FLAT_LIMIT:
        raise SuppressionError(
            "the grid of this table has more than 2^62 cells",
            code="table-size",
            hint="use fewer spanning variables",
        )
    flat = _flat(sizes, index, size)
    order = np.argsort(flat, kind="stable")
    blocks = []
    stride = 1
    for dimension, part in zip(reversed(dimensions), reversed(index), strict=True):
        blocks.append(_one_way(dimension, part, flat, flat[order], order, stride))
        stride *= len(dimension)
    return _joined(size, blocks[::-1])


def _flat(sizes: Sequence[int], index: Sequence[IndexArray], size: int) -> IntArray:
    flat = np.zeros(size, dtype=np.int64)
    for width, part in zip(sizes, index, strict=True):
        flat = flat * width + part
    return flat


def _one_way(
    dimension: Dimension,
    part: IndexArray,
    flat: IntArray,
    known: IntArray,
    order: IntArray,
    stride: int,
) -> tuple[IntArray, IntArray]:
    """The relations along one variable: per entry a row number and a cell; totals first."""
    child = np.flatnonzero(part > 0)
    code = part[child]
    parent = flat[child] + (dimension.parents[code].astype(np.int64) - code) * stride
    at = np.minimum(np.searchsorted(known, parent), len(known) - 1)
    present = known[at] == parent
    child, code, total = child[present], code[present], order[at[present]]
    breakdowns = len(dimension.classifications)
    group = total * breakdowns + dimension.breakdown[code]
    rows, row = np.unique(group, return_inverse=True)
    cells = np.concatenate([rows // breakdowns, child])
    numbers = np.concatenate([np.arange(rows.size), row])
    sort = np.argsort(numbers, kind="stable")
    return numbers[sort].astype(np.int64), cells[sort].astype(np.int64)


def _joined(cells: int, blocks: Sequence[tuple[IntArray, IntArray]]) -> Relations:
    numbers, entries, coefs = [], [], []
    before = 0
    for row, cell in blocks:
        first = np.ones(row.size, dtype=np.bool_)
        first[1:] = row[1:] != row[:-1]
        coefs.append(np.where(first, -1, 1))
        numbers.append(row + before)
        entries.append(cell)
        before += int(row[-1]) + 1 if row.size else 0
    nothing = np.zeros(0, dtype=np.int64)
    row = np.concatenate([nothing, *numbers])
    start = np.zeros(before + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=before), out=start[1:])
    return Relations(
        cells=cells,
        start=start,
        cell=np.concatenate([nothing, *entries]).astype(np.int32),
        coef=np.concatenate([nothing, *coefs]).astype(np.int64),
        rhs=np.zeros(before, dtype=np.int64),
    )


def added_up(relations: Relations, value: IntArray) -> IntArray:
    """Values with every total added up anew from its parts, finest first.

    Args:
        relations: Rows with one total (coefficient -1) and its parts (1), right-hand
            side 0. A cell that is a total in several rows takes the first.
        value: Values; those of cells that are no total stay.

    >>> links = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> added_up(links, np.array([6, 2, 3]))
    array([5, 2, 3])
    """
    result = value.copy()
    totals = np.full(len(relations), -1, dtype=np.int64)
    negative = relations.coef < 0
    totals[relations.row[negative]] = relations.cell[negative]
    first = np.full(relations.cells, -1, dtype=np.int64)
    rows = np.flatnonzero(totals >= 0)[::-1]
    first[totals[rows]] = rows
    for _ in range(len(relations) + 1):
        sums = np.zeros(len(relations), dtype=np.int64)
        np.add.at(sums, relations.row[~negative], result[relations.cell[~negative]])
        changed = np.where(first >= 0, sums[first] - relations.rhs[first], result)
        if np.array_equal(changed, result):
            return result
        result = changed
    raise SuppressionError(
        "totals and parts refer to each other in a circle", code="relations", where="relations"
    )
