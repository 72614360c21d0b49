"""Stores: the same tables as from the records, whole versions, nothing that was changed."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError
from discreet.tabulation.stored import _StorePass

AREAS = dc.Classification.from_parents(
    "area",
    {f"{at:02d}": f"s{at // 4}" for at in range(12)} | {f"s{at}": "Total" for at in range(3)},
)
VALUES = ["rent", "income", "weight", "rooms"]
VARIABLES = [AREAS, "state", "sex", "age", "born", "owner"]
FILTERS = [
    "",
    "area in ('03', '07', '08')",
    "state == '1' and age >= 30",
    "state != '0' and sex == 'w' and age < 80",
    "sex is null or age is null",
    "not (sex == 'm' or age < 20) and owner",
    "income > 0 and state == '2'",
    "income is null",
    "rent < age",
    "area == 'nowhere'",
]


def people(count: int, seed: int) -> pl.DataFrame:
    """Records with codes of all kinds, some of them missing."""
    draw = np.random.default_rng(seed)
    area = draw.integers(0, 12, count)
    frame = pl.DataFrame(
        {
            "area": pl.Series([f"{at:02d}" for at in area], dtype=pl.String),
            "state": pl.Series([str(at // 4) for at in area], dtype=pl.Categorical),
            "sex": pl.Series(draw.choice(["m", "w", "x"], count), dtype=pl.String),
            "age": draw.integers(-3, 95, count),
            "born": pl.Series(draw.integers(0, 9, count)).cast(pl.Date),
            "owner": draw.integers(0, 2, count) == 1,
            "rent": draw.normal(500, 300, count).round(2),
            "income": draw.normal(0, 1e5, count),
            "weight": draw.integers(1, 40, count) / 8,
            "rooms": draw.integers(0, 3, count),
            "key": draw.integers(0, 10**15, count),
        }
    )
    return frame.with_columns(
        sex=pl.when(pl.col("sex") != "x").then("sex"),
        age=pl.when(pl.col("age") != 50).then("age"),
        income=pl.when(pl.col("age") > 40).then("income"),
    )


def described(table: dc.Table) -> dict[str, Any]:
    """All of a table, in bytes."""

    def content(part: Any) -> Any:
        return part.tobytes() if isinstance(part, np.ndarray) else part

    return {
        "cells": [content(part) for part in (*table.index, table.count, table.cell_key)],
        "weight": content(table.weight),
        "sums": {name: content(part) for name, part in table.sums.items()},
        "lists": {
            name: {key: content(part) for key, part in vars(each).items()}
            for name, each in table.contributions.items()
        },
        "codes": table.dimensions,
    }


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    return people(3000, 1)


@pytest.fixture(scope="module")
def stores(records: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[dc.Store]:
    """The same records, in their order and shuffled, sorted by places and by something else."""
    folder = tmp_path_factory.mktemp("stores")
    shuffled = records.sample(fraction=1, shuffle=True, seed=3)
    shuffled.write_parquet(folder / "records.parquet")
    how: dict[str, Any] = {"values": [*VALUES], "record_key": "key"}
    return [
        dc.Store.create(folder / "a", records, variables=VARIABLES, **how),
        dc.Store.create(folder / "b", folder / "records.parquet", variables=VARIABLES, **how),
        dc.Store.create(folder / "c", shuffled.lazy(), variables=VARIABLES[::-1], **how),
    ]


@settings(max_examples=6)
@given(
    by=st.lists(
        st.sampled_from([AREAS, "state", "sex", "age", "born", "owner"]), max_size=3, unique=True
    ),
    where=st.sampled_from(FILTERS),
    weight=st.sampled_from([None, "weight"]),
    values=st.lists(st.sampled_from(["rent", "income", "rooms"]), max_size=2, unique=True),
    largest=st.integers(0, 3),
)
def test_the_same_tables_as_from_the_records(
    records: pl.DataFrame,
    stores: list[dc.Store],
    by: list[Any],
    where: str,
    weight: str | None,
    values: list[str],
    largest: int,
) -> None:
    how: dict[str, Any] = {"where": where, "weight": weight, "values": values}
    how["contributions"] = largest if values else 0
    expected = described(dc.tabulate(records, by, record_key="key", **how))
    for store in stores:
        assert described(store.tabulate(by, **how)) == expected
    relation = duckdb.from_arrow(records.to_arrow())
    assert described(dc.tabulate(relation, by, record_key="key", **how)) == expected


def test_long_queries_are_counted_by_all_free_processors(
    records: pl.DataFrame, stores: list[dc.Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.tabulation import stored

    monkeypatch.setattr(stored, "_STEP", 64)
    monkeypatch.setattr(stored, "_SHORT", 0)
    monkeypatch.setattr(stored, "_PROCESSORS", 3)
    monkeypatch.setattr(stored, "_FREE", threading.BoundedSemaphore(3))
    asked = [(by, where) for by in (["sex", "age"], ["state"], []) for where in FILTERS[:6]]
    with ThreadPoolExecutor(8) as clients:
        found = [clients.submit(stores[0].tabulate, by, where=where) for by, where in asked * 2]
    for one, (by, where) in zip(found, asked * 2, strict=True):
        expected = dc.tabulate(records, by, record_key="key", where=where)
        assert described(one.result()) == described(expected)
    with stored._processors(1) as most:
        assert most == 3


def test_ages_in_intervals_and_what_a_store_leaves_to_others(
    records: pl.DataFrame, stores: list[dc.Store]
) -> None:
    import narwhals as nw

    ages = dc.Classification.from_intervals("age", [0, 18, 65, 200])
    for by, where in [(["state", ages], "age >= 0"), (["sex"], nw.col("rent") > nw.col("income"))]:
        how: dict[str, Any] = {"where": where, "values": ["rent"]}
        expected = described(dc.tabulate(records, by, record_key="key", **how))
        assert described(stores[0].tabulate(by, **how)) == expected


def test_no_records_and_no_keys(tmp_path: Path, records: pl.DataFrame) -> None:
    for rows in (0, 1):
        few = records[:rows]
        store = dc.Store.create(tmp_path / str(rows), few, variables=["area", "age"], values=VALUES)
        for by in ([], ["area"], ["age"]):
            found, expected = (
                store.tabulate(by, values=VALUES[:2]),
                dc.tabulate(few, by, values=VALUES[:2]),
            )
            assert found.to_polars().equals(expected.to_polars())


def test_only_the_owner_opens_it_and_nothing_shows_a_value(stores: list[dc.Store]) -> None:
    folder = stores[0].records.folder
    modes = {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, stores[0].records.place)} == {0o700}
    assert repr(stores[0]) == f"<Store {folder} (confidential): 10 columns>"


def test_what_cannot_be_built_leaves_the_store_as_it_was(
    tmp_path: Path, records: pl.DataFrame
) -> None:
    how: dict[str, Any] = {"variables": [AREAS, "sex"], "record_key": "key"}
    before = dc.Store.create(tmp_path / "s", records, **how).info()
    wrong = [
        records.drop("sex"),
        records.with_columns(key=pl.lit(None, pl.Int64)),
        records.with_columns(key=pl.int_range(pl.len())),
        records.with_columns(area=pl.lit("elsewhere")),
    ]
    for frame in wrong:
        with pytest.raises(DiscreetError) as error:
            dc.Store.create(tmp_path / "s", frame, **how)
        assert "elsewhere" not in str(error.value)
    assert dc.Store.open(tmp_path / "s").info() == before
    assert len(list((tmp_path / "s").glob("version-*"))) == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").touch()
    with pytest.raises(MicrodataError, match="the folder is not empty and not a store"):
        dc.Store.create(tmp_path / "other", records, **how)


@pytest.mark.parametrize("check", [True, False])
def test_what_was_changed_is_refused(tmp_path: Path, records: pl.DataFrame, check: bool) -> None:
    def all_of(folder: Path) -> None:
        store = dc.Store.open(folder, check=check)
        if not check:
            store.tabulate(["area", "sex", "age"], values=["rent"])

    how: dict[str, Any] = {"values": ["rent"], "record_key": "key"}
    made = dc.Store.create(tmp_path, records, variables=["area", "sex", "age"], **how)
    all_of(tmp_path)
    files = [*made.records.place.iterdir(), tmp_path / "CURRENT"]
    assert len(files) > 8
    for path in files:
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        for forged in (bytes(flipped), content[:-1], b""):
            path.write_bytes(forged)
            with pytest.raises(MicrodataError):
                all_of(tmp_path)
        path.unlink()
        with pytest.raises(MicrodataError):
            all_of(tmp_path)
        path.write_bytes(content)
    all_of(tmp_path)
    outside = json.dumps({"version": "version-/../../x", "sha256": "0"})
    (tmp_path / "CURRENT").write_text(outside)
    with pytest.raises(MicrodataError):
        all_of(tmp_path)


PUBLISH = """
import sys, polars as pl, discreet as dc
folder, first, last = sys.argv[1], *map(int, sys.argv[2:])
for number in range(first, last):
    same = pl.DataFrame({"a": [number % 7] * 500, "b": [number % 7] * 500})
    dc.Store.create(folder, same, variables=["a", "b"])
    print(number, flush=True)
"""


def whole(folder: Path) -> int:
    """The number that all records of the current version carry."""
    cells = dc.Store.open(folder).tabulate(["a", "b"]).to_polars().rows()
    assert len(cells) == 4
    assert {count for *_, count in cells} == {500}
    return int(max(a for a, b, _ in cells if a == b != "Total"))


def _read(folder: Path, versions: int) -> set[int]:
    until, seen = time.monotonic() + 180, set[int]()
    while len(seen) < versions and time.monotonic() < until:
        seen.add(whole(folder))
    return seen


def _publisher(folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PUBLISH, str(folder), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})


@pytest.mark.exhaustive
def test_two_read_while_a_third_publishes(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with _publisher(folder, 0, 10**6) as publisher:
        assert publisher.stdout is not None
        publisher.stdout.readline()
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=spawn) as readers:
            seen = list(readers.map(_read, [folder] * 2, [3] * 2))
        publisher.kill()
    assert all(len(each) == 3 for each in seen)


@pytest.mark.exhaustive
def test_killed_at_some_moments(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with _publisher(folder, 0, 1):
        pass
    for moment in range(0, 50, 16):
        with _publisher(folder, 1, 10**6) as publisher:
            assert publisher.stdout is not None
            publisher.stdout.readline()
            time.sleep(0.0013 * moment)
            publisher.send_signal(signal.SIGKILL)
        whole(folder)
    with _publisher(folder, 5, 6) as publisher:
        pass
    assert whole(folder) == 5
    assert len(list(folder.glob("version-*"))) == 2


# -- programmes and commands -------------------------------------------------------------

PROGRAMME = """
[data]
source = "people.parquet"

[keys]
column = "key"

[perturbation]
table = "ptable.csv"

[variables.area]
prefixes = [1, 2]

[variables.sex]
hierarchy = "sex.csv"

[variables.age]
intervals = [-10, 18, 65]

[defaults]
formats = ["csv"]

[tables.T1]
by = ["area", "sex", "age"]

[tables.T2]
by = ["sex", "rooms"]
where = "age >= 18 and state == '1'"
"""


def run(*words: Any) -> Any:
    from typer.testing import CliRunner

    from discreet.cli.commands import app

    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def programme(tmp_path: Path, records: pl.DataFrame) -> Path:
    records.with_columns(pl.col("state").cast(pl.String)).write_parquet(tmp_path / "people.parquet")
    dc.design_perturbation(max_noise=3, variance=1.5).write(tmp_path / "ptable.csv")
    (tmp_path / "sex.csv").write_text("child,parent\nm,Total\nw,Total\n")
    path = tmp_path / "programme.toml"
    path.write_text(PROGRAMME, encoding="utf-8")
    return path


def test_a_programme_is_the_same_from_a_store(programme: Path) -> None:
    folder, sort = programme.parent, ["--sort", "area"]
    assert run("store", "build", programme, *sort, "--out", folder / "all.store").exit_code == 0
    told = json.loads(run("store", "info", folder / "all.store", "--check", "--json").stdout)
    assert (told["records"], told["sorted_by"]) == (3000, "area")
    assert told["columns"]["state"] == "nested"
    other = folder / "stored.toml"
    other.write_text(PROGRAMME.replace('source = "people.parquet"', 'store = "all.store"'))
    dc.protect(programme, out=folder / "a")
    (folder / "people.parquet").unlink()
    dc.protect(other, out=folder / "b")
    for name in ("T1.csv", "T2.csv"):
        (first,), (second,) = (list((folder / each).rglob(name)) for each in "ab")
        assert pl.read_csv(first, comment_prefix="#").equals(
            pl.read_csv(second, comment_prefix="#")
        )
    changed = PROGRAMME.replace('source = "people.parquet"', 'store = "all.store"')
    parents = (folder / "sex.csv").read_text()
    (folder / "sex.csv").write_text(parents + "d,Total\n")
    other.write_text(changed)
    with pytest.raises(DiscreetError, match="another classification 'sex'"):
        dc.protect(other, out=folder / "c")
    assert not (folder / "c").exists()
    (folder / "sex.csv").write_text(parents)
    (codes,) = [*(folder / "all.store").glob("version-*/1.codes.arrow")]
    codes.write_bytes(codes.read_bytes()[:-1] + b"x")
    other.write_text(changed)
    with pytest.raises(DiscreetError, match="damaged or changed"):
        dc.protect(other, out=folder / "c")


def test_a_query_writes_a_protected_table(programme: Path, records: pl.DataFrame) -> None:
    folder = programme.parent
    assert run("store", "build", programme, "--out", folder / "all.store").exit_code == 0
    asked = ["--by", "state,sex", "--where", "age >= 18", "--ptable", folder / "ptable.csv"]
    found = run("store", "query", folder / "all.store", *asked, "--out", folder / "t.csv")
    assert found.exit_code == 0
    table = dc.tabulate(records, ["state", "sex"], record_key="key", where="age >= 18", name="t")
    ptable = dc.PerturbationTable.read(folder / "ptable.csv")
    dc.perturb(table, ptable).write(folder / "u.csv")
    assert (folder / "t.csv").read_bytes() == (folder / "u.csv").read_bytes()
    assert run("store", "info", folder).exit_code == 2


def test_a_query_writes_sums_and_means(programme: Path, records: pl.DataFrame) -> None:
    folder = programme.parent
    design = dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=2)
    design.write(folder / "values.csv")
    table = dc.tabulate(
        records, ["sex"], record_key="key", values=["rent"], contributions=1, name="t"
    )
    noise = dc.MagnitudeNoise(design, strength=dc.SimpleStrength(share=0.1))
    ptable = dc.PerturbationTable.read(folder / "ptable.csv")
    variables = ["state", "sex", "age"]
    dc.Store.create(
        folder / "all.store", records, variables=variables, record_key="key", values=["rent"]
    )
    asked = ["--by", "sex", "--ptable", folder / "ptable.csv", "--value", "rent"]
    how = ["--value-ptable", folder / "values.csv", "--share", "0.1"]
    for figure in ("sum", "mean"):
        out = ["--figure", figure, "--out", folder / "t.csv"]
        found = run("store", "query", folder / "all.store", *asked, *how, *out)
        assert found.exit_code == 0
        safe = dc.perturb_magnitudes(
            table, noise, "rent", figure=figure, ptable=ptable, p_percent=0
        )
        safe.write(folder / "u.csv")
        assert (folder / "t.csv").read_bytes() == (folder / "u.csv").read_bytes()
    where = ["--out", folder / "n.csv"]
    assert run("store", "query", folder / "all.store", *asked, *where).exit_code == 2
    counts = run("store", "query", folder / "all.store", *asked[:4], "--share", "0.1", *where)
    assert counts.exit_code == 2
    assert "--value" in counts.stderr
    other = [*asked[:4], "--value", "income", *how, *where]
    assert run("store", "query", folder / "all.store", *other).exit_code != 0
    assert not (folder / "n.csv").exists()


def test_codes_are_as_narrow_as_their_number(tmp_path: Path) -> None:
    at = np.arange(2_000)
    kinds = (pl.UInt8, pl.Int16, pl.UInt16, pl.Int64)
    frame = pl.DataFrame({f"v{n}": pl.Series(at % 7, dtype=kind) for n, kind in enumerate(kinds)})
    frame = frame.with_columns(area=pl.Series(at % 5), wide=pl.Series(at % 300, dtype=pl.Int64))
    names = ["area", *(name for name in frame.columns if name != "area")]
    dc.Store.create(tmp_path / "s", frame, variables=names)
    version = next(path for path in (tmp_path / "s").rglob("1.codes.arrow")).parent
    kept = [pl.read_ipc(version / f"{n}.codes.arrow").to_series().dtype for n in range(1, 6)]
    assert kept == [pl.UInt8] * 4 + [pl.UInt16]


def test_squares_of_one_district_are_counted_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells are many for the whole country, and few where a filter has been at work."""
    draw = np.random.default_rng(1)
    count = 4_000
    frame = pl.DataFrame(
        {
            "east": 4_000_000.0 + draw.integers(0, 20_000, count),
            "north": 2_700_000.0 + draw.integers(0, 20_000, count),
            "age": draw.integers(0, 100, count),
            "record_key": draw.integers(0, 10**15, count),
        }
    ).with_columns(district=(pl.col("east") // 2_000 % 10).cast(pl.Int64))
    frame = dc.with_squares(frame)
    names = ["square", "district", "age"]
    store = dc.Store.create(tmp_path / "s", frame, variables=names, record_key="record_key")
    monkeypatch.setattr("discreet.tabulation.stored._MOST_CELLS", 2**16)
    asked: list[str] = []
    monkeypatch.setattr(
        "discreet.microdata.stored_records.StoredRecords.fetched",
        lambda *_: asked.append("decoded"),
    )
    own = frame.filter(pl.col("district") == 3)
    codes = store.codes("square", where="district == 3")
    assert sorted(codes) == sorted(own["square"].unique())
    for squares in ("square", dc.Classification.from_squares("square", codes)):
        for by in ([squares], [squares, "age"]):
            found = store.tabulate(by, where="district == 3")
            wanted = dc.tabulate(own, by, record_key="record_key")
            assert found.to_polars().equals(wanted.to_polars())
    assert not asked


@pytest.mark.parametrize("by", [["sex", "wide"], ["wide", "wider"], ["area", "sex", "wide"]])
@pytest.mark.parametrize("where", ["", "sex == 1", "area >= 3"])
def test_two_columns_are_counted_in_one_loop_whatever_their_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: list[str], where: str
) -> None:
    draw, count = np.random.default_rng(4), 20_000
    frame = pl.DataFrame(
        {
            "area": draw.integers(0, 7, count),
            "sex": draw.integers(0, 2, count),
            "wide": draw.integers(0, 300, count),
            "wider": draw.integers(0, 400, count),
            "record_key": draw.integers(0, 10**15, count),
        }
    )
    names = ["area", "sex", "wide", "wider"]
    store = dc.Store.create(tmp_path / "s", frame, variables=names, record_key="record_key")
    loops = []
    counted = _StorePass._counted_by_two
    monkeypatch.setattr(
        _StorePass, "_counted_by_two", lambda *own: loops.append(1) or counted(*own)
    )
    expected = dc.tabulate(frame, by, record_key="record_key", where=where or None)
    assert described(store.tabulate(by, where=where)) == described(expected)
    assert bool(loops) == (len({*by, *where.split()[:1]} - {"area"}) == 2)
