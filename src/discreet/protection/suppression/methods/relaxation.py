"""`Relaxation` and quick bounds: what protection costs at least. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: the cheapest fractional pattern that fulfils all cuts found
so far, better with every round; its cost is a bound that no safe pattern is below, and how
much of each cell it hides guides the search. For problems of any size, the relations of
sensitive cells alone give a bound: prices are handed out among their demands, none twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cuts import (
    CuttingPlane,
    MovableCells,
    Separator,
    aims_of,
    bridge_cuts,
    movable_cells,
    relation_cuts,
)
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.unknowns import TOLERANCE, outer_bounds, unknowns_of
from discreet.solver import column_values, is_optimal, quiet_solver

#: Cells are taken as hidden by so much more, first by this, then by that.
_BLURS = (1e-2, 1e-4)
#: Cuts that were not tight for so many rounds are put aside.
_OLD = 12


class Relaxation(Confidential):
    """The linear program over all cuts found so far.

    A `SuppressionError` names the cells that cannot be protected, unless that is known to be
    possible, which saves a proof.
    """

    def __init__(self, problem: SuppressionProblem, *, possible: bool = False) -> None:
        import highspy

        self._highspy: Any = highspy
        self.problem = problem
        self.movable: MovableCells = movable_cells(problem, possible=possible)
        self.separator = Separator(self.movable)
        self.x: FloatArray = self.movable.forced.astype(np.float64)
        self.worth = np.zeros(len(self.movable))
        self.objective = self.proved = 0.0
        #: A bound from elsewhere.
        self.floor = 0
        self.rounds = 0
        self.complete = not len(self.separator.aims)
        self._blur = 0
        self._begun = False
        #: When the solver must stop, by the monotonic clock.
        self.until = math.inf
        self._rows: list[CuttingPlane] = []
        self._age: IntArray = np.zeros(0, dtype=np.int64)
        self._aside: list[CuttingPlane] = []
        number = len(self.movable)
        self._solver = quiet_solver()
        self._solver.addVars(number, self.x, np.ones(number))
        self._solver.changeColsCost(number, np.arange(number, dtype=np.int32), self.movable.cost)

    @property
    def bound(self) -> int:
        """No pattern that protects all sensitive cells costs less."""
        already = self.problem.cost_of(self.problem.hidden)
        return max(already + self.movable.whole(self.objective), self.floor)

    @property
    def cuts(self) -> list[CuttingPlane]:
        """All cuts found so far."""
        return [*self._rows, *self._aside]

    @property
    def guide(self) -> FloatArray:
        """How much of each cell of the problem the fractional pattern hides, 0 to 1."""
        guide = self.problem.hidden.astype(np.float64)
        guide[self.movable.unknowns.cells] = self.x
        return guide

    def improve(self, seconds: float) -> bool:
        """Look for cuts for a while; whether the bound, which holds, may still rise."""
        until = time.monotonic() + seconds
        while not self.complete and time.monotonic() < until:
            self.round(until)
        return not self.complete

    def round(self, until: float = math.inf) -> None:
        """Find violated cuts and solve the program with them."""
        self.rounds += 1
        self._begin()
        cuts = [cut for cut in self._aside if cut.missing(self.x) > 1e-6]
        cuts += bridge_cuts(self.movable, self.x)
        cuts += self.separator.cuts(self.x, _BLURS[self._blur], until)
        if self.add(cuts):
            self.solve()
        elif time.monotonic() < until and not self.separator.effort.spent:
            self._blur += 1
            self.complete = self._blur == len(_BLURS)
            self._blur = min(self._blur, len(_BLURS) - 1)

    def near(self, rounds: int, over: Callable[[], bool]) -> None:
        """Take in what single relations ask for, without any attack: quick at any size."""
        self._begin()
        for _ in range(rounds):
            late = over() or time.monotonic() > self.until
            if late or not self.add(bridge_cuts(self.movable, self.x)):
                break
            self.solve()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.add(relation_cuts(self.movable, self.separator.aims))
            self.solve()

    def add(self, cuts: Iterable[CuttingPlane]) -> int:
        """Take in cuts; how many were not there yet."""
        fresh = {cut.key: cut for cut in cuts}
        if fresh:  # all rows at once: one at a time, each would copy those before
            cells = np.concatenate([cut.cells for cut in fresh.values()]).astype(np.int32)
            self._solver.addRows(
                len(fresh),
                np.array([cut.least for cut in fresh.values()], dtype=np.float64),
                np.full(len(fresh), self._highspy.kHighsInf),
                cells.size,
                starts([cut.cells.size for cut in fresh.values()])[:-1].astype(np.int32),
                cells,
                np.concatenate([cut.coef for cut in fresh.values()]),
            )
        self._aside = [cut for cut in self._aside if cut.key not in fresh]
        self._rows += fresh.values()
        self._age = np.concatenate([self._age, np.zeros(len(fresh), dtype=np.int64)])
        return len(fresh)

    def solve(self) -> None:
        """Solve the program as it stands; anew, where going on from the last time fails."""
        if math.isfinite(self.until):
            left = max(0.1, self.until - time.monotonic())
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
        self._run()
        late = time.monotonic() > self.until
        if not is_optimal(self._solver) and not late:
            self._solver.clearSolver()
            self._run()
        if not is_optimal(self._solver) and late:
            return  # with the bound and the fractional pattern from before
        if not is_optimal(self._solver):
            message = "the solver found no cheapest fractional pattern"
            hint = "report this: hiding everything fulfils every cut"
            raise SuppressionError(message, code="solver", hint=hint)
        self.x = np.clip(column_values(self._solver), 0.0, 1.0)
        duals = np.array(self._solver.getSolution().row_dual, dtype=np.float64)
        weights = np.maximum(duals, 0.0)
        self._prove(weights)
        self._put_aside(weights)

    def _run(self) -> None:
        self._solver.run()
        self.separator.effort.count(self._solver, len(self._rows))

    def _prove(self, weights: FloatArray) -> None:
        """The bound that multipliers of the cuts prove, whatever the solver says."""
        rest = self.movable.cost.copy()
        total = 0.0
        for at in np.flatnonzero(weights):
            cut = self._rows[at]
            rest[cut.cells] -= weights[at] * cut.coef
            total += float(weights[at]) * cut.least
        free = ~self.movable.forced
        self.worth = rest
        self.proved = total + float(np.minimum(rest, 0.0)[free].sum() + rest[~free].sum())
        self.objective = max(self.objective, self.proved)

    def _put_aside(self, weights: FloatArray) -> None:
        """Take cuts out of the program that have not been tight for long."""
        self._age = np.where(weights > 0, 0, self._age + 1)
        old = np.flatnonzero(self._age > _OLD).astype(np.int32)
        if old.size < max(100, len(self._rows) // 3):
            return
        self._solver.deleteRows(old.size, old)
        gone = set(old.tolist())
        self._aside += [self._rows[at] for at in old]
        self._rows = [cut for at, cut in enumerate(self._rows) if at not in gone]
        self._age = np.delete(self._age, old)


#: With more cells that may be hidden, there is no linear program over them.
_MANY = 250_000
_ROUNDS = 12
#: Demands ask for so much less than they could, against rounding.
_SLACK = 1e-7
#: What rounding of sums of prices may amount to, relatively and in units.
_ROUNDING, _WHOLE = 1e-9, 1e-4


def single_relation_bounds(
    problem: SuppressionProblem, over: Callable[[], bool], until: float = math.inf
) -> Relaxation | None:
    """What single relations ask for, as a linear program; None if there are too many cells.

    Some pattern must be known to protect the cells of the problem.
    """
    if int((problem.state != CellState.fixed).sum()) > _MANY or over():
        return None
    relaxation = Relaxation(problem, possible=True)
    relaxation.until = until
    relaxation.floor = problem.cost_of(problem.hidden | always_hidden(problem))
    relaxation.near(_ROUNDS, over)
    return relaxation


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
