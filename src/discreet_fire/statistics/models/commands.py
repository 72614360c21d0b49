"""`regress`, `logit`, `probit` and `utest`: models whose tables may leave a research data centre.

In: a frame, an outcome (of two outcomes 0 is failure, everything else success), terms in Stata's
notation; results of models over the same records. Out: `SafeResult` laid out as Stata does; if a
rule is broken, nothing of it but the terms. A `ModelRequest` is what is asked for, made of the
arguments and checked; what is kept of a sample to tell whether two tables could be solved for one
person is CONFIDENTIAL and leaves the process with nobody.

`utest` is the test of Lind and Mehlum (2010). As in Stata, an end of its interval that a researcher
does not give is the smallest or largest value of the data. It is never shown, nor the slope there,
which gives it back; and unless enough cases have that value, classes of probabilities stand for the
tests, as exact ones could be solved for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from numbers import Real
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from discreet.arrays import FloatArray
from discreet.errors import OutputCheckError
from discreet.rules import is_number
from discreet_fire.statistics.grouped_values import EntityNumbers
from discreet_fire.statistics.layout import abbreviated, count_text, fixed, general, legend, rounded
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.models.design import (
    ModelDesign,
    Sample,
    SampleTrace,
    Term,
    Weight,
    design_of,
    levels_of,
    parse_terms,
)
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.fits import (
    CoefficientRow,
    Coefficients,
    LeastSquaresSolution,
    LikelihoodFit,
    maximise,
    solve,
)
from discreet_fire.statistics.records import take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult

_TITLES = {
    "regress": "Linear regression",
    "logit": "Logistic regression",
    "probit": "Probit regression",
}
_WIDTH = 78
_NUMBERS = ("coefficient", "std_err", "statistic", "p", "low", "high")
_SCHEMA: dict[str, type[pl.DataType]] = {"term": pl.String, "state": pl.String}
_SCHEMA |= dict.fromkeys(_NUMBERS, pl.Float64)


@dataclass(frozen=True, repr=False, eq=False)
class ModelFit:
    """A fitted model with what is said of it. CONFIDENTIAL until it is checked.

    Results go by their names in Stata's e(); notes stand above the heading, that above the table.
    """

    solution: LeastSquaresSolution
    coefficients: Coefficients
    stored: dict[str, float]
    heading: Sequence[str]
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelRequest:
    """A model that is asked for; the fields are as for `regress`."""

    command: str
    outcome: str
    terms: str | Sequence[str]
    limits: SafeLimits
    where: str | None = None
    entity: str | None = None
    weights: str | None = None
    weight_kind: Weight = "aweight"
    robust: bool = False
    cluster: str | None = None
    constant: bool = True
    level: float = 95.0
    earlier: Sequence[SafeResult] = ()
    parsed: tuple[Term, ...] = field(init=False)

    def __post_init__(self) -> None:
        def require(held: object, message: str, where: str) -> None:
            if not held:
                raise OutputCheckError(message, code="model", where=where)

        sequence = isinstance(self.terms, Sequence)
        require(sequence, "terms are one text, or a list of texts", "terms")
        object.__setattr__(self, "parsed", parse_terms(self.terms))
        for name in ("where", "entity", "weights", "cluster"):
            require(isinstance(getattr(self, name), str | None), "this is a text", name)
        for name in ("robust", "constant"):
            require(isinstance(getattr(self, name), bool), "this is True or False", name)
        results = all(isinstance(result, SafeResult) for result in self.earlier)
        require(results, "earlier is a list of results", "earlier")
        named = isinstance(self.outcome, str) and self.outcome
        require(named, "the outcome is the name of a column", "outcome")
        own = all(part.name != self.outcome for term in self.parsed for part in term.factors)
        require(own, "the outcome is also on the right-hand side", self.outcome)
        require(self.parsed or self.constant, "a model without constant needs variables", "terms")
        kinds = get_args(Weight)
        known = self.weight_kind in kinds
        require(known, f"the kind of weights is one of {', '.join(kinds)}", "weight_kind")
        usual = is_number(self.level) and 10 <= self.level <= 99.99
        require(usual, "the level is a number from 10 to 99.99", "level")

    def sample(self, frame: Any) -> Sample:
        """The estimation sample: the columns of the model, without rows that lack a value."""
        parts = [part for term in self.parsed for part in term.factors]
        names = list(dict.fromkeys(part.name for part in parts if not part.levels))
        groups = list(dict.fromkeys(part.name for part in parts if part.levels))
        more = [name for name in (self.weights, self.cluster, self.entity) if name is not None]
        needed = list(dict.fromkeys([self.outcome, *names, *groups, *more]))
        records = take(frame, needed, self.weights, entity=self.entity, where=self.where)
        # In an order of their own, so that sums are the same in any order of the records.
        order = records.data.hash_rows(seed=1).arg_sort()
        records = replace(records, data=records.data[order])
        entities, weights = records.entities, records.weights
        if weights is not None and self.weight_kind == "fweight" and (weights % 1 > 0).any():
            message = "frequency weights are whole numbers"
            raise OutputCheckError(message, code="weights", where=str(self.weights))
        numbers = {
            name: records.numbers(name, f"write i.{name} to take its values as levels")
            for name in (self.outcome, *names)
        }
        known = [~np.isnan(x) for x in (*numbers.values(), *([] if weights is None else [weights]))]
        texts = [*groups, *([self.cluster] if self.cluster else [])]
        known += [records.without_nan(name).is_not_null().to_numpy() for name in texts]
        used = np.logical_and.reduce(known)
        if not used.any():
            raise OutputCheckError("no observations", code="no-observations", where=self.outcome)
        kept = records.data.filter(pl.Series(used))
        clusters = replace(records, data=kept, entity=self.cluster).entities
        levels = {name: levels_of(records.without_nan(name).filter(used)) for name in groups}
        traced = (self.entity,) if self.entity else tuple(sorted(needed))
        return Sample(
            outcome=numbers[self.outcome][used],
            numbers={name: numbers[name][used] for name in names},
            groups={name: codes for name, (_, codes) in levels.items()},
            levels={name: known for name, (known, _) in levels.items()},
            entities=None if entities is None else EntityNumbers.of(entities[used]).who,
            weights=None if weights is None else weights[used],
            clusters=None if clusters is None else EntityNumbers.of(clusters).who,
            left_out=int((~used).sum()) if entities is None else len(np.unique(entities[~used])),
            trace=SampleTrace(
                traces=kept.select(traced).hash_rows(seed=1).to_numpy(), traced=traced
            ),
        )

    def design(self, sample: Sample) -> ModelDesign:
        """The columns."""
        return design_of(self.parsed, sample, constant=self.constant)

    @property
    def text(self) -> str:
        """The command as Stata would write it."""
        words = self.terms if isinstance(self.terms, str) else " ".join(self.terms)
        parts = [self.command, self.outcome, re.sub(r"\s+", " ", words).strip()]
        if self.where:
            parts.append(f"if {self.where}")
        if self.weights:
            parts.append(f"[{self.weight_kind}={self.weights}]")
        options = [] if self.constant else ["noconstant"]
        if self.cluster:
            options.append(f"vce(cluster {self.cluster})")
        elif self.robust:
            options.append("vce(robust)")
        if self.level != 95:
            options.append(f"level({self.level:g})")
        text = " ".join(part for part in parts if part)
        return f"{text}, {' '.join(options)}" if options else text

    def evidence(self, checking: ModelChecks, **more: Any) -> OutputEvidence:
        """Evidence with the sample, after comparing it with earlier ones. CONFIDENTIAL.

        With an entity column, or the same variables, cases are compared one by one; else numbers
        of observations are.
        """
        trace = checking.sample.trace
        if self.earlier:
            known = [one.evidence["sample"] for one in self.earlier if "sample" in one.evidence]
            close = any(0 < trace.apart(other) < self.limits.minimum for other in known)
            reason = "the sample differs from that of an earlier model by few cases"
            verdict = CheckVerdict.review if close else CheckVerdict.passed
            reason = reason if close else "holds"
            checking.checks.append(Check(rule="differencing", verdict=verdict, reason=reason))
        return OutputEvidence(sample=trace, **checking.evidence, **more)

    @property
    def title(self) -> str:
        """Heading of the table."""
        return _TITLES.get(self.command, _TITLES["regress"])  # `utest` is one, too

    @property
    def is_robust(self) -> bool:
        """Whether standard errors do not trust equal variances."""
        weighted = self.weights is not None and self.weight_kind == "pweight"
        return self.robust or self.cluster is not None or weighted

    def heading(
        self,
        left: Sequence[str],
        right: Sequence[tuple[str, str]],
        widths: tuple[int, int],
        clusters: int | None,
    ) -> list[str]:
        """Lines with numbers and their names at the right, and the number of clusters."""
        (start, wide), lines = widths, []
        for text, number in zip_longest(left, right):
            line = f"{text or '':<{start}}"
            if number is not None:
                line += f"{number[0]:<{wide}}={number[1]:>{_WIDTH - 1 - start - wide}}"
            lines.append(line.rstrip())
        if clusters is not None:
            note = f"(Std. err. adjusted for {clusters:,} clusters in {self.cluster})"
            lines += ["", f"{note:>{_WIDTH}}"]
        return lines

    def shown(self, checking: ModelChecks, fit: ModelFit) -> SafeResult:
        """The result if no rule is broken."""
        design, rows = checking.design, fit.coefficients.rows(self.limits.digits, self.level)
        kept = [design.estimated[place] for place in fit.solution.kept]
        known = dict(zip(kept, rows, strict=False))
        lines = list(fit.notes)
        records: list[Mapping[str, object]] = []
        body: list[str] = []
        for place, term in enumerate(design.terms):
            levels = any(part.levels for part in term.factors)
            if levels:
                head = "#".join(p.name if p.levels else f"c.{p.name}" for p in term.factors)
                body += [_label(""), _label(head)]
            for column in (one for one in design.columns if one.term == place):
                row, state = known.get(column), column.state
                if state == "estimated" and row is None:
                    state = "omitted"
                    lines.append(f"note: {column.label} omitted because of collinearity.")
                records.append(_record(column.label, state, row))
                if state != "base":
                    body.append(_line(column.row if levels else term.text, row, state))
            if levels and (place < len(design.terms) - 1 or design.constant):
                body.append(_label(""))
        if design.constant:
            records.append(_record("_cons", "estimated", rows[-1]))
            body.append(_line("_cons", rows[-1]))
        # Blank lines do not follow each other, and none comes first.
        blank = _label("")
        body = [
            line
            for before, line in zip([blank, *body], body, strict=False)
            if line != blank or before != blank
        ]
        evidence = self.evidence(
            checking, covariance=fit.coefficients.covariance, values=fit.coefficients.values
        )
        return SafeResult(
            command=self.text,
            shown="\n".join([*lines, *fit.heading, "", *self._framed(body)]),
            frame=pl.DataFrame(records, schema=_SCHEMA),
            stored=fit.stored,
            checks=checking.checks,
            evidence=evidence,
        )

    def withheld(self, checking: ModelChecks) -> SafeResult:
        """The result if a rule is broken: coefficients of one model hang together."""
        names = [*(term.text for term in self.parsed), *["_cons"] * self.constant]
        table = self._framed([_line(name, None) for name in names])
        return SafeResult(
            command=self.text,
            shown="\n".join([self.title, "", *table, legend(self.limits.language)]),
            frame=pl.DataFrame([_record(name, "withheld", None) for name in names], schema=_SCHEMA),
            checks=checking.checks,
            evidence=self.evidence(checking, broken=checking.broken_rules()),
        )

    def _framed(self, body: Sequence[str]) -> list[str]:
        """The lines of a table, with its head."""
        test = "t" if self.command == "regress" else "z"
        robust = self.is_robust
        head = f"{abbreviated(self.outcome, 12):>12} | Coefficient"
        head += f"  {'std' if robust else 'Std'}. err.      {test}    P>|{test}|     "
        head += f"[{self.level:g}% conf. interval]"
        lines = ["-" * _WIDTH, *([f"{'':>12} |{'Robust':>21}"] if robust else []), head]
        return [*lines, "-" * 13 + "+" + "-" * (_WIDTH - 14), *body, "-" * _WIDTH]


def _record(term: str, state: str, row: CoefficientRow | None) -> Mapping[str, object]:
    """A row of the frame; what is no number is missing."""
    numbers = [None] * len(_NUMBERS) if row is None else row
    shown = [None if value is None or math.isnan(value) else value for value in numbers]
    return {"term": term, "state": state, **dict(zip(_NUMBERS, shown, strict=True))}


def _label(label: str) -> str:
    return f"{abbreviated(label, 12):>12} |"


def _line(label: str, row: CoefficientRow | None, state: str = "estimated") -> str:
    begin = _label(label)
    if state in ("empty", "omitted"):
        return f"{begin}{f'({state})':>11}"
    if row is None:
        return f"{begin}{'.':>11}{'.':>11}{'.':>9}{'.':>8}{'.':>13}{'.':>12}"
    return (
        f"{begin}{general(row.value):>11}{general(row.error):>11}"
        f"{fixed(row.statistic):>9}{fixed(row.probability, 3):>8}"
        f"{general(row.low):>13}{general(row.high):>12}"
    )


def request_of(
    command: str, outcome: str, terms: str | Sequence[str], options: Mapping[str, Any]
) -> ModelRequest:
    """A request from the keyword arguments of a command: options by the names of `ModelRequest`."""
    known = {part.name for part in fields(ModelRequest) if part.init}
    known -= {"command", "outcome", "terms"}
    if extra := sorted(set(options) - known):
        message, hint = "unknown option", f"options: {', '.join(sorted(known))}"
        raise OutputCheckError(message, code="model", where=", ".join(extra), hint=hint)
    arguments = {**options, "limits": limits_of(options.get("limits"))}
    return ModelRequest(command=command, outcome=outcome, terms=terms, **arguments)


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
        left = [f"{'Source':>12} |{'SS':>9}{'df':>13}{'MS':>9}", rule]
        rows = ("Model", total - rss, slopes), ("Residual", rss, df), ("Total", total, slopes + df)
        for name, square, freedom in rows:
            square = rounded(square, digits)
            mean = general(rounded(square / freedom, digits) if freedom else None, 10)
            left.append(f"{name:>12} |{general(square, 10):>12}{freedom:>10,}{mean:>12}")
        left.insert(-1, rule)
    right.append(("Root MSE", general(stored["rmse"], 7)))
    heading = request.heading(left, right, (51, 16), clusters)
    return checking, ModelFit(solution, coefficients, stored, heading)


#: Probabilities below which a test is shown as a class.
_CLASSES = (0.01, 0.05, 0.1)
_TESTED = (("Interval", "interval"), ("Slope", "slope"), ("t-value", "statistic"), ("P>|t|", "p"))
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
        lines = ["Specification: f(x)=x^2", *(_row(name, "..") for name, _ in _TESTED)]
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
        *(_row(name, map(general, columns[one])) for name, one in _TESTED[:3]),
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


def logit(frame: Any, outcome: str, terms: str | Sequence[str] = (), **options: Any) -> SafeResult:
    """Logistic regression of an outcome that is 0 or not.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": range(40), "y": [(x * 7) % 5 < 1 + x // 14 for x in range(40)]})
    >>> result = logit(frame, "y", "x")
    >>> result.verdict.value, round(result.stored["ll"], 4)
    ('pass', -25.2496)
    """
    return _fitted("logit", frame, outcome, terms, options)


def probit(frame: Any, outcome: str, terms: str | Sequence[str] = (), **options: Any) -> SafeResult:
    """Probit regression of an outcome that is 0 or not.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": range(40), "y": [(x * 7) % 5 < 1 + x // 14 for x in range(40)]})
    >>> result = probit(frame, "y", "x")
    >>> result.verdict.value, round(result.stored["ll"], 4)
    ('pass', -25.2595)
    """
    return _fitted("probit", frame, outcome, terms, options)


def _fitted(
    command: str, frame: Any, outcome: str, terms: str | Sequence[str], options: dict[str, Any]
) -> SafeResult:
    request = request_of(command, outcome, terms, {"weight_kind": "pweight", **options})
    if request.weight_kind == "aweight":
        message, hint = (
            "analytic weights have no meaning here",
            'weight_kind="pweight" or "fweight"',
        )
        raise OutputCheckError(message, code="weights", where=command, hint=hint)
    sample = request.sample(frame)
    sample = replace(sample, outcome=(sample.outcome != 0.0).astype(np.float64))
    checking = ModelChecks(sample=sample, design=request.design(sample), limits=request.limits)
    checking.cases()
    checking.left_out()
    checking.clusters()
    if sample.outcome.min() == sample.outcome.max():
        checking.note("same-outcome", "the outcome does not vary", [outcome])
        return request.withheld(checking)
    notes = _without_certain(checking, request)
    sample, design = checking.sample, checking.design
    start = solve(design, sample.outcome, sample.weights)
    checking.freedom(len(sample) - start.rank, start.rank)
    checking.cases()
    checking.totals(start.rank)
    # Sums over columns are matched exactly, so few cases behind a direction show in the
    # columns themselves, whatever the fitted shares are.
    checking.leverage(start, sample.weights)
    if checking.failed():
        return request.withheld(checking)
    model = maximise(design, sample.outcome, sample.weights, command)
    if model is None:
        checking.note("separation", "the variables separate the outcomes of some cases")
        return request.withheld(checking)
    checking.leverage(model.solution, model.curvature)
    if checking.failed():
        return request.withheld(checking)
    return request.shown(checking, _likelihood(request, checking, model, notes))


def _likelihood(
    request: ModelRequest, checking: ModelChecks, model: LikelihoodFit, notes: Sequence[str]
) -> ModelFit:
    sample, solution, robust = checking.sample, model.solution, request.is_robust
    weights, slopes = sample.weights, len(solution.slopes)
    total = float(len(sample)) if weights is None else float(weights.sum())
    number = total if request.weight_kind == "fweight" else float(len(sample))
    coefficients = Coefficients.of(
        solution, checking.design, sample, model.scores, kind=request.weight_kind,
        variance=None if robust else 1.0, n=number, df=number - 1.0, normal=True,
    )  # fmt: skip
    stored, numbers = {"N": number, "df_m": float(slopes)}, {"ll": model.log}
    if coefficients.clusters is not None:
        stored["N_clust"] = float(coefficients.clusters)
    chi2 = coefficients.wald if slopes else 0.0
    if request.constant:
        # The log-likelihood of a model with a constant alone.
        ones = float((sample.outcome * (1.0 if weights is None else weights)).sum())
        parts = (n * math.log(n / total) for n in (ones, total - ones) if n > 0.0)
        numbers["ll_0"] = sum(parts)
        numbers["r2_p"] = 1.0 - model.log / numbers["ll_0"]
        if not robust:
            chi2 = max(0.0, 2.0 * (model.log - numbers["ll_0"]))
    if chi2 is not None:
        numbers["chi2"] = chi2
        numbers["p"] = float(special.chdtrc(slopes, chi2)) if slopes else math.nan
    digits = request.limits.digits
    stored |= {name: rounded(x, digits) for name, x in numbers.items() if math.isfinite(x)}
    test = "Wald" if robust or not request.constant else "LR"
    right = [
        ("Number of obs", count_text(number)),
        (f"{test} chi2({slopes})", fixed(stored.get("chi2"))),
        ("Prob > chi2", fixed(stored.get("p"), 4)),
    ]
    if "r2_p" in stored:
        right.append(("Pseudo R2", fixed(stored["r2_p"], 4)))
    name = "Log pseudolikelihood" if robust else "Log likelihood"
    left = [request.title, "", "", f"{name} = {general(stored['ll'], 10)}"]
    heading = request.heading(left, right, (54, 14), coefficients.clusters)
    return ModelFit(solution, coefficients, stored, heading, notes)


def _without_certain(checking: ModelChecks, request: ModelRequest) -> list[str]:
    """Leave out cells in which all outcomes are the same, as Stata does; notes on them.

    They cannot be estimated: their coefficients would be infinite.
    """
    notes: list[str] = []
    while not checking.failed():
        sample, columns = checking.sample, checking.design.estimated
        every = slice(0, len(sample))
        sides = ((column, _certain(column.values(every), sample.outcome)) for column in columns)
        column, side = next((pair for pair in sides if pair[1] is not None), (None, None))
        if column is None or side is None:
            break
        rows, success, sign = side
        reason = "all cases of a group have the same outcome"
        text = checking.design.terms[column.term].text
        checking.note("perfect-prediction", reason, [text], CheckVerdict.review)
        if 0 < sample.cases_where(rows) < request.limits.minimum:
            checking.note("minimum-cases", "too few cases are left out", [text])
        notes.append(
            f"note: {column.label} {sign} 0 predicts {success} perfectly; "
            f"{column.label} omitted and {int(rows.sum()):,} obs not used."
        )
        checking.sample = sample.only(~rows)
        checking.design = request.design(checking.sample)
    return notes


def _certain(
    values: FloatArray, outcome: FloatArray
) -> tuple[npt.NDArray[np.bool_], str, str] | None:
    """Rows of an indicator whose outcomes are all the same, while others vary."""
    low, high = values.min(), values.max()
    if low == high or not np.all((values == low) | (values == high)):
        return None
    for rows, sign in ((values == high, "!="), (values == low, "==")):
        own, rest = outcome[rows], outcome[~rows]
        if own.min() == own.max() and rest.min() != rest.max():
            return rows, "success" if own[0] == 1.0 else "failure", sign
    return None
