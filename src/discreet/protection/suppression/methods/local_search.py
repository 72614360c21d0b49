"""Local search: a proven pattern made cheaper, step by step. CONFIDENTIAL.

In: a `DraftPattern` in which every task is proven. Out: one no dearer, proven too. Each
secondary suppression is taken back, dearest first, if the tasks whose proofs need it can be
proven without it for less; trials publish some secondaries again and cover the tasks that
lose their proofs anew, at prices that differ a little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import BoolArray
from discreet.disclosure import Proof
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import (
    PATCH_SIZE,
    flow_for_task,
    relation_distances,
)

#: Cells that prove more tasks than these, and more than this share of all, stay hidden: each
#: task would have to be proven anew.
_CROWD, _CROWD_SHARE = 300, 0.25
#: A patch in pruning grows to so many cells at most before a task counts as not doable.
_LARGEST = 4 * PATCH_SIZE


class ProofUsers:
    """Which tasks or aims use which proofs, and which proofs need which cells."""

    def __init__(self, proofs: list[Proof]) -> None:
        self._proofs = proofs
        self._users: dict[int, set[int]] = {}
        self.proofs_at: dict[int, set[int]] = {}
        #: Cells of which proofs have been given up.
        self.left: set[int] = set()

    def enter(self, user: int, *proofs: int) -> None:
        """Count in a use of proofs."""
        for proof in proofs:
            if not self._users.setdefault(proof, set()):
                for cell in self._proofs[proof].cells.tolist():
                    self.proofs_at.setdefault(cell, set()).add(proof)
            self._users[proof].add(user)

    def leave(self, user: int, *proofs: int) -> None:
        """Count it out."""
        for proof in proofs:
            self._users[proof].discard(user)
            if not self._users[proof]:
                cells = self._proofs[proof].cells.tolist()
                self.left.update(cells)
                for cell in cells:
                    self.proofs_at[cell].discard(proof)

    def of(self, cell: int) -> list[int]:
        """The tasks or aims whose proofs need a cell."""
        return sorted({user for p in self.proofs_at.get(cell, ()) for user in self._users[p]})

    def publish_unused(self, draft: DraftPattern, secondary: BoolArray) -> None:
        """Publish again which of the cells that were left no proof needs."""
        for cell in self.left:
            if secondary[cell] and not self.proofs_at.get(cell):
                draft.hidden[cell] = False
        self.left.clear()


def drop_unused(draft: DraftPattern) -> None:
    """Publish again what is part of no proof that is needed."""
    used = draft.must.copy()
    for proof in np.unique(draft.proven[draft.proven >= 0]):
        used[draft.proofs[int(proof)].cells] = True
    draft.hidden &= used


def prune(draft: DraftPattern, over: Callable[[], bool]) -> None:
    """Replace secondaries by nothing or by cheaper ones.

    The draft, a pattern with all proofs, is changed; `over` is asked before each cell.
    """
    drop_unused(draft)
    users = ProofUsers(draft.proofs)
    for task in np.flatnonzero(draft.proven >= 0).tolist():
        users.enter(task, int(draft.proven[task]))
    replace_in_turn(draft, users, ~draft.must, over, lambda cell: _replaced(draft, users, cell))


def replace_in_turn(
    draft: DraftPattern,
    users: ProofUsers,
    secondary: BoolArray,
    over: Callable[[], bool],
    replaced: Callable[[int], bool],
) -> None:
    """Try to do without each secondary, dearest per use first, until none is replaced any more."""
    for _ in range(2):
        cells = np.flatnonzero(draft.hidden & secondary)
        worth = draft.cost[cells] / [1 + len(users.of(int(cell))) for cell in cells]
        changed = False
        for cell in cells[np.argsort(-worth, kind="stable")].tolist():
            if over():
                return
            if draft.hidden[cell] and replaced(cell):
                users.publish_unused(draft, secondary)
                changed = True
        if not changed:
            return


def _replaced(draft: DraftPattern, users: ProofUsers, cell: int) -> bool:
    """Try to do without one secondary; whether that worked."""
    tasks = users.of(cell)
    if len(tasks) > max(_CROWD, _CROWD_SHARE * np.count_nonzero(draft.target)):
        return False
    step = relation_distances(draft)
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    step[cell] = np.inf
    saved, first = float(draft.cost[cell]), len(draft.proofs)
    proofs: list[Proof] = []
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
        for done in draft.tasks_done(cells, moved).tolist():
            if waiting.get(done, 0) < 0:
                waiting[done] = first + len(proofs)
        proofs.append(Proof(cells=cells, moved=moved))
    # The new proofs stand in for the old ones; what nobody needs now is published.
    draft.proofs += proofs
    draft.hidden[extra] = True
    for task, proof in waiting.items():
        users.leave(task, int(draft.proven[task]))
        users.enter(task, proof)
        draft.proven[task] = proof
    users.left.add(cell)
    return True
