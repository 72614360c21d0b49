"""Parquet: one row per cell, for analysis.

In: `ProtectedTable`. Out: dictionary-coded columns of codes, value and status, and the
notes about cells where there are any; the metadata of the file hold title, variables,
figures, notes, legend and provenance as JSON. Public.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.publication.cells import ListedCells, cell_chunks, has_number, is_complete
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.notes import unlisted_text
from discreet.tables import CellStatus, ProtectedTable, Withheld


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells chunk by chunk, each as a row group."""
    schema = _schema(table, options)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for cells in cell_chunks(table, options.complete):
            arrays = _arrays(table, cells, options.language)
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _schema(table: ProtectedTable, options: WriteOptions) -> pa.Schema:
    coded = pa.dictionary(pa.int32(), pa.string())
    fields = [pa.field(d.name, coded, nullable=False) for d in table.dimensions]
    number = pa.int64() if table.value.dtype.kind == "i" else pa.float64()
    fields += [pa.field("value", number), pa.field("status", coded, nullable=False)]
    if table.withheld is not None:
        kinds = {"reason": coded, "low": pa.float64(), "high": pa.float64()}
        fields += [pa.field(name, kinds[name]) for name in table.withheld.columns]
    if footnotes(table).remarks:
        fields.append(pa.field("note", coded))
    whole = describe(table, options.language)
    if not is_complete(table, options.complete):
        whole["unlisted"] = unlisted_text(table, options.language)
    described = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in whole.items()
    }
    return pa.schema(fields, metadata=described)


def _arrays(table: ProtectedTable, cells: ListedCells, language: str) -> list[pa.Array]:
    arrays = [
        pa.DictionaryArray.from_arrays(_numbers(part), _texts(d.codes))
        for d, part in zip(table.dimensions, cells.index, strict=True)
    ]
    arrays.append(_numbers(cells.value, shown=has_number(cells.status)))
    names = _texts([status.name for status in CellStatus])
    arrays.append(pa.DictionaryArray.from_arrays(_numbers(cells.status.astype("int32")), names))
    if table.withheld is not None:
        arrays += _withheld(table, table.withheld, cells)
    if footnotes(table).remarks:
        arrays.append(_notes(table, cells, language))
    return arrays


def _withheld(table: ProtectedTable, said: Withheld, cells: ListedCells) -> list[pa.Array]:
    """Reasons and intervals of hidden cells; null for all others."""
    beside = said.beside(table.dimensions, cells.index, has_number(cells.status))
    codes = [note.kind for note in said.reasons]
    which = np.full(len(cells), -1, dtype=np.int32)
    for number, code in enumerate(codes):
        which[(beside["reason"] == code).fill_null(value=False).to_numpy()] = number
    reasons = _numbers(np.maximum(which, 0), shown=which >= 0)
    arrays = [pa.DictionaryArray.from_arrays(reasons, _texts(codes))]
    for name in said.columns[1:]:
        bound = beside[name].to_numpy()
        arrays.append(_numbers(np.nan_to_num(bound), shown=~np.isnan(bound)))
    return arrays


def _notes(table: ProtectedTable, cells: ListedCells, language: str) -> pa.Array:
    """The notes about each cell; null where there are none."""
    remarks = footnotes(table)
    marks = remarks.of_cells(cells)
    which = _numbers(marks.which.astype("int32"), shown=marks.which > 0)
    return pa.DictionaryArray.from_arrays(which, _texts(remarks.texts(marks, language)))


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
