"""Files of records, folders of Parquet parts, DuckDB databases. CONFIDENTIAL.

In: a path, and `ReadingOptions`. Out: a narwhals frame of records, or a clear error when a
file's content is not what its name says. Files are not loaded: they become plans; but for those
of Stata, SPSS, SAS and Excel, and of fixed width or in another encoding than UTF-8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.errors import MicrodataError
from discreet.microdata.csv_files import scan_csv
from discreet.microdata.cube_files import DistantCubes
from discreet.microdata.file_formats import check_content, format_of
from discreet.microdata.frames import NarwhalsFrame, open_frame
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.stated_columns import StatedColumns, adapted, record_place
from discreet.plugins import plugin

_WILD = ("*", "?", "[")


def refuse_options(**options: Any) -> None:
    """Raise an error if one of these, which say nothing about a source, is given."""
    stated = [name for name, value in options.items() if value]
    if stated:
        message = "options do not apply to this source"
        hint = "use format for files, table and query for databases"
        raise MicrodataError(message, code="option", where=", ".join(stated), hint=hint)


def typed_records(
    frame: pl.DataFrame | pl.LazyFrame, options: ReadingOptions, where: str
) -> NarwhalsFrame:
    """Records that have types of their own, as they are stated."""
    opened = open_frame(frame.lazy())
    if not options.given:
        return opened
    columns = StatedColumns(
        plan=opened.to_native(),
        options=options,
        place=record_place(where),
        where=where,
        found=False,
    )
    return open_frame(columns.typed())


def read_path(
    path: Path, named: str | None, table: str | None, query: str | None, options: ReadingOptions
) -> NarwhalsFrame:
    """Read a file, a folder or a pattern of Parquet parts, or a DuckDB database."""
    if not path.exists() and any(mark in str(path) for mark in _WILD):
        if named == "cube" or path.name.lower().endswith(".cube"):
            return _read_cubes(matching(path), path, options)
        return _read_parts(matching(path), path, named, table, query, options)
    if not path.exists():
        message = "file not found"
        hint = f"current folder: {Path.cwd()}" if not path.is_absolute() else "check the path"
        raise MicrodataError(message, code="file-missing", where=str(path), hint=hint)
    if path.is_dir():
        parts = [
            part
            for part in path.rglob("*.parquet")
            if part.is_file()
            and not any(name.startswith((".", "_")) for name in part.relative_to(path).parts)
        ]
        return _read_parts(sorted(parts), path, named, table, query, options)
    file_format = format_of(path, named)
    check_content(path, file_format, options.encoding)
    options.refuse(file_format, str(path))
    if file_format == "duckdb":
        from discreet.microdata.databases import open_database, relation

        opened: NarwhalsFrame = nw.from_native(
            relation(open_database(path), table, query, str(path))
        )
        return adapted(opened, options, str(path))
    refuse_options(table=table, query=query)
    if file_format == "csv":
        return nw.from_native(scan_csv(path, options))
    if file_format == "cube":
        return _read_cubes([path], path, options)
    if file_format == "excel":
        from discreet.microdata.workbooks import read_sheet

        sheet = read_sheet(path, options)
        columns = StatedColumns(
            plan=sheet.texts.lazy(),
            options=options,
            place=sheet.place,
            where=sheet.where,
            found=True,
        )
        return open_frame(columns.typed())
    if file_format == "fixed":
        records = plugin("records", file_format).read_records_file(path, options)
    elif file_format in ("parquet", "arrow"):
        plan = _opened(_scan(path, file_format), path)
        if not options.given:
            return plan
        records = plan.to_native()
    else:
        from discreet.microdata.statistical_files import read_statistical

        records = read_statistical(path, file_format)
    return typed_records(records, options, str(path))


def _read_cubes(paths: list[Path], place: Path, options: ReadingOptions) -> NarwhalsFrame:
    options.refuse("cube", str(place))
    if not paths:
        message, hint = "no partial aggregates here", "build them with: discreet cube make"
        raise MicrodataError(message, code="file-missing", where=str(place), hint=hint)
    return DistantCubes.of_paths(paths).plan()


def _scan(path: Path, file_format: str) -> pl.LazyFrame:
    if file_format == "arrow":
        return pl.scan_ipc(path, glob=False, hive_partitioning=False)
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _opened(plan: pl.LazyFrame, path: Path) -> NarwhalsFrame:
    """The plan, once its columns are known."""
    try:
        plan.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        message = f"the columns cannot be read ({type(error).__name__})"
        hint = (
            "check that the file is complete, its column names are unique, and all parts "
            "have the same columns"
        )
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint) from None
    return open_frame(plan)


def matching(pattern: Path) -> list[Path]:
    """The files of a pattern; or the file itself."""
    if pattern.is_file():
        return [pattern]
    root = Path(pattern.anchor) if pattern.is_absolute() else Path()
    inner = pattern.relative_to(root) if pattern.is_absolute() else pattern
    return sorted(path for path in root.glob(str(inner)) if path.is_file())


def _read_parts(
    files: list[Path],
    place: Path,
    named: str | None,
    table: str | None,
    query: str | None,
    options: ReadingOptions,
) -> NarwhalsFrame:
    """Parquet parts in the order of their names, with the columns their folders name."""
    refuse_options(table=table, query=query)
    options.refuse("parquet", str(place))
    if not files:
        message = "no Parquet files here"
        hint = "a folder or pattern of several files works for Parquet"
        raise MicrodataError(message, code="file-missing", where=str(place), hint=hint)
    for file in files:
        if format_of(file, named) != "parquet":
            message = "only Parquet files can have several parts"
            raise MicrodataError(message, code="format", where=str(file), hint="name one file")
        check_content(file, "parquet")
    first = _opened(_scan(files[0], "parquet"), files[0]).collect_schema()
    for file in files[1:]:
        if _opened(_scan(file, "parquet"), file).collect_schema() != first:
            message = f"its columns differ from those of {files[0].name}"
            hint = f"all parts of {place} need the same columns with the same types"
            raise MicrodataError(message, code="parts-differ", where=str(file), hint=hint)
    # Values in folder names (region=01) stay texts.
    folders = files[0].relative_to(place).parts[:-1] if place.is_dir() else ()
    schema = {part.partition("=")[0]: pl.String() for part in folders if "=" in part}
    if schema:
        whole = pl.scan_parquet(place, hive_partitioning=True, hive_schema=schema)
    else:
        whole = pl.scan_parquet(files, glob=False, hive_partitioning=False)
    plan = _opened(whole, place)
    return typed_records(plan.to_native(), options, str(place)) if options.given else plan
