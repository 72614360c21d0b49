"""PySpark frames get the same keys as every other engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError, RecordKeyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]

SECRET = "the secret of these tests"
GRID = 10**15
PEOPLE = pl.DataFrame(
    {
        "person": [101, 7, -3, 2**40, 0],
        "a name": ["an identifier of more than one block", "7", "ü", "x" * 12, "0"],
        "home": [1, 2, 1, 2, 2],
    }
)


def moved(spark: SparkSession, frame: pl.DataFrame) -> Any:
    return spark.createDataFrame(frame.to_dicts(), schema=_schema(frame)).repartition(3)


def _schema(frame: pl.DataFrame) -> str:
    kinds = {pl.Int64: "bigint", pl.String: "string", pl.Float64: "double"}
    return ", ".join(f"`{name}` {kinds[kind.base_type()]}" for name, kind in frame.schema.items())


def collected(frame: Any, by: str) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: row[by])


@pytest.mark.parametrize("by", ["person", "a name", ["person", "a name"]])
def test_keys_are_those_of_polars(spark: SparkSession, by: str | list[str]) -> None:
    keyed = dc.with_record_keys(moved(spark, PEOPLE), id=by, secret=SECRET)
    expected = dc.with_record_keys(PEOPLE, id=by, secret=SECRET).sort("person")
    assert collected(keyed, "person") == expected.to_dicts()


def test_bad_identifiers_are_counted(spark: SparkSession) -> None:
    frame = pl.DataFrame({"id": ["confidential", "confidential", None, "", "b"]})
    with pytest.raises(MicrodataError) as caught:
        dc.with_record_keys(moved(spark, frame), id="id", secret=SECRET)
    assert "1 of 5 records have no identifier" in str(caught.value)
    assert "1 of 5 records have an empty identifier" in str(caught.value)
    assert "2 of 5 records have a repeated identifier" in str(caught.value)
    assert "confidential" not in str(caught.value)


def test_units_inherit_exact_sums(spark: SparkSession) -> None:
    frame = pl.DataFrame({"home": [1] * 20_000 + [2], "record_key": [GRID - 3] * 20_000 + [5]})
    homes = dc.inherit_record_keys(moved(spark, frame), by="home")
    assert collected(homes, "home") == [
        {"home": 1, "record_key": 20_000 * (GRID - 3) % GRID},
        {"home": 2, "record_key": 5},
    ]


def test_units_have_derived_keys(spark: SparkSession) -> None:
    frame = pl.DataFrame({"home": [1, 1, 2], "record_key": [0.25, 0.999999999999999, 1e-15]})
    homes = dc.inherit_record_keys(moved(spark, frame), by="home", unit="household")
    expected = dc.inherit_record_keys(frame, by="home", unit="household")
    assert expected["record_key_sum"].to_list() == [249_999_999_999_999, 1]
    assert collected(homes, "home") == expected.to_dicts()


def test_vacant_units_get_keys_of_their_own(spark: SparkSession) -> None:
    parts = dc.with_record_keys(PEOPLE, id="person", secret=SECRET)
    homes = pl.DataFrame({"home": [1, 2, 3]})
    found = dc.inherit_record_keys(
        moved(spark, parts), by="home", onto=moved(spark, homes), secret=SECRET
    )
    expected = dc.inherit_record_keys(parts, by="home", onto=homes, secret=SECRET)
    assert collected(found, "home") == expected.to_dicts()
    with pytest.raises(MicrodataError, match="1 units have no parts"):
        dc.inherit_record_keys(moved(spark, parts), by="home", onto=moved(spark, homes))


@pytest.mark.parametrize(
    ("keys", "digits"),
    [
        (pl.Series([0.25, 1e-15, 0.999999999999999]), "exact"),
        (pl.Series(["0.25", "0.000000000000001", "0.999999999999999"]), "exact"),
        (pl.Series([0.1 + 0.2, 0.5, 0.9999999999999999]), "round"),
    ],
)
def test_existing_keys_are_imported(spark: SparkSession, keys: pl.Series, digits: str) -> None:
    frame = pl.DataFrame({"at": [1, 2, 3], "rkey": keys})
    done = dc.import_record_keys(moved(spark, frame), column="rkey", digits=digits)
    expected = dc.import_record_keys(frame, column="rkey", digits=digits)
    assert collected(done, "at") == expected.to_dicts()


@pytest.mark.parametrize(
    ("keys", "grid", "message"),
    [
        (pl.Series([1, None, None]), 256, "2 of 3 records have no key"),
        (pl.Series([1, 256, -1]), 256, "2 of 3 records have a key off the grid"),
        (pl.Series([1 / 3, 0.5, 0.5]), GRID, "1 of 3 records have a key with more digits"),
        (pl.Series(["0.5", "x", "0.1"]), GRID, "1 of 3 records have a key that is not"),
    ],
)
def test_bad_keys_are_counted(
    spark: SparkSession, keys: pl.Series, grid: int, message: str
) -> None:
    with pytest.raises(RecordKeyError, match=message):
        dc.import_record_keys(moved(spark, keys.alias("rkey").to_frame()), column="rkey", grid=grid)
