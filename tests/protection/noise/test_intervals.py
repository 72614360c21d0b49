"""Intervals of the key grid: what is rounded, moved and looked up, by hand and by brute force."""

import random
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise, product

import numpy as np
import pytest

from discreet import PerturbationTable, design_perturbation
from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid
from discreet.protection.noise.intervals import (
    Intervals,
    count_deviations,
    grid_bounds,
    look_up,
    mixed_with_unchanged,
    pack,
    row_deviations,
    thresholds,
)


def rows_with_mean_zero(number: int) -> list[tuple[list[Fraction], list[int], int]]:
    """Drawn probabilities with mean zero, their noise, and a coarse grid."""
    draw, found = random.Random(11), []
    while len(found) < number:
        noise = sorted(draw.sample(range(-4, 5), draw.randint(2, 6)))
        low, high = noise[0], noise[-1]
        if low >= 0 or high <= 0:
            continue
        shares = [Fraction(draw.randint(1, 40)) for _ in noise]
        mean = sum(value * share for value, share in zip(noise, shares, strict=True))
        end = 0 if mean > 0 else -1
        shares[end] += abs(mean) / abs(noise[end])
        total = sum(shares)
        found.append(([share / total for share in shares], noise, draw.randint(100, 900)))
    return found


def ways(shares: list[Fraction], noise: list[int], scale: int) -> Iterator[tuple[int, int]]:
    """Means, and how many probabilities move by more than a step, of all ways to round bounds."""
    exact = [share * scale for share in accumulate(shares[:-1])]
    near = [
        [place for place in range(int(end) - 1, int(end) + 3) if abs(place - end) <= 1]
        for end in exact
    ]
    for ends in product(*near):
        widths = [upper - lower for lower, upper in pairwise([0, *ends, scale])]
        if min(widths) >= 0:
            yield measured(widths, shares, noise, scale)


def measured(
    widths: list[int], shares: list[Fraction], noise: list[int], scale: int
) -> tuple[int, int]:
    mean = sum(value * width for value, width in zip(noise, widths, strict=True))
    pairs = zip(widths, shares, strict=True)
    return abs(mean), sum(abs(width - share * scale) > 1 for width, share in pairs)


def test_rounding_keeps_the_mean_and_moves_no_probability_further_than_it_must() -> None:
    """A mean that is off would bias every table; a larger step would be another table."""
    for shares, noise, scale in rows_with_mean_zero(400):
        with localcontext() as context:
            context.prec = 60
            bounds = [Decimal(b.numerator) / Decimal(b.denominator) for b in accumulate(shares)]
        found = grid_bounds(bounds, noise, scale)
        assert found[-1] == scale
        assert all(lower <= upper for lower, upper in pairwise([0, *found]))
        widths = [upper - lower for lower, upper in pairwise([0, *found])]
        # A mean of 1 cannot be mended in steps of 2.
        assert measured(widths, shares, noise, scale) == min(ways(shares, noise, scale))


def test_deviations_are_those_of_the_noise_that_may_come() -> None:
    table = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}, 2: {-2: "0.5", 2: "0.5"}, 3: {1: 1}}
    )
    wanted = [0, 0.5**0.5, 2, 0]
    assert row_deviations(table.content).tolist() == pytest.approx(wanted, abs=1e-15)
    found = count_deviations(table.content, np.array([0, 1, 2, 3, 99]))
    assert found.tolist() == pytest.approx([*wanted, wanted[-1]], abs=1e-15)


def small(closed: str = "left", scale: int = 100) -> Intervals:
    rows = [[(scale, 0)], [(scale // 4, -1), (scale, 1)], [(scale // 2, -2), (scale, 2)]]
    return pack(rows, scale=scale, closed=closed)  # type: ignore[arg-type]


def test_keys_of_another_grid_are_refused() -> None:
    with pytest.raises(
        PerturbationError, match="the perturbation table has 100 keys, the cell keys have a"
    ):
        thresholds(small(), KeyGrid(99))
    assert thresholds(small(), KeyGrid(100)).tolist() == [100, 25, 100, 50, 100]
    assert thresholds(small("right"), KeyGrid(100)).tolist() == [100, 26, 100, 51, 100]


@pytest.mark.parametrize("size", [100, 2**40, 10**15])
def test_every_way_of_looking_up_gives_the_noise_of_the_key(size: int) -> None:
    """Noise written out for every key, or found among the bounds."""
    content = small(scale=size)
    draw = np.random.default_rng(5)
    count = draw.integers(0, 7, 2_000)
    keys = draw.integers(0, size, 2_000)
    keys[:6] = [0, size // 4 - 1, size // 4, size // 2 - 1, size // 2, size - 1]
    found = look_up(content, count, keys, KeyGrid(size))
    row = np.minimum(count, 2)
    one = np.where(keys < size // 4, -1, 1)
    two = np.where(keys < size // 2, -2, 2)
    assert np.array_equal(found, np.where(row == 0, 0, np.where(row == 1, one, two)))


def test_tables_of_more_rows_than_places_fit_are_looked_up_in_blocks() -> None:
    """Ten thousand rows of 10^15 keys are more than 64 bits can number."""
    size, rows = 10**15, 9_500
    content = pack([[(size // 2, at % 5), (size, -1 - at % 3)] for at in range(rows)])
    count = np.array([0, 1, 9_220, 9_221, 9_222, 9_223, 9_499, 12_000]).repeat(2)
    keys = np.array([size // 2 - 1, size // 2] * 8)
    row = np.minimum(count, rows - 1)
    wanted = np.where(keys < size // 2, row % 5, -1 - row % 3)
    assert np.array_equal(look_up(content, count, keys, KeyGrid(size)), wanted)


@pytest.mark.parametrize("share", [0, "0.5", Fraction(1, 3), 1])
def test_staying_is_mixed_in_by_its_probability(share: object) -> None:
    """Each other probability shrinks by it, to a grid step, and the mean stays."""
    content = pack(
        [[(1200, 0)], [(300, -1), (900, 0), (1200, 1)], [(600, -1), (1200, 1)]], scale=1200
    )
    stay = Fraction(str(share))
    found = mixed_with_unchanged(content, share, None)  # type: ignore[arg-type]
    for row, before in ((1, {-1: 300, 0: 600, 1: 300}), (2, {-1: 600, 0: 0, 1: 600})):
        at = found.row_of == row
        widths = dict(zip(found.noise[at].tolist(), found.widths[at].tolist(), strict=True))
        for value, width in before.items():
            assert widths.get(value, 0) == width * (1 - stay) + (stay * 1200 if not value else 0)
    only = mixed_with_unchanged(content, share, [2])  # type: ignore[arg-type]
    assert only.widths[only.row_of == 1].tolist() == [300, 600, 300]


@pytest.mark.parametrize("share", [-0.1, 1.5, True, "much"])
def test_staying_has_a_probability(share: object) -> None:
    with pytest.raises(PerturbationError, match="between 0 and 1"):
        mixed_with_unchanged(small(), share, None)  # type: ignore[arg-type]


def test_rows_that_are_not_there_and_right_closed_ones_are_not_mixed() -> None:
    for row in (-1, 3):
        with pytest.raises(PerturbationError, match=f"no row {row}"):
            mixed_with_unchanged(small(), 0.5, [1, row])
    assert mixed_with_unchanged(small(), 0.5, [0, 2]).n_max == 2
    with pytest.raises(PerturbationError, match="closed on the right"):
        mixed_with_unchanged(small("right"), 0.5, None)


@pytest.mark.parametrize(
    ("max_noise", "variance", "forbidden"), [(5, 2.37, (1, 2)), (5, 3, (1, 2)), (8, 4.1, (1, 2, 3))]
)
def test_the_mean_of_each_designed_row_is_zero_in_whole_numbers(
    max_noise: int, variance: float, forbidden: tuple[int, ...]
) -> None:
    """Row 1 of the first ended at −10^-15: one bound after the other led no further."""
    table = design_perturbation(max_noise=max_noise, variance=variance, forbidden=forbidden)
    for row, share in table.content.shares():
        assert sum(value * part for value, part in share.items()) == 0, row


def test_a_row_that_cannot_have_the_mean_zero_is_as_near_as_it_can() -> None:
    """−1 and +2 alone need 2/3 and 1/3 of the keys."""
    rows = dict(design_perturbation(max_noise=5, variance=2, forbidden=(1, 2)).content.shares())
    mean = sum(value * part for value, part in rows[1].items())
    assert abs(mean) == Fraction(1, 10**15)
    assert set(rows[1]) == {-1, 2}
