"""How likely attacks succeed: figures of the literature and of exact sums, made again."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.assessment.attacks import NoiseOdds, exposure_of
from discreet.errors import PerturbationError
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


NOISE = {"r2": uniform(2), "r3": uniform(3), "r5": uniform(5), "teaching": TEACHING}


@pytest.mark.parametrize(
    ("noise", "equal", "partitions", "at_31", "at_63"),
    [
        ("r2", 0.160, 63, 0.836, 0.953),
        ("teaching", 0.131, 71, 0.811, 0.939),
        ("r3", 0.122, 123, 0.674, 0.839),
        ("r5", 0.083, 309, 0.466, 0.625),
    ],
)
def test_equality_and_partitions(
    noise: str, equal: float, partitions: int, at_31: float, at_63: float
) -> None:
    odds = NoiseOdds.of(ptable(NOISE[noise]))
    assert odds.equal() == pytest.approx(equal, abs=6e-4)
    assert odds.membership(1) == pytest.approx(1 - equal, abs=6e-4)
    assert odds.partitions_for(0.95) == partitions
    assert odds.partitions(31) == pytest.approx(at_31, abs=6e-4)
    assert odds.partitions(63) == pytest.approx(at_63, abs=6e-4)


@pytest.mark.parametrize(
    ("noise", "two", "three", "official"),
    [
        ("r2", 1.6e-2, 3.2e-3, 8e-2),
        ("r3", 5.8e-3, 8.3e-4, 4.1e-2),
        ("r5", 1.5e-3, 1.4e-4, 1.7e-2),
        ("teaching", 1.6e-5, 3.2e-7, 8e-4),
    ],
)
def test_sums_that_determine_their_parts(
    noise: str, two: float, three: float, official: float
) -> None:
    odds = NoiseOdds.of(ptable(NOISE[noise]))
    assert odds.determined(2) == pytest.approx(two, rel=0.04)
    assert odds.determined(3) == pytest.approx(three, rel=0.04)
    assert odds.determined(2, official=True) == pytest.approx(official, rel=0.04)


def test_exposure_of_cubes_and_what_it_comes_to() -> None:
    odds = NoiseOdds.of(ptable(TEACHING))
    cubes = {3: 0.46, 5: 0.64, 7: 0.83, 8: 0.91, 9: 0.96}
    for variables, success in cubes.items():
        exposure = exposure_of([[2]] * variables)
        assert odds.averaged(exposure) == pytest.approx(success, abs=6e-3)
    assert odds.tolerated(0.6) == pytest.approx(6.4, abs=0.05)
    assert odds.tolerated(0.8) == pytest.approx(14.8, abs=0.05)
    assert odds.privacy() == pytest.approx((1.56, 0.02), abs=5e-3)


def test_what_is_no_success_is_refused() -> None:
    odds = NoiseOdds.of(ptable(uniform(2)))
    with pytest.raises(PerturbationError, match="between 0 and 1"):
        odds.partitions_for(1.5)
    assert "0.2" not in repr(odds)
