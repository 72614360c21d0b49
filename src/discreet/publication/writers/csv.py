"""CSV: one line per cell, for programs and spreadsheets.

In: `ProtectedTable`. Out: UTF-8 text as in RFC 4180, with codes, labels, value, status and the
cell as printed, and with the notes about it. Public. Texts that a spreadsheet would run as formulas
begin with an apostrophe, unless they are asked for as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from discreet.arrays import starts
from discreet.publication.cells import ListedCells, cell_chunks, has_number, margin_columns
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.notation import decimals_of, exact_text, interval_texts, symbols
from discreet.publication.vocabulary import labels_at
from discreet.tables import CellStatus, ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the cells chunk by chunk."""
    chunks = cell_chunks(table, options.complete)
    frames = (_frame(table, cells, options) for cells in chunks)
    write_frames(path, frames, semicolon=_has_semicolons(options))


def write_frames(path: Path, frames: Iterable[pl.DataFrame], *, semicolon: bool = False) -> None:
    """Write frames as one file of CSV."""
    with path.open("wb") as file:
        for number, frame in enumerate(frames):
            _write(frame, file, header=number == 0, semicolon=semicolon)


def _has_semicolons(options: WriteOptions) -> bool:
    return options.csv == "semicolon" or (options.csv == "language" and options.language == "de")


def _write(frame: pl.DataFrame, file: IO[bytes], *, header: bool, semicolon: bool) -> None:
    if semicolon:  # columns of figures hold texts, so that no digit is lost
        printed = pl.col("value", "symbol").str.replace_all(r"(\d)\.(\d)", "$1,$2")
        frame = frame.with_columns(printed)
    separator = ";" if semicolon else ","
    frame.write_csv(
        file,
        include_header=header,
        line_terminator="\r\n",
        separator=separator,
        decimal_comma=semicolon,
    )


def lines_by_code(table: ProtectedTable, at: int, options: WriteOptions) -> list[bytes]:
    """The lines of each code of one variable, without its columns; none if a text breaks lines."""
    (cells,) = cell_chunks(table, options.complete, size=table.grid_size)
    frame, width = _frame(table, cells, options), 1 + options.labels
    frame = frame.drop(frame.columns[width * at : width * (at + 1)])
    codes, text = cells.index[at], BytesIO()
    frame = frame if at == 0 else frame[np.argsort(codes, kind="stable")]
    _write(frame, text, header=False, semicolon=_has_semicolons(options))
    lines = text.getvalue()
    signs = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero((signs[:-1] == ord("\r")) & (signs[1:] == ord("\n"))) + 2
    if len(ends) != len(cells):
        return []
    limits = starts(np.bincount(codes, minlength=len(table.dimensions[at])))
    places = np.concatenate([[0], ends])[limits].tolist()
    return [lines[start:stop] for start, stop in pairwise(places)]


def _frame(table: ProtectedTable, cells: ListedCells, options: WriteOptions) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {}
    language = options.language
    for at, (dimension, part) in enumerate(zip(table.dimensions, cells.index, strict=True)):
        columns[dimension.name] = listed(dimension.codes, options.formulas).gather(part)
        if options.labels:
            labels = listed(tuple(labels_at(table, at, language)), options.formulas)
            columns[f"{dimension.name}_label"] = labels.gather(part)
    safe = {*columns, "value", "status", "symbol"}
    columns["value"] = values_column(table, cells)
    names = pl.Series([status.name for status in CellStatus], dtype=pl.String)
    columns["status"] = names.gather(cells.status)
    decimals = decimals_of(table, cells.index)
    # Whole numbers are printed as they stand in the column of values.
    whole = (cells.status == CellStatus.published) & (cells.value != 0)
    rest = np.flatnonzero(~whole | (cells.value.dtype.kind != "i"))
    places = decimals if isinstance(decimals, int) else decimals[rest]
    printed = pl.Series(symbols(cells.value[rest], cells.status[rest], places), dtype=pl.String)
    columns["symbol"] = columns["value"].clone().scatter(rest, printed)
    if table.withheld is not None:
        bounds = table.withheld.printed(table.dimensions, cells.index, len(cells))
        if bounds is not None:
            inside, between = interval_texts(bounds, decimals)
            columns["symbol"].scatter(inside, pl.Series(between, dtype=pl.String))
    if table.withheld is not None:
        shown = has_number(cells.status)
        columns |= table.withheld.beside(table.dimensions, cells.index, shown)
    columns |= margin_columns(table, cells)
    columns |= footnotes(table).column(cells, language)
    if options.formulas:
        return pl.DataFrame(columns)
    return pl.DataFrame(
        {
            listed((name,), False)[0]: part if name in safe else harmless(part)
            for name, part in columns.items()
        }
    )


@lru_cache(maxsize=32)
def listed(texts: tuple[str, ...], formulas: bool) -> pl.Series:
    """Texts that many cells, and the files of many areas, have in common."""
    series = pl.Series(texts, dtype=pl.String)
    return series if formulas else harmless(series)


#: What spreadsheets take for a formula, also behind quotes and spaces …
_FORMULA = r"^[\s\x00\x22']*[=+@\uFF1D\uFF0B\uFF20\uFF0D-]|^[\t\r\n]"
#: … but for numbers and ranges of numbers, which there is nothing to run in.
_NUMBER = r"^[+-]?[0-9.,  %–-]*$"


def harmless(texts: pl.Series) -> pl.Series:
    """Texts of which a spreadsheet runs none: an apostrophe stands before formulas.

    >>> harmless(pl.Series(["=1+1", "-10..-1", "-2+3", "–", "@SUM(A1)", "a=b"])).to_list()
    ["'=1+1", '-10..-1', "'-2+3", '–', "'@SUM(A1)", 'a=b']
    """
    if texts.dtype != pl.String:
        return texts
    run = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    if not bool(run.any()):
        return texts
    return pl.select(pl.when(run).then("'" + texts).otherwise(texts).alias(texts.name)).to_series()


def values_column(table: ProtectedTable, cells: ListedCells) -> pl.Series:
    """The numbers with all their digits; null where there is none."""
    texts = pl.Series("value", cells.value).cast(pl.String)
    if cells.value.dtype.kind == "f":
        long = texts.str.contains("e", literal=True).to_numpy()  # very large or small numbers
        if bool(long.any()):
            exact = [exact_text(value) for value in cells.value[long].tolist()]
            texts = texts.scatter(np.flatnonzero(long), pl.Series(exact, dtype=pl.String))
        if table.several_figures:
            texts = texts.str.strip_suffix(".0")
    return texts.set(pl.Series(~has_number(cells.status)), None)
