"""Blocks of a pattern solved exactly, everything around them as it is. CONFIDENTIAL.

In: a `DraftPattern` in which every task is proven. Out: one no dearer, proven too. Cells
around a secondary may be hidden or not, all others stay as they are. Attacks on the tasks
whose proofs need one of them give cuts, and a small 0/1 program the cheapest way to fulfil
all cuts, until it protects all. What it hides is taken if proofs are found for it. All work
is counted in steps of the solver; the clock only ends it early.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.protection.suppression.methods.cuts import (
    BLURS,
    Aims,
    CuttingPlane,
    MovableCells,
    Separator,
    all_bridge_cuts,
    relation_cuts,
)
from discreet.protection.suppression.methods.local_search import drop_unused
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import Confidential
from discreet.protection.suppression.problem.unknowns import outer_bounds
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks, relation_distances
from discreet.solver import column_values, is_optimal, quiet_solver

#: Cells of a block that may be hidden or not, smallest blocks first.
_SIZES = (120, 240, 480)
#: Cells among which hidden ones help to move, per cell of a block, at least and at most.
_NEAR, _NEAR_LEAST, _NEAR_MOST = 6, 600, 1_500
#: Blocks with more cells than these that move, or more tasks, are left alone.
_CELLS, _TASKS = 2_500, 1_500
#: Rounds of cuts from fractional and from whole patterns; nodes of one program.
_ROUNDS, _BRANCHINGS, _NODES = 25, 30, 500
#: A block is given up after so many steps of the solver; what each takes at least.
_WORK, _LEAST = 4e8, 5e6
#: What a run of the solver takes at least, and each iteration on whole programs of any size.
_RUN, _ITERATION = 5e4, 5_000
#: How often a pattern is completed, and by how much it must miss a cut.
_COMPLETIONS, _MISSED = 12, 1e-6
#: What all cells that cost nothing cost together; and what rounding of sums may amount to.
_TINY, _WHOLE = 0.4, 1e-4


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Block(Confidential):
    """A part of a pattern (confidential)."""

    #: The cells that can move: those that may be hidden or not, and hidden ones
    movable: MovableCells
    cells: IntArray  # their numbers in the draft
    free: IntArray  # which of them may be hidden or not
    aims: Aims  # what must stay possible
    cost: float  # what those hidden cost now
    near: IntArray  # cells of the draft, nearest to the middle first


def block_around(draft: DraftPattern, centre: int, size: int) -> Block | None:
    """The block of so many cells around one; None if its tasks cannot be looked at alone."""
    number = min(max(_NEAR_LEAST, _NEAR * size), _NEAR_MOST)
    near = draft.patches.nearest(np.array([centre]), number, relation_distances(draft))
    free = np.zeros(len(draft), dtype=np.bool_)
    free[near[~draft.must[near]][:size]] = True
    gone = free & draft.hidden
    needing = np.array([bool(gone[proof.cells].any()) for proof in draft.proofs] + [False])
    tasks = np.flatnonzero(needing[draft.proven])
    if not 0 < tasks.size <= _TASKS:
        return None
    moving = free.copy()
    moving[near[draft.hidden[near]]] = True
    for proof in np.unique(draft.proven[tasks]):
        moving[draft.proofs[int(proof)].cells] = True
    cells = np.flatnonzero(moving)
    known = draft.unknowns.part(moving)
    low, high = outer_bounds(known)
    kept = high > low
    known, cells, low, high = known.part(kept), cells[kept], low[kept], high[kept]
    at = np.searchsorted(cells, tasks % len(draft))
    if not 0 < cells.size <= _CELLS or not np.isin(tasks % len(draft), cells).all():
        return None
    inside = free[cells]
    cost = np.where(inside, draft.cost[cells], 0.0)
    nothing = inside & (cost == 0)
    cost[nothing] = _TINY / max(1, int(nothing.sum()))
    tiny = float(cost[nothing].sum())
    return Block(
        movable=MovableCells(
            unknowns=known, low=low, high=high, forced=~inside, cost=cost, tiny=tiny
        ),
        cells=cells,
        free=np.flatnonzero(inside),
        aims=Aims(cell=at, side=np.where(tasks < len(draft), 1, -1), level=draft.target[tasks]),
        cost=float(draft.cost[gone].sum()),
        near=near,
    )


class BlockProgram:
    """The 0/1 program of a block: the cheapest way to hide its cells that fulfils all cuts."""

    def __init__(self, block: Block, until: float, work: float = _WORK) -> None:
        import highspy

        self._highspy: Any = highspy
        self.block, self._until = block, until
        self._separator = Separator(block.movable, block.aims)
        self._effort = self._separator.effort
        self._effort.end = work
        self._margin = block.movable.tiny + _WHOLE
        self._most = block.cost - 1 + self._margin
        self._rows: set[tuple[bytes, bytes]] = set()
        self._place = np.full(len(block.movable), -1, dtype=np.int32)
        number = block.free.size
        self._every = np.arange(number, dtype=np.int32)
        self._place[block.free] = self._every
        self._price = block.movable.cost[block.free]
        self._x = block.movable.forced.astype(np.float64)
        self._solver = quiet_solver(mip_rel_gap=0.0, mip_abs_gap=0.5, mip_max_nodes=_NODES)
        self._solver.addVars(number, np.zeros(number), np.ones(number))
        self._solver.changeColsCost(number, self._every, self._price)
        self._add(relation_cuts(block.movable, block.aims))
        self._add(all_bridge_cuts(block.movable))

    @property
    def steps(self) -> float:
        """Steps of the solver so far."""
        return self._effort.steps

    def solve(self) -> tuple[BoolArray | None, bool]:
        """Which of the block's cells to hide, if that is cheaper; and whether work came to an end.

        Only what is cheaper than now is looked for.
        """
        for _ in range(_ROUNDS):
            if not self._run() or self._objective > self._most:
                return None, not self._late
            if self._late or not self._add(self._cuts(BLURS[:1])):
                break
        number = self._every.size
        kinds = np.full(number, self._highspy.HighsVarType.kInteger)
        self._solver.changeColsIntegrality(number, self._every, kinds)
        below = -self._highspy.kHighsInf
        self._solver.addRow(below, self._most, number, self._every, self._price)
        self._limit_row = len(self._rows)
        best: BoolArray | None = None
        for _ in range(_BRANCHINGS):
            if self._late:
                break
            if not self._run(_ITERATION):
                infeasible = self._highspy.HighsModelStatus.kInfeasible
                return best, self._solver.getModelStatus() == infeasible
            self._x[self.block.free] = self._x[self.block.free] > 0.5
            cuts = self._last_cuts()
            if not cuts and not self._late:
                return self._x[self.block.free] > 0.5, True
            if not self._add(cuts):
                break
            completed = self._completed(cuts)
            if completed is not None:
                best = completed
                self._most = float(self._price[best].sum()) - 1 + self._margin
                self._solver.changeRowBounds(self._limit_row, below, self._most)
        return best, False

    def _completed(self, cuts: list[CuttingPlane]) -> BoolArray | None:
        """A whole pattern with the cheapest cells of all cuts hidden that it misses, if safe.

        Cuts found on the way are taken in. None if it gets too dear.
        """
        for _ in range(_COMPLETIONS):
            for cut in cuts:
                gain = np.where(self._x[cut.cells] > 0, 0.0, cut.coef)
                while cut.missing(self._x) > _MISSED and gain.max(initial=0.0) > 0:
                    at = int(np.argmax(gain / self.block.movable.cost[cut.cells]))
                    self._x[cut.cells[at]], gain[at] = 1.0, 0.0
            chosen: BoolArray = self._x[self.block.free] > 0.5
            if self._late or self._price[chosen].sum() > self._most:
                return None
            cuts = self._last_cuts()
            if not cuts:
                return None if self._late else chosen
            self._add(cuts)
        return None

    def _last_cuts(self) -> list[CuttingPlane]:
        """Cuts that a whole pattern misses; none if it is safe."""
        return self._cuts(BLURS) or self._separator.last_cuts(self._x)

    @property
    def _late(self) -> bool:
        return self._effort.spent or time.monotonic() > self._until

    @property
    def _objective(self) -> float:
        return float(self._solver.getInfo().objective_function_value)

    def _cuts(self, blurs: tuple[float, ...]) -> list[CuttingPlane]:
        for blur in blurs:
            cuts = self._separator.cuts(self._x, blur, self._until)
            if cuts:
                return cuts
        return []

    def _run(self, least: int = 0) -> bool:
        """Solve the program as it stands; whether there is an answer."""
        if math.isfinite(self._until):
            left = max(0.1, self._until - time.monotonic())
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
        self._solver.run()
        self._effort.count(self._solver, max(least, len(self._rows)), _RUN)
        if not is_optimal(self._solver):
            return False
        self._x[self.block.free] = np.clip(column_values(self._solver), 0.0, 1.0)
        return True

    def _add(self, cuts: list[CuttingPlane]) -> bool:
        """Take in cuts; whether one was not there yet."""
        before = len(self._rows)
        for cut in cuts:
            if cut.key not in self._rows:
                self._rows.add(cut.key)
                at = self._place[cut.cells]
                self._solver.addRow(cut.least, self._highspy.kHighsInf, at.size, at, cut.coef)
        return len(self._rows) > before


#: A size is left for the next one when so many blocks in a row came to nothing.
_IDLE = 20
#: There are no blocks of a size and above when so many in a row were given up.
_PATIENCE = 5


def searched_blocks(
    draft: DraftPattern, watch: WorkTime, effort: float, draw: np.random.Generator
) -> DraftPattern:
    """The cheapest pattern after one block after the other is solved, with so much effort.

    Blocks are around secondaries drawn at random, dear ones first, until none is left whose
    blocks of all sizes were tried.
    """
    end = draft.effort + effort
    tried = np.zeros((len(_SIZES), len(draft)), dtype=np.bool_)
    used, at = len(_SIZES), 0
    while used and (_waiting(draft) & ~tried[:used]).any():
        given_up = idle = 0
        while idle < _IDLE and given_up < _PATIENCE:
            left = np.flatnonzero(_waiting(draft) & ~tried[at])
            if not left.size:
                break
            if watch.over() or draft.effort >= end:
                return draft
            worth = draft.cost[left]
            centre = int(draw.choice(left, p=worth / worth.sum()))
            before = draft.spent
            draft, done = _solved(draft, centre, at, watch, tried, end)
            given_up = 0 if done else given_up + 1
            idle = 0 if draft.spent < before else idle + 1
        used = at if given_up >= _PATIENCE else used
        at = at + 1 if at + 1 < used else 0
    return draft


def _waiting(draft: DraftPattern) -> BoolArray:
    """The secondaries that cost something."""
    waiting: BoolArray = draft.hidden & ~draft.must & (draft.cost > 0)
    return waiting


def _solved(
    draft: DraftPattern, centre: int, at: int, watch: WorkTime, tried: BoolArray, end: float
) -> tuple[DraftPattern, bool]:
    """The pattern after one block, and whether that was solved; `tried` is told what was."""
    size = _SIZES[at]
    tried[at, centre] = True
    effort = draft.patches.effort
    effort.steps += _LEAST
    block = block_around(draft, centre, size)
    if block is None:
        return draft, True
    program = BlockProgram(block, watch.until, min(_WORK, end - draft.effort))
    chosen, done = program.solve()
    effort.steps += program.steps
    if size >= np.count_nonzero(~draft.must):
        tried[at:] = True
    tried[at, block.near[~draft.must[block.near]][: size // 2]] = True
    if chosen is None:
        return draft, done
    other = _with_block(draft, block, chosen, watch)
    if len(other.open) or other.spent >= draft.spent:
        return draft, done
    if size < np.count_nonzero(~draft.must):
        tried[:, block.near[:size]] = False
    return other, done


def _with_block(
    draft: DraftPattern, block: Block, chosen: BoolArray, watch: WorkTime
) -> DraftPattern:
    """The draft with cells of a block hidden or not as chosen, and proofs for that."""
    inside, hidden = block.cells[block.free], np.zeros(len(draft), dtype=np.bool_)
    hidden[inside[chosen]] = True
    free = np.zeros(len(draft), dtype=np.bool_)
    free[inside] = True
    other = draft.without(free & draft.hidden & ~hidden)
    other.hidden |= hidden
    cover_tasks(other, other.open, watch.over, allowed=other.hidden.copy())
    drop_unused(other)
    return other
