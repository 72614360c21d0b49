"""What is asked of a model: one frozen object made of the arguments of a command.

In: arguments of `regress`, `logit` or `probit`; results of models over the same records. Out:
`ModelRequest`, checked, with the command as Stata would write it; from it the sample, the
design and what stands in results; a check whether samples differ by few cases, so that two
tables could be solved for one person. What is kept of a sample is CONFIDENTIAL and leaves the
process with nobody; it does not depend on the order of rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import OutputCheckError
from discreet.rules.protocol import is_number
from discreet_fire.statistics.layout import legend
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.models.coefficients import CoefficientTable, withheld_frame
from discreet_fire.statistics.models.design import ModelDesign, Term, design_of, parse_terms
from discreet_fire.statistics.models.disclosure_checks import ModelChecks
from discreet_fire.statistics.models.sample import Roles, Sample, Weight, sample_of
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SampleTrace:
    """What is kept of a sample. CONFIDENTIAL.

    Args:
        traces: A digest of the entity of each row, or of all its values.
        traced: The columns that these are made of.
    """

    traces: npt.NDArray[np.uint64]
    traced: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same for the same rows in any order."""
        total = int(np.add.reduce(self.traces, dtype=np.uint64))
        mixed = int(np.bitwise_xor.reduce(self.traces))
        return f"{len(self.traces):x}-{total:016x}-{mixed:016x}"

    def apart(self, other: SampleTrace) -> int:
        """How many cases only one of the two has, at least."""
        if self.traced != other.traced:
            return abs(len(self.traces) - len(other.traces))
        known = np.concatenate([self.traces, other.traces])
        sign = np.repeat([1, -1], [len(self.traces), len(other.traces)])
        names, places = np.unique(known, return_inverse=True)
        counts = np.bincount(places, sign, minlength=len(names))
        return int(np.count_nonzero(counts))


def trace_of(sample: Sample) -> SampleTrace:
    """What is kept of a sample."""
    return SampleTrace(traces=sample.traces, traced=sample.traced)


def compare(trace: SampleTrace, earlier: Sequence[SafeResult], limits: SafeLimits) -> Check:
    """Whether a sample differs from that of an earlier result by few cases.

    With an entity column, or the same variables, cases are compared one by one; else numbers
    of observations are.

    Args:
        trace: The sample.
        earlier: Results of models.
        limits: The rules.
    """
    traces = [result.evidence["sample"] for result in earlier if "sample" in result.evidence]
    close = any(0 < trace.apart(other) < limits.minimum for other in traces)
    return Check(
        rule="differencing",
        verdict=CheckVerdict.review if close else CheckVerdict.passed,
        reason="the sample differs from that of an earlier model by few cases"
        if close
        else "holds",
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelRequest:
    """A model that is asked for.

    Args:
        command: Name of the command.
        outcome: The dependent variable.
        terms: The right-hand side.
        limits: The rules.
        where: Filter of rows.
        entity: Column that names the person or firm a row belongs to.
        weights: Column of weights.
        weight_kind: "aweight", "fweight" or "pweight".
        robust: Standard errors that do not trust equal variances.
        cluster: Column of clusters for standard errors.
        constant: Whether the model has a constant.
        level: Of confidence intervals, in percent.
        earlier: Earlier results, to compare samples with.
    """

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
        if not isinstance(self.terms, Sequence):
            raise _wrong("terms are one text, or a list of texts", "terms")
        object.__setattr__(self, "parsed", parse_terms(self.terms))
        for name in ("where", "entity", "weights", "cluster"):
            if not isinstance(getattr(self, name), str | None):
                raise _wrong("this is a text", name)
        for name in ("robust", "constant"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong("this is True or False", name)
        if not all(isinstance(result, SafeResult) for result in self.earlier):
            raise _wrong("earlier is a list of results", "earlier")
        if not isinstance(self.outcome, str) or not self.outcome:
            raise _wrong("the outcome is the name of a column", "outcome")
        names = {part.name for term in self.parsed for part in term.factors}
        if self.outcome in names:
            raise _wrong("the outcome is also on the right-hand side", self.outcome)
        if not self.parsed and not self.constant:
            raise _wrong("a model without constant needs variables", "terms")
        if self.weight_kind not in get_args(Weight):
            kinds = ", ".join(get_args(Weight))
            raise _wrong(f"the kind of weights is one of {kinds}", "weight_kind")
        if not is_number(self.level) or not 10 <= self.level <= 99.99:
            raise _wrong("the level is a number from 10 to 99.99", "level")

    def sample(self, frame: Any) -> Sample:
        """The estimation sample."""
        parts = [part for term in self.parsed for part in term.factors]
        roles = Roles(
            outcome=self.outcome,
            numbers=list(dict.fromkeys(part.name for part in parts if not part.levels)),
            groups=list(dict.fromkeys(part.name for part in parts if part.levels)),
            entity=self.entity,
            weights=self.weights,
            kind=self.weight_kind,
            cluster=self.cluster,
        )
        return sample_of(frame, roles, self.where)

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
        """Evidence with the sample, after comparing it with earlier ones. CONFIDENTIAL."""
        rows = trace_of(checking.sample)
        if self.earlier:
            checking.checks.append(compare(rows, self.earlier, self.limits))
        return OutputEvidence(sample=rows, **checking.evidence, **more)

    def withheld(self, checking: ModelChecks, table: CoefficientTable, title: str) -> SafeResult:
        """The result if a rule is broken: coefficients of one model hang together."""
        names = [term.text for term in self.parsed]
        names += ["_cons"] if self.constant else []
        evidence = self.evidence(checking)
        lines = [title, "", *table.withheld(names), legend(self.limits.language)]
        return SafeResult(
            command=self.text,
            shown="\n".join(lines),
            frame=withheld_frame(names),
            checks=checking.checks,
            evidence=evidence,
        )


def request_of(
    command: str, outcome: str, terms: str | Sequence[str], options: Mapping[str, Any]
) -> ModelRequest:
    """A request from the keyword arguments of a command.

    Args:
        command: Name of the command.
        outcome: The dependent variable.
        terms: The right-hand side.
        options: All else, by the names of `ModelRequest`.
    """
    known = {part.name for part in fields(ModelRequest) if part.init}
    known -= {"command", "outcome", "terms"}
    if extra := sorted(set(options) - known):
        raise OutputCheckError(
            "there is no such option",
            code="model",
            where=", ".join(extra),
            hint=f"options: {', '.join(sorted(known))}",
        )
    given = {**options, "limits": limits_of(options.get("limits"))}
    return ModelRequest(command=command, outcome=outcome, terms=terms, **given)


def _wrong(what: str, where: str) -> OutputCheckError:
    return OutputCheckError(what, code="model", where=where)
