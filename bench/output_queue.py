"""Measure the ledger of released tables: ``python bench/output_queue.py``.

Universes are intervals of a population of 200,000 units, so that their sketches are sums of
prefixes: cheap to make, and the same as of sets. What is reported is CPU seconds of one new
universe against all released ones, and the bytes that each needs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from discreet.output_checking.ledger import Shelf, Universe, conflicts_with
from discreet.output_checking.ledger.powers import PRIMES, sums_of

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=10_000)
    tables = parser.parse_args().tables
    rng = np.random.default_rng(7)
    digests = rng.integers(0, 2**64 - 1, PEOPLE, dtype=np.uint64)
    prefix = prefixes(digests)
    counts = rng.integers(1_000, 100_000, tables)
    starts = rng.integers(0, PEOPLE - counts)
    modulus = np.array(PRIMES)[None, :, None]
    ends = prefix[:, :, starts + counts].transpose(2, 0, 1)
    sums = (ends - prefix[:, :, starts].transpose(2, 0, 1)) % modulus
    names = [f"table {at}" for at in range(tables)]
    shelf = Shelf(names=names, releases=np.arange(tables), counts=counts, sums=sums)
    even = Shelf(names=names, releases=np.arange(tables), counts=np.full(tables, 50_000), sums=sums)
    units = digests[starts[0] + 3 : starts[0] + counts[0]]
    before = time.process_time()
    sketch = sums_of(units, SIZE)
    print(f"sketch of {len(units):,} digests: {time.process_time() - before:.3f} s")
    for title, against, count, pairs in (
        ("differences", shelf, len(units), False),
        ("differences, all tables of one size", even, 50_000, False),
        ("differences and sums of two", shelf, len(units), True),
    ):
        new = Universe(table="new", count=count, sums=sketch)
        before = time.process_time()
        found = conflicts_with([new], against, size=SIZE, pairs=pairs)
        spent = time.process_time() - before
        print(f"{title}: {spent:.3f} s for {tables:,} tables, {len(found)} found")
    print(f"{sketch.nbytes} bytes for each table")


if __name__ == "__main__":
    main()
