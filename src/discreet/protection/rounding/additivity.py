"""Additivity afterwards: protected figures are changed so that totals are sums of their parts.

In: `ProtectedTable`s of counts or sums. Out: the same with figures that add up, and what that
cost. Only published figures are looked at, so that nothing new is told; zeros stay zero and
official figures stay as they are. Public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.errors import CountRoundingError, Problem, raise_all
from discreet.protection.rounding.small_counts import InnerCells, JointCounts, nearest_multiples
from discreet.protection.rounding.small_counts import fitted as fitted_cells
from discreet.protection.suppression import (
    Relations,
    compiled,
    linked_cells,
    recomputed_totals,
    stacked_relations,
    table_relations,
)
from discreet.tables import WITHOUT_NUMBER, CellStatus, Note, ProtectedTable, Table, note_of, within

if TYPE_CHECKING:
    from discreet.disclosure import VariableCode

#: Notes that are no longer true.
_GONE = frozenset({"non-additivity", "each-apart"})
#: Fitted figures are rounded in parts of a unit.
_PARTS = 2**10
_SWEEPS = 2_000
_NEAR = 1e-3
_STEPS = (0, 1, 3, 10)
#: More cells than this in three and more variables are not decided by the solver.
_SOLVED = 1_000
#: With official figures, so many are.
_MOST = 20_000
_PLAIN, _FIXED, _FREE = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class AdditivityCost:
    """Changes that additive tables needed. Public: it compares published figures.

    Args:
        cells: How many figures there are that are not zero.
        changed: How many of them were changed.
        mean: The mean absolute change, over all of them.
        largest: The largest absolute change.
        parted: Cells that were equal in two tables and are no longer.
        exposure: By how many independent figures a count can be estimated from these tables,
            on average. Fitting them is such an estimate: noise of variance v is left with
            v / exposure.
    """

    cells: int
    changed: int
    mean: float
    largest: float
    parted: int
    exposure: float

    @classmethod
    def of(
        cls, before: Sequence[ProtectedTable], after: Sequence[ProtectedTable]
    ) -> AdditivityCost:
        """Compare tables with those that were made of them, in the same order."""
        pairs = [_beside(old, new) for old, new in zip(before, after, strict=True)]
        old = np.concatenate([pair[1] for pair in pairs])
        new = np.concatenate([pair[2] for pair in pairs])
        change = np.abs(new - old)
        linked = linked_cells([pair[0] for pair in pairs])
        number = np.concatenate(linked.cells)
        parted = _differ(number, new, linked.number) & ~_differ(number, old, linked.number)
        return cls(
            cells=len(change),
            changed=int(np.count_nonzero(change)),
            mean=float(change.mean()) if len(change) else 0.0,
            largest=float(change.max(initial=0.0)),
            parted=int(parted.sum()),
            exposure=fitted_exposure(after),
        )

    def note(self, *, alone: bool, decimals: int = 0) -> Note:
        """The note for readers."""
        kept = note_of("discreet.protection.rounding", "additive-alone" if alone else "additive")
        numbers = {"changed": f"{self.changed:,}", "cells": f"{self.cells:,}"}
        words = {**numbers, "mean": f"{self.mean:.{decimals + 2}f}"}
        words["largest"] = f"{self.largest:.{decimals}f}"
        words["exposure"] = f"{self.exposure:.1f}"
        return replace(
            kept, texts={language: text.format(**words) for language, text in kept.texts.items()}
        )


def make_additive(safe: ProtectedTable) -> ProtectedTable:
    """Change the figures of a protected table so that every total is the sum of its parts.

    Iterative proportional fitting, then whole numbers that add up with the least change from
    it. Fitting averages noise away: a note says how far, and what was changed. The same cell may
    now differ in other tables.

    Args:
        safe: A table of counts, or of sums, without hidden cells.

    Raises:
        CountRoundingError: If cells are suppressed, or official figures and zeros contradict each
            other.

    >>> import polars as pl
    >>> from discreet import PerturbationTable, Table, perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.8, 0.7, 0.1]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> perturb(table, ptable).to_polars()["value"].to_list()
    [4, 2, 0]
    >>> make_additive(perturb(table, ptable)).to_polars()["value"].to_list()
    [3, 3, 0]
    """
    return make_additive_linked([safe])[0]


def make_additive_linked(
    tables: Sequence[ProtectedTable], same: Mapping[VariableCode, VariableCode] | None = None
) -> tuple[ProtectedTable, ...]:
    """Make tables additive together, so that cells in common stay equal.

    Args:
        tables: Tables of the same records and the same figure.
        same: Codes that mean the same as codes of another variable, such as
            ``{("place", "1"): ("town", "a")}``.
    """
    _check(tables)
    decimals = tables[0].figure_decimals()
    whole = [_completed(table, 10**decimals) for table in tables]
    linked = linked_cells(whole, same)
    value, kind = _start(tables, whole, linked.cells, linked.number)
    none = np.zeros(linked.number, dtype=np.bool_)
    relations, zero = _occupied(whole, linked.cells, none)
    what = "this figure is exempt, but all of its parts are zero"
    wrong = np.flatnonzero(zero & (kind == _FIXED)).tolist()
    problems = [Problem(what, linked.names(at)) for at in wrong]
    raise_all(CountRoundingError, problems, code="additive", where="tables")
    fitted = np.where(zero, 0.0, value)
    _fit(relations.start, relations.cell, relations.totals, fitted, kind, _SWEEPS, _NEAR)
    values = _whole_numbers(relations, fitted, kind == _FIXED)
    additive = [
        _changed(safe, completed, values[cells], decimals)
        for safe, completed, cells in zip(tables, whole, linked.cells, strict=True)
    ]
    alone = len(additive) == 1
    noted = []
    for old, new in zip(tables, additive, strict=True):
        kept = [note for note in new.notes if note.kind not in _GONE]
        cost = AdditivityCost.of([old], [new]).note(alone=alone, decimals=decimals)
        noted.append(replace(new, notes=(*kept, cost)))
    return tuple(noted)


def fitted_exposure(
    tables: Sequence[ProtectedTable], same: Mapping[VariableCode, VariableCode] | None = None
) -> float:
    """Figures with noise per figure that could be chosen freely: the rest follow by adding up.

    Least squares leave noise in as many directions as there are free figures. Cells that tables
    share, and official ones, tie free figures to each other: at most so many as are counted here.
    """
    shown = [
        Table(
            dimensions=safe.dimensions,
            index=tuple(part[safe.value != 0] for part in safe.index),
            count=np.ones(int(np.count_nonzero(safe.value)), dtype=np.int64),
            parts=safe.parts,
        )
        for safe in tables
    ]
    linked = linked_cells(shown, same)
    official = np.zeros(linked.number, dtype=np.bool_)
    tied = official.copy()
    free, most = linked.number, 0
    for safe, table, cells in zip(tables, shown, linked.cells, strict=True):
        relations, _ = table_relations(table, table.count > 0)
        followed = np.unique(relations.totals).size + _told_twice(table)
        free, most = free - followed, max(most, len(table) - followed)
        exact = (safe.status == CellStatus.official)[safe.value != 0]
        official[cells[exact]] = True
        whole = np.add.reduceat(~exact[relations.cell], relations.start[:-1]) == 0
        tied[cells[relations.totals[whole]]] = True
    free = max(free, most) - int((official & ~tied).sum())
    noisy = linked.number - int(official.sum())
    return noisy / free if free > 0 else math.inf if noisy else 1.0


def _told_twice(table: Table) -> int:
    """Figures that follow because several breakdowns of one variable have the same total."""
    inner = [own.is_leaf[at] for own, at in zip(table.dimensions, table.index, strict=True)]
    number = 0
    for axis, dimension in enumerate(table.dimensions):
        others = [part for place, part in enumerate(inner) if place != axis]
        whole = np.logical_and.reduce([table.index[axis] == 0, *others])
        number += (len(dimension.classifications) - 1) * int(whole.sum())
    return number


def _check(tables: Sequence[ProtectedTable]) -> None:
    """Raise unless these are tables of one figure that adds up, without hidden cells."""
    problems = []
    hint = "remove suppressed cells, or make the table additive before suppression"
    for safe in tables:
        value: object = safe
        if not isinstance(value, ProtectedTable):
            problems.append(Problem("expected a ProtectedTable", "safe"))
            continue
        figures = safe.figures
        if len(figures) > 1 or (figures and figures[0].kind not in ("count", "sum")):
            message = "only counts and sums are additive"
            problems.append(Problem(message, safe.name, "make one table for each figure"))
        hidden = np.isin(safe.status, WITHOUT_NUMBER)
        if hidden.any() or safe.suppressed_parts or safe.withheld is not None:
            problems.append(
                Problem("a table with suppressed cells cannot be additive", safe.name, hint)
            )
        elif (safe.value < 0).any():
            problems.append(Problem("negative values cannot be fitted in proportion", safe.name))
    if not problems and tables:
        first = tables[0]
        alike = ("figures", "universe", "decimals")
        problems = [
            Problem("the table has another figure, population or decimals", table.name)
            for table in tables
            if any(getattr(table, name) != getattr(first, name) for name in alike)
        ]
    if not tables:
        problems = [Problem("give at least one table", "tables")]
    raise_all(CountRoundingError, problems, code="additive", where="tables")


def _completed(safe: ProtectedTable, units: int) -> Table:
    """Published figures in whole units, with totals of 0 above figures that are not."""
    grid = CellIndex.of(safe.dimensions).require(error=CountRoundingError)
    numbers = grid.numbers(safe.index, safe.stored)
    known = numbers
    for dimension, stride in zip(safe.dimensions, grid.strides, strict=True):
        level = known
        while level.size:
            code = (level // stride) % len(dimension)
            level, code = level[code > 0], code[code > 0]
            level = np.unique(level + (dimension.parents[code].astype(np.int64) - code) * stride)
            known = np.union1d(known, level)
    added = np.setdiff1d(known, numbers)
    index = grid.positions(added)
    index = [part[within(safe.dimensions, index, len(added), safe.parts)] for part in index]
    joined = tuple(np.concatenate(parts) for parts in zip(safe.index, index, strict=True))
    length = len(joined[0]) if joined else safe.stored
    count = np.zeros(length, dtype=np.int64)
    count[: safe.stored] = np.rint(safe.value * float(units))
    return Table(
        dimensions=safe.dimensions, index=joined, count=count, name=safe.name, parts=safe.parts
    )


def _start(
    tables: Sequence[ProtectedTable], whole: Sequence[Table], cells: Sequence[IntArray], size: int
) -> tuple[FloatArray, IntArray]:
    """The figure of each cell, the mean where tables differ, and which stay or are free."""
    value, shown = np.zeros(size, dtype=np.float64), np.zeros(size, dtype=np.int64)
    fixed = np.zeros(size, dtype=np.bool_)
    for safe, table, numbers in zip(tables, whole, cells, strict=True):
        own = numbers[: safe.stored]
        value[own] += table.count[: safe.stored]
        shown[own] += 1
        fixed[own[safe.status == CellStatus.official]] = True
    value = np.rint(value / np.maximum(shown, 1))
    return value, np.where(fixed, _FIXED, np.where(shown > 0, _PLAIN, _FREE))


def _occupied(
    tables: Sequence[Table], cells: Sequence[IntArray], zero: BoolArray
) -> tuple[Relations, BoolArray]:
    """The relations of cells that can differ from zero, and those that cannot.

    Totals without parts are zero, and so are all parts of what is zero.
    """
    while True:
        blocks, zero = [], zero.copy()
        before = int(zero.sum())
        for table, numbers in zip(tables, cells, strict=True):
            relations, lone = table_relations(table, ~zero[numbers])
            own = numbers[~zero[numbers]]
            blocks.append((relations, own))
            zero[own[lone]] = True
        joined = stacked_relations(len(zero), blocks)
        part = joined.coef > 0
        zero[joined.cell[part & zero[joined.totals[joined.row]]]] = True
        if int(zero.sum()) == before:
            return joined, zero


@compiled
def _fit(start: Any, cell: Any, total: Any, value: Any, kind: Any, sweeps: int, near: float) -> int:
    """Fit parts to totals in proportion, relation by relation, until all of them add up."""
    for sweep in range(sweeps):
        worst = 0.0
        for row in range(len(total)):
            missed = _fit_row(cell[start[row] : start[row + 1]], total[row], value, kind)
            worst = max(worst, missed)
        if worst < near:
            return sweep
    return sweeps


@compiled
def _fit_row(cells: Any, top: int, value: Any, kind: Any) -> float:
    """Let a total and its n parts meet: the total moves as little as one part; the old miss."""
    stays, moves = 0.0, 0.0
    for cell in cells:
        if cell != top and kind[cell] == _FIXED:
            stays += value[cell]
        elif cell != top:
            moves += value[cell]
    total, before, parts = stays + moves, value[top], len(cells) - 1
    wanted = (total + parts * before) / (parts + 1)
    if kind[top] == _FREE or moves == 0.0:
        wanted = total
    elif kind[top] == _FIXED:
        wanted = before
    wanted = max(wanted, stays)
    for cell in cells:
        if cell != top and kind[cell] != _FIXED and moves > 0.0:
            value[cell] *= (wanted - stays) / moves
    if kind[top] != _FIXED:
        value[top] = wanted
    missed: float = abs(total - before)
    return missed


def _whole_numbers(relations: Relations, fitted: FloatArray, fixed: BoolArray) -> IntArray:
    """Whole numbers next to the fitted ones that add up; farther ones where there are none."""
    near = np.rint(np.maximum(fitted, 0.0) * _PARTS).astype(np.int64)
    network = np.diff(relations.by_cell[0]).max(initial=0) <= 2
    if not network and len(near) > (_MOST if fixed.any() else _SOLVED):
        return _sums_of_inner(relations, near, fixed) // _PARTS
    for steps in _STEPS:
        multiples = nearest_multiples(relations, near, _PARTS, steps, fixed=fixed)
        if multiples is not None:
            return multiples // _PARTS
    message = "exempt cells and zeros allow no additive whole numbers"
    hint = "exempt fewer cells, or make fewer tables additive together"
    raise CountRoundingError(message, code="additive", where="tables", hint=hint)


def _sums_of_inner(relations: Relations, near: IntArray, fixed: BoolArray) -> IntArray:
    """Inner cells up or down so that all sums lie near; totals are their sums."""
    inner = InnerCells.of(JointCounts((), recomputed_totals(relations, near), relations))
    value = fitted_cells(inner, near, inner.count % _PARTS > 0, _PARTS)
    _meet(inner, value, near, np.flatnonzero(fixed))
    sums = inner.sums(value)
    if (sums[fixed] != near[fixed]).any():
        message = f"exempt cells of several variables in a table of more than {_MOST:,} cells"
        hint = "exempt cells of one variable only, or use fewer variables"
        raise CountRoundingError(message, code="additive", where="tables", hint=hint)
    return sums


def _meet(inner: InnerCells, value: IntArray, near: IntArray, official: IntArray) -> None:
    """Change inner cells by whole units so that official sums are met, the smallest sums first.

    Cells of an official sum stay as they are in those around it: sums that lie within each
    other or apart, such as those of one variable, are all met.
    """
    start, cells = inner.groups()
    settled = np.zeros(len(value), dtype=np.bool_)
    for cell in official[np.argsort(start[official + 1] - start[official], kind="stable")].tolist():
        own = cells[start[cell] : start[cell + 1]]
        free = own[~settled[own]]
        settled[own] = True
        while missing := int(near[cell] - value[own].sum()) // _PARTS:
            sign = 1 if missing > 0 else -1
            able = free[(value[free] > 0) | (sign > 0)]
            if not able.size:
                break
            order = np.argsort(sign * (value[able] - inner.count[able]), kind="stable")
            value[able[order[: abs(missing)]]] += sign * _PARTS


def _changed(safe: ProtectedTable, table: Table, units: IntArray, decimals: int) -> ProtectedTable:
    value: Any = units
    if not np.issubdtype(safe.value.dtype, np.integer):
        value = np.round(units / 10.0**decimals, decimals)
    status = np.full(len(table), CellStatus.published, dtype=np.int8)
    status[: safe.stored] = safe.status
    return replace(safe, index=table.index, value=value, status=status)


def _beside(before: ProtectedTable, after: ProtectedTable) -> tuple[Table, FloatArray, FloatArray]:
    """The cells that either shows, and their figures before and after."""
    cells = CellIndex.of(after.dimensions).require(error=CountRoundingError)
    both = [cells.numbers(item.index, item.stored) for item in (before, after)]
    every = np.union1d(*both)
    shown = np.zeros((2, len(every)), dtype=np.float64)
    for row, own, protected in zip(shown, both, (before, after), strict=True):
        row[np.searchsorted(every, own)] = protected.value
    table = Table(
        dimensions=after.dimensions,
        index=tuple(cells.positions(every)),
        count=np.ones(len(every), dtype=np.int64),
        parts=after.parts,
    )
    return table, shown[0], shown[1]


def _differ(number: IntArray, value: FloatArray, size: int) -> BoolArray:
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, number, value)
    np.maximum.at(high, number, value)
    return high > low
