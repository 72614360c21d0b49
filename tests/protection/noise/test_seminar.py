"""A university's worked example of the cell-key method: students by university and sex."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import PerturbationTable, perturb, tabulate
from tests.helpers.noise_tables import keyed, noisy_cells


@pytest.fixture
def matrix(reference: Path) -> PerturbationTable:
    return PerturbationTable.read(reference / "seminar" / "cumulative_matrix.csv")


def students(reference: Path, number: int) -> pl.DataFrame:
    path = reference / "seminar" / f"microdata_{number}.csv"
    return pl.read_csv(path, infer_schema=False)


@pytest.mark.parametrize("number", [10, 1001])
def test_every_published_value_is_reproduced(
    reference: Path, matrix: PerturbationTable, number: int
) -> None:
    expected = pl.read_csv(reference / "seminar" / f"expected_{number}.csv")
    table = tabulate(
        keyed(students(reference, number)), ["university", "sex"], record_key="record_key"
    )
    safe = perturb(table, matrix)
    true = {
        row[:-1]: row[-1]
        for row in table.to_polars().select("university", "sex", "count").iter_rows()
    }
    for row in expected.iter_rows(named=True):
        codes = (row["university"], row["sex"])
        assert true[codes] == row["count"]
        assert safe.get(*codes) == row["published"]


def test_cell_keys_and_noise_of_the_ten_students(
    reference: Path, matrix: PerturbationTable
) -> None:
    expected = pl.read_csv(reference / "seminar" / "expected_10.csv")
    table = tabulate(keyed(students(reference, 10)), ["university", "sex"], record_key="record_key")
    cells = expected.join(noisy_cells(table, matrix), on=["university", "sex"], suffix="_ours")
    assert cells.height == expected.height == 5
    assert cells["noise"].equals(cells["noise_ours"])
    difference = cells["cell_key"] / 10**15 - cells["cell_key_6_digits"]
    assert difference.abs().max() < 1e-6  # type: ignore[operator]


def test_the_published_cells_do_not_add_up(reference: Path, matrix: PerturbationTable) -> None:
    table = tabulate(
        keyed(students(reference, 1001)), ["university", "sex"], record_key="record_key"
    )
    safe = perturb(table, matrix)
    inner = safe.to_polars().filter(pl.col("university") != "Total", pl.col("sex") != "Total")
    assert inner["value"].sum() == 1012
    assert safe.get("Total", "Total") == 1001
    assert [note.kind for note in safe.notes] == ["non-additivity"]


def test_what_the_matrix_is_said_to_be(matrix: PerturbationTable) -> None:
    """Zero mean, variance 2.25 (row 2 but for a digit), stays ½ from row 3 on, no 1 or 2."""
    rows = matrix.parameters()
    assert [row["mean"] for row in rows] == pytest.approx([0] * 8, abs=1.01e-4)
    assert [row["variance"] for row in rows[1:]] == pytest.approx([2.25] * 7, abs=2e-4)
    assert [row["stay"] for row in rows[3:]] == pytest.approx([0.5] * 5)
    assert not matrix.transition_matrix()[:, 1:3].any()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of numpy, for its matrices
def test_the_matrix_may_be_an_array_or_a_matrix_of_numpy() -> None:
    """First steps as they are taught: `numpy.matrix`, whose rows are matrices again."""
    rows = [[0, 1, 1], [0.25, 0.75, 1]]
    table = PerturbationTable.from_cumulative(rows, noise=(-1, 0, 1))
    for form in (np.array(rows), np.matrix(rows), pl.DataFrame(rows, orient="row")):
        assert PerturbationTable.from_cumulative(form, noise=(-1, 0, 1)) == table
    chances = np.matrix([[1, 0, 0], [0.25, 0.5, 0.25]])
    assert PerturbationTable.from_transition(chances).n_max == 1
