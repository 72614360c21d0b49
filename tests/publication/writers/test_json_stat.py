"""JSON-stat 2: what is written is what an independent reader (pyjstat) finds."""

import dataclasses
import json
import math

import pytest
from pyjstat import pyjstat

from discreet.classifications import Classification
from discreet.publication import write
from discreet.publication.examples import census_example
from discreet.tables import CellStatus

pytestmark = pytest.mark.filterwarnings("ignore:Shouldn't use this function:DeprecationWarning")


def read(path):
    return pyjstat.Dataset.read(path.read_text(encoding="utf-8"))


def said(path):
    return json.loads(path.read_text(encoding="utf-8"))


def same(left: float | None, right: float | None) -> bool:
    missing = [value is None or math.isnan(value) for value in (left, right)]
    return missing == [True, True] if any(missing) else left == right


@pytest.mark.parametrize("name", ["census", "mixed", "rents"])
def test_a_reader_finds_every_cell(name, mixed, rents, tmp_path):
    table = {"census": census_example(), "mixed": mixed, "rents": rents}[name]
    frame = read(write(table, tmp_path / "t.jsonstat")).write("dataframe", naming="id")
    cells = table.to_polars(complete=True)
    codes = [dimension.name for dimension in table.dimensions]
    assert list(frame.columns) == [*codes, "value"]
    assert frame[codes].to_numpy().tolist() == cells.select(codes).to_numpy().tolist()
    assert all(map(same, frame["value"].to_list(), cells["value"].to_list()))


def test_a_reader_finds_the_stored_cells_of_a_sparse_file(rents, tmp_path):
    path = write(rents, tmp_path / "t.jsonstat", complete=False)
    frame = read(path).write("dataframe", naming="id")
    assert len(frame) == rents.grid_size
    assert frame["value"].notna().sum() == 8  # stored cells, one suppressed and one without
    assert len(said(path)["value"]) == rents.stored
    assert said(path)["note"][-1].startswith("Cells not listed: zero (Rented dwellings")


def test_states_stand_at_the_number_of_their_cell(rents, tmp_path):
    found = said(write(rents, tmp_path / "t.jsonstat.json"))
    _, _, states = rents.cells(True)
    expected = {
        str(at): CellStatus(state).name
        for at, state in enumerate(states.tolist())
        if state != CellStatus.published
    }
    assert found["status"] == expected
    labels, symbols = (found["extension"]["status"][name] for name in ("label", "symbol"))
    assert set(labels) == set(symbols) == {status.name for status in CellStatus}
    assert labels["suppressed"] == "value unknown or secret"
    assert list(symbols.values()) == ["", "–", ".", "( )", "*", "x", "/"]


def test_a_dataset_describes_its_dimensions(rents, tmp_path):
    found = said(write(rents, tmp_path / "t.jsonstat", language="de", geo=["region"]))
    assert (found["version"], found["class"], found["label"]) == ("2.0", "dataset", "Mieten")
    assert (found["id"], found["size"]) == (["region", "built", "figure"], [5, 3, 4])
    assert found["role"] == {"metric": ["figure"], "geo": ["region"]}
    assert found["updated"] == "2026-11-21"
    region = found["dimension"]["region"]["category"]
    assert region["child"] == {"Total": ["N", "S"], "N": ["N1", "N2"]}
    assert region["label"]["N"] == "Nord"
    assert region["note"] == {"N": ["Neue Grenze."]}
    figure = found["dimension"]["figure"]["category"]
    assert figure["unit"]["rent"] == {"decimals": 2, "label": "EUR"}
    assert figure["unit"]["rented"] == {"decimals": 0}
    assert "child" not in figure
    assert found["extension"]["cell_notes"][1]["codes"] == {"region": "N1", "built": "new"}


def test_one_figure_is_a_dimension_of_its_own(mean_rents, tmp_path):
    path = write(mean_rents, tmp_path / "t.jsonstat")
    found = said(path)
    assert (found["id"][-1], found["size"][-1]) == ("figure", 1)
    assert found["role"] == {"metric": ["figure"]}
    assert found["extension"]["suppressed_parts"] == ["Region, level 2 × Year built"]
    frame = read(path).write("dataframe", naming="id")
    assert set(frame["figure"]) == {"rent"}
    assert len(frame) == 15


def test_counts_have_no_metric_and_no_date_unless_there_is_one(tmp_path):
    found = said(write(census_example(), tmp_path / "t.jsonstat"))
    assert found["role"] == {}
    assert "updated" not in found
    assert found["extension"]["decimals"] == 0
    when = dataclasses.replace(census_example().provenance, time="last year")
    table = dataclasses.replace(census_example(), provenance=when)
    assert "updated" not in said(write(table, tmp_path / "u.jsonstat"))


def test_parts_that_a_table_lacks_have_no_value(make_table, region, sex, tmp_path):
    """Only inner cells were handed in; their margins are unknown, not zero."""
    cells = {("N1", "m"): (4, CellStatus.published), ("S", "w"): (9, CellStatus.published)}
    table = make_table([region, sex], cells, parts=frozenset({(0, 0)}))
    found = said(write(table, tmp_path / "t.jsonstat", complete=True))
    assert len(found["value"]) == 6
    frame = read(tmp_path / "t.jsonstat").write("dataframe", naming="id")
    assert frame["value"].notna().sum() == 6


def test_levels_are_named_where_they_have_names(make_table, tmp_path):
    tree = Classification(
        name="v",
        codes=("T", "a", "a1"),
        parents=(-1, 0, 1),
        level_names=("land", "town"),
    )
    table = make_table([tree], {("a1",): (9, CellStatus.published)})
    found = json.loads(write(table, tmp_path / "t.jsonstat.json").read_text("utf-8"))
    assert found["dimension"]["v"]["extension"] == {"levels": [["land", "town"]]}
    assert found["dimension"]["v"]["category"]["child"] == {"T": ["a"], "a": ["a1"]}
    plain = make_table([tree.replace(level_names=())], {("a1",): (9, CellStatus.published)})
    found = json.loads(write(plain, tmp_path / "p.jsonstat.json").read_text("utf-8"))
    assert "extension" not in found["dimension"]["v"]
