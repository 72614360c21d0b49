"""Sketches of sets of units: power sums and marks, which tell sets and their differences apart.

In: members as keyed 64-bit digests. Out: for each set its size, its sums of powers modulo two
primes, and its smallest digests, the marks.

The power sums of a difference of sets are the difference of their sums. With weights +1 and -1
and d differing members these are ``s_k = w_1 x_1^k + … + w_d x_d^k``, and each follows from the
d sums before it, with the coefficients of ``(x - x_1) … (x - x_d)``, whatever the digests are.
Sets that differ by fewer than `size` members are therefore always found.

Two sets that differ by d units share all but d of the marks that the smaller number of marks
allows: an element that is in both and among the smallest of one has at most d elements of the
other before it. What shares fewer is thus left out without a miss; what shares enough is
looked at with power sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, IntArray, UintArray

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
    digest_marks = mixed(digests)
    few = 2 * MOST_MARKS
    if len(digest_marks) > 4 * few:
        smallest = np.unique(np.partition(digest_marks, few)[:few])
        if len(smallest) >= MOST_MARKS:
            return smallest[:MOST_MARKS]
    return np.unique(digest_marks)[:MOST_MARKS]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Relation:
    """Relation of one set to each of many, as far as the marks of both reach."""

    shared: IntArray  # marks of both
    own: IntArray  # marks of the one set
    other: IntArray  # marks of the other one


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MarkIndex:
    """The marks of many sets (confidential)."""

    flat: Marks  # the marks of all sets, one after the other
    ends: IntArray  # where those of each set end

    @classmethod
    def of(cls, sets: list[Marks]) -> MarkIndex:
        """From the marks of each set."""
        sizes = np.array([len(one) for one in sets], dtype=np.int64)
        flat = np.concatenate(sets) if sets else np.empty(0, dtype=np.uint32)
        return cls(flat=flat, ends=np.cumsum(sizes))

    def taken(self, places: IntArray) -> MarkIndex:
        """Some of the sets, in this order."""
        return MarkIndex.of([self.at(int(place)) for place in places])

    def joined(self, marks: Marks) -> MarkIndex:
        """A copy with the marks of one more set, in order."""
        number, size = np.uint64(len(self.ends)), len(self.flat) + len(marks)
        index = MarkIndex(flat=np.concatenate([self.flat, marks]), ends=np.append(self.ends, size))
        wide, half = marks.astype(np.uint64), np.uint64(32)
        if "_sorted" in self.__dict__:
            new = (wide << half) | number
            places = np.searchsorted(self._sorted, new)
            index.__dict__["_sorted"] = np.insert(self._sorted, places, new)
        if "_by_set" in self.__dict__:
            index.__dict__["_by_set"] = np.concatenate([self._by_set, (number << half) | wide])
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

    def relation(self, marks: Marks) -> Relation:
        """Relation of a set to each."""
        ends = (np.arange(len(self.ends), dtype=np.uint64) << np.uint64(32)) | np.uint64(
            min(_reach(marks), _END - 1)
        )
        return Relation(
            shared=self.shared(marks),
            own=np.searchsorted(marks.astype(np.int64), self._reaches, side="right"),
            other=np.searchsorted(self._by_set, ends, side="right") - self._starts,
        )

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
    def sample(self) -> tuple[Marks, UintArray]:
        """The smallest marks of all sets together, and which of them each set has, as bits.

        A set that has such a mark has it among its own smallest ones: nothing is unknown.
        """
        marks = self._sorted >> np.uint64(32)
        new = np.flatnonzero(np.concatenate([[True], marks[1:] != marks[:-1]]))
        chosen = marks[new[:MOST_MARKS]].astype(np.uint32)
        return chosen, _words(self.bits(chosen, np.arange(len(self.ends))))

    def sampled(self, marks: Marks) -> tuple[UintArray, UintArray]:
        """Which marks of the sample another set has, and of which that is known, as bits."""
        chosen = self.sample[0]
        known = chosen.astype(np.int64) <= _reach(marks)
        return _words(np.isin(chosen, marks)[None, :])[0], _words(known[None, :])[0]

    def _rows(self, marks: Marks) -> tuple[IntArray, IntArray]:
        """For each mark, the sets that have it: numbers of marks, numbers of sets."""
        low = np.searchsorted(self._sorted, marks.astype(np.uint64) << np.uint64(32))
        next_ones = (marks.astype(np.uint64) + np.uint64(1)) << np.uint64(32)
        width = np.searchsorted(self._sorted, next_ones) - low
        start = np.repeat(low - (np.cumsum(width) - width), width)
        rows = self._sorted[start + np.arange(int(width.sum()))] & np.uint64(0xFFFFFFFF)
        return np.repeat(np.arange(len(marks)), width), rows.astype(np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    @cached_property
    def _sorted(self) -> UintArray:
        """Marks with their sets behind them, in order."""
        low = np.uint64(0xFFFFFFFF)
        return np.sort((self._by_set << np.uint64(32)) | (self._by_set >> np.uint64(32) & low))

    @cached_property
    def _by_set(self) -> UintArray:
        """Sets with their marks behind them, in order."""
        rows = np.repeat(np.arange(len(self.ends), dtype=np.uint64), self.sizes)
        return (rows << np.uint64(32)) | self.flat.astype(np.uint64)

    @cached_property
    def _reaches(self) -> IntArray:
        """The last mark of each set that is not kept whole."""
        reaches = np.full(len(self.ends), _END, dtype=np.int64)
        full = self.sizes >= MOST_MARKS
        reaches[full] = self.flat[self.ends[full] - 1]
        return reaches


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
#: Marks that are written down before all but the smallest are dropped.
_HELD = 2**12
_LAST_MARK = 2**32 - 1


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
        self._marks = np.empty(_HELD + _STEP, dtype=np.uint32)
        self._held, self._most = 0, _LAST_MARK

    def add(self, units: UintArray) -> None:
        """Add units, each once, none of which was added before."""
        from discreet.disclosure import compiled_sketches as loops

        for start in range(0, len(units), _STEP):
            some = np.ascontiguousarray(units[start : start + _STEP])
            loops.add_power_sums(some, self._sums)
            self._held = loops.add_marks(some, np.uint64(self._most), self._marks, self._held)
            if self._held > _HELD:
                self._drop()
        self.count += len(units)

    def add_sketches(self, counts: IntArray, sums: IntArray, marks: Sequence[Marks]) -> None:
        """Add sets that have no unit in common, nor with what was added before."""
        self.count += int(counts.sum())
        primes = np.array(PRIMES, dtype=np.uint64)[:, None]
        self._sums = (self._sums + sums.sum(axis=0).astype(np.uint64)) % primes
        for mark in marks:
            some = mark[: np.searchsorted(mark, self._most, side="right")]
            self._marks[self._held : self._held + len(some)] = some
            self._held += len(some)
            if self._held > _HELD:
                self._drop()

    def _drop(self) -> None:
        """Drop marks that are not among the smallest."""
        smallest = np.unique(self._marks[: self._held])[:MOST_MARKS]
        self._held = len(smallest)
        self._marks[: self._held] = smallest
        if self._held == MOST_MARKS:
            self._most = int(smallest[-1])

    @property
    def sums(self) -> IntArray:
        """The power sums."""
        return self._sums.astype(np.int64)

    @property
    def marks(self) -> Marks:
        """The marks."""
        self._drop()
        return self._marks[: self._held].copy()

    def __repr__(self) -> str:
        return "<SketchSum (confidential)>"
