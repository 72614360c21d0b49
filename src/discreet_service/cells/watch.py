"""The watch over cells that are handed in (CONFIDENTIAL): patterns that no tabulation of records
makes, told to staff; nothing is refused. Whoever hands in invented pairs of count and key can
tabulate the noise. Watched is a sample of 4,096 keys per day, caller and parameter set, chosen by a
keyed hash: keys with different counts, keys too evenly spread or too close, and more keys of one
count than any release has. Who hands in millions of real cells besides, or draws random keys below
the number of cells of a release, is not seen. Trust cannot be replaced.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray, UintArray, mixed
from discreet.keygrid import KeyGrid
from discreet_service.last_used import LastUsed

AlarmKind = Literal["contradicting-cells", "uneven-keys", "many-keys", "uneven-together"]

#: Keys that are kept of a day, a caller and a parameter set.
SAMPLE = 4_096
_DAY = 86_400_000
#: Callers whose days are kept.
_MOST_DAYS = 500
#: Counts that are looked at one by one.
_SMALL = 20
#: Ranges of the grid in which keys are counted, and keys needed for that.
_RANGES, _ENOUGH = 64, 640
#: Places on the grid that are told apart, as a power of two; and how many of them a range has.
_PLACES = 31
_OF_RANGE = _PLACES - 6
#: As many pairs of different keys are expected in one place, when places are chosen for it.
_EXPECTED = 0.01
#: So many keys in the place of another one can be by chance.
_CLOSE = 3
#: Standard deviations from which on an evenness is odd: once in some thousand million days.
_ODD = 6.5
#: Kept keys with different counts that can be by chance or by a correction.
_CORRECTED = 3
#: Counts that are no longer looked at one by one are watched together.
_TOGETHER = _SMALL + 1
#: Stands for all callers.
_TOGETHER_CALLER = ""
_HIGHEST = np.uint64(2**64 - 1)


Places = npt.NDArray[np.int32]


@dataclass(repr=False)
class _Day:
    day: int
    hashes: UintArray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    places: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    contradictions: int = 0
    told: set[AlarmKind] = field(default_factory=set)

    @property
    def highest(self) -> np.uint64:
        """Keys with higher hashes are not kept."""
        return self.hashes[-1] if len(self.hashes) >= SAMPLE else _HIGHEST


class KeyWatch:
    """Watches what callers hand in."""

    def __init__(
        self, secret: bytes, clock: Callable[[], int], most_keys: int = 20_000_000
    ) -> None:
        digest = hashlib.blake2b(b"watch", key=secret[:64], digest_size=16).digest()
        self._salt = np.frombuffer(digest, dtype="<u8").astype(np.uint64)
        self._clock, self._most = clock, most_keys
        self._days = LastUsed[tuple[str, str], _Day](_MOST_DAYS)
        self._lock = threading.Lock()

    def watch(
        self, caller: str, parameter_set: str, count: IntArray, key: IntArray, grid: KeyGrid
    ) -> list[AlarmKind]:
        """Look at the cells of a call; what is odd and was not told that day before."""
        with self._lock:
            own = self._of_today(caller, parameter_set)
            every = self._of_today(_TOGETHER_CALLER, parameter_set)
            salted = mixed(key.astype(np.uint64) ^ self._salt[0]) ^ self._salt[1]
            hashes, place = mixed(salted), _places(key, grid)
            at = np.flatnonzero((count > 0) & (hashes <= max(own.highest, every.highest)))
            for day in (own, every):
                _take(day, hashes[at], count[at], place[at], grid)
            odd = self._odd(own, grid)
            if _in_steps(count, place, grid):
                odd.append("uneven-keys")
            if "uneven-keys" in odd:  # it shows in what all do, too
                every.told.add("uneven-together")
            elif _is_uneven(every, grid):
                odd.append("uneven-together")
            found = [kind for kind in dict.fromkeys(odd) if kind not in own.told | every.told]
            own.told.update(found)
            if "uneven-together" in found:
                every.told.add("uneven-together")
        return found

    def _of_today(self, caller: str, parameter_set: str) -> _Day:
        today = self._clock() // _DAY
        day = self._days.get((caller, parameter_set))
        if day is None or day.day != today:
            day = _Day(today)
            self._days.put((caller, parameter_set), day)
        return day

    def _odd(self, day: _Day, grid: KeyGrid) -> list[AlarmKind]:
        kinds: list[AlarmKind] = []
        if day.contradictions > _CORRECTED:
            kinds.append("contradicting-cells")
        classes = np.minimum(day.counts, _TOGETHER)
        per_count = np.bincount(classes, minlength=_TOGETHER + 1)
        share = 1.0
        if len(day.hashes) >= SAMPLE:
            share = (float(day.hashes[-1]) + 1) / 2.0**64
        if (per_count[:_TOGETHER] / share).max(initial=0) > self._most:
            kinds.append("many-keys")
        if _is_uneven(day, grid):
            kinds.append("uneven-keys")
        return kinds


def _take(day: _Day, hashes: UintArray, count: IntArray, place: Places, grid: KeyGrid) -> None:
    """Add cells to the sample: the keys with the lowest hashes."""
    at = np.flatnonzero(hashes <= day.highest)
    if len(day.hashes) < SAMPLE < len(at):
        # Each key once, before some are left out.
        ordered = np.sort(hashes[at])
        different = ordered[np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]))]
        at = at[hashes[at] <= different[:SAMPLE][-1]]
    every = np.concatenate([day.hashes, hashes[at]])
    counts = np.concatenate([day.counts, count[at]])
    places = np.concatenate([day.places, place[at]])
    order = np.lexsort((counts, every))
    every, counts, places = every[order], counts[order], places[order]
    same = every[1:] == every[:-1]
    if grid.size > SAMPLE**2:
        # A key that contradicts itself is counted once for each call that shows it.
        day.contradictions += len(np.unique(every[1:][same & (counts[1:] != counts[:-1])]))
    first = np.concatenate([[True], ~same]) if len(every) else np.zeros(0, dtype=np.bool_)
    day.hashes, day.counts = every[first][:SAMPLE], counts[first][:SAMPLE]
    day.places = places[first][:SAMPLE]


def _places(key: IntArray, grid: KeyGrid) -> Places:
    found = key * (2.0**_PLACES / grid.size)
    np.minimum(found, 2.0**_PLACES - 1, out=found)
    places: Places = found.astype(np.int32)
    return places


def _is_uneven(day: _Day, grid: KeyGrid) -> bool:
    """Whether kept keys lie on the grid as those of records hardly ever do."""
    if grid.size <= SAMPLE**2:
        return False
    classes = np.minimum(day.counts, _TOGETHER)
    frequent = np.flatnonzero(np.bincount(classes, minlength=_TOGETHER + 1) >= _ENOUGH)
    return _are_close(day.places) or any(_uneven(day.places[classes == item]) for item in frequent)


def _are_close(places: Places) -> bool:
    """Whether different keys lie in the same places, as those do that close in on a bound.

    There are as many places as make that rare for keys of records, once in some hundred million.
    """
    size = len(places)
    if size <= _CLOSE:
        return False
    bits = min(math.ceil(math.log2(size * (size - 1) / 2 / _EXPECTED)), _PLACES)
    return size - len(np.unique(places >> (_PLACES - bits))) > _CLOSE


def _in_steps(count: IntArray, place: Places, grid: KeyGrid) -> bool:
    """Whether the keys of a call lie too evenly; repeated ones only make them less even."""
    classes = np.minimum(count, _TOGETHER)
    size = (_TOGETHER + 1) * _RANGES
    counts = np.bincount(classes * _RANGES + (place >> _OF_RANGE), minlength=size)
    return grid.size > SAMPLE**2 and any(
        _evenness(row) < -_ODD for row in counts.reshape(-1, _RANGES)[1:] if row.sum() >= _ENOUGH
    )


def _uneven(places: Places) -> bool:
    return abs(_evenness(np.bincount(places >> _OF_RANGE, minlength=_RANGES))) > _ODD


def _evenness(found: npt.NDArray[np.int64]) -> float:
    """How far a chi-square is from what random keys give, in standard deviations."""
    expected = found.sum() / _RANGES
    statistic = float(((found - expected) ** 2).sum() / expected)
    freedom = _RANGES - 1
    # Wilson and Hilferty: the cube root is nearly normal.
    spread = 2 / (9 * freedom)
    return float(((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
