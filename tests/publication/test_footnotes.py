"""Notes about some of the cells, and where their marks stand."""

import csv
import dataclasses
import json

import numpy as np
import openpyxl
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import printed_notes, write
from discreet.publication.cells import cell_chunks
from discreet.publication.layout import footnotes, headings, lay_out
from discreet.tables import Note
from discreet.tables.protected import CellNote
from tests.helpers.protected_tables import protected_table


def test_notes_are_numbered_and_notes_on_everything_are_not(rents):
    notes = footnotes(rents).notes
    assert [note.text("en") for note in notes] == ["New boundary.", "Few homes.", "No heating."]
    assert "On all." in [note.text("en") for note in printed_notes(rents)]


def test_one_variable_marks_its_heading(rents):
    found = [(h.text, h.marks) for row in headings(lay_out(rents)) for h in row if h.marks]
    assert found == [("Average rent (EUR)", (3,))]
    across = headings(lay_out(rents, rows=["built"], columns=["region"]))
    assert ("North", (1,)) in [(h.text, h.marks) for row in across for h in row]


def test_pages_link_marks_to_notes(rents, tmp_path):
    raw = write(rents, tmp_path / "r.html").read_text()
    link = '<sup class="mark"><a href="#table-n{0}" aria-label="Note {0}">{0}</a></sup>'
    assert f"North{link.format(1)}</th>" in raw
    assert f"Average rent (EUR){link.format(3)}</th>" in raw
    assert f"<td>3{link.format(2)}</td>" in raw
    assert raw.count(link.format(2)) == 4  # the cell of each figure
    assert '<li id="table-n2">Few homes.</li>' in raw


def test_sheets_print_marks_and_keep_numbers(rents, tmp_path):
    book = openpyxl.load_workbook(write(rents, tmp_path / "r.xlsx"))
    sheet = book["Table"]
    rows = {row[0].value: row for row in sheet.iter_rows()}
    assert rows["N"][1].value == "North¹"
    cell = rows["N1"][4]
    assert (cell.value, cell.number_format) == (3, '#,##0"²";-#,##0"²";"–²"')
    assert rows["N1"][7].value == "x²"
    assert [cell.value for cell in sheet["A"]][-3:] == [
        "¹ New boundary.",
        "² Few homes.",
        "³ No heating.",
    ]
    assert ("³", "No heating.") in [r[:2] for r in book["Legend"].iter_rows(values_only=True)]


def test_files_have_a_column_of_notes_only_where_there_are_any(rents, mixed, tmp_path):
    with write(rents, tmp_path / "r.csv", labels=False).open(newline="") as file:
        rows = {(r["region"], r["built"], r["figure"]): r["note"] for r in csv.DictReader(file)}
    assert rows["N", "old", "rented"] == "New boundary."
    assert rows["N1", "new", "rent"] == "Few homes. | No heating."
    assert rows["S", "new", "rented"] == ""
    frame = pl.read_parquet(write(rents, tmp_path / "r.parquet"))
    assert frame["note"].cast(pl.String).fill_null("").to_list() == list(rows.values())
    assert "note" not in write(mixed, tmp_path / "m.csv").read_text().splitlines()[0]
    assert "note" not in pl.read_parquet(write(mixed, tmp_path / "m.parquet")).columns


def test_json_lists_notes_with_their_codes(rents, tmp_path):
    said = json.loads(write(rents, tmp_path / "r.json", language="de").read_text("utf-8"))
    assert said["cell_notes"] == [
        {"kind": "area", "codes": {"region": "N"}, "text": "Neue Grenze."},
        {"kind": "few", "codes": {"region": "N1", "built": "new"}, "text": "Wenige."},
        {"kind": "cold", "codes": {"figure": "rent"}, "text": "Kalt."},
    ]


def test_the_same_note_has_one_number(rents):
    note = rents.cell_notes[0].note
    again = (*rents.cell_notes, CellNote(("S", None), note), CellNote(("S", "old"), note))
    remarks = footnotes(dataclasses.replace(rents, cell_notes=again))
    assert len(remarks.notes) == 3
    assert [remark.number for remark in remarks.remarks] == [1, 2, 3, 1, 1]


@pytest.mark.parametrize(
    ("codes", "message"),
    [(("N",), "a note has 1 codes, the table 2 variables"), (("X", None), "code 'X' not found")],
)
@pytest.mark.parametrize("suffix", ["csv", "json", "xlsx", "html", "px", "jsonstat", "sdmx.csv"])
def test_notes_on_cells_that_there_are_not(rents, tmp_path, codes, message, suffix):
    note = Note("n", {"en": "A note."})
    table = dataclasses.replace(rents, cell_notes=(CellNote(codes, note),))
    with pytest.raises(PublicationError, match=message):
        write(table, tmp_path / f"x.{suffix}")
    assert list(tmp_path.iterdir()) == []


@given(st.data())
def test_marks_stand_where_the_notes_say(data):
    """In blocks and in long form, every cell has the marks of the notes about it."""
    trees = [Classification.flat(name, ["1", "2", "3"]) for name in ("a", "b", "c")]
    codes = st.tuples(*[st.sampled_from([None, f"{k}"]) for k in (1, 2, 3)])
    chosen = data.draw(st.lists(codes, max_size=5))
    table = protected_table(
        trees,
        np.ones(1, np.int64),
        cell_notes=tuple(
            CellNote(each, Note("n", {"en": f"note {k}"})) for k, each in enumerate(chosen)
        ),
    )
    remarks = footnotes(table)
    (cells,) = cell_chunks(table, True)
    marks = remarks.of_cells(cells)
    for place, which in enumerate(marks.which.tolist()):
        here = tuple(str(part[place]) for part in cells.index)
        expected = {
            f"note {k}"
            for k, each in enumerate(chosen)
            if any(each) and all(c in (None, h) for c, h in zip(each, here, strict=True))
        }
        numbers = marks.sets[which]
        assert {remarks.notes[number - 1].text() for number in numbers} == expected
    layout = lay_out(table, rows=["a"])
    block = remarks.of_block(layout, 1, 3)
    inner = [r for r in remarks.remarks if sum(code is not None for code in r.wanted) > 1]
    total = sum(len(block.sets[k]) for k in block.which.ravel().tolist()) if block else 0
    assert total == sum(int(r.holds(cells)[16:].sum()) for r in inner)
