"""Sums and means of a value column as they are published."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import (
    KeyGrid,
    MagnitudeNoise,
    MagnitudePerturbationTable,
    PerturbationTable,
    SimpleStrength,
    Table,
    design_magnitude_perturbation,
    perturb,
    perturb_magnitudes,
)
from discreet.errors import PerturbationError
from discreet.protection.noise import contributors
from discreet.protection.noise.magnitude_cells import MagnitudeCells, perturbed
from discreet.tables import CellStatus, Contributions, ProtectedTable
from tests.helpers.noise_tables import magnitude_table, ptable, single_cells

TABLE = design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2)
SMALL = design_magnitude_perturbation(5, 1, classes=(1, 3, 5), step=5, kind="small")
NOISE = MagnitudeNoise(table=TABLE, strength=SimpleStrength(share=0.1), top=2, epsilon=(1, 0.5))


@pytest.fixture
def dwellings() -> pl.DataFrame:
    """Rents of 4,000 made-up dwellings in 40 places; every tenth has none."""
    draw = np.random.default_rng(20221)
    size = 4_000
    return pl.DataFrame(
        {
            "place": [f"p{at:02d}" for at in np.sort(draw.integers(0, 40, size))],
            "rent": np.round(draw.lognormal(6.5, 0.6, size)).astype(np.int64),
            "weight": draw.integers(1, 6, size),
            "record_key": draw.integers(0, 10**15, size),
        }
    ).with_columns(rent=pl.when(pl.int_range(pl.len()) % 10 > 0).then("rent"))


@pytest.fixture
def rents(dwellings: pl.DataFrame) -> Table:
    return magnitude_table(dwellings, ["place"], ["rent"], k=3)


def values(protected: ProtectedTable) -> np.ndarray:
    return protected.to_polars(complete=True)["value"].to_numpy()


# -- what is drawn ------------------------------------------------------------------


def test_drawn_noise_stays_as_it_is(rents: Table):
    """A golden value: whoever changes it changes every table published so far."""
    shared = NOISE.with_options(keys="shared")
    mean: dict[str, Any] = {"publish": "means", "figure": "mean"}
    sums = perturb_magnitudes(rents, shared, "rent", p_percent=0)
    means = perturb_magnitudes(rents, shared, "rent", ptable=ptable, **mean, p_percent=0)
    assert values(sums)[:6].tolist() == [2905794.0, 65453.0, 81312.0, 76168.0, 71944.0, 72825.0]
    assert values(means)[:6].tolist() == [807.16, 727.26, 789.44, 855.82, 866.79, 888.11]
    sums = perturb_magnitudes(rents, NOISE, "rent", p_percent=0)
    means = perturb_magnitudes(rents, NOISE, "rent", ptable=ptable, **mean, p_percent=0)
    assert values(sums)[:6].tolist() == [2906121.0, 66444.0, 81320.0, 75595.0, 73185.0, 71469.0]
    assert values(means)[:6].tolist() == [807.26, 738.27, 789.51, 849.39, 881.74, 871.57]


def test_same_records_get_the_same_noise_wherever_they_stand(dwellings: pl.DataFrame):
    shuffled = dwellings.sample(fraction=1, shuffle=True, seed=3)
    tables = [magnitude_table(one, ["place"], ["rent"], k=2) for one in (dwellings, shuffled)]
    first, second = (values(perturb_magnitudes(one, NOISE, "rent", p_percent=0)) for one in tables)
    assert first.tolist() == second.tolist()
    alone = dwellings.filter(pl.col("place") == "p07")
    one_place = magnitude_table(alone, ["place"], ["rent"], k=2)
    assert perturb_magnitudes(one_place, NOISE, "rent", p_percent=0).get("Total") == first[8]


# -- counts and sums agree ------------------------------------------------------------


@pytest.mark.parametrize(
    ("publish", "weight"), [("sums", None), ("means", None), ("means", "weight")]
)
def test_means_are_published_sums_by_published_counts(
    dwellings: pl.DataFrame, publish: Any, weight: str | None
):
    rents = magnitude_table(dwellings, ["place"], ["rent"], k=2, weight=weight)
    options = {"publish": publish, "ptable": ptable}
    sums = values(perturb_magnitudes(rents, NOISE, "rent", **options, p_percent=0))
    means = values(
        perturb_magnitudes(rents, NOISE, "rent", figure="mean", decimals=9, **options, p_percent=0)
    )
    counts = values(perturb(contributors(rents, "rent"), ptable))
    assert means == pytest.approx(sums / counts, rel=1e-9, abs=1e-8)


def test_accurate_means_are_perturbed_sums_by_true_counts(rents: Table):
    made = rents.contributions["rent"]
    noisy = values(perturb_magnitudes(rents, NOISE, "rent", p_percent=0))
    means = values(
        perturb_magnitudes(
            rents, NOISE, "rent", publish="means", figure="mean", ptable=ptable, p_percent=0
        )
    )
    counts = values(perturb(contributors(rents, "rent"), ptable))
    grains = 0.5 / made.count + 0.5 / counts + 0.005
    assert (np.abs(means - noisy / made.count) <= grains).all()


def test_nobody_counted_means_no_sum_and_no_mean():
    """Count 1 becomes 0: the sum is 0 as well, and there is no mean."""
    gone = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 1}, 2: {0: 1}})
    made = value_cells([[700.0], [700.0, 500.0]])
    for publish in ("sums", "means"):
        options: dict[str, Any] = {"publish": publish, "ptable": gone}
        sums = perturb_magnitudes(made, NOISE, "rent", **options, p_percent=0)
        means = perturb_magnitudes(made, NOISE, "rent", figure="mean", **options, p_percent=0)
        assert sums.get("c0") == 0
        assert means.get("c0") is None
        assert means.absent((np.array([1]),), 1)[0] == CellStatus.not_applicable
        assert means.get("c1") > 0


def test_cells_below_the_threshold_are_suppressed_with_their_counts(rents: Table):
    options: dict[str, Any] = {"ptable": ptable, "suppress_below": 95}
    sums = perturb_magnitudes(rents, NOISE, "rent", **options, p_percent=0).to_polars(complete=True)
    means = perturb_magnitudes(rents, NOISE, "rent", figure="mean", **options, p_percent=0)
    counts = perturb(contributors(rents, "rent"), ptable, suppress_below=95)
    hidden = (counts.to_polars(complete=True)["status"] == "suppressed").to_list()
    assert 0 < sum(hidden) < len(hidden)
    for made in (sums, means.to_polars(complete=True)):
        assert (made["status"] == "suppressed").to_list() == hidden
        assert made["value"].is_null().to_list() == hidden


# -- signs, zeros, weights ------------------------------------------------------------


def value_cells(contributions: list[list[float]], **more: Any) -> Table:
    """Cells c0, c1, … with these values, largest first; keys are made up."""
    count = [len(values) for values in contributions]
    key = [(at * 0.37 + 0.123456) % 1 for at in range(len(count))]
    table = single_cells(count, [f"{value:.6f}" for value in key])
    most = max(count)
    top = np.array([values + [np.nan] * (most - len(values)) for values in contributions])
    total = np.nansum(top, axis=1)
    has = np.array(count) > 0
    low = np.array([min(values) if values else np.nan for values in contributions])
    high = np.array([max(values) if values else np.nan for values in contributions])
    zeros = np.array([values.count(0) for values in contributions])
    made = Contributions(
        column="rent",
        top=top,
        count=table.count,
        nonzero=table.count - zeros,
        key=np.where(has, table.cell_key, 0),
        nonzero_key=np.where(has, table.cell_key, 0),
        total=total,
        plain=total,
        absolute=np.nansum(np.abs(top), axis=1),
        low=low,
        high=high,
    )
    return replace(table, contributions={"rent": replace(made, **more)})


def test_zeros_and_empty_cells_stay_zero():
    made = value_cells([[0.0, 0.0], [], [5.0, -5.0], [50.0]])
    protected = perturb_magnitudes(made, NOISE, "rent", p_percent=0)
    assert [protected.get(f"c{at}") for at in range(3)] == [0, 0, 0]
    assert protected.stored == 1


amounts = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 2))


@given(
    st.lists(amounts, min_size=1, max_size=4),
    st.integers(0, 10**15 - 1),
    st.booleans(),
    st.sampled_from([TABLE, MagnitudePerturbationTable.joined(TABLE, SMALL)]),
)
def test_noise_never_changes_a_sign(
    contributions: list[float], key: int, sensitive: bool, table: MagnitudePerturbationTable
):
    noise = NOISE.with_options(table=table, mu_c=4)
    ordered = sorted(contributions, key=abs, reverse=True)[:2]
    cells = MagnitudeCells(
        value=np.array([sum(contributions)]),
        contributions=np.array([ordered + [np.nan] * (2 - len(ordered))]),
        keys=[np.array([key]), np.array([key // 10])],
        odd=np.array([False]),
        sensitive=np.array([sensitive]),
    )
    value = perturbed(cells, noise, KeyGrid())
    mirrored = perturbed(
        replace(cells, value=-cells.value, contributions=-cells.contributions), noise, KeyGrid()
    )
    assert value[0] * cells.value[0] >= 0
    assert value[0] == -mirrored[0]


def test_a_record_counts_as_often_as_its_weight(dwellings: pl.DataFrame):
    """Weights of 3: sums and noise are three times as large."""
    threes = dwellings.with_columns(weight=pl.lit(3))
    plain = magnitude_table(dwellings, ["place"], ["rent"], k=2)
    weighted = magnitude_table(threes, ["place"], ["rent"], k=2, weight="weight")
    one, three = (
        perturb_magnitudes(made, NOISE, "rent", grain=1e-6, p_percent=0)
        for made in (plain, weighted)
    )
    assert values(three) == pytest.approx(3 * values(one), rel=1e-12)


def test_sensitive_cells_get_more_noise():
    made = value_cells([[1000.0] * 20] * 200)
    strong = NOISE.with_options(mu_c=2)
    unmarked = values(perturb_magnitudes(made, strong, "rent", p_percent=0))
    some = np.arange(len(made)) % 2 == 0
    half, every = (
        values(perturb_magnitudes(made, strong, "rent", sensitive=marked, p_percent=0))
        for marked in (some, some | True)
    )
    # Every noise of step 100 and 50 grows by 2 steps, in its own direction.
    assert (np.abs(every - unmarked) >= 2 * 100 - 2 * 50).all()
    assert (np.abs(every - unmarked) <= 2 * 100 + 2 * 50).all()
    assert ((half == every) != (half == unmarked)).all()
    assert (half == every).sum() == some.sum()


# -- as published -----------------------------------------------------------------------


def test_figure_says_what_it_is(rents: Table):
    made = perturb_magnitudes(
        rents,
        NOISE,
        "rent",
        figure="mean",
        ptable=ptable,
        titles={"en": "Rent"},
        unit={"en": "EUR"},
        p_percent=0,
    )
    (figure,) = made.figures
    assert (figure.name, figure.kind, figure.decimals) == ("rent", "mean", 2)
    assert (figure.title(), figure.unit_text(), made.decimals) == ("Rent", "EUR", 2)
    assert [note.kind for note in made.notes] == ["non-additivity"]
    assert set(made.provenance.digests) == {"magnitude_noise", "perturbation_table"}


@pytest.mark.parametrize(("grain", "digits"), [(1, 0), (0.01, 2), (100, 0), (0.25, 2)])
def test_sums_are_multiples_of_the_grain(rents: Table, grain: float, digits: int):
    made = perturb_magnitudes(rents, NOISE, "rent", grain=grain, p_percent=0)
    units = values(made) / grain
    assert units == pytest.approx(np.rint(units), abs=1e-6)
    assert made.decimals == digits


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"publish": "both"}, "publish"),
        ({"publish": "means"}, "ptable"),
        ({"figure": "mean"}, "ptable"),
        ({"figure": "median"}, "figure"),
        ({"suppress_below": 3}, "ptable"),
        ({"sensitive": [True]}, "sensitive"),
        ({"sensitive": "all"}, "sensitive"),
        ({"decimals": 1.5}, "decimals"),
        ({"decimals": -1}, "decimals"),
        ({"grain": 0}, "grain"),
        ({"grain": "1"}, "grain"),
        ({"found_codes": "some"}, "found-codes"),
        ({"ptable": TABLE}, "argument"),
        ({"noise": TABLE}, "argument"),
        ({"table": "rents"}, "argument"),
        ({"value": "income"}, "contributions"),
        ({"noise": NOISE.with_options(top=4, epsilon=(1, 0.5, 0.2, 0.1))}, "contributions"),
    ],
)
def test_bad_input_is_named(rents: Table, options: dict[str, Any], code: str):
    given = {"table": rents, "noise": NOISE, "value": "rent"} | options
    with pytest.raises(PerturbationError) as caught:
        perturb_magnitudes(**given, p_percent=0)
    assert caught.value.code == code


def test_everything_wrong_with_a_table_is_named_at_once(rents: Table):
    keyless = replace(rents, cell_key=None, grid=None)
    with pytest.raises(PerturbationError) as caught:
        perturb_magnitudes(
            keyless, NOISE, "income", publish="means", sensitive=np.array([True]), p_percent=0
        )
    assert len(caught.value.problems) == 4
