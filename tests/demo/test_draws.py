"""Draws: exact shares, and bits that depend on seed and block only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.demo.draws import Outcomes, Stream, apportion, curve, skewed


@given(
    st.lists(st.floats(min_value=0.001, max_value=1000), min_size=1, max_size=30),
    st.integers(min_value=0, max_value=100_000),
)
def test_largest_remainder_hands_out_all_seats_and_no_share_is_off_by_one_seat(shares, seats):
    given_seats = apportion(shares, seats)
    exact = np.array(shares) / sum(shares) * seats
    assert given_seats.sum() == seats
    assert np.abs(given_seats - exact).max() < 1.001


def test_seats_do_not_hang_on_the_last_digit_of_a_share():
    shares = np.array([1 / 3, 1 / 3, 1 / 3])
    nudged = np.nextafter(shares, [1, 0, 1])
    assert apportion(shares, 65536).tolist() == apportion(nudged, 65536).tolist()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(1, 50))
def test_a_stream_is_a_function_of_seed_and_block(seed, block, number):
    assert Stream(seed, block).draw(number).tolist() == Stream(seed, block).draw(number).tolist()


def test_streams_of_other_blocks_and_seeds_differ():
    first = Stream(1, 1).draw(1000)
    assert (first != Stream(1, 2).draw(1000)).mean() > 0.99
    assert (first != Stream(2, 1).draw(1000)).mean() > 0.99


def test_the_bits_of_a_seed_are_pinned():
    # Another generator, or another use of its key, would make another census.
    assert Stream(2026, 0).words(2).tolist() == [7785156515201790007, 6317963904203345008]
    assert Stream(2026, 0).draw(4).tolist() == [45111, 24939, 28314, 27658]


def test_draws_are_uniform():
    draws = Stream(7, 0).draw(200_000)
    counts = np.bincount(draws >> 12, minlength=16)
    assert ((counts - 12_500) ** 2 / 12_500).sum() < 45  # chi-square, 15 degrees of freedom


def test_order_is_a_permutation():
    assert sorted(Stream(3, 0).order(100).tolist()) == list(range(100))


def test_every_outcome_has_its_share_of_each_row():
    outcomes = Outcomes.of([[1, 1, 2], [0, 0, 1]], values=[5, 6, 200], bits=4)
    every = np.arange(0, 65536, 4096, dtype=np.uint16)
    assert np.unique(outcomes.pick(every, np.zeros(16, int)), return_counts=True)[1].tolist() == [
        4,
        4,
        8,
    ]
    assert outcomes.pick(every, np.ones(16, int)).tolist() == [200] * 16


def test_a_curve_is_straight_between_its_points_and_zero_outside():
    assert curve([(1, 2), (3, 4)], size=6).tolist() == [0, 2, 3, 4, 0, 0]


def test_skewed_values_keep_their_bounds_and_have_a_long_right_tail():
    values = skewed([100], [0.8], least=40, most=900).table
    assert values.min() == 40
    assert values.max() == 900
    assert values.mean() > np.median(values) + 20


def test_seed_must_fit_the_generator():
    with pytest.raises(OverflowError):
        Stream(2**64, 0)
