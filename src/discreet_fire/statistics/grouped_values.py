"""`GroupedValues`: values of one variable with groups, entities and weights. CONFIDENTIAL.

In: values of records. Out: the `Facts` of each group, or of any union of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.statistics.contributions import EntityNumbers, contributions
from discreet_fire.statistics.disclosure_rules import MANY, Facts
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.sums import exact_sums, largest_of


@dataclass(frozen=True, repr=False, eq=False)
class GroupedValues:
    """Values of one variable, none missing, ready for rules (confidential).

    Codes are None if all are in one group, entities if each value is about another. `numbering`
    gives the entities numbered, where several variables share them.
    """

    values: FloatArray
    codes: IntArray | None
    groups: int
    entities: IntArray | None = None
    weights: FloatArray | None = None
    numbering: Callable[[], EntityNumbers] | None = None

    @classmethod
    def of(
        cls,
        values: FloatArray,
        codes: IntArray | None,
        groups: int,
        entities: IntArray | None = None,
        weights: FloatArray | None = None,
        numbering: Callable[[], EntityNumbers] | None = None,
    ) -> GroupedValues:
        """Leave out missing values, records without a weight and records in no group."""
        used = ~np.isnan(values)
        if codes is not None:
            used &= codes >= 0
        if weights is not None:
            used &= ~np.isnan(weights)
        grouped = cls(values, codes, groups, entities, weights, numbering)
        return grouped if used.all() else grouped._taken(used)

    def _taken(self, at: IntArray | BoolArray | slice) -> GroupedValues:
        """Some of the values."""
        return GroupedValues(
            values=self.values[at],
            codes=None if self.codes is None else self.codes[at],
            groups=self.groups,
            entities=None if self.entities is None else self.entities[at],
            weights=None if self.weights is None else self.weights[at],
        )

    @cached_property
    def _who(self) -> EntityNumbers:
        assert self.entities is not None
        return EntityNumbers.of(self.entities) if self.numbering is None else self.numbering()

    def facts(self, limits: SafeLimits) -> list[Facts]:
        """The facts of each group; where enough cases differ, it is not counted how many."""
        values, codes, weights = self.values, self.codes, self.weights
        if not values.size:
            return [Facts() for _ in range(self.groups)]
        if codes is None:
            count = np.array([values.size])
            low, high = np.array([values.min()]), np.array([values.max()])
        else:
            count = np.bincount(codes, minlength=self.groups)
            low, high = np.full(self.groups, np.inf), np.full(self.groups, -np.inf)
            np.minimum.at(low, codes, values)
            np.maximum.at(high, codes, values)
        start = np.where(count > 0, low, 0.0)
        total = count.astype(np.float64)
        if weights is not None:
            total = exact_sums(weights, codes, self.groups)
        # Of values far from 0 that lie close together, the mean alone would lose digits.
        shift = exact_sums(values, codes, self.groups, weights=weights, centres=start)
        shift /= np.where(total > 0, total, 1.0)
        squares = exact_sums(
            values, codes, self.groups, weights=weights, centres=start, shifts=shift, power=2
        )
        # Of just two values all cases share one or the other.
        inside = 0 if codes is None else codes
        between = (values > low[inside]) & (values < high[inside])
        several = largest_of(between.astype(np.float64), codes, self.groups) > 0
        starts = np.arange(values.size + 1)
        if self.entities is not None:
            starts, order = self._who.start, self._who.gathered
            values = order(values)
            codes = None if codes is None else order(codes)
            weights = None if weights is None else order(weights)
        amounts = values if weights is None else values * weights
        shares = contributions(values, amounts, codes, self.groups, starts, limits.minimum)
        columns = [count, shares.cases, total, low, high, start + shift, squares, *shares[1:4]]
        if weights is not None:
            loads = contributions(weights, weights, codes, self.groups, starts, 0)
            columns += [total, loads.first, loads.second]
        facts = []
        for at, (n, cases, *numbers) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            differing, held = MANY, 0
            if low[at] == high[at]:
                differing, held = 0, MANY
            elif n and shares.differing[at] < limits.minimum:
                differing = int(shares.differing[at])
                held = cases - differing if several[at] else MANY
            weight, least, most, mean, square, size, first, second, *heavy = numbers
            facts.append(
                Facts(
                    n=n, cases=cases, weight=weight, low=least, high=most, mean=mean,
                    squares=square, size=size, first=first, second=second, differing=differing,
                    held=held, heavy=(heavy[0], heavy[1], heavy[2]) if heavy else (0.0, 0.0, 0.0),
                ) if n else Facts()
            )  # fmt: skip
        return facts

    def total(self, limits: SafeLimits) -> Facts:
        """The facts of all groups together."""
        who = None if self.entities is None else lambda: self._who
        return replace(self, codes=None, groups=1, numbering=who).facts(limits)[0]

    def union(self, groups: Iterable[int], limits: SafeLimits) -> Facts:
        """The facts of a union of groups."""
        return self.part(groups).facts(limits)[0]

    def part(self, groups: Iterable[int]) -> GroupedValues:
        """The values of a union of groups, as one group."""
        groups = list(groups)
        whole = replace(self, codes=None, groups=1)
        if self.codes is None or len(groups) == self.groups:
            return whole
        order, start = self._order
        none = np.zeros(0, dtype=np.int64)
        return whole._taken(
            np.concatenate([none, *(order[start[at] : start[at + 1]] for at in groups)])
        )

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Positions of values sorted by group, and where each group begins."""
        assert self.codes is not None
        kind = np.uint16 if self.groups <= 2**16 else np.int64
        order = np.argsort(self.codes.astype(kind), kind="stable")
        count = np.bincount(self.codes, minlength=self.groups)
        return order, np.concatenate([[0], np.cumsum(count)]).astype(np.int64)

    @cached_property
    def ascending(self) -> FloatArray:
        """The values, sorted."""
        return np.sort(self.values)
