"""Totals that a file of cells lacks, added up from its finest cells. CONFIDENTIAL.

In: cells as positions of codes, with numbers. Out: all cells on all levels, numbers added
up in whole units, the largest contributions put together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.formats.metadata import Metadata
from discreet.tables import Dimension
from discreet.tables.table import sort_cells

__all__ = ["summed_up"]

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
StatusArray = npt.NDArray[np.int8]


def summed_up(
    dimensions: Sequence[Dimension],
    index: Sequence[CodeArray],
    numbers: dict[str, FloatArray],
    status: StatusArray | None,
    metadata: Metadata,
) -> tuple[list[CodeArray], dict[str, FloatArray], StatusArray | None]:
    """All cells above the finest ones given; numbers of totals given are not used.

    Args:
        dimensions: The spanning variables.
        index: Positions of the codes of the cells given.
        numbers: Their numbers by variable.
        status: Their status, which stays.
        metadata: What the numbers are.
    """
    inner = np.ones(len(index[0]), dtype=np.bool_)
    for dimension, part in zip(dimensions, index, strict=True):
        inner &= dimension.is_leaf[part]
    parts = [part[inner] for part in index]
    source = np.flatnonzero(inner)
    for at, dimension in enumerate(dimensions):
        parts, source = _with_ancestors(parts, source, at, dimension)
    places, first, group = np.unique(
        np.stack(parts), axis=1, return_index=True, return_inverse=True
    )
    cells = [place.astype(np.int32) for place in places]
    summed = _summed(numbers, metadata, source, group.reshape(-1), len(first))
    place, given = _matched(dimensions, index, cells)
    if len(place) < len(index[0]):
        raise SuppressionError(
            f"{len(index[0]) - len(place):,} totals have no finest cell below them",
            code="additivity",
            hint='hand in their parts, or take totals as given (totals="given")',
        )
    for level in (*metadata.role("lower"), *metadata.role("upper")):
        summed[level.name] = np.zeros(len(first))
        summed[level.name][place] = numbers[level.name][given]
    if status is None:
        return cells, summed, None
    kept = np.zeros(len(first), dtype=np.int8)
    kept[place] = status[given]
    return cells, summed, kept


def _with_ancestors(
    parts: Sequence[CodeArray], source: IntArray, at: int, dimension: Dimension
) -> tuple[list[CodeArray], IntArray]:
    """Each cell once more for every code above its own in one variable."""
    result = [[part] for part in parts]
    sources = [source]
    code = parts[at]
    rows = np.arange(len(code))
    while True:
        above = dimension.parents[code]
        rows, code = rows[above >= 0], above[above >= 0]
        if not rows.size:
            break
        for column, part in zip(result, parts, strict=True):
            column.append(part[rows])
        result[at][-1] = code
        sources.append(source[rows])
    return [np.concatenate(column) for column in result], np.concatenate(sources)


def _summed(
    numbers: dict[str, FloatArray],
    metadata: Metadata,
    source: IntArray,
    group: IntArray,
    size: int,
) -> dict[str, FloatArray]:
    result = {}
    tops = [variable.name for variable in metadata.role("top")]
    for variable in metadata.variables:
        if variable.name not in numbers or variable.role in ("lower", "upper", "top"):
            continue
        units = 10.0**variable.decimals
        whole = np.zeros(size, dtype=np.int64)
        np.add.at(whole, group, np.rint(numbers[variable.name][source] * units).astype(np.int64))
        result[variable.name] = whole / units
    if tops:
        result.update(_largest([numbers[name] for name in tops], tops, source, group, size))
    return result


def _largest(
    columns: Sequence[FloatArray],
    names: Sequence[str],
    source: IntArray,
    group: IntArray,
    size: int,
) -> dict[str, FloatArray]:
    """The largest of the largest contributions of all cells below."""
    value = np.concatenate([column[source] for column in columns])
    cell = np.concatenate([group] * len(columns))
    order = np.lexsort((-np.abs(value), cell))
    cell, value = cell[order], value[order]
    start = np.searchsorted(cell, np.arange(size))
    rank = np.arange(len(cell)) - start[cell]
    result = {}
    for at, name in enumerate(names):
        result[name] = np.zeros(size)
        result[name][cell[rank == at]] = value[rank == at]
    return result


def _matched(
    dimensions: Sequence[Dimension], index: Sequence[CodeArray], cells: Sequence[CodeArray]
) -> tuple[IntArray, IntArray]:
    """Cells that were given: their number among all cells, and among those given."""
    both = [np.concatenate([new, old]) for new, old in zip(cells, index, strict=True)]
    size = len(cells[0])
    order = sort_cells(dimensions, both)
    after, before = order[1:], order[:-1]
    same = np.ones(len(after), dtype=np.bool_)
    for part in both:
        same &= part[after] == part[before]
    return before[same], after[same] - size
