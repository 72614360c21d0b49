"""An attacker looks at which codes are listed to tell original zeros from changed ones."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from discreet import Classification, PerturbationTable, ProtectedTable, Table, perturb, tabulate
from discreet.errors import TableError

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
