"""Compiled loops over weighted records. Loaded for large data only. CONFIDENTIAL.

In: values, weights and groups of records. Out: per group the largest size and the exact sum
of what one of four terms is for each record, without a column of it in memory.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from discreet.output_checking.safe.units import BASE, BLOCK

__all__ = ["AMOUNT", "DEVIATION", "SQUARE", "WEIGHT", "add_terms", "find_largest"]

_WHOLE = types.Array(numba.int64, 1, "C", readonly=True)
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_INTS = numba.int64[::1]
_FLOATS = numba.float64[::1]

#: The terms: weight, size of value times weight, weighted distance from a centre and its square.
WEIGHT, AMOUNT, DEVIATION, SQUARE = 0, 1, 2, 3


@numba.njit(
    numba.float64(numba.int64, numba.float64, numba.float64, numba.float64),
    nogil=True,
    cache=True,
    inline="always",
)
def _term(kind: Any, value: Any, weight: Any, centre: Any) -> Any:
    if kind == WEIGHT:
        return weight
    if kind == AMOUNT:
        return abs(value * weight)
    away = value - centre
    return weight * away if kind == DEVIATION else weight * (away * away)


@numba.njit(
    numba.void(numba.boolean, _VALUES, _VALUES, _WHOLE, _VALUES, _FLOATS), nogil=True, cache=True
)
def find_largest(
    square: Any, values: Any, weights: Any, codes: Any, centres: Any, largest: Any
) -> None:
    """The largest size of a weighted distance, or of its square, per group."""
    if codes.size == 0:
        centre, most = centres[0], largest[0]
        rest = values.size - values.size % BLOCK
        for start in range(0, rest, BLOCK):
            larger = 0
            for lane in range(BLOCK):
                record = np.uint64(start + lane)
                away = values[record] - centre
                larger += abs(weights[record] * (away * away if square else away)) > most
            if larger:
                for lane in range(BLOCK):
                    record = np.uint64(start + lane)
                    away = values[record] - centre
                    most = max(most, abs(weights[record] * (away * away if square else away)))
        for at in range(rest, values.size):
            away = values[at] - centre
            most = max(most, abs(weights[at] * (away * away if square else away)))
        largest[0] = most
        return
    for at in range(values.size):
        code = np.uint64(codes[at])
        away = values[at] - centres[code]
        size = abs(weights[at] * (away * away if square else away))
        largest[code] = max(largest[code], size)


@numba.njit(
    numba.void(numba.int64, _VALUES, _VALUES, _WHOLE, _VALUES, _VALUES, _INTS, _INTS),
    nogil=True,
    cache=True,
)
def add_terms(
    kind: Any,
    values: Any,
    weights: Any,
    codes: Any,
    centres: Any,
    scale: Any,
    large: Any,
    small: Any,
) -> None:
    """Exact sums of a term per group, in two whole numbers each."""
    weighted = weights.size > 0
    if codes.size == 0:
        centre, factor = centres[0], scale[0]
        high, low = np.int64(0), np.int64(0)
        for at in range(values.size):
            part = _term(kind, values[at], weights[at] if weighted else 1.0, centre) * factor * BASE
            whole = np.floor(part)
            high += np.int64(whole)
            low += np.int64((part - whole) * BASE)
        large[0] += high
        small[0] += low
        return
    for at in range(values.size):
        code = np.uint64(codes[at])
        part = (
            _term(kind, values[at], weights[at] if weighted else 1.0, centres[code])
            * scale[code]
            * BASE
        )
        whole = np.floor(part)
        large[code] += np.int64(whole)
        small[code] += np.int64((part - whole) * BASE)
