"""Sums and means of a value by cell key: the same through the row, the command and the service."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from discreet.operations import OPERATIONS, MagnitudeSource
from discreet.protection.noise import (
    MagnitudeNoise,
    MagnitudePerturbationTable,
    MagnitudeSettings,
    PerturbationTable,
    SimpleStrength,
    design_magnitude_perturbation,
    design_perturbation,
    perturb_magnitudes,
)
from discreet.publication import write
from discreet.tables import Table, ValueColumns
from discreet_service.studio.operations import example_form
from tests.helpers.command import run
from tests.helpers.service_callers import MethodOffice

ROW = OPERATIONS["magnitudes"]
BY = ["branch", "state"]
LARGEST = ["first", "second"]
CELLS = pl.read_csv(io.StringIO(example_form(ROW).texts["cells"]), schema_overrides={"state": str})


def table() -> Table:
    columns = ValueColumns(total="turnover", largest=LARGEST, count="n", cell_key="key")
    return Table.from_cells(
        CELLS, by=BY, count="n", cell_key="key", values={"turnover": columns}, name="turnover"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("magnitudes")
    design_magnitude_perturbation(2, 1, classes=(1, 2), step=2).write(place / "values.csv")
    design_perturbation(3, 2).write(place / "counts.csv")
    CELLS.write_csv(place / "cells.csv")
    return place


@pytest.mark.parametrize("figure", ["sum", "mean"])
def test_every_door_gives_what_the_function_gives(
    folder: Path, tmp_path: Path, figure: str
) -> None:
    noise = MagnitudeNoise(
        MagnitudePerturbationTable.read(folder / "values.csv"),
        strength=SimpleStrength(0.1),
        top=2,
        epsilon=(1.0, 0.5),
    )
    ptable = PerturbationTable.read(folder / "counts.csv")
    options: Any = {"ptable": ptable, "figure": figure, "grain": 10.0, "p_percent": 5.0}
    true = table()
    expected = perturb_magnitudes(true, noise, "turnover", **options)
    settings = {
        "magnitude_table": (folder / "values.csv").read_text("utf-8"),
        "ptable": (folder / "counts.csv").read_text("utf-8"),
        **{"share": 0.1, "top": 2, "epsilon": [1, 0.5]},
        **{"figure": figure, "grain": 10, "p_percent": 5.0},
    }
    true_source = MagnitudeSource(table=true, value="turnover")
    safe: Any = ROW.run(true_source, MagnitudeSettings.model_validate(settings), None)
    assert safe.value.tolist() == expected.value.tolist()
    assert safe.status.tolist() == expected.status.tolist()
    if figure == "sum":
        assert safe.get("Total", "Total") != CELLS["turnover"].max()
    study: Any = ROW.study and ROW.study(
        true_source, MagnitudeSettings.model_validate(settings), None
    )
    assert study.described()["measures"]["cells"] + study.described()["measures"]["hidden"] > 0

    words = f"{ROW.command} {folder}/cells.csv --by branch,state --count n --cell-key key"
    words += f" --value turnover --largest first,second --magnitude-table {folder}/values.csv"
    words += f" --ptable {folder}/counts.csv --share 0.1 --top 2 --epsilon 1,0.5 --grain 10"
    words += f" --p-percent 5 --figure {figure} --out {folder}/{figure}.csv"
    done = run(*words.split())
    assert done.exit_code == 0, done.output
    office = MethodOffice(tmp_path, {"paula": ["producer"]})
    request = {
        **{"by": BY, "cell_key": "key", "value": "turnover", "largest": LARGEST},
        **{"cells": CELLS.to_dict(as_series=False), "magnitudes": settings, "format": "csv"},
    }
    answer = office.ask(ROW.address, request)
    office.service.close()
    assert answer.status_code == 200, answer.text
    wanted = pl.read_csv(write(expected, folder / "wanted.csv"), infer_schema=False)
    for source in (folder / f"{figure}.csv", io.BytesIO(answer.content)):
        frame = pl.read_csv(source, infer_schema=False)
        assert frame.select(wanted.columns).equals(wanted)


@pytest.mark.parametrize(
    ("stated", "place", "message"),
    [
        ({}, "share", "the strength is a share"),
        ({"share": 0.1, "point": 5.0}, "share", "the strength is a share"),
        ({"point": 5.0, "small": 0.2}, "share", "the strength is a share"),
        ({"share": 0.1, "figure": "mean"}, "figure", "perturbation table of the counts"),
        ({"share": 0.1, "top": 2}, "epsilon", "expected 2 numbers, one per contribution"),
        ({"share": 0.1, "top": 2, "of": "sum"}, "top", 'this needs of = "top"'),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    stated: dict[str, Any], place: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        MagnitudeSettings.model_validate({"magnitude_table": "", **stated})
    (details,) = caught.value.errors()
    assert place == (details["loc"] or (details["ctx"]["where"],))[-1]
