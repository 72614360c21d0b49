"""`Coefficients`: what stands in the rows of a table of coefficients, and joint tests.

In: a solved model and a covariance matrix around the means. Out: coefficients, standard errors,
test statistics, probabilities, confidence intervals.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.models.distributions import (
    normal_two_sided,
    t_quantile,
    t_two_sided,
    z_quantile,
)
from discreet.output_checking.safe.models.solving import Solution, product, symmetric_inverse
from discreet.output_checking.safe.numbers import rounded

__all__ = ["Coefficients", "Row", "bread", "joint_wald"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One coefficient with what is said of it."""

    value: float
    error: float
    statistic: float
    probability: float
    low: float
    high: float

    def rounded(self, digits: int) -> Row:
        """All numbers with so many significant digits."""
        numbers = dataclasses.asdict(self).items()
        return Row(**{name: rounded(value, digits) for name, value in numbers})


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coefficients:
    """All coefficients of a model, the constant last.

    Args:
        values: The coefficients.
        covariance: Their covariance matrix.
        df: Degrees of freedom of t; None for normal.
        level: Of confidence intervals, as a share.
    """

    values: FloatArray
    covariance: FloatArray
    df: float | None
    level: float

    @classmethod
    def of(
        cls, solution: Solution, central: FloatArray, df: float | None, level: float
    ) -> Coefficients:
        """From the covariance of the slopes and, last, of the mean of the outcome.

        Args:
            solution: The model.
            central: Covariance around the means of the columns.
            df: Degrees of freedom of t; None for normal.
            level: Of confidence intervals.
        """
        if solution.constant is None:
            return cls(values=solution.slopes, covariance=central, df=df, level=level)
        turn = np.eye(len(central))
        turn[-1, :-1] = -solution.means
        covariance = product(product(turn, central), turn.T)
        values = np.append(solution.slopes, solution.constant)
        return cls(values=values, covariance=covariance, df=df, level=level)

    def rows(self, digits: int) -> list[Row]:
        """The rows of the table, with so many significant digits."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).tolist()
        factor = z_quantile(self.level) if self.df is None else t_quantile(self.level, self.df)
        return [
            self._row(value, error, factor).rounded(digits)
            for value, error in zip(self.values.tolist(), errors, strict=True)
        ]

    def _row(self, value: float, error: float, factor: float) -> Row:
        """One row from a value and its standard error."""
        statistic = value / error if error > 0.0 else math.nan
        if math.isnan(statistic):
            probability = math.nan
        elif self.df is None:
            probability = normal_two_sided(statistic)
        else:
            probability = t_two_sided(statistic, self.df)
        return Row(
            value=value,
            error=error if error > 0.0 else math.nan,
            statistic=statistic,
            probability=probability,
            low=value - factor * error,
            high=value + factor * error,
        )


def bread(solution: Solution) -> FloatArray:
    """Inverse of the cross products of the columns around their means, and of the constant."""
    if solution.constant is None:
        return solution.inverse
    size = len(solution.inverse)
    found = np.zeros((size + 1, size + 1))
    found[:size, :size] = solution.inverse
    found[size, size] = 1.0 / solution.weight
    return found


def joint_wald(slopes: FloatArray, central: FloatArray) -> float | None:
    """b'V⁻¹b of all slopes together; None if V has no inverse."""
    size = len(slopes)
    inverse = symmetric_inverse(central[:size, :size])
    if inverse is None:
        return None
    column = slopes.reshape(-1, 1)
    return float(product(product(column.T, inverse), column)[0, 0])
