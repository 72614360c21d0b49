"""The facts of all groups of large data in a few passes. CONFIDENTIAL.

In: many values in the order of entities. Out: the same facts as group by group, without what only a
group of nearly equal values needs: for it, the caller looks at the group alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.output_checking.safe.compiled_sums import extremes
from discreet.output_checking.safe.contributions import (
    Shares,
    Sorting,
    contributions,
    exact_sums,
)
from discreet.output_checking.safe.facts import MANY, Facts, is_clear
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import FloatArray, IntArray
from discreet.output_checking.safe.sums import scaled_sums

__all__ = ["Ordered", "Sorting", "facts_of", "looked_closer"]

Alone = Callable[[int], Facts]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Ordered:
    """Values in the order of entities, if there are any (confidential).

    Args:
        values: Values, none missing.
        codes: The group of each; None if all are in one.
        weights: Weight of each value.
        start: Where the records of each entity start, and the last end.
    """

    values: FloatArray
    codes: IntArray | None
    weights: FloatArray | None = None
    start: IntArray | None = None

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
    amounts = None if weights is None else values * weights
    shares = contributions(
        *(values, codes, count),
        amounts=amounts,
        start=ordered.start,
        enough=limits.minimum,
    )
    if weights is None:
        size, mean, squares = _moments(values, codes, count, low, high)
        heavy = np.zeros((groups, 3))
    else:
        size, mean, squares = _weighted(values, weights, codes, low)
        loads = contributions(weights, codes, count, start=ordered.start, enough=0)
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
    shares = contributions(ordered.values, ordered.codes, count, enough=limits.minimum)
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
    return np.array([values.size]), np.array([values.min()]), np.array([values.max()])


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


def _weighted(
    values: FloatArray, weights: FloatArray, codes: IntArray | None, low: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum of weights, mean, sum of squared deviations of each group."""
    groups = low.size
    place: IntArray | int = 0 if codes is None else codes
    total = exact_sums(weights, codes, groups)
    divisor = np.where(total > 0, total, 1.0)
    start = np.where(np.isfinite(low), low, 0.0)
    mean = exact_sums(weights * (values - start[place]), codes, groups) / divisor + start
    return total, mean, exact_sums(weights * (values - mean[place]) ** 2, codes, groups)
