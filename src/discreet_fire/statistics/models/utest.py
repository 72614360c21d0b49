"""`utest`: whether a relation is U-shaped, after Lind and Mehlum (2010).

In: a frame, an outcome, a variable that enters with its square, controls. Out: `SafeResult`
laid out as Stata's `utest`. The interval is what a researcher gives, or lies between
percentiles that may be shown: the smallest and largest value are those of single persons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.statistics.group_statistics import percentile
from discreet_fire.statistics.layout import fixed, general, legend, rounded
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.distributions import t_tail
from discreet_fire.statistics.models.regress import Linear, checked_linear
from discreet_fire.statistics.models.request import ModelRequest, request_of
from discreet_fire.statistics.models.sample import Sample
from discreet_fire.statistics.results import CheckVerdict, SafeResult

#: Percentiles tried for the ends of the interval, outermost first.
_PERCENTILES = (1, 5, 10, 25)


class _End(NamedTuple):
    """One end of the interval."""

    place: float
    slope: float
    t: float


def utest(
    frame: Any,
    outcome: str,
    variable: str,
    controls: str | Sequence[str] = (),
    *,
    interval: tuple[float, float] | None = None,
    **options: Any,
) -> SafeResult:
    """Test for a U shape, or an inverse one: the slope changes its sign within the interval.

    Args:
        frame: Frame of any kind: polars, pandas, pyarrow, DuckDB.
        outcome: The dependent variable.
        variable: The variable that enters with its square.
        controls: Other terms in Stata's notation.
        interval: Where the shape is looked for; from percentiles if not given.
        options: As for `regress`.

    >>> import polars as pl
    >>> numbers = range(100)
    >>> frame = pl.DataFrame({"x": numbers, "y": [(x - 40) ** 2 + x % 7 * 50 for x in numbers]})
    >>> result = utest(frame, "y", "x", interval=(10, 90))
    >>> round(result.stored["extreme"])
    40
    """
    if interval is not None:
        _require_interval(interval)
    words = [controls] if isinstance(controls, str) else list(controls)
    terms = [variable, f"c.{variable}#c.{variable}", *words]
    request = request_of("utest", outcome, terms, options)
    sample = request.sample(frame)
    checking, model = checked_linear(request, sample)
    places = None if model is None else _places(model, variable)
    if model is not None and places is None:
        reason = "the variable or its square is omitted"
        checking.note("u-shape", CheckVerdict.fail, reason, variable)
    ends = interval
    if ends is None and places is not None:
        ends = _between_percentiles(sample, variable, checking, request.limits)
    if model is None or places is None or ends is None:
        names = ("Interval", "Slope", "t-value", "P>|t|")
        lines = ["Specification: f(x)=x^2", *(_row(name, [".", "."]) for name in names)]
        return SafeResult(
            command=request.text,
            shown="\n".join([*lines, legend(request.limits.language)]),
            checks=checking.checks,
        )
    return _tested(request, model, checking, places, ends)


def _require_interval(interval: Any) -> None:
    numbers = isinstance(interval, Sequence) and len(interval) == 2
    real = numbers and all(isinstance(x, Real) and math.isfinite(x) for x in interval)
    if not real or not interval[0] < interval[1]:
        what = "the interval is two numbers, the smaller first"
        raise OutputCheckError(what, code="model", where="interval")


def _places(model: Linear, variable: str) -> tuple[int, int] | None:
    """Places of the variable and its square among the coefficients."""
    labels = [model.design.estimated[place].label for place in model.solution.kept]
    wanted = (variable, f"c.{variable}#c.{variable}")
    if not all(name in labels for name in wanted):
        return None
    return labels.index(wanted[0]), labels.index(wanted[1])


def _between_percentiles(
    sample: Sample, variable: str, checking: ModelChecks, limits: SafeLimits
) -> tuple[float, float] | None:
    """The outermost percentiles with enough cases beyond them."""
    values = np.sort(sample.numbers[variable])
    for percent in _PERCENTILES:
        if sample.cases * percent < limits.percentile_cases * 100:
            continue
        low, high = (percentile(values, share / 100) for share in (percent, 100 - percent))
        beyond = min(
            sample.cases_where(sample.numbers[variable] <= low),
            sample.cases_where(sample.numbers[variable] >= high),
        )
        if low < high and beyond >= limits.percentile_cases:
            checking.evidence["percentile"] = percent
            checking.note("percentile", CheckVerdict.passed, "holds", variable)
            return rounded(low, limits.digits), rounded(high, limits.digits)
    reason = "too few cases beyond every percentile"
    checking.note("percentile", CheckVerdict.fail, reason, variable)
    return None


def _tested(
    request: ModelRequest,
    model: Linear,
    checking: ModelChecks,
    places: tuple[int, int],
    interval: tuple[float, float],
) -> SafeResult:
    limits = request.limits
    first, second = places
    values, covariance = model.coefficients.values, model.coefficients.covariance
    df = float(model.coefficients.df or 0)
    ends = []
    for place in interval:
        slope = float(values[first] + 2.0 * place * values[second])
        variance = float(
            covariance[first, first]
            + 4.0 * place * covariance[first, second]
            + 4.0 * place**2 * covariance[second, second]
        )
        t = slope / math.sqrt(variance) if variance > 0.0 else math.nan
        ends.append(_End(place=float(place), slope=slope, t=t))
    inverse = bool(values[second] < 0.0)
    # One-sided: the slope has the sign that the shape asks for.
    chances = [
        t_tail(end.t if (number == 0) == inverse else -end.t, df) for number, end in enumerate(ends)
    ]
    inside = (ends[0].slope < 0.0) != (ends[1].slope < 0.0)
    b1, b2 = float(values[first]), float(values[second])
    # Without a square there is a straight line, which has no extreme.
    stored = {"extreme": -b1 / (2.0 * b2) if b2 else math.nan, "b1": b1, "b2": b2}
    if inside:
        stored |= {"t": min(abs(end.t) for end in ends), "p": max(chances)}
    safe = {name: rounded(x, limits.digits) for name, x in stored.items() if math.isfinite(x)}
    ends = [end._replace(slope=rounded(end.slope, limits.digits)) for end in ends]
    return SafeResult(
        command=request.text,
        shown="\n".join(_lines(ends, chances, safe, inverse=inverse)),
        frame=pl.DataFrame(
            {
                "bound": ["lower", "upper"],
                "interval": [end.place for end in ends],
                "slope": [end.slope for end in ends],
                "statistic": [rounded(end.t, limits.digits) for end in ends],
                "p": [rounded(chance, limits.digits) for chance in chances],
            }
        ),
        stored=safe,
        checks=checking.checks,
        evidence=request.evidence(checking),
    )


def _lines(
    ends: Sequence[_End], chances: Sequence[float], stored: dict[str, float], *, inverse: bool
) -> list[str]:
    shape, other = ("Inverse U shape", "U shape") if inverse else ("U shape", "Inverse U shape")
    rule = "-" * 49
    lines = [
        "Specification: f(x)=x^2",
        f"Extreme point:  {general(stored.get('extreme'))}",
        "",
        "Test:",
        f"     H1: {shape}",
        f" vs. H0: Monotone or {other}",
        "",
        rule,
        f"{'':>16} |{'Lower bound':>14}{'Upper bound':>17}",
        "-" * 17 + "+" + "-" * 31,
        _row("Interval", [general(end.place) for end in ends]),
        _row("Slope", [general(end.slope) for end in ends]),
        _row("t-value", [general(rounded(end.t, 7)) for end in ends]),
        _row("P>|t|", [fixed(chance, 4) for chance in chances]),
        rule,
        "",
        f"Overall test of presence of a{'n' if inverse else ''} {shape}:",
    ]
    if "p" not in stored:
        return [*lines, "     Extreme point outside the interval: H0 is not rejected"]
    t, p = fixed(stored["t"]), fixed(stored["p"], 4)
    return [*lines, f"     t-value = {t}", f"     P>|t|   = {p}"]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<16} |{cells[0]:>14}{cells[1]:>17}"
