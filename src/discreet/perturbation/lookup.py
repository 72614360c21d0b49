"""Looking noise up: (original count, cell key) → noise, exactly.

In: a confidential table's counts and cell keys, and the secret intervals. Out:
the noise, CONFIDENTIAL. Only integers are compared, so the result does not
depend on the engine, the number of threads or the order of the cells.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid
from discreet.perturbation.intervals import DECIMAL_SCALE, Intervals

__all__ = ["look_up", "rows_of", "thresholds"]

IntArray = npt.NDArray[np.int64]

_CHUNK = 1 << 15  # cells per piece: keys, rows and places stay in the cache
_MANY = 1 << 19  # from here on threads pay
_MAX_THREADS = 8
_DENSE = 1 << 23  # rows × keys up to which the noise of every key is written out
_WORTH = 16  # and this many times the number of cells


def thresholds(content: Intervals, grid: KeyGrid) -> IntArray:
    """For each interval, the first key of `grid` above it.

    A left-closed interval holds the keys with key/M < u, so ceil(u·M) is the
    first above it; a right-closed one those with key/M ≤ u: floor(u·M) + 1.
    """
    if content.scale != grid.size:
        if content.scale != DECIMAL_SCALE:
            raise PerturbationError(
                f"the perturbation table is made for {content.scale} keys, "
                f"the cell keys lie on a grid of {grid}",
                code="key-grid",
                hint=f"tabulate with key_grid={content.scale} and record keys of that grid",
            )
        exact = content.upper.tolist()
        size, scale = grid.size, content.scale
        if content.closed == "left":
            first = [-(-bound * size // scale) for bound in exact]
        else:
            first = [min(bound * size // scale + 1, size) for bound in exact]
        return np.array(first, dtype=np.int64)
    if content.closed == "left":
        return content.upper
    return np.minimum(content.upper + 1, content.scale)


def look_up(content: Intervals, count: IntArray, cell_key: IntArray, grid: KeyGrid) -> IntArray:
    """The noise of each cell.

    Args:
        content: The intervals.
        count: Original (unweighted) counts.
        cell_key: Cell keys on `grid`.
        grid: The key grid.
    """
    _check(count, cell_key, grid)
    first_above = thresholds(content, grid)
    rows = content.n_max + 1
    per_block = (2**63 - 1) // grid.size - 1  # rows whose places fit 64 bits
    if rows <= per_block:
        places = content.row_of * grid.size + first_above
        if rows * grid.size <= min(_DENSE, _WORTH * len(count)):
            every = np.repeat(content.noise, np.diff(places, prepend=0))
            return _in_pieces(content, every, count, cell_key, grid.size)
        return _in_pieces(content, content.noise, count, cell_key, grid.size, places=places)
    noise = np.zeros(len(count), dtype=np.int64)
    row = rows_of(content, count)
    for low in range(0, rows, per_block):
        high = min(low + per_block, rows)
        begin, end = int(content.starts[low]), int(content.starts[high])
        places = (content.row_of[begin:end] - low) * grid.size + first_above[begin:end]
        cells = np.flatnonzero((row >= low) & (row < high))
        at = (row[cells] - low) * grid.size + cell_key[cells]
        noise[cells] = content.noise[begin + np.searchsorted(places, at, side="right")]
    return noise


def _in_pieces(
    content: Intervals,
    values: IntArray,
    count: IntArray,
    cell_key: IntArray,
    size: int,
    *,
    places: IntArray | None = None,
) -> IntArray:
    """Take each cell's noise from `values`: at row × size + key, or the place above it."""
    noise = np.empty(len(count), dtype=np.int64)

    def fill(begin: int) -> None:
        piece = slice(begin, begin + _CHUNK)
        at = rows_of(content, count[piece]) * size + cell_key[piece]
        if places is not None:
            at = np.searchsorted(places, at, side="right")
        noise[piece] = values[at]

    begins = range(0, len(count), _CHUNK)
    if len(count) < _MANY:
        for begin in begins:
            fill(begin)
        return noise
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS)) as pool:
        list(pool.map(fill, begins))
    return noise


def rows_of(content: Intervals, count: IntArray) -> IntArray:
    """The row each count uses."""
    if content.beyond == "last":
        return np.minimum(count, content.n_max)
    start, length = content.beyond
    return np.where(count <= content.n_max, count, start + (count - start) % length)


def _check(count: IntArray, cell_key: IntArray, grid: KeyGrid) -> None:
    if len(count) != len(cell_key):
        raise PerturbationError("counts and cell keys differ in number", code="lookup")
    if not len(count):
        return
    if int(count.min()) < 0:
        raise PerturbationError("a count is negative", code="lookup", where="count")
    if int(cell_key.min()) < 0 or int(cell_key.max()) >= grid.size:
        outside = int(((cell_key < 0) | (cell_key >= grid.size)).sum())
        raise PerturbationError(
            f"{outside:,} of {len(count):,} cell keys are not on the grid of {grid}",
            code="lookup",
            where="cell_key",
            hint="cell keys are sums of record keys modulo the size of the grid",
        )
