"""All products of a census office from one programme: a figure is the same wherever it stands."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from discreet.demo import agreed_figures, release_products, write_census
from discreet.demo.products import ReleasedProducts
from discreet.errors import PublicationError


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> ReleasedProducts:
    place = tmp_path_factory.mktemp("products")
    (place / "census").mkdir()
    write_census(place / "census", persons=1_500, seed=7)
    return release_products(place / "census", place / "release")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_every_figure_that_occurs_twice_is_the_same(products: ReleasedProducts) -> None:
    found = products.agreed
    assert found.differing == ()
    assert found.repeated > 2_000
    names = {path.name.partition(".")[0] for path in products.release.out.iterdir()}
    assert {"database", "regional", "squares", "atlas", "special", "hypercube"} <= names


def test_one_changed_figure_is_found(products: ReleasedProducts, tmp_path: Path) -> None:
    out = tmp_path / "changed"
    shutil.copytree(products.release.out, out)
    path = sorted(out.glob("regional.0*.csv"))[0]
    text = path.read_text("utf-8").splitlines()
    at = next(at for at, line in enumerate(text) if ",published," in line)
    cells = text[at].split(",")
    value = text[0].split(",").index("value")
    cells[value] = str(int(cells[value]) + 1)
    text[at] = ",".join(cells)
    path.write_text("\n".join(text) + "\n", "utf-8")
    (differing,) = agreed_figures(out).differing
    assert path.name in differing


def test_each_municipality_has_a_table_of_its_own(products: ReleasedProducts) -> None:
    out = products.release.out
    listed = {row["code"] for row in rows(out / "regional.areas.csv")}
    stated = {row["region"] for row in rows(out / "database.csv") if len(row["region"]) == 8}
    assert stated
    assert listed == stated


def test_squares_on_the_map_are_those_of_the_table(products: ReleasedProducts) -> None:
    out = products.release.out
    table = {(row["square"], row["sex"]): row["value"] for row in rows(out / "squares.csv")}
    assert {len(code) for code, _ in table} >= {len("100mN10000E20003"), len("Total")}
    drawn = json.loads((out / "squares.geojson").read_text("utf-8"))["features"]
    assert drawn
    for one in drawn:
        for sex in ("Total", "m", "w"):
            value = one["properties"][f"value_{sex}"]
            assert str(value) == table[one["properties"]["code"], sex]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="no tables"):
        agreed_figures(tmp_path)
