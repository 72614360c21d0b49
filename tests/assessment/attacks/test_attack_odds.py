"""How likely attacks succeed: figures of the literature and of exact sums, made again."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.assessment.attacks import NoiseOdds, exposure_of
from discreet.protection.noise import PerturbationTable

TEACHING = (0.02, 0.04, 0.085, 0.105, 0.5, 0.105, 0.085, 0.04, 0.02)


def ptable(share: tuple[float, ...]) -> PerturbationTable:
    """A table in which all counts that can carry the noise do."""
    reach = len(share) // 2
    rows = []
    for count in range(3 * reach + 2):
        row = np.zeros(len(share))
        row[reach] = 1
        rows.append(np.round(np.cumsum(row if count < reach else share), 12))
    return PerturbationTable.from_cumulative(np.vstack(rows), noise=range(-reach, reach + 1))


def uniform(reach: int) -> tuple[float, ...]:
    return (1 / (2 * reach + 1),) * (2 * reach + 1)


def test_exposure_of_cubes_and_what_it_comes_to() -> None:
    odds = NoiseOdds.of(ptable(TEACHING))
    cubes = {3: 0.46, 5: 0.64, 7: 0.83, 8: 0.91, 9: 0.96}
    for variables, success in cubes.items():
        exposure = exposure_of([[2]] * variables)
        assert odds.averaged(exposure) == pytest.approx(success, abs=6e-3)
    assert odds.tolerated(0.6) == pytest.approx(6.4, abs=0.05)
    assert odds.tolerated(0.8) == pytest.approx(14.8, abs=0.05)
