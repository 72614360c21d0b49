"""Sums of floats are exact, whatever the order."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.tabulation.measures import LIMIT, from_limbs, to_limbs

amounts = st.floats(min_value=-1e13, max_value=1e13).map(lambda x: round(x * 4096) / 4096)


@given(st.lists(amounts, min_size=1, max_size=60))
def test_sums_equal_sums_of_fractions(values):
    limbs = to_limbs(np.array(values))
    sums = [np.array([sum(int(part) for part in limb)]) for limb in limbs]
    expected = float(sum(Fraction(value) for value in values))
    assert float(from_limbs(*sums)[0]) == expected


@given(st.lists(st.floats(min_value=-LIMIT / 2, max_value=LIMIT / 2), min_size=1, max_size=60))
def test_no_order_and_no_split_changes_a_bit(values):
    array = np.array(values)
    forward = [part.astype(np.int64).sum(keepdims=True) for part in to_limbs(array)]
    backward = [part.astype(np.int64).sum(keepdims=True) for part in to_limbs(array[::-1])]
    assert from_limbs(*forward).tobytes() == from_limbs(*backward).tobytes()


@given(st.floats(min_value=-LIMIT / 2, max_value=LIMIT / 2))
def test_one_number_comes_back_to_the_last_stored_bit(value):
    parts = [part.astype(np.int64) for part in to_limbs(np.array([value]))]
    back = float(from_limbs(*parts)[0])
    assert abs(Fraction(back) - Fraction(value)) <= Fraction(1, 2**56)
