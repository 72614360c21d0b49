"""Patterns as they are published: blanks, kinds of reasons, intervals, one figure or several.

In: true tables (CONFIDENTIAL) and the pattern over the cells of their problem; or
`ProtectedTable`s over the same cells. Out: `ProtectedTable`s, which hold no hidden value and
no parameter of a rule; those of one value each as one table with a dimension of figures,
and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet._version import __version__
from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.empty_cells import ZEROS_HIDDEN, zeros_of
from discreet.rules import Reason
from discreet.tables import (
    CellStatus,
    Figure,
    Note,
    ProtectedTable,
    Provenance,
    Table,
    Withheld,
    figure_dimension,
    parts_with_figures,
    single_figure,
)

if TYPE_CHECKING:
    # Problems bring a compiler along, which a release without hidden cells does not need.
    from discreet.protection.suppression.problem.linked_tables import TableCells
    from discreet.protection.suppression.problem.system import SuppressionProblem

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
        "single respondents.",
        "de": "Als „.“ ausgewiesene Werte sind gesperrt, damit niemand Einzelangaben errechnen "
        "kann.",
    },
    "unchanged": {
        "en": "All other values are unchanged.",
        "de": "Alle anderen Werte sind unverändert.",
    },
    "intervals": {
        "en": "For hidden values, an interval is given that anyone could work out.",
        "de": "Für gesperrte Werte ist ein Intervall angegeben, das jeder errechnen könnte.",
    },
    "instead": {
        "en": "In the place of hidden values stand intervals that anyone could work out.",
        "de": "Anstelle gesperrter Werte stehen Intervalle, die jeder errechnen könnte.",
    },
    "zeros": {
        "en": "Hidden values may be zero.",
        "de": "Gesperrte Werte können auch null sein.",
    },
    "reasons": {"en": "Reasons: {}.", "de": "Gründe: {}."},
}


@dataclass(frozen=True, kw_only=True)
class PublicationStyle:
    """How a table is published."""

    value: str | None  # the value column; None for counts
    decimals: int  # digits after the decimal point
    #: Whether the kind of rule is told, only primary or secondary, or nothing
    reasons: Literal["rule", "kind", "none"]
    zeros: bool  # whether zeros may be among the hidden cells, which is then said
    titles: Mapping[str, str] = field(default_factory=dict)  # language → heading
    universe: Mapping[str, str] = field(default_factory=dict)  # language → who is counted
    #: Whether intervals, if there are any, stand in the place of hidden values
    instead: bool = False


def reasons_of(
    problem: SuppressionProblem, members: TableCells, sources: Sequence[tuple[Table, Any]]
) -> SmallIntArray:
    """Why each problem cell is sensitive: a `Reason`; that of the first table that says one.

    Cells of a mask are marked by hand. Cells that are not sensitive have none.
    """
    reason = np.zeros(len(problem), dtype=np.int8)
    for cells, (_, primary) in reversed(list(zip(members.cells, sources, strict=True))):
        if primary is None:
            continue
        mask = np.asarray(getattr(primary, "sensitive", primary), dtype=np.bool_)
        own = getattr(primary, "reason", np.full(len(mask), Reason.manual))
        marked = mask & (cells >= 0)
        reason[cells[marked]] = np.asarray(own)[marked]
    return reason


def published_table(
    table: Table,
    members: TableCells,
    at: int,
    hidden: BoolArray,
    reason: SmallIntArray,
    intervals: tuple[FloatArray, FloatArray] | None,
    how: PublicationStyle,
) -> ProtectedTable:
    """One table, number `at` of the members, as it may be published.

    `hidden` and `reason` are about problem cells; so are `intervals`, lowest and highest values
    in units as everyone can work them out, None if they are not published.
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
        notes=pattern_notes(withheld, zeros=how.zeros) if blank.any() else (),
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
    reason: SmallIntArray,
    intervals: tuple[FloatArray, FloatArray] | None,
    how: PublicationStyle,
) -> Withheld:
    """Reasons and intervals of the hidden cells; only reasons that occur are listed."""
    own = cells[blank]
    kinds = _kinds(how.reasons)
    which = reason[own] if how.reasons == "rule" else (reason[own] > 0).astype(np.int8)
    codes = np.unique(which)
    number = np.searchsorted(codes, which) + 1
    reasons = tuple(kinds[int(kind)] for kind in codes)
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
        instead=intervals is not None and how.instead,
    )


def _kinds(reasons: str) -> dict[int, Note]:
    """Codes and words: of secondary cells, then of each kind of rule, or of all."""
    if reasons != "rule":
        return {0: Note("secondary", _WORDS["secondary"]), 1: Note("primary", _WORDS["primary"])}
    named = {
        int(reason): Note(reason.code, {language: reason.text(language) for language in _LANGUAGES})
        for reason in Reason.all()
    }
    return {**named, 0: Note("secondary", _WORDS["secondary"])}


def pattern_notes(
    withheld: Withheld | None, *, zeros: bool, rounded: bool = False
) -> tuple[Note, ...]:
    """The remarks to print with a table that has hidden cells, with the reasons that occur."""
    texts = {}
    for language in _LANGUAGES:
        parts = [_WORDS[kind][language] for kind in ("note", *([] if rounded else ["unchanged"]))]
        if withheld is not None and withheld.reasons:
            listed = "; ".join(f"{note.kind}: {note.text(language)}" for note in withheld.reasons)
            parts.append(_WORDS["reasons"][language].format(listed))
        if withheld is not None and withheld.low is not None:
            parts.append(_WORDS["instead" if withheld.instead else "intervals"][language])
        texts[language] = " ".join(parts)
    return (Note(METHOD, texts), *([Note(ZEROS_HIDDEN, _WORDS["zeros"])] if zeros else []))


def joined_figures(tables: Sequence[ProtectedTable]) -> ProtectedTable:
    """One table of several figures, from the same table for one value each.

    The values of a single one stay as they are.
    """
    first = tables[0]
    if len(tables) == 1:
        return first
    figures = tuple(table.figures[0] if table.figures else Figure(name="count") for table in tables)
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        message = "two figures of the table have one name"
        hint = "a value column beside the counts cannot be called 'count'"
        raise SuppressionError(message, code="value", where=first.name, hint=hint)
    dimensions = (*first.dimensions, figure_dimension(figures))
    withheld = _withheld_figures(tables)
    hidden = any(table.notes for table in tables)
    return replace(
        first,
        dimensions=dimensions,
        index=_joined([(table.index, table.stored) for table in tables]),
        value=np.concatenate([table.value for table in tables]),
        status=np.concatenate([table.status for table in tables]),
        figures=figures,
        decimals=max(figure.decimals for figure in figures),
        parts=None if first.parts is None else parts_with_figures(first.parts, dimensions),
        notes=pattern_notes(withheld, zeros=zeros_of(tables) == "partners") if hidden else (),
        withheld=withheld,
    )


def figure_of(table: ProtectedTable, figure: int | str) -> ProtectedTable:
    """One of the figures of a table, as a table of its own.

    Args:
        table: A table of one or several figures.
        figure: The number of the figure, or its name.

    >>> import polars as pl
    >>> from discreet import primary, rules, suppress, tabulate
    >>> firms = pl.DataFrame({"branch": [*"aaabbbcc"], "sales": range(8), "staff": range(8)})
    >>> found = tabulate(firms, ["branch"], values=["sales", "staff"], contributions=2)
    >>> few = [primary(found, [rules.MinimumFrequency(3)], value=v) for v in found.sums]
    >>> figure_of(suppress(found, few, method="fast"), "staff").get("Total")
    28
    """
    names = [figure_item.name for figure_item in table.figures]
    known = figure in names if isinstance(figure, str) else 0 <= figure < max(len(names), 1)
    if not known:
        message = f"the table has no figure {figure!r}"
        hint = f"figures: {', '.join(names)}"
        raise SuppressionError(message, code="value", where=table.name, hint=hint)
    if not table.several_figures:
        return table
    return single_figure(table, names.index(figure) if isinstance(figure, str) else figure)


def _joined(parts: Sequence[tuple[Sequence[Any], int]]) -> tuple[Any, ...]:
    """Positions of cells of one table after the other, the number of the table last."""
    columns = [
        np.concatenate(column) for column in zip(*(index for index, _ in parts), strict=True)
    ]
    figure = np.repeat(np.arange(len(parts), dtype=np.int32), [size for _, size in parts])
    return (*(column.astype(np.int32) for column in columns), figure)


def _withheld_figures(tables: Sequence[ProtectedTable]) -> Withheld | None:
    """What is said of the hidden cells of all tables; a reason has one number in all."""
    withheld = [table.withheld for table in tables]
    own = [own_withheld for own_withheld in withheld if own_withheld is not None]
    if len(own) < len(withheld):
        return None
    reasons: dict[str, Note] = {
        note.kind: note for own_withheld in own for note in own_withheld.reasons
    }
    place = {kind: number for number, kind in enumerate(reasons, 1)}
    numbers = [
        np.array([0, *(place[note.kind] for note in own_withheld.reasons)], dtype=np.int8)[
            own_withheld.reason
        ]
        for own_withheld in own
    ]
    bounds: dict[str, Any] = {}
    for name in ("low", "high"):
        columns = [getattr(own_withheld, name) for own_withheld in own]
        if all(column is not None for column in columns):
            bounds[name] = np.concatenate(columns)
    return Withheld(
        index=_joined([(own_withheld.index, len(own_withheld)) for own_withheld in own]),
        reason=np.concatenate(numbers),
        reasons=tuple(reasons.values()),
        instead=bool(bounds) and any(own_withheld.instead for own_withheld in own),
        **bounds,
    )
