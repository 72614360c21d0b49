"""Waves: deviations of all leaves at once that move as many sensitive cells as possible.

In: the published sums of leaves, how far each leaf can move to either side, and which
cells are to be moved how far. Out: deviations that keep every sum: each proves that all
cells that it moves far enough are protected. Cells are pushed, leaves are brought back to
their bounds, and the whole is projected onto the published sums, in turn. CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.leaves import Leaves
from discreet.suppression.projecting import BAND, Sums, projected

__all__ = ["COLUMNS", "Aims", "aims_of", "exact_waves", "reached", "waves"]

IntArray = npt.NDArray[np.int64]
CellArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Waves that are made at once.
COLUMNS = 2 * BAND
#: Cells are pushed a little farther than they must go; leaves stay a little within bounds.
_FARTHER, _WITHIN = 1.2, 0.95
#: So far is far enough before waves are made exact.
_ENOUGH = 1.05
#: Cells that moved less than this share are not pushed any more after some rounds.
_STUCK, _TRIES = 0.05, 2
_ROUNDS, _STEPS, _ROUGH = 10, 60, 1e-2
#: How waves are brought within bounds: rounds, steps in each, what may be missing.
_BOUND_ROUNDS, _BOUND_STEPS, _FINE = 8, 150, 1e-3
#: How they are made exact.
_EXACT_ROUNDS, _EXACT_STEPS, _EXACT = 5, 5_000, 1e-10
#: Waves that miss a sum by more are no waves.
_MISSED, _EXACTLY_MISSED = 1e-2, 1e-8
#: These are units of counts; where waves are higher, this share of their height.
_HEIGHT = 1e-3
#: What is beyond a bound by a smaller share is brought back by making the wave smaller.
_BEYOND = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Aims:
    """How far which cells are to be moved (confidential).

    Args:
        cells: The cells, numbers in the problem.
        start: Where the leaves of each begin in `at`.
        at: The leaves.
        want: How far each is to be moved, up in one wave and down in its mirror image.
        room: How far each leaf can move to either side.
    """

    cells: IntArray
    start: IntArray
    at: CellArray
    want: FloatArray
    room: FloatArray

    def __len__(self) -> int:
        return len(self.cells)


def aims_of(leaves: Leaves, cells: IntArray, want: FloatArray) -> Aims:
    """Aims for some cells of a problem."""
    start, at = leaves.under(cells)
    return Aims(cells=cells, start=start, at=at, want=want, room=np.minimum(leaves.down, leaves.up))


def reached(aims: Aims, moved: FloatArray) -> FloatArray:
    """How far each aim is moved in each column."""
    out = np.empty((len(aims), moved.shape[1]))
    _gathered(aims.start, aims.at, moved, out)
    return np.abs(out)


def waves(sums: Sums, aims: Aims, wished: BoolArray, moved: FloatArray) -> FloatArray:
    """Waves that do what is wished, as far as they can; nearly exact.

    Args:
        sums: The sums that must stay.
        aims: What there is to wish for.
        wished: For each aim, in which columns it is to be moved.
        moved: Where to start, `BAND` columns or a multiple.
    """
    room = aims.room[:, None]
    free = np.broadcast_to(room > 0, moved.shape)
    most = _most(aims)[:, None]
    any_wished: BoolArray = np.logical_or.reduce(wished, axis=1)
    moved = np.clip(moved, -room, room)
    for turn in range(_ROUNDS):
        stuck = _STUCK if turn >= _TRIES else 0.0
        _push(aims.start, aims.at, aims.want, wished, moved, _FARTHER, stuck)
        moved = np.clip(moved, -most, most)
        moved, _ = projected(sums, moved, free, _STEPS, _ROUGH * _unit(moved))
        if turn >= _TRIES and _settled(aims, any_wished, moved):
            break
    moved = _within(sums, aims.room, moved, (_BOUND_ROUNDS, _BOUND_STEPS, _FINE, _MISSED))
    return moved * _stretch(aims.room, moved)


def _most(aims: Aims) -> FloatArray:
    """How far leaves are moved: not to their bounds, unless they must."""
    most = _WITHIN * aims.room
    want = np.repeat(aims.want, np.diff(aims.start))
    np.maximum.at(most, aims.at, np.minimum(want, aims.room[aims.at]))
    return most


def _settled(aims: Aims, wished: BoolArray, moved: FloatArray) -> bool:
    """Whether some wave reaches each wished aim that moves at all, and none leaves its bounds."""
    far = reached(aims, moved)[wished].max(axis=1)
    want = aims.want[wished]
    done = (far >= _ENOUGH * want) | (far < _STUCK * want)
    return bool(done.all()) and bool((np.abs(moved) <= aims.room[:, None]).all())


def exact_waves(sums: Sums, aims: Aims, moved: FloatArray) -> FloatArray:
    """The same waves so exact that they are proofs; what cannot be made exact is 0."""
    how = (_EXACT_ROUNDS, _EXACT_STEPS, _EXACT, _EXACTLY_MISSED)
    moved = _within(sums, aims.room, moved, how)
    return moved * np.minimum(_stretch(aims.room, moved), 1.0)


def _within(
    sums: Sums, room: FloatArray, moved: FloatArray, how: tuple[int, int, float, float]
) -> FloatArray:
    """Hold leaves that are beyond their bounds there, and project the others."""
    rounds, steps, fine, missed = how
    unit = _unit(moved)
    fine, missed = fine * unit, missed * unit
    limit = room[:, None]
    held = np.abs(moved) >= limit
    start = moved
    miss = np.zeros(moved.shape[1])
    for _ in range(rounds):
        moved, miss = projected(sums, np.clip(moved, -limit, limit), ~held, steps, fine)
        beyond = np.abs(moved) > limit * (1 + _BEYOND)
        if not beyond.any():
            break
        held |= beyond
    lost = miss > missed
    if lost.any():
        again, miss = projected(sums, start, np.broadcast_to(limit > 0, moved.shape), steps, fine)
        moved = np.where(lost, again, moved)
        moved[:, lost & (miss > missed)] = 0.0
    return moved


def _unit(moved: FloatArray) -> float:
    """What counts as one unit for waves of this height: they are proofs up to 1e-8 of it."""
    return max(1.0, _HEIGHT * float(np.abs(moved).max(initial=0.0)))


def _stretch(room: FloatArray, moved: FloatArray) -> FloatArray:
    """What each wave can be multiplied with to reach a bound."""
    used = room > 0
    share = (np.abs(moved[used]) / room[used, None]).max(axis=0, initial=0.0)
    moves: FloatArray = np.where(share > _BEYOND, 1.0 / np.maximum(share, _BEYOND), 0.0)
    return moves


@numba.njit(cache=True, nogil=True)
def _gathered(start: Any, at: Any, moved: Any, out: Any) -> None:
    for s in range(start.size - 1):
        for j in range(moved.shape[1]):
            out[s, j] = 0.0
        for k in range(start[s], start[s + 1]):
            for j in range(moved.shape[1]):
                out[s, j] += moved[at[k], j]


@numba.njit(cache=True, nogil=True)
def _push(
    start: Any, at: Any, want: Any, wished: Any, moved: Any, farther: float, stuck: float
) -> None:
    """Push each aim that is not far enough to the side on which it is."""
    for s in range(start.size - 1):
        size = start[s + 1] - start[s]
        goal = want[s] * farther
        for j in range(moved.shape[1]):
            if not wished[s, j] or size == 0:
                continue
            far = 0.0
            for k in range(start[s], start[s + 1]):
                far += moved[at[k], j]
            if abs(far) >= goal or abs(far) < stuck * want[s]:
                continue
            more = ((goal if far >= 0.0 else -goal) - far) / size
            for k in range(start[s], start[s + 1]):
                moved[at[k], j] += more
