"""The first sheet of a workbook with many tables: what is in it.

In: `ProtectedTable`s and the names of their sheets. Out: a sheet with a line per
table, linked to its sheet, and what all its tables note. Public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.hyperlink import Hyperlink

from discreet.publication.description import universe
from discreet.publication.footnotes import footnotes
from discreet.publication.labels import figure_text
from discreet.publication.notes import printed_notes
from discreet.publication.sheet_cells import SheetLines, Styles, row_height
from discreet.publication.words import words
from discreet.tables import ProtectedTable

__all__ = ["add_index"]

_WIDTHS = {"A": 18, "B": 60, "C": 36, "D": 36, "E": 14, "F": 10}
_TOP = 3


def add_index(
    book: Workbook,
    title: str,
    tables: Sequence[ProtectedTable],
    names: Sequence[str],
    language: str,
) -> None:
    """Add the sheet.

    Args:
        book: The workbook.
        title: Heading of the sheet.
        tables: The tables.
        names: The name of each table's sheet.
        language: Language of the words.
    """
    text = words(language)
    sheet: Any = book.create_sheet(text.index)
    for letter, width in _WIDTHS.items():
        sheet.column_dimensions[letter].width = width
    sheet.freeze_panes = f"A{_TOP + 1}"
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    styles = Styles(sheet)
    lines = SheetLines(sheet)
    lines.append([styles.text("title", title)])
    lines.append([])
    heads = (text.sheet, text.title, text.universe, text.figures, text.cells, text.notes)
    lines.append([styles.text("stub", head[:1].upper() + head[1:]) for head in heads])
    for table, name in zip(tables, names, strict=True):
        cells = _line(styles, table, name, language)
        texts = zip((str(cell.value) for cell in cells), _WIDTHS.values(), strict=True)
        lines.append(cells, row_height(texts))


def _line(styles: Styles, table: ProtectedTable, name: str, language: str) -> list[Any]:
    link = styles.text("link", name)
    quoted = name.replace("'", "''")
    link.hyperlink = Hyperlink(ref="A1", location=f"'{quoted}'!A1", display=name)
    figures = ", ".join(figure_text(figure, language) for figure in table.figures)
    notes = len(printed_notes(table)) + len(footnotes(table).notes)
    return [
        link,
        styles.text("plain", table.title(language)),
        styles.text("plain", universe(table, language)),
        styles.text("plain", figures),
        styles.count(table.grid_size),
        styles.count(notes),
    ]
