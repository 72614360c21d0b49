"""The ledger: universes that differ by a few units are always found, and unions of tables, too."""

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.arrays import GrowingRows
from discreet.disclosure import LedgerUniverse, ReleasedUniverses, conflicts_with, sketches
from discreet.disclosure.sketches import (
    MOST_MARKS,
    PRIMES,
    MarkIndex,
    marks_of,
    members_behind,
    mixed,
    sums_of,
)
from discreet.errors import OutputCheckError
from discreet_fire.units import read_units
from tests.helpers.ledger_parts import KEY, SIZE, of, shelf
from tests.helpers.rows import for_all_rows


@given(
    kept=st.integers(0, 60),
    left=st.integers(0, 14),
    new=st.integers(0, 14),
    size=st.integers(2, 12),
    start=st.integers(0, 10**6),
)
def test_exactly_the_sets_that_differ_by_fewer_units_are_found(
    kept: int, left: int, new: int, size: int, start: int
) -> None:
    units = range(start, start + kept + left + new)
    old = of(units[: kept + left], "old", size)
    now = of([*units[:kept], *units[kept + left :]], "new", size)
    found = conflicts_with(now, shelf(old), size=size, unions=False)
    assert bool(found) == (0 < left + new < size)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9, unique=True))
def test_no_more_members_are_counted_than_there_are_units_even_if_digests_collide(
    digests: list[int],
) -> None:
    """The reason why nothing is missed: sums of d terms have a recurrence of length d."""
    clashing = np.array([digest % 5 for digest in digests] + digests, dtype=np.uint64)
    for row, prime in enumerate(PRIMES):
        behind = members_behind(sums_of(clashing, 20)[row : row + 1], prime)[0]
        assert behind <= len(set(clashing.tolist()))


def test_the_same_units_in_another_table_and_in_another_order_are_no_conflict() -> None:
    assert conflicts_with(of(range(99, -1, -1)), shelf(of(range(100))), size=SIZE) == []
    assert of([1, 1, 2, "2", 2.0]).count == 2


def test_sums_of_two_released_tables_are_found() -> None:
    women, men = of(range(0, 300), "women"), of(range(300, 700), "men")
    everyone = of([*range(0, 695)], "all")
    (found,) = conflicts_with(everyone, shelf(women, men), size=SIZE)
    assert (found.kind, found.earlier) == ("sum", ("women", "men"))
    # and the other way round: what is left of a released total
    (found,) = conflicts_with(of(range(303, 700), "rest"), shelf(women, everyone), size=SIZE)
    assert set(found.earlier) == {"women", "all"}
    assert conflicts_with(of(range(0, 600)), shelf(women, men), size=SIZE) == []


def test_sums_are_found_among_many_tables_of_the_same_people_and_never_left_out_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    women, men = of(range(0, 300), "women"), of(range(300, 700), "men")
    everyone = of([*range(0, 695)], "all")
    (found,) = conflicts_with(everyone, shelf(*[women] * 50, *[men] * 50), size=SIZE)
    assert found.earlier == ("women", "men")
    monkeypatch.setattr("discreet.disclosure.sketches._MOST_PAIRS", 0)
    (found,) = conflicts_with(everyone, shelf(women, men), size=SIZE)
    assert found.kind == "pairs"


def test_more_pairs_than_memory_holds_are_too_many_and_no_crash() -> None:
    counts, every = np.full(120_000, 100, dtype=np.int64), np.arange(120_000)
    assert sketches._by_counts(200, 1, counts, every, every, SIZE) is None
    first, second = sketches._by_counts(200, 1, counts[:3], every[:3], every[:3], SIZE) or ((), ())
    assert list(zip(first, second, strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_nothing_that_is_shown_tells_how_many_units_differ_or_who() -> None:
    found = conflicts_with(of(range(1000, 1993)), shelf(of(range(1000, 2000), "old")), size=SIZE)
    text = f"{found} {found[0]} {KEY!r} {of(range(1000, 1993))!r}"
    assert "993" not in text
    assert " 7 " not in text
    assert str(1993) not in text


@for_all_rows("bad", [None, "", float("nan"), True, (1, 2)])
def test_records_of_nobody_are_refused(bad: object) -> None:
    with pytest.raises(OutputCheckError) as caught:
        KEY.digests([1, bad, 3] if bad is not True else [True])
    assert caught.value.code == "ledger-units"


def test_files_of_units(tmp_path: Path) -> None:
    pl.DataFrame({"id": range(50)}).write_csv(tmp_path / "u.csv")
    pl.DataFrame({"id": range(50), "x": 1}).write_parquet(tmp_path / "v.parquet")
    first = read_units(tmp_path / "u.csv", unit=None, key=KEY)
    second = read_units(tmp_path / "v.parquet", unit="id", key=KEY)
    assert len(first) == 50
    assert (first == second).all()
    (tmp_path / "w.csv").write_bytes(b"")
    for name, unit in (("v.parquet", None), ("v.parquet", "y"), ("w.csv", None), ("q.txt", None)):
        with pytest.raises(OutputCheckError):
            read_units(tmp_path / name, unit=unit, key=KEY)


def released(
    number: int, seed: int = 7
) -> tuple[ReleasedUniverses, np.ndarray, np.ndarray, np.ndarray]:
    """Intervals of a population of 200,000 as universes, by sums of prefixes: cheap and exact."""
    rng = np.random.default_rng(seed)
    digests = rng.integers(0, 2**64 - 1, 200_000, dtype=np.uint64)
    powers = 2 * SIZE - 1
    prefix = np.zeros((2, powers, len(digests) + 1), dtype=np.int64)
    halves = (digests & np.uint64(0xFFFFFFFF), digests >> np.uint64(32))
    for row, (prime, half) in enumerate(zip(PRIMES, halves, strict=True)):
        members = half.astype(np.int64) % (prime - 1) + 1
        power = np.ones(len(members), dtype=np.int64)
        for exponent in range(powers):
            prefix[row, exponent, 1:] = np.cumsum(power) % prime
            power = power * members % prime
    counts = rng.integers(1_000, 100_000, number)
    starts = rng.integers(0, len(digests) - counts)
    modulus = np.array(PRIMES)[None, :, None]
    ends = prefix[:, :, starts + counts].transpose(2, 0, 1)
    sums = (ends - prefix[:, :, starts].transpose(2, 0, 1)) % modulus
    names = [f"table {at}" for at in range(number)]
    mixed_ones = mixed(digests)
    order = np.argsort(mixed_ones)
    marks = []
    for start, end in zip(starts.tolist(), (starts + counts).tolist(), strict=True):
        inside = order[: 80 * MOST_MARKS * 100_000 // (end - start) // 20]
        inside = inside[(inside >= start) & (inside < end)]
        marks.append(np.unique(mixed_ones[inside])[:MOST_MARKS])
    index = MarkIndex.of(marks)
    whole = ReleasedUniverses(
        names=names, sizes=GrowingRows(counts), powers=GrowingRows(sums), marks=index
    )
    return whole, digests, starts, counts


def drawn(digests: np.ndarray, name: str) -> LedgerUniverse:
    return LedgerUniverse(
        name=name, count=len(digests), sums=sums_of(digests, SIZE), marks=marks_of(digests)
    )


@pytest.mark.exhaustive
def test_ten_thousand_released_tables_are_searched_in_under_a_second() -> None:
    whole, digests, starts, counts = released(10_000)
    start, end = int(starts[4711]), int(starts[4711] + counts[4711])
    assert (sums_of(digests[start:end], SIZE) == whole.sums[4711]).all()  # the trick is exact
    units = np.concatenate([digests[start + 5 : end], digests[end : end + 4]])
    assert (marks_of(digests[start:end]) == whole.marks.at(4711)).all()
    near, far = drawn(units, "near"), drawn(digests[start + 5 : end - 5], "far")
    same = drawn(digests[start:end], "same")
    before = time.process_time()
    found = conflicts_with(near, whole, size=SIZE, unions=False)
    single = time.process_time() - before
    assert [one.earlier for one in found] == [("table 4711",)]
    for one in (same, far):
        assert conflicts_with(one, whole, size=SIZE, unions=False) == []
    # the worst case: every table has as many units as the new one
    even = ReleasedUniverses(
        names=whole.names,
        sizes=GrowingRows(np.full(10_000, near.count)),
        powers=whole.powers,
        marks=whole.marks,
    )
    before = time.process_time()
    assert len(conflicts_with(near, even, size=SIZE, unions=False)) == 1
    worst = time.process_time() - before
    assert single < 5
    assert worst < 10, "under a second on a quiet machine; see `make bench ARGS=ledger`"


def _universes(seed: int) -> list[LedgerUniverse]:
    """Areas, what they come to together, and the same units under other names."""
    rng = np.random.default_rng(seed)
    units = rng.integers(0, 2**63, 4000).astype(np.uint64)
    cuts = np.sort(rng.choice(np.arange(30, 3970), 11, replace=False))
    parts = np.split(units, cuts)
    sets = [*parts, units, np.concatenate(parts[:3]), np.concatenate(parts[2:5])[:-3]]
    sets += [parts[int(at)] for at in rng.integers(0, len(parts), 3)]
    sets += [rng.choice(units, 700, replace=False), units[:3], units[:40]]
    order = rng.permutation(len(sets))
    return [of(sets[at].tolist(), f"u{at}") for at in order.tolist()]


@pytest.mark.parametrize(("seed", "asked", "latest"), [(0, False, 0), (1, True, 500), (2, True, 0)])
def test_a_joined_shelf_is_the_shelf_of_all(
    seed: int, asked: bool, latest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sketches, "_LATEST", latest)  # marks that stand apart meanwhile
    each = _universes(seed)
    joined = ReleasedUniverses.of(each[:4])
    for one in each[4:]:
        if asked:
            conflicts_with(one, joined, size=SIZE)
        joined = joined.joined(one)
    anew = ReleasedUniverses.of(each)
    for one, other in ((joined, anew), (joined.distinct, anew.distinct)):
        assert list(one.names) == list(other.names)
        for name in ("counts", "sums"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        _same_index(one.marks, other.marks)
    assert len(anew.distinct) < len(anew)
    for new in _universes(seed + 100) + each:
        expected = conflicts_with(new, anew, size=SIZE)
        assert conflicts_with(new, joined, size=SIZE) == expected


def _same_index(one: MarkIndex, other: MarkIndex) -> None:
    for name in ("flat", "ends", "sizes", "_starts", "_reaches"):
        found, wanted = getattr(one, name), getattr(other, name)
        assert np.array_equal(found, wanted), name
        assert found.dtype == wanted.dtype, name
    assert np.array_equal(one._by_set.rows, other._by_set.rows)
    found, wanted = (np.sort(np.concatenate(index._sorted)) for index in (one, other))
    assert np.array_equal(found, wanted)
    probe = marks_of(np.arange(500, dtype=np.uint64))
    assert np.array_equal(one.shared(probe), other.shared(probe))


def test_the_sets_have_conflicts_of_all_kinds() -> None:
    """Else the comparison of shelves would compare nothing."""
    kinds = set()
    for seed in range(2):
        each = _universes(seed)
        for at, new in enumerate(each):
            rest = ReleasedUniverses.of([*each[:at], *each[at + 1 :]])
            kinds |= {one.kind for one in conflicts_with(new, rest, size=SIZE)}
    assert kinds >= {"difference", "sum", "rest"}


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
    found, only = sketches.Relation(MarkIndex.of([second]), first), np.array([0])
    assert found.beyond(only)[0] <= len(np.setdiff1d(mixed(other), mixed(one)))
    assert found.lacking(only)[0] <= len(np.setdiff1d(mixed(one), mixed(other)))


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
    found = conflicts_with(total, shelf(*other, *parts), size=SIZE)
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
    found = conflicts_with(last, shelf(total, *parts), size=SIZE)
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
    kinds = {one.kind for one in conflicts_with(total, shelf(*parts), size=SIZE)}
    whole = [
        one
        for one in conflicts_with(total, shelf(*parts), size=SIZE)
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
        found = conflicts_with(one, shelf(*halves, whole, other), size=SIZE)
        wanted = ("whole", "other")
    else:
        found = conflicts_with(whole, shelf(*halves, one, other), size=SIZE)
        wanted = ("one", "other")
    if 0 < differing < SIZE and min(len(joined), first, second) > 3 * SIZE:
        assert wanted in [each.earlier for each in found]
    elif differing in (0, *range(SIZE, 20)):
        assert wanted not in [each.earlier for each in found]


def test_many_tables_of_the_same_people_do_not_take_long() -> None:
    """3,000 categories of 60 variables of 5,000 people; a variable's own are a partition."""
    rng = np.random.default_rng(8)
    released = [
        of(np.flatnonzero(codes == code).tolist(), f"t: v{at} = {code}")
        for at, codes in enumerate(rng.integers(0, 50, (60, 5_000)))
        for code in range(50)
    ]
    assert len(released) == 3000
    total = of(range(4, 5_000), "total")
    before = time.process_time()
    universes = ReleasedUniverses.of(released)
    found = [
        one for new in (total, *released[:5]) for one in conflicts_with(new, universes, size=SIZE)
    ]
    assert time.process_time() - before < 20
    assert {one.kind for one in found} == {"sum"}
    assert {len(one.earlier) for one in found} == {50}


def test_the_same_unit_however_a_file_writes_it() -> None:
    assert of([12, 12.0, "12", "12.0", " 12 ", "12."]).count == 1
    assert of(["1.5", 1.5, "a.0", "-3.0", -3]).count == 3
