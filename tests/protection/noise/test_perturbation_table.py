"""`PerturbationTable`: making one in Python, what it keeps secret, exact lookup."""

import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import PerturbationTable
from discreet.errors import PerturbationError
from tests.helpers.noise_tables import ptable
from tests.helpers.rows import for_all_rows

CENSUS = 10**15


# -- making one ---------------------------------------------------------------------


def test_three_ways_to_the_same_table() -> None:
    cumulative = PerturbationTable.from_cumulative(
        [[0, 1, 1], [0.25, 0.75, 1], [0.1, 0.3, 1.0]], noise=(-1, 0, 1)
    )
    transition = PerturbationTable.from_transition(
        [[1, 0, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.1, 0.2, 0.7]]
    )
    rows = PerturbationTable.from_rows(
        {
            0: {0: 1},
            1: {-1: "0.25", 0: Fraction(1, 2), 1: 0.25},
            2: {1: Decimal("0.7"), -1: 0.1, 0: np.float64(0.2)},
        }
    )
    assert cumulative == transition == rows
    assert hash(cumulative) == hash(rows)


def test_transition_matrix_with_named_targets() -> None:
    ptable = PerturbationTable.from_transition([[1, 0], [0.5, 0.5]], targets=[0, 3])
    assert ptable.transition_matrix().tolist() == [[1, 0, 0, 0], [0.5, 0, 0, 0.5]]


@for_all_rows(
    ("rows", "expected"),
    [
        ({0: {0: 1}, 1: {0: 0.5, 1: 0.4}}, "do not sum to one"),
        ({0: {0: 1}, 1: {0: 1.5, 1: -0.5}}, "negative"),
        ({0: {0: 1}, 1: {0: float("nan"), 1: 1}}, "not numbers"),
        ({0: {0: 1}, 1: {0: "a", 1: 1}}, "not numbers"),
        ({0: {0: 1}, 1: {-2: 0.5, 1: 0.5}}, "count negative"),
        ({0: {1: 1}, 1: {0: 1}}, "row 0 changes zeros"),
        ({0: {0: 1}, 2: {0: 1}}, "1 row is missing: 1"),
        ({0: {0: 1}, 1: {}}, "the row is empty"),
        ({0: {0: 1}, 1: {0.5: 1}}, "whole numbers"),
        ({}, "no rows"),
    ],
)
def test_rows_that_are_no_table(rows: Any, expected: str) -> None:
    with pytest.raises(PerturbationError, match=expected):
        PerturbationTable.from_rows(rows)


def test_all_problems_of_a_matrix_at_once() -> None:
    matrix = [[0, 1, 1], [0.5, 0.2, 1], [0, 0.5, 0.9], [0, 1]]
    with pytest.raises(PerturbationError) as caught:
        PerturbationTable.from_cumulative(matrix, noise=(-1, 0, 1))
    places = {problem.where for problem in caught.value.problems}
    assert {"row 1", "row 2", "row 3"} <= places


def test_a_repeating_block_ends_at_the_last_row() -> None:
    rows = {0: {0: 1}, 1: {1: 1}, 2: {2: 1}, 3: {3: 1}}
    ptable = PerturbationTable.from_rows(rows, beyond=(2, 2))
    count = np.arange(8)
    assert ptable.lookup(count, np.zeros(8, dtype=int)).tolist() == [0, 1, 2, 3, 2, 3, 2, 3]
    with pytest.raises(PerturbationError, match="the repeated block must end at the last row"):
        PerturbationTable.from_rows(rows, beyond=(2, 3))


# -- keeping it secret -------------------------------------------------------------


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ptable.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        ptable.content.noise[0] = 5
    assert ptable._repr_html_() is None  # type: ignore[func-returns-value]


def test_digests_name_the_content_under_a_key() -> None:
    other = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}})
    right = ptable.with_closed("right")
    digests = {table.digest(b"key") for table in (ptable, other, right)}
    assert len(digests) == 3
    assert ptable.digest(b"key") != ptable.digest(b"another key")
    assert ptable.digest(b"key") in digests
    assert len(ptable.digest(b"key")) == 64


# -- lookup --------------------------------------------------------------------------


def slow_lookup(rows: list[list[tuple[Fraction, int]]], closed: str, n: int, u: Fraction) -> int:
    """The definition: the first upper bound that exceeds (or reaches) the key."""
    row = rows[min(n, len(rows) - 1)]
    for upper, noise in row:
        if u < upper or (closed == "right" and u <= upper):
            return noise
    raise AssertionError


@given(
    cuts=st.lists(st.sets(st.integers(1, 999), min_size=1, max_size=4), min_size=1, max_size=4),
    size=st.sampled_from([2, 7, 256, 1000, 4096, 2**32, CENSUS]),
    closed=st.sampled_from(["left", "right"]),
    data=st.data(),
)
def test_lookup_is_exact_on_every_grid(
    cuts: list[set[int]], size: int, closed: Any, data: st.DataObject
) -> None:
    """Compared to fractions, with keys on, below and above every bound."""
    stated: dict[int, dict[int, Fraction]] = {0: {0: Fraction(1)}}
    rows = [[(Fraction(1), 0)]]
    for count, inner in enumerate(cuts, 1):
        bounds = [Fraction(cut, 1000) for cut in sorted(inner)] + [Fraction(1)]
        rows.append([(bound, at) for at, bound in enumerate(bounds)])
        below = [Fraction(0), *bounds[:-1]]
        stated[count] = {at: b - a for at, (a, b) in enumerate(zip(below, bounds, strict=True))}
    ptable = PerturbationTable.from_rows(stated, closed=closed)
    near = {int(bound * size) + step for row in rows for bound, _ in row for step in (-1, 0, 1)}
    keys = sorted(key for key in near if 0 <= key < size)
    counts = data.draw(st.lists(st.integers(0, 6), min_size=len(keys), max_size=len(keys)))
    expected = [
        slow_lookup(rows, closed, n, Fraction(key, size))
        for n, key in zip(counts, keys, strict=True)
    ]
    assert ptable.lookup(counts, keys, grid=size).tolist() == expected


def test_order_and_pieces_do_not_matter(reference: Path) -> None:
    ptable = PerturbationTable.read(reference / "cellkey" / "A1_ptable.csv.gz")
    random = np.random.default_rng(7)
    count = random.integers(0, 20, 700_000)
    key = random.integers(0, CENSUS, 700_000)
    noise = ptable.lookup(count, key)
    order = random.permutation(len(count))
    assert np.array_equal(ptable.lookup(count[order], key[order]), noise[order])
    assert np.array_equal(ptable.lookup(count[:1000], key[:1000]), noise[:1000])


@pytest.mark.parametrize(
    ("count", "key", "expected"),
    [
        ([-1], [0], "counts must not be negative"),
        ([1], [CENSUS], "1 of 1 cell keys are not on the grid"),
        ([1], [-1], "not on the grid"),
        ([1, 2], [0], "the numbers of counts and cell keys differ"),
        ([1], [0.25], "whole numbers"),
    ],
)
def test_keys_and_counts_that_cannot_be(count: list[int], key: list[Any], expected: str) -> None:
    with pytest.raises(PerturbationError, match=expected):
        ptable.lookup(count, key)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", ["ptable/m06_modified_ptable.csv", "ons/ptable_noise_D2_256.csv.gz"]
)
def test_ten_million_cells_in_under_two_seconds(reference: Path, name: str) -> None:
    """Two seconds on two cores; processor time, because other work may share them."""
    ptable = PerturbationTable.read(reference / name)
    size = CENSUS if ptable.key_grid is None else ptable.key_grid.size
    random = np.random.default_rng(1)
    count = random.geometric(0.2, 10_000_000)
    key = random.integers(0, size, len(count))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        noise = ptable.lookup(count, key, size)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 2 * 5
    sample = slice(0, 1000)
    assert np.array_equal(noise[sample], ptable.lookup(count[sample], key[sample], size))
