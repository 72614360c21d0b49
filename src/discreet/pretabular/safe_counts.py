"""Counts that are 0 or large enough, near the old ones in all control tables together.

In: how often each combination of codes occurs, and where it stands in each control table,
CONFIDENTIAL. Out: counts of which none lies between 0 and the least allowed, such that the largest
error of a cell of the control tables is the smallest there is, or close to it, and among those
counts the ones nearest to the old ones. Method and measurements: docs/methods/safe.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray, starts
from discreet.compiled import compiled
from discreet.errors import MicrodataError
from discreet.solver import column_values, loaded_solver

#: Weight of inner change: in sweeps per control table, in repairs beside squared excesses.
_SWEEPING, _REPAIRING = 4.0, 15.0
_SWEEPS = 40
#: Combinations of a violated cell that are looked at, and how many in all for one error.
_LOOKS, _LEAST_LOOKS, _LOOKS_EACH = 100, 2_000_000, 100
#: Branches of the solver, over the square of combinations: the same on every machine.
_BRANCHES = 20_000_000

SmallArray = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, repr=False)
class SafeCounts:
    """New counts, and how good they are. CONFIDENTIAL."""

    count: IntArray  # the new count of each combination
    error: int  # the largest error of a control cell
    least_error: int  # no counts have a smaller one than this
    least_change: int  # with this largest error, none have less inner change than this


@dataclass(frozen=True, kw_only=True, repr=False)
class ControlCells:
    """Which cell of each control table a combination belongs to. CONFIDENTIAL."""

    cell: SmallArray  # numbers of cells, a row for each combination, a column for each table
    begin: IntArray  # where the combinations of each cell begin in `member`
    member: SmallArray  # the combinations of each cell
    total: IntArray  # the old count of each cell

    @classmethod
    def of(cls, count: IntArray, tables: Sequence[IntArray]) -> ControlCells:
        """From the cell that each combination has in each table, however they are numbered."""
        cell = np.empty((len(count), len(tables)), dtype=np.int32)
        size = 0
        for at, numbers in enumerate(tables):
            distinct, cell[:, at] = np.unique(numbers, return_inverse=True)
            cell[:, at] += size
            size += len(distinct)
        begin = starts(np.bincount(cell.ravel(), minlength=size))
        total = np.zeros(size, dtype=np.int64)
        for at in range(len(tables)):
            np.add.at(total, cell[:, at], count)
        return cls(cell=cell, begin=begin, member=_members(cell, begin), total=total)

    def errors(self, change: IntArray) -> IntArray:
        """By how much the cells change."""
        errors = np.zeros(len(self.total), dtype=np.int64)
        for at in range(self.cell.shape[1]):
            np.add.at(errors, self.cell[:, at], change)
        return errors

    def error(self, change: IntArray) -> int:
        """The largest of these, whether up or down."""
        return int(np.abs(self.errors(change)).max(initial=0))


def safe_counts(
    count: IntArray, tables: Sequence[IntArray], at_least: int, *, seed: int, exact: bool
) -> SafeCounts:
    """New counts: the local search's, or where they are `exact` the solver's, as far as it comes.

    >>> made = safe_counts(np.array([1, 2, 5, 4]), [np.array([0, 0, 1, 1])], 3, seed=1, exact=True)
    >>> made.count.tolist(), made.error
    ([0, 3, 5, 4], 0)
    """
    control = ControlCells.of(count, tables)
    # A cell of one or two can be no other than 0 or 3.
    few = (control.total > 0) & (control.total < at_least)
    off = np.minimum(control.total, at_least - control.total)[few]
    least = int(off.max(initial=0))
    value, error = _searched(count, control, at_least, least, seed)
    below = count[count < at_least]
    change = int(np.minimum(below, at_least - below).sum())
    if exact and len(count):
        value, least, change = _solved(count, control, at_least, least, value, error)
    if ((value != 0) & (value < at_least)).any():
        raise MicrodataError("counts below the least number are left", code="safe")
    error = control.error(value - count)
    return SafeCounts(count=value, error=error, least_error=least, least_change=change)


# -- the solver ----------------------------------------------------------------------------


def _solved(
    count: IntArray, control: ControlCells, at_least: int, least: int, value: IntArray, error: int
) -> tuple[IntArray, int, int]:
    """For one error after the other, the least change; the first that is possible is the answer.

    Given are the counts, and bounds of error and change.
    """
    proven = True
    for tried in range(least, error + 1):
        known = value if tried == error else None
        counts, bound, ended = _program(count, control, at_least, tried, error, known)
        if counts is not None:
            return counts, least, bound
        proven &= ended
        least = tried + 1 if proven else least
    return value, least, 0


def _program(
    count: IntArray, control: ControlCells, at_least: int, error: int, most: int,
    known: IntArray | None,
) -> tuple[IntArray | None, int, bool]:  # fmt: skip
    """Counts with the least change within `error`, a bound of it, and if the search was ended.

    A combination that occurs has the larger of its old count and the least allowed, more or
    less some; three columns for each: whether it occurs, more, less.
    """
    import highspy

    size, width = control.cell.shape
    cells, numbers = len(control.total), np.arange(size)
    level = np.maximum(count, at_least).astype(np.float64)
    highest = np.maximum((control.total[control.cell].min(axis=1) + most) - level, 0)
    wide, flat = np.repeat(numbers, width), control.cell.ravel()
    ones = np.ones(size)
    row = np.concatenate([flat, flat, flat, *[cells + numbers] * 2, *[cells + size + numbers] * 2])
    column = np.concatenate([wide, wide + size, wide + 2 * size,
                             numbers, numbers + size, numbers, numbers + 2 * size])  # fmt: skip
    coef = np.concatenate([level[wide], np.ones(len(wide)), -np.ones(len(wide)),
                           -highest, ones, at_least - level, ones])  # fmt: skip
    order = np.lexsort((column, row))
    total = control.total.astype(np.float64)
    solver = loaded_solver(
        (starts(np.bincount(row, minlength=cells + 2 * size)), column[order], coef[order]),
        np.zeros(3 * size), np.concatenate([ones, highest, level - at_least]),
        cost=np.concatenate([level - 2 * count, ones, ones]),
        rows=(np.r_[total - error, np.full(2 * size, -np.inf)],
              np.r_[total + error, np.zeros(2 * size)]),
        mip_rel_gap=0.0, mip_abs_gap=0.999,
        mip_max_nodes=max(_BRANCHES // size**2, 1),
    )  # fmt: skip
    solver.setOptionValue("presolve", "on")
    whole = np.full(3 * size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(3 * size, np.arange(3 * size, dtype=np.int32), whole)
    if known is not None:
        start = highspy.HighsSolution()
        on = (known > 0).astype(np.float64)
        apart = on * (known - level)
        start.col_value = np.concatenate([on, np.maximum(apart, 0), np.maximum(-apart, 0)]).tolist()
        solver.setSolution(start)
    solver.run()
    status = highspy.HighsModelStatus
    if solver.getInfo().primal_solution_status != int(
        highspy.SolutionStatus.kSolutionStatusFeasible
    ):
        ended = solver.getModelStatus() in (status.kInfeasible, status.kUnboundedOrInfeasible)
        return known, 0, bool(ended)
    solution = np.rint(column_values(solver)).reshape(3, size)
    value: IntArray = (level * solution[0] + solution[1] - solution[2]).astype(np.int64)
    wrong = (value != 0) & (value < at_least)
    if wrong.any() or control.error(value - count) > error:
        return known, 0, False  # numbers of the solver are not believed
    bound = int(np.ceil(solver.getInfo().mip_dual_bound + count.sum() - 1e-6))
    return value, max(bound, 0), True


# -- local search --------------------------------------------------------------------------


def _searched(
    count: IntArray, control: ControlCells, at_least: int, least: int, seed: int
) -> tuple[IntArray, int]:
    """Sweeps towards small squared errors, then repairs for one smaller error after the other."""
    old = count.astype(np.int32)
    value = np.where(old >= at_least, old, np.where(2 * old >= at_least, at_least, 0))
    value = value.astype(np.int32)
    error = control.errors(value - count).astype(np.int32)
    for _ in range(_SWEEPS):
        weight = _SWEEPING * control.cell.shape[1]
        if _sweep(value, old, control.cell, error, at_least, weight) <= len(old) // 2_000:
            break
    state = np.array([seed % 2**64 | 1], dtype=np.uint64)
    looks = _LEAST_LOOKS + _LOOKS_EACH * len(old)
    largest = int(np.abs(error).max(initial=0))
    kept = value.copy()
    while largest > least and not _repair(
        value, old, control.cell, error, control.begin, control.member,
        at_least, largest - 1, looks, state,
    ):  # fmt: skip
        kept, largest = value.copy(), int(np.abs(error).max(initial=0))
    error = control.errors(kept - count).astype(np.int32)
    while _polish(kept, old, control.cell, error, at_least, largest):
        pass
    return kept.astype(np.int64), largest


_compiled = compiled(nogil=True)


@_compiled
def _members(cell: SmallArray, begin: IntArray) -> SmallArray:
    """The combinations of each cell, in their order."""
    member = np.empty(cell.size, np.int32)
    place = begin.copy()
    for row in range(cell.shape[0]):
        for at in range(cell.shape[1]):
            member[place[cell[row, at]]] = row
            place[cell[row, at]] += 1
    return member


@_compiled
def _up(value: int, at_least: int) -> int:
    return at_least if value < at_least else value + 1


@_compiled
def _down(value: int, at_least: int) -> int:
    return value - 1 if value > at_least else 0


@_compiled
def _sweep(value: Any, old: Any, cell: Any, error: Any, at_least: int, weight: float) -> int:
    """One step up or down for each combination where squared errors and change gain by it."""
    moved, width = 0, cell.shape[1]
    for row in range(value.size):
        here, total = value[row], 0
        for at in range(width):
            total += error[cell[row, at]]
        best, choice = 0.0, here
        for new in (_up(here, at_least), _down(here, at_least)):
            step = new - here
            cost = 2.0 * step * total + width * step * step
            cost += weight * (abs(new - old[row]) - abs(here - old[row]))
            if cost < best:
                best, choice = cost, new
        if choice != here:
            moved += 1
            value[row] = choice
            for at in range(width):
                error[cell[row, at]] += choice - here
    return moved


@_compiled
def _drawn(state: Any, size: int) -> int:
    """The next number below `size` (xorshift)."""
    s = state[0]
    s ^= s << np.uint64(13)
    s ^= s >> np.uint64(7)
    s ^= s << np.uint64(17)
    state[0] = s
    return int((s >> np.uint64(1)) % np.uint64(size))


@_compiled
def _repair(
    value: Any, old: Any, cell: Any, error: Any, begin: Any, member: Any, at_least: int,
    most: int, looks: int, state: Any,
) -> int:  # fmt: skip
    """Bring all errors to `most`; how many cells are still beyond when looks have run out.

    Of a cell beyond, drawn at random, some combinations are tried, and the one that costs least
    is taken. Where none gains, the cell's own excess weighs more from then on.
    """
    width = cell.shape[1]
    heavy = np.ones(error.size)
    beyond = np.empty(error.size, np.int64)
    place = np.full(error.size, -1, np.int64)
    open_ = 0
    for one in range(error.size):
        if abs(error[one]) > most:
            beyond[open_], place[one] = one, open_
            open_ += 1
    while open_ > 0 and looks > 0:
        one = beyond[_drawn(state, open_)]
        size = begin[one + 1] - begin[one]
        first = _drawn(state, size)
        best, chosen, choice = np.inf, -1, 0
        for k in range(min(size, _LOOKS)):
            row = member[begin[one] + (first + k) % size]
            here = value[row]
            new = _down(here, at_least) if error[one] > 0 else _up(here, at_least)
            step = new - here
            cost = _REPAIRING * (abs(new - old[row]) - abs(here - old[row]))
            for at in range(width):
                e = error[cell[row, at]]
                before, after = max(abs(e) - most, 0), max(abs(e + step) - most, 0)
                cost += heavy[cell[row, at]] * (after * after - before * before)
            if step != 0 and cost < best:
                best, chosen, choice = cost, row, new
        looks -= min(size, _LOOKS)
        if best >= 0:
            heavy[one] += 1
            if chosen < 0 or _drawn(state, 10) > 0:
                continue
        step = choice - value[chosen]
        value[chosen] = choice
        for at in range(width):
            one = cell[chosen, at]
            error[one] += step
            if abs(error[one]) > most and place[one] < 0:
                beyond[open_], place[one] = one, open_
                open_ += 1
            elif abs(error[one]) <= most and place[one] >= 0:
                open_ -= 1
                last = beyond[open_]
                beyond[place[one]], place[last] = last, place[one]
                place[one] = -1
    return open_


@_compiled
def _polish(value: Any, old: Any, cell: Any, error: Any, at_least: int, most: int) -> int:
    """Steps back towards the old counts that keep all errors within `most`; how many were made."""
    moves = 0
    for row in range(value.size):
        here = value[row]
        new = _down(here, at_least) if here > old[row] else _up(here, at_least)
        if abs(new - old[row]) >= abs(here - old[row]):
            continue
        fits = True
        for at in range(cell.shape[1]):
            fits = fits and abs(error[cell[row, at]] + new - here) <= most
        if fits:
            moves += 1
            value[row] = new
            for at in range(cell.shape[1]):
                error[cell[row, at]] += new - here
    return moves
