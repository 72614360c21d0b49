"""Deviations that tell the value of a case together with the mean. CONFIDENTIAL until applied.

In: the facts and values of groups. Out: groups whose deviations are withheld. Where one case
lies far from all others, the squared deviations of all others are next to nothing. It is the
hat value of the case in a regression on the variable, so the limit is that of leverage. And
of three cases, mean and deviation can be solved for the values by one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import free_statistics
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.sums import exact_sum

__all__ = ["HiddenSpreads", "is_few", "is_lonely", "spreads_to_hide"]

#: An entity of more records than this is not looked for, nor a weight of more times the mean.
_MOST = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenSpreads:
    """Whose deviations are withheld (confidential until applied).

    Args:
        groups: For each such group, the rule.
        total: The rule for all groups together; empty if theirs may be shown.
    """

    groups: dict[int, str] = field(default_factory=dict)
    total: str = ""


def is_lonely(facts: Facts, part: Callable[[], Holding], limits: SafeLimits) -> bool:
    """Whether one case makes up nearly all of the squared deviations.

    Args:
        facts: The facts of the group.
        part: Gives its values, where entities or weights make them needed.
        limits: The rules.

    >>> import numpy as np
    >>> far = Holding.of(np.array([10.0] * 20 + [10.1] * 20 + [90.0]), None, 1)
    >>> near = Holding.of(np.array([10.0] * 20 + [10.1] * 20 + [10.9]), None, 1)
    >>> [is_lonely(one.whole, lambda: one, SafeLimits()) for one in (far, near)]
    [True, False]
    """
    if facts.n < 2 or not facts.squares > 0:
        return False
    return 1 / facts.n + _largest(facts, part, limits) / facts.squares > limits.leverage


def _largest(facts: Facts, part: Callable[[], Holding], limits: SafeLimits) -> float:
    """The largest share of a case in the squared deviations."""
    end = max(facts.high - facts.mean, facts.mean - facts.low)
    usual = end * end * facts.weight / facts.n
    alone = facts.cases == facts.n and not facts.heavy[0]
    if alone or usual * _MOST < limits.leverage * facts.squares:
        return usual
    whole = part()
    squares = (whole.values - facts.mean) ** 2
    squares = squares if whole.weights is None else squares * whole.weights
    first = int(squares.argmax())
    if whole.entities is None:
        return float(squares[first])
    # Nobody without the largest one can have nearly all.
    return exact_sum(squares[whole.entities == whole.entities[first]])


def is_few(facts: Facts, needed: int, limits: SafeLimits) -> bool:
    """Whether a mean and so many other statistics could be solved for the values.

    >>> [is_few(Facts(n=n, cases=n), 2, SafeLimits()) for n in (0, 3, 4)]
    [False, True, False]
    """
    return facts.cases > 0 and free_statistics(facts.cases, limits) < needed


def spreads_to_hide(
    facts: Sequence[Facts],
    limits: SafeLimits,
    *,
    part: Callable[[Sequence[int]], Holding],
    hidden: Collection[int],
    total: Facts | None,
    needed: int = 2,
) -> HiddenSpreads:
    """The groups whose deviations are withheld, and with them those of others.

    Deviations of all groups follow from those of the total, less those that are shown, as the
    means are known: withheld ones are added up until they tell nothing together.

    Args:
        facts: The facts of each group.
        limits: The rules.
        part: Gives the values of some groups.
        hidden: Groups whose means are withheld already.
        total: The facts of all groups together, if their deviations are shown.
        needed: How many statistics are asked for that add up, the mean included.
    """
    there = [at for at, one in enumerate(facts) if one.n and at not in hidden]
    lonely = [at for at in there if is_lonely(facts[at], partial(part, [at]), limits)]
    rules = dict.fromkeys(lonely, "leverage")
    if total is None:
        return HiddenSpreads(groups=rules)
    few = [at for at in there if is_few(facts[at], needed, limits)]
    rules = dict.fromkeys(few, "equations") | rules
    if is_lonely(total, partial(part, range(len(facts))), limits):
        if not rules and not hidden and there:
            # All deviations between and within groups would add up to the withheld one.
            rules[max(there, key=lambda at: (facts[at].squares, -at))] = "secondary"
        return HiddenSpreads(groups=rules, total="leverage")
    if not rules:
        return HiddenSpreads()
    largest = [(1 / facts[at].n, _largest(facts[at], partial(part, [at]), limits)) for at in lonely]
    closed = {*rules, *(at for at in hidden if facts[at].n)}
    order = sorted((at for at in there if at not in closed), key=lambda at: (facts[at].cases, at))

    def tells() -> bool:
        """Whether the withheld deviations together tell what each may not."""
        squares = math.fsum(facts[at].squares for at in closed)
        cases = sum(facts[at].cases for at in closed)
        solved = free_statistics(cases, limits) < len(closed) + needed - 1
        return (
            len(closed) < 2
            or solved
            or any(own + square / squares > limits.leverage for own, square in largest)
        )

    while tells():
        if not order:
            return HiddenSpreads(groups=rules, total="secondary")
        rules[order[0]] = "secondary"
        closed.add(order.pop(0))
    return HiddenSpreads(groups=rules)
