"""Sums under the cell-key method against a published implementation, step by step.

The reference traces every step of each cell: contributions, units of noise, the place in
the perturbation table, the noise found there, what is added. Where it errs it is followed
only as far as its own trace goes: from the contributions it really used.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import Classification, MagnitudeNoise, SimpleStrength, Table
from discreet.protection.noise.magnitude_cells import (
    MagnitudeCells,
    cells_of,
    kinds_of,
    perturbed,
    units_of_noise,
)
from tests.helpers.magnitude_cases import (
    GRID,
    NEAR,
    cases_of,
    compare,
    listed_cases,
    noise_of,
    reference_epsilon,
    table_of,
    traced_cells,
)
from tests.helpers.noise_tables import magnitude_table

# -- from the contributions the reference used ------------------------


def test_the_values_of_every_case_agree(reference: Path):
    folder = reference / "cellkey"
    cells = 0
    for case in cases_of(folder):
        noise, given = noise_of(folder, case), traced_cells(case)
        units = units_of_noise(given, noise, reference_epsilon(noise, given.contributions))
        value = perturbed(given, noise, GRID, units)

        assert noise.separation == pytest.approx(case.parameters["zs"], abs=1e-9)
        used, there = ~np.isnan(given.contributions), given.value != 0
        traced = np.abs(case.rows("x_delta"))
        both = used & there[:, np.newaxis]
        assert np.allclose(units[both], traced[both], **NEAR), case.name
        names = {"small": "small_cells"}
        for kind, which in kinds_of(given, noise):
            assert set(case.one("lookup_out")[which & there]) <= {names.get(kind, kind)}
        assert np.allclose(value, case.one("cv_pert"), **NEAR), case.name
        cells += len(value)
    assert (len(cases_of(folder)), cells) == (140, 23_649)


def test_cases_without_results_are_those_the_package_refuses(reference: Path):
    """Constant shares of several contributions: an error there, nothing special here."""
    folder = reference / "cellkey"
    refused = [case for case in listed_cases(folder) if not case.get("ok")]
    assert len(refused) == 15
    assert len(refused) + len(cases_of(folder)) == 155
    table = table_of(folder, "A_all")
    for case in refused:
        assert "ck_simpleparams" in case["call"]
        weights = re.search(r"epsilon = c\(([^)]*)\)", case["call"])
        assert weights is not None
        epsilon = [float(part) for part in weights[1].split(",")]
        assert len(epsilon) > 1
        made = MagnitudeNoise(
            table=table, strength=SimpleStrength(share=0.1), top=len(epsilon), epsilon=epsilon
        )
        cells = MagnitudeCells(
            value=np.array([100.0]),
            contributions=np.full((1, len(epsilon)), 10.0),
            keys=[np.array([1])] * len(epsilon),
            odd=np.array([False]),
            sensitive=np.array([False]),
        )
        assert units_of_noise(cells, made)[0] == pytest.approx(np.array(epsilon))


# -- from the records -------------------------------------------------------------


@pytest.fixture
def records_of(reference: Path) -> Callable[[str], Table]:
    """The tables of the cases, made from the records."""
    folder = reference / "cellkey"
    spanned = {"B1": ("sex", "age"), "B3": ("a1", "sexc", "wat")}
    values = {"B1": ("savings", "income", "mixed"), "B3": ("sav", "inc", "mix")}

    def make(kind: str) -> Table:
        records = pl.read_csv(folder / f"{kind}_microdata.csv.gz", infer_schema=False)
        numbers = [pl.col(name).cast(pl.Int64) for name in (*values[kind], "sampling_weight")]
        key = pl.col("rkey").cast(pl.Float64) * 1e15
        records = records.with_columns(
            *numbers, record_key=(key / 1e7).round(0).cast(pl.Int64) * 10**7
        )
        by = [
            Classification.read(folder / f"{kind}_hier_{name}.csv.gz", name=name)
            for name in spanned[kind]
        ]
        return magnitude_table(records, by, values[kind], k=6, weight="sampling_weight")

    return make


@pytest.mark.parametrize(
    ("kind", "compared", "left_out"),
    [("B1", 2608, 143), pytest.param("B3", 7239, 2031, marks=pytest.mark.exhaustive)],
)
def test_sums_from_the_records_agree(
    reference: Path,
    records_of: Callable[[str], Table],
    kind: str,
    compared: int,
    left_out: int,
):
    """Wherever the reference has used all contributions with all their weights."""
    folder, table = reference / "cellkey", records_of(kind)
    same_with_own_keys = cells = 0
    for case in cases_of(folder):
        if not case.name.startswith(kind):
            continue
        found, noise = compare(folder, table, case), noise_of(folder, case)
        theirs = case.one("cv_pert")[found.trace]
        ours = perturbed(found.float_keys, noise, GRID)
        at = found.comparable
        assert np.allclose(ours[at], theirs[at], **NEAR), case.name
        published = case.order[f"pws_{case.column}"].cast(pl.Float64).to_numpy()[found.trace]
        assert np.allclose(published, theirs, **NEAR), case.name
        cells += int(at.sum())
        left_out -= int((~at).sum())
        own = perturbed(found.cells, noise, GRID)
        same_with_own_keys += int(np.isclose(own[at], theirs[at], **NEAR).sum())
    assert (cells, left_out) == (compared, 0)
    assert same_with_own_keys / cells > 0.9


@pytest.mark.exhaustive
def test_exact_cell_keys_are_those_of_the_reference_without_its_rounding_errors(
    reference: Path, records_of: Callable[[str], Table]
):
    folder, compared = reference / "cellkey", 0
    for kind in ("B1", "B3"):
        table = records_of(kind)
        for case in cases_of(folder):
            if not case.name.startswith(kind):
                continue
            found, made = compare(folder, table, case), table.contributions[case.column]
            for column, exact in ((f"ck_{case.column}", made.key), ("nz", made.nonzero_key)):
                name = f"ck_nz_{case.column}" if column == "nz" else column
                assert exact is not None
                keys = case.order[name].cast(pl.Float64).to_numpy()[found.trace]
                away = np.abs(exact[found.place] / 1e15 - keys)
                assert np.minimum(away, 1 - away).max() < 1e-9
                compared += len(keys)
    assert compared == 24_042


# -- where the package errs ---------------------------------------------------------


def test_a_range_or_mean_measures_values_and_not_their_weights(
    reference: Path, records_of: Callable[[str], Table]
):
    """As in the reference; weights are only in the largest contributions and the sum."""
    table = records_of("B1")
    made = table.contributions["savings"]
    heavy = replace(
        made, weight=None if made.weight is None else made.weight * 3, total=made.total * 3
    )
    nothing = np.zeros(len(table), bool)
    for of in ("mean", "range"):
        noise = MagnitudeNoise(
            table=table_of(reference / "cellkey", "A_all"),
            strength=SimpleStrength(share=0.1),
            of=of,
        )
        light_cells, heavy_cells = (cells_of(one, noise, GRID, nothing) for one in (made, heavy))
        assert np.allclose(light_cells.contributions, heavy_cells.contributions, **NEAR)
