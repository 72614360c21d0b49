"""Cells that another tool has counted, and confidential files for use in the house."""

import stat
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.classifications import Classification
from discreet.cli.commands import app
from discreet.errors import MicrodataError, TableError
from discreet.release.confidential_files import (
    cell_table,
    inherit_keys_in_file,
    write_confidential,
)


def test_codes_in_text_files_keep_their_leading_zeros(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("region;n;key\n01;5;3\n02;7;200\n")
    tree = Classification.flat("region", ["01", "02", "03"])
    ptable = dc.PerturbationTable.read(folder / "ptable.json")
    keyed = {"cell_key": "key", "key_grid": 256}
    table = cell_table(tmp_path / "cells.csv", ["region"], {"region": tree}, count="n", **keyed)
    safe = dc.perturb(table, ptable)
    assert safe.to_polars()["region"].unique().sort().to_list()[:3] == ["01", "02", "03"]


def test_an_unknown_classification_is_named() -> None:
    cells = pl.DataFrame({"region": ["a"], "n": [1], "key": [1]})
    tree = Classification.flat("regions", ["a"])
    with pytest.raises(
        TableError, match="'regions' is not a spanning variable of the table"
    ) as caught:
        cell_table(cells, ["region"], {"regions": tree}, count="n", cell_key="key")
    assert caught.value.hint == "closest match: 'region'"


def test_bad_cells_leave_no_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("region,n,key\na,1,300\n")
    words = ["perturb", tmp_path / "cells.csv", "--by", "region", "--count", "n"]
    words += ["--cell-key", "key", "--key-grid", "256", "--ptable", folder / "ptable.json"]
    done = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "safe.csv")])
    assert done.exit_code == 2
    assert "off the grid" in done.output
    assert not (tmp_path / "safe.csv").exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_confidential_files_are_for_their_owner_only(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    for number, kind in enumerate((frame, frame.lazy(), frame.to_pandas())):
        path = write_confidential(kind, tmp_path / f"{number}{suffix}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        read = pl.read_csv(path) if suffix == ".csv" else pl.read_parquet(path)
        assert read.equals(frame)


def test_a_confidential_file_cannot_be_a_page(tmp_path: Path) -> None:
    with pytest.raises(MicrodataError, match="Parquet or CSV"):
        write_confidential(pl.DataFrame({"a": [1]}), tmp_path / "a.html")


def test_units_inherit_keys_in_files(folder: Path, tmp_path: Path) -> None:
    people = pl.read_parquet(folder / "persons.parquet").with_columns(home=pl.col("person_id") // 3)
    people.write_parquet(tmp_path / "persons.parquet")
    out = inherit_keys_in_file(
        tmp_path / "persons.parquet", tmp_path / "homes.parquet", by=["home"]
    )
    expected = dc.inherit_record_keys(people, by="home")
    assert pl.read_parquet(out).equals(expected)
