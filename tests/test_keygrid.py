"""Keys on the grid are exact; what is not exact is refused."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import RecordKeyError
from discreet.keygrid import CENSUS_GRID, LIMB, KeyGrid, grid_keys
from tests.helpers.rows import for_all_rows

digits = st.integers(min_value=0, max_value=10**15 - 1)


@given(st.lists(digits, min_size=1, max_size=30))
def test_every_key_of_15_digits_survives_as_float_text_and_decimal(keys):
    texts = [f"0.{key:015d}" for key in keys]
    expected = keys
    assert grid_keys(pl.Series(texts), CENSUS_GRID).tolist() == expected
    assert grid_keys(pl.Series([float(text) for text in texts]), CENSUS_GRID).tolist() == expected
    decimals = pl.Series([Decimal(text) for text in texts], dtype=pl.Decimal(16, 15))
    assert grid_keys(decimals, CENSUS_GRID).tolist() == expected
    assert grid_keys(pl.Series(keys), CENSUS_GRID).tolist() == expected


@given(st.lists(digits, min_size=1, max_size=50), st.sampled_from([256, 4096, 2**32, 10**15, 97]))
def test_sums_in_two_parts_equal_sums_of_whole_numbers(keys, size):
    keys = [key % size for key in keys]
    high = np.array([sum(key // LIMB for key in keys) * 10**6])
    low = np.array([sum(key % LIMB for key in keys) * 10**6])
    assert KeyGrid(size).combine(high, low).tolist() == [sum(keys) * 10**6 % size]


def test_the_number_of_the_census_example():
    keys = grid_keys(pl.Series(["0.95", "0.40", "0.75"]), CENSUS_GRID)
    assert int(keys.sum()) % 10**15 == 10**14  # cell key 0.10


@for_all_rows(
    ("keys", "grid", "code"),
    [
        ([0.5, None], 10**15, "key-missing"),
        ([0.5, float("nan")], 10**15, "key-missing"),
        ([1.0], 10**15, "key-off-grid"),
        ([-0.1], 10**15, "key-off-grid"),
        ([0.12345678901234567], 10**15, "key-digits"),
        (["0.1234567890123456"], 10**15, "key-digits"),
        (["1.5"], 10**15, "key-off-grid"),
        (["0.1", "abc"], 10**15, "key-type"),
        ([256], 256, "key-off-grid"),
        ([-1], 256, "key-off-grid"),
        ([10.5], 256, "key-digits"),
        ([1e300], 256, "key-off-grid"),
        (["1e-05", "1e400"], 10**15, "key-off-grid"),
        ([True], 256, "key-type"),
        (pl.Series([2**63], dtype=pl.UInt64), 256, "key-off-grid"),
    ],
)
def test_unusable_keys_are_refused_without_being_shown(keys, grid, code):
    series = keys if isinstance(keys, pl.Series) else pl.Series(keys)
    with pytest.raises(RecordKeyError) as caught:
        grid_keys(series, KeyGrid(grid), column="rk")
    assert caught.value.code == code
    assert caught.value.where == "rk"
    for key in series.drop_nulls().to_list():
        if not isinstance(key, bool) and str(key) not in ("256", "nan"):
            assert repr(key).strip("'") not in str(caught.value).replace("1 of 1", "")


def test_other_spellings_of_decimals_are_exact():
    keys = grid_keys(pl.Series(["1e-05", "0.1e0", "3E-15"]), CENSUS_GRID)
    assert keys.tolist() == [10**10, 10**14, 3]


def test_grids_by_name_and_their_limits():
    assert KeyGrid.of("10^15") == CENSUS_GRID == KeyGrid.of(10**15)
    assert KeyGrid.of("2**32").size == 2**32
    assert str(KeyGrid(2**32)) == "2^32"
    assert str(KeyGrid(256)) == "256"
    for wrong in ("ten", 1, 10**16, 2.5):
        with pytest.raises(RecordKeyError):
            KeyGrid.of(wrong)


@pytest.mark.parametrize("text", ["9^999999999", "10^-3", "2^", "^2"])
def test_powers_that_are_no_grid_are_refused_at_once(text: str) -> None:
    with pytest.raises(RecordKeyError):
        KeyGrid.of(text)


def test_odd_spellings_are_exact_at_both_ends_of_the_grid():
    texts = pl.Series(["0e0", "1e-15", "9.99999999999999e-1", "1e-05"])
    assert grid_keys(texts, CENSUS_GRID).tolist() == [0, 1, 10**15 - 1, 10**10]
    assert grid_keys(pl.Series(["0e0", "2.55e2"]), KeyGrid(256)).tolist() == [0, 255]
    for text, grid in (("1e0", CENSUS_GRID), ("2.56e2", KeyGrid(256)), ("-1e-15", CENSUS_GRID)):
        with pytest.raises(RecordKeyError, match="1 of 2 records have a key off the grid"):
            grid_keys(pl.Series(["1e-15" if grid is CENSUS_GRID else "1e0", text]), grid)
    with pytest.raises(RecordKeyError, match="1 of 2 records have a key with more digits"):
        grid_keys(pl.Series(["1e-15", "1e-16"]), CENSUS_GRID)
    for text in ("nan", "inf", "-Infinity"):
        with pytest.raises(RecordKeyError, match="1 of 2 records have a key off the grid"):
            grid_keys(pl.Series(["1e-15", text]), CENSUS_GRID)
