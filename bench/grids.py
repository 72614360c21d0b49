"""Squares of 100 m to 100 km for made-up persons: tables, merged squares, slivers; a store of them.

    python bench/grids.py [--persons 10_000_000]
    python bench/grids.py --persons 83_000_000 --store /tmp/grid-store

Persons live in homes around places of very different size in an area of 600 by 600 km; their
municipalities are those places. With `--store` the records are written to Parquet, a store is built
of them, and asked for tables of squares with noise applied, each step in a process of its own.
Seconds are those of the wall: the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.slivers import find_slivers
from discreet.pretabular import merge_squares

SIDE = 600_000
PLACES = 11_000
BATCH = 4_000_000
#: Metres by which homes are spread around a place of one person; its square root for more.
SPREAD = 5
HALVES = (51_200, 25_600, 12_800, 6_400, 3_200, 1_600, 800, 400, 200, 100)
STORED = ["square", "km", "municipality", "district", "state", "sex", "age"]


def batches(persons: int) -> Iterator[pl.DataFrame]:
    """Persons with coordinates, areas and record keys, in no order of places."""
    draw = np.random.default_rng(1)
    weights = draw.lognormal(0, 1.4, PLACES)
    weights /= weights.sum()
    centre = draw.uniform(20_000, SIDE - 20_000, (PLACES, 2))
    number = max(persons // 4, 1)
    own = draw.choice(PLACES, number, p=weights)
    spread = np.maximum(SPREAD * np.sqrt(weights * persons), 50)
    homes = centre[own] + draw.normal(0, 1, (number, 2)) * spread[own, None]
    homes = np.clip(homes, 0, SIDE - 1).astype(np.int32)
    own = own.astype(np.uint16)
    cell = (centre / SIDE * 20).astype(np.int64)
    district, state = cell[:, 0] * 20 + cell[:, 1], cell[:, 0] // 5 * 4 + cell[:, 1] // 5
    for start in range(0, persons, BATCH):
        count = min(BATCH, persons - start)
        home = draw.integers(0, number, count)
        place = own[home]
        yield pl.DataFrame(
            {
                "east": 4_000_000.0 + homes[home, 0],
                "north": 2_700_000.0 + homes[home, 1],
                "state": state[place].astype(np.uint8),
                "district": district[place].astype(np.uint16),
                "municipality": place,
                "sex": draw.integers(0, 2, count, dtype=np.uint8),
                "age": draw.integers(0, 101, count, dtype=np.uint8),
                "record_key": draw.integers(0, 10**15, count),
            }
        )


def peak() -> str:
    """The most memory that this process has had, mapped files included."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB at most"


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long something took."""
    start = time.perf_counter()
    yield
    print(f"{what:<54}{time.perf_counter() - start:8.1f} s", flush=True)


def tables(persons: int) -> None:
    """A table of all squares, merged squares, and slivers between squares and municipalities."""
    people = pl.concat(batches(persons))
    noise = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
    with timed("all squares, from records to figures"):
        with timed("  squares of records"):
            people = dc.with_squares(people)
        codes = people["square"].unique()
        with timed("  classification of four levels"):
            squares = dc.Classification.from_squares("square", codes)
        with timed("  counting"):
            table = dc.tabulate(people, by=[squares], record_key="record_key")
        with timed("  noise"):
            safe = dc.perturb(table, noise)
    print(f"{len(squares):,} squares, {len(people):,} persons, {safe.stored:,} figures")
    halves = dc.Classification.from_squares("square", codes, sizes=HALVES)
    safe = dc.perturb(dc.tabulate(people, by=[halves], record_key="record_key"), noise)
    for rest in (False, True):
        with timed(f"squares merged until 20 persons live in each, rest={rest}"):
            merged = merge_squares(safe, 20, rest=rest)
        with timed("  each person's merged square"):
            leaves = merged.assign(people)["merged_square"]
        print(f"  {leaves.n_unique():,} merged squares")
    kilometres = people.select(
        "municipality", square=pl.col("east") // 1_000 * 10_000 + pl.col("north") // 1_000
    )
    with timed("slivers of municipalities and squares of 1 km"):
        report = find_slivers(kilometres, "municipality", "square", least=10)
    told = "everything searched" if report.complete else f"unions of {report.searched} searched"
    print(f"{len(report.slivers):,} slivers, {told}; {peak()}")


def write(folder: Path, persons: int) -> None:
    """The records with their squares of 100 m and 1 km, batch by batch."""
    import pyarrow.parquet as pq

    writer = None
    for people in batches(persons):
        people = dc.with_squares(dc.with_squares(people), size=1_000, column="km")
        part = people.drop("east", "north").to_arrow()
        writer = writer or pq.ParquetWriter(folder / "p.parquet", part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def build(folder: Path) -> None:
    """Build the store, sorted by squares of 100 m."""
    with timed("building the store"):
        source = folder / "p.parquet"
        made = dc.Store.create(folder / "store", source, variables=STORED, record_key="record_key")
    print(f"  {made.info()['bytes'] / 1e9:.2f} GB; {peak()}", flush=True)


def ask(folder: Path) -> None:
    """Tables of squares with all margins and noise applied; the second of two answers counts."""
    noise = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))
    store = dc.Store.open(folder / "store")
    district = store.codes("square", where="district == 105")
    own = dc.Classification.from_squares("square", district)
    with timed("classification of all squares, four levels"):
        every = dc.Classification.from_squares("square", store.codes("square"))
    print(f"  {len(every):,} squares in all, {len(district):,} of 100 m in the district")
    questions: dict[str, Callable[[], dc.Table]] = {
        "country, sex x age": lambda: store.tabulate(["sex", "age"]),
        "country, squares of 1 km x sex": lambda: store.tabulate(["km", "sex"]),
        "state, squares of 1 km x age": lambda: store.tabulate(["km", "age"], where="state == 5"),
        "district, squares of 100 m, four levels x age": lambda: store.tabulate(
            [own, "age"], where="district == 105"
        ),
        "district, by the classification of all squares": lambda: store.tabulate(
            [every, "sex"], where="district == 105"
        ),
        "country, all squares of 100 m, four levels": lambda: store.tabulate([every]),
    }
    for name, question in questions.items():
        dc.perturb(question(), noise)
        with timed(name):
            safe = dc.perturb(question(), noise)
        print(f"  {safe.stored:,} figures", flush=True)
    print(peak())


def main() -> None:
    """Measure all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--part", choices=("write", "build", "ask"))
    options = parser.parse_args()
    if options.store is None:
        tables(options.persons)
        return
    options.store.mkdir(exist_ok=True)
    steps: dict[str, Callable[[], Any]] = {
        "write": lambda: write(options.store, options.persons),
        "build": lambda: build(options.store),
        "ask": lambda: ask(options.store),
    }
    if options.part:
        steps[options.part]()
        return
    for part in steps:
        again = [sys.executable, __file__, "--persons", str(options.persons), "--part", part]
        subprocess.run([*again, "--store", str(options.store)], check=True)


if __name__ == "__main__":
    main()
