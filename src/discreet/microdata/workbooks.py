"""Sheets of Excel workbooks.

In: an `.xlsx` or `.xlsm` file and `ReadingOptions`. Out: all cells as texts, as the sheet shows
numbers and codes: numbers stored as text and numbers are the same, a number that the sheet shows
with leading zeros has them, dates are ISO dates. What cannot be known is refused by its cell:
errors of formulas, formulas without a stored value, merged cells among the records. CONFIDENTIAL.
"""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DiscreetWarning, MicrodataError, Problem, raise_all
from discreet.microdata.csv_files import check_header, joined_names
from discreet.microdata.reading_options import ReadingOptions

_ZEROS = re.compile(r"0{2,}")
_MERGED = re.compile(rb'<mergeCell[^>]*ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_SHOWN = 20
_HEAD = 30


@dataclass(frozen=True, kw_only=True, repr=False)
class Sheet:
    """The records of a sheet. CONFIDENTIAL."""

    where: str  # file and sheet
    texts: pl.DataFrame  # the records, all cells as texts
    written: pl.DataFrame  # the same, but for what is stored as a number or date
    before: int  # number of rows before the first record
    padded: tuple[str, ...]  # columns whose leading zeros are those of their number format
    dated: tuple[str, ...]  # columns with dates

    def place(self, row: int, column: str) -> str:
        """The cell of a record and a column."""
        return f"{self.where}, row {self.before + row + 1:,}, column {column!r}"


def read_sheet(path: Path, options: ReadingOptions) -> Sheet:
    """Read the sheet that is named, or the only one with anything on it."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        # The package raises whatever a damaged archive brings about.
        message = f"the workbook cannot be read ({type(error).__name__})"
        hint = "check that it is complete and without password; save it as .xlsx"
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint) from None
    try:
        sheet = _chosen(book, options, path)
        reading = _SheetReading(path, sheet, options)
        return reading.read()
    finally:
        book.close()


def head_of(path: Path, options: ReadingOptions) -> tuple[int, int]:
    """Number of rows before the header, and of the header.

    Records begin with the first row that holds something besides texts; above them stands the
    header, and above that rows that are empty, or have one cell only: titles.
    """
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheet = _chosen(book, options, path)
        rows = list(sheet.iter_rows(max_row=_HEAD, values_only=True))
    finally:
        book.close()
    filled = [sum(value is not None for value in row) for row in rows]
    most = max(filled, default=0)
    first = next(
        (
            at
            for at, row in enumerate(rows)
            if 2 * filled[at] > most
            and any(value is not None and not isinstance(value, str) for value in row)
        ),
        0,
    )
    if not first:  # only texts, or no header
        return (filled.index(most) if most else 0), 1
    header = 1
    while header < first and filled[first - header - 1] > 1:
        header += 1
    return first - header, header


def _chosen(book: Any, options: ReadingOptions, path: Path) -> Any:
    named = options.sheet
    sheets = list(book.worksheets)
    titles = [sheet.title for sheet in sheets]
    hint = f"sheets: {', '.join(repr(title) for title in titles)}"
    if isinstance(named, int):
        if 1 <= named <= len(sheets):
            return sheets[named - 1]
        message = f"sheet {named} not found; the workbook has {len(sheets)} sheets"
        raise MicrodataError(message, code="sheet", where=str(path), hint=hint)
    if named:
        if named in titles:
            return sheets[titles.index(named)]
        message = f"sheet {named!r} not found"
        raise MicrodataError(message, code="sheet", where=str(path), hint=hint)
    filled = [sheet for sheet in sheets if next(sheet.iter_rows(max_row=1, values_only=True), None)]
    if len(filled) != 1:
        message = "the sheet of the records is not clear"
        hint = f'{hint}; add sheet = "…"'
        raise MicrodataError(message, code="sheet", where=str(path), hint=hint)
    return filled[0]


class _SheetReading:
    """One reading of a sheet, row by row."""

    def __init__(self, path: Path, sheet: Any, options: ReadingOptions) -> None:
        self.path, self.sheet, self.options = path, sheet, options
        self.where = f"{path}, sheet {sheet.title!r}"
        self.before = options.skip + options.header
        self.problems: list[Problem] = []
        self.merged, self.formulas = _structure(path, sheet)

    def read(self) -> Sheet:
        """All records as texts."""
        rows = self.sheet.iter_rows()
        heads = [self._head(next(rows, ()), at + 1) for at in range(self.before)]
        names = self._names(heads[self.options.skip :])
        for _, top, _, bottom in self.merged:
            if bottom > self.before:
                hint = "split the merged cells and fill in the value in every row"
                self._wrong("cells of records are merged", max(top, self.before + 1), None, hint)
        columns: list[list[Any]] = [[] for _ in names]
        formats: list[set[str]] = [set() for _ in names]
        empty, below = 0, 0
        for number, row in enumerate(rows, self.before + 1):
            values = [cell.value for cell in row]
            if all(value is None for value in values):
                empty += 1
                continue
            note = isinstance(values[0], str) and all(value is None for value in values[1:])
            if (empty or below) and len(names) > 1 and note:  # a source, a footnote
                below += 1
                continue
            if below:
                message = f"{below:,} rows with one text precede this row"
                self._wrong(message, number, None, "remove them, or move them below the records")
                empty = below = 0
            if empty:
                message = f"{empty:,} empty rows precede this row"
                hint = "remove them and everything below the records"
                self._wrong(message, number, None, hint)
                empty = 0
            self._take(row, number, columns, formats)
        if below:
            message = f"{self.where}: {below:,} rows with one text below the records are not read"
            warnings.warn(message, DiscreetWarning, stacklevel=2)
        self._check_formulas()
        many = "{} parts of the sheet are not records"
        raise_all(
            MicrodataError, self.problems, code="sheet", many=many, where=self.where, most=_SHOWN
        )
        return self._finished(names, columns, formats)

    def _head(self, row: Sequence[Any], number: int) -> list[Any]:
        """The cells of a row, merged ones filled."""
        values = [cell.value for cell in row]
        for left, top, right, bottom in self.merged:
            if top <= number <= bottom and number <= self.before:
                values += [None] * (right - len(values))
                if number > top and left == right:
                    continue
                first = values[left - 1]
                values[left - 1 : right] = [first] * (right - left + 1)
        return values

    def _names(self, heads: list[list[Any]]) -> list[str]:
        options = self.options
        if options.header == 0:
            return list(options.columns)
        wide = [area for area in self.merged if area[0] < area[2] and options.skip < area[1]]
        if options.header == 1 and any(area[1] == self.before for area in wide):
            raise MicrodataError(
                "cells of the header are merged",
                code="sheet",
                where=f"{self.where}, row {self.before}",
                hint="for a header of two rows add header = 2; for a title add skip = 1",
            )
        texts = [["" if item is None else str(item).strip() for item in row] for row in heads]
        for row in texts:
            while row and not row[-1]:
                row.pop()
        names = joined_names(texts)
        first = f"row {options.skip + 1}"
        filled = sum(bool(name) for name in names)
        if options.header == 1 and filled == 1 and (self.sheet.max_column or 1) > 1:
            message = "this row is a title and not a header"
            hint = f"add skip = {options.skip + 1}, the number of rows before the header"
            raise MicrodataError(message, code="sheet", where=f"{self.where}, {first}", hint=hint)
        check_header(names, self.where, first)
        return names

    def _wrong(self, message: str, row: int, at: int | None, hint: str = "") -> None:
        from openpyxl.utils import get_column_letter

        place = f"{self.where}, row {row:,}"
        if at is not None:
            place = f"{self.where}, cell {get_column_letter(at + 1)}{row}"
        self.problems.append(Problem(message, place, hint))

    def _take(
        self, row: Any, number: int, columns: list[list[Any]], formats: list[set[str]]
    ) -> None:
        stated = self.options.null_values
        nulls = [*stated.values()] if isinstance(stated, Mapping) else [stated]
        width = len(columns)
        for at, cell in enumerate(row):
            value = cell.value
            if at >= width:
                if value is not None:
                    hint = "add its name to the header"
                    self._wrong("the column lacks a name", number, at, hint)
                continue
            if value is not None and cell.data_type == "e":
                if not any(str(value) in texts for texts in nulls):
                    hint = "correct the formula, or declare the code of missing values"
                    self._wrong("a formula ends in an error", number, at, hint)
                value = str(value)
            columns[at].append(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                formats[at].add(str(cell.number_format))
        for column in columns[len(row) :]:
            column.append(None)

    def _check_formulas(self) -> None:
        """A formula without a stored value would be a missing value."""
        if not self.formulas:
            return
        import openpyxl

        book = openpyxl.load_workbook(self.path, read_only=True)
        stored = self.sheet.iter_rows(values_only=True)
        for number, row in enumerate(book[self.sheet.title].iter_rows(), 1):
            values = next(stored, ())
            for at, cell in enumerate(row):
                known = at < len(values) and values[at] is not None
                if not known and str(cell.value or "").startswith("="):
                    hint = "open the workbook, recalculate and save it"
                    self._wrong("a formula has no stored value", number, at, hint)
        book.close()

    def _finished(
        self, names: list[str], columns: list[list[Any]], formats: list[set[str]]
    ) -> Sheet:
        padded, dated, texts, written = [], [], {}, {}
        for name, values, forms in zip(names, columns, formats, strict=True):
            form = next(iter(forms)) if len(forms) == 1 else ""
            width = len(form) if _ZEROS.fullmatch(form) else 0
            if width:
                padded.append(name)
            if any(isinstance(value, datetime.date) for value in values):
                dated.append(name)
            shown = [self._text(value, width) for value in values]
            texts[name] = pl.Series(name, shown, dtype=pl.String)
            only = [value if isinstance(value, str) else None for value in values]
            written[name] = pl.Series(name, only, dtype=pl.String)
        return Sheet(
            where=self.where,
            texts=pl.DataFrame(texts),
            written=pl.DataFrame(written),
            before=self.before,
            padded=tuple(padded),
            dated=tuple(dated),
        )

    def _text(self, value: Any, width: int) -> str | None:
        """A cell as the sheet shows it."""
        if value is None or value == "":
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        if isinstance(value, int):
            return str(value).zfill(width)
        if isinstance(value, float):
            return repr(value).replace(".", self.options.decimal)
        if isinstance(value, datetime.datetime):
            bare = value.time() == datetime.time()
            return value.date().isoformat() if bare else value.isoformat(sep=" ")
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        return str(value)


def _structure(path: Path, sheet: Any) -> tuple[list[tuple[int, int, int, int]], bool]:
    """Merged areas (left, top, right, bottom), and whether there are formulas."""
    from openpyxl.utils import column_index_from_string

    name = str(getattr(sheet, "_worksheet_path", "")).lstrip("/")
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            content = file.read()
    except (OSError, KeyError, zipfile.BadZipFile):
        message = "the sheet cannot be read"
        raise MicrodataError(message, code="file-content", where=str(path)) from None
    areas = [
        (column_index_from_string(left.decode()), int(top),
         column_index_from_string(right.decode()), int(bottom))
        for left, top, right, bottom in _MERGED.findall(content)
    ]  # fmt: skip
    return areas, b"<f>" in content or b"<f " in content
