"""Existing keys are taken to the grid exactly, or rounded when told to."""

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError, RecordKeyError
from tests.helpers.engines import Engine, collected

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
def test_engines_agree(engine: Engine, form: str) -> None:
    frame = engine(records(FORMS[form]))
    done = dc.import_record_keys(frame, column="rkey")
    assert type(done) is type(frame)
    back = collected(done).sort("at")
    assert back.columns == ["at", "rkey", "record_key"]
    assert back["record_key"].to_list() == KEYS


@pytest.mark.parametrize("grid", [256, "2^12", 2**32])
def test_whole_numbers_of_named_grids(either: Engine, grid: Any) -> None:
    frame = either(records(pl.Series([0, 255, 17, 255])))
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
def test_bad_keys_are_counted(either: Engine, keys: pl.Series, grid: int, message: str) -> None:
    with pytest.raises(RecordKeyError, match=message) as caught:
        dc.import_record_keys(either(records(keys)), column="rkey", grid=grid)
    assert caught.value.where == "rkey"


def test_plans_count_over_all_batches() -> None:
    keys = pl.Series([0.5] * 300_000).scatter([5, 299_999], 2.0)
    with pytest.raises(RecordKeyError, match="2 of 300,000"):
        dc.import_record_keys(records(keys).lazy(), column="rkey")


def test_finer_keys_are_rounded_on_purpose(either: Engine) -> None:
    floats = pl.Series([0.1 + 0.2, 0.12345678901234567, 0.9999999999999999, 0.25])
    done = collected(
        dc.import_record_keys(either(records(floats)), column="rkey", digits="round")
    ).sort("at")
    assert done["record_key"].to_list() == [3 * 10**14, 123_456_789_012_346, 0, 25 * 10**13]


def test_texts_are_rounded_half_up(either: Engine) -> None:
    texts = pl.Series(["0.0000000000000005", "0.00000000000000049", ".9999999999999996", "0.5"])
    done = collected(
        dc.import_record_keys(either(records(texts)), column="rkey", digits="round")
    ).sort("at")
    assert done["record_key"].to_list() == [1, 0, 0, 5 * 10**14]


def test_rounding_does_not_hide_keys_off_the_grid(either: Engine) -> None:
    for keys in (pl.Series([0.5, 1.0]), pl.Series(["0.5", "1.00000000000000001"])):
        with pytest.raises(RecordKeyError, match="1 of 2 records have a key off the grid"):
            dc.import_record_keys(either(records(keys)), column="rkey", digits="round")


@given(st.lists(st.integers(0, 10**15 - 1), min_size=1))
def test_every_decimal_with_15_digits_is_exact(keys: list[int]) -> None:
    for form in ([key / 10**15 for key in keys], [f".{key:015d}" for key in keys]):
        frame = pl.DataFrame({"k": form})
        assert dc.import_record_keys(frame, column="k", to="k")["k"].to_list() == keys


def test_tabulation_rounds_keys_that_were_drawn_as_floats_when_it_is_told_to() -> None:
    drawn = np.random.default_rng(1).random(40)
    frame = pl.DataFrame({"sex": ["m", "w"] * 20, "rkey": drawn})
    by_hand = dc.tabulate(
        dc.import_record_keys(frame, column="rkey", digits="round"),
        ["sex"],
        record_key="record_key",
    )
    for records in (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow()):
        with pytest.raises(RecordKeyError, match="more digits") as caught:
            dc.tabulate(records, ["sex"], record_key="rkey")
        assert 'key_digits="round"' in caught.value.hint
        table = dc.tabulate(records, ["sex"], record_key="rkey", key_digits="round")
        assert table.to_polars().equals(by_hand.to_polars())
    many = dc.tabulate_many(frame, [dc.Query(by=["sex"])], record_key="rkey", key_digits="round")
    assert many[0].to_polars().equals(by_hand.to_polars())


def test_cell_keys_that_are_sums_of_floats_are_rounded_when_that_is_said() -> None:
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [3, 2], "key": [0.1 + 0.2, 1 / 3]})
    with pytest.raises(RecordKeyError, match="more digits"):
        dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    table = dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key", key_digits="round")
    assert table.cell_key is not None
    assert table.cell_key.tolist() == [300_000_000_000_000, 333_333_333_333_333]
    with pytest.raises(RecordKeyError, match="unknown"):
        dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key", key_digits="cut")


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
    with pytest.raises(MicrodataError, match="not a data frame of records"):
        dc.import_record_keys("rkey", column="rkey")
