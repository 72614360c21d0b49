"""XLSX: figures stay numbers, texts stay texts."""

import itertools
import time
import zipfile

import numpy as np
import openpyxl
import pytest

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import write
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Dimension, ProtectedTable
from tests.helpers.protected_tables import protected_table


def opened(path):
    return openpyxl.load_workbook(path)


def test_the_example_of_the_census_as_a_sheet(tmp_path):
    sheet = opened(write(census_example(), tmp_path / "T1.xlsx"))["Table"]
    found = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert found[0][0] == "Population by sex and age"
    assert found[2][:3] == ["Sex (code)", "Sex", "Age class"]
    assert found[3][2:] == ["Total", "Class 1", "Class 2", "Class 3", "Class 4", "Class 5"]
    assert found[4] == ["Total", "Total", 371, 47, 56, 71, 86, 109]
    assert found[6] == ["w", "female", 197, 25, 25, 40, 45, 60]
    assert {str(part) for part in sheet.merged_cells.ranges} == {"A3:A4", "B3:B4", "C3:H3"}


def test_number_formats_print_the_signs(mixed, tmp_path):
    sheet = opened(write(mixed, tmp_path / "T7.xlsx"))["Table"]
    cells = {(row[0].value, k): cell for row in sheet.iter_rows() for k, cell in enumerate(row)}
    official, hidden, limited = cells["Total", 2], cells["N", 3], cells["N1", 2]
    zero = cells["N2", 4]
    assert (official.value, official.number_format) == (12_345, '#,##0"*";-#,##0"*";"–"')
    assert (hidden.value, hidden.data_type) == (".", "s")
    assert (limited.value, limited.number_format) == (880, '(#,##0);(-#,##0);"–"')
    assert (zero.value, zero.number_format) == (0, '#,##0;-#,##0;"–"')


def test_german_sheets_keep_german_separators_on_every_computer(mixed, tmp_path):
    sheet = opened(write(mixed, tmp_path / "T7.de.xlsx", language="de"))["Tabelle"]
    cells = {cell.value: cell.number_format for row in sheet.iter_rows() for cell in row}
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert cells[12_345] == f'[$-407]#"{thin}"##0"*";[$-407]-#"{thin}"##0"*";"–"'
    assert cells[880] == '[$-407](0);[$-407](-0);"–"'


def test_german_decimals_and_millions(make_table, sex, tmp_path):
    values = {("m",): (1234567.89, CellStatus.published), ("w",): (999.996, CellStatus.published)}
    table = make_table([sex], values, decimals=2)
    sheet = opened(write(table, tmp_path / "w.xlsx", language="de"))["Tabelle"]
    cells = {cell.value: cell.number_format for row in sheet.iter_rows() for cell in row}
    thin = '"\N{NARROW NO-BREAK SPACE}"'
    assert cells[1234567.89].startswith(f"[$-407]#{thin}###{thin}##0.00;")
    assert cells[999.996].startswith(f"[$-407]#{thin}##0.00;")  # printed as 1 000,00


def test_weighted_figures_keep_their_digits_and_show_some(make_table, sex, tmp_path):
    table = make_table([sex], {("m",): (1234.56789, CellStatus.published)}, decimals=2)
    cell = opened(write(table, tmp_path / "w.xlsx"))["Table"]["B5"]
    assert (cell.value, cell.number_format) == (1234.56789, '#,##0.00;-#,##0.00;"–"')


def test_labels_cannot_act_as_formulas(make_table, tmp_path):
    codes = ["=1+1", "+2", "-3", "@x", "#N/A", " y "]
    tree = Classification.flat("v", codes, titles={"en": '=HYPERLINK("x")'})
    table = make_table([tree], {("+2",): (4, CellStatus.published)}, titles={"en": "=SUM(A1)"})
    book = opened(write(table, tmp_path / "f.xlsx"))
    types = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert types <= {"s", "inlineStr", "n"}
    assert [row[0].value for row in book["Table"].iter_rows(min_row=5)] == codes
    assert book["Table"]["A1"].value == "=SUM(A1)"


def test_hierarchy_is_shown_by_indent_and_folding(mixed, tmp_path):
    sheet = opened(write(mixed, tmp_path / "T7.xlsx"))["Table"]
    shown = {
        row[0].value: (row[1].alignment.indent, sheet.row_dimensions[row[0].row].outlineLevel)
        for row in sheet.iter_rows(min_row=6)
    }
    assert shown == {"Total": (0, 0), "N": (1, 1), "N1": (2, 2), "N2": (2, 2), "S": (1, 1)}
    assert sheet.sheet_properties.outlinePr.summaryBelow is False


def test_headings_stay_in_sight_and_on_every_page(mixed, tmp_path):
    sheet = opened(write(mixed, tmp_path / "T7.xlsx"))["Table"]
    assert sheet.freeze_panes == "C6"
    assert sheet.print_title_rows == "$4:$5"
    assert sheet.page_setup.orientation == "landscape"
    assert sheet.sheet_properties.pageSetUpPr.fitToPage
    assert (sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) == (1, 0)
    assert len(sheet.col_breaks.brk) == 0


def wide(groups: int, each: int) -> ProtectedTable:
    codes = [f"{a:02}{b:02}" for a in range(groups) for b in range(each)]
    across = Classification.from_prefixes("across", codes, [2, 4])
    down = Classification.flat("down", [f"d{k}" for k in range(80)])
    size = (len(down), len(across))
    index = tuple(part.ravel().astype(np.int32) for part in np.indices(size))
    return protected_table(
        [down, across], np.arange(len(index[0])) + 1, titles={"en": "R&D by place"}
    )


def test_wide_sheets_are_printed_on_several_pages_that_can_be_read(tmp_path):
    table = wide(12, 5)
    sheet = opened(write(table, tmp_path / "wide.xlsx"))["Table"]
    setup = sheet.page_setup
    assert (setup.orientation, setup.scale, setup.pageOrder) == ("landscape", 60, "overThenDown")
    assert not sheet.sheet_properties.pageSetUpPr.fitToPage
    assert sheet.print_title_cols == "$A:$A"
    assert sheet.print_title_rows == "$3:$5"
    assert sheet.oddFooter.left.text == "R&&D by place"
    breaks = [each.id for each in sheet.col_breaks.brk]
    # "Total" and a group of six columns, then two groups to a page
    starts = {1 + 1 + 6 * group for group in range(12)}
    assert breaks
    assert set(breaks) <= starts
    ends = [1, *breaks, sheet.max_column]
    assert all(b - a <= (176 - 8) // 13 for a, b in itertools.pairwise(ends))


def test_pages_break_within_groups_that_are_too_wide(tmp_path):
    sheet = opened(write(wide(1, 30), tmp_path / "wide.xlsx"))["Table"]
    assert [each.id for each in sheet.col_breaks.brk] == [13, 25]
    flat = opened(write(wide(1, 9), tmp_path / "flat.xlsx"))["Table"]
    assert len(flat.col_breaks.brk) == 0


def test_the_legend_speaks_both_languages(mixed, tmp_path):
    book = opened(write(mixed, tmp_path / "T7.xlsx", language="de"))
    assert book.sheetnames == ["Tabelle", "Zeichenerklärung"]
    rows = [row[:2] for row in book["Zeichenerklärung"].iter_rows(values_only=True)]
    assert rows[0][0] == "Personen <b> & mehr"
    assert ("–", "genau null oder auf null geändert") in rows
    assert ("–", "exactly zero or changed to zero") in rows
    assert (None, "Eine Bemerkung.") in rows
    assert ("Verfahren", "cell-key") in rows


def test_no_times_are_written(tmp_path):
    path = write(census_example(), tmp_path / "T1.xlsx")
    with zipfile.ZipFile(path) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        core = archive.read("docProps/core.xml").decode()
    assert "created" not in core
    assert "modified" not in core


def big_table(rows: int, columns: int) -> ProtectedTable:
    down = Classification.flat("r", [f"r{k}" for k in range(rows - 1)])
    across = Classification.flat("c", [f"c{k}" for k in range(columns - 1)])
    return protected_table([down, across], np.arange(rows * columns) % 977)


def test_two_hundred_thousand_cells_are_written_quickly(tmp_path):
    start = time.process_time()
    path = write(big_table(10_000, 20), tmp_path / "big.xlsx")
    assert time.process_time() - start < 30
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert sheet.count("<v>") == 200_000
    last = sheet[sheet.index('<row r="10004"') : sheet.index("</sheetData>")]
    found = [int(part.partition("<")[0]) for part in last.split("<v>")[1:]]
    assert found == (np.arange(199_980, 200_000) % 977).tolist()
    assert "<t>r9998</t>" in last


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (3_000, 2_000, "at most 5,000,000 cells; this table has 6,000,000"),
        (2, 16_384, "at most 16,384 columns; this table has 16,385"),
    ],
)
def test_tables_that_do_not_fit_a_sheet(tmp_path, rows, columns, message):
    table = big_table(2, 2)
    trees = [
        Classification.flat(name, [f"{name}{k}" for k in range(size - 1)])
        for name, size in (("r", rows), ("c", columns))
    ]
    wide = ProtectedTable(
        dimensions=tuple(Dimension(classifications=(tree,)) for tree in trees),
        index=table.index,
        value=table.value,
        status=table.status,
        provenance=table.provenance,
    )
    with pytest.raises(PublicationError, match=message) as error:
        write(wide, tmp_path / "wide.xlsx", complete=True)
    assert "csv or parquet" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_texts_a_sheet_cannot_hold(make_table, sex, tmp_path):
    labels = {"m": {"en": "ma\x07le"}, "w": {"en": "x" * 40_000}}
    table = make_table([sex.replace(labels=labels)], {("m",): (3, CellStatus.published)})
    for suffix in ("xlsx", "html"):
        with pytest.raises(PublicationError, match="2 texts have control characters or more"):
            write(table, tmp_path / f"x.{suffix}")
    assert list(tmp_path.iterdir()) == []
