"""Weighted least squares and maximum likelihood, and the rows of a table of coefficients.

Columns and outcome are taken around their weighted means and in units of their own length, so that
numbers far from 0 lose no digits; columns that follow from earlier ones are omitted, as Stata does.
Maximum likelihood goes by Newton steps, each a least squares problem. Where the outcome is
separated by the variables, no maximum exists. In: the design, an outcome, weights. Out:
`LeastSquaresSolution` with coefficients, sums of squares and the inverse of the cross products;
`Coefficients` with covariances, also those that do not trust equal variances (robust, by clusters),
joint tests, probabilities, confidence intervals, the same whatever the order of the rows.
CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.layout import rounded
from discreet_fire.statistics.models.design import FARTHEST, ModelDesign, Rows, Sample, Weight

#: A column of which less than this share is new is omitted.
_NEW = 1e-12
#: Solutions are corrected by what they leave, so that the normal equations cost no digits.
_REFINEMENTS = 3
#: A slope that moves the outcome by less than this share of it is rounding alone.
_NOUGHT = 1e-14
#: A matrix of correlations whose smallest eigenvalue is below this has no inverse.
_SINGULAR = 1e-12


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

    def centred(self, design: ModelDesign, rows: Rows | None = None) -> FloatArray:
        """The kept columns around their means. CONFIDENTIAL."""
        block = design.block(slice(0, design.size) if rows is None else rows)
        block = block if len(self.kept) == block.shape[1] else block[:, self.kept]
        block -= self.means - design.shifts[self.kept]
        return block

    def predicted(self, design: ModelDesign) -> FloatArray:
        """Fitted values. CONFIDENTIAL."""
        return self.mean + self.centred(design) @ self.slopes


def solve(
    design: ModelDesign, outcome: FloatArray, weights: FloatArray | None
) -> LeastSquaresSolution:
    """Regress the outcome on the columns."""
    columns = design.block(slice(0, design.size))
    for place, column in enumerate(design.estimated):
        largest = float(np.abs(columns[:, place]).max()) or 1.0
        if column.numbers and not 1.0 / FARTHEST <= largest <= FARTHEST:
            message = "the values are too large or too small to be squared"
            hint, where = "measure them in another unit", column.label
            raise OutputCheckError(message, code="column-values", where=where, hint=hint)
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
    # The places of columns that do not follow from those before them.
    work, new = products.copy(), []
    for at in range(len(work)):
        if work[at, at] >= _NEW:
            new.append(at)
            own = work[at:, at] / np.sqrt(work[at, at])
            work[at:, at:] -= np.outer(own, own)
    kept = np.array(new, dtype=np.int64)
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
    """All coefficients of a model, the constant last; and the joint test of its slopes, None if it
    has none.

    Degrees of freedom are of t, None for normal.
    """

    values: FloatArray
    covariance: FloatArray
    wald: float | None
    clusters: int | None
    df: float | None

    @classmethod
    def of(
        cls,
        solution: LeastSquaresSolution,
        design: ModelDesign,
        sample: Sample,
        scores: FloatArray,
        *,
        kind: Weight,
        variance: float | None,
        n: float,
        df: float,
        normal: bool = False,
    ) -> Coefficients:
        """From a solved model, for so many observations and residual degrees of freedom.

        All residuals have one variance; if that is None, scores are what the columns of each row
        are multiplied by, without weights, and are added within clusters.
        """
        # The inverse of cross products around the means, and of the constant.
        central, weights = solution.inverse, sample.weights
        if solution.constant is not None:
            central = np.pad(central, (0, 1))
            central[-1, -1] = 1.0 / solution.weight
        clusters = None if sample.clusters is None else int(sample.clusters.max()) + 1
        if variance is not None:
            central = central * variance
        else:
            if weights is not None:
                alone = clusters is None and kind == "fweight"
                scores = scores * (np.sqrt(weights) if alone else weights)
            table = solution.centred(design)
            if solution.constant is not None:
                table = np.column_stack([table, np.ones(len(table))])
            table *= scores[:, None]
            if sample.clusters is not None:
                table = np.column_stack([np.bincount(sample.clusters, one) for one in table.T])
            central = central @ (table.T @ table) @ central
            central *= n / df if clusters is None else clusters / (clusters - 1) * (n - 1.0) / df
        wald, many = None, len(solution.slopes)
        if many and (clusters is None or many < clusters):
            wald = joint_wald(solution.slopes, central)
        values = solution.slopes
        if solution.constant is not None:
            # From the mean of the outcome to the constant.
            turn = np.eye(len(central))
            turn[-1, :-1] = -solution.means
            central, values = turn @ central @ turn.T, np.append(values, solution.constant)
        own = df if clusters is None else clusters - 1.0
        return cls(
            values=values,
            covariance=central,
            wald=wald,
            clusters=clusters,
            df=None if normal else own,
        )

    def rows(self, digits: int, level: float) -> list[CoefficientRow]:
        """The rows of the table, with so many significant digits, for a level in percent."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        known = np.where(errors > 0.0, errors, math.nan)
        away, share = -np.abs(self.values / known), 0.5 + level / 100.0 / 2.0
        if self.df is None:
            chance, factor = 2.0 * special.ndtr(away), float(special.ndtri(share))
        else:
            chance = 2.0 * special.stdtr(self.df, away)
            factor = float(special.stdtrit(self.df, share))
        ends = self.values - factor * errors, self.values + factor * errors
        table = np.column_stack([self.values, known, self.values / known, chance, *ends])
        return [CoefficientRow(*(rounded(x, digits) for x in row)) for row in table.tolist()]


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


class Slope(NamedTuple):
    """Log-likelihood of each row, its first derivative and minus its second. CONFIDENTIAL."""

    log: FloatArray
    first: FloatArray
    second: FloatArray


def _logit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    share, rest = special.expit(predictor), special.expit(-predictor)
    log = special.log_expit(np.where(outcome > 0.0, predictor, -predictor))
    return Slope(log=log, first=outcome - share, second=share * rest)


def _probit(predictor: FloatArray, outcome: FloatArray) -> Slope:
    sign = 2.0 * outcome - 1.0
    z = sign * predictor
    log = special.log_ndtr(z)
    ratio = np.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log)
    return Slope(log=log, first=sign * ratio, second=ratio * (ratio + z))


#: Derivatives from predictor and outcome.
LINKS: dict[str, Callable[[FloatArray, FloatArray], Slope]] = {"logit": _logit, "probit": _probit}

_STEPS = 60
_HALVINGS = 30
#: Where the log-likelihood can rise by no more than this share of it, one step is left.
_LEFT = 1e-12
#: Rows with less curvature than this share of the largest count as having that much.
_FLAT = 1e-20
#: A step that moves predictors so far although it gains nothing leads to infinity.
_MOVING = 0.02


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LikelihoodFit:
    """A fitted model. CONFIDENTIAL.

    The solution has the inverse of the information around weighted means; the curvature is the
    weights of the last step; scores are first derivatives of the log-likelihood, not weighted.
    """

    solution: LeastSquaresSolution
    curvature: FloatArray
    scores: FloatArray
    log: float


def _sum(values: FloatArray, weights: FloatArray | None) -> float:
    return float((values if weights is None else values * weights).sum())


def maximise(
    design: ModelDesign, outcome: FloatArray, weights: FloatArray | None, command: str
) -> LikelihoodFit | None:
    """Fit the model to an outcome of 0 and 1."""
    link = LINKS[command]
    predictor = np.zeros(design.size)
    slopes: FloatArray | None = None
    constant, last = 0.0, False
    slope = link(predictor, outcome)
    log = _sum(slope.log, weights)
    for _ in range(_STEPS):
        curvature = np.maximum(slope.second, _FLAT * float(slope.second.max()))
        weighted = curvature if weights is None else curvature * weights
        # Weighted least squares of this outcome is a Newton step.
        step = solve(design, slope.first / curvature, weighted)
        slopes = np.zeros(len(step.kept)) if slopes is None else slopes
        if len(slopes) != len(step.kept):
            return None
        rise = step.total - step.residual + step.weight * step.mean**2
        way = step.predicted(design)
        if last:
            own = constant if step.constant is not None else None
            solution = replace(step, slopes=slopes, constant=own)
            return LikelihoodFit(solution=solution, curvature=weighted, scores=slope.first, log=log)
        last = rise <= _LEFT * (abs(log) + 1.0)
        if last and float(np.abs(way).max()) > _MOVING:
            return None
        share = 1.0
        for _ in range(_HALVINGS):
            tried = link(predictor + share * way, outcome)
            height = _sum(tried.log, weights)
            if height >= log - 1e-9 * abs(log):
                break
            share /= 2.0
        predictor, slope, log = predictor + share * way, tried, height
        slopes = slopes + share * step.slopes
        constant += share * (step.constant or 0.0)
    return None
