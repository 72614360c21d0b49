"""XLSX: a sheet with the table and a sheet with its legend.

In: `ProtectedTable`. Out: a workbook whose figures stay numbers; number formats
print the signs. Public. Every text is stored as text, so that no label can act
as a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from discreet.publication.description import check_texts, universe
from discreet.publication.labels import labels_of
from discreet.publication.layout import Heading, Layout, headings, lay_out
from discreet.publication.legend_sheet import add_legend
from discreet.publication.limits import CELL_LIMIT, check_shape
from discreet.publication.sheet_body import StubColumn, body_rows, outline
from discreet.publication.sheet_cells import OrderedRanges, Styles, save
from discreet.publication.words import words
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.writing import Options

__all__ = ["write_file"]

_A4 = 9
_WIDEST = 60
_NUMBER_WIDTH = 13


def write_file(table: ProtectedTable, path: Path, options: Options) -> None:
    """Write the table sheet row by row, then the legend sheet."""
    check_texts(table, options.language)
    layout = lay_out(
        table,
        rows=options.rows,
        columns=options.columns,
        complete=options.complete,
        limit=CELL_LIMIT,
    )
    sheet = _TableSheet(layout, options.language, options.labels)
    rows, columns = layout.shape
    check_shape("xlsx", sheet.top + rows, sheet.stub + columns, where=table.name)
    book = Workbook(write_only=True)
    title, body = sheet.write(book)
    add_legend(book, table, options.language)
    save(book, path, {title: body})


@dataclass(frozen=True)
class _TableSheet:
    """The sheet with the figures."""

    layout: Layout
    language: str
    labels: bool

    @cached_property
    def heads(self) -> list[list[Heading]]:
        return headings(self.layout, self.language)

    @cached_property
    def titles(self) -> list[str]:
        """The lines above the table; the last one is empty."""
        table = self.layout.table
        who = universe(table, self.language)
        return [table.title(self.language), *([who] if who else []), ""]

    @cached_property
    def stub_columns(self) -> list[StubColumn]:
        text = words(self.language)
        columns = []
        for k, at in enumerate(self.layout.rows):
            dimension = self.layout.dimension(at)
            title = dimension.title(self.language)
            labels = labels_of(dimension, self.language)
            levels = tuple(dimension.levels.tolist())
            if not self.labels:
                columns.append(StubColumn(title, dimension.codes, k, levels))
                continue
            if labels[1:] != dimension.codes[1:]:
                heading = f"{title} ({text.code})"
                columns.append(StubColumn(heading, dimension.codes, k, None))
            columns.append(StubColumn(title, labels, k, levels))
        return columns

    @property
    def stub(self) -> int:
        """Number of columns beside the figures."""
        return len(self.stub_columns)

    @property
    def top(self) -> int:
        """Number of rows above the figures."""
        return len(self.titles) + len(self.heads)

    def write(self, book: Workbook) -> tuple[str, Iterator[str]]:
        """Add the sheet with its headings; give its title and its body."""
        sheet: Any = book.create_sheet(words(self.language).table)
        styles = Styles(sheet, self.layout.table.decimals if self._floats else 0)
        self._set_up(sheet)
        for line, text in enumerate(self.titles):
            sheet.append([styles.text("universe" if line else "title", text)] if text else [])
        for number, row in enumerate(self.heads):
            sheet.append(self._heading_row(styles, number, row))
        sheet.merged_cells = OrderedRanges()
        for merged in self._merges():
            sheet.merged_cells.add(merged)
        return sheet.title, body_rows(self.layout, styles, self.stub_columns, self.top)

    @property
    def _floats(self) -> bool:
        return self.layout.table.value.dtype.kind == "f"

    def _set_up(self, sheet: Any) -> None:
        """Widths, outline, frozen headings and print settings; before the first row."""
        for column, stub in enumerate(self.stub_columns, 1):
            deepest = max(stub.indents or (0,)) * 2
            longest = max(len(text) for text in (*stub.texts, stub.heading)) + deepest + 2
            width = max(8, min(longest, _WIDEST))
            sheet.column_dimensions[get_column_letter(column)].width = width
        for column in range(self.layout.shape[1]):
            letter = get_column_letter(self.stub + column + 1)
            sheet.column_dimensions[letter].width = _NUMBER_WIDTH
        folded = outline(self.layout)
        if folded is not None:
            sheet.sheet_properties.outlinePr.summaryBelow = False
            sheet.sheet_format.outlineLevelRow = int(folded.max())
        first = f"{get_column_letter(self.stub + 1)}{self.top + 1}"
        sheet.freeze_panes = first
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.paperSize = _A4
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.print_title_rows = f"{len(self.titles) + 1}:{self.top}"
        sheet.oddFooter.right.text = "&P / &N"

    def _heading_row(self, styles: Styles, number: int, row: list[Heading]) -> Iterator[Any]:
        for stub in self.stub_columns:
            yield styles.text("stub", "" if number else stub.heading)
        starts = {heading.column: heading.text for heading in row}
        for column in range(self.layout.shape[1]):
            yield styles.text("heading", starts.get(column, ""))

    def _merges(self) -> Iterator[str]:
        """Ranges of heading cells that are one."""
        first = len(self.titles) + 1
        if len(self.heads) > 1:
            for column in range(1, self.stub + 1):
                letter = get_column_letter(column)
                yield f"{letter}{first}:{letter}{self.top}"
        for number, row in enumerate(self.heads):
            for heading in row:
                if heading.width * heading.height > 1:
                    left = get_column_letter(self.stub + heading.column + 1)
                    right = get_column_letter(self.stub + heading.column + heading.width)
                    upper = first + number
                    yield f"{left}{upper}:{right}{upper + heading.height - 1}"
