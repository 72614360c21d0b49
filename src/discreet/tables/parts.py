"""Table parts (Tabellenteile): cells on one combination of levels.

In: the codes of cells that were counted elsewhere. Out: which parts of the grid
the table has. A margin that was not handed in is unknown, not zero. Public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.tables.dimension import Dimension, IndexArray

__all__ = ["Parts", "level_numbers", "parts_of", "parts_with_figures", "within"]

#: Per part, a number for its level in each variable, as `level_numbers` gives them.
Parts = frozenset[tuple[int, ...]]


def level_numbers(dimension: Dimension) -> npt.NDArray[np.int64]:
    """The level of each code, with all finest codes on one level whatever their depth.

    Finest codes have 0, the total 1, the codes below it that have codes below them 2, and
    so on. Classifications that do not nest have levels of their own: the finest codes of
    the second one 2, of the third 3, the levels above them follow in turn. Leaving codes
    out changes no other code's number, unless it has no codes below it any more.

    >>> from discreet.classifications import Classification
    >>> place = Classification.from_parents("place", {"N": None, "N1": "N", "N2": "N", "S": None})
    >>> level_numbers(Dimension(classifications=(place,))).tolist()
    [1, 2, 0, 0, 0]
    """
    trees, tree, level = len(dimension.classifications), dimension.breakdown, dimension.levels
    inner = np.where(level == 0, 1, trees + 1 + (level - 1) * trees + tree)
    finest = np.where(tree == 0, 0, tree + 1)
    return np.where(dimension.is_leaf, finest, inner).astype(np.int64)


def _part_numbers(
    dimensions: Sequence[Dimension], index: Sequence[IndexArray], length: int
) -> tuple[npt.NDArray[np.int64], list[int]]:
    widths = [int(level_numbers(dimension).max()) + 1 for dimension in dimensions]
    numbers = np.zeros(length, dtype=np.int64)
    for dimension, part, width in zip(dimensions, index, widths, strict=True):
        numbers = numbers * width + level_numbers(dimension)[part]
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
        possible *= len(np.unique(level_numbers(dimension)))
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
        if any(level >= width for width, level in zip(widths, part, strict=True)):
            continue  # a level without codes here
        number = 0
        for width, level in zip(widths, part, strict=True):
            number = number * width + level
        wanted.append(number)
    return np.isin(numbers, np.array(sorted(wanted), dtype=np.int64))


def parts_with_figures(parts: Parts, dimensions: Sequence[Dimension]) -> Parts:
    """Parts of the spanning variables as parts of a table with several figures.

    The first figure stands in the place of a total and has a level of its own, so
    each part becomes one part of the first figure and one of all others.

    Args:
        parts: Level numbers of the spanning variables only.
        dimensions: The dimensions of the table, that of the figures last.

    >>> from discreet.tables.figures import Figure, figure_dimension
    >>> figures = figure_dimension([Figure(name="n"), Figure(name="rent", kind="mean")])
    >>> sorted(parts_with_figures(frozenset({(0,)}), [figures, figures]))
    [(0, 0), (0, 1)]
    """
    levels = np.unique(level_numbers(dimensions[-1])).tolist()
    return frozenset((*part, level) for part in parts for level in levels)
