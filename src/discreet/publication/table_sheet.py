"""The sheet of a workbook that holds a table: title, headings, figures, footnotes.

In: `Layout`. Out: a sheet of a workbook; its figures stay numbers, and number formats
print the signs. Public. Every text is stored as text, so that no label can act as a
formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from discreet.publication.description import universe
from discreet.publication.footnotes import Footnotes, footnotes, mark
from discreet.publication.headings import Heading, headings
from discreet.publication.labels import figure_line, is_figure, labels_at, levels_at
from discreet.publication.layout import Layout
from discreet.publication.limits import check_shape
from discreet.publication.sheet_body import StubColumn, body_rows, foot_rows, outline
from discreet.publication.sheet_cells import OrderedRanges, SheetLines, Styles, row_height
from discreet.publication.words import words

__all__ = ["TableSheet"]

_A4 = 9
_WIDEST = 60
_NUMBER_WIDTH = 13


@dataclass(frozen=True)
class TableSheet:
    """The sheet with the figures of a table.

    Args:
        layout: The table on the sheet.
        language: Language of labels and signs.
        labels: Write labels beside codes.
    """

    layout: Layout
    language: str
    labels: bool

    @cached_property
    def heads(self) -> list[list[Heading]]:
        """The rows of headings."""
        return headings(self.layout, self.language)

    @cached_property
    def titles(self) -> list[str]:
        """The lines above the table; the last one is empty."""
        table = self.layout.table
        below = (figure_line(table, self.language), universe(table, self.language))
        return [table.title(self.language), *filter(None, below), ""]

    @cached_property
    def remarks(self) -> Footnotes:
        """The footnotes of the table."""
        return footnotes(self.layout.table)

    @cached_property
    def stub_columns(self) -> list[StubColumn]:
        """The columns beside the figures: codes and labels of the row variables."""
        text, table = words(self.language), self.layout.table
        columns = []
        for k, at in enumerate(self.layout.rows):
            dimension = self.layout.dimension(at)
            title = dimension.title(self.language)
            labels = labels_at(table, at, self.language)
            levels = tuple(levels_at(table, at).tolist())
            totals = frozenset() if is_figure(table, at) else frozenset({0})
            marks = {c: mark(self.remarks.of_code(at, c)) for c in range(len(labels))}
            marked = tuple(f"{label}{marks[c]}" for c, label in enumerate(labels))
            if not self.labels:
                codes = tuple(f"{code}{marks[c]}" for c, code in enumerate(dimension.codes))
                columns.append(StubColumn(title, codes, k, levels, totals))
                continue
            if labels[1:] != dimension.codes[1:]:
                heading = f"{title} ({text.code})"
                columns.append(StubColumn(heading, dimension.codes, k, None, totals))
            columns.append(StubColumn(title, marked, k, levels, totals))
        return columns

    @property
    def stub(self) -> int:
        """Number of columns beside the figures."""
        return len(self.stub_columns)

    @property
    def top(self) -> int:
        """Number of rows above the figures."""
        return len(self.titles) + len(self.heads)

    def check(self) -> None:
        """Raise an error if the table does not fit a sheet."""
        rows, columns = self.layout.shape
        check_shape("xlsx", self.top + rows, self.stub + columns, where=self.layout.table.name)

    def write(self, book: Workbook, name: str) -> tuple[str, Iterator[str]]:
        """Add the sheet with its headings; give its title and its body."""
        sheet: Any = book.create_sheet(name)
        styles = Styles(sheet)
        self._set_up(sheet)
        lines = SheetLines(sheet)
        for line, text in enumerate(self.titles):
            lines.append([styles.text("universe" if line else "title", text)] if text else [])
        for number, row in enumerate(self.heads):
            height = row_height((h.text, h.width * _NUMBER_WIDTH) for h in row if h.height == 1)
            lines.append(self._heading_row(styles, number, row), height)
        sheet.merged_cells = OrderedRanges()
        for merged in self._merges():
            sheet.merged_cells.add(merged)
        return sheet.title, self._body(styles)

    def _body(self, styles: Styles) -> Iterator[str]:
        yield from body_rows(self.layout, styles, self.stub_columns, self.top, self.remarks)
        yield from foot_rows(
            [
                f"{mark((number,))} {note.text(self.language)}"
                for number, note in enumerate(self.remarks.notes, 1)
            ],
            self.top + self.layout.shape[0] + 2,
        )

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
        starts = {heading.column: heading.text + mark(heading.marks) for heading in row}
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
