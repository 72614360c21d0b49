"""Results: protected cells and tables in the format that the caller asks for.

In: protected cells or a table, public. Out: bytes and their media type. Tables are written by the
writers of the library, to the byte; lists of cells have the same columns without variables.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from discreet.publication import (
    IMPRECISE,
    INAPPLICABLE,
    LIMITED,
    OFFICIAL,
    SUPPRESSED,
    ZERO,
    has_number,
    legend,
    suffix_of,
    symbols,
    write,
)
from discreet.tables import CellStatus, ProtectedTable
from discreet_service.cells.protection import ProtectedCells
from discreet_service.jobs import JobOutput
from discreet_service.problems import ServiceError

#: Media types of results, by format.
RESULT_TYPES: Mapping[str, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "json-stat": "application/vnd.json-stat+json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html; charset=utf-8",
    "px": "text/plain; charset=utf-8",
    "sdmx-csv": "application/vnd.sdmx.data+csv",
}
#: Formats of lists of cells.
LISTS = ("json", "csv", "parquet", "arrow")
_SIGNS: Mapping[int, str] = {
    CellStatus.zero_or_changed_to_zero: ZERO,
    CellStatus.suppressed: SUPPRESSED,
    CellStatus.bracketed: LIMITED,
    CellStatus.official: OFFICIAL,
    CellStatus.not_applicable: INAPPLICABLE,
    CellStatus.imprecise: IMPRECISE,
}
_NAMES = pa.array([status.name for status in CellStatus])


@dataclass(frozen=True, kw_only=True, slots=True)
class CellResult:
    """What is sent back."""

    content: bytes  # the bytes
    media_type: str  # what they are


def chosen_format(asked: str | None, accept: str, *, table: bool) -> str:
    """The format of a result.

    >>> chosen_format(None, "text/csv;q=0.9, */*", table=False)
    'csv'
    """
    offered = tuple(name for name in RESULT_TYPES if table or name in LISTS)
    if asked is not None:
        if asked in offered:
            return asked
    else:
        types = {RESULT_TYPES[name].partition(";")[0]: name for name in reversed(offered)}
        wanted = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
        for item in wanted:
            if item in types:
                return types[item]
            if item in ("*/*", "application/*", ""):
                return "json"
    hint = f"formats: {', '.join(offered)}"
    message = "this format is not offered for these cells"
    raise ServiceError(message, code="unsupported-format", where="format", hint=hint)


def cells_result(cells: ProtectedCells, format: str, language: str) -> CellResult:  # noqa: A002
    """A list of protected cells."""
    if format in ("arrow", "parquet"):
        content = _columns(cells, format, language)
    elif format == "csv":
        content = _csv(cells)
    else:
        content = _json(cells, language)
    return CellResult(content=content, media_type=RESULT_TYPES[format])


def table_result(table: ProtectedTable, format: str, language: str) -> CellResult:  # noqa: A002
    """A protected table, as the library writes it."""
    written = "parquet" if format == "arrow" else format
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{table.name}{suffix_of(written)}"
        content = write(table, path, format=written, language=language).read_bytes()
    if format == "arrow":
        read = pyarrow.parquet.read_table(pa.BufferReader(content))
        content = _stream(read)
    return CellResult(content=content, media_type=RESULT_TYPES[format])


def table_output(table: ProtectedTable, asked: str | None, language: str) -> JobOutput:
    """A protected table as the result of a job."""
    form = chosen_format(asked, "*/*", table=True)
    result = table_result(table, form, language)
    name = f"{table.name}{'.arrow' if form == 'arrow' else suffix_of(form)}"
    return JobOutput(file_name=name, media_type=result.media_type, content=result.content)


def _values(cells: ProtectedCells) -> pl.Series:
    shown = has_number(cells.status)
    values = pl.Series("value", cells.value)
    return values if bool(shown.all()) else values.set(pl.Series(~shown), None)


def _stream(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _columns(cells: ProtectedCells, format: str, language: str) -> bytes:  # noqa: A002
    values = pa.array(cells.value, mask=None if (n := has_number(cells.status)).all() else ~n)
    status = pa.DictionaryArray.from_arrays(pa.array(cells.status), _NAMES)
    about = {key: json.dumps(each, ensure_ascii=False) for key, each in _about(cells, language)}
    schema = pa.schema(
        [("value", values.type), ("status", status.type)], metadata={"language": language, **about}
    )
    table = pa.table([values, status], schema=schema)
    if format == "arrow":
        return _stream(table)
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _csv(cells: ProtectedCells) -> bytes:
    file = io.BytesIO()
    _frame(cells).write_csv(file, line_terminator="\r\n")
    return file.getvalue()


def _frame(cells: ProtectedCells) -> pl.DataFrame:
    names = pl.Series([status.name for status in CellStatus], dtype=pl.String)
    printed = symbols(cells.value, cells.status, cells.decimals)
    return pl.DataFrame(
        {
            "value": _values(cells),
            "status": names.gather(cells.status),
            "symbol": pl.Series(printed, dtype=pl.String),
        }
    )


def _about(cells: ProtectedCells, language: str) -> list[tuple[str, Any]]:
    """Notes and legend, as files of tables have them."""
    wanted = {_SIGNS.get(state) for state in np.unique(cells.status).tolist()}
    notes = [{"kind": note.kind, "text": note.text(language)} for note in cells.notes]
    signs = [
        {"symbol": sign.symbol, "meaning": sign.meaning}
        for sign in legend(language=language)
        if sign.symbol in wanted
    ]
    return [("notes", notes), ("legend", signs)]


def _json(cells: ProtectedCells, language: str) -> bytes:
    rows = _frame(cells).write_json()
    head = json.dumps(dict(_about(cells, language)), ensure_ascii=False)
    return f'{head[:-1]}, "cells": {rows}}}'.encode()
