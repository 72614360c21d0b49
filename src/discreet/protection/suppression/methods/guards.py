"""Patterns that hold against readers who know more than sums. CONFIDENTIAL.

In: a problem and a pattern, or a way to find one. Out: a pattern that also holds against readers
who know that values are whole numbers, and that no combination of codes is negative, published or
not. Around each cell that is open to them more is hidden: cells beside it, cheapest first. What was
not examined is an error, unless it is accepted by its name.

Where published cells leave a sensitive one no room, the fewest are named that would have to be
hidden, and the share of its levels that it can keep: neither is done, somebody has to decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import DisclosureVerdict, Gap, Patches, refuse_cells
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.methods.branch_and_cut import protect_optimal
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern, certified, certify
from discreet.protection.suppression.proof.joint_cubes import (
    held_in_joint_cubes,
    opened_to_insiders,
)
from discreet.protection.suppression.proof.whole_numbers import held_in_whole_numbers, untested_gaps

if TYPE_CHECKING:
    from discreet.disclosure import Insiders, LinkedTable

#: So often twice as many cells are hidden beside an open one; then all that may be.
_ROUNDS = 8
#: So many of the cells that were hidden for whole numbers are published again, if that can be.
_TAKEN_BACK = 200


def _beside(
    problem: SuppressionProblem, hidden: BoolArray, opened: IntArray, rounds: int
) -> IntArray:
    """The cheapest of the next cells that may be hidden, as relations tie them to opened ones."""
    many = 2**rounds if rounds < _ROUNDS else len(problem)
    free, links = (problem.state != CellState.fixed) & ~hidden, problem.relations
    chosen = [np.zeros(0, dtype=np.int64)]
    for cell in opened:
        near, reach = np.zeros(0, dtype=np.int64), np.array([cell])
        while len(reach) > len(near) and np.count_nonzero(free[reach]) < many:
            near, rows = reach, np.unique(links.row[np.isin(links.cell, reach)])
            reach = np.union1d(reach, links.cell[np.isin(links.row, rows)])
        near = reach[free[reach]]
        chosen.append(near[np.argsort(problem.cost[near], kind="stable")][:many])
    more = np.unique(np.concatenate(chosen))
    return more if more.size else np.flatnonzero(free)


def protected_in_whole_numbers(problem: SuppressionProblem, pattern: Pattern) -> Pattern:
    """The pattern, with what it takes to protect cells in whole numbers as well."""
    if not pattern.safe:
        return pattern
    hidden = pattern.hidden.copy()
    certificate = held_in_whole_numbers(problem, hidden, pattern.certificate)
    opened, rounds = len(certificate.unprotected), 0
    while len(certificate.unprotected):
        more = _beside(problem, hidden, certificate.unprotected, rounds)
        message = "apart from its true value only fractions are possible, and values are whole"
        hint = "let more cells be hidden, widen the bounds said to be known, or merge categories"
        lost = certificate.unprotected[: len(certificate.unprotected) * (not more.size)]
        refuse_cells(lost, problem.name, message, "whole-numbers", hint)
        hidden[more], rounds = True, rounds + 1
        certificate = held_in_whole_numbers(problem, hidden, certify(problem, hidden))
    if not opened:
        return replace(pattern, certificate=certificate)
    more = np.flatnonzero(hidden & ~pattern.hidden)
    for cell in more[np.argsort(-problem.cost[more], kind="stable")][:_TAKEN_BACK]:
        hidden[cell] = False
        less = held_in_whole_numbers(problem, hidden, certify(problem, hidden))
        worse = len(less.unprotected) > 0 or less.untested > certificate.untested
        hidden[cell], certificate = worse, certificate if worse else less
    note = f"more is hidden around {opened:,} sensitive cells that only fractions protected"
    known = {name: getattr(pattern, name) for name in ("bound", "complete", "seconds")}
    known |= {"certificate": certificate, "notes": (*pattern.notes, note)}
    return certified(problem, hidden, pattern.method, **known)


# -- joint cubes -------------------------------------------------------------------------


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
        certificate, gaps = held_in_joint_cubes(
            problem, pattern.hidden, pattern.certificate, tables
        )
        opened = certificate.unprotected
        if insiders is not None:
            alone, of_insiders = opened_to_insiders(problem, pattern.hidden, insiders, tables)
            opened = np.union1d(opened, alone)
        if not len(opened):
            break
        number = max(number, len(opened))
        more = _beside(problem, pattern.hidden, opened, rounds)
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


# -- published cells in the way ----------------------------------------------------------

#: Cells of which this is worked out, published cells that are named for each, and how many cells
#: around it they are looked for among.
_CELLS, _NAMED, _AROUND = 20, 8, (60, 400)
#: In larger problems errors stay as they are.
_LARGEST = 60_000


def with_conflicts(problem: SuppressionProblem, error: SuppressionError) -> SuppressionError:
    """The error, with what stands in the way if it says that there is no pattern."""
    frozen = problem.state == CellState.fixed
    if error.code != "infeasible" or not frozen.any() or len(problem) > _LARGEST:
        return error
    certificate = certify(problem, ~frozen)
    number = np.flatnonzero(~certificate.protected)
    problems = []
    for at in number[:_CELLS].tolist():
        cell = int(certificate.cells[at])
        low, high = -float(certificate.low[at]), float(certificate.high[at])
        reached = ((low, problem.lower), (high, problem.upper), (low + high, problem.sliding))
        shares = [far / int(level[cell]) for far, level in reached if level[cell]]
        share = int(np.floor(100 * max(min(shares, default=0.0), 0.0) + 1e-6))
        part = f"{share} %" if share else "no part"
        fewer = f"{part} of its protection levels can be kept as it is"
        problems.append(_conflict(problem, frozen, cell, fewer))
    if not problems:
        return error
    left = len(number) - len(problems)
    more = [Problem(f"and {left:,} more")] if left > 0 else []
    return SuppressionError(
        error.what,
        code=error.code,
        where=error.where,
        hint=error.hint,
        problems=[*problems, *more],
    )


def _conflict(problem: SuppressionProblem, frozen: BoolArray, cell: int, fewer: str) -> Problem:
    """What stands in the way of one cell."""
    name, message = problem.name(cell), "cells that must be published leave no safe pattern"
    if cell in problem.without_room:
        message = "what an attacker is said to know about it is narrower than its protection levels"
        return Problem(message, name, fewer)
    hidden = ~frozen
    for size in _AROUND:
        hidden[_fewest(problem, frozen, cell, size)] = True
        if (hidden & frozen).any():
            break
    watched = np.arange(len(problem)) == cell
    named = [problem.name(int(item)) for item in np.flatnonzero(hidden & frozen)]
    if named and not len(certify(problem, hidden, watched).unprotected):
        more = [f"and {len(named[_NAMED:]):,} more"] if named[_NAMED:] else []
        message += f"; suppress at least: {'; '.join([*named[:_NAMED], *more])}"
        return Problem(message, name, f"decide that, or that {fewer}")
    return Problem(message, name, fewer)


def _fewest(problem: SuppressionProblem, frozen: BoolArray, cell: int, size: int) -> IntArray:
    """The fewest published cells that would have to be hidden, among the nearest to a cell."""
    patches = Patches(problem.relations, np.ones(len(problem), dtype=np.bool_))
    near = np.zeros(len(problem), dtype=np.bool_)
    near[patches.nearest(np.array([cell]), size, np.ones(len(problem)))] = True
    links, cells = problem.relations.among(near)
    columns = problem.columns_at(cells)
    columns["cost"] = frozen[cells].astype(np.int64)
    columns["state"] = np.where(frozen[cells], CellState.free, CellState.secondary).astype(np.int8)
    columns["state"][cells == cell] = CellState.primary
    try:
        pattern = protect_optimal(SuppressionProblem(relations=links, **columns))
    except SuppressionError:  # not among so few
        return cells[:0]
    return cells[pattern.hidden & frozen[cells]]
