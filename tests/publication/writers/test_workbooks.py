"""Workbooks of many tables: an index that links, safe names, one legend."""

import dataclasses

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PublicationError
from discreet.publication import write, write_workbook
from discreet.publication.examples import census_example
from discreet.publication.writers.xlsx import sheet_names


def test_an_index_a_sheet_for_each_table_and_one_legend(rents, mixed, tmp_path):
    tables = [census_example(), mixed, rents]
    title = {"en": "Census", "de": "Zensus"}
    path = write_workbook(iter(tables), tmp_path / "all.xlsx", title=title, language="de")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Inhalt", "T1", "T7", "rents", "Zeichenerklärung"]
    rows = [list(row) for row in book["Inhalt"].iter_rows(values_only=True)]
    assert rows[0][0] == "Zensus"
    assert rows[2] == ["Blatt", "Titel", "Grundgesamtheit", "Kennzahlen", "Felder", "Hinweise"]
    assert rows[4] == ["T7", "Personen <b> & mehr", "Erwachsene", None, 15, 2]
    assert rows[5][4:] == [60, 5]
    assert book["T1"]["A1"].value == "Bevölkerung nach Geschlecht und Alter"
    assert book["rents"]["C6"].value == 12_345


def test_the_index_links_to_the_sheets(mixed, tmp_path):
    named = dataclasses.replace(mixed, name="it's: 1/2")
    book = openpyxl.load_workbook(write_workbook([named], tmp_path / "a.xlsx", title="x"))
    assert book.sheetnames[1] == "it's_ 1_2"
    link = book["Contents"]["A4"].hyperlink
    assert link.location == "'it''s_ 1_2'!A1"


def test_the_legend_has_each_sign_once_and_the_notes_of_each_table(rents, mixed, tmp_path):
    book = openpyxl.load_workbook(write_workbook([mixed, rents], tmp_path / "a.xlsx", title="x"))
    rows = [row[:2] for row in book["Legend"].iter_rows(values_only=True)]
    first = [left for left, right in rows if left and right and len(left) < 4]
    assert first[:5] == ["–", ".", "( )", "*", "x"]
    assert [left for left, _ in rows].count("–") == 1
    assert ("T7: Persons <b> & more", None) in rows
    assert (None, "A remark.") in rows
    assert ("²", "Few homes.") in rows


@given(st.lists(st.text(max_size=40), max_size=8))
def test_names_are_those_that_spreadsheets_allow(names):
    found = sheet_names(names, taken=("Contents",))
    assert len({name.lower() for name in [*found, "Contents"]}) == len(names) + 1
    for name in found:
        assert 0 < len(name) <= 31
        assert not set(name) & set("\\/*?:[]")
        assert not name.startswith("'")
        assert name.lower() != "history"


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "b", "a"], "two tables have the name 'a'"), ([], "a workbook needs a table")],
)
def test_tables_that_do_not_make_a_workbook(tmp_path, names, message):
    tables = [dataclasses.replace(census_example(), name=name) for name in names]
    with pytest.raises(PublicationError, match=message):
        write_workbook(tables, tmp_path / "a.xlsx", title="x")
    assert list(tmp_path.iterdir()) == []


def test_bad_input_writes_nothing(mixed, tmp_path, monkeypatch):
    with pytest.raises(PublicationError, match="only a ProtectedTable"):
        write_workbook([mixed, None], tmp_path / "a.xlsx", title="x")  # type: ignore[list-item]
    with pytest.raises(PublicationError, match="unknown language"):
        write_workbook([mixed], tmp_path / "a.xlsx", title="x", language="fr")
    monkeypatch.setattr("discreet.publication.writers.xlsx.CELL_LIMIT", 20)
    with pytest.raises(PublicationError, match="at most 20 cells; these tables have 33"):
        write_workbook([mixed, census_example()], tmp_path / "a.xlsx", title="x")
    assert list(tmp_path.iterdir()) == []


def test_a_workbook_is_made_of_a_list_of_tables(tmp_path):
    for wrong in (census_example(), None):
        with pytest.raises(PublicationError, match="a list of protected tables"):
            write_workbook(wrong, tmp_path / "all.xlsx", title="Census")
    with pytest.raises(PublicationError, match="a workbook needs the suffix xlsx"):
        write_workbook([census_example()], tmp_path / "all.csv", title="Census")
    assert not list(tmp_path.iterdir())


def test_lines_of_a_heading_do_not_overlap(tmp_path):
    table = dataclasses.replace(census_example(), titles={"en": "Persons\nby sex"})
    write(table, tmp_path / "T1.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "T1.xlsx").worksheets[0]
    assert sheet["A1"].value == "Persons by sex"
