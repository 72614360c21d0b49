"""Values of cells in whole units that add up: what rounding leaves over stands in relations.

CONFIDENTIAL; messages name cells, never values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.arrays import IntArray
from discreet.disclosure.named_cells import CellNamer, refuse_cells
from discreet.disclosure.relations import Relations
from discreet.errors import SuppressionError
from discreet.tables import Table

_LARGEST = 2.0**53


def units_of(table: Table, value: str | None, decimals: int) -> IntArray:
    """The values of a table in whole units of the last published decimal."""
    if value is None:
        units: IntArray = table.count * 10**decimals
        return units
    column = table.weight if value == "weight" else table.sums.get(value)
    if column is None:
        frame = ", ".join([*table.sums, *(["weight"] if table.weight is not None else [])])
        message = f"the table has no sums of {value!r}"
        hint = f"found: {frame}" if frame else f"tabulate with values=[{value!r}]"
        raise SuppressionError(message, code="missing-value", where=table.name, hint=hint)
    whole = np.rint(column * float(10**decimals))
    if not np.isfinite(whole).all() or (np.abs(whole) >= _LARGEST).any():
        message = "values are too large, or not numbers, for so many decimals"
        hint = "publish fewer decimals, or values in thousands"
        raise SuppressionError(message, code="values", where=f"{table.name}, {value}", hint=hint)
    return whole.astype(np.int64)


def recomputed_totals(relations: Relations, value: IntArray) -> IntArray:
    """Values with every total added up anew from its parts, finest first.

    Rows have one total (coefficient -1) and parts (1); a total of several takes the first.

    >>> links = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> recomputed_totals(links, np.array([6, 2, 3]))
    array([5, 2, 3])
    """
    result = value.copy()
    if not len(relations):
        return result
    totals, part = relations.totals, relations.coef >= 0
    first = np.full(relations.cells, -1, dtype=np.int64)
    rows = np.flatnonzero(totals >= 0)[::-1]
    first[totals[rows]] = rows
    for _ in range(len(relations) + 1):
        sums = np.zeros(len(relations), dtype=np.int64)
        np.add.at(sums, relations.row[part], result[relations.cell[part]])
        changed = np.where(first >= 0, sums[first] - relations.rhs[first], result)
        if np.array_equal(changed, result):
            return result
        result = changed
    raise SuppressionError(
        "totals and parts refer to each other in a circle", code="relations", where="relations"
    )


def shared_values(
    number: int,
    cells: Sequence[IntArray],
    values: Sequence[IntArray],
    *,
    rounding: int,
    repair: bool,
    names: CellNamer,
) -> IntArray:
    """One value for each cell; tables that share it must agree, but for rounding."""
    cell, value = np.concatenate(list(cells)), np.concatenate(list(values))
    repeated, first = np.unique(cell, return_index=True)
    shared = np.zeros(number, dtype=np.int64)
    shared[repeated] = value[first]
    apart = np.unique(cell[np.abs(value - shared[cell]) > rounding])
    if not repair:
        message = "tables give this cell different values"
        hint = "make them from the same records, or ask for the repair of values"
        refuse_cells(apart, names, message, "contradiction", hint)
    return shared


def additive_values(
    relations: Relations, value: IntArray, *, rounding: int, repair: bool, names: CellNamer
) -> tuple[IntArray, Relations, int]:
    """Whole values that fit the relations, these, and how many totals were put right.

    Totals are added up anew from their parts. Where linked tables add one total up from parts
    that were rounded apart, the small rest stands in the relation. `rounding` is 1 if the
    values given were rounded to units, 0 if they are exact; put right, with `repair`, are
    totals that are farther from the sum of their parts.
    """
    off = 2 * np.abs(relations.residuals(value)) > rounding * np.diff(relations.start)
    totals = relations.totals.copy()
    lacking = np.flatnonzero((totals < 0) & (np.diff(relations.start) > 0))
    totals[lacking] = relations.cell[relations.start[lacking]]
    wrong = np.unique(totals[off])
    hint = "correct the cells, or recalculate the totals (repair=True)"
    if not repair:
        refuse_cells(wrong, names, "the parts do not add up to the total", "additivity", hint)
    if not relations.residuals(value).any():
        return value, relations, 0
    result = recomputed_totals(relations, value)
    rest = relations.residuals(result)
    spread = recomputed_totals(relations, np.ones(len(value), dtype=np.int64))
    allowed = np.zeros(len(relations), dtype=np.int64)
    np.add.at(allowed, relations.row, rounding * np.abs(relations.coef) * spread[relations.cell])
    message = "the total is the sum of different parts, and these sums differ"
    hint = "correct the cells: recalculation cannot decide which parts are right"
    refuse_cells(
        np.unique(totals[2 * np.abs(rest) > allowed]), names, message, "contradiction", hint
    )
    return result, replace(relations, rhs=rest), len(wrong)
