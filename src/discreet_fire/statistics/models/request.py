"""What is asked of a model: one frozen object made of the arguments of a command.

In: arguments of `regress`, `logit` or `probit`; results of models over the same records. Out:
`ModelRequest`, checked, with the command as Stata would write it; from it the sample and the
results: the table of coefficients, laid out as Stata does, or that it is withheld. What is kept
of a sample to tell whether two tables could be solved for one person is CONFIDENTIAL and leaves
the process with nobody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from typing import Any, get_args

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.rules import is_number
from discreet_fire.statistics.grouped_values import numbered
from discreet_fire.statistics.layout import abbreviated, fixed, general, legend
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
from discreet_fire.statistics.models.least_squares import (
    CoefficientRow,
    Coefficients,
    LeastSquaresSolution,
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
        sequence = isinstance(self.terms, Sequence)
        _require(sequence, "terms are one text, or a list of texts", "terms")
        object.__setattr__(self, "parsed", parse_terms(self.terms))
        for name in ("where", "entity", "weights", "cluster"):
            _require(isinstance(getattr(self, name), str | None), "this is a text", name)
        for name in ("robust", "constant"):
            _require(isinstance(getattr(self, name), bool), "this is True or False", name)
        results = all(isinstance(result, SafeResult) for result in self.earlier)
        _require(results, "earlier is a list of results", "earlier")
        named = isinstance(self.outcome, str) and self.outcome
        _require(named, "the outcome is the name of a column", "outcome")
        names = {part.name for term in self.parsed for part in term.factors}
        own = self.outcome not in names
        _require(own, "the outcome is also on the right-hand side", self.outcome)
        _require(self.parsed or self.constant, "a model without constant needs variables", "terms")
        kinds = get_args(Weight)
        known = self.weight_kind in kinds
        _require(known, f"the kind of weights is one of {', '.join(kinds)}", "weight_kind")
        usual = is_number(self.level) and 10 <= self.level <= 99.99
        _require(usual, "the level is a number from 10 to 99.99", "level")

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
            entities=None if entities is None else numbered(entities[used]),
            weights=None if weights is None else weights[used],
            clusters=None if clusters is None else numbered(clusters),
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


def _require(held: object, message: str, where: str) -> None:
    if not held:
        raise OutputCheckError(message, code="model", where=where)
