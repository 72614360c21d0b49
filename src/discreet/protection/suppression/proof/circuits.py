"""Deviations and circuits of hidden cells, and the bounds that they prove. CONFIDENTIAL.

A `DeviationCheck` holds deviations from any source – circuits, joint moves, answers of a solver –
against all relations and bounds, without rounding where they are whole or become so, and notes how
far they surely show each cell to move. Circuits come from sparse elimination modulo a prime: which
cells follow from earlier ones, and which others move with them. Where circuits are all there is,
they also show which cells cannot move.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.system import Confidential, Relations
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    component_labels,
    outer_bounds,
)

#: Deviations are made whole by multiplying with one of the first so many numbers.
_FACTORS = 12
#: What lies farther from a whole number is none.
_NEAR_WHOLE = 0.005
#: Larger numbers are not exact in doubles.
_EXACT = 2.0**53
#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False)
class Proof(Confidential):
    """By how much which hidden cells, ascending, move so that all relations hold (confidential)."""

    cells: IntArray
    moved: FloatArray


@dataclass(repr=False, eq=False)
class Reach(Confidential):
    """How far cells were seen to move down and up, and how far in whole numbers (confidential)."""

    low: FloatArray
    high: FloatArray
    whole_low: FloatArray
    whole_high: FloatArray

    @classmethod
    def none(cls, cells: int) -> Reach:
        """No cell was seen to move."""
        return cls(*(np.zeros(cells) for _ in range(4)))

    def see(self, moved: FloatArray, *, whole: bool = False) -> None:
        """Note moves of all cells."""
        for low, high in ((self.low, self.high), (self.whole_low, self.whole_high))[: 1 + whole]:
            np.minimum(low, moved, out=low)
            np.maximum(high, moved, out=high)

    def at(self, cells: IntArray) -> Reach:
        """What was seen of some cells."""
        return Reach(*(column[cells] for column in vars(self).values()))

    def put(self, cells: IntArray, other: Reach) -> None:
        """Take what was seen of some cells."""
        for own, column in zip(vars(self).values(), vars(other).values(), strict=True):
            own[cells] = column

    def cap(self, low: FloatArray, high: FloatArray) -> None:
        """Nothing moves beyond bounds that hold for sure, whatever a solver answered."""
        for column in (self.low, self.whole_low):
            np.maximum(column, low, out=column)
        for column in (self.high, self.whole_high):
            np.minimum(column, high, out=column)


class DeviationCheck:
    """Holds deviations against what is published, and notes how far they go."""

    def __init__(self, known: Unknowns, reach: Reach | None = None) -> None:
        first, order = known.relations.by_cell
        row, coef = known.relations.row[order], known.relations.coef[order]
        rows = max(len(known.relations), 1)
        self.reach = Reach.none(len(known)) if reach is None else reach
        self._system = (first, row, coef, np.zeros(rows, dtype=np.int64), np.zeros(rows))
        self._bounds = (known.low, known.high)

    def see(self, start: Any, cells: Any, moved: FloatArray) -> BoolArray:
        """Which of some deviations fit; their reach is noted.

        Each begins at its `start` in `cells` and `moved`, which has one entry more.
        """
        fits = np.zeros(len(start) - 1, dtype=np.bool_)
        seen = tuple(vars(self.reach).values())
        _see(start, cells, moved, self._system, self._bounds, seen, fits)
        return fits

    def see_all(self, proofs: Sequence[Proof]) -> BoolArray:
        """Which proofs fit, with their cells numbered as here; their reach is noted."""
        cells = np.concatenate([_NONE, *(proof.cells for proof in proofs)])
        moved = np.concatenate([np.zeros(0), *(proof.moved for proof in proofs)])
        return self.see(starts([len(proof.cells) for proof in proofs]), cells, moved)


def sure_moves(known: Unknowns, moved: FloatArray) -> tuple[FloatArray, bool, bool]:
    """What is sure of deviations of all hidden cells; whether that is anything, and all whole."""
    check = DeviationCheck(known)
    fits = check.see_all([Proof(cells=np.arange(len(known), dtype=np.int64), moved=moved)])
    reach = check.reach
    sure = reach.low + reach.high
    return sure, bool(fits[0]), bool(fits[0] and (reach.whole_low + reach.whole_high == sure).all())


@compiled
def _see(
    start: Any, cells: Any, moved: Any, system: Any, bounds: Any, reach: Any, fits: Any
) -> None:
    first, row, coef, sums, miss = system
    least, most = bounds
    low, high, whole_low, whole_high = reach
    for at in range(fits.size):
        some, far = cells[start[at] : start[at + 1]], moved[start[at] : start[at + 1]]
        inside = some.size > 0
        for k in range(some.size):
            # What is no number is no proof either.
            inside = inside and some[k] >= 0 and abs(far[k]) < np.inf
        if not inside:
            continue
        multiple = _multiple(some, far, first, row, coef, sums, least, most)
        if multiple > 0:
            fits[at] = True
            for k in range(some.size):
                step = np.rint(multiple * far[k])
                low[some[k]] = min(low[some[k]], step / multiple)
                high[some[k]] = max(high[some[k]], step / multiple)
                if multiple == 1:
                    whole_low[some[k]] = min(whole_low[some[k]], step)
                    whole_high[some[k]] = max(whole_high[some[k]], step)
            continue
        off = _missed(some, far, first, row, coef, miss, least, most)
        fits[at] = off < np.inf
        if fits[at]:
            for k in range(some.size):
                low[some[k]] = min(low[some[k]], far[k] + off)
                high[some[k]] = max(high[some[k]], far[k] - off)


@compiled
def _multiple(
    cells: Any, moved: Any, first: Any, row: Any, coef: Any, sums: Any, least: Any, most: Any
) -> int:
    """What makes deviations whole numbers that keep all relations and bounds; 0 for nothing."""
    for multiple in range(1, _FACTORS + 1):
        whole = True
        for k in range(cells.size):
            far = multiple * moved[k]
            step = np.rint(far)
            whole = abs(far - step) <= _NEAR_WHOLE and abs(step) <= _EXACT
            whole = whole and multiple * least[cells[k]] <= step <= multiple * most[cells[k]]
            if not whole:
                break
        if whole and _kept(cells, moved, multiple, first, row, coef, sums):
            return multiple
    return 0


@compiled
def _kept(
    cells: Any, moved: Any, multiple: int, first: Any, row: Any, coef: Any, sums: Any
) -> bool:
    """Whether whole moves keep all relations; `sums` are zero before and after."""
    for k in range(cells.size):
        step = np.int64(np.rint(multiple * moved[k]))
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            sums[row[entry]] += coef[entry] * step
    kept = True
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            kept = kept and sums[row[entry]] == 0
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            sums[row[entry]] = 0
    return kept


@compiled
def _missed(
    cells: Any, moved: Any, first: Any, row: Any, coef: Any, miss: Any, least: Any, most: Any
) -> float:
    """By how much deviations are out in all; 0 for next to nothing, infinite if too much."""
    largest = 0.0
    for k in range(cells.size):
        largest = max(largest, abs(moved[k]))
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] += coef[entry] * moved[k]
    allowed = _UNITS + _SHARE * largest
    worst, off, fits = 0.0, 0.0, True
    for k in range(cells.size):
        beyond = max(least[cells[k]] - moved[k], moved[k] - most[cells[k]], 0.0)
        fits = fits and beyond <= _BEYOND + 0.1 * allowed
        worst, off = max(worst, beyond), off + beyond
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            short = abs(miss[row[entry]])
            fits = fits and short <= allowed
            worst, off = max(worst, short), off + short
            miss[row[entry]] = 0.0
    if not fits:
        return np.inf
    return off if worst > _UNITS else 0.0


_FIRST, _NONE = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)

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
    row = relations.row[by_cell]
    cell = np.repeat(np.arange(relations.cells), np.diff(first))
    turned = Relations.of_entries(
        len(relations), relations.cells, cell, row, relations.coef[by_cell]
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
        np.zeros(max(len(relations), 1), dtype=np.int64), _STEPS * (len(order) + _CIRCUIT_MORE), 0,
    )  # fmt: skip
    return Circuits(start=start, cells=cells, shares=shares, whole=done.whole and all_found)


@compiled
def _closed(
    order: Any, rank: Any, of_rank: Any, start: Any, base: Any, share: Any, first: Any, row: Any,
    coef: Any, miss: Any, most: int, begin: int,
) -> Any:  # fmt: skip
    """For each cell, from one on, that follows from others: it, and how far the others move."""
    left = np.zeros(of_rank.size, dtype=np.int64)
    noted = np.zeros(of_rank.size, dtype=np.bool_)
    ends, cells, shares = [0], [np.int64(0)], [np.int64(0)]
    cells.pop(), shares.pop()
    all_found = True
    steps = 0
    for number in range(begin, order.size):
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
    last = order.size - 1
    if taken < order.size or rank[last] >= 0:
        return _NONE.copy(), _NONE.copy()
    of_rank = np.flatnonzero(rank >= 0)
    _, cells, shares, _ = _closed(
        order, rank, of_rank, start, base, share, first, row, coef, miss, 0, last
    )
    return cells, shares


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CircuitBounds:
    """What circuits show about hidden cells (confidential)."""

    reach: Reach  # how far each was seen to move
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
    """Turn circuits, those of cells with most room, to see how far hidden cells can move."""
    least, most = outer_bounds(unknowns)
    room = np.minimum(-least, most)
    mobile = np.flatnonzero(most - least > TOLERANCE)
    circuits = circuits_of(unknowns.relations, mobile[np.argsort(-room[mobile], kind="stable")])
    start, cells, shares = circuits.start, circuits.cells, circuits.shares
    fit = DeviationCheck(unknowns)
    for way in (1, -1) if len(circuits) else ():
        far = np.where(way * shares > 0, most[cells], -least[cells]) / np.abs(shares)
        step = way * np.minimum.reduceat(far, start[:-1])
        for whole in (step, np.trunc(step)):
            fit.see(start, cells, shares * np.repeat(whole, np.diff(start)))
    label, exact = None, np.zeros(len(unknowns), dtype=np.bool_)
    if circuits.whole:
        label = _labels(len(unknowns), circuits)
        number = np.bincount(label[circuits.cells[circuits.start[:-1]]], minlength=len(unknowns))
        exact = (label < 0) | (number[label] == 1)
    return CircuitBounds(reach=fit.reach, least=least, most=most, label=label, exact=exact)


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
