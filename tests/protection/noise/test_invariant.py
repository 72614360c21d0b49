"""Invariant perturbation: the worked matrix, frequencies that stay, and what contradicts them."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DisclosureWarning, PerturbationError
from discreet.protection.noise import invariant_risk, invariant_table
from tests.helpers.command import run
from tests.helpers.rows import for_all_rows

M = 10**15
#: The example worked by hand: frequencies of 1, 2, 3, 4, and the matrix for them.
FREQUENCIES = (40, 30, 20, 10)
P = ((0.6, 0.2, 0.1, 0.1), (0.2, 0.6, 0.1, 0.1), (0.1, 0.1, 0.7, 0.1), (0.1, 0.1, 0.1, 0.7))
R = (
    (0.5347, 0.2656, 0.1263, 0.0734),
    (0.3542, 0.4412, 0.1296, 0.0750),
    (0.2526, 0.1945, 0.4709, 0.0820),
    (0.2935, 0.2251, 0.1641, 0.3173),
)
#: As a lecture prints it: rows 1 … 7, never to 1 or 2; rounded, and cut off at 10.
PRINTED = {
    1: (0.667, 0.333), 2: (0.333, 0.667),
    3: (0.119, 0.700, 0.082, 0.050, 0.028, 0.014, 0.007),
    4: (0.062, 0.076, 0.704, 0.075, 0.037, 0.020, 0.014, 0.012),
    5: (0.025, 0.068, 0.068, 0.700, 0.059, 0.027, 0.019, 0.018, 0.017),
    6: (0, 0.057, 0.057, 0.057, 0.700, 0.041, 0.023, 0.021, 0.021),
    7: (0, 0.025, 0.035, 0.035, 0.062, 0.700, 0.060, 0.028, 0.020),
}  # fmt: skip


def table_of(counts: list[int], seed: int = 1, **columns: list[float]) -> dc.Table:
    keys = np.random.default_rng(seed).integers(0, M, len(counts))
    codes = [f"{at:05}" for at in range(len(counts))]
    frame = pl.DataFrame({"place": codes, "n": counts, "key": keys, **columns})
    weight = next(iter(columns), None)
    return dc.Table.from_cells(frame, by=["place"], count="n", cell_key="key", weight=weight)


def worked(times: int = 1) -> dc.Table:
    frequent = [n for n, times_n in enumerate(FREQUENCIES, 1) for _ in range(times_n * times)]
    return table_of(frequent)


def test_the_worked_matrix_to_four_digits() -> None:
    found = invariant_table(worked(), P).transition_matrix()[1:5, 1:5]
    assert found.round(4) == pytest.approx(np.array(R), abs=1e-12)
    assert np.array(FREQUENCIES) @ found == pytest.approx(FREQUENCIES, abs=1e-9)


def test_a_share_of_it_stays() -> None:
    whole = invariant_table(worked(), P).transition_matrix()[1:5, 1:5]
    half = invariant_table(worked(), P, alpha=0.5).transition_matrix()[1:5, 1:5]
    assert half == pytest.approx(0.5 * whole + 0.5 * np.eye(4), abs=1e-12)


def test_bias_is_reported_for_each_count() -> None:
    means = [row["mean"] for row in invariant_table(worked(), P).parameters()[1:5]]
    expected = np.array(R) @ np.arange(1, 5) - np.arange(1, 5)
    assert means == pytest.approx(expected.tolist(), abs=5e-4)


def test_drawn_frequencies_are_near_those_expected() -> None:
    safe = dc.perturb_invariant(worked(times=200), P)
    drawn = np.bincount(safe.value, minlength=5)[1:5]
    assert np.abs(drawn - 200 * np.array(FREQUENCIES)).max() < 4 * np.sqrt(200 * 40)
    assert safe.stored == 200 * 100
    assert [note.kind for note in safe.notes] == ["non-additivity", "invariant"]
    assert safe.provenance.method == "invariant perturbation"


@given(
    st.lists(st.integers(0, 14), min_size=1, max_size=60),
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3),
)
@pytest.mark.filterwarnings("ignore::discreet.errors.DisclosureWarning")
def test_frequencies_stay_and_counts_move_within_their_block(
    counts: list[int], parts: list[list[int]]
) -> None:
    matrix = [[Fraction(value, sum(row)) for value in row] for row in parts]
    table = table_of(counts)
    ptable = invariant_table(table, matrix)
    found = ptable.transition_matrix()
    found = np.pad(found, ((0, 0), (0, 7 - found.shape[1])))
    occupied = np.array([n for n in counts if n], dtype=np.int64)
    small = np.bincount(occupied[occupied <= 3], minlength=4)[1:]
    assert small @ found[1:4, 1:4] == pytest.approx(small, abs=1e-9)
    large = np.bincount((occupied[occupied > 3] - 1) % 3, minlength=3)
    assert large @ found[4:7, 4:7] == pytest.approx(large, abs=1e-9)
    safe = dc.perturb_invariant(table, matrix)
    before = {(int(n) - 1) // 3 for n in occupied}
    assert {(int(n) - 1) // 3 for n in safe.value} == before  # zeros stay, none appears
    assert safe.stored == len(occupied)


def test_order_does_not_matter() -> None:
    cells = worked().to_polars()
    take = {"by": ["place"], "count": "count", "cell_key": "cell_key"}
    one, other = (
        dc.perturb_invariant(dc.Table.from_cells(frame, **take), P).to_polars()
        for frame in (cells, cells.sample(fraction=1, shuffle=True, seed=3))
    )
    assert one.equals(other)


def test_tables_of_a_programme_agree() -> None:
    first, second = worked(), table_of([1] * 90 + [4] * 60)
    matrix = dc.perturb_invariant
    alone, together = matrix(first, P), matrix(first, P, programme=[first, second])
    assert (alone.value != together.value).any()
    shared = invariant_table([first, second], P)
    assert together.to_polars().equals(dc.perturb(first, shared).to_polars())
    with pytest.raises(PerturbationError, match="the programme lacks a perturbation table"):
        matrix(first, P, programme=[second])


def test_forbidden_counts_contradict_invariance() -> None:
    with pytest.raises(
        PerturbationError, match="its frequency is not zero and must be kept"
    ) as told:
        dc.perturb_invariant(worked(), P, forbidden=[1, 2])
    assert len(told.value.problems) == 2
    never_one = ((0, 0.5, 0.5), (0, 0.8, 0.2), (0, 0.2, 0.8))
    with pytest.raises(PerturbationError, match="count 1 is never a result of the matrix, but"):
        dc.perturb_invariant(table_of([1, 2, 3]), never_one)
    safe = dc.perturb_invariant(table_of([2, 3] * 50), never_one, forbidden=[1])
    assert 1 not in safe.value
    assert {2, 3} == set(safe.value.tolist())
    with pytest.raises(PerturbationError, match="the matrix leads to it"):
        dc.perturb_invariant(table_of([2, 3] * 50), [[0.5, 0.5, 0]] * 3, forbidden=[1])


def test_what_is_printed_rounded_is_scaled_on_request_only() -> None:
    targets = (0, *range(3, 11))
    rows = [(1, *[0] * 8), *((*row, *[0] * (9 - len(row))) for row in PRINTED.values())]
    with pytest.raises(PerturbationError, match="do not sum to one") as told:
        dc.PerturbationTable.from_transition(rows, targets)
    assert "normalise=True" in told.value.problems[0].hint
    ptable = dc.PerturbationTable.from_transition(rows, targets, normalise=True)
    matrix = ptable.transition_matrix()
    assert matrix[7, 7] == pytest.approx(0.7 / 0.965, abs=1e-9)
    assert not matrix[1:, 1:3].any()
    cut = [[0.7, 0.2], [0.3, 0.6]]
    with pytest.raises(PerturbationError, match="do not sum to one"):
        dc.perturb_invariant(worked(), cut)
    scaled = invariant_table(worked(), cut, normalise=True)
    exact = invariant_table(worked(), [[Fraction(7, 9), Fraction(2, 9)], [1 / 3, 2 / 3]])
    assert scaled.transition_matrix() == pytest.approx(exact.transition_matrix(), abs=1e-9)
    with pytest.raises(PerturbationError, match="do not sum to one"):
        dc.perturb_invariant(worked(), [[0.5, 0.2], [0.3, 0.6]], normalise=True)


def test_a_value_without_another_to_be_exchanged_with_is_told() -> None:
    with pytest.warns(DisclosureWarning, match="leaves some counts unchanged"):
        dc.perturb_invariant(table_of([2, 2, 2]), [[0.5, 0.5], [0.5, 0.5]])


@for_all_rows(
    ("matrix", "options", "message"),
    [
        ([[1, 0]], {}, "square"),
        ([[0.5, 0.5]] * 3, {}, "square"),
        ([[0.5, "x"], [0.5, 0.5]], {}, "not numbers"),
        ([[1.5, -0.5], [0.5, 0.5]], {}, "negative"),
        ([[0, 0], [0.5, 0.5]], {"normalise": True}, "do not sum to one"),
        (P, {"alpha": 0}, "alpha"),
        (P, {"forbidden": [5]}, "from 1 to the last row"),
    ],
)
def test_bad_input(matrix: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(PerturbationError, match=message):
        dc.perturb_invariant(worked(), matrix, **options)  # type: ignore[arg-type]


def test_weighted_tables_are_refused() -> None:
    with pytest.raises(PerturbationError, match="weighted"):
        dc.perturb_invariant(table_of([1, 2], weight=[1.5, 2.5]), P)


def test_the_command(tmp_path: Path) -> None:
    worked().to_polars().write_csv(tmp_path / "cells.csv")
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("\n".join(",".join(str(each) for each in row) for row in P))
    words = ["perturb-invariant", str(tmp_path / "cells.csv"), "--by", "place", "--count", "count"]
    words += ["--cell-key", "cell_key", "--transition", str(matrix)]
    words += ["--out", str(tmp_path / "t.parquet")]
    result = run(*words)
    assert result.exit_code == 0, result.output
    expected = dc.perturb_invariant(worked(), P).to_polars()
    written = pl.read_parquet(tmp_path / "t.parquet")
    assert written["value"].to_list() == expected["value"].to_list()
    refused = run(*words, "--forbid", "1")
    assert refused.exit_code == 2
    matrix.write_text("0.5,0.5\n0.5")
    assert run(*words).exit_code == 2


def test_how_often_the_most_likely_original_is_right() -> None:
    counts = np.random.default_rng(2).choice([1, 2, 3, 4], 8000, p=[0.4, 0.3, 0.2, 0.1])
    table = table_of(counts.tolist())
    for alpha in (0.5, 1.0):
        told = invariant_risk(table, P, alpha=alpha)
        shown = dc.perturb_invariant(table, P, alpha=alpha).value
        assert abs(np.mean(shown == counts) - told.printed) < 0.02
        best = {k: np.bincount(counts[shown == k]).argmax() for k in range(1, 5)}
        right = np.array([best[k] for k in shown]) == counts
        assert abs(right.mean() - told.right) < 0.02
        each = [right[counts == k].mean() for k in range(1, 5)]
        assert np.abs(np.array(each) - told.each).max() < 0.06
        assert told.chance == np.mean(counts == 1) < told.right


def test_a_table_without_small_counts_has_nothing_to_guess() -> None:
    with pytest.raises(
        PerturbationError, match="no count of these tables has a separate row in the matrix"
    ):
        invariant_risk(table_of([50, 61]), [[0.8, 0.2], [0.2, 0.8]])
