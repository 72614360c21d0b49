"""`utest`: whether a relation is U-shaped, after Lind and Mehlum (2010).

In: a frame, an outcome, a variable that enters with its square, controls. Out: `SafeResult`
laid out as Stata's `utest`. Like there, an end of the interval that a researcher does not give is
the smallest or largest value of the data. It is never shown, nor the slope there, which gives it
back; and unless enough cases have that value, classes of probabilities stand for the tests, as
exact ones could be solved for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.statistics.layout import fixed, general, legend, rounded
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.distributions import t_quantile, t_tail
from discreet_fire.statistics.models.regress import Linear, checked_linear
from discreet_fire.statistics.models.request import ModelRequest, request_of
from discreet_fire.statistics.models.sample import Sample
from discreet_fire.statistics.results import CheckVerdict, SafeResult

#: Probabilities below which a test is shown as a class.
_CLASSES = (0.01, 0.05, 0.1)
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
    if model is None or places is None:
        names = ("Interval", "Slope", "t-value", "P>|t|")
        lines = ["Specification: f(x)=x^2", *(_row(name, [".", "."]) for name in names)]
        return SafeResult(
            command=request.text,
            shown="\n".join([*lines, legend(request.limits.language)]),
            checks=checking.checks,
        )
    shape = _Shape(model, places)
    ends = list(_ends(request, sample, variable, shape, interval or (None, None)))
    checking.note("extremes", CheckVerdict.passed, "minimum and maximum are never shown", variable)
    if not all(end.exact for end in ends):
        reason = "too few cases have the value at an end: classes stand for the tests"
        checking.note("ends", CheckVerdict.fail, reason, variable)
    checking.evidence |= {"interval": [end.place for end in ends], "p": [end.p for end in ends]}
    return _tested(request, shape, checking, ends, fieller=fieller)


def _require_interval(interval: Any) -> None:
    numbers = isinstance(interval, Sequence) and len(interval) == 2
    known = [x for x in interval if x is not None] if numbers else []
    real = numbers and all(isinstance(x, Real) and math.isfinite(x) for x in known)
    if not real or (len(known) == 2 and not known[0] < known[1]):
        message = "the interval is two numbers, the smaller first"
        raise OutputCheckError(message, code="model", where="interval")


def _places(model: Linear, variable: str) -> tuple[int, int] | None:
    """Places of the variable and its square among the coefficients."""
    labels = [model.design.estimated[place].label for place in model.solution.kept]
    wanted = (variable, f"c.{variable}#c.{variable}")
    if not all(name in labels for name in wanted):
        return None
    return labels.index(wanted[0]), labels.index(wanted[1])


class _Shape:
    """The parabola of a model."""

    def __init__(self, model: Linear, places: tuple[int, int]) -> None:
        first, second = places
        values, self._covariance = model.coefficients.values, model.coefficients.covariance
        self._places = places
        self.b1, self.b2 = float(values[first]), float(values[second])
        self.df = float(model.coefficients.df or 0)

    @property
    def inverse(self) -> bool:
        """Whether its extreme is the largest value."""
        return self.b2 < 0.0

    def _part(self, one: int, other: int) -> float:
        return float(self._covariance[self._places[one], self._places[other]])

    def slope(self, place: float) -> tuple[float, float]:
        """The slope at a place, and its t value."""
        slope = self.b1 + 2.0 * place * self.b2
        variance = self._part(0, 0) + 4.0 * place * self._part(0, 1)
        variance += 4.0 * place**2 * self._part(1, 1)
        return slope, slope / math.sqrt(variance) if variance > 0.0 else math.nan

    def fieller(self, level: float) -> tuple[float, float] | None:
        """The Fieller interval of the extreme point; None if it has no ends."""
        square = t_quantile(level, self.df) ** 2
        # All places at which the slope may be 0: a x^2 + 2 b x + c is not above 0.
        a = 4.0 * (self.b2**2 - square * self._part(1, 1))
        b = 2.0 * (self.b1 * self.b2 - square * self._part(0, 1))
        c = self.b1**2 - square * self._part(0, 0)
        under = b * b - a * c
        if not (a > 0.0 and under >= 0.0):
            return None
        return (-b - math.sqrt(under)) / a, (-b + math.sqrt(under)) / a


def _ends(
    request: ModelRequest, sample: Sample, variable: str, shape: _Shape, interval: _Ends
) -> Iterator[_End]:
    """Both ends of the interval, with the one-sided test that the shape asks for."""
    values = sample.numbers[variable]
    least = max(request.limits.minimum, request.limits.percentile_cases)
    for number, (end, extreme) in enumerate(
        zip(interval, (values.min(), values.max()), strict=True)
    ):
        place = float(extreme if end is None else end)
        slope, t = shape.slope(place)
        p = t_tail(t if (number == 0) == shape.inverse else -t, shape.df)
        stated = end is not None
        exact = stated or sample.cases_where(values == place) >= least
        yield _End(place=place, slope=slope, t=t, p=p, given=stated, exact=exact)


def _tested(
    request: ModelRequest,
    shape: _Shape,
    checking: ModelChecks,
    ends: Sequence[_End],
    *,
    fieller: bool,
) -> SafeResult:
    digits = request.limits.digits
    inside = (ends[0].slope < 0.0) != (ends[1].slope < 0.0)
    # Without a square there is a straight line, which has no extreme.
    extreme = -shape.b1 / (2.0 * shape.b2) if shape.b2 else math.nan
    stored = {"extreme": extreme, "b1": shape.b1, "b2": shape.b2}
    chance = max(end.p for end in ends)
    if inside and all(end.exact for end in ends):
        stored |= {"t": min(abs(end.t) for end in ends), "p": chance}
    within = shape.fieller(request.level / 100) if fieller else None
    if within is not None:
        stored |= {"fieller_low": within[0], "fieller_high": within[1]}
    safe = {name: rounded(x, digits) for name, x in stored.items() if math.isfinite(x)}
    more = []
    if fieller:
        numbers = (safe.get("fieller_low"), safe.get("fieller_high"))
        known = "; ".join(general(x) for x in numbers) if within else "unbounded"
        more = ["", f"{request.level:g}% Fieller interval for extreme point: [{known}]"]
    if not all(end.given for end in ends):
        more.append(legend(request.limits.language))
    lines = _lines(ends, safe, _class(chance) if inside else "", digits, inverse=shape.inverse)
    return SafeResult(
        command=request.text,
        shown="\n".join([*lines, *more]),
        frame=pl.DataFrame(
            {
                "bound": ["lower", "upper"],
                "interval": [end.place if end.given else None for end in ends],
                "slope": [rounded(end.slope, digits) if end.given else None for end in ends],
                "statistic": [rounded(end.t, digits) if end.exact else None for end in ends],
                "p": [rounded(end.p, digits) if end.exact else None for end in ends],
            },
            schema_overrides=dict.fromkeys(("interval", "slope", "statistic", "p"), pl.Float64),
        ),
        stored=safe,
        checks=checking.checks,
        evidence=request.evidence(checking),
    )


def _class(chance: float) -> str:
    return next((f"< {bound}" for bound in _CLASSES if chance < bound), f">= {_CLASSES[-1]}")


def _lines(
    ends: Sequence[_End], stored: dict[str, float], chance: str, digits: int, *, inverse: bool
) -> list[str]:
    """The output; the class of the chance stands where none is stored, none if it is empty."""
    shape, other = ("Inverse U shape", "U shape") if inverse else ("U shape", "Inverse U shape")
    rule = "-" * 49
    slopes = [general(rounded(end.slope, digits)) if end.given else "." for end in ends]
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
        _row("Interval", [general(end.place) if end.given else "." for end in ends]),
        _row("Slope", slopes),
        _row("t-value", [general(rounded(end.t, 7)) if end.exact else "." for end in ends]),
        _row("P>|t|", [fixed(end.p, 4) if end.exact else "." for end in ends]),
        rule,
        "",
        f"Overall test of presence of a{'n' if inverse else ''} {shape}:",
    ]
    if not chance:
        return [*lines, "     Extreme point outside the interval: H0 is not rejected"]
    if "p" not in stored:
        return [*lines, f"     P>|t|   {chance}"]
    return [
        *lines,
        f"     t-value = {fixed(stored['t'])}",
        f"     P>|t|   = {fixed(stored['p'], 4)}",
    ]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<16} |{cells[0]:>14}{cells[1]:>17}"
