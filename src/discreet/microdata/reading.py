"""Reading records.

In: a frame, a file, a folder of Parquet parts or a database. Out: a narwhals frame
of records (confidential). Files are not loaded: they become plans.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError
from discreet.microdata.csv_files import scan_csv
from discreet.microdata.formats import check_content, format_of
from discreet.microdata.frames import NarwhalsFrame, open_frame

__all__ = ["read_microdata"]

_WILD = ("*", "?", "[")


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
    if _is_connection(source):
        from discreet.microdata.databases import relation

        _refuse(format=format, text=text)
        return nw.from_native(relation(source, table, query, "connection"))
    _refuse(format=format, table=table, query=query, text=text)
    return open_frame(source)


def _is_connection(source: Any) -> bool:
    return type(source).__name__ == "DuckDBPyConnection"


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
        from discreet.microdata.statistical_files import read_statistical

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
