"""From above: hide all that may be hidden, then publish the dearest cells again. CONFIDENTIAL.

In: a `Hiding` with many sensitive cells. Out: the same with a pattern and a proof for
every sensitive cell, or nothing changed if the problem is not of the kind. Where nearly
every small cell must be hidden, this is the short way: cells are published in order of
their cost, batch by batch, as long as waves of all leaves still move every sensitive cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from discreet.suppression.hiding import Hiding
from discreet.suppression.leaves import Leaves, leaves_of
from discreet.suppression.obstacles import Taking, in_the_way
from discreet.suppression.problem import CellState
from discreet.suppression.projecting import BAND, Effort, Sums, sums_of
from discreet.suppression.unknowns import TOLERANCE
from discreet.suppression.waves import COLUMNS, aims_of, exact_waves, reached, waves
from discreet.suppression.worktime import WorkTime

__all__ = ["protected_from_above"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: With fewer sensitive cells, or a smaller share of them, single flows hide less.
_LEAST, _SHARE = 500, 0.4
#: With a larger share of cells that move in no wave the problem is not of the kind.
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
#: Nearly exact waves must move cells by so much more.
_MARGIN = 1e-2
#: Which share of the cells each of the first waves is to move.
_WISHED = 0.35
#: Waves for few cells start near zero.
_NEAR = 0.1
#: Smaller moves are none, in units.
_NO_MOVE = 1e-9


@dataclass(frozen=True, kw_only=True)
class _State:
    """What is published, and waves that show that every aim is still reached."""

    known: BoolArray
    moved: FloatArray


def protected_from_above(
    hiding: Hiding, watch: WorkTime, seed: int = 0, *, always: bool = False
) -> bool:
    """Hide everything, then publish what can be; whether the problem is of that kind.

    Args:
        hiding: A problem without any work done; afterwards with a pattern, and proofs for
            all cells but those that no wave moves even if everything is hidden.
        watch: The time limit; once it has struck, little more is published.
        seed: Draws; the same seed gives the same pattern.
        always: Whether to do so with few sensitive cells, too.
    """
    watched = int(hiding.unknowns.sensitive.sum())
    if not always and (watched < _LEAST or watched < _SHARE * len(hiding)):
        return False
    leaves = leaves_of(hiding.problem) if watched else None
    if leaves is None:
        return False
    before = hiding.target.copy()
    hiding.halve()
    work = _Publishing(hiding, leaves, seed)
    state = work.first()
    if state is None:
        hiding.target = before
        return False
    work.hand_over(_published(work, state, watch))
    return True


def _published(work: _Publishing, state: _State, watch: WorkTime) -> _State:
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


class _Publishing:
    """Publishes cells as long as waves move every sensitive cell."""

    def __init__(self, hiding: Hiding, leaves: Leaves, seed: int) -> None:
        self.hiding, self.leaves = hiding, leaves
        at = np.flatnonzero(hiding.unknowns.sensitive)
        want = np.maximum(hiding.target[at], hiding.target[at + len(hiding)])
        self.aims = aims_of(leaves, hiding.unknowns.cells[at], want)
        self.required = np.ones(len(at), dtype=np.bool_)
        self.effort = Effort()
        self._draw = np.random.default_rng([seed, 3])
        problem = hiding.problem
        free = np.flatnonzero(problem.state == CellState.free)
        self.order = free[np.argsort(-problem.cost[free], kind="stable")]
        self._rank = np.full(len(problem), -1, dtype=np.int64)
        self._rank[self.order] = np.arange(self.order.size)

    def worth(self, state: _State) -> int:
        """What the published cells would cost if they were hidden."""
        return int(self.hiding.problem.cost[state.known].sum())

    def batches(self) -> Iterator[IntArray]:
        """The cells that may be published, dearest first."""
        base = min(len(self.leaves), self.order.size)
        ends = np.rint(np.array(_BATCHES) * base).astype(np.int64)
        ends = np.minimum(ends, self.order.size)
        for first, last in pairwise((0, *ends)):
            if last > first:
                yield self.order[first:last]

    def first(self) -> _State | None:
        """Everything hidden that may be; None if waves leave too many cells where they are."""
        known = self.hiding.problem.state == CellState.fixed
        sums = sums_of(self.leaves, known, self.effort)
        made = [exact_waves(sums, self.aims, self._first_waves(sums))]
        far = [self._far(made[0], True)]
        missed = ~_some(far[0])
        if missed.any():
            start = self._rest(_State(known=known, moved=made[0]), 1)
            moved = waves(sums, self.aims, self._all(missed), start)
            made.append(exact_waves(sums, self.aims, moved))
            far.append(self._far(made[1], True))
            missed &= ~_some(far[1])
        self.required = ~missed
        if missed.sum() > _HOPELESS * len(self.aims):
            return None
        return _State(known=known, moved=_needed(made, far))

    def published(self, state: _State, cells: IntArray, watch: WorkTime) -> _State | None:
        """As many of some cells published too as can be; None if that failed."""
        known = state.known.copy()
        known[cells] = True
        return self._settled(_State(known=known, moved=state.moved), cells, watch, exact=False)

    def proven(self, state: _State, watch: WorkTime) -> _State | None:
        """The same with exact waves; if need be, with fewer cells published."""
        cells = np.flatnonzero(state.known & (self._rank >= 0)).astype(np.int64)
        return self._settled(state, cells, watch, exact=True)

    def _settled(
        self, state: _State, cells: IntArray, watch: WorkTime, *, exact: bool
    ) -> _State | None:
        """Take cells back until waves reach every aim; None if they never do."""
        known = state.known.copy()
        still = self.required.copy()
        made: list[FloatArray] = []
        far: list[BoolArray] = []
        sums = sums_of(self.leaves, known, self.effort)
        for turn, back in enumerate(_TAKEN_BACK):
            if watch.over():
                return None
            if back:
                known[self._in_the_way(sums, known, cells, still, back)] = False
                sums = sums_of(self.leaves, known, self.effort)
            if turn:
                moved = waves(sums, self.aims, self._all(still), self._rest(state, turn))
            else:
                moved = state.moved[:, :COLUMNS] if exact else self._first_waves(sums)
            moved = exact_waves(sums, self.aims, moved) if exact else moved
            made.append(moved)
            far.append(self._far(moved, exact))
            still &= ~_some(far[-1])
            if not still.any():
                return _State(known=known, moved=_needed(made, far))
            if turn and still.sum() > _TOO_MANY * len(still):
                return None
        return None

    def _first_waves(self, sums: Sums) -> FloatArray:
        wished = self._draw.random((len(self.aims), COLUMNS)) < _WISHED
        room = self.aims.room[:, None]
        start = self._draw.uniform(-0.9, 0.9, (len(room), COLUMNS)) * room
        return waves(sums, self.aims, wished, start)

    def _rest(self, state: _State, turn: int) -> FloatArray:
        """Where to start for the aims that are left: waves from before, if there are more."""
        first = COLUMNS + (turn - 1) * BAND
        if first < state.moved.shape[1]:
            return state.moved[:, first : first + BAND]
        room = self.aims.room[:, None]
        drawn: FloatArray = self._draw.uniform(-_NEAR, _NEAR, (len(room), BAND)) * room
        return drawn

    def _all(self, aims: BoolArray) -> BoolArray:
        return np.repeat(aims[:, None], BAND, axis=1)

    def _far(self, moved: FloatArray, exact: bool) -> BoolArray:
        """Which aims each wave reaches."""
        want = self.aims.want[:, None]
        least = want - 0.5 * TOLERANCE if exact else want * (1 + _MARGIN)
        reach: BoolArray = reached(self.aims, moved) >= least
        return reach

    def _in_the_way(
        self, sums: Sums, known: BoolArray, cells: IntArray, aims: BoolArray, number: int
    ) -> IntArray:
        """Published cells that hold some aims back, so many for each, the chosen ones first."""
        rank = np.where(known, self._rank, -1)
        rank[cells] += np.where(rank[cells] >= 0, len(rank), 0)
        how = Taking(number=number, near=number >= _ALL)
        return in_the_way(self.leaves, sums, self.aims, np.flatnonzero(aims), known, rank, how)

    def hand_over(self, state: _State) -> None:
        """Hide what is not published, and store the waves and their mirror images as proofs."""
        hiding = self.hiding
        cells = hiding.unknowns.cells
        hiding.hidden = hiding.must | ~state.known[cells]
        room = np.minimum(-hiding.unknowns.low, hiding.unknowns.high)
        for column in state.moved.T:
            moved = self.leaves.moves(column)[cells]
            moved[~hiding.hidden | (np.abs(moved) < _NO_MOVE)] = 0.0
            far = np.abs(moved) > room
            moved *= np.min(room[far] / np.abs(moved[far]), initial=1.0)
            every = np.arange(len(cells))
            hiding.take(every, moved)
            hiding.take(every, -moved)


def _some(reach: BoolArray) -> BoolArray:
    """Which aims some wave reaches."""
    found: BoolArray = np.logical_or.reduce(reach, axis=1)
    return found


def _needed(made: list[FloatArray], far: list[BoolArray]) -> FloatArray:
    """The waves that are needed to reach all aims, those that reach most first."""
    moved, reach = np.hstack(made), np.hstack(far)
    missing = _some(reach)
    chosen: list[int] = []
    while missing.any():
        gain = (reach & missing[:, None]).sum(axis=0)
        chosen.append(int(np.argmax(gain)))
        missing &= ~reach[:, chosen[-1]]
    result = np.zeros((len(moved), -(-max(len(chosen), 1) // BAND) * BAND))
    result[:, : len(chosen)] = moved[:, chosen]
    return result
