"""Obstacles: which published cells keep a sensitive cell from moving. CONFIDENTIAL.

In: published sums of leaves and cells that no wave moves. Out: published cells that these
sums come from, the heaviest sums first. A cell pushed by one unit and projected onto the
sums shows how much each of them holds it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.leaves import Leaves
from discreet.suppression.projecting import BAND, Sums, holding
from discreet.suppression.waves import Aims

__all__ = ["Taking", "in_the_way"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: How sums that hold cells back are found: steps, and what may be missing.
_STEPS, _FINE = 300, 1e-4
#: The least weight that counts, how many sums are looked at per cell to take back, and at most.
_HOLDS, _SUMS, _MOST_SUMS = 0.05, 40, 1_000
#: Columns in which cells are pushed, at most.
_COLUMNS = 4 * BAND


@dataclass(frozen=True, kw_only=True)
class Taking:
    """How many cells are taken back.

    Args:
        number: For each cell that does not move.
        near: Whether all sums near by count, however little they hold it back.
    """

    number: int
    near: bool = False


def in_the_way(
    leaves: Leaves, sums: Sums, aims: Aims, which: IntArray, known: BoolArray, rank: IntArray,
    how: Taking,
) -> IntArray:  # fmt: skip
    """Cells behind the sums that hold each of some aims back.

    Args:
        leaves: The leaves.
        sums: The sums that hold them.
        aims: All aims.
        which: Those that are held back.
        known: What is published.
        rank: Cells of a higher rank are taken first; those from `len(rank)` on as many as
            asked for, others only where there is none of these, those below 0 never.
        how: How many.
    """
    links = leaves.problem.relations
    weight = holding(sums, _pushed(leaves, aims, which), _STEPS, _FINE)
    least = 0.0 if how.near else _HOLDS
    most = min(_SUMS * how.number, _MOST_SUMS)
    start, held_by = _holders(
        which, aims.start, aims.at, sums.first, sums.of, sums.start, sums.at, weight, least, most
    )
    found = _origins_of(
        start, sums.cells[held_by], sums.way, links.start, links.cell, known, rank, how.number
    )
    return np.unique(found)


def _pushed(leaves: Leaves, aims: Aims, which: IntArray) -> FloatArray:
    """Each aim pushed by one unit per leaf; neighbours in different columns."""
    columns = min(-(-which.size // BAND) * BAND, _COLUMNS)
    pushed = np.zeros((len(leaves), columns))
    for column in range(columns):
        for one in which[column::columns]:
            pushed[aims.at[aims.start[one] : aims.start[one + 1]], column] += 1.0
    return pushed


@numba.njit(cache=True, nogil=True)
def _holders(
    aims: Any, start: Any, at: Any, first: Any, of: Any, sum_start: Any, sum_at: Any, weight: Any,
    least: float, most: int,
) -> Any:  # fmt: skip
    """For each aim, the sums of weight that hang together with its leaves, heaviest first."""
    begin = np.zeros(aims.size + 1, dtype=np.int64)
    chosen = [np.int64(0) for _ in range(0)]
    seen = np.full(sum_start.size, -1, dtype=np.int64)
    for i in range(aims.size):
        column = i % weight.shape[1]
        done = len(chosen)
        for k in range(start[aims[i]], start[aims[i] + 1]):
            for entry in range(first[at[k]], first[at[k] + 1]):
                s = of[entry]
                if seen[s] != i and weight[s, column] >= least:
                    seen[s] = i
                    chosen.append(np.int64(s))
        while done < len(chosen) and len(chosen) - begin[i] < most:
            own = chosen[done]
            done += 1
            for k in range(sum_start[own], sum_start[own + 1]):
                for entry in range(first[sum_at[k]], first[sum_at[k] + 1]):
                    s = of[entry]
                    if seen[s] != i and weight[s, column] >= least:
                        seen[s] = i
                        chosen.append(np.int64(s))
        begin[i + 1] = len(chosen)
    order = np.array(chosen)
    for i in range(aims.size):
        listed = order[begin[i] : begin[i + 1]].copy()
        size = np.array([-weight[s, i % weight.shape[1]] for s in listed])
        order[begin[i] : begin[i + 1]] = listed[np.argsort(size, kind="mergesort")]
    return begin, order


@numba.njit(cache=True, nogil=True)
def _origins_of(
    start: Any, cells: Any, way: Any, row_start: Any, row_cell: Any, known: Any, rank: Any,
    number: int,
) -> Any:  # fmt: skip
    """From each list of sums, cells of the highest ranks that the first sums come from."""
    chosen = [np.int64(0) for _ in range(0)]
    for i in range(start.size - 1):
        taken, spare = 0, np.int64(-1)
        for k in range(start[i], start[i + 1]):
            found: Any = _origins(cells[k], way, row_start, row_cell, known, rank)
            if len(found) and (spare < 0 or rank[found[0]] > rank[spare]):
                spare = found[0]
            for cell in found:
                if taken < number and rank[cell] >= rank.size:
                    chosen.append(cell)
                    taken += 1
        if taken == 0 and spare >= 0:
            chosen.append(spare)
    return np.array(chosen)


@numba.njit(cache=True, nogil=True)
def _origins(cell: Any, way: Any, row_start: Any, row_cell: Any, known: Any, rank: Any) -> Any:
    """The known cells that a sum comes from, those of high rank first."""
    found = [np.int64(cell)]
    stack = [np.int64(cell)]
    while len(stack) > 0:
        top = stack.pop()
        r = way[top]
        if r < 0:
            continue
        for k in range(row_start[r], row_start[r + 1]):
            part = np.int64(row_cell[k])
            if part == top:
                continue
            if known[part]:
                found.append(part)
            else:
                stack.append(part)
    usable = np.array([c for c in found if rank[c] >= 0])
    ranked = np.array([-rank[c] for c in usable])
    return usable[np.argsort(ranked, kind="mergesort")]
