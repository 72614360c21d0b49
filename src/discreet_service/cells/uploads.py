"""Uploads: files of cells or records (CONFIDENTIAL) as people have them, read as the command line
reads them: CSV whose encoding and marks are detected, Excel, SAS, SPSS, Stata, Parquet. Nothing is
kept. Formats whose readers a broken file could bring down are read by a process of their own.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DiscreetError, MicrodataError, Problem, raise_all
from discreet.microdata import format_of, read_microdata
from discreet_service.cells.bodies import BodyKind, RowLimit, checked, read_body
from discreet_service.problems import ServiceError

#: Ends of names of files that pages take, by which their formats are told.
UPLOAD_ENDS = (
    *(".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".sas7bdat", ".xpt", ".sav", ".zsav", ".dta"),
    *(".parquet", ".pq"),
)
#: Of what can be said on how a file is read, that which names other files, or shows values.
_NOT_HERE = ("metadata", "show_values")
#: Bytes that the process of a file may take, and write, and seconds that it has.
_MEMORY, _WRITTEN, _SECONDS = 4 * 10**9, 5 * 10**8, 60


def read_upload(content: bytes, name: str, reading: str, limit: RowLimit) -> pl.DataFrame:
    r"""The rows of a file, all as texts.

    Args:
        content: What the file holds. CONFIDENTIAL
        name: Its name, whose end tells its format.
        reading: How it is read, as in the section [data] of a programme, where that cannot be
            detected.
        limit: How many rows it may have.

    >>> read_upload(b"sex;v\nm;1.234,5\n", "a.csv", "", RowLimit(9)).rows()
    [('m', '1234.5')]
    """
    if not name.lower().endswith(UPLOAD_ENDS):
        hint = f"files: {', '.join(UPLOAD_ENDS)}"
        raise ServiceError("unknown file type", "unsupported-media-type", "file", hint)
    stated, kind = _stated(reading), format_of(Path(name), None)
    if kind == "parquet" and not stated:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            rows = read_body(file, BodyKind.parquet, limit).frame.write_csv().encode()
        return _texts(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{Path(name).suffix.lower()}"
        path.write_bytes(content)
        try:
            rows = _read(path, stated) if kind in ("csv", "parquet") else _read_apart(path, stated)
        except DiscreetError as error:
            problems = [
                Problem(one.what, one.where.replace(str(path), name), one.hint)
                for one in error.problems
            ]
            many = "{} problems with the file"
            raise_all(ServiceError, problems, code="invalid-body", many=many, where="file")
            raise AssertionError from None
    return checked(_texts(rows), limit)


def _stated(reading: str) -> dict[str, Any]:
    try:
        stated = tomllib.loads(reading)
    except (tomllib.TOMLDecodeError, RecursionError):
        hint = 'one key per line, such as decimal = ","'
        raise ServiceError("not valid TOML", "invalid-input", "reading", hint) from None
    for key in _NOT_HERE:
        if key in stated:
            raise ServiceError("unknown option", "invalid-input", f"reading.{key}")
    return stated


def _read(path: Path, stated: dict[str, Any]) -> bytes:
    rows: pl.DataFrame = read_microdata(path, detect=True, **stated).lazy().collect().to_native()
    return rows.write_csv().encode()


def _texts(rows: bytes) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(rows), infer_schema=False)


def _read_apart(path: Path, stated: dict[str, Any]) -> bytes:
    """The same in a process of its own, whose memory and time are limited."""
    call = [sys.executable, "-m", __name__, str(path), json.dumps(stated)]
    try:
        done = subprocess.run(call, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        done = None
    rows = path.with_suffix(".rows")
    if rows.exists():
        return rows.read_bytes()
    try:
        told = json.loads(done.stdout if done is not None else b"")
    except ValueError:
        hint = "check that the file is complete, or write it as CSV or Parquet"
        told = [("the file cannot be read", str(path), hint)]
    problems = [Problem(*one) for one in told]
    raise MicrodataError("the file cannot be read", code="file-content", problems=problems)


def _main(path: Path, stated: dict[str, Any]) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_WRITTEN, _WRITTEN))
    try:
        rows = _read(path, stated)
    except DiscreetError as error:
        problems = [(one.what, one.where, one.hint) for one in error.problems]
        sys.stdout.write(json.dumps(problems))
    else:
        part = path.with_suffix(".part")
        part.write_bytes(rows)
        part.rename(path.with_suffix(".rows"))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), json.loads(sys.argv[2]))
