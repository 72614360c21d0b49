"""Cells made elsewhere get sums, key figures, brackets and parts from a file, as records do."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.classifications import Classification
from discreet.cli.commands import app
from discreet.derived import KeyFigure, derive
from discreet.errors import DiscreetError, ProgrammeError, TableError
from discreet.protection.noise import count_ingredient, mean_ingredient
from discreet.release.cell_programme import CellProgramme, protect_by_programme
from tests.helpers.rows import for_all_rows

PROGRAMME = """\
[perturbation]
table = "ptable.csv"

[magnitudes.rent]
table = "rent-ptable.csv"
chance = 1
strength = { kind = "simple", share = 0.3 }
top = 2
epsilon = [1, 0.5]
publish = "means"

[figures]
bracket_above = 0.1

[cells]
by = ["region", "tenure"]
count = "n"
cell_key = "key"
title = { en = "Dwellings" }

[cells.counts.vacant]
count = "n_vacant"
cell_key = "key_vacant"

[cells.values.rent]
total = "rent"
largest = ["rent_1", "rent_2"]
count = "n_rent"
cell_key = "key_rent"

[cells.figures.dwellings]
kind = "count"

[cells.figures.vacant]
kind = "count"
of = "vacant"
hidden = true

[cells.figures.vacancy]
kind = "share"
part = "vacant"
whole = "dwellings"

[cells.figures.rent]
kind = "mean"
of = "rent"
unit = { en = "EUR" }
"""
COUNTS = dc.PerturbationTable.from_rows(
    {0: {0: 1}, **{n: {-1: 0.25, 0: 0.5, 1: 0.25} for n in (1, 2, 3)}}
)
SUMS = dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4)
BY = ["region", "tenure"]


@pytest.fixture(scope="module")
def homes() -> pl.DataFrame:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "id": range(300),
            "region": draw.choice(["a", "b", "c", "d"], 300, p=[0.6, 0.25, 0.13, 0.02]),
            "tenure": draw.choice(["own", "rented"], 300),
            "vacant": draw.random(300) < 0.2,
            "rent": pl.Series(draw.integers(200, 1500, 300).astype(float)),
        }
    )
    return dc.with_record_keys(frame, id="id", secret="an example, no secret")


@pytest.fixture(scope="module")
def tables(homes: pl.DataFrame) -> tuple[dc.Table, dc.Table]:
    """All homes with their rents, and the vacant ones."""
    whole = dc.tabulate(homes, BY, record_key="record_key", values=["rent"], contributions=2)
    return whole, dc.tabulate(homes.filter(pl.col("vacant")), BY, record_key="record_key")


@pytest.fixture
def folder(tmp_path: Path, tables: tuple[dc.Table, dc.Table]) -> Path:
    whole, vacant = tables
    rent = whole.contributions["rent"]
    cells = whole.to_polars().rename({"count": "n", "cell_key": "key"})
    cells = cells.with_columns(
        rent_1=rent.top[:, 0], rent_2=rent.top[:, 1], n_rent=rent.count, key_rent=rent.key
    ).with_columns(pl.col("rent_1", "rent_2").fill_nan(None))
    others = vacant.to_polars().rename({"count": "n_vacant", "cell_key": "key_vacant"})
    cells = cells.join(others, on=BY, how="left").with_columns(
        pl.col("n_vacant", "key_vacant").fill_null(0)
    )
    cells.write_csv(tmp_path / "cells.csv")
    COUNTS.write(tmp_path / "ptable.csv")
    SUMS.write(tmp_path / "rent-ptable.csv")
    (tmp_path / "homes.toml").write_text(PROGRAMME)
    return tmp_path


def test_cells_give_the_figures_that_records_give(
    folder: Path, tables: tuple[dc.Table, dc.Table]
) -> None:
    whole, vacant = tables
    noise = dc.MagnitudeNoise(SUMS, strength=dc.SimpleStrength(0.3), top=2, epsilon=(1, 0.5))
    parts = {
        "dwellings": count_ingredient(whole, COUNTS),
        "vacant": count_ingredient(vacant, COUNTS),
        "rent": mean_ingredient(whole, noise, "rent", publish="means", ptable=COUNTS, p_percent=0),
    }
    figures = [
        KeyFigure("dwellings", kind="count", of="dwellings"),
        KeyFigure("vacancy", kind="share", part="vacant", whole="dwellings"),
        KeyFigure("rent", kind="mean", of="rent"),
    ]
    expected = derive(parts, figures, bracket_above=0.1).to_polars()
    safe = protect_by_programme(folder / "cells.csv", folder / "homes.toml")
    assert safe.to_polars().equals(expected)
    assert {"published", "bracketed"} <= set(expected["status"])
    assert safe.title() == "Dwellings"
    assert safe.name == "homes"


def test_the_command_line_does_the_same(folder: Path) -> None:
    out = folder / "homes.csv"
    words = ["perturb", str(folder / "cells.csv"), "--programme", str(folder / "homes.toml")]
    done = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "(" in "".join(pl.read_csv(out, infer_schema=False)["symbol"])
    both = CliRunner().invoke(app, [*words, "--out", str(out), "--count", "n"])
    assert both.exit_code == 2
    neither = CliRunner().invoke(app, [*words[:2], "--out", str(out)])
    assert neither.exit_code == 2
    assert "--programme" in re.sub(r"\x1b\[[0-9;]*m", "", neither.output)


@pytest.mark.parametrize(("per", "areas"), [("", None), ('per = "region"\n', "region")])
def test_parts_are_suppressed_by_thresholds(
    folder: Path, tables: tuple[dc.Table, dc.Table], per: str, areas: str | None
) -> None:
    """Whole levels, or areas one by one."""
    path, more = folder / "homes.toml", f"[parts]\nmin_average_size = 100\n{per}"
    path.write_text(PROGRAMME.partition("[cells.counts")[0] + more)
    safe = protect_by_programme(folder / "cells.csv", path)
    decisions = dc.check_parts(tables[0], dc.PartRules(min_average_size=100), areas=areas)
    expected = dc.suppress_parts(safe, decisions)
    assert safe.to_polars(complete=True).equals(expected.to_polars(complete=True))
    assert safe.suppressed_parts == decisions.suppressed
    assert (decisions.areas is None) == (areas is None)
    if areas is None:
        assert decisions.suppressed
        assert (safe["a", "own"], safe["Total", "Total"] is None) == (None, False)


Edit = Callable[[str], str]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda t: t.replace('count = "n"\n', "", 1), "cells.count"),
        (lambda t: t.replace('table = "ptable.csv"', ""), "perturbation.table"),
        (lambda t: t + "\n[data]\nsource = 'x'\n", "unknown key"),
        (lambda t: t.replace("[cells]\n", "[cells]\nby_ = 1\n"), "unknown key"),
        (lambda t: t.replace('of = "vacant"', 'of = "empty"'), "count not found"),
        (lambda t: t.replace('of = "rent"\nunit', 'of = "price"\nunit'), "value not found"),
        (lambda t: t + "where = 'vacant'\n", "cells cannot be filtered"),
        (lambda t: t.replace("top = 2\nepsilon = [1, 0.5]", 'of = "range"'), "smallest"),
        (lambda t: t.replace("[cells]", "[cells"), "not valid TOML"),
    ],
)
def test_mistakes_are_listed_with_their_place(folder: Path, edit: Edit, said: str) -> None:
    path = folder / "homes.toml"
    path.write_text(edit(PROGRAMME))
    with pytest.raises(ProgrammeError) as caught:
        CellProgramme.read(path)
    assert said in str(caught.value)


def test_nothing_secret_is_printed(folder: Path) -> None:
    assert repr(CellProgramme.read(folder / "homes.toml")) == "<CellProgramme: secret>"


@for_all_rows(
    ("columns", "said"),
    [
        ({"rent": [-5.0, 1.0]}, "1 cells have negative values"),
        ({"top": [9.0, 2.0]}, "have contributions above their sum"),
        ({"top": [None, 2.0]}, "1 cells have fewer contributions"),
        ({"n": [0, 1]}, "1 cells have more contributions than records"),
        ({"n": [1.5, 1]}, "not a whole number"),
        ({"rent": ["x", "y"]}, "values must be numbers; the column has type"),
    ],
)
def test_values_that_do_not_fit_are_refused_without_being_told(
    columns: dict[str, list[object]], said: str
) -> None:
    cells = {"sex": ["m", "w"], "c": [1, 1], "k": [0.25, 0.5], "rent": [5.0, 2.0], "n": [1, 1]}
    frame = pl.DataFrame({**cells, "top": [5.0, 2.0], **columns}, strict=False)
    given = {"rent": dc.ValueColumns(total="rent", largest=["top"], count="n", cell_key="k")}
    with pytest.raises(TableError, match=said) as caught:
        dc.Table.from_cells(frame, ["sex"], count="c", cell_key="k", values=given)
    assert not re.search(r"\b(5|9)\b", caught.value.what)


def test_cells_may_have_fewer_records_than_columns_of_contributions() -> None:
    cells = {"sex": ["m", "w"], "c": [2, 0], "k": [0.25, 0.5], "rent": [7.0, 0.0]}
    frame = pl.DataFrame({**cells, "n": [1, 0], "r1": [7.0, None], "r2": [None, None]})
    columns = dc.ValueColumns(total="rent", largest=["r1", "r2"], count="n", cell_key="k")
    table = dc.Table.from_cells(frame, ["sex"], count="c", cell_key="k", values={"rent": columns})
    assert table.contributors("rent").tolist() == [1, 0]
    wrong = frame.with_columns(n=pl.Series([2, 0]), r2=pl.Series([8.0, None]), rent=pl.lit(15.0))
    with pytest.raises(TableError, match="1 cells have contributions in wrong order"):
        dc.Table.from_cells(wrong, ["sex"], count="c", cell_key="k", values={"rent": columns})


def test_values_need_keys_and_no_weights() -> None:
    frame = pl.DataFrame({"sex": ["m"], "c": [1], "k": [0.25], "rent": [5.0]})
    columns = dc.ValueColumns(total="rent", largest=["rent"], count="c", cell_key="k")
    with pytest.raises(DiscreetError, match="values need cell keys"):
        dc.Table.from_cells(frame, ["sex"], count="c", values={"rent": columns})
    with pytest.raises(TableError, match="give the columns of the largest contributions as a list"):
        dc.ValueColumns(total="rent", largest="rent", count="c", cell_key="k")
    with pytest.raises(TableError, match="need each other"):
        dc.ValueColumns(total="rent", largest=["r"], count="c", cell_key="k", nonzero="z")


def test_a_programme_without_files_gives_the_same_figures(folder: Path) -> None:
    read = CellProgramme.read(folder / "homes.toml")
    stated = tomllib.loads(PROGRAMME)["cells"]
    trees = {"tenure": Classification.flat("tenure", ["own", "rented"])}
    plan = CellProgramme.of(stated, read.parameters, name="homes", trees=trees)
    cells = pl.read_csv(folder / "cells.csv")
    safe, expected = (protect_by_programme(cells, each) for each in (plan, read))
    assert safe.to_polars().sort(BY).equals(expected.to_polars().sort(BY))
    assert safe.name == expected.name


def test_what_is_wrong_with_it_is_listed_at_once(folder: Path) -> None:
    parameters = CellProgramme.read(folder / "homes.toml").parameters
    stated = {"by": ["region"], "hierarchies": {"region": "/etc/passwd"}, "sum": "rent"}
    trees = {"sex": Classification.flat("sex", ["m"])}
    with pytest.raises(ProgrammeError) as caught:
        CellProgramme.of(stated, parameters, trees=trees)
    places = [problem.where for problem in caught.value.problems]
    assert places == ["cells.sum", "trees.sex"]
    with pytest.raises(ProgrammeError, match="files are not allowed here"):
        CellProgramme.of({"by": ["region"], "hierarchies": {"region": "r.csv"}}, parameters)
    with pytest.raises(ProgrammeError, match="cell_key"):
        CellProgramme.of({"by": ["region"], "count": "n"}, parameters)
