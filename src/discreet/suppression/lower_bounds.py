"""What protection costs at least, for problems of any size. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a number that no safe pattern costs less than. Each relation
of a sensitive cell says what must be hidden beside it. A linear program over these
demands gives a bound and leads to good cells; where there are too many cells for it,
prices are handed out among the demands, none twice, and their sum is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from discreet.suppression.cuts import aims_of
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.propagation import outer_bounds
from discreet.suppression.relaxation import Relaxation
from discreet.suppression.unknowns import TOLERANCE, unknowns_of

__all__ = ["bound_of", "near_relaxation", "quick_bound"]

#: With more cells that may be hidden, there is no linear program over them.
_MANY = 100_000
_ROUNDS = 12
#: Demands ask for so much less than they could, against rounding.
_SLACK = 1e-7
#: What rounding of sums of prices may amount to, relatively and in units.
_ROUNDING, _WHOLE = 1e-9, 1e-4


def near_relaxation(problem: SuppressionProblem, over: Callable[[], bool]) -> Relaxation | None:
    """What single relations ask for, as a linear program; None if there are too many cells.

    Args:
        problem: The problem; some pattern must be known to protect its cells.
        over: Whether time is up.
    """
    if int((problem.state != CellState.fixed).sum()) > _MANY or over():
        return None
    relaxation = Relaxation(problem, possible=True)
    relaxation.near(_ROUNDS, over)
    return relaxation


def bound_of(problem: SuppressionProblem) -> int:
    """No pattern that protects all sensitive cells costs less; quick at any size."""
    near = near_relaxation(problem, lambda: False)
    return quick_bound(problem) if near is None else near.bound


def quick_bound(problem: SuppressionProblem) -> int:
    """No pattern that protects all sensitive cells costs less.

    Args:
        problem: The problem.

    Returns:
        A whole cost, at least what the cells cost that are hidden in every pattern.
    """
    unknowns = unknowns_of(problem, problem.state != CellState.fixed)
    low, high = outer_bounds(unknowns)
    forced = problem.hidden[unknowns.cells]
    price = np.where(forced, 0.0, problem.cost[unknowns.cells].astype(np.float64))
    aims, links = aims_of(unknowns), unknowns.relations
    first, entries = links.by_cell
    total = _ascended(
        (aims.cell, aims.side.astype(np.int64), aims.level),
        (first, entries, links.row),
        (links.start, links.cell, links.coef.astype(np.float64)),
        (low, high, forced, price),
    )
    above = math.ceil(total * (1.0 - _ROUNDING) - _WHOLE)
    return problem.cost_of(problem.hidden) + max(0, above)


@numba.njit(cache=True, nogil=True)
def _ascended(aims: Any, by_cell: Any, by_row: Any, cells: Any) -> float:
    """The sum of what demands may be charged; `price` is used up on the way."""
    first, entries, row = by_cell
    start, cell, coef = by_row
    low, high, forced, price = cells
    total = 0.0
    for at in range(aims[0].size):
        own, side, level = aims[0][at], aims[1][at], aims[2][at]
        for entry in entries[first[own] : first[own + 1]]:
            begin, end = start[row[entry]], start[row[entry] + 1]
            asked = 1.0 - TOLERANCE / level - _SLACK
            for k in range(begin, end):
                if k != entry and forced[cell[k]]:
                    asked -= _room(-coef[k] / coef[entry], side, low, high, cell[k]) / level
            if not asked > _SLACK:
                continue
            most = np.inf
            for k in range(begin, end):
                if k != entry and not forced[cell[k]]:
                    room = _room(-coef[k] / coef[entry], side, low, high, cell[k])
                    share = min(room / (level * asked), 1.0)
                    if share > 0.0:
                        most = min(most, price[cell[k]] / share)
            # No cell in reach at all: the problem has no solution, which is said elsewhere.
            if most <= 0.0 or most == np.inf:
                continue
            total += most
            for k in range(begin, end):
                if k != entry and not forced[cell[k]]:
                    room = _room(-coef[k] / coef[entry], side, low, high, cell[k])
                    share = min(room / (level * asked), 1.0)
                    price[cell[k]] = max(0.0, price[cell[k]] - most * share)
    return total


@numba.njit(cache=True, nogil=True)
def _room(weight: float, side: int, low: Any, high: Any, at: int) -> float:
    """How much a cell can add to the move of another one, to one side or to both."""
    above: float = weight * high[at] if weight > 0.0 else weight * low[at]
    below: float = -weight * low[at] if weight > 0.0 else -weight * high[at]
    if side > 0:
        return above
    both: float = above + below
    return below if side < 0 else both
