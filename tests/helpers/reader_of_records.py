"""A reader who knows what records can be alike: which sums of them printed sums leave one value.

Written apart from the product: programs over all kinds of records, no kind of which is negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import LinearConstraint, milp

import discreet as dc

#: Ends that lie no further apart are one value.
_ONE_VALUE = 1e-3


def single_valued(asked: np.ndarray, printed: LinearConstraint, *, whole: bool) -> np.ndarray:
    """Which sums of records (rows over kinds of records) can have one value only.

    Each solution counts for all sums: two that differ in a sum show that it is not known.
    """
    low, high = np.full(len(asked), np.inf), np.full(len(asked), -np.inf)
    for at, wish in enumerate(asked):
        for sign in (1, -1):
            if high[at] - low[at] >= _ONE_VALUE:
                break
            end = milp(sign * wish, constraints=printed, integrality=int(whole))
            if end.status == 3:  # a hidden total has no upper end
                high[at] = np.inf
                break
            assert end.status == 0
            values = asked @ (np.rint(end.x) if whole else end.x)
            np.minimum(low, values, out=low)
            np.maximum(high, values, out=high)
    return high - low < _ONE_VALUE


def known(
    sums: np.ndarray, shown: Sequence[Any], asked: np.ndarray, *, least: float, whole: bool = True
) -> np.ndarray:
    """Which of the asked cells (rows over kinds of records) are known, hidden or not.

    What is shown of each cell is None where it is hidden; then it is this `least` number or more.
    """
    # Kinds of records that no cell tells apart are one unknown, and of what shows zero is none.
    sums = np.unique(sums.astype(float), axis=1)
    sums = sums[:, ~sums[[value == 0 for value in shown]].any(axis=0)]
    low = [least if value is None else value for value in shown]
    high = [np.inf if value is None else value for value in shown]
    return single_valued(sums[asked], LinearConstraint(sums, low, high), whole=whole)


def figures(safe: dc.ProtectedTable) -> dict[tuple[str, ...], Any]:
    """What a table shows of each of its cells, zeros included; None where it is hidden."""
    frame = safe.to_polars(complete=True)
    names = [dimension.name for dimension in safe.dimensions]
    return dict(zip(frame.select(names).rows(), frame["value"].to_list(), strict=True))


def codes_of(table: dc.Table) -> list[tuple[str, ...]]:
    """The codes of each cell of a table."""
    return table.to_polars().select([own.name for own in table.dimensions]).rows()


def known_cells(
    kinds: pl.DataFrame,
    tables: Sequence[dc.Table],
    safe: Sequence[dc.ProtectedTable],
    masks: Sequence[np.ndarray],
) -> set[tuple[str, ...]]:
    """Names of the sensitive cells with one whole number only, if no kind of record is negative.

    Each shown figure is a sum of kinds, zeros too; hidden cells are at least one, unless zeros may
    be hidden.
    """
    zeros = any(note.kind == "hidden-zeros" for table in safe for note in table.notes)
    sums, shown, cells, asked = [], [], [], []
    for table, published, mask in zip(tables, safe, masks, strict=True):
        names = [dimension.name for dimension in table.dimensions]
        sensitive = dict(zip(codes_of(table), mask.tolist(), strict=True))
        passed = kinds.select(pl.sql_expr(table.where or "true")).to_series().to_numpy()
        for codes, value in figures(published).items():
            own = {n: code for n, code in zip(names, codes, strict=True) if code != "Total"}
            parts = [(kinds[name] == code).to_numpy() for name, code in own.items()]
            sums.append(np.logical_and.reduce([np.broadcast_to(passed, kinds.height), *parts]))
            shown.append(value)
            where = [table.where] if table.where else []
            cells.append((*sorted(f"{name}={code}" for name, code in own.items()), *where))
            asked.append(sensitive.get(codes, False))
    if not any(asked):
        return set()
    single = known(np.array(sums), shown, np.array(asked), least=1.0 - zeros)
    wanted = [cell for cell, one in zip(cells, asked, strict=True) if one]
    return {cell for cell, one in zip(wanted, single, strict=True) if one}
