"""Attack: two populations with the same published figures must have the same release.

The twin has one more person: alone in its village, with no rent, of a kind that is
missing in its place. Its record key turns every count that it is part of back to what it
was. Whatever differs between both releases, in any file, tells that it exists.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.release import protect
from discreet.release.inputs import open_inputs

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


@pytest.fixture
def released(tmp_path: Path) -> Callable[[str, pl.DataFrame], dict[str, bytes]]:
    """Release a population; gives the published files."""

    def release(name: str, people: pl.DataFrame) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        people.write_parquet(folder / "records.parquet")
        noise = {-1: "0.5", 0: "0.5"}  # keys below 128 lose one
        dc.PerturbationTable.from_rows({0: {0: 1}, 1: noise}).write(folder / "ptable.json")
        dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")
        (folder / "programme.toml").write_text(PROGRAMME, encoding="utf-8")
        protect(folder / "programme.toml", folder / "out")
        files = (path for path in (folder / "out").iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in sorted(files)}

    return release


def test_a_person_that_changes_no_published_figure_leaves_no_trace(
    released: Callable[[str, pl.DataFrame], dict[str, bytes]],
) -> None:
    people = pl.DataFrame(PEOPLE)
    twin = pl.concat([people, pl.DataFrame(ONE_MORE)])
    one, other = released("one", people), released("other", twin)
    assert list(one) == list(other)
    assert len(one) > 50
    assert [name for name in one if one[name] != other[name]] == []


def test_the_twin_is_found_once_the_noise_is_another(
    released: Callable[[str, pl.DataFrame], dict[str, bytes]],
) -> None:
    """The comparison sees what it should: with another key the person shows everywhere."""
    people = pl.DataFrame(PEOPLE)
    twin = pl.concat([people, pl.DataFrame({**ONE_MORE, "key": [200]})])
    one, other = released("one", people), released("other", twin)
    changed = {name for name in one if one[name] != other.get(name)}
    assert {"counts.csv", "villages.px", "figures.de.html", "all.xlsx"} <= changed
