"""Cells in, protected cells out: the figures of the library, in every format, in order."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.release.cell_programme import CellProgramme, protect_by_programme
from tests.helpers.package_parameters import PTABLE
from tests.helpers.rows import for_all_rows
from tests.helpers.service_cells import homes, parameters, some_cells
from tests.service.cells.conftest import Caller, CallerMaker

FORMATS = ("json", "csv", "parquet", "arrow")
BY = ["region", "tenure"]
LAYOUT: dict[str, Any] = {
    "by": BY,
    "count": "n",
    "cell_key": "key",
    "title": {"en": "Dwellings", "de": "Wohnungen"},
    "counts": {"vacant": {"count": "n_vacant", "cell_key": "key_vacant"}},
    "values": {
        "rent": {
            "total": "rent",
            "largest": ["rent_1", "rent_2"],
            "count": "n_rent",
            "cell_key": "key_rent",
        }
    },
    "figures": {
        "dwellings": {"kind": "count"},
        "vacant": {"kind": "count", "of": "vacant", "hidden": True},
        "vacancy": {"kind": "share", "part": "vacant", "whole": "dwellings"},
        "rent": {"kind": "mean", "of": "rent", "unit": {"en": "EUR"}},
    },
}


def read_back(answer: Any, form: str) -> pl.DataFrame:
    if form == "json":
        return pl.DataFrame(answer.json()["cells"])
    if form == "csv":
        return pl.read_csv(io.BytesIO(answer.content))
    read = pl.read_parquet if form == "parquet" else pl.read_ipc_stream
    return read(io.BytesIO(answer.content)).with_columns(pl.col("status").cast(pl.String))


def library_figures(
    frame: pl.DataFrame, weight: str | None = None, **options: Any
) -> tuple[list[int], list[str]]:
    """The same cells as a table of the library."""
    coded = frame.with_columns(cell=pl.Series([f"{at:06}" for at in range(frame.height)]))
    table = dc.Table.from_cells(coded, by=["cell"], count="n", cell_key="key", weight=weight)
    safe = dc.perturb(table, PTABLE, **options)
    found = safe.to_polars(complete=True).filter(pl.col("cell") != "Total").sort("cell")
    return found["value"].to_list(), found["status"].cast(pl.String).to_list()


@for_all_rows(("how", "form"), [*zip(FORMATS, FORMATS[1:] + FORMATS[:1], strict=True)])
def test_counts_are_those_of_the_library_in_order(caller: Caller, how: str, form: str) -> None:
    cells = some_cells()
    answer = caller.hand_in("counts", cells, how, format=form)
    assert answer.status_code == 200, answer.text
    found = read_back(answer, form)
    value, status = library_figures(cells)
    assert found["value"].to_list() == value
    assert found["status"].to_list() == status
    assert any(one != other for one, other in zip(value, cells["n"], strict=True))
    assert answer.headers["discreet-parameter-set"] == "census@1"


def test_notes_legend_and_signs_arrive(caller: Caller) -> None:
    said = caller.hand_in("counts", some_cells(), format="json").json()
    assert [note["kind"] for note in said["notes"]] == ["non-additivity"]
    assert said["legend"][0]["symbol"] == "–"
    assert {row["symbol"] for row in said["cells"] if row["value"] == 0} == {"–"}
    german = caller.hand_in("counts", some_cells(), format="json", language="de").json()
    assert german["notes"] != said["notes"]


def test_the_header_accept_chooses_the_format(caller: Caller) -> None:
    for accept, form in (("text/csv", "csv"), ("*/*", "json")):
        answer = caller.hand_in("counts", some_cells(3), accept=accept)
        assert read_back(answer, form).height == 3
    answer = caller.hand_in("counts", some_cells(3), accept="image/png")
    assert answer.status_code == 406
    assert "arrow" in answer.json()["problems"][0]["hint"]


def test_json_says_everything_in_one_body(caller: Caller) -> None:
    cells = {"n": [3, 0], "key": [25 * 10**13, 0]}
    body = {"parameter_set": "census", "version": "1", "format": "csv", "cells": cells}
    answer = caller.send("counts", json.dumps(body).encode(), "application/json")
    assert answer.text.splitlines()[0] == "value,status,symbol"
    twice = caller.send("counts", json.dumps(body).encode(), "application/json", version="1")
    assert twice.status_code == 422
    assert "given twice" in twice.text


def test_weighted_counts_are_those_of_the_library(caller: Caller) -> None:
    cells = some_cells().with_columns(weight=pl.col("n") * 1.5)
    found = read_back(caller.hand_in("counts", cells, format="arrow"), "arrow")
    assert found["value"].to_list() == library_figures(cells, weight="weight")[0]


def test_suppressed_figures_have_no_value(caller_with: CallerMaker) -> None:
    caller = caller_with(perturbation={"suppress_below": 3})
    found = read_back(caller.hand_in("counts", some_cells(), format="arrow"), "arrow")
    hidden = found.filter(pl.col("status") == "suppressed")
    assert hidden.height
    assert hidden["value"].null_count() == hidden.height


def test_official_figures_stay(caller_with: CallerMaker) -> None:
    caller = caller_with(official="sex == 'Total'")
    cells = pl.DataFrame({"n": [7, 7], "key": [1, 1], "official": [True, False]})
    found = read_back(caller.hand_in("counts", cells, format="arrow"), "arrow")
    assert found["status"].to_list() == ["official", "published"]
    assert found["value"].to_list() == [7, 6]
    silent = caller.hand_in("counts", cells.drop("official"))
    assert silent.status_code == 422
    assert silent.json()["problems"][0]["where"] == "official"


def test_a_table_without_a_variable_of_the_rule_gets_noise_until_its_total_is_stated(
    caller_with: CallerMaker,
) -> None:
    caller = caller_with(official="sex == 'Total'", parts=None)
    table = pl.DataFrame({"age": ["Total", "x"], "n": [7, 7], "key": [1, 1]})
    noisy = read_back(caller.hand_in("counts", table, by="age", format="csv"), "csv")
    assert noisy["value"].to_list() == [6, 6]
    layout = {"by": ["age"], "count": "n", "cell_key": "key", "totals": {"sex": "Total"}}
    answer = caller.hand_in("counts", table, layout=json.dumps(layout), format="csv")
    assert read_back(answer, "csv")["value"].to_list() == [7, 7]


@pytest.mark.parametrize("form", ["csv", "parquet", "json", "json-stat", "px", "html"])
def test_tables_are_those_of_the_library_to_the_byte(
    caller: Caller, tmp_path: Path, form: str
) -> None:
    table = dc.tabulate(homes(), BY, record_key="record_key")
    cells = table.to_polars().rename({"count": "n", "cell_key": "key"})
    path = tmp_path / "T1.file"
    more = {"by": ",".join(BY), "name": "T1", "language": "de", "format": form}
    answer = caller.hand_in("counts", cells, **more)
    assert answer.status_code == 200, answer.text
    whole = CellProgramme.of({"by": BY, "count": "n", "cell_key": "key"}, parameters(), name="T1")
    protect_by_programme(cells, whole).write(path, format=form, language="de")
    assert answer.content == path.read_bytes()


def home_cells() -> pl.DataFrame:
    """Cells of homes, with those that are vacant, and rents."""
    records = homes()
    whole = dc.tabulate(records, BY, record_key="record_key", values=["rent"], contributions=2)
    vacant = dc.tabulate(records.filter(pl.col("vacant")), BY, record_key="record_key")
    rent = whole.contributions["rent"]
    cells = whole.to_polars().rename({"count": "n", "cell_key": "key"})
    cells = cells.with_columns(
        rent_1=rent.top[:, 0], rent_2=rent.top[:, 1], n_rent=rent.count, key_rent=rent.key
    ).with_columns(pl.col("rent_1", "rent_2").fill_nan(None))
    others = vacant.to_polars().rename({"count": "n_vacant", "cell_key": "key_vacant"})
    return cells.join(others, on=BY, how="left").with_columns(
        pl.col("n_vacant", "key_vacant").fill_null(0)
    )


@pytest.mark.parametrize("how", ["json", "arrow"])
def test_key_figures_have_the_brackets_of_the_library(
    caller_with: CallerMaker, tmp_path: Path, how: str
) -> None:
    cells, caller = home_cells(), caller_with(parts=None)
    plan = CellProgramme.of(LAYOUT, parameters(parts=None), name="homes")
    expected = protect_by_programme(cells, plan).write(tmp_path / "homes.csv").read_bytes()
    said = {"layout": json.dumps(LAYOUT), "name": "homes", "format": "csv"}
    answer = caller.hand_in("figures", cells, how, **said)
    assert answer.status_code == 200, answer.text
    assert answer.content == expected
    assert b"bracketed" in expected


def test_parts_are_suppressed_with_notes_and_legend(caller: Caller) -> None:
    cells = home_cells().select(*BY, "n", "key")
    trees = {"region": {"codes": {"a": "north", "b": "north", "north": None, "c": None, "d": None}}}
    extra = cells.filter(pl.col("region") == "Total").with_columns(region=pl.lit("north"))
    extra = extra.with_columns(key=pl.col("key") + 1)
    said = {"by": ",".join(BY), "format": "json", "classifications": json.dumps(trees)}
    answer = caller.hand_in("parts", pl.concat([cells, extra]), **said)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["suppressed_parts"]
    assert "." in {sign["symbol"] for sign in told["legend"]}
    without = caller.hand_in("figures", cells, by=",".join(BY))
    assert without.status_code == 422


def test_values_are_those_of_a_table_of_the_library(caller: Caller) -> None:
    cells = home_cells()
    rents = cells.select(
        total="rent", largest_1="rent_1", largest_2="rent_2", count="n_rent", key="key_rent"
    )
    layout = {**LAYOUT, "figures": {"rent": {"kind": "mean", "of": "rent"}}}
    plain = parameters(parts=None, figures={"bracket_above": 100})
    plan = CellProgramme.of({**layout, "counts": {}}, plain)
    wanted = protect_by_programme(cells, plan).to_polars(complete=True)
    joined = cells.select(BY).join(wanted, on=BY, how="left", maintain_order="left")
    answer = caller.hand_in("values", rents, value="rent", format="arrow")
    assert answer.status_code == 200, answer.text
    assert read_back(answer, "arrow")["value"].to_list() == joined["value"].to_list()
    unknown = caller.hand_in("values", rents, value="wage")
    assert unknown.status_code == 422


def test_sums_and_means_can_be_asked_for(caller: Caller) -> None:
    one = pl.DataFrame(
        {
            "total": [12_500.0],
            "largest_1": [700.0],
            "largest_2": [550.0],
            "count": [20],
            "key": [5 * 10**14],
        }
    )
    shown = [
        read_back(caller.hand_in("values", one, value="rent", figure=each, format="arrow"), "arrow")
        for each in ("sum", "mean")
    ]
    assert shown[0]["value"][0] > shown[1]["value"][0]
