"""How few cells move so that nothing published changes: exchanges, and patches. CONFIDENTIAL.

A cell of a table of counts moves by a unit if one leaf under it gives it to, or takes it from, a
leaf outside that stands in the same published cells. Cells are published one by one as long as
every task keeps such a pair of leaves. Patches are the cells nearest to a given one with the
relations among them, and deviations of these that move a cell as far as it must, by one small
linear program. If only cells of a patch move and its relations hold, all relations hold.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges, starts
from discreet.disclosure.relations import Relations
from discreet.kernels import compiled, compiled_at_once
from discreet.solver import column_values, is_optimal, loaded_solver

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
    for k in range(first[cell], first[cell + 1]):
        one = np.int64(leaf[k])
        at = part[one]
        to, old = begin[at] + moved[at], place[one]
        other = element[to]
        element[to], element[old] = one, other
        place[one], place[other] = to, old
        moved[at] += 1
    for k in range(first[cell], first[cell + 1]):
        at = part[leaf[k]]
        inside, moved[at] = moved[at], 0
        if not inside:  # set apart already
            continue
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
        for to in range(begin[fresh], end[fresh]):
            part[element[to]] = fresh
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


@dataclass
class SolverEffort:
    """Work of the solver, the same on every machine: 10 to 50 million steps take about a second."""

    steps: float = 0.0
    #: After how many to stop.
    end: float = math.inf

    @property
    def spent(self) -> bool:
        """Whether it is time to stop."""
        return self.steps > self.end

    def count(self, solver: Any, rows: int, least: float = 25_000.0) -> None:
        """Note what a run took: something in any case, and each iteration by its relations."""
        iterations = max(0, int(solver.getInfo().simplex_iteration_count))
        self.steps += least + iterations * rows


@dataclass(frozen=True, kw_only=True)
class Patch:
    """Some cells and the relations among them."""

    cells: IntArray  # numbers of the cells, ascending
    start: IntArray  # where each relation begins in `at` and `coef`
    at: IntArray  # positions in `cells`
    coef: IntArray  # coefficients
    whole: bool  # whether no other cell hangs together with these
    widest: int = 1  # the largest coefficient, where it is larger than most moves
    #: Counts what linear programs over it take
    effort: SolverEffort = field(default_factory=SolverEffort)


class Patches:
    """Finds patches in a system of relations; only mobile cells can move at all."""

    def __init__(self, relations: Relations, mobile: BoolArray) -> None:
        first, order = relations.by_cell
        self.relations = relations
        self._room = mobile.astype(np.float64)
        self._cell_start = first
        self._cell_row = relations.row[order]
        self._cell_coef = relations.coef[order]
        self._cell_seen = np.zeros(relations.cells, dtype=np.int64)
        self._row_seen = np.zeros(len(relations), dtype=np.int64)
        self._near = (np.zeros(relations.cells), np.zeros(relations.cells, dtype=np.int64))
        self._first = np.zeros(max(len(relations), 1), dtype=np.int64)
        self._stamp = 0
        self.effort = SolverEffort()

    def nearest(self, seeds: IntArray, limit: int, price: FloatArray) -> IntArray:
        """The cells nearest to some cells, nearest first."""
        return self._reached(seeds, limit, price)[0]

    def _reached(self, seeds: IntArray, limit: int, price: FloatArray) -> tuple[IntArray, bool]:
        self._stamp += 1
        links = self.relations
        reached: tuple[IntArray, bool] = cells_near(
            seeds, limit, price, self._room, 0.5, links.start, links.cell, self._cell_start,
            self._cell_row, self._cell_seen, self._row_seen, self._near, self._stamp,
        )  # fmt: skip
        return reached

    def around(self, seeds: IntArray, limit: int, price: FloatArray) -> Patch:
        """The cells nearest to some cells that can move together, of so many looked at.

        The price is how far it is to each cell from another in a common relation, infinite for
        cells to leave out.
        """
        cells, whole = self._reached(seeds, limit, price)
        cells = np.sort(cells)
        width = self._cell_start[cells + 1] - self._cell_start[cells]
        entry = ranges(self._cell_start[cells], width)
        at, coef = np.repeat(np.arange(cells.size), width), self._cell_coef[entry]
        # A relation is known by its first entry; cells of each are in ascending order.
        row = self._cell_row[entry]
        self._first[row[::-1]] = np.arange(row.size)[::-1]
        row = self._first[row]
        kept, size = np.ones(cells.size, dtype=np.bool_), -1
        while size != int(kept.sum()):  # cells alone in a relation cannot move
            size = int(kept.sum())
            alone = np.bincount(row[kept[at]], minlength=row.size) == 1
            kept[at[alone[row] & kept[at]]] = False
        inside = np.flatnonzero(kept[at])
        inside = inside[np.argsort(row[inside], kind="stable")]
        number = np.bincount(row[inside], minlength=row.size)
        widest = int(np.abs(coef[inside]).max(initial=1))
        return Patch(
            cells=cells[kept],
            start=starts(number[number > 0]),
            at=(np.cumsum(kept) - 1)[at[inside]],
            coef=coef[inside],
            whole=bool(whole),
            widest=widest if widest > _MOST else 1,
            effort=self.effort,
        )


@compiled
def cells_near(
    seeds: Any, limit: int, price: Any, room: Any, least: float, start: Any, cell: Any,
    cell_start: Any, cell_row: Any, cell_seen: Any, row_seen: Any, near: Any, stamp: int,
) -> Any:  # fmt: skip
    """Cells in order of their distance; each relation is crossed once, by its nearest cell.

    Only cells with the least room count.
    """
    nearest, seen = near
    heap = [(0.0, seeds[0])]
    for k in range(1, seeds.size):
        heapq.heappush(heap, (0.0, seeds[k]))
    patch = [seeds[0] for _ in range(0)]
    while len(heap) > 0 and len(patch) < limit:
        far, at = heapq.heappop(heap)
        if cell_seen[at] == -stamp:
            continue
        patch.append(at)
        cell_seen[at] = -stamp
        for entry in range(cell_start[at], cell_start[at + 1]):
            row = cell_row[entry]
            if row_seen[row] == stamp:
                continue
            row_seen[row] = stamp
            for k in range(start[row], start[row + 1]):
                other = np.int64(cell[k])
                if room[other] < least or cell_seen[other] == -stamp or price[other] == np.inf:
                    continue
                away = far + price[other]
                # What was noted from nearer by need not be noted again.
                if seen[other] != stamp or away < nearest[other]:
                    seen[other] = stamp
                    nearest[other] = away
                    heapq.heappush(heap, (away, other))
    return np.array(patch, np.int64), len(heap) == 0


#: No cell moves more than so many times the wanted distance, and the largest coefficient.
_MOST = 100.0
#: The solver's tolerance, relative to the wanted distance.
_FINE = 1e-9
#: Smaller moves are no moves: in units, and relative to the wanted distance.
_UNIT_MOVED, _MOVED = 1e-2, 1e-8
#: Hidden cells are moved for so little, as a share of the median price: all cells then
#: begin where they are, and the solver has only one of them to move.
_NEARLY_FREE = 1e-4
#: With fewer cells, hidden ones are free: there is no time to save.
_FEW = 300


def least_flow(
    patch: Patch, down: FloatArray, up: FloatArray, price: FloatArray, at: int, distance: float
) -> FloatArray | None:
    """The cheapest deviations of a patch that move one cell, at a position, by a distance.

    Cells move so far `down` and `up` at most, at a price per unit, which is 0 for hidden ones. A
    negative distance is downwards; None if the cells of the patch cannot do it.
    """
    size = abs(distance)
    low, high = _limits(patch, down, up, size)
    low[at] = high[at] = 1.0 if distance > 0 else -1.0
    if price.size >= _FEW:
        paid = price[price > 0]
        price = np.maximum(price, _NEARLY_FREE * (float(np.median(paid)) if paid.size else 1.0))
    return _moved(patch, _solved(patch, low, high, price), size)


def farthest_flow(
    patch: Patch, down: FloatArray, up: FloatArray, price: FloatArray, wish: FloatArray
) -> FloatArray | None:
    """Deviations that bring many cells as near to where they should go as possible.

    A wish is negative for down, and 0 where it does not matter; each is worth 1.
    """
    size = float(np.median(np.abs(wish[wish != 0])))
    low, high = _limits(patch, down, up, size)
    beyond = wish / size * (1 + _MOVED)
    low = np.where(wish < 0, np.maximum(low, beyond), low)
    high = np.where(wish > 0, np.minimum(high, beyond), high)
    gain = np.divide(size, wish, out=np.zeros(len(wish)), where=wish != 0)
    return _moved(patch, _solved(patch, low, high, price, -gain), size)


def _limits(
    patch: Patch, down: FloatArray, up: FloatArray, size: float
) -> tuple[FloatArray, FloatArray]:
    most = _MOST * patch.widest
    return -np.minimum(down / size, most), np.minimum(up / size, most)


def _moved(patch: Patch, moved: FloatArray | None, size: float) -> FloatArray | None:
    """Moves in units; the smallest are none."""
    if moved is None:
        return None
    moved[np.abs(moved) < max(_MOVED, _UNIT_MOVED / size) / patch.widest] = 0.0
    return moved * size


def _solved(
    patch: Patch, low: FloatArray, high: FloatArray, price: FloatArray, slope: Any = 0.0
) -> FloatArray | None:
    """Minimise price × |deviation| + slope × deviation; priced cells are two variables."""
    cells, rows = len(low), len(patch.start) - 1
    priced = np.flatnonzero(price > 0)
    twin = np.full(cells, -1, dtype=np.int64)
    twin[priced] = cells + np.arange(priced.size)
    row = np.repeat(np.arange(rows), np.diff(patch.start))
    twice = twin[patch.at] >= 0
    rows_of = np.concatenate([row, row[twice]])
    order = np.argsort(rows_of, kind="stable")
    columns = np.concatenate([patch.at, twin[patch.at[twice]]])
    coefs = np.concatenate([patch.coef, -patch.coef[twice]])
    slopes = np.broadcast_to(slope, cells)
    least = np.where(price > 0, np.maximum(low, 0.0), low)
    solver = loaded_solver(
        (starts(np.bincount(rows_of, minlength=rows)), columns[order], coefs[order]),
        np.concatenate([least, np.maximum(-high[priced], 0.0)]),
        np.concatenate([np.maximum(high, least), np.maximum(-low[priced], 0.0)]),
        cost=np.concatenate([price + slopes, (price - slopes)[priced]]),
        primal_feasibility_tolerance=_FINE,
    )
    solver.run()
    patch.effort.count(solver, rows)
    if not is_optimal(solver):
        return None
    values = column_values(solver)
    moved: FloatArray = values[:cells].copy()
    moved[price > 0] -= values[cells:]
    return moved
