"""Averaging finds as many counts as least squares written apart, over releases of any shape."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.assessment.attacks import PublishedFigures, estimated
from tests.helpers.averaging_apart import (
    figures_of,
    people_of,
    random_release,
    share_apart,
    share_attacked,
    share_sparse,
)

#: Of three sizes, with small counts changed to zero and without, with official figures and without.
SEEDS = [range(2, 8), pytest.param(range(40), marks=pytest.mark.exhaustive)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_attacks_find_as_many_counts_as_dense_least_squares(seeds: range) -> None:
    """Within one point or above, in each release."""
    gains = []
    for seed in seeds:
        release = random_release(seed)
        published, apart = share_apart(figures_of(release))
        unchanged, attacked = share_attacked(release)
        assert unchanged == pytest.approx(published, abs=0.02)  # of whole layers, and of tables
        assert attacked >= apart - 0.01, f"release {seed}"
        gains.append(attacked - unchanged)
    assert np.mean(gains) > 0.05


def test_large_tables_are_averaged_as_well() -> None:
    """Some ten thousand cells, against a sparse solution to machine precision."""
    table = dc.tabulate(people_of(60_000), by=["area", "age", "work"], record_key="record_key")
    safe = dc.perturb(table, dc.design_perturbation(max_noise=4, variance=2.25))
    published, apart, cells = share_sparse(safe, table)
    assert cells > 5_000
    (system,) = PublishedFigures.of({"": [safe]}, {"": [table]}).systems.values()
    hits = [
        (np.rint(own.estimate) == own.layer.truth(own.layer.ids))[own.noisy]
        for own in estimated(system, 2.25, leverages=False).values()
    ]
    attacked = float(np.concatenate(hits).mean())
    assert attacked >= apart - 0.01
    assert attacked > published + 0.02


def test_figures_without_noise_win_over_those_with_noise() -> None:
    """What one table shows as it is, attackers take, whichever table comes first."""
    frame = people_of(2_000)
    noise = dc.design_perturbation(max_noise=4, variance=2.25)
    by = ["age", "work"]
    tables = [
        dc.perturb(dc.tabulate(frame, by=by, record_key="record_key"), noise, official=official)
        for official in ("", "work == 'Total'")
    ]
    for safe in (tables, tables[::-1]):
        (system,) = PublishedFigures.of({"": safe}).systems.values()
        layer = next(own for key, own in system.layers.items() if system.title(key) == "age")
        true = frame["age"].value_counts().sort("age")["count"].to_list()
        assert layer.official.all()
        assert layer.value.tolist() == true
