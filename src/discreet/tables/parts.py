"""Table parts (Tabellenteile): cells on one combination of levels.

In: the codes of cells that were counted elsewhere. Out: which parts of the grid
the table has. A margin that was not handed in is unknown, not zero. Public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.tables.dimension import Dimension, IndexArray

__all__ = ["Parts", "parts_of", "within"]

#: Per part, a number for its level in each variable; 0 stands for the finest codes.
Parts = frozenset[tuple[int, ...]]


def _level_numbers(dimension: Dimension) -> npt.NDArray[np.int64]:
    """The level of each code, with all finest codes on one level whatever their depth."""
    return np.where(dimension.is_leaf, 0, dimension.levels + 1).astype(np.int64)


def _part_numbers(
    dimensions: Sequence[Dimension], index: Sequence[IndexArray], length: int
) -> tuple[npt.NDArray[np.int64], list[int]]:
    widths = [int(_level_numbers(dimension).max()) + 1 for dimension in dimensions]
    numbers = np.zeros(length, dtype=np.int64)
    for dimension, part, width in zip(dimensions, index, widths, strict=True):
        numbers = numbers * width + _level_numbers(dimension)[part]
    return numbers, widths


def parts_of(
    dimensions: Sequence[Dimension], index: Sequence[IndexArray], length: int
) -> Parts | None:
    """The parts that cells lie on; None if these are all there can be.

    >>> from discreet.classifications import Classification
    >>> sex = Dimension(classifications=(Classification.flat("sex", ["m", "w"]),))
    >>> parts_of([sex], [np.array([1, 2], dtype=np.int32)], 2)
    frozenset({(0,)})
    """
    numbers, widths = _part_numbers(dimensions, index, length)
    found = np.unique(numbers)
    possible = 1
    for dimension in dimensions:
        possible *= len(np.unique(_level_numbers(dimension)))
    if len(found) == possible:
        return None
    parts = []
    for number in found.tolist():
        levels = []
        for width in reversed(widths):
            number, level = divmod(number, width)
            levels.append(level)
        parts.append(tuple(reversed(levels)))
    return frozenset(parts)


def within(
    dimensions: Sequence[Dimension], index: Sequence[IndexArray], length: int, parts: Parts | None
) -> npt.NDArray[np.bool_]:
    """Which cells lie on these parts."""
    if parts is None:
        return np.ones(length, dtype=np.bool_)
    numbers, widths = _part_numbers(dimensions, index, length)
    wanted = []
    for part in parts:
        number = 0
        for width, level in zip(widths, part, strict=True):
            number = number * width + level
        wanted.append(number)
    return np.isin(numbers, np.array(sorted(wanted), dtype=np.int64))
