"""What is asked of a model: one frozen object made of the arguments of a command.

In: arguments of `regress`, `logit` or `probit`; results of models over the same records. Out:
`ModelRequest`, checked, with the command as Stata would write it; from it the sample, the
design and the results; a check whether samples differ by few cases, so that two tables could be
solved for one person. What is kept of a sample is CONFIDENTIAL and leaves the
process with nobody; it does not depend on the order of rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from discreet.errors import OutputCheckError
from discreet.rules import is_number
from discreet_fire.statistics.layout import legend
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.models.coefficients import (
    Coefficients,
    CoefficientTable,
    frame_of,
    omitted_columns,
    rows_by_column,
    withheld_frame,
)
from discreet_fire.statistics.models.design import ModelDesign, Term, design_of, parse_terms
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.least_squares import LeastSquaresSolution
from discreet_fire.statistics.models.sample import Sample, Weight, sample_of
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult

#: Title of the table of coefficients, and the distribution of their tests.
_TABLES = {
    "regress": ("Linear regression", "t"),
    "logit": ("Logistic regression", "z"),
    "probit": ("Probit regression", "z"),
}


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
        _require(
            isinstance(self.terms, Sequence), "terms are one text, or a list of texts", "terms"
        )
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
        message = "the outcome is also on the right-hand side"
        _require(self.outcome not in names, message, self.outcome)
        whole = self.parsed or self.constant
        _require(whole, "a model without constant needs variables", "terms")
        kinds = get_args(Weight)
        message = f"the kind of weights is one of {', '.join(kinds)}"
        _require(self.weight_kind in kinds, message, "weight_kind")
        usual = is_number(self.level) and 10 <= self.level <= 99.99
        _require(usual, "the level is a number from 10 to 99.99", "level")

    def sample(self, frame: Any) -> Sample:
        """The estimation sample."""
        parts = [part for term in self.parsed for part in term.factors]
        return sample_of(
            frame,
            outcome=self.outcome,
            numbers=list(dict.fromkeys(part.name for part in parts if not part.levels)),
            groups=list(dict.fromkeys(part.name for part in parts if part.levels)),
            entity=self.entity,
            weights=self.weights,
            kind=self.weight_kind,
            cluster=self.cluster,
            where=self.where,
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
    def table(self) -> CoefficientTable:
        """The table of coefficients to be."""
        title, statistic = _TABLES[self.command]
        return CoefficientTable(
            outcome=self.outcome,
            statistic=statistic,
            level=self.level,
            robust=self.is_robust,
            title=title,
        )

    @property
    def is_robust(self) -> bool:
        """Whether standard errors do not trust equal variances."""
        weighted = self.weights is not None and self.weight_kind == "pweight"
        return self.robust or self.cluster is not None or weighted

    def shown(
        self,
        checking: ModelChecks,
        solution: LeastSquaresSolution,
        coefficients: Coefficients,
        stored: dict[str, float],
        heading: Sequence[str],
        notes: Sequence[str] = (),
    ) -> SafeResult:
        """The result if no rule is broken; notes stand above the heading, that above the table."""
        design = checking.design
        rows = rows_by_column(design, solution, coefficients.rows(self.limits.digits))
        omitted = omitted_columns(design, solution)
        remarks = [f"note: {one.label} omitted because of collinearity." for one in omitted]
        lines = [*notes, *remarks, *heading, "", *self.table.lines(design, rows, omitted)]
        evidence = self.evidence(
            checking, covariance=coefficients.covariance, values=coefficients.values
        )
        return SafeResult(
            command=self.text,
            shown="\n".join(lines),
            frame=frame_of(design, rows, omitted),
            stored=stored,
            checks=checking.checks,
            evidence=evidence,
        )

    def withheld(self, checking: ModelChecks) -> SafeResult:
        """The result if a rule is broken: coefficients of one model hang together."""
        names = [*(term.text for term in self.parsed), *["_cons"] * self.constant]
        lines = [self.table.title, "", *self.table.withheld(names), legend(self.limits.language)]
        return SafeResult(
            command=self.text,
            shown="\n".join(lines),
            frame=withheld_frame(names),
            checks=checking.checks,
            evidence=self.evidence(checking, broken=checking.broken_rules()),
        )


def request_of(
    command: str, outcome: str, terms: str | Sequence[str], options: Mapping[str, Any]
) -> ModelRequest:
    """A request from the keyword arguments of a command: options by the names of `ModelRequest`."""
    known = {part.name for part in fields(ModelRequest) if part.init}
    known -= {"command", "outcome", "terms"}
    if extra := sorted(set(options) - known):
        message, hint = "there is no such option", f"options: {', '.join(sorted(known))}"
        raise OutputCheckError(message, code="model", where=", ".join(extra), hint=hint)
    arguments = {**options, "limits": limits_of(options.get("limits"))}
    return ModelRequest(command=command, outcome=outcome, terms=terms, **arguments)


def _require(held: object, message: str, where: str) -> None:
    if not held:
        raise OutputCheckError(message, code="model", where=where)
