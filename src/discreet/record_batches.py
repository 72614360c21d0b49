"""Records of any engine as polars frames, at once or batch by batch; and polars frames for DuckDB.

In: frames of narwhals, polars plans, DuckDB relations. Out: polars frames with the same records.
Between engines, columns go by the Arrow C stream interface, which needs no package besides
them. CONFIDENTIAL where the records are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from discreet.errors import MicrodataError
from discreet.memory_limit import check_memory

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Schema(ctypes.Structure):
    """A type of columns, as the interface lays it out."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private")),
    ]


class _Array(ctypes.Structure):
    """A batch of columns, as the interface lays it out."""

    _fields_ = [
        *((n, ctypes.c_int64) for n in ("length", "nulls", "offset", "n_buffers", "n_children")),
        *((n, ctypes.c_void_p) for n in ("buffers", "children", "dictionary")),
        *((n, ctypes.c_void_p) for n in ("release", "private")),
    ]


_Step = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    """A stream of batches, as the interface lays it out."""

    _fields_ = [
        ("get_schema", _Step),
        ("get_next", _Step),
        ("get_last_error", ctypes.c_void_p),
        ("release", _Release),
        ("private", ctypes.c_void_p),
    ]


_python: Any = ctypes.pythonapi
_pointer_in: Callable[..., int] = ctypes.PYFUNCTYPE(
    ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)(("PyCapsule_GetPointer", _python))
_capsule: Callable[..., Any] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", _python))


class _Batch:
    """One batch on its way: whoever takes it is its owner."""

    def __init__(self, schema: _Schema, array: _Array) -> None:
        self.schema, self.array = schema, array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        parts = ((self.schema, b"arrow_schema"), (self.array, b"arrow_array"))
        first, second = (_capsule(ctypes.addressof(part), name, None) for part, name in parts)
        return first, second


class StreamError(Exception):
    """An engine failed while it handed over records; what it said may quote them."""


def _streamed(source: Any) -> Iterator[pl.DataFrame]:
    """The batches of whatever has a stream of the interface; the first may be empty."""
    import polars as pl

    capsule = source.__arrow_c_stream__()
    stream = _Stream.from_address(_pointer_in(capsule, b"arrow_array_stream"))
    at = ctypes.addressof(stream)
    while True:
        schema, array = _Schema(), _Array()
        wrong = stream.get_next(at, ctypes.addressof(array))
        if not wrong and not array.release:
            return
        if wrong or stream.get_schema(at, ctypes.addressof(schema)):
            raise StreamError
        yield pl.DataFrame(_Batch(schema, array))


@contextmanager
def text_words(texts: pl.Series) -> Iterator[Any]:
    """Two whole numbers of 64 bits per text, as polars keeps them; None where it does not.

    The lowest 32 bits of the first are the length in bytes. Texts of at most 12 bytes are equal
    if, and only if, both numbers are. Missing values have numbers without meaning.
    """
    import numpy as np

    held = texts.rechunk()
    capsule = held.__arrow_c_stream__()
    stream = _Stream.from_address(_pointer_in(capsule, b"arrow_array_stream"))
    at, schema, array = ctypes.addressof(stream), _Schema(), _Array()
    try:
        wrong = stream.get_schema(at, ctypes.addressof(schema))
        wrong = wrong or stream.get_next(at, ctypes.addressof(array))
        if wrong or not array.release or ctypes.string_at(schema.format) != b"vu":
            yield None
            return
        _, first = (ctypes.c_uint64 * 2).from_address(array.buffers)
        numbers = (ctypes.c_uint64 * (2 * array.length)).from_address(first + 16 * array.offset)
        yield np.frombuffer(numbers, dtype=np.uint64)
    finally:
        for part in (schema, array):
            if part.release:
                _Release(part.release)(ctypes.addressof(part))


class ArrowStream:
    """A polars frame as DuckDB takes it, and a relation of DuckDB as polars does.

    Engines keep the types that they have seen, and DuckDB counts that as a leak when Python
    ends; of this type nothing is told.

    >>> import duckdb, polars as pl
    >>> connection = duckdb.connect()
    >>> _ = connection.register("people", ArrowStream(pl.DataFrame({"age": [3, 4]})))
    >>> connection.sql("select sum(age) from people").fetchall()
    [(7,)]
    """

    def __init__(self, columns: Any) -> None:
        self._columns = columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)


@contextmanager
def arrow_package() -> Iterator[None]:
    """Say what is missing where pandas and pyarrow frames become polars frames."""
    try:
        yield
    except ImportError:
        raise MicrodataError(
            "frames of pandas and pyarrow need the package pyarrow",
            code="missing-package",
            where="pyarrow",
            hint="pip install 'discreet[pandas]', or use a polars frame or a file",
        ) from None


def collected(frame: nw.LazyFrame[Any] | nw.DataFrame[Any]) -> pl.DataFrame:
    """All records of a frame.

    >>> import narwhals as nw, polars as pl
    >>> collected(nw.from_native(pl.LazyFrame({"age": [3, 4]}))).height
    2
    """
    import polars as pl

    lazy = frame.lazy()
    native: Any = lazy.to_native()
    if type(native).__name__ == "DuckDBPyRelation":
        return pl.DataFrame(ArrowStream(native))
    with arrow_package():
        held: pl.DataFrame = lazy.collect("polars").to_native()
    return held


def batches(plan: nw.LazyFrame[Any], rows: int) -> Iterator[pl.DataFrame]:
    """The records in any order, some `rows` at a time; at least one batch, perhaps empty.

    >>> import narwhals as nw, polars as pl
    >>> [batch.height for batch in batches(nw.from_native(pl.LazyFrame({"age": [3, 4]})), 100)]
    [2]
    """
    import polars as pl

    native: Any = plan.to_native()
    count = 0
    parts: Iterator[pl.DataFrame]
    if isinstance(native, pl.LazyFrame):
        parts = native.collect_batches(chunk_size=rows, maintain_order=False, engine="streaming")
    else:
        parts = _streamed(native)
    for part in parts:
        count += 1
        check_memory("records")
        yield part
    if not count:
        yield collected(plan.head(0))


def coded(codes: Sequence[str]) -> pl.Series:
    """A list of codes, from which columns that hold only their numbers are gathered.

    >>> coded(["m", "w"]).gather([1, 0, 1]).to_list()
    ['w', 'm', 'w']
    """
    import polars as pl

    return pl.Series(list(codes), dtype=pl.Enum(codes))


def streamed_plan(parts: Iterator[pl.DataFrame]) -> pl.LazyFrame:
    """A plan over batches that are read once, as it runs; there is one batch at least.

    >>> import polars as pl
    >>> parts = iter([pl.DataFrame({"age": [3]}), pl.DataFrame({"age": [4]})])
    >>> streamed_plan(parts).collect().rows()
    [(3,), (4,)]
    """
    from polars.io.plugins import register_io_source

    first = next(parts)

    def read(
        columns: list[str] | None, condition: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        for part in chain([first], parts):
            chosen = part if columns is None else part.select(columns)
            yield chosen if condition is None else chosen.filter(condition)

    return register_io_source(read, schema=first.schema)
