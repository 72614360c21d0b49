"""Ingredients of key figures: what is published, what is true, what noise was to be expected.

Simulations draw 20,000 cell keys per cell. The relative standard error of a standard
deviation is then about 1/√40,000 = 0.5 %, more for long tails; 3 % are allowed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import (
    KeyGrid,
    MagnitudeNoise,
    MagnitudePerturbationTable,
    PerturbationTable,
    SimpleStrength,
    Table,
    design_magnitude_perturbation,
    design_perturbation,
    perturb,
    perturb_magnitudes,
)
from discreet.errors import PerturbationError
from discreet.protection.noise import (
    contributors,
    count_ingredient,
    magnitude_ingredient,
    mean_ingredient,
)
from discreet.protection.noise.magnitude_cells import (
    MagnitudeCells,
    cells_of,
    magnitude_deviations,
    noise_keys,
    perturbed,
)
from tests.helpers.noise_tables import magnitude_table, single_cells

DRAWS = 20_000
GRID = KeyGrid()
TABLE = design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2)
SMALL = design_magnitude_perturbation(5, 1, classes=(1, 3, 5), step=5, kind="small")
COUNTS = design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
SIMPLE = SimpleStrength(share=0.1)


@pytest.fixture
def rents() -> Table:
    draw = np.random.default_rng(71)
    size = 600
    dwellings = pl.DataFrame(
        {
            "place": [f"p{at:02d}" for at in draw.integers(0, 30, size)],
            "rent": np.round(draw.lognormal(6.5, 0.6, size)).astype(np.int64),
            "weight": draw.integers(1, 4, size),
            "record_key": draw.integers(0, 10**15, size),
        }
    )
    return magnitude_table(dwellings, ["place"], ["rent"], k=2, weight="weight")


def drawn(cells: MagnitudeCells, noise: MagnitudeNoise, at: int, seed: int) -> np.ndarray:
    """The noise of one cell under many keys, each contribution with keys of its own."""
    draw = np.random.default_rng(seed)
    many = MagnitudeCells(
        value=np.repeat(cells.value[at], DRAWS),
        contributions=np.repeat(cells.contributions[at : at + 1], DRAWS, axis=0),
        keys=[draw.integers(0, GRID.size, DRAWS) for _ in cells.keys],
        odd=np.repeat(cells.odd[at], DRAWS),
        sensitive=np.repeat(cells.sensitive[at], DRAWS),
    )
    value = perturbed(many, noise, GRID)
    return value - cells.value[at]


@pytest.mark.parametrize("mu_c", [0.0, 2.0])
@pytest.mark.parametrize("table", [TABLE, MagnitudePerturbationTable.joined(TABLE, SMALL)])
def test_deviations_are_those_of_simulated_noise(table: MagnitudePerturbationTable, mu_c: float):
    """On rows, between them, beyond the last; small, marked and mixed cells."""
    rows = [
        ([1000.0, 800.0], 50_000.0),
        ([1000.0, 800.0], 5_000.0),
        ([1000.0, 300.0], 7_300.0),
        ([-1000.0, 400.0], -11_000.0),
        ([900.0, np.nan], 6_500.0),
        ([4.0, 3.0], 300.0),
    ]
    cells = MagnitudeCells(
        value=np.array([value for _, value in rows]),
        contributions=np.array([contributions for contributions, _ in rows]),
        keys=[np.zeros(len(rows), dtype=np.int64)] * 2,
        odd=np.zeros(len(rows), dtype=np.bool_),
        sensitive=np.arange(len(rows)) % 2 == 0,
    )
    noise = MagnitudeNoise(table=table, strength=SIMPLE, top=2, epsilon=(1, 0.5), mu_c=mu_c)
    expected = magnitude_deviations(cells, noise)
    for at in range(len(rows)):
        found = drawn(cells, noise, at, seed=at)
        assert expected[at] == pytest.approx(found.std(), rel=0.03)


def test_later_keys_are_nearly_independent():
    """Each key begins with the second digit of the one before: within 8 % for equal weights."""
    draw = np.random.default_rng(6)
    noise = MagnitudeNoise(table=TABLE, strength=SIMPLE, top=2, epsilon=(1, 1))
    cells = MagnitudeCells(
        value=np.full(DRAWS, 50_000.0),
        contributions=np.full((DRAWS, 2), 1000.0),
        keys=noise_keys(draw.integers(0, GRID.size, DRAWS), GRID, 2),
        odd=np.zeros(DRAWS, dtype=np.bool_),
        sensitive=np.zeros(DRAWS, dtype=np.bool_),
    )
    value = perturbed(cells, noise, GRID)
    assert magnitude_deviations(cells, noise)[0] == pytest.approx(value.std(), rel=0.08)


def test_counts_deviate_as_the_row_of_their_published_value_says():
    """The row of the original would tell by a bracket which row that is."""
    ptable = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {0: 1}, 2: {-1: 0.5, 1: 0.5}, 3: {-1: 0.125, 0: 0.75, 1: 0.125}}
    )
    table = single_cells([0, 1, 2, 3, 40], ["0.1", "0.1", "0.9", "0.5", "0.5"])
    made = count_ingredient(table, ptable)
    assert made.value.tolist() == [0, 1, 3, 3, 40]
    assert made.deviation.tolist() == [0, 0, 0.5, 0.5, 0.5]


def test_count_ingredients_are_what_perturb_publishes(rents: Table):
    plain = replace(rents, weight=None)
    for table, below in ((rents, None), (plain, None), (plain, 18)):
        made = count_ingredient(table, COUNTS, suppress_below=below)
        safe = perturb(table, COUNTS, suppress_below=below)
        assert made.protected.value.tolist() == safe.value.tolist()
        assert made.protected.status.tolist() == safe.status.tolist()
        assert made.value[~made.suppressed].tolist() == safe.value[safe.status != 2].tolist()
        assert not made.value[made.suppressed].any()
    weighted = count_ingredient(rents, COUNTS)
    unweighted = count_ingredient(plain, COUNTS)
    assert rents.weight is not None
    mean = rents.weight / rents.count
    assert weighted.deviation == pytest.approx(unweighted.deviation * mean)


def test_official_counts_have_no_noise(rents: Table):
    made = count_ingredient(rents, COUNTS, official=np.arange(len(rents)) == 0)
    assert made.deviation[0] == 0
    assert (made.deviation[1:] > 0).all()
    assert made.value[0] == made.original[0]


NOISE = MagnitudeNoise(table=TABLE, strength=SIMPLE, top=2, epsilon=(1, 0.5))


@pytest.mark.parametrize("publish", ["sums", "means"])
def test_ingredients_are_what_is_published(rents: Table, publish: Any):
    options: dict[str, Any] = {"publish": publish, "ptable": COUNTS}
    for make, figure in ((magnitude_ingredient, "sum"), (mean_ingredient, "mean")):
        made = make(rents, NOISE, "rent", **options)
        safe = perturb_magnitudes(rents, NOISE, "rent", figure=figure, **options, p_percent=0)
        assert made.protected.value.tolist() == safe.value.tolist()
        assert made.protected.figures == safe.figures
        assert np.round(made.value, safe.decimals).tolist() == safe.value.tolist()
    total, weight = rents.contributions["rent"].total, rents.contributions["rent"].weight
    assert weight is not None
    assert (
        magnitude_ingredient(rents, NOISE, "rent", **options, p_percent=0).original.tolist()
        == total.tolist()
    )
    assert mean_ingredient(rents, NOISE, "rent", **options, p_percent=0).original == pytest.approx(
        total / weight
    )


@pytest.mark.parametrize("publish", ["sums", "means"])
@pytest.mark.parametrize("figure", ["sum", "mean"])
def test_sums_and_means_deviate_as_simulated(rents: Table, publish: str, figure: str):
    """The figure that follows from the count carries its noise too (delta method, 4 %)."""
    make = magnitude_ingredient if figure == "sum" else mean_ingredient
    made = make(rents, NOISE, "rent", publish=publish, ptable=COUNTS)
    table = contributors(rents, "rent")
    assert table.weight is not None
    draw = np.random.default_rng(12)
    for at in (0, 3, 7):
        count = int(table.count[at])
        keys = draw.integers(0, GRID.size, DRAWS)
        counts = count + COUNTS.lookup(np.full(DRAWS, count), keys)
        cells = _cells(rents)
        sums = rents.contributions["rent"].total[at] + drawn(cells, NOISE, at, seed=at)
        if publish == "means":
            sums = sums * counts / count
        simulated = sums if figure == "sum" else sums / (counts * table.weight[at] / count)
        assert made.deviation[at] == pytest.approx(simulated.std(), rel=0.06)


def _cells(table: Table) -> MagnitudeCells:
    nothing = np.zeros(len(table), dtype=np.bool_)
    return cells_of(table.contributions["rent"], NOISE, GRID, nothing)


def test_whole_grids_keep_cells_and_noise_together(rents: Table):
    """A threshold makes the grid complete; each cell keeps its own figures."""
    gone = np.arange(len(rents)) % 3 == 1
    few = _some(rents, ~gone)
    made = magnitude_ingredient(few, NOISE, "rent", ptable=COUNTS, suppress_below=1, p_percent=0)
    every = magnitude_ingredient(rents, NOISE, "rent", ptable=COUNTS, p_percent=0)
    assert len(made) == len(rents)
    assert made.suppressed.tolist() == gone.tolist()
    for name in ("value", "original", "deviation"):
        whole, own = getattr(every, name), getattr(made, name)
        assert own[~gone].tolist() == whole[~gone].tolist()
        assert not own[gone].any()


def _some(table: Table, keep: np.ndarray) -> Table:
    made = table.contributions["rent"]
    fields = {
        name: None if part is None else part[keep]
        for name, part in vars(made).items()
        if name != "column"
    }
    assert table.cell_key is not None
    assert table.weight is not None
    return replace(
        table,
        index=tuple(part[keep] for part in table.index),
        count=table.count[keep],
        cell_key=table.cell_key[keep],
        weight=table.weight[keep],
        contributions={"rent": replace(made, **fields)},
    )


def test_means_without_counts_are_refused(rents: Table):
    with pytest.raises(PerturbationError, match="means need the perturbed number"):
        mean_ingredient(rents, NOISE, "rent", p_percent=0)


@pytest.mark.parametrize("make", [magnitude_ingredient, mean_ingredient])
def test_ingredients_keep_all_their_codes(rents: Table, make: Callable[..., object]):
    with pytest.raises(PerturbationError, match="an ingredient must keep all codes"):
        make(rents, NOISE, "rent", ptable=COUNTS, found_codes="hide")
    with pytest.raises(PerturbationError, match="an ingredient must keep all codes"):
        count_ingredient(rents, COUNTS, found_codes="hide")


def test_nothing_is_shown(rents: Table):
    made = magnitude_ingredient(rents, NOISE, "rent", p_percent=0)
    assert repr(made) == "<Ingredient table (confidential): 31 cells>"
