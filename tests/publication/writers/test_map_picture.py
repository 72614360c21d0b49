"""Pictures of maps: what an area shows, what its class is made of, what stays hidden."""

import dataclasses
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet.assessment.pictures.picture import luminance
from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication.area_figures import MapClasses, colours
from discreet.publication.boundaries import Boundaries
from discreet.tables import CellStatus
from tests.helpers.rows import for_all_rows

SHOWN, HIDDEN = CellStatus.published, CellStatus.suppressed
SVG = "{http://www.w3.org/2000/svg}"
CODES = [f"a{k}" for k in range(12)]


@pytest.fixture
def areas(tmp_path: Path) -> Boundaries:
    """Twelve squares side by side."""
    features = [
        {
            "type": "Feature",
            "properties": {"code": code},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[k, 50], [k + 1, 50], [k + 1, 51], [k, 51], [k, 50]]],
            },
        }
        for k, code in enumerate(CODES)
    ]
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return Boundaries.read(path)


@pytest.fixture
def table(make_table):
    """Figures 1, 2, 3, …; a4 hidden, a5 zero, a6 in parentheses, a7 official."""
    tree = Classification.flat(
        "area", CODES, labels={"a0": {"en": '<North> & "more"', "de": "Nord"}}
    )
    cells = {(code,): (k + 1, SHOWN) for k, code in enumerate(CODES)}
    cells |= {
        ("a4",): (0, HIDDEN),
        ("a5",): (0, CellStatus.zero_or_changed_to_zero),
        ("a6",): (7, CellStatus.bracketed),
        ("a7",): (8, CellStatus.official),
        ("Total",): (1000, SHOWN),
    }
    titles = {"en": "Persons & areas", "de": "Personen"}
    return make_table([tree], cells, name="T1", titles=titles)


def shapes(path: Path) -> dict[str, str]:
    """What each area says → its fill."""
    root = ElementTree.parse(path).getroot()
    return {
        shape.findtext(f"{SVG}title") or "": group.get("fill", "")
        for group in root.iter(f"{SVG}g")
        for shape in group.findall(f"{SVG}path")
        if shape.find(f"{SVG}title") is not None
    }


def test_every_area_says_its_figure_and_has_the_colour_of_its_class(table, areas, tmp_path):
    path = table.write(tmp_path / "T1.svg", boundaries=areas, breaks=[4, 10])
    found = shapes(path)
    assert len(found) == 12
    light, middle, dark = colours(3)
    assert found['<North> & "more": 1'] == light
    assert found["a3: 4"] == found["a6: (7)"] == found["a7: 8*"] == middle
    assert found["a9: 10"] == found["a11: 12"] == dark
    assert found["a4: ."] == "url(#map-hidden)"
    assert found["a5: –"] == "#fcfcfa"
    text = path.read_text()
    assert "under 4 (3 areas)" in text
    assert "10 and more (3 areas)" in text
    assert "value unknown or secret (1 area)" in text
    assert text.count('fill="url(#map-limited)"') == 1
    assert "1000" not in text  # the total is no area


def test_a_picture_speaks_for_itself(table, areas, tmp_path):
    root = ElementTree.parse(table.write(tmp_path / "T1.svg", boundaries=areas)).getroot()
    assert root.get("role") == "img"
    named = [root.find(f"{SVG}{tag}").get("id") for tag in ("title", "desc")]
    assert root.get("aria-labelledby").split() == named
    assert root.findtext(f"{SVG}title") == "Persons & areas"
    assert "areas)" in root.findtext(f"{SVG}desc")
    assert not re.search(r"https?://(?!www\.w3\.org)", ElementTree.tostring(root, "unicode"))
    german = table.write(tmp_path / "T1.de.svg", boundaries=areas, language="de").read_text()
    assert "Gebiete)" in german
    assert "Zahlenwert unbekannt oder geheim zu halten" in german


def test_classes_are_made_of_what_is_printed_alone(table, areas, tmp_path):
    """Whatever stands behind a hidden cell, classes, counts and bytes are the same."""
    written = set()
    for value in (0, 1, 10**6):
        values = np.where(table.status == HIDDEN, value, table.value)
        again = dataclasses.replace(table, value=values)
        for breaks in ("quantiles", "equal"):
            path = again.write(tmp_path / "T1.svg", boundaries=areas, breaks=breaks)
            written.add((breaks, path.read_bytes()))
    assert len(written) == 2


def test_digits_that_are_not_printed_play_no_part(make_table, areas, tmp_path):
    """Classes of rounded figures: 2.46 and 2.54 are 2.5 both."""
    tree = Classification.flat("area", CODES)
    cells = {(code,): (2.46 if k < 6 else 2.54, SHOWN) for k, code in enumerate(CODES)}
    cells[("a0",)] = (0.04, SHOWN)  # printed as 0.0, and no zero
    path = make_table([tree], cells, decimals=1).write(tmp_path / "T.svg", boundaries=areas)
    found = shapes(path)
    assert len({fill for name, fill in found.items() if name.endswith("2.5")}) == 1
    assert found["a0: 0.0"] in colours(2)
    assert not re.search(r"2\.4|2\.54|0\.04", path.read_text())


def test_classes_hold_as_many_areas_or_are_as_wide():
    values = np.array([1, 1, 1, 2, 3, 5, 8, 13, 21, 100], dtype=float)
    quantiles = MapClasses.of(values, "quantiles", 5, 0)
    classes = np.searchsorted(quantiles.cuts, values, side="right")
    assert np.bincount(classes).tolist() == [4, 2, 2, 2]
    equal = MapClasses.of(values, "equal", 3, 0)
    assert equal.cuts == (34, 67)
    bounds = MapClasses.of(values, [0, 10], 5, 0).cuts
    assert np.searchsorted(bounds, values, side="right").tolist() == [1] * 7 + [2] * 3
    assert MapClasses.of(np.array([7.0, 7.0]), "quantiles", 5, 0).cuts == ()
    assert MapClasses.of(np.array([]), "equal", 5, 0).cuts == ()


@pytest.fixture
def regions() -> Boundaries:
    """Two districts of three municipalities in metres, each twice as wide as the one before."""
    polygons, west = [], 4_000_000
    for district in "NS":
        start = west
        for k in range(3):
            side = 1000 * 2**k
            east, south, north = west + side, 3_000_000, 3_004_000
            ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
            polygons.append((f"{district}{k}", [[np.array(ring, dtype=float)]]))
            west += side
        ring = [[start, south], [west, south], [west, north], [start, north], [start, south]]
        polygons.append((district, [[np.array(ring, dtype=float)]]))
    return Boundaries.of_polygons(polygons, "EPSG:3035")


@pytest.fixture
def counts(make_table):
    tree = Classification.from_parents(
        "region", {**dict.fromkeys("NS"), **{f"{d}{k}": d for d in "NS" for k in range(3)}}
    )
    cells = {(f"{d}{k}",): (80 * (k + 1), SHOWN) for d in "NS" for k in range(3)}
    cells |= {("N1",): (0, HIDDEN), ("S2",): (30, CellStatus.bracketed), ("N",): (480, SHOWN)}
    return make_table([tree], {**cells, ("S",): (270, SHOWN), ("Total",): (750, SHOWN)})


def circles(path: Path) -> dict[str, tuple[float, float, float]]:
    """What each symbol says → where it is and its radius."""
    return {
        circle.findtext(f"{SVG}title") or "": tuple(
            float(circle.get(name) or 0) for name in ("cx", "cy", "r")
        )
        for circle in ElementTree.parse(path).getroot().iter(f"{SVG}circle")
        if circle.find(f"{SVG}title") is not None
    }


def test_counts_of_unequal_areas_are_symbols_at_their_centres(counts, regions, tmp_path):
    path = counts.write(tmp_path / "T.svg", boundaries=regions, breaks=[100, 200])
    drawn = circles(path)
    assert set(drawn) == {"N0: 80", "N2: 240", "S0: 80", "S1: 160", "S2: (30)"}
    assert drawn["N0: 80"][2] < drawn["S1: 160"][2] < drawn["N2: 240"][2]
    east = {name: x for name, (x, _, _) in drawn.items()}
    assert east["N2: 240"] == pytest.approx(10 * east["N0: 80"], rel=0.01)  # 5,000 and 500 m
    assert east["S1: 160"] == pytest.approx(18 * east["N0: 80"], rel=0.01)
    assert len({y for _, y, _ in drawn.values()}) == 1
    fills = shapes(path)
    assert fills["N1: ."] == "url(#map-hidden)"
    assert fills["N0: 80"] == fills["N2: 240"] == "#fcfcfa"
    coloured = shapes(counts.write(tmp_path / "C.svg", boundaries=regions, show="areas"))
    assert coloured["N0: 80"] != coloured["N2: 240"]


def test_densities_are_printed_figures_by_square_kilometre(counts, regions, tmp_path):
    path = counts.write(tmp_path / "T.svg", boundaries=regions, show="density", classes=2)
    assert set(shapes(path)) == {
        *("N0: 20.0", "N1: .", "N2: 15.0", "S0: 20.0", "S1: 20.0", "S2: (1.9)"),
    }
    assert "per square kilometre" in path.read_text()
    assert "value unknown or secret (1 area)" in path.read_text()


def test_borders_of_the_level_above_and_a_scale_bar_are_drawn(counts, regions, tmp_path):
    root = ElementTree.parse(counts.write(tmp_path / "T.svg", boundaries=regions)).getroot()
    borders = [path.get("d") for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert borders[0].count("M") == 2  # both districts
    assert "2 km" in "".join(root.itertext())
    coarse = counts.write(tmp_path / "D.svg", boundaries=regions, level="1").read_text()
    assert "480" in coarse
    assert 'fill="none" stroke="#1a2530" stroke-width="0' not in coarse


def test_natural_classes_are_the_best_of_all():
    """No other division has less variation within its classes: all are tried."""
    rng = np.random.default_rng(3)

    def within(values: np.ndarray, cuts: tuple[float, ...]) -> float:
        parts = np.split(values, np.searchsorted(values, cuts))
        return sum(float(((part - part.mean()) ** 2).sum()) for part in parts if len(part))

    for _ in range(20):
        values = np.sort(rng.choice(200, 9, replace=False).astype(float))
        cuts = MapClasses.of(values, "natural", 3, 0).cuts
        best = min(within(values, pair) for pair in itertools.combinations(values[1:], 2))
        assert within(values, cuts) == pytest.approx(best)
    doubled = MapClasses.of(np.array([1.0, 3, 7, 16]), "geometric", 4, 0)
    assert doubled.cuts == (2, 4, 8)
    with pytest.raises(PublicationError, match="above zero"):
        MapClasses.of(np.array([-1.0, 3]), "geometric", 2, 0)


@for_all_rows("number", range(2, 9))
def test_colours_are_told_apart_by_lightness_alone(number):
    """So they are by everyone, and in grey print."""
    light = [luminance(each) for each in colours(number)]
    contrasts = [(a + 0.05) / (b + 0.05) for a, b in itertools.pairwise(light)]
    assert min(contrasts) > 1.25


def test_a_level_and_a_figure_can_be_asked_for(make_table, sex, tmp_path):
    squares = ["1kmN2684E4334", "1kmN2684E4335"]
    tree = Classification.from_squares("square", squares, sizes=[10_000, 1_000])
    cells = {(code, "Total"): (9, SHOWN) for code in tree.codes}
    cells |= {(code, "m"): (4, SHOWN) for code in tree.codes}
    table = make_table([tree, sex], cells)
    fine = shapes(table.write(tmp_path / "a.svg", at={"sex": "m"}))
    assert [name.rpartition(": ")[2] for name in fine] == ["4", "4"]
    coarse = shapes(table.write(tmp_path / "b.svg", level="10 km"))
    assert [name.rpartition(": ")[2] for name in coarse] == ["9"]


def test_large_maps_are_drawn_class_by_class_and_have_an_end(make_table, tmp_path, monkeypatch):
    squares = [f"1kmN{2000 + k // 150}E{4000 + k % 150}" for k in range(21_000)]
    tree = Classification.from_squares("square", squares, sizes=[1_000])
    cells = {(code,): (k % 5, SHOWN) for k, code in enumerate(tree.codes)}
    table = make_table([tree], cells)
    path = table.write(tmp_path / "T.svg")
    assert shapes(path) == {}
    assert path.stat().st_size < 800_000
    monkeypatch.setattr("discreet.publication.area_figures.MOST_AREAS", 100)
    with pytest.raises(PublicationError, match="at most 100 areas"):
        table.write(tmp_path / "T2.svg")
    assert not (tmp_path / "T2.svg").exists()
