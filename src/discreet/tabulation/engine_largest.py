"""The largest contributions from a data engine that ranks records itself.

In: records of an engine whose rows do not come in batches. Out: lists per cell
(confidential). Records are ranked within their cells; only the first ones leave
the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.tabulation.engine_numbers import absent, number
from discreet.tabulation.largest import Largest
from discreet.tabulation.layout import Layout

__all__ = ["end_columns", "end_totals", "first_records", "read_largest"]

_VALUE, _WEIGHT, _SIZE, _PLACE, _ALL = "value", "weight", "size", "place", "all"


def end_columns(layout: Layout, schema: nw.Schema) -> dict[str, nw.Expr]:
    """Columns of which the smallest and largest are wanted."""
    values = {f"end{k}": number(name, schema) for k, name in enumerate(layout.largest)}
    return {name: nw.when(~absent(value)).then(value) for name, value in values.items()}


def end_totals(layout: Layout) -> list[nw.Expr]:
    """Smallest and largest of the `end_columns`."""
    columns = [(k, nw.col(f"end{k}")) for k in range(len(layout.largest))]
    return [
        expression
        for k, column in columns
        for expression in (column.min().alias(f"low{k}"), column.max().alias(f"high{k}"))
    ]


def first_records(
    frame: nw.LazyFrame[Any], groups: Mapping[str, nw.Expr], layout: Layout, schema: nw.Schema
) -> list[nw.LazyFrame[Any]]:
    """Per column of contributions, the plan of each cell's first records."""
    named = [expression.alias(name) for name, expression in groups.items()]
    cells = [*groups] or [_ALL]
    plans = []
    for name, k in layout.largest.items():
        value = number(name, schema)
        parts = {_SIZE: value.abs(), _VALUE: value}
        if layout.weight is not None:
            parts = {_SIZE: value.abs(), _WEIGHT: number(layout.weight, schema), _VALUE: value}
        ready = frame.filter(~absent(value)).select(
            *named, nw.lit(1).alias(_ALL), *(part.alias(at) for at, part in parts.items())
        )
        place = nw.struct(*parts).rank("ordinal", descending=True).over(*cells)
        plans.append(ready.with_columns(place.alias(_PLACE)).filter(nw.col(_PLACE) <= k))
    return plans


def read_largest(
    cells: pl.DataFrame, found: list[pl.DataFrame], axes: int, layout: Layout
) -> dict[str, Largest]:
    """The lists of the cells, from their first records.

    Args:
        cells: The engine's cells, one row each.
        found: The first records of the cells, per column of contributions.
        axes: Number of axes.
        layout: What was wanted.
    """
    names = [f"axis{k}" for k in range(axes)]
    places = cells.select(names).with_row_index("cell")
    lists = {}
    for at, ((name, k), first) in enumerate(zip(layout.largest.items(), found, strict=True)):
        rows: Any = np.zeros(first.height, dtype=np.int64)
        if names:
            joined = first.join(
                places, on=names, how="left", nulls_equal=True, maintain_order="left"
            )
            rows = joined["cell"].to_numpy()
        where = rows, first[_PLACE].cast(pl.Int64).to_numpy() - 1
        columns = [_VALUE, *([] if layout.weight is None else [_WEIGHT])]
        filled = {column: np.full((cells.height, k), np.nan) for column in columns}
        for column, array in filled.items():
            array[where] = first[column].to_numpy()
        ends = [
            cells[f"{end}{at}"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for end in ("low", "high")
        ]
        lists[name] = Largest.of(ends[0], ends[1], filled[_VALUE], filled.get(_WEIGHT))
    return lists
