"""`DraftPattern`: a pattern in the making, with the proofs found so far. CONFIDENTIAL.

It knows what is hidden so far; for each sensitive cell how far it must be moved up and down and
which moves are proven; and the proofs: deviations of hidden cells that are held against all
relations and bounds. `fast` and `auto` work on this object.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import TOLERANCE, DeviationCheck, Patches, Unknowns, outer_bounds
from discreet.disclosure import Proof as Proof
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)

#: How much more is asked for, in units and relatively, when an audit found a cell open.
_MORE = 1e-3
#: Solutions are stretched to at most so many times their size.
_STRETCH = 1e4


class DraftPattern(Confidential):
    """Which cells are hidden and what is proven (confidential).

    Cells are numbered among those that may move. A task is a cell and a direction:
    number of the cell for up, that plus the number of cells for down.
    """

    def __init__(self, problem: SuppressionProblem, unknowns: Unknowns | None = None) -> None:
        self.problem = problem
        free = problem.state != CellState.fixed
        self.unknowns = unknowns_of(problem, free) if unknowns is None else unknowns
        low, high = outer_bounds(self.unknowns)
        self.down, self.up = -low, high
        self.cost = problem.cost[self.unknowns.cells].astype(np.float64)
        all_cells = np.ones(len(self), dtype=np.bool_)
        self.must = problem.hidden[self.unknowns.cells] if unknowns is None else all_cells
        self.hidden = self.must.copy()
        self.target = self.targets(self.unknowns)
        self.proofs: list[Proof] = []
        self.proven = np.full(2 * len(self), -1, dtype=np.int64)
        self.solved = 0
        self.patches = Patches(self.unknowns.relations, (high - low) > TOLERANCE)

    def __len__(self) -> int:
        return len(self.unknowns)

    @cached_property
    def median_cost(self) -> float:
        """The median of what hiding costs, at least 1."""
        return max(float(np.median(self.cost)), 1.0) if len(self) else 1.0

    def targets(self, known: Unknowns) -> FloatArray:
        """Required movement of each sensitive cell: its levels, and the rest of the sliding one.

        What the sliding level asks beyond the other two goes upwards as far as there is
        room for it, and downwards otherwise.
        """
        rest = np.maximum(known.sliding - known.upper - known.lower, 0.0)
        above = np.minimum(known.upper + rest, np.maximum(self.up, known.upper))
        below = np.maximum(known.lower, known.sliding - above)
        watched = known.sensitive
        return np.concatenate([np.where(watched, above, 0.0), np.where(watched, below, 0.0)])

    def shift_downwards(self, cells: IntArray, reach_up: FloatArray) -> None:
        """Ask for less upwards and more downwards where a cell cannot go up so far."""
        known = self.unknowns
        above = np.maximum(known.upper[cells], np.minimum(self.target[cells], reach_up))
        below = np.maximum(known.lower[cells], known.sliding[cells] - above)
        self.target[cells], self.target[cells + len(self)] = above, below

    def halve(self) -> None:
        """Ask for half of each sliding level upwards and half downwards, where there is room."""
        cells = np.flatnonzero(self.unknowns.sensitive).astype(np.int64)
        room = np.minimum(self.up[cells], self.down[cells])
        half = 0.5 * self.unknowns.sliding[cells]
        fits = half <= room
        self.shift_downwards(cells[fits], half[fits])

    @property
    def open(self) -> IntArray:
        """Tasks that are not proven yet."""
        return np.flatnonzero((self.target > TOLERANCE) & (self.proven < 0)).astype(np.int64)

    def within_hidden(self) -> BoolArray:
        """Tasks that bounds do not rule out when only hidden cells move."""
        known = self.unknowns.part(self.hidden)
        low, high = outer_bounds(known)
        reach = np.zeros(2 * len(self))
        at = np.flatnonzero(self.hidden)
        reach[at], reach[at + len(self)] = high, -low
        return (self.target > TOLERANCE) & (reach >= self.target - TOLERANCE)

    def distance(self, task: int) -> tuple[int, float]:
        """The cell of a task and how far it must move; negative for down."""
        size = float(self.target[task])
        return (task, size) if task < len(self) else (task - len(self), -size)

    @property
    def effort(self) -> float:
        """Work of linear programs so far, including those of copies."""
        return self.patches.effort.steps

    def tasks_done(self, cells: IntArray, moved: FloatArray) -> IntArray:
        """The tasks that a solution proves."""
        enough = TOLERANCE
        above = cells[(self.target[cells] > enough) & (moved >= self.target[cells] - enough)]
        twins = cells + len(self)
        below = twins[(self.target[twins] > enough) & (-moved >= self.target[twins] - enough)]
        return np.concatenate([above, below])

    def take(self, cells: IntArray, moved: FloatArray) -> tuple[IntArray, IntArray]:
        """Hide the cells that move; note what they prove that was open.

        Returns:
            The cells that were not hidden before, and the tasks that were open.
        """
        at = np.flatnonzero(moved)
        proof = Proof(cells=cells[at], moved=moved[at])
        done = self.tasks_done(proof.cells, proof.moved)
        fresh = done[self.proven[done] < 0]
        if fresh.size:
            self.proven[fresh] = len(self.proofs)
            self.proofs.append(proof)
        new = proof.cells[~self.hidden[proof.cells]]
        self.hidden[new] = True
        return new, fresh

    def variants(self, cells: IntArray, moved: FloatArray) -> list[FloatArray]:
        """The mirror image of a solution, and both stretched to the bounds, as far as they fit."""
        down, up = self.down[cells], self.up[cells]
        variants = []
        for sign in (1.0, -1.0):
            turned = sign * moved
            room = np.where(turned > 0, up, down)
            far = np.abs(turned)
            most = float(np.min(room[far > 0] / far[far > 0], initial=_STRETCH))
            variants += [turned] if sign < 0 and most >= 1.0 else []
            variants += [most * turned] if most > 0 and most != 1.0 else []
        return variants

    def take_all(self, cells: IntArray, moved: FloatArray) -> tuple[IntArray, IntArray]:
        """As `take`, and note what the variants of the solution prove as well."""
        at = np.flatnonzero(moved)
        cells, moved = cells[at], moved[at]
        new, fresh = self.take(cells, moved)
        more = [self.take(cells, other)[1] for other in self.variants(cells, moved)]
        return new, np.concatenate([fresh, *more])

    def without(self, cells: BoolArray) -> DraftPattern:
        """A copy with some secondaries published, and the proofs that do not need them."""
        other = copy(self)
        gone = cells & ~self.must
        other.hidden = self.hidden & ~gone
        other.target = self.target.copy()
        other.proofs = list(self.proofs)
        lost = np.array([bool(gone[proof.cells].any()) for proof in self.proofs] + [True])
        other.proven = np.where(lost[self.proven], -1, self.proven)
        return other

    def raise_targets(self, cells: IntArray) -> None:
        """Ask a little more of some cells, where there is room, and prove them anew."""
        for tasks, room in ((cells, self.up), (cells + len(self), self.down)):
            targets = self.target[tasks]
            more = np.minimum(targets * (1 + _MORE) + _MORE, np.maximum(room[cells], targets))
            self.target[tasks] = np.where(targets > 0, more, 0.0)
            self.proven[tasks] = -1

    @property
    def spent(self) -> float:
        """Cost of the secondary suppressions."""
        return float(self.cost[self.hidden & ~self.unknowns.sensitive].sum())

    def mask(self, hidden: BoolArray | None = None) -> BoolArray:
        """The hidden cells among all cells of the problem."""
        full = np.zeros(len(self.problem), dtype=np.bool_)
        full[self.unknowns.cells[self.hidden if hidden is None else hidden]] = True
        return full

    def at(self, cells: IntArray) -> IntArray:
        """The numbers here of cells of the problem."""
        return np.searchsorted(self.unknowns.cells, cells).astype(np.int64)

    def checked(self, proofs: Sequence[Proof]) -> tuple[Unknowns, DeviationCheck, BoolArray]:
        """The cells hidden now, what proofs show of them, and which of these fit.

        A proof fits if it moves hidden cells only, within their bounds, and all relations hold.
        """
        known = unknowns_of(self.problem, self.mask())
        number = np.full(len(self.problem), -1, dtype=np.int64)
        number[known.cells] = np.arange(len(known))
        check = DeviationCheck(known)
        fits = check.see_all(
            [Proof(cells=number[self.unknowns.cells[p.cells]], moved=p.moved) for p in proofs]
        )
        return known, check, fits
