"""Tails and quantiles of the distributions that tables of coefficients need.

In: test statistics. Out: probabilities. After the continued fractions of the incomplete
beta and gamma functions (Abramowitz and Stegun 1964, 26.5.8 and 6.5.31), evaluated with
Lentz's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

_TINY = 1e-300
_EXACT = 1e-16
_STEPS = 100_000


def _fraction(steps: Iterator[tuple[float, float]]) -> float:
    """Value of a continued fraction from its pairs (numerator, denominator)."""
    _, value = next(steps)
    value = value or _TINY
    above, below = value, 0.0
    for numerator, denominator in steps:
        below = 1.0 / ((denominator + numerator * below) or _TINY)
        above = (denominator + numerator / above) or _TINY
        value *= above * below
        if abs(above * below - 1.0) < _EXACT:
            break
    return value


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b).

    >>> round(incomplete_beta(0.3, 1, 1), 12), incomplete_beta(1.0, 2, 3)
    (0.3, 1.0)
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(1.0 - x, b, a)

    def steps() -> Iterator[tuple[float, float]]:
        yield 0.0, 1.0
        for m in range(_STEPS):
            if m:
                yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0
            yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0

    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x)) / a
    return min(1.0, front / _fraction(steps()))


def t_two_sided(t: float, df: float) -> float:
    """Probability of a t at least as far from 0.

    >>> round(t_two_sided(2.228138852, 10), 6)
    0.05
    """
    if math.isinf(t):
        return 0.0
    return incomplete_beta(df / (df + t * t), df / 2.0, 0.5)


def t_tail(t: float, df: float) -> float:
    """Probability of a larger t."""
    half = t_two_sided(t, df) / 2.0
    return half if t >= 0 else 1.0 - half


def f_tail(f: float, df1: float, df2: float) -> float:
    """Probability of a larger F.

    >>> round(f_tail(4.964602744, 1, 10), 6)
    0.05
    """
    if math.isinf(f):
        return 0.0
    return incomplete_beta(df2 / (df2 + df1 * f), df2 / 2.0, df1 / 2.0)


def normal_two_sided(z: float) -> float:
    """Probability of a standard normal at least as far from 0.

    >>> round(normal_two_sided(1.959963985), 6)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2.0))


def chi2_tail(x: float, df: float) -> float:
    """Probability of a larger chi-squared.

    >>> round(chi2_tail(3.841458821, 1), 6)
    0.05
    """
    if x <= 0.0:
        return 1.0
    a, x = df / 2.0, x / 2.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for n in range(1, _STEPS):
            term *= x / (a + n)
            total += term
            if term < total * _EXACT:
                break
        return 1.0 - front * total

    def steps() -> Iterator[tuple[float, float]]:
        yield 0.0, x + 1.0 - a
        for n in range(1, _STEPS):
            yield n * (a - n), x + 2 * n + 1.0 - a

    return front / _fraction(steps())


def t_quantile(level: float, df: float) -> float:
    """The t that is exceeded in absolute size with probability 1 − level.

    >>> round(t_quantile(0.95, 10), 6)
    2.228139
    """
    low, high = 0.0, 1.0
    while t_two_sided(high, df) > 1.0 - level:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if t_two_sided(middle, df) > 1.0 - level else (low, middle)
    return high


def z_quantile(level: float) -> float:
    """The standard normal that is exceeded in absolute size with probability 1 − level.

    >>> round(z_quantile(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf(0.5 + level / 2.0)
