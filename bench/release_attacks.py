"""Attacks on tables with noise: how often they succeed by design, and how long they take.

    python bench/release_attacks.py designs --persons 200_000
    python bench/release_attacks.py size --persons 20_000_000
    python bench/release_attacks.py averages --releases 40
    python bench/release_attacks.py squares --persons 300_000
    python bench/release_attacks.py census --persons 1_000_000
    python bench/release_attacks.py equality --persons 200_000

`averages` holds averaging over random releases against dense least squares written apart. `designs`
counts some tables of synthetic persons once, and protects them by three designs, with intervals of
the noise in order and permuted. `size` attacks one table of very many cells. `squares` times
estimates by least squares, without and with leverages, and holds what they find against a sparse
solution written apart. `census` attacks the programme of 600 tables of `census.py`, from its folder
and held against its data. `equality` takes one person after the other out of a universe until a
million pairs of figures are compared: unequal ones must be cells of that person.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment.attacks import NoiseOdds, PublishedFigures, bounded, estimated
from discreet.assessment.attacks.bounds import NoiseRange
from discreet.demo import example_perturbation_table
from discreet.protection.noise import PerturbationTable
from discreet.protection.noise.design import permuted

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.averaging_apart import (
    figures_of,
    people_of,
    random_release,
    share_apart,
    share_attacked,
    share_sparse,
)

#: From so many persons on, estimates are not held against a solution written apart.
_APART = 1_000_000


def designs() -> dict[str, PerturbationTable]:
    """The designs that are compared, in order."""
    return {
        "D=5, V=3, no 1 and 2": dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2)),
        "teaching matrix": example_perturbation_table(),
        "D=2, V=1": dc.design_perturbation(max_noise=2, variance=1),
    }


def people(number: int) -> pl.DataFrame:
    """Persons in regions of uneven size, with codes that depend on each other."""
    draw = np.random.default_rng(1)
    region = np.searchsorted(np.cumsum(draw.dirichlet(np.full(400, 0.6))), draw.random(number))
    age = np.clip(draw.normal(42, 23, number), 0, 99).astype(np.int64)
    marital = np.where(age < 18, 0, draw.integers(0, 4, number))
    work = np.where(age < 15, 0, draw.choice(6, number, p=[0.1, 0.4, 0.2, 0.15, 0.1, 0.05]))
    return pl.DataFrame(
        {
            "region": np.char.zfill(np.minimum(region, 399).astype(str), 3),
            "sex": draw.integers(0, 2, number),
            "age": age,
            "marital": marital,
            "work": work,
            "tenure": draw.integers(0, 3, number),
            "key": draw.integers(0, 10**15, number),
        }
    )


def spanning(frame: pl.DataFrame, *lengths: int) -> dict[str, Any]:
    """What spans the tables: regions by the first signs of their codes, ages."""
    codes = frame["region"].unique().sort().to_list()
    region = dc.Classification.from_prefixes("region", codes, lengths=lengths)
    age = dc.Classification.from_intervals(
        "age", bounds=[0, 5, 10, 15, 18, 25, 30, 40, 50, 65, 75], parents=[[0, 18, 65]]
    )
    return {"region": region, "age": age}


def compare(persons: int) -> None:
    """A row per design: what averaging, bounds and single sums find out."""
    frame = people(persons)
    trees = spanning(frame, 1, 3)
    names = ("sex", "age", "marital", "work", "tenure")
    sets = [("region", *rest) for n in range(4) for rest in itertools.combinations(names, n)]
    sets.append(names)
    queries = [dc.Query(by=[trees.get(name, name) for name in each]) for each in sets]
    tables = dc.tabulate_many(frame, queries, record_key="key")
    cells = sum(len(table) for table in tables)
    print(f"{persons:,} persons, {len(tables)} tables, {cells:,} cells")
    head = ("found", "unchanged", "determined", "1 or 2", "one sum", "right", "seconds")
    print(f"{'design':34}" + "".join(f"{word:>11}" for word in head))
    for name, ptable in designs().items():
        for how, table in (("in order", ptable), ("permuted", permuted(ptable, seed=1))):
            print(f"{f'{name}, {how}':34}" + _row(tables, table), flush=True)


def _row(tables: Sequence[Any], ptable: PerturbationTable) -> str:
    safe = [dc.perturb(table, ptable) for table in tables]
    began = time.perf_counter()
    report = dc.attack({"persons": safe}, truth={"persons": list(tables)}, ptable=ptable)
    seconds = time.perf_counter() - began
    (universe,) = report.universes
    worst = max(
        (layer for layer in universe.layers if layer.cells >= 20 and layer.found is not None),
        key=lambda layer: layer.found or 0.0,
    )
    bounds = universe.bounds
    assert bounds is not None
    told = [
        f"{worst.found:.3f}",
        f"{worst.unchanged:.3f}",
        f"{bounds.determined / bounds.cells:.5f}",
        f"{bounds.one_or_two / bounds.cells:.5f}",
        f"{(bounds.likely or 0) / bounds.cells:.5f}",
        "–" if bounds.right is None else f"{bounds.right:.3f}",
        f"{seconds:.1f}",
    ]
    return "".join(f"{text:>11}" for text in told)


def size(persons: int) -> None:
    """Bounds and estimates of one table of very many cells."""
    frame = people(persons).with_columns(
        region=(pl.col("key") % 16_000).cast(pl.String).str.zfill(5),
    )
    trees = spanning(frame, 2, 5)
    table = dc.tabulate(frame, by=[*trees.values(), "sex", "marital", "work"], record_key="key")
    ptable = designs()["D=5, V=3, no 1 and 2"]
    safe = dc.perturb(table, ptable)
    print(f"{len(safe):,} cells", flush=True)
    del table, frame
    began, cpu = time.perf_counter(), time.process_time()
    (system,) = PublishedFigures.of({"": [safe]}, None).systems.values()
    for name, run in (
        ("in order", lambda: None),
        ("estimates", lambda: estimated(system)),
        ("bounds", lambda: bounded(system, NoiseRange.of_table(ptable))),
    ):
        run()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        wall, used = time.perf_counter() - began, time.process_time() - cpu
        print(f"{name:12}{wall:8.1f} s{used:8.1f} CPU s{memory:8.0f} MB", flush=True)
        began, cpu = time.perf_counter(), time.process_time()


def squares(persons: int) -> None:
    """Least squares over one table of some hundred thousand cells: time, and what is found."""
    table = dc.tabulate(people_of(persons), by=["area", "age", "work"], record_key="record_key")
    for name, ptable in designs().items():
        safe = dc.perturb(table, ptable)
        (system,) = PublishedFigures.of({"": [safe]}, {"": [table]}).systems.values()
        variance = NoiseOdds.of(ptable).variance
        cells, timed = {}, []
        for leverages in (False, True):
            began, cpu = time.perf_counter(), time.process_time()
            cells = estimated(system, variance, leverages=leverages)
            timed += [time.perf_counter() - began, time.process_time() - cpu]
        seen = [(own, own.layer.truth(own.layer.ids)) for own in cells.values()]
        hits = [
            np.concatenate([(np.rint(figures(own)) == true)[own.noisy] for own, true in seen])
            for figures in (lambda own: own.layer.value, lambda own: own.estimate)
        ]
        apart = share_sparse(safe, table)[1] if persons < _APART else float("nan")
        most = max(float(own.exposure.max()) for own, _ in seen)
        print(
            f"{name:24}{len(hits[0]):>9,} cells; unchanged {hits[0].mean():.3f}, found"
            f" {hits[1].mean():.3f}, by sparse least squares apart {apart:.3f}; exposure up to"
            f" {most:.2f}; seconds and CPU seconds of estimates, with leverages"
            f" {', '.join(f'{second:.1f}' for second in timed)}",
            flush=True,
        )


def averages(releases: int) -> None:
    """Averaging over random releases, against dense least squares written apart."""
    rows = []
    for seed in range(releases):
        release = random_release(seed)
        published, apart = share_apart(figures_of(release))
        rows.append((published, apart, share_attacked(release)[1]))
        if rows[-1][2] < apart - 0.01:
            print(f"release {seed}: {rows[-1][2]:.3f}, apart {apart:.3f}", flush=True)
    published, apart, attacked = np.mean(rows, axis=0)
    least = min(own - other for _, other, own in rows)
    print(
        f"{releases} releases: published {published:.3f}, dense {apart:.3f}, attack"
        f" {attacked:.3f}; attack less dense at least {least:+.3f}"
    )


def census(persons: int) -> None:
    """The programme of 600 tables: attacked as it is, and held against the data."""
    from census import write_census_programme

    with tempfile.TemporaryDirectory(prefix="discreet-attacks-") as name:
        folder = Path(name)
        programme = write_census_programme(folder, persons)
        dc.protect(programme, folder / "release")
        ptable = PerturbationTable.read(folder / "ptable.json")
        for what, truth in (("as it is", None), ("held against the data", programme)):
            began, cpu = time.perf_counter(), time.process_time()
            report = dc.attack(folder / "release", ptable=ptable, truth=truth)
            cells = sum(layer.cells for one in report.universes for layer in one.layers)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            wall, used = time.perf_counter() - began, time.process_time() - cpu
            print(f"{what:22}{cells:>12,} cells{wall:8.1f} s{used:8.1f} CPU s{memory:8.0f} MB")
            print(report.rates(), flush=True)


_PAIRS = 1_000_000


def equality(persons: int) -> None:
    """Pairs of figures with and without one person: which are unequal, and are they his?"""
    frame = people(persons)
    trees = spanning(frame, 1, 3)
    by = [trees["region"], trees["age"], "sex", "marital"]
    ptable = designs()["D=5, V=3, no 1 and 2"]
    names = ["region", "age", "sex", "marital"]
    every = dc.perturb(dc.tabulate(frame, by=by, record_key="key"), ptable).to_polars()
    draw = np.random.default_rng(2)
    pairs = unequal = false = own = proven = trials = 0
    while pairs < _PAIRS:
        person = int(draw.integers(persons))
        rest = frame.with_row_index().filter(pl.col("index") != person).drop("index")
        safe = dc.perturb(dc.tabulate(rest, by=by, record_key="key"), ptable).to_polars()
        alone = dc.tabulate(frame[person : person + 1], by=by, record_key="key",
                            allow_unsuitable_keys=True).to_polars()  # fmt: skip
        cells = alone.filter(pl.col("count") > 0).select(pl.col(names).cast(pl.String), his=True)
        both = every.join(safe, on=names, how="full", coalesce=True, suffix=" rest")
        both = both.with_columns(pl.col(names).cast(pl.String)).join(cells, on=names, how="left")
        apart = pl.col("value").fill_null(0) != pl.col("value rest").fill_null(0)
        told = both.select(
            pl.len(),
            apart.sum().alias("apart"),
            (apart & pl.col("his").is_null()).sum().alias("no"),
            pl.col("his").sum(),
        ).row(0)  # fmt: skip
        pairs, unequal, false, own = (
            pairs + told[0],
            unequal + told[1],
            false + told[2],
            own + told[3],
        )
        proven, trials = proven + (told[1] > 0), trials + 1
    print(f"{trials} persons, {pairs:,} pairs, {own:,} of them cells of the person")
    print(
        f"{unequal:,} unequal, {false:,} of these not cells of the person; {proven} persons proven"
    )


def main() -> None:
    """Run one of the six."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*_RUNS])
    parser.add_argument("--persons", "--releases", type=lambda text: int(text.replace("_", "")))
    options = parser.parse_args()
    function, usual = _RUNS[options.what]
    function(options.persons or usual)


_RUNS: dict[str, tuple[Callable[[int], None], int]] = {
    "averages": (averages, 40), "designs": (compare, 200_000), "size": (size, 20_000_000),
    "squares": (squares, 300_000), "census": (census, 10**6), "equality": (equality, 200_000),
}  # fmt: skip

if __name__ == "__main__":
    main()
