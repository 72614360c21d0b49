"""A store beside DuckDB's own file and polars: any table of many records, alone and under load.

    python bench/store.py --persons 83_000_000 --folder /tmp/store-bench

Makes persons with eight variables and keys, writes them to Parquet, builds a store of the file in
a process of its own, loads DuckDB's file, and asks for tables with noise applied. Prints what
building and opening took, p50 and p95 per kind of question, ratios to the store, and the times
of 1, 4 and 16 clients that mix questions: 70 % of one municipality or state, 20 % from a cache
of protected tables, 10 % of all records. DuckDB and polars count records and keys at the finest
level only: no margins, no noise. `--part build` or `questions` leaves out the others. With
`--variables 30` the records have more variables, every fifth of them with 1,000 codes.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc

CODES = {"sex": 2, "age": 101, "marital": 5, "citizen": 200, "work": 9, "school": 12}
AREAS, STATES, BATCH = 10_786, 16, 4_000_000
VARIABLES = ["area", "state", *CODES]
#: Kind of question: variables, and the filter.
QUESTIONS: dict[str, tuple[list[str], str]] = {
    "national, sex x age": (["sex", "age"], ""),
    "national, citizen x age": (["citizen", "age"], ""),
    "national, area x age (1.09M cells)": (["area", "age"], ""),
    "national, marital x work, adults": (["marital", "work"], "age >= 18"),
    "state, area x age": (["area", "age"], "state == 5"),
    "state, sex x age x marital": (["sex", "age", "marital"], "state == 9"),
    "municipality, sex x age": (["sex", "age"], "area == 4711"),
}


def more_codes(variables: int) -> dict[str, int]:
    """Further variables and how many codes each has."""
    more = range(len(VARIABLES) + 1, variables + 1)
    return {f"v{at:02}": 1000 if at % 5 == 0 else at for at in more}


def write_records(path: Path, persons: int, variables: int) -> None:
    """Persons in no order of places, in batches."""
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    weights = draw.lognormal(0, 1.2, AREAS)
    bounds = np.cumsum(weights / weights.sum())
    writer = None
    for start in range(0, persons, BATCH):
        count = min(BATCH, persons - start)
        area = np.minimum(np.searchsorted(bounds, draw.random(count)), AREAS - 1)
        columns: dict[str, Any] = {"area": area.astype(np.uint16)}
        columns["state"] = (area * STATES // AREAS).astype(np.uint8)
        for name, size in CODES.items():
            codes = draw.integers(0, size, count)
            if name == "citizen":
                codes[draw.random(count) < 0.85] = 0
            columns[name] = codes.astype(np.uint8)
        for name, size in more_codes(variables).items():
            columns[name] = draw.integers(0, size, count, dtype=np.uint16)
        columns["record_key"] = draw.integers(0, 10**15, count)
        table = pl.DataFrame(columns).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def build(folder: Path, variables: int) -> None:
    """Build the store; its time and memory."""
    start, cpu = time.perf_counter(), time.process_time()
    made = dc.Store.create(
        folder / "store",
        folder / "p.parquet",
        variables=[*VARIABLES, *more_codes(variables)],
        record_key="record_key",
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds, busy = time.perf_counter() - start, time.process_time() - cpu
    size = made.info()["bytes"] / 1e9
    print(f"build: {seconds:.1f} s, CPU {busy:.1f} s, peak {peak:.2f} GB; store {size:.2f} GB")


def timed(run: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """p50 and p95 in seconds, after one round that does not count."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.quantile(times, 0.5)), float(np.quantile(times, 0.95))


def database(folder: Path) -> Any:
    """DuckDB's own file, sorted by area as the store is."""
    import duckdb

    connection = duckdb.connect(str(folder / "p.duckdb"))
    connection.execute("SET memory_limit='6GB'; SET threads=2")
    if not connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()[0]:  # type: ignore[index]
        start = time.perf_counter()
        source = folder / "p.parquet"
        connection.execute(f"CREATE TABLE p AS SELECT * FROM '{source}' ORDER BY area")
        size = (folder / "p.duckdb").stat().st_size / 1e9
        print(f"DuckDB: loaded in {time.perf_counter() - start:.1f} s, {size:.2f} GB")
    return connection


def ask_duckdb(connection: Any, by: list[str], where: str) -> Any:
    """Counts and keys of the finest cells."""
    listed, only = ", ".join(by), f"WHERE {where.replace('==', '=')}" if where else ""
    keys = "(sum(record_key) % 1000000000000000)::BIGINT"
    text = f"SELECT {listed}, count(*) n, {keys} k FROM p {only} GROUP BY {listed}"
    return connection.execute(text).fetchnumpy()


def ask_polars(source: Path, by: list[str], where: str) -> Any:
    """The same from Parquet."""
    plan = pl.scan_parquet(source)
    if where:
        plan = plan.sql(f"SELECT * FROM self WHERE {where.replace('==', '=')}")
    key = pl.col("record_key").cast(pl.Int128).sum()
    grouped = plan.group_by(by).agg(pl.len(), key % 10**15)
    return grouped.collect(engine="streaming")


def ask_store(store: dc.Store, noise: dc.PerturbationTable, by: list[str], where: str) -> Any:
    """The protected table with all margins."""
    return dc.perturb(store.tabulate(by, where=where), noise)


def questions(folder: Path, noise: dc.PerturbationTable, rounds: int) -> None:
    """Each kind of question, asked of the store, of DuckDB and of polars."""
    connection = database(folder)
    start = time.perf_counter()
    store = dc.Store.open(folder / "store")
    print(f"open: {time.perf_counter() - start:.4f} s")
    start = time.perf_counter()
    store.tabulate(["sex", "age"])
    print(f"first answer: {time.perf_counter() - start:.2f} s (digests checked, loops loaded)")
    header = ("p50 ms", "p95 ms", "count only", "DuckDB p50", "x", "polars p50", "x")
    print(f"{'':38}" + "".join(f"{word:>12}" for word in header))
    for name, (by, where) in QUESTIONS.items():
        half, most = timed(lambda b=by, w=where: ask_store(store, noise, b, w), rounds)
        alone, _ = timed(lambda b=by, w=where: cells_only(store, b, w), rounds)
        duck, _ = timed(lambda b=by, w=where: ask_duckdb(connection, b, w), 3)
        polar, _ = timed(lambda b=by, w=where: ask_polars(folder / "p.parquet", b, w), 2)
        row = [f"{each * 1000:,.1f}" for each in (half, most, alone, duck)]
        row += [f"{duck / alone:.1f}", f"{polar * 1000:,.1f}", f"{polar / alone:.1f}"]
        print(f"{name:38}" + "".join(f"{text:>12}" for text in row), flush=True)
    connection.close()


def cells_only(store: dc.Store, by: list[str], where: str) -> Any:
    """What the others are asked for: the finest cells, without margins and noise."""
    from discreet.tabulation.engine import TabulationTask
    from discreet.tabulation.query import Query
    from discreet.tabulation.stored import StoreEngine
    from discreet.tabulation.tables import _counted

    task = TabulationTask(
        records=store.records.plan(),
        queries=[Query(by=by, where=where)],
        record_key="record_key",
        grid=dc.KeyGrid.of(10**15),
        unsuitable_keys=False,
    )
    engine = StoreEngine(task)
    return list(_counted([engine], engine.groups()))


def load(folder: Path, noise: dc.PerturbationTable, seconds: float) -> None:
    """Clients that ask one question after the other."""
    store, cache = dc.Store.open(folder / "store"), dict[Any, Any]()
    national = [(by, "") for by in (["sex", "age"], ["marital", "work"], ["citizen", "age"])]
    for by, where in national:
        cache[tuple(by)] = ask_store(store, noise, by, where)

    def client(number: int) -> list[float]:
        draw, times, until = random.Random(number), list[float](), time.perf_counter() + seconds
        while time.perf_counter() < until:
            kind, start = draw.random(), time.perf_counter()
            if kind < 0.2:
                cache[tuple(draw.choice(national)[0])].to_polars()
            elif kind < 0.3:
                ask_store(store, noise, *draw.choice(national))
            else:
                area = draw.randrange(AREAS)
                where = f"area == {area}" if kind < 0.85 else f"state == {area % STATES}"
                ask_store(store, noise, ["sex", "age"], where)
            times.append(time.perf_counter() - start)
        return times

    for clients in (1, 4, 16):
        start = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            times = [each for part in pool.map(client, range(clients)) for each in part]
        rate = len(times) / (time.perf_counter() - start)
        told = ", ".join(f"p{q} {np.quantile(times, q / 100) * 1000:,.0f} ms" for q in (50, 95, 99))
        print(f"{clients:>2} clients: {told}; {rate:,.1f} answers a second", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory of the process, mapped files included: {peak:.2f} GB")


def main() -> None:
    """Measure all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--variables", type=int, default=len(VARIABLES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--part", choices=("all", "build", "questions", "load"), default="all")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(exist_ok=True)
    if not (folder / "p.parquet").exists():
        write_records(folder / "p.parquet", options.persons, options.variables)
    if options.part == "build":
        build(folder, options.variables)
        return
    if options.part == "all":
        again = [sys.executable, __file__, "--folder", str(folder), "--part", "build"]
        again += ["--variables", str(options.variables)]
        subprocess.run(again, check=True)
    noise = dc.design_perturbation(max_noise=3, variance=1.5)
    if options.part in ("all", "questions"):
        questions(folder, noise, options.rounds)
    if options.part in ("all", "load"):
        load(folder, noise, options.seconds)


if __name__ == "__main__":
    main()
