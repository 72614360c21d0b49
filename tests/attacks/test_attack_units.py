"""Attack: a region's persons less its households, when both are published with noise.

The attacker subtracts two published numbers and takes the difference for the true one. Where
households have the sums of the keys of their persons, a region's persons and its households
have one cell key; above the last row of the perturbation table both get the same noise, which
goes out of the difference. Keys derived for the kind of unit leave the attacker with two
independent noises, which agree only by chance. 400 regions and their total; fixed seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc

REGIONS = 400
PTABLE = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


@pytest.fixture(scope="module")
def persons() -> pl.DataFrame:
    draw = np.random.default_rng(16)
    region = np.repeat(np.arange(REGIONS), draw.integers(30, 80, REGIONS))
    size = draw.integers(1, 6, len(region))
    frame = pl.DataFrame(
        {
            "person": np.arange(size.sum()),
            "household": np.repeat(np.arange(len(region)), size),
            "region": np.repeat(region, size),
        }
    )
    return dc.with_record_keys(frame, id="person", secret="the secret of this attack")


def attacked(persons: pl.DataFrame, by: str = "region", **how: Any) -> tuple[int, int, int]:
    """Cells, those whose true difference is found, and those found in spite of noise."""
    households = dc.inherit_record_keys(persons, by="household", keep=["region"], **how)
    tables = [dc.tabulate(each, [by], record_key="record_key") for each in (persons, households)]
    true = [table.to_polars()["count"].to_numpy() for table in tables]
    safe = [dc.perturb(table, PTABLE).to_polars()["value"].to_numpy() for table in tables]
    assert min(true[1]) > PTABLE.n_max
    found = safe[0] - safe[1] == true[0] - true[1]
    return len(found), int(found.sum()), int((found & (safe[0] != true[0])).sum())


@pytest.mark.parametrize("how", [{}, {"inheritance": "plain"}])
def test_plain_sums_of_keys_give_every_difference_away(
    persons: pl.DataFrame, how: dict[str, Any]
) -> None:
    cells, found, noisy = attacked(persons, **how)
    assert (cells, found) == (401, 401)
    assert noisy == 308


def test_keys_of_their_own_leave_two_independent_noises(persons: pl.DataFrame) -> None:
    cells, found, _ = attacked(persons, unit="household")
    agree = float((PTABLE.transition_matrix()[-1] ** 2).sum())
    assert agree < 0.2
    # Three standard errors either way: neither more often than by chance, nor less.
    assert abs(found - agree * cells) < 3 * np.sqrt(cells * agree * (1 - agree))


def test_the_noise_of_units_and_parts_is_not_correlated(persons: pl.DataFrame) -> None:
    """Nor has it to do with that of another kind of unit made of the same persons."""
    noise = []
    frames = [persons] + [
        dc.inherit_record_keys(persons, by="household", keep=["region"], unit=unit)
        for unit in ("household", "family")
    ]
    for frame in frames:
        table = dc.tabulate(frame, ["region"], record_key="record_key")
        true = table.to_polars()["count"].to_numpy()
        noise.append(dc.perturb(table, PTABLE).to_polars()["value"].to_numpy() - true)
    correlation = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 4 / np.sqrt(REGIONS)


def test_one_person_households_do_not_show_their_persons_key(persons: pl.DataFrame) -> None:
    """With plain sums they do, on purpose: the same cell then has the same noise."""
    single = persons.filter(pl.len().over("household") == 1)
    for how, same in (({"inheritance": "plain"}, True), ({"unit": "household"}, False)):
        homes = dc.inherit_record_keys(single, by="household", keep=["region"], **how)
        cells = [
            dc.perturb(dc.tabulate(each, ["region"], record_key="record_key"), PTABLE)
            for each in (single, homes)
        ]
        values = [each.to_polars()["value"].to_list() for each in cells]
        assert (values[0] == values[1]) == same
