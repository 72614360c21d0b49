"""Moves: which way each sensitive figure goes, and what others must do so that sums stay sums.

In: a system of cells, how far the sensitive ones must move, and what a change costs (CONFIDENTIAL).
Out: whole moves that keep every relation, at little cost, with a bound that no moves beat. Once the
directions are chosen, the cheapest moves are a linear program; directions are chosen by an integer
program where they are few, else turned one by one while that makes moves cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.errors import AdjustmentError
from discreet.protection.suppression import Relations, make_whole
from discreet.solver import column_values, is_optimal, loaded_solver

#: So many directions are searched together; more are turned one by one.
_TOGETHER = 24
#: So many are tried in a round, those first whose distance costs most.
_TRIED = 300
#: Branches of the solver: the same on every machine, as a time limit would not be.
_NODES, _WHOLE_NODES = 4_000, 2_000
#: What a unit costs that a sensitive figure lacks, over the dearest change: never paid in the end.
_LACKING = 1e4
_TOLERANCE = 1e-6
#: Costs are a billionth apart where they are rounding of doubles.
_SAME = 1e-9


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MoveProblem(Confidential):
    """Limits of the movement of cells, in units. CONFIDENTIAL."""

    relations: Relations
    sensitive: IntArray  # numbers of the sensitive cells
    up: IntArray  # of each of them: how far it moves at least if it goes up
    down: IntArray  # if it goes down
    most_up: IntArray  # of every cell: how far up it may go
    most_down: IntArray  # how far down
    weight: FloatArray  # of every cell: what a unit costs

    def turned(self, kept: BoolArray, change: IntArray) -> MoveProblem:
        """A copy in which sensitive cells that are not kept move the other way, if they can."""
        most_up, most_down = self.most_up.copy(), self.most_down.copy()
        cells = self.sensitive
        up = change[cells] > 0
        can = np.where(up, most_down[cells] >= self.down, most_up[cells] >= self.up) & ~kept
        most_up[cells[up & can]] = most_down[cells[~up & can]] = 0
        return replace(self, most_up=most_up, most_down=most_down)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Moves(Confidential):
    """Movement of every cell. CONFIDENTIAL."""

    change: IntArray  # of every cell, in units
    cost: float
    bound: float  # no moves are cheaper
    complete: bool  # whether nothing cheaper is left to be found


def best_moves(problem: MoveProblem, rounds: int) -> Moves:
    """Moves that protect every sensitive cell, as cheap as they are found.

    Raises:
        AdjustmentError: If no moves protect every sensitive cell.
    """
    can_up = problem.most_up[problem.sensitive] >= problem.up
    can_down = problem.most_down[problem.sensitive] >= problem.down
    if not (can_up | can_down).all():
        raise _without_moves(int((~(can_up | can_down)).sum()))
    program = _MoveProgram(problem, can_up, can_down)
    free = can_up & can_down
    bound = program.bound()
    goes_up = np.where(free, _balanced(problem), can_up)
    cost = program.cost_of(goes_up)
    complete = not free.any()
    if free.sum() <= _TOGETHER:
        goes_up, cost, proven, complete = program.better(goes_up, cost, free, _NODES)
        bound = max(bound, proven)
    else:
        for _ in range(rounds):
            before = cost
            dearest = np.argsort(-program.prices(goes_up), kind="stable")
            for at in dearest[free[dearest]][:_TRIED].tolist():
                goes_up[at] = not goes_up[at]
                turned = program.cost_of(goes_up)
                if turned < cost * (1.0 - _SAME):
                    cost = turned
                else:
                    goes_up[at] = not goes_up[at]
            if cost == before:
                break
    if program.lacks(goes_up):  # one turn at a time does not find the way out
        goes_up, cost, proven, complete = program.better(goes_up, np.inf, free, 10 * _NODES)
        bound = max(bound, proven)
        if lacking := program.lacks(goes_up):
            raise _without_moves(lacking)
    change = program.whole_moves(goes_up)
    cost = float((np.abs(change) * problem.weight).sum())
    bound = min(bound * program.unit, cost)
    return Moves(change=change, cost=cost, bound=bound, complete=complete)


def _without_moves(number: int) -> AdjustmentError:
    message = f"{number:,} sensitive values cannot move far enough in an additive table"
    hint = "fix fewer totals, allow larger changes, or use suppression"
    return AdjustmentError(message, code="moves", hint=hint)


def _balanced(problem: MoveProblem) -> BoolArray:
    """Directions to begin with: each cell goes where it makes up for those before it."""
    links, (first, entry) = problem.relations, problem.relations.by_cell
    lean = np.zeros(len(links))
    goes_up = np.zeros(len(problem.sensitive), dtype=np.bool_)
    for at in np.argsort(-np.maximum(problem.up, problem.down), kind="stable").tolist():
        cell = problem.sensitive[at]
        own = entry[first[cell] : first[cell + 1]]
        rows, coef = links.row[own], links.coef[own]
        up = np.abs(lean[rows] + coef * problem.up[at]).sum()
        goes_up[at] = up <= np.abs(lean[rows] - coef * problem.down[at]).sum()
        lean[rows] += coef * (problem.up[at] if goes_up[at] else -problem.down[at])
    return goes_up


class _MoveProgram:
    """Columns: moves up and down, what is lacking, and directions; rows: relations, then levels."""

    def __init__(self, problem: MoveProblem, can_up: BoolArray, can_down: BoolArray) -> None:
        self._problem = problem
        links, cells, number = problem.relations, problem.relations.cells, len(problem.sensitive)
        each = np.arange(number, dtype=np.int64)
        self._lack = 2 * cells + each
        self._choice = self._lack + number
        up, down = problem.sensitive, problem.sensitive + cells
        most_up, most_down = problem.most_up[up], problem.most_down[up]
        ones, zeros, endless = np.ones(number), np.zeros(number), np.full(number, np.inf)
        entries: list[Any] = [
            (links.row, links.cell, links.coef),
            (links.row, links.cell + cells, -links.coef),
        ]
        for turn, own in enumerate(
            (
                ((up, ones), (self._lack, ones), (self._choice, -problem.up)),
                ((down, ones), (self._lack, ones), (self._choice, problem.down)),
                ((up, ones), (self._choice, -most_up)),
                ((down, ones), (self._choice, most_down)),
            )
        ):
            at = len(links) + turn * number + each
            entries += [(at, columns, coef) for columns, coef in own]
        row, column, coef = map(np.concatenate, zip(*entries, strict=True))
        size = len(links) + 4 * number
        self._matrix = Relations.of_entries(2 * (cells + number), size, row, column, coef).matrix
        none = np.zeros(len(links))
        self._rows = (
            np.concatenate([none, zeros, problem.down, -endless, -endless]),
            np.concatenate([none, endless, endless, zeros, most_down]),
        )
        self._low = np.concatenate([np.zeros(2 * cells + number), np.where(can_down, 0.0, 1.0)])
        self._high = np.concatenate(
            [problem.most_up, problem.most_down, endless, np.where(can_up, 1.0, 0.0)]
        )
        #: The solver is shown costs of the dearest change as 1.
        self.unit = float(problem.weight.max(initial=0.0)) or 1.0
        weight = problem.weight / self.unit
        self._cost = np.concatenate([weight, weight, np.full(number, _LACKING), zeros])
        self._linear = self._solver()

    def _solver(self, whole: IntArray | None = None, **options: Any) -> Any:
        """The program, with some columns in whole numbers."""
        solver = loaded_solver(
            self._matrix, self._low, self._high, cost=self._cost, rows=self._rows, **options
        )
        if whole is not None:
            make_whole(solver, whole)
            solver.setOptionValue("presolve", "on")
        return solver

    def bound(self) -> float:
        """What no moves beat: directions may be mixed, nothing may be lacking."""
        solver, columns, none = self._linear, self._lack.astype(np.int32), np.zeros(len(self._lack))
        solver.changeColsBounds(len(none), columns, none, none)
        solver.run()
        reached = float(solver.getInfo().objective_function_value) if is_optimal(solver) else 0.0
        solver.changeColsBounds(len(none), columns, none, none + np.inf)
        return reached

    def _fixed(self, solver: Any, goes_up: BoolArray, free: BoolArray | None = None) -> None:
        """Fix the directions that are not free."""
        low = goes_up.astype(np.float64)
        high = low.copy()
        if free is not None:
            low[free], high[free] = self._low[self._choice][free], self._high[self._choice][free]
        solver.changeColsBounds(len(low), self._choice.astype(np.int32), low, high)

    def _moved(self, goes_up: BoolArray) -> FloatArray:
        self._fixed(self._linear, goes_up)
        self._linear.run()
        if not is_optimal(self._linear):
            message = "no changes of these values found"
            raise AdjustmentError(message, code="solver", hint="report this")
        return column_values(self._linear)

    def cost_of(self, goes_up: BoolArray) -> float:
        """What the cheapest moves in these directions cost, with what they lack."""
        return float(self._cost @ self._moved(goes_up))

    def prices(self, goes_up: BoolArray) -> FloatArray:
        """What the distance of each sensitive cell costs in these directions."""
        self._moved(goes_up)
        dual = np.abs(np.array(self._linear.getSolution().row_dual, dtype=np.float64))
        first, number = len(self._problem.relations), len(goes_up)
        up, down = dual[first : first + number], dual[first + number : first + 2 * number]
        return np.where(goes_up, up * self._problem.up, down * self._problem.down)

    def lacks(self, goes_up: BoolArray) -> int:
        """How many sensitive cells do not get far enough in these directions."""
        return int((self._moved(goes_up)[self._lack] > _TOLERANCE).sum())

    def better(
        self, goes_up: BoolArray, cost: float, free: BoolArray, nodes: int
    ) -> tuple[BoolArray, float, float, bool]:
        """Directions chosen together, their cost, a bound, and whether these are the best."""
        solver = self._solver(self._choice, mip_max_nodes=nodes, mip_rel_gap=1e-6)
        self._fixed(solver, goes_up, free)
        if np.isfinite(cost):
            self._moved(goes_up)
            solver.setSolution(self._linear.getSolution())
        solver.run()
        info, optimal = solver.getInfo(), is_optimal(solver)
        bound = float(info.mip_dual_bound) if np.isfinite(info.mip_dual_bound) else 0.0
        values = column_values(solver)
        if values.size:
            fresh = values[self._choice] > 0.5
            found = self.cost_of(fresh)
            if found < cost - _SAME * abs(cost if np.isfinite(cost) else 0.0):
                return fresh, found, bound, optimal
        return goes_up, cost, bound, optimal

    def whole_moves(self, goes_up: BoolArray) -> IntArray:
        """The cheapest moves in these directions, in whole units."""
        cells = self._problem.relations.cells
        moved = self._moved(goes_up)[: 2 * cells]
        if np.abs(moved - np.rint(moved)).max(initial=0.0) > _TOLERANCE:
            solver = self._solver(np.arange(2 * cells), mip_max_nodes=_WHOLE_NODES)
            self._fixed(solver, goes_up)
            solver.run()
            moved = column_values(solver)[: 2 * cells]
        change = np.rint(moved[:cells] - moved[cells:]).astype(np.int64) if moved.size else None
        if change is None or not self._keeps_all(change, goes_up):
            message = "no whole-number changes found that keep every sum"
            hint = "publish one more decimal, or fix fewer totals"
            raise AdjustmentError(message, code="whole", hint=hint)
        return change

    def _keeps_all(self, change: IntArray, goes_up: BoolArray) -> bool:
        """Whether moves keep every sum and limit, and go far enough in these directions."""
        problem, own = self._problem, change[self._problem.sensitive]
        enough = np.where(goes_up, own >= problem.up, -own >= problem.down)
        within = (change <= problem.most_up) & (-change <= problem.most_down)
        missed = problem.relations.residuals(change) + problem.relations.rhs
        return bool(enough.all() and within.all() and not missed.any())
