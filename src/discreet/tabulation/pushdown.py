"""Engine that leaves counting to the data's own engine: only aggregates come back.

In: a lazy frame (polars, DuckDB, PySpark, …). Out: `Cube` (confidential), from one
grouped pass. Keys are added whole where the engine adds in 128 bits, else in two parts,
so that no 64-bit sum can overflow or wrap; weights and values are added as whole
numbers (limbs). Where rows do not come in batches, records are ranked within their
cells, and only the first ones leave the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.classifications import fractions
from discreet.errors import MicrodataError, TableError
from discreet.keygrid import LIMB, KeyGrid
from discreet.record_batches import collected
from discreet.tables import LARGEST_CODE, code_texts
from discreet.tabulation.columns import bin_codes
from discreet.tabulation.cube import Cube, places_among
from discreet.tabulation.engine import Engine, Pass, TabulationTask, wrong_type
from discreet.tabulation.flaws import absent, flag, key_columns, large, number, raise_flaws
from discreet.tabulation.measures import (
    LIMBS,
    LIMIT,
    Largest,
    MeasureLayout,
    RecordShare,
    engine_limbs,
)
from discreet.tabulation.query import CubeAxis


def _key_sums(
    record_key: str, schema: nw.Schema, grid: KeyGrid, *, wide: bool
) -> tuple[dict[str, nw.Expr], list[nw.Expr]]:
    """Columns to make from the records, and aggregates; `wide` engines add in 128 bits."""
    columns, aggregates = key_columns(record_key, schema, grid)
    if wide:
        total = nw.col("key").cast(nw.Int128).sum() % nw.lit(grid.size)
        return columns, [*aggregates, total.cast(nw.Int64).alias("key_total")]
    columns |= {"key_high": columns["key"] // LIMB, "key_low": columns["key"] % LIMB}
    parts = [nw.col(name).sum().cast(nw.Int64).alias(name) for name in ("key_high", "key_low")]
    return columns, [*aggregates, *parts]


def measure_name(row: int) -> str:
    """The name of an engine's column for a row of the measures."""
    return f"m{row}"


class _NumberParts:
    """The columns to sum, but for counts and keys of all records.

    Amounts get columns of their own first: their limbs name them 17 times, and engines that keep
    no shared parts of expressions would work them out as often.
    """

    def __init__(self, layout: MeasureLayout) -> None:
        self.layout = layout
        self.columns: dict[str, nw.Expr] = {}  # of the records
        self.amounts: dict[str, nw.Expr] = {}  # of the records, and not summed
        self.limbs: dict[str, nw.Expr] = {}  # of the amounts

    def add_limbs(self, value: nw.Expr, *what: str) -> None:
        """The limbs of an amount; 0 where it is none."""
        large = (value >= LIMIT) | (value <= -LIMIT)
        name = f"amount{len(self.amounts)}"
        usable = nw.when(~(large | absent(value))).then(value).otherwise(nw.lit(0.0))
        self.amounts[name] = usable
        rows = (self.layout.rows[*what, limb] for limb in LIMBS)
        for row, limb in zip(rows, engine_limbs(nw.col(name)), strict=True):
            self.limbs[measure_name(row)] = limb.cast(nw.Int64)


def _number_parts(layout: MeasureLayout, schema: nw.Schema, key: nw.Expr | None) -> _NumberParts:
    parts = _NumberParts(layout)
    columns, weight = parts.columns, None
    if layout.weight is not None:
        weight = number(layout.weight, schema)
        parts.add_limbs(weight, "weight")
        columns["bad_w_missing"] = flag(absent(weight))
        columns["bad_w_negative"] = flag(weight < 0)
        columns["bad_w_large"] = flag(large(weight))
    for k, name in enumerate(layout.values):
        amount = _amount(name, weight, schema)
        parts.add_limbs(amount, "sum", name)
        columns[f"bad_v{k}_large"] = flag(large(amount))
        if weight is not None:
            columns[f"bad_v{k}_plain_large"] = flag(large(number(name, schema)))
    for share in layout.shares:
        _add_share(parts, share, schema, key)
    return parts


def _add_share(
    parts: _NumberParts, share: RecordShare, schema: nw.Schema, key: nw.Expr | None
) -> None:
    """The measures of a share of the records."""
    layout = parts.layout
    value = number(share.column, schema)
    weight = None if layout.weight is None else number(layout.weight, schema)
    inside = {
        "missing": absent(value),
        "zero": ~absent(value) & (value == 0.0),
        "negative": ~absent(value) & (value < 0.0),
        "plain": ~absent(value),
    }[share.of]
    if share.counted:
        counted = [nw.lit(1)] if key is None else [nw.lit(1), key // LIMB, key % LIMB]
        names = ("n", "high", "low")[: len(counted)]
        for part, name in zip(counted, names, strict=True):
            row = measure_name(layout.rows[share.of, share.column, name])
            parts.columns[row] = nw.when(inside).then(part).otherwise(nw.lit(0)).cast(nw.Int64)
    if layout.sums_of(share):
        amount = _amount(share.column, weight, schema)
        if share.of == "plain":
            amount = _amount(share.column, None, schema)
        if share.of == "missing" and weight is not None:
            amount = weight
        amount = nw.when(inside).then(amount).otherwise(nw.lit(0.0))
        parts.add_limbs(amount, share.of, share.column)


def _amount(name: str, weight: nw.Expr | None, schema: nw.Schema) -> nw.Expr:
    """Value times weight, 0 where the value is missing."""
    value = number(name, schema)
    filled = nw.when(~absent(value)).then(value).otherwise(nw.lit(0.0))
    return filled if weight is None else filled * weight


VALUE, WEIGHT, SIZE, PLACE, ALL, PART = "value", "weight", "size", "place", "all", "part"


def _end_columns(layout: MeasureLayout, schema: nw.Schema) -> dict[str, nw.Expr]:
    """Columns of which the smallest and largest are wanted."""
    values = {f"end{k}": number(name, schema) for k, name in enumerate(layout.largest)}
    return {name: nw.when(~absent(value)).then(value) for name, value in values.items()}


def _first_records(
    frame: nw.LazyFrame[Any], schema: nw.Schema, one: Pass
) -> list[nw.LazyFrame[Any]]:
    """Per column of contributions, the plan of each cell's first records."""
    if one.where is not None:
        frame = frame.filter(one.where)
    groups, layout = _groups(one.axes, schema), one.layout
    named = [expression.alias(name) for name, expression in groups.items()]
    cells = [*groups] or [ALL]
    plans = []
    for name, k in layout.largest.items():
        value = number(name, schema)
        parts = {SIZE: value.abs(), VALUE: value}
        if layout.weight is not None:
            parts = {SIZE: value.abs(), WEIGHT: number(layout.weight, schema), VALUE: value}
        ready = frame.filter(~absent(value)).select(
            *named, nw.lit(1).alias(ALL), *(part.alias(at) for at, part in parts.items())
        )
        if frame.implementation.is_pyspark():
            ready = _first_in_parts(ready, list(parts), cells, k)
        plans.append(_first(ready, list(parts), cells, k))
    return plans


def _first(
    ready: nw.LazyFrame[Any], parts: Sequence[str], cells: Sequence[str], k: int
) -> nw.LazyFrame[Any]:
    """The k largest records of each cell, with their places."""
    place = nw.struct(*parts).rank("ordinal", descending=True).over(*cells)
    return ready.with_columns(place.alias(PLACE)).filter(nw.col(PLACE) <= k)


def _first_in_parts(
    ready: nw.LazyFrame[Any], parts: Sequence[str], cells: Sequence[str], k: int
) -> nw.LazyFrame[Any]:
    """The k largest of each cell in each part of the records.

    A cell that holds most of the records would else be sorted by one worker.
    """
    from pyspark.sql import functions

    split = ready.to_native().withColumn(PART, functions.spark_partition_id())
    return _first(nw.from_native(split), parts, [*cells, PART], k).drop(PART, PLACE)


def _read_largest(
    cells: pl.DataFrame, frames: list[pl.DataFrame], axes: int, layout: MeasureLayout
) -> dict[str, Largest]:
    """The lists of the cells, from their first records."""
    names = [f"axis{k}" for k in range(axes)]
    places = cells.select(names).with_row_index("cell")
    lists = {}
    for at, ((name, k), first) in enumerate(zip(layout.largest.items(), frames, strict=True)):
        rows: Any = np.zeros(first.height, dtype=np.int64)
        if names:
            joined = first.join(
                places, on=names, how="left", nulls_equal=True, maintain_order="left"
            )
            rows = joined["cell"].to_numpy()
        where = rows, first[PLACE].cast(pl.Int64).to_numpy() - 1
        columns = [VALUE, *([] if layout.weight is None else [WEIGHT])]
        filled = {column: np.full((cells.height, k), np.nan) for column in columns}
        for column, array in filled.items():
            array[where] = first[column].to_numpy()
        ends = [
            cells[f"{end}{at}"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for end in ("low", "high")
        ]
        lists[name] = Largest.of(ends[0], ends[1], filled[VALUE], filled.get(WEIGHT))
    return lists


#: Stands for a number with decimals in a level column; no code is this character.
FRACTION = "\ue000"


class PushdownEngine(Engine):
    """Lazy frames of any kind; polars runs all passes together over one reading."""

    name = "pushdown"
    rank = 3

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether another engine holds the records."""
        return isinstance(task.records, nw.LazyFrame)

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """The cubes of all passes at once."""
        frame, schema = self.task.records, self.task.schema
        assert isinstance(frame, nw.LazyFrame)
        passes = [one.complete() for one in passes]
        record_key, grid = self.task.record_key, self.task.grid
        frames = _collect([_plan(frame, schema, one, record_key, grid) for one in passes])
        largest = [_collect(_first_records(frame, schema, one)) for one in passes]
        for result, first, one in zip(frames, largest, passes, strict=True):
            if stumbled(result):
                raise_flaws(frame, one, record_key, grid)
                raise MicrodataError("the records changed during the count", code="engine-failed")
            yield cube_of(result, first, one, record_key, grid, schema)


def stumbled(frame: pl.DataFrame) -> bool:
    """Whether a record had no usable key, weight or value."""
    bad = [name for name in frame.columns if name.startswith("bad_")]
    keys = "usable_keys" in frame.columns
    return any(int(frame[name].sum() or 0) for name in bad) or (
        keys and bool((frame["usable_keys"] != frame["n"]).any() or frame["finer_keys"].sum())
    )


def _collect(plans: Sequence[nw.LazyFrame[Any]]) -> list[pl.DataFrame]:
    natives = [plan.to_native() for plan in plans]
    if natives and all(isinstance(native, pl.LazyFrame) for native in natives):
        return pl.collect_all(natives, engine="streaming")
    return [collected(plan) for plan in plans]


def _plan(
    frame: nw.LazyFrame[Any], schema: nw.Schema, one: Pass, record_key: str | None, grid: KeyGrid
) -> nw.LazyFrame[Any]:
    if one.where is not None:
        frame = frame.filter(one.where)
    groups = _groups(one.axes, schema)
    columns: dict[str, nw.Expr] = {}
    totals: list[nw.Expr] = []
    if one.layout.keyed and record_key is not None:
        wide = frame.implementation in (nw.Implementation.POLARS, nw.Implementation.DUCKDB)
        columns, totals = _key_sums(record_key, schema, grid, wide=wide)
    numbers = _number_parts(one.layout, schema, columns.get("key"))
    columns |= numbers.columns | _end_columns(one.layout, schema)
    summed = (*numbers.columns, *numbers.limbs)
    totals += [nw.col(name).sum().cast(nw.Int64).alias(name) for name in summed]
    ends = [(k, nw.col(f"end{k}")) for k in range(len(one.layout.largest))]
    totals += [total for k, end in ends
               for total in (end.min().alias(f"low{k}"), end.max().alias(f"high{k}"))]  # fmt: skip
    counted = nw.len().cast(nw.Int64).alias("n")
    if not groups and not columns:
        return frame.select(counted)
    named = {**groups, **columns}
    ready = frame.select(
        *(expression.alias(name) for name, expression in {**named, **numbers.amounts}.items())
    )
    if numbers.amounts:
        limbs = (expression.alias(name) for name, expression in numbers.limbs.items())
        ready = ready.select(*named, *limbs)
    if not groups:
        return ready.select(counted, *totals)
    grouped: nw.LazyFrame[Any] = ready.group_by(*groups).agg(counted, *totals)
    return grouped


def _groups(axes: Sequence[CubeAxis], schema: nw.Schema) -> dict[str, nw.Expr]:
    """The columns that span the cube."""
    return {f"axis{k}": _axis(axis, schema) for k, axis in enumerate(axes)}


def _axis(axis: CubeAxis, schema: nw.Schema) -> nw.Expr:
    if axis.levels:
        return nw.coalesce(*(_text(name, schema) for name in reversed(axis.levels)))
    column = nw.col(axis.column)
    if axis.bounds is None or _few_values(axis, schema):
        return column
    if not schema[axis.column].is_numeric():
        raise wrong_type("intervals need numbers", schema[axis.column], axis.column)
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


def _few_values(axis: CubeAxis, schema: nw.Schema) -> bool:
    """Whether an integer column is so narrow that its values are cut after grouping."""
    return schema[axis.column] in (nw.Int8, nw.UInt8, nw.Int16, nw.UInt16)


def _text(name: str, schema: nw.Schema) -> nw.Expr:
    if not schema[name].is_float():
        return nw.col(name).cast(nw.String)
    number = nw.col(name).cast(nw.Float64)
    whole = ~absent(number) & (number == number.floor()) & (number.abs() < LARGEST_CODE)
    digits = nw.when(whole).then(number).cast(nw.Int64).cast(nw.String)
    return nw.when(whole | absent(number)).then(digits).otherwise(nw.lit(FRACTION))


def cube_of(
    frame: pl.DataFrame,
    first: list[pl.DataFrame],
    one: Pass,
    record_key: str | None,
    grid: KeyGrid,
    schema: nw.Schema,
) -> Cube:
    """The cube of a pass, from its cells and the first records of each."""
    if not one.axes and frame["n"][0] == 0:
        frame = frame.clear()
    known = {("n",): "n", ("key", "high"): "key_high", ("key", "low"): "key_low"}
    rows = [known.get(row, measure_name(at)) for row, at in one.layout.rows.items()]
    if "key_total" in frame.columns:
        total = pl.col("key_total").cast(pl.Int64).fill_null(0)
        frame = frame.with_columns(key_high=total // LIMB, key_low=total % LIMB)
    elif one.layout.keyed:
        frame = frame.with_columns(pl.col("key_high", "key_low").fill_null(0))
    measures = np.vstack([frame[row].cast(pl.Int64).to_numpy() for row in rows])
    codes, values = [], []
    for k, axis in enumerate(one.axes):
        raw = axis.bounds is not None and _few_values(axis, schema)
        texts = _texts(frame[f"axis{k}"], axis, raw=raw)
        distinct = texts.unique(maintain_order=True)
        codes.append(places_among(texts, distinct))
        values.append(distinct)
    return Cube(
        axes=one.axes,
        codes=tuple(codes),
        values=tuple(values),
        measures=measures,
        layout=one.layout,
        largest=_read_largest(frame, first, len(one.axes), one.layout),
    )


def _texts(series: pl.Series, axis: CubeAxis, *, raw: bool) -> pl.Series:
    """The values of one axis as texts: codes, or numbers of intervals."""
    if axis.bounds is None:
        texts = code_texts(series, axis.column)
        if axis.levels and bool((texts == FRACTION).any()):
            raise fractions(axis.column, TableError)
        return texts
    if raw:  # the few values of a narrow column
        numbers = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        places = bin_codes(numbers, np.asarray(axis.bounds, dtype=np.float64))
        series = pl.Series(places).set(series.is_null(), None)
    return series.cast(pl.String).replace(str(len(axis.bounds) - 1), "outside")
