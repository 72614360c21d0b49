"""From measures and lists of a table's cells to `Contributions`.

In: the measures of all cells of a table, rolled up. Out: per value column what
records add to each cell (confidential). What most cells lack - records without a
value, of value 0, of a negative value - was counted on its own and is taken off here.
"""

from __future__ import annotations

from discreet.keygrid import KeyGrid
from discreet.tables.magnitudes import Contributions
from discreet.tables.table import IntArray
from discreet.tabulation.largest import Largest
from discreet.tabulation.layout import Layout
from discreet.tabulation.limbs import from_limbs

__all__ = ["contributions_of"]


def contributions_of(
    column: str, measures: IntArray, layout: Layout, grid: KeyGrid, largest: Largest
) -> Contributions:
    """The contributions to one value column."""
    count = measures[0] - layout.row(measures, "missing", column, "n")
    nonzero = count - layout.row(measures, "zero", column, "n")
    whole = layout.limbs(measures, "sum", column)
    negative = layout.limbs(measures, "negative", column)
    total = from_limbs(*whole)
    weight, plain = None, total
    if layout.weight is not None:
        missing = layout.limbs(measures, "missing", column)
        every = layout.limbs(measures, "weight")
        weight = from_limbs(*(all_ - none for all_, none in zip(every, missing, strict=True)))
        plain = from_limbs(*layout.limbs(measures, "plain", column))
    key, nonzero_key = _keys(column, measures, layout, grid)
    weights = largest.weights
    return Contributions(
        column=column,
        top=largest.top.copy(),
        top_weight=None if weights is None else weights.copy(),
        count=count,
        nonzero=nonzero,
        key=key,
        nonzero_key=nonzero_key,
        weight=weight,
        total=total,
        plain=plain,
        absolute=from_limbs(*(all_ - 2 * part for all_, part in zip(whole, negative, strict=True))),
        low=largest.low.copy(),
        high=largest.high.copy(),
    )


def _keys(
    column: str, measures: IntArray, layout: Layout, grid: KeyGrid
) -> tuple[IntArray | None, IntArray | None]:
    """Cell keys of the records with a value, and of those whose value is not 0."""
    if not layout.keyed:
        return None, None
    high, low = (
        layout.row(measures, "key", part) - layout.row(measures, "missing", column, part)
        for part in ("high", "low")
    )
    none_high, none_low = (layout.row(measures, "zero", column, part) for part in ("high", "low"))
    return grid.combine(high, low), grid.combine(high - none_high, low - none_low)
