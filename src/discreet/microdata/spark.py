"""Record keys on PySpark frames, computed by the workers.

In and out: a PySpark frame of records (confidential). The workers receive the
derived cipher key inside the plan; they need this package installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from discreet.errors import RecordKeyError
from discreet.keygrid import KeyGrid, grid_keys
from discreet.microdata.identifiers import identifier_texts
from discreet.microdata.key_function import KeyFunction

__all__ = ["with_grid_keys", "with_keys"]

# Keys are never negative: the workers return these in place of keys that cannot be.
_FAULTS = {
    "key-missing": (-1, "no key"),
    "key-type": (-2, "a key that is not a number"),
    "key-off-grid": (-3, "a key off the grid"),
    "key-digits": (-4, "a key with more digits than the grid"),
}


def with_keys(
    frame: Any, names: Sequence[str], column: str, cipher_key: bytes, grid_size: int
) -> Any:
    """The frame with record keys made from the identifiers in `names`."""

    def keys(columns: Any) -> Any:
        import pandas as pd

        texts = identifier_texts(pl.DataFrame([_texts(columns[name]) for name in columns]))
        function = KeyFunction(cipher_key, KeyGrid(grid_size))
        return pd.Series(function(texts), index=columns.index)

    return frame.withColumn(column, _udf(keys)(_struct(names)))


def with_grid_keys(frame: Any, name: str, column: str, grid: KeyGrid, rounded: Callable[
    [pl.Series], pl.Series
]) -> Any:
    """The frame with existing keys taken to the grid; all are checked before."""
    size = grid.size

    def keys(columns: Any) -> Any:
        import pandas as pd

        return pd.Series(_coded(rounded(pl.Series(columns["c0"].tolist())), KeyGrid(size)))

    computed = frame.withColumn(column, _udf(keys)(_struct([name])))
    _check(computed, name, column)
    return computed


def _texts(column: Any) -> pl.Series:
    return pl.Series(str(column.name), column.tolist(), dtype=pl.String)


def _struct(names: Sequence[str]) -> Any:
    from pyspark.sql import functions

    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    columns = [
        functions.col(name).cast("string").alias(f"c{at}") for at, name in enumerate(quoted)
    ]
    return functions.struct(*columns)
