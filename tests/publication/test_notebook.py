"""Notebooks: a protected table is shown as the table it is, and found by codes and labels."""

import re
import sys

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import DiscreetError
from discreet.publication import great_table
from discreet.publication.examples import census_example
from discreet.publication.notebook import MOST_COLUMNS, MOST_ROWS, notebook_html
from discreet.tables import CellStatus, ProtectedTable
from tests.helpers.protected_tables import protected_table


def large(rows: int, columns: int) -> ProtectedTable:
    place = Classification.flat("place", [f"p{k}" for k in range(rows - 1)])
    year = Classification.flat("year", [f"y{k}" for k in range(columns - 1)])
    down, across = (part.ravel().astype(np.int32) for part in np.indices((rows, columns)))
    return protected_table([place, year], (1000 * down + across + 1).astype(np.int64))


def test_a_table_shows_its_cells_its_title_and_its_legend() -> None:
    shown = census_example()._repr_html_()
    for text in ("Population by sex and age", "371", "Class 3", "female", "independently"):
        assert text in shown
    assert "<html" not in shown
    assert "<script" not in shown
    german = notebook_html(census_example(), "de")
    assert "weiblich" in german
    assert "Bevölkerung nach Geschlecht" in german


def test_long_tables_are_cut_and_say_so() -> None:
    shown = notebook_html(large(500, 100))
    assert shown.count("<tr") < MOST_ROWS + 5
    assert f"Shown: {MOST_ROWS} of 500 rows, {MOST_COLUMNS} of 100 columns" in shown
    assert f"{1000 * (MOST_ROWS - 1) + MOST_COLUMNS:,}" in shown
    assert f"{1000 * MOST_ROWS + 1:,}" not in shown
    assert "Shown:" not in notebook_html(large(MOST_ROWS, MOST_COLUMNS))


def test_texts_are_escaped() -> None:
    sex = Classification.flat("sex", ["<b>"], labels={"<b>": {"en": "<script>x</script>"}})
    table = protected_table([sex], [3, 3], titles={"en": "<img src=x>"})
    assert "<script" not in table._repr_html_()
    assert "<img" not in table._repr_html_()


def test_a_confidential_table_shows_its_shape_only() -> None:
    table = dc.tabulate(pl.DataFrame({"sex": ["m", "w", "w"]}), ["sex"])
    assert not hasattr(table, "_repr_html_")
    assert repr(table) == "<Table table (confidential): sex, 3 cells>"


def test_a_table_is_no_sequence() -> None:
    with pytest.raises(DiscreetError, match="expected 2 codes, got"):
        list(census_example())  # type: ignore[call-overload]


def test_great_tables_have_title_headings_signs_and_notes() -> None:
    shown = census_example().to_great_tables(language="de").as_raw_html()
    for text in ("Bevölkerung nach Geschlecht und Alter", "Klasse 3", "weiblich", "371"):
        assert text in shown
    assert "Jeder Wert ist einzeln überlagert; Summen der Teile können von" in shown
    upright = census_example().to_great_tables(rows=["age", "sex"], columns=[]).as_raw_html()
    assert "Age class / Sex" in upright


def test_great_tables_print_cells_as_writers_do() -> None:
    place = Classification.flat("place", ["a", "b", "c"], labels={"a": {"en": "<img src=x>"}})
    states = [CellStatus.published, CellStatus.bracketed, CellStatus.suppressed]
    table = protected_table([place], [1234, 56, 78], status=states)
    shown = table.to_great_tables().as_raw_html()
    for text in (">1,234<", ">(56)<", ">.<", ">–<", "limited"):
        assert text in shown
    assert "78" not in re.sub(r"<style>.*?</style>", "", shown, flags=re.S)
    assert "<img" not in shown


def test_without_great_tables_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(DiscreetError, match="great-tables") as caught:
        census_example().to_great_tables()
    assert "discreet[notebooks]" in caught.value.hint


def test_only_protected_tables_become_great_tables() -> None:
    table = dc.tabulate(pl.DataFrame({"sex": ["m", "w", "w"]}), ["sex"])
    with pytest.raises(DiscreetError, match="cannot be published"):
        great_table(table)  # type: ignore[arg-type]
