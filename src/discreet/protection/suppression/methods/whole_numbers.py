"""Patterns that hold against attackers who know that values are whole numbers. CONFIDENTIAL.

In: a problem and the pattern of any method. Out: the pattern, with more cells hidden where
fractions were all that protected a cell: the cheapest whole move around it, by small
integer programs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certified,
    certify,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import relation_distances
from discreet.protection.suppression.proof.patches import Patch
from discreet.protection.suppression.proof.solver import column_values, loaded_solver
from discreet.protection.suppression.proof.whole_numbers import (
    held_in_whole_numbers,
    make_whole,
    untested_notes,
)

_ROUNDS, _SHOWN = 5, 20
#: Cells of the patches that are tried around a cell, and branchings in each.
_SIZES, _NODES = (60, 150, 400), 2_000
#: No cell moves by more than so many times the distance wanted.
_MOST = 16.0


def protected_in_whole_numbers(problem: SuppressionProblem, pattern: Pattern) -> Pattern:
    """The pattern, with what it takes to protect cells in whole numbers as well."""
    if not pattern.safe:
        return pattern
    hidden = pattern.hidden
    found = held_in_whole_numbers(problem, hidden, pattern.certificate)
    opened = len(found.unprotected)
    for _ in range(_ROUNDS):
        if not len(found.unprotected):
            break
        more = _with_whole_moves(problem, hidden, found)
        if not (more & ~hidden).any():
            break
        hidden = more
        found = held_in_whole_numbers(problem, hidden, certify(problem, hidden))
    if len(found.unprotected):
        raise _refused(problem, found.unprotected)
    notes = (*pattern.notes, *untested_notes(found))
    if not opened:
        return replace(pattern, certificate=found, notes=notes)
    told = f"more is hidden around {opened:,} sensitive cells that only fractions protected"
    known = {name: getattr(pattern, name) for name in ("bound", "complete", "seconds")}
    known |= {"certificate": found, "notes": (*notes, told)}
    return certified(problem, hidden, pattern.method, **known)


def _refused(problem: SuppressionProblem, cells: IntArray) -> SuppressionError:
    what = "only fractions are possible for it besides its true value, and values are whole"
    problems = [Problem(what, problem.name(int(cell))) for cell in cells]
    return SuppressionError(
        f"{len(cells):,} sensitive cells cannot be protected in whole numbers",
        code="whole-numbers",
        where=problem.title,
        hint="let more cells be hidden, widen the bounds said to be known, or merge categories",
        problems=shortened(problems, _SHOWN),
    )


def _with_whole_moves(
    problem: SuppressionProblem, hidden: BoolArray, found: Certificate
) -> BoolArray:
    """More cells hidden, so that each open cell moves in whole numbers as far as it must."""
    draft = DraftPattern(problem)
    draft.hidden = hidden[draft.unknowns.cells]
    draft.halve()
    step = relation_distances(draft)
    for cell in draft.at(found.unprotected).tolist():
        for task in (cell, cell + len(draft)):
            distance = np.ceil(draft.target[task] - 0.25)
            for size in _SIZES if distance > 0 else ():
                seed = np.array([cell], dtype=np.int64)
                patch = draft.patches.around(seed, size, step, draft.many_ways)
                moved = _cheapest(draft, patch, cell, distance if task == cell else -distance)
                if moved is not None:
                    draft.hidden[patch.cells[moved != 0]] = True
                    break
                if patch.whole:
                    break
    return draft.mask()


def _cheapest(draft: DraftPattern, patch: Patch, cell: int, distance: float) -> FloatArray | None:
    """The whole moves of a patch that move one cell so far and hide the cheapest cells."""
    at = int(np.searchsorted(patch.cells, cell))
    if at == len(patch.cells) or patch.cells[at] != cell:
        return None
    far = _MOST * abs(distance)
    low = -np.floor(np.minimum(draft.down[patch.cells], far))
    high = np.floor(np.minimum(draft.up[patch.cells], far))
    if not low[at] <= distance <= high[at]:
        return None
    number, free = len(patch.cells), np.flatnonzero(~draft.hidden[patch.cells])
    start, column, coef = patch.start, patch.at, patch.coef
    # Of a published cell, x says whether it is hidden: low·x ≤ move ≤ high·x.
    twin = number + np.arange(free.size)
    ends = start[-1] + 2 * np.arange(1, 2 * free.size + 1)
    columns = np.concatenate([column, np.stack([free, twin, free, twin], axis=1).ravel()])
    limits = np.stack([np.ones(free.size), -high[free], np.ones(free.size), -low[free]], axis=1)
    rows = len(start) - 1
    below = np.concatenate([np.zeros(rows), np.tile([-np.inf, 0.0], free.size)])
    above = np.concatenate([np.zeros(rows), np.tile([0.0, np.inf], free.size)])
    own_low, own_high = low.copy(), high.copy()
    own_low[at] = own_high[at] = distance
    solver = loaded_solver(
        (np.concatenate([start, ends]), columns, np.concatenate([coef, limits.ravel()])),
        np.concatenate([own_low, np.zeros(free.size)]),
        np.concatenate([own_high, np.ones(free.size)]),
        cost=np.concatenate([np.zeros(number), np.maximum(draft.cost[patch.cells[free]], 1e-3)]),
        rows=(below, above),
        mip_max_nodes=_NODES,
    )
    solver.setOptionValue("presolve", "choose")
    make_whole(solver, number + free.size)
    solver.run()
    found = column_values(solver)
    if len(found) < number:
        return None
    moved: FloatArray = np.rint(found[:number])
    row = np.repeat(np.arange(rows), np.diff(start))
    kept = not np.bincount(row, coef * moved[column], minlength=rows).any()
    inside = bool(((moved >= own_low) & (moved <= own_high)).all())
    return moved if kept and inside else None
