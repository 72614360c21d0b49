"""Sums that are the same to the last bit whatever the order of the records. CONFIDENTIAL.

Values are scaled by a power of two to at most 1 in size, and cut into two parts of 32 bits, which
are added as whole numbers: no addition rounds, and no order or number of threads can change the
result. What is cut off is below 2^-64 of the largest value of the group per record.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np
from numba import types

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled
from discreet_fire.statistics.parallel import filled, slices

loop = partial(compiled, nogil=True)
#: Types of arrays that loops read, and of those that they fill.
VALUES = types.Array(numba.float64, 1, "C", readonly=True)
WHOLE = types.Array(numba.int64, 1, "C", readonly=True)
FLOATS, INTS = numba.float64[::1], numba.int64[::1]
#: 32 bits: the size of one whole number.
BASE = 4294967296.0
#: 2 to this power is the smallest scale: its inverse is a number too.
_LEAST = -1021
_NONE: FloatArray = np.zeros(0)
NO_CODES: IntArray = np.zeros(0, dtype=np.int64)

_TERMS = (VALUES, VALUES, WHOLE, VALUES, VALUES, numba.int64)


@loop(numba.float64(*_TERMS, numba.int64, numba.uint64), inline="always")
def _term(
    values: Any, weights: Any, codes: Any, centres: Any, shifts: Any, power: Any, at: Any, code: Any
) -> Any:
    """The distance of a value from the centre and the shift of its group, weighted."""
    away = values[at] - centres[code] - shifts[code]
    if power == 2:
        away *= away
    return away * weights[at] if weights.size else away


@loop(numba.void(*_TERMS, FLOATS))
def _find_largest(
    values: Any, weights: Any, codes: Any, centres: Any, shifts: Any, power: Any, largest: Any
) -> None:
    for at in range(values.size):
        code = np.uint64(codes[at]) if codes.size else np.uint64(0)
        size = abs(_term(values, weights, codes, centres, shifts, power, at, code))
        largest[code] = max(largest[code], size)


@loop(numba.void(*_TERMS, VALUES, numba.int64[:, ::1]))
def _add(
    values: Any, weights: Any, codes: Any, centres: Any, shifts: Any, power: Any, scale: Any,
    sums: Any,
) -> None:  # fmt: skip
    for at in range(values.size):
        code = np.uint64(codes[at]) if codes.size else np.uint64(0)
        part = _term(values, weights, codes, centres, shifts, power, at, code) * scale[code] * BASE
        whole = np.floor(part)
        sums[code, 0] += np.int64(whole)
        sums[code, 1] += np.int64((part - whole) * BASE)


def exact_sums(
    values: FloatArray,
    codes: IntArray | None = None,
    groups: int = 1,
    *,
    weights: FloatArray | None = None,
    centres: FloatArray | None = None,
    shifts: FloatArray | None = None,
    power: int = 1,
) -> FloatArray:
    """Sums per group of weighted distances from a centre, or of their squares (power 2).

    Values are without NaN, codes never -1, and None if all are in one group. The distance is
    value − centre − shift, in this order.

    >>> exact_sums(np.array([1e40, 0.25, 0.5]), np.array([0, 1, 1]), 2).tolist()
    [1e+40, 0.75]
    """
    given = values, _NONE if weights is None else weights, NO_CODES if codes is None else codes
    kept = [np.ascontiguousarray(column) for column in given]
    zeros = np.zeros(groups)
    about = zeros if centres is None else centres, zeros if shifts is None else shifts, power
    parts = slices(values.size)
    largest = filled(
        lambda part, room: _find_largest(*(one[part] for one in kept), *about, room),
        parts, groups, np.float64,
    ).max(axis=0)  # fmt: skip
    shift = powers_above(largest)
    scale = np.ldexp(1.0, -shift)
    large, small = filled(
        lambda part, room: _add(*(one[part] for one in kept), *about, scale, room),
        parts, (groups, 2),
    ).sum(axis=0).T  # fmt: skip
    # Carry first, then round.
    sums: FloatArray = np.ldexp((large + (small >> 32)) * BASE + (small & (2**32 - 1)), shift - 64)
    return sums


def powers_above(largest: FloatArray) -> IntArray:
    """For each size the smallest e such that it is below 2^e; 0 for 0.

    >>> powers_above(np.array([3.0, 8.0, 0.0])).tolist()
    [2, 4, 0]
    """
    power = np.maximum(np.frexp(largest)[1], _LEAST)
    return np.where(largest > 0, power, 0).astype(np.int64)


def exact_sum(values: FloatArray) -> float:
    """The sum of values without NaN, the same in every order.

    >>> exact_sum(np.array([0.1, 0.2, 0.3])) == exact_sum(np.array([0.3, 0.1, 0.2]))
    True
    """
    return float(exact_sums(values)[0])
