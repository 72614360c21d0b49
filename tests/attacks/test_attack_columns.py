"""Attack: who knows one value column of a cell, or its value of last year, computes another.

Each of 3,000 cells has the records of one or two dwellings, with a rent and a floor area; the
attacker knows the area a exactly, by visiting it. Beside the published area a' stands the
published rent r'. Where both noises come from the same key, a' / a − 1 is, up to the shares of
the two columns, the relative error of r'. Found is a rent within 1 % of the true one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DisclosureWarning
from discreet.microdata.key_derivation import derived_keys

CELLS = 3_000
NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.1),
)
TWICE = NOISE.with_options(strength=dc.SimpleStrength(share=0.2))
SHARED, SHARED_TWICE = (noise.with_options(keys="shared") for noise in (NOISE, TWICE))


def dwellings(of_each: int) -> pl.DataFrame:
    """Rents and areas of 3,000 cells of so many dwellings."""
    draw, number = np.random.default_rng(2026), CELLS * of_each
    return pl.DataFrame(
        {
            "place": [f"p{at // of_each:04d}" for at in range(number)],
            "rent": np.round(draw.lognormal(6.5, 0.5, number)),
            "area": np.round(draw.lognormal(4.4, 0.4, number), 1),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def published(
    records: pl.DataFrame, noise: dc.MagnitudeNoise, column: str, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """True and published sums of the places."""
    table = dc.tabulate(
        records, ["place"], record_key="record_key", values=["rent", "area"], contributions=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisclosureWarning)
        made = dc.perturb_magnitudes(table, noise, column, grain=0.1, **options, p_percent=0)
    places = pl.col("place") != "Total"
    true = table.to_polars().filter(places)[column].to_numpy()
    return true, made.to_polars().filter(places)["value"].to_numpy()


def errors(records: pl.DataFrame, noise: dc.MagnitudeNoise, column: str) -> np.ndarray:
    """Relative errors of the published sums, which who knows the true ones computes."""
    true, noisy = published(records, noise, column)
    return np.asarray(noisy / true - 1)


def found(records: pl.DataFrame, rent: dc.MagnitudeNoise, area: dc.MagnitudeNoise) -> float:
    """The share of cells whose rent the attacker computes within 1 %."""
    known = errors(records, area, "area") * rent.strength.smallest / area.strength.smallest
    true, noisy = published(records, rent, "rent")
    return float((np.abs(noisy / (1 + known) / true - 1) < 0.01).mean())


def alone(records: pl.DataFrame, noise: dc.MagnitudeNoise) -> float:
    """The share of cells whose published rent is that near by itself."""
    return float((np.abs(errors(records, noise, "rent")) < 0.01).mean())


@pytest.mark.parametrize(
    ("of_each", "shared", "figure"), [(1, 0.999, 0.15), (2, 0.63, 0.15)], ids=["one", "two"]
)
def test_the_rent_does_not_follow_from_the_area(of_each: int, shared: float, figure: float):
    """Keys of one's own: no better than the published figure alone."""
    records = dwellings(of_each)
    assert found(records, SHARED, SHARED) == pytest.approx(shared, abs=0.02)
    assert alone(records, NOISE) == pytest.approx(figure, abs=0.02)
    assert found(records, NOISE, NOISE) < alone(records, NOISE)


def test_different_shares_of_two_columns_do_not_help_by_themselves():
    """The attacker scales the noise; only keys of one's own take the relation away."""
    records = dwellings(2)
    assert found(records, SHARED, SHARED_TWICE) == pytest.approx(0.63, abs=0.02)
    assert found(records, NOISE, TWICE) < alone(records, NOISE)
    pairs = [(SHARED, SHARED_TWICE), (NOISE, TWICE)]
    shared, own = (
        np.corrcoef(errors(records, rent, "rent"), errors(records, area, "area"))[0, 1]
        for rent, area in pairs
    )
    assert shared > 0.97
    assert abs(own) < 4 / np.sqrt(CELLS)


def next_year(records: pl.DataFrame) -> pl.DataFrame:
    """The same dwellings, a year older: rents rise by up to a tenth."""
    rise = np.random.default_rng(7).uniform(1, 1.1, len(records))
    return records.with_columns(rent=(pl.col("rent") * rise).round(0))


def test_a_panel_does_not_leak_the_next_year_where_periods_are_named():
    """Who knows the rent of 2025 computes that of 2026 from both published figures."""
    first = dwellings(1)
    second = next_year(first)
    this, next_ = (NOISE.with_options(period=year) for year in ("2025", "2026"))
    hits = {}
    for name, old, new in (("same keys", NOISE, NOISE), ("period", this, next_)):
        known = errors(first, old, "rent")
        true, noisy = published(second, new, "rent")
        hits[name] = float((np.abs(noisy / (1 + known) / true - 1) < 0.01).mean())
    assert hits["same keys"] > 0.99
    assert hits["period"] < alone(second, next_) < 0.2


def test_a_change_is_exact_without_periods_and_carries_the_noise_of_both_years_with_them():
    """The price of periods: what does not change seems to."""
    first = dwellings(1)
    true_first, was = published(first, NOISE, "rent")
    _, same = published(first, NOISE, "rent")  # what did not change
    _, other = published(first, NOISE.with_options(period="2026"), "rent")
    assert (was == same).all()
    moved = np.abs(other - was) / true_first
    assert np.median(moved) > 0.1


def test_columns_that_are_known_give_the_cell_key_of_a_small_grid_away():
    """The derivation is public: who knows the noise of several columns tries all keys.

    With 256 keys and all parameters known, the noise of a further column is certain after
    three known ones in three of four cells. Of 10^15 keys, 14 known columns leave one.
    """
    grid, every = dc.KeyGrid(256), np.arange(256)
    noise = np.stack(
        [
            NOISE.table.lookup(
                np.full(256, 10), derived_keys(every, grid, NOISE.purpose(f"c{at}")), grid=grid
            )
            for at in range(6)
        ]
    )
    keys = np.random.default_rng(3).integers(0, 256, 300)
    certain = []
    for known in (1, 3, 5):
        fits = (noise[:known, :, np.newaxis] == noise[:known, np.newaxis, keys]).all(axis=0)
        left = [len(np.unique(noise[5, column])) for column in fits.T]
        certain.append(float(np.mean(np.array(left) == 1)))
    assert certain[0] < 0.1
    assert 0.6 < certain[1] < 0.9
    assert certain[2] > 0.95
