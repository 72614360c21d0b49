"""Exchange of units: which cells of a sparse frequency table can be published. CONFIDENTIAL.

In: a `DraftPattern` of counts where few leaves can go down: whoever sees zeros printed knows
that every hidden count is 1 at least. Out: the same with a pattern and a proof for every task,
or nothing changed if the problem is not of the kind. A sensitive cell moves by a unit if one
leaf under it gives it to, or takes it from, a leaf outside that stands in the same published
cells: nothing published changes. Cells are published in order of their cost, the dearest
first, as long as every task has such a pair of leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray, starts
from discreet.protection.suppression.problem.kernels import compiled_at_once
from discreet.protection.suppression.problem.system import CellState
from discreet.protection.suppression.problem.unknowns import TOLERANCE
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, Proof
from discreet.protection.suppression.proof.leaves import Leaves, leaves_of

#: With fewer tasks, or a smaller share of sensitive cells, single flows hide less.
_LEAST, _SHARE = 1_000, 0.4
#: With a smaller share of sensitive leaves that cannot move both ways, joint moves do more.
_ONE_WAY = 0.01
#: If fewer tasks have a pair of leaves though everything is hidden, this is not the way.
_PAIRED = 0.9
#: Leaves under a cell that are tried, and partners for each.
_OWN, _PARTNERS = 12, 400
#: No partner: nothing published is touched. And no way at all.
_ALONE, _NONE = -1, -2
#: Cells that are tried between two looks at the clock.
_BATCH = 2_000
#: Proofs that are made together.
_TOGETHER = 20_000


@dataclass(frozen=True)
class _Sums:
    """Which leaves stand under which cells, and which cells above which leaves."""

    first: IntArray
    leaf: Any
    begin: IntArray
    above: Any

    @classmethod
    def of(cls, leaves: Leaves, cells: int) -> _Sums:
        first, leaf = leaves.under(np.arange(cells, dtype=np.int64))
        order = np.argsort(leaf, kind="stable")
        above = np.repeat(np.arange(cells, dtype=np.int32), np.diff(first))[order]
        begin = starts(np.bincount(leaf, minlength=len(leaves)))
        return cls(first, leaf, begin, above)


def released_by_exchange(
    draft: DraftPattern, over: Callable[[], bool], *, always: bool = False
) -> bool:
    """Hide everything, then publish what exchanges of units allow; whether most tasks have one.

    The draft comes without any work done; it stays as it is where that is not so. `always`:
    with few sensitive cells, too.
    """
    tasks, problem = draft.open, draft.problem
    few = tasks.size < _LEAST or draft.unknowns.sensitive.sum() < _SHARE * len(draft)
    if (few and not always) or (draft.target[tasks] > 1.0 + TOLERANCE).any():
        return False
    leaves = leaves_of(problem) if tasks.size else None
    if leaves is None or not _one_way(draft, leaves):
        return False
    sums = _Sums.of(leaves, len(problem))
    cells, number = draft.unknowns.cells, len(draft)
    down, up = np.zeros(len(problem)), np.zeros(len(problem))
    down[cells], up[cells] = draft.down + TOLERANCE, draft.up + TOLERANCE
    fixed = problem.state == CellState.fixed
    work = _Exchanges(
        sums=sums,
        asked=cells[tasks % number],
        rises=tasks < number,
        gives=down[leaves.cells] >= 1.0,
        takes=up[leaves.cells] >= 1.0,
    )
    # A total that cannot rise counts as known: leaves below it give to each other.
    total = (leaves.number < 0) & (np.diff(sums.first) > 0)
    paired = work.start(np.flatnonzero((fixed | (up < 1.0)) & total))
    if paired.sum() < _PAIRED * tasks.size:
        return False
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


def _one_way(draft: DraftPattern, leaves: Leaves) -> bool:
    """Whether sensitive leaves can move to one side only."""
    number = leaves.number[draft.unknowns.cells] >= 0
    sensitive = number & draft.unknowns.sensitive
    stuck = np.minimum(draft.down, draft.up) < 1.0 - TOLERANCE
    return bool((sensitive & stuck).sum() > _ONE_WAY * sensitive.sum())


class _Exchanges:
    """The pair of leaves that every task has now."""

    def __init__(
        self, *, sums: _Sums, asked: IntArray, rises: BoolArray, gives: BoolArray, takes: BoolArray
    ) -> None:
        leaves, whole = len(sums.begin) - 1, np.int64
        self.sums = sums
        self.asked, self.rises = asked, rises
        self.pair = np.full((asked.size, 2), _NONE, dtype=whole)
        self._able = (gives, takes)
        self._parts = (
            np.arange(leaves, dtype=whole), np.arange(leaves, dtype=whole),
            np.zeros(leaves, dtype=whole), np.zeros(leaves + 2, dtype=whole),
            np.zeros(leaves + 2, dtype=whole), np.zeros(leaves + 2, dtype=whole),
            np.zeros(leaves + 2, dtype=np.bool_), np.ones(1, dtype=whole),
        )  # fmt: skip
        self._parts[4][0] = leaves
        self._parts[6][0] = True
        # Users of each leaf: a list in both directions; the ends of a task are two entries.
        self._users = (
            np.full(leaves, -1, dtype=whole), np.full(2 * asked.size, -1, dtype=whole),
            np.full(2 * asked.size, -1, dtype=whole),
        )  # fmt: skip
        self._marks = (np.zeros(leaves, dtype=whole), np.zeros(asked.size, dtype=whole))
        self._stamp = np.zeros(1, dtype=whole)

    def start(self, known: IntArray) -> BoolArray:
        """Take cells as known, and give tasks a pair of leaves; which ones have one."""
        paired: BoolArray = _started(known, *self._given())
        return paired

    def publish(self, cells: IntArray) -> BoolArray:
        """Publish cells one by one where every task keeps a pair of leaves; which ones."""
        done: BoolArray = _published(cells, *self._given())
        return done

    def _given(self) -> tuple[Any, ...]:
        sums = (self.sums.first, self.sums.leaf)
        tasks = (self.asked, self.rises, self.pair)
        return sums, tasks, self._able, self._parts, self._users, self._marks, self._stamp


def _store(draft: DraftPattern, paired: IntArray, tasks: IntArray, work: _Exchanges) -> None:
    """Keep the exchanges of the tasks that have one as proofs."""
    number = np.full(len(draft.problem), -1, dtype=np.int64)
    number[draft.unknowns.cells] = np.arange(len(draft))
    sums = work.sums
    for at in range(0, paired.size, _TOGETHER):
        some = paired[at : at + _TOGETHER]
        ends, cells, moved = _moves_of(work.pair[some], sums.begin, sums.above, number)
        draft.proven[tasks[some]] = len(draft.proofs) + np.arange(len(ends) - 1)
        draft.proofs += [
            Proof(cells=cells[a:b], moved=moved[a:b])
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]


@compiled_at_once
def _moves_of(pairs: Any, begin: Any, above: Any, number: Any) -> Any:
    """The cells over the leaf that rises and those over the other; those over both stay."""
    ends = np.zeros(len(pairs) + 1, dtype=np.int64)
    size = 0
    for i in range(len(pairs)):
        for leaf in pairs[i]:
            size += begin[leaf + 1] - begin[leaf] if leaf >= 0 else 0
    cells, moved = np.empty(size, dtype=np.int64), np.empty(size)
    filled = 0
    for i in range(len(pairs)):
        a, enda, b, endb = 0, 0, 0, 0
        if pairs[i, 0] >= 0:
            a, enda = begin[pairs[i, 0]], begin[pairs[i, 0] + 1]
        if pairs[i, 1] >= 0:
            b, endb = begin[pairs[i, 1]], begin[pairs[i, 1] + 1]
        while a < enda or b < endb:
            if a < enda and b < endb and above[a] == above[b]:
                a, b = a + 1, b + 1
            elif b >= endb or (a < enda and above[a] < above[b]):
                cells[filled], moved[filled] = number[above[a]], 1.0
                a, filled = a + 1, filled + 1
            else:
                cells[filled], moved[filled] = number[above[b]], -1.0
                b, filled = b + 1, filled + 1
        ends[i + 1] = filled
    return ends, cells[:filled].copy(), moved[:filled].copy()


@compiled_at_once
def _started(
    known: Any, sums: Any, tasks: Any, able: Any, parts: Any, users: Any, marks: Any, stamp: Any
) -> Any:
    splits = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for cell in known:
        _split(cell, sums, parts, splits)
        splits.clear()
    paired = np.zeros(tasks[0].size, dtype=np.bool_)
    for task in range(tasks[0].size):
        stamp[0] += 1
        paired[task] = _find(task, sums, tasks, able, parts, marks[0], stamp[0])
        if paired[task]:
            _enter(task, tasks[2], users)
    return paired


@compiled_at_once
def _published(
    cells: Any, sums: Any, tasks: Any, able: Any, parts: Any, users: Any, marks: Any, stamp: Any
) -> Any:
    """Publish one cell after the other; take back those that leave a task without a pair."""
    first, leaf = sums
    done = np.zeros(cells.size, dtype=np.bool_)
    splits = [(np.int64(0), np.int64(0)) for _ in range(0)]
    broken = [np.int64(0) for _ in range(0)]
    for at in range(cells.size):
        cell = cells[at]
        stamp[0] += 1
        inside = stamp[0]
        for k in range(first[cell], first[cell + 1]):
            marks[0][leaf[k]] = inside
        broken.clear()
        for k in range(first[cell], first[cell + 1]):
            entry = users[0][leaf[k]]
            while entry >= 0:
                task = entry // 2
                other = tasks[2][task, 1 - entry % 2]
                if other < 0 or marks[0][other] != inside:
                    broken.append(task)
                entry = users[1][entry]
        splits.clear()
        _split(cell, sums, parts, splits)
        fits = True
        for task in broken:
            stamp[0] += 1
            old, partner = tasks[2][task, 0], tasks[2][task, 1]
            _leave(task, tasks[2], users)
            fits = _find(task, sums, tasks, able, parts, marks[0], stamp[0])
            if not fits:
                tasks[2][task, 0], tasks[2][task, 1] = old, partner
            _enter(task, tasks[2], users)
            if not fits:
                break
        done[at] = fits
        if not fits:
            _join(parts, splits)
    return done


@compiled_at_once
def _find(task: Any, sums: Any, tasks: Any, able: Any, parts: Any, mark: Any, stamp: int) -> bool:
    """Give a task a pair of leaves of the same part, one of them under its cell."""
    first, leaf = sums
    cells, rises, pair = tasks
    element, place, part, begin, end, _, outside, _ = parts
    cell, up = cells[task], rises[task]
    own, others = (able[1], able[0]) if up else (able[0], able[1])
    for k in range(first[cell], first[cell + 1]):
        mark[leaf[k]] = stamp
    tried = 0
    for k in range(first[cell], first[cell + 1]):
        one = leaf[k]
        if not own[one]:
            continue
        tried += 1
        if tried > _OWN:
            return False
        at = part[one]
        partner = _ALONE if outside[at] else _NONE
        size = end[at] - begin[at]
        if partner == _NONE:
            for step in range(1, min(size, _PARTNERS)):
                where = place[one] + step
                other = element[where if where < end[at] else where - size]
                if others[other] and mark[other] != stamp:
                    partner = other
                    break
        if partner != _NONE:
            pair[task, 0], pair[task, 1] = (one, partner) if up else (partner, one)
            return True
    return False


@compiled_at_once
def _enter(task: Any, pair: Any, users: Any) -> None:
    head, after, before = users
    for side in range(2):
        leaf, entry = pair[task, side], 2 * task + side
        if leaf >= 0:
            after[entry], before[entry] = head[leaf], -1
            if head[leaf] >= 0:
                before[head[leaf]] = entry
            head[leaf] = entry


@compiled_at_once
def _leave(task: Any, pair: Any, users: Any) -> None:
    head, after, before = users
    for side in range(2):
        leaf, entry = pair[task, side], 2 * task + side
        if leaf >= 0:
            if before[entry] >= 0:
                after[before[entry]] = after[entry]
            else:
                head[leaf] = after[entry]
            if after[entry] >= 0:
                before[after[entry]] = before[entry]


@compiled_at_once
def _split(cell: int, sums: Any, parts: Any, splits: Any) -> None:
    """Set the leaves under a cell apart from the others of their parts."""
    first, leaf = sums
    element, place, part, begin, end, moved, outside, number = parts
    touched = [np.int64(0) for _ in range(0)]
    for k in range(first[cell], first[cell + 1]):
        one = np.int64(leaf[k])
        at = part[one]
        if moved[at] == 0:
            touched.append(at)
        to, old = begin[at] + moved[at], place[one]
        other = element[to]
        element[to], element[old] = one, other
        place[one], place[other] = to, old
        moved[at] += 1
    for at in touched:
        inside, moved[at] = moved[at], 0
        if inside == end[at] - begin[at]:
            if outside[at]:  # no longer, but still one part
                outside[at] = False
                splits.append((at, np.int64(-1)))
            continue
        fresh = number[0]
        number[0] += 1
        begin[fresh], end[fresh] = begin[at], begin[at] + inside
        begin[at] += inside
        outside[fresh], moved[fresh] = False, 0
        for k in range(begin[fresh], end[fresh]):
            part[element[k]] = fresh
        splits.append((at, fresh))


@compiled_at_once
def _join(parts: Any, splits: Any) -> None:
    """Undo the last splits."""
    element, _, part, begin, end, _, outside, number = parts
    for back in range(len(splits) - 1, -1, -1):
        at, fresh = splits[back]
        if fresh < 0:
            outside[at] = True
            continue
        for k in range(begin[fresh], end[fresh]):
            part[element[k]] = at
        begin[at] = begin[fresh]
        number[0] -= 1
