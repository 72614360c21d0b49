"""Secondary suppression among groups that add up to a known total. CONFIDENTIAL until applied.

In: the facts and values of groups, one or several variables. Out: which groups are withheld so
that nothing about them follows from the total less the others, and whose deviations are. What
an attacker can work out is the union of all withheld groups, so the union is held against the
same rules – by which not even one of its two largest contributors can work out the other. Where
one case lies far from all others, the deviation tells its value together with the mean: the
limit is that of leverage. And of three cases, mean and deviation can be solved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from discreet.arrays import FloatArray
from discreet_fire.statistics.disclosure_rules import Facts, broken, free_statistics
from discreet_fire.statistics.grouped_values import GroupedValues, exact_sum
from discreet_fire.statistics.limits import SafeLimits


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenGroups:
    """Withheld figures of one variable (confidential until applied).

    The rules that each group and the whole break; the groups of which the count is withheld, and
    those of which the value is: sums, means and deviations; the same of the total.
    """

    rules: tuple[frozenset[str], ...]
    whole: frozenset[str]
    count: frozenset[int]
    value: frozenset[int]
    total: Facts
    total_value: bool
    total_count: bool


def hide_groups(
    holding: GroupedValues,
    facts: Sequence[Facts],
    limits: SafeLimits,
    *,
    counts: frozenset[int] | None = None,
) -> HiddenGroups:
    """Withhold groups until the union of the withheld is safe.

    Groups whose number of cases is withheld are found here unless given.
    """
    rules = tuple(broken(one, limits) for one in facts)
    total = facts[0] if holding.codes is None else holding.total(limits)
    whole = broken(total, limits)
    if counts is None:
        counts = shared_counts([facts], limits)
    hidden = {at for at, reasons in enumerate(rules) if reasons} | set(counts)
    total_value = bool(whole)
    order = sorted(
        (at for at, one in enumerate(facts) if one.n and at not in hidden),
        key=lambda at: (facts[at].cases, facts[at].n, at),
    )
    if total_value and not hidden:
        # The groups would add up to a total that only the sums of entities make unsafe.
        hidden.add(order.pop(0))
    if hidden and not total_value:
        while not _safe_union(holding, hidden, facts, limits):
            if not order:
                total_value = True
                break
            hidden.add(order.pop(0))
    return HiddenGroups(
        rules=rules,
        whole=whole,
        count=counts,
        value=frozenset(hidden),
        total=total,
        total_value=total_value,
        total_count=_total_hidden([one.cases for one in facts], counts, total.cases, limits),
    )


#: Below this part of its variance a variable is worked out from others.
_ALIKE = 1e-6


def hide_alike(hidden: Sequence[HiddenGroups], columns: Sequence[FloatArray]) -> list[HiddenGroups]:
    """Withhold the same groups of variables that can be worked out from each other: c = a + b."""
    linked = _linked(columns)
    together = [one for one, held in zip(hidden, linked, strict=True) if held]
    groups = frozenset[int]().union(*(one.value for one in together))
    total = any(one.total_value for one in together)
    return [
        replace(one, value=groups, total_value=total) if held else one
        for one, held in zip(hidden, linked, strict=True)
    ]


def _linked(columns: Sequence[FloatArray]) -> list[bool]:
    """Which variables are sums of others, or of multiples of them, in all records or nearly.

    They are said to be so where too few records have values of all variables.
    """
    table = np.column_stack(columns)
    table = table[~np.isnan(table).any(axis=1)]
    spread = table.std(axis=0) if len(table) else np.zeros(len(columns))
    if len(table) < 2 * len(columns):
        return [True] * len(columns)
    varied = np.flatnonzero(spread > 0)
    scaled = (table[:, varied] - table[:, varied].mean(axis=0)) / spread[varied]
    small = np.linalg.qr(scaled, mode="r") / np.sqrt(len(table))  # with the same products
    linked = np.zeros(len(columns), dtype=np.bool_)
    for at, column in enumerate(varied):
        others = np.delete(small, at, axis=1)
        rest = small[:, at] - others @ np.linalg.lstsq(others, small[:, at], rcond=None)[0]
        linked[column] = float(rest @ rest) < _ALIKE
    return list(linked.tolist())


def shared_counts(several: Sequence[Sequence[Facts]], limits: SafeLimits) -> frozenset[int]:
    """Groups whose number of cases is withheld, alike for all variables.

    If they differed, a variable without missing values would tell what is withheld of
    another.
    """
    every = [[one.cases for one in facts] for facts in several]
    small = {
        at for facts in several for at, one in enumerate(facts) if "minimum" in broken(one, limits)
    }
    return _grown(every, small, limits)


def counts_to_hide(
    cases: Sequence[int], sensitive: frozenset[int], total: int, limits: SafeLimits
) -> tuple[frozenset[int], bool]:
    """Groups whose counts are withheld, and whether that of all groups is.

    Sensitive groups must be withheld for other reasons than being small.

    >>> counts_to_hide([6, 5, 2], frozenset(), 13, SafeLimits())
    (frozenset({1, 2}), False)
    """
    small = {at for at, size in enumerate(cases) if 0 < size < limits.minimum}
    hidden = _grown([cases], small | set(sensitive), limits)
    return hidden, _total_hidden(cases, hidden, total, limits)


def _total_hidden(
    cases: Sequence[int], hidden: frozenset[int], total: int, limits: SafeLimits
) -> bool:
    return 0 < total < limits.minimum or not _open(cases, hidden, limits)


def _grown(
    several: Sequence[Sequence[int]], hidden: set[int], limits: SafeLimits
) -> frozenset[int]:
    """Add the smallest groups until sums of withheld counts tell nothing."""
    grown = set(hidden)
    order = sorted(
        (at for at in range(len(several[0])) if at not in grown and any(c[at] for c in several)),
        key=lambda at: (max(cases[at] for cases in several), at),
    )
    while order and not all(_open(cases, grown, limits) for cases in several):
        grown.add(order.pop(0))
    return frozenset(grown)


def _open(cases: Sequence[int], hidden: frozenset[int] | set[int], limits: SafeLimits) -> bool:
    """Whether the sum of withheld counts leaves open if one of them is small.

    Groups without a case are shown as such, so each withheld one is known to have one.
    """
    there = [cases[at] for at in hidden if cases[at]]
    if not there:
        return True
    return len(there) > 1 and sum(there) >= limits.minimum + len(there) - 1


def _safe_union(
    holding: GroupedValues, hidden: set[int], facts: Sequence[Facts], limits: SafeLimits
) -> bool:
    there = sorted(at for at in hidden if facts[at].n)
    if not there:
        return True
    if len(there) < 2:
        return False
    union = holding.union(there, limits)
    # One more than the minimum: mean and deviation of the union follow together.
    return union.cases > limits.minimum and not broken(union, limits)


#: An entity of more records than this is not looked for, nor a weight of more times the mean.
_MOST = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenSpreads:
    """Whose deviations are withheld, with the rule (confidential until applied)."""

    groups: dict[int, str] = field(default_factory=dict)
    total: str = ""


def is_lonely(facts: Facts, part: Callable[[], GroupedValues], limits: SafeLimits) -> bool:
    """Whether one case makes up nearly all of the squared deviations.

    `part` gives the values of the group, where entities or weights make them needed.

    >>> import numpy as np
    >>> far = GroupedValues.of(np.array([10.0] * 20 + [10.1] * 20 + [90.0]), None, 1)
    >>> near = GroupedValues.of(np.array([10.0] * 20 + [10.1] * 20 + [10.9]), None, 1)
    >>> limits = SafeLimits()
    >>> [is_lonely(one.total(limits), lambda: one, limits) for one in (far, near)]
    [True, False]
    """
    if facts.n < 2 or not facts.squares > 0:
        return False
    return 1 / facts.n + _largest(facts, part, limits) / facts.squares > limits.leverage


def _largest(facts: Facts, part: Callable[[], GroupedValues], limits: SafeLimits) -> float:
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
    part: Callable[[Sequence[int]], GroupedValues],
    hidden: Collection[int],
    total: Facts | None,
    needed: int = 2,
) -> HiddenSpreads:
    """The groups whose deviations are withheld, and with them those of others.

    Deviations of all groups follow from those of the total, less those that are shown, as the
    means are known: withheld ones are added up until they tell nothing together. The total is
    None if its deviations are not shown, `hidden` are groups whose means are withheld already, and
    `needed` says how many statistics are asked for that add up, the mean included.
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
    # Of groups whose means are withheld the deviation of all together follows.
    unseen = sorted(at for at in hidden if facts[at].n)
    union = part(unseen).facts(limits)[0] if unseen else Facts(n=0, cases=0, squares=0.0)
    alone = is_lonely(union, partial(part, unseen), limits)
    if not rules and not alone:
        return HiddenSpreads()
    largest = [(1 / facts[at].n, _largest(facts[at], partial(part, [at]), limits)) for at in lonely]
    largest += [(1 / union.n, _largest(union, partial(part, unseen), limits))] if alone else []
    closed = {*rules, *unseen}
    order = sorted((at for at in there if at not in closed), key=lambda at: (facts[at].cases, at))

    def tells() -> bool:
        """Whether the withheld deviations together tell what each may not."""
        squares = union.squares + math.fsum(facts[at].squares for at in closed.difference(unseen))
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
