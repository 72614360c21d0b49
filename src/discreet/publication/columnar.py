"""Parquet: one row per cell, for analysis.

In: `ProtectedTable`. Out: dictionary-coded columns of codes, value and status; the
metadata of the file hold title, variables, notes, legend and provenance as JSON.
Public.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.publication.cells import Cells, cell_chunks
from discreet.publication.description import describe
from discreet.tables import CellStatus, ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.writing import Options

__all__ = ["write_file"]


def write_file(table: ProtectedTable, path: Path, options: Options) -> None:
    """Write the cells chunk by chunk, each as a row group."""
    schema = _schema(table, options.language)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for cells in cell_chunks(table, options.complete):
            writer.write_table(pa.Table.from_arrays(_arrays(table, cells), schema=schema))


def _schema(table: ProtectedTable, language: str) -> pa.Schema:
    coded = pa.dictionary(pa.int32(), pa.string())
    fields = [pa.field(d.name, coded, nullable=False) for d in table.dimensions]
    number = pa.int64() if table.value.dtype.kind == "i" else pa.float64()
    fields += [pa.field("value", number), pa.field("status", coded, nullable=False)]
    described = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in describe(table, language).items()
    }
    return pa.schema(fields, metadata=described)


def _arrays(table: ProtectedTable, cells: Cells) -> list[pa.Array]:
    arrays = [
        pa.DictionaryArray.from_arrays(_numbers(part), _texts(d.codes))
        for d, part in zip(table.dimensions, cells.index, strict=True)
    ]
    arrays.append(_numbers(cells.value, shown=cells.status != CellStatus.suppressed))
    names = _texts([status.name for status in CellStatus])
    arrays.append(pa.DictionaryArray.from_arrays(_numbers(cells.status.astype("int32")), names))
    return arrays


# Arrays are made of their buffers: pa.array would load pandas, where it is installed,
# just to see what it is given.


def _texts(texts: Sequence[str]) -> pa.Array:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def _numbers(values: npt.NDArray[Any], *, shown: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array, without copying; null where they are not shown."""
    valid = None
    if shown is not None and not bool(shown.all()):
        valid = pa.py_buffer(np.packbits(shown, bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)
