"""Protected tables of tests, made of nothing but their values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.classifications import Classification
from discreet.protection.suppression.publish.protected_tables import published_table
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance, Table


def protected_table(
    trees: Sequence[Classification],
    value: Any,
    *,
    at: Any = None,
    status: Any = CellStatus.published,
    method: str = "cell-key",
    chosen: bool = False,
    **more: Any,
) -> ProtectedTable:
    """Values of the first cells of a grid, in its order, or of the places that are named.

    Args:
        trees: What spans the table, one per dimension.
        value: The published values.
        at: A row of places per dimension.
        status: That of all cells, or one per cell.
        method: How they were protected.
        chosen: Whether codes stand side by side that are no whole.
        more: Further fields of the table.
    """
    value = np.asarray(value)
    if at is None:
        sizes = [len(tree) for tree in trees]
        at = np.unravel_index(np.arange(len(value)), sizes) if trees else ()
    return ProtectedTable(
        dimensions=tuple(Dimension(classifications=(tree,), chosen=chosen) for tree in trees),
        index=tuple(np.asarray(places, dtype=np.int32) for places in at),
        value=value,
        status=np.full(len(value), status, dtype=np.int8),
        provenance=Provenance(version="1", method=method),
        **more,
    )


def blanks(safe: ProtectedTable) -> set[tuple[str, ...]]:
    """The codes of the cells that show no value."""
    hidden = safe.to_polars(complete=True).filter(pl.col("value").is_null())
    return set(hidden.select([each.name for each in safe.dimensions]).rows())


def marked(table: Table, **codes: str) -> np.ndarray:
    """The cells with these codes, of all other variables the total."""
    mask = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        mask &= part == dimension.index[codes.get(dimension.name, dimension.total)]
    return mask


def with_hidden(
    tables: Sequence[Table], members: Any, hidden: np.ndarray, value: str | None = None
) -> list[ProtectedTable]:
    """Tables with some cells of their problem hidden, whatever that opens."""
    style: Any = {"value": value, "decimals": 0, "reasons": "none", "zeros": False}
    none = np.zeros(len(hidden), dtype=np.int8)
    return [
        published_table(table, members, at, hidden, none, None, **style)
        for at, table in enumerate(tables)
    ]
