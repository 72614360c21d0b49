"""`PartGrid`: the table parts of a protected table, numbered.

In: the spanning variables of a protected table. Out: the number of the part that each
cell lies on, the size of each part, and its levels in words. Public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.tables import Dimension, ProtectedTable
from discreet.tables.dimension import IndexArray
from discreet.tables.parts import level_numbers

__all__ = ["TOTAL", "PartGrid", "finest_level", "level_names"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: The name of the level of totals.
TOTAL = "total"


def level_names(dimension: Dimension) -> dict[int, str]:
    """The name of each level number: the total, then each classification down to its finest.

    A level without a name is called after its variable, with its depth if there are several.

    >>> from discreet.classifications import Classification
    >>> region = Classification.from_prefixes("region", ["01", "02"], lengths=[1, 2])
    >>> level_names(Dimension(classifications=(region,)))
    {1: 'total', 2: 'region 1', 0: 'region 2'}
    """
    numbers, first = np.unique(level_numbers(dimension), return_index=True)
    tree, level = dimension.breakdown[first], dimension.levels[first]
    finest = dimension.is_leaf[first]
    order = np.lexsort((level, finest, tree, level > 0))
    return {int(numbers[at]): _level_name(dimension, int(first[at])) for at in order}


def _level_name(dimension: Dimension, code: int) -> str:
    """The name of the level that a code is on."""
    if dimension.levels[code] == 0:
        return TOTAL
    tree = dimension.classifications[dimension.breakdown[code]]
    level = tree.depth if dimension.is_leaf[code] else int(dimension.levels[code])
    if level <= len(tree.level_names):
        named: str = tree.level_names[level - 1]
        return named
    name = tree.name if len(dimension.classifications) > 1 else dimension.name
    return name if tree.depth == 1 else f"{name} {level}"


def finest_level(dimension: Dimension) -> str:
    """The name of the finest level; of each, where classifications do not nest."""
    leaves = np.flatnonzero(dimension.is_leaf & (dimension.levels > 0))
    _, first = np.unique(dimension.breakdown[leaves], return_index=True)
    names = [_level_name(dimension, int(code)) for code in leaves[first]]
    return " / ".join(names) or TOTAL


@dataclass(frozen=True, repr=False, eq=False)
class PartGrid:
    """The parts over some spanning variables, numbered with the last variable fastest.

    Args:
        dimensions: The spanning variables.
        numbers: Per variable, the level numbers it has: the total first, the finest last.
        rank: Per variable and code, which of these levels the code is on.
    """

    dimensions: tuple[Dimension, ...]
    numbers: tuple[tuple[int, ...], ...]
    rank: tuple[IntArray, ...]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> PartGrid:
        """The parts of a table that these variables span."""
        numbers, rank = [], []
        for dimension in dimensions:
            own = tuple(level_names(dimension))
            at = np.zeros(max(own) + 1, dtype=np.int64)
            at[list(own)] = np.arange(len(own))
            numbers.append(own)
            rank.append(at[level_numbers(dimension)])
        return cls(tuple(dimensions), tuple(numbers), tuple(rank))

    def __len__(self) -> int:
        return math.prod(len(own) for own in self.numbers)

    @property
    def strides(self) -> tuple[int, ...]:
        """Per variable, what one level more adds to the number of a part."""
        widths = [len(own) for own in self.numbers]
        return tuple(math.prod(widths[at + 1 :]) for at in range(len(widths)))

    def part(self, index: Sequence[IndexArray], length: int) -> IntArray:
        """The part that each cell lies on."""
        part = np.zeros(length, dtype=np.int64)
        for rank, stride, places in zip(self.rank, self.strides, index, strict=True):
            part += (rank * stride).take(places)
        return part

    def levels(self) -> list[tuple[int, ...]]:
        """The level numbers of each part."""
        return list(itertools.product(*self.numbers))

    def names(self) -> list[tuple[str, ...]]:
        """The levels of each part in words."""
        return list(itertools.product(*(level_names(d).values() for d in self.dimensions)))

    def broken_down(self) -> list[int]:
        """Per part, the number of variables that are not at their total."""
        return [sum(level != 0 for level in part) for part in itertools.product(*self._depths)]

    @property
    def _depths(self) -> list[list[int]]:
        """Per variable and level, 0 for the total and 1 for all others."""
        return [
            [int(dimension.levels[rank == at].max() > 0) for at in range(len(own))]
            for dimension, own, rank in zip(self.dimensions, self.numbers, self.rank, strict=True)
        ]

    def sizes(self) -> list[int]:
        """Per part, the number of its cells."""
        codes = [
            np.bincount(rank, minlength=len(own)).tolist()
            for rank, own in zip(self.rank, self.numbers, strict=True)
        ]
        return [math.prod(sizes) for sizes in itertools.product(*codes)]

    def suppressed(self, table: ProtectedTable) -> BoolArray:
        """Which parts are suppressed as a whole, in one of the figures at least."""
        width = len(self.dimensions)
        hidden = {part[:width] for part in table.suppressed_parts}
        return np.array([levels in hidden for levels in self.levels()], dtype=np.bool_)

    def unknown(self, table: ProtectedTable) -> BoolArray:
        """Which parts the table does not have."""
        if table.parts is None:
            return np.zeros(len(self), dtype=np.bool_)
        width = len(self.dimensions)
        there = {part[:width] for part in table.parts}
        return np.array([levels not in there for levels in self.levels()], dtype=np.bool_)

    def __repr__(self) -> str:
        return f"<PartGrid: {len(self)} parts>"
