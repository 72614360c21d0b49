"""The cheapest cells to move so that one cell moves as far as it must. CONFIDENTIAL.

In: a draft, one of its cells, and what hiding each costs. Out: the cells of the cheapest pattern
in a patch around the cell that moves it up and down together, in whole numbers if asked for, by
one small integer program that ends after so many branchings.

Where fractions are all that protects a cell, the cheapest whole move around it is hidden, too.
Where published cells leave a sensitive one no room, the fewest are named that would have to be
hidden, and the share of its levels that it can keep: neither is done, somebody has to decide it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.disclosure import Patch, make_whole, refuse_cells
from discreet.errors import Problem, SuppressionError
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certified,
    certify,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import relation_distances
from discreet.protection.suppression.proof.whole_numbers import held_in_whole_numbers
from discreet.solver import column_values, loaded_solver

#: Cells of the patches that are tried around a cell, and branchings in each.
_SIZES, _NODES = (60, 150, 400), 2_000
#: No cell moves by more than so many times the distance wanted.
_MOST = 16.0
#: Moves of so small a share of the distance are none, and relations hold as exactly.
_STILL = 1e-6


def moved_cells(
    draft: DraftPattern, cell: int, step: FloatArray, price: FloatArray, *, whole: bool
) -> IntArray | None:
    """Cells that move one cell as far as it must go; None if no patch around it can do it.

    The step is how far it is to a cell from others in a common relation, the price what hiding it
    costs, above 0; hidden ones are free.
    """
    wanted = (draft.target[cell], -draft.target[cell + len(draft)])
    if whole:
        wanted = (np.ceil(wanted[0] - 0.25), np.floor(wanted[1] + 0.25))
    distances = [float(item) for item in wanted if item]
    for size in _SIZES:
        seed = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seed, size, step)
        at = int(np.searchsorted(patch.cells, cell))
        if at < len(patch.cells) and patch.cells[at] == cell:
            moved = _cheapest(draft, patch, at, distances, price[patch.cells], whole=whole)
            if moved is not None:
                return patch.cells[moved]
        if patch.whole:
            break
    return None


def _cheapest(
    draft: DraftPattern,
    patch: Patch,
    at: int,
    distances: list[float],
    price: FloatArray,
    *,
    whole: bool,
) -> BoolArray | None:
    """Which cells of a patch move, in the cheapest way to go all distances one by one.

    The program has moves for each way, and of each published cell whether it is hidden.
    """
    number, ways, rows = len(patch.cells), len(distances), len(patch.start) - 1
    free = np.flatnonzero(~draft.hidden[patch.cells])
    size = np.abs(distances)[:, np.newaxis]
    unit = 1.0 if whole else float(size.max())
    low = -np.minimum(draft.down[patch.cells], _MOST * size) / unit
    high = np.minimum(draft.up[patch.cells], _MOST * size) / unit
    if whole:
        low, high = np.ceil(low), np.floor(high)
    goal = np.array(distances) / unit
    if not ((low[:, at] <= goal) & (goal <= high[:, at])).all():
        return None
    low[:, at] = high[:, at] = goal
    twin, ones = ways * number + np.arange(free.size), np.ones(free.size)
    column = [patch.at + way * number for way in range(ways)]
    coef = [patch.coef.astype(np.float64)] * ways
    width = [*[np.diff(patch.start)] * ways, np.full(2 * ways * free.size, 2)]
    for way in range(ways):  # low·x ≤ move ≤ high·x
        own = free + way * number
        column.append(np.stack([own, twin, own, twin], axis=1).ravel())
        coef.append(np.stack([ones, -high[way, free], ones, -low[way, free]], axis=1).ravel())
    still = np.zeros(ways * rows)
    solver = loaded_solver(
        (starts(np.concatenate(width)), np.concatenate(column), np.concatenate(coef)),
        np.concatenate([low.ravel(), np.zeros(free.size)]),
        np.concatenate([high.ravel(), ones]),
        cost=np.concatenate([np.zeros(ways * number), price[free]]),
        rows=(
            np.concatenate([still, np.tile([-np.inf, 0.0], ways * free.size)]),
            np.concatenate([still, np.tile([0.0, np.inf], ways * free.size)]),
        ),
        mip_max_nodes=_NODES,
    )
    solver.setOptionValue("presolve", "choose")
    make_whole(solver, np.arange(0 if whole else ways * number, ways * number + free.size))
    solver.run()
    values = column_values(solver)
    if len(values) < ways * number:
        return None
    moved = values[: ways * number].reshape(ways, number)
    moved = np.rint(moved) if whole else np.where(np.abs(moved) < _STILL, 0.0, moved)
    row = np.repeat(np.arange(rows), np.diff(patch.start))
    for way in range(ways):
        miss = np.bincount(row, patch.coef * moved[way, patch.at], minlength=rows)
        if np.abs(miss).max(initial=0.0) > (0 if whole else 1e-4):
            return None
    if (moved < low - _STILL).any() or (moved > high + _STILL).any():
        return None
    return np.logical_or.reduce(moved != 0, axis=0)  # type: ignore[no-any-return]


# -- whole numbers -----------------------------------------------------------------------

#: So often more is hidden for whole numbers.
_ROUNDS = 5


def protected_in_whole_numbers(problem: SuppressionProblem, pattern: Pattern) -> Pattern:
    """The pattern, with what it takes to protect cells in whole numbers as well."""
    if not pattern.safe:
        return pattern
    hidden = pattern.hidden
    certificate = held_in_whole_numbers(problem, hidden, pattern.certificate)
    opened = len(certificate.unprotected)
    for _ in range(_ROUNDS):
        if not len(certificate.unprotected):
            break
        more = _with_whole_moves(problem, hidden, certificate)
        if not (more & ~hidden).any():
            break
        hidden = more
        certificate = held_in_whole_numbers(problem, hidden, certify(problem, hidden))
    message = "apart from its true value only fractions are possible, and values are whole"
    hint = "let more cells be hidden, widen the bounds said to be known, or merge categories"
    refuse_cells(certificate.unprotected, problem.name, message, "whole-numbers", hint)
    if not opened:
        return replace(pattern, certificate=certificate)
    note = f"more is hidden around {opened:,} sensitive cells that only fractions protected"
    known = {name: getattr(pattern, name) for name in ("bound", "complete", "seconds")}
    known |= {"certificate": certificate, "notes": (*pattern.notes, note)}
    return certified(problem, hidden, pattern.method, **known)


def _with_whole_moves(
    problem: SuppressionProblem, hidden: BoolArray, certificate: Certificate
) -> BoolArray:
    """More cells hidden, so that each open cell moves in whole numbers as far as it must."""
    draft = DraftPattern(problem)
    draft.hidden = hidden[draft.unknowns.cells]
    draft.halve()
    step, price = relation_distances(draft), np.maximum(draft.cost, 1e-3)
    for cell in draft.at(certificate.unprotected).tolist():
        moved = moved_cells(draft, cell, step, price, whole=True)
        if moved is not None:
            draft.hidden[moved] = True
    return draft.mask()


# -- published cells in the way ----------------------------------------------------------

#: Cells of which this is worked out, and published cells that are named for each.
_CELLS, _NAMED = 20, 8
#: In larger problems errors stay as they are.
_LARGEST = 60_000


def with_conflicts(problem: SuppressionProblem, error: SuppressionError) -> SuppressionError:
    """The error, with what stands in the way if it says that there is no pattern."""
    frozen = problem.state == CellState.fixed
    if error.code != "infeasible" or not frozen.any() or len(problem) > _LARGEST:
        return error
    certificate = certify(problem, ~frozen)
    number = np.flatnonzero(~certificate.protected)
    state = np.where(frozen, CellState.free, problem.state).astype(np.int8)
    draft = DraftPattern(replace(problem, state=state))  # as if nothing had to be published
    draft.hidden = ~frozen[draft.unknowns.cells]
    draft.halve()
    problems = []
    for at in number[:_CELLS].tolist():
        cell = int(certificate.cells[at])
        low, high = -float(certificate.low[at]), float(certificate.high[at])
        reached = ((low, problem.lower), (high, problem.upper), (low + high, problem.sliding))
        shares = [far / int(level[cell]) for far, level in reached if level[cell]]
        share = np.floor(100 * max(min(shares, default=0.0), 0.0) + 1e-6)
        problems.append(_conflict(problem, frozen, draft, cell, int(share)))
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


def _conflict(
    problem: SuppressionProblem, frozen: BoolArray, draft: DraftPattern, cell: int, share: int
) -> Problem:
    """What stands in the way of one cell."""
    name, known = problem.name(cell), draft.unknowns
    fewer = f"{share} % of its protection levels can be kept as it is"
    if share == 0:
        fewer = "no part of its protection levels can be kept as it is"
    at = int(draft.at(np.array([cell]))[0])
    if draft.up[at] < known.upper[at] or draft.down[at] < known.lower[at]:
        message = "what an attacker is said to know about it is narrower than its protection levels"
        return Problem(message, name, fewer)
    moved = moved_cells(draft, at, relation_distances(draft), np.ones(len(draft)), whole=False)
    if moved is not None:
        cells = known.cells[moved]
        cells = cells[frozen[cells]]
        hidden = ~frozen
        hidden[cells] = True
        watched = np.arange(len(problem)) == cell
        if cells.size and not len(certify(draft.problem, hidden, watched).unprotected):
            names = [problem.name(int(item)) for item in cells[:_NAMED]]
            more = f" and {len(cells) - _NAMED:,} more" if len(cells) > _NAMED else ""
            message = "cells that must be published leave no safe pattern; suppress at least: "
            return Problem(message + "; ".join(names) + more, name, f"decide that, or that {fewer}")
    return Problem("cells that must be published leave no safe pattern", name, fewer)
