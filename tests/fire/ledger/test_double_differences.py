"""Differences of differences: A less B against C less D, each pair of them far apart."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet_fire.ledger import (
    LedgerUniverse,
    ReleasedUniverses,
    conflicts_with,
    conflicts_within,
)
from discreet_fire.ledger.marks import MarkIndex
from discreet_fire.ledger.nested_pairs import double_differences
from tests.helpers.ledger_parts import SIZE, of, shelf
from tests.helpers.rows import for_all_rows

Sets = list[set[int]]


def four(seed: int, few: int) -> Sets:
    """A ⊃ B and C ⊃ D, whose differences differ by some units."""
    rng = np.random.default_rng(seed)
    people = rng.permutation(3_000)
    part, other = set(people[:700].tolist()), set(people[700:1_500].tolist())
    between = set(people[1_500:1_900].tolist())
    more = set(people[1_900 : 1_900 + few].tolist())
    return [part | between | more, part, other | between, other]


def named(sets: Sets) -> list[LedgerUniverse]:
    return [of(one, name) for one, name in zip(sets, "ABCD", strict=True)]


@for_all_rows("seed", range(9))
def test_all_are_found_over_submissions_and_within_one(seed: int) -> None:
    a, b, c, d = named(four(seed, few=1 + seed % 9))
    assert not conflicts_with([a], shelf(b, c, d), size=SIZE)
    (found,), complete = double_differences([a], shelf(b, c, d), size=SIZE)
    assert complete
    told = "A and D together differ from B and C together by fewer units than the minimum"
    assert str(found) == f"{told}, released as 1 and 2 and 3"
    assert not conflicts_within([a, b, c, d], size=SIZE)
    (within,), _ = double_differences([a, b, c, d], shelf_of_none(), size=SIZE)
    assert str(within) == told
    (part,), _ = double_differences([d], shelf(a, b, c), size=SIZE)
    assert str(part).startswith("D and A together differ from B and C together")


@pytest.mark.parametrize("few", [0, SIZE, SIZE + 5])
def test_the_same_and_far_ones_are_no_matter(few: int) -> None:
    for seed in range(5):
        a, b, c, d = named(four(seed, few))
        assert double_differences([a], shelf(b, c, d), size=SIZE) == ([], True)


def test_what_two_of_them_tell_is_not_said_again() -> None:
    people = set(range(1_000))
    a, c = of(people, "A"), of(people - {1, 2}, "C")
    b, d = of(range(300, 600), "B"), of(range(300, 600), "D")
    assert conflicts_with([a], shelf(c), size=SIZE)
    assert double_differences([a, b], shelf(c, d), size=SIZE) == ([], True)


def test_too_many_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, d = named(four(1, few=2))
    monkeypatch.setattr("discreet_fire.ledger.nested_pairs._PAIRS", -1)
    assert double_differences([a], shelf(b, c, d), size=SIZE) == ([], False)
    monkeypatch.setattr("discreet_fire.ledger.nested_pairs._SETS", 3)
    assert double_differences([a], shelf(b, c, d), size=SIZE) == ([], False)


def test_three_hundred_universes_take_no_time() -> None:
    rng = np.random.default_rng(1)
    people = rng.permutation(3_000)
    cuts = [sorted(rng.integers(0, 3_000, 2).tolist()) for _ in range(300)]
    many = [of(people[low:high].tolist(), str(at)) for at, (low, high) in enumerate(cuts)]
    started = time.process_time()
    double_differences(many[:10], shelf(*many[10:]), size=SIZE)
    assert time.process_time() - started < 10


def shelf_of_none() -> ReleasedUniverses:
    """No universe is released."""
    one = shelf(of(range(50), "x"))
    none: dict[str, Any] = {name: getattr(one, name)[:0] for name in ("releases", "counts", "sums")}
    return replace(one, names=[], marks=MarkIndex.of([]), **none)
