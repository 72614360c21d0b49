"""`SketchSum`: the sketch of a large set, added up part by part.

In: parts of a set of units that have no unit in common, as digests or as sketches. Out: its size,
power sums and marks, to the digit those of the whole set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import IntArray, UintArray
from discreet_fire.ledger.marks import MOST_MARKS, Marks
from discreet_fire.ledger.power_sums import PRIMES

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
        from discreet_fire.ledger import compiled_sketches as loops

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
