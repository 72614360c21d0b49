"""Sparse elimination modulo a prime: which hidden cells follow from others.

It says which relations follow from the others, and in which ways cells can move together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.disclosure.relations import Relations
from discreet.kernels import compiled

#: All numbers are remainders modulo this prime; products of two fit into 64 bits.
PRIME = 2**31 - 1
#: Work stops at so many products, and so many numbers to keep, for each column and for
#: some columns more: where systems fill up, there are better ways than elimination.
_PRODUCTS, _NUMBERS, _MORE = 200, 200, 1_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Elimination:
    """Eliminated columns, in order of their elimination."""

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
