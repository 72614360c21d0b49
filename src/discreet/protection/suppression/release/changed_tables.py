"""Tables of earlier releases whose data have changed since, as they were then. CONFIDENTIAL.

In: what was published, and the table of today. Out: the table of then – shown values as they
were published, hidden ones as the whole numbers next to those of today that add up with
them, for the values of then are not kept – with the cells that were sensitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, starts
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table

if TYPE_CHECKING:
    from discreet.protection.suppression.problem.system import Relations
    from discreet.rules import Primary

#: Dimensions, index and number of cells.
Cells = tuple[Sequence[Dimension], Sequence[Any], int]

#: Branchings of the program that looks for hidden values.
_NODES = 2_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChangedTable:
    """An earlier table of one value as it was then (confidential)."""

    table: Table  # its values, hidden ones by guess
    hidden: BoolArray  # which cells were hidden
    sensitive: BoolArray  # which of these were or are sensitive
    lower: FloatArray  # their lower protection levels, by the rules of today
    upper: FloatArray  # their upper protection levels
    sliding: FloatArray  # their sliding protection levels
    changed: int  # how many shown values are others today

    def __repr__(self) -> str:
        return f"<ChangedTable (confidential): {self.table.name}>"


def table_of_then(
    published: ProtectedTable,
    today: Table,
    found: Primary,
    column: str | None,
    decimals: int,
) -> ChangedTable | None:
    """The table of then; None if no whole numbers of at least 0 add up with what was published."""
    from discreet.protection.suppression.problem.table_relations import relations_of, units_of

    index, value, status = published.cells()
    units = np.rint(value * 10.0**decimals).astype(np.int64)
    hidden: BoolArray = status == CellStatus.suppressed
    place = places_in(
        (today.dimensions, today.index, len(today)), (published.spanning, index, len(value))
    )
    there = place >= 0
    now = units_of(today, column, decimals)
    guess = np.where(there, now[np.maximum(place, 0)], 0)
    if (units[~hidden] < 0).any():
        return None
    relations = relations_of(published.spanning, index)
    # Of counts zeros are printed, unless they were hidden as partners.
    for least in (1, 0) if column is None else (0,):
        filled = _filled(relations, units, hidden, np.maximum(guess, least), least)
        if filled is not None:
            break
    else:
        return None
    levels = {
        name: np.where(there, np.asarray(getattr(found, name))[np.maximum(place, 0)], 0.0)
        for name in ("lower", "upper", "sliding")
    }
    sensitive = there & hidden & found.sensitive[np.maximum(place, 0)]
    return ChangedTable(
        table=_table(published, today, index, filled, hidden, column, decimals),
        hidden=hidden,
        sensitive=sensitive,
        **{name: np.where(sensitive, np.nan_to_num(level), 0.0) for name, level in levels.items()},
        changed=int((units != guess)[~hidden].sum()),
    )


def _table(
    published: ProtectedTable,
    today: Table,
    index: Any,
    units: IntArray,
    hidden: BoolArray,
    column: str | None,
    decimals: int,
) -> Table:
    occupied = ((units != 0) | hidden).astype(np.int64)
    values = units / 10.0**decimals
    told: dict[str, Any] = {"count": occupied}
    if column is None:
        told = {"count": units}
    elif column == "weight":
        told["weight"] = values
    else:
        told["sums"] = {column: values}
    return Table(
        dimensions=tuple(published.spanning), index=tuple(index), where=today.where,
        name=today.name, parts=today.parts, **told,
    )  # fmt: skip


def places_in(known: Cells, wanted: Cells) -> IntArray:
    """Where each wanted cell stands among known ones of the same variables; -1 where it does not.

    Cells are given by their dimensions, their index and their number.
    """
    dimensions, index, stored = known
    own = {each.name: (each.codes, part) for each, part in zip(*wanted[:2], strict=False)}
    there = np.ones(wanted[2], dtype=np.bool_)
    parts = []
    for dimension in dimensions:
        codes, part = own[dimension.name]
        place = np.array([dimension.index.get(code, -1) for code in codes], dtype=np.int64)[part]
        there &= place >= 0
        parts.append(np.maximum(place, 0))
    found = CellIndex.of(dimensions).find(index, parts, (stored, wanted[2]))
    return np.where(there, found, -1)


def _filled(
    relations: Relations, units: IntArray, hidden: BoolArray, guess: IntArray, least: int
) -> IntArray | None:
    """The values with hidden ones next to a guess, so that everything adds up."""
    from discreet.protection.suppression.proof.whole_numbers import make_whole
    from discreet.solver import column_values, loaded_solver

    filled = np.where(hidden, guess, units)
    rest = -relations.residuals(np.where(hidden, 0, units)).astype(np.float64)
    inside = hidden[relations.cell]
    touched = np.bincount(relations.row[inside], minlength=len(relations)) > 0
    if rest[~touched].any():
        return None
    if not relations.residuals(filled).any():
        return filled
    among, cells = relations.among(hidden)
    size, own = len(cells), np.arange(len(cells))
    # The distance of each value from its guess, up and down, costs 1 per unit.
    width = np.concatenate([np.diff(among.start), np.full(size, 3)])
    columns = np.concatenate(
        [among.cell, np.stack([own, own + size, own + 2 * size], axis=1).ravel()]
    )
    coef = np.concatenate([among.coef, np.tile([1, -1, 1], size)])
    right = np.concatenate([rest[touched], guess[cells].astype(np.float64)])
    solver = loaded_solver(
        (starts(width), columns, coef),
        np.concatenate([np.full(size, float(least)), np.zeros(2 * size)]),
        np.full(3 * size, np.inf),
        cost=np.concatenate([np.zeros(size), np.ones(2 * size)]),
        rows=(right, right),
        mip_max_nodes=_NODES,
    )
    make_whole(solver, own)
    solver.run()
    values = column_values(solver)
    if len(values) < size:
        return None
    filled[cells] = np.rint(values[:size]).astype(np.int64)
    return None if relations.residuals(filled).any() or (filled < 0).any() else filled
