"""The base cube from a data engine: one grouped pass, only aggregates come back.

In: a lazy frame (polars, DuckDB, PySpark, …). Out: `Cube` (confidential). Keys
are added in two parts so that no engine's 64-bit sum can overflow or wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.errors import MicrodataError, RecordKeyError
from discreet.keygrid import DECIMALS, LIMB, KeyGrid, off_grid, unusable_keys
from discreet.tables.cells import code_texts
from discreet.tabulation.cube import Cube, Layout
from discreet.tabulation.inmemory import filter_failed, unusable_numbers
from discreet.tabulation.limbs import LIMIT, engine_limbs
from discreet.tabulation.query import Axis

__all__ = ["Pass", "run_passes"]


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One grouped pass over the records: what spans it, who counts, what is summed."""

    axes: tuple[Axis, ...]
    where: nw.Expr | None
    layout: Layout


def run_passes(
    frame: nw.LazyFrame[Any],
    passes: Sequence[Pass],
    *,
    record_key: str | None,
    grid: KeyGrid,
) -> list[Cube]:
    """Run all passes; polars runs them together over one reading of the records."""
    schema = frame.collect_schema()
    plans = [_plan(frame, schema, one, record_key, grid) for one in passes]
    try:
        frames = _collect(plans)
    except Exception as error:
        if any(one.where is not None for one in passes):
            raise filter_failed(error) from None
        raise
    return [
        _cube(result, one, record_key, grid) for result, one in zip(frames, passes, strict=True)
    ]


def _collect(plans: Sequence[nw.LazyFrame[Any]]) -> list[pl.DataFrame]:
    natives = [plan.to_native() for plan in plans]
    if all(isinstance(native, pl.LazyFrame) for native in natives):
        return pl.collect_all(natives, engine="streaming")
    return [plan.collect(backend="polars").to_native() for plan in plans]


def _plan(
    frame: nw.LazyFrame[Any], schema: nw.Schema, one: Pass, record_key: str | None, grid: KeyGrid
) -> nw.LazyFrame[Any]:
    if one.where is not None:
        frame = frame.filter(one.where)
    groups = {f"axis{k}": _axis(axis, schema) for k, axis in enumerate(one.axes)}
    helpers: dict[str, nw.Expr] = {}
    sums: list[str] = []
    if one.layout.keyed and record_key is not None:
        parts = _key_parts(record_key, schema, grid)
        helpers.update(parts)
        sums += list(parts)
    numbers = _number_parts(one.layout, schema)
    helpers.update(numbers)
    sums += list(numbers)
    ready = frame.select(
        *(expression.alias(name) for name, expression in {**groups, **helpers}.items())
    )
    totals = [nw.col(name).sum().cast(nw.Int64).alias(name) for name in sums]
    if not groups and not sums:
        return frame.select(nw.len().cast(nw.Int64).alias("n"))
    if not groups:
        return ready.select(nw.len().cast(nw.Int64).alias("n"), *totals)
    counted: nw.LazyFrame[Any] = ready.group_by(*groups).agg(
        nw.len().cast(nw.Int64).alias("n"), *totals
    )
    return counted


def _axis(axis: Axis, schema: nw.Schema) -> nw.Expr:
    if axis.levels:
        return nw.coalesce(*(_text(name, schema) for name in reversed(axis.levels)))
    column = nw.col(axis.column)
    if axis.bounds is None:
        return column
    if not schema[axis.column].is_numeric():
        raise MicrodataError(
            f"intervals need numbers, the column is of type {schema[axis.column]}",
            code="column-type",
            where=axis.column,
        )
    number = column.cast(nw.Float64)
    count = len(axis.bounds) - 1
    # NaN is larger than every bound in SQL; missing numbers stay missing.
    steps = [(number >= bound).cast(nw.Int64) for bound in axis.bounds if np.isfinite(bound)]
    below = sum(1 for bound in axis.bounds if bound == -np.inf)
    place = nw.lit(below - 1)
    for step in steps:
        place = place + step
    inside = (place >= 0) & (place < count)
    missing = number.is_null() | (number != number)
    return nw.when(~missing).then(nw.when(inside).then(place).otherwise(nw.lit(count)))


def _text(name: str, schema: nw.Schema) -> nw.Expr:
    column = nw.col(name).cast(nw.Int64) if schema[name].is_float() else nw.col(name)
    return column.cast(nw.String)


def _flag(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def _key_parts(record_key: str, schema: nw.Schema, grid: KeyGrid) -> dict[str, nw.Expr]:
    dtype = schema[record_key]
    column = nw.col(record_key)
    if dtype.is_integer():
        key = column.cast(nw.Int64)
        fine = nw.lit(0).cast(nw.Int64)
    elif dtype.is_float() or dtype.is_decimal():
        scale = float(10**DECIMALS) if grid.size == 10**DECIMALS else 1.0
        decimal = column.cast(nw.Float64)
        near = (decimal * scale).round(0)
        bounded = nw.when((near >= 0) & (near < float(grid.size))).then(near).otherwise(-1.0)
        key = bounded.cast(nw.Int64)
        # Some engines turn division by a constant into multiplication, which rounds twice.
        divided = near / (near * 0.0 + scale)
        fine = _flag((bounded >= 0) & (divided != decimal))
    else:
        raise RecordKeyError(
            f"keys of type {dtype} cannot be added by a data engine",
            code="key-type",
            where=record_key,
            hint="convert them first with discreet.import_record_keys",
        )
    off = column.is_null() | (key < 0) | (key >= grid.size)
    good = nw.when(~off).then(key).otherwise(nw.lit(0)).cast(nw.Int64)
    return {
        "key_high": good // LIMB,
        "key_low": good % LIMB,
        "bad_null": _flag(column.is_null()),
        "bad_off": _flag(off & ~column.is_null()),
        "bad_fine": fine,
    }


def _number_parts(layout: Layout, schema: nw.Schema) -> dict[str, nw.Expr]:
    columns: dict[str, nw.Expr] = {}
    weight = None
    if layout.weight is not None:
        weight = _number(layout.weight, schema)
        columns |= _limbs(weight, "w")
        columns["bad_w_missing"] = _flag(_absent(weight))
        columns["bad_w_negative"] = _flag(weight < 0)
    for k, name in enumerate(layout.values):
        value = _number(name, schema)
        filled = nw.when(~_absent(value)).then(value).otherwise(nw.lit(0.0))
        columns |= _limbs(filled if weight is None else filled * weight, f"v{k}")
    return columns


def _absent(value: nw.Expr) -> nw.Expr:
    return value.is_null() | (value != value)


def _number(name: str, schema: nw.Schema) -> nw.Expr:
    if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
        raise MicrodataError(
            f"numbers are needed, the column is of type {schema[name]}",
            code="column-type",
            where=name,
        )
    return nw.col(name).cast(nw.Float64)


def _limbs(value: nw.Expr, name: str) -> dict[str, nw.Expr]:
    large = (value >= LIMIT) | (value <= -LIMIT)
    usable = nw.when(~(large | _absent(value))).then(value).otherwise(nw.lit(0.0))
    parts = [part.cast(nw.Int64) for part in engine_limbs(usable)]
    named = {f"{name}_limb{k}": part for k, part in enumerate(parts)}
    return named | {f"bad_{name}_large": _flag(large & ~_absent(value))}


def _cube(frame: pl.DataFrame, one: Pass, record_key: str | None, grid: KeyGrid) -> Cube:
    _check_counts(frame, one.layout, record_key, grid)
    if not one.axes and frame["n"][0] == 0:
        frame = frame.clear()
    rows = ["n"]
    if one.layout.keyed:
        rows += ["key_high", "key_low"]
    names = (["w"] if one.layout.weight is not None else []) + [
        f"v{k}" for k in range(len(one.layout.values))
    ]
    rows += [f"{name}_limb{k}" for name in names for k in range(3)]
    measures = np.vstack([frame[row].cast(pl.Int64).to_numpy() for row in rows])
    codes, values = [], []
    for k, axis in enumerate(one.axes):
        texts = _texts(frame[f"axis{k}"], axis)
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
    )


def _texts(series: pl.Series, axis: Axis) -> pl.Series:
    texts = code_texts(series, axis.column)
    if axis.bounds is None:
        return texts
    outside = str(len(axis.bounds) - 1)
    return texts.to_frame("t").select(
        pl.when(pl.col("t") == outside).then(pl.lit("outside")).otherwise(pl.col("t")).alias("t")
    )["t"]


def _check_counts(
    frame: pl.DataFrame, layout: Layout, record_key: str | None, grid: KeyGrid
) -> None:
    records = int(frame["n"].sum() or 0)
    bad = {
        name.removeprefix("bad_"): int(frame[name].sum() or 0)
        for name in frame.columns
        if name.startswith("bad_")
    }
    if bad.get("null"):
        raise unusable_keys("no key", bad["null"], records, record_key or "")
    if bad.get("off"):
        raise off_grid(bad["off"], records, record_key or "", grid)
    if bad.get("fine"):
        raise RecordKeyError(
            f"{bad['fine']:,} of {records:,} records have a key with more digits than the grid",
            code="key-digits",
            where=record_key or "",
            hint="round the keys on purpose with discreet.import_record_keys",
        )
    for kind in ("missing", "negative", "large"):
        if bad.get(f"w_{kind}"):
            label = "too large" if kind == "large" else kind
            raise unusable_numbers(label, bad[f"w_{kind}"], layout.weight or "")
    for k, name in enumerate(layout.values):
        if bad.get(f"v{k}_large"):
            raise unusable_numbers("too large", bad[f"v{k}_large"], name)
