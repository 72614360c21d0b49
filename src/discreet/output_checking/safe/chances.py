"""Chances beyond a value of a test, in closed form.

In: a chi-squared statistic and whole degrees of freedom. Out: how likely a larger one is.
"""

from __future__ import annotations

import math

__all__ = ["chi_squared_tail"]


def chi_squared_tail(value: float, freedom: int) -> float:
    """The chance of a larger chi-squared.

    >>> round(chi_squared_tail(3.841459, 1), 4), round(chi_squared_tail(5.991465, 2), 4)
    (0.05, 0.05)
    """
    if value <= 0:
        return 1.0
    half = value / 2
    if freedom % 2:
        total, term = math.erfc(math.sqrt(half)), math.sqrt(half / math.pi) * 2 * math.exp(-half)
        first = 3
    else:
        total, term = math.exp(-half), half * math.exp(-half)
        first = 4
    for degrees in range(first, freedom + 1, 2):
        total += term
        term *= value / degrees
    return min(total, 1.0)
