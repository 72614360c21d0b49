"""`--check` passes only what will run: whatever the data would stop is said at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.classifications import MISSING, Classification
from discreet.cli.commands import app
from discreet.errors import DiscreetError, ProgrammeError
from discreet.microdata import Secret
from discreet.release import check_release, protect
from tests.helpers.programmes import editor
from tests.release.conftest import persons

PROGRAMME = """\
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[variables.region]
column = "municipality"
hierarchy = "region.csv"

[variables.ages]
column = "age"
intervals = [0, 18, 65]

[variables.sex]
codes = ["m", "w"]

[defaults]
formats = ["csv"]

[tables.T1]
by = ["region", "sex"]

[tables.T2]
by = ["ages", "sex"]
"""
REGION = "child,parent\nN,Total\nS,Total\n11,N\n12,N\n13,N\n21,S\n22,S\n"


def changed(frame: pl.DataFrame, column: str, values: Mapping[int, Any]) -> pl.DataFrame:
    """Some values of a column replaced, by row."""
    listed = frame[column].to_list()
    for row, value in values.items():
        listed[row] = value
    return frame.with_columns(pl.Series(column, listed, strict=False))


def made(folder: Path, frame: pl.DataFrame, *changes: tuple[str, str]) -> Path:
    """A programme over these persons."""
    if IDS in changes:
        frame = frame.drop("record_key")
    frame.write_parquet(folder / "persons.parquet")
    (folder / "region.csv").write_text(REGION)
    if not (folder / "secret.key").exists():
        Secret.generate().write(folder / "secret.key")
    return editor(folder / "programme.toml", PROGRAMME)(*changes)


def refused(path: Path) -> list[str]:
    """What the check says; a run is stopped too."""
    with pytest.raises(ProgrammeError) as caught:
        check_release(path)
    with pytest.raises(DiscreetError):
        protect(path, out=path.parent / "release")
    return [str(problem) for problem in caught.value.problems]


IDS = ('column = "record_key"', 'id = "person_id"\nsecret_file = "secret.key"')
LEVELS = ('hierarchy = "region.csv"', 'levels = ["land", "municipality"]')
PREFIXES = ('hierarchy = "region.csv"', "prefixes = [1, 2]")
WEIGHTED = ("[tables.T1]", '[tables.T1]\nweight = "weight"')
SUM = "\n[tables.T3]\nby = ['sex']\nprotect = 'suppress'\nvalue = 'income'\nrules = 'all'\n"
RULES = "\n[rules.all]\nminimum_frequency = 3\n"
PLAIN = ('column = "municipality"\nhierarchy = "region.csv"', 'column = "municipality"')

#: Name → column, values by row, changes of the programme, words of the message.
WRONG: dict[str, tuple[str, dict[int, Any], list[tuple[str, str]], list[str]]] = {
    "unknown region": (
        "municipality", {3: "99", 4: "99", 5: "9x"}, [],
        ["line 12, variables.region.hierarchy", "3 records are of codes", "'99', '9x'"],
    ),
    "age below zero": (
        "age", {0: -1}, [], ["variables.ages.intervals", "1 record is outside", "0 ≤ age"],
    ),
    "undeclared sex": ("sex", {7: "d"}, [], ["variables.sex.codes", "1 record is of", "'d'"]),
    "repeated ids": ("person_id", {1: 0}, [IDS], ["keys.id", "2 of 500 records have a repeated"]),
    "missing ids": ("person_id", {1: None}, [IDS], ["keys.id", "1 of 500 records have no id"]),
    "missing keys": ("record_key", {1: None}, [], ["keys.column", "1 of 500 records have no key"]),
    "keys off the grid": ("record_key", {1: 10**15}, [], ["keys.column", "off the grid"]),
    "negative keys": ("record_key", {1: -5}, [], ["keys.column", "off the grid"]),
    "negative weight": ("weight", {2: -1.0}, [WEIGHTED], ["T1.weight", "1 record has", "negative"]),
    "missing weight": ("weight", {2: None}, [WEIGHTED], ["tables.T1.weight", "missing"]),
    "infinite weight": ("weight", {2: float("inf")}, [WEIGHTED], ["tables.T1.weight", "infinite"]),
    "code above the leaves": (
        "municipality", {0: "N"}, [], ["1 record is of", "'N'", "records need codes of the"],
    ),
    "a gap in an alternative": (
        "age", {}, [
            ("[variables.sex]\n", '[variables.lands]\ncolumn = "municipality"\n'
             'codes = ["11", "12", "13", "21"]\n'
             '[variables.both]\nalternatives = ["region", "lands"]\n[variables.sex]\n'),
            ('["region", "sex"]', '["both", "sex"]'),
        ],
        ["variables.lands.codes", "of codes that are not in the classification: '22'"],
    ),
    "a level that is not there": (
        "sex", {}, [("[variables.sex]\n", '[variables.sex]\nlevel_titles.state.de = "Land"\n')],
        ["variables.sex", "level_titles contain the unknown level 'state'"],
    ),
    "codes too short for prefixes": ("municipality", {0: "1"}, [PREFIXES], ["region.prefixes"]),
    "levels that do not nest": ("land", {0: "9"}, [LEVELS], ["region.levels"]),
    "codes with decimals": (
        "weight", {}, [('column = "municipality"\nhierarchy = "region.csv"', 'column = "weight"')],
        ["numbers with decimals cannot be codes"],
    ),
    "missing twice": (
        "nationality", {0: MISSING, 1: None}, [('["region", "sex"]', '["nationality"]')],
        ["tables.T1.by", f"{MISSING!r} occurs together with missing values"],
    ),
    "sums too large": (
        "income", {0: 1e15}, [("[tables.T2]", RULES + SUM + "[tables.T2]")],
        ["tables.T3.value", "too large"],
    ),
    "infinite values": (
        "income", {0: float("-inf")}, [("[tables.T2]", RULES + SUM + "[tables.T2]")],
        ["tables.T3.value", "infinite"],
    ),
    "a grid beyond the format": (
        "person_id", {}, [
            ('formats = ["csv"]', 'formats = ["html"]\ncomplete = true'),
            ("[variables.sex]\n", '[variables.place]\ncolumn = "nationality"\n'
             f"codes = {[*'ab', *map(str, range(3_000))]}\n"
             '[variables.also]\ncolumn = "land"\n'
             f"codes = {[*map(str, range(2_000))]}\n[variables.sex]\n"),
            ("[tables.T2]", '[tables.T3]\nby = ["place", "also"]\n[tables.T2]'),
        ],
        ["T3", "html"],
    ),
}  # fmt: skip


def wrong_persons(column: str, values: Mapping[int, Any]) -> pl.DataFrame:
    frame = persons().with_columns(
        land=pl.col("municipality").str.head(1), income=pl.col("age") * 100.0
    )
    return changed(frame, column, values)


@pytest.mark.parametrize("name", sorted(WRONG))
def test_the_check_refuses_what_a_run_would(name: str, folder: Path) -> None:
    column, values, changes, words = WRONG[name]
    said = "\n".join(refused(made(folder, wrong_persons(column, values), *changes)))
    assert all(word in said for word in words), said


def test_what_is_right_passes_and_runs(folder: Path) -> None:
    path = made(folder, wrong_persons("age", {}), WEIGHTED, IDS)
    assert check_release(path).name == "programme.toml"
    protect(path, out=folder / "release")


def test_everything_is_said_at_once(folder: Path) -> None:
    frame = wrong_persons("municipality", {3: "99"})
    for column, values in (("age", {0: -1}), ("sex", {7: "d"}), ("person_id", {1: 0}),
                           ("weight", {9: -2.0})):  # fmt: skip
        frame = changed(frame, column, values)
    said = refused(made(folder, frame, IDS, WEIGHTED))
    assert [text.split(",")[1].split(":")[0].strip() for text in said] == [
        "keys.id",
        "variables.region.hierarchy",
        "variables.ages.intervals",
        "variables.sex.codes",
        "tables.T1.weight",
    ]


def test_what_filters_leave_out_was_never_wrong(folder: Path) -> None:
    frame = changed(wrong_persons("sex", {7: "d"}), "age", {7: 17})
    where = ("[defaults]", '[defaults]\nwhere = "age >= 18"')
    path = made(folder, frame, where)
    check_release(path)
    protect(path, out=folder / "release")


@pytest.mark.parametrize("whole", [False, True])
def test_contents_of_confidential_columns_are_not_told(folder: Path, whole: bool) -> None:
    """Codes of declared classifications are named; identifiers, weights and values are not."""
    frame = changed(wrong_persons("person_id", {1: 0}), "income", {0: -123_456_789.0})
    if whole:
        frame = frame.with_columns(pl.col("income").round().cast(pl.Int64))
    frame = changed(frame, "weight", {4: -77.125})
    bounds = ('column = "age"\nintervals = [0, 18, 65]', 'column = "income"\nintervals = [0, 1800]')
    said = "\n".join(refused(made(folder, frame, IDS, WEIGHTED, bounds)))
    assert "1 record is outside all intervals" in said
    assert "have a repeated identifier" in said
    assert "negative" in said
    assert not any(value in said for value in ("123456789", "123,456,789", "77.125"))


def test_numbers_outside_intervals_are_named_on_request(folder: Path) -> None:
    path = made(folder, wrong_persons("age", {3: -7}))
    assert "-7" not in "\n".join(refused(path)).replace(str(folder), "")
    with pytest.raises(ProgrammeError, match="0 ≤ age: -7"):
        check_release(path, show_values=True)


HOUSEHOLDS = """
[sources.households]
source = "households.parquet"
keys = { inherit = "data", by = "household_id", unit = "household" }

[tables.H]
from = "households"
by = ["size"]
"""


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ([0, 1, 2], "125 records belong to 1 missing units"),
        ([0, 1, 2, 3, 3], "records have a repeated identifier"),
    ],
)
def test_units_and_their_parts_are_checked(folder: Path, units: list[int], words: str) -> None:
    frame = wrong_persons("age", {}).with_columns(household_id=pl.int_range(500) % 4)
    pl.DataFrame({"household_id": units, "size": [1] * len(units)}).write_parquet(
        folder / "households.parquet"
    )
    path = made(folder, frame, ("[tables.T2]", HOUSEHOLDS + "\n[tables.T2]"))
    (said,) = refused(path)
    assert "sources.households.keys.inherit" in said
    assert words in said


def test_the_command_says_it_in_one_go(folder: Path) -> None:
    path = made(folder, changed(wrong_persons("sex", {7: "d"}), "age", {0: -1}))
    done = CliRunner().invoke(app, ["protect", str(path), "--check"])
    assert done.exit_code == 2
    assert "the programme has 2 problems" in done.stderr
    right = made(folder, wrong_persons("age", {}))
    assert CliRunner().invoke(app, ["protect", str(right), "--check"]).exit_code == 0


def test_csv_records_are_checked_alike(folder: Path) -> None:
    """What stands in Parquet and in CSV is refused in the same words."""
    frame = changed(wrong_persons("sex", {7: "d"}), "age", {0: -1})
    first = refused(made(folder, frame))
    frame.write_csv(folder / "persons.csv")
    path = made(folder, frame, ("persons.parquet", "persons.csv"))
    assert refused(path) == first


def test_a_source_that_no_table_counts_is_not_held_against_a_run(folder: Path) -> None:
    pl.DataFrame({"household_id": [1, 1], "size": [1, 2]}).write_parquet(
        folder / "households.parquet"
    )
    unused = HOUSEHOLDS.partition("[tables.H]")[0]
    frame = wrong_persons("age", {}).with_columns(household_id=pl.int_range(500) % 4)
    path = made(folder, frame, ("[tables.T2]", unused + "[tables.T2]"))
    check_release(path)
    protect(path, out=folder / "release")


def test_records_of_other_sources_are_read_as_is_said(folder: Path) -> None:
    """[sources.NAME] takes the keys of [data], and is checked like it."""
    (folder / "homes.csv").write_text("WHG;Land;Key\n1; 01;1\n2;02;2\n3;7;300000000000\n")
    source = """
[sources.homes]
source = "homes.csv"
separator = ";"
trim = true
rename = { WHG = "home", Land = "land", Key = "record_key" }
keys = { column = "record_key", allow_unsuitable = true }

[variables.land]
codes = ["01", "02"]

[tables.H]
from = "homes"
by = ["land"]
"""
    path = made(folder, wrong_persons("age", {}), ("[tables.T2]", source + "\n[tables.T2]"))
    (said,) = refused(path)
    assert "variables.land.codes: 1 record is of codes" in said
    (folder / "programme.toml").write_text(
        path.read_text().replace("trim = true", 'trim = true\nrecode = { land = { "7" = "02" } }')
    )
    check_release(path)
    protect(path, out=folder / "release")


def test_a_hierarchy_file_may_name_its_column(folder: Path) -> None:
    """The column in the file is the one that is counted, and the one that is checked."""
    named = ('column = "municipality"\nhierarchy = "region.csv"', 'hierarchy = "region.json"')
    stated = made(folder, persons())
    protect(stated, out=folder / "stated")
    tree = Classification.read(folder / "region.csv", name="region", column="municipality")
    tree.write(folder / "region.json")
    protect(made(folder, persons(), named), out=folder / "named")
    tables = [(folder / name / "T1.csv").read_bytes() for name in ("stated", "named")]
    assert tables[0] == tables[1]
    tree.replace(column="town").write(folder / "region.json")
    (problem,) = refused(made(folder, persons(), named))
    assert "variables.region.hierarchy" in problem
    assert "'town'" in problem
