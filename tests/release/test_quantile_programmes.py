"""Quantiles in programmes: files beside a table of counts, made of what it publishes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import ProgrammeError
from discreet.release import protect
from tests.helpers.programmes import editor
from tests.helpers.rows import for_all_rows

PROGRAMME = """\
languages = ["en", "de"]

[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[defaults]
formats = ["csv"]

[variables.age]
intervals = [0, 18, 25, 40, 65, 80]

[variables.region]
codes = ["a", "b", "c"]

[tables.ages]
by = ["region", "age"]
quantiles.age = { shares = [0.25, 0.5] }
"""


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    draw = np.random.default_rng(3)
    records = {
        "region": draw.choice([*"aaabbc"], 900),
        "age": draw.integers(0, 95, 900),
        "weight": draw.uniform(5, 20, 900),
        "record_key": draw.integers(0, 10**15, 900),
    }
    pl.DataFrame(records).write_parquet(tmp_path / "persons.parquet")
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    return editor(tmp_path / "programme.toml", PROGRAMME)


@pytest.mark.parametrize(
    "method",
    ["noise", 'rounding"\n[protection.rounding]\nbase = 5\nmethod = "keyed'],
    ids=["noise", "rounding"],
)
def test_files_are_made_of_the_published_table(
    edited: Callable[..., Path], tmp_path: Path, method: str
) -> None:
    out = tmp_path / "release"
    change = ('formats = ["csv"]', f'formats = ["csv"]\nprotect = "{method}"')
    assert protect(edited(change), out).fresh == 1
    assert "ages.age.de.csv" in (out / "index.de.html").read_text("utf-8")
    cells = pl.read_csv(out / "ages.csv", infer_schema=False).select("region", "age", "value")
    cells.write_csv(tmp_path / "cells.csv")
    line = ["--by", "region,age", "--of", "age"]
    line += ["--breaks", "0,18,25,40,65,80", "--shares", "0.25,0.5"]
    again = tmp_path / "again.csv"
    done = CliRunner().invoke(
        app, ["quantiles", str(tmp_path / "cells.csv"), *line, "--out", str(again)]
    )
    assert done.exit_code == 0, done.output
    made, own = (
        pl.read_csv(path).sort("region", "figure") for path in (again, out / "ages.age.csv")
    )
    assert made["value"].to_list() == own["value"].to_list()
    assert own["value"].null_count() == 0
    assert protect(edited(change), out).fresh == 0
    protect(edited(change, ("[0.25, 0.5]", "[0.5], minimum = 400")), out)
    few = pl.read_csv(out / "ages.age.csv")
    assert dict(few.select("region", "symbol").rows())["c"] == "/"


def test_tables_without_quantiles_keep_their_bytes(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    protect(edited(), tmp_path / "with")
    protect(edited(("quantiles.age = { shares = [0.25, 0.5] }", "")), tmp_path / "without")
    for name in ("ages.csv", "ages.de.csv"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()


@for_all_rows(
    ("old", "new", "message"),
    [
        ("quantiles.age", "quantiles.rent", "rent"),
        ("quantiles.age", "quantiles.region", "'region' has no classes of a number"),
        ("[0.25, 0.5]", "[0.5, 0.25]", "shares must rise"),
        ("by = [", 'weight = "weight"\nby = [', "quantiles need a table of counts alone"),
        ("by = [", 'protect = "sample"\nweight = "weight"\nby = [', "quantiles"),
        ("by = [", 'figures.n = { kind = "count" }\nby = [', "a table of counts alone"),
        ("shares", "share", "unknown key"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_counted(
    edited: Callable[..., Path], tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ProgrammeError) as caught:
        protect(edited((old, new)), tmp_path / "release")
    assert message in str(caught.value)
    assert "tables.ages" in str(caught.value)
