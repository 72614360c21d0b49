"""Record keys on PySpark frames, computed by the workers.

In and out: a PySpark frame of records (confidential). The workers receive the
derived cipher key inside the plan; they need this package installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from discreet.arrays import IntArray
from discreet.errors import RecordKeyError
from discreet.keygrid import KeyGrid, on_grid
from discreet.microdata.derived_keys import derived_keys
from discreet.microdata.frames import RowFunction
from discreet.microdata.identifiers import identifier_texts
from discreet.microdata.key_values import KeyFunction

# Keys are never negative: the workers return these in place of keys that cannot be.
_FAULTS = {
    "key-off-grid": (-1, "a key off the grid"),
    "key-digits": (-2, "a key with more digits than the grid"),
    "key-type": (-3, "a key that is not a number"),
    "key-missing": (-4, "no key"),
}


def with_keys(
    frame: Any, names: Sequence[str], column: str, cipher_key: bytes, grid_size: int
) -> Any:
    """The frame with record keys made from the identifiers in `names`."""

    def keys(texts: pl.DataFrame) -> IntArray:
        function = KeyFunction(cipher_key, KeyGrid(grid_size))
        return function(identifier_texts(texts))

    return frame.withColumn(column, _on_workers(keys, names, cast="string"))


def with_grid_keys(frame: Any, name: str, column: str, grid: KeyGrid, digits: str) -> Any:
    """The frame with existing keys taken to the grid; all are checked first."""
    size = grid.size

    def keys(columns: pl.DataFrame) -> IntArray:
        return _coded(columns.to_series(), KeyGrid(size), digits)

    computed = frame.withColumn(column, _on_workers(keys, [name], cast=None))
    _check(frame, computed, name, column)
    return computed


def with_derived_keys(frame: Any, name: str, column: str, grid: KeyGrid, purpose: str) -> Any:
    """The frame with keys derived for a purpose from those in a column."""
    size = grid.size

    def keys(columns: pl.DataFrame) -> IntArray:
        return derived_keys(columns.to_series().to_numpy(), KeyGrid(size), purpose)

    return frame.withColumn(column, _on_workers(keys, [name], cast=None))


def _on_workers(function: RowFunction, names: Sequence[str], cast: str | None) -> Any:
    """A Spark column computed by `function` on the workers, batch by batch."""
    import pyarrow as pa
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import arrow_udf

    def values(rows: Any) -> Any:
        import pyarrow

        return pyarrow.array(function(pl.Series(rows).struct.unnest()), pyarrow.int64())

    values.__annotations__ = {"rows": pa.Array, "return": pa.Array}
    columns = [functions.col("`" + name.replace("`", "``") + "`") for name in names]
    if cast is not None:
        columns = [column.cast(cast) for column in columns]
    named = [column.alias(f"c{at}") for at, column in enumerate(columns)]
    wrap: Any = arrow_udf
    return wrap(values, "long")(functions.struct(*named))


def _coded(given: pl.Series, grid: KeyGrid, digits: str) -> IntArray:
    """Keys on the grid; a negative fault code where a value cannot be one."""
    try:
        return on_grid(given, grid, digits, column="key")
    except RecordKeyError:
        singles = [_one(given.slice(at, 1), grid, digits) for at in range(len(given))]
        return pl.Series(singles, dtype=pl.Int64).to_numpy()


def _one(value: pl.Series, grid: KeyGrid, digits: str) -> int:
    try:
        return int(on_grid(value, grid, digits, column="key")[0])
    except RecordKeyError as error:
        return _FAULTS[error.code][0]


def _check(frame: Any, computed: Any, name: str, column: str) -> None:
    from pyspark.sql import functions

    given = functions.col("`" + name.replace("`", "``") + "`")
    total, nulls = frame.agg(
        functions.count("*"),
        functions.coalesce(functions.sum(given.isNull().cast("long")), _zero()),
    ).first()
    if nulls:
        raise _fault("key-missing", nulls, total, name)
    made = functions.col("`" + column.replace("`", "``") + "`")
    counts = {
        code: functions.coalesce(functions.sum((made == number).cast("long")), _zero())
        for code, (number, _) in _FAULTS.items()
    }
    found = computed.agg(*[count.alias(code) for code, count in counts.items()]).first()
    for code in _FAULTS:
        if found[code]:
            raise _fault(code, found[code], total, name)


def _zero() -> Any:
    from pyspark.sql import functions

    return functions.lit(0)


def _fault(code: str, number: int, total: int, column: str) -> RecordKeyError:
    return RecordKeyError(
        f"{number:,} of {total:,} records have {_FAULTS[code][1]}",
        code=code,
        where=column,
        hint="name the grid the keys were made for; digits='round' rounds decimals on purpose",
    )
