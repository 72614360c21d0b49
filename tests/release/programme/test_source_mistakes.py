"""Mistakes in programmes of several sources: all found at once, each with its line and key."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.release import check_release
from tests.helpers.programmes import replaced
from tests.helpers.rows import for_all_rows

PROGRAMME = """\
[data]
source = "persons.parquet"
[keys]
id = "person_id"
secret_file = "secret.key"
[perturbation]
table = "ptable.json"
[sources.households]
source = "households.parquet"
keys = { inherit = "data", by = "household_id" }
[sources.dwellings]
source = "dwellings.parquet"
keys = { column = "rkey" }
[defaults]
formats = ["csv"]
[tables.people]
by = ["sex"]
[tables.homes]
from = "households"
by = ["size"]
[tables.flats]
from = "dwellings"
by = ["tenure"]
"""
Mistakes = Callable[..., list[str]]


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    people = pl.DataFrame({"person_id": [1, 2, 3], "household_id": [1, 1, 2], "sex": ["m"] * 3})
    people.write_parquet(tmp_path / "persons.parquet")
    homes = pl.DataFrame({"household_id": [1, 2], "size": ["2", "1"]})
    homes.write_parquet(tmp_path / "households.parquet")
    flats = pl.DataFrame({"rkey": [7, 9], "tenure": ["owned", "rented"], "home": ["1", "2"]})
    flats.write_parquet(tmp_path / "dwellings.parquet")
    ptable = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    ptable.write(tmp_path / "ptable.json")
    (tmp_path / "secret.key").write_text("a sentence that only this test knows")
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    return tmp_path / "programme.toml"


@pytest.fixture
def mistakes(programme: Path) -> Mistakes:
    """What is found wrong with the programme after some changes."""

    def found(*changes: tuple[str, str]) -> list[str]:
        programme.write_text(replaced(PROGRAMME, *changes, times=1), "utf-8")
        with pytest.raises(DiscreetError) as caught:
            check_release(programme)
        places = [each.where.removeprefix(f"{programme}, ") for each in caught.value.problems]
        return [f"{at}: {e.what}" for at, e in zip(places, caught.value.problems, strict=True)]

    return found


INHERIT = '{ inherit = "data", by = "household_id" }'
COLUMN = '{ column = "rkey" }'


@for_all_rows(
    ("old", "new", "expected"),
    [
        ('from = "households"', 'from = "housholds"', "tables.homes.from: unknown source"),
        ('source = "households.parquet"', "", "sources.households.source: source is missing"),
        ("households.parquet", "homes.parquet", "households.source: file"),
        (f"keys = {COLUMN}", "", "sources.dwellings.keys: no record keys given"),
        (COLUMN, '{ column = "rkey", id = "home" }', "keys.id: column and id exclude"),
        (COLUMN, '{ column = "rky" }', "keys.column: the records of 'dwellings' have no column"),
        (COLUMN, '{ column = "rkey", by = "home" }', "keys.by: this needs inherit"),
        (
            COLUMN,
            '{ column = "rkey", secret_file = "secret.key" }',
            "keys.secret_file: keys in the data need no secret",
        ),
        (
            COLUMN,
            '{ id = "home", secret_file = "secret.key", secret_env = "HOME" }',
            "keys.secret_env: secret_file and secret_env exclude",
        ),
        (COLUMN, '{ id = "home", secret_file = "other.key" }', "secret_file: file"),
        (COLUMN, '{ id = "home", secret_env = "NOT_SET_9" }', "NOT_SET_9 is not set"),
        (COLUMN, '{ colum = "rkey" }', "sources.dwellings.keys.colum: unknown key"),
        (INHERIT, '{ inherit = "data" }', "households.keys.by: by is missing"),
        (INHERIT, '{ inherit = "people", by = "x" }', "keys.inherit: unknown source 'people'"),
        (INHERIT, INHERIT.replace(" }", ', orphans = "keep" }'), "unknown value"),
        (COLUMN, '{ column = "rkey", unit = "home" }', "keys.unit: this needs inherit"),
        (
            COLUMN,
            '{ column = "rkey", inheritance = "plain" }',
            "keys.inheritance: this needs inherit",
        ),
        (INHERIT, INHERIT.replace(" }", ', inheritance = "derived" }'), "unknown value"),
        (
            INHERIT,
            INHERIT.replace(" }", ', unit = "household", inheritance = "plain" }'),
            "keys.unit: unit and inheritance exclude each other",
        ),
        (INHERIT, INHERIT.replace(" }", ', unit = "" }'), "households.keys.unit"),
        (INHERIT, '{ inherit = "data", by = "size" }', "the data have no column 'size'"),
        (INHERIT, '{ inherit = "data", by = "sex" }', "'households' have no column 'sex'"),
        (
            INHERIT,
            '{ inherit = "households", by = "household_id" }',
            "the inheritance of keys has a circle: households ← households",
        ),
        ("[sources.dwellings]", "[sources.data]", "sources.data: the main source has the name"),
        ('by = ["size"]', 'by = ["sex"]', "no variable or column 'sex'"),
        (
            'by = ["size"]',
            'by = ["household_id"]',
            "contains keys or identifiers and cannot be used in tables",
        ),
        ('by = ["tenure"]', 'by = ["tenure"]\nwhere = "age > 1"', "tables.flats.where"),
        (COLUMN, f"{COLUMN}\nofficial = \"sex == 'Total'\"", "sources.dwellings.official"),
        ("[defaults]", "[defaults]\nofficial = \"size == 'Total'\"", "defaults.official"),
    ],
)
def test_each_mistake_has_its_line_and_key(
    mistakes: Mistakes, old: str, new: str, expected: str
) -> None:
    found = mistakes((old, new))
    assert any(expected in text for text in found), found
    assert all(text.startswith("line ") for text in found)


def test_mistakes_in_all_sources_are_listed_at_once(mistakes: Mistakes, programme: Path) -> None:
    found = mistakes(
        ("persons.parquet", "person.parquet"),
        ("households.parquet", "household.parquet"),
        ('"rkey"', '"key"'),
        ('from = "dwellings"', 'from = "dwelings"'),
    )
    assert [text.partition(":")[0] for text in found] == [
        "line 2, data.source",
        "line 9, sources.households.source",
        "line 13, sources.dwellings.keys.column",
        "line 22, tables.flats.from",
    ]


def test_circles_of_several_sources_are_found(mistakes: Mistakes) -> None:
    circle = '{ inherit = "households", by = "home" }'
    found = mistakes((INHERIT, INHERIT.replace('"data"', '"dwellings"')), (COLUMN, circle))
    assert len([text for text in found if "the inheritance of keys has a circle" in text]) == 2


def test_main_keys_in_a_column_lend_no_secret(mistakes: Mistakes) -> None:
    found = mistakes(
        ('id = "person_id"\nsecret_file = "secret.key"', 'column = "person_id"'),
        (COLUMN, '{ id = "home" }'),
    )
    assert found == ["line 12, sources.dwellings.keys.id: no secret for record keys"]


def test_parts_and_units_name_the_unit_in_one_type(mistakes: Mistakes, programme: Path) -> None:
    homes = pl.DataFrame({"household_id": ["1", "2"], "size": ["2", "1"]})
    homes.write_parquet(programme.parent / "households.parquet")
    (found,) = mistakes()
    assert "households.keys.by: 'household_id' is Int64 in the parts and String" in found


def test_keys_that_would_hide_a_column(mistakes: Mistakes, programme: Path) -> None:
    homes = pl.DataFrame({"household_id": [1, 2], "size": ["2", "1"], "record_key": [1, 2]})
    homes.write_parquet(programme.parent / "households.parquet")
    (found,) = mistakes()
    assert "the records of 'households' have a column 'record_key' already" in found
