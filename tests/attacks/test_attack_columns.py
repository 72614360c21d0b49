"""Attack: who knows one value column of a cell, or its value of last year, computes another.

Each of 3,000 cells has the records of one or two dwellings, with a rent and a floor area; the
attacker knows the area a exactly, by visiting it. Beside the published area a' stands the
published rent r'. Where both noises come from the same key, a' / a − 1 is, up to the shares of
the two columns, the relative error of r'. Found is a rent within 1 % of the true one.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import (
    Classification,
    KeyGrid,
    MagnitudeNoise,
    SimpleStrength,
    Table,
    design_magnitude_perturbation,
    design_perturbation,
    perturb,
    perturb_magnitudes,
)
from discreet.errors import DisclosureWarning
from discreet.microdata.key_derivation import derived_keys
from discreet.protection.noise import contributors
from discreet.tables import Contributions, Dimension

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


DISTRICTS = 400


def persons() -> pl.DataFrame:
    """Four villages of each district, of men and women; women of the first have the benefit."""
    draw, each = np.random.default_rng(17), 16
    number = DISTRICTS * each
    place = np.arange(number)
    village, woman = place // 4 % 4, place % 2 == 1
    paid = np.where((village == 0) & woman, np.round(draw.lognormal(6.5, 0.4, number)), 0)
    return pl.DataFrame(
        {
            "village": [f"{at // each:03d}{part}" for at, part in zip(place, village, strict=True)],
            "sex": np.where(woman, "w", "m"),
            "benefit": paid,
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def draws(noise: dc.MagnitudeNoise) -> tuple[np.ndarray, np.ndarray]:
    """True sums, and what is published of each in four cells."""
    records = persons()
    codes = sorted(set(records["village"].to_list()))
    villages = dc.Classification.from_prefixes("village", codes, lengths=[3, 4])
    table = dc.tabulate(
        records, [villages, "sex"], record_key="record_key", values=["benefit"], contributions=1
    )
    safe = dc.perturb_magnitudes(table, noise, "benefit", p_percent=0)
    true = records.group_by(pl.col("village").str.slice(0, 3)).agg(pl.col("benefit").sum())
    true = true.sort("village")
    shown = np.array(
        [
            [safe.get(f"{at}{part}", sex) for part in ("", "0") for sex in ("w", "Total")]
            for at in true["village"]
        ]
    )
    return true["benefit"].to_numpy(), shown


def test_cells_that_differ_by_zeros_have_one_draw() -> None:
    true, shown = draws(NOISE)
    assert (shown == shown[:, :1]).all()
    assert (shown[:, 0] != true).mean() > 0.8


def test_with_zeros_in_the_key_four_draws_halve_the_noise() -> None:
    true, shown = draws(NOISE.with_options(zeros_in_key=True))
    single, mean = np.std(shown[:, 0] - true), np.std(shown.mean(axis=1) - true)
    assert (np.abs(mean / single - 0.5)) < 0.05


D = 4
DECIMALS = 4
COUNTS = design_perturbation(max_noise=D, variance=2, forbidden=(1, 2))
MEANS_NOISE = MagnitudeNoise(
    table=design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=SimpleStrength(share=0.1),
)


@pytest.fixture(scope="module")
def rents() -> Table:
    """Rents to the euro; a tenth of a rent is no whole number of euros."""
    draw = np.random.default_rng(4711)
    count = draw.integers(3, 26, CELLS)
    values = np.round(draw.lognormal(6.5, 0.5, (CELLS, 25)))
    values[np.arange(25)[np.newaxis, :] >= count[:, np.newaxis]] = np.nan
    largest, total = np.nanmax(values, axis=1), np.nansum(values, axis=1)
    key = draw.integers(0, 10**15, CELLS)
    places = Classification.flat("place", [f"p{at:04d}" for at in range(CELLS)])
    made = Contributions(
        column="rent",
        top=largest[:, np.newaxis],
        count=count,
        nonzero=count,
        key=key,
        nonzero_key=key,
        total=total,
        plain=total,
        absolute=total,
        low=np.nanmin(values, axis=1),
        high=largest,
    )
    return Table(
        dimensions=(Dimension(classifications=(places,)),),
        index=(np.arange(1, CELLS + 1, dtype=np.int32),),
        count=count,
        cell_key=key,
        grid=KeyGrid(),
        contributions={"rent": made},
        parts=frozenset({(0,)}),
    )


def fitting(mean: np.ndarray, published: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Candidates for the true count, and which of them make a whole sum."""
    candidates = published[:, np.newaxis] + np.arange(-D, D + 1)[np.newaxis, :]
    total = mean[:, np.newaxis] * candidates
    rounding = 0.5 * 10.0**-DECIMALS * np.abs(candidates) + 1e-7
    fits = (np.abs(total - np.rint(total)) <= rounding) & (candidates > 0)
    return candidates, fits


def determined(mean: np.ndarray, published: np.ndarray, true: np.ndarray) -> float:
    """The share of cells whose count the attacker finds."""
    candidates, fits = fitting(mean, published)
    alone = fits.sum(axis=1) == 1
    return float((alone & (candidates[np.arange(len(true)), fits.argmax(axis=1)] == true)).mean())


def column(table: Table, **options: object) -> np.ndarray:
    made = perturb_magnitudes(
        table, MEANS_NOISE, "rent", ptable=COUNTS, decimals=DECIMALS, **options, p_percent=0
    )  # type: ignore[arg-type]
    return made.to_polars(complete=True)["value"].fill_null(0).to_numpy()


def published_counts(table: Table) -> np.ndarray:
    return perturb(contributors(table, "rent"), COUNTS).to_polars(complete=True)["value"].to_numpy()


def test_original_means_give_perturbed_counts_away(rents: Table):
    counts = published_counts(rents)
    original = np.round(rents.contributions["rent"].total / rents.count, DECIMALS)
    assert determined(original, counts, rents.count) > 0.6
    changed = counts != rents.count
    assert changed.mean() > 0.5
    assert determined(original[changed], counts[changed], rents.count[changed]) > 0.6


def test_original_sums_with_our_means_would_do_so_too(rents: Table):
    """Sums and means are of one noise: a true sum beside accurate means is a quotient away."""
    means = column(rents, publish="means", figure="mean")
    true = rents.contributions["rent"].total
    guess = np.rint(true / np.where(means == 0, np.inf, means))
    assert (guess == rents.count).mean() > 0.5


def test_sums_that_are_not_taken_to_the_grain_would_tell_where_they_have_no_noise(rents: Table):
    """Noise is 0 for a good part of the cell keys: their mean is the original one."""
    counts = published_counts(rents)
    fine = perturb_magnitudes(rents, MEANS_NOISE, "rent", grain=1e-9, p_percent=0)
    noisy = fine.to_polars(complete=True)["value"].to_numpy()
    naive = np.round(noisy / rents.count, DECIMALS)
    assert determined(naive, counts, rents.count) > 0.08


@pytest.mark.parametrize("publish", ["sums", "means"])
def test_published_means_determine_no_count(rents: Table, publish: str):
    """The published count fits always, so it is never alone against the true one."""
    counts = published_counts(rents)
    means = column(rents, publish=publish, figure="mean")
    changed = (counts != rents.count) & (counts > 0)
    assert determined(means[changed], counts[changed], rents.count[changed]) == 0
    candidates, fits = fitting(means[changed], counts[changed])
    assert fits[:, D].all()
    assert (candidates[:, D] == counts[changed]).all()


@pytest.mark.parametrize("publish", ["sums", "means"])
def test_among_those_that_fit_the_true_count_is_no_likelier(rents: Table, publish: str):
    """What fits tells no more than the perturbation table does: ±3 standard errors."""
    counts = published_counts(rents)
    means = column(rents, publish=publish, figure="mean")
    candidates, fits = fitting(means, counts)
    others = (candidates != counts[:, np.newaxis]) & (candidates > 0)
    true = candidates == rents.count[:, np.newaxis]
    among_true, among_false = fits[others & true], fits[others & ~true]
    error = np.sqrt(among_false.mean() / len(among_true)) + 1e-9
    assert abs(among_true.mean() - among_false.mean()) < 3 * error + 0.01


def test_both_options_together_tell_the_counts(rents: Table):
    """Why a column has one option for good: their quotient is perturbed / true count."""
    counts = published_counts(rents)
    sums, scaled = (column(rents, publish=one) for one in ("sums", "means"))
    shown = counts > 0
    guess = np.rint(counts[shown] * sums[shown] / scaled[shown])
    assert (guess == rents.count[shown]).mean() > 0.95


def test_sum_by_mean_tells_no_more_of_a_weighted_count_than_its_table(rents: Table):
    """All digits of a weighted count tell of how many records it is; the table rounds it."""
    weight = rents.count * np.random.default_rng(5).choice([1 / 3, 2 / 3, 5 / 7], CELLS)
    made = replace(rents.contributions["rent"], weight=weight)
    weighted = replace(rents, weight=weight, contributions={"rent": made})
    for digits, whole in ((None, False), (0, True)):
        sums, means = (
            column(weighted, figure=figure, count_decimals=digits) for figure in ("sum", "mean")
        )
        shown = means > 0
        number = sums[shown] / means[shown]
        assert bool((np.abs(number - np.rint(number)) < 1e-3).all()) == whole


RANGE_NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.2),
    of="range",
)


def firms() -> np.ndarray:
    """Two turnovers per cell, apart by up to one in a thousand."""
    draw = np.random.default_rng(23)
    first = np.round(draw.lognormal(11, 0.5, CELLS))
    return np.stack([first, np.round(first * draw.uniform(1, 1.001, CELLS))], axis=1)


def guessed(noise: dc.MagnitudeNoise, of_contributor: bool) -> float:
    """The share of cells in which the second turnover is guessed within 1 %."""
    turnovers = firms()
    records = pl.DataFrame(
        {
            "cell": np.repeat([f"c{at:04d}" for at in range(CELLS)], 2),
            "turnover": turnovers.reshape(-1),
            "record_key": np.random.default_rng(24).integers(0, 10**15, 2 * CELLS),
        }
    )
    table = dc.tabulate(
        records, ["cell"], record_key="record_key", values=["turnover"], contributions=1
    )
    made = dc.perturb_magnitudes(table, noise, "turnover", p_percent=0).to_polars()
    shown = made.filter(pl.col("cell") != "Total")["value"].to_numpy()
    guess = shown - turnovers[:, 0] if of_contributor else shown / 2
    return float((np.abs(guess / turnovers[:, 1] - 1) < 0.01).mean())


@pytest.mark.parametrize("of_contributor", [True, False], ids=["contributor", "reader"])
def test_nearly_equal_values_are_hidden(of_contributor: bool) -> None:
    """Only where the noise that is drawn is 0, as with the largest value in its place."""
    plain, top = RANGE_NOISE.with_options(range_floor=0), RANGE_NOISE.with_options(of="top")
    assert guessed(plain, of_contributor) > 0.98
    assert guessed(RANGE_NOISE, of_contributor) == pytest.approx(0.14, abs=0.02)
    assert guessed(top, of_contributor) == pytest.approx(0.14, abs=0.02)
