"""`regress` and `utest`: linear regression, and whether a relation is U-shaped.

In: a frame, an outcome, terms in Stata's notation. Out: `SafeResult` laid out as Stata does; if a
rule is broken, nothing of it but the terms. `utest` is the test of Lind and Mehlum (2010). As in
Stata, an end of its interval that a researcher does not give is the smallest or largest value of
the data. It is never shown, nor the slope there, which gives it back; and unless enough cases have
that value, classes of probabilities stand for the tests, as exact ones could be solved for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from discreet.errors import OutputCheckError
from discreet_fire.statistics.layout import count_text, fixed, general, legend, rounded
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.design import Sample, Weight
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.least_squares import Coefficients, solve
from discreet_fire.statistics.models.request import ModelFit, ModelRequest, request_of
from discreet_fire.statistics.results import CheckVerdict, SafeResult


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
    checking, fit = checked_linear(request, request.sample(frame))
    return request.withheld(checking) if fit is None else request.shown(checking, fit)


def checked_linear(request: ModelRequest, sample: Sample) -> tuple[ModelChecks, ModelFit | None]:
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
    residuals = sample.outcome - solution.predicted(design)
    checking.residuals(residuals, solution, sample.weights)
    checking.leverage(solution, sample.weights)
    checking.totals(solution.rank)
    if checking.failed():
        return checking, None

    weights, kind, digits = sample.weights, request.weight_kind, request.limits.digits
    total_weight = float(len(sample)) if weights is None else float(weights.sum())
    repeated = weights is not None and kind == "fweight"
    number = int(total_weight) if repeated else len(sample)
    df, slopes = number - solution.rank, len(solution.kept)
    variance = None if request.is_robust else solution.residual / df
    coefficients = Coefficients.of(
        solution, design, sample, residuals, kind=kind, variance=variance, n=number, df=df
    )  # fmt: skip
    f = None if coefficients.wald is None else coefficients.wald / slopes
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
    t_df, clusters = int(coefficients.df or 0), coefficients.clusters
    stored = {"N": float(number), "df_m": float(slopes), "df_r": float(t_df)}
    stored |= {} if clusters is None else {"N_clust": float(clusters)}
    stored |= {name: rounded(x, digits) for name, x in numbers.items() if math.isfinite(x)}

    right = [
        ("Number of obs", count_text(float(number))),
        (f"F({slopes}, {t_df})", fixed(f)),
        ("Prob > F", fixed(None if f is None else float(special.fdtrc(slopes, t_df, f)), 4)),
        ("R-squared", fixed(stored.get("r2"), 4)),
    ]
    left = [request.title]
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
    right.append(("Root MSE", general(stored["rmse"], 7)))
    heading = request.heading(left, right, (51, 16), clusters)
    return checking, ModelFit(solution, coefficients, stored, heading)


def _variance(name: str, square: float, df: int, digits: int) -> str:
    square = rounded(square, digits)
    mean = rounded(square / df, digits) if df else None
    return f"{name:>12} |{general(square, 10):>12}{df:>10,}{general(mean, 10):>12}"


#: Probabilities below which a test is shown as a class.
_CLASSES = (0.01, 0.05, 0.1)
_ROWS = (("Interval", "interval"), ("Slope", "slope"), ("t-value", "statistic"), ("P>|t|", "p"))
#: An end that is not given is that of the data.
_Ends = tuple[float | None, float | None]


class _End(NamedTuple):
    """One end of the interval, and whether it and its test may be shown."""

    place: float
    slope: float
    t: float
    p: float
    given: bool
    exact: bool


def utest(
    frame: Any,
    outcome: str,
    variable: str,
    controls: str | Sequence[str] = (),
    *,
    interval: _Ends | None = None,
    fieller: bool = False,
    **options: Any,
) -> SafeResult:
    """Test for a U shape, or an inverse one: the slope changes its sign within the interval.

    >>> import polars as pl
    >>> numbers = range(100)
    >>> frame = pl.DataFrame({"x": numbers, "y": [(x - 40) ** 2 + x % 7 * 50 for x in numbers]})
    >>> result = utest(frame, "y", "x", interval=(10, 90))
    >>> round(result.stored["extreme"])
    40
    """
    ends_of: Any = (None, None) if interval is None else interval
    numbers = isinstance(ends_of, Sequence) and len(ends_of) == 2
    known = [x for x in ends_of if x is not None] if numbers else []
    real = numbers and all(isinstance(x, Real) and math.isfinite(x) for x in known)
    if not real or (len(known) == 2 and not known[0] < known[1]):
        message = "the interval is two numbers, the smaller first"
        raise OutputCheckError(message, code="model", where="interval")
    words = [controls] if isinstance(controls, str) else list(controls)
    square = f"c.{variable}#c.{variable}"
    request = request_of("utest", outcome, [variable, square, *words], options)
    sample = request.sample(frame)
    checking, fit = checked_linear(request, sample)
    labels: list[str] = []
    if fit is not None:
        labels = [checking.design.estimated[place].label for place in fit.solution.kept]
        if not {variable, square} <= set(labels):
            checking.note("u-shape", "the variable or its square is omitted", [variable])
    if fit is None or not {variable, square} <= set(labels):
        lines = ["Specification: f(x)=x^2", *(_row(name, "..") for name, _ in _ROWS)]
        return SafeResult(
            command=request.text,
            shown="\n".join([*lines, legend(request.limits.language)]),
            checks=checking.checks,
        )

    places = [labels.index(variable), labels.index(square)]
    b1, b2 = fit.coefficients.values[places].tolist()
    (v11, v12), (_, v22) = fit.coefficients.covariance[np.ix_(places, places)].tolist()
    df = fit.coefficients.df
    inverse = b2 < 0.0  # whether the extreme is the largest value
    # Both ends of the interval, with the one-sided test that the shape asks for.
    values = sample.numbers[variable]
    least = max(request.limits.minimum, request.limits.percentile_cases)
    ends = []
    for number, end in enumerate(ends_of):
        place = float((values.max() if number else values.min()) if end is None else end)
        slope = b1 + 2.0 * place * b2
        variance = v11 + 4.0 * place * v12 + 4.0 * place**2 * v22
        t = slope / math.sqrt(variance) if variance > 0.0 else math.nan
        p = float(special.stdtr(df, -t if (number == 0) == inverse else t))
        exact = end is not None or sample.cases_where(values == place) >= least
        ends.append(_End(place=place, slope=slope, t=t, p=p, given=end is not None, exact=exact))
    never = "minimum and maximum are never shown"
    checking.note("extremes", never, [variable], CheckVerdict.passed)
    exact = all(end.exact for end in ends)
    if not exact:
        reason = "too few cases have the value at an end: classes replace the tests"
        checking.note("ends", reason, [variable])
    checking.evidence |= {"interval": [end.place for end in ends], "p": [end.p for end in ends]}

    digits = request.limits.digits
    inside = (ends[0].slope < 0.0) != (ends[1].slope < 0.0)
    # Without a square there is a straight line, which has no extreme.
    stored = {"extreme": -b1 / (2.0 * b2) if b2 else math.nan, "b1": b1, "b2": b2}
    chance = max(end.p for end in ends)
    if inside and exact:
        stored |= {"t": min(abs(end.t) for end in ends), "p": chance}
    more = []
    if fieller:
        # All places at which the slope may be 0: a x^2 + 2 b x + c is not above 0.
        limit = float(special.stdtrit(df, 0.5 + request.level / 200)) ** 2
        a, b, c = 4.0 * (b2**2 - limit * v22), 2.0 * (b1 * b2 - limit * v12), b1**2 - limit * v11
        within = "unbounded"
        if a > 0.0 and b * b - a * c >= 0.0:
            root = math.sqrt(b * b - a * c)
            bounds = [rounded((-b - root) / a, digits), rounded((-b + root) / a, digits)]
            stored |= {"fieller_low": bounds[0], "fieller_high": bounds[1]}
            within = "; ".join(map(general, bounds))
        more = ["", f"{request.level:g}% Fieller interval for extreme point: [{within}]"]
    if not all(end.given for end in ends):
        more.append(legend(request.limits.language))
    safe = {name: rounded(x, digits) for name, x in stored.items() if math.isfinite(x)}
    classed = next((f"< {bound}" for bound in _CLASSES if chance < bound), f">= {_CLASSES[-1]}")
    columns = {
        "interval": [end.place if end.given else None for end in ends],
        "slope": [rounded(end.slope, digits) if end.given else None for end in ends],
        "statistic": [rounded(end.t, digits) if end.exact else None for end in ends],
        "p": [rounded(end.p, digits) if end.exact else None for end in ends],
    }
    shape, other = ("Inverse U shape", "U shape") if inverse else ("U shape", "Inverse U shape")
    rule = "-" * 49
    lines = [
        "Specification: f(x)=x^2",
        f"Extreme point:  {general(safe.get('extreme'))}",
        "",
        "Test:",
        f"     H1: {shape}",
        f" vs. H0: Monotone or {other}",
        "",
        rule,
        f"{'':>16} |{'Lower bound':>14}{'Upper bound':>17}",
        "-" * 17 + "+" + "-" * 31,
        *(_row(name, map(general, columns[one])) for name, one in _ROWS[:3]),
        _row("P>|t|", (fixed(p, 4) for p in columns["p"])),
        rule,
        "",
        f"Overall test of presence of a{'n' if inverse else ''} {shape}:",
    ]
    if not inside:
        lines.append("     Extreme point outside the interval: H0 is not rejected")
    elif "p" not in safe:
        lines.append(f"     P>|t|   {classed}")
    else:
        lines.append(f"     t-value = {fixed(safe['t'])}")
        lines.append(f"     P>|t|   = {fixed(safe['p'], 4)}")
    return SafeResult(
        command=request.text,
        shown="\n".join([*lines, *more]),
        frame=pl.DataFrame(
            {"bound": ["lower", "upper"], **columns},
            schema_overrides=dict.fromkeys(columns, pl.Float64),
        ),
        stored=safe,
        checks=checking.checks,
        evidence=request.evidence(checking),
    )


def _row(name: str, cells: Iterable[str]) -> str:
    lower, upper = cells
    return f"{name:<16} |{lower:>14}{upper:>17}"
