"""Output formats: their names, what each can hold, and where a file may go.

In: a format and the shape of a table; a path; whatever is to be published. Out: nothing, or
an error with a hint. Nothing but a `ProtectedTable` passes. Public.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.errors import PublicationError
from discreet.files import check_writable
from discreet.tables import ProtectedTable

__all__ = [
    "CELL_LIMIT",
    "FILE_COMPLETE_LIMIT",
    "FORMATS",
    "check_place",
    "check_protected",
    "check_shape",
    "format_of",
    "place_of",
    "suffix_of",
]

#: Formats that tables can be written in.
FORMATS = ("csv", "parquet", "json", "xlsx", "html", "px", "json-stat", "sdmx-csv")

#: Pages and workbooks hold at most this many cells.
CELL_LIMIT = 5_000_000

#: Files list the complete grid of tables of at most so many cells, unless asked otherwise.
FILE_COMPLETE_LIMIT = 100_000

#: Rows and columns of a sheet, headings included.
SHEET_ROWS = 1_048_576
SHEET_COLUMNS = 16_384

_LAID_OUT = ("xlsx", "html", "px")
_ALIASES = {"htm": "html", "jsonstat": "json-stat"}
_DOUBLE = {".jsonstat.json": "json-stat", ".sdmx.csv": "sdmx-csv"}
_HINT = "write csv or parquet instead, or publish fewer codes"


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002 - the word users know
    """The format named, or that of the path's suffix.

    >>> format_of(Path("T1.HTM")), format_of(Path("T1.sdmx.csv"))
    ('html', 'sdmx-csv')
    """
    double = "".join(path.suffixes[-2:]).lower()
    found = _DOUBLE.get(double, path.suffix.removeprefix("."))
    named = (found if format is None else format).lower()
    chosen = _ALIASES.get(named, named)
    if chosen not in FORMATS:
        what = f"{named!r} is not a format" if named else "the file name has no suffix"
        raise PublicationError(
            what,
            code="format",
            where=str(path),
            hint=f"formats: {', '.join(FORMATS)}",
        )
    return chosen


def suffix_of(format: str) -> str:  # noqa: A002
    """What the name of a file of a format ends with.

    >>> [suffix_of(name) for name in ("csv", "px", "json-stat", "sdmx-csv")]
    ['.csv', '.px', '.jsonstat.json', '.sdmx.csv']
    """
    chosen = format_of(Path("table"), format)
    return next((suffix for suffix, name in _DOUBLE.items() if name == chosen), f".{chosen}")


def check_shape(format: str, rows: int, columns: int, *, where: str = "") -> None:  # noqa: A002
    """Raise an error if a format cannot hold so many rows and columns.

    Args:
        format: One of `FORMATS`.
        rows: Number of rows, headings included.
        columns: Number of columns, headings included.
        where: Table or file to name in the error.

    >>> check_shape("parquet", 10**9, 5)
    >>> check_shape("xlsx", 2_000_000, 2)
    Traceback (most recent call last):
        ...
    discreet.errors.PublicationError: [too-large] a sheet holds at most 1,048,576 rows; ...
    """
    if format not in _LAID_OUT:
        return
    what = ""
    if rows * columns > CELL_LIMIT:
        what = f"{format} holds at most {CELL_LIMIT:,} cells; this table has {rows * columns:,}"
    if format == "xlsx" and columns > SHEET_COLUMNS:
        what = f"a sheet holds at most {SHEET_COLUMNS:,} columns; this table has {columns:,}"
    if format == "xlsx" and rows > SHEET_ROWS:
        what = f"a sheet holds at most {SHEET_ROWS:,} rows; this table has {rows:,}"
    if what:
        raise PublicationError(what, code="too-large", where=where, hint=_HINT)


def check_protected(table: object) -> None:
    """Raise an error unless this is a protected table."""
    if isinstance(table, ProtectedTable):
        return
    raise PublicationError(
        f"a {type(table).__name__} cannot be published, only a ProtectedTable",
        code="not-protected",
        hint="a Table is confidential; protect it first, for example with discreet.perturb",
    )


def place_of(path: Any) -> Path:
    """Where a file is to be written."""
    if not isinstance(path, str | os.PathLike):
        raise PublicationError(
            f"the name of a file is needed, this is a {type(path).__name__}",
            code="output-file",
            where="path",
        )
    return Path(path)


def check_place(target: Path) -> None:
    """Raise an error unless a file can be written there."""
    check_writable(target.parent)
    if target.is_dir():
        raise PublicationError(
            "this is a folder; it is not overwritten with a file",
            code="output-file",
            where=str(target),
            hint="name a file",
        )
