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
import numpy.typing as npt

from discreet.arrays import FloatArray
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import revealed_outcomes
from discreet_fire.statistics.models.design import ModelDesign, Partition
from discreet_fire.statistics.models.least_squares import LeastSquaresSolution
from discreet_fire.statistics.models.revealed_outcomes import NEARLY, hats, reach
from discreet_fire.statistics.models.sample import Sample
from discreet_fire.statistics.parallel import side_by_side
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
            counts = revealed_outcomes.case_counts(partition, self.sample, minimum)
            self.evidence.setdefault("cases", {})[partition.text] = counts
            if ((counts > 0) & (counts < minimum)).any():
                found.append(partition.text)
        numbers = self._numbers()
        few = side_by_side(
            [
                partial(revealed_outcomes.few_apart, values, self.sample, minimum)
                for _, values in numbers
            ]
        )
        found += [name for (name, _), apart in zip(numbers, few, strict=True) if apart]
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
            self._one(
                "clusters", CheckVerdict.fail if few else CheckVerdict.passed, "too few clusters"
            )

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
        found = reach(
            hats(self.design, solution, weights),
            self.sample.entities,
            limits.minimum,
            limits.leverage,
        )
        self.evidence["leverage"] = max(
            found.single, found.group, self.evidence.get("leverage", 0.0)
        )
        self.evidence["leverage_rows"] = found.members
        if max(found.single, found.group) >= limits.leverage:
            verdict, reason = (
                CheckVerdict.fail,
                "the coefficients give away outcomes of single cases",
            )
        elif found.single >= _REVIEW_LEVERAGE or found.group >= NEARLY * limits.leverage:
            verdict, reason = CheckVerdict.review, "the coefficients follow single cases closely"
        else:
            verdict, reason = CheckVerdict.passed, ""
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
        own = (
            squares[first : first + 1] if entities is None else squares[entities == entities[first]]
        )
        total = solution.residual
        share = exact_sum(own) / total + 1 / squares.size if total > 0.0 else 0.0
        self.evidence["largest_residual"] = share
        verdict = CheckVerdict.fail if share > self.limits.leverage else CheckVerdict.passed
        self._one("residuals", verdict, "one case makes up nearly all of the residuals")

    def totals(self, rank: int) -> None:
        """Rules of means, for groups whose means or totals the coefficients give."""
        only, known = self._determined(rank)
        broken = CheckVerdict.fail if only else CheckVerdict.review
        two = _two_values(self.sample.outcome)
        found: dict[str, list[str]] = {"dominance": [], "same-outcome": [], "few-outcomes": []}
        several = side_by_side([partial(self._broken, partition, two) for partition in known])
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

    def _broken(
        self, partition: Partition, two: npt.NDArray[np.int64] | None
    ) -> tuple[list[str], bool]:
        """Rules of means that a group breaks, and whether one has too few cases."""
        minimum, rules = self.limits.minimum, []
        counts = revealed_outcomes.case_counts(partition, self.sample, minimum)
        if two is None and revealed_outcomes.dominated(partition, self.sample, self.limits).any():
            rules.append("dominance")
        if (revealed_outcomes.all_alike(partition, self.sample.outcome) & (counts > 0)).any():
            rules.append("same-outcome")
        if two is not None and self._few_of_two(partition, two):
            rules.append("few-outcomes")
        return rules, bool(((counts > 0) & (counts < minimum)).any())

    def _determined(self, rank: int) -> tuple[bool, list[Partition]]:
        """Whether all columns are indicators; the groups whose totals follow."""
        counted = sum(1 for column in self.design.estimated if _pure(column, self.design))
        only = counted == len(self.design.estimated)
        known = [*self.design.partitions, revealed_outcomes.whole_sample(self.sample)]
        if not only:
            return False, known
        cells = revealed_outcomes.patterns(self.design)
        if cells.cells > rank:
            return True, known
        reason = "the coefficients are differences of means of groups: check it like a table"
        self.note("group-means", CheckVerdict.review, reason)
        return True, [cells]

    def _few_of_two(self, partition: Partition, two: npt.NDArray[np.int64]) -> bool:
        cells = Partition(
            text=partition.text, codes=partition.codes * 2 + two, cells=partition.cells * 2
        )
        counts = revealed_outcomes.case_counts(cells, self.sample, self.limits.minimum)
        return bool(((counts > 0) & (counts < self.limits.minimum)).any())

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


def _pure(column: Any, design: ModelDesign) -> bool:
    """Whether a column is an indicator."""
    if not column.numbers:
        return True
    return any(part.text == column.label for part in design.partitions)


def _two_values(outcome: FloatArray) -> npt.NDArray[np.int64] | None:
    """Which of two values each outcome has; None if there are more."""
    low, high = outcome.min(), outcome.max()
    upper = outcome == high
    return upper.astype(np.int64) if np.all(upper | (outcome == low)) else None
