"""Attack: values that hardly differ, under noise that is a share of their range.

Cells of two firms with nearly equal turnovers. A reader divides the published sum by two, and
has both; one of the firms subtracts its own turnover, and has the other's.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc

CELLS = 3_000
NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.2),
    of="range",
)


def firms() -> np.ndarray:
    """Two turnovers per cell, apart by up to one in a thousand."""
    draw = np.random.default_rng(23)
    first = np.round(draw.lognormal(11, 0.5, CELLS))
    return np.stack([first, np.round(first * draw.uniform(1, 1.001, CELLS))], axis=1)


def found(noise: dc.MagnitudeNoise, of_contributor: bool) -> float:
    """The share of cells in which the second turnover is found within 1 %."""
    turnovers = firms()
    records = pl.DataFrame(
        {
            "cell": np.repeat([f"c{at:04d}" for at in range(CELLS)], 2),
            "turnover": turnovers.reshape(-1),
            "record_key": np.random.default_rng(24).integers(0, 10**15, 2 * CELLS),
        }
    )
    table = dc.tabulate(
        records, ["cell"], record_key="record_key", values=["turnover"], contributions=1
    )
    made = dc.perturb_magnitudes(table, noise, "turnover", p_percent=0).to_polars()
    shown = made.filter(pl.col("cell") != "Total")["value"].to_numpy()
    guess = shown - turnovers[:, 0] if of_contributor else shown / 2
    return float((np.abs(guess / turnovers[:, 1] - 1) < 0.01).mean())


@pytest.mark.parametrize("of_contributor", [True, False], ids=["contributor", "reader"])
def test_nearly_equal_values_are_hidden(of_contributor: bool) -> None:
    """Only where the noise that is drawn is 0, as with the largest value in its place."""
    plain, top = NOISE.with_options(range_floor=0), NOISE.with_options(of="top")
    assert found(plain, of_contributor) > 0.98
    assert found(NOISE, of_contributor) == pytest.approx(0.14, abs=0.02)
    assert found(top, of_contributor) == pytest.approx(0.14, abs=0.02)
