"""Cuts: what every pattern that protects all sensitive cells has to fulfil. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: the cells that may be hidden as one system, what attackers
must find possible for each sensitive cell (aims), and inequalities in 0/1 variables "cell
is hidden" that follow from aims and relations alone: any multipliers of the relations give
a valid cut. `Separator` attacks fractional patterns: for each aim it finds a way to move
that reaches its level, or a cut that the pattern violates.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    outer_bounds,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.patches import SolverEffort
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
_SHOWN = 20


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

    def paid(self, chosen: BoolArray) -> int:
        """What hiding some of these cells costs, without tiny costs."""
        return math.floor(float(self.cost[chosen].sum()) + _WHOLE)

    def whole(self, bound: float) -> int:
        """The whole cost that follows from a bound: costs are whole numbers."""
        return max(0, math.ceil(bound - self.tiny - _WHOLE))

    def below(self, cost: int) -> float:
        """Which sum of costs, tiny ones included, all patterns cheaper than this have."""
        return cost - 1 + self.tiny + _WHOLE

    def part(self, chosen: BoolArray) -> MovableCells:
        """Some of these cells when all others stay where they are."""
        columns: dict[str, Any] = {
            name: getattr(self, name)[chosen] for name in ("low", "high", "forced", "cost")
        }
        return replace(self, unknowns=self.unknowns.part(chosen), **columns)

    def hidden(self, problem: SuppressionProblem, chosen: BoolArray) -> BoolArray:
        """The pattern of the whole problem that hides the chosen ones of these cells."""
        hidden = problem.hidden.copy()
        hidden[self.unknowns.cells[chosen]] = True
        return hidden


def movable_cells(problem: SuppressionProblem, *, possible: bool = False) -> MovableCells:
    """The movable cells of a problem, after a proof that hiding all of them suffices.

    No proof is made where it is known to be `possible` to protect all sensitive cells.
    """
    everything = problem.state != CellState.fixed
    if not possible:
        _check_possible(problem, everything)
    unknowns = unknowns_of(problem, everything)
    low, high = outer_bounds(unknowns)
    moving = high > low
    unknowns = unknowns.part(moving)
    forced = problem.hidden[unknowns.cells]
    cost = np.where(forced, 0.0, problem.cost[unknowns.cells].astype(np.float64))
    free = ~forced & (cost == 0)
    cost[free] = _TINY / max(1, int(free.sum()))
    return MovableCells(
        unknowns=unknowns,
        low=low[moving],
        high=high[moving],
        forced=forced,
        cost=cost,
        tiny=float(cost[free].sum()),
    )


def _check_possible(problem: SuppressionProblem, everything: BoolArray) -> None:
    """Raise an error that names the cells that no pattern protects."""
    hopeless = certify(problem, everything).unprotected
    if not len(hopeless):
        return
    message = "this cell cannot be protected, not even by hiding all cells that may be hidden"
    problems = [Problem(message, problem.name(int(at))) for at in hopeless]
    raise SuppressionError(
        message if len(problems) == 1 else f"{len(problems):,} sensitive cells cannot be protected",
        code="infeasible",
        where=problems[0].where if len(problems) == 1 else problem.title,
        hint="let more cells be hidden, widen the bounds said to be known, or merge categories",
        problems=shortened(problems, _SHOWN),
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Aims(Confidential):
    """What attackers must find possible, one entry per aim (confidential)."""

    cell: IntArray  # the sensitive cell
    #: 1 if it must be able to rise by the level, -1 to fall, 0 if the interval must be as wide
    side: IntArray
    level: FloatArray  # the protection level in units

    def __len__(self) -> int:
        return len(self.cell)

    def sides(self, at: int) -> tuple[int, ...]:
        """The directions to attack for one aim."""
        side = int(self.side[at])
        return (side,) if side else (1, -1)


def aims_of(unknowns: Unknowns) -> Aims:
    """All aims, widest level first: neighbours in this order ask similar questions."""
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
    return Aims(cell=cell[order].astype(np.int64), side=side[order], level=level[order])


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
    room = np.zeros(len(movable))
    needed = 1.0
    for side, own in zip(aims.sides(at), multipliers, strict=True):
        part, known = _reach_of(movable, int(aims.cell[at]), side, own)
        room += part / aims.level[at]
        needed -= known / aims.level[at]
    if not np.isfinite(room).all():
        return None
    needed -= float(room[movable.forced].sum()) + TOLERANCE / aims.level[at] + _SLACK
    if needed <= _SLACK:
        return None
    cells = np.flatnonzero((room > _NOTHING) & ~movable.forced).astype(np.int64)
    return CuttingPlane(cells=cells, coef=np.minimum(room[cells] / needed, 1.0))


def _reach_of(
    movable: MovableCells, cell: int, side: int, multipliers: FloatArray
) -> tuple[FloatArray, float]:
    """How much each other cell lets one move to a side, and how much it moves by itself."""
    links = movable.unknowns.relations
    simple = np.round(multipliers * _PARTS) / _PARTS
    clean = np.where(np.abs(simple - multipliers) < _NEAR, simple, multipliers)
    weight = -np.bincount(links.cell, weights=links.coef * clean[links.row], minlength=len(movable))
    weight[cell] += side
    weight[np.abs(weight) < _NOTHING] = 0.0
    room = np.where(weight > 0, weight * movable.high, weight * movable.low)
    own = side * weight[cell]
    alone = float(room[cell]) if own > 0 else 0.0
    room[cell] = 0.0
    return (room, alone) if own > 0 else (room / (1.0 - own), 0.0)


def relation_cuts(movable: MovableCells, aims: Aims) -> list[CuttingPlane]:
    """The cuts of single relations: what moves a cell stands beside it in each of them."""
    start, order = movable.unknowns.relations.by_cell
    cuts = []
    for at in range(len(aims)):
        cell = int(aims.cell[at])
        for entry in order[start[cell] : start[cell + 1]]:
            cut = _relation_cut(movable, aims, at, int(entry))
            if cut is not None:
                cuts.append(cut)
    return cuts


def _relation_cut(movable: MovableCells, aims: Aims, at: int, entry: int) -> CuttingPlane | None:
    """What the other cells of one relation must let the cell of an aim move."""
    links, side, level = movable.unknowns.relations, int(aims.side[at]), aims.level[at]
    row = links.row[entry]
    others = np.arange(links.start[row], links.start[row + 1])
    others = others[others != entry]
    cells = links.cell[others].astype(np.int64)
    weight = -links.coef[others] / links.coef[entry]
    low, high = weight * movable.low[cells], weight * movable.high[cells]
    above, below = np.maximum(low, high), np.maximum(-low, -high)
    room = (above if side > 0 else below if side < 0 else above + below) / level
    if not np.isfinite(room).all():
        return None
    forced = movable.forced[cells]
    needed = 1.0 - float(room[forced].sum()) - TOLERANCE / level - _SLACK
    if needed <= _SLACK:
        return None
    free = ~forced & (room > _NOTHING)
    inner = np.argsort(cells[free], kind="stable")
    coef = np.minimum(room[free] / needed, 1.0)
    # Too little even if all are hidden: no pattern protects the cell, which others tell.
    return CuttingPlane(cells=cells[free][inner], coef=coef[inner]) if coef.sum() >= 1.0 else None


def bridge_cuts(movable: MovableCells, x: FloatArray) -> list[CuttingPlane]:
    """The bridge cuts that a point violates.

    A hidden cell that is alone in one of its relations can be computed. Hiding it does
    not help, so a cheapest pattern hides no such cell: each cell is hidden at most as
    much as all others of a relation together.
    """
    links = movable.unknowns.relations
    entry = x[links.cell]
    total = np.bincount(links.row, weights=entry, minlength=len(links))
    violated = (2 * entry - total[links.row] > _VIOLATED) & ~movable.forced[links.cell]
    return _bridge_cuts(movable, np.flatnonzero(violated))


def all_bridge_cuts(movable: MovableCells) -> list[CuttingPlane]:
    """The bridge cuts of all cells that are not hidden in every pattern."""
    return _bridge_cuts(movable, np.flatnonzero(~movable.forced[movable.unknowns.relations.cell]))


def _bridge_cuts(movable: MovableCells, entries: IntArray) -> list[CuttingPlane]:
    """Those of some entries of the relations."""
    links, cuts = movable.unknowns.relations, []
    for at in entries:
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
_WIDE = 2.0**16
#: Cuts at whole patterns are looked for around them.
BLURS = (1e-2, 1e-3, 0.0)
#: What an attack takes at least, in steps of the solver, and for each cell.
_LEAST, _COLUMN = 25_000.0, 10.0
#: Attacks end for now when so many in a row gave cuts that others gave.
_AGAIN = 8


@dataclass(frozen=True)
class ReachingMove:
    """A way to reach a level: how much of each cell must be hidden for it."""

    cells: IntArray
    need: FloatArray

    @classmethod
    def of(cls, need: FloatArray) -> ReachingMove:
        """From the need of every cell, 0 for most."""
        cells = np.flatnonzero(need).astype(np.int64)
        return cls(cells, np.minimum(need[cells], 1.0))

    def fits(self, x: FloatArray) -> bool:
        """Whether enough is hidden for it."""
        return bool((self.need <= x[self.cells] + _ENOUGH).all())


class Separator:
    """One warm linear program, asked for one aim after the other.

    Deviations are in levels of the aim, and none is let move by more than one level:
    this never makes an attack easier, and what multipliers it leads to gives cuts that
    stay strong after their coefficients are cut down.
    """

    def __init__(self, movable: MovableCells, aims: Aims | None = None) -> None:
        self.movable = movable
        self.aims: Aims = aims_of(movable.unknowns) if aims is None else aims
        self._ways: list[dict[str, ReachingMove]] = [{} for _ in range(len(self.aims))]
        #: Counts steps of the solver; when it is spent, no more cuts are looked for.
        self.effort = SolverEffort()
        self._low = np.zeros(len(movable))
        self._high = np.zeros(len(movable))
        self._wished = -1
        still = np.zeros(len(movable))
        self._solver = loaded_solver(movable.unknowns.relations.matrix, still, still)
        self._solver.setOptionValue("simplex_strategy", 4)

    def open_at(self, x: FloatArray) -> IntArray:
        """The aims without a known way to reach them."""
        known = (self._known(at, x) for at in range(len(self.aims)))
        return np.flatnonzero(~np.fromiter(known, np.bool_, len(self.aims))).astype(np.int64)

    def learn(self, at: int, way: ReachingMove) -> None:
        """Take in a way to reach an aim that was found elsewhere."""
        self._ways[at]["learned"] = way

    def cuts(self, x: FloatArray, blur: float, until: float) -> list[CuttingPlane]:
        """Cuts that a pattern violates which hides `x` of each cell.

        It stops at a time of the monotonic clock. With `blur` more of each cell taken as
        hidden, cuts cover fewer cells.
        """
        blurred = np.where(self.movable.forced, 1.0, np.minimum(x + blur, 1.0))
        planes: dict[tuple[bytes, bytes], CuttingPlane] = {}
        missed: set[int] = set()
        again = 0
        for at in self.open_at(blurred):
            if time.monotonic() > until or self.effort.spent:
                break
            if int(self.aims.cell[at]) in missed or self._known(int(at), blurred):
                continue
            multipliers = self._attack(int(at), blurred)
            cut = self._cut(int(at), multipliers, x)
            if cut is not None:
                again = again + 1 if cut.key in planes else 0
                planes.setdefault(cut.key, cut)
                missed.add(int(self.aims.cell[at]))
                if again >= _AGAIN:
                    break
        return list(planes.values())

    def last_cuts(self, x: FloatArray) -> list[CuttingPlane]:
        """Cuts for a pattern that is not safe though moves by at most a level do not show it."""
        wide = [self.cut_for(int(at), x) for at in self.open_at(x)]
        return [cut for cut in wide if cut is not None]

    def cut_for(self, at: int, x: FloatArray) -> CuttingPlane | None:
        """A cut for an aim that a pattern misses even if cells move by many levels."""
        return self._cut(at, self._attack(at, x, _WIDE), x)

    def _known(self, at: int, x: FloatArray) -> bool:
        return any(way.fits(x) for way in self._ways[at].values())

    def _cut(
        self, at: int, multipliers: tuple[FloatArray, ...], x: FloatArray
    ) -> CuttingPlane | None:
        if not multipliers:
            return None
        cut = capacity_cut(self.movable, self.aims, at, multipliers)
        return cut if cut is not None and cut.missing(x) > _MISSED else None

    def _attack(self, at: int, x: FloatArray, most: float = 1.0) -> tuple[FloatArray, ...]:
        """Multipliers that show that an aim is missed; none if it is reached."""
        cell, level = int(self.aims.cell[at]), float(self.aims.level[at])
        reached, need, multipliers = 0.0, np.zeros(len(x)), []
        low = np.maximum(self.movable.low / level, -most)
        high = np.minimum(self.movable.high / level, most)
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
        self._ways[at]["found"] = ReachingMove.of(need)
        if self.aims.side[at] and most == 1.0:
            self._share(np.where(np.abs(moved) > _STILL, moved, 0.0) * level, x)
        return ()

    def _share(self, moved: FloatArray, x: FloatArray) -> None:
        """Note for which other aims a move, or its mirror image, is a way too, at its own size."""
        movable, aims = self.movable, self.aims
        cells = np.flatnonzero(moved)
        size, limit = np.abs(moved[cells]), x[cells] + _ENOUGH
        free = ~movable.forced[cells]
        with np.errstate(divide="ignore"):
            rises = size / np.where(moved[cells] > 0, movable.high[cells], -movable.low[cells])
            falls = size / np.where(moved[cells] > 0, -movable.low[cells], movable.high[cells])
        reach = aims.side * moved[aims.cell]
        some = np.flatnonzero((np.abs(reach) > TOLERANCE) & (aims.side != 0))
        times = aims.level[some] / reach[some]
        most = np.where(times > 0, (limit / rises).min(), (limit / falls).min())
        fits = (np.abs(times) <= most) & (np.abs(reach[some]) * (limit / size).min() >= 1.0)
        for at, factor in zip(some[fits], times[fits], strict=True):
            need = np.maximum(rises if factor > 0 else falls, size / float(aims.level[at]))
            need = np.minimum(abs(factor) * need[free], 1.0)
            self._ways[at]["shared"] = ReachingMove(cells[free], need)

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
        self._run()
        if not is_optimal(self._solver):
            message = "the solver found no answer to an attack"
            hint = "report this: standing still is always possible"
            raise SuppressionError(message, code="solver", hint=hint)
        duals = np.array(self._solver.getSolution().row_dual, dtype=np.float64)
        return column_values(self._solver), -duals

    def _run(self) -> None:
        """Solve from where the last attack ended; anew, and dual, if that leads nowhere."""
        columns, rows = len(self.movable), len(self.movable.unknowns.relations)
        self._solver.run()
        self.effort.count(self._solver, rows, max(_LEAST, _COLUMN * columns))
        if is_optimal(self._solver):
            return
        self._solver.clearSolver()
        self._solver.setOptionValue("simplex_strategy", 1)
        self._solver.run()
        self.effort.count(self._solver, rows)
        self._solver.setOptionValue("simplex_strategy", 4)
