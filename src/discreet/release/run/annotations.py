"""What is said of a protected table: who is counted, remarks, name, date, digests, parts.

In: a protected table, what a programme says of it, and what the rules said of each count
behind it. Out: the table with its remarks; one log of the decisions about its parts, where a
part is published only if every count may be shown on it. Public, free of true values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.release.programme.file import Programme
from discreet.release.programme.schema import TableEntry
from discreet.tables import CellNote, Note, ProtectedTable

if TYPE_CHECKING:
    from discreet.protection.parts import PartDecision, PartDecisions

__all__ = [
    "described_decisions",
    "joint_decisions",
    "universe_of",
    "with_provenance",
    "with_remarks",
]


def universe_of(programme: Programme, entry: TableEntry) -> Mapping[str, str]:
    """Who is counted; a filter that is not put into words is printed as written."""
    stated = dict.fromkeys(programme.languages, entry.where) if entry.where else {}
    return entry.universe or stated


def with_remarks(entry: TableEntry, protected: ProtectedTable) -> ProtectedTable:
    """The table with the remarks that the programme makes about its cells.

    A remark on a code that is not listed would tell that it occurs: it is left out.
    """
    if not entry.notes:
        return protected
    listed = {dimension.name: dimension.index for dimension in protected.dimensions}
    remarks = tuple(
        CellNote(
            tuple(remark.cells.get(name) for name in listed),
            Note("cells", _all_texts(remark.text)),
        )
        for remark in entry.notes
        if all(code in listed[name] for name, code in remark.cells.items())
    )
    return dataclasses.replace(protected, cell_notes=(*protected.cell_notes, *remarks))


def with_provenance(
    programme: Programme, name: str, protected: ProtectedTable, digests: Mapping[str, str]
) -> ProtectedTable:
    """The table with its name, the date of release, and digests that cannot be guessed."""
    time = programme.document.date or ""
    provenance = dataclasses.replace(protected.provenance, time=time, digests=dict(digests))
    return dataclasses.replace(protected, name=name, provenance=provenance)


def _all_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts in which English is never missing, for it stands for all other languages."""
    return {"en": next(iter(texts.values())), **texts}


def joint_decisions(decisions: Sequence[PartDecisions]) -> PartDecisions:
    """One log for a table: a part is suppressed if one of its counts asks for it.

    Args:
        decisions: What was decided about each count, all over the same variables.
    """
    from discreet.protection.parts import PartDecisions

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


def described_decisions(decisions: Mapping[str, PartDecisions]) -> dict[str, Any] | None:
    """The log of a table for programs; None if there are no rules for its parts.

    Args:
        decisions: Filter → what was decided about the count behind it.
    """
    if not decisions:
        return None
    whole = joint_decisions(list(decisions.values())).to_dict()
    if len(decisions) == 1:
        return whole
    counts = [
        {"where": where, "parts": decided.to_dict()["parts"]}
        for where, decided in decisions.items()
    ]
    return whole | {"counts": counts}
