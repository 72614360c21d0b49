"""The base cube from a data engine: one grouped pass, only aggregates come back.

In: a lazy frame (polars, DuckDB, PySpark, …). Out: `Cube` (confidential). Keys
are added in two parts so that no engine's 64-bit sum can overflow or wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.errors import DiscreetError, MicrodataError
from discreet.keygrid import KeyGrid
from discreet.tables.cells import LARGEST_CODE, code_texts, fractions
from discreet.tabulation.coding import bin_codes
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine_keys import check_key_sums, key_sums, split_keys
from discreet.tabulation.engine_largest import (
    end_columns,
    end_totals,
    first_records,
    read_largest,
)
from discreet.tabulation.engine_numbers import absent, check_numbers, measure, number_parts
from discreet.tabulation.filters import filter_failed
from discreet.tabulation.layout import Layout
from discreet.tabulation.query import Axis

__all__ = ["Pass", "run_passes"]

#: Stands for a number with decimals in a level column; no code is this character.
_FRACTION = "\ue000"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One grouped pass over the records: what spans it, who counts, what is summed."""

    axes: tuple[Axis, ...]
    where: nw.Expr | None
    layout: Layout

    @property
    def numbers(self) -> list[str]:
        """Columns of weights and values."""
        weight = self.layout.weight
        return [*([] if weight is None else [weight]), *self.layout.values]

    def bare(self) -> Pass:
        """The same without largest contributions."""
        return replace(self, layout=self.layout.part(self.layout.values, {}))

    def complete(self) -> Pass:
        """The same with measures of all shares of the records that may occur."""
        return replace(self, layout=self.layout.with_shares(self.layout.possible))


def run_passes(
    frame: nw.LazyFrame[Any],
    passes: Sequence[Pass],
    *,
    record_key: str | None,
    grid: KeyGrid,
) -> list[Cube]:
    """Run all passes; polars runs them together over one reading of the records."""
    if not passes:
        return []
    schema = frame.collect_schema()
    passes = [one.complete() for one in passes]
    try:
        frames = _collect([_plan(frame, schema, one, record_key, grid) for one in passes])
        largest = [_collect(_first_records(frame, schema, one)) for one in passes]
    except (DiscreetError, MemoryError):
        raise
    except Exception as error:
        raise engine_refused(passes, error) from None
    return [
        _cube(result, first, one, record_key, grid, schema)
        for result, first, one in zip(frames, largest, passes, strict=True)
    ]


def engine_refused(passes: Sequence[Pass], error: Exception) -> DiscreetError:
    """The error for an engine that fails on records or filters."""
    if any(one.where is not None for one in passes):
        return filter_failed(error)
    return _engine_failed(error)


def _engine_failed(error: Exception) -> MicrodataError:
    """The error for records that a data engine cannot read or group; its text may hold data."""
    return MicrodataError(
        f"the data engine failed on these records ({type(error).__name__})",
        code="engine-failed",
        hint="collect the frame on its own to see what the engine says",
    )


def _collect(plans: Sequence[nw.LazyFrame[Any]]) -> list[pl.DataFrame]:
    natives = [plan.to_native() for plan in plans]
    if natives and all(isinstance(native, pl.LazyFrame) for native in natives):
        return pl.collect_all(natives, engine="streaming")
    return [plan.collect(backend="polars").to_native() for plan in plans]


def _plan(
    frame: nw.LazyFrame[Any], schema: nw.Schema, one: Pass, record_key: str | None, grid: KeyGrid
) -> nw.LazyFrame[Any]:
    if one.where is not None:
        frame = frame.filter(one.where)
    groups = _groups(one.axes, schema)
    columns: dict[str, nw.Expr] = {}
    totals: list[nw.Expr] = []
    if one.layout.keyed and record_key is not None:
        columns, totals = key_sums(record_key, schema, grid, wide=_adds_wide(frame))
    numbers = number_parts(one.layout, schema, columns.get("key"))
    columns |= numbers | end_columns(one.layout, schema)
    totals += [nw.col(name).sum().cast(nw.Int64).alias(name) for name in numbers]
    totals += end_totals(one.layout)
    counted = nw.len().cast(nw.Int64).alias("n")
    if not groups and not columns:
        return frame.select(counted)
    ready = frame.select(
        *(expression.alias(name) for name, expression in {**groups, **columns}.items())
    )
    if not groups:
        return ready.select(counted, *totals)
    grouped: nw.LazyFrame[Any] = ready.group_by(*groups).agg(counted, *totals)
    return grouped


def _first_records(
    frame: nw.LazyFrame[Any], schema: nw.Schema, one: Pass
) -> list[nw.LazyFrame[Any]]:
    """The plans of the first records of each cell, where they are wanted."""
    if one.where is not None:
        frame = frame.filter(one.where)
    return first_records(frame, _groups(one.axes, schema), one.layout, schema)


def _groups(axes: Sequence[Axis], schema: nw.Schema) -> dict[str, nw.Expr]:
    """The columns that span the cube."""
    return {f"axis{k}": _axis(axis, schema) for k, axis in enumerate(axes)}


def _adds_wide(frame: nw.LazyFrame[Any]) -> bool:
    """Whether the engine adds whole numbers in 128 bits."""
    return frame.implementation in (nw.Implementation.POLARS, nw.Implementation.DUCKDB)


def _axis(axis: Axis, schema: nw.Schema) -> nw.Expr:
    if axis.levels:
        return nw.coalesce(*(_text(name, schema) for name in reversed(axis.levels)))
    column = nw.col(axis.column)
    if axis.bounds is None or _few_values(axis, schema):
        return column
    if not schema[axis.column].is_numeric():
        raise MicrodataError(
            f"intervals need numbers, the column is of type {schema[axis.column]}",
            code="column-type",
            where=axis.column,
        )
    number = column.cast(nw.Float64)
    count = len(axis.bounds) - 1
    steps = [(number >= bound).cast(nw.Int16) for bound in axis.bounds if np.isfinite(bound)]
    below = sum(1 for bound in axis.bounds if bound == -np.inf)
    place = nw.lit(below - 1).cast(nw.Int16)
    for step in steps:
        place = place + step
    inside = (place >= 0) & (place < count)
    chosen = nw.when(inside).then(place).otherwise(nw.lit(count).cast(nw.Int16))
    return nw.when(~absent(number)).then(chosen)


def _few_values(axis: Axis, schema: nw.Schema) -> bool:
    """Whether an integer column is so narrow that its values are cut after grouping."""
    return schema[axis.column] in (nw.Int8, nw.UInt8, nw.Int16, nw.UInt16)


def _text(name: str, schema: nw.Schema) -> nw.Expr:
    if not schema[name].is_float():
        return nw.col(name).cast(nw.String)
    number = nw.col(name).cast(nw.Float64)
    whole = ~absent(number) & (number == number.floor()) & (number.abs() < LARGEST_CODE)
    digits = nw.when(whole).then(number).cast(nw.Int64).cast(nw.String)
    return nw.when(whole | absent(number)).then(digits).otherwise(nw.lit(_FRACTION))


def _cube(
    frame: pl.DataFrame,
    first: list[pl.DataFrame],
    one: Pass,
    record_key: str | None,
    grid: KeyGrid,
    schema: nw.Schema,
) -> Cube:
    if one.layout.keyed and record_key is not None:
        check_key_sums(frame, record_key, grid)
    check_numbers(frame, one.layout)
    if not one.axes and frame["n"][0] == 0:
        frame = frame.clear()
    known = {("n",): "n", ("key", "high"): "key_high", ("key", "low"): "key_low"}
    rows = [known.get(row, measure(at)) for row, at in one.layout.rows.items()]
    if one.layout.keyed:
        frame = split_keys(frame)
    measures = np.vstack([frame[row].cast(pl.Int64).to_numpy() for row in rows])
    codes, values = [], []
    for k, axis in enumerate(one.axes):
        raw = axis.bounds is not None and _few_values(axis, schema)
        texts = _texts(frame[f"axis{k}"], axis, raw=raw)
        distinct = texts.unique(maintain_order=True)
        place = pl.DataFrame({"t": distinct, "at": np.arange(len(distinct), dtype=np.int32)})
        joined = texts.to_frame("t").join(
            place, on="t", how="left", nulls_equal=True, maintain_order="left"
        )
        codes.append(joined["at"].to_numpy())
        values.append(distinct)
    return Cube(
        axes=one.axes,
        codes=tuple(codes),
        values=tuple(values),
        measures=measures,
        layout=one.layout,
        largest=read_largest(frame, first, len(one.axes), one.layout),
    )


def _texts(series: pl.Series, axis: Axis, *, raw: bool) -> pl.Series:
    """The values of one axis as texts: codes, or numbers of intervals."""
    if axis.bounds is None:
        texts = code_texts(series, axis.column)
        if axis.levels and bool((texts == _FRACTION).any()):
            raise fractions(axis.column)
        return texts
    outside = len(axis.bounds) - 1
    texts = (_cut(series, axis.bounds) if raw else series).cast(pl.String)
    return texts.to_frame("t").select(
        pl.when(pl.col("t") == str(outside)).then(pl.lit("outside")).otherwise("t").alias("t")
    )["t"]


def _cut(series: pl.Series, bounds: tuple[float, ...]) -> pl.Series:
    """The interval each number lies in, for the few values of a narrow column."""
    numbers = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    places = pl.Series(bin_codes(numbers, np.asarray(bounds, dtype=np.float64)))
    return places.set(series.is_null(), None)
