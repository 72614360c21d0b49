"""Sheets of Excel: what is shown is read, and what cannot be known is refused by its cell."""

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import discreet as dc
from discreet.errors import DiscreetWarning, MicrodataError
from tests.helpers.engines import rows


def book(folder: Path, rows: list[list[Any]], *merged: str, form: str = "General") -> Path:
    """A workbook with one sheet; numbers of the second column have a number format."""
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.title = "Personen"
    for row in rows:
        sheet.append(row)
        if len(row) > 1 and isinstance(row[1], int):
            sheet.cell(sheet.max_row, 2).number_format = form
    for area in merged:
        sheet.merge_cells(area)
    made.save(folder / "people.xlsx")
    return folder / "people.xlsx"


HEADER = ["id", "region", "income", "born", "ok"]
DAY = datetime.date(2000, 1, 31)


def test_numbers_dates_and_codes(tmp_path: Path) -> None:
    path = book(tmp_path, [HEADER, [1, 1, 1.5, DAY, True], [2, 12, None, None, False]], form="00")
    frame = rows(path)
    assert frame.rows() == [(1, "01", 1.5, "2000-01-31", "true"), (2, "12", None, None, "false")]
    assert rows(path, types={"born": "date"})["born"].to_list() == [DAY, None]


def test_numbers_stored_as_text_are_numbers(tmp_path: Path) -> None:
    path = book(tmp_path, [["id", "a", "b"], [1, "7", "1,5"], ["2", 8, 2.25]])
    frame = rows(path, decimal=",")
    assert frame.rows() == [(1, 7, 1.5), (2, 8, 2.25)]
    assert rows(path)["b"].to_list() == ["1,5", "2.25"]


def test_titles_and_merged_headers_are_asked_about_and_found_out(tmp_path: Path) -> None:
    path = book(
        tmp_path,
        [
            ["Bevölkerung"],
            ["Person", None, "Region"],
            ["id", "sex", None],
            [1, "m", 1],
            [2, "w", 2],
        ],
        "A1:C1", "A2:B2", "C2:C3",
    )  # fmt: skip
    with pytest.raises(MicrodataError, match="row 1") as caught:
        rows(path)
    assert "skip = 1" in caught.value.hint
    found = dc.detect_reading(path)
    assert (found.options.skip, found.options.header) == (1, 2)
    assert rows(path, detect=True).columns == ["Person id", "Person sex", "Region"]


@pytest.mark.parametrize(
    ("table", "merged", "words"),
    [
        ([["a", "b"], [1, 2], [None, 3]], ["A2:A3"], "row 2: cells of records are merged"),
        ([["a", "b"], [1, "#N/A"]], [], "cell B2: a formula ends in an error"),
        ([["a", "b"], [1, "=A2*2"]], [], "cell B2: a formula has no stored value"),
        ([["a", "b"], [1, 2], [], ["x", 3]], [], "row 4: 1 empty rows precede this row"),
        ([["a"], [1], [], ["x"]], [], "row 4: 1 empty rows precede this row"),
        (
            [["a", "b"], [1, 2], [], ["x"], [3, 4]],
            [],
            "row 5: 1 rows with one text precede this row",
        ),
        ([["a", "b"], [1, 2, 3]], [], "cell C2: the column lacks a name"),
        ([["a", "a"], [1, 2]], [], "column name occurs more than once"),
        ([["a", None, "c"], [1, 2, 3]], [], "lack a name"),
    ],
)
def test_what_cannot_be_known_is_refused(
    tmp_path: Path, table: list[list[Any]], merged: list[str], words: str
) -> None:
    path = book(tmp_path, table, *merged)
    if words.endswith("error"):
        made = openpyxl.load_workbook(path)
        made["Personen"]["B2"].data_type = "e"
        made.save(path)
    with pytest.raises(MicrodataError) as caught:
        rows(path)
    assert words in str(caught.value)


def test_notes_below_the_records_are_no_records(tmp_path: Path) -> None:
    table = [["a", "b"], ["x", 2], [], ["* provisional"], [], ["Source: office"]]
    with pytest.warns(DiscreetWarning, match="2 rows with one text"):
        assert rows(book(tmp_path, table)).rows() == [("x", 2)]
    with pytest.warns(DiscreetWarning):
        assert dc.detect_reading(book(tmp_path, table)).records == 1


def test_an_error_of_a_formula_can_stand_for_a_missing_value(tmp_path: Path) -> None:
    path = book(tmp_path, [["a", "b"], [1, "#N/A"], [2, 5]])
    assert rows(path, null_values=["#N/A"])["b"].to_list() == [None, 5]


def test_wrong_values_are_named_by_row(tmp_path: Path) -> None:
    path = book(tmp_path, [["a", "b"], [1, 2], [2, "x"]])
    with pytest.raises(MicrodataError, match="sheet 'Personen', row 3, column 'b': 1 value"):
        rows(path, types={"b": "number"})


def test_sheets_are_named(tmp_path: Path) -> None:
    path = book(tmp_path, [["a"], [1]])
    made = openpyxl.load_workbook(path)
    made.create_sheet("Other").append(["b"])
    made.save(path)
    with pytest.raises(MicrodataError, match="the sheet of the records is not clear") as caught:
        rows(path)
    assert "'Personen', 'Other'" in caught.value.hint
    assert rows(path, sheet="Personen").columns == rows(path, sheet=1).columns == ["a"]
    for wrong in ("None", 7):
        with pytest.raises(MicrodataError, match="sheet"):
            rows(path, sheet=wrong)


def test_other_files_are_refused(tmp_path: Path) -> None:
    for content, words in [(b"PK\x03\x04", "cannot be read"), (b"a;b\n1;2\n", "looks like text"),
                           (b"\xd0\xcf\x11\xe0old", "an old Excel workbook")]:  # fmt: skip
        (tmp_path / "people.xlsx").write_bytes(content)
        with pytest.raises(MicrodataError, match=words):
            rows(tmp_path / "people.xlsx")
