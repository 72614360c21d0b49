"""PySpark counts for itself and gives the same bits; its 64-bit sums never overflow."""

import polars as pl
import pytest

import discreet as dc
from discreet.tabulation import Query, tabulate_many
from tests.helpers.people import EVERYTHING, people

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]
SCHEMA = "place string, sex string, age bigint, key bigint, weight double, rent double"


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(people().rows(), SCHEMA).repartition(5)


def test_the_same_table_bit_for_bit(frame):
    expected = dc.tabulate(people(), **EVERYTHING).to_polars()
    assert dc.tabulate(frame, **EVERYTHING).to_polars().equals(expected)


def test_several_tables_in_one_go(frame):
    queries = [Query(by=["sex"], name="a"), Query(by=[], name="b", where="age < 10")]
    expected = tabulate_many(people(), queries, record_key="key")
    found = tabulate_many(frame, queries, record_key="key")
    for one, other in zip(found, expected, strict=True):
        assert one.to_polars().equals(other.to_polars())


def test_ansi_arithmetic_does_not_overflow(spark):
    largest = 10**15 - 1
    many = spark.range(100_000).selectExpr("1 as one", f"cast({largest} as bigint) as key")
    same = {"record_key": "key", "allow_unsuitable_keys": True}  # sums as large as they get
    table = dc.tabulate(many, ["one"], **same).to_polars()
    assert table["cell_key"].to_list() == [largest * 100_000 % 10**15] * 2


def test_bad_keys_are_counted(spark):
    some = spark.createDataFrame([(1, 5), (1, None), (2, 300)], "g int, key bigint")
    with pytest.raises(dc.DiscreetError, match="1 of 3 records have no key"):
        dc.tabulate(some, ["g"], record_key="key", key_grid=256)
    with pytest.raises(dc.DiscreetError, match="1 of 2 records have a key off the grid 256"):
        dc.tabulate(some.dropna(), ["g"], record_key="key", key_grid=256)


def test_float_keys(spark):
    floats = pl.Series([0.1, 0.25, 0.7]).to_list()
    frame = spark.createDataFrame([("a", key) for key in floats], "g string, key double")
    table = dc.tabulate(frame, ["g"], record_key="key").to_polars()
    assert table["cell_key"].to_list() == [5 * 10**13] * 2


@pytest.mark.parametrize("by", [EVERYTHING["by"], []], ids=len)
def test_the_largest_contributions_bit_for_bit(frame, by):
    call = {**EVERYTHING, "by": by, "contributions": 2}
    found = dc.tabulate(frame, **call).contributions["rent"]
    expected = dc.tabulate(people(), **call).contributions["rent"]
    for name in ("top", "top_weight", "count", "key", "nonzero_key", "weight", "low", "high"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    for name in ("total", "plain", "absolute", "nonzero"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
