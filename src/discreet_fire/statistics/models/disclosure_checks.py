"""The rules of models: what is checked before a table of coefficients is shown.

The residuals of least squares sum to 0 in every group with an indicator of its own, so the total
of the outcome there follows from the coefficients: the rules of tables of means apply. The fitted
values are Hy: if the part H_S of a few cases S has an eigenvalue 1 with eigenvector v, then
v'y = v'Hy, and whoever has the coefficients knows this combination of their outcomes exactly, for
one case the outcome itself. In: sample, design, solved model, limits. Out: checks in words that
quote no value, and the evidence behind them: how many cases are in each cell of each grouping,
which cells two cases dominate, which are all alike; how near to 1 the eigenvalues come.
CONFIDENTIAL until reduced to checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.disclosure_rules import (
    BorderlineFact,
    Facts,
    computed_concentration,
    concentrated,
)
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.design import (
    ModelDesign,
    Partition,
    Rows,
    Sample,
    upper_of_two,
)
from discreet_fire.statistics.models.fits import LeastSquaresSolution
from discreet_fire.statistics.results import Check, CheckVerdict, worst

#: One case that follows the fit this closely is looked at by a person.
_REVIEW_LEVERAGE = 0.5
#: A residual share below these reveals, or is looked at by a person.
_EXACT_FIT, _NEAR_FIT = 1e-6, 1e-3
#: The rules of means.
_OF_MEANS = {
    "dominance": "one or two cases make up nearly all of the total of a group",
    "same-outcome": "all cases of a group have the same outcome",
    "few-outcomes": "too few cases of a group have one of the two outcomes",
}


@dataclass(kw_only=True, repr=False, eq=False)
class ModelChecks:
    """Collects checks and evidence of one model."""

    sample: Sample
    design: ModelDesign
    limits: SafeLimits
    checks: list[Check] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)

    def note(
        self,
        rule: str,
        reason: str,
        places: Sequence[str] = ("",),
        verdict: CheckVerdict = CheckVerdict.fail,
    ) -> None:
        """Note where a rule is broken, or else that it holds; that only if nothing breaks it."""
        passed = CheckVerdict.passed
        new = [
            Check(rule=rule, verdict=verdict, reason=reason, where=place)
            for place in dict.fromkeys(places)
        ] or [Check(rule=rule, verdict=passed, reason="holds")]
        known = [one for one in self.checks if one.rule == rule]
        if new[0].verdict is not passed or not known:
            held = [one for one in known if one.verdict is passed]
            self.checks = [one for one in self.checks if one not in held]
            self.checks += [one for one in new if one not in known]

    def failed(self) -> bool:
        """Whether a rule is broken."""
        return worst(self.checks) is CheckVerdict.fail

    def cases(self) -> None:
        """Cases in all, in every cell of every term, and apart from the commonest value."""
        few = ["the estimation sample"] * (self.sample.cases < self.limits.minimum)
        many = "the variable has many levels; a person must check it"
        for partition in self.design.partitions:
            counts = self.evidence.setdefault("cases", {})
            counts[partition.text] = self._cases(partition.codes, partition.cells)
            few += [partition.text] * self._few_in_one(counts[partition.text])
        # Columns of numbers and the variables behind them, each once, and the outcome.
        known: dict[int, tuple[str, FloatArray]] = {}
        for column in self.design.estimated:
            if column.numbers:
                alone = column.cells is None and len(column.numbers) == 1
                values = column.numbers[0] if alone else column.values(slice(0, self.design.size))
                known.setdefault(id(values), (self.design.terms[column.term].text, values))
        for name, values in self.sample.numbers.items():
            known.setdefault(id(values), (name, values))
        pairs = [*known.values(), ("the outcome", self.sample.outcome)]
        few += [name for name, values in pairs if self._few_apart(values)]
        self.note("minimum-cases", "too few cases have this level or differ from the rest", few)
        for partition in self.design.partitions:
            if partition.cells > self.limits.most_levels:
                self.note("many-levels", many, [partition.text], CheckVerdict.review)

    def _cases(self, codes: IntArray, cells: int) -> IntArray:
        """Cases in each cell."""
        cases = self.sample.cases
        if self.sample.entities is not None:
            codes = np.unique(codes * cases + self.sample.entities) // cases
        return np.bincount(codes, minlength=cells)

    def _few_in_one(self, counts: IntArray) -> bool:
        """Whether a cell has cases, but too few."""
        return bool(((counts > 0) & (counts < self.limits.minimum)).any())

    def _few_apart(self, values: FloatArray) -> bool:
        """Whether fewer cases than required differ from the value that all others have.

        Of so many cases as are required, one has that value.
        """
        sample, minimum = self.sample, self.limits.minimum
        places = np.arange(len(sample))
        if sample.entities is not None:
            places = sample.numbering.order[sample.numbering.start[:-1]]
        some = set(values[places[:minimum]].tolist())
        return any(0 < sample.cases_where(values != value) < minimum for value in some)

    def left_out(self) -> None:
        """Few cases without a value can be told by difference from another model."""
        self.evidence["left_out"] = self.sample.left_out
        few = 0 < self.sample.left_out < self.limits.minimum
        reason = "few cases are left out; another model with them shows them by difference"
        self.note("left-out", reason, [""] * few, CheckVerdict.review)

    def clusters(self) -> None:
        """Clusters are counted in the output."""
        if self.sample.clusters is not None:
            few = int(self.sample.clusters.max()) + 1 < max(2, self.limits.minimum)
            self.note("clusters", "too few clusters", [""] * few)

    def freedom(self, residual_df: int, rank: int) -> None:
        """Residual degrees of freedom."""
        self.evidence["residual_df"] = residual_df
        few = residual_df < self.limits.residual_df
        self.note("residual-df", "too few residual degrees of freedom", [""] * few)
        if self.sample.entities is not None and self.sample.cases - rank < self.limits.residual_df:
            reason = "hardly more entities than coefficients, though more rows"
            self.note("residual-df", reason, verdict=CheckVerdict.review)

    def leverage(self, solution: LeastSquaresSolution, weights: FloatArray | None) -> None:
        """Cases, and groups of too few, whose outcomes the fit follows."""
        limit = self.limits.leverage
        hats = HatValues(self.sample, self.design, solution, weights)
        single, group = hats.reach(self.limits.minimum, limit)
        self.evidence["leverage"] = max(single, group, self.evidence.get("leverage", 0.0))
        if max(single, group) >= limit:
            self.note("leverage", "the coefficients disclose outcomes of single cases")
        else:
            near = bool(single >= _REVIEW_LEVERAGE or group >= NEARLY * limit)
            reason = "the coefficients follow single cases closely"
            self.note("leverage", reason, [""] * near, CheckVerdict.review)

    def fit(self, solution: LeastSquaresSolution) -> None:
        """A fit without residuals gives every outcome away."""
        share = solution.residual / solution.total if solution.total > 0.0 else 0.0
        self.evidence["residual_share"] = share
        verdict = CheckVerdict.fail if share < _EXACT_FIT else CheckVerdict.review
        reason = "the outcome follows (nearly) exactly from the variables"
        self.note("exact-fit", reason, [""] * (share < _NEAR_FIT), verdict)

    def residuals(
        self, residuals: FloatArray, solution: LeastSquaresSolution, weights: FloatArray | None
    ) -> None:
        """One residual that is nearly all of their sum of squares follows from it."""
        squares = np.square(residuals)
        if weights is not None:
            squares *= weights
        entities, total = self.sample.entities, solution.residual
        own = squares if entities is None else np.bincount(entities, squares)
        share = float(own.max()) / total + 1 / squares.size if total > 0.0 else 0.0
        self.evidence["largest_residual"] = share
        reason = "one case makes up nearly all of the residuals"
        self.note("residuals", reason, [""] * (share > self.limits.leverage))

    def totals(self, rank: int) -> None:
        """Rules of means, for groups whose means or totals the coefficients give."""
        # All cases are one cell, whose total the constant gives.
        everyone = np.zeros(len(self.sample), np.int64)
        known = [*self.design.partitions, Partition(text="_cons", codes=everyone, cells=1)]
        indicators = {part.text for part in self.design.partitions}
        columns = self.design.estimated
        only = not any(one.numbers and one.label not in indicators for one in columns)
        if only and (cells := patterns(self.design)).cells <= rank:
            reason = "the coefficients are differences of means of groups: check it like a table"
            self.note("group-means", reason, verdict=CheckVerdict.review)
            known = [cells]
        broken = CheckVerdict.fail if only else CheckVerdict.review
        two = upper_of_two(self.sample.outcome)
        by_rule: dict[str, list[str]] = {rule: [] for rule in _OF_MEANS}
        for partition in known:
            facts, text = self._facts(partition), partition.text
            if two is None:
                by_rule["dominance"] += [text] * self._breaks("dominance", *facts)
            else:
                halves = self._cases(partition.codes * 2 + two, partition.cells * 2)
                by_rule["few-outcomes"] += [text] * self._few_in_one(halves)
            by_rule["same-outcome"] += [text] * self._breaks("same-outcome", *facts)
            if only and self._breaks("minimum-cases", *facts):
                self.note("minimum-cases", "too few cases in a combination", [text])
        for rule, places in by_rule.items():
            self.note(rule, _OF_MEANS[rule], places, broken)

    def _facts(self, partition: Partition) -> list[Facts]:
        """The facts of the outcome in each cell."""
        sample = self.sample
        groups = partition.codes, partition.cells
        holding = GroupedValues(
            sample.outcome, *groups, sample.entities, sample.weights, lambda: sample.numbering
        )
        return holding.facts(self.limits)

    def _breaks(self, rule: str, *facts: Facts) -> bool:
        if rule == "dominance":
            return any(concentrated(one.first, one.second, one.size, self.limits) for one in facts)
        if rule == "same-outcome":
            return any(one.n and one.low == one.high for one in facts)
        return any(0 < one.cases < self.limits.minimum for one in facts)

    def broken_rules(self) -> tuple[BorderlineFact, ...]:
        """Broken rules in figures, of each cell that breaks them or else of the model, with the
        frequency table of each variable. CONFIDENTIAL.
        """
        whole = Partition(text="_cons", codes=np.zeros(len(self.sample), np.int64), cells=1)
        groups = [*self.design.partitions, whole, patterns(self.design)]
        known = {one.text: one for one in reversed(groups)}
        cases, minimum = self.sample.cases, self.limits.minimum
        broken: list[BorderlineFact] = []
        for check in (one for one in self.checks if one.verdict is CheckVerdict.fail):
            fact = BorderlineFact(
                variable=check.where, place="", rule=check.rule, cases=cases, k=None, p=None,
                few=cases < minimum,
            )  # fmt: skip
            facts, table = list[BorderlineFact](), dict[str, int]()
            if (partition := known.get(check.where)) is not None:
                labels = partition.labels or [f"group {at + 1}" for at in range(partition.cells)]
                for label, one in zip(labels, self._facts(partition), strict=True):
                    table |= {label: one.cases} if one.n else {}
                    if self._breaks(check.rule, one):
                        k, p = computed_concentration(one.first, one.second, one.size)
                        place, few = f"{check.where} = {label}", one.cases < minimum
                        facts.append(replace(fact, place=place, cases=one.cases, k=k, p=p, few=few))
            first, *rest = facts or [fact]
            if all(one.variable != check.where for one in broken):
                first = replace(first, frequencies=table)
            broken += [first, *rest]
        return tuple(broken)


def patterns(design: ModelDesign) -> Partition:
    """Rows that no column tells apart, if all columns are indicators."""
    codes = np.zeros(design.size, dtype=np.int64)
    cells = 1
    for partition in design.partitions:
        known, codes = np.unique(codes * partition.cells + partition.codes, return_inverse=True)
        cells = len(known)
    text = " ".join(partition.text for partition in design.partitions)
    return Partition(text=text or "_cons", codes=codes.astype(np.int64), cells=cells)


#: Decimals of eigenvalues that are compared with a limit: fewer than depend on row order.
_DECIMALS = 9
#: Cases with less than this share of a direction cannot complete it.
_LEAST = 1e-3
#: Rows that are near the processor together.
_ROWS = 2**13
#: Groups this close to the limit, as a share of it, are reported.
NEARLY = 0.9


@dataclass(frozen=True, repr=False, eq=False)
class HatValues:
    """Rows of the orthonormal columns of a model, and their squared lengths. CONFIDENTIAL."""

    sample: Sample
    design: ModelDesign
    solution: LeastSquaresSolution
    weights: FloatArray | None
    factors: dict[int, FloatArray] = field(default_factory=dict)  # of cases of several rows

    def rows(self, rows: Rows) -> FloatArray:
        """The rows of Q, where H = Q Q'."""
        hats = self.solution.centred(self.design, rows) @ self.solution.root
        if self.solution.constant is not None:
            own = np.full((len(hats), 1), 1.0 / np.sqrt(self.solution.weight))
            hats = np.hstack([hats, own])
        return hats if self.weights is None else hats * np.sqrt(self.weights[rows])[:, None]

    @cached_property
    def values(self) -> FloatArray:
        """Hat values of all rows."""
        values = np.empty(self.design.size)
        for start in range(0, self.design.size, _ROWS):
            rows = slice(start, min(start + _ROWS, self.design.size))
            block = self.rows(rows)
            values[rows] = np.einsum("ij,ij->i", block, block)
        return values

    @cached_property
    def _traces(self) -> FloatArray:
        """Hat values of all cases."""
        entities, values = self.sample.entities, self.values
        return values if entities is None else np.bincount(entities, values).astype(np.float64)

    def reach(self, minimum: int, limit: float) -> tuple[float, float]:
        """The eigenvalues nearest to 1 among groups of fewer than `minimum` cases.

        One member of a group of s cases has at least 1/s of its eigenvalue, and the hat values
        sum to the rank: few cases can begin a group. Groups grow by the case that adds most.
        Eigenvalues from the limit on reveal. Gives the largest eigenvalue of one case, and the
        largest of a group.
        """
        traces, most = self._traces, max(1, minimum - 1)
        begin = np.flatnonzero(np.round(traces, _DECIMALS) >= min(0.5, NEARLY * limit / most))
        single, best = float(min(1.0, traces.max())), 0.0
        if self.sample.entities is not None:
            own = (self._eigenvalue([int(case)]) for case in begin)
            single = max(own, default=min(single, 0.5))
        for case in begin[np.argsort(-traces[begin], kind="stable")]:
            best = max(best, self._grown(int(case), most, limit))
            if best >= limit:
                break
        return round(single, _DECIMALS), best

    def _factor(self, case: int) -> FloatArray:
        """A matrix R with R'R equal to what the case has in Q'Q."""
        if self.sample.entities is None:
            return self.rows(np.array([case]))
        if case not in self.factors:
            numbering = self.sample.numbering
            rows = self.rows(numbering.order[slice(*numbering.start[case : case + 2])])
            short = len(rows) <= rows.shape[1]
            self.factors[case] = rows if short else np.asarray(np.linalg.qr(rows, mode="r"))
        return self.factors[case]

    def _eigenvalue(self, group: list[int]) -> float:
        """The largest eigenvalue of the part of H of some cases."""
        rows = np.vstack([self._factor(case) for case in group])
        return round(float(np.linalg.norm(rows, 2)) ** 2, _DECIMALS)

    def _grown(self, case: int, most: int, limit: float) -> float:
        """The eigenvalue of the group that grows out of a case."""
        group, value = [case], self._eigenvalue([case])
        while len(group) < most and value < limit:
            missing = max((limit - value) / (most - len(group)), _LEAST)
            others = np.flatnonzero(self._traces >= missing * NEARLY)
            others = others[~np.isin(others, group)]
            if not len(others):
                break
            if self.sample.entities is None:
                own, rows = np.vstack([self._factor(one) for one in group]), self.rows(others)
                matrices = np.empty((len(others), len(own) + 1, len(own) + 1))
                matrices[:, :-1, :-1] = own @ own.T
                matrices[:, -1, :-1] = matrices[:, :-1, -1] = rows @ own.T
                matrices[:, -1, -1] = np.einsum("ij,ij->i", rows, rows)
                values = np.round(np.linalg.eigvalsh(matrices)[:, -1], _DECIMALS)
            else:
                values = np.array([self._eigenvalue([*group, int(other)]) for other in others])
            place = int(np.argmax(values))
            if values[place] <= value:
                break
            group, value = [*group, int(others[place])], float(values[place])
        return value
