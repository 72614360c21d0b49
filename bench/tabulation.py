"""Tables, noise, keys and designs: each task sets itself up, then gives what is timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

BY = ["region", "age", "sex"]
SIZES = {"region": 400, "age": 18, "sex": 2}
GRID_256 = 256

Task = Callable[[Path, int], Callable[[], object]]


def records(rows: int, kind: str) -> pl.DataFrame:
    """Records over 400 × 18 × 2 codes, as integers, texts or categories, with keys."""
    rng = np.random.default_rng(rows)
    frame = pl.DataFrame(
        {
            "region": rng.integers(0, SIZES["region"], rows, dtype=np.int32),
            "age": rng.integers(0, SIZES["age"], rows, dtype=np.int8),
            "sex": rng.integers(0, SIZES["sex"], rows, dtype=np.int8),
            "record_key": rng.integers(0, 10**15, rows),
        }
    )
    if kind == "integer":
        return frame
    texts = frame.with_columns(
        pl.format("R{}", pl.col("region").cast(pl.String).str.zfill(4)).alias("region"),
        pl.format("age {}", pl.col("age")).alias("age"),
        pl.format("s{}", pl.col("sex")).alias("sex"),
    )
    return texts if kind == "string" else texts.cast(dict.fromkeys(BY, pl.Categorical))


def noise_table() -> object:
    """A small perturbation table."""
    from discreet.demo import example_perturbation_table

    return example_perturbation_table()


def ours(kind: str) -> Task:
    """Tabulate with all margins, then perturb."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        import discreet as dc

        frame, ptable = records(rows, kind), noise_table()
        return lambda: dc.perturb(dc.tabulate(frame, BY, record_key="record_key"), ptable)

    return set_up


def plain(kind: str) -> Task:
    """Count the inner cells only, with polars and nothing else."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        frame = records(rows, kind)
        return lambda: frame.group_by(BY).len()

    return set_up


def cube(kind: str) -> Task:
    """Count all margins with DuckDB, and add the keys up: what is needed before noise is drawn."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        import duckdb

        connection = duckdb.connect()
        table = records(rows, kind).to_arrow()
        connection.register("records", table)
        connection.execute("CREATE TABLE here AS SELECT * FROM records")
        text = (
            f"SELECT {', '.join(BY)}, count(*), sum(record_key) FROM here GROUP BY CUBE (1, 2, 3)"
        )
        return lambda: connection.execute(text).fetchnumpy()

    return set_up


def other(kind: str) -> Task:
    """The public package of another office: inner cells, keys modulo 256, in pandas."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        import pandas as pd
        from cell_key_perturbation.create_perturbed_table import create_perturbed_table

        frame = records(rows, kind).with_columns(pl.col("record_key") % GRID_256).to_pandas()
        count = 750
        keys = np.tile(np.arange(GRID_256), count)
        counts = np.repeat(np.arange(1, count + 1), GRID_256)
        noise = np.where(keys < 40, -1, np.where(keys > 215, 1, 0))
        table = pd.DataFrame({"pcv": counts, "ckey": keys, "pvalue": noise})
        return lambda: create_perturbed_table(
            data=frame,
            ptable=table,
            geog=["region"],
            tab_vars=["age", "sex"],
            record_key="record_key",
            threshold=0,
        )

    return set_up


def lookup(folder: Path, rows: int) -> Callable[[], object]:
    """Look up the noise of many cells."""
    from discreet.keygrid import CENSUS_GRID

    rng = np.random.default_rng(1)
    counts, keys = rng.integers(0, 50, rows), rng.integers(0, 10**15, rows)
    ptable = noise_table()
    return lambda: ptable.lookup(counts, keys, CENSUS_GRID)  # type: ignore[attr-defined]


def keyed(kind: str) -> Task:
    """Give every record its key."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        import discreet as dc

        ids = pl.int_range(rows, eager=True).alias("id")
        frame = (ids.cast(pl.String) if kind == "string" else ids).to_frame()
        secret = b"a secret for benchmarks, not for use"
        return lambda: dc.with_record_keys(frame, id="id", secret=secret)

    return set_up


def programme(shared: bool) -> Task:
    """Ten tables over five variables, in one pass or each in its own."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from itertools import combinations

        import discreet as dc
        from discreet.tabulation import Query

        rng = np.random.default_rng(2)
        frame = records(rows, "string").with_columns(
            pl.Series("marital", rng.integers(0, 5, rows, dtype=np.int8)),
            pl.Series("work", rng.integers(0, 3, rows, dtype=np.int8)),
        )
        names = ["region", "age", "sex", "marital", "work"]
        queries = [Query(by=list(pair), name="-".join(pair)) for pair in combinations(names, 2)]
        if shared:
            return lambda: dc.tabulate_many(frame, queries, record_key="record_key")
        return lambda: [
            dc.tabulate(frame, query.by, record_key="record_key", name=query.name)
            for query in queries
        ]

    return set_up


def suppressed(fingerprints: bool) -> Task:
    """Ten tables as suppression counts them, or the fingerprints of their cells."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        from itertools import combinations

        import discreet as dc
        from discreet.disclosure import RecordIdentity
        from discreet.microdata import Secret
        from discreet.tabulation import Query

        rng = np.random.default_rng(2)
        frame = records(rows, "string").with_columns(
            pl.Series("marital", rng.integers(0, 5, rows, dtype=np.int8)),
            pl.Series("work", rng.integers(0, 3, rows, dtype=np.int8)),
            pl.Series("rent", rng.integers(1, 2_000, rows)),
        )
        pairs = list(combinations(["region", "age", "sex", "marital", "work"], 2))
        if fingerprints:
            identity = RecordIdentity(("record_key",), Secret(b"an example that is no secret"))
            queries = [Query(by=list(pair), name="-".join(pair)) for pair in pairs]
            return lambda: identity.counted(frame, queries)
        counted = {"values": ["rent"], "contributions": 2}
        tables = [Query(by=list(pair), name="-".join(pair), **counted) for pair in pairs]
        return lambda: dc.tabulate_many(frame, tables)

    return set_up


def rents(engine: str, largest: int) -> Task:
    """Sum a value column with all margins; with the largest contributions of each cell, if any."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        import discreet as dc

        amounts = np.round(np.random.default_rng(4).lognormal(6, 1, rows), 2)
        frame = records(rows, "integer").with_columns(pl.Series("rent", amounts))
        source = _held_by(engine, frame, folder / f"rents_{rows}.parquet")
        return lambda: dc.tabulate(
            source, BY, record_key="record_key", values=["rent"], contributions=largest
        )

    return set_up


def _held_by(engine: str, frame: pl.DataFrame, path: Path) -> object:
    """The records as a frame in memory, or in a file that an engine reads."""
    import duckdb

    if engine == "frame":
        return frame
    frame.write_parquet(path)
    return pl.scan_parquet(path) if engine == "polars file" else duckdb.read_parquet(str(path))


def census_file(folder: Path, rows: int) -> Path:
    """A Parquet file of persons with a region code of three levels, written in pieces."""
    import pyarrow.parquet as pq

    path = folder / f"persons_{rows}.parquet"
    if path.exists():
        return path
    step, writer = 5_000_000, None
    rng = np.random.default_rng(3)
    for start in range(0, rows, step):
        size = min(step, rows - start)
        code = rng.integers(0, 11_000, size)
        piece = pl.DataFrame(
            {
                "region": pl.Series(code).cast(pl.String).str.zfill(5),
                "age": rng.integers(0, 100, size, dtype=np.int8),
                "sex": pl.Series(rng.integers(0, 2, size)).replace_strict({0: "m", 1: "w"}),
                "record_key": rng.integers(0, 10**15, size),
            }
        ).to_arrow()
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    assert writer is not None
    writer.close()
    return path


def from_parquet(folder: Path, rows: int) -> Callable[[], object]:
    """Region (three levels) × age bands × sex with all margins, from a Parquet file."""
    import discreet as dc

    path = census_file(folder, rows)
    codes = [f"{code:05d}" for code in range(11_000)]
    region = dc.Classification.from_prefixes("region", codes, lengths=[2, 3, 5])
    age = dc.Classification.from_intervals("age", bounds=list(range(0, 90, 5)))
    ptable = noise_table()
    return lambda: dc.perturb(
        dc.tabulate(path, [region, age, "sex"], record_key="record_key"), ptable
    )


def scan_parquet(folder: Path, rows: int) -> Callable[[], object]:
    """Count the inner cells of the same file with polars and nothing else."""
    path = census_file(folder, rows)
    age = (pl.col("age") // 5).alias("age")
    return lambda: (
        pl.scan_parquet(path).group_by("region", age, "sex").len().collect(engine="streaming")
    )


def design(folder: Path, size: int) -> Callable[[], object]:
    """Design a perturbation table of this maximum noise."""
    import discreet as dc

    variance = {20: 30.0, 100: 400.0}.get(size, float(size))
    return lambda: dc.design_perturbation(size, variance)


TASKS: dict[str, Task] = {
    **{f"discreet {kind}": ours(kind) for kind in ("integer", "category", "string")},
    **{f"polars {kind}": plain(kind) for kind in ("integer", "category", "string")},
    **{f"duckdb cube {kind}": cube(kind) for kind in ("integer", "category", "string")},
    **{f"cell-key-perturbation {kind}": other(kind) for kind in ("integer", "string")},
    "lookup": lookup,
    "keys integer": keyed("integer"),
    "keys string": keyed("string"),
    "ten tables, one pass": programme(True),
    "ten tables, ten passes": programme(False),
    **{
        f"{engine}, {what}": rents(engine, largest)
        for engine in ("frame", "polars file", "duckdb file")
        for what, largest in (("sums and top 2", 2), ("sums", 0))
    },
    "ten tables to suppress": suppressed(False),
    "fingerprints of ten tables": suppressed(True),
    "design": design,
    "discreet parquet": from_parquet,
    "polars parquet": scan_parquet,
}
