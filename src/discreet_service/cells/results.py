"""Results: protected cells and tables as bytes of a format. Public. Tables are written by the
library; lists of cells have the same columns without variables.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from discreet.arrays import FloatArray, IntArray
from discreet.protection.noise import NON_ADDITIVITY
from discreet.publication import (
    has_number,
    signs_of,
    suffix_of,
    symbols,
    write,
)
from discreet.tables import CellStatus, Note, ProtectedTable
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ProtectedCells:
    """Protected cells, in the order in which they were handed in. Public."""

    value: IntArray | FloatArray  # their figures; 0 where none is published
    status: npt.NDArray[np.int8]  # `CellStatus` of each
    decimals: int  # digits with which figures are printed
    notes: tuple[Note, ...] = (NON_ADDITIVITY,)  # what readers are told


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
    message = "format not available for these cells"
    raise ServiceError(message, "unsupported-format", "format", hint)


def cells_output(cells: ProtectedCells, form: str, language: str) -> JobOutput:
    """A list of protected cells."""
    shown = has_number(cells.status)
    names = [status.name for status in CellStatus]
    states = np.unique(cells.status).tolist()
    # Notes and legend, as files of tables have them.
    about = {
        "notes": [{"kind": note.kind, "text": note.text(language)} for note in cells.notes],
        "legend": [
            {"symbol": sign.symbol, "meaning": sign.meaning}
            for state, sign in signs_of(None, language).items()
            if state in states
        ],
    }
    if form in ("arrow", "parquet"):
        values = pa.array(cells.value, mask=None if shown.all() else ~shown)
        status = pa.DictionaryArray.from_arrays(pa.array(cells.status), pa.array(names))
        texts = {name: json.dumps(each, ensure_ascii=False) for name, each in about.items()}
        schema = pa.schema(
            [("value", values.type), ("status", status.type)],
            metadata={"language": language, **texts},
        )
        content = _columns(pa.table([values, status], schema=schema), form)
    else:
        series = pl.Series("value", cells.value)
        printed = symbols(cells.value, cells.status, cells.decimals)
        frame = pl.DataFrame(
            {
                "value": series if shown.all() else series.set(pl.Series(~shown), None),
                "status": pl.Series(names, dtype=pl.String).gather(cells.status),
                "symbol": pl.Series(printed, dtype=pl.String),
            }
        )
        if form == "csv":
            content = frame.write_csv(line_terminator="\r\n").encode()
        else:
            head = json.dumps(about, ensure_ascii=False)
            content = f'{head[:-1]}, "cells": {frame.write_json()}}}'.encode()
    return JobOutput(file_name=f"cells.{form}", media_type=RESULT_TYPES[form], content=content)


def table_output(table: ProtectedTable, form: str, language: str) -> JobOutput:
    """A protected table, as the library writes it."""
    written = "parquet" if form == "arrow" else form
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{table.name}{suffix_of(written)}"
        content = write(table, path, format=written, language=language).read_bytes()
    if form == "arrow":
        content = _columns(pyarrow.parquet.read_table(pa.BufferReader(content)), form)
    name = f"{table.name}{'.arrow' if form == 'arrow' else suffix_of(form)}"
    return JobOutput(file_name=name, media_type=RESULT_TYPES[form], content=content)


def _columns(table: Any, form: str) -> bytes:
    sink = pa.BufferOutputStream()
    if form == "arrow":
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    else:
        pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())
