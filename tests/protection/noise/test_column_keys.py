"""Keys of a value column's noise: derived from cell key and name, or shared."""

import hashlib
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet import (
    KeyGrid,
    MagnitudeNoise,
    SimpleStrength,
    Table,
    design_magnitude_perturbation,
    perturb_magnitudes,
    tabulate,
)
from discreet.errors import DisclosureWarning, PerturbationError
from discreet.protection.noise import magnitude_ingredient
from discreet.protection.noise.magnitude_cells import column_keys, noise_keys
from tests.helpers.rows import for_all_rows

TABLE = design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2)
NOISE = MagnitudeNoise(table=TABLE, strength=SimpleStrength(share=0.1), top=2, epsilon=(1, 0.5))
GRID = KeyGrid()


def by_hand(key: int, grid: KeyGrid, purpose: str) -> int:
    """Version 1 of the construction, a block at a time."""
    text = f"discreet derived keys, version 1; grid {grid.size}; {purpose}"
    cipher = Cipher(algorithms.AES(hashlib.sha256(text.encode()).digest()), modes.ECB())
    block = cipher.encryptor().update(key.to_bytes(16, "big"))
    return int.from_bytes(block, "big") * grid.size >> 128


@pytest.fixture
def records() -> pl.DataFrame:
    draw = np.random.default_rng(12)
    return pl.DataFrame(
        {
            "place": draw.choice(["a", "b", "c"], 60),
            "rent": np.round(draw.lognormal(6.5, 0.5, 60)),
            "record_key": draw.integers(0, 10**15, 60),
        }
    ).with_columns(
        area=pl.col("rent"), aid=pl.when(pl.int_range(60) % 3 == 0).then("rent").otherwise(0)
    )


def table(records: pl.DataFrame, *values: str, where: str | None = None) -> Table:
    return tabulate(
        records,
        ["place"],
        record_key="record_key",
        values=values or ["rent", "area", "aid"],
        contributions=2,
        where=where,
    )


def sums(made: Table, noise: MagnitudeNoise, value: str) -> list[float]:
    found = (
        perturb_magnitudes(made, noise, value, p_percent=0)
        .to_polars(complete=True)["value"]
        .to_list()
    )
    return [float(one) for one in found]


@pytest.mark.parametrize(
    ("period", "purposes"),
    [
        ("", ["column aid", "column aid; contribution 2"]),
        ("2026", ["column aid; period 2026", "column aid; period 2026; contribution 2"]),
    ],
)
def test_keys_are_those_of_the_stated_construction(
    records: pl.DataFrame, period: str, purposes: list[str]
):
    made = table(records).contributions["aid"]
    assert made.key is not None
    assert made.nonzero_key is not None
    assert made.key.tolist() != made.nonzero_key.tolist()
    noise = NOISE.with_options(period=period)
    for zeros, key in ((False, made.nonzero_key), (True, made.key)):
        found = column_keys(made, noise.with_options(zeros_in_key=zeros), GRID)
        wanted = [[by_hand(one, GRID, purpose) for one in key.tolist()] for purpose in purposes]
        assert [keys.tolist() for keys in found] == wanted


def test_shared_keys_are_those_of_the_reference_method(records: pl.DataFrame):
    made = table(records).contributions["aid"]
    assert made.key is not None
    for same_key in (False, True):
        noise = NOISE.with_options(keys="shared", zeros_in_key=True, same_key=same_key)
        found = [keys.tolist() for keys in column_keys(made, noise, GRID)]
        wanted = noise_keys(made.key, GRID, 2, same_key=same_key)
        assert found == [keys.tolist() for keys in wanted]


def test_equal_columns_get_different_noise_and_the_same_column_the_same(records: pl.DataFrame):
    every, some = table(records), table(records.sample(fraction=1, shuffle=True, seed=1), "rent")
    assert sums(every, NOISE, "rent") == sums(some, NOISE, "rent")
    assert sums(every, NOISE, "rent") != sums(every, NOISE, "area")
    assert sums(every, NOISE, "rent") != sums(every, NOISE.with_options(period="2026"), "rent")


def test_sums_of_the_same_values_are_the_same_whoever_has_none(records: pl.DataFrame):
    """Else those in one place, with and without the many of value 0, could be averaged."""
    every, some = table(records), table(records, where="aid > 0")
    assert sums(every, NOISE, "aid") == sums(some, NOISE, "aid")
    counted = NOISE.with_options(zeros_in_key=True)
    assert sums(every, counted, "aid") != sums(some, counted, "aid")


def test_records_of_value_zero_do_not_choose_the_row_either(records: pl.DataFrame):
    even, odd = (
        design_magnitude_perturbation(5, variance, classes=(1, 5, 10), step=2, kind=kind)
        for variance, kind in ((2, "even"), (1, "odd"))
    )
    noise = NOISE.with_options(table=type(TABLE).joined(even, odd))
    every, some = table(records), table(records, where="aid > 0")
    counts = [one.contributions["aid"].count % 2 for one in (every, some)]
    assert counts[0].tolist() != counts[1].tolist()
    assert sums(every, noise, "aid") == sums(some, noise, "aid")


def test_names_cannot_be_taken_for_periods():
    named = {
        NOISE.with_options(period=period).purpose(column)
        for column, period in (
            ("rent", "2026"),
            ("rent; period 2026", ""),
            ("rent;; period 2026", ""),
            ("rent;", "2026"),
            ("rent", ""),
        )
    }
    assert len(named) == 5


def test_one_name_in_two_encodings_is_one_name():
    composed, decomposed = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
    assert NOISE.purpose(composed) == NOISE.purpose(decomposed)


def test_sharing_keys_is_said_where_the_records_have_another_column(records: pl.DataFrame):
    shared = NOISE.with_options(keys="shared")
    said = "the noise of 'rent' and 'area' and 'aid' uses the same keys"
    with pytest.warns(DisclosureWarning, match=said) as caught:
        perturb_magnitudes(table(records), shared, "rent", p_percent=0)
    assert caught[0].filename == __file__
    with pytest.warns(DisclosureWarning, match="one known value"):
        magnitude_ingredient(table(records), shared, "rent", p_percent=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        perturb_magnitudes(table(records, "rent"), shared, "rent", p_percent=0)
        perturb_magnitudes(table(records), NOISE, "rent", p_percent=0)


@for_all_rows(
    ("changes", "message"),
    [
        ({"keys": "own"}, "known: column, shared"),
        ({"period": 2026}, "period: must be a text"),
        ({"keys": "shared", "period": "2026"}, "the same in every period"),
        ({"same_key": True}, "independent noise of a column does not use the keys of counts"),
        ({"mu_c_for": "second"}, "known: first, all"),
        ({"range_floor": 0.2}, 'range_floor needs of = "range"'),
        ({"range_floor": 1.5}, "range_floor must be a share of the largest value, from 0 to 1"),
        ({"range_floor": "half"}, "range_floor: must be a number"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(PerturbationError, match=message):
        NOISE.with_options(**changes)


# -- ranges ----------------------------------------------------------------------------


def ranged(values: list[float], floor: float | None = None) -> np.ndarray:
    """Relative noise of the largest value in 2,000 cells of these values."""
    draw, cells = np.random.default_rng(5), 2_000
    records = pl.DataFrame(
        {
            "place": np.repeat(np.arange(cells), len(values)).astype(str),
            "rent": np.tile(values, cells),
            "record_key": draw.integers(0, 10**15, cells * len(values)),
        }
    )
    options: dict[str, Any] = {} if floor is None else {"range_floor": floor}
    noise = MagnitudeNoise(table=TABLE, strength=SimpleStrength(share=0.1), of="range", **options)
    made = perturb_magnitudes(table(records, "rent"), noise, "rent", p_percent=0).to_polars()
    shown = made.filter(pl.col("place") != "Total")["value"].to_numpy()
    return np.asarray((shown - sum(values)) / max(abs(value) for value in values))


def test_nearly_equal_values_are_not_published_as_they_are():
    """100,000 and 100,001: the sum was 200,001 in every cell."""
    before, after = ranged([100_000, 100_001], 0), ranged([100_000, 100_001])
    assert np.abs(before * 100_001).max() <= 1
    assert (after != 0).mean() > 0.8
    assert np.std(after) == pytest.approx(np.std(ranged([50_000, 100_000])), rel=0.05)


def test_the_floor_is_a_share_of_the_largest_value():
    for floor in (0.25, 0.5, 1.0):
        size = np.std(ranged([100_000, 99_000], floor))
        assert size == pytest.approx(floor * np.std(ranged([100_000])), rel=0.1)


def test_wide_ranges_and_single_values_stay_as_they_were():
    for values in ([100_000, 10_000], [100_000, 50_000], [-40_000, 70_000], [100_000], [5e4, 5e4]):
        assert (ranged(values) == ranged(values, 0)).all()


def test_values_below_zero_have_a_floor_too():
    assert (ranged([-100_000, -100_001]) == -ranged([100_000, 100_001])).all()


# -- sensitive cells -----------------------------------------------------------------


def near(noise: MagnitudeNoise, within: float) -> tuple[float, float]:
    """Share of cells of 1,000, 900 and 600 that stay near the truth, and their deviation."""
    draw, cells, values = np.random.default_rng(6), 20_000, [1000.0, 900.0, 600.0]
    records = pl.DataFrame(
        {
            "place": np.repeat(np.arange(cells), 3).astype(str),
            "rent": np.tile(values, cells),
            "record_key": draw.integers(0, 10**15, cells * 3),
        }
    )
    made = table(records, "rent")
    safe = perturb_magnitudes(
        made, noise, "rent", sensitive=np.ones(len(made), np.bool_), p_percent=0
    )
    shown = safe.to_polars().filter(pl.col("place") != "Total")["value"].to_numpy()
    away = np.abs(shown - sum(values)) / values[0]
    return float((away < within).mean()), float(np.std(shown - sum(values)) / values[0])


def test_more_noise_for_the_first_contribution_protects_better_than_for_all():
    """Two contributions with more noise each may cancel out: numbers of the method page."""
    first, every = (NOISE.with_options(mu_c=2, mu_c_for=which) for which in ("first", "all"))
    (near_first, wide_first), (near_all, wide_all) = near(first, 0.05), near(every, 0.05)
    assert near_first < 0.005
    assert 0.03 < near_all < 0.05
    assert wide_first < wide_all
