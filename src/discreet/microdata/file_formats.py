"""Formats of files of records: by name, and by what the bytes say.

In: a path. Out: the name of its format, or an error when the content is not what the name says.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from discreet.errors import MicrodataError
from discreet.microdata.csv_files import is_utf8, is_wide

_SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt"),
    "arrow": (".arrow", ".ipc", ".feather"),
    "stata": (".dta",),
    "spss": (".sav", ".zsav"),
    "sas": (".sas7bdat", ".xpt"),
    "excel": (".xlsx", ".xlsm"),
    "fixed": (".asc", ".asc.gz"),
    "duckdb": (".duckdb", ".db"),
    "cube": (".cube",),
}

#: Names of the formats `read_microdata` reads.
FORMATS = tuple(_SUFFIXES)

_ALIASES = {
    **{"tsv": "csv", "ipc": "arrow", "feather": "arrow", "dta": "stata", "sav": "spss"},
    **{"sas7bdat": "sas", "xpt": "sas", "xlsx": "excel", "xlsm": "excel", "asc": "fixed"},
}

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
            message, hint = f"unknown format {named!r}", f"formats: {', '.join(FORMATS)}"
            raise MicrodataError(message, code="format", where=str(path), hint=hint)
        return chosen
    for file_format, suffixes in _SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return file_format
    message = "unknown file type"
    hint = f"add format=…: {', '.join(FORMATS)}"
    raise MicrodataError(message, code="format", where=str(path), hint=hint)


def check_content(path: Path, expected: str, encoding: str = "utf-8") -> None:
    """Raise an error unless the file's bytes are of the format expected."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(-4, -len(head)), 2)
            tail = file.read()
    except OSError as error:
        message = f"the file cannot be read ({error.strerror})"
        raise MicrodataError(message, code="file", where=str(path)) from None
    if not head:
        hint = "write it again"
        raise MicrodataError("the file is empty", code="file-empty", where=str(path), hint=hint)
    kind = _content(head)
    fits = {"csv": ("text", "gzip"), "fixed": ("text", "gzip")}.get(expected, (expected,))
    if expected in ("csv", "fixed") and not is_utf8(encoding):
        fits = (*fits, "text that is not UTF-8", "text in UTF-16")
    if expected in ("csv", "fixed") and is_wide(encoding):
        fits = (*fits, "binary data of another kind")
    if kind not in fits:
        message = f"not a file of format {expected}; it looks like {_LOOKS.get(kind, kind)}"
        hint = _HINTS.get(kind, "check that the file is complete, or state its true format")
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint)
    if expected == "parquet" and tail != b"PAR1":
        message, hint = "the Parquet file is truncated", "copy or write the file again"
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint)


_LOOKS = {"excel": "a workbook or zip archive"}
_HINTS = {
    "excel": 'for a workbook add format = "excel"; unpack an archive',
    "an old Excel workbook": "save it as .xlsx",
    "a page or document in XML or HTML": "save the table as CSV or .xlsx",
    "text in UTF-16": 'add encoding = "utf-16"',
    "text that is not UTF-8": 'add encoding = "cp1252", or detect it with: discreet detect',
    "an Arrow stream": "write an Arrow file (IPC file format), or Parquet",
    "encrypted Parquet": "decrypt the file first",
    "encrypted partial aggregates": "open them with their key: discreet cube join, with --key-file",
    "gzip": "unpack the file first; only CSV can be compressed",
    "a SQLite database": "give it as a URL: sqlite:///FILE, with table or query",
}

_MAGIC = (
    (b"PAR1", "parquet"),
    (b"DCCUBES1", "cube"),
    (b"DCCUBESX", "encrypted partial aggregates"),
    (b"PARE", "encrypted Parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "excel"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"<?xml", "a page or document in XML or HTML"),
    (b"<html", "a page or document in XML or HTML"),
    (b"<!DOC", "a page or document in XML or HTML"),
    (b"HEADER RECORD*******LIB", "sas"),
    (b"<stata_dta>", "stata"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"SQLite format 3", "a SQLite database"),
    (codecs.BOM_UTF16_LE, "text in UTF-16"),
    (codecs.BOM_UTF16_BE, "text in UTF-16"),
)


#: What a SAS data set begins with, after twelve zero bytes.
_SAS = bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")


def _content(head: bytes) -> str:
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[:32].endswith(_SAS) and not any(head[:12]):
        return "sas"
    if len(head) > 2 and head[0] in _OLD_STATA_VERSIONS and head[1] in (1, 2) and head[2] == 1:
        return "stata"
    if b"\0" in head:
        return "binary data of another kind"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "text that is not UTF-8"
    return "text"
