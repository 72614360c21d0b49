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
from discreet_fire.statistics.models.design import ModelDesign
from discreet_fire.statistics.models.distributions import (
    normal_two_sided,
    t_quantile,
    t_two_sided,
    z_quantile,
)
from discreet_fire.statistics.models.least_squares import (
    LeastSquaresSolution,
    exact_gram,
    powers_of,
    product,
    symmetric_inverse,
)
from discreet_fire.statistics.models.sample import Sample, Weight
from discreet_fire.statistics.parallel import in_parts
from discreet_fire.statistics.sums import exact_sums


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
        covariance = product(product(turn, central), turn.T)
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
    inverse = symmetric_inverse(central[:size, :size])
    if inverse is None:
        return None
    column = slopes.reshape(-1, 1)
    return float(product(product(column.T, inverse), column)[0, 0])


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
    rows, width = design.size, len(outer)

    def column(place: int) -> FloatArray:
        if place == len(solution.kept):
            return scores
        values = design.estimated[solution.kept[place]].values(slice(0, rows))
        scaled: FloatArray = (values - solution.means[place]) * scores
        return scaled

    if clusters is None:
        table = np.empty((rows, width), order="F")

        def fill(place: int) -> None:
            table[:, place] = column(place)

        in_parts(fill, range(width))
    else:
        number = int(clusters.max()) + 1

        def added(place: int) -> FloatArray:
            return exact_sums(column(place), clusters, number)

        table = np.column_stack(in_parts(added, range(width)))
    largest = np.array(in_parts(_largest, table.T))
    largest[largest == 0.0] = 1.0
    scale = powers_of(largest, np.zeros(width, dtype=bool), slices=2)
    middle = exact_gram(lambda a, b: table[a:b], len(table), scale).floats()
    return product(product(outer, middle), outer)


def _largest(values: FloatArray) -> float:
    return max(-float(values.min()), float(values.max()))
