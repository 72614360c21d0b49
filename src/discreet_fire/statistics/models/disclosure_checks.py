"""The rules of models: what is checked before a table of coefficients is shown.

In: sample, design, solved model, limits. Out: checks in words that quote no value, and the
evidence behind them. CONFIDENTIAL until reduced to checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.design import ModelDesign, Partition, upper_of_two
from discreet_fire.statistics.models.least_squares import LeastSquaresSolution
from discreet_fire.statistics.models.revealed_outcomes import (
    NEARLY,
    Hats,
    all_alike,
    case_counts,
    dominated,
    few_apart,
    patterns,
    reach,
)
from discreet_fire.statistics.models.sample import Sample
from discreet_fire.statistics.parallel import in_parts
from discreet_fire.statistics.results import Check, CheckVerdict, worst
from discreet_fire.statistics.sums import exact_sum

#: One case that follows the fit this closely is looked at by a person.
_REVIEW_LEVERAGE = 0.5
#: A residual share below these reveals, or is looked at by a person.
_EXACT_FIT, _NEAR_FIT = 1e-6, 1e-3


@dataclass(kw_only=True, repr=False, eq=False)
class ModelChecks:
    """Collects checks and evidence of one model.

    Args:
        sample: The estimation sample.
        design: Its columns.
        limits: The rules.
    """

    sample: Sample
    design: ModelDesign
    limits: SafeLimits
    checks: list[Check] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)

    def note(self, rule: str, verdict: CheckVerdict, reason: str, where: str = "") -> None:
        """Add what was found, once; that a rule holds only if nothing breaks it."""
        known = [check for check in self.checks if check.rule == rule]
        if verdict is CheckVerdict.passed and known:
            return
        check = Check(rule=rule, verdict=verdict, reason=reason, where=where)
        for other in known:
            if other.verdict is CheckVerdict.passed:
                self.checks.remove(other)
        if check not in self.checks:
            self.checks.append(check)

    def failed(self) -> bool:
        """Whether a rule is broken."""
        return worst(self.checks) is CheckVerdict.fail

    def cases(self) -> None:
        """Cases in all, in every cell of every term, and apart from the commonest value."""
        minimum, found = self.limits.minimum, []
        if self.sample.cases < minimum:
            found.append("the estimation sample")
        for partition in self.design.partitions:
            counts = case_counts(partition, self.sample, minimum)
            self.evidence.setdefault("cases", {})[partition.text] = counts
            if _few_in_one(counts, minimum):
                found.append(partition.text)
        names, columns = zip(*self._numbers(), strict=True)
        few = in_parts(partial(few_apart, sample=self.sample, minimum=minimum), columns)
        found += [name for name, apart in zip(names, few, strict=True) if apart]
        found = list(dict.fromkeys(found))
        self._all("minimum-cases", found, "too few cases have this level or differ from the rest")
        for partition in self.design.partitions:
            if partition.cells > self.limits.most_levels:
                reason = "the variable has many levels; a person has to look at it"
                self.note("many-levels", CheckVerdict.review, reason, partition.text)

    def _numbers(self) -> list[tuple[str, FloatArray]]:
        """Columns of numbers and the variables behind them, each once, and the outcome."""
        known: dict[int, tuple[str, FloatArray]] = {}
        for column in self.design.estimated:
            if column.numbers:
                alone = column.cells is None and len(column.numbers) == 1
                values = column.numbers[0] if alone else column.values(slice(0, self.design.size))
                known.setdefault(id(values), (self.design.terms[column.term].text, values))
        for name, values in self.sample.numbers.items():
            known.setdefault(id(values), (name, values))
        return [*known.values(), ("the outcome", self.sample.outcome)]

    def left_out(self) -> None:
        """Few cases without a value can be told by difference from another model."""
        self.evidence["left_out"] = self.sample.left_out
        few = 0 < self.sample.left_out < self.limits.minimum
        reason = "few cases are left out; another model with them shows them by difference"
        self._one("left-out", CheckVerdict.review if few else CheckVerdict.passed, reason)

    def clusters(self) -> None:
        """Clusters are counted in the output."""
        if self.sample.clusters is not None:
            few = int(self.sample.clusters.max()) + 1 < max(2, self.limits.minimum)
            verdict = CheckVerdict.fail if few else CheckVerdict.passed
            self._one("clusters", verdict, "too few clusters")

    def freedom(self, residual_df: int, rank: int) -> None:
        """Residual degrees of freedom."""
        self.evidence["residual_df"] = residual_df
        few = residual_df < self.limits.residual_df
        reason = "too few residual degrees of freedom"
        self._one("residual-df", CheckVerdict.fail if few else CheckVerdict.passed, reason)
        if self.sample.entities is not None and self.sample.cases - rank < self.limits.residual_df:
            reason = "hardly more entities than coefficients, though more rows"
            self.note("residual-df", CheckVerdict.review, reason)

    def leverage(self, solution: LeastSquaresSolution, weights: FloatArray | None) -> None:
        """Cases, and groups of too few, whose outcomes the fit follows."""
        limits = self.limits
        hats, entities = Hats(self.design, solution, weights), self.sample.entities
        single, group, members = reach(hats, entities, limits.minimum, limits.leverage)
        self.evidence["leverage"] = max(single, group, self.evidence.get("leverage", 0.0))
        self.evidence["leverage_rows"] = members
        verdict, reason = CheckVerdict.passed, ""
        if max(single, group) >= limits.leverage:
            verdict = CheckVerdict.fail
            reason = "the coefficients give away outcomes of single cases"
        elif single >= _REVIEW_LEVERAGE or group >= NEARLY * limits.leverage:
            verdict, reason = CheckVerdict.review, "the coefficients follow single cases closely"
        self._one("leverage", verdict, reason)

    def fit(self, solution: LeastSquaresSolution) -> None:
        """A fit without residuals gives every outcome away."""
        share = solution.residual / solution.total if solution.total > 0.0 else 0.0
        self.evidence["residual_share"] = share
        verdict = CheckVerdict.passed
        if share < _NEAR_FIT:
            verdict = CheckVerdict.fail if share < _EXACT_FIT else CheckVerdict.review
        self._one("exact-fit", verdict, "the outcome follows (nearly) exactly from the variables")

    def residuals(
        self, residuals: FloatArray, solution: LeastSquaresSolution, weights: FloatArray | None
    ) -> None:
        """One residual that is nearly all of their sum of squares follows from it."""
        squares = np.square(residuals)
        if weights is not None:
            squares *= weights
        first, entities = int(squares.argmax()), self.sample.entities
        # Nobody without the largest one can have nearly all.
        own = slice(first, first + 1) if entities is None else entities == entities[first]
        total = solution.residual
        share = exact_sum(squares[own]) / total + 1 / squares.size if total > 0.0 else 0.0
        self.evidence["largest_residual"] = share
        verdict = CheckVerdict.fail if share > self.limits.leverage else CheckVerdict.passed
        self._one("residuals", verdict, "one case makes up nearly all of the residuals")

    def totals(self, rank: int) -> None:
        """Rules of means, for groups whose means or totals the coefficients give."""
        only, known = self._determined(rank)
        broken = CheckVerdict.fail if only else CheckVerdict.review
        two = upper_of_two(self.sample.outcome)
        found: dict[str, list[str]] = {"dominance": [], "same-outcome": [], "few-outcomes": []}
        several = in_parts(partial(self._broken, two=two), known)
        for partition, (rules, few) in zip(known, several, strict=True):
            for rule in rules:
                found[rule].append(partition.text)
            if only and few:
                self._all("minimum-cases", [partition.text], "too few cases in a combination")
        reasons = {
            "dominance": "one or two cases make up nearly all of the total of a group",
            "same-outcome": "all cases of a group have the same outcome",
            "few-outcomes": "too few cases of a group have one of the two outcomes",
        }
        for rule, places in found.items():
            self._all(rule, places, reasons[rule], broken)

    def _broken(self, partition: Partition, two: IntArray | None) -> tuple[list[str], bool]:
        """Rules of means that a group breaks, and whether one has too few cases."""
        minimum, rules = self.limits.minimum, []
        counts = case_counts(partition, self.sample, minimum)
        if two is None and dominated(partition, self.sample, self.limits).any():
            rules.append("dominance")
        if (all_alike(partition, self.sample.outcome) & (counts > 0)).any():
            rules.append("same-outcome")
        if two is not None:
            codes, cells = partition.codes * 2 + two, partition.cells * 2
            halves = Partition(text=partition.text, codes=codes, cells=cells)
            if _few_in_one(case_counts(halves, self.sample, minimum), minimum):
                rules.append("few-outcomes")
        return rules, _few_in_one(counts, minimum)

    def _determined(self, rank: int) -> tuple[bool, list[Partition]]:
        """Whether all columns are indicators; the groups whose totals follow."""
        indicators = {part.text for part in self.design.partitions}
        # All cases are one cell, whose total the constant gives.
        everyone = np.zeros(len(self.sample), np.int64)
        known = [*self.design.partitions, Partition(text="_cons", codes=everyone, cells=1)]
        if any(one.numbers and one.label not in indicators for one in self.design.estimated):
            return False, known
        cells = patterns(self.design)
        if cells.cells > rank:
            return True, known
        reason = "the coefficients are differences of means of groups: check it like a table"
        self.note("group-means", CheckVerdict.review, reason)
        return True, [cells]

    def _all(
        self,
        rule: str,
        places: Iterable[str],
        reason: str,
        verdict: CheckVerdict = CheckVerdict.fail,
    ) -> None:
        found = list(places)
        for place in found:
            self.note(rule, verdict, reason, place)
        if not found:
            self.note(rule, CheckVerdict.passed, "holds")

    def _one(self, rule: str, verdict: CheckVerdict, reason: str) -> None:
        self.note(rule, verdict, "holds" if verdict is CheckVerdict.passed else reason)


def _few_in_one(counts: IntArray, minimum: int) -> bool:
    """Whether a cell has cases, but too few."""
    return bool(((counts > 0) & (counts < minimum)).any())
