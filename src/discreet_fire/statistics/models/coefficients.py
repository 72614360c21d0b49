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
from scipy import special

from discreet.arrays import FloatArray
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.models.design import ModelDesign, Sample, Weight
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
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        known = np.where(errors > 0.0, errors, math.nan)
        away, share = -np.abs(self.values / known), 0.5 + self.level / 2.0
        if self.df is None:
            chance, factor = 2.0 * special.ndtr(away), float(special.ndtri(share))
        else:
            chance = 2.0 * special.stdtr(self.df, away)
            factor = float(special.stdtrit(self.df, share))
        ends = self.values - factor * errors, self.values + factor * errors
        table = np.column_stack([self.values, known, self.values / known, chance, *ends])
        return [CoefficientRow(*(rounded(x, digits) for x in row)) for row in table.tolist()]


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
