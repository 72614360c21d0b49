"""Reading records: frames, files, folders of Parquet parts, databases. CONFIDENTIAL.

In: a frame, a path or a connection. Out: a narwhals frame of records, or a clear error
when a file's content is not what its name says. Files are not loaded: they become
plans; but for those of Stata and SPSS (optional extra `stat`), whose codes are read
without value labels.
"""

from __future__ import annotations

import codecs
import importlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.confidential import without_values
from discreet.errors import MicrodataError
from discreet.microdata.csv_files import scan_csv
from discreet.microdata.frames import NarwhalsFrame, open_frame

_SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt"),
    "arrow": (".arrow", ".ipc", ".feather"),
    "stata": (".dta",),
    "spss": (".sav", ".zsav"),
    "duckdb": (".duckdb", ".db"),
}

#: Names of the formats `read_microdata` reads.
FORMATS = tuple(_SUFFIXES)

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
    for file_format, suffixes in _SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return file_format
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


_EXACT = 2**53


def read_statistical(path: Path, file_format: str) -> pl.DataFrame:
    """Read a Stata or SPSS file."""
    try:
        pyreadstat = importlib.import_module("pyreadstat")
    except ImportError:
        raise MicrodataError(
            "Stata and SPSS files need the package pyreadstat",
            code="missing-package",
            where=str(path),
            hint="pip install 'discreet[stat]'",
        ) from None
    read = pyreadstat.read_dta if file_format == "stata" else pyreadstat.read_sav
    try:
        frame, _ = read(str(path), output_format="polars", apply_value_formats=False)
    except Exception as error:
        # The package raises bare exceptions whose texts may quote the file.
        raise MicrodataError(
            f"the file cannot be read ({type(error).__name__})",
            code="file-content",
            where=str(path),
            hint="check that the file is complete",
        ) from None
    return _whole_numbers(frame)


def _whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Float columns without a fraction, as whole numbers; NaN is a missing value."""
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    cleaned = frame.with_columns(pl.col(name).fill_nan(None) for name in floats)
    whole = [
        name
        for name in floats
        if cleaned.select(
            ((pl.col(name) == pl.col(name).round()) & (pl.col(name).abs() <= _EXACT)).all()
        ).item()
    ]
    return cleaned.with_columns(pl.col(name).cast(pl.Int64) for name in whole)


_WILD = ("*", "?", "[")


@without_values
def read_microdata(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    table: str | None = None,
    query: str | None = None,
    text: Collection[str] = (),
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Read records, whatever holds them.

    Args:
        source: A polars, pandas, pyarrow, DuckDB or PySpark frame; a path (Parquet, CSV,
            Arrow, Stata, SPSS, DuckDB); a folder or pattern of Parquet parts; or an
            open DuckDB connection.
        format: Format of the file, if its name does not tell: parquet, csv, arrow,
            stata, spss, duckdb.
        table: Table of the database.
        query: SELECT statement to run in the database, instead of a table.
        text: Columns of a CSV file to keep as text, even if they hold numbers only.

    >>> read_microdata(pl.DataFrame({"sex": ["m", "w"]})).columns
    ['sex']
    """
    if isinstance(text, str):
        raise MicrodataError("text needs a list of column names", code="option", where="text")
    if isinstance(source, str | os.PathLike):
        return _read_path(Path(source), format, table, query, text)
    if type(source).__name__ == "DuckDBPyConnection":
        from discreet.microdata.databases import relation

        _refuse(format=format, text=text)
        return nw.from_native(relation(source, table, query, "connection"))
    _refuse(format=format, table=table, query=query, text=text)
    return open_frame(source)


def _refuse(**options: Any) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise MicrodataError(
            "options do not apply to this source",
            code="option",
            where=", ".join(given),
            hint="format and text are for files, table and query for databases",
        )


def _read_path(
    path: Path, named: str | None, table: str | None, query: str | None, text: Collection[str]
) -> NarwhalsFrame:
    if not path.exists() and any(mark in str(path) for mark in _WILD):
        return _read_parts(_matching(path), path, named, table, query, text)
    if not path.exists():
        raise MicrodataError(
            "there is no such file",
            code="file-missing",
            where=str(path),
            hint=f"looked from {Path.cwd()}" if not path.is_absolute() else "check the path",
        )
    if path.is_dir():
        return _read_parts(_inside(path), path, named, table, query, text)
    file_format = format_of(path, named)
    check_content(path, file_format)
    if file_format != "duckdb":
        _refuse(table=table, query=query)
    if file_format == "duckdb":
        from discreet.microdata.databases import open_database, relation

        _refuse(text=text)
        return nw.from_native(relation(open_database(path), table, query, str(path)))
    if file_format == "csv":
        return nw.from_native(scan_csv(path, text))
    if file_format in ("stata", "spss"):
        return open_frame(read_statistical(path, file_format).lazy())
    return _opened(_scan(path, file_format), path)


def _scan(path: Path, file_format: str) -> pl.LazyFrame:
    if file_format == "arrow":
        return pl.scan_ipc(path, glob=False, hive_partitioning=False)
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _opened(plan: pl.LazyFrame, path: Path) -> NarwhalsFrame:
    """The plan, once its columns are known."""
    try:
        plan.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise MicrodataError(
            f"the columns cannot be read ({type(error).__name__})",
            code="file-content",
            where=str(path),
            hint="is the file complete, are its column names unique, do all parts have the same?",
        ) from None
    return open_frame(plan)


def _matching(pattern: Path) -> list[Path]:
    root = Path(pattern.anchor) if pattern.is_absolute() else Path()
    inner = pattern.relative_to(root) if pattern.is_absolute() else pattern
    return sorted(path for path in root.glob(str(inner)) if path.is_file())


def _inside(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _read_parts(
    files: list[Path],
    place: Path,
    named: str | None,
    table: str | None,
    query: str | None,
    text: Collection[str],
) -> NarwhalsFrame:
    """Parquet parts in the order of their names, with the columns their folders name."""
    _refuse(table=table, query=query, text=text)
    if not files:
        raise MicrodataError(
            "there are no Parquet files here",
            code="file-missing",
            where=str(place),
            hint="a folder or pattern of several files works for Parquet",
        )
    for file in files:
        if format_of(file, named) != "parquet":
            raise MicrodataError(
                "only Parquet can be read in several parts",
                code="format",
                where=str(file),
                hint="name one file",
            )
        check_content(file, "parquet")
    _check_parts(files, place)
    root = place if place.is_dir() else None
    return _opened(_scan_parts(files, root), place)


def _check_parts(files: list[Path], place: Path) -> None:
    """All parts have the columns, and their types, of the first."""
    first = _opened(_scan(files[0], "parquet"), files[0]).collect_schema()
    for file in files[1:]:
        if _opened(_scan(file, "parquet"), file).collect_schema() != first:
            raise MicrodataError(
                f"its columns are not those of {files[0].name}",
                code="parts-differ",
                where=str(file),
                hint=f"all parts of {place} need the same columns with the same types",
            )


def _scan_parts(files: list[Path], root: Path | None) -> pl.LazyFrame:
    """Values in folder names (region=01) stay texts."""
    folders = files[0].relative_to(root).parts[:-1] if root else ()
    schema = {part.partition("=")[0]: pl.String() for part in folders if "=" in part}
    if not schema or root is None:
        return pl.scan_parquet(files, glob=False, hive_partitioning=False)
    return pl.scan_parquet(root, hive_partitioning=True, hive_schema=schema)
