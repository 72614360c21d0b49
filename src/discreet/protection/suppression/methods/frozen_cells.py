"""Why published cells leave a sensitive one no room, and what a person could decide. CONFIDENTIAL.

In: a problem for which there is no pattern. Out: its error, which names for each cell that
stays open the fewest published cells that would have to be hidden, and which share of its
protection levels it can keep as it is. Neither is done: somebody has to decide it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import Problem, SuppressionError
from discreet.protection.suppression.methods.moved_cells import moved_cells
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import relation_distances

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
        problems.append(_problem(problem, frozen, draft, cell, int(share)))
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


def _problem(
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
            message = "published cells leave it no room; the fewest to hide instead: "
            return Problem(message + "; ".join(names) + more, name, f"decide that, or that {fewer}")
    return Problem("cells that must be published leave it no room", name, fewer)
