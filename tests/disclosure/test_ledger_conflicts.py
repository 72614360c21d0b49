"""The ledger: universes that differ by a few units are always found."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    found = conflicts_with([now], shelf(old), size=size, unions=False)
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
    assert conflicts_with([of(range(99, -1, -1))], shelf(of(range(100))), size=SIZE) == []
    assert of([1, 1, 2, "2", 2.0]).count == 2


def test_sums_of_two_released_tables_are_found() -> None:
    women, men = of(range(0, 300), "women"), of(range(300, 700), "men")
    everyone = of([*range(0, 695)], "all")
    (found,) = conflicts_with([everyone], shelf(women, men), size=SIZE)
    assert (found.kind, found.earlier) == ("sum", ("women", "men"))
    # and the other way round: what is left of a released total
    (found,) = conflicts_with([of(range(303, 700), "rest")], shelf(women, everyone), size=SIZE)
    assert set(found.earlier) == {"women", "all"}
    assert conflicts_with([of(range(0, 600))], shelf(women, men), size=SIZE) == []


def test_sums_are_found_among_many_tables_of_the_same_people_and_never_left_out_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    women, men = of(range(0, 300), "women"), of(range(300, 700), "men")
    everyone = of([*range(0, 695)], "all")
    (found,) = conflicts_with([everyone, everyone], shelf(*[women] * 50, *[men] * 50), size=SIZE)
    assert found.earlier == ("women", "men")
    monkeypatch.setattr("discreet.disclosure.sketches._MOST_PAIRS", 0)
    (found,) = conflicts_with([everyone], shelf(women, men), size=SIZE)
    assert found.kind == "pairs"


def test_more_pairs_than_memory_holds_are_too_many_and_no_crash() -> None:
    counts, every = np.full(120_000, 100, dtype=np.int64), np.arange(120_000)
    assert sketches._by_counts(200, 1, counts, every, every, SIZE) is None
    first, second = sketches._by_counts(200, 1, counts[:3], every[:3], every[:3], SIZE) or ((), ())
    assert list(zip(first, second, strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_nothing_that_is_shown_tells_how_many_units_differ_or_who() -> None:
    found = conflicts_with([of(range(1000, 1993))], shelf(of(range(1000, 2000), "old")), size=SIZE)
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
    whole = ReleasedUniverses(names=names, counts=counts, sums=sums, marks=index)
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
    found = conflicts_with([near], whole, size=SIZE, unions=False)
    single = time.process_time() - before
    assert [one.earlier for one in found] == [("table 4711",)]
    assert conflicts_with([same, far], whole, size=SIZE, unions=False) == []
    # the worst case: every table has as many units as the new one
    even = ReleasedUniverses(
        names=whole.names,
        counts=np.full(10_000, near.count),
        sums=whole.sums,
        marks=whole.marks,
    )
    before = time.process_time()
    assert len(conflicts_with([near], even, size=SIZE, unions=False)) == 1
    worst = time.process_time() - before
    assert single < 5
    assert worst < 10, "under a second on a quiet machine; see `make bench ARGS=ledger`"
