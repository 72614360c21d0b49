"""One programme over several kinds of units: persons, households, dwellings, buildings."""

import json
import shutil
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table
from discreet.errors import ProgrammeError
from discreet.release import protect
from tests.helpers.databases import stored
from tests.helpers.firm_programmes import whole_content
from tests.helpers.programmes import Edit, editor
from tests.release.conftest import published_counts

KINDS = ("persons", "households", "dwellings", "buildings")
SECRET = "a sentence that only this test knows"
PROGRAMME = """\
title = { en = "Census", de = "Zensus" }
date = "2026-11-21"

[data]
name = "persons"
source = "persons.parquet"

[keys]
id = "person_id"
secret_file = "secret.key"

[perturbation]
table = "ptable.json"

[sources.households]
source = "households.parquet"
keys = { inherit = "persons", by = "household_id" }

[sources.dwellings]
source = "dwellings.parquet"
version = "register 2026"
official = "tenure == 'Total'"
keys = { id = "dwelling_id" }

[sources.buildings]
source = "buildings.parquet"
keys = { inherit = "dwellings", by = "building_id" }

[defaults]
formats = ["csv"]
official = "sex == 'Total'"

[tables.people]
by = ["region", "sex"]

[tables.homes]
from = "households"
by = ["region", "size"]

[tables.flats]
from = "dwellings"
by = ["region", "tenure"]

[tables.houses]
from = "buildings"
by = ["region", "kind"]
where = "kind != 'other'"
"""


def units(number: int = 400) -> dict[str, pl.DataFrame]:
    """Persons in households, and dwellings, some of them vacant, in buildings."""
    draw = np.random.default_rng(5)
    household = np.repeat(np.arange(number), draw.integers(1, 5, number))
    region = draw.choice(["11", "12", "21"], number)
    building = np.sort(draw.integers(0, number // 3, number + 40))
    of_building = np.unique(building)
    return {
        "persons": pl.DataFrame(
            {
                "person_id": np.arange(len(household)),
                "household_id": household,
                "region": region[household],
                "sex": draw.choice(["m", "w"], len(household)),
            }
        ),
        "households": pl.DataFrame(
            {
                "household_id": np.arange(number),
                "region": region,
                "size": np.bincount(household).clip(max=3).astype(str),
            }
        ),
        "dwellings": pl.DataFrame(
            {
                "dwelling_id": np.arange(number + 40),
                "building_id": building,
                "region": draw.choice(["11", "12", "21"], number + 40),
                "tenure": draw.choice(["owned", "rented", "vacant"], number + 40),
            }
        ),
        "buildings": pl.DataFrame(
            {
                "building_id": of_building,
                "region": draw.choice(["11", "12", "21"], len(of_building)),
                "kind": draw.choice(["house", "flats", "other"], len(of_building)),
            }
        ),
    }


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four kinds of units and a programme over them, released in "out"."""
    place = tmp_path_factory.mktemp("census")
    for name, frame in units().items():
        frame.write_parquet(place / f"{name}.parquet")
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    rows = {0: {0: 1}, 1: noise, 2: noise, 3: noise}
    dc.PerturbationTable.from_rows(rows).write(place / "ptable.json")
    (place / "secret.key").write_text(SECRET)
    (place / "secret.key").chmod(0o600)
    (place / "programme.toml").write_text(PROGRAMME, "utf-8")
    protect(place / "programme.toml", place / "out")
    return place


@pytest.fixture
def folder(census: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(census, tmp_path / "census")


@pytest.fixture
def edited(folder: Path) -> Edit:
    """Replace texts in the programme: edited(("old", "new"), …) gives its path."""
    return editor(folder / "programme.toml")


def keyed(**kinds: str) -> dict[str, pl.DataFrame]:
    """Every kind of unit with its keys, made step by step; some derived for their kind."""
    made = units()
    made["persons"] = dc.with_record_keys(made["persons"], id="person_id", secret=SECRET)
    made["dwellings"] = dc.with_record_keys(made["dwellings"], id="dwelling_id", secret=SECRET)
    for parts, name, by in (
        ("persons", "households", "household_id"),
        ("dwellings", "buildings", "building_id"),
    ):
        unit = kinds.get(name)
        made[name] = dc.inherit_record_keys(made[parts], by=by, onto=made[name], unit=unit)
    return made


def tables_agree(out: Path, ptable: dc.PerturbationTable, records: dict[str, pl.DataFrame]) -> bool:
    """Whether the tables of all units with keys are those of `tabulate` and `perturb`."""
    tables = {
        "homes": ("households", ["region", "size"], None, None),
        "houses": ("buildings", ["region", "kind"], "kind != 'other'", None),
        "flats": ("dwellings", ["region", "tenure"], None, "tenure == 'Total'"),
    }
    same = []
    for name, (source, by, where, official) in tables.items():
        table = dc.tabulate(records[source], by, record_key="record_key", where=where)
        safe = dc.perturb(table, ptable, official=official)
        found = published_counts(out / f"{name}.csv")
        assert len(found) > 5
        same.append(found == {codes: safe.get(*codes) for codes in found})
    assert len({*same[:2]}) == 1
    assert same[2]
    return same[0]


KINDS_NAMED = (
    ('by = "household_id" }', 'by = "household_id", unit = "household" }'),
    ('by = "building_id" }', 'by = "building_id", unit = "building" }'),
)


def test_keys_can_be_derived_for_each_kind_of_unit(folder: Path, edited: Edit) -> None:
    ptable = dc.PerturbationTable.read(folder / "ptable.json")
    plain, derived = keyed(), keyed(households="household", buildings="building")
    assert tables_agree(folder / "out", ptable, plain)
    summary = protect(edited(*KINDS_NAMED), folder / "out")  # the same folder: made anew
    assert tables_agree(folder / "out", ptable, derived)
    assert not tables_agree(folder / "out", ptable, plain)
    assert not any("the same noise" in text for text in summary.warnings)


def test_a_release_names_units_with_the_noise_of_their_parts(edited: Edit, tmp_path: Path) -> None:
    path, out, internal = edited(KINDS_NAMED[1]), tmp_path / "out", tmp_path / "internal"
    summary = protect(path, out, internal=internal)
    found = [text for text in summary.warnings if "the same noise" in text]
    assert len(found) == 1
    assert "the units of 'households'" in found[0]
    assert "sources.households.keys" in found[0]
    for kept in (False, True):  # asked for by name, it is no longer warned of
        if kept:
            path = edited((KINDS_NAMED[0][0], 'by = "household_id", inheritance = "plain" }'))
            summary = protect(path, out, internal=internal)
            assert not any("the same noise" in text for text in summary.warnings)
        listed = json.loads((out / "release.json").read_text("utf-8"))
        assert listed["inherited_keys"] == {
            "households": {"inherit": "persons", "inheritance": "plain"},
            "buildings": {"inherit": "dwellings", "unit": "building"},
        }
        report = json.loads((internal / "quality-internal.json").read_text("utf-8"))
        assert [remark["en"].split(" have")[0] for remark in report["remarks"]] == [
            "The units of households"
        ]
        assert "gleich überlagert" in report["remarks"][0]["de"]
        page = (internal / "quality-internal.html").read_text("utf-8")
        assert "The units of households have the sums of the keys of persons" in page
        assert "remarks" not in json.loads((out / "quality.json").read_text("utf-8"))


def test_tables_of_every_unit_are_those_of_tabulate_and_perturb(census: Path) -> None:
    ptable = dc.PerturbationTable.read(census / "ptable.json")
    assert tables_agree(census / "out", ptable, keyed())


def test_there_is_one_list_and_one_report(census: Path) -> None:
    listed = json.loads((census / "out" / "release.json").read_text("utf-8"))
    assert [table["from"] for table in listed["tables"]] == list(KINDS)
    assert listed["data_versions"] == {**dict.fromkeys(KINDS), "dwellings": "register 2026"}
    quality = json.loads((census / "out" / "quality.json").read_text("utf-8"))
    assert quality["tables"] == 4
    data = [table["digests"]["data"] for table in listed["tables"]]
    assert len(set(data)) == 4


def test_figures_of_one_source_are_not_official_in_another(census: Path) -> None:
    status = {
        name: set(pl.read_csv(census / "out" / f"{name}.csv")["status"])
        for name in ("people", "homes", "flats", "houses")
    }
    assert [name for name, found in status.items() if "official" in found] == ["people", "flats"]


def test_new_records_make_only_the_tables_that_they_concern(folder: Path, tmp_path: Path) -> None:
    out, programme = folder / "out", folder / "programme.toml"
    assert protect(programme, out).fresh == 0
    concerned = {
        "persons": ["people", "homes"],
        "buildings": ["houses"],
    }
    for source, tables in concerned.items():
        path = folder / f"{source}.parquet"
        pl.read_parquet(path).with_columns(region=pl.lit("21")).write_parquet(path)
        summary = protect(programme, out)
        assert [table.name for table in summary.tables if table.fresh] == tables
    protect(programme, tmp_path / "at once")
    assert whole_content(out) == whole_content(tmp_path / "at once")


def test_sources_may_be_of_different_kinds(edited: Edit, tmp_path: Path) -> None:
    folder = edited().parent
    with duckdb.connect(str(folder / "census.duckdb")) as connection:
        for name, frame in units().items():
            connection.register("frame", frame.to_arrow())
            connection.sql(f"create table {name} as from frame")
    in_database = 'database = "census.duckdb"\ntable = "{}"'
    stored_there = ((f'source = "{n}.parquet"', in_database.format(n)) for n in KINDS[::3])
    protect(edited(*stored_there), tmp_path / "mixed")
    for name in ("people", "homes", "flats", "houses"):
        own = published_counts(tmp_path / "mixed" / f"{name}.csv")
        assert own == published_counts(folder / "out" / f"{name}.csv"), name


@pytest.mark.parametrize(
    "kind", [pytest.param("", marks=pytest.mark.exhaustive), ', unit = "household"']
)
def test_keys_may_be_handed_on_twice(edited: Edit, tmp_path: Path, kind: str) -> None:
    """Persons → households → blocks: a block has the key of all its persons."""
    path = edited(
        ('by = "household_id" }', f'by = "household_id"{kind} }}'),
        ("[defaults]", '[sources.blocks]\nsource = "blocks.parquet"\n'
         'keys = { inherit = "households", by = "region" }\n[defaults]'),
    )  # fmt: skip
    blocks = pl.DataFrame({"region": ["11", "12", "21"], "side": ["east", "west", "west"]})
    blocks.write_parquet(path.parent / "blocks.parquet")
    path.write_text(
        path.read_text("utf-8") + '[tables.blocks]\nfrom = "blocks"\nby = ["side"]\n', "utf-8"
    )
    protect(path, tmp_path / "out")
    persons = keyed()["persons"]
    units = dc.inherit_record_keys(persons, by="region", onto=blocks)
    table = dc.tabulate(units, ["side"], record_key="record_key")
    safe = dc.perturb(table, dc.PerturbationTable.read(path.parent / "ptable.json"))
    found = published_counts(tmp_path / "out" / "blocks.csv")
    assert found == {codes: safe.get(*codes) for codes in found}


def test_keys_in_a_column_of_their_own_name(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        ('id = "person_id"\nsecret_file = "secret.key"', 'column = "rkey"'),
        ('{ id = "dwelling_id" }', '{ id = "dwelling_id", secret_file = "secret.key" }'),
    )
    made = keyed()["persons"].rename({"record_key": "rkey"})
    made.write_parquet(path.parent / "persons.parquet")
    protect(path, tmp_path / "out")
    text = path.read_text("utf-8")
    units()["persons"].write_parquet(path.parent / "persons.parquet")
    path.write_text(text.replace('column = "rkey"', 'id = "person_id"\nsecret_file = "secret.key"'))
    protect(path, tmp_path / "made")
    for name in ("people", "homes", "flats", "houses"):
        tables = [published_counts(tmp_path / out / f"{name}.csv") for out in ("out", "made")]
        assert tables[0] == tables[1], name


def test_units_without_parts_need_a_secret(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        ('id = "person_id"\nsecret_file = "secret.key"', 'column = "record_key"'),
        ('{ id = "dwelling_id" }', '{ id = "dwelling_id", secret_file = "secret.key" }'),
    )
    persons = keyed()["persons"]
    persons.filter(pl.col("household_id") > 5).write_parquet(path.parent / "persons.parquet")
    with pytest.raises(ProgrammeError, match="6 units have no parts") as caught:
        protect(path, tmp_path / "out")
    assert "sources.households.keys" in str(caught.value)
    assert not (tmp_path / "out").exists()
    edited(('by = "household_id" }', 'by = "household_id", secret_file = "secret.key" }'))
    assert protect(path, tmp_path / "out").fresh == 4


def test_parts_of_no_unit_are_refused_unless_dropped(edited: Edit, tmp_path: Path) -> None:
    path = edited()
    orphans = pl.when(pl.col("person_id") < 3).then(None).otherwise(pl.col("household_id"))
    persons = units()["persons"].with_columns(household_id=orphans)
    persons.write_parquet(path.parent / "persons.parquet")
    with pytest.raises(ProgrammeError, match=r"3 of .* belong to no unit") as caught:
        protect(path, tmp_path / "out")
    assert "sources.households.keys" in str(caught.value)
    assert not (tmp_path / "out").exists()
    edited(('by = "household_id" }', 'by = "household_id", orphans = "drop" }'))
    assert protect(path, tmp_path / "out").fresh == 4


def test_a_release_of_a_database_is_that_of_the_file(tmp_path: Path) -> None:
    """Tables are counted there: records are fetched for the test of keys and for digests only."""
    people = units()["persons"]
    people = dc.with_record_keys(people, id="person_id", secret=SECRET.encode() * 2)
    people.write_parquet(tmp_path / "people.parquet")
    stored(f"sqlite:///{tmp_path}/census.db", people)
    example_perturbation_table().write(tmp_path / "ptable.csv")
    text = (
        '[data]\nsource = "people.parquet"\n[keys]\ncolumn = "record_key"\n'
        '[perturbation]\ntable = "ptable.csv"\n[defaults]\nformats = ["csv"]\n'
        '[tables.people]\nby = ["region", "sex"]\n[tables.men]\nby = ["region"]\n'
        "where = \"sex == 'm'\"\n"
    )
    (tmp_path / "file.toml").write_text(text)
    place = 'database = "sqlite:///census.db"\ntable = "people"'
    (tmp_path / "database.toml").write_text(text.replace('source = "people.parquet"', place))
    for name in ("file", "database"):
        dc.release.check_release(tmp_path / f"{name}.toml")
        protect(tmp_path / f"{name}.toml", tmp_path / name)
    for table in ("people.csv", "men.csv"):
        first, second = ((tmp_path / name / table).read_text() for name in ("file", "database"))
        assert first == second
    again = protect(tmp_path / "database.toml", tmp_path / "database")
    assert [table.fresh for table in again.tables] == [False, False]
    stored(f"sqlite:///{tmp_path}/census.db", people.head(-1))
    changed = protect(tmp_path / "database.toml", tmp_path / "database")
    assert [table.fresh for table in changed.tables] == [True, True]
