"""Figures of attacks, made again by exact sums, or by attacks on noise drawn with real keys.

Simulations have fixed seeds; tolerances are four standard errors or more.
"""

import itertools

import numpy as np
import pytest

from discreet.assessment.attacks import NoiseOdds, exposure_of
from discreet.demo import example_perturbation_table
from discreet.protection.noise import PerturbationTable
from discreet.protection.noise.design import permuted
from discreet.solver import column_values, quiet_solver
from tests.helpers.rows import for_all_rows

GRID = 10**15
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


def exponential(epsilon: float, reach: int) -> tuple[float, ...]:
    weight = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return tuple((weight / weight.sum()).tolist())


# -- exact ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variance", "successes"),
    [
        (1, (0.64, 0.83, 0.96, 0.99, 1.00)),
        (2, (0.48, 0.67, 0.86, 0.93, 0.97)),
        (3, (0.40, 0.57, 0.77, 0.86, 0.93)),
        (5, (0.32, 0.46, 0.65, 0.74, 0.83)),
    ],
)
def test_cubes_of_binary_variables(variance: int, successes: tuple[float, ...]) -> None:
    """Noise of two values of this variance: only the variance counts."""
    reach = 3
    tail = variance / (2 * reach * reach)
    share = (tail, 0, 0, 1 - 2 * tail, 0, 0, tail)
    odds = NoiseOdds.of(ptable(share))
    for variables, success in zip((3, 5, 7, 8, 9), successes, strict=True):
        assert odds.averaged(exposure_of([[2]] * variables)) == pytest.approx(success, abs=6e-3)


def test_levels_of_a_deep_classification_count_like_a_variable() -> None:
    assert exposure_of([[101, 21, 11, 3]]) - 1 == pytest.approx(0.48, abs=5e-3)


@for_all_rows(
    ("share", "variance", "stay"),
    [
        (uniform(2), 2, 0.2),
        (uniform(5), 10, 0.091),
        (exponential(1.5, 7), 0.74, 0.635),
        (exponential(1.0, 5), 1.69, 0.464),
        (exponential(0.5, 10), 7.05, 0.246),
    ],
)
def test_variance_and_staying_of_large_counts(
    share: tuple[float, ...], variance: float, stay: float
) -> None:
    odds = NoiseOdds.of(ptable(share))
    assert odds.variance == pytest.approx(variance, abs=6e-3)
    assert odds.staying == pytest.approx(stay, abs=6e-4)


# -- carried out ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (200, {1: 0.877, 2: 0.969, 3: 0.990, 5: 0.999}),
        (2, {1: 0.653, 5: 0.982}),
    ],
)
def test_membership_by_crossings(others: int, found: dict[int, float]) -> None:
    """4,000 persons: one unequal cell of his proves that he is in; others differ by crossing."""
    draw, table = np.random.default_rng(7), example_perturbation_table()
    person = draw.integers(0, GRID, 4_000)
    told = np.zeros(4_000, dtype=np.bool_)
    for crossing in range(1, 6):
        count, key = draw.poisson(others, 4_000), draw.integers(0, GRID, 4_000)
        without = count + table.lookup(count, np.where(count > 0, key, 0))
        with_him = (
            count + 1 + table.lookup(count + 1, (np.where(count > 0, key, 0) + person) % GRID)
        )
        told |= without != with_him
        if crossing in found:
            assert told.mean() == pytest.approx(found[crossing], abs=0.03)


@pytest.mark.parametrize(
    ("how", "found"),
    [("in order", {5: 0.697, 7: 0.932, 9: 0.991}), ("permuted", {5: 0.638, 7: 0.939, 9: 1.000})],
)
def test_partition_averaging_with_real_keys(how: str, found: dict[int, float]) -> None:
    """All partitions of m groups into two, keys being sums of m keys: 1,500 trials."""
    table = ptable(TEACHING)
    table = table if how == "in order" else permuted(table, seed=3)
    draw = np.random.default_rng(11)
    for groups, success in found.items():
        halves = [
            each
            for size in range(1, groups)
            for each in itertools.combinations(range(groups), size)
            if 0 in each
        ]
        chosen = np.zeros((len(halves), groups), dtype=np.int64)
        for at, each in enumerate(halves):
            chosen[at, list(each)] = 1
        keys = draw.integers(0, GRID, (1_500, groups))
        one, other = ((keys @ part.T) % GRID for part in (chosen, 1 - chosen))
        count = np.full(one.size, 1_000)
        noise = table.lookup(count, one.ravel()) + table.lookup(count, other.ravel())
        hit = np.abs(noise.reshape(one.shape).mean(axis=1)) < 0.5
        assert hit.mean() == pytest.approx(success, abs=0.05)


@pytest.mark.parametrize(
    ("persons", "times", "right"), [(30, 1, 0.80), (30, 2, 0.91), (30, 4, 0.987), (60, 4, 1.00)]
)
def test_reconstruction_from_random_subsets(persons: int, times: int, right: float) -> None:
    """Least absolute errors, rounded; ten draws."""
    draw, table = np.random.default_rng(persons + times), ptable(TEACHING)
    hits = []
    for _ in range(10):
        bit = draw.integers(0, 2, persons)
        asked = draw.integers(0, 2, (persons * times, persons))
        noise = table.lookup(np.full(len(asked), 1_000), draw.integers(0, GRID, len(asked)))
        hits.append((np.rint(decoded(asked, asked @ bit + noise)) == bit).mean())
    assert np.mean(hits) == pytest.approx(right, abs=0.06)


def decoded(asked: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """The bits, relaxed, nearest to the answers in the sum of absolute errors."""
    queries, persons = asked.shape
    solver = quiet_solver()
    solver.addVars(persons, np.zeros(persons), np.ones(persons))
    solver.addVars(2 * queries, np.zeros(2 * queries), np.full(2 * queries, np.inf))
    costs = np.ones(2 * queries)
    solver.changeColsCost(
        2 * queries, np.arange(persons, persons + 2 * queries, dtype=np.int32), costs
    )
    for row in range(queries):
        at = np.flatnonzero(asked[row]).tolist()
        columns = np.array([*at, persons + row, persons + queries + row], dtype=np.int32)
        values = np.array([*[1.0] * len(at), 1.0, -1.0])
        solver.addRow(float(answer[row]), float(answer[row]), len(columns), columns, values)
    solver.run()
    return np.asarray(column_values(solver))[:persons]


def test_tables_of_noise_are_what_they_say() -> None:
    assert isinstance(example_perturbation_table(), PerturbationTable)
    odds = NoiseOdds.of(ptable(TEACHING))
    assert odds.variance == pytest.approx(2.25)
    assert odds.tolerated(0.6) == pytest.approx(6.4, abs=0.05)
    assert odds.tolerated(0.8) == pytest.approx(14.8, abs=0.05)
