"""Universes held against those released before: who can be told by taking the difference.

In: universes of a submission and all released ones. Out: `Conflict`s, in words that may be
shown; how many units are concerned is never said but as "fewer than the minimum".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.output_checking.ledger.powers import PRIMES, Sums, added, hankel_ranks
from discreet.output_checking.ledger.universes import Universe

__all__ = ["Conflict", "Shelf", "conflicts_with", "conflicts_within"]

#: Most pairs of released universes that are looked at for one new universe.
_MOST_PAIRS = 200_000
#: Differences whose ranks are found at once; more need more memory.
_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True, order=True)
class Conflict:
    """Two figures whose difference is about fewer units than the minimum.

    Args:
        kind: ``difference``, ``sum`` (of two earlier ones) or ``pairs`` (too many to look at).
        universe: The new one.
        earlier: Those that it stands against.
        releases: The submissions that these are of; empty if it is the same one.
    """

    kind: str
    universe: str
    earlier: tuple[str, ...]
    releases: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind == "pairs":
            return f"{self.universe}: too many pairs of released tables to look at all of them"
        joined = " and ".join(self.earlier)
        place = f", released as {' and '.join(map(str, self.releases))}" if self.releases else ""
        meant = f"{joined} together" if self.kind == "sum" else joined
        return f"{self.universe} differs from {meant} by fewer units than the minimum{place}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Shelf:
    """All released universes side by side (confidential).

    Args:
        names: Their tables and categories.
        releases: The submission of each.
        counts: How many units each has.
        sums: Their power sums.
    """

    names: Sequence[str]
    releases: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: Sums

    def __len__(self) -> int:
        return len(self.names)

    def conflict(self, kind: str, new: Universe, *places: int) -> Conflict:
        """A conflict with some of them."""
        return Conflict(
            kind=kind,
            universe=new.name,
            earlier=tuple(self.names[at] for at in places),
            releases=tuple(sorted({int(self.releases[at]) for at in places})),
        )


def conflicts_with(
    new: Sequence[Universe], shelf: Shelf, *, size: int, pairs: bool = True
) -> list[Conflict]:
    """Conflicts of new universes with released ones.

    Args:
        new: The universes of a submission.
        shelf: The released ones.
        size: The minimum.
        pairs: Whether sums of two released ones are looked at, too.
    """
    found: list[Conflict] = []
    if len(shelf) == 0:
        return found
    different = _distinct(shelf) if pairs else shelf
    for one in _each_once(new):
        # sets that differ by fewer units than the minimum have counts that do, too
        near = np.flatnonzero(np.abs(shelf.counts - one.count) < size)
        places = near[_few(added((1, shelf.sums[near]), (-1, one.sums)), size)]
        found += [shelf.conflict("difference", one, int(at)) for at in places]
        if pairs:
            found += _pair_conflicts(one, different, size)
    return found


def conflicts_within(new: Sequence[Universe], *, size: int) -> list[Conflict]:
    """Conflicts between the universes of one submission.

    Args:
        new: The universes of a submission.
        size: The minimum.
    """
    ordered = sorted(new, key=lambda one: one.count)
    found = []
    for at, one in enumerate(ordered):
        rest = []
        for other in ordered[at + 1 :]:
            if other.count - one.count >= size:
                break
            rest.append(other)
        if rest:
            sums = np.stack([other.sums for other in rest])
            few = _few(added((1, sums), (-1, one.sums)), size)
            found += [_within(one, other) for other, yes in zip(rest, few, strict=True) if yes]
    return sorted(set(found))


def _each_once(new: Sequence[Universe]) -> Iterator[Universe]:
    """Universes without those of the same units as one before; their names go with the first."""
    seen: set[bytes] = set()
    for one in new:
        if (sketch := one.sums.tobytes()) not in seen:
            seen.add(sketch)
            yield one


def _distinct(shelf: Shelf) -> Shelf:
    """The same shelf with each set of units once."""
    flat = np.ascontiguousarray(shelf.sums).reshape(len(shelf), -1)
    rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
    places = np.sort(np.unique(rows, return_index=True)[1])
    return Shelf(
        names=[shelf.names[int(at)] for at in places],
        releases=shelf.releases[places],
        counts=shelf.counts[places],
        sums=shelf.sums[places],
    )


def _within(one: Universe, other: Universe) -> Conflict:
    first, second = sorted((one.name, other.name))
    return Conflict(kind="difference", universe=first, earlier=(second,))


def _few(sums: Sums, size: int) -> NDArray[np.bool_]:
    """Which differences are about some units, but fewer than the minimum.

    Nobody differs if all sums are zero: the same units in another table are no matter.
    """
    few = np.asarray(sums.any(axis=(1, 2)), dtype=np.bool_)
    for row, prime in enumerate(PRIMES):
        open_ones = np.flatnonzero(few)
        for start in range(0, len(open_ones), _AT_ONCE):
            some = open_ones[start : start + _AT_ONCE]
            few[some] = hankel_ranks(sums[some, row], prime) < size
    return few


def _pair_conflicts(one: Universe, shelf: Shelf, size: int) -> Iterator[Conflict]:
    """New = B + C, or B = new + C, up to fewer units than the minimum."""
    order = np.argsort(shelf.counts, kind="stable")
    counts = shelf.counts[order]
    for sign in (1, -1):
        # sign +1: count of the partner is new - B; sign -1: it is B - new
        wanted = sign * (one.count - counts)
        low = np.searchsorted(counts, wanted - size + 1, side="left")
        high = np.searchsorted(counts, wanted + size - 1, side="right")
        low = np.where(wanted >= size, low, high)  # partners of fewer units are no partners
        if sign == 1:  # each pair once
            low = np.minimum(np.maximum(low, np.arange(len(counts)) + 1), high)
        width = high - low
        if (total := int(width.sum())) == 0:
            continue
        if total > _MOST_PAIRS:
            yield Conflict(kind="pairs", universe=one.name, earlier=())
            continue
        first = np.repeat(np.arange(len(counts)), width)
        start = np.repeat(np.cumsum(width) - width, width)
        second = np.repeat(low, width) + np.arange(total) - start
        first, second = order[first], order[second]
        terms = ((1, shelf.sums[first]), (sign, shelf.sums[second]), (-1, one.sums))
        for at in np.flatnonzero(_few(added(*terms), size)):
            yield shelf.conflict("sum", one, int(first[at]), int(second[at]))
