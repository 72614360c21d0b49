"""Percentiles, and whether enough cases lie beyond them. CONFIDENTIAL.

In: the values of a group. Out: its percentiles as `summarize, detail` defines them. Only
the ranks that are asked for are looked up: to sort large data takes longer.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import FloatArray, IntArray
from discreet.output_checking.safe.threads import side_by_side
from discreet.output_checking.safe.units import LARGE

__all__ = ["Percentiles", "percentile", "ranked"]

#: Which values are on a side of another one.
_Side = Callable[[FloatArray, float], npt.NDArray[np.bool_]]
#: So many records are looked at first, whether they are of enough entities.
_SOME = 2**9


def percentile(values: FloatArray, share: float, weights: FloatArray | None = None) -> float:
    """A percentile of sorted values as `summarize, detail` defines it.

    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    if weights is None:
        low, high = _ranks(values.size, share)
        return _between(float(values[low]), float(values[high]))
    reached = np.cumsum(weights)
    goal = float(reached[-1]) * share
    upper = int(np.searchsorted(reached, goal, side="left"))
    close = abs(float(reached[min(upper, values.size - 1)]) - goal) <= 1e-12 * float(reached[-1])
    if close and upper + 1 < values.size:
        return float((values[upper] + values[upper + 1]) / 2)
    return float(values[min(upper, values.size - 1)])


def _ranks(n: int, share: float) -> tuple[int, int]:
    """The ranks between which a percentile of n values lies."""
    place = round(n * share, 9)
    upper = math.floor(place)
    if place == upper and 0 < upper < n:
        return upper - 1, upper
    return min(upper, n - 1), min(upper, n - 1)


def _between(low: float, high: float) -> float:
    return (low + high) / 2 if low != high else low


def ranked(values: FloatArray, ranks: Iterable[int]) -> dict[int, float]:
    """The values of some ranks.

    >>> ranked(np.array([30.0, 10.0, 20.0]), [0, 2])
    {2: 30.0, 0: 10.0}
    """
    found: dict[int, float] = {}
    work = [_Part(np.array(values), 0, sorted(set(ranks)))]
    while work := [part for part in work if part.ranks]:
        cuts = [part.cut for part in work]
        done = side_by_side(cuts) if values.size > LARGE else [cut() for cut in cuts]
        work = []
        for known, rest in done:
            found |= known
            work += rest
    return found


@dataclass(frozen=True, repr=False, eq=False)
class _Part:
    """Values between two ranks, and the ranks that are looked for among them (confidential)."""

    values: FloatArray
    start: int
    ranks: list[int]

    def cut(self) -> tuple[dict[int, float], list[_Part]]:
        """Find the middle rank; what is below and above it."""
        middle = len(self.ranks) // 2
        at, left = self.ranks[middle], self.ranks[:middle]
        place = at - self.start
        self.values.partition(place)
        found = {at: float(self.values[place])}
        if left and left[-1] == at - 1:
            found[left.pop()] = float(self.values[:place].max())
        above = _Part(self.values[place + 1 :], at + 1, self.ranks[middle + 1 :])
        return found, [_Part(self.values[:place], self.start, left), above]

    def __repr__(self) -> str:
        return "<Part: confidential>"


@dataclass(frozen=True, repr=False, eq=False)
class Percentiles:
    """Percentiles of a group (confidential).

    Args:
        whole: Its values.
        shares: The shares below the percentiles.
    """

    whole: Holding
    shares: tuple[float, ...]

    @cached_property
    def at(self) -> dict[float, float]:
        """The percentile of each share."""
        values, weights = self.whole.values, self.whole.weights
        if weights is not None:
            order = np.lexsort((weights, values))
            sums = weights[order]
            return {share: percentile(values[order], share, sums) for share in self.shares}
        ranks = {share: _ranks(values.size, share) for share in self.shares}
        known = ranked(values, (rank for pair in ranks.values() for rank in pair))
        return {share: _between(known[low], known[high]) for share, (low, high) in ranks.items()}

    def deep_enough(self, facts: Facts, share: float, limits: SafeLimits) -> bool:
        """Whether enough cases lie beyond: n·min(q, 1 − q) of at least the limit."""
        # 300 · 0.01 must be 3 and not a little less.
        if round(facts.cases * min(share, 1 - share), 9) < limits.percentile_cases:
            return False
        entities = self.whole.entities
        if entities is None:
            return True
        values, at, cases = self.whole.values, self.at[share], limits.percentile_cases
        below = share > 0.5 or _enough(values, operator.le, at, entities, cases)
        return below and (share < 0.5 or _enough(values, operator.ge, at, entities, cases))

    def __repr__(self) -> str:
        return "<Percentiles: confidential>"


def _enough(values: FloatArray, side: _Side, at: float, entities: IntArray, cases: int) -> bool:
    """Whether records on a side of a value are of so many entities."""
    for first in (_SOME, values.size):
        if np.unique(entities[:first][side(values[:first], at)]).size >= cases:
            return True
    return False
