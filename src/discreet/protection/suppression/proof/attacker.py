"""`Attacker`: a linear program over hidden cells, and the intervals that it gives.

In: hidden cells with what is published, and how exact that is; or a problem with what an
attacker knows beforehand. Out: solutions – values of all hidden cells that fit everything
published – and the smallest and largest value of each cell. What is worked out from
published values alone may itself be published (`published_intervals`); what rests on a
problem is CONFIDENTIAL (`Attacker`, `attack_intervals`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import (
    Unknowns,
    blocks_of,
    component_labels,
    unknowns_of,
)
from discreet.protection.suppression.proof.circuits import bounds_by_circuits, independent_relations
from discreet.protection.suppression.proof.solver import column_values, is_optimal, loaded_solver

#: The solver's name for the primal simplex method.
_PRIMAL = 4
#: What an answer may miss the relations by, before scaling.
_ROUGH = 1e-5


class Attacker:
    """All hidden cells of a block as variables of one linear program.

    Bounds stand in for those of the unknowns, if tighter ones are known.
    """

    def __init__(
        self, unknowns: Unknowns, low: FloatArray | None = None, high: FloatArray | None = None
    ) -> None:
        self.unknowns = unknowns
        self.solved = 0
        self.low = unknowns.low if low is None else low
        self.high = unknowns.high if high is None else high
        widest = float(max(np.abs(self.low).max(initial=1), np.abs(self.high).max(initial=1)))
        #: Numbers are kept near one, where the solver's tolerances make sense.
        self.scale = 2.0 ** np.ceil(np.log2(max(widest, 1.0) / 2**20)) if widest > 2**20 else 1.0
        self._solver = loaded_solver(
            independent_relations(unknowns.relations).matrix,
            self.low / self.scale,
            self.high / self.scale,
        )
        self._cost = np.zeros(len(unknowns))

    def ask(self, wish: FloatArray) -> FloatArray:
        """The solution that makes the sum of wish × deviation largest."""
        changed = np.flatnonzero(wish != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, -wish[changed])
            self._cost = wish.copy()
        self._solver.run()
        if not self.solved:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self.solved += 1
        if not is_optimal(self._solver):
            # Going on from the last solution may lead nowhere by rounding.
            self._solver.clearSolver()
            self._solver.run()
        if not is_optimal(self._solver):
            what = "the solver found no answer to an attack"
            hint = "report this: true values always fit what is published"
            raise SuppressionError(what, code="solver", hint=hint)
        found = column_values(self._solver) * self.scale
        self._check(found)
        return found

    def _check(self, found: FloatArray) -> None:
        """A solution that does not fit what is published proves nothing."""
        links = self.unknowns.relations
        miss = np.zeros(len(links))
        np.add.at(miss, links.row, links.coef * found[links.cell])
        off = max(
            float(np.abs(miss).max(initial=0)),
            float((self.low - found).max(initial=0)),
            float((found - self.high).max(initial=0)),
        )
        if off > _ROUGH * self.scale:
            what = "an answer of the solver does not fit the relations"
            hint = "report this: the numbers of the table are too far apart"
            raise SuppressionError(what, code="solver", hint=hint)

    def lowest(self, at: int) -> FloatArray:
        """A solution with the smallest value of one cell."""
        return self._farthest(at, -1.0)

    def highest(self, at: int) -> FloatArray:
        """A solution with the largest value of one cell."""
        return self._farthest(at, 1.0)

    def _farthest(self, at: int, side: float) -> FloatArray:
        wish = np.zeros(len(self.unknowns))
        wish[at] = side
        return self.ask(wish)


#: Bounds so near to a whole unit are that unit.
_NEAR = 1e-5


def published_intervals(
    relations: Relations,
    value: IntArray,
    hidden: BoolArray,
    *,
    negative: bool = False,
    rounding: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """What everyone can work out about hidden cells from the others.

    Values of hidden cells are not looked at. A published value may be off by so many units:
    0.5 where each was rounded on its own, 0 where totals are sums of what is printed. Gives
    the lowest and highest value of each hidden cell in whole units, rounded outwards, infinite
    where nothing bounds them.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> shown, hidden = np.array([10, 4, 0, 0]), np.array([False, False, True, True])
    >>> published_intervals(sums, shown, hidden)
    (array([0., 0.]), array([6., 6.]))
    """
    among, cells = relations.among(hidden)
    low = np.full(cells.size, -np.inf if negative else 0.0)
    high = np.full(cells.size, np.inf)
    known = ~hidden[relations.cell]
    rest = relations.rhs.astype(np.float64)
    np.add.at(rest, relations.row[known], -(relations.coef * value[relations.cell])[known])
    off = rounding * np.bincount(relations.row[known], minlength=len(relations))
    touched = np.bincount(relations.row[~known], minlength=len(relations)) > 0
    rest, off = rest[touched], off[touched]
    label = component_labels(among)
    for block in np.unique(label[among.cell]):
        mine = label == block
        rows = mine[among.cell[among.start[:-1]]]
        part, at = among.among(mine)
        low[at], high[at] = _bounded(part, rest[rows], off[rows], negative)
    return np.floor(low + _NEAR), np.ceil(high - _NEAR)


def _bounded(
    relations: Relations, rest: FloatArray, off: FloatArray, negative: bool
) -> tuple[FloatArray, FloatArray]:
    """Two linear programs for each cell of a block."""
    import highspy

    size = float(max(1.0, np.median(np.abs(rest)))) if rest.size else 1.0
    low = np.full(relations.cells, -np.inf if negative else 0.0)
    high = np.full(relations.cells, np.inf)
    rows = (rest / size - off / size, rest / size + off / size)
    solver = loaded_solver(relations.matrix, low, high, rows=rows)
    status = highspy.HighsModelStatus
    bounds = []
    for sense in (1.0, -1.0):
        found = np.empty(relations.cells)
        for cell in range(relations.cells):
            solver.changeColCost(cell, sense)
            solver.run()
            answer = solver.getModelStatus()
            if answer == status.kUnknown:  # by rounding, from where the last one ended
                solver.clearSolver()
                solver.run()
                answer = solver.getModelStatus()
            if answer == status.kOptimal:
                found[cell] = solver.getInfo().objective_function_value * sense * size
            elif answer in (status.kUnbounded, status.kUnboundedOrInfeasible) and not _empty(
                solver, cell, status
            ):
                found[cell] = -sense * np.inf
            else:
                what = "no values of the hidden cells fit the published ones"
                hint = "say how far values are rounded, or whether they can be negative"
                raise SuppressionError(what, code="additivity", hint=hint)
            solver.changeColCost(cell, 0.0)
        bounds.append(found)
    return bounds[0], bounds[1]


def _empty(solver: Any, cell: int, status: Any) -> bool:
    """Whether nothing fits at all; asked without a wish."""
    cost = solver.getCol(cell)[1]
    solver.changeColCost(cell, 0.0)
    solver.run()
    nothing = bool(solver.getModelStatus() == status.kInfeasible)
    solver.changeColCost(cell, cost)
    return nothing


def attack_intervals(
    problem: SuppressionProblem, hidden: BoolArray, cells: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Between which values an attacker with the bounds of the problem finds cells possible.

    Lowest and highest value of every cell of the problem, in units: the true value for those
    not hidden, the bounds known beforehand for those not to be looked at.
    """
    low = np.where(hidden, problem.low, problem.value).astype(np.float64)
    high = np.where(hidden, problem.high, problem.value).astype(np.float64)
    wanted = cells & hidden
    known = unknowns_of(problem, hidden, wanted)
    circuit_bounds = bounds_by_circuits(known)
    exact = known.cells[circuit_bounds.exact & known.sensitive]
    at = np.searchsorted(known.cells, exact)
    low[exact] = problem.value[exact] + circuit_bounds.low[at]
    high[exact] = problem.value[exact] + circuit_bounds.high[at]
    wanted[exact] = False
    for block in blocks_of(known, circuit_bounds.label, wanted[known.cells]):
        if not len(block.relations):
            continue
        attacker = Attacker(block)
        for place in np.flatnonzero(wanted[block.cells]):
            lowest, highest = attacker.lowest(int(place)), attacker.highest(int(place))
            cell = block.cells[place]
            low[cell] = problem.value[cell] + lowest[place]
            high[cell] = problem.value[cell] + highest[place]
    return low, high
