"""Patterns as they are published: blanks, kinds of reasons, intervals, one figure or several.

`ProtectedTable`s hold no hidden value and no parameter of a rule. Those of one value each become
one table with a dimension of figures, and back; and ingredients of key figures: where one of these
is hidden, so is every figure made of it, for else the others would give the hidden one away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet._version import __version__
from discreet.arrays import BoolArray, FloatArray, SmallIntArray
from discreet.disclosure import ZEROS_HIDDEN, zeros_of
from discreet.errors import SuppressionError
from discreet.files import texts_of
from discreet.rules import Reason
from discreet.tables import (
    CellStatus,
    Figure,
    Ingredient,
    Note,
    ProtectedTable,
    Provenance,
    Table,
    Withheld,
    figure_dimension,
    note_of,
    parts_with_figures,
    single_figure,
)

if TYPE_CHECKING:
    from discreet.disclosure import TableCells
    from discreet.protection.suppression.problem.system import SuppressionProblem

#: Name of the method in the provenance of a table.
METHOD = "cell-suppression"

_PACKAGE = "discreet.protection.suppression"
_LANGUAGES = ("en", "de")


def marks_of(
    members: TableCells, marks: Sequence[Any], among: Sequence[BoolArray], nothing: Any
) -> Any:
    """Marks of problem cells: of the first table that marks the cell."""
    size = 1 + max((int(cells.max(initial=-1)) for cells in members.cells), default=-1)
    own = np.full(size, nothing, dtype=np.asarray(marks[0]).dtype)
    for cells, mark, mask in reversed(list(zip(members.cells, marks, among, strict=True))):
        marked = mask & (cells >= 0)
        own[cells[marked]] = np.asarray(mark)[marked]
    return own


def reasons_of(
    problem: SuppressionProblem, members: TableCells, sources: Sequence[tuple[Table, Any]]
) -> SmallIntArray:
    """Why each problem cell is sensitive: a `Reason`; that of the first table that says one.

    Cells of a mask are marked by hand. Cells that are not sensitive have none.
    """
    among = [
        np.asarray(getattr(primary, "sensitive", primary), dtype=np.bool_) for _, primary in sources
    ]
    marks = [
        np.asarray(getattr(primary, "reason", np.full(len(table), Reason.manual)), dtype=np.int8)
        for table, primary in sources
    ]
    reason = np.zeros(len(problem), dtype=np.int8)
    own = marks_of(members, marks, among, 0)
    reason[: len(own)] = own
    return reason


def published_table(
    table: Table,
    members: TableCells,
    at: int,
    hidden: BoolArray,
    reason: SmallIntArray,
    intervals: tuple[FloatArray, FloatArray] | None,
    *,
    value: str | None,
    decimals: int,
    reasons: Literal["rule", "kind", "none"],
    zeros: bool,
    instead: bool = False,
    **words: Any,
) -> ProtectedTable:
    """One table, number `at` of the members, as it may be published.

    `hidden` and `reason` are about problem cells; so are `intervals`, lowest and highest values
    in units as everyone can work them out, None if they are not published; they may stand
    `instead` of hidden values. It is said if `zeros` may be hidden, and whether the "rule", the
    "kind" or nothing is told of reasons. `words` are titles and universe by language.
    """
    blank = members.hidden(hidden, at)
    status = np.where(blank, CellStatus.suppressed, CellStatus.published).astype(np.int8)
    units = np.where(blank, 0, members.values[at])
    shown: Any = units if decimals == 0 else units / 10.0**decimals
    figures: tuple[Figure, ...] = ()
    if value is not None:
        figures = (Figure(name=value, kind="sum", decimals=decimals),)
    own = members.cells[at][blank]
    number, listed = np.zeros(own.size, dtype=np.int8), tuple[Note, ...]()
    if reasons != "none":  # only reasons that occur are listed
        rule = reasons == "rule"
        kinds, which = np.unique(reason[own] if rule else reason[own] > 0, return_inverse=True)
        listed = tuple(_reason_note(int(kind), rule=rule) for kind in kinds)
        number = (which + 1).astype(np.int8)
    scale = 10.0**decimals
    low, high = (None, None) if intervals is None else (part[own] / scale for part in intervals)
    withheld = Withheld(
        index=tuple(part[blank] for part in table.index),
        reason=number,
        reasons=listed,
        low=low,
        high=high,
        instead=intervals is not None and instead,
    )
    return ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=shown,
        status=status,
        provenance=Provenance(version=__version__, method=METHOD),
        notes=pattern_notes(withheld, zeros=zeros) if blank.any() else (),
        name=table.name,
        **words,
        decimals=decimals,
        parts=table.parts,
        figures=figures,
        withheld=withheld if blank.any() and (reasons != "none" or intervals) else None,
    )


def _reason_note(reason: int, *, rule: bool) -> Note:
    """Code and words of a reason: of secondary cells, of a kind of rule, or of all rules."""
    if not reason or not rule:
        return note_of(_PACKAGE, "primary" if reason else "secondary")
    known = Reason(reason)
    return Note(known.code, {language: known.text(language) for language in _LANGUAGES})


def pattern_notes(
    withheld: Withheld | None, *, zeros: bool, rounded: bool = False
) -> tuple[Note, ...]:
    """The remarks to print with a table that has hidden cells, with the reasons that occur."""
    texts = {}
    for language in _LANGUAGES:
        words = texts_of(_PACKAGE, "notes", language)
        parts = [words[kind] for kind in (METHOD, *([] if rounded else ["unchanged"]))]
        if withheld is not None and withheld.reasons:
            listed = "; ".join(f"{note.kind}: {note.text(language)}" for note in withheld.reasons)
            parts.append(words["reasons"].format(listed))
        if withheld is not None and withheld.low is not None:
            parts.append(words["instead" if withheld.instead else "intervals"])
        texts[language] = " ".join(parts)
    return (Note(METHOD, texts), *([note_of(_PACKAGE, ZEROS_HIDDEN)] if zeros else []))


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
        message = "two figures of the table have the same name"
        hint = "a value column with counts cannot be called 'count'"
        raise SuppressionError(message, code="value", where=first.name, hint=hint)
    dimensions = (*first.dimensions, figure_dimension(figures))
    listed = [table.withheld for table in tables]
    own = [each for each in listed if each is not None]
    withheld = None
    if len(own) == len(listed):  # a reason has one number in all
        reasons: dict[str, Note] = {note.kind: note for each in own for note in each.reasons}
        place = {kind: number for number, kind in enumerate(reasons, 1)}
        numbers = [
            np.array([0, *(place[note.kind] for note in each.reasons)], dtype=np.int8)[each.reason]
            for each in own
        ]
        bounds: dict[str, Any] = {
            name: np.concatenate([getattr(each, name) for each in own])
            for name in ("low", "high")
            if all(getattr(each, name) is not None for each in own)
        }
        withheld = Withheld(
            index=_joined([(each.index, len(each)) for each in own]),
            reason=np.concatenate(numbers),
            reasons=tuple(reasons.values()),
            instead=bool(bounds) and any(each.instead for each in own),
            **bounds,
        )
    return replace(
        first,
        dimensions=dimensions,
        index=_joined([(table.index, table.stored) for table in tables]),
        value=np.concatenate([table.value for table in tables]),
        status=np.concatenate([table.status for table in tables]),
        figures=figures,
        decimals=max(figure.decimals for figure in figures),
        parts=None if first.parts is None else parts_with_figures(first.parts, dimensions),
        notes=pattern_notes(withheld, zeros=zeros_of(tables) == "partners")
        if any(table.notes for table in tables)
        else (),
        withheld=withheld,
    )


def _joined(parts: Sequence[tuple[Sequence[Any], int]]) -> tuple[Any, ...]:
    """Positions of cells of one table after the other, the number of the table last."""
    columns = [
        np.concatenate(column) for column in zip(*(index for index, _ in parts), strict=True)
    ]
    figure = np.repeat(np.arange(len(parts), dtype=np.int32), [size for _, size in parts])
    return (*(column.astype(np.int32) for column in columns), figure)


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
        message = f"figure {figure!r} not found in the table"
        hint = f"figures: {', '.join(names)}"
        raise SuppressionError(message, code="value", where=table.name, hint=hint)
    if not table.several_figures:
        return table
    return single_figure(table, names.index(figure) if isinstance(figure, str) else figure)


def ingredient_of(table: ProtectedTable, figure: int | str = 0) -> Ingredient:
    """A figure of a table with hidden cells, as `discreet.derive` takes it.

    Args:
        table: The table as it is published: nothing else enters key figures.
        figure: The number of the figure, or its name.

    >>> import polars as pl
    >>> from discreet import KeyFigure, derive, primary, rules, suppress, tabulate
    >>> firms = pl.DataFrame({"branch": [*"aaabbbccc"], "sales": [3, 5, 7, 9, 9, 9, 1, 1, 40]})
    >>> found = tabulate(firms, ["branch"], values=["sales"], contributions=2)
    >>> judged = [primary(found, [rules.PPercent(15)], value=v) for v in ("sales",)]
    >>> judged += [primary(found, [rules.NothingSensitive()])]
    >>> safe = suppress(found, judged, method="fast")
    >>> parts = {name: ingredient_of(safe, name) for name in ("sales", "count")}
    >>> mean = KeyFigure(name="mean", kind="mean", part="sales", whole="count")
    >>> shown = derive(parts, [mean], bracket_above=None)
    >>> [shown.get(code) for code in ("Total", "b", "c")]
    [9.33, 9.0, None]
    """
    own = figure_of(table, figure)
    hidden = own.status == CellStatus.suppressed
    value = np.where(hidden, 0, own.value).astype(np.float64)
    return Ingredient(
        protected=own,
        index=own.index,
        value=value,
        original=value,
        deviation=np.zeros(len(value)),
        suppressed=hidden,
    )
