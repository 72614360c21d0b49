"""PySpark frames give what others give, in one go; the rest of Spark is tested at length."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import discreet as dc

SECRET = "the secret of these tests"
PEOPLE = pl.DataFrame(
    {
        "person": list(range(40)),
        "sex": ["m", "w"] * 20,
        "rent": [float(k * k % 31) for k in range(40)],
    }
)


def published(frame: Any) -> pl.DataFrame:
    keyed = dc.with_record_keys(frame, id="person", secret=SECRET)
    table = dc.tabulate(keyed, ["sex"], record_key="record_key", values=["rent"])
    return table.to_polars()


@pytest.mark.spark
def test_keys_counts_and_sums(spark: Any) -> None:
    schema = "person bigint, sex string, rent double"
    frame = spark.createDataFrame(PEOPLE.rows(), schema).repartition(2)
    assert published(frame).equals(published(PEOPLE))
