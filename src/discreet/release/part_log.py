"""Decisions about the parts of a table that is made of several counts.

In: what the rules said of each count behind a table. Out: one log for the whole table: a
part is published only if every count may be shown on it. Free of true values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.suppression import PartDecisions
    from discreet.suppression.parts import PartDecision

__all__ = ["described", "joint"]


def joint(decisions: Sequence[PartDecisions]) -> PartDecisions:
    """One log for a table: a part is suppressed if one of its counts asks for it.

    Args:
        decisions: What was decided about each count, all over the same variables.
    """
    from discreet.suppression import PartDecisions

    first = decisions[0]
    if len(decisions) == 1:
        return first
    every: dict[tuple[int, ...], list[PartDecision]] = {}
    for decided in decisions:
        for part in decided.parts:
            every.setdefault(part.part, []).append(part)
    hidden = frozenset[tuple[int, ...]]().union(*(decided.suppressed for decided in decisions))
    passing = [
        suggestion
        for suggestion in _once(one for decided in decisions for one in decided.suggestions)
        if tuple(level.number for level in suggestion.levels) not in hidden
    ]
    guarded = any(decided.universe == "checked" for decided in decisions)
    return PartDecisions(
        table=first.table,
        variables=first.variables,
        parts=tuple(_together(found) for found in every.values()),
        universe="checked" if guarded else "unfiltered",
        suggestions=tuple(passing),
    )


def _together(found: Sequence[PartDecision]) -> PartDecision:
    """What becomes of a part, as the strictest of its decisions has it."""
    hidden = [each for each in found if each.action == "suppressed"]
    if not hidden:
        checked = [each for each in found if each.action == "released"]
        return (checked or found)[0]
    reasons = tuple(_once(reason for each in hidden for reason in each.reasons))
    return dataclasses.replace(hidden[0], reasons=reasons)


def _once(entries: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def described(decisions: Mapping[str, PartDecisions]) -> dict[str, Any] | None:
    """The log of a table for programs; None if there are no rules for its parts.

    Args:
        decisions: Filter → what was decided about the count behind it.
    """
    if not decisions:
        return None
    whole = joint(list(decisions.values())).to_dict()
    if len(decisions) == 1:
        return whole
    counts = [
        {"where": where, "parts": decided.to_dict()["parts"]}
        for where, decided in decisions.items()
    ]
    return whole | {"counts": counts}
