"""Quick bounds: what protection costs at least, by single relations alone. CONFIDENTIAL.

In: a `SuppressionProblem` of any size. Out: a cost that no safe pattern is below; from the
linear program over what single relations ask for or, where that would be too large, from
prices handed out among their demands, none twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import BoolArray
from discreet.disclosure import TOLERANCE, outer_bounds
from discreet.protection.suppression.methods.cut_program import CutProgram
from discreet.protection.suppression.methods.cuts import (
    MovableCells,
    aims_of,
    movable_cells,
    relation_cuts,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)

#: With more cells that may be hidden, there is no linear program over them.
_MANY = 250_000
_ROUNDS = 12
#: What rounding of sums of prices may amount to, relatively.
_ROUNDING = 1e-9


def single_relation_bounds(
    problem: SuppressionProblem, over: Callable[[], bool], until: float = math.inf
) -> CutProgram | None:
    """Lower bounds from single relations, as a linear program; None for too many cells.

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
    """A whole cost that no pattern is below that protects all sensitive cells.

    Each demand of a single relation is charged what its cheapest way costs, and uses up prices.
    """
    known = unknowns_of(problem, problem.state != CellState.fixed)
    always = problem.hidden | always_hidden(problem)
    cost = problem.cost[known.cells].astype(np.float64)
    movable, _ = MovableCells.of(known, known.cells, always[known.cells], cost)
    price, total = movable.cost.copy(), 0.0
    for cut in relation_cuts(movable, aims_of(movable.unknowns)):
        charged = float((price[cut.cells] / cut.coef).min())
        price[cut.cells] = np.maximum(price[cut.cells] - charged * cut.coef, 0.0)
        total += charged
    return problem.cost_of(always) + movable.whole(total * (1.0 - _ROUNDING))
