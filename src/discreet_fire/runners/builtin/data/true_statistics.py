"""True statistics of groups, for `collapse` and for a program's own use. CONFIDENTIAL.

In: the known values of one group and their weights. Out: a number, missing where there are too
few values, or stored results such as `r(mean)` by their names. What weights mean follows Stata:
frequency weights are counts, analytic ones are scaled to add up to the number of cases. True
results may steer a program; what shows those that the rules withhold is stopped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet_fire.runners.builtin.language.values import MISSING

#: A statistic: of values, weights (or None) and the kind of weights.
Statistic = Callable[[FloatArray, FloatArray | None, str], float]


def percentile(values: FloatArray, share: float, weights: FloatArray | None = None) -> float:
    """A percentile as Stata has it: the mean of two neighbours where the place is whole.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    if not len(values):
        return MISSING
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if weights is None:
        place = round(len(ordered) * share, 9)
        whole = int(place)
        if place == whole:
            low, high = ordered[max(whole - 1, 0)], ordered[min(whole, len(ordered) - 1)]
            return float((low + high) / 2)
        return float(ordered[min(whole, len(ordered) - 1)])
    total = np.cumsum(weights[order])
    place = total[-1] * share
    at = int(np.searchsorted(total, place, side="right"))
    at = min(at, len(ordered) - 1)
    if at and np.isclose(total[at - 1], place, rtol=1e-12, atol=0):
        return float((ordered[at - 1] + ordered[at]) / 2)
    return float(ordered[at])


def _count(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    if weights is None or kind in ("aweight", "pweight"):
        return float(len(values)) if kind != "pweight" else float(weights.sum())  # type: ignore[union-attr]
    return float(weights.sum())


def _mean(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    if not len(values):
        return MISSING
    if weights is None:
        return float(values.sum() / len(values))
    total = weights.sum()
    return float((weights * values).sum() / total) if total else MISSING


def _sum(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    if weights is None or not len(values):
        return float(values.sum())
    scale = len(values) / weights.sum() if kind == "aweight" else 1.0
    return float((weights * values).sum() * scale)


def _deviation(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    number = _count(values, weights, "aweight" if kind == "pweight" else kind)
    if number <= 1:
        return MISSING
    mean = _mean(values, weights, kind)
    squares = (values - mean) ** 2
    if weights is None:
        return float(np.sqrt(squares.sum() / (number - 1)))
    scale = len(values) / weights.sum() if kind == "aweight" else 1.0
    return float(np.sqrt((weights * squares).sum() * scale / (number - 1)))


def _error(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    deviation = _deviation(values, weights, kind)
    return MISSING if deviation >= MISSING else deviation / _count(values, weights, kind) ** 0.5


def _binomial_error(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    number, mean = _count(values, weights, kind), _mean(values, weights, kind)
    if not number or not 0.0 <= mean <= 1.0:
        return MISSING
    return float((mean * (1.0 - mean) / number) ** 0.5)


def _poisson_error(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
    number, mean = _count(values, weights, kind), _mean(values, weights, kind)
    return float((mean / number) ** 0.5) if number and mean >= 0 else MISSING


def _extreme(choose: Callable[[Any], Any]) -> Statistic:
    def work(values: FloatArray, weights: FloatArray | None, kind: str) -> float:
        return float(choose(values)) if len(values) else MISSING

    return work


def _share(share: float) -> Statistic:
    return lambda values, weights, kind: percentile(values, share, weights)


STATISTICS: dict[str, Statistic] = {
    "mean": _mean,
    "median": _share(0.5),
    "sd": _deviation,
    "semean": _error,
    "sebinomial": _binomial_error,
    "sepoisson": _poisson_error,
    "sum": _sum,
    "rawsum": lambda values, weights, kind: float(values.sum()),
    "count": _count,
    "max": _extreme(np.max),
    "min": _extreme(np.min),
    "iqr": lambda x, weights, kind: (
        percentile(x, 0.75, weights) - percentile(x, 0.25, weights) if len(x) else MISSING
    ),
    "firstnm": _extreme(lambda values: values[0]),
    "lastnm": _extreme(lambda values: values[-1]),
}


def statistic_of(name: str) -> Statistic | None:
    """The statistic of a name, also `p1` to `p99`; None if there is none."""
    match = re.fullmatch(r"p([1-9]\d?)", name)
    return _share(int(match[1]) / 100) if match else STATISTICS.get(name)


_SHARES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def true_summary(
    values: FloatArray, weights: FloatArray | None, *, frequency: bool, detail: bool
) -> dict[str, float]:
    """What `summarize` stores, with detail percentiles and higher moments too.

    Missing values are left out. Frequency weights say how often an observation is there.

    >>> true_summary(np.array([1.0, 3.0]), None, frequency=False, detail=False)["sd"]
    1.4142135623730951
    """
    known = values < MISSING
    x = values[known]
    w = np.ones(len(x)) if weights is None else weights[known]
    weight = float(w.sum())
    n = weight if frequency else float(len(x))
    statistics = {"N": n, "sum_w": weight, "sum": float((w * x).sum())}
    if not len(x):
        return statistics
    mean = statistics["sum"] / weight
    squares = float((w * (x - mean) ** 2).sum()) * n / weight
    variance = squares / (n - 1) if n > 1 else MISSING
    statistics |= {"mean": mean, "Var": variance, "min": float(x.min()), "max": float(x.max())}
    statistics["sd"] = math.sqrt(variance) if n > 1 else MISSING
    if detail:
        order = np.argsort(x, kind="stable")
        sorted_weights = None if weights is None else w[order]
        for percent in _SHARES:
            statistics[f"p{percent}"] = percentile(x[order], percent / 100, sorted_weights)
        second = float((w * (x - mean) ** 2).sum()) / weight
        if second > 0:
            third = float((w * (x - mean) ** 3).sum()) / weight
            fourth = float((w * (x - mean) ** 4).sum()) / weight
            statistics |= {"skewness": third / second**1.5, "kurtosis": fourth / second**2}
    return statistics
