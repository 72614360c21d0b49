"""Differences of differences: A less B against C less D, which differ by a few units.

In: universes of a submission and all released ones (CONFIDENTIAL). Out: `Conflict`s in words that
may be shown, and whether all were looked at. B lies in A, and D in C, as filters do; only such
pairs are looked at. Pairs are put beside each other by their counts, then by the marks that all
universes have in common, then by their power sums; nothing is missed by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet_fire.ledger.conflicts import Conflict, ReleasedUniverses, few_differing
from discreet_fire.ledger.marks import MarkIndex
from discreet_fire.ledger.power_sums import added
from discreet_fire.ledger.universes import LedgerUniverse

#: Universes, pairs of pairs, and conflicts that are told.
_SETS, _PAIRS, _TOLD = 2_000, 1_000_000, 20
#: Pairs of pairs that are held in memory at once.
_AT_ONCE = 200_000


def double_differences(
    new: Sequence[LedgerUniverse], shelf: ReleasedUniverses, *, size: int
) -> tuple[list[Conflict], bool]:
    """Differences of new universes that differ from others by a few units; whether all are
    known.
    """
    if not new:
        return [], True
    every = _side_by_side(new, shelf).distinct
    if len(every) > _SETS:
        return [], False
    whole, part = _nested(every, size)
    mine = np.flatnonzero((every.releases[whole] == 0) | (every.releases[part] == 0))
    conflicts: list[Conflict] = []
    for first, second in _pairs(every.counts[whole] - every.counts[part], mine, size):
        if first is None or second is None:
            return conflicts, False
        hits = _hits(every, (whole[first], part[first]), (whole[second], part[second]), size)
        conflicts += [_told(every, *hit) for hit in hits]
        if len(conflicts) > _TOLD:
            return conflicts[:_TOLD], False
    return conflicts, True


def _side_by_side(new: Sequence[LedgerUniverse], shelf: ReleasedUniverses) -> ReleasedUniverses:
    """All universes, the new ones first, as of release 0."""
    marks = [one.marks for one in new] + [shelf.marks.at(at) for at in range(len(shelf))]
    own = [one.sums for one in new]
    return ReleasedUniverses(
        names=[*(one.name for one in new), *shelf.names],
        releases=np.concatenate([np.zeros(len(new), dtype=np.int64), shelf.releases]),
        counts=np.concatenate([[one.count for one in new], shelf.counts]).astype(np.int64),
        sums=np.concatenate([np.stack(own), *([shelf.sums] if len(shelf) else [])]),
        marks=MarkIndex.of(marks),
    )


def _nested(every: ReleasedUniverses, size: int) -> tuple[IntArray, IntArray]:
    """Universes, and smaller ones that lie in them as far as common marks tell."""
    bits, counts = every.marks.sample[1], every.counts
    whole, part = [], []
    for at in range(len(every)):
        inside = counts <= counts[at] - size
        inside[inside] = ((bits[inside] & ~bits[at]) == 0).all(axis=1)
        rows = np.flatnonzero(inside)
        whole.append(np.full(len(rows), at, dtype=np.int64))
        part.append(rows)
    return np.concatenate(whole), np.concatenate(part)


def _pairs(
    left: IntArray, mine: IntArray, size: int
) -> Iterator[tuple[IntArray | None, IntArray | None]]:
    """Pairs of differences of nearly the same count, one of them new; None if there are too
    many.
    """
    order = np.argsort(left, kind="stable")
    ordered = left[order]
    low = np.searchsorted(ordered, left[mine] - size + 1, side="left")
    high = np.searchsorted(ordered, left[mine] + size - 1, side="right")
    is_mine = np.zeros(len(left), dtype=np.bool_)
    is_mine[mine] = True
    ends = np.cumsum(high - low)
    begin = 0
    while begin < len(mine):
        done = int(ends[begin - 1]) if begin else 0
        if done > _PAIRS:
            yield None, None
            return
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        width = (high - low)[begin:end]
        first = np.repeat(mine[begin:end], width)
        start = np.repeat(low[begin:end] - (np.cumsum(width) - width), width)
        second = order[start + np.arange(int(width.sum()))]
        once = ~is_mine[second] | (first < second)
        yield first[once], second[once]
        begin = end


def _hits(
    every: ReleasedUniverses,
    one: tuple[IntArray, IntArray],
    other: tuple[IntArray, IntArray],
    size: int,
) -> Iterator[tuple[int, int, int, int]]:
    """Pairs that differ by some, but few units, and not for the sake of two of the universes."""
    bits = every.marks.sample[1]
    rests = [bits[whole] & ~bits[part] for whole, part in (one, other)]
    fits: BoolArray = np.bitwise_count(rests[0] ^ rests[1]).sum(axis=1) < size
    fits &= (one[0] != other[0]) & (one[1] != other[1])
    some = np.flatnonzero(fits)
    a, b, c, d = (column[some] for column in (*one, *other))
    sums = every.sums
    terms = ((1, sums[a]), (-1, sums[b]), (-1, sums[c]), (1, sums[d]))
    few = few_differing(added(*terms), size)
    a, b, c, d = (column[few] for column in (a, b, c, d))
    # Where wholes or parts differ by few, that is a conflict of its own.
    known = few_differing(added((1, sums[a]), (-1, sums[c])), size)
    known |= few_differing(added((1, sums[b]), (-1, sums[d])), size)
    yield from zip(*(column[~known].tolist() for column in (a, b, c, d)), strict=True)


def _told(every: ReleasedUniverses, a: int, b: int, c: int, d: int) -> Conflict:
    """A and D beside B and C, told of a new one."""
    first = next(at for at in (a, d, b, c) if not every.releases[at])
    second, third, fourth = {a: (d, b, c), d: (a, b, c), b: (c, a, d), c: (b, a, d)}[first]
    third, fourth = sorted((third, fourth))
    releases = {int(every.releases[at]) for at in (a, b, c, d)} - {0}
    return Conflict(
        kind="differences",
        universe=every.names[first],
        earlier=tuple(every.names[at] for at in (second, third, fourth)),
        releases=tuple(sorted(releases)),
    )
