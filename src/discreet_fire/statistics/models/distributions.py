"""Tails and quantiles of the distributions that tables of coefficients need, by scipy.

In: test statistics. Out: probabilities.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from scipy import special


def t_two_sided(t: float, df: float) -> float:
    """Probability of a t at least as far from 0.

    >>> round(t_two_sided(2.228138852, 10), 6)
    0.05
    """
    return 2.0 * float(special.stdtr(df, -abs(t)))


def t_tail(t: float, df: float) -> float:
    """Probability of a larger t."""
    return float(special.stdtr(df, -t))


def f_tail(f: float, df1: float, df2: float) -> float:
    """Probability of a larger F.

    >>> round(f_tail(4.964602744, 1, 10), 6)
    0.05
    """
    return float(special.fdtrc(df1, df2, f))


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
    return float(special.chdtrc(df, max(x, 0.0)))


def t_quantile(level: float, df: float) -> float:
    """The t that is exceeded in absolute size with probability 1 − level.

    >>> round(t_quantile(0.95, 10), 6)
    2.228139
    """
    return float(special.stdtrit(df, 0.5 + level / 2.0))


def z_quantile(level: float) -> float:
    """The standard normal that is exceeded in absolute size with probability 1 − level.

    >>> round(z_quantile(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf(0.5 + level / 2.0)
