"""The rules, held against facts: what may be shown of a group. CONFIDENTIAL until applied.

In: `Facts` (how many cases there are, the largest contributions, how many cases differ from the
commonest value; an entity with many records counts once and contributes the sum of its records) and
`SafeLimits`. Out: names of the rules that are broken, and which statistics they withhold. Words for
each rule never quote a value or a parameter; for officers who decide on borderline cases,
`BorderlineFact`s have the figures, which never leave the centre.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.results import Check, CheckVerdict, SafeResult

#: So many differ from the commonest value, at least: more than any rule asks for.
MANY = 2**62


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Facts:
    """One group of values (confidential)."""

    n: int = 0  # records with a value
    cases: int = 0  # entities with a value
    weight: float = 0.0  # sum of weights; without weights the number of records
    low: float = math.nan  # smallest value
    high: float = math.nan  # largest value
    mean: float = math.nan
    squares: float = math.nan  # sum of squared deviations from it; with weights, weighted
    apart: float = 0.0  # the part of it that one case has, at most
    size: float = 0.0  # sum of the absolute contributions
    first: float = 0.0  # largest contribution
    second: float = 0.0  # second largest
    differing: int = MANY  # cases that differ from the commonest value; `MANY` if not looked at
    held: int = 0  # cases that share the commonest value
    #: Largest weights: the sum of all, the first, the second
    heavy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def total(self) -> float:
        """Sum of values, weighted with weights."""
        return self.mean * self.weight


#: Each rule in words; those that weigh most come first.
REASONS = {
    "minimum": "too few cases",
    "same": "all cases have the same value",
    "alike": "all but a few cases have the same value",
    "dominance": "one or two cases make up nearly all of it",
    "weights": "one or two cases have nearly all of the weight",
    "freedom": "too few degrees of freedom",
    "leverage": "one case makes up nearly all of the spread",
    "secondary": "withheld so that other withheld values cannot be computed",
    "percentile": "too few cases beyond the percentile",
    "equations": "so many statistics of so few cases can be solved for the values",
    "bins": "classes of few cases are merged with their neighbours",
    "within": "only a few entities change over time, or one of them far more than others",
    "patterns": "rare patterns are put together",
    "extremes": "a minimum or maximum is the value of a single case",
    "missing": "the number of missing values discloses a few cases",
    "few-others": "all but a few cases are counted; the difference discloses the rest",
}

#: The rules that are held against every description of a variable.
RULES = ("minimum", "dominance", "same", "alike")
#: What is put together instead of being withheld.
_MERGED = frozenset({"bins", "patterns"})
_HOLDS = "holds for all that is shown"


def concentrated(first: float, second: float, size: float, limits: SafeLimits) -> bool:
    """Whether the largest contributions could be estimated too closely: (2,k) or p%."""
    if size <= 0:
        return False
    top = first + second
    return top > limits.dominance / 100 * size or size - top < limits.closeness / 100 * first


def broken(facts: Facts, limits: SafeLimits) -> frozenset[str]:
    """The rules that a group breaks."""
    if not facts.cases:
        return frozenset()
    rules = set()
    if facts.cases < limits.minimum:
        rules.add("minimum")
    if facts.low == facts.high:
        rules.add("same")
    elif facts.differing < limits.minimum <= facts.held:
        rules.add("alike")
    if concentrated(facts.first, facts.second, facts.size, limits):
        rules.add("dominance")
    heavy = facts.heavy
    if heavy[0] > 0 and concentrated(heavy[1], heavy[2], heavy[0], limits):
        rules.add("weights")
    return frozenset(rules)


def free_statistics(cases: int, limits: SafeLimits) -> int:
    """Largest number of independent statistics for a number of cases.

    Each is an equation for the values. Even who knows one of the values must be left with
    more unknowns than equations.

    >>> free_statistics(3, SafeLimits()), free_statistics(4, SafeLimits())
    (1, 2)
    """
    return max(cases - max(limits.minimum - 1, 1), 0)


class Found(NamedTuple):
    """A broken rule with its place (confidential: which cell breaks which rule).

    Who knows by which rule a cell is withheld knows more about it than he should, so
    checks name the variables only.
    """

    rule: str
    scope: str
    place: str = ""
    facts: Facts | None = None  # of the group, where sums are withheld
    cases: int | None = None  # of the cell


def leading(rules: Collection[str]) -> list[str]:
    """The first of several broken rules: the others would narrow down the number of cases.

    >>> leading({"same", "minimum"}), leading([])
    (['minimum'], [])
    """
    return [rule for rule in REASONS if rule in rules][:1]


def checks_of(found: Sequence[Found], asked: Sequence[str]) -> list[Check]:
    """Checks of all rules that were held against an output: broken ones, then the others."""
    pairs = sorted({(one.scope, list(REASONS).index(one.rule)) for one in found})
    checks = []
    for scope, at in pairs:
        rule, reason = list(REASONS.items())[at]
        # Where cases are merged nothing is left that breaks the rule.
        verdict = CheckVerdict.passed if rule in _MERGED else CheckVerdict.fail
        checks.append(Check(rule=rule, verdict=verdict, reason=reason, where=scope))
    names = {one.rule for one in found}
    fine = [rule for rule in asked if rule not in names]
    return checks + [Check(rule=rule, verdict=CheckVerdict.passed, reason=_HOLDS) for rule in fine]


def counts_to_hide(
    cases: Sequence[int], sensitive: frozenset[int], total: int, limits: SafeLimits
) -> tuple[frozenset[int], bool]:
    """Groups whose counts are withheld, and whether that of all groups is.

    Sensitive groups must be withheld for other reasons than being small.

    >>> counts_to_hide([6, 5, 2], frozenset(), 13, SafeLimits())
    (frozenset({1, 2}), False)
    """
    hidden = hide_smallest([cases], sensitive, limits)
    return hidden, total_hidden(cases, hidden, total, limits)


def total_hidden(
    cases: Sequence[int], hidden: frozenset[int], total: int, limits: SafeLimits
) -> bool:
    """Whether the count of all groups is withheld."""
    return 0 < total < limits.minimum or not _open(cases, hidden, limits)


def hide_smallest(
    several: Sequence[Sequence[int]], sensitive: Collection[int], limits: SafeLimits
) -> frozenset[int]:
    """Withhold the smallest groups until sums of withheld counts tell nothing, alike in several
    counts.
    """
    hidden = {at for cases in several for at, n in enumerate(cases) if 0 < n < limits.minimum}
    hidden |= set(sensitive)
    order = sorted(
        (at for at in range(len(several[0])) if at not in hidden and any(c[at] for c in several)),
        key=lambda at: (max(cases[at] for cases in several), at),
    )
    while order and not all(_open(cases, hidden, limits) for cases in several):
        hidden.add(order.pop(0))
    return frozenset(hidden)


def _open(cases: Sequence[int], hidden: Collection[int], limits: SafeLimits) -> bool:
    """Whether the sum of withheld counts leaves open if one of them is small.

    Groups without a case are shown as such, so each withheld one is known to have one.
    """
    there = [cases[at] for at in hidden if cases[at]]
    if not there:
        return True
    return len(there) > 1 and sum(there) >= limits.minimum + len(there) - 1


@dataclass(frozen=True, kw_only=True, repr=False)
class BorderlineFact:
    """One broken rule in figures (confidential)."""

    variable: str  # the variable, or those that span a table
    place: str  # the group or cell
    rule: str
    cases: int | None  # how many cases there are; None if not known
    #: Percentage of the two largest, for the (2,k) rule; None where no sum is withheld
    k: float | None
    #: How closely the second largest can estimate the largest, in percent, for the p% rule
    p: float | None
    few: bool  # whether fewer cases than required stand behind it, so that `cases` is its frequency
    #: Cases of each category of the variable, in a model; with its first rule only
    frequencies: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values. CONFIDENTIAL."""
        return asdict(self)

    def __repr__(self) -> str:
        return "<BorderlineFact: confidential>"


def borderline_facts(result: SafeResult, limits: SafeLimits) -> tuple[BorderlineFact, ...]:
    """Violations of rules in a result, in figures.

    >>> from discreet_fire.statistics import summarize
    >>> import polars as pl
    >>> firms = pl.DataFrame({"turnover": [900.0, 60.0, 25.0, 15.0]})
    >>> [fact] = borderline_facts(summarize(firms, ["turnover"]), SafeLimits())
    >>> fact.rule, fact.cases, fact.k, round(fact.p, 2)
    ('dominance', 4, 96.0, 4.44)
    """
    collected = []
    for one in result.evidence.get("found", ()):
        facts, k, p, cases = one.facts, None, None, one.cases
        if facts is not None:
            k, p = computed_concentration(facts.first, facts.second, facts.size)
            cases = facts.cases
        few = cases is not None and 0 < cases < limits.minimum
        collected.append(
            BorderlineFact(
                variable=one.scope, place=one.place, rule=one.rule, cases=cases, k=k, p=p, few=few
            )
        )
    return (*collected, *result.evidence.get("broken", ()))


def computed_concentration(
    first: float, second: float, size: float
) -> tuple[float | None, float | None]:
    """The computed k and p of contributions, in percent; None where there are none."""
    if not size > 0 or not first > 0:
        return None, None
    top = first + second
    return 100 * top / size, 100 * (size - top) / first
