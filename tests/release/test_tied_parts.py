"""Parts of tables that only the records tie together: an attacker with sums and differences."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.demo import example_perturbation_table
from discreet.errors import DiscreetError
from discreet.release import protect, read_release
from tests.release.conftest import packed_text

TOWNS = [f"{land}{county}{town}" for land in "12" for county in "34" for town in "567"]
#: Column → length of the codes at each of its levels
LEVELS = {"region": (1, 2, 3)}

PROGRAMME = """
title = "Census"
languages = ["en"]
[data]
source = "people.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.csv"
[parts]
max_share_small = 0.5
max_share_empty = 0.6
min_average_size = 6
{parts}
[variables.region]
prefixes = [1, 2, 3]
[variables.zoned]
column = "zone"
[variables.placed]
column = "place"
[variables.both]
alternatives = ["zoned", "placed", "region"]
[defaults]
formats = ["csv"]
"""

#: What each table is spanned by, and its filter; areas are decided on one by one, but in WHOLE.
KINDS: dict[str, list[str]] = {
    "the areas in another column": ["region sex work", "place sex work"],
    "areas and groups of codes in other columns": ["region sex work", "place sex active"],
    "groups of codes in another column": ["region sex work", "region sex active"],
    "groups of areas across those of the table": ["region sex work", "zone sex work"],
    "the areas twice in one table": ["region work", "region place work"],
    "areas of the finest level and between": ["region work", "place work", "county work sex"],
    "the areas among alternatives of other columns": [
        "region work", "both work", "both sex if age < 18",
    ],
    "a filter that a variable of the table repeats": [
        "region minor work if age < 18", "place active if age >= 18",
    ],
    "filters that say the same, and a column that says so": [
        "region sex work if age < 18", "region sex work if minor == 'yes'", "region minor work",
    ],
    "filters area by area": [
        "region sex work if age < 18", "region sex work if minor == 'yes'", "region minor work",
    ],
    "a filter and the rest": [
        "region sex", "region sex if age < 18", "region sex if age >= 18",
    ],
}  # fmt: skip
WHOLE = "filters that say the same, and a column that says so"


def people() -> pl.DataFrame:
    rng = np.random.default_rng([38, 0])
    persons = int(rng.integers(400, 700))
    weight = rng.lognormal(0, 1.3, len(TOWNS))
    town = rng.choice(TOWNS, persons, p=weight / weight.sum())
    work = rng.choice(["full", "part", "none"], persons, p=[0.6, 0.3, 0.1])
    age = rng.integers(0, 60, persons)
    return pl.DataFrame(
        {
            "region": town,
            "place": [f"town {code}" for code in town],
            "county": [f"county {code[:2]}" for code in town],
            "zone": [f"zone {code[0]}{code[2]}" for code in town],
            "sex": rng.choice(["m", "w"], persons),
            "work": work,
            "active": ["no" if one == "none" else "yes" for one in work],
            "age": age,
            "minor": ["yes" if one < 18 else "no" for one in age],
            "record_key": rng.integers(0, 10**15, persons),
        }
    )


def kinds_of_people() -> pl.DataFrame:
    """One of each kind that there can be: sums of the same kinds are the same for readers."""
    rows = [
        {
            "region": town,
            "place": f"town {town}",
            "county": f"county {town[:2]}",
            "zone": f"zone {town[0]}{town[2]}",
            "sex": sex,
            "work": work,
            "active": "no" if work == "none" else "yes",
            "age": age,
            "minor": "yes" if age < 18 else "no",
        }
        for town, sex, work, age in product(TOWNS, "mw", ("full", "part", "none"), (5, 40))
    ]
    return pl.DataFrame(rows)


def members(records: pl.DataFrame, cell: Iterable[tuple[str, str]], where: str) -> np.ndarray:
    """Which records are in a cell."""
    inside = np.ones(len(records), dtype=bool)
    if where:
        inside = records.select(pl.sql_expr(where.replace("==", "="))).to_series().to_numpy().copy()
    for column, code in cell:
        if column == "both" and code != "Total":
            column = {"zone": "zone", "town": "place"}.get(code[:4], "region")
        if code != "Total":
            codes = records[column].cast(str).to_list()
            levels = LEVELS.get(column)
            inside &= [(own[: len(code)] if levels else own) == code for own in codes]
    return inside


def written(kind: str, records: pl.DataFrame, tmp_path: Path) -> list[tuple[list[str], str]]:
    """Write the programme and its data; what each table is spanned by, and its filter."""
    tables = [
        (spanning.split(), where)
        for spanning, _, where in (table.partition(" if ") for table in KINDS[kind])
    ]
    records.write_parquet(tmp_path / "people.parquet")
    example_perturbation_table().write(tmp_path / "ptable.csv")
    text = PROGRAMME.format(parts="" if kind == WHOLE else 'per = "region"')
    for number, (by, where) in enumerate(tables, 1):
        text += f"[tables.T{number}]\nby = {by}\n" + (f'where = "{where}"\n' if where else "")
    (tmp_path / "programme.toml").write_text(text)
    return tables


#: Kinds that are tried with every change, the others at length.
QUICK = (
    "areas and groups of codes in other columns",
    "the areas among alternatives of other columns",
    "filters area by area",
    "a filter and the rest",
)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.exhaustive) for kind in KINDS],
)
def test_no_table_tells_what_another_hides(kind: str, tmp_path: Path) -> None:
    records, every = people(), kinds_of_people()
    tables = written(kind, records, tmp_path)
    protect(tmp_path / "programme.toml", tmp_path / "out")
    hidden, shown = [], []
    for number, (by, where) in enumerate(tables, 1):
        read = pl.read_csv(tmp_path / "out" / f"T{number}.csv", infer_schema=False)
        for row in read.iter_rows(named=True):
            cell = [(column, row[column]) for column in by]
            inside = members(every, cell, where)
            if row["symbol"] != ".":
                shown.append(inside)
            elif members(records, cell, where).any():
                hidden.append(inside)
    assert hidden
    assert shown
    space = np.linalg.svd(np.unique(np.array(shown, dtype=float), axis=0), full_matrices=False)
    basis = space.Vh[space.S > 1e-9]
    wanted = np.unique(np.array(hidden, dtype=float), axis=0)
    left = np.abs(wanted - wanted @ basis.T @ basis).max(axis=1)
    assert (left > 1e-8).all(), f"{(left < 1e-8).sum()} of {len(wanted)} hidden cells"


def test_the_same_records_are_tied_wherever_rules_and_records_are_named(tmp_path: Path) -> None:
    """Rules of a package; records of two sources that are one file."""
    tables = written(QUICK[-1], people(), tmp_path)
    place, packed = tmp_path / "programme.toml", packed_text(tmp_path / "programme.toml", tmp_path)
    again = '[sources.again]\nsource = "people.parquet"\nkeys = { column = "record_key" }\n'
    two = place.read_text().replace("[tables.T1]", f"{again}[tables.T1]")
    (tmp_path / "packed.toml").write_text(packed)
    (tmp_path / "two.toml").write_text(two.replace("[tables.T2]", '[tables.T2]\nfrom = "again"'))
    for name in ("programme", "packed", "two"):
        protect(tmp_path / f"{name}.toml", tmp_path / name)
        for file in (f"T{number}.csv" for number in range(1, len(tables) + 1)):
            own, expected = (tmp_path / folder / file for folder in (name, "programme"))
            assert own.read_bytes() == expected.read_bytes()
        # Attacks and later releases take them for the same records, too.
        assert {table.about["from"] for table in read_release(tmp_path / name)} == {"data"}
    (tmp_path / "packed.toml").write_text(packed.replace("T1]", "T1]\nadditive = true"))
    with pytest.raises(DiscreetError, match="suppressed subtables are not additive"):
        protect(tmp_path / "packed.toml", tmp_path / "additive")
