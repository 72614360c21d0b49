"""An attacker looks at which codes are listed to tell original zeros from changed ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Classification, PerturbationTable, ProtectedTable, Table, perturb, tabulate
from discreet.errors import RecordKeyError, TableError
from tests.helpers.rows import for_all_rows

#: Counts of one become zero or two, all others stay.
PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {0: 1}})


@pytest.fixture
def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "village": ["a", "b", "c", "d", None],
            "district": ["x", "x", "y", "y", "y"],
            "income": [1, 2, 3, 4, 5],
            "record_key": [0.1, 0.2, 0.7, 0.8, 0.3],
        }
    )


def codes(safe: ProtectedTable, name: str) -> list[str]:
    return safe.to_polars(complete=True)[name].unique(maintain_order=True).to_list()


def test_a_found_code_is_listed_only_with_a_figure(people: pl.DataFrame) -> None:
    """a and b have one record each, changed to zero; d has none. All three are absent."""
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    safe = perturb(table, PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "c"]
    said = []
    for code in ("a", "d"):  # nor is what is said of them another
        with pytest.raises(TableError, match="not found") as caught:
            safe.get(code)
        said.append(str(caught.value).replace(repr(code), "…"))
    assert said[0] == said[1]


def test_the_dictionary_of_a_parquet_file_lists_no_more(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    table = tabulate(people, ["village"], record_key="record_key")
    perturb(table, PTABLE, found_codes="hide").write(tmp_path / "T.parquet")
    column = pq.read_table(tmp_path / "T.parquet")["village"].chunk(0)
    assert column.dictionary.to_pylist() == ["Total", "c", "d"]


def test_the_missing_category_appears_only_with_a_figure(people: pl.DataFrame) -> None:
    village = Classification.flat("village", ["a", "b", "c", "d"])
    safe = perturb(tabulate(people, [village], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c", "d"]


def test_stated_codes_are_always_listed(people: pl.DataFrame) -> None:
    village = Classification.flat("village", ["a", "b", "c", "d", "e"], missing="none")
    stated = village.replace(codes=(*village.codes, "none"), parents=(*village.parents, 0))
    safe = perturb(tabulate(people, [stated], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c", "d", "e", "none"]


def test_level_columns_keep_what_stands_above_a_figure(people: pl.DataFrame) -> None:
    known = people.drop_nulls()
    region = Classification.from_levels(known, ["district", "village"], name="region")
    safe = perturb(tabulate(known, [region], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "region") == ["Total", "x", "y", "c", "d"]
    assert [safe.get(code) for code in codes(safe, "region")] == [4, 2, 2, 2, 2]


def test_what_is_suppressed_stays_listed_and_unknown(people: pl.DataFrame) -> None:
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    safe = perturb(table, PTABLE, suppress_below=2, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c"]
    assert safe.get("a") is None
    with pytest.raises(TableError, match="code 'elsewhere' not found"):
        safe.get("elsewhere")


def test_cells_made_elsewhere_are_no_exception() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 1, 0], "key": [0.1, 0.1, 0.0]})
    table = Table.from_cells(cells, ["sex"], count="n", cell_key="key")
    assert codes(perturb(table, PTABLE, found_codes="hide"), "sex") == ["Total"]


def test_the_values_found_are_the_classification_unless_hidden(people: pl.DataFrame) -> None:
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    assert codes(perturb(table, PTABLE), "village") == ["Total", "a", "b", "c"]


COUNT = 60_000
RNG = np.random.default_rng(2022)
DESIGNED = dc.design_perturbation(max_noise=5, variance=3)
AREAS = RNG.integers(0, 400, COUNT)
AGES = RNG.integers(0, 5, COUNT)
LARGE = 8

KEYS = {
    "proper": RNG.integers(0, 10**15, COUNT),
    "person id": np.arange(COUNT) + 1,
    "income": RNG.lognormal(10, 0.6, COUNT).astype(np.int64),
    "keys of the grid 2^32": RNG.integers(0, 2**32, COUNT),
    "keys of 12 digits": RNG.integers(0, 10**12, COUNT),
    "one constant": np.full(COUNT, 2_000_000_000_003),
}


def recovered(name: str) -> float:
    """The share of large counts that follow from the commonest noise."""
    people = pl.DataFrame({"area": AREAS, "age": AGES, "key": KEYS[name]})
    table = dc.tabulate(people, ["area", "age"], record_key="key", allow_unsuitable_keys=True)
    safe = dc.perturb(table, DESIGNED)
    both = table.to_polars().join(safe.to_polars(), on=["area", "age"])
    large = both.filter(pl.col("count") >= LARGE)
    noise = Counter((large["value"] - large["count"]).to_list())
    return max(noise.values()) / large.height


@for_all_rows(
    ("name", "least", "most"),
    [
        ("proper", 0.15, 0.30),
        ("person id", 0.99, 1.0),
        ("income", 0.99, 1.0),
        ("keys of the grid 2^32", 0.98, 1.0),
        ("keys of 12 digits", 0.45, 1.0),
        ("one constant", 0.45, 1.0),
    ],
)
def test_what_follows_from_the_commonest_noise(name: str, least: float, most: float):
    share = recovered(name)
    assert least <= share <= most, share


@for_all_rows("name", [name for name in KEYS if name != "proper"])
def test_such_keys_are_refused(name: str):
    people = pl.DataFrame({"area": AREAS, "key": KEYS[name]})
    with pytest.raises(RecordKeyError, match="does not contain record keys"):
        dc.tabulate(people, ["area"], record_key="key")
