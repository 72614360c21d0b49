"""The sheet of a workbook that explains it: signs, notes, provenance.

In: `ProtectedTable`. Out: a sheet, first in the language asked for, then in the
others the table has titles in. Public.
"""

from __future__ import annotations

from typing import Any

from openpyxl import Workbook

from discreet.publication.description import provenance_lines
from discreet.publication.notation import legend
from discreet.publication.notes import printed_notes
from discreet.publication.sheet_cells import Styles
from discreet.publication.words import LANGUAGES, words
from discreet.tables import ProtectedTable

__all__ = ["add_legend"]


def add_legend(book: Workbook, table: ProtectedTable, language: str) -> None:
    """Add the sheet with the legend."""
    sheet: Any = book.create_sheet(words(language).legend)
    sheet.column_dimensions["A"].width = 24
    sheet.column_dimensions["B"].width = 100
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    styles = Styles(sheet)
    others = [other for other in LANGUAGES if other in table.titles and other != language]
    for each in (language, *others):
        _write_language(sheet, styles, table, each)


def _write_language(sheet: Any, styles: Styles, table: ProtectedTable, language: str) -> None:
    text = words(language)

    def section(heading: str, style: str, lines: list[tuple[str, str]]) -> None:
        if not lines:
            return
        sheet.append([styles.text("section", heading)])
        for left, right in lines:
            sheet.append([styles.text(style, left), styles.text("plain", right)])
        sheet.append([])

    sheet.append([styles.text("title", table.title(language))])
    sheet.append([])
    signs = [(sign.symbol, sign.meaning) for sign in legend(table, language)]
    section(text.legend, "symbol", signs)
    section(text.notes, "plain", [("", note.text(language)) for note in printed_notes(table)])
    section(text.provenance, "plain", provenance_lines(table, language))
