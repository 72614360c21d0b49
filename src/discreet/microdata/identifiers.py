"""Identifiers of records: their canonical text, and that each record has its own.

In: the identifying columns. Out: one text per record that is the same on every
engine: whole numbers as decimal digits, texts as they are, several columns as
"<bytes>:<text>" one after the other. Identifiers are confidential: errors count
records, they never name one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.errors import MicrodataError, Problem, raise_all
from discreet.memory_limit import check_memory, memory_allowed
from discreet.microdata.frames import NarwhalsFrame, eager_columns, only_row, require_columns

#: Bytes that a record takes while identifiers are compared, and the share of memory for it.
_BYTES, _SHARE = 24, 0.25
_UNIQUE_HINT = "every record needs a unique identifier"


def identifier_texts(columns: pl.DataFrame) -> pl.Series:
    """The identifier of each row, from columns that are texts.

    >>> identifier_texts(pl.DataFrame({"house": ["1", "11"], "flat": ["11", "1"]})).to_list()
    ['1:12:11', '2:111:1']
    """
    if columns.width == 1:
        return columns.to_series()
    parts: list[pl.Expr] = []
    for name in columns.columns:
        parts += [pl.col(name).str.len_bytes().cast(pl.String), pl.lit(":"), pl.col(name)]
    return columns.select(pl.concat_str(parts).alias("id")).to_series()


def check_identifiers(frame: NarwhalsFrame, names: Sequence[str]) -> None:
    """Raise an error unless every record has an identifier and no two share one."""
    require_columns(frame, names)
    _check_types(frame, names)
    if len(names) == 1 and isinstance(frame, nw.DataFrame) and _ascend(frame, names[0]):
        return
    if isinstance(frame, nw.DataFrame):
        total, nulls, empty, repeated = _count_polars(eager_columns(frame, names).lazy(), names)
    elif frame.implementation.is_polars():
        total, nulls, empty, repeated = _count_polars(frame.to_native(), names)
    else:
        total, nulls, empty, repeated = _count_engine(frame, names)
    problems = [
        Problem(f"{count:,} of {total:,} records have no identifier", name, _UNIQUE_HINT)
        for name, count in nulls.items()
        if count
    ]
    problems += [
        Problem(f"{count:,} of {total:,} records have an empty identifier", name, _UNIQUE_HINT)
        for name, count in empty.items()
        if count
    ]
    if repeated:
        message = f"{repeated:,} of {total:,} records have a repeated identifier"
        problems.append(Problem(message, ", ".join(names), _UNIQUE_HINT))
    many = "identifiers are missing or repeated"
    raise_all(MicrodataError, problems, code="identifiers", many=many, where="")


def _ascend(frame: nw.DataFrame[Any], name: str) -> bool:
    """Whether identifiers are whole numbers, each above the one before."""
    ids = eager_columns(frame, [name]).to_series()
    if not ids.dtype.is_integer() or ids.dtype in (pl.Int128, pl.UInt128) or ids.null_count():
        return False
    numbers = ids.to_numpy()
    return bool((numbers[1:] > numbers[:-1]).all())


def _check_types(frame: NarwhalsFrame, names: Sequence[str]) -> None:
    schema = frame.collect_schema()
    hint = "convert identifiers to whole numbers or text first; floats lose digits"
    problems = [
        Problem(f"identifiers cannot be of type {schema[name]}", name, hint)
        for name in names
        if not (schema[name].is_integer() or schema[name] in (nw.String, nw.Categorical, nw.Enum))
    ]
    raise_all(MicrodataError, problems, code="identifier-type")


Counts = tuple[int, dict[str, int], dict[str, int], int]


def _count_polars(plan: pl.LazyFrame, names: Sequence[str]) -> Counts:
    """Streaming passes that keep eight bytes per record, of as many records as memory holds."""
    schema = plan.collect_schema()
    whole = [schema[name].is_integer() for name in names]
    # Whole numbers differ as they do in text, and are never empty.
    texts = [
        pl.col(name) if number else pl.col(name).cast(pl.String)
        for name, number in zip(names, whole, strict=True)
    ]
    empties = [
        pl.lit(0) if number else (text == "").sum()
        for text, number in zip(texts, whole, strict=True)
    ]
    row_hash = pl.struct(texts).hash() if len(names) > 1 else texts[0].hash()
    totals = plan.select(
        pl.len().alias("total"),
        *[pl.col(name).is_null().sum().alias(f"null {at}") for at, name in enumerate(names)],
        *[empty.alias(f"empty {at}") for at, empty in enumerate(empties)],
    )
    row = totals.collect(engine="streaming").row(0, named=True)
    nulls = {name: int(row[f"null {at}"]) for at, name in enumerate(names)}
    empty = {name: int(row[f"empty {at}"]) for at, name in enumerate(names)}
    passes = max(1, math.ceil(int(row["total"]) * _BYTES / (memory_allowed() * _SHARE)))
    suspects = np.concatenate([_twice(plan, row_hash, at, passes) for at in range(passes)])
    repeated = _repeated(plan, texts, row_hash, suspects) if suspects.size else 0
    return int(row["total"]), nulls, empty, repeated


def _twice(plan: pl.LazyFrame, row_hash: pl.Expr, at: int, passes: int) -> Any:
    """The hashes that occur more than once, among every so many."""
    hashes = plan.select(row_hash.alias("hash"))
    if passes > 1:
        hashes = hashes.filter(pl.col("hash") % passes == at)
    ordered = hashes.collect(engine="streaming").to_series().sort().to_numpy()
    check_memory("identifiers")
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _repeated(
    plan: pl.LazyFrame, texts: Sequence[pl.Expr], row_hash: pl.Expr, suspects: Any
) -> int:
    """Records whose identifier occurs more than once; equal hashes are looked at again."""
    keys = [text.alias(f"part {at}") for at, text in enumerate(texts)]
    present = pl.all_horizontal(
        [text.is_not_null() & (text.cast(pl.String) != "") for text in texts]
    )
    sizes = (
        plan.filter(row_hash.is_in(pl.Series(suspects).implode()) & present)
        .group_by(keys)
        .agg(pl.len().alias("size"))
        .filter(pl.col("size") > 1)
        .select(pl.col("size").sum())
    )
    return int(sizes.collect(engine="streaming").item() or 0)


def _count_engine(frame: nw.LazyFrame[Any], names: Sequence[str]) -> Counts:
    """The same counts, made by the engine that holds the records."""
    empties = [
        (nw.col(name).cast(nw.String) == "").cast(nw.Int64).sum().alias(f"empty_{at}")
        for at, name in enumerate(names)
    ]
    nulls = [
        nw.col(name).is_null().cast(nw.Int64).sum().alias(f"null_{at}")
        for at, name in enumerate(names)
    ]
    totals = frame.select(nw.len().alias("total"), *nulls, *empties)
    row = only_row(totals)
    sizes = (
        frame.filter(*[~nw.col(name).is_null() for name in names])
        .group_by(*names)
        .agg(nw.len().alias("discreet_size"))
        .filter(nw.col("discreet_size") > 1)
        .select(nw.col("discreet_size").cast(nw.Int64).sum())
    )
    null_counts = {name: row[f"null_{at}"] for at, name in enumerate(names)}
    empty_counts = {name: row[f"empty_{at}"] for at, name in enumerate(names)}
    return row["total"], null_counts, empty_counts, only_row(sizes)["discreet_size"]
