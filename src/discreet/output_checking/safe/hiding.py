"""Secondary suppression among groups that add up to a known total. CONFIDENTIAL.

In: the facts of groups, one or several variables. Out: which groups are withheld so that
nothing about them follows from the total less the others. What an attacker can work out
is the union of all withheld groups, so the union is held against the same rules – by
which not even one of its two largest contributors can work out the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import broken, hides_count
from discreet.output_checking.safe.limits import SafeLimits

__all__ = ["Hidden", "counts_to_hide", "hide_groups", "shared_counts"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Hidden:
    """What of one variable is withheld (confidential until applied).

    Args:
        rules: For each group, the rules it breaks itself.
        whole: The rules the total breaks.
        count: Groups whose number of cases is withheld.
        value: Groups of which sums, means and deviations are withheld.
        total: The facts of all groups together.
        total_value: Whether sums, means and deviations of the total are withheld.
        total_count: Whether the number of all cases is withheld.
    """

    rules: tuple[frozenset[str], ...]
    whole: frozenset[str]
    count: frozenset[int]
    value: frozenset[int]
    total: Facts
    total_value: bool
    total_count: bool

    def reasons(self, group: int) -> frozenset[str]:
        """Why numbers of a group are withheld."""
        secondary = group in self.value and not self.rules[group]
        return frozenset({"secondary"}) if secondary else self.rules[group]


def hide_groups(
    holding: Holding,
    facts: Sequence[Facts],
    limits: SafeLimits,
    *,
    counts: frozenset[int] | None = None,
) -> Hidden:
    """Withhold groups until the union of the withheld is safe.

    Args:
        holding: The values.
        facts: The facts of each group.
        limits: The rules.
        counts: Groups whose number of cases is withheld; found here unless given.
    """
    rules = tuple(broken(one, limits) for one in facts)
    total = facts[0] if holding.codes is None else holding.total(limits)
    whole = broken(total, limits)
    if counts is None:
        counts = shared_counts([facts], limits)
    hidden = {at for at, found in enumerate(rules) if found} | set(counts)
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
    return Hidden(
        rules=rules,
        whole=whole,
        count=counts,
        value=frozenset(hidden),
        total=total,
        total_value=total_value,
        total_count=_total_count(facts, counts, total, limits),
    )


def _total_count(
    facts: Sequence[Facts], counts: frozenset[int], total: Facts, limits: SafeLimits
) -> bool:
    cases = [one.cases for one in facts]
    return 0 < total.cases < limits.minimum or not _open(cases, counts, limits)


def shared_counts(several: Sequence[Sequence[Facts]], limits: SafeLimits) -> frozenset[int]:
    """Groups whose number of cases is withheld, alike for all variables.

    If they differed, a variable without missing values would tell what is withheld of
    another.

    Args:
        several: For each variable, the facts of each group.
        limits: The rules.
    """
    every = [[one.cases for one in facts] for facts in several]
    small = {
        at for facts in several for at, one in enumerate(facts) if hides_count(broken(one, limits))
    }
    return _grown(every, small, limits)


def counts_to_hide(
    cases: Sequence[int], sensitive: frozenset[int], total: int, limits: SafeLimits
) -> tuple[frozenset[int], bool]:
    """Groups whose counts are withheld, and whether that of all groups is.

    Args:
        cases: Cases of each group.
        sensitive: Groups that must be withheld for other reasons than being small.
        total: Cases in all groups together.
        limits: The rules.

    >>> counts_to_hide([6, 5, 2], frozenset(), 13, SafeLimits())
    (frozenset({1, 2}), False)
    """
    small = {at for at, size in enumerate(cases) if 0 < size < limits.minimum}
    hidden = _grown([cases], small | set(sensitive), limits)
    return hidden, 0 < total < limits.minimum or not _open(cases, hidden, limits)


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
    holding: Holding, hidden: set[int], facts: Sequence[Facts], limits: SafeLimits
) -> bool:
    there = sorted(at for at in hidden if facts[at].n)
    if not there:
        return True
    if len(there) < 2:
        return False
    union = holding.union(there, limits)
    # One more than the minimum: mean and deviation of the union follow together.
    return union.cases > limits.minimum and not broken(union, limits)
