"""A programme of 600 tables over the synthetic census, protected and unprotected.

Region on three levels by up to three more variables, with all margins: counts of all
persons and of adults, and tables of rents with means and shares. The unprotected run
counts the same tables from the same records and writes the same files with the same
writers; it draws no noise, checks no parts, and says nothing about quality.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.tables import Figure, ProtectedTable, Table

TABLES = 600
#: With so few persons, the first tables will do.
_FEW_PERSONS, _FEW_TABLES = 10_000, 12
_ADULTS = "age >= 18"

#: What tables are made of besides the region, with the number of codes.
_SIZES = {
    "sex": 3,
    "age5": 19,
    "legal_age": 8,
    "citizenship": 8,
    "marital_status": 7,
    "education": 15,
    "work": 11,
    "household_type": 6,
    "household_size": 9,
    "tenure": 4,
    "building_type": 6,
    "construction": 9,
}
#: Variables made of numbers: the column, and where each group begins.
_INTERVALS = {
    "age5": ("age", list(range(0, 90, 5))),
    "legal_age": ("age", [0, 6, 14, 16, 18, 21, 67]),
    "household_size": ("household_size", list(range(1, 9))),
}
_SAME = {"age5", "legal_age"}
_RENTS = ("construction", "building_type", "household_type", "household_size", "sex", "citizenship")
_MORE_FORMATS = ("parquet", "json-stat", "json", "sdmx-csv", "html", "px")

_HEAD = """
title = "Six hundred tables"
date = "2026-11-21"
[data]
source = "residents.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.json"
[parts]
max_share_small = 0.6
max_share_unique = 0.2
max_share_grouped = 0.6
max_share_empty = 0.9
[magnitudes.rent]
table = "rent.csv"
top = 2
epsilon = [1, 0.5]
strength = { kind = "flex", point = 1000, small = 0.2, large = 0.03, exponent = 2 }
publish = "means"
[magnitudes.area]
table = "rent.csv"
strength = { kind = "simple", share = 0.1 }
publish = "means"
[variables.region]
column = "municipality"
hierarchy = "region.json"
"""
_FIGURES = """
persons = { kind = "count" }
tenants = { kind = "count", where = "tenure == 'rented'" }
rent = { kind = "mean", of = "rent", decimals = 2, unit = "EUR" }
area = { kind = "mean", of = "area", decimals = 1, unit = "m²" }
rented = { kind = "share", part = "tenants", whole = "persons" }
"""
_LISTED = (
    *("region", "marital_status", "education", "household_type"),
    *("tenure", "building_type", "construction"),
)
_CODES = {
    "sex": ["m", "w"],
    "citizenship": ["home", "europe", "africa", "america", "asia", "stateless", "unclear"],
    "work": list("0123456789"),
}


def combinations() -> Iterator[tuple[str, ...]]:
    """The variables of the tables besides the region, few and short ones first."""
    every = [
        chosen
        for number in range(4)
        for chosen in itertools.combinations(_SIZES, number)
        if not set(chosen) >= _SAME
    ]
    yield from sorted(every, key=lambda chosen: math.prod(_SIZES[name] for name in chosen))


def tables(persons: int) -> list[dict[str, Any]]:
    """What the programme asks for: `by`, `where`, `figures` and `formats` of each table."""
    plain = [
        {"by": ["region", *chosen], "where": where}
        for chosen in combinations()
        for where in ("", _ADULTS)
    ]
    rents = [
        {"by": ["region", *chosen], "where": "", "figures": True}
        for number in range(4)
        for chosen in itertools.combinations(_RENTS, number)
    ]
    few = persons < _FEW_PERSONS
    every = [*plain[: TABLES - len(rents[:24])], *rents[:24]]
    every = [*every[: _FEW_TABLES - 2], *every[-2:]] if few else every
    for at, table in enumerate(every):
        more = [] if at % 4 else [_MORE_FORMATS[at // 4 % len(_MORE_FORMATS)]]
        table["formats"] = ["csv", *more]
    return every


def write_census_programme(folder: Path, persons: int) -> Path:
    """The programme and all that it names; made in a process whose memory is not the release's."""
    programme = folder / "programme.toml"
    if not programme.exists():
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            process.submit(_write_programme, programme, persons).result()
    return programme


def _write_programme(programme: Path, persons: int) -> None:
    from discreet import design_magnitude_perturbation
    from discreet.demo import example_perturbation_table, write_census

    folder = programme.parent
    folder.mkdir(exist_ok=True)
    write_census(folder, persons=persons)
    trees = _trees(folder)
    for name in _LISTED:
        trees[name].write(folder / f"{name}.json")
    _write_residents(folder, trees["nationality"])
    example_perturbation_table().write(folder / "ptable.json")
    design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")
    lines = [_HEAD]
    lines += [f'[variables.{name}]\nhierarchy = "{name}.json"\n' for name in _LISTED[1:]]
    lines += [f"[variables.{name}]\ncodes = {codes}\n" for name, codes in _CODES.items()]
    for name, (column, bounds) in _INTERVALS.items():
        lines += [f'[variables.{name}]\ncolumn = "{column}"\nintervals = {bounds}\n']
    for at, table in enumerate(tables(persons)):
        lines += [f"[tables.T{at + 1:03}]", f"by = {table['by']}", f"formats = {table['formats']}"]
        lines += [f'where = "{table["where"]}"'] if table["where"] else []
        lines += [f"[tables.T{at + 1:03}.figures]{_FIGURES}"] if "figures" in table else []
    programme.write_text("\n".join(lines), encoding="utf-8")


def _trees(folder: Path) -> Mapping[str, Classification]:
    from discreet.demo.census import map_of
    from discreet.demo.classifications import classifications_of

    return classifications_of(map_of(folder / "persons.parquet"))


def _write_residents(folder: Path, nationality: Classification) -> None:
    """Persons with what is known of their household, dwelling and building, and keys."""

    def of(unit: str, *columns: str) -> pl.LazyFrame:
        return pl.scan_parquet(folder / f"{unit}s.parquet").select(f"{unit}_id", *columns)

    units = (
        of("household", "household_type", "household_size"),
        of("dwelling", "tenure", "area", "rent"),
        of("building", "building_type", "construction"),
    )
    frame = pl.scan_parquet(folder / "persons.parquet")
    for unit in units:
        key = unit.collect_schema().names()[0]
        frame = frame.join(unit, on=key, how="left", maintain_order="left")
    above = {
        code: nationality.codes[parent] if parent else code
        for code, parent in zip(nationality.codes, nationality.parents, strict=True)
    }
    people = frame.with_columns(
        pl.col("nationality").cast(pl.String).replace(above).alias("citizenship"),
        pl.col("occupation").cast(pl.String).str.head(1).alias("work"),
    ).collect()
    keys = np.random.default_rng(6).integers(0, 10**15, people.height)
    people.with_columns(pl.Series("record_key", keys)).write_parquet(folder / "residents.parquet")


def protected(place: Path, persons: int) -> Callable[[], object]:
    """Carry out the programme, from records to the report on quality."""
    import discreet as dc

    folder = place / f"census_{persons}"
    programme, out = write_census_programme(folder, persons), folder / "release"

    def run() -> object:
        shutil.rmtree(out, ignore_errors=True)
        return dc.protect(programme, out, progress=_shown)

    return run


def resumed(place: Path, persons: int) -> Callable[[], object]:
    """Take up the programme again after an interruption half way."""
    import discreet as dc

    folder = place / f"census_{persons}"
    programme, out = write_census_programme(folder, persons), folder / "release-resumed"

    def interrupt(done: int, steps: int, what: str) -> None:
        if done == len(tables(persons)) // 2:
            raise KeyboardInterrupt

    shutil.rmtree(out, ignore_errors=True)
    with contextlib.suppress(KeyboardInterrupt):
        dc.protect(programme, out, progress=interrupt)
    return lambda: dc.protect(programme, out, progress=_shown)


def _shown(done: int, steps: int, what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{done:5} of {steps} steps", end="", file=sys.stderr, flush=True)


def unprotected(place: Path, persons: int) -> Callable[[], object]:
    """Count the same tables and write the same files as they are."""
    folder = place / f"census_{persons}"
    write_census_programme(folder, persons)
    out = folder / "unprotected"

    def run() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for name, formats, table in _counted(folder, persons):
            for kind in formats:
                write(table, out / f"{name}{suffix_of(kind)}", format=kind)

    from discreet.publication import suffix_of, write

    return run


def _counted(folder: Path, persons: int) -> Iterator[tuple[str, list[str], ProtectedTable]]:
    """Name, formats and true figures of each table, as they come."""
    from discreet.tabulation import Query, iterate_tables

    trees, every = _spanning(folder), tables(persons)
    queries, of = [], []
    for number, table in enumerate(every):
        by = [trees.get(name, name) for name in table["by"]]
        values = ["rent", "area"] if "figures" in table else []
        queries.append(Query(by=by, where=table["where"] or None, values=values))
        of.append(number)
        if "figures" in table:
            queries.append(Query(by=by, where="tenure == 'rented'"))
            of.append(number)
    waiting: dict[int, Table] = {}
    counted = iterate_tables(pl.scan_parquet(folder / "residents.parquet"), queries)
    for at, counts in counted:
        number = of[at]
        name, formats = f"T{number + 1:03}", every[number]["formats"]
        if "figures" not in every[number]:
            yield name, formats, _as_it_is(name, counts)
        elif number in waiting:
            pair = [counts, waiting.pop(number)]
            persons, tenants = sorted(pair, key=lambda one: not one.sums)
            yield name, formats, _rents(name, persons, tenants)
        else:
            waiting[number] = counts


def _spanning(folder: Path) -> dict[str, Classification]:
    """What spans the tables, as the programme says it."""
    from discreet.classifications import Classification

    found = {name: Classification.read(folder / f"{name}.json", name=name) for name in _LISTED}
    found["region"] = dataclasses.replace(found["region"], column="municipality")
    found |= {name: Classification.flat(name, codes) for name, codes in _CODES.items()}
    for name, (column, bounds) in _INTERVALS.items():
        found[name] = Classification.from_intervals(name, bounds=bounds, column=column)
    return found


def _as_it_is(name: str, table: Table) -> ProtectedTable:
    """True counts in the form that the writers take."""
    return _table(name, table.dimensions, table.index, table.count)


def _rents(name: str, persons: Table, tenants: Table) -> ProtectedTable:
    """True counts, means and shares in the form that the writers take."""
    from discreet.tables import Figure
    from discreet.tables.dimension import figure_dimension

    sizes = [len(dimension) for dimension in persons.dimensions]
    rented = np.zeros(math.prod(sizes), dtype=np.int64)
    rented[np.ravel_multi_index(tenants.index, sizes)] = tenants.count
    count, let = persons.count, rented[np.ravel_multi_index(persons.index, sizes)]
    rent, area = persons.sums["rent"], persons.sums["area"]
    columns = [
        (Figure(name="persons"), count),
        (Figure(name="tenants"), let),
        (Figure(name="rent", kind="mean", decimals=2), rent / np.maximum(let, 1)),
        (Figure(name="area", kind="mean", decimals=1), area / count),
        (Figure(name="rented", kind="share", decimals=1), 100 * let / count),
    ]
    figures = tuple(figure for figure, _ in columns)
    values = np.concatenate([value for _, value in columns])
    which = np.repeat(np.arange(len(figures), dtype=np.int32), len(count))
    index = (*(np.tile(part, len(figures)) for part in persons.index), which)
    dimensions = (*persons.dimensions, figure_dimension(figures))
    return _table(name, dimensions, index, values, figures)


def _table(
    name: str, dimensions: Any, index: Any, value: Any, figures: tuple[Figure, ...] = ()
) -> ProtectedTable:
    from discreet.tables import ProtectedTable, Provenance

    return ProtectedTable(
        dimensions=tuple(dimensions),
        index=tuple(index),
        value=value,
        status=np.zeros(len(value), dtype=np.int8),
        provenance=Provenance(version="0", method="none"),
        name=name,
        figures=figures,
    )


TASKS = {
    "programme, protected": protected,
    "programme, unprotected": unprotected,
    "programme, taken up half way": resumed,
}
