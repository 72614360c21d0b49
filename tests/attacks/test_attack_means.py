"""Attack: which numbers of records fit a published mean?

Values are whole numbers, so the mean of n records times n is a whole number too, give or
take the rounding of the mean. The attacker tries every true count that the published
count allows (±D) and keeps those that fit. A cell is determined if exactly one is left
and it is the true one. 3,000 cells of 3 to 25 records; fixed seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
from discreet.protection.noise import contributors
from discreet.tables import Contributions, Dimension

CELLS = 3_000
D = 4
DECIMALS = 4
COUNTS = design_perturbation(max_noise=D, variance=2, forbidden=(1, 2))
NOISE = MagnitudeNoise(
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
        table, NOISE, "rent", ptable=COUNTS, decimals=DECIMALS, **options, p_percent=0
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
    fine = perturb_magnitudes(rents, NOISE, "rent", grain=1e-9, p_percent=0)
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
