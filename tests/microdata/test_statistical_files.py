"""Files of Stata, SPSS and SAS: codes, exact whole numbers, missing values."""

import datetime
import sys
from pathlib import Path

import narwhals as nw
import pandas as pd
import polars as pl
import pyreadstat
import pytest

import discreet as dc
from discreet.errors import MicrodataError
from tests.helpers.sas_files import write_sas7bdat

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


def test_sas_files_with_codes_dates_and_missing_values(tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {
        "id": [1.0, 2.0, 3.0],
        "region": ["01", "02", ""],
        "income": [1.5, None, -2.0],
        "born": [0.0, 366.0, None],
    }
    file = write_sas7bdat(tmp_path / "people.sas7bdat", columns, {"born": "DATE"})
    assert rows(file).rows() == [
        (1, "01", 1.5, datetime.date(1960, 1, 1)),
        (2, "02", None, datetime.date(1961, 1, 1)),
        (3, None, -2.0, None),
    ]
    many = {"id": [float(at) for at in range(3_000)]}
    long = rows(write_sas7bdat(tmp_path / "many.sas7bdat", many))
    assert long["id"].to_list() == list(range(3_000))


def test_sas_transport_files_and_damaged_ones(tmp_path: Path) -> None:
    place = tmp_path / "people.xpt"
    pyreadstat.write_xport(pl.DataFrame({"ID": [1.0, 2.0], "SEX": ["m", "w"]}), str(place))
    assert rows(place).rows() == [(1, "m"), (2, "w")]
    file = write_sas7bdat(tmp_path / "people.sas7bdat", {"id": [1.0]})
    file.write_bytes(file.read_bytes()[:3_000])
    with pytest.raises(MicrodataError, match="cannot be read"):
        dc.read_microdata(file)
    with pytest.raises(MicrodataError, match="looks like sas"):
        dc.read_microdata(file, format="stata")
