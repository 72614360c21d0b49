"""Quick bounds: what protection costs at least, by single relations alone. CONFIDENTIAL.

In: a `SuppressionProblem` of any size. Out: a cost that no safe pattern is below; from the
linear program over what single relations ask for or, where that would be too large, from
prices handed out among their demands, none twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.disclosure import TOLERANCE, outer_bounds
from discreet.kernels import compiled
from discreet.protection.suppression.methods.cut_program import CutProgram
from discreet.protection.suppression.methods.cuts import aims_of, movable_cells
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)

#: With more cells that may be hidden, there is no linear program over them.
_MANY = 250_000
_ROUNDS = 12
#: Demands ask for so much less than they could, against rounding.
_SLACK = 1e-7
#: What rounding of sums of prices may amount to, relatively and in units.
_ROUNDING, _WHOLE = 1e-9, 1e-4


def single_relation_bounds(
    problem: SuppressionProblem, over: Callable[[], bool], until: float = math.inf
) -> CutProgram | None:
    """What single relations ask for, as a linear program; None if there are too many cells.

    Some pattern must be known to protect the cells of the problem.
    """
    if int((problem.state != CellState.fixed).sum()) > _MANY or over():
        return None
    movable = movable_cells(problem)
    program = CutProgram(
        movable,
        aims_of(movable.unknowns),
        already=problem.cost_of(problem.hidden),
        floor=problem.cost_of(problem.hidden | always_hidden(problem)),
    )
    program.until = until
    program.near(_ROUNDS, over)
    return program


def lower_bound_of(problem: SuppressionProblem) -> int:
    """No pattern that protects all sensitive cells costs less; quick at any size."""
    near = single_relation_bounds(problem, lambda: False)
    return quick_lower_bound(problem) if near is None else near.bound


def always_hidden(problem: SuppressionProblem) -> BoolArray:
    """Totals that every safe pattern hides: published, they would fix a sensitive part.

    They are sums of cells none of which can be smaller than it is.
    """
    unknowns = unknowns_of(problem, problem.state != CellState.fixed)
    links, sensitive = unknowns.relations, unknowns.sensitive
    least = outer_bounds(unknowns)[0] > -TOLERANCE
    mask = np.zeros(len(problem), dtype=np.bool_)
    part = links.coef == 1
    totals = np.bincount(links.row[links.coef == -1], minlength=len(links))
    rest = np.bincount(links.row[~part & (links.coef != -1)], minlength=len(links))
    movable = np.bincount(links.row[part & ~least[links.cell]], minlength=len(links))
    rows = (totals == 1) & (rest == 0) & (movable == 0)
    fixing = sensitive & least
    while True:
        hit = np.bincount(links.row[part & fixing[links.cell]], minlength=len(links)) > 0
        fresh = np.zeros(len(unknowns), dtype=np.bool_)
        fresh[links.totals[hit & rows]] = True
        if not (fresh & ~fixing).any():
            break
        fixing |= fresh
    mask[unknowns.cells[fixing]] = True
    return mask


def quick_lower_bound(problem: SuppressionProblem) -> int:
    """A whole cost that no pattern is below that protects all sensitive cells."""
    unknowns = unknowns_of(problem, problem.state != CellState.fixed)
    low, high = outer_bounds(unknowns)
    always = problem.hidden | always_hidden(problem)
    forced = always[unknowns.cells]
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
    return problem.cost_of(always) + max(0, above)


@compiled
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
            needed = 1.0 - TOLERANCE / level - _SLACK
            for k in range(begin, end):
                if k != entry and forced[cell[k]]:
                    needed -= _room(-coef[k] / coef[entry], side, low, high, cell[k]) / level
            if not needed > _SLACK:
                continue
            most = np.inf
            for k in range(begin, end):
                if k != entry and not forced[cell[k]]:
                    room = _room(-coef[k] / coef[entry], side, low, high, cell[k])
                    share = min(room / (level * needed), 1.0)
                    if share > 0.0:
                        most = min(most, price[cell[k]] / share)
            # No cell in reach at all: the problem has no solution, which is said elsewhere.
            if most <= 0.0 or most == np.inf:
                continue
            total += most
            for k in range(begin, end):
                if k != entry and not forced[cell[k]]:
                    room = _room(-coef[k] / coef[entry], side, low, high, cell[k])
                    share = min(room / (level * needed), 1.0)
                    price[cell[k]] = max(0.0, price[cell[k]] - most * share)
    return total


@compiled
def _room(weight: float, side: int, low: Any, high: Any, at: int) -> float:
    """How much a cell can add to the move of another one, to one side or to both."""
    above: float = weight * high[at] if weight > 0.0 else weight * low[at]
    below: float = -weight * low[at] if weight > 0.0 else -weight * high[at]
    if side > 0:
        return above
    both: float = above + below
    return below if side < 0 else both
