"""Circuits: few hidden cells that move together and leave every relation as it is.

In: the relations among hidden cells, and an order of the cells. Out: for each cell that
follows from earlier ones, the circuit of it and these. If cells with much room come first,
each circuit has as much room as any with that cell: most tables are proven by circuits
alone. All shares are whole numbers, and each circuit is checked exactly. CONFIDENTIAL:
the order tells of values.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.elimination import PRIME, eliminated
from discreet.suppression.relations import Relations

__all__ = ["Circuits", "circuits_of"]

IntArray = npt.NDArray[np.int64]

_FIRST, _NONE = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)

#: Shares become whole numbers when multiplied with one of the first so many numbers.
_MULTIPLES = 24
#: Larger shares are not taken.
_LARGEST = 100_000
#: Circuits are no longer looked for after so many steps for each cell, and some cells more.
_STEPS, _MORE = 2_000, 1_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Circuits:
    """Circuits of hidden cells.

    Args:
        start: Where each begins in `cells` and `shares`; one more than there are.
        cells: The cells.
        shares: How far each moves when the circuit does by 1; whole numbers.
        whole: Whether every way to move the cells is a sum of these circuits.
    """

    start: IntArray
    cells: IntArray
    shares: IntArray
    whole: bool

    def __len__(self) -> int:
        return len(self.start) - 1


def circuits_of(relations: Relations, order: IntArray) -> Circuits:
    """The circuit of each cell that follows from earlier ones.

    Args:
        relations: The relations among the cells.
        order: The cells that can move, those with most room first.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> found = circuits_of(sums, np.array([2, 0, 1]))
    >>> found.cells, found.shares
    (array([0, 2, 1, 2]), array([ 1,  1,  1, -1]))
    """
    done = eliminated(relations, order)
    if not done.whole:  # the cells that follow from others come last
        return Circuits(start=_FIRST, cells=_NONE, shares=_NONE, whole=False)
    first, by_cell = relations.by_cell
    start, cells, shares, all_found = _closed(
        done.cells, done.rank, np.flatnonzero(done.rank >= 0), done.start, done.base, done.share,
        first, relations.row[by_cell], relations.coef[by_cell],
        np.zeros(max(len(relations), 1), dtype=np.int64), _STEPS * (len(order) + _MORE),
    )  # fmt: skip
    return Circuits(start=start, cells=cells, shares=shares, whole=done.whole and all_found)


@numba.njit(cache=True, nogil=True)
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
    return np.array(ends), np.array(cells), np.array(shares), all_found


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _small(number: int) -> int:
    """The number nearest to 0 with the same remainder."""
    rest = number % PRIME
    return rest - PRIME if rest > PRIME // 2 else rest
