"""`Weighing`: the weights of records in groups. CONFIDENTIAL.

In: records with weights, the groups along a variable, rules. Out: sums of weights, and the
groups in which one or two cases have nearly all of the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.output_checking.safe.cases import count_of, sums_of_groups
from discreet.output_checking.safe.groups import Groups
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import concentrated
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import FloatArray, IntArray, Records
from discreet.output_checking.safe.units import SMALL

__all__ = ["Weighing"]

#: Per group: the sum of weights, the largest and the second largest of a case.
_Loads = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Weighing:
    """Weights along one variable (confidential).

    Args:
        records: The records.
        axis: The groups.
        limits: The rules.
    """

    records: Records
    axis: Groups
    limits: SafeLimits

    @cached_property
    def amounts(self) -> FloatArray:
        """Sums of weights per group; without weights, numbers of records."""
        groups = len(self.axis)
        if self.records.weights() is None:
            return count_of(self.axis.codes, groups, self.records.times).astype(np.float64)
        return sums_of_groups(*self._inside, groups) if self._alone is None else self._alone[0]

    @cached_property
    def heavy(self) -> frozenset[int]:
        """Groups in which one or two cases have nearly all of the weight."""
        weights = self.records.weights()
        if weights is None:
            return frozenset()
        loads = self._alone or self._facts(weights)
        return frozenset(
            at
            for at, (size, first, second) in enumerate(zip(*loads, strict=True))
            if concentrated(float(first), float(second), float(size), self.limits)
        )

    @cached_property
    def _alone(self) -> _Loads | None:
        """The loads in large data where each record is another case: all in one go."""
        weights, codes = self._inside
        if self.records.entity is not None or weights.size <= SMALL:
            return None
        from discreet.output_checking.safe.contributions import of_records

        count = np.zeros(len(self.axis), dtype=np.int64)
        found = of_records(weights, codes, count, enough=0)
        return found.size, found.first, found.second

    def _facts(self, weights: FloatArray) -> _Loads:
        who = self.records.entities()
        facts = Holding.of(weights, self.axis.codes, len(self.axis), who).facts(self.limits)
        size, first, second = (
            np.array([getattr(one, name) for one in facts]) for name in ("size", "first", "second")
        )
        return size, first, second

    @cached_property
    def _inside(self) -> tuple[FloatArray, IntArray]:
        """Weights and groups of the records that have both."""
        weights, codes = self.records.weights(), self.axis.codes
        assert weights is not None
        if self.axis.complete and self.records.all_weigh:
            return weights, codes
        inside = (codes >= 0) & ~np.isnan(weights)
        return weights[inside], codes[inside]

    def __repr__(self) -> str:
        return "<Weighing: confidential>"
