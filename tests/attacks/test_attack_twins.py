"""Attack: two populations with the same published figures must have the same release.

A first twin has one more person: alone in its village, with no rent, of a kind that is
missing in its place. Its record key turns every count that it is part of back to what it
was. In a second twin two persons with equal keys and rents change their sexes, which
only suppressed cells could show. Whatever differs between two releases, in any file,
tells which of both populations is the true one. The same holds for two perturbation
tables that do the same to these cells.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.release import protect

PROGRAMME = """
title = { en = "Twins", de = "Zwillinge" }
languages = ["en", "de"]
workbook = "all.xlsx"

[data]
source = "records.parquet"

[keys]
column = "key"
grid = 256

[perturbation]
table = "ptable.json"
found_codes = "hide"

[magnitudes.rent]
table = "rent.csv"
chance = 1
strength = { kind = "simple", share = 0.2 }
publish = "means"

[variables.place]
codes = ["a", "b", "c"]

[variables.sex]
codes = ["m", "w"]

[defaults]
formats = ["csv", "parquet", "json", "xlsx", "html", "px", "json-stat", "sdmx-csv"]

[tables.counts]
by = ["place", "sex"]

[tables.villages]
by = ["village"]

[tables.figures]
by = ["place", "sex"]

[tables.figures.figures]
all = { kind = "count" }
x = { kind = "count", where = "kind == 'x'" }
y = { kind = "count", where = "kind == 'y'" }
total = { kind = "sum", of = "rent" }
rent = { kind = "mean", of = "rent" }
part = { kind = "share", part = "y", whole = "all" }
share = { kind = "share", part = "all", over = ["sex"] }
average = { kind = "ratio", part = "total", whole = "all" }
rate = { kind = "per_thousand", part = "y", whole = "all" }
growth = { kind = "change", part = "x", whole = "y" }
surplus = { kind = "balance", part = "x", whole = "y" }
deficit = { kind = "balance", part = "y", whole = "x" }
price = { kind = "index", part = "all", base = { sex = "w" } }

[[tables.figures.notes]]
cells = { place = "c" }
text = "A remark."
"""

PEOPLE = {
    "place": ["c", "a", "a", "a"],
    "village": ["v", "v", "w", "w"],
    "sex": ["m", "m", "w", "w"],
    "kind": ["x", "x", "y", "x"],
    "rent": [500, 600, 700, None],
    "key": [200, 10, 180, 60],
}
ONE_MORE = {
    "place": ["c"],
    "village": ["z"],
    "sex": ["m"],
    "kind": ["y"],
    "rent": pl.Series([None], dtype=pl.Int64),
    "key": [100],
}


#: The average cell of place by sex is too small to be shown; those of the margins are not.
THINNED = """
[parts]
min_average_size = 4
"""
RESIDENTS = {
    "place": ["a", "a", "a", "a", "a", "b", "b", "b", "b", "b"],
    "village": ["v"] * 10,
    "sex": ["m", "m", "m", "w", "w", "m", "m", "w", "w", "w"],
    "kind": ["x", "y"] * 5,
    "rent": [500, 600, 700, 800, None, 900, 450, 500, 650, 750],
    "key": [30, 71, 150, 201, 222, 180, 7, 30, 99, 140],
}
#: The first of both places have the same rent and key.
SWAPPED = {**RESIDENTS, "sex": ["w", *RESIDENTS["sex"][1:7], "m", *RESIDENTS["sex"][8:]]}

Noise = dict[int, str]

#: Keys below 128 lose one.
LOSE_ONE = {-1: "0.5", 0: "0.5"}
#: The last key of 256 gains nine.
GAIN_NINE = {-1: "0.5", 0: "0.49609375", 9: "0.00390625"}

Release = Callable[..., dict[str, bytes]]


@pytest.fixture
def released(tmp_path: Path) -> Release:
    """Release a population; gives the published files."""

    def release(
        name: str, people: pl.DataFrame, more: str = "", noise: Noise = LOSE_ONE
    ) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        people.write_parquet(folder / "records.parquet")
        dc.PerturbationTable.from_rows({0: {0: 1}, 1: noise}).write(folder / "ptable.json")
        dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")
        (folder / "programme.toml").write_text(PROGRAMME + more, encoding="utf-8")
        protect(folder / "programme.toml", folder / "out")
        files = (path for path in (folder / "out").iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in sorted(files)}

    return release


def test_a_person_that_changes_no_published_figure_leaves_no_trace(released: Release) -> None:
    """With another key the person shows everywhere: the comparison sees what it should."""
    people = pl.DataFrame(PEOPLE)
    twin = pl.concat([people, pl.DataFrame(ONE_MORE)])
    one, other = released("one", people), released("other", twin)
    assert list(one) == list(other)
    assert len(one) > 50
    assert [name for name in one if one[name] != other[name]] == []
    third = released("third", pl.concat([people, pl.DataFrame({**ONE_MORE, "key": [200]})]))
    changed = {name for name in one if one[name] != third.get(name)}
    assert {"counts.csv", "villages.px", "figures.de.html", "all.xlsx"} <= changed


def test_what_is_suppressed_leaves_no_trace(released: Release) -> None:
    one = released("one", pl.DataFrame(RESIDENTS), THINNED)
    other = released("other", pl.DataFrame(SWAPPED), THINNED)
    assert b"suppressed" in one["counts.csv"]
    assert b"published" in one["counts.csv"]
    assert "decisions.json" in one
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.exhaustive
def test_without_rules_for_parts_the_change_of_sex_shows(released: Release) -> None:
    one, other = released("one", pl.DataFrame(RESIDENTS)), released("other", pl.DataFrame(SWAPPED))
    changed = {name for name in one if one[name] != other[name]}
    assert {"counts.csv", "figures.json", "all.xlsx", "index.html"} & changed


def test_the_largest_noise_leaves_no_trace(released: Release) -> None:
    """No cell has the key 255; brackets, which follow the possible noise, are off."""
    people, limit = pl.DataFrame(PEOPLE), "\n[figures]\nbracket_above = 1000\n"
    one = released("one", people, limit)
    other = released("other", people, limit, GAIN_NINE)
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.exhaustive
def test_the_largest_noise_shows_where_it_is_drawn(released: Release) -> None:
    people = pl.DataFrame({**PEOPLE, "key": [200, 10, 180, 255]})
    one, other = released("one", people), released("other", people, noise=GAIN_NINE)
    assert one["figures.csv"] != other["figures.csv"]
