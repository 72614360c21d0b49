"""Sketches of sets of units, and conflicts: universes whose difference tells about a few units.

In: members as keyed 64-bit digests; universes of a submission and all released ones (CONFIDENTIAL).
Out: for each set its size, its sums of powers modulo two primes, and its smallest digests, the
marks; `Conflict`s, in words that may be shown; how many units are concerned is never said but as
"fewer than the minimum".

The power sums of a difference of sets are the difference of their sums. With weights +1 and -1
and d differing members these are ``s_k = w_1 x_1^k + … + w_d x_d^k``, and each follows from the
d sums before it, with the coefficients of ``(x - x_1) … (x - x_d)``, whatever the digests are.
Sets that differ by fewer than `size` members are therefore always found.

Two sets that differ by d units share all but d of the marks that the smaller number of marks
allows: an element that is in both and among the smallest of one has at most d elements of the
other before it. What shares fewer is thus left out without a miss; what shares enough is
looked at with power sums. Unions of three and more tables are searched as covers: each mark of a
set lies in one part, but for fewer units than the minimum, so the first mark that is not covered
yet is taken, and one part after the other that has it. Sets are many and ways more, so the effort
is bounded: what is found is true, what is not found may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, GrowingRows, IntArray, UintArray, ranges
from discreet.kernels import compiled_at_once

#: Two primes below 2^31, so that products fit into 64 bits; each has digests of its own.
PRIMES = (2**31 - 1, 2**31 - 19)
#: The largest minimum: work grows with its cube.
LARGEST_MINIMUM = 50


def sums_of(digests: UintArray, size: int) -> IntArray:
    """The power sums of a set, from power 0 to ``2 size - 2``, for both primes.

    >>> sums_of(np.array([5, 7], dtype=np.uint64), 2)[0].tolist()
    [2, 14, 100]
    """
    sums = np.empty((len(PRIMES), 2 * size - 1), dtype=np.int64)
    halves = (digests & np.uint64(0xFFFFFFFF), digests >> np.uint64(32))
    for row, (prime, half) in enumerate(zip(PRIMES, halves, strict=True)):
        members = half.astype(np.int64) % (prime - 1) + 1
        power = np.ones(len(members), dtype=np.int64)
        for exponent in range(2 * size - 1):
            sums[row, exponent] = power.sum() % prime  # 63 bits hold 2^32 summands
            power = power * members % prime
    return sums


def added(*terms: tuple[int, IntArray]) -> IntArray:
    """Sums of sets, each taken with a sign."""
    total: IntArray = np.zeros(1, dtype=np.int64)
    for sign, sums in terms:
        total = total + sign * sums
    result: IntArray = total % np.array(PRIMES, dtype=np.int64)[:, None]
    return result


def members_behind(sums: IntArray, prime: int) -> IntArray:
    """Number of members behind each row of sums: exact if fewer than the size, else the size.

    The length of the shortest recurrence that gives the sums, by the algorithm of Berlekamp
    and Massey without divisions: more members have no shorter one, but by chance.

    >>> few, many = np.array([3, 5, 9], dtype=np.uint64), np.arange(100, dtype=np.uint64)
    >>> rows = np.stack([sums_of(few[:2], 4)[0], sums_of(few, 4)[0], sums_of(many, 4)[0]])
    >>> members_behind(rows, PRIMES[0]).tolist()
    [2, 3, 4]
    """
    size = (sums.shape[1] + 1) // 2
    members = np.full(len(sums), size, dtype=np.int64)
    open_ones = np.arange(len(sums))
    length = np.zeros(len(sums), dtype=np.int64)
    recurrence = np.zeros((len(sums), size + 1), dtype=np.int64)
    recurrence[:, 0] = 1
    before, last = recurrence.copy(), np.ones(len(sums), dtype=np.int64)
    for step in range(sums.shape[1]):
        width = min(step, size) + 1
        seen = sums[open_ones, step - width + 1 : step + 1][:, ::-1]
        miss = (recurrence[:, :width] * seen % prime).sum(axis=1) % prime
        before[:, 1:] = before[:, :-1].copy()
        before[:, 0] = 0
        after = recurrence * last[:, None] % prime - miss[:, None] * before % prime
        longer = (miss != 0) & (2 * length <= step)
        before[longer], last[longer] = recurrence[longer], miss[longer]
        recurrence = np.where((miss != 0)[:, None], after % prime, recurrence)
        length[longer] = step + 1 - length[longer]
        kept = length < size
        if not kept.all():
            open_ones, length, recurrence = open_ones[kept], length[kept], recurrence[kept]
            before, last = before[kept], last[kept]
    members[open_ones] = length
    return members


# --- marks ------------------------------------------------------------------------------------

Marks = NDArray[np.uint32]

#: How many are kept; smaller sets have all their units here.
MOST_MARKS = 256
#: So few sets are looked at one by one.
_FEW = 32
#: Beyond the marks of all sets: the end of those that are kept whole.
_END = 2**32


def mixed(digests: UintArray) -> Marks:
    """Another digest of each digest, as stored: SplitMix64 but for its last step, upper half."""
    mixture = digests.copy()
    mixture ^= mixture >> np.uint64(30)
    mixture *= np.uint64(0xBF58476D1CE4E5B9)
    mixture ^= mixture >> np.uint64(27)
    mixture *= np.uint64(0x94D049BB133111EB)
    return (mixture >> np.uint64(32)).astype(np.uint32)


def marks_of(digests: UintArray) -> Marks:
    """The marks of a set.

    >>> marks_of(np.arange(1000, dtype=np.uint64)).shape
    (256,)
    """
    return np.unique(mixed(digests))[:MOST_MARKS]


#: Marks that came last stand apart until they are so many.
_LATEST = 2**14


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MarkIndex:
    """The marks of many sets (confidential)."""

    of_sets: GrowingRows  # the marks of all sets, one after the other
    ends_of_sets: GrowingRows  # where those of each set end

    @property
    def flat(self) -> Marks:
        """The marks of all sets, one after the other."""
        return self.of_sets.rows

    @property
    def ends(self) -> IntArray:
        """Where the marks of each set end."""
        return self.ends_of_sets.rows

    @classmethod
    def of(cls, sets: list[Marks]) -> MarkIndex:
        """From the marks of each set."""
        sizes = np.array([len(one) for one in sets], dtype=np.int64)
        flat = np.concatenate(sets) if sets else np.empty(0, dtype=np.uint32)
        return cls(of_sets=GrowingRows(flat), ends_of_sets=GrowingRows(np.cumsum(sizes)))

    def taken(self, places: IntArray) -> MarkIndex:
        """Some of the sets, in this order."""
        return MarkIndex.of([self.at(int(place)) for place in places])

    def joined(self, marks: Marks) -> MarkIndex:
        """A copy with the marks of one more set, in order."""
        number, size = np.uint64(len(self.ends)), len(self.flat) + len(marks)
        index = MarkIndex(
            of_sets=self.of_sets.joined(marks), ends_of_sets=self.ends_of_sets.joined([size])
        )
        wide, half = marks.astype(np.uint64), np.uint64(32)
        if "_sorted" in self.__dict__:
            first, latest = self._sorted
            new = (wide << half) | number
            latest = np.insert(latest, np.searchsorted(latest, new), new)
            if len(latest) > _LATEST:
                first, latest = np.sort(np.concatenate([first, latest]), kind="stable"), latest[:0]
            index.__dict__["_sorted"] = first, latest
        if "_by_set" in self.__dict__:
            index.__dict__["_by_set"] = self._by_set.joined((number << half) | wide)
        return index

    def at(self, place: int) -> Marks:
        """The marks of one set."""
        return self.flat[self._starts[place] : self.ends[place]]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of marks of each."""
        return self.ends - self._starts

    def shared(self, marks: Marks, rows: IntArray | None = None) -> IntArray:
        """Number of marks that each shares with a set."""
        if rows is not None:
            if len(rows) > _FEW:
                return self.shared(marks)[rows]
            masks = [np.isin(self.at(row), marks, assume_unique=True) for row in rows.tolist()]
            return np.array([one.sum() for one in masks], dtype=np.int64)
        return np.bincount(self._rows(marks)[1], minlength=len(self.ends)).astype(np.int64)

    def bits(self, marks: Marks, rows: IntArray) -> BoolArray:
        """Which of some marks each of some sets has."""
        place = np.full(len(self.ends), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        which, hits = self._rows(marks)
        table = np.zeros((len(rows), len(marks)), dtype=np.bool_)
        inside = place[hits] >= 0
        table[place[hits[inside]], which[inside]] = True
        return table

    @cached_property
    def sample(self) -> Marks:
        """The smallest marks of all sets together.

        A set that has such a mark has it among its own smallest ones: nothing is unknown.
        """
        most, longest = MOST_MARKS, max(map(len, self._sorted))
        while True:
            heads = [some[:most] >> np.uint64(32) for some in self._sorted]
            # What stands behind a head is no smaller than its end.
            ends = [head[-1] for head, some in zip(heads, self._sorted, strict=True)
                    if len(head) < len(some)]  # fmt: skip
            marks = np.unique(np.concatenate(heads))
            marks = marks[marks <= min(ends)] if ends else marks
            if len(marks) >= MOST_MARKS or most >= longest:
                return marks[:MOST_MARKS].astype(np.uint32)
            most *= 4

    def sampled(self, marks: Marks) -> tuple[UintArray, UintArray]:
        """Which marks of the sample another set has, and of which that is known, as bits."""
        known = self.sample.astype(np.int64) <= _reach(marks)
        return _words(np.isin(self.sample, marks)[None, :])[0], _words(known[None, :])[0]

    def _rows(self, marks: Marks) -> tuple[IntArray, IntArray]:
        """For each mark, the sets that have it: numbers of marks, numbers of sets."""
        which, hits = [], []
        least = marks.astype(np.uint64) << np.uint64(32)
        for some in self._sorted:
            low = np.searchsorted(some, least)
            width = np.searchsorted(some, least + np.uint64(2**32)) - low
            which.append(np.repeat(np.arange(len(marks)), width))
            hits.append(some[ranges(low, width)] & np.uint64(0xFFFFFFFF))
        return np.concatenate(which), np.concatenate(hits).astype(np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    @cached_property
    def _sorted(self) -> tuple[UintArray, UintArray]:
        """Marks with their sets behind them, in order; and those that came last."""
        rows, low = self._by_set.rows, np.uint64(0xFFFFFFFF)
        return np.sort((rows << np.uint64(32)) | (rows >> np.uint64(32) & low)), rows[:0]

    @cached_property
    def _by_set(self) -> GrowingRows:
        """Sets with their marks behind them, in order."""
        rows = np.repeat(np.arange(len(self.ends), dtype=np.uint64), self.sizes)
        return GrowingRows((rows << np.uint64(32)) | self.flat.astype(np.uint64))

    @cached_property
    def _reaches(self) -> IntArray:
        """The last mark of each set that is not kept whole."""
        reaches = np.full(len(self.ends), _END, dtype=np.int64)
        full = self.sizes >= MOST_MARKS
        reaches[full] = self.flat[self.ends[full] - 1]
        return reaches


class Relation:
    """Relation of one set to each of many, as far as the marks of both reach (confidential)."""

    def __init__(self, index: MarkIndex, marks: Marks) -> None:
        self._index, self._marks = index, marks
        self.shared = index.shared(marks)  # marks of both

    def lacking(self, rows: IntArray) -> IntArray:
        """Marks of the one set that some of the others have not."""
        reaches = self._index._reaches[rows]
        own = np.searchsorted(self._marks.astype(np.int64), reaches, side="right")
        return own - self.shared[rows]

    def beyond(self, rows: IntArray) -> IntArray:
        """Marks of some of the others that the one set has not."""
        reach = np.uint64(min(_reach(self._marks), _END - 1))
        ends = (rows.astype(np.uint64) << np.uint64(32)) | reach
        other = np.searchsorted(self._index._by_set.rows, ends, side="right")
        return other - self._index._starts[rows] - self.shared[rows]


def _words(table: BoolArray) -> UintArray:
    """Rows of bits as whole numbers."""
    wide = np.zeros((len(table), MOST_MARKS), dtype=np.bool_)
    wide[:, : table.shape[1]] = table
    return np.packbits(wide, axis=1).view(np.uint64)


def _reach(marks: Marks) -> int:
    return int(marks[-1]) if len(marks) >= MOST_MARKS else _END


# --- large sets -------------------------------------------------------------------------------

#: Units that are looked at at once.
_STEP = 2**16


#: Units whose powers are worked out side by side.
_BLOCK = 32
_31 = np.uint64(31)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FIRST_PRIME = np.uint64(2**31 - 1)
#: The second prime is so much less than 2^31.
_LESS = np.uint64(19)
_SECOND_PRIME = np.uint64(2**31 - 19)
_ONE = np.uint64(1)


class SketchSum:
    """Adds up the sketch of a set.

    >>> units = np.arange(70_000, dtype=np.uint64)
    >>> whole, parts = SketchSum(3), SketchSum(3)
    >>> whole.add(units)
    >>> parts.add(units[40_000:])
    >>> parts.add(units[:40_000])
    >>> parts.count, bool((whole.sums == parts.sums).all()), len(parts.marks)
    (70000, True, 256)
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self._sums = np.zeros((len(PRIMES), 2 * size - 1), dtype=np.uint64)
        self.marks: Marks = np.zeros(0, dtype=np.uint32)  # those of all that was added

    def add(self, units: UintArray) -> None:
        """Add units, each once, none of which was added before."""
        for start in range(0, len(units), _STEP):
            some = np.ascontiguousarray(units[start : start + _STEP])
            _add_power_sums(some, self._sums)
            self._mark(mixed(some))
        self.count += len(units)

    def add_sketches(self, counts: IntArray, sums: IntArray, marks: Sequence[Marks]) -> None:
        """Add sets that have no unit in common, nor with what was added before."""
        self.count += int(counts.sum())
        primes = np.array(PRIMES, dtype=np.uint64)[:, None]
        self._sums = (self._sums + sums.sum(axis=0).astype(np.uint64)) % primes
        for mark in marks:
            self._mark(mark)

    def _mark(self, marks: Marks) -> None:
        """Keep the smallest marks."""
        fresh = marks[marks <= _reach(self.marks)]
        if fresh.size:
            self.marks = np.unique(np.concatenate([self.marks, fresh]))[:MOST_MARKS]

    @property
    def sums(self) -> IntArray:
        """The power sums."""
        return self._sums.astype(np.int64)


@compiled_at_once
def _add_power_sums(units: Any, sums: Any) -> None:
    """Add the power sums of units, for both primes; sums stay below them.

    Remainders are left a little too large until the end, so that no division is needed.
    """
    first, second = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    one, two = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    powers = sums.shape[1]
    for start in range(0, units.size, _BLOCK):
        many = min(_BLOCK, units.size - start)
        for at in range(_BLOCK):
            # A block that is not full goes on with members of which all powers but one are 0.
            there = np.uint64(at < many)
            unit = units[start + min(at, many - 1)]
            first[at] = ((unit & _LOW) % (_FIRST_PRIME - _ONE) + _ONE) * there
            second[at] = ((unit >> _32) % (_SECOND_PRIME - _ONE) + _ONE) * there
            one[at] = two[at] = there
        for power in range(powers):
            total, other = np.uint64(0), np.uint64(0)
            for at in range(_BLOCK):
                total += one[at]
                other += two[at]
                product = (one[at] & _LOW) * (first[at] & _LOW)
                product = (product & _FIRST_PRIME) + (product >> _31)
                one[at] = (product & _FIRST_PRIME) + (product >> _31)
                product = (two[at] & _LOW) * (second[at] & _LOW)
                product = (product & _FIRST_PRIME) + (product >> _31) * _LESS
                two[at] = (product & _FIRST_PRIME) + (product >> _31) * _LESS
            sums[0, power] += total
            sums[1, power] += other
    for power in range(powers):
        sums[0, power] %= _FIRST_PRIME
        sums[1, power] %= _SECOND_PRIME


#: Steps of one search and of all for one universe, wholes that are looked at, ways given.
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
        burden = np.zeros_like(counts) if given is None else index.shared(given.marks)
        fits = (counts >= size) & (counts <= count - size) & within & (burden < size)
        places = np.flatnonzero(fits)
        extras = relation.beyond(places)
        places, extras = places[extras < size], extras[extras < size]
        order = np.argsort(-counts[places], kind="stable")
        places = places[order]
        self.index, self.places, self.size = index, places, size
        #: Which marks of the set each part has; the index of all is in order already: one of the
        #: parts alone would have to be sorted
        self.table = index.bits(reach, places)
        self.counts = counts[places]  # how many units each part has
        self.extras = extras[order]  # marks of each part that the set has not
        self.least = 3 if given is None else 2  # how many parts a way must have
        self.left, self.burden = count, burden[places]
        still = np.ones(len(reach), dtype=np.bool_)
        if given is not None:
            self.left -= given.count
            still = np.isin(reach, given.marks, invert=True)
        self.open = still
        self.steps = 0  # how many are left
        self.ways: list[tuple[int, ...]] = []
        self.known: dict[int, IntArray] = {}

    def found(self, steps: int) -> tuple[list[tuple[int, ...]], int]:
        """The ways, by the places of their parts, first what fits well; and what steps are left."""
        # Marks that no part has are left out in any case.
        lacking = int((self.open & ~self.table.any(axis=0)).sum())
        slacks = sorted({0, min(2, self.size - 1), self.size - 1})
        slacks = [slack for slack in slacks if slack >= lacking]
        if not slacks or len(self.places) < self.least:
            return [], steps
        self.bits = _packed(self.table)
        self.small = np.flatnonzero(~self.table.any(axis=1))  # parts without a mark of the set
        open_marks = _packed(self.open[None])[0]
        for slack in slacks:
            self.steps = before = min(_STEPS, steps)
            self.go(open_marks, self.left, slack, self.burden)
            steps -= before - max(self.steps, 0)
            if self.ways:
                break
        ways = dict.fromkeys(tuple(sorted(way)) for way in self.ways)
        return [tuple(self.places[list(way)].tolist()) for way in ways], steps

    def go(self, open_marks: int, left: int, slack: int, burden: IntArray, *chosen: int) -> None:
        """Cover the first open mark by each part that has it, or leave it out."""
        self.steps -= 1
        if self.steps < 0 or len(self.ways) >= _WAYS:
            return
        if not open_marks:
            self._end(left, chosen)
            return
        lowest = open_marks & -open_marks
        fitting = np.flatnonzero(self.table[:, lowest.bit_length() - 1])
        cost = burden[fitting] + self.extras[fitting]
        possible = (cost <= slack) & (self.counts[fitting] < left + self.size)
        for at in np.flatnonzero(possible)[np.argsort(cost[possible], kind="stable")].tolist():
            part = int(fitting[at])
            rest, still = left - int(self.counts[part]), open_marks & ~self.bits[part]
            more = burden + self._shared(part)
            self.go(still, rest, slack - int(cost[at]), more, *chosen, part)
        if slack:
            self.go(open_marks ^ lowest, left, slack - 1, burden, *chosen)

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
    rows = np.packbits(table, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


#: Most pairs of released universes that are looked at for one new universe.
_MOST_PAIRS = 200_000
#: Most pairs whose counts fit.
_MOST_JOINED = 2_000_000
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
    sizes: GrowingRows  # how many units each has
    powers: GrowingRows  # their power sums
    marks: MarkIndex  # their marks

    @property
    def counts(self) -> IntArray:
        """How many units each has."""
        return self.sizes.rows

    @property
    def sums(self) -> IntArray:
        """Their power sums."""
        return self.powers.rows

    @classmethod
    def of(cls, universes: Sequence[LedgerUniverse]) -> ReleasedUniverses:
        """Some universes, one at least, side by side."""
        return cls(
            names=[one.name for one in universes],
            sizes=GrowingRows(np.array([one.count for one in universes], dtype=np.int64)),
            powers=GrowingRows(np.stack([one.sums for one in universes])),
            marks=MarkIndex.of([one.marks for one in universes]),
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def distinct(self) -> ReleasedUniverses:
        """A copy with each set of units once, or this one if it has none twice."""
        return self if self._once is None else self._once[0]

    @property
    def firsts(self) -> IntArray | None:
        """Where those of the copy stand here; None if it is this one."""
        return None if self._once is None else self._once[1].rows

    @cached_property
    def _once(self) -> tuple[ReleasedUniverses, GrowingRows] | None:
        # None instead of itself: who refers to itself stays in memory long after its last use.
        flat = np.ascontiguousarray(self.sums).reshape(len(self), -1)
        rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
        places = np.sort(np.unique(rows, return_index=True)[1])
        if len(places) == len(self):
            return None
        return self.taken(places), GrowingRows(places)

    def taken(self, places: IntArray) -> ReleasedUniverses:
        """Some of them, in this order."""
        return ReleasedUniverses(
            names=[self.names[int(at)] for at in places],
            sizes=GrowingRows(self.counts[places]),
            powers=GrowingRows(self.sums[places]),
            marks=self.marks.taken(places),
        )

    def joined(self, one: LedgerUniverse) -> ReleasedUniverses:
        """A copy with one more universe at its end; quicker than a new one."""
        universes = ReleasedUniverses(
            names=[*self.names, one.name],
            sizes=self.sizes.joined([one.count]),
            powers=self.powers.joined(one.sums[None]),
            marks=self.marks.joined(one.marks),
        )
        if "_once" in self.__dict__:
            again = bool((self.distinct.sums == one.sums).all(axis=(1, 2)).any())
            once = self._once
            if once is None and again:
                once = self, GrowingRows(np.arange(len(self)))
            elif once is not None and not again:
                once = once[0].joined(one), once[1].joined([len(self)])
            universes.__dict__["_once"] = once
        return universes

    def conflict(self, kind: str, new: LedgerUniverse, *places: int) -> Conflict:
        """A conflict with some of them."""
        return Conflict(
            kind=kind,
            universe=new.name,
            earlier=tuple(self.names[at] for at in places),
        )


def conflicts_with(
    new: LedgerUniverse,
    shelf: ReleasedUniverses,
    *,
    size: int,
    unions: bool = True,
    apart: BoolArray | None = None,
) -> list[Conflict]:
    """Conflicts of a new universe with released ones.

    Args:
        new: The new one.
        shelf: The released ones.
        size: Differences of fewer units are conflicts.
        unions: Whether with sums and differences of released ones.
        apart: Which released ones have no unit in common with the new one: with so many units it
            is no part of them, nor has them as parts.
    """
    if not len(shelf):
        return []
    places = _near_places(new, shelf, size)
    conflicts = [shelf.conflict("difference", new, int(at)) for at in places]
    once = shelf.distinct
    shared = np.ones(len(once), dtype=np.bool_)
    if apart is not None and new.count >= size:
        shared = ~apart if shelf.firsts is None else ~apart[shelf.firsts]
    if unions and shared.any():
        relation = Relation(once.marks, new.marks)
        sums = list(_pair_conflicts(new, once, relation, size, shared))
        if not sums and not len(places):  # else it is known already
            sums += _cover_conflicts(new, once, relation, size, shared)
        conflicts += sums
    return conflicts


def _near_places(one: LedgerUniverse, shelf: ReleasedUniverses, size: int) -> IntArray:
    """Released universes that differ by some, but fewer units than the minimum.

    Such sets have counts that differ by fewer, and share all marks but fewer.
    """
    close = np.flatnonzero(np.abs(shelf.counts - one.count) < size)
    least = np.minimum(shelf.marks.sizes[close], len(one.marks)) - size + 1
    near = close[shelf.marks.shared(one.marks, close) >= least]
    return near[few_differing(added((1, shelf.sums[near]), (-1, one.sums)), size)]


def few_differing(sums: IntArray, size: int) -> BoolArray:
    """Which differences are about some units, but fewer than the minimum.

    Nobody differs if all sums are zero: the same units in another table are no matter.
    """
    few = np.asarray(sums.any(axis=(1, 2)), dtype=np.bool_)
    for row, prime in enumerate(PRIMES if few.any() else ()):
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
    rows = np.flatnonzero(shared)
    parts, wholes = rows[relation.beyond(rows) < size], rows[relation.lacking(rows) < size]
    others = np.flatnonzero(relation.shared < size)
    for kind, sign, left, right in (("sum", 1, parts, parts), ("rest", -1, wholes, others)):
        pairs = _by_counts(one.count, sign, shelf.counts, left, right, size)
        if pairs is not None and len(pairs[0]):
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
    new, known = shelf.marks.sampled(one.marks)
    rows, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    bits = _words(shelf.marks.bits(shelf.marks.sample, rows))
    left, right = bits[places[: len(first)]], bits[places[len(first) :]]
    left, right, whole = (left, right, new) if sign == 1 else (new, right, left)
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
    if int(width.sum()) > _MOST_JOINED:
        return None
    first, second = np.repeat(left, width), right[ranges(low, width)]
    once = first < second if sign == 1 else first != second
    return first[once], second[once]


def _cover_conflicts(
    one: LedgerUniverse,
    shelf: ReleasedUniverses,
    beside: Relation,
    size: int,
    shared: BoolArray,
) -> Iterator[Conflict]:
    """Unions of three and more: new = B + C + D + …, or B = new + C + D + …"""
    cover = _Cover(one.marks, one.count, shelf, beside, size, within=shared)
    ways, steps = cover.found(_ALL_STEPS)
    yield from _sound("sum", one, shelf, [(-1, way) for way in ways], size)
    larger = shared & (shelf.counts >= one.count + 2 * size)
    wholes = np.flatnonzero(larger)
    wholes = wholes[beside.lacking(wholes) < size]
    for at in wholes[np.argsort(shelf.counts[wholes], kind="stable")].tolist()[:_WHOLES]:
        if steps <= 0:
            return
        marks, count = shelf.marks.at(at), int(shelf.counts[at])
        cover = _Cover(marks, count, shelf, Relation(shelf.marks, marks), size, one)
        ways, steps = cover.found(steps)
        yield from _sound("rest", one, shelf, [(at, way) for way in ways], size)


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
