"""Ready-made tables keep what their names promise; staying is mixed in by the cell key."""

from pathlib import Path

import numpy as np
import pytest

from discreet import PerturbationTable, design_perturbation
from discreet.errors import PerturbationError
from discreet.protection.noise.design import PRESETS, preset, with_stay
from tests.helpers.rows import for_all_rows


@for_all_rows("name", PRESETS)
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
    moments = table.parameters()
    assert max(abs(row["mean"]) for row in moments) < 1e-9 or name.startswith("published")


def test_the_published_preset_is_the_published_matrix(reference: Path) -> None:
    path = reference / "seminar" / "cumulative_matrix.csv"
    assert preset("published-never-1-or-2-within-4-half-unchanged") == PerturbationTable.read(path)


def test_an_unknown_preset_is_refused_with_a_list() -> None:
    with pytest.raises(PerturbationError, match="within-5"):
        preset("within 7")


def test_the_mean_stays_exactly_zero() -> None:
    mixed = design_perturbation(4, 2).with_stay(1 / 3).content
    for row in range(mixed.n_max + 1):
        at = mixed.row_of == row
        pairs = zip(mixed.noise[at].tolist(), mixed.widths[at].tolist(), strict=True)
        assert sum(noise * width for noise, width in pairs) == 0


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
