"""Distributions in expressions: `normal()`, `invttail()`, `chi2tail()` and the like.

In: numbers. Out: probabilities and quantiles; missing where an argument lies outside a
function's domain. Quantiles are found by halving an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.output_checking.running.values import MISSING
from discreet.output_checking.safe.models.distributions import chi2_tail, f_tail, t_tail

__all__ = ["CHANCES"]

_HALVINGS = 2000


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _normal_quantile(chance: float) -> float:
    return NormalDist().inv_cdf(chance) if 0.0 < chance < 1.0 else math.nan


def _density(*values: float) -> float:
    """`normalden(z)`, `normalden(x, s)` and `normalden(x, m, s)`."""
    mean, scale = (values[1], values[2]) if len(values) == 3 else (0.0, (*values, 1.0)[1])
    if scale <= 0:
        return math.nan
    z = (values[0] - mean) / scale
    return math.exp(-z * z / 2.0) / (scale * math.sqrt(2.0 * math.pi))


def _chi2(df: float, x: float) -> float:
    return chi2_tail(x, df) if df > 0 else math.nan


def _t(df: float, t: float) -> float:
    return t_tail(t, df) if df > 0 else math.nan


def _f(first: float, second: float, f: float) -> float:
    if first <= 0 or second <= 0:
        return math.nan
    return f_tail(f, first, second) if f > 0 else 1.0


def _quantile(tail: Callable[[float], float], chance: float, *, signed: bool = False) -> float:
    """The number that is exceeded with a chance."""
    if not 0.0 < chance < 1.0 or math.isnan(tail(1.0)):
        return 0.0 if chance == 1.0 and not signed else math.nan
    low, high = (-1.0 if signed else 0.0), 1.0
    while tail(high) > chance:
        high *= 2.0
    while signed and tail(low) < chance:
        low *= 2.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if tail(middle) > chance else (low, middle)
    return (low + high) / 2.0


def _invttail(df: float, chance: float) -> float:
    if chance == 0.5 and df > 0:
        return 0.0
    return _quantile(lambda t: _t(df, t), chance, signed=True)


def _comb(number: float, chosen: float) -> float:
    if number < 0 or chosen < 0 or number != int(number) or chosen != int(chosen):
        return math.nan
    return float(math.comb(int(number), int(chosen)))


def _lngamma(x: float) -> float:
    return math.lgamma(x) if x > 0 else math.nan


def _binomial(number: float, most: float, chance: float) -> float:
    """The chance of at most so many successes."""
    if number < 0 or not 0.0 <= chance <= 1.0:
        return math.nan
    top = min(int(most), int(number))
    terms = (
        math.comb(int(number), k) * chance**k * (1.0 - chance) ** (int(number) - k)
        for k in range(top + 1)
    )
    return math.fsum(terms)


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    """The function for one number or for arrays."""

    def one(*values: float) -> float:
        try:
            found = function(*map(float, values))
        except (OverflowError, ValueError, ZeroDivisionError):
            return MISSING
        return MISSING if math.isnan(found) else found

    def call(*values: Any) -> Any:
        return np.vectorize(one, otypes=[np.float64])(*values)

    return call


#: Per function: how it is worked out, how many arguments it takes, how many more it may take.
CHANCES: dict[str, tuple[Callable[..., Any], int, int]] = {
    "comb": (_each(_comb), 2, 0),
    "lnfactorial": (_each(lambda n: _lngamma(n + 1.0)), 1, 0),
    "lngamma": (_each(_lngamma), 1, 0),
    "normal": (_each(_normal), 1, 0),
    "invnormal": (_each(_normal_quantile), 1, 0),
    "normalden": (_each(_density), 1, 2),
    "binomial": (_each(_binomial), 3, 0),
    "chi2": (_each(lambda df, x: 1.0 - _chi2(df, x)), 2, 0),
    "chi2tail": (_each(_chi2), 2, 0),
    "invchi2": (_each(lambda df, p: _quantile(lambda x: _chi2(df, x), 1.0 - p)), 2, 0),
    "invchi2tail": (_each(lambda df, p: _quantile(lambda x: _chi2(df, x), p)), 2, 0),
    "t": (_each(lambda df, t: _t(df, -t)), 2, 0),
    "ttail": (_each(_t), 2, 0),
    "invt": (_each(lambda df, p: -_invttail(df, p)), 2, 0),
    "invttail": (_each(_invttail), 2, 0),
    "F": (_each(lambda a, b, f: 1.0 - _f(a, b, f)), 3, 0),
    "Ftail": (_each(_f), 3, 0),
    "invF": (_each(lambda a, b, p: _quantile(lambda f: _f(a, b, f), 1.0 - p)), 3, 0),
    "invFtail": (_each(lambda a, b, p: _quantile(lambda f: _f(a, b, f), p)), 3, 0),
}
