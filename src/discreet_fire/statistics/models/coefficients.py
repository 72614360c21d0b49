"""Coefficients: their covariances, joint tests, and the rows of their table.

In: a solved model and a covariance matrix around the means, also one that does not trust equal
variances (robust, by clusters). Out: coefficients, standard errors, test statistics,
probabilities, confidence intervals, the same whatever the order of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.models.design import ModelDesign, Sample, Weight
from discreet_fire.statistics.models.distributions import (
    normal_two_sided,
    t_quantile,
    t_two_sided,
    z_quantile,
)
from discreet_fire.statistics.models.least_squares import LeastSquaresSolution

#: A matrix of correlations whose smallest eigenvalue is below this has no inverse.
_SINGULAR = 1e-12


class CoefficientRow(NamedTuple):
    """One coefficient with what is said of it."""

    value: float
    error: float
    statistic: float
    probability: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coefficients:
    """All coefficients of a model, the constant last.

    Degrees of freedom are of t, None for normal; the level of confidence intervals is a share.
    """

    values: FloatArray
    covariance: FloatArray
    df: float | None
    level: float

    @classmethod
    def of(
        cls, solution: LeastSquaresSolution, central: FloatArray, df: float | None, level: float
    ) -> Coefficients:
        """From the covariance of the slopes and, last, of the mean of the outcome (`central`)."""
        if solution.constant is None:
            return cls(values=solution.slopes, covariance=central, df=df, level=level)
        turn = np.eye(len(central))
        turn[-1, :-1] = -solution.means
        covariance = turn @ central @ turn.T
        values = np.append(solution.slopes, solution.constant)
        return cls(values=values, covariance=covariance, df=df, level=level)

    def rows(self, digits: int) -> list[CoefficientRow]:
        """The rows of the table, with so many significant digits."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).tolist()
        factor = z_quantile(self.level) if self.df is None else t_quantile(self.level, self.df)
        rows = []
        for value, error in zip(self.values.tolist(), errors, strict=True):
            known = error if error > 0.0 else math.nan
            statistic = value / known
            if math.isnan(statistic):
                chance = math.nan
            elif self.df is None:
                chance = normal_two_sided(statistic)
            else:
                chance = t_two_sided(statistic, self.df)
            ends = value - factor * error, value + factor * error
            numbers = (rounded(x, digits) for x in (value, known, statistic, chance, *ends))
            rows.append(CoefficientRow(*numbers))
        return rows


def bread(solution: LeastSquaresSolution) -> FloatArray:
    """Inverse of the cross products of the columns around their means, and of the constant."""
    if solution.constant is None:
        return solution.inverse
    size = len(solution.inverse)
    matrix = np.zeros((size + 1, size + 1))
    matrix[:size, :size] = solution.inverse
    matrix[size, size] = 1.0 / solution.weight
    return matrix


def joint_wald(slopes: FloatArray, central: FloatArray) -> float | None:
    """b'V⁻¹b of all slopes together; None if V has no inverse."""
    size = len(slopes)
    errors = np.sqrt(np.maximum(np.diag(central)[:size], 0.0))
    if not np.all(errors > 0.0):
        return None
    alike = central[:size, :size] / np.outer(errors, errors)
    if np.linalg.eigvalsh(alike)[0] < _SINGULAR:
        return None
    return float(slopes / errors @ np.linalg.solve(alike, slopes / errors))


def sandwich(
    sample: Sample,
    design: ModelDesign,
    solution: LeastSquaresSolution,
    scores: FloatArray,
    kind: Weight,
) -> FloatArray:
    """Inverse × cross products of scores × inverse; scores are added within clusters.

    The inverse is that of the weighted cross products, scores are what the columns of each row are
    multiplied by, without weights.
    """
    outer, clusters, weights = bread(solution), sample.clusters, sample.weights
    if weights is not None:
        alone = clusters is None and kind == "fweight"
        scores = scores * (np.sqrt(weights) if alone else weights)
    table = design.block(slice(0, design.size))[:, solution.kept]
    table -= solution.means - design.shifts[solution.kept]
    if solution.constant is not None:
        table = np.column_stack([table, np.ones(len(table))])
    table *= scores[:, None]
    if clusters is not None:
        table = np.column_stack([np.bincount(clusters, column) for column in table.T])
    return outer @ (table.T @ table) @ outer
