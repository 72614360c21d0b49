"""The compiled loop of `sums`. Loaded for large data only. CONFIDENTIAL data pass through.

In: values, codes, pivot and scale. Out: the same whole sums as `sums` makes with numpy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import types

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled
from discreet_fire.statistics.parallel import BASE, CHUNK, filled, in_parts, slices

_compiled = partial(compiled, nogil=True)
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_CODES = types.Array(numba.int64, 1, "C", readonly=True)
_COUNTS = numba.int64[::1]
_ENDS = numba.float64[::1]
_SUMS = numba.float64[:, ::1]

#: All bits of a number but its sign.
_SIZE = 2**63 - 1

# Sums are exact, so their order is free; products and cuts are not touched by this.
_FREE = {"reassoc", "nsz"}


@_compiled(numba.void(_VALUES, numba.float64, numba.float64, _SUMS), fastmath=_FREE)
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


@_compiled(numba.void(_VALUES, numba.float64, numba.float64, _VALUES, _COUNTS))
def _add_powers(values: Any, mean: Any, scale: Any, factors: Any, sums: Any) -> None:
    coarse_cube = fine_cube = coarse = fine = np.int64(0)
    for at in range(values.size):
        unit = (values[at] - mean) / scale
        square = unit * unit
        part = square * unit * factors[0] * BASE
        whole = np.floor(part)
        coarse_cube += np.int64(whole)
        fine_cube += np.int64((part - whole) * BASE)
        part = square * square * factors[1] * BASE
        whole = np.floor(part)
        coarse += np.int64(whole)
        fine += np.int64((part - whole) * BASE)
    sums[0], sums[1], sums[2], sums[3] = coarse_cube, fine_cube, coarse, fine


def powers(values: FloatArray, mean: float, scale: float, shift: Sequence[int]) -> tuple[int, int]:
    """Whole sums of third and fourth powers of the distance from a mean."""
    values = np.ascontiguousarray(values)
    factors = np.ldexp(1.0, -np.array(shift, dtype=np.int64))

    def fill(part: slice, sums: IntArray) -> None:
        _add_powers(values[part], mean, scale, factors, sums)

    power_sums = filled(fill, slices(values.size), 4).tolist()
    cube, rest, fourth, more = (sum(column) for column in zip(*power_sums, strict=True))
    return (cube << 32) + rest, (fourth << 32) + more


@_compiled(numba.void(_VALUES, _CODES, _VALUES, _VALUES, _SUMS))
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


@_compiled(numba.void(_VALUES, _CODES, _COUNTS, _ENDS, _ENDS))
def _add_extremes(values: Any, codes: Any, count: Any, low: Any, high: Any) -> None:
    for at in range(values.size):
        code, value = np.uint64(codes[at]), values[at]
        count[code] += 1
        low[code] = min(low[code], value)
        high[code] = max(high[code], value)


@_compiled(numba.void(_CODES, _COUNTS))
def _find_ends(bits: Any, ends: Any) -> None:
    low, high = np.int64(_SIZE), np.int64(-_SIZE - 1)
    for at in range(bits.size):
        # In this form whole numbers are ordered as the numbers are that they stand for.
        key = bits[at] ^ ((bits[at] >> np.int64(63)) & np.int64(_SIZE))
        low, high = min(low, key), max(high, key)
    ends[0], ends[1] = low, high


def ends(values: FloatArray) -> tuple[float, float]:
    """The smallest and the largest value; both are NaN if one value is."""
    bits = np.ascontiguousarray(values).view(np.int64)

    keys = filled(lambda part, two: _find_ends(bits[part], two), slices(bits.size, 2**20), 2)
    numbers = np.where(keys < 0, keys ^ _SIZE, keys).view(np.float64)
    return float(numbers.min()), float(numbers.max())


def extremes(
    values: FloatArray, codes: IntArray, groups: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """How many values there are per group, the smallest and the largest."""
    values, codes = np.ascontiguousarray(values), np.ascontiguousarray(codes)

    def inside(part: slice) -> tuple[IntArray, FloatArray, FloatArray]:
        count = np.zeros(groups, dtype=np.int64)
        low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
        _add_extremes(values[part], codes[part], count, low, high)
        return count, low, high

    count, low, high = zip(*in_parts(inside, slices(values.size)), strict=True)
    return np.sum(count, axis=0), np.min(low, axis=0), np.max(high, axis=0)


def moments(
    values: FloatArray, codes: IntArray | None, pivots: FloatArray, factors: FloatArray
) -> tuple[list[int], list[int]]:
    """Whole sums of scaled values and of their squares per group."""
    values = np.ascontiguousarray(values)
    codes = None if codes is None else np.ascontiguousarray(codes)

    def inside(part: slice) -> list[FloatArray]:
        sums_of = []
        for start in range(part.start, part.stop, CHUNK):
            some = slice(start, min(start + CHUNK, part.stop))
            sums = np.zeros((pivots.size, 4))
            if codes is None:
                _add(values[some], float(pivots[0]), float(factors[0]), sums)
            else:
                _add_groups(values[some], codes[some], pivots, factors, sums)
            sums_of.append(sums)
        return sums_of

    first, second = [0] * pivots.size, [0] * pivots.size
    for sums in itertools.chain.from_iterable(in_parts(inside, slices(values.size))):
        for group, (coarse, fine, coarse_square, fine_square) in enumerate(sums.tolist()):
            first[group] += (int(coarse) << 32) + int(fine)
            second[group] += (int(coarse_square) << 32) + int(fine_square)
    return first, second
