"""Variables described by groups: what `summarize`, `tabstat` and `codebook` have in common.

In: records, variables, groups, statistics. Out: for each variable a `Description` – its
numbers by group and in total that may be shown, and the rules that withheld the others.
CONFIDENTIAL but for what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.groups import Groups
from discreet.output_checking.safe.hiding import Hidden, hide_groups, shared_counts
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import Found, leading
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import IntArray, Records
from discreet.output_checking.safe.spreading import HiddenSpreads, spreads_to_hide
from discreet.output_checking.safe.statistics import spreads as spreads_of
from discreet.output_checking.safe.statistics import statistics
from discreet.output_checking.safe.threads import side_by_side
from discreet.output_checking.safe.units import LARGE

__all__ = ["RULES", "Description", "describe"]

#: Statistics that may be shown, and the rules that withhold the others.
_Numbers = tuple[dict[str, float | None], set[str]]
#: The rules that are held against every description.
RULES = ("minimum", "dominance", "same", "alike")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Description:
    """One variable, by groups (confidential but for `shown` and `total`).

    Args:
        name: The variable.
        holding: Its values.
        facts: What is behind the numbers of each group.
        hidden: What is withheld.
        shown: For each group, its statistics; withheld ones are None.
        total: The same of all groups together.
        found: Broken rules with the place.
    """

    name: str
    holding: Holding
    facts: tuple[Facts, ...]
    hidden: Hidden
    shown: tuple[dict[str, float | None], ...]
    total: dict[str, float | None]
    found: tuple[Found, ...]

    def __repr__(self) -> str:
        return f"<Description of {self.name}: confidential>"


def describe(
    records: Records,
    names: Sequence[str],
    by: Groups | None,
    asked: Sequence[str],
    limits: SafeLimits,
) -> list[Description]:
    """Describe variables by groups.

    Args:
        records: The records.
        names: The variables.
        by: The groups; None for all records together.
        asked: Canonical names of statistics.
        limits: The rules.
    """
    shared = _Shared(records, by)
    holdings = [shared.holding(name) for name in names]
    every = [holding.facts(limits) for holding in holdings]
    counts = shared_counts(every, limits) if by is not None and len(by) else frozenset()
    return [
        _described(name, holding, facts, counts if by is not None else None, by, asked, limits)
        for name, holding, facts in zip(names, holdings, every, strict=True)
    ]


@dataclass(frozen=True)
class _Shared:
    """What all variables share, worked out once."""

    records: Records
    by: Groups | None

    @cached_property
    def codes(self) -> IntArray | None:
        return None if self.by is None else self.by.codes

    def holding(self, name: str) -> Holding:
        groups = 1 if self.by is None else len(self.by)
        values, ends = self.records.numbers_with_ends(name)
        return Holding.of(
            values, self.codes, groups, self.entities, self.weights, ends, self.records.numbering
        )

    @cached_property
    def entities(self) -> IntArray | None:
        return self.records.entities()

    @cached_property
    def weights(self):  # type: ignore[no-untyped-def]
        return self.records.weights()


def _described(
    name: str,
    holding: Holding,
    facts: list[Facts],
    counts: frozenset[int] | None,
    by: Groups | None,
    asked: Sequence[str],
    limits: SafeLimits,
) -> Description:
    hidden = hide_groups(holding, facts, limits, counts=counts)
    found: list[Found] = []
    shown = []

    several, whole = _worked_out(holding, facts, hidden, asked, limits, total=by is not None)
    for at, (numbers, more) in enumerate(several):
        place = name if by is None else f"{name}, {by.name} = {by.labels[at]}"
        reasons = set(hidden.reasons(at)) or ({"secondary"} if at in hidden.count else set())
        found += [Found(rule, name, place) for rule in (*leading(reasons), *sorted(more))]
        shown.append(numbers)
    total = shown[0] if by is None else {}
    if whole:
        ((total, more),) = whole
        rules = (*leading(hidden.whole), *sorted(more))
        found += [Found(rule, name, f"{name}, total") for rule in rules]
    return Description(
        name=name,
        holding=holding,
        facts=tuple(facts),
        hidden=hidden,
        shown=tuple(shown),
        total=total,
        found=tuple(found),
    )


def _worked_out(
    holding: Holding,
    facts: Sequence[Facts],
    hidden: Hidden,
    asked: Sequence[str],
    limits: SafeLimits,
    *,
    total: bool,
) -> tuple[list[_Numbers], list[_Numbers]]:
    """The statistics of each group, and those of all records if a total is wanted."""
    spreads = HiddenSpreads()
    if told := spreads_of(asked):
        together = hidden.total if total and not hidden.total_value else None
        spreads = spreads_to_hide(
            facts,
            limits,
            part=holding.part,
            hidden=hidden.value,
            total=together,
            needed=1 + told,
        )

    def of_group(at: int) -> _Numbers:
        return statistics(
            asked,
            facts[at],
            lambda: holding.part([at]),
            limits,
            count=at not in hidden.count,
            value=at not in hidden.value,
            spread=spreads.groups.get(at, ""),
            rules=hidden.rules[at],
        )

    def of_all() -> _Numbers:
        return statistics(
            asked,
            hidden.total,
            lambda: holding.part(range(holding.groups)),
            limits,
            count=not hidden.total_count,
            value=not hidden.total_value,
            spread=spreads.total,
            rules=hidden.whole,
        )

    jobs: list[Callable[[], _Numbers]] = [partial(of_group, at) for at in range(len(facts))]
    whole: list[Callable[[], _Numbers]] = [of_all] if total else []
    if holding.values.size <= LARGE:
        return [job() for job in jobs], [job() for job in whole]
    # The first group brings the values into the order of groups, for all. All records take
    # longest, so they are not left for the end.
    several = [job() for job in jobs[:1]]
    rest = side_by_side([*whole, *jobs[1:]])
    return several + rest[len(whole) :], rest[: len(whole)]
