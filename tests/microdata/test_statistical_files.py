"""Files of Stata and SPSS: codes, exact whole numbers, missing values."""

from __future__ import annotations

import sys
from pathlib import Path

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError

PEOPLE = pd.DataFrame(
    {"region": ["01", "02", "03"], "age": [3.0, None, 99.0], "rent": [1.5, 2.0, 0.1]}
)


def rows(path: Path) -> pl.DataFrame:
    read = dc.read_microdata(path)
    assert isinstance(read, nw.LazyFrame)
    return read.collect("polars").to_native()


def test_stata_files(tmp_path: Path) -> None:
    for version in (114, 118):
        file = tmp_path / f"people-{version}.dta"
        PEOPLE.to_stata(file, write_index=False, version=version)
        assert rows(file).rows() == [("01", 3, 1.5), ("02", None, 2.0), ("03", 99, 0.1)]


def test_spss_files_keep_codes(tmp_path: Path) -> None:
    import pyreadstat

    file = tmp_path / "people.sav"
    labels = {"age": {3.0: "three"}}
    pyreadstat.write_sav(PEOPLE, str(file), variable_value_labels=labels)
    read = rows(file)
    assert read.rows() == [("01", 3, 1.5), ("02", None, 2.0), ("03", 99, 0.1)]
    assert read["age"].dtype == pl.Int64


def test_a_cut_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "people.dta"
    PEOPLE.to_stata(file, write_index=False, version=118)
    file.write_bytes(file.read_bytes()[:400])
    with pytest.raises(MicrodataError, match="cannot be read"):
        dc.read_microdata(file)


def test_without_the_package_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people.dta"
    PEOPLE.to_stata(file, write_index=False)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MicrodataError, match=r"pip install 'discreet\[stat\]'"):
        dc.read_microdata(file)
