"""Record keys of records: made from identifiers, taken to the grid, added to a file.

In: records (confidential), and a secret or their own keys. Out: the same records with a
column of whole numbers 0 … M−1 (confidential; never in a published file), as a frame or
as a Parquet file that its owner only can read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.arrays import IntArray
from discreet.confidential import without_values
from discreet.errors import MicrodataError, RecordKeyError
from discreet.files import atomic_path
from discreet.keygrid import KeyGrid, check_digits, on_grid
from discreet.microdata.frames import (
    NarwhalsFrame,
    like,
    name_list,
    open_frame,
    require_columns,
    require_new,
    unsupported,
    with_computed,
)
from discreet.microdata.identifiers import check_identifiers, identifier_texts
from discreet.microdata.key_values import KeyFunction, cipher_key
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.records import read_microdata
from discreet.microdata.relations import write_relation
from discreet.microdata.secret import Secret

_ENGINES = ("is_polars", "is_pandas", "is_pyarrow", "is_duckdb", "is_pyspark")


@without_values
def with_record_keys(
    frame: Any,
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret | bytes | str | Path,
    column: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
) -> Any:
    """Give every record its key: a fixed random number made from identifier and secret.

    The same identifier and secret give the same key in any row order, in any part of
    the data and on any engine; the whole number 123 and the text "123" are the same
    identifier. Plans (polars LazyFrame, DuckDB, PySpark) are run once to check the
    identifiers and stay plans.

    Args:
        frame: Records: polars, pandas, pyarrow, DuckDB or PySpark.
        id: Column, or columns, that identify a record: whole numbers or text.
        secret: What makes the keys unpredictable; see `Secret`.
        column: Name of the new column.
        grid: The key grid.

    >>> people = pl.DataFrame({"person": [1, 2]})
    >>> keyed = with_record_keys(people, id="person", secret="a long and secret sentence")
    >>> keyed.columns
    ['person', 'record_key']
    """
    records = open_frame(frame)
    _check_engine(records)
    names = name_list(id, "id")
    key_grid, held = KeyGrid.of(grid), Secret.of(secret)
    require_new(records, column)
    check_identifiers(records, names)
    if records.implementation.is_pyspark():
        from discreet.microdata import spark

        key = cipher_key(held, key_grid, len(names))
        keyed = spark.with_keys(records.to_native(), names, column, key, key_grid.size)
        return like(nw.from_native(keyed), frame)
    function = KeyFunction.of(held, key_grid, len(names))

    def keys(columns: pl.DataFrame) -> IntArray:
        return function(identifier_texts(columns))

    return like(with_computed(records, names, column, keys, as_text=True), frame)


@without_values
def import_record_keys(
    frame: Any,
    *,
    column: str,
    grid: KeyGrid | int | str = 10**15,
    to: str = "record_key",
    digits: str = "exact",
) -> Any:
    """Take keys that the records already have to the key grid, exactly.

    Decimals in [0, 1), as floats, text or decimals, become whole numbers of the
    10^15 grid. A missing key, a key off the grid or one with more digits than the
    grid is an error.

    Args:
        frame: Records: polars, pandas, pyarrow, DuckDB or PySpark.
        column: Column with the keys.
        grid: The grid they were made for.
        to: Column to put them in; may be `column` itself. Otherwise `column` stays.
        digits: "exact", or "round" to round finer decimals to 15 digits on purpose
            (half up; what rounds to 1 becomes 0).

    >>> import_record_keys(pl.DataFrame({"rkey": [0.25]}), column="rkey", to="rkey").item()
    250000000000000
    """
    records = open_frame(frame)
    _check_engine(records)
    key_grid = KeyGrid.of(grid)
    check_digits(digits, key_grid)
    require_columns(records, [column])
    if to != column:
        require_new(records, to)
    schema = records.collect_schema()
    kind, free_name = schema[column], "discreet_key"
    usable = kind.is_numeric() or kind in (nw.String, nw.Categorical, nw.Enum)
    if not (usable or (kind == nw.Object and records.implementation.is_pandas())):  # Decimal
        message = f"keys cannot be of type {kind}"
        hint = "use whole numbers of the grid, or decimals in [0, 1)"
        raise RecordKeyError(message, code="key-type", where=column, hint=hint)
    while free_name in schema.names():
        free_name += "_"
    if records.implementation.is_pyspark():
        from discreet.microdata import spark

        native = spark.with_grid_keys(records.to_native(), column, free_name, key_grid, digits)
        imported: NarwhalsFrame = nw.from_native(native)
    else:

        def keys(columns: pl.DataFrame) -> IntArray:
            return on_grid(columns.to_series(), key_grid, digits, column=column)

        if records.implementation.is_polars() and isinstance(records, nw.LazyFrame):
            _check_plan(records.to_native(), column, keys)
        imported = with_computed(records, [column], free_name, keys, as_text=False, distinct=True)
    # The new keys stand in the old column's place, or at the end.
    names = schema.names() if to == column else [*schema.names(), to]
    chosen = [nw.col(free_name if name == to else name).alias(name) for name in names]
    return like(imported.select(*chosen), frame)


def _check_engine(records: NarwhalsFrame) -> None:
    if not any(getattr(records.implementation, engine)() for engine in _ENGINES):
        raise unsupported(records)


def _check_plan(plan: pl.LazyFrame, column: str, keys: Any) -> None:
    """Look at all keys in batches; on a fault, at all of them at once for its number."""
    chosen = plan.select(column)
    try:
        for batch in chosen.collect_batches(engine="streaming", maintain_order=False):
            keys(batch)
    except RecordKeyError:
        keys(chosen.collect(engine="streaming"))
        raise


@without_values
def add_keys_to_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret | bytes | str | Path,
    column: str = "record_key",
    grid: KeyGrid | int | str = 10**15,
    format: str | None = None,  # noqa: A002 - the word users know
    table: str | None = None,
    query: str | None = None,
    options: ReadingOptions | None = None,
    **stated: Any,
) -> Path:
    """Write the records of a file, with their keys, to a Parquet file.

    Records stream from file to file; memory holds eight bytes for each, to find
    repeated identifiers. The file appears when it is complete, or not at all.
    """
    place = Path(target)
    if place.suffix.lower() not in (".parquet", ".pq"):
        message = "records with keys must be written as Parquet"
        hint = "give the target the suffix .parquet"
        raise MicrodataError(message, code="format", where=str(place), hint=hint)
    if place.resolve() == Path(source).resolve():
        raise MicrodataError("source and target are the same file", code="file", where=str(place))
    held = Secret.of(secret)
    with atomic_path(place, private=True) as temporary:
        records = read_microdata(
            source, format=format, table=table, query=query, options=options, **stated
        )
        keyed = nw.to_native(
            with_record_keys(records, id=id, secret=held, column=column, grid=grid)
        )
        if isinstance(keyed, pl.LazyFrame):
            keyed.sink_parquet(temporary)
        elif isinstance(keyed, pl.DataFrame):
            keyed.write_parquet(temporary)
        else:
            write_relation(keyed, temporary)
    return place
