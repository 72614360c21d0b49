"""The ledger: unions of tables, tables of many cells, and marks that find both quickly."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.disclosure import LedgerUniverse, ReleasedUniverses, conflicts_with
from discreet.disclosure.sketches import (
    MOST_MARKS,
    PRIMES,
    MarkIndex,
    marks_of,
    members_behind,
    mixed,
    sums_of,
)
from tests.helpers.ledger_parts import SIZE, of, shelf

# --- marks --------------------------------------------------------------------------


@given(
    kept=st.integers(0, 900),
    left=st.integers(0, 40),
    new=st.integers(0, 40),
    seed=st.integers(0, 10**6),
    clashing=st.booleans(),
)
def test_sets_share_all_marks_but_as_many_as_they_differ_by(
    kept: int, left: int, new: int, seed: int, clashing: bool
) -> None:
    """The reason why nothing is missed by looking at marks first; also if digests collide."""
    rng = np.random.default_rng(seed)
    top = 400 if clashing else 2**63
    digests = rng.integers(0, top, kept + left + new).astype(np.uint64)
    one, other = digests[: kept + left], np.delete(digests, np.arange(kept, kept + left))
    first, second = marks_of(one), marks_of(other)
    shared = MarkIndex.of([second]).shared(first)[0]
    assert shared == len(np.intersect1d(first, second))
    differing = len(np.setxor1d(mixed(one), mixed(other)))
    assert shared >= min(len(first), len(second)) - differing
    found = MarkIndex.of([second]).relation(first)
    assert found.other[0] - shared <= len(np.setdiff1d(mixed(other), mixed(one)))
    assert found.own[0] - shared <= len(np.setdiff1d(mixed(one), mixed(other)))


@given(
    size=st.integers(2, 15),
    members=st.lists(
        st.tuples(st.integers(1, PRIMES[0] - 1) | st.integers(1, 30), st.sampled_from([-2, -1, 1])),
        max_size=30,
    ),
)
def test_fewer_members_are_never_missed(size: int, members: list[tuple[int, int]]) -> None:
    """Differences of unions, too, in which a member counts twice; and nearly no others pass."""
    total: dict[int, int] = {}
    for member, weight in members:
        total[member] = total.get(member, 0) + weight
    behind = sum(weight != 0 for weight in total.values())
    powers = [sum(w * pow(x, k, PRIMES[0]) for x, w in members) for k in range(2 * size - 1)]
    sums = np.array([powers]) % PRIMES[0]
    if behind < size or (behind < 2 * size and min(total) > 30):
        assert members_behind(sums, PRIMES[0])[0] == min(behind, size)


def test_marks_of_sets_of_any_size_are_the_smallest_mixed_digests() -> None:
    digests = np.random.default_rng(4).integers(0, 2**63, 9000).astype(np.uint64)
    for piece in np.split(digests, [0, 1, 7, 500, 6000]):
        assert (marks_of(piece) == np.unique(mixed(piece))[:MOST_MARKS]).all()
    assert not sums_of(digests[:0], SIZE).any()


# --- unions -------------------------------------------------------------------------


def regions(sizes: list[int], start: int = 0) -> list[LedgerUniverse]:
    ends = start + np.cumsum(sizes)
    return [
        of(range(end - size, end), f"region {at}")
        for at, (size, end) in enumerate(zip(sizes, ends.tolist(), strict=True), 1)
    ]


#: From a small land to a large one, 20,000 people in all.
SIZES = [200, 250, 300, 450, 500, 650, 700, 900, 1000, 1100, 1300, 1500, 2000, 2500, 3000, 3650]


@pytest.mark.parametrize("change", [4, 9, 0, 10])
def test_regions_released_one_by_one_and_a_total_of_a_few_less(change: int) -> None:
    parts = regions(SIZES)
    other = [of(range(50_000, 50_400), "elsewhere"), of(range(100, 9000), "half")]
    total = of(range(sum(SIZES) - change), "total")
    found = conflicts_with([total], shelf(*other, *parts), size=SIZE)
    if change in (0, 10):
        assert found == []
    else:
        (one,) = found
        assert one.kind == "sum"
        assert set(one.earlier) == {part.name for part in parts}


@pytest.mark.parametrize("change", [3, 0, 12])
def test_the_last_region_after_a_total_and_all_other_regions(change: int) -> None:
    *parts, last = regions(SIZES)
    total = of(range(sum(SIZES) - change), "total")
    found = conflicts_with([last], shelf(total, *parts), size=SIZE)
    if change != 3:
        assert found == []
    else:
        (one,) = found
        assert (one.kind, one.earlier[0]) == ("rest", "total")
        assert set(one.earlier[1:]) == {part.name for part in parts}


@given(
    sizes=st.lists(st.integers(10, 60), min_size=3, max_size=6),
    dropped=st.integers(0, 12),
    added=st.integers(0, 12),
    seed=st.integers(0, 1000),
)
def test_small_parts_of_any_number_are_found(
    sizes: list[int], dropped: int, added: int, seed: int
) -> None:
    """Sets so small that all units are marks: the search is complete."""
    parts = regions(sizes, start=10**6 * (seed + 1))
    first = 10**6 * (seed + 1)
    total = of([*range(first + dropped, first + sum(sizes)), *range(-added, 0)], "total")
    kinds = {one.kind for one in conflicts_with([total], shelf(*parts), size=SIZE)}
    whole = [
        one
        for one in conflicts_with([total], shelf(*parts), size=SIZE)
        if len(one.earlier) == len(sizes)
    ]
    if 0 < dropped + added < SIZE:
        # a part that is nearly gone may be left out: then fewer parts are named
        assert "sum" in kinds
    else:
        assert whole == []


@given(
    first=st.integers(10, 700),
    second=st.integers(10, 700),
    both=st.integers(0, 6),
    gone=st.integers(0, 6),
    more=st.integers(0, 6),
    rest=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_unions_and_rests_of_two_are_always_found(
    first: int, second: int, both: int, gone: int, more: int, rest: bool, seed: int
) -> None:
    """Parts that overlap a little, a whole that lacks some and has others, among other tables."""
    start = 10**6 * (seed + 1)
    one = of(range(start, start + first), "one")
    other = of(range(start + first - both, start + first - both + second), "other")
    joined = range(start + gone, start + first - both + second)
    whole = of([*joined, *range(-more, 0)], "whole")
    halves = [of(range(start + at * 90, start + at * 90 + 400), f"t{at}") for at in range(12)]
    differing = both + gone + more
    if rest:
        found = conflicts_with([one], shelf(*halves, whole, other), size=SIZE)
        wanted = ("whole", "other")
    else:
        found = conflicts_with([whole], shelf(*halves, one, other), size=SIZE)
        wanted = ("one", "other")
    if 0 < differing < SIZE and min(len(joined), first, second) > 3 * SIZE:
        assert wanted in [each.earlier for each in found]
    elif differing in (0, *range(SIZE, 20)):
        assert wanted not in [each.earlier for each in found]


def test_many_tables_of_the_same_people_do_not_take_long() -> None:
    """3,000 categories of 60 variables of 5,000 people; a variable's own are a partition."""
    rng = np.random.default_rng(8)
    released = [
        of(np.flatnonzero(codes == code), f"t: v{at} = {code}")
        for at, codes in enumerate(rng.integers(0, 50, (60, 5_000)))
        for code in range(50)
    ]
    assert len(released) == 3000
    total = of(range(4, 5_000), "total")
    before = time.process_time()
    found = conflicts_with([total, *released[:5]], ReleasedUniverses.of(released), size=SIZE)
    assert time.process_time() - before < 20
    assert {one.kind for one in found} == {"sum"}
    assert {len(one.earlier) for one in found} == {50}


def test_the_same_unit_however_a_file_writes_it() -> None:
    assert of([12, 12.0, "12", "12.0", " 12 ", "12."]).count == 1
    assert of(["1.5", 1.5, "a.0", "-3.0", -3]).count == 3
