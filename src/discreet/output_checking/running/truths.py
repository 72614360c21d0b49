"""True statistics for a program's own use: `r(mean)`, `r(max)` … CONFIDENTIAL.

In: values and weights. Out: stored results by their names. They may steer a program; what
shows those that the rules withhold is stopped.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.output_checking.running.statistics import percentile
from discreet.output_checking.running.values import MISSING, Floats

__all__ = ["summary"]

_SHARES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def summary(
    values: Floats, weights: Floats | None, *, frequency: bool, detail: bool
) -> dict[str, float]:
    """What `summarize` stores.

    Args:
        values: The values; missing ones are left out.
        weights: Weights, or None.
        frequency: Whether weights say how often an observation is there.
        detail: Whether percentiles and higher moments are stored too.

    >>> summary(np.array([1.0, 3.0]), None, frequency=False, detail=False)["sd"]
    1.4142135623730951
    """
    known = values < MISSING
    x = values[known]
    w = np.ones(len(x)) if weights is None else weights[known]
    weight = float(w.sum())
    n = weight if frequency else float(len(x))
    found = {"N": n, "sum_w": weight, "sum": float((w * x).sum())}
    if not len(x):
        return found
    mean = found["sum"] / weight
    squares = float((w * (x - mean) ** 2).sum()) * n / weight
    variance = squares / (n - 1) if n > 1 else MISSING
    found |= {"mean": mean, "Var": variance, "min": float(x.min()), "max": float(x.max())}
    found["sd"] = math.sqrt(variance) if n > 1 else MISSING
    if detail:
        order = np.argsort(x, kind="stable")
        given = None if weights is None else w[order]
        for percent in _SHARES:
            found[f"p{percent}"] = percentile(x[order], percent / 100, given)
        second = float((w * (x - mean) ** 2).sum()) / weight
        if second > 0:
            third = float((w * (x - mean) ** 3).sum()) / weight
            fourth = float((w * (x - mean) ** 4).sum()) / weight
            found |= {"skewness": third / second**1.5, "kurtosis": fourth / second**2}
    return found
