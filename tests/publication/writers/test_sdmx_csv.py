"""SDMX-CSV: what is written is what an independent reader (pysdmx) finds."""

import csv

import polars as pl
import pytest
from pysdmx.io import read_sdmx

from discreet.errors import PublicationError
from discreet.publication import write
from discreet.publication.examples import census_example
from discreet.tables import CellStatus


def read(path):
    (dataset,) = read_sdmx(str(path)).data
    return dataset


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("version", ["2.0", "1.0"])
@pytest.mark.parametrize("name", ["census", "mixed", "rents"])
def test_a_reader_finds_every_cell(name, version, mixed, rents, tmp_path):
    table = {"census": census_example(), "mixed": mixed, "rents": rents}[name]
    dataset = read(write(table, tmp_path / "t.sdmx.csv", sdmx=version))
    assert dataset.short_urn == f"Dataflow=DISCREET:{table.name}(1.0)"
    cells = table.to_polars(complete=True)
    codes = ["MEASURE" if d.name == "figure" else d.name for d in table.dimensions]
    assert dataset.data[codes].to_numpy().tolist() == cells.to_numpy()[:, : len(codes)].tolist()
    found = [float(value) if value else None for value in dataset.data["OBS_VALUE"]]
    assert found == cells["value"].cast(pl.Float64).to_list()
    states = [CellStatus[state].sdmx for state in cells["status"]]
    columns = dataset.data[["OBS_STATUS", "CONF_STATUS"]]
    assert list(map(tuple, columns.to_numpy().tolist())) == states


def test_columns_of_both_versions(mixed, tmp_path):
    rows = rows_of(write(mixed, tmp_path / "t.sdmx.csv", structure="OFFICE:POP(2.1)"))
    assert list(rows[0]) == [
        *("STRUCTURE", "STRUCTURE_ID", "ACTION", "region", "sex"),
        *("OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "DECIMALS"),
    ]
    assert list(rows[0].values())[:3] == ["dataflow", "OFFICE:POP(2.1)", "I"]
    older = rows_of(write(mixed, tmp_path / "o.sdmx.csv", structure="OFFICE:POP(2.1)", sdmx="1.0"))
    assert list(older[0])[:3] == ["DATAFLOW", "region", "sex"]
    assert older[0]["DATAFLOW"] == "OFFICE:POP(2.1)"


def test_figures_have_their_decimals_units_and_comments(rents, tmp_path):
    rows = rows_of(write(rents, tmp_path / "t.sdmx.csv", language="de"))
    found = {row["MEASURE"]: row for row in rows if (row["region"], row["built"]) == ("N1", "new")}
    assert [row["DECIMALS"] for row in found.values()] == ["0", "2", "1", "0"]
    assert [row["UNIT_MEASURE"] for row in found.values()] == ["", "EUR", "%", ""]
    assert found["rented"]["COMMENT_OBS"] == "Wenige."
    assert found["rent"]["COMMENT_OBS"] == "Wenige. | Kalt."
    assert (found["rent"]["OBS_VALUE"], found["rent"]["OBS_STATUS"]) == ("", "M")


def test_one_figure_is_a_measure_too(mean_rents, tmp_path):
    rows = rows_of(write(mean_rents, tmp_path / "t.sdmx.csv", complete=False))
    assert [(row["MEASURE"], row["OBS_VALUE"], row["OBS_STATUS"]) for row in rows] == [
        ("rent", "1311.456", "A"),
        ("rent", "987.5", "U"),
    ]
    assert rows[0]["STRUCTURE_ID"] == "DISCREET:mean_rents(1.0)"


@pytest.mark.parametrize("name", ["OBS_VALUE", "MEASURE", "ACTION"])
def test_variables_cannot_be_called_like_a_column(make_table, sex, tmp_path, name):
    table = make_table([sex.replace(name=name)], {("m",): (3, CellStatus.published)})
    with pytest.raises(PublicationError, match=f"two columns would have the name '{name}'"):
        write(table, tmp_path / "t.sdmx.csv")
    assert list(tmp_path.iterdir()) == []
