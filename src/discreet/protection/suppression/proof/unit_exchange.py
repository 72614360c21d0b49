"""Exchange of units: what protects, and can be published of, sparse counts. CONFIDENTIAL.

Few leaves can go down in a `DraftPattern` of such counts: whoever sees zeros printed knows that
every hidden count is 1 at least. A sensitive cell moves by a unit if one leaf under it gives it to,
or takes it from, a leaf outside that stands in the same published cells: nothing published changes.
Cells are published in order of their cost, the dearest first, as long as every task has such a pair
of leaves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import TOLERANCE, Exchanges, Leaves, Proof, leaves_of, moves_of
from discreet.protection.suppression.problem.system import CellState
from discreet.protection.suppression.proof.draft_pattern import DraftPattern

#: With fewer tasks, or a smaller share of sensitive cells, single flows hide less.
_LEAST, _SHARE = 1_000, 0.4
#: With a smaller share of sensitive leaves that cannot move both ways, joint moves do more.
_ONE_WAY = 0.01
#: If fewer tasks have a pair of leaves though everything is hidden, this is not the way.
_PAIRED = 0.9
#: Cells that are tried between two looks at the clock.
_BATCH = 2_000
#: Proofs that are made together.
_TOGETHER = 20_000


def released_by_exchange(
    draft: DraftPattern, over: Callable[[], bool], *, always: bool = False
) -> bool:
    """Hide everything, then publish what exchanges of units allow; whether most tasks have one.

    The draft comes without any work done; it stays as it is where that is not so. `always`:
    with few sensitive cells, too.
    """
    tasks, problem = draft.open, draft.problem
    few = tasks.size < _LEAST or draft.unknowns.sensitive.sum() < _SHARE * len(draft)
    if (few and not always) or not tasks.size or not _units_suffice(draft):
        return False
    leaves = leaves_of(problem.relations, problem.state != CellState.fixed)
    if leaves is None or not _one_way(draft, leaves):
        return False
    work, paired = _paired(draft, tasks, leaves)
    if paired.sum() < _PAIRED * tasks.size:
        return False
    cells = draft.unknowns.cells
    down = np.zeros(len(problem))
    down[cells] = draft.down + TOLERANCE
    free = np.flatnonzero((problem.state == CellState.free) & (down >= 1.0))
    order = free[np.argsort(-problem.cost[free], kind="stable")].astype(np.int64)
    published = np.zeros(len(problem), dtype=np.bool_)
    for at in range(0, order.size, _BATCH):
        if over():
            break
        some = order[at : at + _BATCH]
        published[some[work.publish(some)]] = True
    draft.hidden = draft.must | ~published[cells]
    _store(draft, np.flatnonzero(paired), tasks, work)
    return True


def prove_by_exchange(draft: DraftPattern) -> None:
    """Prove open tasks of a large pattern by exchanges of units among its hidden cells."""
    tasks = draft.open
    if tasks.size >= _LEAST and _units_suffice(draft):
        problem = draft.problem
        leaves = leaves_of(problem.relations, problem.state != CellState.fixed)
        if leaves is not None:
            work, paired = _paired(draft, tasks, leaves)
            _store(draft, np.flatnonzero(paired), tasks, work)


def _units_suffice(draft: DraftPattern) -> bool:
    return not bool((draft.target > 1.0 + TOLERANCE).any())


def _paired(draft: DraftPattern, tasks: IntArray, leaves: Leaves) -> tuple[Exchanges, BoolArray]:
    """Pairs of leaves for tasks, where only cells of the draft move; which tasks have one."""
    cells, number = draft.unknowns.cells, len(draft)
    down, up = np.zeros(len(draft.problem)), np.zeros(len(draft.problem))
    down[cells], up[cells] = draft.down + TOLERANCE, draft.up + TOLERANCE
    work = Exchanges(
        leaves=leaves,
        asked=cells[tasks % number],
        rises=tasks < number,
        gives=down[leaves.cells] >= 1.0,
        takes=up[leaves.cells] >= 1.0,
    )
    # A total that cannot rise counts as known: leaves below it give to each other.
    total = (leaves.number < 0) & (np.diff(leaves.first) > 0)
    return work, work.start(np.flatnonzero((up < 1.0) & total))


def _one_way(draft: DraftPattern, leaves: Leaves) -> bool:
    """Whether sensitive leaves can move to one side only."""
    number = leaves.number[draft.unknowns.cells] >= 0
    sensitive = number & draft.unknowns.sensitive
    stuck = np.minimum(draft.down, draft.up) < 1.0 - TOLERANCE
    return bool((sensitive & stuck).sum() > _ONE_WAY * sensitive.sum())


def _store(draft: DraftPattern, paired: IntArray, tasks: IntArray, work: Exchanges) -> None:
    """Keep the exchanges of the tasks that have one as proofs."""
    number = np.full(len(draft.problem), -1, dtype=np.int64)
    number[draft.unknowns.cells] = np.arange(len(draft))
    for at in range(0, paired.size, _TOGETHER):
        some = paired[at : at + _TOGETHER]
        ends, cells, moved = moves_of(work.pair[some], work.leaves, number)
        draft.proven[tasks[some]] = len(draft.proofs) + np.arange(len(ends) - 1)
        draft.proofs += [
            Proof(cells=cells[a:b], moved=moved[a:b])
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
