"""Bars, heat maps and pyramids show what a table to publish tells, and nothing else."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment.pictures import Picture, plot, tableau
from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, ProtectedTable
from tests.helpers.drawn import records
from tests.helpers.protected_tables import protected_table
from tests.helpers.rows import for_all_rows


def shown(picture: Picture) -> dict[tuple[str, str], tuple[Any, str]]:
    return {
        (each["row"], each["column"]): (each["value"], each["text"])
        for each in records(picture, "row")
    }


def hidden() -> tuple[dc.Table, ProtectedTable]:
    cells = pl.DataFrame(
        {
            "sex": ["Total", "Total", "Total", "m", "m", "m", "w", "w", "w"],
            "age": ["Total", "1", "2"] * 3,
            "n": [97641, 48817, 48824, 48820, 24407, 24413, 48821, 24410, 24411],
        }
    )
    table = dc.Table.from_cells(cells, by=["sex", "age"], count="n")
    return table, dc.suppress(table, table.count == 24407, method="fast")


def test_bars_have_the_published_figures_and_leave_the_total_out() -> None:
    found = shown(census_example().plot("bars", rows="age", columns="sex"))
    assert found["Class 3", "female"] == (40.0, "40")
    assert len(found) == 10
    assert not any("Total" in place for place in found)
    alone = shown(census_example().plot(rows="age"))
    assert alone["Class 3", ""] == (71.0, "71")
    of_men = shown(census_example().plot("bars", rows="age", at={"sex": "m"}))
    assert of_men["Class 3", ""] == (32.0, "32")


def test_what_suits_the_table_is_drawn_unasked() -> None:
    assert census_example().plot().name == "heat map"
    assert census_example().plot(rows="age").name == "bars"


def test_lines_are_told_apart_by_more_than_colour() -> None:
    picture = census_example().plot("lines", rows="age", columns="sex")
    assert shown(picture)["Class 3", "female"] == (40.0, "40")
    encoding = picture.description["vconcat"][0]["encoding"]
    for name in ("color", "strokeDash", "shape"):
        assert encoding[name]["scale"]["domain"] == ["male", "female"]
        assert len({str(look) for look in encoding[name]["scale"]["range"]}) == 2
    alone = census_example().plot("lines", rows="age")
    assert shown(alone)["Class 3", ""] == (71.0, "71")


def test_a_pyramid_takes_the_variable_with_two_codes_and_grows_from_below() -> None:
    picture = census_example().plot("pyramid", language="de")
    assert shown(picture)["Klasse 5", "weiblich"] == (60.0, "60")
    left, right = picture.description["vconcat"][0]["hconcat"]
    assert (left["title"]["text"], right["title"]["text"]) == ("männlich", "weiblich")
    assert left["encoding"]["y"]["sort"][0] == "Klasse 5"
    assert left["layer"][0]["encoding"]["x"]["scale"]["domain"] == [60.0, 0]


def test_a_hierarchy_is_drawn_at_its_finest_level_that_fits() -> None:
    codes = [f"{a}{b:02}" for a in "12" for b in range(50)]
    place = Classification.from_prefixes("place", codes, [1, 3])
    table = protected_table([place], np.arange(len(place)) + 1)
    assert [row for row, _ in shown(table.plot())] == ["1", "2"]


@pytest.mark.parametrize("kind", ["bars", "lines", "heat map", "pyramid"])
def test_hidden_cells_have_a_sign_and_no_number_anywhere(kind: str) -> None:
    _, safe = hidden()
    picture = safe.plot(kind, columns="sex")
    text = json.dumps(picture.description)
    assert safe.get("m", "1") is None
    for number in ("24407", "24,407"):
        assert number not in text
    assert shown(picture)["1", "m"] == (None, "■")
    assert "■ suppressed" in json.dumps(picture.description["title"], ensure_ascii=False)


def test_brackets_zeros_and_figures_without_a_value_are_told() -> None:
    place = Classification.flat("place", ["a", "b", "c", "d"])
    status = [CellStatus.published, CellStatus.bracketed, CellStatus.published, CellStatus.official]
    table = protected_table([place], [9, 1234, 0, 7], status=status)
    found = shown(table.plot(language="de"))
    assert [found[code, ""][1] for code in "abcd"] == ["(1 234)", "–", "7", "–"]


def test_only_tables_to_publish_are_drawn() -> None:
    table, _ = hidden()
    with pytest.raises(PublicationError, match="a Table cannot be drawn"):
        plot(table)  # type: ignore[arg-type]


@for_all_rows(
    ("options", "said"),
    [
        ({"kind": "pie"}, "unknown kind of picture 'pie'"),
        ({"rows": "region"}, "'region' is not a spanning variable of the table"),
        ({"kind": "pyramid", "columns": "age"}, "a pyramid needs a variable with two categories"),
        ({"kind": "heat map", "rows": "age", "columns": "age"}, "the same variable"),
        ({"rows": "age", "at": {"age": "1"}}, "'age' is drawn"),
        ({"kind": "bars", "rows": "age", "at": {"sex": "x"}}, "code 'x' not found"),
    ],
)
def test_what_cannot_be_drawn_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PublicationError, match=said) as caught:
        census_example().plot(**options)
    assert caught.value.hint


def test_notebooks_get_the_drawing_of_what_may_be_published_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = census_example().plot()._repr_mimebundle_()
    assert found is not None
    assert found["image/svg+xml"].startswith("<svg")
    assert "v5" in found["application/vnd.vegalite.v5+json"]["$schema"]
    ptable = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    assert tableau(ptable)._repr_mimebundle_() is None
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    plain = census_example().plot()._repr_mimebundle_()
    assert plain is not None
    assert sorted(plain) == ["application/vnd.vegalite.v5+json", "text/plain"]
