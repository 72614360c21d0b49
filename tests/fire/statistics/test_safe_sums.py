"""Sums are exact to the last bit in every order, small data or large."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet_fire.statistics import grouped_values
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits

numbers = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)


@given(st.lists(numbers, min_size=1, max_size=60), st.randoms())
def test_order_never_matters(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    one, other = (
        GroupedValues.of(np.array(x), None, 1).total(SafeLimits()) for x in (values, shuffled)
    )
    assert (one.mean, one.squares, one.size) == (other.mean, other.squares, other.size)


@given(st.lists(numbers, min_size=2, max_size=60))
@example([0.0, 1.552010658094915e-288])
@example([0.0, 2.2250738585072014e-308])
def test_moments_agree_with_fractions(values):
    facts = GroupedValues.of(np.array(values), None, 1).total(SafeLimits())
    exact = [Fraction(x) for x in values]
    mean = sum(exact) / len(exact)
    squares = float(sum((x - mean) ** 2 for x in exact))
    span = max(values) - min(values)
    assert facts.mean == pytest.approx(float(mean), rel=1e-14, abs=span * 1e-15)
    assert facts.squares == pytest.approx(squares, rel=1e-12, abs=span**2 * 1e-15)


@pytest.mark.parametrize("power", [1, 2])
def test_sums_of_distances_are_those_of_fractions(power):
    rng = np.random.default_rng(5)
    values, weights = rng.lognormal(8, 2, 3000), rng.lognormal(0, 1, 3000)
    codes = rng.integers(0, 3, values.size)
    centres, shifts = np.array([0.0, 100.0, 1e4]), np.array([0.0, 0.5, 0.0])
    found = grouped_values.exact_sums(
        values, codes, 3, weights=weights, centres=centres, shifts=shifts, power=power
    )
    away = (values - centres[codes] - shifts[codes]) ** power * weights
    exact = [float(sum(map(Fraction, away[codes == at].tolist()))) for at in range(3)]
    assert found == pytest.approx(exact, rel=1e-14)
