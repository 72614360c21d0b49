"""What is wrong with records: one order, one count and one text, whatever engine holds them.

In: the types of the columns; or a plan of the records that pass the filter (confidential). Out:
an error that says how many records are concerned, or nothing. Engines look here once they have
stumbled over a record: what the filter leaves out was never wrong, and what is sound costs
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import polars as pl

from discreet.errors import RecordKeyError, TableError
from discreet.keygrid import (
    DECIMALS,
    KeyGrid,
    decimal_keys,
    grid_keys,
    off_grid,
    too_fine,
    unusable_keys,
)
from discreet.record_batches import collected
from discreet.tabulation.engine import Pass, unusable_numbers, wrong_type
from discreet.tabulation.measures import LIMIT, MeasureLayout
from discreet.tabulation.query import Query

_LARGEST = 1.7976931348623157e308
_WITHOUT_CODES = (nw.Duration, nw.List, nw.Struct, nw.Array, nw.Binary)
_TEXTS = (nw.String, nw.Categorical, nw.Enum)
#: Only the values of such columns tell what they hold.
_OPEN = (nw.Object, nw.Unknown)


def check_types(schema: nw.Schema, queries: Sequence[Query], record_key: str | None) -> None:
    """Raise if a column cannot be what it is used for, before any record is read."""
    for query in queries:
        for axis in query.axes:
            for name in axis.columns:
                dtype = schema[name]
                if axis.bounds is not None and not (dtype.is_numeric() or isinstance(dtype, _OPEN)):
                    raise wrong_type("intervals need numbers", dtype, name)
                if isinstance(dtype, _WITHOUT_CODES):
                    kind = type(dtype).__name__
                    message = f"a column of type {kind} cannot hold codes"
                    raise TableError(message, code="codes", where=name)
        for column in [query.weight, *query.values]:
            if column is not None and not isinstance(schema[column], _OPEN):
                number(column, schema)
    if record_key is None:
        return
    key = schema[record_key]
    if not (engines_add(key) or key.is_decimal() or isinstance(key, (*_TEXTS, *_OPEN))):
        raise RecordKeyError(
            f"keys cannot be of type {type(key).__name__}",
            code="key-type",
            where=record_key,
            hint="use integers of the grid, or decimals in [0, 1)",
        )


def engines_add(dtype: Any) -> bool:
    """Whether every engine can add keys of this type; others are read as texts."""
    if isinstance(dtype, nw.Decimal):
        return dtype.scale <= DECIMALS
    return bool(dtype.is_integer() or dtype.is_float())


def number(name: str, schema: nw.Schema) -> nw.Expr:
    """A column of weights or values."""
    if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
        raise wrong_type("expected numbers", schema[name], name)
    return nw.col(name).cast(nw.Float64)


def absent(value: nw.Expr) -> nw.Expr:
    """Whether a value is missing."""
    # Not value != value: in polars and SQL, NaN equals itself and exceeds every number.
    return value.is_null() | value.is_nan()


def large(value: nw.Expr) -> nw.Expr:
    """Whether a value is too large to be added exactly; infinity is."""
    return ((value >= LIMIT) | (value <= -LIMIT)) & ~absent(value)


def flag(condition: nw.Expr) -> nw.Expr:
    """1 where the condition is true."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int8)


def engine_keys(record_key: str, schema: nw.Schema, grid: KeyGrid) -> nw.Expr:
    """The keys as they are handed over; whole numbers in 64 bits, off the grid missing."""
    column = nw.col(record_key)
    if not schema[record_key].is_integer():
        return column
    return nw.when((column >= 0) & (column < grid.size)).then(column).cast(nw.Int64)


def key_columns(
    record_key: str, schema: nw.Schema, grid: KeyGrid
) -> tuple[dict[str, nw.Expr], list[nw.Expr]]:
    """Keys on the grid with what tells of flaws: columns, and sums to hold against each other."""
    dtype, column = schema[record_key], nw.col(record_key)
    usable: nw.Expr
    finer: nw.Expr
    if not engines_add(dtype):
        raise RecordKeyError(
            f"this data engine cannot add keys of type {type(dtype).__name__}",
            code="key-type",
            where=record_key,
            hint="convert them first with discreet.import_record_keys",
        )
    if dtype.is_integer():
        usable, finer = engine_keys(record_key, schema, grid), nw.lit(0)
    else:
        usable, finer = decimal_keys(column.cast(nw.Float64), grid)
    present = nw.when(~column.is_nan()).then(column) if dtype.is_float() else column
    columns = {"key": usable, "key_given": present, "key_finer": finer.cast(nw.Int8)}
    return columns, [
        nw.col("key").count().cast(nw.Int64).alias("usable_keys"),
        nw.col("key_given").count().cast(nw.Int64).alias("given_keys"),
        nw.col("key_finer").sum().cast(nw.Int64).alias("finer_keys"),
    ]


def check_key_counts(frame: pl.DataFrame, record_key: str, grid: KeyGrid) -> None:
    """Raise unless every record had a key on the grid, by the sums of `key_columns`."""
    records, present, usable, finer = (
        int(frame[name].sum() or 0) for name in ("n", "given_keys", "usable_keys", "finer_keys")
    )
    if present < records:
        raise unusable_keys("no key", records - present, records, record_key)
    if usable < present:
        raise off_grid(present - usable, records, record_key, grid)
    if finer:
        raise too_fine(finer, records, record_key)


def raise_flaws(
    records: nw.LazyFrame[Any], one: Pass, record_key: str | None, grid: KeyGrid
) -> None:
    """Raise what is wrong with the keys, weights or values of the records that pass the filter."""
    schema = records.collect_schema()
    frame = records if one.where is None else records.filter(one.where)
    columns: dict[str, nw.Expr] = {}
    totals = [nw.len().cast(nw.Int64).alias("n")]
    keyed = one.layout.keyed and record_key is not None
    if keyed and record_key is not None and engines_add(schema[record_key]):
        columns, counts = key_columns(record_key, schema, grid)
        totals += counts
    elif keyed and record_key is not None:
        grid_keys(collected(frame.select(record_key))[record_key], grid, column=record_key)
    flaws = list(_number_flaws(one.layout, schema))
    for at, (_, _, condition) in enumerate(flaws):
        columns[f"bad{at}"] = flag(condition)
        totals.append(nw.col(f"bad{at}").sum().cast(nw.Int64).alias(f"bad{at}"))
    if not columns:
        return
    ready = frame.select(*(part.alias(name) for name, part in columns.items()))
    row = collected(ready.select(*totals))
    if "usable_keys" in row.columns and record_key is not None:
        check_key_counts(row, record_key, grid)
    for at, (name, kind, _) in enumerate(flaws):
        if count := int(row[f"bad{at}"].sum() or 0):
            raise unusable_numbers(kind, count, name)


def _number_flaws(layout: MeasureLayout, schema: nw.Schema) -> Iterable[tuple[str, str, nw.Expr]]:
    """Column, kind and condition of each flaw, in the order in which they are told."""
    weight = None
    if layout.weight is not None:
        weight = number(layout.weight, schema)
        infinite = _infinite(weight)
        yield layout.weight, "missing", absent(weight)
        yield layout.weight, "infinite", infinite
        yield layout.weight, "negative", (weight < 0) & ~infinite
        yield layout.weight, "too large", large(weight) & ~infinite
    for name in layout.values:
        value = number(name, schema)
        yield name, "infinite", _infinite(value)
        yield name, "too large", large(value) & ~_infinite(value)
        if weight is not None:
            yield name, "too large", large(value * weight) & ~large(value)


def _infinite(value: nw.Expr) -> nw.Expr:
    return ((value > _LARGEST) | (value < -_LARGEST)) & ~absent(value)
