"""The ledger of released tables: new universes against all released ones.

Universes are intervals of a population of 200,000 units, so that their sketches are sums of
prefixes: cheap to make, and the same as of sets. The first comparison also puts the marks of
all released ones in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.arrays import GrowingRows
from discreet.disclosure import LedgerUniverse, ReleasedUniverses, conflicts_with
from discreet.disclosure.sketches import (
    MOST_MARKS,
    PRIMES,
    MarkIndex,
    marks_of,
    mixed,
    sums_of,
)
from discreet.microdata.secret import Secret
from discreet_fire.units import UnitKey

SIZE = 10
PEOPLE = 200_000


def prefixes(digests: np.ndarray) -> np.ndarray:
    """Sketches of the first units, for each number of them."""
    powers = 2 * SIZE - 1
    found = np.zeros((2, powers, len(digests) + 1), dtype=np.int64)
    halves = (digests & np.uint64(0xFFFFFFFF), digests >> np.uint64(32))
    for row, (prime, half) in enumerate(zip(PRIMES, halves, strict=True)):
        members = half.astype(np.int64) % (prime - 1) + 1
        power = np.ones(len(members), dtype=np.int64)
        for exponent in range(powers):
            found[row, exponent, 1:] = np.cumsum(power) % prime
            power = power * members % prime
    return found


def shelf_of(digests: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> ReleasedUniverses:
    """Intervals as released universes."""
    prefix, small = prefixes(digests), mixed(digests)
    order = np.argsort(small)
    marks = []
    for start, end in zip(starts.tolist(), (starts + counts).tolist(), strict=True):
        few = order[: 4 * MOST_MARKS * PEOPLE // (end - start)]
        marks.append(np.unique(small[few[(few >= start) & (few < end)]])[:MOST_MARKS])
    ends = prefix[:, :, starts + counts].transpose(2, 0, 1)
    sums = ends - prefix[:, :, starts].transpose(2, 0, 1)
    return ReleasedUniverses(
        names=[f"table {at}" for at in range(len(starts))],
        sizes=GrowingRows(counts),
        powers=GrowingRows(sums % np.array(PRIMES)[None, :, None]),
        marks=MarkIndex.of(marks),
    )


class Found:
    """How many conflicts there are, and what a universe needs."""

    def __init__(self, conflicts: int, universe: LedgerUniverse) -> None:
        self.conflicts, self.universe = conflicts, universe

    def told(self) -> dict[str, int]:
        """For the parent process."""
        one = self.universe
        return {"found": self.conflicts, "bytes": one.sums.nbytes, "marks": one.marks.nbytes}


def cells(number: int, left_out: int) -> list[LedgerUniverse]:
    """A table of so many cells of 20 units, without some of them."""
    key = UnitKey(Secret(b"a secret for benchmarks, not for use"))
    digests = key.of_each(range(20 * number))
    groups = [digests[max(20 * at, left_out) : 20 * (at + 1)] for at in range(number)]
    return [
        LedgerUniverse(name="cells", count=len(one), sums=sums_of(one, SIZE), marks=marks_of(one))
        for one in groups
    ]


def task(kind: str) -> Callable[[Path, int], Callable[[], Found]]:
    """Compare one universe with released tables, or all cells of a table with those of another."""

    def set_up(folder: Path, tables: int) -> Callable[[], Found]:
        if kind == "all cells":
            new, shelf = cells(tables, 5), ReleasedUniverses.of(cells(tables, 0))
        else:
            rng = np.random.default_rng(7)
            digests = rng.integers(0, 2**64 - 1, PEOPLE, dtype=np.uint64)
            counts = rng.integers(1_000, 100_000, tables)
            starts = rng.integers(0, PEOPLE - counts)
            shelf = shelf_of(digests, starts, counts)
            units = digests[starts[0] + 3 : starts[0] + counts[0]]
            one = LedgerUniverse(
                name="new", count=len(units), sums=sums_of(units, SIZE), marks=marks_of(units)
            )
            if kind == "differences, one size":
                one, shelf = (
                    replace(one, count=50_000),
                    replace(shelf, sizes=GrowingRows(np.full(tables, 50_000))),
                )
            new = [one]
        unions = kind == "differences and unions"
        how = {"size": SIZE, "unions": unions}
        return lambda: Found(sum(len(conflicts_with(one, shelf, **how)) for one in new), new[0])

    return set_up


KINDS = ("differences", "differences, one size", "differences and unions", "all cells")
TASKS = {kind: task(kind) for kind in KINDS}
