"""Each true figure beside what was made of it, and tallies that can be added up. CONFIDENTIAL.

In: a `Table` and its `ProtectedTable`, an `Ingredient`, or key figures as they would be
without noise. Out: `Pairs`: original, value, status and table part, cell by cell; per table part
and size class of the original, how many cells got which noise, and sums; numbers of cells per class
of relative deviation; numbers of cells per state, and how far totals are from the sums of their
parts, which are public like `PartGrid`, the numbered table parts of a protected table with their
sizes and levels. No tally is a float, so that nothing depends on order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray
from discreet.assessment.probabilities import exact_sum
from discreet.confidential import Confidential
from discreet.derived import KeyFigure, derive
from discreet.disclosure import code_positions
from discreet.errors import TableError
from discreet.tables import (
    WITHOUT_NUMBER,
    CellStatus,
    Dimension,
    Ingredient,
    Parts,
    ProtectedTable,
    Table,
    level_numbers,
)

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
    """The parts over some spanning variables, numbered with the last variable fastest."""

    dimensions: tuple[Dimension, ...]  # the spanning variables
    #: Per variable, the level numbers it has: the total first, the finest last
    numbers: tuple[tuple[int, ...], ...]
    rank: tuple[IntArray, ...]  # per variable and code, which of these levels the code is on

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
        return CellIndex.of(self.numbers).size

    @property
    def cells(self) -> CellIndex:
        """The numbering of the cells of the table."""
        return CellIndex.of(self.dimensions)

    @property
    def strides(self) -> tuple[int, ...]:
        """Per variable, what one level more adds to the number of a part."""
        return CellIndex.of(self.numbers).strides

    def part(self, index: Sequence[PositionArray], length: int) -> IntArray:
        """The part that each cell lies on."""
        part = np.zeros(length, dtype=np.int64)
        for rank, stride, places in zip(self.rank, self.strides, index, strict=True):
            part += (rank * stride).take(places)
        return part

    def names(self) -> list[tuple[str, ...]]:
        """The levels of each part in words."""
        return list(itertools.product(*(level_names(d).values() for d in self.dimensions)))

    def broken_down(self) -> list[int]:
        """Per part, the number of variables that are not at their total."""
        below = [  # per variable and level, whether it is not the total
            [bool(dimension.levels[rank == at].max() > 0) for at in range(len(own))]
            for dimension, own, rank in zip(self.dimensions, self.numbers, self.rank, strict=True)
        ]
        return [sum(part) for part in itertools.product(*below)]

    def sizes(self) -> list[int]:
        """Per part, the number of its cells."""
        codes = [
            np.bincount(rank, minlength=len(own)).tolist()
            for rank, own in zip(self.rank, self.numbers, strict=True)
        ]
        return [math.prod(sizes) for sizes in itertools.product(*codes)]

    def suppressed(self, table: ProtectedTable) -> BoolArray:
        """Which parts are suppressed as a whole, in one of the figures at least."""
        return self._among(table.suppressed_parts)

    def unknown(self, table: ProtectedTable) -> BoolArray:
        """Which parts the table does not have."""
        if table.parts is None:
            return np.zeros(len(self), dtype=np.bool_)
        return ~self._among(table.parts)

    def shut(self, table: ProtectedTable, figure: int) -> BoolArray:
        """Which parts are suppressed as a whole, or missing, in one of the figures."""
        suppressed, parts = table.suppressed_parts, table.parts
        if table.several_figures:
            level = table.dimensions[-1].level_numbers[figure]
            suppressed = frozenset(part for part in suppressed if part[-1] == level)
            parts = None if parts is None else frozenset(p for p in parts if p[-1] == level)
        shut = self._among(suppressed)
        return shut if parts is None else shut | ~self._among(parts)

    def _among(self, parts: Parts) -> BoolArray:
        """Which parts are among some, whatever the figure."""
        own = {part[: len(self.dimensions)] for part in parts}
        return np.array([levels in own for levels in itertools.product(*self.numbers)], np.bool_)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pairs:
    """Original and published figure of the cells that have records (confidential)."""

    original: npt.NDArray[Any]  # True values
    value: npt.NDArray[Any]  # values as published; 0 where there is none
    status: npt.NDArray[np.int8]  # what is published
    part: IntArray  # the number of the table part
    beside: int = 0  # number of other cells that are published, although they have no records

    @classmethod
    def of_table(cls, table: Table, protected: ProtectedTable, grid: PartGrid) -> Pairs:
        """The cells of a table and what became of them."""
        listed, places = places_in(table.dimensions, table.index, grid.dimensions, table.name)
        value, status = published_or_zero(protected, places, listed)
        return cls(
            original=table.count if table.weight is None else table.weight,
            value=value,
            status=status,
            part=_part(table.dimensions, table.index, grid, listed, places),
            beside=_shown(protected.value, protected.status) - _shown(value, status),
        )

    @classmethod
    def of_ingredient(
        cls, ingredient: Ingredient, protected: ProtectedTable, grid: PartGrid
    ) -> Pairs:
        """The cells of an ingredient, as published in `protected`."""
        own, name = ingredient.protected, protected.name
        listed, places = places_in(ingredient.dimensions, ingredient.index, grid.dimensions, name)
        status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
        if bool((own.status == CellStatus.official).any()):
            _, status = published_at(own, ingredient.index, len(ingredient))
        status[ingredient.suppressed] = CellStatus.suppressed
        part = _part(ingredient.dimensions, ingredient.index, grid, listed, places)
        status[grid.suppressed(protected)[part]] = CellStatus.suppressed
        value, original = ingredient.value, ingredient.original
        if own.value.dtype.kind == "i":
            value, original = value.astype(np.int64), original.astype(np.int64)
        return cls(original=original, value=value, status=status, part=part)

    @property
    def whole(self) -> bool:
        """Whether these are counts."""
        return self.original.dtype.kind == "i" and self.value.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.original)


def _shown(value: npt.NDArray[Any], status: npt.NDArray[np.int8]) -> int:
    """Number of cells that show a perturbed number."""
    return int(np.count_nonzero((value != 0) & (status != CellStatus.official)))


def places_in(
    ours: Sequence[Dimension],
    index: Sequence[PositionArray],
    theirs: Sequence[Dimension],
    where: str,
) -> tuple[BoolArray, tuple[PositionArray, ...]]:
    """Which cells have their codes in the other table, and the positions of these there."""
    same = len(ours) == len(theirs) and all(
        a.name == b.name and not set(b.index) - set(a.index)
        for a, b in zip(ours, theirs, strict=True)
        if a is not b
    )
    if not same:
        raise TableError(
            "the two tables differ in their spanning variables or codes",
            code="quality",
            where=where,
            hint="give a table and its protected table",
        )
    places = code_positions(theirs, ours, index)
    listed = np.ones(len(index[0]) if index else 1, dtype=np.bool_)
    for part in places:
        listed &= part >= 0
    return listed, tuple(np.maximum(part, 0) for part in places)


def _part(
    ours: Sequence[Dimension],
    index: Sequence[PositionArray],
    grid: PartGrid,
    listed: BoolArray,
    places: tuple[PositionArray, ...],
) -> IntArray:
    """The part of each cell; codes that left the table count to their former level."""
    part = grid.part(places, len(listed))
    if listed.all():
        return part
    former = np.zeros(len(listed), dtype=np.int64)
    pairs = zip(ours, index, PartGrid.of(ours).rank, grid.numbers, grid.strides, strict=True)
    for dimension, at, rank, numbers, stride in pairs:
        own = PartGrid.of([dimension]).numbers[0]
        known = [numbers.index(n) if n in numbers else len(numbers) - 1 for n in own]
        former += np.array(known, dtype=np.int64)[rank[at]] * stride
    return np.where(listed, part, former)


def published_at(
    table: ProtectedTable, places: tuple[PositionArray, ...], length: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
    """Value and status of cells as published."""
    if table.suppressed_parts or table.figures:
        status = table.absent(places, length)
    else:
        status = np.full(length, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
    if not table.stored:
        return np.zeros(length, dtype=table.value.dtype), status
    lengths = (table.stored, length)
    at = CellIndex.of(table.dimensions).find(table.index, places, lengths)
    present = at >= 0
    value = np.where(present, table.value[at], 0)
    return value, np.where(present, table.status[at], status).astype(np.int8)


def published_or_zero(
    table: ProtectedTable,
    places: tuple[PositionArray, ...],
    listed: BoolArray,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
    """Published figures; codes that the table leaves out are zero."""
    value, status = published_at(table, places, len(listed))
    status[~listed] = CellStatus.zero_or_changed_to_zero
    return np.where(listed, value, 0), status


def key_figure_pairs(
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    protected: ProtectedTable,
    grid: PartGrid,
) -> dict[str, Pairs]:
    """Per figure that is shown, originals beside what is published.

    Counts are compared as they are. Other figures are made of true ingredients as they
    were of protected ones, and rounded alike.
    """
    shown = [figure for figure in figures if not figure.hidden]
    if {figure.name for figure in shown} != {figure.name for figure in protected.figures}:
        raise TableError(
            "the key figures do not belong to the table",
            code="quality",
            where=protected.name,
            hint="give the key figures with which it was derived",
        )
    counts = [figure for figure in shown if figure.kind == "count"]
    pairs = {
        figure.name: Pairs.of_ingredient(ingredients[figure.shown], protected, grid)
        for figure in counts
    }
    others = [figure for figure in shown if figure.kind != "count"]
    if others:
        true = derive(
            {name: _without_noise(ingredient) for name, ingredient in ingredients.items()},
            figures,
            bracket_above=None,
        )
        pairs |= {
            figure.name: _figure_pairs(figure.name, true, protected, grid) for figure in others
        }
    return pairs


def _without_noise(ingredient: Ingredient) -> Ingredient:
    """An ingredient that is published as it is: exists here only, to be compared."""
    status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
    status[ingredient.suppressed] = CellStatus.suppressed
    value, index = np.where(ingredient.suppressed, 0, ingredient.original), ingredient.index
    exact = replace(ingredient.protected, index=index, value=value, status=status)
    deviation = np.zeros(len(ingredient))
    return replace(ingredient, protected=exact, value=value, deviation=deviation)


def _figure_pairs(
    name: str, true: ProtectedTable, protected: ProtectedTable, grid: PartGrid
) -> Pairs:
    """One figure of both tables, wherever the true one is not 0."""
    here = np.ones(true.stored, dtype=np.bool_)
    if true.several_figures:
        here = true.index[-1] == true.dimensions[-1].index[name]
    index = tuple(part[here] for part in true.index)
    listed, places = places_in(true.dimensions, index, protected.dimensions, protected.name)
    value, status = published_at(protected, places, len(listed))
    status[~listed] = CellStatus.not_applicable
    spanning = places[: len(grid.dimensions)]
    return Pairs(
        original=true.value[here].astype(np.float64),
        value=value.astype(np.float64),
        status=status,
        part=grid.part(spanning, len(listed)),
    )


#: Lower bounds of the size classes of original counts.
SIZE_CLASSES = (1, 3, 10, 100, 1000)

#: Relative errors are kept in millionths.
MILLION = 10**6

#: Tallies over so many numbers per cell are made on the whole range.
_ROOM = 8


@dataclass(frozen=True, repr=False, eq=False)
class Noise(Confidential):
    """The noise of some counts (confidential)."""

    cells: Mapping[int, int]  # noise → number of cells that got it
    relative: int  # sum of relative errors in millionths

    @classmethod
    def of(cls, noise: IntArray, others: IntArray) -> Noise:
        """The noise in rows as `CountStatistics` has them."""
        values, at = np.unique(noise[:, 2], return_inverse=True)
        cells = np.zeros(len(values), dtype=np.int64)
        np.add.at(cells, at.ravel(), noise[:, 3])
        pairs = zip(values.tolist(), cells.tolist(), strict=True)
        return cls(dict(pairs), exact_sum(others[:, 5]))

    @property
    def total(self) -> int:
        """Number of cells."""
        return sum(self.cells.values())

    @property
    def absolute(self) -> int:
        """Sum of |noise|."""
        return sum(abs(noise) * cells for noise, cells in self.cells.items())

    @property
    def signed(self) -> int:
        """Sum of the noise."""
        return sum(noise * cells for noise, cells in self.cells.items())

    def within(self, most: int) -> int:
        """Number of cells changed by at most so much."""
        return sum(cells for noise, cells in self.cells.items() if abs(noise) <= most)

    def beyond(self, least: int) -> int:
        """Number of cells changed by at least so much."""
        return self.total - self.within(least - 1)

    def described(self) -> dict[str, int | float]:
        """The figures by name; nothing where there are no cells."""
        total = self.total
        if not total:
            return {"cells": 0}
        return {
            "cells": total,
            "unchanged": self.within(0) / total,
            "at_most_1": self.within(1) / total,
            "at_least_3": self.beyond(3) / total,
            "at_least_4": self.beyond(4) / total,
            "mean_absolute_deviation": self.absolute / total,
            "mean_deviation": self.signed / total,
            "mean_relative_error": self.relative / (MILLION * total),
        }


@dataclass(frozen=True, repr=False, eq=False)
class CountStatistics(Confidential):
    """Noise and what went with it, per part and size class (confidential)."""

    noise: IntArray  # rows (part, size class, noise, number of cells)
    #: Rows (part, size class, number of suppressed cells, of official cells, of cells changed to
    #: zero, sum of relative errors in millionths)
    others: IntArray
    zeros_changed: int = 0  # number of original zeros that are published as something else

    def __add__(self, other: CountStatistics) -> CountStatistics:
        return CountStatistics(
            noise=_merged(self.noise, other.noise, keys=3),
            others=_merged(self.others, other.others, keys=2),
            zeros_changed=self.zeros_changed + other.zeros_changed,
        )

    def of_part(self, part: int) -> Noise:
        """The noise on one table part."""
        noise, others = (rows[rows[:, 0] == part] for rows in (self.noise, self.others))
        return Noise.of(noise, others)

    @classmethod
    def none(cls) -> CountStatistics:
        """Nothing to add."""
        return cls(noise=np.zeros((0, 4), np.int64), others=np.zeros((0, 6), np.int64))


def _merged(one: IntArray, two: IntArray, *, keys: int) -> IntArray:
    """Rows of both; those with the same keys are added."""
    if not len(one) or not len(two):
        return one if len(one) else two
    rows = np.concatenate([one, two])
    key, at = np.unique(rows[:, :keys], axis=0, return_inverse=True)
    sums = np.zeros((len(key), rows.shape[1] - keys), dtype=np.int64)
    np.add.at(sums, at.ravel(), rows[:, keys:])
    return np.concatenate([key, sums], axis=1)


def count_statistics(pairs: Pairs) -> CountStatistics:
    """Tally the noise of counts.

    >>> pairs = Pairs(original=np.array([2, 5]), value=np.array([0, 6]),
    ...               status=np.array([1, 0], dtype=np.int8), part=np.array([0, 0]))
    >>> count_statistics(pairs).noise.tolist()  # part, size class, noise, cells
    [[0, 0, -2, 1], [0, 1, 1, 1]]
    """
    zeros_changed = pairs.beside
    if len(pairs) and int(pairs.original.min()) <= 0:
        filled = pairs.original > 0
        empty = ~filled & (pairs.value != 0) & (pairs.status != CellStatus.official)
        zeros_changed += int(np.count_nonzero(empty))
        pairs = _chosen(pairs, filled)
    group = pairs.part * len(SIZE_CLASSES)
    for bound in SIZE_CLASSES[1:]:
        group += pairs.original >= bound
    groups = int(group.max(initial=0)) + 1
    others = np.zeros((groups, 4), dtype=np.int64)
    for column, state in enumerate((CellStatus.suppressed, CellStatus.official)):
        here = pairs.status == state
        if bool(here.any()):
            others[:, column] = np.bincount(group[here], minlength=groups)
            pairs, group = _chosen(pairs, ~here), group[~here]
    noise = pairs.value - pairs.original
    others[:, 2] = np.bincount(group[pairs.value == 0], minlength=groups)
    changed = np.flatnonzero(noise)
    # Whole numbers in floats: exact up to 2^53, in whatever order they are added.
    relative = np.abs(noise[changed]) * MILLION // pairs.original[changed]
    others[:, 3] = np.bincount(group[changed], relative, minlength=groups).astype(np.int64)
    kept = np.flatnonzero(others.any(axis=1))
    tallied: IntArray = np.stack([*np.divmod(kept, len(SIZE_CLASSES)), *others[kept].T], axis=1)
    group, noise, cells = _tally(group, noise)
    rows: IntArray = np.stack([*np.divmod(group, len(SIZE_CLASSES)), noise, cells], axis=1)
    return CountStatistics(rows, tallied, zeros_changed)


def without_parts(table: Table, hidden: Parts) -> tuple[Table, CountStatistics]:
    """The cells of a table of counts on other parts than hidden ones, and tallies of the rest."""
    grid = PartGrid.of(table.dimensions)
    part = grid.part(table.index, len(table))
    gone = grid._among(hidden).take(part)
    status = np.full(len(table), CellStatus.suppressed, dtype=np.int8)
    pairs = Pairs(original=table.count, value=table.count, status=status, part=part)
    return table.of_cells(np.flatnonzero(~gone)), count_statistics(_chosen(pairs, gone))


def twins(table: Table, pairs: Pairs) -> tuple[int, int]:
    """Pairs of inner cells with the same original count, and how many have the same noise.

    Inner cells hold different records, so their noise agrees by chance only; noise that
    depends on the count alone, as unsuitable record keys make it, agrees always.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [4, 2, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> published = np.array([4, 3, 1])
    >>> twins(table, Pairs(original=table.count, value=published,
    ...                    status=np.zeros(3, dtype=np.int8), part=np.array([0, 1, 1])))
    (1, 0)
    """
    if not pairs.whole:
        return 0, 0
    inner = (pairs.original > 0) & ~np.isin(
        pairs.status, (CellStatus.suppressed, CellStatus.official)
    )
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        inner &= dimension.is_leaf.take(part)
    count = pairs.original[inner]
    group, _, cells = _tally(count, pairs.value[inner] - count)
    alike = np.add.reduceat(cells, np.unique(group, return_index=True)[1]) if len(cells) else cells
    of_count, of_both = (exact_sum(each * (each - 1) // 2) for each in (alike, cells))
    return of_count, of_both


def _chosen(pairs: Pairs, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Pairs:
    return Pairs(
        original=pairs.original[which],
        value=pairs.value[which],
        status=pairs.status[which],
        part=pairs.part[which],
    )


def _tally(group: IntArray, noise: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The combinations of group and noise that occur, in order, and how many cells have each."""
    if not len(group):
        return group, noise, group
    low, high = int(noise.min()), int(noise.max())
    width = high - low + 1
    key = group * width + (noise - low)
    size = (int(group.max()) + 1) * width
    if size <= _ROOM * len(key) + 100_000:
        cells = np.bincount(key, minlength=size)
        rows = np.flatnonzero(cells)
        cells = cells[rows]
    else:
        rows, cells = np.unique(key, return_counts=True)
    where, shifted = np.divmod(rows, width)
    return where, shifted + low, cells.astype(np.int64)


#: Upper bounds of the classes of relative deviation; one more class lies above them.
DEVIATION_CLASSES = (0.01, 0.02, 0.05, 0.10, 0.15)

_NOT_SHOWN = (*WITHOUT_NUMBER, CellStatus.official)


def deviations(pairs: Pairs) -> IntArray:
    """Rows (part, class of relative deviation, number of cells).

    The class after those of `DEVIATION_CLASSES` is that of larger deviations; a figure
    that was 0 has no relative deviation and is left out.

    >>> pairs = Pairs(original=np.array([100.0, 50.0]), value=np.array([101.0, 40.0]),
    ...               status=np.zeros(2, dtype=np.int8), part=np.array([0, 0]))
    >>> deviations(pairs).tolist()
    [[0, 0, 1], [0, 5, 1]]
    """
    assessed = (pairs.original != 0) & ~np.isin(pairs.status, _NOT_SHOWN)
    original, value = pairs.original[assessed], pairs.value[assessed]
    # A tiny allowance keeps 101 for 100 within 1 % whatever its last binary digit.
    relative = np.abs(value - original) / np.abs(original) * (1 - 1e-12)
    width = len(DEVIATION_CLASSES) + 1
    key = pairs.part[assessed] * width + np.searchsorted(DEVIATION_CLASSES, relative)
    cells = np.bincount(key)
    rows = np.flatnonzero(cells)
    return np.stack([rows // width, rows % width, cells[rows]], axis=1).astype(np.int64)


def states(table: ProtectedTable, grid: PartGrid) -> IntArray:
    """Rows (figure, part, status, number of stored cells). Public."""
    figures = len(table.figures) if table.several_figures else 1
    index, figure = table.index, np.zeros(table.stored, dtype=np.int32)
    if table.several_figures:
        index, figure = table.index[:-1], table.index[-1]
    rows = CellIndex((figures, len(grid), len(CellStatus)))
    key = rows.numbers([figure, grid.part(index, table.stored), table.status])
    cells = np.bincount(key, minlength=rows.size)
    filled = np.flatnonzero(cells)
    return np.stack([*rows.positions(filled), cells[filled]], axis=1).astype(np.int64)


#: Up to so many places per cell, sums are made on the whole range of places.
_DENSE = 16


def total_differences(table: ProtectedTable, grid: PartGrid) -> IntArray:
    """Rows (variable, totals compared, that differ, sum of |difference|, largest). Public.

    Each total is compared with the sum of the codes directly below it in one variable. Totals
    are left out if they, or one of their parts, are no published cells. Of several figures only
    counts are looked at.
    """
    rows = np.zeros((len(table.spanning), 5), dtype=np.int64)
    rows[:, 0] = np.arange(len(rows))
    for at, figure in enumerate(table.figures or (None,)):
        kind = "count" if figure is None else figure.kind
        index, value, status = list(table.index), table.value, table.status
        if table.several_figures:
            here = index.pop() == at
            index, value, status = [part[here] for part in index], value[here], status[here]
        if kind != "count" or not (value == np.floor(value)).all():
            continue
        if not table.several_figures and table.value.dtype.kind != "i":
            continue
        shut = grid.shut(table, at)
        cells = _StoredCells(
            index,
            grid.cells.joined(index, len(value))[0],
            # Whole numbers in floats: exact below 2^53.
            value.astype(np.float64),
            status == CellStatus.suppressed,
            grid.part(index, len(value)) if shut.any() else None,
        )
        for variable, dimension in enumerate(table.spanning):
            for tree in range(len(dimension.classifications)):
                below = (dimension.breakdown == tree) & (dimension.levels > 0)
                off = _differences(grid, shut, cells, variable, below)
                rows[variable, 1:4] += [len(off), np.count_nonzero(off), off.sum()]
                rows[variable, 4] = max(rows[variable, 4], off.max(initial=0))
    return rows


@dataclass(frozen=True, eq=False)
class _StoredCells:
    """The cells of one figure."""

    index: list[PositionArray]  # per variable, the position of each cell's code
    numbers: IntArray  # the number of each cell
    value: FloatArray  # as published
    hidden: BoolArray  # which are suppressed
    part: IntArray | None  # the part of each cell; None if all parts are published


def _differences(
    grid: PartGrid, shut: BoolArray, cells: _StoredCells, variable: int, below: BoolArray
) -> IntArray:
    """The |differences| of the totals of one variable that are published with all their parts."""
    dimension, own = grid.dimensions[variable], cells.index[variable]
    parents, above = np.where(below, dimension.parents, 0), np.zeros(len(dimension), np.bool_)
    above[parents[below]] = True
    parts, totals = (np.flatnonzero(codes.take(own)) for codes in (below, above))
    entry = np.concatenate([parts, totals])
    if grid.cells.fits:
        row, size = cells.numbers.take(entry), grid.cells.size
        moved = (parents - np.arange(len(parents))) * grid.cells.strides[variable]
        row[: len(parts)] += moved.take(own.take(parts))
    else:
        total = [part[entry] for part in cells.index]
        total[variable][: len(parts)] = parents[own[parts]]
        row, size = grid.cells.joined(total, len(entry))
    if size > _DENSE * len(entry):
        rows, row = np.unique(row, return_inverse=True)
        size = len(rows)
    value = cells.value.take(entry)
    value[len(parts) :] *= -1
    shown = value != 0
    if cells.part is not None:
        codes, rank = len(dimension), grid.rank[variable] * grid.strides[variable]
        # Per part and code: a total there lacks itself or, on a level below it, its parts.
        lacking, levels = np.repeat(shut[:, None], codes, axis=1), level_numbers(dimension)
        for level in np.unique(levels[below]).tolist():
            its = np.flatnonzero(below & (levels == level))
            over, first = np.unique(parents[its], return_index=True)
            lower = np.arange(len(grid))[:, None] + (rank[its[first]] - rank[over])
            lacking[:, over] |= shut.take(lower, mode="clip")
        place = cells.part.take(entry) * codes
        place[: len(parts)] += ((rank[parents] - rank) * codes + parents).take(own.take(parts))
        place[len(parts) :] += own.take(totals)
        shown &= ~lacking.ravel().take(place)
    wanted = np.zeros(size, dtype=np.bool_)
    wanted[row[shown]] = True
    wanted[row[cells.hidden.take(entry)]] = False
    off = np.bincount(row, value, minlength=size)
    return np.abs(off[wanted]).astype(np.int64)
