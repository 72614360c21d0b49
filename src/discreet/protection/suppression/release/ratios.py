"""Means and ratios beside values with hidden cells: shown where both ingredients are. Public.

In: a `ProtectedTable` of several values with hidden cells. Out: the same table with ratios
behind its values, worked out from what is shown and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.derived import rounded
from discreet.errors import SuppressionError
from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.tables import CellStatus, Figure, ProtectedTable, figure_dimension


def with_ratios(
    table: ProtectedTable, ratios: Mapping[str, tuple[int, int, float]], figures: Sequence[Figure]
) -> ProtectedTable:
    """The table with ratios of its figures behind them."""
    if not ratios:
        return table
    every = (*table.figures, *figures)
    if not table.several_figures or len({item.name for item in every}) < len(every):
        message = "ratios are made of two figures of a table, and named otherwise than these"
        raise SuppressionError(message, code="ratios", where=table.name)
    index, value, status = [table.index], [table.value.astype(np.float64)], [table.status]
    for number, (part, whole, factor) in enumerate(ratios.values(), len(table.figures)):
        above, below = _everywhere(table, part), _everywhere(table, whole)
        hidden = (above.status == CellStatus.suppressed) | (below.status == CellStatus.suppressed)
        shown = ~hidden & (below.value != 0)
        quotient = np.zeros(len(hidden))
        np.divide(factor * above.value, below.value, out=quotient, where=shown)
        states = np.where(shown, CellStatus.published, CellStatus.not_applicable)
        states[hidden] = CellStatus.suppressed
        figure = np.full(len(hidden), number, dtype=np.int32)
        index.append((*above.index, figure))
        value.append(rounded(quotient, figures[number - len(table.figures)].decimals))
        status.append(states.astype(np.int8))
    return replace(
        table,
        dimensions=(*table.dimensions[:-1], figure_dimension(every)),
        index=tuple(np.concatenate(parts) for parts in zip(*index, strict=True)),
        value=np.concatenate(value),
        status=np.concatenate(status),
        figures=every,
        decimals=max(item.decimals for item in every),
    )


def _everywhere(table: ProtectedTable, number: int) -> ProtectedTable:
    """One figure of a table whose figures have the same cells."""
    own = figure_of(table, number)
    first = figure_of(table, 0)
    same = len(own.value) == len(first.value) and all(
        np.array_equal(one, other) for one, other in zip(own.index, first.index, strict=True)
    )
    if not same:
        raise SuppressionError(
            "the figures of the table have different cells", code="ratios", where=table.name
        )
    return own
