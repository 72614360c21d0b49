"""Parquet: one row per cell, for analysis.

In: `ProtectedTable`. Out: dictionary-coded columns of codes, value and status, and the
notes about cells where there are any; the metadata of the file hold title, variables,
figures, notes, legend and provenance as JSON. Public.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from discreet.publication.cells import CHUNK, ListedCells, cell_chunks, has_number, is_complete
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.notes import unlisted_text
from discreet.record_batches import coded, streamed_plan
from discreet.tables import CellStatus, ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells chunk by chunk."""
    plan = streamed_plan(_frames(table, options))
    plan.sink_parquet(path, row_group_size=CHUNK, metadata=_description(table, options))


def _description(table: ProtectedTable, options: WriteOptions) -> dict[str, str]:
    whole = describe(table, options.language)
    if not is_complete(table, options.complete):
        whole["unlisted"] = unlisted_text(table, options.language)
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in whole.items()
    }


def _frames(table: ProtectedTable, options: WriteOptions) -> Iterator[pl.DataFrame]:
    """The cells, one frame per chunk."""
    codes = [coded(dimension.codes) for dimension in table.dimensions]
    names = coded([status.name for status in CellStatus])
    remarks = footnotes(table)
    for cells in cell_chunks(table, options.complete):
        shown = has_number(cells.status)
        columns: dict[str, Any] = {
            dimension.name: own.gather(part)
            for dimension, part, own in zip(table.dimensions, cells.index, codes, strict=True)
        }
        columns["value"] = pl.Series(cells.value).set(pl.Series(~shown), None)
        columns["status"] = names.gather(cells.status)
        if table.withheld is not None:
            columns |= table.withheld.beside(table.dimensions, cells.index, shown)
            kind = pl.Enum(sorted({note.kind for note in table.withheld.reasons}))
            columns["reason"] = columns["reason"].cast(kind)
        if remarks.remarks:
            columns["note"] = _notes(table, cells, options.language)
        yield pl.DataFrame(columns)


def _notes(table: ProtectedTable, cells: ListedCells, language: str) -> pl.Series:
    """The notes about each cell; null where there are none."""
    remarks = footnotes(table)
    marks = remarks.of_cells(cells)
    texts = pl.Series([None, *remarks.texts(marks, language)[1:]], dtype=pl.String)
    return texts.gather(marks.which).cast(pl.Categorical)
