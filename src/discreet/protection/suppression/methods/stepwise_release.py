"""Stepwise release: hide all, then publish the dearest cells again. CONFIDENTIAL.

In: a `DraftPattern` with many sensitive cells. Out: the same with a pattern and a proof for
every sensitive cell, or nothing changed if the problem is not of the kind. Cells are
published in order of their cost, batch by batch, as long as deviations of all leaves still
move every sensitive cell. Where one does not move, the published cells whose sums hold it
back most are hidden again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.system import CellState
from discreet.protection.suppression.problem.unknowns import TOLERANCE
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.leaves import Leaves, leaves_of
from discreet.protection.suppression.proof.projection_bounds import (
    BAND,
    JOINT_MOVES,
    LeafSums,
    MoveTargets,
    ProjectionEffort,
    distances_reached,
    exact_joint_moves,
    joint_moves,
    leaf_sums,
    move_targets,
    projected,
)

#: How sums that hold cells back are found: steps, and what may be missing.
_STEPS, _FINE = 300, 1e-4
#: The least weight that counts, how many sums are looked at per cell to take back, and at most.
_HOLDS, _SUMS, _MOST_SUMS = 0.05, 40, 1_000
#: Columns in which cells are pushed, at most.
_COLUMNS = 4 * BAND


def _pushed(leaves: Leaves, aims: MoveTargets, which: IntArray) -> FloatArray:
    """Each aim pushed by one unit per leaf; neighbours in different columns."""
    columns = min(-(-which.size // BAND) * BAND, _COLUMNS)
    pushed = np.zeros((len(leaves), columns))
    for column in range(columns):
        for one in which[column::columns]:
            pushed[aims.at[aims.start[one] : aims.start[one + 1]], column] += 1.0
    return pushed


@compiled
def _holders(
    aims: Any, start: Any, at: Any, first: Any, of: Any, sum_start: Any, sum_at: Any, weight: Any,
    least: float, most: int,
) -> Any:  # fmt: skip
    """For each aim, the sums of weight that hang together with its leaves, heaviest first."""
    begin = np.zeros(aims.size + 1, dtype=np.int64)
    chosen = [np.int64(0) for _ in range(0)]
    seen = np.full(sum_start.size, -1, dtype=np.int64)
    for i in range(aims.size):
        column = i % weight.shape[1]
        done = len(chosen)
        for k in range(start[aims[i]], start[aims[i] + 1]):
            for entry in range(first[at[k]], first[at[k] + 1]):
                s = of[entry]
                if seen[s] != i and weight[s, column] >= least:
                    seen[s] = i
                    chosen.append(np.int64(s))
        while done < len(chosen) and len(chosen) - begin[i] < most:
            own = chosen[done]
            done += 1
            for k in range(sum_start[own], sum_start[own + 1]):
                for entry in range(first[sum_at[k]], first[sum_at[k] + 1]):
                    s = of[entry]
                    if seen[s] != i and weight[s, column] >= least:
                        seen[s] = i
                        chosen.append(np.int64(s))
        begin[i + 1] = len(chosen)
    order = np.array(chosen, np.int64)
    for i in range(aims.size):
        listed = order[begin[i] : begin[i + 1]].copy()
        size = np.array([-weight[s, i % weight.shape[1]] for s in listed], np.float64)
        order[begin[i] : begin[i + 1]] = listed[np.argsort(size, kind="mergesort")]
    return begin, order


@compiled
def _origins_of(
    start: Any, cells: Any, way: Any, row_start: Any, row_cell: Any, known: Any, rank: Any,
    number: int,
) -> Any:  # fmt: skip
    """From each list of sums, cells of the highest ranks that the first sums come from."""
    chosen = [np.int64(0) for _ in range(0)]
    for i in range(start.size - 1):
        taken, spare = 0, np.int64(-1)
        for k in range(start[i], start[i + 1]):
            origins: Any = _origins(cells[k], way, row_start, row_cell, known, rank)
            if len(origins) and (spare < 0 or rank[origins[0]] > rank[spare]):
                spare = origins[0]
            for cell in origins:
                if taken < number and rank[cell] >= rank.size:
                    chosen.append(cell)
                    taken += 1
        if taken == 0 and spare >= 0:
            chosen.append(spare)
    return np.array(chosen, np.int64)


@compiled
def _origins(cell: Any, way: Any, row_start: Any, row_cell: Any, known: Any, rank: Any) -> Any:
    """The known cells that a sum comes from, those of high rank first."""
    origins = [np.int64(cell)]
    stack = [np.int64(cell)]
    while len(stack) > 0:
        top = stack.pop()
        r = way[top]
        if r < 0:
            continue
        for k in range(row_start[r], row_start[r + 1]):
            part = np.int64(row_cell[k])
            if part == top:
                continue
            if known[part]:
                origins.append(part)
            else:
                stack.append(part)
    usable = np.array([c for c in origins if rank[c] >= 0], np.int64)
    ranked = np.array([-rank[c] for c in usable], np.int64)
    return usable[np.argsort(ranked, kind="mergesort")]


#: With fewer sensitive cells, or a smaller share of them, single flows hide less.
_LEAST, _SHARE = 500, 0.4
#: With a larger share of cells that move in no joint move the problem is not of the kind.
_HOPELESS = 0.01
#: How many cells there are after each batch, as a share of the leaves, or of the cells that
#: may be published if these are fewer.
_BATCHES = (0.4, 0.65, 0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
#: Whoever takes back so many cells takes them from all sums near by.
_ALL = 1_000
#: Cells taken back per cell that does not move, try by try; then the batch is given up.
_TAKEN_BACK = (0, 0, 2, 4, 8, 16, _ALL, _ALL, _ALL, _ALL)
#: A batch is given up as well if a larger share of the cells does not move.
_TOO_MANY = 0.1
#: No batch is begun after so much work.
_EFFORT = 1e10
#: A batch that fails is halved down to so many cells.
_SMALLEST = 20
#: It ends after a batch of which a smaller share can be published.
_WORTH = 0.2
#: Nearly exact joint moves must move cells by so much more.
_MARGIN = 1e-2
#: Which share of the cells each of the first joint moves is to move.
_WISHED = 0.35
#: Joint moves for few cells start near zero.
_NEAR = 0.1
#: Smaller moves are none, in units.
_NO_MOVE = 1e-9


@dataclass(frozen=True, kw_only=True)
class _ReleaseState:
    """What is published, and joint moves that show that every aim is still reached."""

    known: BoolArray
    moved: FloatArray


def many_sensitive(draft: DraftPattern) -> bool:
    """Whether many of the cells that may be hidden are sensitive."""
    watched = int(draft.unknowns.sensitive.sum())
    return watched >= max(_LEAST, _SHARE * len(draft))


def released_stepwise(
    draft: DraftPattern, watch: WorkTime, seed: int = 0, *, always: bool = False
) -> bool:
    """Hide everything, then publish what can be; whether the problem is of that kind.

    The draft comes without any work done; afterwards it has a pattern, and proofs for all cells
    but those that no joint move moves even if everything is hidden. Once time is up little more
    is published. `always`: with few sensitive cells, too.
    """
    if not always and not many_sensitive(draft):
        return False
    leaves = leaves_of(draft.problem) if draft.unknowns.sensitive.any() else None
    if leaves is None:
        return False
    before = draft.target.copy()
    draft.halve()
    work = _StepwiseRelease(draft, leaves, seed)
    state = work.first()
    if state is None:
        draft.target = before
        return False
    work.store_proofs(_published(work, state, watch))
    return True


def _published(work: _StepwiseRelease, state: _ReleaseState, watch: WorkTime) -> _ReleaseState:
    """The last state that is proven exactly, after publishing batch by batch."""
    done = state
    todo = list(work.batches())[::-1]
    while todo and work.effort.spent <= _EFFORT and not watch.over():
        batch = todo.pop()
        trial = work.published(state, batch, watch)
        if trial is None or work.worth(trial) <= work.worth(state):
            if batch.size < _SMALLEST:
                break
            todo.extend((batch[batch.size // 2 :], batch[: batch.size // 2]))
            continue
        gained = int(trial.known.sum() - state.known.sum())
        state = trial
        watch.tell(f"publish: {int(state.known.sum()):,} cells")
        if watch.limited:
            done = work.proven(state, watch) or done
        if gained < _WORTH * batch.size:
            break
    watch.tell("prove")
    return work.proven(state, watch) or done


class _StepwiseRelease:
    """Publishes cells as long as joint moves move every sensitive cell."""

    def __init__(self, draft: DraftPattern, leaves: Leaves, seed: int) -> None:
        self.draft, self.leaves = draft, leaves
        at = np.flatnonzero(draft.unknowns.sensitive)
        want = np.maximum(draft.target[at], draft.target[at + len(draft)])
        self.aims = move_targets(leaves, draft.unknowns.cells[at], want)
        self.required = np.ones(len(at), dtype=np.bool_)
        self.effort = ProjectionEffort()
        self._draw = np.random.default_rng([seed, 3])
        problem = draft.problem
        free = np.flatnonzero(problem.state == CellState.free)
        self.order = free[np.argsort(-problem.cost[free], kind="stable")]
        self._rank = np.full(len(problem), -1, dtype=np.int64)
        self._rank[self.order] = np.arange(self.order.size)

    def worth(self, state: _ReleaseState) -> int:
        """What the published cells would cost if they were hidden."""
        return int(self.draft.problem.cost[state.known].sum())

    def batches(self) -> Iterator[IntArray]:
        """The cells that may be published, dearest first."""
        base = min(len(self.leaves), self.order.size)
        ends = np.rint(np.array(_BATCHES) * base).astype(np.int64)
        ends = np.minimum(ends, self.order.size)
        for first, last in pairwise((0, *ends)):
            if last > first:
                yield self.order[first:last]

    def first(self) -> _ReleaseState | None:
        """Everything hidden that may be; None if too many cells cannot be moved."""
        known = self.draft.problem.state == CellState.fixed
        sums = leaf_sums(self.leaves, known, self.effort)
        moves = [exact_joint_moves(sums, self.aims, self._first_joint_moves(sums))]
        far = [self._reached(moves[0], True)]
        missed = ~_some(far[0])
        if missed.any():
            start = self._rest(_ReleaseState(known=known, moved=moves[0]), 1)
            moved = joint_moves(sums, self.aims, np.repeat(missed[:, None], BAND, axis=1), start)
            moves.append(exact_joint_moves(sums, self.aims, moved))
            far.append(self._reached(moves[1], True))
            missed &= ~_some(far[1])
        self.required = ~missed
        if missed.sum() > _HOPELESS * len(self.aims):
            return None
        return _ReleaseState(known=known, moved=_needed(moves, far))

    def published(
        self, state: _ReleaseState, cells: IntArray, watch: WorkTime
    ) -> _ReleaseState | None:
        """As many of some cells published too as can be; None if that failed."""
        known = state.known.copy()
        known[cells] = True
        return self._settled(replace(state, known=known), cells, watch, exact=False)

    def proven(self, state: _ReleaseState, watch: WorkTime) -> _ReleaseState | None:
        """The same with exact joint moves; if need be, with fewer cells published."""
        cells = np.flatnonzero(state.known & (self._rank >= 0)).astype(np.int64)
        return self._settled(state, cells, watch, exact=True)

    def _settled(
        self, state: _ReleaseState, cells: IntArray, watch: WorkTime, *, exact: bool
    ) -> _ReleaseState | None:
        """Take cells back until joint moves reach every aim; None if they never do."""
        known = state.known.copy()
        still = self.required.copy()
        moves: list[FloatArray] = []
        far: list[BoolArray] = []
        sums = leaf_sums(self.leaves, known, self.effort)
        for turn, back in enumerate(_TAKEN_BACK):
            if watch.over():
                return None
            if back:
                known[self._obstacles(sums, known, cells, still, back)] = False
                sums = leaf_sums(self.leaves, known, self.effort)
            if turn:
                wished = np.repeat(still[:, None], BAND, axis=1)
                moved = joint_moves(sums, self.aims, wished, self._rest(state, turn))
            else:
                moved = state.moved[:, :JOINT_MOVES] if exact else self._first_joint_moves(sums)
            moved = exact_joint_moves(sums, self.aims, moved) if exact else moved
            moves.append(moved)
            far.append(self._reached(moved, exact))
            still &= ~_some(far[-1])
            if not still.any():
                return _ReleaseState(known=known, moved=_needed(moves, far))
            if turn and still.sum() > _TOO_MANY * len(still):
                return None
        return None

    def _first_joint_moves(self, sums: LeafSums) -> FloatArray:
        wished = self._draw.random((len(self.aims), JOINT_MOVES)) < _WISHED
        room = self.aims.room[:, None]
        start = self._draw.uniform(-0.9, 0.9, (len(room), JOINT_MOVES)) * room
        return joint_moves(sums, self.aims, wished, start)

    def _rest(self, state: _ReleaseState, turn: int) -> FloatArray:
        """Where to start for the aims that are left: joint moves from before, if there are more."""
        first = JOINT_MOVES + (turn - 1) * BAND
        if first < state.moved.shape[1]:
            return state.moved[:, first : first + BAND]
        room = self.aims.room[:, None]
        drawn: FloatArray = self._draw.uniform(-_NEAR, _NEAR, (len(room), BAND)) * room
        return drawn

    def _reached(self, moved: FloatArray, exact: bool) -> BoolArray:
        """Which aims each joint move reaches."""
        want = self.aims.want[:, None]
        least = want - 0.5 * TOLERANCE if exact else want * (1 + _MARGIN)
        reach: BoolArray = distances_reached(self.aims, moved) >= least
        return reach

    def _obstacles(
        self, sums: LeafSums, known: BoolArray, cells: IntArray, aims: BoolArray, number: int
    ) -> IntArray:
        """Published cells behind the sums that hold some aims back, so many for each.

        Cells of a higher rank are taken first: chosen ones as many as asked for, others only
        where there is none of these.
        """
        rank = np.where(known, self._rank, -1)
        rank[cells] += np.where(rank[cells] >= 0, len(rank), 0)
        links, which = self.leaves.problem.relations, np.flatnonzero(aims)
        pushed = _pushed(self.leaves, self.aims, which)
        _, _, weight = projected(sums, pushed, np.ones(pushed.shape, np.bool_), _STEPS, _FINE)
        weight = np.abs(weight)
        start, held_by = _holders(
            which, self.aims.start, self.aims.at, sums.first, sums.of, sums.start, sums.at, weight,
            0.0 if number >= _ALL else _HOLDS, min(_SUMS * number, _MOST_SUMS),
        )  # fmt: skip
        origins = _origins_of(
            start, sums.cells[held_by], sums.way, links.start, links.cell, known, rank, number
        )
        return np.unique(origins)

    def store_proofs(self, state: _ReleaseState) -> None:
        """Hide what is not published, and store joint moves and their mirror images as proofs."""
        draft = self.draft
        cells = draft.unknowns.cells
        draft.hidden = draft.must | ~state.known[cells]
        room = np.minimum(-draft.unknowns.low, draft.unknowns.high)
        for column in state.moved.T:
            moved = self.leaves.moves(column)[cells]
            moved[~draft.hidden | (np.abs(moved) < _NO_MOVE)] = 0.0
            far = np.abs(moved) > room
            moved *= np.min(room[far] / np.abs(moved[far]), initial=1.0)
            every = np.arange(len(cells))
            draft.take(every, moved)
            draft.take(every, -moved)


def _some(reach: BoolArray) -> BoolArray:
    """Which aims some joint move reaches."""
    mask: BoolArray = np.logical_or.reduce(reach, axis=1)
    return mask


def _needed(moves: list[FloatArray], far: list[BoolArray]) -> FloatArray:
    """The joint moves that are needed to reach all aims, those that reach most first."""
    moved, reach = np.hstack(moves), np.hstack(far)
    missing = _some(reach)
    chosen: list[int] = []
    while missing.any():
        gain = (reach & missing[:, None]).sum(axis=0)
        chosen.append(int(np.argmax(gain)))
        missing &= ~reach[:, chosen[-1]]
    result = np.zeros((len(moved), -(-max(len(chosen), 1) // BAND) * BAND))
    result[:, : len(chosen)] = moved[:, chosen]
    return result
