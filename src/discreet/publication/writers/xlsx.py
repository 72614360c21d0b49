"""XLSX: workbooks of one table or of many.

In: `ProtectedTable`s. Out: a workbook with a sheet per table and a sheet that explains signs,
notes and provenance, first in the language asked for; for many, an index sheet first, with a
line per table. Public.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.hyperlink import Hyperlink

from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import atomic_path
from discreet.publication.description import check_texts, provenance_lines, universe
from discreet.publication.formats import CELL_LIMIT, WriteOptions
from discreet.publication.layout import PageLayout, footnotes, laid_out, lay_out, mark
from discreet.publication.notation import legend
from discreet.publication.notes import printed_notes
from discreet.publication.vocabulary import LANGUAGES, figure_text, words
from discreet.publication.writers.xlsx_sheet import (
    SheetLines,
    Styles,
    TableSheet,
    row_height,
    save,
    set_page_width,
)
from discreet.tables import ProtectedTable

_WIDTHS = {"A": 18, "B": 60, "C": 36, "D": 36, "E": 14, "F": 10}
_TOP = 3


def add_index(
    book: Workbook,
    title: str,
    tables: Sequence[ProtectedTable],
    names: Sequence[str],
    language: str,
) -> None:
    """Add the sheet."""
    text = words(language)
    sheet: Any = book.create_sheet(text.index)
    for letter, width in _WIDTHS.items():
        sheet.column_dimensions[letter].width = width
    sheet.freeze_panes = f"A{_TOP + 1}"
    set_page_width(sheet)
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


_WIDTH = 100


def add_joint_legend(book: Workbook, tables: Sequence[ProtectedTable], language: str) -> None:
    """Add the sheet with the signs of all tables, then the notes and origin of each."""
    lines, styles = _sheet(book, language)
    text = words(language)
    signs = dict.fromkeys(sign for table in tables for sign in legend(table, language))
    # A dash that stands for more in one table than in another is explained for both.
    wider = {text.true_zero, text.rounded_zero} if text.zero in [s.meaning for s in signs] else ()
    shown = [(s.symbol, s.meaning) for s in signs if s.meaning not in wider]
    _section(lines, styles, text.legend, "symbol", shown)
    for table in tables:
        heading = f"{table.name}: {table.title(language)}"
        about = [*_note_lines(table, language), *provenance_lines(table, language)]
        _section(lines, styles, heading, "plain", about)


def _sheet(book: Workbook, language: str) -> tuple[SheetLines, Styles]:
    sheet: Any = book.create_sheet(words(language).legend)
    sheet.column_dimensions["A"].width = 24
    sheet.column_dimensions["B"].width = _WIDTH
    set_page_width(sheet)
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


_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\\/*?:\[\]\x00-\x1f]")
_RESERVED = "history"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the table sheet row by row, then the legend sheet."""
    check_texts(table, options.language)
    layout = laid_out(table, options)
    sheet = TableSheet(layout, options.language, options.labels)
    sheet.check()
    book = Workbook(write_only=True)
    title, body = sheet.write(book, words(options.language).table)
    lines, styles = _sheet(book, options.language)
    others = [one for one in LANGUAGES if one in table.titles and one != options.language]
    for item in (options.language, *others):
        _write_language(lines, styles, table, item)
    save(book, path, {title: body})


def write_many(
    tables: Sequence[ProtectedTable],
    target: Path,
    title: str,
    language: str,
    *,
    complete: bool | None,
    labels: bool,
) -> None:
    """Write the index, a sheet for each table, and their legend; see `write_workbook`."""
    _check_names(tables)
    text = words(language)
    sheets = []
    for table in tables:
        check_texts(table, language)
        layout = lay_out(table, complete=complete, limit=CELL_LIMIT)
        sheets.append(TableSheet(layout, language, labels))
        sheets[-1].check()
    _check_size([sheet.layout for sheet in sheets])
    names = sheet_names([table.name for table in tables], taken=(text.index, text.legend))
    book = Workbook(write_only=True)
    add_index(book, title, tables, names, language)
    bodies = dict(sheet.write(book, name) for sheet, name in zip(sheets, names, strict=True))
    add_joint_legend(book, tables, language)
    with atomic_path(target) as temporary:
        save(book, temporary, bodies)


def _check_names(tables: Sequence[ProtectedTable]) -> None:
    """Tables in one workbook must have different names."""
    names = [table.name for table in tables]
    problems = [
        Problem(f"two tables are called {name!r}", "workbook", "give them different names")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if not names:
        problems = [Problem("a workbook needs a table", "workbook", "give it one or more")]
    raise_all(PublicationError, problems, code="workbook")


def _check_size(layouts: Sequence[PageLayout]) -> None:
    size = sum(rows * columns for rows, columns in (layout.shape for layout in layouts))
    if size > CELL_LIMIT:
        message = f"a workbook holds at most {CELL_LIMIT:,} cells; these tables have {size:,}"
        hint = "write several workbooks, or csv or parquet instead"
        raise PublicationError(message, code="too-large", where="workbook", hint=hint)


def sheet_names(names: Sequence[str], *, taken: Sequence[str] = ()) -> list[str]:
    """A name that spreadsheets allow for each table; all differ, whatever their case.

    >>> sheet_names(["T1", "t1", "Rents: 2024/25", "x" * 40])[1:]
    ['t1 (2)', 'Rents_ 2024_25', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    used = {_RESERVED, *(name.lower() for name in taken)}
    result = []
    for name in names:
        plain = _FORBIDDEN.sub("_", name).strip("' ") or "_"
        safe, number = plain[:_LONGEST_NAME], 1
        while safe.lower() in used:
            number += 1
            ending = f" ({number})"
            safe = plain[: _LONGEST_NAME - len(ending)] + ending
        used.add(safe.lower())
        result.append(safe)
    return result
