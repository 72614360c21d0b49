"""`read_microdata`: records, whatever holds them. CONFIDENTIAL.

In: a frame, a path, a URL or a connection, and how it is to be read. Out: a narwhals frame of
records.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.confidential import without_values
from discreet.microdata.detection import detect_reading
from discreet.microdata.files import read_path, refuse_options, typed_records
from discreet.microdata.frames import NarwhalsFrame, open_frame
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.sql_databases import is_url, read_sql, shown_url
from discreet.microdata.stated_columns import adapted


@without_values
def read_microdata(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    table: str | None = None,
    query: str | None = None,
    options: ReadingOptions | None = None,
    detect: bool = False,
    **stated: Any,
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Read records, whatever holds them.

    Args:
        source: A polars, pandas, pyarrow, DuckDB or PySpark frame; a path (CSV, Excel, Parquet,
            Arrow, SAS, Stata, SPSS, fixed width with its .rda, DuckDB); a folder or pattern of
            Parquet parts; the URL of a database; or an open DuckDB connection.
        format: Format of the file, if its name does not tell: parquet, csv, arrow,
            stata, spss, sas, excel, fixed, duckdb.
        table: Table of the database.
        query: SELECT statement to run in the database, instead of a table.
        options: How the file is to be read, as `detect_reading` gives it.
        detect: Find out what is not stated; what can be read in two ways is an error.
        stated: The fields of `ReadingOptions`, over those of `options`: null_values,
            decimal, thousands, encoding, separator, trim, skip, header, columns, sheet,
            metadata, text, types, rename, recode, show_values.

    >>> import polars as pl
    >>> read_microdata(pl.DataFrame({"sex": ["m", "w"]})).columns
    ['sex']
    >>> people = pl.DataFrame({"GESCHL": ["1", "9"]})
    >>> read_microdata(people, rename={"GESCHL": "sex"}, null_values=["9"]).to_native().rows()
    [('1',), (None,)]
    """
    named = isinstance(source, str | os.PathLike)
    connection = type(source).__name__ == "DuckDBPyConnection"
    if not (named or connection or stated or options or format or table or query):
        return open_frame(source)
    reading = ReadingOptions.of(stated, options)
    if isinstance(source, str) and is_url(source):
        reading.refuse("sql", shown_url(source))
        refuse_options(format=format)
        return typed_records(read_sql(source, table, query), reading, shown_url(source))
    if named:
        path = Path(source)
        if detect:
            refuse_options(table=table, query=query)
            reading = detect_reading(path, format=format, options=options, **stated).stated()
        return read_path(path, format, table, query, reading)
    reading.refuse("frame", "a frame")
    if connection:
        from discreet.microdata.databases import relation

        refuse_options(format=format)
        opened: NarwhalsFrame = nw.from_native(relation(source, table, query, "connection"))
        return adapted(opened, reading, "connection")
    refuse_options(format=format, table=table, query=query)
    return adapted(open_frame(source), reading, "the frame")
