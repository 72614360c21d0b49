"""Leaves of tables of counts, and the units that they exchange. CONFIDENTIAL.

A cell moves by a unit if one leaf under it gives it to, or takes it from, a leaf outside that
stands in the same published cells: nothing published changes. Cells are published one by one as
long as every task keeps such a pair of leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges, starts
from discreet.disclosure.relations import Relations
from discreet.kernels import compiled, compiled_at_once

#: Leaves under a cell that are tried, and partners for each.
_OWN, _PARTNERS = 12, 400

#: No partner: nothing published is touched. And no way at all.
_ALONE, _NONE = -1, -2

_SEED = 5


@dataclass(frozen=True, repr=False, eq=False)
class Leaves:
    """The cells that are no total, and which of them stand under which cells (confidential)."""

    cells: IntArray  # the leaves that may move
    number: IntArray  # for each cell of the problem, its place in `cells`; -1 for others
    first: IntArray  # where the leaves under each cell begin in `leaf`
    leaf: Any
    begin: IntArray  # where the cells above each leaf begin in `above`
    above: Any


def leaves_of(links: Relations, movable: BoolArray) -> Leaves | None:
    """The movable leaves; None unless each total is the same plain sum of leaves everywhere.

    A deviation of the leaves is then one of the whole table that fits all relations.
    """
    size = links.cells
    lone = np.bincount(links.row[links.coef < 0], minlength=len(links)) == 1
    if not lone.all() or (np.abs(links.coef) != 1).any():
        return None
    total = links.totals
    way = np.full(size, -1, dtype=np.int64)
    way[total[::-1]] = np.arange(len(links))[::-1]
    cells = np.flatnonzero((way < 0) & movable).astype(np.int64)
    number = np.full(size, -1, dtype=np.int64)
    number[cells] = np.arange(cells.size)
    first, leaf = _listed(way, links.start, links.cell, number)
    if not first.size:
        return None
    owner = np.repeat(np.arange(size, dtype=np.int32), np.diff(first))
    for marks in np.random.default_rng(_SEED).integers(0, 2**20, (2, cells.size)):
        full = np.bincount(owner, marks[leaf], minlength=size)
        if (np.bincount(links.row, links.coef * full[links.cell], len(links)) != 0).any():
            return None  # relations of a total lead to other leaves
    order = np.argsort(leaf, kind="stable")
    begin = starts(np.bincount(leaf, minlength=cells.size))
    return Leaves(cells, number, first, leaf, begin, owner[order])


@compiled
def _listed(way: Any, start: Any, cell: Any, number: Any) -> Any:
    """The leaves under each cell, one list after the other; no lists where totals form circles.

    `way` is the relation that makes a total, -1 for leaves.
    """
    first = np.zeros(way.size + 1, dtype=np.int64)
    found = [np.int32(0) for _ in range(0)]
    stack = [np.int64(0) for _ in range(0)]
    for top in range(way.size):
        stack.append(np.int64(top))
        looked_at = 0
        while len(stack) > 0:
            one = stack.pop()
            looked_at += 1
            if looked_at > 2 * way.size:
                return first[:0].copy(), np.array(found, dtype=np.int32)
            r = way[one]
            if r < 0:
                if number[one] >= 0:
                    found.append(np.int32(number[one]))
                continue
            for k in range(start[r], start[r + 1]):
                part = np.int64(cell[k])
                if part != one:
                    stack.append(part)
        first[top + 1] = len(found)
    return first, np.array(found, dtype=np.int32)


class Exchanges:
    """The pair of leaves that every task has now."""

    def __init__(
        self, *, leaves: Leaves, asked: IntArray, rises: BoolArray, gives: BoolArray,
        takes: BoolArray,
    ) -> None:  # fmt: skip
        number, whole = len(leaves.cells), np.int64
        self.leaves = leaves
        self.pair = np.full((asked.size, 2), _NONE, dtype=whole)
        parts = (
            np.arange(number, dtype=whole), np.arange(number, dtype=whole),
            np.zeros(number, dtype=whole), np.zeros(number + 2, dtype=whole),
            np.zeros(number + 2, dtype=whole), np.zeros(number + 2, dtype=whole),
            np.zeros(number + 2, dtype=np.bool_), np.ones(1, dtype=whole),
        )  # fmt: skip
        parts[4][0], parts[6][0] = number, True
        # Users of each leaf: a list in both directions; the ends of a task are two entries.
        users = (
            np.full(number, -1, dtype=whole), np.full(2 * asked.size, -1, dtype=whole),
            np.full(2 * asked.size, -1, dtype=whole),
        )  # fmt: skip
        marks = (np.zeros(number, dtype=whole), np.zeros(asked.size, dtype=whole))
        self._state = (
            (leaves.first, leaves.leaf), (asked, rises, self.pair), (gives, takes), parts, users,
            marks, np.zeros(1, dtype=whole),
        )  # fmt: skip

    def start(self, known: IntArray) -> BoolArray:
        """Take cells as known, and give tasks a pair of leaves; which ones have one."""
        paired: BoolArray = _started(known, *self._state)
        return paired

    def publish(self, cells: IntArray) -> BoolArray:
        """Publish cells one by one where every task keeps a pair of leaves; which ones."""
        done: BoolArray = _published(cells, *self._state)
        return done


def moves_of(
    pairs: IntArray, leaves: Leaves, number: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The cells over the leaf that rises and those over the other; those over both stay.

    Gives where the moves of each pair begin, the numbers of their cells, and how far these move.
    """
    there = pairs.ravel() >= 0
    leaf, pair = pairs.ravel()[there], np.repeat(np.arange(len(pairs)), 2)[there]
    width, size = leaves.begin[leaf + 1] - leaves.begin[leaf], len(number)
    over = leaves.above[ranges(leaves.begin[leaf], width)]
    keys, place = np.unique(np.repeat(pair, width) * size + over, return_inverse=True)
    moved = np.bincount(place, np.repeat(np.tile([1.0, -1.0], len(pairs))[there], width), len(keys))
    keys, moved = keys[moved != 0], moved[moved != 0]
    return starts(np.bincount(keys // size, minlength=len(pairs))), number[keys % size], moved


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
