"""`regress`: linear regression whose table may leave a research data centre.

In: a frame, an outcome, terms in Stata's notation. Out: `SafeResult` laid out as Stata's
`regress`; if a rule is broken, nothing of it but the terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet_fire.statistics.layout import count_text, fixed, general, rounded
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.coefficients import (
    Coefficients,
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Linear:
    """A linear regression with its tests. CONFIDENTIAL until it is checked.

    Results go by their names in Stata's e(); those that are no counts are rounded.
    """

    design: ModelDesign
    solution: LeastSquaresSolution
    coefficients: Coefficients
    stored: dict[str, float]
    heading: list[str]


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
    return request.shown(checking, model.solution, model.coefficients, model.stored, model.heading)


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

    weights, kind, digits = sample.weights, request.weight_kind, request.limits.digits
    total_weight = float(len(sample)) if weights is None else float(weights.sum())
    number = len(sample)
    if weights is not None and kind == "fweight":
        number = int(weights.sum())
    df = number - solution.rank
    t_df, counts = df, {}
    if not request.is_robust:
        central = bread(solution) * (solution.residual / df)
    else:
        # Covariance around the means.
        central = sandwich(sample, design, solution, residuals, kind)
        factor = number / df
        if sample.clusters is not None:
            clusters = int(sample.clusters.max()) + 1
            counts["N_clust"] = float(clusters)
            t_df = clusters - 1
            # One cluster has no variance between clusters.
            factor = clusters / t_df * (number - 1.0) / df if t_df else math.nan
        central *= factor
    slopes = len(solution.kept)
    f = None
    if slopes and (sample.clusters is None or slopes <= t_df):
        wald = joint_wald(solution.slopes, central)
        f = None if wald is None else wald / slopes
    # Weights add up to the number of observations.
    total, rss = (x * (number / total_weight) for x in (solution.total, solution.residual))
    share = 1.0 - rss / total if total > 0.0 else math.nan
    numbers = {
        "mss": total - rss,
        "rss": rss,
        "r2": share,
        "r2_a": 1.0 - (1.0 - share) * (number - request.constant) / df,
        "rmse": math.sqrt(rss / df),
        "F": math.nan if f is None else f,
    }
    stored = {"N": float(number), "df_m": float(slopes), "df_r": float(t_df)} | counts
    stored |= {name: rounded(x, digits) for name, x in numbers.items() if math.isfinite(x)}

    right = [
        ("Number of obs", count_text(float(number))),
        (f"F({slopes}, {t_df})", fixed(f)),
        ("Prob > F", fixed(None if f is None else f_tail(f, slopes, t_df), 4)),
        ("R-squared", fixed(stored.get("r2"), 4)),
    ]
    rmse = ("Root MSE", general(stored["rmse"], 7))
    left, below = [request.title], []
    if not request.is_robust:
        right.append(("Adj R-squared", fixed(stored.get("r2_a"), 4)))
        rule = "-" * 13 + "+" + "-" * 34
        rows = [
            ("Model", total - rss, slopes),
            ("Residual", rss, df),
            ("Total", total, slopes + df),
        ]
        model, residual, whole = (_variance(*row, digits) for row in rows)
        left = [f"{'Source':>12} |{'SS':>9}{'df':>13}{'MS':>9}", rule, model, residual, rule, whole]
    elif sample.clusters is not None:
        note = f"(Std. err. adjusted for {t_df + 1:,} clusters in {request.cluster})"
        below = ["", f"{note:>78}"]
    heading = []
    for at, (name, value) in enumerate([*right, rmse]):
        start = left[at] if at < len(left) else ""
        heading.append(f"{start:<51}{name:<16}={value:>10}")
    coefficients = Coefficients.of(solution, central, float(t_df), request.level / 100.0)
    return checking, Linear(
        design=design,
        solution=solution,
        coefficients=coefficients,
        stored=stored,
        heading=[*heading, *below],
    )


def _variance(name: str, square: float, df: int, digits: int) -> str:
    square = rounded(square, digits)
    mean = rounded(square / df, digits) if df else None
    return f"{name:>12} |{general(square, 10):>12}{df:>10,}{general(mean, 10):>12}"
