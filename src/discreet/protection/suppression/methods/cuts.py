"""Cuts: what every pattern that protects all sensitive cells has to fulfil. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: the cells that may be hidden as one system, what attackers must
find possible for each sensitive cell (aims: cell, side, level, who), and inequalities in 0/1
variables "cell is hidden" that follow from aims and relations alone: any multipliers of the
relations give a valid cut. An insider is an attacker who knows his own cells: these do not move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import TOLERANCE, SolverEffort, Unknowns, outer_bounds
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.solver import column_values, is_optimal, loaded_solver

#: Multipliers this near to a simple fraction are meant to be that fraction.
_NEAR = 1e-7
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
            unknowns=unknowns.part(moving),
            low=low[moving],
            high=high[moving],
            forced=forced,
            cost=cost,
            tiny=float(cost[nothing].sum()),
        )
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Aims(Confidential):
    """Values that attackers must find possible, one entry per aim (confidential)."""

    cell: IntArray  # the sensitive cell
    #: 1 if it must be able to rise by the level, -1 to fall, 0 if the interval must be as wide
    side: IntArray
    level: FloatArray  # the protection level in units
    who: IntArray  # for whom: -1 for the public, else the number of an insider
    #: Which of the movable cells each insider knows
    known: Mapping[int, BoolArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.cell)

    def sides(self, at: int) -> tuple[int, ...]:
        """The directions to attack for one aim."""
        side = int(self.side[at])
        return (side,) if side else (1, -1)

    def still(self, at: int) -> BoolArray | None:
        """The cells that do not move for whom the aim is about; None for the public."""
        return self.known.get(int(self.who[at]))

    def joined(self, other: Aims) -> Aims:
        """These aims and others of the same cells."""
        columns = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("cell", "side", "level", "who")
        }
        return Aims(**columns, known={**self.known, **other.known})


def aims_of(unknowns: Unknowns) -> Aims:
    """All aims for the public, widest level first: neighbours then ask similar questions."""
    watched = unknowns.sensitive
    upper, lower, width = unknowns.upper, unknowns.lower, unknowns.sliding
    chosen = (
        (1, upper, watched & (upper > 0)),
        (-1, lower, watched & (lower > 0)),
        (0, width, watched & (width > upper + lower)),
    )
    cell = np.concatenate([np.flatnonzero(mask) for _, _, mask in chosen])
    side = np.concatenate([np.full(int(mask.sum()), side) for side, _, mask in chosen])
    level = np.concatenate([column[mask] for _, column, mask in chosen])
    order = np.lexsort((side, cell, -level))
    return Aims(
        cell=cell[order].astype(np.int64),
        side=side[order],
        level=level[order],
        who=np.full(len(cell), -1, dtype=np.int64),
    )


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
    movable: MovableCells, aims: Aims, at: int, multipliers: tuple[FloatArray, ...]
) -> CuttingPlane | None:
    """The cut that multipliers of the relations give for one aim; None if it says nothing.

    Adding multiples of relations to a deviation expresses it by others: hidden ones can
    contribute what they can move, published ones nothing. As a cell is hidden or not, no
    coefficient need be larger than what is asked for. There is one multiplier per relation, for
    each side of the aim.
    """
    links, cell = movable.unknowns.relations, int(aims.cell[at])
    room, alone = np.zeros(len(movable)), 0.0
    for side, own in zip(aims.sides(at), multipliers, strict=True):
        simple = np.round(own * _PARTS) / _PARTS
        clean = np.where(np.abs(simple - own) < _NEAR, simple, own)
        weight = -np.bincount(links.cell, links.coef * clean[links.row], minlength=len(movable))
        weight[cell] += side
        weight[np.abs(weight) < _NOTHING] = 0.0
        part = np.where(weight > 0, weight * movable.high, weight * movable.low)
        itself = side * weight[cell]
        alone += float(part[cell]) if itself > 0 else 0.0
        part[cell] = 0.0
        room += part if itself > 0 else part / (1.0 - itself)
    still = aims.still(at)
    if still is not None:
        room[still] = 0.0
    return _covering(np.arange(len(movable)), room / aims.level[at], movable, aims, at, alone)


def _covering(
    cells: IntArray, room: FloatArray, movable: MovableCells, aims: Aims, at: int, alone: float
) -> CuttingPlane | None:
    """The cut that cells, with how much each can do for an aim, must do all of it."""
    if not np.isfinite(room).all():
        return None
    forced, level = movable.forced[cells], aims.level[at]
    needed = 1.0 - alone / level - float(room[forced].sum()) - TOLERANCE / level - _SLACK
    if needed <= _SLACK:
        return None
    free = ~forced & (room > _NOTHING)
    order = np.argsort(cells[free], kind="stable")
    coef = np.minimum(room[free] / needed, 1.0)
    return CuttingPlane(cells=cells[free][order].astype(np.int64), coef=coef[order])


def relation_cuts(movable: MovableCells, aims: Aims) -> Iterator[CuttingPlane]:
    """The cuts of single relations: what moves a cell stands beside it in each of them.

    For insiders those of relations with a cell that they know.
    """
    links = movable.unknowns.relations
    start, order = links.by_cell
    for at in range(len(aims)):
        side, still = int(aims.side[at]), aims.still(at)
        for entry in order[start[aims.cell[at]] : start[aims.cell[at] + 1]].tolist():
            row = links.row[entry]
            others = np.arange(links.start[row], links.start[row + 1])
            others = others[others != entry]
            cells = links.cell[others]
            if still is not None and not still[cells].any():
                continue
            weight = -links.coef[others] / links.coef[entry]
            low, high = weight * movable.low[cells], weight * movable.high[cells]
            above, below = np.maximum(low, high), np.maximum(-low, -high)
            room = (above if side > 0 else below if side < 0 else above + below) / aims.level[at]
            if still is not None:
                room[still[cells]] = 0.0
            cut = _covering(cells, room, movable, aims, at, 0.0)
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
        if movable.forced[cells].any():
            continue
        coef = np.where(cells == links.cell[at], -1.0, 1.0)
        cuts.append(CuttingPlane(cells=cells, coef=coef, least=0.0))
    return cuts


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

    def __init__(self, movable: MovableCells, aims: Aims) -> None:
        self.movable, self.aims = movable, aims
        #: For each aim which cells the last move needs that its attack gave, and how much of each.
        self._ways: list[tuple[IntArray, FloatArray] | None] = [None] * len(aims)
        #: Counts steps of the solver; when it is spent, no more cuts are looked for.
        self.effort = SolverEffort()
        self._low, self._high = np.zeros(len(movable)), np.zeros(len(movable))
        self._wished = -1
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
        for at in range(len(self.aims)):
            if time.monotonic() > until or self.effort.spent or again >= _AGAIN:
                break
            whose = (int(self.aims.cell[at]), int(self.aims.who[at]))
            if whose in missed or self._known(at, blurred):
                continue
            multipliers = self._attack(at, blurred, most)
            cut = capacity_cut(self.movable, self.aims, at, multipliers) if multipliers else None
            if cut is not None and cut.missing(x) > _MISSED:
                again = again + 1 if cut.key in planes else 0
                planes.setdefault(cut.key, cut)
                missed.add(whose)
        return list(planes.values())

    def _known(self, at: int, x: FloatArray) -> bool:
        way = self._ways[at]
        return way is not None and bool((way[1] <= x[way[0]] + _ENOUGH).all())

    def _attack(self, at: int, x: FloatArray, most: float) -> tuple[FloatArray, ...]:
        """Multipliers that show that an aim is missed; none if it is reached."""
        cell, level, still = (
            int(self.aims.cell[at]),
            float(self.aims.level[at]),
            self.aims.still(at),
        )
        reached, need, multipliers = 0.0, np.zeros(len(x)), []
        low = np.maximum(self.movable.low / level, -most)
        high = np.minimum(self.movable.high / level, most)
        if still is not None:
            low[still] = high[still] = 0.0
        for side in self.aims.sides(at):
            moved, duals = self._move(cell, side, low * x, high * x)
            multipliers.append(duals)
            reached += side * float(moved[cell])
            room = np.where(moved > 0, high, low)
            # Where there is no room at all, what moves is the solver's tolerance.
            real = (np.abs(moved) > _STILL) & (room != 0)
            share = np.divide(moved, room, out=np.zeros(len(x)), where=real)
            np.maximum(need, share, out=need)
        if reached < 1.0 - _MISSED:
            return tuple(multipliers)
        need[self.movable.forced] = 0.0
        cells = np.flatnonzero(need)
        self._ways[at] = (cells, np.minimum(need[cells], 1.0))
        return ()

    def _move(
        self, cell: int, side: int, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The farthest that a cell moves to a side, and what shows that it is the farthest."""
        low[cell], high[cell] = (0.0, high[cell]) if side > 0 else (low[cell], 0.0)
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if changed.size:
            self._solver.changeColsBounds(changed.size, changed, low[changed], high[changed])
        self._low, self._high = low, high
        if self._wished >= 0:
            self._solver.changeColCost(self._wished, 0.0)
        self._solver.changeColCost(cell, -float(side))
        self._wished = cell
        columns, rows = len(self.movable), len(self.movable.unknowns.relations)
        self._solver.run()
        self.effort.count(self._solver, rows, max(_LEAST, _COLUMN * columns))
        if not is_optimal(
            self._solver
        ):  # anew, and dual: going on from the last attack led nowhere
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
