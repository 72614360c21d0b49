"""Circuits of hidden cells, and the bounds that they prove. CONFIDENTIAL.

In: the relations among hidden cells, and an order of the cells. Out: which cells follow
from earlier ones, by sparse elimination modulo a prime, without rounding; for each of them
the circuit of cells that can move together and leave every relation as it is; and how far
each cell moves when circuits are moved as far as bounds allow. Every deviation is checked
against all relations and bounds. Where circuits are all there is, they also show which
cells cannot move.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.system import Relations
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    component_labels,
    outer_bounds,
)
from discreet.protection.suppression.proof.deviations import DeviationCheck

#: All numbers are remainders modulo this prime; products of two fit into 64 bits.
PRIME = 2**31 - 1
#: Work stops at so many products, and so many numbers to keep, for each column and for
#: some columns more: where systems fill up, there are better ways than elimination.
_PRODUCTS, _NUMBERS, _MORE = 200, 200, 1_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Elimination:
    """What became of the columns, in the order they were taken."""

    cells: IntArray  # the cells, in that order
    rank: IntArray  # for each, its number among those that follow from no earlier one, or -1
    start: IntArray  # where the numbers of each begin in `base` and `share`
    base: IntArray  # ranks of earlier cells
    share: IntArray  # how much of what is left of each of them was taken off
    whole: bool  # whether all cells were looked at; the work is cut short where it fills up


def elimination_of(relations: Relations, order: IntArray) -> Elimination:
    """Take cells one by one, those to be kept apart first: which ones follow from earlier ones.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> elimination_of(sums, np.array([2, 0, 1])).rank
    array([ 0, -1, -1])
    """
    first, by_cell = relations.by_cell
    width, size = np.diff(relations.start), len(order) + _MORE
    rank, start, base, share, taken = _taken_off(
        order, first, relations.row[by_cell], relations.coef[by_cell], width,
        _PRODUCTS * size, _NUMBERS * size,
    )  # fmt: skip
    return Elimination(
        cells=order[:taken],
        rank=rank[:taken],
        start=start,
        base=base,
        share=share,
        whole=bool(taken == len(order)),
    )


def independent_relations(relations: Relations) -> Relations:
    """Relations that say all, without those that follow from the others.

    >>> twice = Relations.of(3, [[(0, -1), (1, 1)], [(1, -1), (2, 1)], [(0, 1), (2, -1)]])
    >>> independent_relations(twice)
    <Relations: 2 over 3 cells>
    """
    first, by_cell = relations.by_cell
    turned = Relations(
        cells=len(relations),
        start=first,
        cell=relations.row[by_cell].astype(np.int32),
        coef=relations.coef[by_cell],
        rhs=np.zeros(relations.cells, dtype=np.int64),
    )
    # Short ones first: they leave less to do.
    done = elimination_of(turned, np.argsort(np.diff(relations.start), kind="stable"))
    kept = np.ones(len(relations), dtype=np.bool_)
    kept[done.cells[done.rank < 0]] = False
    return relations.rows(kept)


@compiled
def _taken_off(
    order: Any, first: Any, row: Any, coef: Any, width: Any, products: int, numbers: int
) -> Any:
    """Eliminate column by column; pivots in rows with few cells keep the numbers few."""
    rows = width.size
    column_of = np.full(rows, -1, dtype=np.int64)
    left, mark = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    stack, place = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    passed, fresh = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    below_start, start = [0], [0]
    below_row, below, base, share = [rows], [rows], [rows], [rows]
    below_row.pop(), below.pop(), base.pop(), share.pop()  # empty, and known to be of integers
    inverses = np.empty(rows, dtype=np.int64)
    rank = np.full(order.size, -1, dtype=np.int64)
    ranks, work, taken = 0, 0, 0
    for number in range(order.size):
        if work > products or len(below) + len(base) > numbers:
            break
        cell = order[number]
        behind, ahead = 0, 0
        for entry in range(first[cell], first[cell + 1]):
            left[row[entry]] = (left[row[entry]] + coef[entry]) % PRIME
            if mark[row[entry]] != number + 1:
                behind, ahead = _search_from(
                    row[entry], number + 1, column_of, below_start, below_row, mark, stack, place,
                    passed, fresh, behind, ahead,
                )  # fmt: skip
        for t in range(behind - 1, -1, -1):
            value, k = left[passed[t]], column_of[passed[t]]
            left[passed[t]] = 0
            if value != 0:
                value = value * inverses[k] % PRIME
                base.append(k)
                share.append(value)
                work += below_start[k + 1] - below_start[k]
                for p in range(below_start[k], below_start[k + 1]):
                    at = below_row[p]
                    left[at] = (left[at] - value * below[p]) % PRIME
        start.append(len(base))
        best = _pivot(left, fresh[:ahead], width)
        if best >= 0:
            column_of[best], rank[number] = ranks, ranks
            inverses[ranks] = _inverse(left[best])
            ranks += 1
            for at in fresh[:ahead]:
                if at != best and left[at] != 0:
                    below_row.append(at)
                    below.append(left[at])
            below_start.append(len(below))
        left[fresh[:ahead]] = 0
        taken = number + 1
    whole = np.int64
    starts_at, of = np.array(start, whole), np.array(base, whole)
    return rank, starts_at, of, np.array(share, whole), taken


@compiled
def _search_from(
    root: int, stamp: int, column_of: Any, below_start: Any, below_row: Any, mark: Any,
    stack: Any, place: Any, passed: Any, fresh: Any, behind: int, ahead: int,
) -> Any:  # fmt: skip
    """Rows that a column reaches by way of pivots: pivot rows in reverse order, and the others."""
    depth = 0
    stack[0], mark[root] = root, stamp
    place[0] = below_start[column_of[root]] if column_of[root] >= 0 else 0
    while depth >= 0:
        at = stack[depth]
        k = column_of[at]
        deeper = False
        if k >= 0:
            while place[depth] < below_start[k + 1]:
                other = below_row[place[depth]]
                place[depth] += 1
                if mark[other] != stamp:
                    mark[other] = stamp
                    depth += 1
                    stack[depth] = other
                    place[depth] = below_start[column_of[other]] if column_of[other] >= 0 else 0
                    deeper = True
                    break
        if deeper:
            continue
        depth -= 1
        if k >= 0:
            passed[behind] = at
            behind += 1
        else:
            fresh[ahead] = at
            ahead += 1
    return behind, ahead


@compiled
def _pivot(left: Any, rows: Any, width: Any) -> int:
    """The row with fewest cells among those where something is left; -1 if there is none."""
    best = -1
    for at in rows:
        if left[at] != 0 and (best < 0 or width[at] < width[best]):
            best = at
    return best


@compiled
def _inverse(number: int) -> int:
    """What a number must be multiplied with to give 1."""
    power, result, left = number % PRIME, 1, PRIME - 2
    while left > 0:
        if left & 1:
            result = result * power % PRIME
        power = power * power % PRIME
        left >>= 1
    return result


_FIRST, _NONE = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)

#: Shares become whole numbers when multiplied with one of the first so many numbers.
_MULTIPLES = 24
#: Larger shares are not taken.
_LARGEST = 100_000
#: Circuits are no longer looked for after so many steps for each cell, and some cells more.
_STEPS, _CIRCUIT_MORE = 2_000, 1_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Circuits:
    """Circuits of hidden cells."""

    start: IntArray  # where each begins in `cells` and `shares`; one more than there are
    cells: IntArray
    shares: IntArray  # how far each moves when the circuit does by 1; whole numbers
    whole: bool  # whether every way to move the cells is a sum of these circuits

    def __len__(self) -> int:
        return len(self.start) - 1


def circuits_of(relations: Relations, order: IntArray) -> Circuits:
    """The circuit of each cell that follows from earlier ones.

    The order names the cells that can move, those with most room first.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> found = circuits_of(sums, np.array([2, 0, 1]))
    >>> found.cells, found.shares
    (array([0, 2, 1, 2]), array([ 1,  1,  1, -1]))
    """
    done = elimination_of(relations, order)
    if not done.whole:  # the cells that follow from others come last
        return Circuits(start=_FIRST, cells=_NONE, shares=_NONE, whole=False)
    first, by_cell = relations.by_cell
    start, cells, shares, all_found = _closed(
        done.cells, done.rank, np.flatnonzero(done.rank >= 0), done.start, done.base, done.share,
        first, relations.row[by_cell], relations.coef[by_cell],
        np.zeros(max(len(relations), 1), dtype=np.int64), _STEPS * (len(order) + _CIRCUIT_MORE),
    )  # fmt: skip
    return Circuits(start=start, cells=cells, shares=shares, whole=done.whole and all_found)


@compiled
def _closed(
    order: Any, rank: Any, of_rank: Any, start: Any, base: Any, share: Any, first: Any, row: Any,
    coef: Any, miss: Any, most: int,
) -> Any:  # fmt: skip
    """For each cell that follows from others: it, and by how much the others move."""
    left = np.zeros(of_rank.size, dtype=np.int64)
    noted = np.zeros(of_rank.size, dtype=np.bool_)
    ends, cells, shares = [0], [np.int64(0)], [np.int64(0)]
    cells.pop(), shares.pop()
    all_found = True
    steps = 0
    for number in range(order.size):
        if rank[number] >= 0:
            continue
        if steps > most:
            all_found = False
            break
        cells.append(order[number])
        shares.append(np.int64(1))
        steps += _unfold(number, order, of_rank, start, base, share, left, noted, cells, shares)
        if _made_whole(cells, shares, ends[-1], first, row, coef, miss):
            ends.append(len(cells))
        else:
            all_found = False
            while len(cells) > ends[-1]:
                cells.pop(), shares.pop()
    circuit = np.array(cells, np.int64), np.array(shares, np.int64)
    return np.array(ends, np.int64), circuit[0], circuit[1], all_found


@compiled
def _unfold(
    number: int, order: Any, of_rank: Any, start: Any, base: Any, share: Any, left: Any,
    noted: Any, cells: Any, shares: Any,
) -> int:  # fmt: skip
    """Add the earlier cells that make up for a move of one cell, latest first; gives the steps."""
    steps = start[number + 1] - start[number]
    heap = [np.int64(0)]
    heap.pop()
    for entry in range(start[number], start[number + 1]):
        k = base[entry]
        left[k] = share[entry]
        if not noted[k]:
            noted[k] = True
            heapq.heappush(heap, -k)
    while len(heap) > 0:
        k = -heapq.heappop(heap)
        value = left[k]
        left[k] = 0
        noted[k] = False
        if value == 0:
            continue
        earlier = of_rank[k]
        steps += start[earlier + 1] - start[earlier] + 1
        cells.append(order[earlier])
        shares.append(PRIME - value)
        for entry in range(start[earlier], start[earlier + 1]):
            other = base[entry]
            left[other] = (left[other] - value * share[entry]) % PRIME
            if not noted[other]:
                noted[other] = True
                heapq.heappush(heap, -other)
    return steps  # type: ignore[no-any-return]


@compiled
def _made_whole(
    cells: Any, shares: Any, begin: int, first: Any, row: Any, coef: Any, miss: Any
) -> bool:
    """Turn the last remainders into whole numbers; whether these keep all relations exactly."""
    multiple = 0
    for trial in range(1, _MULTIPLES + 1):
        fits = True
        for k in range(begin, len(cells)):
            if abs(_small(shares[k] * trial)) > _LARGEST:
                fits = False
                break
        if fits:
            multiple = trial
            break
    if multiple == 0:
        return False
    for k in range(begin, len(cells)):
        shares[k] = _small(shares[k] * multiple)
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] += coef[entry] * shares[k]
    kept = True
    for k in range(begin, len(cells)):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            kept = kept and miss[row[entry]] == 0
    for k in range(begin, len(cells)):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] = 0
    return kept


@compiled
def _small(number: int) -> int:
    """The number nearest to 0 with the same remainder."""
    rest = number % PRIME
    return rest - PRIME if rest > PRIME // 2 else rest


#: Products and numbers to keep when one circuit is looked for.
_FEW_PRODUCTS, _FEW_NUMBERS = 200_000, 100_000


@compiled
def circuit_of_last(order: Any, first: Any, row: Any, coef: Any, width: Any, miss: Any) -> Any:
    """The circuit of the last cell and earlier ones: it, and these; nothing if there is none."""
    rank, start, base, share, taken = _taken_off(
        order, first, row, coef, width, _FEW_PRODUCTS, _FEW_NUMBERS
    )
    cells = [np.int64(0) for _ in range(0)]
    shares = [np.int64(0) for _ in range(0)]
    last = order.size - 1
    if taken == order.size and rank[last] < 0:
        of_rank = np.flatnonzero(rank >= 0)
        left = np.zeros(of_rank.size, dtype=np.int64)
        noted = np.zeros(of_rank.size, dtype=np.bool_)
        cells.append(np.int64(order[last]))
        shares.append(np.int64(1))
        _unfold(last, order, of_rank, start, base, share, left, noted, cells, shares)
        if not _made_whole(cells, shares, 0, first, row, coef, miss):
            cells.clear()
            shares.clear()
    return np.array(cells, np.int64), np.array(shares, np.int64)


#: How often all circuits through a cell are turned in a row.
_PASSES = 3
#: Circuits are put together until so many cells of circuits were looked at.
_LOOKS = 100_000_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CircuitBounds:
    """What circuits show about hidden cells (confidential)."""

    low: FloatArray  # how far down each was seen to move, at most 0
    high: FloatArray  # how far up
    whole_low: FloatArray  # how far down in whole numbers
    whole_high: FloatArray  # how far up in whole numbers
    least: FloatArray  # how far down each can move at most, by relations one by one
    most: FloatArray  # how far up
    #: For each cell, the smallest cell that it shares circuits with, directly or not: cells with
    #: different labels move independently, and those in no circuit, labelled -1, do not move at
    #: all. None where there may be more circuits
    label: IntArray | None
    #: Which cells cannot move farther than they were seen to: those in no circuit, and those that
    #: move with one circuit only
    exact: BoolArray


def bounds_by_circuits(unknowns: Unknowns) -> CircuitBounds:
    """Turn circuits to see how far hidden cells can move."""
    least, most = outer_bounds(unknowns)
    down, up = -least, most
    room = np.minimum(down, up)
    mobile = np.flatnonzero(down + up > TOLERANCE)
    circuits = circuits_of(unknowns.relations, mobile[np.argsort(-room[mobile], kind="stable")])
    low, high = np.zeros(len(unknowns)), np.zeros(len(unknowns))
    fit = DeviationCheck(unknowns, low, high)
    forth, back = _steps(circuits.start, circuits.cells, circuits.shares, down, up)
    width = np.diff(circuits.start)
    for step in (forth, -back, np.floor(forth), -np.floor(back)):
        fit.see(circuits.start, circuits.cells, circuits.shares * np.repeat(step, width))
    possible = unknowns.sensitive & unknowns.protected(least, most)
    _put_together(unknowns, circuits, possible & ~unknowns.protected(low, high), (down, up), fit)
    seen: dict[str, Any] = {"low": low, "high": high, "least": least, "most": most}
    seen |= {"whole_low": fit.whole_low, "whole_high": fit.whole_high}
    if not circuits.whole:
        return CircuitBounds(**seen, label=None, exact=np.zeros(len(unknowns), dtype=np.bool_))
    label = _labels(len(unknowns), circuits)
    number = np.bincount(label[circuits.cells[circuits.start[:-1]]], minlength=len(unknowns))
    return CircuitBounds(**seen, label=label, exact=(label < 0) | (number[label] == 1))


def _labels(cells: int, circuits: Circuits) -> IntArray:
    """Cells in a common circuit hang together; -1 for those in none."""
    rows = Relations(
        cells=cells,
        start=circuits.start,
        cell=circuits.cells.astype(np.int32),
        coef=circuits.shares,
        rhs=np.zeros(len(circuits), dtype=np.int64),
    )
    label = component_labels(rows)
    alone = np.ones(cells, dtype=np.bool_)
    alone[circuits.cells] = False
    label[alone] = -1
    return label


def _put_together(
    unknowns: Unknowns,
    circuits: Circuits,
    wanted: BoolArray,
    room: tuple[FloatArray, FloatArray],
    fit: DeviationCheck,
) -> None:
    """Move each wanted cell by several circuits, one after the other, to either side."""
    inside = np.flatnonzero(wanted[circuits.cells])
    numbers = np.searchsorted(circuits.start, inside, side="right") - 1
    through = circuits.cells[inside]
    by_cell = np.argsort(through, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(through[by_cell], prepend=-1)), len(inside))
    moved, looked = np.zeros(len(unknowns)), 0
    for at in range(len(ends) - 1):
        some = by_cell[ends[at] : ends[at + 1]]
        for side in (1.0, -1.0):
            if looked > _LOOKS:
                return
            looked += _apply_circuits(
                numbers[some], circuits.shares[inside[some]], side, circuits.start,
                circuits.cells, circuits.shares, *room, moved,
            )  # fmt: skip
            cells = np.flatnonzero(moved)
            fit.see(np.array([0, cells.size]), cells, moved[cells])
            moved[cells] = 0.0


@compiled
def _steps(start: Any, cells: Any, shares: Any, down: Any, up: Any) -> Any:
    """How far each circuit can be turned forth and back."""
    forth, back = np.empty(start.size - 1), np.empty(start.size - 1)
    for at in range(start.size - 1):
        forth[at] = back[at] = np.inf
        for k in range(start[at], start[at + 1]):
            rise, fall = up[cells[k]], down[cells[k]]
            if shares[k] < 0:
                rise, fall = fall, rise
            forth[at] = min(forth[at], rise / abs(shares[k]))
            back[at] = min(back[at], fall / abs(shares[k]))
    return forth, back


@compiled
def _apply_circuits(
    numbers: Any, own: Any, side: float, start: Any, cells: Any, shares: Any, down: Any, up: Any,
    moved: Any,
) -> int:  # fmt: skip
    """Turn circuits through one cell, those that move it farthest first; gives the effort."""
    gain = np.empty(numbers.size)
    looked = 0
    for _ in range(_PASSES):
        for i in range(numbers.size):
            direction = side if own[i] > 0 else -side
            gain[i] = abs(own[i]) * _step(
                numbers[i], direction, start, cells, shares, down, up, moved
            )
        farther = False
        for i in np.argsort(-gain, kind="mergesort"):
            direction = side if own[i] > 0 else -side
            step = _step(numbers[i], direction, start, cells, shares, down, up, moved)
            looked += 2 * (start[numbers[i] + 1] - start[numbers[i]])
            if step > 0:
                farther = True
                for k in range(start[numbers[i]], start[numbers[i] + 1]):
                    moved[cells[k]] += direction * step * shares[k]
        if not farther:
            break
    return looked


@compiled
def _step(
    number: int, direction: float, start: Any, cells: Any, shares: Any, down: Any, up: Any,
    moved: Any,
) -> float:  # fmt: skip
    """How far one more circuit can be turned to a side."""
    step = np.inf
    for k in range(start[number], start[number + 1]):
        share = direction * shares[k]
        cell = cells[k]
        room = up[cell] - moved[cell] if share > 0 else down[cell] + moved[cell]
        step = min(step, room / abs(share))
    return max(step, 0.0)
