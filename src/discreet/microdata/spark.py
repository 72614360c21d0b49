"""Records in Spark: tables and files of a cluster, and record keys computed by the workers.

In: the name of a table or path, and a cluster; or a PySpark frame of records (confidential).
Out: a PySpark frame. The workers receive the derived cipher key inside the plan; they need this
package installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import DiscreetError, MicrodataError, RecordKeyError
from discreet.keygrid import KeyGrid, on_grid
from discreet.microdata.frames import RowFunction, open_frame
from discreet.microdata.identifiers import identifier_texts
from discreet.microdata.key_derivation import derived_keys
from discreet.microdata.key_values import KeyFunction
from discreet.microdata.sql_databases import shown_url

# Keys are never negative: the workers return these in place of keys that cannot be.
_FAULTS = {
    "key-off-grid": (-1, "a key off the grid"),
    "key-digits": (-2, "a key with more digits than the grid"),
    "key-type": (-3, "a key that is not a number"),
    "key-missing": (-4, "no key"),
}


#: Names of files that Spark reads with the types of their columns.
_FORMATS = {".parquet": "parquet", ".orc": "orc"}


def read_spark(place: str, master: str | None, near: Callable[[str], Path]) -> nw.LazyFrame[Any]:
    """The records of a table or path, as a frame of the open session."""
    session = _session(master)
    suffix = Path(place.rstrip("/")).suffix.lower()
    try:
        if "/" in place or suffix in _FORMATS:
            path = place if "://" in place else str(near(place).absolute())
            table = session.read.format(_FORMATS.get(suffix, "parquet")).load(path)
        else:
            table = session.table(place)
        opened = open_frame(table)
    except DiscreetError:
        raise
    except Exception as error:
        # Its text holds the plan, and paths of the cluster.
        message = f"Spark cannot read this ({type(error).__name__})"
        hint = (
            "give a table of the catalogue, or a path of Parquet or ORC files that all "
            "workers can read"
        )
        where = shown_url(place) if "://" in place else place
        raise MicrodataError(message, code="spark", where=where, hint=hint) from None
    assert isinstance(opened, nw.LazyFrame)
    return opened


def _session(master: str | None) -> Any:
    """The open session, that of spark-submit, or a new one on a cluster."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        hint = "pip install 'discreet[spark]'"
        message = "records in Spark need the package pyspark"
        raise MicrodataError(message, code="missing-package", where="spark", hint=hint) from None
    session = SparkSession.getActiveSession()
    if session is not None:
        return session
    builder = SparkSession.builder.appName("discreet")
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        return builder.getOrCreate()
    except Exception as error:
        message = f"cannot open a Spark session ({type(error).__name__})"
        hint = (
            "check that Java 17 is installed and the cluster is reachable; use --master yarn, "
            "spark://host:7077 or local[*]"
        )
        raise MicrodataError(message, code="spark", where=master or "spark", hint=hint) from None


def held(records: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Records with keys, kept by the workers, so that passes do not make the keys again."""
    from pyspark import StorageLevel

    opened = open_frame(records.to_native().persist(StorageLevel.MEMORY_AND_DISK))
    assert isinstance(opened, nw.LazyFrame)
    return opened


def fingerprint(frame: Any) -> bytes:
    """Some numbers that change when any record does, whatever the order of the records."""
    from pyspark.sql import functions

    columns = [functions.col("`" + name.replace("`", "``") + "`") for name in sorted(frame.columns)]
    row = functions.to_json(functions.struct(*columns), {"ignoreNullFields": "false"})
    sums = [
        functions.sum(functions.xxhash64(functions.lit(seed), row).cast("decimal(38,0)"))
        for seed in range(4)
    ]
    totals = frame.agg(functions.count("*"), *sums).first()
    return repr([str(item) for item in totals]).encode()


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


def _coded(keys: pl.Series, grid: KeyGrid, digits: str) -> IntArray:
    """Keys on the grid; a negative fault code where a value cannot be one."""
    try:
        return on_grid(keys, grid, digits, column="key")
    except RecordKeyError as error:
        if len(keys) == 1:
            return np.array([_FAULTS[error.code][0]], dtype=np.int64)
    return np.concatenate([_coded(keys.slice(at, 1), grid, digits) for at in range(len(keys))])


def _check(frame: Any, computed: Any, name: str, column: str) -> None:
    from pyspark.sql import functions

    original = functions.col("`" + name.replace("`", "``") + "`")
    total, nulls = frame.agg(
        functions.count("*"),
        functions.coalesce(functions.sum(original.isNull().cast("long")), functions.lit(0)),
    ).first()
    if nulls:
        raise _fault("key-missing", nulls, total, name)
    keys = functions.col("`" + column.replace("`", "``") + "`")
    counts = {
        code: functions.coalesce(functions.sum((keys == number).cast("long")), functions.lit(0))
        for code, (number, _) in _FAULTS.items()
    }
    row = computed.agg(*[count.alias(code) for code, count in counts.items()]).first()
    for code in _FAULTS:
        if row[code]:
            raise _fault(code, row[code], total, name)


def _fault(code: str, number: int, total: int, column: str) -> RecordKeyError:
    message = f"{number:,} of {total:,} records have {_FAULTS[code][1]}"
    hint = "state the grid of the keys; add digits='round' to round decimals"
    return RecordKeyError(message, code=code, where=column, hint=hint)
