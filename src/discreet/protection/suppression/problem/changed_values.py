"""Values that have changed since they were published: last period, or a revision. CONFIDENTIAL.

In: the cells of tables now and of tables published before, some of them with other values.
Out: changed cells as cells of their own, so that both tables stand in one system with all
their relations; and what attackers think of changes: a cell for each, that adds to the old
value and gives the new one. What has not changed is one cell, as everybody can suppose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.problem.equal_cells import LinkedCells
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    Relations,
    SuppressionProblem,
)

#: What it costs to hide again what was hidden with another value, as a share of its cost.
_AGAIN = 0.1


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChangedCells(Confidential):
    """Cells with a value now and another one before (confidential)."""

    now: IntArray  # the cell with the value of now
    before: IntArray  # the cell with the value of before
    #: By which share of it attackers think that the value changed at most; NaN for any change
    share: FloatArray

    def __len__(self) -> int:
        return len(self.now)

    def renumbered(self, numbers: IntArray) -> ChangedCells:
        """The same with other numbers of cells; those without number are left out."""
        now, before = numbers[self.now], numbers[self.before]
        kept = (now >= 0) & (before >= 0) & (now != before)
        return ChangedCells(now=now[kept], before=before[kept], share=self.share[kept])


#: All values are those published before, or nothing was.
NO_CHANGES = ChangedCells(
    now=np.zeros(0, dtype=np.int64), before=np.zeros(0, dtype=np.int64), share=np.zeros(0)
)


def with_changed_apart(
    linked: LinkedCells,
    given: Sequence[IntArray],
    current: int,
    shares: Sequence[float | None],
    rounding: int,
) -> tuple[LinkedCells, ChangedCells]:
    """Cells of earlier tables with other values than now as cells of their own.

    The first `current` tables are those of now; `shares` belong to the others. Equal
    cells of two earlier tables that changed alike stay one cell.
    """
    value = np.zeros(linked.number, dtype=np.int64)
    known = np.zeros(linked.number, dtype=np.bool_)
    changes = []
    for table, (own, units) in enumerate(zip(linked.cells, given, strict=True)):
        there = known[own]
        if table >= current:
            off = np.where(there, np.abs(units - value[own]), 0)
            # What differs by rounding is the same to all, unless others really changed.
            at = np.flatnonzero(off > 0 if (off > rounding).any() else off > rounding)
            thought = shares[table - current]
            most = np.nan if thought is None else thought
            guesses = np.where(off[at] > rounding, most, 0.0)
            changes.append((np.full(at.size, table), at, own[at], units[at], guesses))
        value[own[~there]], known[own] = units[~there], True
    if not any(at.size for _, at, *_ in changes):
        return linked, NO_CHANGES
    where, place, now, then, share = (np.concatenate(part) for part in zip(*changes, strict=True))
    apart, first, number = np.unique(
        np.stack([now, then]), axis=1, return_index=True, return_inverse=True
    )
    number = number.reshape(-1) + linked.number
    least = np.full(apart.shape[1], np.nan)
    np.fmin.at(least, number - linked.number, share)
    cells = [own.copy() for own in linked.cells]
    for table in np.unique(where).tolist():
        cells[table][place[where == table]] = number[where == table]
    every = np.concatenate([np.arange(linked.number), apart[0]]).astype(np.int64)
    grown = LinkedCells(
        number=len(every),
        cells=tuple(cells),
        totals=linked.totals[every],
        names=linked.names.of(every, np.arange(len(every)) >= linked.number),
        filters=linked.filters[every],
    )
    return grown, ChangedCells(now=now[first], before=number[first], share=least)


def with_old_pattern_cheap(
    costs: IntArray, changed: ChangedCells, hidden: BoolArray, share: float = _AGAIN
) -> IntArray:
    """Costs by which cells hidden before, with another value, are hidden again rather than others.

    `hidden` says which cells were hidden before.
    """
    again = changed.now[hidden[changed.before]]
    cheap = costs.copy()
    cheap[again] = np.maximum(np.rint(costs[again] * share), 1).astype(np.int64)
    return cheap


def with_changes_known(problem: SuppressionProblem, changed: ChangedCells) -> SuppressionProblem:
    """The problem with what attackers think of changes: one more cell for each.

    A change is at most its share of the larger of both values; more if it was, and as much as
    protection levels need, unless nothing is thought to have changed: who knows better than the
    rules allow can be kept from nothing.
    """
    fixed = problem.state == CellState.fixed
    bounded = np.isfinite(changed.share) & ~(fixed[changed.now] & fixed[changed.before])
    now, before, share = (part[bounded] for part in (changed.now, changed.before, changed.share))
    number, size = len(now), len(problem)
    if not number:
        return problem
    new, old = problem.value[now], problem.value[before]
    most = np.ceil(share * np.maximum(np.abs(new), np.abs(old))).astype(np.int64)
    levels = [problem.lower, problem.upper, problem.sliding]
    needed = np.maximum.reduce([level[at] for level in levels for at in (now, before)])
    most = np.maximum(most, np.where(share > 0, needed, 0))
    delta, nothing = new - old, np.zeros(number, dtype=np.int64)
    columns = {
        "value": delta,
        "cost": nothing,
        "state": np.full(number, CellState.secondary, dtype=np.int8),
        "low": np.minimum(-most, delta),
        "high": np.maximum(most, delta),
        "lower": nothing,
        "upper": nothing,
        "sliding": nothing,
    }
    added = np.arange(size, size + number)
    rows = Relations(
        cells=size + number,
        start=3 * np.arange(number + 1, dtype=np.int64),
        cell=np.stack([now, before, added], axis=1).ravel().astype(np.int32),
        coef=np.tile(np.array([-1, 1, 1], dtype=np.int64), number),
        rhs=nothing,
    )
    grown: dict[str, Any] = {
        name: np.concatenate([getattr(problem, name), own]) for name, own in columns.items()
    }
    relations = replace(problem.relations, cells=size + number).joined(rows)
    names = _ChangeNames(problem.name, size, now)
    return replace(problem, relations=relations, name=names, **grown)


class _ChangeNames:
    """Names of cells, changes by the cell that changed."""

    def __init__(self, name: Callable[[int], str], size: int, now: IntArray) -> None:
        self._name, self._size, self._now = name, size, now

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        if at < self._size:
            return self._name(at)
        return f"the change of {self._name(int(self._now[at - self._size]))}"


def changes_note(changed: ChangedCells) -> list[str]:
    """What was found and assumed, in words; no values."""
    if not len(changed):
        return []
    shares = np.unique(changed.share[np.isfinite(changed.share)])
    known = " or ".join(f"{share:.0%}" for share in shares.tolist()) if shares.size else ""
    thought = f"attackers are taken to think that they changed by up to {known}"
    free = "attackers are taken to think that they may have changed by anything"
    return [
        f"{len(changed):,} values differ from those published before; what was hidden then is "
        f"cheap to hide again, and {thought if known else free}"
    ]
