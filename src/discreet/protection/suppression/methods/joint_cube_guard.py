"""Patterns that hold against readers of joint cubes. CONFIDENTIAL.

In: a problem, its tables, and a way to find a pattern. Out: the pattern, with more cells hidden
where combinations that nobody publishes open one: those beside it, cheapest first. What was not
examined is an error, unless it is accepted by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.disclosure import DisclosureVerdict, Gap, refuse_cells
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern
from discreet.protection.suppression.proof.whole_numbers import untested_gaps

if TYPE_CHECKING:
    from discreet.disclosure import Insiders, LinkedTable

#: So often twice as many cells are hidden beside an open one; then all that may be.
_ROUNDS = 8


def pattern_for_cubes(
    problem: SuppressionProblem,
    tables: Sequence[LinkedTable],
    find: Callable[[SuppressionProblem], Pattern],
    accept: Sequence[str],
    unexamined: Sequence[Gap],
    insiders: Insiders | None,
    *,
    by_name: bool,
) -> tuple[SuppressionProblem, Pattern, DisclosureVerdict]:
    """A pattern that holds against readers of joint cubes, with its problem and its verdict.

    `unexamined` are gaps of the problem itself: told and not refused where tables are known
    `by_name` only, without records, as are those of `insiders`.
    """
    rounds = number = 0
    gaps: tuple[Gap, ...] = ()
    of_insiders: tuple[Gap, ...] = ()
    while True:
        pattern = find(problem)
        if not tables:
            break
        from discreet.protection.suppression.proof.joint_cubes import (
            held_in_joint_cubes,
            opened_to_insiders,
        )

        certificate, gaps = held_in_joint_cubes(
            problem, pattern.hidden, pattern.certificate, tables
        )
        opened = certificate.unprotected
        if not len(opened) and insiders is not None:
            opened, of_insiders = opened_to_insiders(problem, pattern.hidden, insiders, tables)
        if not len(opened):
            break
        number = max(number, len(opened))
        many = 2**rounds if rounds < _ROUNDS else len(problem)
        # The cheapest of the next cells that may be hidden, as relations tie them to the opened.
        free, links = (problem.state != CellState.fixed) & ~pattern.hidden, problem.relations
        chosen = [np.zeros(0, dtype=np.int64)]
        for cell in opened:
            near, reach = np.zeros(0, dtype=np.int64), np.array([cell])
            while len(reach) > len(near) and np.count_nonzero(free[reach]) < many:
                near, rows = reach, np.unique(links.row[np.isin(links.cell, reach)])
                reach = np.union1d(reach, links.cell[np.isin(links.row, rows)])
            near = reach[free[reach]]
            chosen.append(near[np.argsort(problem.cost[near], kind="stable")][:many])
        more = np.unique(np.concatenate(chosen))
        more = more if more.size else np.flatnonzero(free)
        if not more.size:
            message = "the joint cube of the tables opens it, whatever else is hidden"
            hint = "leave out one of the tables, or merge categories"
            refuse_cells(opened, problem.name, message, "infeasible", hint)
        state = problem.state.copy()
        state[more] = CellState.secondary
        problem, rounds = replace(problem, state=state), rounds + 1
    if number:
        note = f"more is hidden around {number:,} sensitive cells that a joint cube opened"
        pattern = replace(pattern, notes=(*pattern.notes, note))
    beyond = (*untested_gaps(pattern.certificate), *gaps)
    verdict = DisclosureVerdict.of((), (*unexamined, *of_insiders, *beyond), accept)
    refuse_gaps(DisclosureVerdict.of((), beyond, accept) if by_name else verdict, problem.title)
    return problem, pattern, verdict


def refuse_gaps(verdict: DisclosureVerdict, where: str) -> None:
    """Raise one error for all that was not examined; do nothing where nothing is left."""
    problems = [
        Problem(
            f"not examined: {gap.text()}",
            where,
            f'{gap.remedy()}; or accept the gap: accept = ["{gap.name}"]',
        )
        for gap in verdict.gaps
    ]
    raise_all(SuppressionError, problems, code="not-examined", many="{} gaps were not examined")
