"""Local search: a proven pattern made cheaper, step by step. CONFIDENTIAL.

In: a `DraftPattern` in which every task is proven. Out: one no dearer, proven too. Each
secondary suppression is taken back, dearest first, if the tasks whose proofs need it can be
proven without it for less; trials publish some secondaries again and cover the tasks that
lose their proofs anew, at prices that differ a little.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, Proof
from discreet.protection.suppression.proof.local_lp import (
    PATCH_SIZE,
    cover_tasks,
    flow_for_task,
    relation_distances,
)

#: Cells that prove more tasks than these, and more than this share of all, stay hidden: each
#: task would have to be proven anew.
_CROWD, _CROWD_SHARE = 300, 0.25
#: A patch in pruning grows to so many cells at most before a task counts as not doable.
_LARGEST = 4 * PATCH_SIZE


class _ProofUsers:
    """Which tasks' proofs need which secondary."""

    def __init__(self, draft: DraftPattern) -> None:
        self.draft = draft
        self.secondary = draft.hidden & ~draft.must
        self.tasks_of: dict[int, set[int]] = {}
        self.proofs_at: dict[int, set[int]] = {}
        for task in np.flatnonzero(draft.proven >= 0):
            self.assign(int(task), int(draft.proven[task]))

    def assign(self, task: int, proof: int) -> None:
        """Let a task be proven by a proof."""
        old = int(self.draft.proven[task])
        if proof != old:
            self.release(task, old)
        self.draft.proven[task] = proof
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
        cells = self.draft.proofs[proof].cells
        return [int(cell) for cell in cells[~self.draft.must[cells]]]

    def of(self, cell: int) -> list[int]:
        """The tasks that are proven by moves of a cell."""
        proofs = self.proofs_at.get(cell, set())
        return sorted(task for proof in proofs for task in self.tasks_of[proof])

    def number(self, cell: int) -> int:
        """How many tasks are proven by moves of a cell."""
        return sum(len(self.tasks_of[proof]) for proof in self.proofs_at.get(cell, ()))


def drop_unused(draft: DraftPattern) -> None:
    """Publish again what is part of no proof that is needed."""
    used = draft.must.copy()
    for proof in np.unique(draft.proven[draft.proven >= 0]):
        used[draft.proofs[int(proof)].cells] = True
    draft.hidden &= used


def prune(
    draft: DraftPattern, over: Callable[[], bool], budget: float = math.inf, passes: int = 2
) -> None:
    """Replace secondaries by nothing or by cheaper ones, with so many linear programs at most.

    The draft, a pattern with all proofs, is changed; `over` is asked before each cell.
    """
    drop_unused(draft)
    users = _ProofUsers(draft)
    end = draft.solved + budget
    for _ in range(passes):
        secondary = np.flatnonzero(draft.hidden & ~draft.must)
        changed = False
        worth = draft.cost[secondary] / [1 + users.number(int(cell)) for cell in secondary]
        for cell in secondary[np.argsort(-worth, kind="stable")]:
            if over() or draft.solved >= end:
                return
            if draft.hidden[cell]:
                changed |= _replaced(draft, users, int(cell))
        if not changed:
            return


def _replaced(draft: DraftPattern, users: _ProofUsers, cell: int) -> bool:
    """Try to do without one secondary; whether that worked."""
    if users.number(cell) > max(_CROWD, _CROWD_SHARE * np.count_nonzero(draft.target)):
        return False
    tasks = users.of(cell)
    step = relation_distances(draft)
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    step[cell] = np.inf
    saved = float(draft.cost[cell])
    flows: list[tuple[IntArray, FloatArray]] = []
    waiting = dict.fromkeys(tasks, -1)
    extra = np.zeros(0, dtype=np.int64)
    for task in sorted(tasks, key=lambda task: (-draft.target[task], task)):
        if waiting[task] >= 0:
            continue
        flow = flow_for_task(draft, task, step, price, largest=_LARGEST)
        if flow is None:
            return False
        cells, moved = flow
        moving = moved != 0
        cells, moved = cells[moving], moved[moving]
        new = cells[price[cells] > 0]
        saved -= float(draft.cost[new].sum())
        if saved <= 0 and not (new.size == 0 and not extra.size):
            return False
        extra = np.concatenate([extra, new])
        price[new] = 0.0
        for done in draft.tasks_done(cells, moved):
            if waiting.get(int(done), 0) < 0:
                waiting[int(done)] = len(flows)
        flows.append((cells, moved))
    _accept(draft, users, cell, extra, flows, waiting)
    return True


def _accept(
    draft: DraftPattern,
    users: _ProofUsers,
    cell: int,
    extra: IntArray,
    flows: list[tuple[IntArray, FloatArray]],
    waiting: dict[int, int],
) -> None:
    """Let the new proofs stand in for those of one cell; publish what nobody needs now."""
    first = len(draft.proofs)
    old = (draft.proofs[int(draft.proven[task])].cells for task in waiting)
    before = {int(c) for cells in old for c in cells} | {cell}
    draft.proofs += [Proof(cells=cells, moved=moved) for cells, moved in flows]
    draft.hidden[extra] = True
    for task, flow in waiting.items():
        users.assign(task, first + flow)
    for other in before:
        if not draft.must[other] and not users.proofs_at.get(other):
            draft.hidden[other] = False


def refitted(
    draft: DraftPattern, over: Callable[[], bool], tasks: IntArray | None = None
) -> DraftPattern:
    """A pattern within this one, which has all proofs: all tasks covered anew by its cells.

    Tasks that move least come first; if it has to stop, nothing is gained.
    """
    other = draft.without(draft.hidden)
    if tasks is None:
        tasks = other.open[np.argsort(other.target[other.open], kind="stable")]
    failed = cover_tasks(other, tasks, over, allowed=draft.hidden)
    if failed or len(other.open):
        return draft
    drop_unused(other)
    return other if other.spent < draft.spent else draft
