"""Maximum likelihood of logit and probit by Newton steps, each an exact least squares problem.

In: design, outcomes 0 or 1, weights. Out: the fitted model, or None where the outcome is
separated by the variables and no maximum exists.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.models.design import Design
from discreet.output_checking.safe.models.links import Link
from discreet.output_checking.safe.models.solving import Solution, solve
from discreet.output_checking.safe.sums import ends_of, exact_sum

__all__ = ["Likely", "constant_only", "maximise"]

FloatArray = npt.NDArray[np.float64]

_STEPS = 60
_HALVINGS = 30
#: Where the log-likelihood can rise by no more than this share of it, one step is left.
_LEFT = 1e-12
#: Rows with less curvature than this share of the largest count as having that much.
_FLAT = 1e-20
#: A step that moves predictors so far although it gains nothing leads to infinity.
_MOVING = 0.02


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Likely:
    """A fitted model. CONFIDENTIAL.

    Args:
        solution: Coefficients, and the inverse of the information around weighted means.
        curvature: The weights of the last step.
        scores: First derivative of the log-likelihood of each row, not weighted.
        log: The log-likelihood.
    """

    solution: Solution
    curvature: FloatArray
    scores: FloatArray
    log: float


def _sum(values: FloatArray, weights: FloatArray | None) -> float:
    """A sum that is the same whatever the order."""
    terms = values if weights is None else values * weights
    return exact_sum(terms) if math.isfinite(sum(ends_of(terms))) else math.fsum(terms)


def constant_only(outcome: FloatArray, weights: FloatArray | None) -> float:
    """The log-likelihood of a model with a constant alone."""
    ones = _sum(outcome, weights)
    total = float(len(outcome)) if weights is None else exact_sum(weights)
    return sum(n * math.log(n / total) for n in (ones, total - ones) if n > 0.0)


def maximise(
    design: Design, outcome: FloatArray, weights: FloatArray | None, link: Link
) -> Likely | None:
    """Fit the model.

    Args:
        design: The columns.
        outcome: 0 or 1.
        weights: Weights, or None.
        link: Logit or probit.
    """
    predictor = np.zeros(design.size)
    slopes: FloatArray | None = None
    constant, last = 0.0, False
    slope = link.slope(predictor, outcome)
    log = _sum(slope.log, weights)
    for _ in range(_STEPS):
        curvature = np.maximum(slope.second, _FLAT * float(slope.second.max()))
        weighted = curvature if weights is None else curvature * weights
        # Weighted least squares of this outcome is a Newton step.
        step = solve(design, slope.first / curvature, weighted, center=False, slices=2)
        slopes = np.zeros(len(step.kept)) if slopes is None else slopes
        if len(slopes) != len(step.kept):
            return None
        rise = step.total - step.residual + step.weight * step.mean**2
        way = step.predicted(design)
        if last:
            own = constant if step.constant is not None else None
            found = dataclasses.replace(step, slopes=slopes, constant=own)
            return Likely(solution=found, curvature=weighted, scores=slope.first, log=log)
        last = rise <= _LEFT * (abs(log) + 1.0)
        if last and float(np.abs(way).max()) > _MOVING:
            return None
        share = 1.0
        for _ in range(_HALVINGS):
            tried = link.slope(predictor + share * way, outcome)
            height = _sum(tried.log, weights)
            if height >= log - 1e-9 * abs(log):
                break
            share /= 2.0
        predictor, slope, log = predictor + share * way, tried, height
        slopes = slopes + share * step.slopes
        constant += share * (step.constant or 0.0)
    return None
