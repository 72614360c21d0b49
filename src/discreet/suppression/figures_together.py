"""`together` and `figure_of`: tables of one value each, as one of several figures. Public.

In: `ProtectedTable`s over the same cells. Out: one `ProtectedTable` with a dimension of
figures, reasons and intervals of each among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.errors import SuppressionError
from discreet.suppression.hidden_cells import pattern_notes
from discreet.tables import Figure, Note, ProtectedTable, Withheld
from discreet.tables.figures import figure_dimension
from discreet.tables.parts import parts_with_figures

__all__ = ["figure_of", "together"]


def together(tables: Sequence[ProtectedTable]) -> ProtectedTable:
    """One table of several figures.

    Args:
        tables: The same table for one value each; the values of a single one stay as
            they are.
    """
    first = tables[0]
    if len(tables) == 1:
        return first
    figures = tuple(table.figures[0] if table.figures else Figure(name="count") for table in tables)
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        raise SuppressionError(
            "two figures of the table have one name",
            code="value",
            where=first.name,
            hint="a value column beside the counts cannot be called 'count'",
        )
    dimensions = (*first.dimensions, figure_dimension(figures))
    withheld = _withheld(tables)
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
        notes=pattern_notes(withheld) if hidden else (),
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
    names = [each.name for each in table.figures]
    known = figure in names if isinstance(figure, str) else 0 <= figure < max(len(names), 1)
    if not known:
        raise SuppressionError(
            f"the table has no figure {figure!r}",
            code="value",
            where=table.name,
            hint=f"figures: {', '.join(names)}",
        )
    if not table.several_figures:
        return table
    number = names.index(figure) if isinstance(figure, str) else figure
    own = table.index[-1] == number
    return replace(
        table,
        dimensions=table.dimensions[:-1],
        index=tuple(part[own] for part in table.index[:-1]),
        value=table.value[own],
        status=table.status[own],
        figures=(table.figures[number],),
        decimals=table.figures[number].decimals,
        parts=None,
        cell_notes=(),
        withheld=None,
    )


def _joined(parts: Sequence[tuple[Sequence[Any], int]]) -> tuple[Any, ...]:
    """Positions of cells of one table after the other, the number of the table last."""
    columns = [np.concatenate(each) for each in zip(*(index for index, _ in parts), strict=True)]
    figure = np.repeat(np.arange(len(parts), dtype=np.int32), [size for _, size in parts])
    return (*(column.astype(np.int32) for column in columns), figure)


def _withheld(tables: Sequence[ProtectedTable]) -> Withheld | None:
    """What is said of the hidden cells of all tables; a reason has one number in all."""
    said = [table.withheld for table in tables]
    own = [each for each in said if each is not None]
    if len(own) < len(said):
        return None
    reasons: dict[str, Note] = {note.kind: note for each in own for note in each.reasons}
    place = {kind: number for number, kind in enumerate(reasons, 1)}
    numbers = [
        np.array([0, *(place[note.kind] for note in each.reasons)], dtype=np.int8)[each.reason]
        for each in own
    ]
    bounds: dict[str, Any] = {}
    for name in ("low", "high"):
        columns = [getattr(each, name) for each in own]
        if all(column is not None for column in columns):
            bounds[name] = np.concatenate(columns)
    return Withheld(
        index=_joined([(each.index, len(each)) for each in own]),
        reason=np.concatenate(numbers),
        reasons=tuple(reasons.values()),
        **bounds,
    )
