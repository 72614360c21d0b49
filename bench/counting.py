"""Counting with all margins and noise, wherever records are, beside what others do there.

    python bench/counting.py [--most 10_000_000] [--folder DIR] [--postgresql]

Records have 400 × 18 × 2 codes and a key. The rival of frames and of Parquet is polars, which
only counts the inner cells; that of databases and of the store is GROUP BY CUBE there, with sums
of keys. The limit is to read as many bytes as the records have in memory, once. Milliseconds of
the processor, in a database of PostgreSQL, which is another process, by the clock; medians of
rounds in which both take turns. With `--folder`, files are kept there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulation import BY, noise_table, records

import discreet as dc

ROOT = Path(__file__).resolve().parent.parent
CUBE = f"SELECT {', '.join(BY)}, count(*), sum(record_key) FROM records GROUP BY CUBE (1, 2, 3)"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 83_000_000)
#: Rounds, in which about so many records are counted, and at least seven: the first ones of large
#: frames load the compiler.
_ROUNDS, _RECORDS = 41, 20_000_000

Side = Callable[[], object]


def ours(source: Any, **more: Any) -> Side:
    """Count records with all margins, and draw noise."""
    ptable = noise_table()
    return lambda: dc.perturb(dc.tabulate(source(), BY, record_key="record_key", **more), ptable)


def inner(frame: pl.DataFrame) -> object:
    """Count the inner cells, and nothing else."""
    return frame.group_by(BY).len()


def places(folder: Path, count: int, url: str) -> Iterator[tuple[str, Side, Side, int]]:
    """Where records are: its name, ours, the rival, and bytes of the records in memory."""
    import duckdb

    frame = records(count, "integer")
    size = int(frame.estimated_size())
    yield "frame of integers", ours(lambda: frame), partial(inner, frame), size
    if count <= SIZES[3]:
        for kind, name in (("category", "categories"), ("string", "texts")):
            other = records(count, kind)
            yield f"frame of {name}", ours(other.clone), partial(inner, other), size
    path = folder / f"{count}.parquet"
    frame.write_parquet(path)
    scan = pl.scan_parquet(path).group_by(BY).len()
    yield "Parquet", ours(lambda: path), lambda: scan.collect(engine="streaming"), size
    with duckdb.connect(str(folder / f"{count}.duckdb")) as held:
        held.execute(f"CREATE OR REPLACE TABLE records AS SELECT * FROM '{path}' ORDER BY region")

        def cube() -> object:
            return held.execute(CUBE).fetchnumpy()

        yield "DuckDB's own file", ours(lambda: held.table("records")), cube, size
        store = dc.Store.create(
            folder / f"{count}.store", path, variables=BY, record_key="record_key"
        )
        ptable = noise_table()
        yield "store", lambda: dc.perturb(store.tabulate(by=BY), ptable), cube, size
    if url and count <= SIZES[3]:
        yield "PostgreSQL, by the clock", *in_postgresql(frame, url), size


def in_postgresql(frame: pl.DataFrame, url: str) -> tuple[Side, Side]:
    """Both sides in a database that another process runs."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("drop table if exists records")
        connection.exec_driver_sql(
            "create unlogged table records"
            " (region integer, age smallint, sex smallint, record_key bigint)"
        )
        raw: Any = connection.connection.dbapi_connection
        with raw.cursor().copy("copy records from stdin (format csv)") as copy:
            for part in frame.iter_slices(100_000):
                copy.write(part.write_csv(include_header=False))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("vacuum analyze records")

    def rival() -> object:
        with engine.connect() as connection:
            return connection.exec_driver_sql(CUBE).fetchall()

    return ours(lambda: dc.read_microdata(url, table="records")), rival


def measured(sides: list[Side], rounds: int, clock: Callable[[], float]) -> list[float]:
    """Median milliseconds of each side; they take turns, after a round that does not count."""
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for own, run in zip(times, sides, strict=True):
            start = clock()
            run()
            if number:
                own.append(1000 * (clock() - start))
    return [statistics.median(own) for own in times]


def main() -> None:
    """Print a row for each place and number of records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[3])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--postgresql", action="store_true", help="on a new server")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        url = ""
        if given.postgresql:
            sys.path.insert(0, str(ROOT))
            from tests.helpers.databases import postgresql_server

            url = stack.enter_context(postgresql_server())
        print("| records | where | ours, ms | rival, ms | × | reading the bytes, ms |")
        print("|---:|---|---:|---:|---:|---:|")
        for count in [size for size in SIZES if size <= given.most]:
            for name, own, rival, size in places(folder, count, url):
                clock = time.perf_counter if "clock" in name else time.process_time
                memory = np.ones(max(size // 8, 1), dtype=np.int64)
                rounds = max(7, min(_ROUNDS, _RECORDS // count))
                us, them, limit = measured([own, rival, memory.sum], rounds, clock)
                ratio = f"{us / them:.2f}"
                print(f"| {count:,} | {name} | {us:.1f} | {them:.1f} | {ratio} | {limit:.2f} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
