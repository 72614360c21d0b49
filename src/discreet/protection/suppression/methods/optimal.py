"""The method `optimal`: the cheapest pattern that protects all cells, proven. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a certified `Pattern` with a bound; cost and bound are equal
unless a time limit strikes first. Cuts from attacks on fractional patterns raise the bound,
`Branching` solves the 0/1 program over all cuts for whole patterns, and `GuidedSearch`
completes fractional ones: flows where they point to, then pruning.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cuts import (
    BLURS,
    Aims,
    CuttingPlane,
    MovableCells,
    ReachingMove,
    Separator,
)
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.relaxation import Relaxation
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import TOLERANCE
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certified,
    certify,
)
from discreet.protection.suppression.proof.patches import SolverEffort
from discreet.solver import (
    column_values,
    is_optimal,
    loaded_solver,
    quiet_solver,
)

#: Cells move by at most so many levels; if that is too little, by as many as they can.
_NARROW = 1.0
_WIDE = 2.0**16
#: Moves of at most so much of a level are rounding.
_STILL = 1e-7
#: What a cell costs that the relaxation hides in full, as a share of its cost.
_LEAST = 0.02
#: What a search for a way takes at least, in steps of the solver, and for each variable.
_LEAST_MOVE, _COLUMN = 25_000.0, 10.0
#: What moving a hidden cell costs, so that ways need few cells.
_HIDDEN = 1e-3


class CheapestMoves:
    """Every movable cell as two variables, up and down, of one warm linear program."""

    def __init__(self, movable: MovableCells, effort: SolverEffort) -> None:
        self.movable, self._effort = movable, effort
        links, number = movable.unknowns.relations, len(movable)
        self._cost, self._room = np.zeros(2 * number), np.zeros(2 * number)
        self._asked = -1
        both = np.concatenate([links.cell.astype(np.int64), links.cell + np.int64(number)])
        coef = np.concatenate([links.coef, -links.coef])
        order = np.argsort(np.concatenate([links.row, links.row]), kind="stable")
        still = np.zeros(2 * number)
        self._solver = loaded_solver((2 * links.start, both[order], coef[order]), still, still)

    def way(self, aims: Aims, at: int, price: FloatArray) -> ReachingMove | None:
        """The cheapest way to reach an aim; None if there is none.

        The price of a cell is what moving it by all it can costs; infinite for published ones.
        """
        shown = ~np.isfinite(price)
        price = np.where(shown, 0.0, price)
        farthest = np.concatenate([self.movable.high, -self.movable.low]) / aims.level[at]
        for even, most in ((True, _NARROW), (True, _WIDE), (False, _WIDE)):
            room = np.minimum(farthest, most)
            moved = self._moved(aims, at, price, np.where(np.tile(shown, 2), 0.0, room), even)
            if moved is not None:
                break
        else:
            return None
        number = len(self.movable)
        need = np.divide(moved, room, out=np.zeros(2 * number), where=moved > _STILL)
        need = np.maximum(need[:number], need[number:])
        need[self.movable.forced] = 0.0
        return ReachingMove.of(need)

    def _moved(
        self, aims: Aims, at: int, price: FloatArray, room: FloatArray, even: bool
    ) -> FloatArray | None:
        """How far each cell moves up and down, in levels."""
        number, cell, side = len(self.movable), int(aims.cell[at]), int(aims.side[at])
        own = (cell, cell + number)
        cost = np.concatenate([price, price]) / np.clip(room, 1e-6, 1.0)
        up = 1.0 if side > 0 else 0.0
        if not side:
            # An interval as wide as asked for, as even as the bounds of the cell let it move, or,
            # where its relations do not, as these do.
            high, low = (room[c] if even else self._reach(room, own, c) for c in own)
            if high + low < 1.0 - TOLERANCE:
                return None
            up = min(high, max(0.5, 1.0 - low))
        farthest = np.zeros(2 * number)
        for column, goal in zip(own, (up, 1.0 - up), strict=True):
            if goal > 0:
                moves = self._solved(cost, room, own, column, (goal, goal))
                if moves is None:
                    return None
                both = np.minimum(moves[:number], moves[number:])
                np.maximum(farthest, moves - np.tile(both, 2), out=farthest)
        return farthest

    def _reach(self, room: FloatArray, own: tuple[int, int], column: int) -> float:
        """How far a cell can move to one side, in levels."""
        cost = np.zeros(room.size)
        cost[column] = -1.0
        moves = self._solved(cost, room, own, column, (0.0, float(room[column])))
        return 0.0 if moves is None else float(moves[column])

    def _solved(
        self,
        cost: FloatArray,
        room: FloatArray,
        own: tuple[int, int],
        column: int,
        goal: tuple[float, float],
    ) -> FloatArray | None:
        high = room.copy()
        high[list(own)] = 0.0
        high[column] = goal[1]
        wider = np.flatnonzero(high != self._room).astype(np.int32)
        if wider.size:
            self._solver.changeColsBounds(wider.size, wider, np.zeros(wider.size), high[wider])
            self._room = high
        if self._asked >= 0:
            self._solver.changeColBounds(self._asked, 0.0, float(high[self._asked]))
        self._solver.changeColBounds(column, *goal)
        self._asked = column
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, cost[changed])
            self._cost = cost
        self._solver.run()
        rows = len(self.movable.unknowns.relations)
        self._effort.count(self._solver, rows, max(_LEAST_MOVE, _COLUMN * room.size))
        return column_values(self._solver) if is_optimal(self._solver) else None


class GuidedSearch:
    """The search for good patterns; keeps a way to reach each aim, for the separator too."""

    def __init__(self, separator: Separator) -> None:
        self._separator = separator
        self.movable = movable = separator.movable
        self.aims = aims = separator.aims
        self._effort = separator.effort
        self._moves = CheapestMoves(movable, self._effort)
        self._ways: list[ReachingMove | None] = [None] * len(aims)
        self._needing: list[set[int]] = [set() for _ in range(len(movable))]

    def pattern(self, x: FloatArray, start: BoolArray, until: float) -> BoolArray | None:
        """A pattern that hides some cells and what else every aim needs, without idle cells.

        Cells are cheaper the more of them, `x`, the relaxation hides. None if time is up or
        work comes to its end.
        """
        hidden = start | self.movable.forced
        price = self.movable.cost * np.maximum(1.0 - x, _LEAST)
        for at in range(len(self.aims)):
            if time.monotonic() > until or self._effort.spent:
                return None
            way = self._ways[at]
            if way is None or not hidden[way.cells].all():
                way = self._moves.way(self.aims, at, np.where(hidden, _HIDDEN * price, price))
                if way is None:
                    message = "the solver found no way to move a sensitive cell"
                    hint = "report this: hiding every cell protects it"
                    raise SuppressionError(message, code="solver", hint=hint)
                self._keep(at, way)
                hidden[way.cells] = True
        return self._pruned(hidden, until)

    def _keep(self, at: int, way: ReachingMove) -> None:
        old = self._ways[at]
        for cell in old.cells.tolist() if old is not None else ():
            self._needing[cell].discard(at)
        for cell in way.cells.tolist():
            self._needing[cell].add(at)
        self._ways[at] = way
        self._separator.learn(at, way)

    def _pruned(self, hidden: BoolArray, until: float) -> BoolArray:
        """The pattern without the cells that no aim needs, dearest first."""
        cells = np.flatnonzero(hidden)
        among = self.movable.part(hidden)
        moves = CheapestMoves(among, self._effort)
        place = np.cumsum(hidden) - 1
        aims = Aims(cell=place[self.aims.cell], side=self.aims.side, level=self.aims.level)
        left = np.ones(len(cells), dtype=np.bool_)
        extra = np.flatnonzero(~among.forced)
        for cell in extra[np.argsort(-among.cost[extra], kind="stable")]:
            if time.monotonic() > until or self._effort.spent:
                break
            left[cell] = False
            price = np.where(left, among.cost, np.inf)
            for at in sorted(self._needing[cells[cell]]):
                way = moves.way(aims, at, price)
                if way is None:
                    left[cell] = True
                    break
                self._keep(at, ReachingMove(cells[way.cells], way.need))
        needed = np.zeros(len(hidden), dtype=np.bool_)
        needed[cells[left]] = True
        return needed


#: Costs are whole: a bound so near below a cost has met it.
_MET = 0.5
#: Reduced costs are compared with this tolerance.
_NEAR = 1e-3
#: Iterations of the solver between two times that it asks whether to go on, about, and how
#: many cuts each of them counts for at least on 0/1 programs.
_ASKED, _ITERATION = 60, 1_000


class Branching:
    """The search for the cheapest pattern; a round gives up at so many nodes, if any."""

    def __init__(self, relaxation: Relaxation, nodes: int | None = None) -> None:
        import highspy

        self._highspy: Any = highspy
        self.relaxation = relaxation
        self.movable = relaxation.movable
        self.separator = relaxation.separator
        self.guide = GuidedSearch(self.separator)
        #: Hiding everything is safe: that is checked before there are movable cells.
        self.best: BoolArray = np.ones(len(self.movable), dtype=np.bool_)
        self.cost = self.movable.paid(self.best)
        self._proof: Certificate | None = None
        self.bound = 0.0
        self.rounds = 0
        self.effort = self.separator.effort
        self._nodes = nodes

    @property
    def proven(self) -> bool:
        """Whether no pattern is cheaper than the best one found."""
        return self.movable.whole(max(self.bound, self.relaxation.objective)) >= self.cost

    @property
    def gap(self) -> float:
        """By how much the best pattern is dearer than what is proven."""
        return self.cost - max(self.bound, self.relaxation.objective)

    @property
    def _proven_bound(self) -> int:
        """No pattern costs less."""
        problem = self.relaxation.problem
        branched = problem.cost_of(problem.hidden) + self.movable.whole(self.bound)
        return max(self.relaxation.bound, branched)

    @property
    def standing(self) -> str:
        """The best cost and the bound, in words."""
        problem = self.relaxation.problem
        best = problem.cost_of(problem.hidden) + self.cost
        return f"best {best:,}, bound {self._proven_bound:,}"

    def pattern(self, method: str, **known: Any) -> Pattern:
        """The best pattern, certified; `known` are other fields of it."""
        problem = self.relaxation.problem
        hidden = self.movable.hidden(problem, self.best)
        cost = problem.cost_of(hidden)
        bound = cost if self.proven else min(self._proven_bound, cost)
        return certified(problem, hidden, method, certificate=self._proof, bound=bound, **known)

    def complete(self, start: BoolArray, until: float) -> None:
        """Complete cells to a pattern, and keep it if it is the best."""
        pattern = self.guide.pattern(self.relaxation.x, start, until)
        if pattern is not None:
            self.keep(pattern)

    def keep(self, chosen: BoolArray, proof: Certificate | None = None) -> bool:
        """Keep a pattern that is cheaper than the best one and certified; a proof may be given."""
        cheaper = self.movable.cost[chosen].sum() < self.movable.cost[self.best].sum()
        if not cheaper:
            return False
        if proof is None or len(proof.unprotected):
            proof = self._certificate(chosen)
        if len(proof.unprotected):
            return False
        self.best, self.cost, self._proof = chosen, self.movable.paid(chosen), proof
        return True

    def _certificate(self, chosen: BoolArray) -> Certificate:
        problem = self.relaxation.problem
        return certify(problem, self.movable.hidden(problem, chosen))

    def round(self, until: float) -> bool:
        """Solve the 0/1 program, then look for cuts that its solution violates.

        Returns:
            Whether it came to something; if not, it is proven, or its limits struck.
        """
        self.rounds += 1
        solution = self._solved(until)
        if solution is None:
            return False
        cuts = self._cuts_at(solution, until)
        if not cuts and self.effort.spent:
            self.keep(solution)
            return False
        if not cuts and len(self._certificate(solution).unprotected):
            cuts = self._last_cuts(solution)
        if cuts:
            self.relaxation.add(cuts)
            self.complete(solution, until)
        else:
            self.keep(solution)
        return True

    def _cuts_at(self, chosen: BoolArray, until: float) -> list[CuttingPlane]:
        x = chosen.astype(np.float64)
        for blur in BLURS:
            cuts = self.separator.cuts(x, blur, until)
            if cuts:
                return cuts
        return []

    def _last_cuts(self, chosen: BoolArray) -> list[CuttingPlane]:
        """Cuts for a pattern that is not safe though small moves do not show it."""
        x = chosen.astype(np.float64)
        cuts = self.separator.last_cuts(x)
        if cuts:
            return cuts
        # Hiding less is no safer: at least one more cell must be hidden.
        cells = np.flatnonzero(~chosen).astype(np.int64)
        return [CuttingPlane(cells=cells, coef=np.ones(cells.size))]

    def _solved(self, until: float) -> BoolArray | None:
        """A cheapest pattern that fulfils all cuts and is cheaper than the best; or none."""
        solver = self._loaded(until)
        solver.run()
        status, known = solver.getModelStatus(), solver.getInfo()
        statuses = self._highspy.HighsModelStatus
        self.effort.count(solver, self._each)
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            self.bound = self.movable.below(self.cost) + 1.0
            return None
        ended = (statuses.kTimeLimit, statuses.kSolutionLimit, statuses.kInterrupt)
        if status not in (statuses.kOptimal, *ended):
            message = "the solver could not decide on a cheapest pattern"
            raise SuppressionError(
                message, code="solver", hint="report this, or use the method auto"
            )
        self.bound = max(
            self.bound, min(float(known.mip_dual_bound), self.cost + self.movable.tiny)
        )
        late = status in (statuses.kTimeLimit, statuses.kInterrupt)
        if late or not math.isfinite(known.objective_function_value):
            return None
        return column_values(solver) > 0.5

    def _loaded(self, until: float) -> Any:
        solver = quiet_solver(
            mip_rel_gap=0.0,
            mip_abs_gap=_MET,
            mip_feasibility_tolerance=1e-9,
            time_limit=max(0.1, min(until - time.monotonic(), 1e9)),
        )
        if self._nodes is not None:
            solver.setOptionValue("mip_max_nodes", self._nodes)
        if math.isfinite(self.effort.end):
            self._interrupt_when_spent(solver)
        number = len(self.movable)
        low, high = self._ranges()
        solver.addVars(number, low, high)
        every = np.arange(number, dtype=np.int32)
        solver.changeColsCost(number, every, self.movable.cost)
        kinds = np.full(number, self._highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(number, every, kinds)
        for cut in self.relaxation.cuts:
            cells = cut.cells.astype(np.int32)
            solver.addRow(cut.least, self._highspy.kHighsInf, cells.size, cells, cut.coef)
        paid = np.flatnonzero(self.movable.cost).astype(np.int32)
        most, prices = self.movable.below(self.cost), self.movable.cost[paid]
        solver.addRow(-self._highspy.kHighsInf, most, paid.size, paid, prices)
        return solver

    @property
    def _each(self) -> int:
        """How many steps an iteration on the 0/1 program counts for."""
        return max(_ITERATION, len(self.relaxation.cuts))

    def _interrupt_when_spent(self, solver: Any) -> None:
        """Let the solver, which tells its steps in the end only, count how often it asks."""
        left, step = self.effort.end - self.effort.steps, _ASKED * self._each

        def asked(event: Any) -> None:
            nonlocal left
            left -= step
            if left < 0:
                event.interrupt()

        solver.cbMipInterrupt.subscribe(asked)

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Cells whose hiding or showing alone makes a pattern too dear are settled."""
        low, high = self.movable.forced.astype(np.float64), np.ones(len(self.movable))
        room = self.movable.below(self.cost) - self.relaxation.proved + _NEAR
        high[(self.relaxation.worth > room) & ~self.movable.forced] = 0.0
        low[self.relaxation.worth < -room] = 1.0
        return low, high


#: Patterns are looked for after so many rounds of cuts.
_PAUSE = 5
#: With more cells that may be hidden, the method `fast` finds the first pattern.
_SMALL = 5_000
#: Cells that the relaxation hides by more are hidden.
_SURE = 0.9


def protect_optimal(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Hide cells so that all sensitive ones are protected, at the lowest cost.

    When time is up the best pattern found so far is returned, with `complete=False` and the
    bound that is proven. Only the first pattern of large problems is drawn.
    """
    watch = watch or WorkTime()
    search = _begun(problem, watch, seed)
    relaxation = search.relaxation
    while not relaxation.complete and not search.proven and not watch.over():
        relaxation.round(watch.until)
        if relaxation.rounds % _PAUSE == 0 or relaxation.complete:
            search.complete(relaxation.x > _SURE, watch.until)
            watch.tell(_line(search))
    while not search.proven and not watch.over():
        search.round(watch.until)
        watch.tell(_line(search))
    return search.pattern("optimal", complete=search.proven, seconds=watch.seconds)


def _begun(problem: SuppressionProblem, watch: WorkTime, seed: int) -> Branching:
    """The search with a first pattern."""
    if int((problem.state != CellState.fixed).sum()) <= _SMALL:
        search = Branching(Relaxation(problem))
        search.complete(search.movable.forced, math.inf)
        return search
    first = protect_fast(problem, watch, seed)
    search = Branching(Relaxation(problem, possible=first.safe))
    search.keep(first.hidden[search.movable.unknowns.cells])
    return search


def _line(search: Branching) -> str:
    cuts = len(search.relaxation.cuts)
    return f"{search.standing}, {cuts:,} cuts, {search.rounds:,} branchings"
