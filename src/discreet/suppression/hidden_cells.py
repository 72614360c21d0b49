"""Patterns as they are published: blanks, kinds of reasons, intervals if asked for.

In: a true table (CONFIDENTIAL), the pattern over the cells of its problem. Out: a
`ProtectedTable`, which holds no hidden value and no parameter of a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet._version import __version__
from discreet.rules import Reason
from discreet.suppression.members import Members
from discreet.suppression.problem import SuppressionProblem
from discreet.tables import (
    CellStatus,
    Figure,
    Note,
    ProtectedTable,
    Provenance,
    Table,
    Withheld,
)

__all__ = ["METHOD", "Publishing", "pattern_notes", "published_table", "reasons_of"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ReasonArray = npt.NDArray[np.int8]

#: Name of the method in the provenance of a table.
METHOD = "cell-suppression"

_LANGUAGES = ("en", "de")
_WORDS: Mapping[str, Mapping[str, str]] = {
    "primary": {"en": "sensitive", "de": "primär gesperrt"},
    "secondary": {
        "en": "hidden to protect others",
        "de": "zum Schutz anderer Felder gesperrt",
    },
    "note": {
        "en": "Values shown as “.” are hidden, so that nobody can work out what belongs to "
        "single respondents. All other values are unchanged.",
        "de": "Als „.“ ausgewiesene Werte sind gesperrt, damit niemand Einzelangaben errechnen "
        "kann. Alle anderen Werte sind unverändert.",
    },
    "intervals": {
        "en": "For hidden values, an interval is given that anyone could work out.",
        "de": "Für gesperrte Werte ist ein Intervall angegeben, das jeder errechnen könnte.",
    },
    "reasons": {"en": "Reasons: {}.", "de": "Gründe: {}."},
}


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """How a table is published.

    Args:
        value: The value column; None for counts.
        decimals: Digits after the decimal point.
        reasons: Whether the kind of rule is told, only primary or secondary, or nothing.
        titles: language → heading.
        universe: language → who is counted.
    """

    value: str | None
    decimals: int = 0
    reasons: Literal["rule", "kind", "none"] = "rule"
    titles: Mapping[str, str] = field(default_factory=dict)
    universe: Mapping[str, str] = field(default_factory=dict)


def reasons_of(
    problem: SuppressionProblem, members: Members, sources: Sequence[tuple[Table, Any]]
) -> ReasonArray:
    """Why each problem cell is sensitive: a `Reason`; that of the first table that says one.

    Cells of a mask are marked by hand. Cells that are not sensitive have none.
    """
    reason = np.zeros(len(problem), dtype=np.int8)
    for cells, (_, asked) in reversed(list(zip(members.cells, sources, strict=True))):
        if asked is None:
            continue
        mask = np.asarray(getattr(asked, "sensitive", asked), dtype=np.bool_)
        own = getattr(asked, "reason", np.full(len(mask), Reason.manual))
        marked = mask & (cells >= 0)
        reason[cells[marked]] = np.asarray(own)[marked]
    return reason


def published_table(
    table: Table,
    members: Members,
    at: int,
    hidden: BoolArray,
    reason: ReasonArray,
    intervals: tuple[FloatArray, FloatArray] | None,
    how: Publishing,
) -> ProtectedTable:
    """One table as it may be published.

    Args:
        table: The true table.
        members: Which problem cells its cells are.
        at: Its number among the tables.
        hidden: Which problem cells are hidden.
        reason: Why each problem cell is sensitive.
        intervals: Lowest and highest value of each problem cell, in units, as everyone
            can work them out; None if they are not published.
        how: How it is published.
    """
    blank = members.hidden(hidden, at)
    status = np.where(blank, CellStatus.suppressed, CellStatus.published).astype(np.int8)
    units = np.where(blank, 0, members.values[at])
    value: Any = units if how.decimals == 0 else units / 10.0**how.decimals
    withheld = _withheld(table, members.cells[at], blank, reason, intervals, how)
    figures: tuple[Figure, ...] = ()
    if how.value is not None:
        figures = (Figure(name=how.value, kind="sum", decimals=how.decimals),)
    return ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=value,
        status=status,
        provenance=Provenance(version=__version__, method=METHOD),
        notes=pattern_notes(withheld) if blank.any() else (),
        name=table.name,
        titles=how.titles,
        universe=how.universe,
        decimals=how.decimals,
        parts=table.parts,
        figures=figures,
        withheld=withheld if blank.any() and (how.reasons != "none" or intervals) else None,
    )


def _withheld(
    table: Table,
    cells: IntArray,
    blank: BoolArray,
    reason: ReasonArray,
    intervals: tuple[FloatArray, FloatArray] | None,
    how: Publishing,
) -> Withheld:
    """Reasons and intervals of the hidden cells; only reasons that occur are listed."""
    own = cells[blank]
    kinds = _kinds(how.reasons)
    which = reason[own] if how.reasons == "rule" else (reason[own] > 0).astype(np.int8)
    found = np.unique(which)
    number = np.searchsorted(found, which) + 1
    reasons = tuple(kinds[int(kind)] for kind in found)
    if how.reasons == "none":
        number, reasons = np.zeros(own.size, dtype=np.int64), ()
    scale = 10.0**how.decimals
    low, high = (None, None) if intervals is None else (part[own] / scale for part in intervals)
    return Withheld(
        index=tuple(part[blank] for part in table.index),
        reason=number.astype(np.int8),
        reasons=reasons,
        low=low,
        high=high,
    )


def _kinds(reasons: str) -> list[Note]:
    """Codes and words: of secondary cells first, then of each kind of rule, or of all."""
    second = Note("secondary", _WORDS["secondary"])
    if reasons != "rule":
        return [second, Note("primary", _WORDS["primary"])]
    named = [
        Note(each.code, {language: each.text(language) for language in _LANGUAGES})
        for each in Reason
        if each != Reason.none
    ]
    return [second, *named]


def pattern_notes(withheld: Withheld | None) -> tuple[Note, ...]:
    """The remark to print with a table that has hidden cells, with the reasons that occur.

    Args:
        withheld: What is said of the hidden cells.
    """
    texts = {}
    for language in _LANGUAGES:
        parts = [_WORDS["note"][language]]
        if withheld is not None and withheld.reasons:
            listed = "; ".join(f"{note.kind}: {note.text(language)}" for note in withheld.reasons)
            parts.append(_WORDS["reasons"][language].format(listed))
        if withheld is not None and withheld.low is not None:
            parts.append(_WORDS["intervals"][language])
        texts[language] = " ".join(parts)
    return (Note(METHOD, texts),)
