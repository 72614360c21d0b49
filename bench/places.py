"""One programme of 50 tables over records in many places: a file, a database, cubes of parts.

    python bench/places.py --persons 10_000_000 --database --spark "local[2]" --memory 1GB

Prints seconds by the clock, those of the processor and the largest memory of each way, each in a
process of its own, and whether all of them gave the same files. Records have keys and eight
codes. With `--database` they are put into a PostgreSQL server of its own first, which is not
measured; its own processor time is not counted, the clock is. With `--spark` the records are
counted in Spark too. With `--memory` keys are made on the way, once without and once with such a
limit.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parent.parent
CODES = {"sex": 2, "age": 101, "marital": 5, "work": 9, "school": 12, "tenure": 4, "size": 8}
REGIONS, BATCH = (16, 25, 10), 2_000_000
HEAD = """\
[data]
{data}
[keys]
{keys}
[perturbation]
table = "ptable.csv"
[variables.region]
hierarchy = "region.csv"
[variables.age]
intervals = [0, 18, 25, 40, 65, 80]
[defaults]
formats = ["parquet"]
[quality]
enabled = false
"""


def write_records(folder: Path, persons: int, parts: int) -> None:
    """The records: one file of all, and so many parts."""
    import discreet as dc

    draw = np.random.default_rng(1)
    number = int(np.prod(REGIONS))
    lines = ["child,parent", "Total,", *(f"{a:02},Total" for a in range(REGIONS[0]))]
    for wide, narrow in ((2, 4), (4, 5)):
        steps = {2: REGIONS[1], 4: REGIONS[2]}[wide]
        above = sorted({line.split(",")[0] for line in lines if len(line.split(",")[0]) == wide})
        lines += [f"{up}{n:0{narrow - wide}},{up}" for up in above for n in range(steps)]
    (folder / "region.csv").write_text("\n".join(lines) + "\n")
    dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2)).write(folder / "ptable.csv")
    codes = [line.split(",")[0] for line in lines]
    leaves = np.array([code for code in codes if code.isdigit() and len(code) == 5])
    (folder / "all").mkdir()
    for at, first in enumerate(range(0, persons, BATCH)):
        count = min(BATCH, persons - first)
        columns: dict[str, Any] = {"region": leaves[draw.integers(0, number, count)]}
        columns |= {name: draw.integers(0, codes, count) for name, codes in CODES.items()}
        columns["own_key"] = draw.integers(0, 10**15, count)
        columns["person"] = (first + np.arange(count)) * 2_654_435_761 % 2**40
        pl.DataFrame(columns).write_parquet(folder / "all" / f"{at:04}.parquet")
    whole = pl.scan_parquet(folder / "all").with_row_index("row")
    for part in range(parts):
        own = whole.filter(pl.col("row") % parts == part).drop("row")
        own.sink_parquet(folder / f"part{part:02}.parquet")


#: Where record keys come from.
GIVEN, MADE = 'column = "own_key"', 'id = "person"\nsecret_file = "secret.key"'


def programme(folder: Path, name: str, data: str, keys: str = GIVEN) -> Path:
    """The programme of 50 tables over records in one place."""
    sets = [("region", *pair) for pair in itertools.combinations(CODES, 2)]
    sets += [tuple(three) for three in itertools.combinations(CODES, 3)]
    tables = [
        f"[tables.T{at}]\nby = {json.dumps(list(by))}\n" for at, by in enumerate(sets[:50], 1)
    ]
    path = folder / f"{name}.toml"
    path.write_text(HEAD.format(data=data, keys=keys) + "".join(tables))
    return path


def timed(words: list[str]) -> tuple[float, float, float]:
    """Seconds by the clock, of the processor, and megabytes of one command."""
    code = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]);"
        "own = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024); sys.exit(done.returncode)"
    )
    began = time.perf_counter()
    command = [sys.executable, "-c", code, sys.executable, "-m", "discreet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu, memory = map(float, done.stdout.splitlines()[-1].split())
    return time.perf_counter() - began, cpu, memory


def digest(folder: Path) -> str:
    """A digest of the cells of all tables of a release; their files hold digests of the data."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("T*.parquet")):
        found.update(path.name.encode() + pl.read_parquet(path).write_csv().encode())
    return found.hexdigest()[:12]


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """The URL of a server that has the records."""
    sys.path.insert(0, str(ROOT))
    import sqlalchemy

    from tests.helpers.databases import postgresql_server

    with postgresql_server() as url:
        engine = sqlalchemy.create_engine(url)
        columns = ["region text", *(f"{name} smallint" for name in CODES)]
        columns += ["own_key bigint", "person bigint"]
        with engine.begin() as connection:
            connection.exec_driver_sql(f"create unlogged table people ({', '.join(columns)})")
            raw: Any = connection.connection.dbapi_connection
            with raw.cursor().copy("copy people from stdin (format csv)") as copy:
                for path in sorted((folder / "all").glob("*.parquet")):
                    for part in pl.read_parquet(path).iter_slices(100_000):
                        copy.write(part.write_csv(include_header=False))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("vacuum analyze people")
        engine.dispose()
        yield url


def ways(
    folder: Path, parts: int, url: str, options: argparse.Namespace
) -> Iterator[tuple[str, list[list[str]], str]]:
    """What is done in each way: its name, its commands, and where its tables are."""

    def protected(name: str, data: str, *more: str, keys: str = GIVEN) -> list[str]:
        path = programme(folder, name, data, keys)
        return ["protect", str(path), "--out", str(folder / name), *more]

    yield "a file", [protected("file", 'source = "all"')], "file"
    source = programme(folder, "part", 'source = "all"')
    cubes = [folder / f"part{part:02}.cube" for part in range(parts)]
    about = ["--programme", str(source), "--out"]
    made = [
        ["cube", "make", str(cube.with_suffix(".parquet")), *about, str(cube)] for cube in cubes
    ]
    yield f"{parts} cubes, made", made, ""
    joined = ["cube", "join", *map(str, cubes), "--out", str(folder / "all.cube")]
    yield f"{parts} cubes, joined", [joined], ""
    yield "a release of cubes", [protected("cubes", 'source = "all.cube"')], "cubes"
    if url:
        place = f'database = "{url}"\ntable = "people"'
        yield "PostgreSQL", [protected("database", place)], "database"
    if options.spark:
        words = protected("spark", f'spark = "{folder}/all"', "--master", options.spark)
        yield "Spark", [words], "spark"
    if options.memory:
        (folder / "secret.key").write_text("a secret that is long enough for a bench\n")
        (folder / "secret.key").chmod(0o600)
        yield "keys made", [protected("made", 'source = "all"', keys=MADE)], "made"
        words = protected("kept", 'source = "all"', "--memory", options.memory, keys=MADE)
        yield f"the same, {options.memory}", [words], "kept"


def main() -> None:
    """Measure each way once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=lambda text: int(text.replace("_", "")), default=10**6)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--database", action="store_true")
    parser.add_argument("--spark", default="")
    parser.add_argument("--memory", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="discreet-places-") as name:
        folder = Path(name)
        write_records(folder, options.persons, options.parts)
        with database(folder) if options.database else nullcontext("") as url:
            print(f"{options.persons:,} persons, 50 tables")
            print(f"{'':24}{'seconds':>9}{'CPU s':>9}{'MB':>8}  tables")
            for way, commands, place in ways(folder, options.parts, url, options):
                found = [timed(command) for command in commands]
                seconds, cpu = (sum(part[at] for part in found) for at in (0, 1))
                memory = max(part[2] for part in found)
                told = digest(folder / place) if place else ""
                print(f"{way:24}{seconds:9.1f}{cpu:9.1f}{memory:8.0f}  {told}", flush=True)


if __name__ == "__main__":
    main()
