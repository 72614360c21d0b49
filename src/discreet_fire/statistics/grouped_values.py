"""`GroupedValues`: values of one variable with groups, entities and weights. CONFIDENTIAL.

In: values of records. Out: the `Facts` of each group, or of any union of groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.statistics.disclosure_rules import MANY, Facts, is_clear
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.parallel import SMALL
from discreet_fire.statistics.sums import ends_of, exact_sum, group_sums, scaled_sums

if TYPE_CHECKING:
    from discreet_fire.statistics.large.contributions import EntityNumbers, Ordered


@dataclass(frozen=True, repr=False, eq=False)
class GroupedValues:
    """Values of one variable, none missing, ready for rules (confidential).

    Codes are None if all are in one group, entities if each value is about another. `ends` are the
    smallest and the largest value, if known; `numbering` gives the entities numbered, where several
    variables share them.
    """

    values: FloatArray
    codes: IntArray | None
    groups: int
    entities: IntArray | None = None
    weights: FloatArray | None = None
    ends: tuple[float, float] | None = None
    numbering: Callable[[], EntityNumbers] | None = None

    @classmethod
    def of(
        cls,
        values: FloatArray,
        codes: IntArray | None,
        groups: int,
        entities: IntArray | None = None,
        weights: FloatArray | None = None,
        ends: tuple[float, float] | None = None,
        numbering: Callable[[], EntityNumbers] | None = None,
    ) -> GroupedValues:
        """Leave out missing values, records without a weight and records in no group."""
        used = None
        if ends is None and values.size:
            ends = ends_of(values)
        if ends is not None and math.isnan(ends[0]):
            used = ~np.isnan(values)
        if codes is not None and codes.size and int(codes.min()) < 0:
            used = (codes >= 0) if used is None else used & (codes >= 0)
        if weights is not None and weights.size and math.isnan(ends_of(weights)[0]):
            used = ~np.isnan(weights) if used is None else used & ~np.isnan(weights)
        grouped = cls(values, codes, groups, entities, weights, ends, numbering)
        return grouped if used is None else grouped._taken(used)

    def _taken(self, at: IntArray | BoolArray | slice) -> GroupedValues:
        """Some of the values."""
        return GroupedValues(
            values=self.values[at],
            codes=None if self.codes is None else self.codes[at],
            groups=self.groups,
            entities=None if self.entities is None else self.entities[at],
            weights=None if self.weights is None else self.weights[at],
        )

    def facts(self, limits: SafeLimits) -> list[Facts]:
        """The facts of each group."""
        if not self.values.size:
            return [Facts() for _ in range(self.groups)]
        simple = self.entities is None and self.weights is None
        if self.values.size > SMALL:
            from discreet_fire.statistics.large import contributions as large

            if simple:
                screened = self._screened()
                return large.looked_closer(self.ordered, screened, limits, self._alone)
            return large.facts_of(self.ordered, self.groups, limits, self._alone)
        if not simple:
            return [self.part([group]).whole for group in range(self.groups)]
        return [
            self.part([group]).whole if facts.n and not is_clear(facts, limits) else facts
            for group, facts in enumerate(self._screened())
        ]

    def _alone(self, group: int) -> Facts:
        """The exact facts of a group."""
        return self.whole if self.codes is None else self.part([group]).whole

    @cached_property
    def ordered(self) -> Ordered:
        """The values; where there are groups, in the order of entities."""
        from discreet_fire.statistics.large.contributions import EntityNumbers, Ordered

        if self.entities is None:
            return Ordered(values=self.values, codes=self.codes, weights=self.weights)
        who = EntityNumbers.of(self.entities) if self.numbering is None else self.numbering()
        if self.codes is None:
            return Ordered(values=self.values, codes=None, weights=self.weights, who=who)
        sorting = who.sorting
        return Ordered(
            values=sorting.gathered(self.values),
            codes=sorting.gathered(self.codes),
            weights=None if self.weights is None else sorting.gathered(self.weights),
            start=sorting.start,
        )

    def total(self, limits: SafeLimits) -> Facts:
        """The facts of all groups together."""
        if self.codes is None:
            return self.facts(limits)[0]
        if self.values.size > SMALL and not (self.entities is None and self.weights is None):
            from discreet_fire.statistics.large.contributions import facts_of

            together = replace(self.ordered, codes=None)
            return facts_of(together, 1, limits, lambda _: self.whole)[0]
        return replace(self, codes=None, groups=1).facts(limits)[0]

    def _screened(self) -> list[Facts]:
        """Facts of all groups in few passes, without what only close cases need."""
        codes = np.zeros(0, dtype=np.int64) if self.codes is None else self.codes
        ends = self.ends or (float(self.values.min()), float(self.values.max()))
        count: IntArray
        if self.codes is None:
            count, low, high = np.array([self.values.size]), *(np.array([end]) for end in ends)
        elif self.values.size > SMALL:
            from discreet_fire.statistics import sum_kernels

            count, low, high = sum_kernels.extremes(self.values, codes, self.groups)
        else:
            count = np.bincount(codes, minlength=self.groups)
            low, high = np.full(self.groups, np.inf), np.full(self.groups, -np.inf)
            np.minimum.at(low, codes, self.values)
            np.maximum.at(high, codes, self.values)
        sums = scaled_sums(self.values, self.codes, low, high)
        mixed = ends[0] < 0 < ends[1]
        sizes = group_sums(np.abs(self.values), self.codes, self.groups) if mixed else None
        ranges = zip(count.tolist(), low.tolist(), high.tolist(), strict=True)
        return [
            Facts(
                n=n,
                cases=n,
                weight=float(n),
                low=smallest,
                high=largest,
                mean=(mean := sums.mean(group, n)),
                squares=sums.squares(group, n) if smallest < largest else 0.0,
                size=abs(mean * n) if sizes is None else float(sizes[group]),
                first=max(abs(smallest), abs(largest)),
            )
            if n
            else Facts()
            for group, (n, smallest, largest) in enumerate(ranges)
        ]

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Positions of values sorted by group, and where each group begins."""
        codes = self.codes
        if codes is None:
            return np.arange(self.values.size), np.array([0, self.values.size])
        if self.values.size > SMALL:
            from discreet_fire.statistics.large.contributions import EntityOrder

            sorting = EntityOrder.by(codes, self.groups)
            return sorting.order, sorting.start
        kind = np.uint16 if self.groups <= 2**16 else np.int64
        order = np.argsort(codes.astype(kind), kind="stable").astype(np.int64)
        count = np.bincount(codes, minlength=self.groups)
        return order, np.concatenate([[0], np.cumsum(count)]).astype(np.int64)

    def part(self, groups: Iterable[int]) -> GroupedValues:
        """The values of a union of groups, as one group."""
        groups = list(groups)
        if self.codes is None or len(groups) == self.groups:
            at: IntArray | slice = slice(None)
        else:
            order, start = self._order
            chosen = [order[start[group] : start[group + 1]] for group in groups]
            none = np.zeros(0, dtype=np.int64)
            at = chosen[0] if len(chosen) == 1 else np.concatenate([none, *chosen])
        return replace(self, codes=None, groups=1)._taken(at)

    def union(self, groups: Iterable[int], limits: SafeLimits) -> Facts:
        """The facts of a union of groups."""
        part = self.part(groups)
        return part.facts(limits)[0] if part.values.size > SMALL else part.whole

    @cached_property
    def whole(self) -> Facts:
        """The exact facts of all values together."""
        if not self.values.size:
            return Facts()
        weights = np.ones(self.values.size) if self.weights is None else self.weights
        # Per entity, its net contribution and its weight, whatever the order of records.
        net, load = self.values if self.weights is None else self.values * weights, weights
        if self._who is not None:
            many = int(self._who.max()) + 1
            net = group_sums(net, self._who, many)
            load = net if self.weights is None else group_sums(weights, self._who, many)
        common, distinct = _commonest(self.ascending)
        others = self.values != common
        if self._who is None:
            differing = int(others.sum())
        else:
            differing = int(np.count_nonzero(np.bincount(self._who[others])))
        first, second = _largest(net)
        moments = self._moments(weights)
        return Facts(
            n=self.values.size,
            cases=len(net),
            weight=moments[0],
            low=float(self.values.min()),
            high=float(self.values.max()),
            mean=moments[1],
            squares=moments[2],
            size=exact_sum(np.abs(net)),
            first=first,
            second=second,
            differing=differing,
            held=len(net) - differing if distinct > 2 else MANY,
            heavy=(moments[0], *_largest(load)) if self.weights is not None else (0.0, 0.0, 0.0),
        )

    @cached_property
    def ascending(self) -> FloatArray:
        """The values, sorted."""
        return np.sort(self.values)

    @cached_property
    def _who(self) -> IntArray | None:
        """Entities numbered from 0, none left out."""
        if self.entities is None:
            return None
        if self.entities.size > SMALL:
            from discreet_fire.statistics.large.contributions import numbered

            return numbered(np.ascontiguousarray(self.entities))[0]
        return np.unique(self.entities, return_inverse=True)[1].astype(np.int64)

    def _moments(self, weights: FloatArray) -> tuple[float, float, float]:
        """Sum of weights, mean, sum of squared deviations."""
        low, high = float(self.values.min()), float(self.values.max())
        if self.weights is None:
            sums = scaled_sums(self.values, None, np.array([low]), np.array([high]))
            n = self.values.size
            return float(n), sums.mean(0, n), sums.squares(0, n) if low < high else 0.0
        total = exact_sum(weights)
        mean = exact_sum(weights * (self.values - low)) / total + low
        return total, mean, exact_sum(weights * (self.values - mean) ** 2)


def _commonest(ascending: FloatArray) -> tuple[float, int]:
    """The commonest value (the smallest of several) and how many different ones there are."""
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    count = np.diff(first, append=ascending.size)
    return float(ascending[first[int(np.argmax(count))]]), len(first)


def _largest(amounts: FloatArray) -> tuple[float, float]:
    """The largest and the second largest in size."""
    sizes = np.abs(amounts)
    if sizes.size < 2:
        return float(sizes[0]), 0.0
    second, first = np.partition(sizes, sizes.size - 2)[-2:]
    return float(first), float(second)
