"""The facts of all groups of large data in a few passes. CONFIDENTIAL.

In: many values in the order of entities. Out: the same facts as group by group, without what only a
group of nearly equal values needs: for it, the caller looks at the group alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.disclosure_rules import MANY, Facts, is_clear
from discreet_fire.statistics.large.contributions import (
    EntityNumbers,
    Shares,
    contributions,
    of_entities,
    of_records,
    weighted_moments,
)
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.sum_kernels import extremes
from discreet_fire.statistics.sums import ends_of, scaled_sums

Alone = Callable[[int], Facts]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Ordered:
    """Values of records, with whom they are about (confidential).

    Args:
        values: Values, none missing.
        codes: The group of each; None if all are in one.
        weights: Weight of each value.
        start: Where the records of each entity start, and the last end, if they are in the
            order of entities.
        who: Whom each is about, in any order; of records in one group.
    """

    values: FloatArray
    codes: IntArray | None
    weights: FloatArray | None = None
    start: IntArray | None = None
    who: EntityNumbers | None = None

    def shares(
        self, values: FloatArray, count: IntArray, weights: FloatArray | None, enough: int
    ) -> Shares:
        """What each case contributes to each group by some values of the records."""
        if self.who is None and self.start is None:
            return of_records(values, self.codes, count, weights=weights, enough=enough)
        amounts = None if weights is None else values * weights
        if self.who is not None:
            return of_entities(values, self.who, amounts=amounts, enough=enough)
        assert self.start is not None
        return contributions(values, self.codes, count, self.start, amounts=amounts, enough=enough)

    def __repr__(self) -> str:
        return "<Ordered: confidential>"


def facts_of(ordered: Ordered, groups: int, limits: SafeLimits, alone: Alone) -> list[Facts]:
    """The facts of each group.

    Args:
        ordered: The values.
        groups: How many groups there are.
        limits: The rules.
        alone: Gives the exact facts of a group.
    """
    values, codes, weights = ordered.values, ordered.codes, ordered.weights
    count, low, high = _ends(values, codes, groups)
    shares = ordered.shares(values, count, weights, limits.minimum)
    if weights is None:
        size, mean, squares = _moments(values, codes, count, low, high)
        heavy = np.zeros((groups, 3))
    else:
        loads = ordered.shares(weights, count, None, 0)
        # Weights of entities are rounded, those of records are not.
        total = loads.size if ordered.who is None and ordered.start is None else None
        size, mean, squares = weighted_moments(values, weights, codes, low, total)
        heavy = np.stack([size, loads.first, loads.second], axis=1)
    found = [
        Facts(
            n=n,
            weight=float(size[at]),
            low=float(low[at]),
            high=float(high[at]),
            mean=float(mean[at]),
            squares=float(squares[at]),
            heavy=(float(heavy[at, 0]), float(heavy[at, 1]), float(heavy[at, 2])),
        )
        if n
        else Facts()
        for at, n in enumerate(count.tolist())
    ]
    return _filled(found, shares, limits, alone)


def looked_closer(
    ordered: Ordered, found: Sequence[Facts], limits: SafeLimits, alone: Alone
) -> list[Facts]:
    """Facts of groups whose records are all of other cases, where bounds do not suffice."""
    if all(is_clear(facts, limits) for facts in found if facts.n):
        return list(found)
    count = np.array([facts.n for facts in found], dtype=np.int64)
    shares = ordered.shares(ordered.values, count, None, limits.minimum)
    return _filled(found, shares, limits, alone)


def _filled(
    found: Sequence[Facts], shares: Shares, limits: SafeLimits, alone: Alone
) -> list[Facts]:
    """Facts with contributions, and with how many cases differ where these are few."""
    filled = []
    for at, facts in enumerate(found):
        if not facts.n:
            filled.append(facts)
            continue
        one = replace(
            facts,
            cases=int(shares.cases[at]),
            size=float(shares.size[at]),
            first=float(shares.first[at]),
            second=float(shares.second[at]),
        )
        if facts.low < facts.high and shares.differing[at] < limits.minimum:
            exact = alone(at)
            one = replace(one, differing=exact.differing, held=exact.held)
        elif facts.low == facts.high:
            one = replace(one, differing=0, held=MANY)
        filled.append(one)
    return filled


def _ends(
    values: FloatArray, codes: IntArray | None, groups: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    if codes is not None:
        return extremes(values, codes, groups)
    low, high = ends_of(values)
    return np.array([values.size]), np.array([low]), np.array([high])


def _moments(
    values: FloatArray, codes: IntArray | None, count: IntArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Number of values, mean, sum of squared deviations of each group."""
    sums = scaled_sums(values, codes, low, high)
    numbers = [
        (sums.mean(at, n), sums.squares(at, n) if low[at] < high[at] else 0.0) if n else (0.0, 0.0)
        for at, n in enumerate(count.tolist())
    ]
    mean, squares = (np.array(column) for column in zip(*numbers, strict=True))
    return count.astype(np.float64), mean, squares
