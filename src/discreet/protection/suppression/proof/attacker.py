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
from discreet.protection.suppression.proof.deviations import sure_moves
from discreet.solver import column_values, is_optimal, loaded_solver

#: The solver's name for the primal simplex method.
_PRIMAL = 4
#: The solver's tolerance, in numbers near one.
_FINE = 1e-9


class Attacker:
    """All hidden cells of a block as variables of one linear program.

    Bounds stand in for those of the unknowns, if tighter ones are known; no cell is moved
    farther than `most`.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        most: float = np.inf,
    ) -> None:
        self.unknowns = unknowns
        self.solved = 0
        low = unknowns.low if low is None else low
        high = unknowns.high if high is None else high
        self.low, self.high = np.maximum(low, -most), np.minimum(high, most)
        #: Whether some cell could move farther than it is allowed to here.
        self.narrowed = bool((low < -most).any() or (high > most).any())
        #: Whether the last answer is a proof, and one in whole numbers.
        self.proven = self.whole = False
        widest = float(max(np.abs(self.low).max(initial=1), np.abs(self.high).max(initial=1)))
        #: Numbers are kept near one, where the solver's tolerances make sense.
        self.scale = 2.0 ** np.ceil(np.log2(max(widest, 1.0) / 2**20)) if widest > 2**20 else 1.0
        self._solver = loaded_solver(
            independent_relations(unknowns.relations).matrix,
            self.low / self.scale,
            self.high / self.scale,
            primal_feasibility_tolerance=_FINE,
        )
        self._cost = np.zeros(len(unknowns))

    def ask(self, wish: FloatArray) -> FloatArray:
        """The solution that makes the sum of wish × deviation largest; what is sure of it.

        The answer of the solver is put right in whole numbers, or cut by what it misses.
        """
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
            message = "the solver found no answer to an attack"
            hint = "report this: true values always fit what is published"
            raise SuppressionError(message, code="solver", hint=hint)
        moves = column_values(self._solver) * self.scale
        sure, self.proven, self.whole = sure_moves(self.unknowns, moves)
        return sure

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
_NEAR = 1e-3
#: Bounds no farther than this from a solution are worked out anew from there, in units.
_CLOSE = 2.0**20
#: The solver's tolerance for what is worked out anew.
_COARSE = 1e-7


def published_intervals(
    relations: Relations,
    value: IntArray,
    hidden: BoolArray,
    *,
    negative: bool | BoolArray = False,
    rounding: float = 0.0,
    smallest: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """What everyone can work out about hidden cells from the others.

    Values of hidden cells are not looked at. A published value may be off by so many units:
    0.5 where each was rounded on its own, 0 where totals are sums of what is printed. It is
    off by the same in all its relations. No hidden value is below `smallest` where none is
    negative: 1 unit where zeros are shown. Gives the lowest and highest value of each hidden
    cell in whole units, rounded outwards, infinite where nothing bounds them.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> shown, hidden = np.array([10, 4, 0, 0]), np.array([False, False, True, True])
    >>> published_intervals(sums, shown, hidden)
    (array([0., 0.]), array([6., 6.]))
    """
    known = ~hidden[relations.cell]
    rest = relations.rhs.astype(np.float64)
    np.add.at(rest, relations.row[known], -(relations.coef * value[relations.cell])[known])
    # Hidden cells as values, and, where these were rounded, shown ones as what they are off by.
    least = np.where(hidden, smallest, -np.minimum(rounding, np.maximum(value, 0)))
    least = np.where(negative, np.where(hidden, -np.inf, -rounding), least)
    most = np.where(hidden, np.inf, rounding)
    unknown = np.ones(len(hidden), dtype=np.bool_) if rounding else hidden
    among, cells = relations.among(unknown)
    touched = np.bincount(relations.row[unknown[relations.cell]], minlength=len(relations)) > 0
    rest, least, most, wanted = rest[touched], least[cells], most[cells], hidden[cells]
    low, high = least.copy(), most.copy()
    label = component_labels(among)
    for block in np.unique(label[among.cell[wanted[among.cell]]]):
        mine = label == block
        rows = mine[among.cell[among.start[:-1]]]
        part, at = among.among(mine)
        chosen = np.flatnonzero(wanted[at])
        bounds = _bounded(part, rest[rows], (least[at], most[at]), chosen)
        low[at[chosen]], high[at[chosen]] = bounds
    return np.floor(low[wanted] + _NEAR), np.ceil(high[wanted] - _NEAR)


def _bounded(
    relations: Relations, rest: FloatArray, bounds: tuple[FloatArray, FloatArray], chosen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Two linear programs for each of some cells of a block; two more where numbers are large."""
    large = np.abs(rest).max(initial=0.0) > _CLOSE
    size = float(max(1.0, np.median(np.abs(rest)))) if large else 1.0
    low, high, some = _extremes(relations, rest, bounds, chosen, size)
    if some is None or max(np.abs(rest).max(initial=0.0), np.abs(some).max()) <= _CLOSE:
        return low, high
    # One unit beside a million of millions is lost to the solver: look from near by.
    some = np.rint(some)
    left = rest - np.bincount(
        relations.row, relations.coef * some[relations.cell], minlength=len(relations)
    )
    near = (np.maximum(bounds[0] - some, -_CLOSE), np.minimum(bounds[1] - some, _CLOSE))
    down, up, _ = _extremes(relations, left, near, chosen, 1.0)
    start = some[chosen]
    low = np.where(down > -_CLOSE / 2, start + down, low)
    return low, np.where(up < _CLOSE / 2, start + up, high)


def _extremes(
    relations: Relations,
    rest: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    chosen: IntArray,
    size: float,
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Smallest and largest value of some cells, and a solution if one is at hand.

    All numbers are divided by a size.
    """
    import highspy

    solver = loaded_solver(
        relations.matrix, bounds[0] / size, bounds[1] / size, rows=(rest / size, rest / size),
        primal_feasibility_tolerance=_FINE if size == 1.0 else _COARSE,
    )  # fmt: skip
    status = highspy.HighsModelStatus
    ends, some = np.empty((2, chosen.size)), None
    for side, sense in enumerate((1.0, -1.0)):
        for place, cell in enumerate(chosen.tolist()):
            solver.changeColCost(cell, sense)
            solver.run()
            answer = solver.getModelStatus()
            if answer == status.kUnknown:  # by rounding, from where the last one ended
                solver.clearSolver()
                solver.run()
                answer = solver.getModelStatus()
            if answer == status.kOptimal:
                ends[side, place] = solver.getInfo().objective_function_value * sense * size
                some = column_values(solver) * size
            elif answer in (status.kUnbounded, status.kUnboundedOrInfeasible) and not _empty(
                solver, cell, status
            ):
                ends[side, place] = -sense * np.inf
            else:
                message = "no values of the hidden cells fit the published ones"
                hint = "say how far values are rounded, or whether they can be negative"
                raise SuppressionError(message, code="additivity", hint=hint)
            solver.changeColCost(cell, 0.0)
    return ends[0], ends[1], some


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
            cell = block.cells[place]
            for bound, ask in ((low, attacker.lowest), (high, attacker.highest)):
                bound[cell] = problem.value[cell] + ask(int(place))[place]
                if not attacker.proven:
                    message = "an answer of the solver does not fit the relations"
                    hint = "report this: the numbers of the table are too far apart"
                    raise SuppressionError(message, code="solver", hint=hint)
    return low, high
