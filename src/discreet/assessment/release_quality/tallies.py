"""What protection did to figures, in whole numbers that can be added up. CONFIDENTIAL.

In: `Pairs` of counts, or of sums, means and ratios; a protected table. Out: per table part
and size class of the original, how many cells got which noise, and sums; numbers of cells
per class of relative deviation; numbers of cells per state, and how far totals are from the
sums of their parts, which are public. Nothing here is a float, so that nothing depends on order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray
from discreet.assessment.probabilities import exact_sum
from discreet.assessment.release_quality.pairs import Pairs, PartGrid
from discreet.confidential import Confidential
from discreet.tables import (
    WITHOUT_NUMBER,
    CellStatus,
    Dimension,
    ProtectedTable,
    Table,
    level_numbers,
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
        inner &= dimension.is_leaf[part]
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
        value, hidden = value.astype(np.int64, copy=False), status == CellStatus.suppressed
        shut = grid.shut(table, at)
        for variable, dimension in enumerate(table.spanning):
            for tree in range(len(dimension.classifications)):
                below = (dimension.breakdown == tree) & (dimension.levels > 0)
                off = _differences(grid, shut, index, value, hidden, variable, below)
                rows[variable, 1:4] += [len(off), np.count_nonzero(off), off.sum()]
                rows[variable, 4] = max(rows[variable, 4], off.max(initial=0))
    return rows


def _differences(
    grid: PartGrid,
    shut: BoolArray,
    index: list[PositionArray],
    value: IntArray,
    hidden: BoolArray,
    variable: int,
    below: BoolArray,
) -> IntArray:
    """The |differences| of the totals of one variable that are published with all their parts."""
    dimension, own = grid.dimensions[variable], index[variable]
    above = np.zeros(len(dimension), dtype=np.bool_)
    above[dimension.parents[below]] = True
    parts, totals = np.flatnonzero(below[own]), np.flatnonzero(above[own])
    entry = np.concatenate([parts, totals])
    total = [part[entry] for part in index]
    total[variable][: len(parts)] = dimension.parents[own[parts]]
    row, size = grid.cells.joined(total, len(entry))
    if size > _DENSE * len(entry):
        rows, row = np.unique(row, return_inverse=True)
        size = len(rows)
    # Whole numbers in floats: exact below 2^53.
    off = np.bincount(row, np.concatenate([value[parts], -value[totals]]), minlength=size)
    wanted = np.zeros(size, dtype=np.bool_)
    wanted[row[value[entry] != 0]] = True
    wanted[row[hidden[entry]]] = False
    if shut.any():
        first = np.zeros(size, dtype=np.int64)
        first[row] = np.arange(len(entry))
        place = np.flatnonzero(wanted)
        cells = [part[first[place]] for part in total]
        part, code = grid.part(cells, len(place)), cells[variable]
        rank = grid.rank[variable] * grid.strides[variable]
        for codes in _codes_of_totals(dimension, below):
            its = codes[code]
            wanted[place[(its >= 0) & shut[part + rank[its] - rank[code]]]] = False
    return np.abs(off[wanted]).astype(np.int64)


def _codes_of_totals(dimension: Dimension, below: BoolArray) -> list[PositionArray]:
    """Each code itself, then per level one of those directly below it; -1 for none."""
    every = [np.arange(len(dimension), dtype=np.int32)]
    levels = level_numbers(dimension)
    for level in np.unique(levels[below]).tolist():
        codes = np.flatnonzero(below & (levels == level))
        every.append(np.full(len(dimension), -1, dtype=np.int32))
        every[-1][dimension.parents[codes]] = codes
    return every
