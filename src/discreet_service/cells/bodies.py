"""Bodies of cells (CONFIDENTIAL): JSON, CSV, Parquet or an Arrow stream as a frame. Sizes are
looked up before anything is unpacked; no error quotes what was sent, not even names of columns.
"""

from __future__ import annotations

import io
import json
import mmap
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from discreet_service.problems import ServiceError


class BodyKind(StrEnum):
    """Format of a body with cells."""

    json = "json"
    csv = "csv"
    parquet = "parquet"
    arrow = "arrow"


#: Media types of bodies.
BODY_TYPES: Mapping[str, BodyKind] = {
    "application/json": BodyKind.json,
    "text/csv": BodyKind.csv,
    "application/vnd.apache.parquet": BodyKind.parquet,
    "application/vnd.apache.arrow.stream": BodyKind.arrow,
}

#: Columns of a body, at most.
MOST_COLUMNS = 100
#: Row groups and record batches of a body, at most.
_MOST_PIECES = 20_000
#: Bytes of a value in its widest form, with what stands around it.
_WIDEST = 64
#: Bytes of a text, and of all texts of a column together, at most.
_LONGEST_TEXT, _MOST_TEXT = 1_000, 10**9


@dataclass(frozen=True, repr=False, eq=False)
class HandedIn:
    """Content of a body. CONFIDENTIAL."""

    frame: pl.DataFrame  # the cells, in the order of the caller
    members: Mapping[str, Any] = field(default_factory=dict)  # what else a JSON body says


def body_kind(content_type: str) -> BodyKind:
    """The kind of a body by its media type.

    >>> body_kind("Application/JSON; charset=utf-8")
    <BodyKind.json: 'json'>
    """
    kind = BODY_TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        hint = f"media types: {', '.join(BODY_TYPES)}"
        message = "unknown media type of the body"
        raise ServiceError(message, "unsupported-media-type", "content-type", hint)
    return kind


@dataclass(frozen=True, slots=True)
class RowLimit:
    """Limit on the number of rows."""

    most: int  # so many
    rows: str = "cells"  # what they are; JSON calls them so


def read_body(file: IO[bytes], kind: BodyKind, limit: RowLimit) -> HandedIn:
    """The cells of a body, or its records."""
    try:
        found = _READERS[kind](file, limit)
    except (ServiceError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException):  # of all readers; their texts hold data
        raise _unreadable(kind) from None
    checked(found.frame, limit)
    return found


def checked(frame: pl.DataFrame, limit: RowLimit) -> pl.DataFrame:
    """These rows, after a check of their number, columns and texts."""
    check_number(frame.height, limit)
    _check_width(frame.width)
    # Long texts can be small in a file and fill the memory when they are repeated.
    for series in frame.get_columns():
        if series.dtype == pl.String:
            lengths = series.str.len_bytes()
            _check_texts(lengths.max(), lengths.sum())
    return frame


def check_number(number: int, limit: RowLimit) -> None:
    """Raise an error if there are more rows than one call may have."""
    if number > limit.most:
        message = f"too many {limit.rows} for one call"
        hint = "use several calls" if limit.rows == "cells" else "use a programme"
        rows, most = limit.rows, limit.most
        raise ServiceError(message, "too-many-cells", rows, hint, limit=most, actual=number)


def _check_texts(longest: Any, together: Any) -> None:
    if (longest or 0) > _LONGEST_TEXT:
        raise ServiceError(f"a text has more than {_LONGEST_TEXT} bytes", "invalid-body", "cells")
    if together > _MOST_TEXT:
        raise _bomb()


def _unreadable(kind: BodyKind) -> ServiceError:
    message = f"the body is not valid {kind.value}"
    return ServiceError(message, "invalid-body", "body", _HINTS[kind])


_HINTS: Mapping[BodyKind, str] = {
    BodyKind.json: 'such as {"cells": [{"n": 3, "key": 250000000000000}]}, in UTF-8',
    BodyKind.csv: "start with a line of column names, separated by commas; UTF-8",
    BodyKind.parquet: "send a complete Parquet file with plain columns",
    BodyKind.arrow: "send an uncompressed stream with plain columns",
}


def _json(file: IO[bytes], limit: RowLimit) -> HandedIn:
    text = file.read().decode("utf-8")
    document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_named_once)
    if not isinstance(document, dict) or limit.rows not in document:
        raise _unreadable(BodyKind.json)
    cells = document.pop(limit.rows)
    if isinstance(cells, dict):
        columns = cells
        if not all(isinstance(column, list) for column in columns.values()):
            raise _unreadable(BodyKind.json)
        if len({len(column) for column in columns.values()}) > 1:
            raise ServiceError("the columns differ in length", "invalid-body", "cells")
    else:
        if not isinstance(cells, list) or not all(isinstance(row, dict) for row in cells):
            raise _unreadable(BodyKind.json)
        check_number(len(cells), limit)
        names = dict.fromkeys(name for row in cells for name in row)
        _check_width(len(names))
        columns = {name: [row.get(name) for row in cells] for name in names}
    _check_width(len(columns))
    series = {name: _series(name, values) for name, values in columns.items()}
    return HandedIn(pl.DataFrame(series), document)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two members of one name, each reader takes another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> float:
    raise ValueError


def _series(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values} - {type(None)}
    for known, dtype in (
        ({int}, pl.Int64),
        ({int, float}, pl.Float64),
        ({str}, pl.String),
        ({bool}, pl.Boolean),
    ):
        if kinds <= known:
            try:
                return pl.Series(name, values, dtype=dtype, strict=False)
            except (OverflowError, TypeError):
                break
    # Of no use, and named when the column is looked at.
    return pl.Series(name, [None] * len(values), dtype=pl.Null)


def _csv(file: IO[bytes], limit: RowLimit) -> HandedIn:
    text = file.read()
    text.decode("utf-8")
    _check_width(text.partition(b"\n")[0].count(b",") + 1)
    frame = pl.read_csv(io.BytesIO(text), infer_schema=False)
    return HandedIn(frame)


def as_numbers(series: pl.Series) -> pl.Series:
    """A column of texts as whole numbers, or as decimals; as it is if these are neither.

    >>> as_numbers(pl.Series(["1", " 20"])).to_list(), as_numbers(pl.Series(["0.5"])).to_list()
    ([1, 20], [0.5])
    """
    if series.dtype != pl.String:
        return series
    texts = series.str.strip_chars()
    for dtype in (pl.Int64, pl.Float64):
        found = texts.cast(dtype, strict=False)
        if found.null_count() == series.null_count():
            return found
    return series


def _parquet(file: IO[bytes], limit: RowLimit) -> HandedIn:
    opened = pyarrow.parquet.ParquetFile(_reader(file), arrow_extensions_enabled=False)
    about = opened.metadata
    check_number(about.num_rows, limit)
    _check_schema(opened.schema_arrow)
    _check_pieces(about.num_row_groups)
    groups = [about.row_group(at) for at in range(about.num_row_groups)]
    if sum(group.num_rows for group in groups) != about.num_rows:
        raise _unreadable(BodyKind.parquet)
    # Nothing plain is so large; repeated texts are looked at when they are read.
    room = max(about.num_rows, 1_000) * max(about.num_columns, 1) * _WIDEST
    if any(group.total_byte_size > room for group in groups) or (
        sum(group.total_byte_size for group in groups) > room
    ):
        raise _bomb()
    # Texts stay numbered until they are known to be short: repeated, they fill the memory.
    kinds = (pa.types.is_string, pa.types.is_large_string)
    texts = [one.name for one in opened.schema_arrow if any(kind(one.type) for kind in kinds)]
    numbered = pyarrow.parquet.ParquetFile(
        _reader(file), read_dictionary=texts, arrow_extensions_enabled=False
    )
    return HandedIn(_frame(numbered.read(use_threads=False)))


def _arrow(file: IO[bytes], limit: RowLimit) -> HandedIn:
    source = _reader(file)
    rows = 0
    for pieces, part in enumerate(pa.ipc.MessageReader.open_stream(source)):
        _check_pieces(pieces)
        if part.type == "schema":
            continue
        if part.type not in ("record batch", "dictionary"):
            raise _unreadable(BodyKind.arrow)
        length, compressed = _batch(memoryview(part.metadata), part.type)
        if compressed:
            message, hint = "the stream is compressed", "send it uncompressed"
            raise ServiceError(message, "invalid-body", "body", hint)
        rows += length if part.type == "record batch" else 0
        check_number(rows, limit)
    source.seek(0)
    with pa.ipc.open_stream(source) as stream:
        _check_schema(stream.schema)
        table = stream.read_all()
    return HandedIn(_frame(table))


def _reader(file: IO[bytes]) -> Any:
    file.flush()
    return pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _frame(table: Any) -> pl.DataFrame:
    table.validate(full=True)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        numbered = pa.types.is_dictionary(column.type)
        columns[name] = _written_out(column) if numbered else pl.Series(name, column)
    return pl.DataFrame(columns).rechunk()


def _written_out(column: Any) -> pl.Series:
    """The texts of a column that are numbered in its file; not as categories, which stay."""
    columns = [pl.Series([], dtype=pl.String)]
    for chunk in column.chunks:
        texts = pl.Series(chunk.dictionary).cast(pl.String)
        _check_texts(texts.str.len_bytes().max(), 0)
        columns.append(texts.gather(pl.Series(chunk.indices)))
    return pl.concat(columns)


def _batch(data: memoryview, kind: str) -> tuple[int, bool]:
    """Number of rows of a batch, and whether it is compressed, from its flatbuffer."""
    header = _follow(data, _place(data, _follow(data, 0), 2))
    if kind == "dictionary":
        header = _follow(data, _place(data, header, 1))
    at = _place(data, header, 0)
    length = struct.unpack_from("<q", data, at)[0] if at else 0
    if length < 0:
        raise ValueError
    return length, _place(data, header, 3) != 0


def _follow(data: memoryview, at: int) -> int:
    return int(at + struct.unpack_from("<I", data, at)[0])


def _place(data: memoryview, table: int, number: int) -> int:
    rows = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry + 2 > struct.unpack_from("<H", data, rows)[0]:
        return 0
    shift = struct.unpack_from("<H", data, rows + entry)[0]
    return int(table + shift) if shift else 0


def _check_schema(schema: Any) -> None:
    _check_width(len(schema))
    if len(set(schema.names)) < len(schema):
        raise ServiceError("several columns have the same name", "invalid-body", "cells")
    odd = sum(not _plain(item.type) for item in schema)
    if odd:
        message = f"{odd} columns have an unsupported type"
        hint = "use whole numbers, floats, texts, or true and false"
        raise ServiceError(message, "invalid-body", "cells", hint)


def _plain(kind: Any) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _text(kind.value_type) and types.is_integer(kind.index_type)
    known: Iterable[Any] = (types.is_integer, types.is_float32, types.is_float64, types.is_boolean)
    return _text(kind) or types.is_null(kind) or any(test(kind) for test in known)


def _text(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _check_width(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise ServiceError(f"there are more than {MOST_COLUMNS} columns", "invalid-body", "cells")


def _check_pieces(pieces: int) -> None:
    if pieces > _MOST_PIECES:
        message, hint = "too many record batches", "write larger batches"
        raise ServiceError(message, "invalid-body", "body", hint)


def _bomb() -> ServiceError:
    message = "the unpacked body is too large for its cells"
    return ServiceError(message, "too-large", "body")


_READERS = {
    BodyKind.json: _json,
    BodyKind.csv: _csv,
    BodyKind.parquet: _parquet,
    BodyKind.arrow: _arrow,
}
