"""Weighted least squares by the linear algebra of numpy.

Columns and outcome are taken around their weighted means and in units of their own length, so that
numbers far from 0 lose no digits; columns that follow from earlier ones are omitted, as Stata does.
In: the design, an outcome, weights. Out: `LeastSquaresSolution` with coefficients, sums of squares
and the inverse of the cross products. CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.models.design import ModelDesign

#: A column of which less than this share is new is omitted.
_NEW = 1e-12
#: Solutions are corrected by what they leave, so that the normal equations cost no digits.
_REFINEMENTS = 3
#: A slope that moves the outcome by less than this share of it is rounding alone.
_NOUGHT = 1e-14


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LeastSquaresSolution:
    """Solution of least squares. CONFIDENTIAL.

    Places of the columns that are kept are among the estimated ones. Means are weighted, shifts
    included, and 0 without a constant, which is None then. The inverse is that of the cross
    products of the kept columns around their means, root a factor F with F F' = inverse; weight is
    the sum of weights, total and residual are sums of squares, total around the mean if there is
    one.
    """

    kept: IntArray
    slopes: FloatArray
    constant: float | None
    means: FloatArray
    mean: float
    inverse: FloatArray
    root: FloatArray
    weight: float
    total: float
    residual: float

    @property
    def rank(self) -> int:
        """Number of coefficients, the constant among them."""
        return len(self.kept) + (self.constant is not None)

    def predicted(self, design: ModelDesign) -> FloatArray:
        """Fitted values. CONFIDENTIAL."""
        centred = design.block(slice(0, design.size))[:, self.kept]
        centred -= self.means - design.shifts[self.kept]
        return self.mean + centred @ self.slopes

    def residuals(self, design: ModelDesign, outcome: FloatArray) -> FloatArray:
        """Residuals of the outcome. CONFIDENTIAL."""
        return outcome - self.predicted(design)


def solve(
    design: ModelDesign, outcome: FloatArray, weights: FloatArray | None
) -> LeastSquaresSolution:
    """Regress the outcome on the columns."""
    design.check_sizes()
    columns = design.block(slice(0, design.size))
    known = np.ones(design.size) if weights is None else weights
    weight, means, mean = 0.0, np.zeros(columns.shape[1]), 0.0
    if design.constant:
        weight = float(known.sum())
        # The mean of the distances from a first mean: numbers far from 0 lose no digits.
        first, start = known @ columns / weight, float(known @ outcome) / weight
        columns -= first
        more = known @ columns / weight
        columns -= more
        means, mean = first + more, start + float(known @ (outcome - start)) / weight
    centred = outcome - mean
    if weights is not None:
        roots = np.sqrt(weights)
        columns *= roots[:, None]
        centred *= roots
    lengths = np.linalg.norm(columns, axis=0)
    lengths[lengths == 0.0] = 1.0
    columns /= lengths
    products = columns.T @ columns
    kept = _new_columns(products)
    if len(kept) < columns.shape[1]:
        columns, products, lengths = columns[:, kept], products[np.ix_(kept, kept)], lengths[kept]
    root = np.linalg.inv(np.linalg.cholesky(products)).T
    slopes, rest = np.zeros(len(kept)), centred
    for _ in range(_REFINEMENTS):
        slopes = slopes + root @ (root.T @ (columns.T @ rest))
        rest = centred - columns @ slopes
    slopes[np.abs(slopes) < _NOUGHT * np.linalg.norm(centred)] = 0.0
    slopes, root = slopes / lengths, root / lengths[:, None]
    means = means[kept] + design.shifts[kept] if design.constant else np.zeros(len(kept))
    return LeastSquaresSolution(
        kept=kept,
        slopes=slopes,
        constant=mean - float(means @ slopes) if design.constant else None,
        means=means,
        mean=mean,
        inverse=root @ root.T,
        root=root,
        weight=weight,
        total=float(centred @ centred),
        residual=float(rest @ rest),
    )


def _new_columns(products: FloatArray) -> IntArray:
    """The places of columns that do not follow from those before them, by their cross products."""
    work, kept = products.copy(), []
    for at in range(len(work)):
        if work[at, at] >= _NEW:
            kept.append(at)
            column = work[at:, at] / np.sqrt(work[at, at])
            work[at:, at:] -= np.outer(column, column)
    return np.array(kept, dtype=np.int64)
