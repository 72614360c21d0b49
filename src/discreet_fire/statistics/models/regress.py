"""`regress`: linear regression whose table may leave a research data centre.

In: a frame, an outcome, terms in Stata's notation. Out: `SafeResult` laid out as Stata's
`regress`; if a rule is broken, nothing of it but the terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.arrays import FloatArray
from discreet_fire.statistics.layout import count_text, fixed, general, rounded
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.coefficients import (
    Coefficients,
    beside,
    bread,
    joint_wald,
    sandwich,
)
from discreet_fire.statistics.models.design import ModelDesign
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.distributions import f_tail
from discreet_fire.statistics.models.least_squares import LeastSquaresSolution, solve
from discreet_fire.statistics.models.request import ModelRequest, request_of
from discreet_fire.statistics.models.sample import Sample, Weight
from discreet_fire.statistics.results import SafeResult
from discreet_fire.statistics.sums import exact_sum


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Linear:
    """A linear regression with its tests. CONFIDENTIAL until it is checked.

    Sums of squares are multiplied by the factor, so that weights add up to the number of
    observations. f is the F statistic, None where there is none, and its degrees of freedom.
    """

    design: ModelDesign
    solution: LeastSquaresSolution
    coefficients: Coefficients
    number: int
    df: int
    clusters: int | None
    factor: float
    f: tuple[float | None, int, int]

    @property
    def sums(self) -> tuple[float, float]:
        """Total and residual sums of squares."""
        return self.solution.total * self.factor, self.solution.residual * self.factor

    def stored(self, digits: int) -> dict[str, float]:
        """Results by their names in Stata's e(); numbers that are no counts are rounded."""
        total, rss = self.sums
        f, model_df, _ = self.f
        own = 1 if self.solution.constant is not None else 0
        share = 1.0 - rss / total if total > 0.0 else math.nan
        counts = {
            "N": float(self.number),
            "df_m": float(model_df),
            "df_r": float(self.df if self.clusters is None else self.clusters - 1),
        }
        if self.clusters is not None:
            counts["N_clust"] = float(self.clusters)
        numbers = {
            "mss": total - rss,
            "rss": rss,
            "r2": share,
            "r2_a": 1.0 - (1.0 - share) * (self.number - own) / self.df,
            "rmse": math.sqrt(rss / self.df),
            "F": math.nan if f is None else f,
        }
        safe = {name: rounded(x, digits) for name, x in numbers.items() if math.isfinite(x)}
        return counts | safe


def _fit_linear(
    request: ModelRequest,
    sample: Sample,
    design: ModelDesign,
    solution: LeastSquaresSolution,
    residuals: FloatArray,
) -> Linear:
    """Tests of a solved regression with residual degrees of freedom, by what it leaves of the
    outcome.
    """
    weights, kind = sample.weights, request.weight_kind
    number = len(sample)
    if weights is not None and kind == "fweight":
        number = int(weights.sum())
    total_weight = float(len(sample)) if weights is None else exact_sum(weights)
    df = number - solution.rank
    t_df, clusters = df, None
    if not request.is_robust:
        central = bread(solution) * (solution.residual / df)
    else:
        # Covariance around the means.
        central = sandwich(sample, design, solution, residuals, kind)
        factor = number / df
        if sample.clusters is not None:
            clusters = int(sample.clusters.max()) + 1
            t_df = clusters - 1
            # One cluster has no variance between clusters.
            factor = clusters / t_df * (number - 1.0) / df if t_df else math.nan
        central *= factor
    slopes = len(solution.kept)
    f: float | None = None
    if slopes and (clusters is None or slopes < clusters):
        wald = joint_wald(solution.slopes, central)
        f = None if wald is None else wald / slopes
    return Linear(
        design=design,
        solution=solution,
        coefficients=Coefficients.of(solution, central, float(t_df), request.level / 100.0),
        number=number,
        df=df,
        clusters=clusters,
        factor=number / total_weight,
        f=(f, slopes, t_df),
    )


def regress(
    frame: Any,
    outcome: str,
    terms: str | Sequence[str] = (),
    *,
    limits: SafeLimits | None = None,
    where: str | None = None,
    entity: str | None = None,
    weights: str | None = None,
    weight_kind: Weight = "aweight",
    robust: bool = False,
    cluster: str | None = None,
    constant: bool = True,
    level: float = 95.0,
    earlier: Sequence[SafeResult] = (),
) -> SafeResult:
    """Linear regression by least squares.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": range(20), "y": [2.0 * x + x % 3 for x in range(20)]})
    >>> result = regress(frame, "y", "x")
    >>> result.verdict.value, result.stored["df_r"]
    ('pass', 18.0)
    """
    options = {
        "limits": limits, "where": where, "entity": entity, "weights": weights,
        "weight_kind": weight_kind, "robust": robust, "cluster": cluster, "constant": constant,
        "level": level, "earlier": earlier,
    }  # fmt: skip
    request = request_of("regress", outcome, terms, options)
    checking, model = checked_linear(request, request.sample(frame))
    if model is None:
        return request.withheld(checking)
    numbers = model.stored(request.limits.digits)
    heading = _heading(model, numbers, request)
    return request.shown(checking, model.solution, model.coefficients, numbers, heading)


def checked_linear(request: ModelRequest, sample: Sample) -> tuple[ModelChecks, Linear | None]:
    """Fit and check; the model is None if a rule is broken."""
    design = request.design(sample)
    solution = solve(design, sample.outcome, sample.weights)
    checking = ModelChecks(sample=sample, design=design, limits=request.limits)
    # A row counts once whatever its weight: weights can be made up.
    checking.freedom(len(sample) - solution.rank, solution.rank)
    checking.cases()
    checking.left_out()
    checking.clusters()
    checking.fit(solution)
    residuals = solution.residuals(design, sample.outcome)
    checking.residuals(residuals, solution, sample.weights)
    checking.leverage(solution, sample.weights)
    checking.totals(solution.rank)
    if checking.failed():
        return checking, None
    return checking, _fit_linear(request, sample, design, solution, residuals)


def _heading(model: Linear, numbers: dict[str, float], request: ModelRequest) -> list[str]:
    f, first, second = model.f
    tail = None if f is None else f_tail(f, first, second)
    right = [
        ("Number of obs", count_text(numbers["N"])),
        (f"F({first}, {second})", fixed(f)),
        ("Prob > F", fixed(tail, 4)),
        ("R-squared", fixed(numbers.get("r2"), 4)),
    ]
    rmse = ("Root MSE", general(numbers["rmse"], 7))
    if request.is_robust:
        lines = beside([request.table.title], [*right, rmse])
        if model.clusters is not None:
            note = f"(Std. err. adjusted for {model.clusters:,} clusters in {request.cluster})"
            lines += ["", f"{note:>78}"]
        return lines
    right += [("Adj R-squared", fixed(numbers.get("r2_a"), 4)), rmse]
    return beside(_variance(model, request.limits.digits), right)


def _variance(model: Linear, digits: int) -> list[str]:
    total, rss = model.sums
    _, first, _ = model.f
    whole = first + model.df
    rule = "-" * 13 + "+" + "-" * 34

    def line(name: str, square: float, df: int) -> str:
        square = rounded(square, digits)
        mean = rounded(square / df, digits) if df else None
        return f"{name:>12} |{general(square, 10):>12}{df:>10,}{general(mean, 10):>12}"

    return [
        f"{'Source':>12} |{'SS':>9}{'df':>13}{'MS':>9}",
        rule,
        line("Model", total - rss, first),
        line("Residual", rss, model.df),
        rule,
        line("Total", total, whole),
    ]
