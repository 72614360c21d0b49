"""Squares of 100 m to 100 km for made-up persons: codes, classification, table, noise; slivers.

    python bench/grids.py [--persons 10_000_000]

Persons live around places of very different size in an area of 600 by 600 km; their towns are those
places. Seconds are those of the wall: the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.slivers import find_slivers

SIDE = 600_000
PLACES = 6_000


def persons(number: int) -> pl.DataFrame:
    """Persons with coordinates, record keys and the place that is theirs."""
    draw = np.random.default_rng(1)
    places = draw.uniform(0, SIDE, (PLACES, 2))
    own = (draw.pareto(1.1, number) * 20).astype(np.int64) % PLACES
    here = np.clip(places[own] + draw.normal(0, 2_500, (number, 2)), 0, SIDE - 1)
    return pl.DataFrame(
        {
            "east": 4_000_000 + here[:, 0],
            "north": 2_700_000 + here[:, 1],
            "town": own,
            "record_key": draw.integers(0, 10**15, number),
        }
    )


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long something took."""
    start = time.perf_counter()
    yield
    print(f"{what:<40}{time.perf_counter() - start:8.1f} s", flush=True)


def main() -> None:
    """Make a table of all squares, and look for slivers between squares and towns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    people = persons(parser.parse_args().persons)
    noise = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
    with timed("all squares, from records to figures"):
        with timed("  squares of records"):
            people = dc.with_squares(people)
        with timed("  classification of four levels"):
            squares = dc.Classification.from_squares("square", people["square"].unique())
        with timed("  counting"):
            table = dc.tabulate(people, by=[squares], record_key="record_key")
        with timed("  noise"):
            safe = dc.perturb(table, noise)
    print(f"{len(squares):,} squares, {len(people):,} persons, {safe.stored:,} figures")
    kilometres = people.select(
        "town", pl.col("east") // 1_000 * 10_000 + pl.col("north") // 1_000
    ).rename({"east": "square"})
    with timed("slivers of towns and squares of 1 km"):
        report = find_slivers(kilometres, "town", "square", least=10)
    told = "everything searched" if report.complete else f"unions of {report.searched} searched"
    print(f"{len(report.slivers):,} slivers, {told}")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB at most")


if __name__ == "__main__":
    main()
