"""Maps in a release: written beside tables, listed with them, made again when borders change."""

import json
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ProgrammeError, PublicationError

PROGRAMME = """\
languages = ["en", "de"]
[data]
source = "persons.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.json"
[variables.region]
levels = ["state", "county"]
boundaries = ["states.geojson", "counties.geojson"]
boundary_key = "id"
[variables.place]
alternatives = ["region", "square"]
[variables.square]
label = "Square"
[tables.T1]
by = ["region", "sex"]
formats = ["csv", "geojson", "geoparquet", "map", "atlas"]
title = "People"
[tables.T1.map]
level = "state"
breaks = [2, 3]
[tables.T2]
by = ["square"]
formats = ["map"]
"""


def outline(folder: Path, name: str, codes: dict[str, float], key: str = "id") -> None:
    features = [
        {
            "type": "Feature",
            "properties": {key: code},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[x, 50], [x + 1, 50], [x + 1, 51], [x, 51], [x, 50]]],
            },
        }
        for code, x in codes.items()
    ]
    whole = {"type": "FeatureCollection", "features": features}
    (folder / name).write_text(json.dumps(whole))


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    """Six people in two states, four counties and two squares; noise that changes nothing."""
    people = {
        "state": ["N", "N", "N", "S", "S", "S"],
        "county": ["N1", "N1", "N2", "S1", "S1", "S2"],
        "square": ["1kmN2684E4334"] * 4 + ["1kmN2684E4335"] * 2,
        "sex": ["m", "w", "m", "w", "m", "w"],
        "record_key": [10**14 * k for k in range(1, 7)],
    }
    pl.DataFrame(people).write_parquet(tmp_path / "persons.parquet")
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}).write(tmp_path / "ptable.json")
    outline(tmp_path, "states.geojson", {"N": 8, "S": 9})
    outline(tmp_path, "counties.geojson", {"N1": 8, "N2": 9, "S1": 10, "S2": 11})
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    return tmp_path / "programme.toml"


def test_maps_stand_beside_tables_and_are_listed_with_them(programme, tmp_path):
    out = tmp_path / "release"
    made = dc.protect(programme, out)
    files = [f"T1{middle}.{end}" for end in ("geojson", "geo.parquet", "svg", "atlas.html")
             for middle in ("", ".de")]  # fmt: skip
    listed = next(table for table in made.tables if table.name == "T1").files
    assert set(files) <= set(listed)
    manifest = json.loads((out / "release.json").read_text())
    assert set(files) <= set(manifest["tables"][0]["files"])
    assert 'href="T1.atlas.html"' in (out / "index.html").read_text()
    features = json.loads((out / "T1.geojson").read_text())["features"]
    assert [each["id"] for each in features] == ["N", "S"]  # the level of [tables.T1.map]
    picture = (out / "T1.svg").read_text()
    assert "<title>N: 3</title>" in picture
    assert "3 and more (2 areas)" in picture
    squares = (out / "T2.svg").read_text()  # boundaries out of the codes
    assert "1kmN2684E4334: 4</title>" in squares


def test_maps_are_made_again_when_borders_change_and_not_before(programme, tmp_path):
    out = tmp_path / "release"
    dc.protect(programme, out)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("T*")}
    again = dc.protect(programme, out)
    assert not any(table.fresh for table in again.tables)
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("T*")} == before
    outline(tmp_path, "states.geojson", {"N": 8, "S": 20})
    figures = (out / "T1.csv").read_bytes()
    dc.protect(programme, out)
    south = json.loads((out / "T1.geojson").read_text())["features"][1]
    assert south["geometry"]["coordinates"][0][0] == [20, 50]
    assert (out / "T1.csv").read_bytes() == figures


def test_an_atlas_has_all_tables_with_areas(programme, tmp_path):
    text = programme.read_text() + '[tables.T3]\nby = ["region"]\nformats = ["csv"]\n'
    programme.write_text(f'atlas = "maps.html"\n{text}')
    out = tmp_path / "release"
    dc.protect(programme, out)
    page = (out / "maps.html").read_text()
    data = json.loads(page.partition('id="atlas-data">')[2].partition("</script>")[0])
    assert [len(each["levels"]) for each in data["tables"]] == [1, 1, 2]  # T1, T2, T3
    assert (out / "index.html").read_text().count('href="maps.html"') == 3
    manifest = json.loads((out / "release.json").read_text())
    assert {"maps.html", "maps.de.html"} <= set(manifest["reports"])
    before = (out / "maps.html").stat().st_mtime_ns
    dc.protect(programme, out)
    assert (out / "maps.html").stat().st_mtime_ns == before
    outline(tmp_path, "counties.geojson", {"N1": 8, "N2": 9, "S1": 10, "S2": 30})
    dc.protect(programme, out)
    assert (out / "maps.html").read_text() != page
    programme.write_text(programme.read_text() + "[tables.T3.map]\natlas = false\n")
    dc.protect(programme, out)
    assert (out / "index.html").read_text().count('href="maps.html"') == 2


def test_an_atlas_without_tables_or_with_the_name_of_one_is_a_mistake(programme, tmp_path):
    text = programme.read_text()
    programme.write_text(f'atlas = "T1.html"\n{text}')
    with pytest.raises(ProgrammeError, match="'T1' cannot be the name of an atlas"):
        dc.protect(programme, tmp_path / "release")
    tables = '[tables.T1]\nby = ["sex"]\nformats = ["csv"]\n'
    programme.write_text(f'atlas = "maps.html"\n{text[: text.index("[tables.T1]")]}{tables}')
    with pytest.raises(PublicationError, match="no table has areas"):
        dc.protect(programme, tmp_path / "release")


def test_a_table_with_alternatives_takes_the_boundaries_of_one(programme, tmp_path):
    text = programme.read_text().replace('by = ["region", "sex"]', 'by = ["place"]')
    programme.write_text(text.replace('level = "state"\n', ""))
    dc.protect(programme, tmp_path / "release")
    found = json.loads((tmp_path / "release" / "T1.geojson").read_text())["features"]
    assert len(found) == 2 + 4 + 2  # states, counties, squares


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"counties.geojson"', '"nowhere.geojson"'), "file 'nowhere.geojson' not found"),
        (('boundary_key = "id"', 'boundary_key = "ags"'), "no feature has a property 'ags'"),
        (("boundaries = [", "#"), "this needs boundaries"),
        (
            ("breaks = [2, 3]", "breaks = [3, 2]"),
            "must be one of quantiles, equal, geometric, natural, or bounds",
        ),
        (('level = "state"', "classes = 12"), "less than or equal to 7|at most 7"),
        (('level = "state"', 'level = "village"'), "region has no level 'village'"),
        (('level = "state"', 'at = { sex = "x" }'), "sex has no code 'x'"),
        (('by = ["square"]', 'by = ["sex"]'), "no variable of the table has areas"),
    ],
)
def test_maps_that_cannot_be_drawn_leave_no_release(programme, tmp_path, change, message):
    programme.write_text(programme.read_text().replace(*change))
    with pytest.raises((ProgrammeError, PublicationError), match=message):
        dc.protect(programme, tmp_path / "release")
    assert not list((tmp_path / "release").glob("*.*"))


def test_an_area_without_a_border_is_named(programme, tmp_path):
    outline(tmp_path, "counties.geojson", {"N1": 8, "N2": 9, "S1": 10})
    programme.write_text(programme.read_text().replace('level = "state"', 'level = "county"'))
    with pytest.raises(PublicationError, match="1 areas of region lack a boundary: S2"):
        dc.protect(programme, tmp_path / "release")
