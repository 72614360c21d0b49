"""Classifications of a number by intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import ClassificationError
from tests.helpers.rows import for_all_rows

AGES = [0, 6, 15, 18, 65]


def test_age_bands_are_written_as_people_read_them():
    age = Classification.from_intervals("age", AGES)
    assert age.leaves == ("0-5", "6-14", "15-17", "18-64", "65+")
    assert [age.label(code) for code in age.leaves] == ["0–5", "6–14", "15–17", "18–64", "65+"]
    assert age.bounds == (0, 6, 15, 18, 65, math.inf)


def test_the_last_interval_may_end_and_the_first_be_open():
    closed = Classification.from_intervals("age", [0, 18, 65], open_last=False)
    assert closed.leaves == ("0-17", "18-64")
    assert closed.bounds == (0, 18, 65)
    opened = Classification.from_intervals("age", [18, 65], open_first=True)
    assert opened.leaves == ("<18", "18-64", "65+")
    assert opened.label("<18", "de") == "unter 18"
    assert opened.label("<18", "en") == "under 18"
    assert opened.bounds == (-math.inf, 18, 65, math.inf)


def test_single_years_negative_numbers_and_decimals():
    assert Classification.from_intervals("age", [0, 1, 2]).leaves == ("0", "1", "2+")
    cold = Classification.from_intervals("t", [-10, -5, 0])
    assert cold.leaves == ("-10..-6", "-5..-1", "0+")
    assert cold.label("-5..-1", "de") == "−5 bis −1"
    rent = Classification.from_intervals("rent", [0, 2.5, 5])
    assert rent.leaves == ("0-<2.5", "2.5-<5", "5+")
    assert rent.label("2.5-<5", "en") == "2.5 to under 5"
    euros = Classification.from_intervals("rent", [0, 500, 1000], whole=False)
    assert euros.leaves == ("0-<500", "500-<1000", "1000+")


def test_coarser_bounds_that_nest_make_a_tree_and_equal_intervals_are_one():
    age = Classification.from_intervals("age", AGES, parents=[[0, 18], [0, 18, 65]])
    assert age.children("Total") == ("0-17", "18+")
    assert age.children("0-17") == ("0-5", "6-14", "15-17")
    assert age.children("18+") == ("18-64", "65+")
    assert age.leaves == ("0-5", "6-14", "15-17", "18-64", "65+")
    assert age.bounds == (0, 6, 15, 18, 65, math.inf)


def test_numbers_of_numpy_and_labels_of_ones_own():
    age = Classification.from_intervals(
        "age", np.array([0, 65]), labels={"65+": {"en": "65 and over"}}
    )
    assert age.label("65+") == "65 and over"
    assert age.label("0-64") == "0–64"


def test_missing_values_keep_a_category_besides_the_intervals():
    age = Classification.from_intervals("age", AGES).with_missing()
    assert age.leaves[-1] == "Missing"
    assert len(age.bounds) == len(age.leaves)


@for_all_rows(
    ("bounds", "options", "message"),
    [
        ([0, 6, 6], {}, "bound 6 does not exceed 6"),
        ([0, 15, 6], {}, "bound 6 does not exceed 15"),
        ([], {}, "bounds is empty"),
        ([0, math.nan], {}, "not a finite number"),
        ([0, math.inf], {}, "not a finite number"),
        ([0, 10**400], {}, "not a finite number"),
        (["0", 6], {}, "'0' is not a finite number"),
        ([0, True], {}, "True is not a finite number"),
        ([0, 2.5], {"whole": True}, "2.5 is not a whole number"),
        ([0], {"open_last": False}, "0 intervals for 1 codes of the finest level"),
        ([0, 6, 18], {"parents": [[0, 10]]}, "coarser bound 10 is not a bound"),
        ([0, 6, 18], {"parents": [[6]]}, "do not cover all the finer ones"),
        (
            [0, 6, 18, 65],
            {"parents": [[0, 18]], "open_last": False},
            "do not cover all the finer ones",
        ),
    ],
)
def test_bounds_that_make_no_tree_are_refused(bounds, options, message):
    with pytest.raises(ClassificationError, match=message):
        Classification.from_intervals("v", bounds, **options)


@given(
    st.lists(st.integers(-50, 50), unique=True, min_size=1),
    st.booleans(),
    st.data(),
)
def test_leaves_follow_the_bounds_whatever_nests_above_them(bounds, open_first, data):
    bounds = sorted(bounds)
    kept = data.draw(st.lists(st.sampled_from(bounds), unique=True))
    coarse = sorted({bounds[0], *kept})
    flat = Classification.from_intervals("v", bounds, open_first=open_first)
    nested = Classification.from_intervals("v", bounds, parents=[coarse], open_first=open_first)
    assert nested.leaves == flat.leaves
    assert nested.bounds == flat.bounds
    assert all(code.isascii() for code in nested.codes)
