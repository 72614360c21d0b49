"""Measure the ledger of released tables: ``python bench/output_queue.py``.

Universes are intervals of a population of 200,000 units, so that their sketches are sums of
prefixes: cheap to make, and the same as of sets. What is reported is CPU seconds of new
universes against all released ones, and the bytes that each needs. The first comparison
also puts the marks of all released ones in order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from discreet.microdata.secret import Secret
from discreet_fire.ledger import (
    LedgerUniverse,
    ReleasedUniverses,
    UnitKey,
    conflicts_with,
    universes_of,
)
from discreet_fire.ledger.marks import MOST_MARKS, MarkIndex, marks_of, mixed
from discreet_fire.ledger.power_sums import PRIMES, sums_of

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
        releases=np.arange(len(starts)),
        counts=counts,
        sums=sums % np.array(PRIMES)[None, :, None],
        marks=MarkIndex.of(marks),
    )


def measured(
    title: str, new: Sequence[LedgerUniverse], shelf: ReleasedUniverses, *, unions: bool = False
) -> None:
    """Compare and print."""
    fresh = replace(shelf, marks=MarkIndex(flat=shelf.marks.flat, ends=shelf.marks.ends))
    before = time.process_time()
    found = conflicts_with(new, fresh, size=SIZE, unions=unions)
    spent = time.process_time() - before
    print(f"{title}: {spent:.3f} s against {len(shelf):,} tables, {len(found)} found")


def cells(number: int, left_out: int) -> list[LedgerUniverse]:
    """A table of so many cells of 20 units, without some of them."""
    frame = pl.DataFrame({"unit": range(20 * number)})
    frame = frame.with_columns(area=pl.col("unit") // 20).slice(left_out)
    key = UnitKey(Secret(bytes(16)))
    return universes_of(frame, unit="unit", by=["area"], key=key, size=SIZE, table="cells")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=10_000)
    tables = parser.parse_args().tables
    rng = np.random.default_rng(7)
    digests = rng.integers(0, 2**64 - 1, PEOPLE, dtype=np.uint64)
    counts = rng.integers(1_000, 100_000, tables)
    starts = rng.integers(0, PEOPLE - counts)
    shelf = shelf_of(digests, starts, counts)
    units = digests[starts[0] + 3 : starts[0] + counts[0]]
    before = time.process_time()
    sketch, marks = sums_of(units, SIZE), marks_of(units)
    print(f"sketch of {len(units):,} digests: {time.process_time() - before:.3f} s")
    new = LedgerUniverse(table="new", count=len(units), sums=sketch, marks=marks)
    even = replace(shelf, counts=np.full(tables, 50_000))
    measured("differences", [new], shelf)
    measured("differences, all tables of one size", [replace(new, count=50_000)], even)
    measured("differences and unions", [new], shelf, unions=True)
    before = time.process_time()
    first, second = cells(tables, 0), cells(tables, 5)
    print(f"two tables of {tables:,} cells: {time.process_time() - before:.3f} s")
    measured("one table with all its cells", second, ReleasedUniverses.of(first))
    print(f"{sketch.nbytes} bytes for each table, and up to {marks.nbytes} of marks")


if __name__ == "__main__":
    main()
