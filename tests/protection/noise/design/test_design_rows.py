"""Designed rows: constraints, optimality, what gives way, and what is impossible."""

import math
import random
import time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import DiscreetWarning, PerturbationError
from discreet.protection.noise.design import design_rows
from discreet.protection.noise.design.entropy import NoiseRow, NoiseSide
from discreet.protection.noise.design.parameters import exact_arithmetic
from discreet.protection.noise.design.rows import (
    bracketed,
    largest_entropy,
)
from tests.helpers.rows import for_all_rows

Parameters = tuple[int, float, tuple[int, ...], bool]


def random_parameters(number: int) -> list[Parameters]:
    draw = random.Random(2026)
    found = []
    while len(found) < number:
        forbidden = tuple(range(1, draw.choice((0, 0, 1, 2, 3)) + 1))
        least = {0: 0.01, 1: 1.0, 2: 2.0, 3: 4.0}[len(forbidden)]
        max_noise = draw.randint(len(forbidden) + 1, 8)
        variance = least + round(draw.expovariate(0.4), draw.randint(1, 9))
        found.append((max_noise, variance, forbidden, draw.random() < 0.8))
    return found


@pytest.mark.exhaustive
def test_many_designs_hold_every_constraint() -> None:
    for max_noise, variance, forbidden, monotone in random_parameters(80):
        design = design_rows(max_noise, variance, forbidden, monotone=monotone)
        for row in design.rows:
            shares = dict(zip(row.noise, row.probability.tolist(), strict=True))
            assert abs(math.fsum(shares.values()) - 1) < 1e-12
            assert abs(math.fsum(v * p for v, p in shares.items())) < 1e-12
            second = math.fsum(v * v * p for v, p in shares.items())
            assert second < variance + 1e-12
            assert min(shares.values()) >= 0
            assert max(map(abs, shares)) <= max_noise
            assert all(row.i + v >= 0 and row.i + v not in forbidden for v in shares)
            if monotone:
                above = [p for v, p in shares.items() if v >= 0]
                below = [p for v, p in shares.items() if v <= 0]
                assert all(far <= near + 1e-12 for near, far in pairwise(above))
                assert all(far <= near + 1e-12 for far, near in pairwise(below))
        assert design.residual < 1e-12


@pytest.mark.parametrize(("max_noise", "variance", "i"), [(10, 8, 3), (6, 2, 1), (12, 30, 5)])
def test_rows_meet_the_conditions_of_an_optimum(max_noise: int, variance: int, i: int) -> None:
    # Karush, Kuhn and Tucker: log p is −a − b·v − c·v², c not negative, where values of
    # equal probability share the mean of that; and the multipliers of the order within
    # such a block, its sums from the outside towards zero, have the right sign.
    row = design_rows(max_noise, variance).rows[i]
    noise, logs = np.array(row.noise, dtype=float), np.log(row.probability)
    block = np.concatenate([[0], np.cumsum(np.diff(row.probability) != 0)])
    features = np.stack([noise**0, noise, noise**2], axis=1)
    means = np.stack([features[block == at].mean(axis=0) for at in range(block[-1] + 1)])
    shared = np.array([logs[block == at][0] for at in range(block[-1] + 1)])
    multipliers = np.linalg.lstsq(means, shared)[0]
    assert abs(means @ multipliers - shared).max() < 1e-9
    assert multipliers[2] < 1e-9
    pressure = np.cumsum((logs - features @ multipliers)[noise < 0])
    assert (block == block[i]).sum() > 1, "an example in which the order binds"
    assert pressure.max() < 1e-9


def test_without_order_constraints_the_noise_is_a_discrete_normal() -> None:
    rows = design_rows(6, 2.5, monotone=False).rows
    for row in rows[3:]:
        logs = np.log(row.probability)
        assert np.ptp(np.diff(logs, 3)) < 1e-9
        assert np.ptp(np.diff(logs, 2)) < 1e-9


def test_both_ways_of_solving_agree() -> None:
    with exact_arithmetic():
        for i in (1, 2, 5, 9):
            for stay in (None, Decimal("0.4"), Decimal("0.6")):
                below = NoiseSide(-1, tuple(range(1, i + 1)), True)
                row = NoiseRow(below, NoiseSide(1, tuple(range(1, 10)), True), True, stay)
                quick = row.distribution(
                    *largest_entropy(row, Decimal(4), (Decimal(0), Decimal(1)))
                )
                sure = row.distribution(*bracketed(row, Decimal(4)))
                assert max(abs(quick[v] - sure[v]) for v in quick) < Decimal("1e-20")


def test_rows_end_where_the_distribution_is_symmetric() -> None:
    assert len(design_rows(5, 3).rows) == 1 + 5
    rows = design_rows(5, 3, forbidden=(1, 2)).rows
    assert len(rows) == 1 + 5 + 2 + 1
    last, before = rows[-1].probability, rows[-2].probability
    assert np.array_equal(last, last[::-1])
    assert len(before) == len(last) - 1


def test_a_designed_table_is_the_same_on_every_machine() -> None:
    ptable = discreet.design_perturbation(4, 2.25, forbidden=(1, 2), stay={5: 0.5})
    assert ptable.digest(b"pinned")[:16] == "460847de5368d34d"


@for_all_rows("max_noise", [1, 3, 5, 20, 50])
def test_the_grid_keeps_the_mean_and_moves_no_probability_by_more_than_a_step(
    max_noise: int,
) -> None:
    design = design_rows(max_noise, max_noise**2 / 7, forbidden=(1,) if max_noise > 1 else ())
    table = design.table()
    widths = table.content.widths
    for row in design.rows:
        at = table.content.row_of == row.i
        units = dict(zip(table.content.noise[at].tolist(), widths[at].tolist(), strict=True))
        assert sum(units.values()) == 10**15
        assert sum(v * width for v, width in units.items()) == 0
        for v, share in zip(row.noise, row.probability.tolist(), strict=True):
            # A float is precise to an eighth of a grid step.
            assert abs(units.get(v, 0) - Fraction(share) * 10**15) <= 1.2


# -- what gives way ---------------------------------------------------------------


def test_a_high_stay_probability_keeps_the_variance_low() -> None:
    first = design_rows(5, 1, stay=0.7).rows[1]
    assert first.relaxed == "variance"
    assert first.stay == first.probability[1] == 0.7
    assert first.variance < 1


def test_the_stay_probability_gives_way_row_by_row() -> None:
    rows = design_rows(5, 1, stay=0.7, relax={1: "stay"}).rows
    assert [row.stay for row in rows[1:]] == pytest.approx([0.55, 0.7, 0.7, 0.7, 0.7])
    assert rows[1].variance == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("stay", [1, 1.0])
def test_staying_for_certain_is_no_noise(stay: float) -> None:
    rows = design_rows(3, 1, stay={2: stay}).rows
    assert rows[2].variance == 0
    assert rows[1].variance > 0


def test_uniform_noise_where_staying_may_not_be_rarer_than_anything_else() -> None:
    last = design_rows(2, 2, stay={2: 0.2}).rows[2]
    assert last.probability.tolist() == pytest.approx([0.2] * 5, abs=1e-15)


def test_the_only_variance_that_staying_leaves_is_found() -> None:
    last = design_rows(3, 0.5, stay={3: 0.5}).rows[3]
    assert last.probability.tolist() == [0, 0, 0.25, 0.5, 0.25, 0, 0]


def test_exact_variance_above_what_order_allows_gives_up_more_order() -> None:
    row = design_rows(4, 3.9, relax="unimodality").rows[1]
    assert row.relaxed == "unimodality"
    assert row.variance == pytest.approx(3.9, abs=1e-12)


def test_a_stay_probability_that_leaves_no_choice_gives_up_order_below_zero_too() -> None:
    # With order below zero, row 1 of stay ⅓ could only be −1, 0, 1 at ⅓ each.
    row = design_rows(3, 1.5, stay={1: 1 / 3}, relax={1: "unimodality"}).rows[1]
    assert row.variance == pytest.approx(1.5, abs=1e-12)
    assert row.probability[0] > row.probability[1]


# -- bad input --------------------------------------------------------------------


@for_all_rows(
    ("arguments", "options", "message"),
    [
        ((0, 1), {}, "the largest noise must be a whole number of at least 1"),
        ((2.5, 1), {}, "the largest noise must be a whole number of at least 1"),
        ((True, 1), {}, "the largest noise must be a whole number of at least 1"),
        ((5000, 1), {}, "the largest noise is 1000 steps"),
        ((3, 0), {}, "the variance must be positive"),
        ((3, -1), {}, "the variance must be positive"),
        ((3, math.nan), {}, "the variance must be positive"),
        ((3, "1"), {}, "the variance must be positive"),
        ((3, 1, (0,)), {}, "forbidden values must be above 0"),
        ((3, 1, (-2,)), {}, "forbidden values must be above 0"),
        ((3, 1, 2), {}, "forbidden must be a list of whole numbers"),
        ((3, 1, (1.5,)), {}, "forbidden must be a list of whole numbers"),
        ((3, 1), {"stay": 0}, "a stay probability must be above 0 and at most 1, or None"),
        ((3, 1), {"stay": 1.1}, "a stay probability must be above 0 and at most 1, or None"),
        ((3, 1), {"stay": (0.5, 0.5)}, "2 values for 3 rows"),
        ((3, 1), {"stay": {4: 0.5}}, "row 4 not found"),
        ((3, 2, (1,)), {"stay": {1: 0.5}}, "row 1 cannot stay: its count is forbidden"),
        ((3, 1), {"monotone": 1}, "each value must be True or False"),
        ((3, 1), {"relax": "mean"}, "one of variance, stay, unimodality"),
        ((3, 1e-20), {}, "no noise left on the grid"),
        ((3, 1), {"stay": 0.05}, "row 3 needs a"),
        ((5, 3), {"stay": 0.5, "relax": "stay"}, "row 1 does not reach the variance"),
        ((5, 6), {"relax": "unimodality"}, "row 1 cannot have a variance of more than"),
        ((1, 1, (1, 2)), {}, "row 1 has no allowed noise above zero, so its mean cannot be"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PerturbationError, match=message):
        design_rows(*arguments, **options)


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(PerturbationError) as caught:
        design_rows(0, -1, (0,))
    assert len(caught.value.problems) == 3
    with pytest.raises(PerturbationError) as caught:
        design_rows(5, 2, (1, 2, 3))
    assert [problem.what for problem in caught.value.problems] == [
        "row 1 needs a variance of at least 3",
        "row 2 needs a variance of at least 4",
        "row 3 needs a variance of at least 3",
        "all rows together need a variance of at least 4",
    ]


@pytest.mark.parametrize("stay", [0.001, 0.15, 0.4])
def test_the_value_a_message_names_is_feasible(stay: float) -> None:
    with pytest.raises(PerturbationError) as caught:
        design_rows(4, 0.05, stay={4: stay})
    named = float(caught.value.problems[0].what.split()[-1])
    if "stay" in caught.value.problems[0].what:
        assert design_rows(4, 100, stay={4: named}).residual < 1e-12
    else:
        assert design_rows(4, named, stay={4: stay}).residual < 1e-12


@pytest.mark.parametrize(
    ("max_noise", "variance", "seconds"),
    [(20, 30, 5), pytest.param(100, 400, 60, marks=pytest.mark.exhaustive)],
)
def test_designing_is_quick(max_noise: int, variance: int, seconds: int) -> None:
    # Processor time, ten times the usual: other work on the machine must not fail the test.
    start = time.process_time()
    design = design_rows(max_noise, variance)
    design.table()
    assert time.process_time() - start < seconds
    assert design.residual < 1e-12


def test_a_variance_out_of_reach_is_told() -> None:
    with pytest.warns(
        DiscreetWarning, match="large counts get less variance than requested, because of the"
    ):
        ptable = discreet.design_perturbation(max_noise=2, variance=50)
    assert ptable.parameters()[-1]["variance"] == pytest.approx(2)
    discreet.design_perturbation(max_noise=2, variance=2)


def test_a_single_share_is_that_of_counts_that_may_be_published() -> None:
    one, other = (
        design_rows(4, 2.25, (1, 2), stay=stay) for stay in (0.5, dict.fromkeys(range(3, 8), 0.5))
    )
    assert one.table() == other.table()
    assert [row.i for row in one.rows if row.stay == 0.5] == [3, 4, 5, 6, 7]
