"""Marks: the smallest digests of a set, which tell quickly how it lies beside other sets.

In: sets of units as digests. Out: their marks, and for one set how many it shares with each
of many others.

Two sets that differ by d units share all but d of the marks that the smaller number of marks
allows: an element that is in both and among the smallest of one has at most d elements of the
other before it. What shares fewer is thus left out without a miss; what shares enough is
looked at with power sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, IntArray, UintArray

Marks = NDArray[np.uint32]

#: How many are kept; smaller sets have all their units here.
MOST_MARKS = 256
#: So few sets are looked at one by one.
_FEW = 32
#: Beyond the marks of all sets: the end of those that are kept whole.
_END = 2**32


def mixed(digests: UintArray) -> Marks:
    """Another digest of each digest (the last steps of SplitMix64)."""
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


def marks_of_groups(digests: UintArray, starts: IntArray) -> list[Marks]:
    """The marks of sets that follow each other, from where each begins."""
    digest_marks = mixed(digests)
    return [np.unique(part)[:MOST_MARKS] for part in np.split(digest_marks, starts[1:])]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Relation:
    """How one set lies beside each of many, as far as the marks of both reach."""

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
        """The same with the marks of one more set, put where they belong in order."""
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
        """How many marks each has."""
        return self.ends - self._starts

    def shared(self, marks: Marks, rows: IntArray | None = None) -> IntArray:
        """How many marks each shares with a set."""
        if rows is not None:
            if len(rows) > _FEW:
                return self.shared(marks)[rows]
            masks = [np.isin(self.at(row), marks, assume_unique=True) for row in rows.tolist()]
            return np.array([one.sum() for one in masks], dtype=np.int64)
        return np.bincount(self._rows(marks)[1], minlength=len(self.ends)).astype(np.int64)

    def relation(self, marks: Marks) -> Relation:
        """How a set lies beside each."""
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
