"""The compiled loop that sketches large sets of units. Loaded for large sets only."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from discreet.compiled import compiled

_UNITS = types.Array(numba.uint64, 1, "C", readonly=True)
_SUMS = numba.uint64[:, ::1]

#: Units whose powers are worked out side by side.
_BLOCK = 32
_31 = np.uint64(31)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FIRST_PRIME = np.uint64(2**31 - 1)
#: The second prime is so much less than 2^31.
_LESS = np.uint64(19)
_SECOND_PRIME = np.uint64(2**31 - 19)
_ONE = np.uint64(1)


@compiled(numba.void(_UNITS, _SUMS), nogil=True)
def add_power_sums(units: Any, sums: Any) -> None:
    """Add the power sums of units, for both primes; sums stay below them.

    Remainders are left a little too large until the end, so that no division is needed.
    """
    first, second = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    one, two = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    powers = sums.shape[1]
    for start in range(0, units.size, _BLOCK):
        many = min(_BLOCK, units.size - start)
        for at in range(_BLOCK):
            # A block that is not full goes on with members of which all powers but one are 0.
            there = np.uint64(at < many)
            unit = units[start + min(at, many - 1)]
            first[at] = ((unit & _LOW) % (_FIRST_PRIME - _ONE) + _ONE) * there
            second[at] = ((unit >> _32) % (_SECOND_PRIME - _ONE) + _ONE) * there
            one[at] = two[at] = there
        for power in range(powers):
            total, other = np.uint64(0), np.uint64(0)
            for at in range(_BLOCK):
                total += one[at]
                other += two[at]
                product = (one[at] & _LOW) * (first[at] & _LOW)
                product = (product & _FIRST_PRIME) + (product >> _31)
                one[at] = (product & _FIRST_PRIME) + (product >> _31)
                product = (two[at] & _LOW) * (second[at] & _LOW)
                product = (product & _FIRST_PRIME) + (product >> _31) * _LESS
                two[at] = (product & _FIRST_PRIME) + (product >> _31) * _LESS
            sums[0, power] += total
            sums[1, power] += other
    for power in range(powers):
        sums[0, power] %= _FIRST_PRIME
        sums[1, power] %= _SECOND_PRIME
