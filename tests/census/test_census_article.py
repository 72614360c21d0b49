"""The published examples of the census, each carried out as a table programme.

How a cell key is looked up, why totals are not the sums of their parts, how a two-way
table loses its parts, and when a key figure stands in parentheses. Records, keys and
perturbation tables are made so that the figures are those in print.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import discreet as dc

#: Count → intervals of the cell key in any order: noise and upper bound. The last row is
#: that of all larger counts.
Noise = dict[int, list[tuple[int, str]]]
#: Records, noise and tables of a programme → its folder of files.
Released = Callable[[pl.DataFrame, Noise, str], Path]

NONE = [(0, "1")]

PROGRAMME = """
languages = ["en", "de"]

[data]
source = "records.parquet"

[keys]
column = "record_key"
allow_unsuitable = true  # made up, so that sums are easy to follow

[perturbation]
table = "ptable.csv"

[defaults]
formats = ["csv", "html"]
"""


@pytest.fixture
def released(tmp_path: Path) -> Released:
    def release(records: pl.DataFrame, noise: Noise, tables: str) -> Path:
        records.write_parquet(tmp_path / "records.parquet")
        (tmp_path / "ptable.csv").write_text(intervals(noise), encoding="utf-8")
        (tmp_path / "programme.toml").write_text(PROGRAMME + tables, encoding="utf-8")
        dc.protect(tmp_path / "programme.toml", tmp_path / "out")
        return tmp_path / "out"

    return release


def intervals(noise: Noise) -> str:
    """A perturbation table as a file of intervals."""
    lines = ['"i","j","p","v","p_int_lb","p_int_ub","type"']
    for count, row in noise.items():
        below = Decimal(0)
        for value, bound in row:
            upper = Decimal(bound)
            lines.append(f"{count},{count + value},{upper - below},{value},{below},{upper},all")
            below = upper
    return "\n".join(lines) + "\n"


def cells(folder: Path, name: str) -> dict[tuple[str, ...], str]:
    """Codes → the cell as it is printed."""
    frame = pl.read_csv(folder / name, infer_schema=False)
    labels = [column for column in frame.columns if column.endswith("_label")]
    frame = frame.drop("value", "status", *labels)
    return {row[:-1]: row[-1] for row in frame.iter_rows()}


def persons(groups: dict[tuple[str, str], tuple[int, str]]) -> list[tuple[str, str, str]]:
    """Records of groups of a size; the first one's key is that of the group."""
    return [
        (*codes, key if number == 0 else "0")
        for codes, (size, key) in groups.items()
        for number in range(size)
    ]


def frame(rows: list[tuple[str, str, str]], first: str, second: str) -> pl.DataFrame:
    columns = dict(zip((first, second, "record_key"), zip(*rows, strict=True), strict=True))
    keys = pl.Series([int(Decimal(key) * 10**15) for key in columns["record_key"]])
    return pl.DataFrame({**columns, "record_key": keys})


# -- the lookup ------------------------------------------------------------------------


def test_three_dwellings_have_cell_key_0_10_and_are_published_as_5(released: Released) -> None:
    """0.95 + 0.40 + 0.75 = 2.10; the row of 3 says +2 at 0.10."""
    dwellings = frame([("a", "x", key) for key in ("0.95", "0.40", "0.75")], "place", "kind")
    row = [(-1, "0.09"), (2, "0.14"), (0, "1")]
    out = released(
        dwellings,
        {0: NONE, 1: NONE, 2: NONE, 3: row},
        '[variables.place]\ncodes = ["a"]\n[tables.homes]\nby = ["place"]\n',
    )
    table = dc.tabulate(dwellings, ["place"], record_key="record_key")
    assert table.cell_key is not None
    assert table.cell_key.tolist() == [10**14] * 2
    assert cells(out, "homes.csv") == {("Total",): "5", ("a",): "5"}


# -- non-additivity --------------------------------------------------------------------

AGES = ("0–17", "18–29", "30–49", "50–64", "65+")
#: Noise by cell key: none below 0.6, then 3, 1, 2 and −1, a tenth each.
ZONES = [(0, "0.6"), (3, "0.7"), (1, "0.8"), (2, "0.9"), (-1, "1")]
POPULATION = {
    "male": ([20, 31, 32, 40, 50], ["0.40", "0.05", "0.45", "0.35", "0.56"]),
    "female": ([25, 25, 40, 45, 60], ["0.45", "0.10", "0.50", "0.40", "0.39"]),
}


@pytest.fixture
def population() -> pl.DataFrame:
    groups = {
        (sex, age): (size, key)
        for sex, (sizes, keys) in POPULATION.items()
        for age, size, key in zip(AGES, sizes, keys, strict=True)
    }
    return frame(persons(groups), "sex", "age")


def test_each_cell_is_perturbed_on_its_own(released: Released, population: pl.DataFrame) -> None:
    """Sex by age: the total 371 has parts of 372, 369 and 368, and the table says so."""
    tables = (
        '[variables.sex]\ncodes = ["male", "female"]\n'
        f"[variables.age]\ncodes = {list(AGES)}\n"
        '[tables.people]\nby = ["sex", "age"]\n'
    )
    out = released(population, {0: NONE, 1: NONE, 2: NONE, 3: ZONES}, tables)
    found = cells(out, "people.csv")
    rows = {
        sex: [int(found[sex, age]) for age in ("Total", *AGES)]
        for sex in ("Total", "male", "female")
    }
    assert rows == {
        "Total": [371, 47, 56, 71, 86, 109],
        "male": [175, 20, 31, 32, 40, 50],
        "female": [197, 25, 25, 40, 45, 60],
    }
    english, german = ((out / f"people{way}.html").read_text("utf-8") for way in ("", ".de"))
    assert "Total 371; its parts add up to 372 (sex), 369 (age), 368 (inner cells)." in english
    assert "Each cell is altered on its own" in english
    assert "die Teile ergeben zusammen 372 (sex), 369 (age), 368 (Innenfelder)." in german


# -- suppression of table parts --------------------------------------------------------

BUILDINGS = {
    ("house", "residential"): (1032, "0.5"),
    ("house", "other"): (205, "0.15"),
    ("flats", "residential"): (1, "0.1"),
    ("hostel", "residential"): (1, "0.1"),
    ("hostel", "other"): (1, "0.1"),
}
BUILDING_TABLES = """
[parts]
max_share_small = 0.5

[variables.kind]
codes = ["residential", "other"]

[variables.type]
codes = ["house", "flats", "hostel"]
label = { en = "Building type", de = "Gebäudetyp" }

[tables.buildings]
by = ["type", "kind"]

[tables.kinds]
by = ["kind"]
"""


def test_of_four_parts_one_margin_and_the_total_survive(released: Released) -> None:
    """1 034, 206 and 1 242; the inner cells and the totals of building type are “.”."""
    records = frame(persons(BUILDINGS), "type", "kind")
    row = [(0, "0.9"), (2, "1")]  # the total has the key 0.95
    out = released(records, {0: NONE, 1: row}, BUILDING_TABLES)
    found = cells(out, "buildings.csv")
    shown = {codes: printed for codes, printed in found.items() if printed != "."}
    assert len(found) == 12
    assert shown == {
        ("Total", "Total"): "1242",
        ("Total", "residential"): "1034",
        ("Total", "other"): "206",
    }
    margin = {("Total",): "1242", ("residential",): "1034", ("other",): "206"}
    assert cells(out, "kinds.csv") == margin
    page = (out / "buildings.html").read_text("utf-8")
    assert "1 034" in page.replace("\u202f", " ").replace("\xa0", " ").replace(",", " ")
    decisions = (out / "decisions.json").read_text("utf-8")
    assert '"outcome": "thinned"' in decisions
    assert "0.5" not in decisions


# -- brackets --------------------------------------------------------------------------

SHARES = """
[variables.group]
codes = ["few", "some", "rest", "none"]

[variables.part]
codes = ["p"]

[tables.groups]
by = ["group"]

[tables.groups.figures]
people = { kind = "count" }
share = { kind = "share", part = "people", over = ["group"] }
"""


def test_shares_stand_in_parentheses_from_15_percent_on(released: Released) -> None:
    """Noise of ±1: 1 in 6 is 16.7 %, 1 in 7 is 14.3 %, whatever the noise really was."""
    groups = {
        ("few", "p"): (5, "0.7"),
        ("some", "p"): (8, "0.2"),
        ("rest", "p"): (986, "0.7"),
    }
    records = frame(persons(groups), "group", "part")
    row = [(-1, "0.5"), (1, "1")]
    out = released(records, {0: NONE, 1: row}, SHARES)
    found = cells(out, "groups.csv")
    assert [found[group, "people"] for group in ("few", "some", "rest", "none")] == [
        "6",
        "7",
        "987",
        "–",
    ]
    assert found["few", "share"] == "(0.6)"
    assert found["some", "share"] == "0.7"
    assert found["none", "share"] == "–"
    assert found["Total", "share"] == "100.0"
    page = (out / "groups.de.html").read_text("utf-8")
    assert "eingeschränkten Aussagewert" in page
