"""The compiled loop of `sums`. Loaded for large data only. CONFIDENTIAL data pass through.

In: values, codes, pivot and scale. Out: the same whole sums as `sums` makes with numpy.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from discreet.output_checking.safe.units import BASE, CHUNK

__all__ = ["extremes", "moments"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_CODES = types.Array(numba.int64, 1, "C", readonly=True)
_COUNTS = numba.int64[::1]
_ENDS = numba.float64[::1]
_SUMS = numba.float64[:, ::1]

# Sums are exact, so their order is free; products and cuts are not touched by this.
_FREE = {"reassoc", "nsz"}


@numba.njit(
    numba.void(_VALUES, numba.float64, numba.float64, _SUMS),
    nogil=True,
    cache=True,
    fastmath=_FREE,
)
def _add(values: Any, pivot: Any, factor: Any, sums: Any) -> None:
    coarse = fine = coarse_square = fine_square = 0.0
    for at in range(values.size):
        unit = (values[at] - pivot) * factor
        part = unit * BASE
        whole = np.floor(part)
        coarse += whole
        fine += np.floor((part - whole) * BASE)
        part = unit * unit * BASE
        whole = np.floor(part)
        coarse_square += whole
        fine_square += np.floor((part - whole) * BASE)
    sums[0, 0] += coarse
    sums[0, 1] += fine
    sums[0, 2] += coarse_square
    sums[0, 3] += fine_square


@numba.njit(numba.void(_VALUES, _CODES, _VALUES, _VALUES, _SUMS), nogil=True, cache=True)
def _add_groups(values: Any, codes: Any, pivots: Any, factors: Any, sums: Any) -> None:
    for at in range(values.size):
        code = np.uint64(codes[at])
        unit = (values[at] - pivots[code]) * factors[code]
        row = sums[code]
        part = unit * BASE
        whole = np.floor(part)
        row[0] += whole
        row[1] += np.floor((part - whole) * BASE)
        part = unit * unit * BASE
        whole = np.floor(part)
        row[2] += whole
        row[3] += np.floor((part - whole) * BASE)


@numba.njit(numba.void(_VALUES, _CODES, _COUNTS, _ENDS, _ENDS), nogil=True, cache=True)
def _add_extremes(values: Any, codes: Any, count: Any, low: Any, high: Any) -> None:
    for at in range(values.size):
        code, value = np.uint64(codes[at]), values[at]
        count[code] += 1
        low[code] = min(low[code], value)
        high[code] = max(high[code], value)


def extremes(
    values: FloatArray, codes: IntArray, groups: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """How many values there are per group, the smallest and the largest."""
    count = np.zeros(groups, dtype=np.int64)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    _add_extremes(np.ascontiguousarray(values), np.ascontiguousarray(codes), count, low, high)
    return count, low, high


def moments(
    values: FloatArray, codes: IntArray | None, pivots: FloatArray, factors: FloatArray
) -> tuple[list[int], list[int]]:
    """Whole sums of scaled values and of their squares per group."""
    groups = pivots.size
    first, second = [0] * groups, [0] * groups
    for start in range(0, values.size, CHUNK):
        sums = np.zeros((groups, 4))
        part = np.ascontiguousarray(values[start : start + CHUNK])
        if codes is None:
            _add(part, float(pivots[0]), float(factors[0]), sums)
        else:
            inside = np.ascontiguousarray(codes[start : start + CHUNK])
            _add_groups(part, inside, pivots, factors, sums)
        for group, (coarse, fine, coarse_square, fine_square) in enumerate(sums.tolist()):
            first[group] += (int(coarse) << 32) + int(fine)
            second[group] += (int(coarse_square) << 32) + int(fine_square)
    return first, second
