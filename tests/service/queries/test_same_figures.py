"""A query shows the figures that `discreet protect` publishes, cell by cell."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.publication import read_exact
from discreet.release import read_parameters
from discreet.tables import ProtectedTable
from discreet_service.datasets.versions import DataVersion, open_version
from tests.helpers.rows import for_all_rows
from tests.helpers.service_data import STRICT_PARTS
from tests.service.queries.conftest import Ask, asked_of

_HEAD = "# --- what is published"
_TABLES = """
[defaults]
formats = ["exact"]
official = "sex == 'Total' and age5 == 'Total' and nationality == 'Total' and education == 'Total'"

[tables.ages]
by = ["region", "age5", "sex"]

[tables.origins]
by = ["nationality", "sex", "education"]

[tables.rents]
from = "dwellings"
by = ["region", "area_class"]
[tables.rents.figures]
count = { kind = "count" }
mean_rent = { kind = "mean", of = "rent" }
sum_area = { kind = "sum", of = "area" }
vacant = { kind = "count", where = "tenure == 'vacant'" }
vacancy = { kind = "share", part = "vacant", whole = "count" }
share_count_area_class = { kind = "share", part = "count", over = ["area_class"] }

[tables.kinds]
from = "buildings"
by = ["region", "building_type", "construction"]

[tables.large]
from = "buildings"
by = ["building_type", "construction"]
where = "state in ('01', '02')"
"""

Cells = Mapping[frozenset[tuple[str, str]], tuple[Any, str]]


def release_of(place: Path, folder: Path, more: str = "") -> dict[str, ProtectedTable]:
    """What `discreet protect` publishes of the programme with these tables."""
    text = (place / "programme.toml").read_text("utf-8").partition(_HEAD)[0]
    if more:
        text = (
            text.partition("[parts]")[0]
            + more
            + text.partition("[quality]")[1]
            + (text.partition("[quality]")[2])
        )
    programme = place / f"{folder.name}.toml"
    programme.write_text(text + _TABLES, "utf-8")
    out = folder / "release"
    dc.protect(programme, out)
    return {path.name.partition(".")[0]: read_exact(path) for path in out.glob("*.exact.parquet")}


def cells_of(table: ProtectedTable, **fixed: str) -> Cells:
    """Each cell by its codes; totals are left out, as if the variable did not span the table."""
    totals = {each.name: each.total for each in table.spanning}
    frame = table.to_polars(complete=True)
    names = [each.name for each in table.dimensions]
    if len(table.figures) == 1:
        frame = frame.with_columns(figure=pl.lit(table.figures[0].name))
        names.append("figure")
    found = {}
    for row in frame.iter_rows(named=True):
        codes = {name: row[name] for name in names if row[name] != totals.get(name)}
        found[frozenset({**codes, **fixed}.items())] = (row["value"], row["status"])
    return found


def compare(answer: ProtectedTable, released: Cells, least: int, **fixed: str) -> None:
    """Every cell of both is the same, and there are so many of them at least."""
    asked = cells_of(answer, **fixed)
    common = asked.keys() & released.keys()
    assert len(common) >= least, "too few cells in common"
    assert {codes: asked[codes] for codes in common} == {codes: released[codes] for codes in common}


@pytest.fixture(scope="module")
def place(census_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the data set, to put programmes beside.

    The gate of sums and means hides cells table by table: here it hides none.
    """
    place = tmp_path_factory.mktemp("same") / "census"
    shutil.copytree(census_data / "census-2022-1", place)
    programme = place / "programme.toml"
    text = re.sub(r"(\[magnitudes\.\w+\]\n)", r"\1chance = 1\n", programme.read_text("utf-8"))
    programme.write_text(text, "utf-8")
    return place


@pytest.fixture(scope="module")
def ask(place: Path) -> Ask:
    """What answers queries about this copy."""
    return asked_of(open_version(place, b"key"))


@pytest.fixture(scope="module")
def released(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cells]:
    """The cells of a release."""
    tables = release_of(place, tmp_path_factory.mktemp("plain"))
    return {name: cells_of(table) for name, table in tables.items()}


def version_beside(
    place: Path, folder: Path, programme: str, more: str = "", parameters_of: Any = None
) -> DataVersion:
    """The data set by another programme beside it; without stores if the folder is for files."""
    folder = place / folder.name
    folder.mkdir()
    lines = (place / "DATASET.toml").read_text("utf-8").splitlines()
    kept = [line for line in lines if folder.name != "files" or not line.startswith("store =")]
    text = "\n".join(kept).replace("[dataset]", f'[dataset]\nprogramme = "../{programme}"\n{more}')
    (folder / "DATASET.toml").write_text(text.replace('store = "', 'store = "../'), "utf-8")
    return open_version(folder, b"key", parameters_of)


_REGIONS = {"variable": "region", "level": [1, 2, 3]}


@for_all_rows(
    ("document", "table", "least"),
    [
        ({"by": [_REGIONS, "sex", "age5"]}, "ages", 1_900),
        ({"by": ["age5", {"variable": "region", "level": "district"}]}, "ages", 150),
        ({"by": ["sex"]}, "ages", 3),
        ({"by": []}, "ages", 1),
        ({"by": [{"variable": "age5", "codes": ["0-4", "85+"]}, "sex"], "totals": "none"},
         "ages", 4),
        ({"by": [{"variable": "region", "within": ["01"]}, "sex"]}, "ages", 18),
        ({"by": ["sex", {"variable": "nationality", "level": [1, 2]}]}, "origins", 100),
        ({"by": ["education", {"variable": "nationality", "level": 1}]}, "origins", 20),
    ],
)  # fmt: skip
def test_counts_are_those_of_a_release(
    ask: Ask, released: dict[str, Cells], document: dict[str, Any], table: str, least: int
) -> None:
    compare(ask({"unit": "person", **document}), released[table], least)


@pytest.mark.parametrize("variable", ["sex", "age5", "region"])
def test_a_filter_on_one_code_shows_the_cells_of_the_larger_table(
    ask: Ask, census: Any, released: dict[str, Cells], variable: str
) -> None:
    tree = census.units["person"].variables[variable].tree
    others = [name for name in ("sex", "age5", "region") if name != variable]
    for code in tree.codes[1:6]:
        answer = ask(
            {"unit": "person", "by": others, "where": [{"variable": variable, "codes": [code]}]}
        )
        compare(answer, released["ages"], 50, **{variable: code})


def test_official_figures_stay_official_under_a_filter(ask: Ask) -> None:
    where = [{"variable": "region", "codes": ["01"]}]
    by_filter = ask({"unit": "person", "by": ["sex"], "where": where}).to_polars()
    assert by_filter.row(0)[-1] == "official"
    men = [{"variable": "sex", "codes": ["m"]}]
    answer = ask({"unit": "person", "by": [{"variable": "region", "level": 1}], "where": men})
    assert "official" not in answer.to_polars()["status"].to_list()


def test_a_filter_on_several_codes_has_no_official_figures(ask: Ask) -> None:
    districts = ["01001", "02001"]
    where = [{"variable": "region", "codes": districts}]
    statuses = ask({"unit": "person", "by": ["sex"], "where": where}).to_polars()["status"]
    assert set(statuses) == {"published"}


def test_key_figures_are_those_of_a_release(ask: Ask, released: dict[str, Cells]) -> None:
    measures = [
        "vacancy",
        {"mean": "rent"},
        {"sum": "area"},
        "count",
        {"share": "count", "over": "area_class"},
    ]
    document = {"unit": "dwelling", "by": ["area_class", _REGIONS], "measures": measures}
    answer = ask(document)
    compare(answer, released["rents"], 1_000)
    named = ["vacancy", "mean_rent", "sum_area", "count", "share_count_area_class"]
    assert [figure.name for figure in answer.figures] == named
    assert "bracketed" in answer.to_polars()["status"].to_list()
    one = ask({**document, "measures": [{"mean": "rent"}]})
    compare(one, released["rents"], 200)
    where = [{"variable": "region", "codes": ["01"]}]
    filtered = ask({**document, "by": ["area_class"], "where": where})
    compare(filtered, released["rents"], 30, region="01")


def test_the_gate_of_sums_and_means_hides_cells_and_changes_no_figure(
    census: DataVersion, ask: Ask
) -> None:
    document = {
        "unit": "dwelling",
        "by": [_REGIONS, "area_class"],
        "measures": ["count", {"mean": "rent"}],
    }
    gated, every = cells_of(asked_of(census)(document)), cells_of(ask(document))
    hidden = {codes for codes in gated if gated[codes] != every[codes]}
    assert hidden
    assert {gated[codes] for codes in hidden} == {(None, "suppressed")}


def test_a_filter_of_a_release_is_a_filter_of_a_query(ask: Ask, released: dict[str, Cells]) -> None:
    document = {
        "unit": "building",
        "by": ["building_type", "construction"],
        "where": [{"variable": "state", "codes": ["02", "01"]}],
    }
    compare(ask(document), released["large"], 40)


def test_parts_are_suppressed_as_in_a_release(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("strict")
    tables = release_of(place, folder, STRICT_PARTS)
    ask = asked_of(version_beside(place, folder, f"{folder.name}.toml"))

    kinds = ["building_type", "construction", _REGIONS]
    whole = ask({"unit": "building", "by": kinds})
    compare(whole, cells_of(tables["kinds"]), 1_000)
    statuses = whole.to_polars(complete=True)["status"].value_counts()
    assert set(statuses["status"]) >= {"suppressed", "published"}
    assert any(note.kind == "suppressed-parts" for note in whole.notes)

    ages = ask({"unit": "person", "by": [_REGIONS, "age5", "sex"]})
    compare(ages, cells_of(tables["ages"]), 1_900)
    rents = ask({"unit": "dwelling", "by": [_REGIONS, "area_class"],
                 "measures": ["count", {"mean": "rent"}]})  # fmt: skip
    coarse = ask({"unit": "building", "by": ["building_type", {"variable": "region", "level": 1}]})
    assert rents.stored > 0
    assert coarse.stored > 0
    filtered = ask({"unit": "building", "by": ["building_type", "construction"],
                    "where": [{"variable": "state", "codes": ["01", "02"]}]})  # fmt: skip
    compare(filtered, cells_of(tables["large"]), 40)


@pytest.mark.exhaustive
def test_areas_are_decided_one_by_one_as_in_a_release(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("areas")
    tables = release_of(place, folder, '[parts]\nmax_share_small = 0.6\nper = "region"\n')
    ask = asked_of(version_beside(place, folder, f"{folder.name}.toml"))
    whole = ask({"unit": "building", "by": ["building_type", "construction", _REGIONS]})
    assert any(note.kind == "hidden-areas" for note in tables["kinds"].notes)
    compare(whole, cells_of(tables["kinds"]), 1_000)


def test_stores_and_files_give_the_same(place: Path, ask: Ask) -> None:
    other = asked_of(version_beside(place, Path("files"), "programme.toml"))
    documents: list[dict[str, Any]] = [
        # Coarser levels have columns of their own in stores.
        {"unit": "person", "by": ["sex", {"variable": "region", "level": "state"}]},
        {"unit": "person", "by": ["age5", {"variable": "nationality", "level": 1}]},
        {"unit": "person", "by": [{"variable": "occupation", "level": 1}], "totals": "none"},
        {
            "unit": "dwelling",
            "by": [{"variable": "region", "level": 2}],
            "measures": ["count", {"mean": "rent"}, {"sum": "area"}, "vacancy"],
        },
        {"unit": "person", "by": ["sex", _REGIONS],
         "where": [{"variable": "age5", "codes": ["0-4", "20-24", "25-29", "85+"]}]},
        {"unit": "person", "by": ["age5"],
         "where": [{"variable": "occupation", "codes": ["Missing"]}]},
        {"unit": "household", "by": ["household_type", {"variable": "region", "level": 1}],
         "measures": ["count", {"mean": "household_size"}]},
    ]  # fmt: skip
    for document in documents:
        frames = [each(document).to_polars() for each in (ask, other)]
        assert frames[0].equals(frames[1])


def test_a_parameter_set_gives_the_figures_of_its_programme(place: Path, ask: Ask) -> None:
    asked: list[str] = []
    parameters = read_parameters(place / "programme.toml")

    def parameters_of(name: str) -> Any:
        asked.append(name)
        return parameters

    text = (place / "programme.toml").read_text("utf-8")
    bare = text.replace('share = 0.1 }\npublish = "means"', 'share = 0.9 }\npublish = "sums"')
    bare = bare.replace('official = """', 'where = ""\nofficial = """')
    assert bare != text
    (place / "bare.toml").write_text(bare, "utf-8")
    stated = 'parameter_set = "census@1"'
    version = version_beside(place, Path("set"), "bare.toml", stated, parameters_of)
    other = asked_of(version)
    assert asked == ["census@1"]
    documents: list[dict[str, Any]] = [
        {"unit": "person", "by": ["sex", _REGIONS]},
        {"unit": "person", "by": ["sex"], "where": [{"variable": "region", "codes": ["01"]}]},
        {"unit": "dwelling", "by": [_REGIONS], "measures": [{"mean": "area"}, {"sum": "area"}]},
    ]
    for document in documents:
        assert other(document).to_polars().equals(ask(document).to_polars())
    assert version.fingerprint != open_version(place, b"key").fingerprint
