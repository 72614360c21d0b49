"""Workbooks of many tables: the way in, which loads what it needs when it is called.

In: `ProtectedTable`s and a path. Out: one XLSX file. Public.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from discreet.errors import PublicationError
from discreet.publication.limits import format_of
from discreet.publication.notation import check_values
from discreet.publication.protection import check_place, check_protected, place_of
from discreet.publication.words import words
from discreet.tables import ProtectedTable

__all__ = ["write_workbook"]


def write_workbook(
    tables: Iterable[ProtectedTable],
    path: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    language: str = "en",
    complete: bool | None = None,
    labels: bool = True,
) -> Path:
    """Write many tables to one workbook: an index, a sheet for each, their legend.

    Args:
        tables: The tables.
        path: Where to write the workbook.
        title: Heading of the index, as text or language → text.
        language: "en" or "de".
        complete: True for whole grids with their zeros, False without the rows and
            columns in which everything is zero; None leaves it to the size of each grid.
        labels: Write labels beside codes.

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book = write_workbook([census_example()], Path(folder) / "all.xlsx", title="Census")
    ...     book.name
    'all.xlsx'
    """
    target = place_of(path)
    if isinstance(tables, ProtectedTable) or not isinstance(tables, Iterable):
        raise PublicationError(
            "a list of protected tables is needed",
            code="workbook",
            where="tables",
            hint="a single table writes itself: table.write(…)",
        )
    if format_of(target, None) != "xlsx":
        what = "a workbook is an xlsx file"
        raise PublicationError(what, code="format", where=target.name, hint="name it ….xlsx")
    listed = list(tables)
    words(language)
    for table in listed:
        check_protected(table)
        check_values(table)
    check_place(target)
    heading = title if isinstance(title, str) else _translated(title, language)
    # Loads openpyxl, which no other format needs.
    workbook = importlib.import_module("discreet.publication.workbook")
    workbook.write_many(listed, target, heading, language, complete=complete, labels=labels)
    return target


def _translated(title: Mapping[str, str], language: str) -> str:
    return title.get(language) or next(iter(title.values()), "")
