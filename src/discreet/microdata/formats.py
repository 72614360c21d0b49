"""What kind of file holds the records: by its name, and by its first bytes.

In: a path. Out: the name of its format, or a clear error when the content is not
what the name says.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from discreet.errors import MicrodataError

__all__ = ["FORMATS", "check_content", "format_of"]

_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".txt": "csv",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".dta": "stata",
    ".sav": "spss",
    ".zsav": "spss",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}

#: Names of the formats `read_microdata` reads.
FORMATS = ("parquet", "csv", "arrow", "stata", "spss", "duckdb")

_ALIASES = {"tsv": "csv", "ipc": "arrow", "feather": "arrow", "dta": "stata", "sav": "spss"}

_OLD_STATA_VERSIONS = range(105, 116)
_HEAD = 1 << 16


def format_of(path: Path, named: str | None) -> str:
    """The format of a file: as `named`, else by its suffix.

    >>> format_of(Path("persons.csv.gz"), None)
    'csv'
    """
    if named is not None:
        chosen = _ALIASES.get(named, named)
        if chosen not in FORMATS:
            raise MicrodataError(
                f"there is no format {named!r}",
                code="format",
                where=str(path),
                hint=f"formats: {', '.join(FORMATS)}",
            )
        return chosen
    name = path.name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if name.endswith(suffix):
            return _SUFFIXES[suffix]
    raise MicrodataError(
        "the name of the file does not tell its format",
        code="format",
        where=str(path),
        hint=f"give format=…: {', '.join(FORMATS)}",
    )


def check_content(path: Path, expected: str) -> None:
    """Raise an error unless the file's bytes are of the format expected."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(-4, -len(head)), 2)
            tail = file.read()
    except OSError as error:
        raise MicrodataError(
            f"the file cannot be read ({error.strerror})", code="file", where=str(path)
        ) from None
    if not head:
        raise MicrodataError("the file is empty", code="file-empty", where=str(path))
    found = _content(head)
    fits = {"csv": ("text", "gzip")}.get(expected, (expected,))
    if found not in fits:
        raise MicrodataError(
            f"this is not a file of format {expected}; it looks like {found}",
            code="file-content",
            where=str(path),
            hint=_HINTS.get(found, "check that the file is complete, or name its true format"),
        )
    if expected == "parquet" and tail != b"PAR1":
        raise MicrodataError(
            "the Parquet file is cut off",
            code="file-content",
            where=str(path),
            hint="copy or write the file again",
        )


_HINTS = {
    "a workbook or zip archive": "save the sheet as CSV, or unpack the archive",
    "text in UTF-16": "save the file as CSV in UTF-8",
    "text that is not UTF-8": "convert it, for example: iconv -f LATIN1 -t UTF-8",
    "an Arrow stream": "write an Arrow file (IPC file format), or Parquet",
    "encrypted Parquet": "decrypt the file first",
    "gzip": "unpack the file first; only CSV is read compressed",
    "a SQLite database": "copy its table to Parquet or DuckDB first",
}

_MAGIC = (
    (b"PAR1", "parquet"),
    (b"PARE", "encrypted Parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a workbook or zip archive"),
    (b"<stata_dta>", "stata"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"SQLite format 3", "a SQLite database"),
    (codecs.BOM_UTF16_LE, "text in UTF-16"),
    (codecs.BOM_UTF16_BE, "text in UTF-16"),
)


def _content(head: bytes) -> str:
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[8:12] == b"DUCK":
        return "duckdb"
    if len(head) > 2 and head[0] in _OLD_STATA_VERSIONS and head[1] in (1, 2) and head[2] == 1:
        return "stata"
    if b"\0" in head:
        return "binary data of another kind"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "text that is not UTF-8"
    return "text"
