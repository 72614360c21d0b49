"""Log-likelihoods of logit and probit with their derivatives, row by row.

In: the linear predictor and outcomes 0 or 1. Out: contributions to the log-likelihood, its
first derivative and the negative of the second one, none of which depends on other rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LINKS", "Link", "Slope"]

FloatArray = npt.NDArray[np.float64]

#: Below this, the normal distribution function is taken from its asymptotic series.
_FAR = -25.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Slope:
    """Log-likelihood of each row, its first derivative and minus its second. CONFIDENTIAL."""

    log: FloatArray
    first: FloatArray
    second: FloatArray


@dataclass(frozen=True, kw_only=True)
class Link:
    """A model of two outcomes.

    Args:
        title: Its name above tables.
        slope: Gives the derivatives.
    """

    title: str
    slope: Callable[[FloatArray, FloatArray], Slope]


def _logit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    sign = 2.0 * outcome - 1.0
    small = np.exp(-np.abs(predictor))
    share = np.where(predictor >= 0.0, 1.0, small) / (1.0 + small)
    log = np.minimum(sign * predictor, 0.0) - np.log1p(small)
    return Slope(log=log, first=outcome - share, second=small / (1.0 + small) ** 2)


def _probit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    sign = 2.0 * outcome - 1.0
    z = sign * predictor
    far = z < _FAR
    near = np.where(far, 0.0, z)
    half = np.fromiter(map(math.erfc, (-near / math.sqrt(2.0)).tolist()), np.float64, len(z)) / 2.0
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    log, ratio = np.log(half), density / half
    if far.any():
        square = 1.0 / (z[far] * z[far])
        series = 1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square * (1.0 - 7.0 * square)))
        log[far] = -0.5 / square - np.log(-z[far] / series) - 0.5 * math.log(2.0 * math.pi)
        ratio[far] = -z[far] / series
    return Slope(log=log, first=sign * ratio, second=ratio * (ratio + z))


LINKS = {
    "logit": Link(title="Logistic regression", slope=_logit),
    "probit": Link(title="Probit regression", slope=_probit),
}
