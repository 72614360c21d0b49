"""CSV: one line per cell, for programs and spreadsheets.

In: `ProtectedTable`. Out: UTF-8 text as in RFC 4180, with codes, labels, value,
status and the cell as printed. Public. Texts are written as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from discreet.publication.cells import Cells, cell_chunks
from discreet.publication.notation import exact_text, symbols, value_texts
from discreet.tables import CellStatus, ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.writing import Options

__all__ = ["write_file"]


def write_file(table: ProtectedTable, path: Path, options: Options) -> None:
    """Write the cells chunk by chunk."""
    language = options.language if options.labels else None
    with path.open("wb") as file:
        for number, cells in enumerate(cell_chunks(table, options.complete)):
            _frame(table, cells, language).write_csv(
                file, include_header=number == 0, line_terminator="\r\n"
            )


def _frame(table: ProtectedTable, cells: Cells, language: str | None) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {}
    for dimension, part in zip(table.dimensions, cells.index, strict=True):
        columns[dimension.name] = pl.Series(dimension.codes, dtype=pl.String).gather(part)
        if language is not None:
            labels = pl.Series(dimension.labels(language), dtype=pl.String)
            columns[f"{dimension.name}_label"] = labels.gather(part)
    text = value_texts(cells.value, exact_text)
    text[cells.status == CellStatus.suppressed] = None
    columns["value"] = pl.Series(text.tolist(), dtype=pl.String)
    names = pl.Series([status.name for status in CellStatus], dtype=pl.String)
    columns["status"] = names.gather(cells.status.astype("int64"))
    printed = symbols(cells.value, cells.status, table.decimals)
    columns["symbol"] = pl.Series(printed.tolist(), dtype=pl.String)
    return pl.DataFrame(columns)
