"""GeoJSON and GeoParquet: what areas carry, where they lie, and what no file may tell."""

import itertools
import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from discreet.classifications import Classification
from discreet.classifications.grids import GridSquare
from discreet.demo.geography import Geography
from discreet.demo.outlines import outlines_of
from discreet.errors import PublicationError
from discreet.publication.boundaries import Boundaries, geojson_texts, well_known_binary
from discreet.tables import CellNote, CellStatus, Note
from tests.conftest import without

SHOWN, HIDDEN = CellStatus.published, CellStatus.suppressed
BOWTIE = [[0, 0], [4, 4], [4, 1], [0, 5], [0, 0]]
SQUARES = ["1kmN2684E4334", "1kmN2684E4335", "1kmN2700E4400"]


def feature(code: Any, *rings: Any, key: str = "ags", parts: Any = None) -> dict[str, Any]:
    geometry = {"type": "Polygon", "coordinates": list(rings)}
    if parts is not None:
        geometry = {"type": "MultiPolygon", "coordinates": parts}
    return {"type": "Feature", "properties": {key: code}, "geometry": geometry}


def ring(west: float, south: float, side: float = 1.0) -> list[list[float]]:
    """A square ring with the clock: what files of old give, and RFC 7946 does not want."""
    east, north = west + side, south + side
    return [[west, south], [west, north], [east, north], [east, south], [west, south]]


@pytest.fixture
def outlines(tmp_path: Path) -> Path:
    """A hole, two parts, and neighbours that share a border."""
    features = [
        feature("N", ring(8, 50, 3), ring(9, 51)),
        feature("N1", ring(8, 50)),
        feature("N2", parts=[[ring(9, 50)], [ring(12, 50)]]),
        feature("S", ring(8, 48)),
    ]
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.fixture
def regions(make_table, region, sex):
    """Every status, in a table of regions by sex."""
    cells = {
        ("Total", "Total"): (80, SHOWN),
        ("N", "Total"): (60, SHOWN),
        ("N1", "Total"): (0, HIDDEN),
        ("N1", "m"): (7, CellStatus.bracketed),
        ("N2", "Total"): (31, CellStatus.official),
        ("S", "Total"): (20, SHOWN),
        ("S", "w"): (0, HIDDEN),
    }
    notes = (CellNote(("S", None), Note("x", {"en": 'A "south"', "de": "Süden"})),)
    return make_table([region, sex], cells, name="T1", cell_notes=notes)


@pytest.fixture
def squares(make_table):
    tree = Classification.from_squares("square", SQUARES, sizes=[1_000])
    values = dict(zip(tree.codes, (66, 12, 0, 54), strict=True))
    return make_table([tree], {(code,): (value, SHOWN) for code, value in values.items()})


def read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    whole = json.loads(path.read_bytes())
    return whole, {each["id"]: each for each in whole["features"]}


def turns(ring: list[list[float]]) -> float:
    """Positive against the clock."""
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in itertools.pairwise(ring))


def test_geojson_holds_what_the_table_holds(regions, outlines, tmp_path):
    areas = Boundaries.read(outlines, key="ags")
    whole, found = read(regions.write(tmp_path / "T1.geojson", boundaries=areas, language="de"))
    assert list(found) == ["N", "S", "N1", "N2"]
    assert whole["table"]["title"] == "Region nach Geschlecht"
    assert "codes" not in whole["table"]["variables"][0]
    north, south, first, second = (found[code]["properties"] for code in found)
    assert north["label"], south["note_Total"] == ("Nord", "Süden")
    assert first["value_Total"] is None
    assert first["status_Total"] == "suppressed"
    assert (first["value_m"], first["status_m"]) == (7, "bracketed")
    assert (first["value_w"], first["status_w"]) == (0, "zero_or_changed_to_zero")
    assert (second["value_Total"], second["status_Total"]) == (31, "official")
    assert (south["value_w"], north["note_Total"]) == (None, None)
    assert [found[code]["properties"]["level"] for code in found] == ["1", "1", "2", "2"]


def test_outer_rings_turn_against_the_clock_and_holes_with_it(regions, outlines, tmp_path):
    areas = Boundaries.read(outlines, key="ags")
    _, found = read(regions.write(tmp_path / "T1.geojson", boundaries=areas))
    outer, hole = found["N"]["geometry"]["coordinates"]
    assert turns(outer) > 0 > turns(hole)
    assert outer[0] == outer[-1] == [8, 50]
    assert found["N2"]["geometry"]["type"] == "MultiPolygon"
    assert [turns(part[0]) > 0 for part in found["N2"]["geometry"]["coordinates"]] == [True, True]
    assert sorted(map(tuple, found["N1"]["geometry"]["coordinates"][0][:4])) == [
        (8, 50), (8, 51), (9, 50), (9, 51),
    ]  # fmt: skip


def test_squares_are_made_of_their_codes(squares, tmp_path):
    _, found = read(squares.write(tmp_path / "T.geojson"))
    assert [each["properties"]["value"] for each in found.values()] == [12, 0, 54]
    for code, each in found.items():
        (outer,) = each["geometry"]["coordinates"]
        assert outer[:4] == [list(corner) for corner in GridSquare.read(code).corners()]
        assert turns(outer) > 0
    first, second = (found[code]["geometry"]["coordinates"][0] for code in list(found)[:2])
    assert first[1] == second[0]  # neighbours share their corners to the last digit
    assert first[2] == second[3]


def polygon(blob: bytes) -> np.ndarray:
    """One ring of a polygon, taken apart by hand."""
    assert struct.unpack_from("<BIII", blob) == (1, 3, 1, (len(blob) - 13) // 16)
    return np.frombuffer(blob, "<f8", offset=13).reshape(-1, 2)


@pytest.mark.parametrize("coordinates", ["EPSG:4326", "EPSG:3035"])
def test_geoparquet_says_where_and_in_what_coordinates(squares, tmp_path, coordinates):
    path = squares.write(tmp_path / "T.geo.parquet", coordinates=coordinates)
    frame, noted = pl.read_parquet(path), pl.read_parquet_metadata(path)
    geo = json.loads(noted["geo"])
    column = geo["columns"][geo["primary_column"]]
    assert (geo["version"], column["encoding"], column["geometry_types"]) == (
        "1.1.0", "WKB", ["Polygon"],
    )  # fmt: skip
    assert frame.columns == ["code", "label", "level", "value", "status", "geometry"]
    rings = [polygon(blob) for blob in frame["geometry"]]
    every = np.concatenate(rings)
    assert column["bbox"] == pytest.approx([*every.min(axis=0), *every.max(axis=0)], abs=1e-3)
    assert column["bbox"][0] <= every[:, 0].min()
    if coordinates == "EPSG:3035":
        assert column["crs"]["id"] == {"authority": "EPSG", "code": 3035}
        assert rings[0][:2].tolist() == [[4_334_000, 2_684_000], [4_335_000, 2_684_000]]
    else:
        assert "crs" not in column  # longitude and latitude
        assert rings[0][0].round(6).tolist() == list(GridSquare.read(SQUARES[0]).corners()[0])
    assert json.loads(noted["provenance"])["method"] == "cell-key"


def test_boundaries_come_back_out_of_both_formats(regions, outlines, tmp_path):
    areas = Boundaries.read(outlines, key="ags")
    for name in ("T1.geojson", "T1.geo.parquet"):
        again = Boundaries.read(regions.write(tmp_path / name, boundaries=areas))
        assert again.codes == ("N", "S", "N1", "N2")
        back = areas.select(np.array([areas.numbers[code] for code in again.codes]))
        for field in ("points", "rings", "polygons", "areas"):
            assert getattr(again, field).tolist() == getattr(back, field).tolist()


def test_levels_and_codes_can_be_chosen(regions, outlines, tmp_path):
    areas = Boundaries.read(outlines, key="ags")
    path = regions.write(tmp_path / "a.geojson", boundaries=areas, level="2", at={"sex": "w"})
    _, found = read(path)
    assert list(found) == ["N1", "N2", "S"]  # a branch that ends above fills its gap
    assert [key for key in found["S"]["properties"] if key.startswith("value")] == ["value_w"]
    path = regions.write(tmp_path / "b.geojson", boundaries=areas, complete=False)
    assert list(read(path)[1]) == ["N", "S", "N1", "N2"]


def test_codes_that_are_no_place_have_no_geometry(make_table, outlines, tmp_path):
    tree = Classification.flat("region", ["N1", "S", "none"], missing="none")
    table = make_table([tree], {(code,): (5, SHOWN) for code in tree.codes})
    areas = Boundaries.read(outlines, key="ags")
    _, found = read(table.write(tmp_path / "T.geojson", boundaries=areas))
    assert found["none"]["geometry"] is None
    assert found["none"]["properties"]["value"] == 5
    path = table.write(tmp_path / "T.geo.parquet", boundaries=areas)
    assert pl.read_parquet(path)["geometry"].is_null().to_list() == [False, False, True]


@pytest.mark.parametrize("suffix", ["geojson", "geo.parquet", "svg", "atlas.html"])
def test_zeros_of_any_kind_give_the_same_bytes(make_table, sex, outlines, tmp_path, suffix):
    tree = Classification.flat("region", ["N1", "N2", "S"])
    shown = {("Total", "Total"): (9, SHOWN), ("S", "Total"): (9, SHOWN)}
    changed = {**shown, ("N1", "Total"): (0, CellStatus.zero_or_changed_to_zero)}
    areas = Boundaries.read(outlines, key="ags")
    written = [
        make_table([tree, sex], cells).write(tmp_path / f"{k}.{suffix}", boundaries=areas)
        for k, cells in enumerate((shown, changed))
    ]
    assert written[0].read_bytes() == written[1].read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.append(feature("S", ring(1, 1))), "'S' occurs twice"),
        (lambda f: f.append(feature(7, ring(1, 1))), "its code is not text"),
        (lambda f: f.append(feature("X", ring(1, 1)[:4])), "is not closed"),
        (lambda f: f.append(feature("X", [[1, 1]] * 5)), "encloses no area"),
        (lambda f: f.append(feature("X", BOWTIE)), "a ring of 'X' crosses itself"),
        (
            lambda f: f.append(feature("X", ring(432_000, 5_000_000))),
            "has coordinates that are not degrees",
        ),
        (
            lambda f: f.append(feature("X", [["a", "b"]] * 4)),
            "has coordinates that are not numbers",
        ),
        (lambda f: f.append(feature("X", parts=[])), "has no polygon"),
        (lambda f: f.append(feature("X") | {"geometry": {"type": "Point"}}), "is not a polygon"),
        (lambda f: f.clear(), "the file contains no areas"),
    ],
)
def test_boundaries_that_are_wrong_are_named(outlines, change, message):
    whole = json.loads(outlines.read_text())
    change(whole["features"])
    outlines.write_text(json.dumps(whole))
    with pytest.raises(PublicationError, match=message) as error:
        Boundaries.read(outlines, key="ags")
    assert error.value.code == "boundaries"


def crosses(ring: np.ndarray) -> bool:
    """Whether two edges of a ring cross, each held against each."""

    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    edges = list(itertools.pairwise(ring))
    return any(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for (a, b), (c, d) in itertools.combinations(edges, 2)
    )


def test_rings_that_cross_themselves_are_found_among_many():
    chance = np.random.default_rng(5)
    polygons = {}
    for number in range(150):
        points = chance.random((chance.integers(3, 9), 2)) + chance.integers(0, 4, 2)
        polygons[f"a{number}"] = np.concatenate([points, points[:1]])
    wrong = {code for code, ring in polygons.items() if crosses(ring)}
    assert 20 < len(wrong) < 130
    given = [(code, [[ring]]) for code, ring in polygons.items()]
    with pytest.raises(PublicationError) as error:
        Boundaries.of_polygons(given, "EPSG:4326")
    assert {problem.what.split("'")[1] for problem in error.value.problems} == wrong
    fine = [(code, polygon) for code, polygon in given if code not in wrong]
    assert len(Boundaries.of_polygons(fine, "EPSG:4326")) == 150 - len(wrong)


def test_other_coordinates_are_refused_and_those_of_the_grid_are_read(outlines, tmp_path):
    whole = json.loads(outlines.read_text())
    named = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}
    outlines.write_text(json.dumps({**whole, "crs": named}))
    with pytest.raises(PublicationError, match=r"EPSG::25832.*not longitude and latitude"):
        Boundaries.read(outlines, key="ags")
    square = ring(4_334_000, 2_684_000, 1_000)
    metres = {"type": "name", "properties": {"name": "EPSG:3035"}}
    whole["features"] = [feature("A", square)]
    outlines.write_text(json.dumps({**whole, "crs": metres}))
    corner = Boundaries.read(outlines, key="ags").degrees().points[0].round(6)
    assert corner.tolist() == list(GridSquare.read(SQUARES[0]).corners()[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boundaries": None}, "no variable of the table has areas"),
        ({"geo": ["sex"]}, "no level of sex has boundaries"),
        ({"boundaries": "areas.geojson"}, "boundaries must be discreet.Boundaries"),
        ({"at": ["w"]}, "at must be a mapping of variables to codes"),
        ({"level": "5"}, "region has no level '5'"),
        ({"at": {"sex": "x"}}, "sex has no code 'x'"),
        ({"at": {"age": "1"}}, "variable 'age' not found among the other variables"),
        ({"format": "csv"}, "format csv has no maps"),
        ({"coordinates": "EPSG:3035"}, "needs longitude and latitude"),
        ({"breaks": [3, 1]}, "bounds must be increasing numbers"),
        ({"classes": 40}, "2 to 7 classes"),
    ],
)
def test_maps_that_cannot_be_are_refused_before_anything_is_written(
    regions, outlines, tmp_path, options, message
):
    place = tmp_path / "out"
    place.mkdir()
    given = {"boundaries": Boundaries.read(outlines, key="ags"), **options}
    with pytest.raises(PublicationError, match=message):
        regions.write(place / "T1.geojson", **given)
    assert list(place.iterdir()) == []


def test_areas_without_boundaries_are_counted_and_named(regions, outlines, tmp_path):
    whole = json.loads(outlines.read_text())
    whole["features"] = [each for each in whole["features"] if each["properties"]["ags"] != "N2"]
    outlines.write_text(json.dumps(whole))
    areas = Boundaries.read(outlines, key="ags")
    with pytest.raises(PublicationError, match="1 areas of region lack a boundary: N2"):
        regions.write(tmp_path / "T1.geojson", boundaries=areas)


def test_files_of_several_levels_are_read_together(outlines, tmp_path):
    other = tmp_path / "more.geojson"
    other.write_text(
        json.dumps({"type": "FeatureCollection", "features": [feature("E", ring(3, 3))]})
    )
    both = Boundaries.read(outlines, other, key="ags")
    assert both.codes == ("N", "N1", "N2", "S", "E")
    assert both.select(np.array([4])).points[0].tolist() == [3, 3]
    with pytest.raises(PublicationError, match="area 'N' occurs in two files"):
        Boundaries.read(outlines, outlines, key="ags")


def test_levels_of_a_grid_stand_side_by_side(make_table, tmp_path):
    tree = Classification.from_squares("square", SQUARES, sizes=[10_000, 1_000])
    table = make_table([tree], {(code,): (3, SHOWN) for code in tree.codes})
    _, found = read(table.write(tmp_path / "T.geojson"))
    levels = [each["properties"]["level"] for each in found.values()]
    assert levels == ["10 km"] * 2 + ["1 km"] * 3
    _, found = read(table.write(tmp_path / "T.geojson", level="10 km"))
    assert len(found) == 2


def test_duckdb_reads_polygons_and_their_coordinates(regions, squares, outlines, tmp_path):
    areas = Boundaries.read(outlines, key="ags")
    path = regions.write(tmp_path / "T1.geo.parquet", boundaries=areas)
    table = duckdb.sql(f"select code, value_Total, geometry::varchar from '{path}'")
    found = {code: (value, text) for code, value, text in table.fetchall()}
    assert found["N1"] == (None, "POLYGON ((8 50, 9 50, 9 51, 8 51, 8 50))")
    assert found["N"][1].startswith("POLYGON ((8 50, 11 50, 11 53, 8 53, 8 50), (9 51, ")
    assert found["N2"][1].startswith("MULTIPOLYGON (((9 50, ")
    systems = {"EPSG:4326": "OGC:CRS84", "EPSG:3035": '"id":{"authority":"EPSG","code":3035}'}
    for coordinates, name in systems.items():
        path = squares.write(tmp_path / "T.geo.parquet", coordinates=coordinates)
        kind = str(duckdb.sql(f"select geometry from '{path}'").types[0])
        assert kind.startswith("GEOMETRY(")
        assert name in kind


@pytest.mark.exhaustive
def test_shapely_finds_polygons_valid(regions, outlines, tmp_path):
    """Those of a file with holes and parts, and all borders of the invented country."""
    try:
        import shapely
    except ImportError:
        without("shapely is not there")
    country = outlines_of(Geography.of(100_000, seed=3))
    for areas in (Boundaries.read(outlines, key="ags"), country, country.degrees()):
        shapes = shapely.from_wkb(np.array(well_known_binary(areas), dtype=object))
        assert shapely.is_valid(shapes).all()
        same = shapely.from_geojson(geojson_texts(areas).to_numpy())
        assert shapely.equals_exact(shapes, same, tolerance=1e-6).all()
        assert shapely.area(shapes).min() > 0
    path = regions.write(tmp_path / "T1.geojson", boundaries=Boundaries.read(outlines, key="ags"))
    north = shapely.from_geojson(json.dumps(read(path)[1]["N"]))
    assert shapely.area(north) == pytest.approx(8)
    assert shapely.is_ccw(shapely.get_exterior_ring(north))
