"""Sketches of universes, quickly: of a store, those of its areas are added up. CONFIDENTIAL.

In: the records of a store and a filter. Out: the sketch of the units that it lets through, to the
digit that of all its keyed digests. Where a filter only tells areas apart, no record is read: each
area was sketched once. Keys that several records have are looked at apart, since they are one unit.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, IntArray, UintArray
from discreet.keygrid import KeyGrid
from discreet.microdata import StoredRecords
from discreet.tabulation import StoredChoice
from discreet_fire.ledger import Marks, SketchSum
from discreet_service.policies import UniverseSketch

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: Stores of more areas are read for each universe; so many take some 40 MB.
_MOST_AREAS = 20_000
#: Sketches that are remembered, each some 2 kB, and sources whose areas are.
_MOST_SKETCHES, _MOST_SOURCES = 4_000, 8
_T = TypeVar("_T")


def keyed_units(keys: pl.Series, key: bytes) -> UintArray:
    """Record keys under a secret permutation of 64 bits. CONFIDENTIAL."""
    numbers = keys.to_physical()
    if numbers.dtype.is_float():
        return _mixed(numbers.cast(pl.Float64).to_numpy().view(np.uint64), key)
    return _mixed(numbers.cast(pl.Int64).to_numpy().view(np.uint64), key)


def _mixed(found: UintArray, key: bytes) -> UintArray:
    secret = np.frombuffer(hashlib.sha256(b"units 1\n" + key).digest(), dtype="<u8")
    with np.errstate(over="ignore"):
        for part in secret.tolist():
            found = found + np.uint64(part)
            found = (found ^ (found >> np.uint64(30))) * _FIRST
            found = (found ^ (found >> np.uint64(27))) * _SECOND
            found = found ^ (found >> np.uint64(31))
    return np.asarray(found, dtype=np.uint64)


class StoredUnits:
    """The units of a store. CONFIDENTIAL."""

    def __init__(self, store: StoredRecords, key: bytes, size: int) -> None:
        self._store, self._key, self._size = store, key, size
        self._lock = threading.Lock()

    def sketch(self, condition: str, grid: KeyGrid) -> UniverseSketch:
        """The sketch of the records that a filter lets through."""
        chosen = StoredChoice(self._store, condition, grid)
        total, again = SketchSum(self._size), list[UintArray]()
        if chosen.whole and len(self._store.offsets) <= _MOST_AREAS + 1:
            counts, sums, marks = self._of_areas
            areas = chosen.areas
            total.add_sketches(counts[areas], sums[areas], [marks[at] for at in areas.tolist()])
            inside = np.zeros(len(counts), dtype=np.bool_)
            inside[areas] = True
            again.append(self._units(self._repeated[inside[self._areas_of_repeated]]))
        else:
            for start, numbers in chosen.parts():
                once, more = self._told_apart(np.flatnonzero(numbers == 0) + start)
                total.add(self._units(once))
                again.append(self._units(more))
        total.add(np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *again])))
        return UniverseSketch.of_sum(total, self._size)

    def _units(self, records: IntArray) -> UintArray:
        keys = np.asarray(self._store.keys[records], dtype=np.int64)
        return _mixed(keys.view(np.uint64), self._key)

    def _told_apart(self, records: IntArray) -> tuple[IntArray, IntArray]:
        """Records whose key no other has, and those whose key others have."""
        if not len(self._repeated):
            return records, records[:0]
        known = self._has_others[records]
        return records[~known], records[known]

    @cached_property
    def _has_others(self) -> BoolArray:
        """Whether other records have the key of a record."""
        keys = np.asarray(self._store.keys)
        ordered = np.sort(keys)
        several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(keys, several) if len(several) else np.zeros(len(keys), dtype=np.bool_)

    @cached_property
    def _repeated(self) -> IntArray:
        return np.flatnonzero(self._has_others)

    @cached_property
    def _areas_of_repeated(self) -> IntArray:
        return np.searchsorted(self._store.offsets, self._repeated, side="right") - 1

    @property
    def _of_areas(self) -> tuple[IntArray, IntArray, list[Marks]]:
        """For each area, the sketch of its units whose key no other record has."""
        with self._lock:
            return self._areas

    @cached_property
    def _areas(self) -> tuple[IntArray, IntArray, list[Marks]]:
        offsets = self._store.offsets
        counts, sums, marks = [], [], []
        for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            total = SketchSum(self._size)
            total.add(self._units(self._told_apart(np.arange(first, last))[0]))
            counts.append(total.count)
            sums.append(total.sums)
            marks.append(total.marks)
        return np.array(counts, dtype=np.int64), np.stack(sums), marks


class SketchMemory:
    """Sketches that were made before: those used last stay. CONFIDENTIAL."""

    def __init__(self) -> None:
        self._sketches: OrderedDict[str, UniverseSketch] = OrderedDict()
        self._units: OrderedDict[str, StoredUnits] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def units(self, name: str, make: Callable[[], StoredUnits]) -> StoredUnits:
        """The units of a source, made now or before."""
        with self._lock:
            return _kept(self._units, name, make, _MOST_SOURCES)

    def sketch(self, name: str, make: Callable[[], UniverseSketch]) -> UniverseSketch:
        """A sketch, made now or before; of several who ask for it at once, one makes it."""
        with self._lock:
            if name in self._sketches:
                self._sketches.move_to_end(name)
                return self._sketches[name]
            making = self._making.setdefault(name, threading.Lock())
        with making:
            with self._lock:
                found = self._sketches.get(name)
            try:
                made = make() if found is None else found
            finally:
                with self._lock:
                    self._making.pop(name, None)
            with self._lock:
                return _kept(self._sketches, name, lambda: made, _MOST_SKETCHES)


def _kept(held: OrderedDict[str, _T], name: str, make: Callable[[], _T], most: int) -> _T:
    """What is held under a name, which was used last now."""
    if name not in held:
        held[name] = make()
        if len(held) > most:
            held.popitem(last=False)
    held.move_to_end(name)
    return held[name]
