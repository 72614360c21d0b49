"""XLSX: workbooks of one table or of many.

In: `ProtectedTable`s. Out: a workbook with a sheet per table and a sheet that explains
them; for many, an index sheet first. Public.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openpyxl import Workbook

from discreet.errors import Problem, PublicationError
from discreet.files import atomic_path
from discreet.publication.description import check_texts
from discreet.publication.index_sheet import add_index
from discreet.publication.layout import Layout, lay_out
from discreet.publication.legend_sheet import add_joint_legend, add_legend
from discreet.publication.limits import CELL_LIMIT
from discreet.publication.sheet_cells import save
from discreet.publication.table_sheet import TableSheet
from discreet.publication.words import words
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.writing import Options

__all__ = ["sheet_names", "write_file", "write_many"]

_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\\/*?:\[\]\x00-\x1f]")
_RESERVED = "history"


def write_file(table: ProtectedTable, path: Path, options: Options) -> None:
    """Write the table sheet row by row, then the legend sheet."""
    check_texts(table, options.language)
    layout = lay_out(
        table,
        rows=options.rows,
        columns=options.columns,
        complete=options.complete,
        limit=CELL_LIMIT,
    )
    sheet = TableSheet(layout, options.language, options.labels)
    sheet.check()
    book = Workbook(write_only=True)
    title, body = sheet.write(book, words(options.language).table)
    add_legend(book, table, options.language)
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
    if problems:
        first = problems[0]
        raise PublicationError(
            first.what, code="workbook", where=first.where, hint=first.hint, problems=problems
        )


def _check_size(layouts: Sequence[Layout]) -> None:
    size = sum(rows * columns for rows, columns in (layout.shape for layout in layouts))
    if size > CELL_LIMIT:
        raise PublicationError(
            f"a workbook holds at most {CELL_LIMIT:,} cells; these tables have {size:,}",
            code="too-large",
            where="workbook",
            hint="write several workbooks, or csv or parquet instead",
        )


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
