"""Conflicts: universes whose difference from released ones tells about a few units.

In: universes of a submission and all released ones (CONFIDENTIAL). Out: `Conflict`s, in words
that may be shown; how many units are concerned is never said but as "fewer than the minimum".

Two universes are held against each other by their power sums. Unions of three and more tables are
searched as covers: each mark of a set lies in one part, but for fewer units than the minimum, so
the first mark that is not covered yet is taken, and one part after the other that has it. Sets
are many and ways more, so the effort is bounded: what is found is true, what is not found may be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure.sketches import (
    MOST_MARKS,
    PRIMES,
    MarkIndex,
    Marks,
    Relation,
    added,
    members_behind,
)

#: Steps of one search and of all for one submission, wholes that are looked at, ways given.
_STEPS, _ALL_STEPS, _WHOLES, _WAYS = 100, 1_000, 20, 50
#: Parts too small to have a mark that are tried for what is left.
_SMALL = 50


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LedgerUniverse:
    """Whom one figure of an output is about (confidential, but for its names)."""

    name: str
    count: int = field(repr=False)  # how many units
    sums: IntArray = field(repr=False)  # their power sums
    marks: Marks = field(repr=False)  # their marks

    def __repr__(self) -> str:
        return f"<Universe {self.name}>"


@dataclass(kw_only=True, repr=False)
class CoverEffort:
    """Remaining effort for one submission."""

    steps: int = _ALL_STEPS
    wholes: int = _WHOLES

    def begin(self) -> bool:
        """Whether another released whole may be looked at."""
        self.wholes -= 1
        return self.wholes >= 0 and self.steps > 0


class _Cover:
    """A search for ways to cover a set by three or more others, up to few units.

    Beside the parts there may be a set that is covered already: `given`.
    """

    def __init__(
        self,
        marks: Marks,
        count: int,
        shelf: ReleasedUniverses,
        relation: Relation,
        size: int,
        given: LedgerUniverse | None = None,
        within: BoolArray | bool = True,
    ) -> None:
        counts, index = shelf.counts, shelf.marks
        # so few marks that no part of the set ends before the last of them
        reach = marks if len(marks) < MOST_MARKS else marks[: MOST_MARKS - size + 1]
        extras = relation.other - relation.shared
        burden = np.zeros_like(counts) if given is None else index.shared(given.marks)
        fits = (extras < size) & (counts >= size) & (counts <= count - size) & within
        fits &= burden < size
        places = np.flatnonzero(fits)
        places = places[np.argsort(-counts[places], kind="stable")]
        self.index, self.places, self.size = index, places, size
        #: Which marks of the set each part has; the index of all is in order already: one of the
        #: parts alone would have to be sorted
        self.table = index.bits(reach, places)
        self.bits = _packed(self.table)
        self.counts = counts[places]  # how many units each part has
        self.extras = extras[places]  # marks of each part that the set has not
        self.small = np.flatnonzero(~self.table.any(axis=1))  # parts without a mark of the set
        self.least = 3 if given is None else 2  # how many parts a way must have
        self.left, self.burden = count, burden[places]
        self.open_marks = (1 << len(reach)) - 1
        if given is not None:
            self.left -= given.count
            self.open_marks &= ~_packed(np.isin(reach, given.marks)[None])[0]
        self.steps = 0  # how many are left
        self.ways: list[tuple[int, ...]] = []
        self.known: dict[int, IntArray] = {}
        self.fitting: dict[int, IntArray] = {}

    def found(self, effort: CoverEffort) -> list[tuple[int, ...]]:
        """The ways, by the places of their parts; first what fits well."""
        slacks = sorted({0, min(2, self.size - 1), self.size - 1}) if len(self.places) > 1 else []
        for slack in slacks:
            self.steps = before = min(_STEPS, effort.steps)
            self.go(self.open_marks, self.left, slack, self.burden)
            effort.steps -= before - max(self.steps, 0)
            if self.ways:
                break
        ways = dict.fromkeys(tuple(sorted(way)) for way in self.ways)
        return [tuple(self.places[list(way)].tolist()) for way in ways]

    def go(self, open_marks: int, left: int, slack: int, burden: IntArray, *chosen: int) -> None:
        """Cover the first open mark by each part that has it, or leave it out."""
        self.steps -= 1
        if self.steps < 0 or len(self.ways) >= _WAYS:
            return
        if not open_marks:
            self._end(left, chosen)
            return
        lowest = open_marks & -open_marks
        fitting = self._with_mark(lowest.bit_length() - 1)
        cost = burden[fitting] + self.extras[fitting]
        possible = (cost <= slack) & (self.counts[fitting] < left + self.size)
        for at in np.flatnonzero(possible)[np.argsort(cost[possible], kind="stable")].tolist():
            part = int(fitting[at])
            rest, still = left - int(self.counts[part]), open_marks & ~self.bits[part]
            more = burden + self._shared(part)
            self.go(still, rest, slack - int(cost[at]), more, *chosen, part)
        if slack:
            self.go(open_marks ^ lowest, left, slack - 1, burden, *chosen)

    def _with_mark(self, mark: int) -> IntArray:
        """The parts that have a mark; few marks of a set are ever looked for."""
        if mark not in self.fitting:
            self.fitting[mark] = np.flatnonzero(self.table[:, mark])
        return self.fitting[mark]

    def _shared(self, part: int) -> IntArray:
        """How many marks each part shares with one; with itself, so many that it is done."""
        if part not in self.known:
            shared = self.index.shared(self.index.at(int(self.places[part])))[self.places]
            shared[part] += self.size
            self.known[part] = shared
        return self.known[part]

    def _end(self, left: int, chosen: tuple[int, ...]) -> None:
        if abs(left) < self.size:
            if len(chosen) >= self.least:
                self.ways.append(chosen)
        elif left > 0 and len(chosen) + 1 >= self.least:
            fitting = self.small[np.abs(left - self.counts[self.small]) < self.size]
            self.ways += [(*chosen, int(one)) for one in fitting[:_SMALL]]


def _packed(table: BoolArray) -> list[int]:
    """Each row as one whole number."""
    rows = np.packbits(table, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


#: Most pairs of released universes that are looked at for one new universe.
_MOST_PAIRS = 200_000
#: Most pairs whose counts fit.
_MOST_JOINED = 2_000_000
#: Universes of a submission, the largest ones, that are held against unions.
_MOST_UNIONS = 500
#: Differences whose members are counted at once; more need more memory.
_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True, order=True)
class Conflict:
    """Two figures whose difference is about fewer units than the minimum."""

    #: ``difference``, ``sum`` (of earlier ones), ``rest`` (of the first, without the others) or
    #: ``pairs`` (too many to look at)
    kind: str
    universe: str  # the new one
    earlier: tuple[str, ...]  # those that it stands against


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedUniverses:
    """All released universes side by side (confidential)."""

    names: Sequence[str]  # their names
    counts: IntArray  # how many units each has
    sums: IntArray  # their power sums
    marks: MarkIndex  # their marks

    @classmethod
    def of(cls, universes: Sequence[LedgerUniverse]) -> ReleasedUniverses:
        """Some universes, one at least, side by side."""
        return cls(
            names=[one.name for one in universes],
            counts=np.array([one.count for one in universes], dtype=np.int64),
            sums=np.stack([one.sums for one in universes]),
            marks=MarkIndex.of([one.marks for one in universes]),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def distinct(self) -> ReleasedUniverses:
        """A copy with each set of units once."""
        flat = np.ascontiguousarray(self.sums).reshape(len(self), -1)
        rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
        places = np.sort(np.unique(rows, return_index=True)[1])
        if len(places) == len(self):
            return self
        return ReleasedUniverses(
            names=[self.names[int(at)] for at in places],
            counts=self.counts[places],
            sums=self.sums[places],
            marks=self.marks.taken(places),
        )

    def joined(self, one: LedgerUniverse) -> ReleasedUniverses:
        """A copy with one more universe at its end; quicker than a new one."""
        universes = ReleasedUniverses(
            names=[*self.names, one.name],
            counts=np.append(self.counts, one.count),
            sums=np.concatenate([self.sums, one.sums[None]]),
            marks=self.marks.joined(one.marks),
        )
        if "distinct" in self.__dict__:
            once = self.distinct
            known = (once.sums == one.sums).all(axis=(1, 2)).any()
            if not known:
                once = universes if once is self else once.joined(one)
            universes.__dict__["distinct"] = once
        return universes

    def conflict(self, kind: str, new: LedgerUniverse, *places: int) -> Conflict:
        """A conflict with some of them."""
        return Conflict(
            kind=kind,
            universe=new.name,
            earlier=tuple(self.names[at] for at in places),
        )


def conflicts_with(
    new: Sequence[LedgerUniverse],
    shelf: ReleasedUniverses,
    *,
    size: int,
    unions: bool = True,
    apart: Collection[str] = (),
) -> list[Conflict]:
    """Conflicts of new universes with released ones.

    Args:
        new: The new ones.
        shelf: The released ones.
        size: Differences of fewer units are conflicts.
        unions: Whether with sums and differences of released ones.
        apart: Names of released ones that have no unit in common with any new one: a new one of so
            many units is no part of them, nor has them as parts.
    """
    conflicts: list[Conflict] = []
    if not len(shelf):
        return conflicts
    effort = CoverEffort()
    once = _each_once(new)
    largest = {id(one) for one in sorted(once, key=lambda one: -one.count)[:_MOST_UNIONS]}
    for one in once:
        places = _near_places(one, shelf, size)
        conflicts += [shelf.conflict("difference", one, int(at)) for at in places]
        if unions and id(one) in largest:
            shared = np.ones(len(shelf.distinct), dtype=np.bool_)
            if apart and one.count >= size:
                shared = np.array([name not in apart for name in shelf.distinct.names])
            if not shared.any():
                continue
            relation = shelf.distinct.marks.relation(one.marks)
            sums = list(_pair_conflicts(one, shelf.distinct, relation, size, shared))
            conflicts += sums
            if not sums and not len(places):  # else it is known already
                conflicts += _cover_conflicts(one, shelf.distinct, relation, size, effort, shared)
    return conflicts


def _near_places(one: LedgerUniverse, shelf: ReleasedUniverses, size: int) -> IntArray:
    """Released universes that differ by some, but fewer units than the minimum.

    Such sets have counts that differ by fewer, and share all marks but fewer.
    """
    close = np.flatnonzero(np.abs(shelf.counts - one.count) < size)
    least = np.minimum(shelf.marks.sizes[close], len(one.marks)) - size + 1
    near = close[shelf.marks.shared(one.marks, close) >= least]
    return near[few_differing(added((1, shelf.sums[near]), (-1, one.sums)), size)]


def _each_once(new: Sequence[LedgerUniverse]) -> list[LedgerUniverse]:
    """Universes without those of the same units as one before; their names go with the first."""
    universes: dict[bytes, LedgerUniverse] = {}
    for one in new:
        universes.setdefault(one.sums.tobytes(), one)
    return list(universes.values())


def few_differing(sums: IntArray, size: int) -> BoolArray:
    """Which differences are about some units, but fewer than the minimum.

    Nobody differs if all sums are zero: the same units in another table are no matter.
    """
    few = np.asarray(sums.any(axis=(1, 2)), dtype=np.bool_)
    for row, prime in enumerate(PRIMES):
        for some in np.split(np.flatnonzero(few), range(_AT_ONCE, int(few.sum()), _AT_ONCE)):
            few[some] = members_behind(sums[some, row], prime) < size
    return few


def _pair_conflicts(
    one: LedgerUniverse,
    shelf: ReleasedUniverses,
    relation: Relation,
    size: int,
    shared: BoolArray,
) -> Iterator[Conflict]:
    """New = B + C, or B = new + C, up to fewer units than the minimum.

    Parts have few marks that the whole has not, and parts of one whole share few.
    """
    parts = np.flatnonzero((relation.other - relation.shared < size) & shared)
    wholes = np.flatnonzero((relation.own - relation.shared < size) & shared)
    others = np.flatnonzero(relation.shared < size)
    for kind, sign, left, right in (("sum", 1, parts, parts), ("rest", -1, wholes, others)):
        pairs = _by_counts(one.count, sign, shelf.counts, left, right, size)
        if pairs is not None:
            fits = _fitting(one, sign, shelf, *pairs) < size
            pairs = pairs[0][fits], pairs[1][fits]
        if pairs is None or len(pairs[0]) > _MOST_PAIRS:
            yield Conflict(kind="pairs", universe=one.name, earlier=())
            continue
        first, second = pairs
        terms = ((1, shelf.sums[first]), (sign, shelf.sums[second]), (-1, one.sums))
        for at in np.flatnonzero(few_differing(added(*terms), size)):
            yield shelf.conflict(kind, one, int(first[at]), int(second[at]))


def _fitting(
    one: LedgerUniverse, sign: int, shelf: ReleasedUniverses, first: IntArray, second: IntArray
) -> IntArray:
    """By how many marks of a sample of all units the pairs do not fit."""
    bits = shelf.marks.sample[1]
    new, known = shelf.marks.sampled(one.marks)
    parts = [(bits[first], bits[second], new), (new, bits[second], bits[first])][sign < 0]
    left, right, whole = parts
    wrong = ((left & right) | ((left | right) ^ whole)) & known
    return np.asarray(np.bitwise_count(wrong).sum(axis=1), dtype=np.int64)


def _by_counts(
    count: int, sign: int, counts: IntArray, left: IntArray, right: IntArray, size: int
) -> tuple[IntArray, IntArray] | None:
    """Pairs whose counts fit: the sum, or the difference, is near a count; None if too many."""
    right = right[np.argsort(counts[right], kind="stable")]
    ordered = counts[right]
    # sign +1: the partner has new - B units; sign -1: it has B - new
    wanted = sign * (count - counts[left])
    low = np.searchsorted(ordered, np.maximum(wanted - size + 1, 1), side="left")
    high = np.searchsorted(ordered, wanted + size - 1, side="right")
    width = np.where(wanted >= size, high - low, 0)  # partners of fewer units are no partners
    total = int(width.sum())
    if total > _MOST_JOINED:
        return None
    first = np.repeat(left, width)
    start = np.repeat(low - (np.cumsum(width) - width), width)
    second = right[start + np.arange(total)]
    once = first < second if sign == 1 else first != second
    return first[once], second[once]


def _cover_conflicts(
    one: LedgerUniverse,
    shelf: ReleasedUniverses,
    beside: Relation,
    size: int,
    effort: CoverEffort,
    shared: BoolArray,
) -> Iterator[Conflict]:
    """Unions of three and more: new = B + C + D + …, or B = new + C + D + …"""
    ways = _Cover(one.marks, one.count, shelf, beside, size, within=shared).found(effort)
    yield from _sound("sum", one, shelf, [(-1, way) for way in ways], size)
    larger = shared & (shelf.counts >= one.count + 2 * size)
    wholes = np.flatnonzero((beside.own - beside.shared < size) & larger)
    for at in wholes[np.argsort(shelf.counts[wholes], kind="stable")].tolist():
        if not effort.begin():
            return
        marks, count = shelf.marks.at(at), int(shelf.counts[at])
        lies = shelf.marks.relation(marks)
        rest = _Cover(marks, count, shelf, lies, size, one).found(effort)
        yield from _sound("rest", one, shelf, [(at, way) for way in rest], size)


def _sound(
    kind: str,
    one: LedgerUniverse,
    shelf: ReleasedUniverses,
    ways: list[tuple[int, tuple[int, ...]]],
    size: int,
) -> Iterator[Conflict]:
    """Those unions that differ indeed by some, but few units."""
    modulus = np.array(PRIMES, dtype=np.int64)[:, None]
    totals = []
    for whole, way in ways:
        total = shelf.sums[list(way)].sum(axis=0)
        totals.append(total + one.sums - shelf.sums[whole] if whole >= 0 else total - one.sums)
    if not totals:
        return
    for at in np.flatnonzero(few_differing(np.stack(totals) % modulus, size)).tolist():
        whole, way = ways[at]
        yield shelf.conflict(kind, one, *([whole] if whole >= 0 else []), *way)
