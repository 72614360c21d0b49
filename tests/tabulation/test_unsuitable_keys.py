"""Columns that cannot be record keys are refused on every engine, or used and named."""

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import RecordKeyError
from tests.helpers.rows import for_all_rows

COUNT = 5000
RNG = np.random.default_rng(7)
PEOPLE = pl.DataFrame(
    {
        "sex": RNG.choice(["m", "w"], COUNT),
        "person_id": np.arange(COUNT) + 1_000_000,
        "income": RNG.lognormal(10, 1, COUNT).astype(np.int64),
        "rent": RNG.lognormal(6, 1, COUNT),
        "constant": np.full(COUNT, 500_000_000_000_000),
        "decimal_constant": np.full(COUNT, 0.25),
        "other_grid": RNG.integers(0, 2**32, COUNT),
        "eight_digits": RNG.integers(0, 10**8, COUNT) / 10**8,
        "record_key": RNG.integers(0, 10**15, COUNT),
    }
)


def relation(frame: pl.DataFrame) -> Any:
    return duckdb.from_arrow(frame.to_arrow())


SOURCES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars plan": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": relation,
}
UNSUITABLE = ["person_id", "income", "constant", "decimal_constant", "other_grid"]


@for_all_rows("source", SOURCES)
@for_all_rows("column", UNSUITABLE)
@for_all_rows("contributions", [0, 2])
def test_every_engine_refuses_them(source: str, column: str, contributions: int):
    frame = SOURCES[source](PEOPLE)
    with pytest.raises(RecordKeyError, match="does not contain record keys") as error:
        dc.tabulate(frame, ["sex"], record_key=column, values=["rent"], contributions=contributions)
    assert error.value.code == "key-distribution"
    assert "500000000000000" not in str(error.value)


@for_all_rows("source", SOURCES)
def test_proper_keys_pass_on_every_engine(source: str):
    for column, coarse in (("record_key", False), ("eight_digits", True)):
        table = dc.tabulate(SOURCES[source](PEOPLE), ["sex"], record_key=column)
        assert table.keys is not None
        assert (table.keys.strength, table.keys.coarse) == ("full", coarse)


@for_all_rows("source", SOURCES)
def test_an_override_is_kept_with_the_table(source: str):
    frame = SOURCES[source](PEOPLE)
    table = dc.tabulate(frame, ["sex"], record_key="person_id", allow_unsuitable_keys=True)
    assert table.keys is not None
    assert table.keys.unsuitable_allowed
    assert "uneven" in table.keys.faults
    ptable = dc.design_perturbation(max_noise=3, variance=1)
    assert [note.kind for note in dc.perturb(table, ptable).notes][1:] == ["unsuitable-keys"]
    proper = dc.tabulate(frame, ["sex"], record_key="record_key")
    assert [note.kind for note in dc.perturb(proper, ptable).notes][1:] == []


def test_keys_missing_outside_the_filter_are_not_looked_at():
    frame = PEOPLE.with_columns(
        record_key=pl.when(pl.col("sex") == "w").then("record_key"),
    )
    table = dc.tabulate(frame.lazy(), ["sex"], record_key="record_key", where="sex == 'w'")
    assert table.keys is not None
    assert table.keys.faults == ()


def test_the_right_grid_is_suggested_and_then_taken():
    with pytest.raises(RecordKeyError, match=r"2\^32"):
        dc.tabulate(PEOPLE, ["sex"], record_key="other_grid")
    table = dc.tabulate(PEOPLE, ["sex"], record_key="other_grid", key_grid="2^32")
    assert table.keys is not None
    assert table.keys.faults == ()


@for_all_rows("source", SOURCES)
def test_floats_one_unit_in_the_last_place_off_are_the_key(source: str):
    """polars divides by a constant by multiplying, which rounds twice."""
    keys = PEOPLE["record_key"].to_numpy()
    exact = keys / 1e15
    for floats in (exact, np.nextafter(exact, 0), np.nextafter(exact, 1), keys * 1e-15):
        frame = SOURCES[source](PEOPLE.with_columns(record_key=floats))
        table = dc.tabulate(frame, ["sex"], record_key="record_key")
        expected = dc.tabulate(PEOPLE, ["sex"], record_key="record_key")
        assert table.to_polars().equals(expected.to_polars())
    finer = exact + 3 * np.spacing(exact)
    with pytest.raises(RecordKeyError, match="more digits") as error:
        dc.tabulate(
            SOURCES[source](PEOPLE.with_columns(record_key=finer)), ["sex"], record_key="record_key"
        )
    assert error.value.code == "key-digits"
