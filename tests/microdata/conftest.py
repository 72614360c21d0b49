"""The same records on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest

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


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    """Moves a polars frame to one of the engines."""
    return ENGINES[request.param]


@pytest.fixture(params=["polars", "duckdb"])
def either(request: pytest.FixtureRequest) -> Engine:
    """One engine in memory and one that is a database, where the engine is not the subject."""
    return ENGINES[request.param]


@pytest.fixture
def collected() -> Callable[[Any], pl.DataFrame]:
    """Brings a frame of any engine back to polars."""

    def collect(frame: Any) -> pl.DataFrame:
        seen = nw.from_native(frame)
        return (seen.collect() if isinstance(seen, nw.LazyFrame) else seen).to_polars()

    return collect
