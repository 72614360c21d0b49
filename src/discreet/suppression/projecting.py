"""Deviations of leaves that keep every published sum: projections onto them. CONFIDENTIAL.

In: which leaves each published sum is made of, and any deviations. Out: the nearest ones
in which all of these sums stay as they are, some leaves held if wanted. Conjugate
gradients on the sums, four deviations at a time, each four in a thread of its own: the
result does not depend on the number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.leaves import Leaves

__all__ = ["BAND", "Effort", "Sums", "holding", "projected", "sums_of"]

IntArray = npt.NDArray[np.int64]
CellArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Deviations that are worked on together.
BAND = 4
_THREADS = 2


@dataclass
class Effort:
    """How much work was done: entries of sums gone through, the same on every machine."""

    spent: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Sums:
    """Sums of leaves that are known (confidential).

    Args:
        cells: The published cells that they come from.
        start: Where the leaves of each sum begin in `at`.
        at: The leaves.
        first: Where the sums of each leaf begin in `of`.
        of: The sums.
        way: For each cell of the problem, the relation that was followed down; -1 for leaves.
        effort: Counts what working with them took.
    """

    cells: IntArray
    start: IntArray
    at: CellArray
    first: IntArray
    of: CellArray
    way: IntArray
    effort: Effort

    def __len__(self) -> int:
        return len(self.cells)


def sums_of(leaves: Leaves, known: BoolArray, effort: Effort) -> Sums:
    """What known cells say about leaves, each with known sums below it taken away."""
    cells = np.flatnonzero(known).astype(np.int64)
    ways = leaves.ways(known)
    start, at = leaves.remaining(cells, known, ways)
    told = np.diff(start) > 0
    start = np.concatenate([start[:-1][told], start[-1:]])
    first, of = _turned(start, at, len(leaves))
    return Sums(
        cells=cells[told], start=start, at=at, first=first, of=of, way=ways[0], effort=effort
    )


def projected(
    sums: Sums, moved: FloatArray, free: BoolArray, most: int, fine: float
) -> tuple[FloatArray, FloatArray]:
    """The nearest deviations that change no sum.

    Args:
        sums: The sums.
        moved: Deviations of the leaves, one per column; a multiple of `BAND` columns.
        free: Which of them may change.
        most: Steps at most.
        fine: When to stop: what is missing, in units.

    Returns:
        The deviations, and by how much each column misses a sum at most.
    """
    found, miss, _ = _all_projected(sums, moved, free, most, fine)
    return found, miss


def holding(sums: Sums, moved: FloatArray, most: int, fine: float) -> FloatArray:
    """How much each sum holds deviations back: its weight in what a projection takes away."""
    _, _, weight = _all_projected(sums, moved, np.ones(moved.shape, dtype=np.bool_), most, fine)
    return np.abs(weight)


def _all_projected(
    sums: Sums, moved: FloatArray, free: BoolArray, most: int, fine: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Deviations, what they miss, and the weight of each sum in the change."""

    def work(column: int) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        part = np.ascontiguousarray(moved[:, column : column + BAND])
        mobile = np.ascontiguousarray(free[:, column : column + BAND]).astype(np.float64)
        taken = np.zeros((len(sums), BAND))
        miss, steps = _project(
            sums.start, sums.at, sums.first, sums.of, part, mobile, taken, most, fine
        )
        return part, miss, taken, steps

    with ThreadPoolExecutor(_THREADS) as pool:
        done = list(pool.map(work, range(0, moved.shape[1], BAND)))
    parts, misses, weights, steps = zip(*done, strict=True)
    sums.effort.spent += float(sums.at.size) * sum(steps)
    return np.hstack(parts), np.concatenate(misses), np.hstack(weights)


@numba.njit(cache=True, nogil=True)
def _turned(start: Any, at: Any, leaves: int) -> Any:
    first = np.zeros(leaves + 1, dtype=np.int64)
    for k in range(at.size):
        first[at[k] + 1] += 1
    for i in range(leaves):
        first[i + 1] += first[i]
    filled = first[:-1].copy()
    of = np.empty(at.size, dtype=np.int32)
    for r in range(start.size - 1):
        for k in range(start[r], start[r + 1]):
            of[filled[at[k]]] = r
            filled[at[k]] += 1
    return first, of


@numba.njit(cache=True, nogil=True)
def _summed(start: Any, at: Any, weight: Any, given: Any, out: Any) -> None:
    """Weighted sums over lists, four columns at once."""
    for r in range(start.size - 1):
        a = b = c = d = given.dtype.type(0)
        for k in range(start[r], start[r + 1]):
            i = at[k]
            a += given[i, 0]
            b += given[i, 1]
            c += given[i, 2]
            d += given[i, 3]
        out[r, 0] = a * weight[r, 0]
        out[r, 1] = b * weight[r, 1]
        out[r, 2] = c * weight[r, 2]
        out[r, 3] = d * weight[r, 3]


@numba.njit(cache=True, nogil=True)
def _project(
    start: Any, at: Any, first: Any, of: Any, moved: Any, free: Any, taken: Any, most: int,
    fine: float,
) -> Any:  # fmt: skip
    """Change `moved` to the nearest without effect on sums; returns what is missing, and steps.

    `taken`, zero before, holds the weight of each sum in the change afterwards.
    """
    rows = start.size - 1
    ones = np.ones((rows, BAND), dtype=moved.dtype)
    weight = np.empty_like(ones)
    _summed(start, at, ones, free, weight)
    for r in range(rows):
        for j in range(BAND):
            weight[r, j] = 1.0 / np.sqrt(max(weight[r, j], 1.0))
    rest = np.empty_like(ones)
    _summed(start, at, weight, moved, rest)
    way = rest.copy()
    scaled = np.empty_like(ones)
    image = np.empty_like(ones)
    shift = np.empty_like(moved)
    size = _squares(rest)
    steps = 0
    while steps < most:
        if _largest(rest, weight).max() <= fine:
            break
        _scaled(way, weight, scaled)
        _summed(first, of, free, scaled, shift)
        _summed(start, at, weight, shift, image)
        size = _step(way, image, taken, rest, size)
        steps += 1
    _scaled(taken, weight, taken)
    _summed(first, of, free, taken, shift)
    for i in range(len(moved)):
        for j in range(BAND):
            moved[i, j] -= shift[i, j]
    _summed(start, at, ones, moved, rest)
    return _largest(rest, ones), steps


@numba.njit(cache=True, nogil=True)
def _scaled(given: Any, weight: Any, out: Any) -> None:
    for r in range(len(given)):
        for j in range(BAND):
            out[r, j] = given[r, j] * weight[r, j]


@numba.njit(cache=True, nogil=True)
def _step(way: Any, image: Any, taken: Any, rest: Any, size: Any) -> Any:
    """One step of conjugate gradients; returns the new squares of what is left."""
    bend = np.zeros(BAND)
    for r in range(len(way)):
        for j in range(BAND):
            bend[j] += way[r, j] * image[r, j]
    far = np.zeros_like(way[:1])[0]
    for j in range(BAND):
        if bend[j] > 1e-100:
            far[j] = size[j] / bend[j]
    for r in range(len(way)):
        for j in range(BAND):
            taken[r, j] += far[j] * way[r, j]
            rest[r, j] -= far[j] * image[r, j]
    fresh = _squares(rest)
    turn = np.zeros_like(far)
    for j in range(BAND):
        if size[j] > 1e-100:
            turn[j] = fresh[j] / size[j]
    for r in range(len(way)):
        for j in range(BAND):
            way[r, j] = rest[r, j] + turn[j] * way[r, j]
    return fresh


@numba.njit(cache=True, nogil=True)
def _squares(rest: Any) -> Any:
    out = np.zeros(BAND)
    for r in range(len(rest)):
        for j in range(BAND):
            out[j] += rest[r, j] * rest[r, j]
    return out


@numba.njit(cache=True, nogil=True)
def _largest(rest: Any, weight: Any) -> Any:
    out = np.zeros(BAND)
    for r in range(len(rest)):
        for j in range(BAND):
            out[j] = max(out[j], abs(rest[r, j]) / weight[r, j])
    return out
