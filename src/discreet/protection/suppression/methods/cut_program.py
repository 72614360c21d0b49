"""`CutProgram`: the cheapest pattern that fulfils all cuts found so far. CONFIDENTIAL.

Cuts are what every pattern that protects all sensitive cells has to fulfil: inequalities in 0/1
variables "cell is hidden" that follow from aims (cell, side, level, who: what attackers must find
possible) and relations alone; any multipliers of the relations give a valid one. An insider is an
attacker who knows his own cells: these do not move.

In: movable cells and aims. Out: a pattern in parts (how much of each cell is hidden), which
guides the search, or a whole one, and a bound that no safe pattern is below. One model of the
solver takes in cuts for good: first those of single relations, which need no attack, then those
that attacks on its own answers give. All work is counted in steps of the solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.confidential import Confidential
from discreet.disclosure import TOLERANCE, SolverEffort, Unknowns, make_whole, outer_bounds
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import (
    LEVELS,
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.solver import column_values, is_optimal, loaded_solver, quiet_solver

#: Multipliers this near to a simple fraction are meant to be that fraction.
_FRACTION = 1e-7
_PARTS = 840.0
#: Smaller coefficients are rounding of doubles.
_NOTHING = 1e-12
#: Cuts ask for so much less than they could, against rounding.
_SLACK = 1e-7
#: By how much fractional cells must violate a bridge cut.
_VIOLATED = 0.05
#: What all cells that cost nothing cost together; and what rounding of sums may amount to.
_TINY = 0.4
_WHOLE = 1e-4


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MovableCells(Confidential):
    """All cells that may be hidden and can then move (confidential)."""

    unknowns: Unknowns  # these cells as deviations from their true values
    low: FloatArray  # how far each can move down at most if all are hidden, at most 0
    high: FloatArray  # how far up, at least 0
    forced: BoolArray  # which are hidden in every pattern
    #: What hiding costs; 0 for forced ones. Cells that cost nothing get a tiny cost, so that none
    #: is hidden in vain
    cost: FloatArray
    tiny: float  # what all tiny costs amount to, less than one half

    def __len__(self) -> int:
        return len(self.unknowns)

    @classmethod
    def of(
        cls, unknowns: Unknowns, cells: IntArray, forced: BoolArray, cost: FloatArray
    ) -> tuple[MovableCells, IntArray]:
        """The cells among these that can move, and their numbers."""
        low, high = outer_bounds(unknowns)
        moving = high > low
        forced, cost = forced[moving], np.where(forced, 0.0, cost)[moving]
        nothing = ~forced & (cost == 0)
        cost[nothing] = _TINY / max(1, int(nothing.sum()))
        movable = cls(
            unknowns=unknowns.part(moving), low=low[moving], high=high[moving], forced=forced,
            cost=cost, tiny=float(cost[nothing].sum()),
        )  # fmt: skip
        return movable, cells[moving]

    def paid(self, chosen: BoolArray) -> int:
        """Cost of hiding some of these cells, without tiny costs."""
        return math.floor(float(self.cost[chosen].sum()) + _WHOLE)

    def whole(self, bound: float) -> int:
        """The whole cost that follows from a bound: costs are whole numbers."""
        return max(0, math.ceil(bound - self.tiny - _WHOLE))

    def below(self, cost: int) -> float:
        """Which sum of costs, tiny ones included, all patterns cheaper than this have."""
        return cost - 1 + self.tiny + _WHOLE


def movable_cells(problem: SuppressionProblem, forced: BoolArray | None = None) -> MovableCells:
    """The movable cells of a problem, which some pattern protects; those hidden are `forced`."""
    known = unknowns_of(problem, problem.state != CellState.fixed)
    hidden = (problem.hidden if forced is None else forced)[known.cells]
    cost = problem.cost[known.cells].astype(np.float64)
    return MovableCells.of(known, known.cells, hidden, cost)[0]


@dataclass(frozen=True, repr=False, eq=False)
class Aim(Confidential):
    """What attackers must find possible of a sensitive cell (confidential)."""

    cell: int  # its number among the movable cells
    #: 1 if it must be able to rise by the level, -1 to fall, 0 if the interval must be as wide
    side: int
    level: float  # the protection level in units
    who: int = -1  # for whom: -1 for the public, else the number of an insider
    still: BoolArray | None = None  # which of the movable cells he knows

    @classmethod
    def of_levels(
        cls, cell: int, lower: float, upper: float, sliding: float, *whom: Any
    ) -> Iterator[Aim]:
        """The aims that the levels of a cell ask for."""
        width = sliding if sliding > lower + upper else 0.0
        for side, level in ((1, upper), (-1, lower), (0, width)):
            if level > 0:
                yield cls(cell, side, level, *whom)

    @property
    def sides(self) -> tuple[int, ...]:
        """The directions to attack."""
        return (self.side,) if self.side else (1, -1)


def aims_of(unknowns: Unknowns) -> list[Aim]:
    """All aims for the public, widest level first: neighbours then ask similar questions."""
    cells = np.flatnonzero(unknowns.sensitive)
    levels = (getattr(unknowns, name)[cells].tolist() for name in LEVELS)
    aims = (aim for own in zip(cells.tolist(), *levels, strict=True) for aim in Aim.of_levels(*own))
    return sorted(aims, key=lambda aim: (-aim.level, aim.cell, aim.side))


@dataclass(frozen=True, kw_only=True, repr=False)
class CuttingPlane:
    """The sum of coefficient × hidden over some cells is at least a number."""

    cells: IntArray  # numbers among the movable cells, ascending
    coef: FloatArray  # their coefficients
    least: float = 1.0  # the number: 1 or 0

    def missing(self, x: FloatArray) -> float:
        """By how much a point misses the cut; negative if it does not."""
        return self.least - float(self.coef @ x[self.cells])

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Equal for equal cuts."""
        return self.cells.tobytes(), np.round(self.coef, 7).tobytes()


def capacity_cut(
    movable: MovableCells, aim: Aim, multipliers: Sequence[FloatArray]
) -> CuttingPlane | None:
    """The cut that multipliers of the relations give for one aim; None if it says nothing.

    Adding multiples of relations to a deviation expresses it by others: hidden ones can
    contribute what they can move, published ones nothing. As a cell is hidden or not, no
    coefficient need be larger than what is asked for. There is one multiplier per relation, for
    each side of the aim.
    """
    links, cell = movable.unknowns.relations, aim.cell
    room, alone = np.zeros(len(movable)), 0.0
    for side, own in zip(aim.sides, multipliers, strict=True):
        simple = np.round(own * _PARTS) / _PARTS
        clean = np.where(np.abs(simple - own) < _FRACTION, simple, own)
        weight = -np.bincount(links.cell, links.coef * clean[links.row], minlength=len(movable))
        weight[cell] += side
        weight[np.abs(weight) < _NOTHING] = 0.0
        part = np.where(weight > 0, weight * movable.high, weight * movable.low)
        itself = side * weight[cell]
        alone += float(part[cell]) if itself > 0 else 0.0
        part[cell] = 0.0
        room += part if itself > 0 else part / (1.0 - itself)
    if aim.still is not None:
        room[aim.still] = 0.0
    return _covering(np.arange(len(movable)), room / aim.level, movable, aim, alone)


def _covering(
    cells: IntArray, room: FloatArray, movable: MovableCells, aim: Aim, alone: float
) -> CuttingPlane | None:
    """The cut that cells, with how much each can do for an aim, must do all of it."""
    if not np.isfinite(room).all():
        return None
    forced, level = movable.forced[cells], aim.level
    needed = 1.0 - alone / level - float(room[forced].sum()) - TOLERANCE / level - _SLACK
    if needed <= _SLACK:
        return None
    free = ~forced & (room > _NOTHING)
    order = np.argsort(cells[free], kind="stable")
    coef = np.minimum(room[free] / needed, 1.0)
    return CuttingPlane(cells=cells[free][order].astype(np.int64), coef=coef[order])


def relation_cuts(movable: MovableCells, aims: Iterable[Aim]) -> Iterator[CuttingPlane]:
    """The cuts of single relations: what moves a cell stands beside it in each of them.

    For insiders those of relations with a cell that they know.
    """
    links = movable.unknowns.relations
    start, order = links.by_cell
    for aim in aims:
        for entry in order[start[aim.cell] : start[aim.cell + 1]].tolist():
            row = links.row[entry]
            others = np.arange(links.start[row], links.start[row + 1])
            others = others[others != entry]
            cells = links.cell[others]
            if aim.still is not None and not aim.still[cells].any():
                continue
            weight = -links.coef[others] / links.coef[entry]
            low, high = weight * movable.low[cells], weight * movable.high[cells]
            above, below = np.maximum(low, high), np.maximum(-low, -high)
            room = (above, above + below, below)[1 - aim.side] / aim.level
            if aim.still is not None:
                room[aim.still[cells]] = 0.0
            cut = _covering(cells, room, movable, aim, 0.0)
            # Too little even if all are hidden: no pattern protects the cell, which others tell.
            if cut is not None and cut.coef.sum() >= 1.0:
                yield cut


def bridge_cuts(movable: MovableCells, x: FloatArray | None = None) -> list[CuttingPlane]:
    """The bridge cuts that a point violates, or all of them.

    A hidden cell that is alone in one of its relations can be computed. Hiding it does
    not help, so a cheapest pattern hides no such cell: each cell is hidden at most as
    much as all others of a relation together.
    """
    links, cuts = movable.unknowns.relations, []
    entries = ~movable.forced[links.cell]
    if x is not None:
        total = np.bincount(links.row, weights=x[links.cell], minlength=len(links))
        entries &= 2 * x[links.cell] - total[links.row] > _VIOLATED
    for at in np.flatnonzero(entries):
        low, high = links.start[links.row[at] : links.row[at] + 2]
        cells = np.sort(links.cell[low:high]).astype(np.int64)
        if not movable.forced[cells].any():
            coef = np.where(cells == links.cell[at], -1.0, 1.0)
            cuts.append(CuttingPlane(cells=cells, coef=coef, least=0.0))
    return cuts


# -- attacks -----------------------------------------------------------------------------

#: Smallest share of its level by which an aim must be missed.
_MISSED = 1e-6
#: Needs are checked with this tolerance.
_ENOUGH = 1e-7
#: Moves of at most so much of a level are rounding.
_STILL = 1e-9
#: So far does a cell move in wide attacks, in levels; more only worsens the numbers.
WIDE = 2.0**16
#: What an attack takes at least, in steps of the solver, and for each cell.
_LEAST, _COLUMN = 25_000.0, 10.0
#: Attacks end for now when so many in a row gave cuts that others gave.
_AGAIN = 8


class Separator:
    """One warm linear program, asked for one aim after the other.

    Deviations are in levels of the aim, and none is let move by more than one level unless asked
    for: this never makes an attack easier, and what multipliers it leads to gives cuts that stay
    strong after their coefficients are cut down. How much of each cell a move needs is kept: an
    aim that a move known already reaches is not attacked.
    """

    def __init__(self, movable: MovableCells, aims: Sequence[Aim]) -> None:
        self.movable, self.aims = movable, aims
        #: For each aim which cells the last move needs that its attack gave, and how much of each.
        self._ways: dict[int, tuple[IntArray, FloatArray]] = {}
        #: Counts steps of the solver; when it is spent, no more cuts are looked for.
        self.effort = SolverEffort()
        self._low, self._high = np.zeros(len(movable)), np.zeros(len(movable))
        self._wished = 0
        self._solver = loaded_solver(movable.unknowns.relations.matrix, self._low, self._high)
        self._solver.setOptionValue("simplex_strategy", 4)

    def cuts(
        self, x: FloatArray, blur: float, until: float, most: float = 1.0
    ) -> list[CuttingPlane]:
        """Cuts that a pattern violates which hides `x` of each cell.

        It stops at a time of the monotonic clock. With `blur` more of each cell taken as
        hidden, cuts cover fewer cells. No cell moves by more than `most` levels.
        """
        blurred = np.where(self.movable.forced, 1.0, np.minimum(x + blur, 1.0))
        planes: dict[tuple[bytes, bytes], CuttingPlane] = {}
        missed: set[tuple[int, int]] = set()
        again = 0
        for at, aim in enumerate(self.aims):
            if time.monotonic() > until or self.effort.spent or again >= _AGAIN:
                break
            way = self._ways.get(at)
            known = way is not None and bool((way[1] <= blurred[way[0]] + _ENOUGH).all())
            if known or (aim.cell, aim.who) in missed:
                continue
            multipliers = self._attack(at, aim, blurred, most)
            cut = capacity_cut(self.movable, aim, multipliers) if multipliers else None
            if cut is not None and cut.missing(x) > _MISSED:
                again = again + 1 if cut.key in planes else 0
                planes.setdefault(cut.key, cut)
                missed.add((aim.cell, aim.who))
        return list(planes.values())

    def _attack(self, at: int, aim: Aim, x: FloatArray, most: float) -> list[FloatArray] | None:
        """Multipliers that show that an aim is missed; none if it is reached."""
        reached, need, multipliers = 0.0, np.zeros(len(x)), []
        low = np.maximum(self.movable.low / aim.level, -most)
        high = np.minimum(self.movable.high / aim.level, most)
        if aim.still is not None:
            low[aim.still] = high[aim.still] = 0.0
        for side in aim.sides:
            moved, duals = self._move(aim.cell, side, low * x, high * x)
            multipliers.append(duals)
            reached += side * float(moved[aim.cell])
            room = np.where(moved > 0, high, low)
            # Where there is no room at all, what moves is the solver's tolerance.
            real = (np.abs(moved) > _STILL) & (room != 0)
            share = np.divide(moved, room, out=np.zeros(len(x)), where=real)
            np.maximum(need, share, out=need)
        if reached < 1.0 - _MISSED:
            return multipliers
        need[self.movable.forced] = 0.0
        cells = np.flatnonzero(need)
        self._ways[at] = (cells, np.minimum(need[cells], 1.0))
        return None

    def _move(
        self, cell: int, side: int, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The farthest that a cell moves to a side, and what shows that it is the farthest."""
        low[cell], high[cell] = (0.0, high[cell]) if side > 0 else (low[cell], 0.0)
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if changed.size:
            self._solver.changeColsBounds(changed.size, changed, low[changed], high[changed])
        self._low, self._high = low, high
        self._solver.changeColCost(self._wished, 0.0)
        self._solver.changeColCost(cell, -float(side))
        self._wished = cell
        rows, least = len(self.movable.unknowns.relations), _COLUMN * len(self.movable)
        self._solver.run()
        self.effort.count(self._solver, rows, max(_LEAST, least))
        if not is_optimal(self._solver):
            # Anew, and dual: going on from the last attack led nowhere.
            self._solver.clearSolver()
            self._solver.setOptionValue("simplex_strategy", 1)
            self._solver.run()
            self.effort.count(self._solver, rows)
            self._solver.setOptionValue("simplex_strategy", 4)
        if not is_optimal(self._solver):
            message = "the solver found no answer to an attack"
            hint = "report this: standing still is always possible"
            raise SuppressionError(message, code="solver", hint=hint)
        duals = np.array(self._solver.getSolution().row_dual, dtype=np.float64)
        return column_values(self._solver), -duals


# -- the program -------------------------------------------------------------------------

#: Attacks take each cell as hidden by a little more than it is, which gives cuts over fewer cells:
#: by these shares, one after the other, for patterns in parts, and by these for whole ones.
_BLURS, _WHOLE_BLURS = (1e-2, 1e-4), (1e-2, 1e-3, 0.0)
#: Reduced costs are compared with this tolerance; a bound so near below a cost has met it.
_NEAR, _MET = 1e-3, 0.5
#: About how many iterations the solver makes before it asks again whether to go on; each counts
#: for at least so many cuts.
_ASKED, _ITERATION = 60, 1_000
#: Rounds in which the cheapest cells of cuts are added to a whole pattern.
_COMPLETIONS = 12


class CutProgram(Confidential):
    """The linear and the 0/1 program over all cuts found so far."""

    def __init__(
        self, movable: MovableCells, aims: Sequence[Aim], *, already: int = 0, floor: int = 0
    ) -> None:
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
        self.complete = not aims
        #: Whole patterns that the last branching passed by, each cheaper than the one before.
        self.passed: list[BoolArray] = []
        #: When the solver must stop, by the monotonic clock.
        self.until = math.inf
        self._blur = 0
        self._bridged = False
        self._rows: list[CuttingPlane] = []
        self._every = np.arange(len(movable), dtype=np.int32)
        self._solver = quiet_solver(
            mip_rel_gap=0.0, mip_abs_gap=_MET, mip_feasibility_tolerance=1e-9,
            mip_pscost_minreliable=2,
        )  # fmt: skip
        self._solver.addVars(len(movable), self.x, np.ones(len(movable)))
        self._solver.changeColsCost(len(movable), self._every, movable.cost)

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
        if not self._rows:
            self.add(relation_cuts(self.movable, self.separator.aims))
            self.solve()

    def watch(self, aims: Sequence[Aim]) -> None:
        """Take in more aims, with what single relations ask for them."""
        effort = self.separator.effort
        self.separator = Separator(self.movable, [*self.separator.aims, *aims])
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
        fresh = list({cut.key: cut for cut in cuts}.values())
        if fresh:  # all rows at once: one at a time, each would copy those before
            cells = np.concatenate([cut.cells for cut in fresh]).astype(np.int32)
            self._solver.addRows(
                len(fresh),
                np.array([cut.least for cut in fresh], dtype=np.float64),
                np.full(len(fresh), np.inf),
                cells.size,
                starts([cut.cells.size for cut in fresh])[:-1].astype(np.int32),
                cells,
                np.concatenate([cut.coef for cut in fresh]),
            )
        self._rows += fresh
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
        # The bound that multipliers of the cuts prove, whatever the solver says.
        weights = np.maximum(np.array(self._solver.getSolution().row_dual, dtype=np.float64), 0.0)
        rest, total = self.movable.cost.copy(), 0.0
        for at in np.flatnonzero(weights):
            cut = self._rows[at]
            rest[cut.cells] -= weights[at] * cut.coef
            total += float(weights[at]) * cut.least
        free = ~self.movable.forced
        self._worth = rest
        self._proved = total + float(np.minimum(rest, 0.0)[free].sum() + rest[~free].sum())
        self.objective = max(self.objective, self._proved)

    def _run(self, least: int = 0) -> None:
        if math.isfinite(self.until):
            left = max(0.1, self.until - time.monotonic())
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
        self._solver.run()
        self.separator.effort.count(self._solver, max(least, len(self._rows)))

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
        solver, every, number = self._solver, self._every, len(self.movable)
        most = self.movable.below(cost)
        # Cells whose hiding or showing alone makes a pattern too dear are settled.
        still, room = self.movable.forced.astype(np.float64), most - self._proved + _NEAR
        low = np.where(self._worth < -room, 1.0, still)
        high = np.where((self._worth > room) & ~self.movable.forced, 0.0, 1.0)
        solver.changeColsBounds(number, every, low, high)
        make_whole(solver, np.arange(number))
        paid = np.flatnonzero(self.movable.cost).astype(np.int32)
        solver.addRow(-np.inf, most, paid.size, paid, self.movable.cost[paid])
        solver.setOptionValue("mip_max_nodes", nodes or 2**31 - 1)
        each = max(_ITERATION, len(self._rows))
        left = self.separator.effort.end - self.separator.effort.steps

        def asked(event: Any) -> None:
            nonlocal left  # the solver tells its steps in the end only: count how often it asks
            left -= _ASKED * each
            event.interrupt(left < 0)

        def better(event: Any) -> None:
            self.passed.append(np.array(event.data_out.mip_solution) > 0.5)

        solver.cbMipInterrupt.subscribe(asked)
        solver.cbMipImprovingSolution.subscribe(better)
        try:
            self._run(each)
        finally:
            solver.cbMipInterrupt.unsubscribe(asked)
            solver.cbMipImprovingSolution.unsubscribe(better)
        status, known = solver.getModelStatus().name, solver.getInfo()
        solution = None
        if status in ("kInfeasible", "kUnboundedOrInfeasible"):
            self.branched = max(self.branched, most + 1.0)
        elif status in ("kOptimal", "kTimeLimit", "kSolutionLimit", "kInterrupt"):
            self.branched = max(self.branched, min(float(known.mip_dual_bound), most + 1.0))
            late = status in ("kTimeLimit", "kInterrupt")
            if not late and math.isfinite(known.objective_function_value):
                solution = column_values(solver) > 0.5
        else:
            message = "the solver could not decide on a cheapest pattern"
            hint = "report this, or use the method auto"
            raise SuppressionError(message, code="solver", hint=hint)
        solver.deleteRows(1, np.array([len(self._rows)], dtype=np.int32))
        solver.changeColsIntegrality(number, every, np.zeros(number, dtype=np.uint8))
        solver.changeColsBounds(number, every, still, np.ones(number))
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
    movable, floor = movable_cells(problem), quick_lower_bound(problem)
    already = problem.cost_of(problem.hidden)
    program = CutProgram(movable, aims_of(movable.unknowns), already=already, floor=floor)
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
    links = unknowns.relations
    least = outer_bounds(unknowns)[0] > -TOLERANCE
    part, total = links.coef == 1, links.coef == -1

    def number(entries: BoolArray) -> IntArray:
        return np.bincount(links.row[entries], minlength=len(links))

    sums = (number(total) == 1) & (number(~part & ~total) == 0)
    sums &= number(part & ~least[links.cell]) == 0
    fixing = unknowns.sensitive & least
    while True:
        totals = links.totals[sums & (number(part & fixing[links.cell]) > 0)]
        if fixing[totals].all():
            break
        fixing[totals] = True
    mask = np.zeros(len(problem), dtype=np.bool_)
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
