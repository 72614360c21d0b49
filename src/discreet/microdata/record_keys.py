"""Record keys made from identifiers, and existing keys taken to the grid.

In: records (confidential). Out: the same records with a column of whole numbers
0 … M−1 (confidential; never in a published file).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.errors import RecordKeyError
from discreet.keygrid import IntArray, KeyGrid
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
from discreet.microdata.grid_values import check_digits, on_grid
from discreet.microdata.identifiers import check_identifiers, identifier_texts
from discreet.microdata.key_function import KeyFunction, cipher_key
from discreet.microdata.secret import Secret

__all__ = ["import_record_keys", "with_record_keys"]

_ENGINES = ("is_polars", "is_pandas", "is_pyarrow", "is_duckdb", "is_pyspark")


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
    _check_key_type(records, column)
    made = _free_name(records)
    if records.implementation.is_pyspark():
        from discreet.microdata import spark

        native = spark.with_grid_keys(records.to_native(), column, made, key_grid, digits)
        imported: NarwhalsFrame = nw.from_native(native)
    else:

        def keys(columns: pl.DataFrame) -> IntArray:
            return on_grid(columns.to_series(), key_grid, digits, column=column)

        if records.implementation.is_polars() and isinstance(records, nw.LazyFrame):
            _check_plan(records.to_native(), column, keys)
        imported = with_computed(records, [column], made, keys, as_text=False, distinct=True)
    return like(_placed(imported, column, made, to), frame)


def _check_engine(records: NarwhalsFrame) -> None:
    if not any(getattr(records.implementation, engine)() for engine in _ENGINES):
        raise unsupported(records)


def _check_key_type(records: NarwhalsFrame, column: str) -> None:
    kind = records.collect_schema()[column]
    usable = kind.is_numeric() or kind in (nw.String, nw.Categorical, nw.Enum)
    usable = usable or (kind == nw.Object and records.implementation.is_pandas())  # Decimal
    if not usable:
        raise RecordKeyError(
            f"keys cannot be of type {kind}",
            code="key-type",
            where=column,
            hint="use whole numbers of the grid, or decimals in [0, 1)",
        )


def _check_plan(plan: pl.LazyFrame, column: str, keys: Any) -> None:
    """Look at all keys in batches; on a fault, at all of them at once for its number."""
    chosen = plan.select(column)
    try:
        for batch in chosen.collect_batches(engine="streaming", maintain_order=False):
            keys(batch)
    except RecordKeyError:
        keys(chosen.collect(engine="streaming"))
        raise


def _free_name(records: NarwhalsFrame) -> str:
    names = set(records.collect_schema().names())
    name = "discreet_key"
    while name in names:
        name += "_"
    return name


def _placed(imported: NarwhalsFrame, column: str, made: str, to: str) -> NarwhalsFrame:
    """The new keys under their name: in the old column's place, or at the end."""
    names = [name for name in imported.collect_schema().names() if name != made]
    if to == column:
        chosen = [nw.col(made).alias(to) if name == column else nw.col(name) for name in names]
    else:
        chosen = [*map(nw.col, names), nw.col(made).alias(to)]
    return imported.select(*chosen)
