"""Rounding of key figures: halves go away from zero, as in print. Public.

In: figures as computed. Out: figures with so many decimals. The digits of a number are
those it is written with: 2.675 has a half at two decimals, although the nearest
binary number lies a little below it.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import numpy.typing as npt

__all__ = ["rounded"]

FloatArray = npt.NDArray[np.float64]

_NEAR = 1e-6
_LAST_BITS = 2.0**-51
#: Numbers from here on have no digits after the point.
_WHOLE = 2.0**52


def rounded(value: FloatArray, decimals: int) -> FloatArray:
    """Figures with so many decimals; halves go away from zero.

    >>> rounded(np.array([2.675, -0.5, 12.25]), 1).tolist()
    [2.7, -0.5, 12.3]
    """
    scale = 10.0**decimals
    size = np.abs(value) * scale
    result = np.floor(size + 0.5) / scale
    exact = size >= _WHOLE
    result[exact] = np.abs(value[exact])
    # Where the next digits are near a half, the number as it is written decides.
    near = _NEAR + size * _LAST_BITS
    halves = np.flatnonzero((np.abs(size - np.floor(size) - 0.5) < near) & ~exact)
    if halves.size:
        found, where = np.unique(np.abs(value[halves]), return_inverse=True)
        digit = Decimal(1).scaleb(-decimals)
        written = [
            float(Decimal(repr(number)).quantize(digit, rounding=ROUND_HALF_UP))
            for number in found.tolist()
        ]
        result[halves] = np.array(written, dtype=np.float64)[where]
    return np.asarray(np.copysign(result, value) + 0.0, dtype=np.float64)
