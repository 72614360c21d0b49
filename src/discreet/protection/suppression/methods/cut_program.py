"""`CutProgram`: the cheapest pattern that fulfils all cuts found so far. CONFIDENTIAL.

In: movable cells and aims. Out: a pattern in parts (how much of each cell is hidden), which
guides the search, or a whole one, and a bound that no safe pattern is below. One model of the
solver takes in cuts for good: first those of single relations, which need no attack, then those
that attacks on its own answers give. All work is counted in steps of the solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, starts
from discreet.confidential import Confidential
from discreet.disclosure import TOLERANCE, outer_bounds
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cuts import (
    WIDE,
    Aims,
    CuttingPlane,
    MovableCells,
    Separator,
    aims_of,
    bridge_cuts,
    movable_cells,
    relation_cuts,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.solver import column_values, is_optimal, quiet_solver

#: Cells are taken as hidden by so much more: in parts first by this, then by that; in whole
#: patterns, too, and in the end by nothing.
_BLURS, _WHOLE_BLURS = (1e-2, 1e-4), (1e-2, 1e-3, 0.0)
#: Reduced costs are compared with this tolerance; a bound so near below a cost has met it.
_NEAR, _MET = 1e-3, 0.5
#: Iterations of the solver between two times that it asks whether to go on, about, and how
#: many cuts each of them counts for at least on whole programs.
_ASKED, _ITERATION = 60, 1_000
#: What a run of the solver takes at least.
_RUN = 25_000.0
#: Rounds in which the cheapest cells of cuts are added to a whole pattern.
_COMPLETIONS = 12


class CutProgram(Confidential):
    """The linear and the 0/1 program over all cuts found so far."""

    def __init__(
        self, movable: MovableCells, aims: Aims, *, already: int = 0, floor: int = 0
    ) -> None:
        import highspy

        self._highspy: Any = highspy
        self.movable = movable
        self.separator = Separator(movable, aims)
        self.x: FloatArray = movable.forced.astype(np.float64)
        self.already, self._floor = already, floor
        self._worth = np.zeros(len(movable))
        self._proved = 0.0
        #: The best bounds of the linear and the 0/1 program, tiny costs included.
        self.objective = self.branched = 0.0
        self.rounds = self.branchings = 0
        #: Whether attacks on the pattern in parts give no more cuts.
        self.complete = not len(aims)
        #: Whole patterns that the last branching passed by, each cheaper than the one before.
        self.passed: list[BoolArray] = []
        #: When the solver must stop, by the monotonic clock.
        self.until = math.inf
        self._blur = 0
        self._begun = self._bridged = False
        self._rows: list[CuttingPlane] = []
        number = len(movable)
        self._every = np.arange(number, dtype=np.int32)
        self._solver = quiet_solver(
            mip_rel_gap=0.0,
            mip_abs_gap=_MET,
            mip_feasibility_tolerance=1e-9,
            mip_pscost_minreliable=2,
        )
        self._solver.addVars(number, self.x, np.ones(number))
        self._solver.changeColsCost(number, self._every, movable.cost)

    @property
    def least(self) -> float:
        """No pattern costs less, tiny costs included."""
        return max(self.objective, self.branched)

    @property
    def bound(self) -> int:
        """No pattern that protects all sensitive cells costs less."""
        return max(self.already + self.movable.whole(self.least), self._floor)

    @property
    def late(self) -> bool:
        """Whether time or work has come to its end."""
        return self.separator.effort.spent or time.monotonic() > self.until

    @property
    def number(self) -> int:
        """Number of cuts."""
        return len(self._rows)

    # -- in parts -----------------------------------------------------------------

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

    def watch(self, aims: Aims) -> None:
        """Take in more aims, with what single relations ask for them."""
        effort = self.separator.effort
        self.separator = Separator(self.movable, self.separator.aims.joined(aims))
        self.separator.effort, self.complete, self._blur = effort, False, 0
        self.add(relation_cuts(self.movable, aims))

    def round(self) -> None:
        """Find violated cuts and solve the linear program with them."""
        self.rounds += 1
        self._begin()
        cuts = bridge_cuts(self.movable, self.x)
        cuts += self.separator.cuts(self.x, _BLURS[self._blur], self.until)
        if self.add(cuts):
            self.solve()
        elif not self.late:
            self._blur += 1
            self.complete = self._blur == len(_BLURS)
            self._blur = min(self._blur, len(_BLURS) - 1)

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
        self._rows += fresh.values()
        return len(fresh)

    def solve(self) -> None:
        """Solve the linear program as it stands; anew, where going on from the last fails."""
        self._run()
        if not is_optimal(self._solver) and time.monotonic() <= self.until:
            self._solver.clearSolver()
            self._run()
        if not is_optimal(self._solver):
            if time.monotonic() > self.until:
                return  # with the bound and the pattern from before
            message = "the solver found no cheapest fractional pattern"
            hint = "report this: hiding everything fulfils every cut"
            raise SuppressionError(message, code="solver", hint=hint)
        self.x = np.clip(column_values(self._solver), 0.0, 1.0)
        duals = np.array(self._solver.getSolution().row_dual, dtype=np.float64)
        self._prove(np.maximum(duals, 0.0))

    def _run(self, least: int = 0) -> None:
        if math.isfinite(self.until):
            left = max(0.1, self.until - time.monotonic())
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
        self._solver.run()
        self.separator.effort.count(self._solver, max(least, len(self._rows)), _RUN)

    def _prove(self, weights: FloatArray) -> None:
        """The bound that multipliers of the cuts prove, whatever the solver says."""
        rest, total = self.movable.cost.copy(), 0.0
        for at in np.flatnonzero(weights):
            cut = self._rows[at]
            rest[cut.cells] -= weights[at] * cut.coef
            total += float(weights[at]) * cut.least
        free = ~self.movable.forced
        self._worth = rest
        self._proved = total + float(np.minimum(rest, 0.0)[free].sum() + rest[~free].sum())
        self.objective = max(self.objective, self._proved)

    # -- whole --------------------------------------------------------------------

    def branch(self, cost: int, nodes: int | None = None) -> BoolArray | None:
        """A cheapest whole pattern that fulfils all cuts, of those that cost less than this.

        None if there is none, which raises the bound, or if it gave up.
        """
        self.branchings += 1
        self.passed = []
        self._begin()
        if not self._bridged:
            self._bridged = True
            self.add(bridge_cuts(self.movable))
        kinds = self._highspy.HighsVarType
        number, most = len(self.movable), self.movable.below(cost)
        # Cells whose hiding or showing alone makes a pattern too dear are settled.
        free, room = ~self.movable.forced, most - self._proved + _NEAR
        low = np.where(self._worth < -room, 1.0, self.movable.forced.astype(np.float64))
        high = np.where((self._worth > room) & free, 0.0, 1.0)
        self._solver.changeColsBounds(number, self._every, low, high)
        self._solver.changeColsIntegrality(number, self._every, np.full(number, kinds.kInteger))
        paid = np.flatnonzero(self.movable.cost).astype(np.int32)
        below = -self._highspy.kHighsInf
        self._solver.addRow(below, most, paid.size, paid, self.movable.cost[paid])
        self._solver.setOptionValue("mip_max_nodes", nodes or self._highspy.kHighsIInf)
        each = max(_ITERATION, len(self._rows))
        left = self.separator.effort.end - self.separator.effort.steps

        def asked(event: Any) -> None:
            nonlocal left  # the solver tells its steps in the end only: count how often it asks
            left -= _ASKED * each
            event.interrupt(left < 0)

        def better(event: Any) -> None:
            self.passed.append(np.array(event.data_out.mip_solution) > 0.5)

        self._solver.cbMipInterrupt.subscribe(asked)
        self._solver.cbMipImprovingSolution.subscribe(better)
        try:
            self._run(each)
        finally:
            self._solver.cbMipInterrupt.unsubscribe(asked)
            self._solver.cbMipImprovingSolution.unsubscribe(better)
        status, known = self._solver.getModelStatus(), self._solver.getInfo()
        statuses = self._highspy.HighsModelStatus
        solution = None
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            self.branched = max(self.branched, most + 1.0)
        elif status in (statuses.kOptimal, statuses.kTimeLimit, statuses.kSolutionLimit,
                        statuses.kInterrupt):  # fmt: skip
            self.branched = max(self.branched, min(float(known.mip_dual_bound), most + 1.0))
            late = status in (statuses.kTimeLimit, statuses.kInterrupt)
            if not late and math.isfinite(known.objective_function_value):
                solution = column_values(self._solver) > 0.5
        else:
            message = "the solver could not decide on a cheapest pattern"
            hint = "report this, or use the method auto"
            raise SuppressionError(message, code="solver", hint=hint)
        self._solver.deleteRows(1, np.array([len(self._rows)], dtype=np.int32))
        self._solver.changeColsIntegrality(number, self._every, np.full(number, kinds.kContinuous))
        still = self.movable.forced.astype(np.float64)
        self._solver.changeColsBounds(number, self._every, still, np.ones(number))
        return solution

    def cuts_at(self, chosen: BoolArray) -> list[CuttingPlane]:
        """Cuts that a whole pattern violates; none if it is safe, as far as attacks show."""
        x = chosen.astype(np.float64)
        cuts: list[CuttingPlane] = []
        for blur in _WHOLE_BLURS:
            cuts = cuts or self.separator.cuts(x, blur, self.until)
        return cuts or self.separator.cuts(x, 0.0, self.until, WIDE)

    def completed(self, chosen: BoolArray, cuts: list[CuttingPlane], cost: int) -> BoolArray | None:
        """A whole pattern with the cheapest cells of all cuts hidden that it misses, if safe.

        Cuts found on the way are taken in. None if it does not cost less than this.
        """
        chosen = chosen.copy()
        for _ in range(_COMPLETIONS):
            for cut in cuts:
                gain = np.where(chosen[cut.cells], 0.0, cut.coef)
                while cut.missing(chosen.astype(np.float64)) > 1e-6 and gain.max(initial=0.0) > 0:
                    at = int(np.argmax(gain / self.movable.cost[cut.cells]))
                    chosen[cut.cells[at]], gain[at] = True, 0.0
            if self.late or self.movable.paid(chosen) >= cost:
                return None
            cuts = self.cuts_at(chosen)
            if not cuts:
                return None if self.late else chosen
            self.add(cuts)
        return None


# -- quick bounds ------------------------------------------------------------------------

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
        floor=quick_lower_bound(problem),
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
    always = problem.hidden | always_hidden(problem)
    movable = movable_cells(problem, always)
    price, total = movable.cost.copy(), 0.0
    for cut in relation_cuts(movable, aims_of(movable.unknowns)):
        charged = float((price[cut.cells] / cut.coef).min())
        price[cut.cells] = np.maximum(price[cut.cells] - charged * cut.coef, 0.0)
        total += charged
    return problem.cost_of(always) + movable.whole(total * (1.0 - _ROUNDING))
