"""Existing keys are taken to the grid exactly, or rounded when told to."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError, RecordKeyError

Engine = Callable[[pl.DataFrame], Any]
Collect = Callable[[Any], pl.DataFrame]

KEYS = [0, 1, 250_000_000_000_000, 123_456_789_012_345, 999_999_999_999_999]


def records(keys: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"at": range(len(keys)), "rkey": keys})


FORMS = {
    "floats": pl.Series([key / 10**15 for key in KEYS]),
    "texts": pl.Series([f"0.{key:015d}" for key in KEYS]),
    "decimals": pl.Series([Decimal(key).scaleb(-15) for key in KEYS], dtype=pl.Decimal(18, 15)),
    "whole numbers": pl.Series(KEYS),
}


@pytest.mark.parametrize("form", FORMS)
def test_engines_agree(engine: Engine, collected: Collect, form: str) -> None:
    frame = engine(records(FORMS[form]))
    done = dc.import_record_keys(frame, column="rkey")
    assert type(done) is type(frame)
    back = collected(done).sort("at")
    assert back.columns == ["at", "rkey", "record_key"]
    assert back["record_key"].to_list() == KEYS


@pytest.mark.parametrize("grid", [256, "2^12", 2**32])
def test_whole_numbers_of_named_grids(engine: Engine, collected: Collect, grid: Any) -> None:
    frame = engine(records(pl.Series([0, 255, 17, 255])))
    done = dc.import_record_keys(frame, column="rkey", grid=grid, to="rkey")
    assert collected(done).sort("at").to_dict(as_series=False) == {
        "at": [0, 1, 2, 3],
        "rkey": [0, 255, 17, 255],
    }


@pytest.mark.parametrize(
    ("keys", "grid", "message"),
    [
        (pl.Series([0.5, None, None]), 10**15, "2 of 3 records have no key"),
        (pl.Series([0.5, 1.0, -0.1]), 10**15, "2 of 3 records have a key off the grid"),
        (pl.Series([0.3 + 2**-52, 0.5, 0.5]), 10**15, "1 of 3 records have a key with more digits"),
        (pl.Series(["0.5", "x", "0.1"]), 10**15, "1 of 3 records have a key that is not"),
        (pl.Series(["0.5", "0.1234567890123456", "0.1"]), 10**15, "1 of 3 .* more digits"),
        (pl.Series([255, 256, -1]), 256, "2 of 3 records have a key off the grid"),
    ],
)
def test_bad_keys_are_counted(engine: Engine, keys: pl.Series, grid: int, message: str) -> None:
    with pytest.raises(RecordKeyError, match=message) as caught:
        dc.import_record_keys(engine(records(keys)), column="rkey", grid=grid)
    assert caught.value.where == "rkey"


def test_plans_count_over_all_batches() -> None:
    keys = pl.Series([0.5] * 300_000).scatter([5, 299_999], 2.0)
    with pytest.raises(RecordKeyError, match="2 of 300,000"):
        dc.import_record_keys(records(keys).lazy(), column="rkey")


def test_finer_keys_are_rounded_on_purpose(engine: Engine, collected: Collect) -> None:
    floats = pl.Series([0.1 + 0.2, 0.12345678901234567, 0.9999999999999999, 0.25])
    done = collected(
        dc.import_record_keys(engine(records(floats)), column="rkey", digits="round")
    ).sort("at")
    assert done["record_key"].to_list() == [3 * 10**14, 123_456_789_012_346, 0, 25 * 10**13]


def test_texts_are_rounded_half_up(engine: Engine, collected: Collect) -> None:
    texts = pl.Series(["0.0000000000000005", "0.00000000000000049", ".9999999999999996", "0.5"])
    done = collected(
        dc.import_record_keys(engine(records(texts)), column="rkey", digits="round")
    ).sort("at")
    assert done["record_key"].to_list() == [1, 0, 0, 5 * 10**14]


def test_rounding_does_not_hide_keys_off_the_grid(engine: Engine) -> None:
    for keys in (pl.Series([0.5, 1.0]), pl.Series(["0.5", "1.00000000000000001"])):
        with pytest.raises(RecordKeyError, match="1 of 2 records have a key off the grid"):
            dc.import_record_keys(engine(records(keys)), column="rkey", digits="round")


@given(st.lists(st.integers(0, 10**15 - 1), min_size=1))
def test_every_decimal_with_15_digits_is_exact(keys: list[int]) -> None:
    for form in ([key / 10**15 for key in keys], [f".{key:015d}" for key in keys]):
        frame = pl.DataFrame({"k": form})
        assert dc.import_record_keys(frame, column="k", to="k")["k"].to_list() == keys


def test_wrong_requests_are_refused() -> None:
    frame = records(pl.Series([0.5]))
    for options, code in [
        ({"column": "key"}, "missing-column"),
        ({"column": "rkey", "to": "at"}, "existing-column"),
        ({"column": "rkey", "digits": "cut"}, "digits"),
        ({"column": "rkey", "digits": "round", "grid": 256}, "digits"),
    ]:
        with pytest.raises(DiscreetError) as caught:
            dc.import_record_keys(frame, **options)
        assert caught.value.code == code
    with pytest.raises(RecordKeyError, match="cannot be of type"):
        dc.import_record_keys(records(pl.Series([True])), column="rkey")
    with pytest.raises(MicrodataError, match="not a frame"):
        dc.import_record_keys("rkey", column="rkey")
