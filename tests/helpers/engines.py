"""Records on every engine: how tests move them there, and bring them back to polars."""

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import polars as pl

import discreet as dc

#: Moves a polars frame to an engine.
Engine = Callable[[pl.DataFrame], Any]


def _pandas(frame: pl.DataFrame) -> Any:
    held = frame.to_pandas()
    held.index = [f"row {7 * at % 1000}" for at in range(len(held))]
    return held


def _duckdb(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("given", frame.to_arrow())
    connection.execute("create table records as select * from given")
    return connection.table("records")


ENGINES: dict[str, Engine] = {
    "polars": lambda frame: frame,
    "polars-plan": lambda frame: frame.lazy(),
    "pandas": _pandas,
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": _duckdb,
}


def collected(frame: Any) -> pl.DataFrame:
    """A frame of any engine, as polars has it."""
    seen = nw.from_native(frame)
    return (seen.collect() if isinstance(seen, nw.LazyFrame) else seen).to_polars()


def rows(source: Any, **stated: Any) -> pl.DataFrame:
    """Records that `read_microdata` reads, as polars has them."""
    frame: pl.DataFrame = dc.read_microdata(source, **stated).lazy().collect("polars").to_native()
    return frame
