"""The compiled loops of the kernels. Loaded for large data only."""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from discreet.compiled import compiled
from discreet.tabulation.measures import COARSE, FINE, MIDDLE

_INT = numba.int64
_SUMS = numba.int64[::1]
_KEYS = types.Array(numba.int64, 1, "C", readonly=True)
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_ADD_CODES = [
    numba.void(types.Array(kind, 1, "C", readonly=True), _INT, _SUMS)
    for kind in (numba.uint8, numba.uint16, numba.uint32)
]


@compiled(_ADD_CODES, nogil=True)
def add_codes(codes: Any, stride: Any, numbers: Any) -> None:
    """Add one axis to the cell numbers."""
    for at in range(codes.size):
        numbers[at] += codes[at] * stride


@compiled(numba.void(_SUMS, _SUMS), nogil=True)
def count(numbers: Any, counts: Any) -> None:
    """Count records."""
    for cell in numbers:
        counts[cell] += 1


@compiled(numba.void(_SUMS, _KEYS, _INT, _SUMS), nogil=True)
def count_keys(numbers: Any, keys: Any, modulus: Any, pairs: Any) -> None:
    """Count records and add their keys; one subtraction keeps each sum on the grid.

    The count of a cell and its sum lie side by side: both come from memory at once.
    """
    for at in range(numbers.size):
        cell = numba.uint64(numbers[at]) << numba.uint64(1)  # one that cannot be negative
        pairs[cell] += 1
        total = pairs[cell + numba.uint64(1)] + keys[at] - modulus
        pairs[cell + numba.uint64(1)] = total + (modulus & (total >> 63))  # without a branch


@compiled(numba.void(_SUMS, _VALUES, _SUMS, _SUMS, _SUMS), nogil=True)
def add_limbs(numbers: Any, values: Any, coarse: Any, middle: Any, fine: Any) -> None:
    """Add values, cut into limbs."""
    for at in range(numbers.size):
        cell = numbers[at]
        value = values[at]
        first = int(value / COARSE)
        rest = (value - first * COARSE) * MIDDLE
        second = int(rest)
        coarse[cell] += first
        middle[cell] += second
        fine[cell] += int((rest - second) * FINE)
