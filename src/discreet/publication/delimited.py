"""CSV: one line per cell, for programs and spreadsheets.

In: `ProtectedTable`. Out: UTF-8 text as in RFC 4180, with codes, labels, value,
status and the cell as printed. Public. Texts are written as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from discreet.publication.cells import Cells, cell_chunks, distinct_figures
from discreet.publication.labels import labels_of
from discreet.publication.notation import exact_text, symbol
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
            labels = pl.Series(labels_of(dimension, language), dtype=pl.String)
            columns[f"{dimension.name}_label"] = labels.gather(part)
    return pl.DataFrame({**columns, **_figures(table, cells)})


def _figures(table: ProtectedTable, cells: Cells) -> dict[str, pl.Series]:
    """The columns of figures; every distinct figure is put into text once."""
    values, states, where = distinct_figures(cells.value, cells.status)
    figures = list(zip(values.tolist(), states.tolist(), strict=True))
    hidden = CellStatus.suppressed
    texts: dict[str, list[str | None]] = {
        "value": [None if status == hidden else exact_text(value) for value, status in figures],
        "status": [CellStatus(status).name for _, status in figures],
        "symbol": [symbol(value, status, table.decimals) for value, status in figures],
    }
    return {name: pl.Series(text, dtype=pl.String).gather(where) for name, text in texts.items()}
