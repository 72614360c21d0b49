"""Turning: what circuits of hidden cells alone show about a pattern. CONFIDENTIAL.

In: the hidden cells of a pattern of any origin. Out: how far each was seen to move, by
circuits turned as far as bounds let them and, where one is not enough, by several of them
together; every such deviation is held against all relations and bounds. And, where the
circuits are all there is: which cells cannot move at all, and which move independently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.circuits import Circuits, circuits_of
from discreet.suppression.fitting import Fit
from discreet.suppression.propagation import outer_bounds
from discreet.suppression.relations import Relations
from discreet.suppression.unknowns import TOLERANCE, Unknowns, labels_of

__all__ = ["Turn", "turned"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: How often all circuits through a cell are turned in a row.
_PASSES = 3
#: Circuits are put together until so many cells of circuits were looked at.
_LOOKS = 100_000_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Turn:
    """What circuits show about hidden cells (confidential).

    Args:
        low: How far down each was seen to move, at most 0.
        high: How far up.
        label: For each cell, the smallest cell that it shares circuits with, directly or
            not: cells with different labels move independently, and those in no circuit,
            labelled -1, do not move at all. None where there may be more circuits.
        exact: Which cells cannot move farther than they were seen to: those in no circuit,
            and those that move with one circuit only.
    """

    low: FloatArray
    high: FloatArray
    label: IntArray | None
    exact: BoolArray


def turned(unknowns: Unknowns) -> Turn:
    """Turn circuits to see how far hidden cells can move.

    Args:
        unknowns: The hidden cells.
    """
    least, most = outer_bounds(unknowns)
    down, up = -least, most
    room = np.minimum(down, up)
    mobile = np.flatnonzero(down + up > TOLERANCE)
    circuits = circuits_of(unknowns.relations, mobile[np.argsort(-room[mobile], kind="stable")])
    low, high = np.zeros(len(unknowns)), np.zeros(len(unknowns))
    fit = Fit(unknowns, low, high)
    forth, back = _steps(circuits.start, circuits.cells, circuits.shares, down, up)
    width = np.diff(circuits.start)
    for step in (forth, -back):
        fit.see(circuits.start, circuits.cells, circuits.shares * np.repeat(step, width))
    possible = unknowns.sensitive & unknowns.protected(least, most)
    _put_together(unknowns, circuits, possible & ~unknowns.protected(low, high), (down, up), fit)
    if not circuits.whole:
        return Turn(low=low, high=high, label=None, exact=np.zeros(len(unknowns), dtype=np.bool_))
    label = _labels(len(unknowns), circuits)
    number = np.bincount(label[circuits.cells[circuits.start[:-1]]], minlength=len(unknowns))
    return Turn(low=low, high=high, label=label, exact=(label < 0) | (number[label] == 1))


def _labels(cells: int, circuits: Circuits) -> IntArray:
    """Cells in a common circuit hang together; -1 for those in none."""
    rows = Relations(
        cells=cells,
        start=circuits.start,
        cell=circuits.cells.astype(np.int32),
        coef=circuits.shares,
        rhs=np.zeros(len(circuits), dtype=np.int64),
    )
    label = labels_of(rows)
    alone = np.ones(cells, dtype=np.bool_)
    alone[circuits.cells] = False
    label[alone] = -1
    return label


def _put_together(
    unknowns: Unknowns,
    circuits: Circuits,
    wanted: BoolArray,
    room: tuple[FloatArray, FloatArray],
    fit: Fit,
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
            looked += _turn_all(
                numbers[some], circuits.shares[inside[some]], side, circuits.start,
                circuits.cells, circuits.shares, *room, moved,
            )  # fmt: skip
            cells = np.flatnonzero(moved)
            fit.see(np.array([0, cells.size]), cells, moved[cells])
            moved[cells] = 0.0


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _turn_all(
    numbers: Any, own: Any, side: float, start: Any, cells: Any, shares: Any, down: Any, up: Any,
    moved: Any,
) -> int:  # fmt: skip
    """Turn circuits through one cell, those that move it farthest first; gives the effort."""
    gain = np.empty(numbers.size)
    looked = 0
    for _ in range(_PASSES):
        for i in range(numbers.size):
            turn = side if own[i] > 0 else -side
            gain[i] = abs(own[i]) * _step(numbers[i], turn, start, cells, shares, down, up, moved)
        farther = False
        for i in np.argsort(-gain, kind="mergesort"):
            turn = side if own[i] > 0 else -side
            step = _step(numbers[i], turn, start, cells, shares, down, up, moved)
            looked += 2 * (start[numbers[i] + 1] - start[numbers[i]])
            if step > 0:
                farther = True
                for k in range(start[numbers[i]], start[numbers[i] + 1]):
                    moved[cells[k]] += turn * step * shares[k]
        if not farther:
            break
    return looked


@numba.njit(cache=True, nogil=True)
def _step(
    number: int, turn: float, start: Any, cells: Any, shares: Any, down: Any, up: Any, moved: Any
) -> float:
    """How far one more circuit can be turned to a side."""
    step = np.inf
    for k in range(start[number], start[number + 1]):
        share = turn * shares[k]
        cell = cells[k]
        room = up[cell] - moved[cell] if share > 0 else down[cell] + moved[cell]
        step = min(step, room / abs(share))
    return max(step, 0.0)
