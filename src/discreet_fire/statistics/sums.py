"""Sums that are the same to the last bit whatever the order of the records. CONFIDENTIAL.

Values are scaled by a power of two to at most 1 in size, and cut into slices of 26 bits, which
are added as whole numbers: no addition rounds, and no order can change the result. What is cut off
is below 2^-78 of the largest value of the group per record.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray

_BITS, _SLICES = 26, 3
#: 2 to this power is the smallest scale: its inverse is a number too.
_LEAST = -1021


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
    inside: IntArray | int = 0 if codes is None else codes
    away = values
    for about in (centres, shifts):
        away = away if about is None else away - about[inside]
    away = away * away if power == 2 else away
    away = away if weights is None else away * weights
    largest = largest_of(np.abs(away), codes, groups)
    shift = np.where(largest > 0, np.maximum(np.frexp(largest)[1], _LEAST), 0).astype(np.int64)
    rest = away * np.ldexp(1.0, -shift)[inside]
    total = np.zeros(groups, dtype=np.longdouble)
    for number in range(1, _SLICES + 1):
        rest = rest * 2.0**_BITS
        whole = np.rint(rest)
        rest = rest - whole
        part = whole.sum(keepdims=True) if codes is None else np.bincount(codes, whole, groups)
        total += part.astype(np.longdouble) * 2.0 ** (-_BITS * number)
    return np.asarray(np.ldexp(total, shift), dtype=np.float64)


def exact_sum(values: FloatArray) -> float:
    """The sum of values without NaN, the same in every order.

    >>> exact_sum(np.array([0.1, 0.2, 0.3])) == exact_sum(np.array([0.3, 0.1, 0.2]))
    True
    """
    return float(exact_sums(values)[0])


def largest_of(sizes: FloatArray, codes: IntArray | None, groups: int) -> FloatArray:
    """The largest of some sizes in each group; 0 if there is none."""
    if codes is None:
        return np.array([sizes.max(initial=0.0)])
    largest = np.zeros(groups)
    np.maximum.at(largest, codes, sizes)
    return largest
