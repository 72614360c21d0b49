"""The method `modular`: one subtable after the other, from the top down. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. Each subtable is protected on its own; what is
hidden in one is hidden in all others that have the cell, and those are gone through again
until nothing changes. Subtables that are safe each by itself need not be safe together:
an audit of the whole table finds what is open, and flows through the whole table repair it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.fast import protect_fast
from discreet.suppression.pattern import Pattern, certified
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.relations import Relations
from discreet.suppression.subtables import Subtable, subtables_of

__all__ = ["alone", "in_turn", "protect_modular", "repaired"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Finds which cells of one subtable to hide, given those hidden so far.
Solver = Callable[[Subtable, BoolArray], IntArray]


def protect_modular(
    problem: SuppressionProblem,
    *,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
    seed: int = 0,
) -> Pattern:
    """Protect subtable by subtable, then audit and repair the whole.

    Args:
        problem: The cells, costs, levels and relations.
        time_limit: Seconds after which no further subtable is looked at; the rest is left
            to the repair.
        progress: Called with a line of text now and then.
        seed: For the flows.
    """
    began = time.monotonic()
    subtables = subtables_of(problem.relations)

    def solve(subtable: Subtable, hidden: BoolArray) -> IntArray:
        own = alone(problem, subtable, hidden)
        try:
            found = protect_fast(own, seed=seed)
        except SuppressionError:
            # What this subtable cannot protect by itself, the whole table may.
            return np.zeros(0, dtype=np.int64)
        return subtable.cells[found.hidden]

    hidden, ended = in_turn(problem, subtables, solve, time_limit, progress)
    return repaired(problem, hidden, "modular", began, ended, progress, seed)


def in_turn(
    problem: SuppressionProblem,
    subtables: list[Subtable],
    solve: Solver,
    time_limit: float | None,
    progress: Callable[[str], None] | None,
) -> tuple[BoolArray, bool]:
    """Go through subtables until no cell is hidden any more; whether that came to its end.

    A subtable is gone through again when one of its cells was hidden elsewhere.
    """
    began = time.monotonic()
    hidden = problem.hidden.copy()
    having: dict[int, list[int]] = {}
    for number, subtable in enumerate(subtables):
        for cell in subtable.cells.tolist():
            having.setdefault(cell, []).append(number)
    waiting = set(range(len(subtables)))
    done = 0
    while waiting:
        if time_limit is not None and time.monotonic() - began > time_limit:
            return hidden, False
        number = min(waiting)
        waiting.remove(number)
        subtable = subtables[number]
        if not hidden[subtable.cells].any():
            continue
        cells = solve(subtable, hidden)
        fresh = cells[~hidden[cells]]
        hidden[fresh] = True
        for cell in fresh.tolist():
            waiting.update(having[cell])
        waiting.discard(number)
        done += 1
        if progress is not None:
            progress(f"subtable {done:,}, {len(waiting):,} waiting")
    return hidden, True


def alone(problem: SuppressionProblem, subtable: Subtable, hidden: BoolArray) -> SuppressionProblem:
    """One subtable as a problem: what is hidden must not be known exactly."""
    cells = subtable.cells
    state = problem.state[cells].copy()
    state[hidden[cells] & (state != CellState.fixed)] = CellState.primary
    names = ("value", "cost", "low", "high", "lower", "upper", "sliding")
    columns: dict[str, Any] = {name: getattr(problem, name)[cells] for name in names}
    second = hidden[cells] & (problem.state[cells] != CellState.primary)
    for name in ("lower", "upper", "sliding"):
        columns[name] = np.where(second, 0, columns[name])
    return SuppressionProblem(
        state=state, relations=_within(problem.relations, subtable), **columns
    )


def _within(relations: Relations, subtable: Subtable) -> Relations:
    """The relations of a subtable, with its cells numbered anew."""
    entries = np.flatnonzero(np.isin(relations.row, subtable.rows))
    width = np.diff(relations.start)[subtable.rows]
    return Relations(
        cells=len(subtable.cells),
        start=np.concatenate([[0], np.cumsum(width)]).astype(np.int64),
        cell=np.searchsorted(subtable.cells, relations.cell[entries]).astype(np.int32),
        coef=relations.coef[entries],
        rhs=relations.rhs[subtable.rows],
    )


def repaired(
    problem: SuppressionProblem,
    hidden: BoolArray,
    method: str,
    began: float,
    ended: bool,
    progress: Callable[[str], None] | None,
    seed: int,
) -> Pattern:
    """The audited pattern; what the audit finds open is repaired by flows first.

    Args:
        problem: The problem.
        hidden: What the method hides.
        method: Its name.
        began: When it began, by the monotonic clock.
        ended: Whether it came to its end.
        progress: Called with a line of text now and then.
        seed: For the flows.
    """
    if progress is not None:
        progress("audit and repair")
    whole = protect_fast(problem.with_hidden(hidden), seed=seed)
    more = int((whole.hidden & ~hidden).sum())
    notes = [f"the audit of the whole table made {more:,} more secondaries necessary"]
    return certified(
        problem,
        whole.hidden,
        method,
        certificate=whole.certificate,
        complete=ended,
        seconds=time.monotonic() - began,
        notes=tuple(notes[: 1 if more else 0]),
    )
