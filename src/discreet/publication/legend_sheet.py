"""The sheet of a workbook that explains it: signs, notes, provenance.

In: `ProtectedTable`. Out: a sheet, first in the language asked for, then in the
others the table has titles in; for many tables, in the language asked for. Public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openpyxl import Workbook

from discreet.publication.description import provenance_lines
from discreet.publication.footnotes import footnotes, mark
from discreet.publication.notation import legend
from discreet.publication.notes import printed_notes
from discreet.publication.sheet_cells import SheetLines, Styles, row_height
from discreet.publication.words import LANGUAGES, words
from discreet.tables import ProtectedTable

__all__ = ["add_joint_legend", "add_legend"]

_WIDTH = 100


def add_legend(book: Workbook, table: ProtectedTable, language: str) -> None:
    """Add the sheet with the legend of one table."""
    lines, styles = _sheet(book, language)
    others = [other for other in LANGUAGES if other in table.titles and other != language]
    for each in (language, *others):
        _write_language(lines, styles, table, each)


def add_joint_legend(book: Workbook, tables: Sequence[ProtectedTable], language: str) -> None:
    """Add the sheet with the signs of all tables, then the notes and origin of each."""
    lines, styles = _sheet(book, language)
    text = words(language)
    signs = dict.fromkeys(sign for table in tables for sign in legend(table, language))
    _section(lines, styles, text.legend, "symbol", [(s.symbol, s.meaning) for s in signs])
    for table in tables:
        heading = f"{table.name}: {table.title(language)}"
        _section(lines, styles, heading, "plain", _about(table, language))


def _sheet(book: Workbook, language: str) -> tuple[SheetLines, Styles]:
    sheet: Any = book.create_sheet(words(language).legend)
    sheet.column_dimensions["A"].width = 24
    sheet.column_dimensions["B"].width = _WIDTH
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    return SheetLines(sheet), Styles(sheet)


def _section(
    sheet: SheetLines, styles: Styles, heading: str, style: str, lines: Sequence[tuple[str, str]]
) -> None:
    if not lines:
        return
    sheet.append([styles.text("section", heading)])
    for left, right in lines:
        cells = [styles.text(style, left), styles.text("plain", right)]
        sheet.append(cells, row_height([(right, _WIDTH)]))
    sheet.append([])


def _note_lines(table: ProtectedTable, language: str) -> list[tuple[str, str]]:
    """Notes, then numbered footnotes."""
    lines = [("", note.text(language)) for note in printed_notes(table)]
    numbered = enumerate(footnotes(table).notes, 1)
    return lines + [(mark((number,)), note.text(language)) for number, note in numbered]


def _about(table: ProtectedTable, language: str) -> list[tuple[str, str]]:
    return [*_note_lines(table, language), *provenance_lines(table, language)]


def _write_language(
    sheet: SheetLines, styles: Styles, table: ProtectedTable, language: str
) -> None:
    text = words(language)
    sheet.append([styles.text("title", table.title(language))])
    sheet.append([])
    signs = [(sign.symbol, sign.meaning) for sign in legend(table, language)]
    _section(sheet, styles, text.legend, "symbol", signs)
    _section(sheet, styles, text.notes, "plain", _note_lines(table, language))
    _section(sheet, styles, text.provenance, "plain", provenance_lines(table, language))
