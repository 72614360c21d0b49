"""The sheet of a workbook that holds a table, its cells and styles, and saving it.

In: `PageLayout`, texts and published numbers. Out: a sheet with title, headings, figures and
footnotes; its rows of figures are written as XML, many at a time. Figures stay numbers, and
number formats print the signs; every text is stored as text, so that no label can act as a
formula. Equal tables give equal bytes. Public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.pagebreak import Break
from openpyxl.writer.excel import ExcelWriter
from openpyxl.xml.constants import ARC_CORE

from discreet.arrays import IntArray, TextArray
from discreet.publication.description import universe
from discreet.publication.formats import check_shape
from discreet.publication.layout import (
    BodyRows,
    Footnotes,
    Heading,
    PageLayout,
    footnotes,
    headings,
    mark,
)
from discreet.publication.notation import (
    IMPRECISE,
    INAPPLICABLE,
    OFFICIAL,
    SUPPRESSED,
    ZERO,
    figure_texts,
)
from discreet.publication.vocabulary import (
    figure_line,
    has_total,
    labels_at,
    levels_at,
    words,
)
from discreet.tables import CellStatus

_HEAD_FILL = PatternFill("solid", fgColor="FFE3EAF1")
_LINE = Side(style="thin", color="FF8A9BAB")
_BOX = Border(left=_LINE, right=_LINE, top=_LINE, bottom=_LINE)
_CENTRE = Alignment(horizontal="center", vertical="center", wrap_text=True)
_DEEPEST_INDENT = 15
#: Styles of texts in rows that are one line high.
_SINGLE_LINES = frozenset({"title", "universe", "section"})
#: Points of a line, the most that a row may have, and how wide characters get at worst.
_LINE_HEIGHT = 15.0
_HIGHEST = 400.0
_WIDE = 1.1
_BODY_END = b"</sheetData>"
_TIMES = re.compile(rb"<dcterms:(created|modified)\b.*?</dcterms:\1>", re.DOTALL)


def _font(**look: Any) -> Font:
    """The font of plain cells; without a name, programs choose one of their own."""
    return Font(name="Calibri", family=2, **{"size": 11, **look})


_STYLES: dict[str, dict[str, Any]] = {
    "title": {"font": _font(bold=True, size=14)},
    "universe": {"font": _font(italic=True, color="FF44525F")},
    "section": {"font": _font(bold=True, size=12)},
    "stub": {
        "font": _font(bold=True),
        "fill": _HEAD_FILL,
        "border": _BOX,
        "alignment": Alignment(vertical="center", wrap_text=True),
    },
    "heading": {"font": _font(bold=True), "fill": _HEAD_FILL, "border": _BOX, "alignment": _CENTRE},
    "link": {
        "font": _font(underline="single", color="FF0B4F8A"),
        "alignment": Alignment(vertical="top"),
    },
    "symbol": {"alignment": Alignment(horizontal="center", vertical="top")},
    "plain": {"alignment": Alignment(vertical="top", wrap_text=True)},
}


def one_line(text: str) -> str:
    r"""A text on one line: rows do not grow with their texts, so lines would overlap.

    >>> one_line("Dwellings\nwith a bath")
    'Dwellings with a bath'
    """
    return " ".join(text.splitlines()) if len(text.splitlines()) > 1 else text


def number_format(status: int, decimals: int, marks: str = "") -> str:
    """The number format that prints a value with its sign and the marks of its notes.

    >>> number_format(CellStatus.published, 0)
    '#,##0;-#,##0;"–"'
    >>> number_format(CellStatus.bracketed, 1, "¹")
    '(#,##0.0)"¹";(-#,##0.0)"¹";"–¹"'
    """
    digits = "#,##0" + ("." + "0" * decimals if decimals else "")
    sign = OFFICIAL if status == CellStatus.official else ""
    after = f'"{sign}{marks}"' if sign or marks else ""
    zero = f'"{ZERO}{marks}"'
    if status == CellStatus.bracketed:
        return f"({digits}){after};(-{digits}){after};{zero}"
    return f"{digits}{after};-{digits}{after};{zero}"


def row_height(texts: Iterable[tuple[str, float]]) -> float | None:
    """The height of a row with wrapped texts; None if one line is enough.

    >>> row_height([("a", 10)]), row_height([("a text of some length", 10)])
    (None, 45.0)
    """
    lines = max((math.ceil(len(text) * _WIDE / width) for text, width in texts), default=1)
    return min(lines * _LINE_HEIGHT, _HIGHEST) if lines > 1 else None


def set_page_width(sheet: Any) -> None:
    """Print a sheet across, as wide as a page."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth = 1
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True


class OrderedRanges(MultiCellRange):
    """Merged cells in the order of the sheet; their own order changes from run to run."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self.ranges, key=lambda part: (part.min_row, part.min_col)))


class SheetLines:
    """Writes the lines of a sheet from the top, as high as their texts need."""

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet
        self._count = 0

    def append(self, cells: Iterable[Any], height: float | None = None) -> None:
        """Write a line."""
        self._count += 1
        if height is not None:
            self._sheet.row_dimensions[self._count].height = height
        self._sheet.append(list(cells))


class Styles:
    """The styles of one sheet: cells for headings, style numbers for the body."""

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet
        self._labels: dict[tuple[int, bool], int] = {}
        self._texts: dict[str, Any] = {}

    def _cell(self, **style: Any) -> Any:
        cell = WriteOnlyCell(self._sheet)
        for name, value in style.items():
            setattr(cell, name, value)
        return cell

    def text(self, style: str, text: str) -> Any:
        """A text cell."""
        if style not in self._texts:
            self._texts[style] = self._cell(**_STYLES[style])
        shown = one_line(text) if style in _SINGLE_LINES else text
        cell: Any = WriteOnlyCell(self._sheet, shown)
        cell._style = self._texts[style]._style  # to set a style afresh takes ten times as long
        cell.data_type = "s"  # also for texts that begin like a formula or look like an error
        return cell

    def suppressed(self) -> int:
        """Number of the style of suppressed figures."""
        return int(self._cell(alignment=Alignment(horizontal="right")).style_id)

    def count(self, number: int) -> Any:
        """A cell with a number of things."""
        cell = self._cell(number_format="#,##0", alignment=Alignment(vertical="top"))
        cell.value = number
        return cell

    def number(self, status: CellStatus, decimals: int = 0, marks: str = "") -> int:
        """Number of the style of figures of a status, with the marks of their notes."""
        return int(self._cell(number_format=number_format(status, decimals, marks)).style_id)

    def label(self, indent: int, *, total: bool) -> int:
        """Number of the style of a label beside the figures, indented by level."""
        key = (min(indent, _DEEPEST_INDENT), total)
        if key not in self._labels:
            cell = self._cell(alignment=Alignment(indent=key[0]), font=_font(bold=total))
            self._labels[key] = int(cell.style_id)
        return self._labels[key]


class _StillArchive(ZipFile):
    """A zip archive whose members carry no time and no trace of the machine."""

    def __init__(self, path: Path, bodies: Mapping[str, Iterable[str]]) -> None:
        super().__init__(path, "w", ZIP_DEFLATED, allowZip64=True)
        self._bodies = bodies

    def writestr(self, zinfo_or_arcname: Any, data: Any, *args: Any, **options: Any) -> None:
        if zinfo_or_arcname == ARC_CORE:
            data = _TIMES.sub(b"", data)
        super().writestr(_member(zinfo_or_arcname), data, compress_type=ZIP_DEFLATED)

    def write(self, filename: Any, arcname: Any = None, *args: Any, **options: Any) -> None:
        sheet = Path(filename).read_bytes()
        head, end, tail = sheet.partition(_BODY_END)
        with self.open(_member(arcname), "w", force_zip64=True) as place:
            place.write(head)
            for rows in self._bodies.get(arcname, ()):
                place.write(rows.encode())
            place.write(end + tail)


def _member(name: str) -> ZipInfo:
    member = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.compress_type = ZIP_DEFLATED
    member.create_system = 3
    member.external_attr = 0o644 << 16
    return member


def save(book: Workbook, path: Path, bodies: Mapping[str, Iterable[str]]) -> None:
    """Save a workbook without times of making."""
    properties: Any = book.properties
    properties.creator = "discreet"
    names = {f"xl/worksheets/sheet{k}.xml": title for k, title in enumerate(book.sheetnames, 1)}
    placed = {name: bodies[title] for name, title in names.items() if title in bodies}
    with _StillArchive(path, placed) as archive:
        ExcelWriter(book, archive).write_data()


_DEEPEST_OUTLINE = 7
_FOLDED = 2


@dataclass(frozen=True, slots=True)
class StubColumn:
    """A column beside the figures: the codes or the labels of a row variable."""

    heading: str  # what stands over it
    texts: tuple[str, ...]  # the text for each code
    variable: int  # which of the row variables
    indents: tuple[int, ...] | None  # how far each text is indented; None for not at all
    totals: frozenset[int] = frozenset({0})  # the codes that are totals, in bold


def outline(layout: PageLayout) -> IntArray | None:
    """How deep each row can be folded under its totals; None with a single level."""
    depth = np.zeros(layout.shape[0], dtype=np.int64)
    for k, at in enumerate(layout.rows):
        depth += levels_at(layout.table, at)[layout.row_codes[:, k]]
    return np.minimum(depth, _DEEPEST_OUTLINE) if int(depth.max()) >= _FOLDED else None


def _stub_cells(stub: StubColumn, styles: Styles) -> TextArray:
    """The cell of each code, from after its place on."""
    cells = []
    for code, text in enumerate(stub.texts):
        style = styles.label(stub.indents[code] if stub.indents else 0, total=code in stub.totals)
        cells.append(_text_cell(style, one_line(text)))
    return np.array(cells, dtype=object)


def _text_cell(style: int, text: str) -> str:
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' s="{style}" t="inlineStr"><is><t{space}>{escape(text, quote=False)}</t></is></c>'


def _figures(
    layout: PageLayout, block: BodyRows, styles: Styles, remarks: Footnotes, language: str
) -> TextArray:
    """The cell of each figure, from after its place on; intervals are texts."""
    texts = _plain_figures(layout, block, styles, remarks)
    marks = remarks.of_block(layout, block.first, len(block.value))
    which = None if marks is None else marks.which.ravel()
    for at, between in block.intervals(language):
        marked = mark(marks.sets[which[at]]) if marks is not None and which is not None else ""
        texts.flat[at] = _text_cell(styles.suppressed(), between + marked)
    return texts


def _plain_figures(
    layout: PageLayout, block: BodyRows, styles: Styles, remarks: Footnotes
) -> TextArray:
    """The same without intervals."""
    floats = block.value.dtype.kind == "f"
    decimals: int | IntArray = 0
    if floats:
        decimals = block.decimals if isinstance(block.decimals, int) else block.decimals.ravel()
    values, status = block.value.ravel(), block.status.ravel()
    marks = remarks.of_block(layout, block.first, len(block.value))
    if marks is None:
        texts = figure_texts(values, status, _cell_text(styles, ""), decimals)
        return texts.reshape(block.value.shape)
    texts = np.empty(len(values), dtype=object)
    which = marks.which.ravel()
    for number, numbers in enumerate(marks.sets):
        part = which == number
        decimal = decimals if isinstance(decimals, int) else decimals[part]
        own = _cell_text(styles, mark(numbers))
        texts[part] = figure_texts(values[part], status[part], own, decimal)
    return texts.reshape(block.value.shape)


def _cell_text(styles: Styles, marks: str) -> Callable[[int | float, int, int], str]:
    """How the XML of a figure is made, from its value, status and decimals.

    Marks are printed by the number format, so that figures stay numbers.
    """
    signs = {CellStatus.suppressed: SUPPRESSED, CellStatus.not_applicable: INAPPLICABLE}
    signs[CellStatus.imprecise] = IMPRECISE
    hidden = {s: _text_cell(styles.suppressed(), sign + marks) for s, sign in signs.items()}

    @cache
    def opened(status: int, decimals: int) -> str:
        return f' s="{styles.number(CellStatus(status), decimals, marks)}"><v>'

    def text(value: int | float, status: int, decimals: int) -> str:
        if status in signs:
            return hidden[CellStatus(status)]
        return f"{opened(status, decimals)}{value!r}</v></c>"

    return text


_A4 = 9
_WIDEST = 60
_NUMBER_WIDTH = 13
#: Per cent of the usual size below which print is hard to read, and what a page across
#: holds then in every office program, in characters.
_SMALLEST_SCALE, _PAGE_WIDTH = 60, 176
_FEWEST_COLUMNS = 3
_FOOTER = 100


@dataclass(frozen=True)
class TableSheet:
    """The sheet with the figures of a table."""

    layout: PageLayout
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
            totals = frozenset({0}) if has_total(table, at) else frozenset()
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

    @cached_property
    def stub_widths(self) -> list[int]:
        """The widths of the columns beside the figures, in characters."""
        widths = []
        for stub in self.stub_columns:
            deepest = max(stub.indents or (0,)) * 2
            longest = max(len(text) for text in (*stub.texts, stub.heading)) + deepest + 2
            widths.append(max(8, min(longest, _WIDEST)))
        return widths

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
        """The rows below the headings as XML, many at a time; then the footnotes."""
        width = self.stub + self.layout.shape[1]
        letters = [f'<c r="{get_column_letter(column)}' for column in range(1, width + 1)]
        stub_texts = [_stub_cells(stub, styles) for stub in self.stub_columns]
        depth = outline(self.layout)
        folds = np.full(self.layout.shape[0], "", dtype=object)
        if depth is not None:
            levels = [f' outlineLevel="{k}"' for k in range(1, _DEEPEST_OUTLINE + 1)]
            folds = np.array(["", *levels], dtype=object)[depth]
        for block in self.layout.blocks():
            codes = self.layout.row_codes[block.first : block.first + len(block.value)]
            beside = [
                texts[codes[:, stub.variable]]
                for stub, texts in zip(self.stub_columns, stub_texts, strict=True)
            ]
            cells = np.column_stack(
                [*beside, _figures(self.layout, block, styles, self.remarks, self.language)]
            )
            lines = []
            for number, row in enumerate(cells.tolist(), block.first + self.top + 1):
                places = [f'{letter}{number}"' for letter in letters]
                inside = "".join(map(str.__add__, places, row))
                lines.append(f'<row r="{number}"{folds[number - self.top - 1]}>{inside}</row>')
            yield "".join(lines)
        for number, note in enumerate(self.remarks.notes, 1):
            at = self.top + self.layout.shape[0] + 1 + number
            text = f"{mark((number,))} {note.text(self.language)}"
            yield f'<row r="{at}"><c r="A{at}"{_text_cell(0, text)}</row>'

    def _set_up(self, sheet: Any) -> None:
        """Widths, outline, frozen headings and print settings; before the first row."""
        for column, width in enumerate(self.stub_widths, 1):
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
        sheet.page_setup.paperSize = _A4
        set_page_width(sheet)
        breaks = self.page_breaks()
        if breaks:
            sheet.sheet_properties.pageSetUpPr.fitToPage = False
            sheet.page_setup.scale = _SMALLEST_SCALE
            sheet.page_setup.pageOrder = "overThenDown"
            # Only the first page has the title.
            title = self.layout.table.title(self.language)[:_FOOTER]
            sheet.oddFooter.left.text = title.replace("&", "&&")
            for column in breaks:
                sheet.col_breaks.append(Break(id=self.stub + column))
        if breaks and self.stub:
            sheet.print_title_cols = f"A:{get_column_letter(self.stub)}"
        sheet.print_title_rows = f"{len(self.titles) + 1}:{self.top}"
        sheet.oddFooter.right.text = "&P / &N"

    def page_breaks(self) -> list[int]:
        """Before which columns of figures a new page begins, where one page would be too small.

        Pages end between groups of columns where they can be half full at least.
        """
        figures, beside = self.layout.shape[1], sum(self.stub_widths)
        if beside + figures * _NUMBER_WIDTH <= _PAGE_WIDTH:
            return []
        fitting = max(int((_PAGE_WIDTH - beside) // _NUMBER_WIDTH), _FEWEST_COLUMNS)
        groups = next((row for row in self.heads if len(row) > 1), [])
        starts = {heading.column for heading in groups}
        breaks, first = [], 0
        while first + fitting < figures:
            full = range(first + fitting, first + fitting // 2, -1)
            first = next((column for column in full if column in starts), first + fitting)
            breaks.append(first)
        return breaks

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
