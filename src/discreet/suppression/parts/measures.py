"""Measures of table parts: disclosure risk and information loss.

In: the cells with records of a table (CONFIDENTIAL). Out: `PartMeasures` of any part,
as confidential. Empty cells are counted by arithmetic; no grid is ever made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.parts.filtering import named_variables
from discreet.suppression.parts.levels import Level, Part, levels_of
from discreet.tables import Dimension, Table
from discreet.tables.dimension import IndexArray
from discreet.tables.table import FloatArray, IntArray

__all__ = ["Deviation", "PartCells", "PartMeasures", "cells_of", "joint_numbers"]

BoolArray = npt.NDArray[np.bool_]

#: Standard deviation of the noise: of each cell of the table, or a function of counts.
Deviation = Callable[[IntArray], Any] | Any

_DENSE = 2**16
_DENSE_SHARE = 8
_NUMBER_LIMIT = 2**62


@dataclass(frozen=True, kw_only=True, repr=False)
class PartMeasures:
    """What was measured on one part (confidential).

    Args:
        cells: Number of cells, empty ones included.
        occupied: Number of cells with records.
        records: Number of records.
        small: Number of small cells.
        unique: Number of cells with one record.
        groups: Per variable that a level lies above of: number of groups of two and more
            records, and of those among them whose records are all in one category.
        relative_error: Mean relative error of the cells with records; None if not asked.
    """

    cells: int
    occupied: int
    records: int
    small: int
    unique: int
    groups: tuple[tuple[int, int], ...] = ()
    relative_error: float | None = None

    @property
    def share_small(self) -> float:
        """Share of small cells among the cells with records."""
        return _share(self.small, self.occupied)

    @property
    def share_unique(self) -> float:
        """Share of the records that are alone in their cell."""
        return _share(self.unique, self.records)

    @property
    def share_grouped(self) -> float:
        """Share of groups that give a category away, for the worst variable."""
        return max((_share(found, groups) for groups, found in self.groups), default=0.0)

    @property
    def share_empty(self) -> float:
        """Share of the cells without records."""
        return _share(self.cells - self.occupied, self.cells)

    @property
    def average_size(self) -> float:
        """Records per cell with records; 0 where there are none."""
        return _share(self.records, self.occupied)

    def __repr__(self) -> str:
        return "<PartMeasures (confidential)>"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


class PartCells:
    """Cells with records, to be measured part by part (confidential).

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each cell's code.
        count: Number of records of each cell, at least 1.
        small_up_to: Largest count of a small cell.
        relative: Relative error of each cell, if that is to be measured.
        named: Places of the spanning variables that the filter of the cells names. That
            records are alike where the filter leaves a single code tells nothing more.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        index: Sequence[IndexArray],
        count: IntArray,
        *,
        small_up_to: int,
        relative: FloatArray | None = None,
        named: Sequence[int] = (),
    ) -> None:
        self.dimensions = tuple(dimensions)
        self.index = tuple(index)
        self.count = count
        self.small_up_to = small_up_to
        self.relative = relative
        self.named = tuple(named)
        self.levels = tuple(levels_of(dimension) for dimension in dimensions)
        self._kinds = [_kinds(dimension) for dimension in dimensions]

    @cached_property
    def _on_levels(self) -> list[BoolArray]:
        """Per variable, levels × kinds of codes: which stand on which."""
        return [
            np.array([level.members[first] for level in levels.values()])
            for levels, (_, first) in zip(self.levels, self._kinds, strict=True)
        ]

    @cached_property
    def _kind(self) -> npt.NDArray[np.int64]:
        """The combination of kinds of codes that each cell has."""
        kind = np.zeros(len(self.count), dtype=np.int64)
        for (kinds, first), part in zip(self._kinds, self.index, strict=True):
            kind = kind * len(first) + kinds[part]
        return kind

    @cached_property
    def _totals(self) -> tuple[IntArray, ...]:
        """Cells, records, small cells and cells of one record, of every part at once."""
        shape = tuple(len(first) for _, first in self._kinds)
        masks: list[Any] = [slice(None), self.count <= self.small_up_to, self.count == 1]
        cells, small, unique = (
            np.bincount(self._kind[mask], minlength=math.prod(shape)) for mask in masks
        )
        # Floats hold whole numbers up to 2^53, more than there are records anywhere.
        records = np.bincount(self._kind, weights=self.count, minlength=math.prod(shape))
        found = []
        for measure in (cells, records.astype(np.int64), small, unique):
            cube = measure.reshape(shape)
            for at, matrix in enumerate(self._on_levels):
                cube = np.moveaxis(np.tensordot(matrix.astype(np.int64), cube, (1, at)), 0, at)
            found.append(cube)
        return tuple(found)

    def on(self, part: Part) -> BoolArray:
        """Which cells stand on a part."""
        wanted = np.ones(1, dtype=np.bool_)
        for levels, matrix, number in zip(self.levels, self._on_levels, part, strict=True):
            row = matrix[list(levels).index(number)]
            wanted = (wanted[:, None] & row[None, :]).ravel()
        return np.asarray(wanted[self._kind], dtype=np.bool_)

    def measure(self, part: Part, *, grouped: bool = True) -> PartMeasures:
        """The measures of one part.

        Args:
            part: The part.
            grouped: Whether to look for groups that give a category away.
        """
        place = tuple(
            list(levels).index(number) for levels, number in zip(self.levels, part, strict=True)
        )
        occupied, records, small, unique = (int(cube[place]) for cube in self._totals)
        here = self.on(part) if grouped or self.relative is not None else None
        error = None
        if self.relative is not None:
            # Summed exactly, so that the order of the cells does not matter.
            error = math.fsum(self.relative[here].tolist()) / occupied if occupied else 0.0
        return PartMeasures(
            cells=math.prod(self.level(part, at).size for at in range(len(part))),
            occupied=occupied,
            records=records,
            small=small,
            unique=unique,
            groups=self._groups(part, here) if grouped and here is not None else (),
            relative_error=error,
        )

    def level(self, part: Part, at: int) -> Level:
        """The level of one variable in a part."""
        return self.levels[at][part[at]]

    def _groups(self, part: Part, here: BoolArray) -> tuple[tuple[int, int], ...]:
        """Groups of two and more records, and those all of whose records are alike.

        A group is a cell of the part with one variable one level up, if that has
        several codes below it: there its records could differ.
        """
        cells = np.flatnonzero(here)
        found = []
        for at, dimension in enumerate(self.dimensions):
            level = self.level(part, at)
            if level.coarser is None:
                continue
            possible = np.full(len(dimension), at not in self.named)
            possible[self.index[at]] = True
            split = _split_codes(dimension, level, possible)[self.index[at][cells]]
            chosen = cells[split]
            columns = [column[chosen] for column in self.index]
            columns[at] = dimension.parents[columns[at]]
            found.append(_alike(columns, self.dimensions, self.count[chosen]))
        return tuple(found)


def _kinds(dimension: Dimension) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Codes that stand on the same levels, as one kind; and a code of each kind."""
    depth = int(dimension.levels.max()) + 1
    number = (dimension.breakdown * depth + dimension.levels) * 2 + dimension.is_leaf
    _, first, kinds = np.unique(number, return_index=True, return_inverse=True)
    return kinds.astype(np.int64), first.astype(np.int64)


def _split_codes(dimension: Dimension, level: Level, possible: BoolArray) -> BoolArray:
    """The codes on a level whose parent has several possible codes below it."""
    own = dimension.breakdown == level.tree
    own[0] = False
    children = np.bincount(dimension.parents[own & possible], minlength=len(dimension))
    return np.asarray(own & (dimension.levels == level.depth) & (children[dimension.parents] >= 2))


def _alike(
    columns: Sequence[npt.NDArray[Any]], dimensions: Sequence[Dimension], count: IntArray
) -> tuple[int, int]:
    """Number of groups of two and more records, and of those in a single category."""
    numbers, size = joint_numbers(columns, [len(dimension) for dimension in dimensions])
    if size > _DENSE_SHARE * len(numbers) + _DENSE:
        _, numbers = np.unique(numbers, return_inverse=True)
    categories = np.bincount(numbers)
    alone = int(((categories[numbers] == 1) & (count >= 2)).sum())
    return int((categories >= 2).sum()) + alone, alone


def joint_numbers(
    columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], int]:
    """One number per combination of positions, and a bound that all of them are below.

    >>> joint_numbers([np.array([0, 1]), np.array([2, 0])], [2, 3])
    (array([2, 3]), 6)
    """
    numbers = np.zeros(len(columns[0]) if columns else 1, dtype=np.int64)
    bound = 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= _NUMBER_LIMIT:
            found, numbers = np.unique(numbers, return_inverse=True)
            bound = max(len(found), 1)
        numbers = numbers * size + column
        bound *= size
    return numbers, bound


def cells_of(table: Table, small_up_to: int, deviation: Deviation | None = None) -> PartCells:
    """The cells of a table that have records, to be measured.

    Args:
        table: The table.
        small_up_to: Largest count of a small cell.
        deviation: Standard deviation of the noise: of each cell, or a function of counts.
    """
    occupied = table.count > 0
    whole = bool(occupied.all())
    count = table.count if whole else table.count[occupied]
    index = table.index if whole else tuple(part[occupied] for part in table.index)
    relative = None
    if deviation is not None:
        relative = _relative(deviation, table, count, occupied)
    return PartCells(
        table.dimensions,
        index,
        count,
        small_up_to=small_up_to,
        relative=relative,
        named=named_variables(table),
    )


def _relative(
    deviation: Deviation, table: Table, count: IntArray, occupied: BoolArray
) -> FloatArray:
    """Standard deviation in relation to the count, of each cell with records."""
    if not callable(deviation):
        given = _deviations(deviation, len(table), table.name)
        return np.asarray(given[occupied] / count, dtype=np.float64)
    distinct = np.unique(count)
    given = _deviations(deviation(distinct), len(distinct), table.name)
    return np.asarray((given / distinct)[np.searchsorted(distinct, count)], dtype=np.float64)


def _deviations(values: Any, length: int, where: str) -> FloatArray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros((0, 0))
    if found.shape != (length,) or not bool(np.all(np.isfinite(found) & (found >= 0))):
        raise SuppressionError(
            "a standard deviation, at least 0, is needed for every cell",
            code="deviation",
            where=where,
            hint="give one number per cell of the table, or a function of counts",
        )
    return found
