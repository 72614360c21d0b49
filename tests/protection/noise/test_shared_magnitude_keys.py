"""Errors of means, sums and ratios whose noises have the same key, against drawn noise.

One cell of 48 dwellings under 5,000 cell keys. The standard error of a standard deviation is
then about 1 %. 4 % are allowed; what independent noise would have is 25 % off or more.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import MagnitudeNoise, Table
from discreet.derived import KeyFigure, derive
from discreet.protection.noise import (
    Ingredient,
    count_ingredient,
    magnitude_ingredient,
    mean_ingredient,
)
from discreet.tables.ingredient import correlation

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DisclosureWarning")

DRAWS = 5_000
RENTS = [900, 700, 650, 600, 580, 500, 470, 450, 430, 410, 400, 350] * 4
COUNTS = dc.design_perturbation(max_noise=4, variance=2, forbidden=(1, 2))
SHARED: dict[str, Any] = {"keys": "shared", "same_key": True, "zeros_in_key": True}


def noise(**how: Any) -> MagnitudeNoise:
    return MagnitudeNoise(
        dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
        strength=dc.SimpleStrength(share=0.3),
        **how,
    )


@pytest.fixture(scope="module")
def table() -> Table:
    """5,000 cells of the same dwellings, but for their keys."""
    draw = np.random.default_rng(11)
    homes = pl.DataFrame(
        {
            "place": np.repeat(np.arange(DRAWS), len(RENTS)),
            "rent": np.tile(RENTS, DRAWS),
            "area": np.tile([rent // 10 + 20 for rent in RENTS], DRAWS),
            "record_key": draw.integers(0, 10**15, DRAWS * len(RENTS)),
        }
    )
    return dc.tabulate(
        homes, ["place"], record_key="record_key", values=["rent", "area"], contributions=1
    )


def spread(made: Ingredient) -> tuple[float, float]:
    """The stated deviation, as a mean over cells, and the true one; the total is left out."""
    which = np.flatnonzero(made.index[0] > 0)
    stated = float(np.sqrt(np.mean(made.deviation[which] ** 2)))
    return stated, float(np.std(made.value[which] - made.original[which]))


@pytest.mark.parametrize("how", [{}, SHARED])
@pytest.mark.parametrize("publish", ["sums", "means"])
def test_stated_deviations_are_those_of_drawn_noise(
    table: Table, publish: Any, how: dict[str, Any]
) -> None:
    for make in (magnitude_ingredient, mean_ingredient):
        made = make(table, noise(**how), "rent", publish=publish, ptable=COUNTS)
        stated, true = spread(made)
        assert stated == pytest.approx(true, rel=0.04)


def errors(part: Ingredient, whole: Ingredient, limit: float, *, shared: bool) -> float:
    """The share of cells whose ratio is bracketed at a limit."""
    figure = KeyFigure(name="f", kind="ratio", part="p", whole="w", shared_key=shared)
    made = derive({"p": part, "w": whole}, [figure], bracket_above=limit).to_polars()
    return float((made["status"] == "bracketed").mean())


def test_ratios_of_two_columns_with_one_key(table: Table) -> None:
    """Rent per square metre: nearly all of the noise goes out of it."""
    made = [
        magnitude_ingredient(table, noise(**SHARED), name, p_percent=0) for name in ("rent", "area")
    ]
    quotient = made[0].value[1:] / made[1].value[1:]
    true = float(np.std(quotient) / np.mean(quotient))
    assert errors(*made, 1.3 * true, shared=True) < 0.02
    assert errors(*made, 0.7 * true, shared=True) > 0.98
    assert errors(*made, 3 * true, shared=False) > 0.98


def test_columns_with_keys_of_their_own_are_independent(table: Table) -> None:
    made = [magnitude_ingredient(table, noise(), name, p_percent=0) for name in ("rent", "area")]
    at = np.arange(1, 50)
    together = correlation(made[0].draws, made[1].draws, (at, at))
    assert together.tolist() == [0.0] * 49
    quotient = made[0].value[1:] / made[1].value[1:]
    true = float(np.std(quotient) / np.mean(quotient))
    assert errors(*made, 1.15 * true, shared=False) < 0.02
    assert errors(*made, 0.8 * true, shared=False) > 0.98


def test_sums_and_counts_with_one_key(table: Table) -> None:
    rents = magnitude_ingredient(table, noise(**SHARED), "rent", p_percent=0)
    homes = count_ingredient(replace(table), COUNTS)
    quotient = rents.value[1:] / homes.value[1:]
    true = float(np.std(quotient) / np.mean(quotient))
    assert errors(rents, homes, 1.5 * true, shared=True) < 0.2
    assert errors(rents, homes, 1.5 * true, shared=False) > 0.8


def test_values_of_zero_make_other_keys() -> None:
    """Without them in the key, the count of the values and the sum have different ones."""
    homes = pl.DataFrame(
        {
            "place": ["a"] * 9 + ["b"] * 9,
            "rent": [0, 0, 0, *[500] * 15],
            "record_key": np.random.default_rng(2).integers(0, 10**15, 18),
        }
    )
    made = dc.tabulate(homes, ["place"], record_key="record_key", values=["rent"], contributions=1)
    how = {**SHARED, "zeros_in_key": False}
    mean = mean_ingredient(made, noise(**how), "rent", ptable=COUNTS, p_percent=0)
    assert len(mean.draws) == 2
    rents, count = (
        magnitude_ingredient(made, noise(**how), "rent", p_percent=0),
        count_ingredient(made, COUNTS),
    )
    with pytest.raises(dc.errors.TableError, match="same cell keys"):
        errors(rents, count, 0.1, shared=True)
