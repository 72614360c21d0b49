"""A version is opened whole, or everything that is wrong with it is said."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from discreet.demo import example_perturbation_table
from discreet.errors import DiscreetError, ProgrammeError
from discreet_service.datasets import CatalogueVariable, DataVersion
from discreet_service.datasets.versions import open_version, read_description

_PROGRAMME = """
[data]
source = "people.csv"
[keys]
column = "key"
[perturbation]
table = "ptable.json"
[variables.sex]
codes = ["m", "w"]
[variables.age]
intervals = [0, 18, 65]
[variables.place]
prefixes = [1, 2]
[defaults]
formats = ["csv"]
[tables.T]
by = ["sex", "age"]
"""
_DATASET = """
[dataset]
id = "people"
version = "1"
title = { en = "People", de = "Menschen" }
[units.person]
source = "data"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small data set."""
    write_people(tmp_path, [["m", 17, "A1"], ["w", 64, "A2"], ["m", 90, "B1"], ["w", 3, "B1"]])
    example_perturbation_table().write(tmp_path / "ptable.json")
    (tmp_path / "programme.toml").write_text(_PROGRAMME, "utf-8")
    (tmp_path / "DATASET.toml").write_text(_DATASET, "utf-8")
    return tmp_path


def write_people(folder: Path, rows: list[list[object]]) -> None:
    columns = list(zip(*rows, strict=True))
    keys = [((number + 1) * 618_033_988_749_895) % 10**15 for number in range(len(rows))]
    frame = pl.DataFrame({"sex": columns[0], "age": columns[1], "place": columns[2], "key": keys})
    frame.write_csv(folder / "people.csv")


def describe(folder: Path, text: str) -> None:
    (folder / "DATASET.toml").write_text(text, "utf-8")


def problems(folder: Path) -> list[str]:
    with pytest.raises(ProgrammeError) as caught:
        open_version(folder, b"key")
    return [problem.what for problem in caught.value.problems]


def test_what_data_alone_tell_is_not_offered(folder: Path) -> None:
    version = open_version(folder, b"key")
    assert list(version.units["person"].variables) == ["sex", "age"]
    describe(folder, _DATASET + 'variables = ["sex", "place"]\n')
    assert problems(folder) == ["the list of codes of 'place' would disclose that they occur"]
    public = _DATASET.replace("[units", 'public_codes = ["place"]\n[units')
    describe(folder, public)
    place = open_version(folder, b"key").units["person"].variables["place"]
    assert place.codes_of(2) == ("A1", "A2", "B1")
    assert place.tree.found == "none"


def test_missing_values_need_a_code_that_was_stated(folder: Path) -> None:
    write_people(folder, [["m", 17, "A1"], [None, 64, "A2"], ["w", 90, "B1"]])
    assert problems(folder) == ["some records lack 'sex', and missing values have no code"]
    describe(folder, _DATASET.replace("[units", 'public_codes = ["sex"]\n[units'))
    sex = open_version(folder, b"key").units["person"].variables["sex"]
    assert sex.codes_of(1) == ("m", "w", "Missing")


@pytest.mark.parametrize(
    ("rows", "variable"), [([["x", 17, "A1"]], "sex"), ([["m", -1, "A1"]], "age")]
)
def test_records_that_no_code_holds_are_refused_without_quoting_them(
    folder: Path, rows: list[list[object]], variable: str
) -> None:
    write_people(folder, [["m", 17, "A1"], ["w", 90, "B1"], *rows])
    assert problems(folder) == [f"some records have values outside the codes of {variable!r}"]


_SOURCE, _NUMBER = 'source = "data"', 'version = "1"'


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (_SOURCE, 'source = "persons"', "the programme has no source 'persons'"),
        ("", 'variables = ["sxe"]', "the records have no column for 'sxe'"),
        ("", 'variables = ["key"]', "the records have no column for 'key'"),
        (_NUMBER, f'{_NUMBER}\ngeography = ["b"]', "the programme has no variable 'b'"),
        (_NUMBER, f'{_NUMBER}\nparameter_set = "p@1"', "no parameter sets here"),
        ('id = "people"', 'id = "../etc"', "has the wrong form"),
        (_NUMBER, f'{_NUMBER}\ntitel = "x"', "unknown key"),
        ("", "[units.person.values.age]", "no noise for the column 'age'"),
        (
            "",
            '[units.person.figures.old]\nkind = "share"\npart = "x"\nwhole = "count"',
            "figure 'x' not found",
        ),
    ],
)
def test_descriptions_are_checked(folder: Path, old: str, new: str, what: str) -> None:
    """Without anything to replace, lines are added to the unit."""
    describe(folder, _DATASET.replace(old, new) if old else f"{_DATASET}{new}\n")
    assert what in problems(folder)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('protect = "suppress"', None),
        ("additive = true", "additive values differ from table to table"),
    ],
)
def test_programmes_whose_tables_depend_on_each_other_are_refused(
    folder: Path, line: str, what: str | None
) -> None:
    text = _PROGRAMME.replace("[defaults]", f"[defaults]\n{line}")
    (folder / "programme.toml").write_text(text, "utf-8")
    with pytest.raises(DiscreetError) as caught:
        open_version(folder, b"key")
    assert what is None or what in [problem.what for problem in caught.value.problems]


def test_fingerprints_tell_what_determines_answers(folder: Path, tmp_path: Path) -> None:
    first = open_version(folder, b"key").fingerprint
    assert open_version(folder, b"key").fingerprint == first
    assert open_version(folder, b"other").fingerprint != first
    for name, change in {
        "people.csv": lambda text: text.replace("17", "16"),
        "programme.toml": lambda text: text.replace("65]", "66]"),
        "DATASET.toml": lambda text: text.replace("Menschen", "Leute"),
    }.items():
        place = folder / name
        text = place.read_text("utf-8")
        place.write_text(change(text), "utf-8")
        assert open_version(folder, b"key").fingerprint != first, name
        place.write_text(text, "utf-8")
    example_perturbation_table().write(folder / "other.json")
    assert open_version(folder, b"key").fingerprint == first


def test_a_store_of_other_codes_is_refused(census_data: Path, tmp_path: Path) -> None:
    place = tmp_path / "census"
    shutil.copytree(census_data / "census-2022-1", place)
    text = (place / "state.json").read_text("utf-8")
    (place / "state.json").write_text(text.replace('"02"', '"2"'), "utf-8")
    with pytest.raises(DiscreetError) as caught:
        open_version(place, b"key")
    assert any("another classification" in problem.what for problem in caught.value.problems)


def test_nothing_confidential_is_shown(census_data: Path) -> None:
    version = open_version(census_data / "census-2022-1", b"key")
    assert repr(version) == "<DataVersion census 2022-1 (confidential)>"
    assert read_description(census_data / "census-2022-1").dataset.id == "census"


@pytest.fixture(scope="module")
def region(census_data: Path) -> CatalogueVariable:
    version: DataVersion = open_version(census_data / "census-2022-1", b"key")
    return version.units["person"].variables["region"]


def test_levels_divide_without_rest(region: CatalogueVariable) -> None:
    assert [level.name for level in region.levels] == ["state", "district", "municipality"]
    every = region.tree.is_leaf
    for number in range(1, region.finest + 1):
        positions = region.cuts[number].tolist()
        parts = [region.leaves_within([at]) for at in positions]
        assert sum(part.astype(int) for part in parts).tolist() == every.astype(int).tolist()
        for at, leaves in list(zip(positions, parts, strict=True))[:5]:
            level, codes = region.coarsest_cover(leaves)
            assert level <= number
            assert region.leaves_within(codes).tolist() == leaves.tolist()
            assert level < number or codes == (at,)
    assert region.coarsest_cover(every) == (0, (0,))
