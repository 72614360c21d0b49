"""Parquet: one row per cell, for analysis.

In: `ProtectedTable`. Out: dictionary-coded columns of codes, value and status, and the
notes about cells where there are any; the metadata of the file hold title, variables,
figures, notes, legend and provenance as JSON. Public.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from discreet.publication.cells import CHUNK, cell_chunks, is_complete, published_columns
from discreet.publication.description import describe, metadata_of, unlisted_text
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.record_batches import coded, streamed_plan
from discreet.tables import ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells chunk by chunk."""
    about = describe(table, options.language)
    if not is_complete(table, options.complete):
        about["unlisted"] = unlisted_text(table, options.language)
    codes = [coded(dimension.codes) for dimension in table.dimensions]

    def frames() -> Iterator[pl.DataFrame]:
        for cells in cell_chunks(table, options.complete):
            columns = {
                dimension.name: own.gather(part)
                for dimension, part, own in zip(table.dimensions, cells.index, codes, strict=True)
            }
            columns |= published_columns(table, cells)
            if table.withheld is not None:
                kind = pl.Enum(sorted({note.kind for note in table.withheld.reasons}))
                columns["reason"] = columns["reason"].cast(kind)
            for name, notes in footnotes(table).column(cells, options.language).items():
                columns[name] = notes.cast(pl.Categorical)
            yield pl.DataFrame(columns)

    plan = streamed_plan(frames())
    plan.sink_parquet(path, row_group_size=CHUNK, metadata=metadata_of(about))
