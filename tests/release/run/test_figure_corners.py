"""Tables of key figures at the corners: nothing counted, codes found, zeros perturbed."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.protection.noise import PerturbationTable
from discreet.release import protect

Write = Callable[[str], Path]

HEAD = """
[data]
source = "dwellings.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
"""


@pytest.fixture
def write(figures: Path) -> Write:
    """A programme over the dwellings, with some sections of its own."""

    def written(text: str) -> Path:
        path = figures.with_name("own.toml")
        path.write_text(HEAD + text, encoding="utf-8")
        return path

    return written


def frame(out: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(out / f"{name}.csv", infer_schema=False)


def test_ingredients_may_all_be_hidden(write: Write, tmp_path: Path) -> None:
    path = write("""
        [tables.T]
        by = ["year"]
        [tables.T.figures]
        all = { kind = "count", hidden = true }
        part = { kind = "share", part = "all", over = ["year"] }
    """)
    protect(path, tmp_path / "out")
    assert frame(tmp_path / "out", "T")["value"][0] == "100.0"
    assert (tmp_path / "out" / "quality.json").exists()


def test_a_filter_that_nothing_passes(write: Write, tmp_path: Path) -> None:
    path = write("""
        [variables.year]
        codes = ["2011", "2015", "2022"]
        [parts]
        max_share_small = 0.5
        [tables.T]
        by = ["year", "tenure"]
        [tables.T.figures]
        all = { kind = "count" }
        none = { kind = "count", where = "tenure == 'nobody'" }
        rate = { kind = "per_thousand", part = "none", whole = "all" }
        [tables.empty]
        by = ["year"]
        where = "tenure == 'nobody'"
    """)
    protect(path, tmp_path / "out")
    values = frame(tmp_path / "out", "T").filter(pl.col("figure") == "none")["value"]
    assert set(values) <= {"0", None, ""}
    log = json.loads((tmp_path / "out" / "decisions.json").read_text())
    assert set(log["tables"]) == {"T", "empty"}


@pytest.mark.parametrize("found", ["list", "hide"])
def test_parts_of_tables_over_codes_found(write: Write, tmp_path: Path, found: str) -> None:
    path = write(
        """
        [parts]
        min_average_size = 100
        [variables.region]
        column = "municipality"
        prefixes = [1, 2]
        [tables.T]
        by = ["region", "tenure"]
        where = "rent > 400"
        [tables.F]
        by = ["region", "tenure"]
        [tables.F.figures]
        all = { kind = "count" }
        cheap = { kind = "share", part = "low", whole = "all" }
        low = { kind = "count", where = "rent < 300", hidden = true }
    """
    )
    text = path.read_text("utf-8")
    stated = f'[perturbation]\nfound_codes = "{found}"\n'
    path.write_text(text.replace("[perturbation]\n", stated), encoding="utf-8")
    summary = protect(path, tmp_path / "out")
    assert bool(summary.warnings) == (found == "list")
    log = json.loads((tmp_path / "out" / "decisions.json").read_text())["tables"]
    assert log["T"]["parts"][0]["action"] == "suppressed"
    inner = frame(tmp_path / "out", "T").filter(
        pl.col("region").str.len_chars() == 2, pl.col("tenure") != "Total"
    )
    assert set(inner["status"]) <= {"suppressed"}


def test_zeros_that_get_noise(write: Write, figures: Path, tmp_path: Path) -> None:
    noise = {0: {0: 0.5, 1: 0.5}, 1: {-1: 0.5, 1: 0.5}}
    PerturbationTable.from_rows(noise, zeros=True).write(figures.with_name("zeros.json"))
    path = write("""
        [parts]
        max_relative_error = 0.01
        [tables.T]
        by = ["municipality", "year", "tenure"]
        [tables.T.figures]
        all = { kind = "count" }
        part = { kind = "share", part = "all", over = ["year"] }
        [tables.P]
        by = ["municipality", "year", "tenure"]
    """)
    text = path.read_text("utf-8").replace(
        'table = "ptable.json"', 'table = "zeros.json"\nzeros = "table"'
    )
    path.write_text(text, encoding="utf-8")
    protect(path, tmp_path / "out")
    log = json.loads((tmp_path / "out" / "decisions.json").read_text())["tables"]
    assert log["P"]["parts"][0]["reasons"][0]["code"] == "relative-error"


def test_one_figure_has_no_dimension_of_figures(write: Write, tmp_path: Path) -> None:
    path = write("""
        [tables.T]
        by = ["year"]
        [tables.T.figures]
        all = { kind = "count", title = "Dwellings" }
        [[tables.T.notes]]
        cells = { year = "2015" }
        text = "Counted anew."
    """)
    protect(path, tmp_path / "out")
    shown = frame(tmp_path / "out", "T")
    assert shown.columns[0] == "year"
    assert "figure" not in shown.columns
    assert "Counted anew." in (tmp_path / "out" / "T.csv").read_text("utf-8")


def test_remarks_on_codes_that_do_not_occur_are_left_out(write: Write, tmp_path: Path) -> None:
    path = write("""
        [tables.T]
        by = ["year"]
        [[tables.T.notes]]
        cells = { year = "1950" }
        text = "Before the war."
    """)
    protect(path, tmp_path / "out")
    assert "war" not in (tmp_path / "out" / "T.csv").read_text("utf-8")


def test_the_base_of_an_index_that_does_not_occur(write: Write, tmp_path: Path) -> None:
    path = write("""
        [tables.T]
        by = ["year"]
        [tables.T.figures]
        all = { kind = "count" }
        price = { kind = "index", part = "all", base = { year = "1950" } }
    """)
    with pytest.raises(DiscreetError, match="1950"):
        protect(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("source", ["csv", "duckdb", "folder"])
def test_figures_are_the_same_from_every_source(
    finished: Path, figures: Path, tmp_path: Path, source: str
) -> None:
    """Counts and largest contributions come out of every engine alike."""
    homes = pl.read_parquet(figures.with_name("dwellings.parquet"))
    named = {
        "csv": 'source = "homes.csv"\ntext = ["municipality", "year"]',
        "duckdb": 'database = "homes.duckdb"\ntable = "homes"',
        "folder": 'source = "homes"',
    }
    if source == "csv":
        homes.write_csv(figures.with_name("homes.csv"))
    elif source == "duckdb":
        with duckdb.connect(figures.with_name("homes.duckdb")) as base:
            base.register("frame", homes.to_arrow())
            base.execute("create table homes as select * from frame")
    else:
        figures.with_name("homes").mkdir()
        for number in range(3):
            homes[number::3].write_parquet(figures.with_name("homes") / f"{number}.parquet")
    text = figures.read_text("utf-8").replace('source = "dwellings.parquet"', named[source])
    figures.write_text(text.replace('workbook = "tables.xlsx"', ""), encoding="utf-8")
    protect(figures, tmp_path / "out")
    for name in ("rents.csv", "thinned.csv", "weighted.csv", "plain.csv"):
        same = (finished / "out" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
        assert same, name
