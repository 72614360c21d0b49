"""A million cells, perturbed through real record keys, follow the designed distribution."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from discreet import PerturbationTable, tabulate, with_record_keys
from discreet.protection.noise.design import design_perturbation
from discreet.protection.noise.design.permutation import permuted

pytestmark = pytest.mark.exhaustive

SIDE = 1000  # a table of 1,000 × 1,000 inner cells
COUNTS = (1, 2, 3, 4)
POINT = 4.75  # of the standard normal: one false alarm in a million runs

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def cells() -> pl.DataFrame:
    """Counts 1 … 4 and cell keys of a million inner cells, made from records."""
    count = np.tile(np.array(COUNTS), SIDE * SIDE // len(COUNTS))
    cell = np.repeat(np.arange(SIDE * SIDE), count)
    records = pl.DataFrame({"id": np.arange(len(cell)), "row": cell // SIDE, "column": cell % SIDE})
    keyed = with_record_keys(records, id="id", secret="a fixed secret of this test")
    table = tabulate(keyed, ["row", "column"], record_key="record_key")
    inner = (pl.col("row") != "Total") & (pl.col("column") != "Total")
    return table.to_polars().filter(inner).select("count", "cell_key")


def statistic(seen: Counts, share: Shares) -> float:
    """Chi-square of drawn noise against its probabilities, noise values that can occur."""
    occurs = share > 0
    assert not seen[~occurs].any()
    expected = share[occurs] * seen.sum()
    assert expected.min() > 20  # the approximation holds
    return float(((seen[occurs] - expected) ** 2 / expected).sum())


def critical(freedom: int) -> float:
    """The point that chi-square exceeds as rarely as a normal variable exceeds POINT."""
    spread = 2 / (9 * freedom)  # Wilson and Hilferty's cube
    return float(freedom * (1 - spread + POINT * spread**0.5) ** 3)


def drawn(ptable: PerturbationTable, cells: pl.DataFrame) -> dict[int, Counts]:
    """How often each published value came from each count."""
    count, key = cells["count"].to_numpy(), cells["cell_key"].to_numpy()
    value = count + ptable.lookup(count, key)
    width = ptable.transition_matrix().shape[1]
    return {row: np.bincount(value[count == row], minlength=width) for row in COUNTS}


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_million_cells_follow_the_design(cells: pl.DataFrame, shuffled: bool) -> None:
    """Each row has 250,000 cells. False alarms: one in 250,000 for the four rows together.

    Power: a design in which 0.9 percentage points of the cells that stay were moved to
    noise +1 is rejected in every of 200 simulated samples of this size.
    """
    assert len(cells) == SIDE * SIDE
    ptable = design_perturbation(5, 3)
    if shuffled:
        ptable = permuted(ptable, 2026, 0.05)
    shares = ptable.transition_matrix()
    again = np.random.default_rng(1)
    for row, seen in drawn(ptable, cells).items():
        limit = critical(int((shares[row] > 0).sum()) - 1)
        assert statistic(seen, shares[row]) < limit, row
        moved = shares[row].copy()
        moved[row] -= 0.009
        moved[row + 1] += 0.009
        samples = again.multinomial(SIDE * SIDE // len(COUNTS), moved, size=200)
        assert all(statistic(sample, shares[row]) > limit for sample in samples)
