"""The ledger: a shelf to which universes are added one by one is the shelf of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.disclosure import LedgerUniverse, ReleasedUniverses, conflicts_with
from discreet.disclosure.sketches import MarkIndex, marks_of
from tests.helpers.ledger_parts import SIZE, of


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


@pytest.mark.parametrize(("seed", "asked"), [(0, False), (1, True)])
def test_a_joined_shelf_is_the_shelf_of_all(seed: int, asked: bool) -> None:
    each = _universes(seed)
    joined = ReleasedUniverses.of(each[:4])
    for one in each[4:]:
        if asked:
            conflicts_with([one], joined, size=SIZE)
        joined = joined.joined(one)
    anew = ReleasedUniverses.of(each)
    for one, other in ((joined, anew), (joined.distinct, anew.distinct)):
        assert list(one.names) == list(other.names)
        for name in ("counts", "sums"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        _same_index(one.marks, other.marks)
    assert len(anew.distinct) < len(anew)
    for new in _universes(seed + 100) + each:
        expected = conflicts_with([new], anew, size=SIZE)
        assert conflicts_with([new], joined, size=SIZE) == expected


def _same_index(one: MarkIndex, other: MarkIndex) -> None:
    for name in ("flat", "ends", "sizes", "_starts", "_sorted", "_by_set", "_reaches"):
        found, wanted = getattr(one, name), getattr(other, name)
        assert np.array_equal(found, wanted), name
        assert found.dtype == wanted.dtype, name
    probe = marks_of(np.arange(500, dtype=np.uint64))
    assert np.array_equal(one.shared(probe), other.shared(probe))


def test_the_sets_have_conflicts_of_all_kinds() -> None:
    """Else the comparison of shelves would compare nothing."""
    kinds = set()
    for seed in range(2):
        each = _universes(seed)
        for at, new in enumerate(each):
            rest = ReleasedUniverses.of([*each[:at], *each[at + 1 :]])
            kinds |= {one.kind for one in conflicts_with([new], rest, size=SIZE)}
    assert kinds >= {"difference", "sum", "rest"}
