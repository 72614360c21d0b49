"""Pruning: secondary suppressions that others can stand in for are published again.

In: a `Hiding` in which every task is proven. Out: the same, no dearer: each secondary is
taken back, dearest first, if the tasks whose proofs it is part of can be proven without
it for less than it costs – by other proofs that are there, by hidden cells, or by cheaper
cells. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.suppression.covering import PATCH, flow_for, steps
from discreet.suppression.hiding import Hiding, Proof

__all__ = ["drop_unused", "prune"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: A patch in pruning grows to so many cells at most before a task counts as not doable.
_LARGEST = 4 * PATCH


class _Users:
    """Which tasks' proofs need which secondary."""

    def __init__(self, hiding: Hiding) -> None:
        self.hiding = hiding
        self.secondary = hiding.hidden & ~hiding.must
        self.tasks_of: dict[int, set[int]] = {}
        self.proofs_at: dict[int, set[int]] = {}
        for task in np.flatnonzero(hiding.proven >= 0):
            self.assign(int(task), int(hiding.proven[task]))

    def assign(self, task: int, proof: int) -> None:
        """Let a task be proven by a proof."""
        old = int(self.hiding.proven[task])
        if proof != old:
            self.release(task, old)
        self.hiding.proven[task] = proof
        tasks = self.tasks_of.setdefault(proof, set())
        if not tasks:
            for cell in self._secondaries(proof):
                self.proofs_at.setdefault(cell, set()).add(proof)
        tasks.add(task)

    def release(self, task: int, proof: int) -> None:
        tasks = self.tasks_of.get(proof, set())
        tasks.discard(task)
        if not tasks:
            for cell in self._secondaries(proof):
                self.proofs_at.get(cell, set()).discard(proof)

    def _secondaries(self, proof: int) -> list[int]:
        cells = self.hiding.proofs[proof].cells
        return [int(cell) for cell in cells[~self.hiding.must[cells]]]

    def of(self, cell: int) -> list[int]:
        """The tasks that are proven by moves of a cell."""
        proofs = self.proofs_at.get(cell, set())
        return sorted(task for proof in proofs for task in self.tasks_of[proof])


def drop_unused(hiding: Hiding) -> None:
    """Publish again what is part of no proof that is needed."""
    used = hiding.must.copy()
    for proof in np.unique(hiding.proven[hiding.proven >= 0]):
        used[hiding.proofs[int(proof)].cells] = True
    hiding.hidden &= used


def prune(hiding: Hiding, over: Callable[[], bool], budget: int, passes: int = 2) -> None:
    """Replace secondaries by nothing or by cheaper ones.

    Args:
        hiding: A pattern with all proofs; changed.
        over: Whether to stop, asked before each cell.
        budget: How many linear programs may be solved.
        passes: How often to go through the secondaries at most.
    """
    drop_unused(hiding)
    users = _Users(hiding)
    end = hiding.solved + budget
    for _ in range(passes):
        secondary = np.flatnonzero(hiding.hidden & ~hiding.must)
        changed = False
        worth = hiding.cost[secondary] / [1 + len(users.of(int(cell))) for cell in secondary]
        for cell in secondary[np.argsort(-worth, kind="stable")]:
            if over() or hiding.solved >= end:
                return
            if hiding.hidden[cell]:
                changed |= _replaced(hiding, users, int(cell))
        if not changed:
            return


def _replaced(hiding: Hiding, users: _Users, cell: int) -> bool:
    """Try to do without one secondary; whether that worked."""
    tasks = users.of(cell)
    step, price = steps(hiding), np.where(hiding.hidden, 0.0, np.maximum(hiding.cost, 1e-6))
    step[cell] = np.inf
    saved = float(hiding.cost[cell])
    flows: list[tuple[IntArray, FloatArray]] = []
    waiting = dict.fromkeys(tasks, -1)
    extra = np.zeros(0, dtype=np.int64)
    for task in sorted(tasks, key=lambda task: (-hiding.target[task], task)):
        if waiting[task] >= 0:
            continue
        found = flow_for(hiding, task, step, price, largest=_LARGEST)
        if found is None:
            return False
        cells, moved = found
        moving = moved != 0
        cells, moved = cells[moving], moved[moving]
        new = cells[price[cells] > 0]
        saved -= float(hiding.cost[new].sum())
        if saved <= 0 and not (new.size == 0 and not extra.size):
            return False
        extra = np.concatenate([extra, new])
        price[new] = 0.0
        for done in hiding.tasks_done(cells, moved):
            if waiting.get(int(done), 0) < 0:
                waiting[int(done)] = len(flows)
        flows.append((cells, moved))
    _accept(hiding, users, cell, extra, flows, waiting)
    return True


def _accept(
    hiding: Hiding,
    users: _Users,
    cell: int,
    extra: IntArray,
    flows: list[tuple[IntArray, FloatArray]],
    waiting: dict[int, int],
) -> None:
    """Let the new proofs stand in for those of one cell; publish what nobody needs now."""
    first = len(hiding.proofs)
    before = {int(c) for task in waiting for c in _cells(hiding, users, task)} | {cell}
    hiding.proofs += [Proof(cells=cells, moved=moved) for cells, moved in flows]
    hiding.hidden[extra] = True
    for task, flow in waiting.items():
        users.assign(task, first + flow)
    for other in before:
        if not hiding.must[other] and not users.proofs_at.get(other):
            hiding.hidden[other] = False


def _cells(hiding: Hiding, users: _Users, task: int) -> IntArray:
    return hiding.proofs[int(hiding.proven[task])].cells
