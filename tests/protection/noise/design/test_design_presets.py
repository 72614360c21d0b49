"""Ready-made tables keep what their names promise; staying is mixed in by the cell key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet import PerturbationTable, design_perturbation
from discreet.errors import PerturbationError
from discreet.protection.noise.design import PRESETS, preset, with_stay

SCALE = 10**15


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_keeps_its_promises(name: str) -> None:
    table = preset(name)
    shares = table.transition_matrix()
    within = int(name.partition("within-")[2][0])
    assert table.max_noise <= within
    never = [1, 2] if "never-1-or-2" in name else [1] if "never-1" in name else []
    assert shares[:, never].sum() == 0
    if "half-unchanged" in name:
        first = 3 if never else 1
        rows = range(first, table.n_max + 1)
        assert [shares[row, row] for row in rows] == pytest.approx([0.5] * len(rows))
    assert PRESETS[name].__doc__
    moments = table.parameters()
    assert max(abs(row["mean"]) for row in moments) < 1e-9 or name.startswith("published")


def test_the_published_preset_is_the_published_matrix(reference: Path) -> None:
    path = reference / "seminar" / "cumulative_matrix.csv"
    assert preset("published-never-1-or-2-within-4-half-unchanged") == PerturbationTable.read(path)


def test_an_unknown_preset_is_refused_with_a_list() -> None:
    with pytest.raises(PerturbationError, match="within-5"):
        preset("within 7")


def test_mixing_adds_to_staying_and_takes_from_all_else_in_proportion() -> None:
    table = design_perturbation(4, 2)
    mixed = table.with_stay(0.45)
    before, after = table.transition_matrix(), mixed.transition_matrix()
    expected = 0.55 * before
    rows = np.arange(table.n_max + 1)
    expected[rows, rows] += 0.45
    assert abs(after - expected).max() < 2e-15


def test_the_mean_stays_exactly_zero() -> None:
    mixed = design_perturbation(4, 2).with_stay(1 / 3).content
    for row in range(mixed.n_max + 1):
        at = mixed.row_of == row
        pairs = zip(mixed.noise[at].tolist(), mixed.widths[at].tolist(), strict=True)
        assert sum(noise * width for noise, width in pairs) == 0


def test_the_same_cell_stays_every_time() -> None:
    mixed = design_perturbation(4, 2).with_stay(0.5)
    keys = np.random.default_rng(3).integers(0, SCALE, 1000)
    counts = np.full(1000, 6)
    assert np.array_equal(mixed.lookup(counts, keys), mixed.lookup(counts, keys))


def test_certain_staying_leaves_every_count_alone_and_none_changes_nothing() -> None:
    table = preset("never-1-or-2-within-5")
    assert np.array_equal(np.diag(table.with_stay(1).transition_matrix()), np.ones(9))
    assert table.with_stay(0) == table


def test_rows_of_figures_never_published_can_be_left_out() -> None:
    table = preset("never-1-or-2-within-5")
    kept = with_stay(table, 0.3, rows=range(3, 9)).transition_matrix()
    assert kept[:, 1:3].sum() == 0
    mixed = with_stay(table, 0.3).transition_matrix()
    assert mixed[1, 1] == pytest.approx(0.3)


@pytest.mark.parametrize("p0", [-0.1, 1.5, "half", True, float("nan")])
def test_what_is_no_probability_is_refused(p0: float) -> None:
    with pytest.raises(PerturbationError, match="between 0 and 1"):
        design_perturbation(2, 1).with_stay(p0)


def test_rows_that_are_not_there_are_refused() -> None:
    with pytest.raises(PerturbationError, match="the table has no row 9"):
        design_perturbation(2, 1).with_stay(0.5, rows=(1, 9))


def test_intervals_closed_on_the_right_are_converted_first() -> None:
    table = design_perturbation(2, 1)
    with pytest.raises(PerturbationError, match="closed on the right"):
        table.with_closed("right").with_stay(0.5)
