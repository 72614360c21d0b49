"""SDMX-CSV: one line per observation, for the exchange of statistics.

In: `ProtectedTable`. Out: UTF-8 text with the columns of SDMX-CSV 2.0 or 1.0; OBS_STATUS
and CONF_STATUS say what a cell is. Public. Several figures are told apart by the
dimension MEASURE. An apostrophe stands before codes that a spreadsheet would run as formulas
(no identifier of SDMX begins like one), unless they are asked for as they are.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.publication.cells import ListedCells, cell_chunks
from discreet.publication.data_structures import MEASURE, own_reference
from discreet.publication.formats import WriteOptions
from discreet.publication.writers.csv import listed, notes_column, values_column
from discreet.tables import CellStatus, ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the observations chunk by chunk."""
    structure = options.structure or own_reference(table.name)
    with path.open("wb") as file:
        for number, cells in enumerate(cell_chunks(table, options.complete)):
            observations(table, cells, structure, options).write_csv(
                file, include_header=number == 0, line_terminator="\r\n"
            )


def observations(
    table: ProtectedTable, cells: ListedCells, structure: str, options: WriteOptions
) -> pl.DataFrame:
    """Cells of a table as lines of SDMX-CSV.

    >>> from discreet.publication.cells import stored_cells
    >>> from discreet.publication.examples import census_example
    >>> some = census_example()
    >>> observations(some, stored_cells(some), "OFFICE:POP(1.0)", WriteOptions()).columns[:5]
    ['STRUCTURE', 'STRUCTURE_ID', 'ACTION', 'sex', 'age']
    """
    length = len(cells)
    columns = {
        name: pl.repeat(text, length, dtype=pl.String, eager=True)
        for name, text in _leading(structure, options).items()
    }
    for dimension, part in zip(table.spanning, cells.index, strict=False):
        columns[dimension.name] = listed(dimension.codes, options.formulas).gather(part)
    columns |= _of_figures(table, cells, {MEASURE: [figure.name for figure in table.figures]})
    columns["OBS_VALUE"] = values_column(table, cells)
    for at, name in enumerate(("OBS_STATUS", "CONF_STATUS")):
        codes = pl.Series([status.sdmx[at] for status in CellStatus], dtype=pl.String)
        columns[name] = codes.gather(cells.status)
    decimals = [str(figure.decimals) for figure in table.figures] or [str(table.decimals)]
    columns |= _of_figures(table, cells, {"DECIMALS": decimals})
    units = [figure.unit_text(options.language) or None for figure in table.figures]
    if any(units):
        columns |= _of_figures(table, cells, {"UNIT_MEASURE": units})
    notes = notes_column(table, cells, options.language)
    if notes is not None:
        columns["COMMENT_OBS"] = notes
    return pl.DataFrame(columns)


def _leading(structure: str, options: WriteOptions) -> dict[str, str]:
    """The columns that say which structure the line belongs to."""
    if options.sdmx == "1.0":
        return {"DATAFLOW": structure}
    return {"STRUCTURE": "dataflow", "STRUCTURE_ID": structure, "ACTION": "I"}


def _of_figures(
    table: ProtectedTable, cells: ListedCells, column: dict[str, list[str] | list[str | None]]
) -> dict[str, pl.Series]:
    """A column with what is said of each cell's figure; none if nothing is said."""
    ((name, texts),) = column.items()
    if not texts:
        return {}
    series = pl.Series(texts, dtype=pl.String)
    if table.several_figures:
        return {name: series.gather(cells.index[-1])}
    return {name: pl.repeat(texts[0], len(cells), dtype=pl.String, eager=True)}
