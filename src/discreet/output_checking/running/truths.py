"""True statistics for a program's own use: `r(mean)`, `r(max)` … CONFIDENTIAL.

In: values and weights. Out: stored results by their names. They may steer a program; what
shows those that the rules withhold is stopped.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.output_checking.running.values import MISSING, Floats

__all__ = ["percentile", "summary"]

_SHARES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def percentile(ordered: Floats, weights: Floats, percent: float) -> float:
    """A percentile of sorted values; the mean of two where the weight below is whole.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 50)
    2.5
    """
    reached = np.cumsum(weights)
    wanted = float(reached[-1]) * percent / 100
    at = int(np.searchsorted(reached, wanted * (1 - 1e-12), side="left"))
    at = min(at, len(ordered) - 1)
    if at + 1 < len(ordered) and math.isclose(float(reached[at]), wanted, rel_tol=1e-12):
        return float((ordered[at] + ordered[at + 1]) / 2)
    return float(ordered[at])


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
        for percent in _SHARES:
            found[f"p{percent}"] = percentile(x[order], w[order], percent)
        second = float((w * (x - mean) ** 2).sum()) / weight
        if second > 0:
            third = float((w * (x - mean) ** 3).sum()) / weight
            fourth = float((w * (x - mean) ** 4).sum()) / weight
            found |= {"skewness": third / second**1.5, "kurtosis": fourth / second**2}
    return found
