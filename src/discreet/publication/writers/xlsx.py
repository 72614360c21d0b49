"""XLSX: workbooks of one table or of many.

In: `ProtectedTable`s. Out: a workbook with a sheet per table and a sheet that explains signs,
notes and provenance, first in the language asked for; for many, an index sheet first, with a
line per table. Rows of figures are written as XML, many at a time. Figures stay numbers, and
number formats print the signs; every text is stored as text, so that no label can act as a
formula. Equal tables give equal bytes. Public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.packaging.custom import StringProperty
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.pagebreak import Break
from openpyxl.writer.excel import ExcelWriter
from openpyxl.xml.constants import ARC_CORE

from discreet.arrays import IntArray, TextArray
from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import atomic_path
from discreet.publication.description import (
    below_title,
    check_texts,
    printed_notes,
    provenance_lines,
    universe,
)
from discreet.publication.formats import CELL_LIMIT, WriteOptions, check_shape
from discreet.publication.layout import (
    BodyRows,
    PageLayout,
    footnotes,
    headings,
    laid_out,
    lay_out,
    mark,
    page_starts,
)
from discreet.publication.notation import OFFICIAL, WITHOUT, ZERO, figure_texts, legend
from discreet.publication.vocabulary import (
    LANGUAGES,
    figure_text,
    has_total,
    labels_at,
    levels_at,
    words,
)
from discreet.tables import CellStatus, ProtectedTable

_HEAD_FILL = PatternFill("solid", fgColor="FFE3EAF1")
_LINE = Side(style="thin", color="FF8A9BAB")
_BOX = Border(left=_LINE, right=_LINE, top=_LINE, bottom=_LINE)
_CENTRE = Alignment(horizontal="center", vertical="center", wrap_text=True)
_DEEPEST_INDENT = 15
#: Styles of texts in rows that are one line high.
_SINGLE_LINES = frozenset({"title", "universe", "section"})
#: Points of a line, the most that a row may have, and how wide characters get at worst.
_LINE_HEIGHT, _HIGHEST, _WIDE = 15.0, 400.0, 1.1
_BODY_END = b"</sheetData>"
_TIMES = re.compile(rb"<dcterms:(created|modified)\b.*?</dcterms:\1>", re.DOTALL)
_DEEPEST_OUTLINE, _FOLDED = 7, 2
_A4 = 9
_WIDEST, _NUMBER_WIDTH = 60, 13
#: Per cent of the usual size below which print is hard to read, and what a page across
#: holds then in every office program, in characters.
_SMALLEST_SCALE, _PAGE_WIDTH = 60, 176
_FEWEST_COLUMNS = 3
_FOOTER = 100
_INDEX_WIDTHS = {"A": 18, "B": 60, "C": 36, "D": 36, "E": 14, "F": 10}
_LEGEND_WIDTHS = {"A": 24, "B": 100}
_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\\/*?:\[\]\x00-\x1f]")
_RESERVED = "history"


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


def _one_line(text: str) -> str:
    """A text on one line: rows do not grow with their texts, so lines would overlap."""
    return " ".join(text.splitlines()) if len(text.splitlines()) > 1 else text


#: Languages whose separators stand in the format, so that they do not follow the reader's computer.
_FORMAT_LANGUAGE = {"de": "[$-407]"}


def number_format(status: int, decimals: int, marks: str = "", *, spaces: int | None = None) -> str:
    """The number format that prints a value with its sign and the marks of its notes.

    With a number of `spaces` between thousands, it is German on every computer, but for the comma
    in front of decimals, which some programs leave to the computer.

    >>> number_format(CellStatus.published, 0)
    '#,##0;-#,##0;"–"'
    >>> number_format(CellStatus.bracketed, 1, "¹")
    '(#,##0.0)"¹";(-#,##0.0)"¹";"–¹"'
    >>> number_format(CellStatus.published, 0, spaces=1).replace(chr(0x202F), " ")
    '[$-407]#" "##0;[$-407]-#" "##0;"–"'
    """
    own, digits = "", "#,##0"
    if spaces is not None:
        own = _FORMAT_LANGUAGE["de"]
        digits = f'"{words("de").group}"'.join(["#", *["###"] * (spaces - 1), "##0"][-spaces - 1 :])
        digits = digits if spaces else "0"
    digits += "." + "0" * decimals if decimals else ""
    sign = OFFICIAL if status == CellStatus.official else ""
    after = f'"{sign}{marks}"' if sign or marks else ""
    zero = f'"{ZERO}{marks}"'
    if status == CellStatus.bracketed:
        return f"{own}({digits}){after};{own}(-{digits}){after};{zero}"
    return f"{own}{digits}{after};{own}-{digits}{after};{zero}"


def _spaces(value: float, decimals: int, language: str) -> int | None:
    """The number of spaces between thousands of a value; None where a format has commas."""
    if language not in _FORMAT_LANGUAGE:
        return None
    return (len(f"{abs(value):.{decimals}f}".partition(".")[0]) - 1) // 3


def _row_height(texts: Iterable[tuple[str, float]]) -> float | None:
    """The height of a row with wrapped texts of so wide columns; None if one line is enough."""
    lines = max((math.ceil(len(text) * _WIDE / width) for text, width in texts), default=1)
    return min(lines * _LINE_HEIGHT, _HIGHEST) if lines > 1 else None


class _OrderedRanges(MultiCellRange):
    """Merged cells in the order of the sheet; their own order changes from run to run."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self.ranges, key=lambda part: (part.min_row, part.min_col)))


class _SheetLines:
    """Writes the lines of a sheet from the top, as high as their texts need, and its styles."""

    def __init__(self, sheet: Any, widths: Mapping[str, float]) -> None:
        self._sheet = sheet
        self._count = 0
        self._texts: dict[str, Any] = {}
        for letter, width in widths.items():
            sheet.column_dimensions[letter].width = width
        # Print the sheet across, as wide as a page.
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True

    def append(self, cells: Iterable[Any] = (), height: float | None = None) -> None:
        """Write a line."""
        self._count += 1
        if height is not None:
            self._sheet.row_dimensions[self._count].height = height
        self._sheet.append(list(cells))

    def cell(self, value: Any = None, **style: Any) -> Any:
        """A cell of a style."""
        cell = WriteOnlyCell(self._sheet, value)
        for name, own in style.items():
            setattr(cell, name, own)
        return cell

    def text(self, style: str, text: str) -> Any:
        """A text cell."""
        if style not in self._texts:
            self._texts[style] = self.cell(**_STYLES[style])
        cell = self.cell(_one_line(text) if style in _SINGLE_LINES else text)
        cell._style = self._texts[style]._style  # to set a style afresh takes ten times as long
        cell.data_type = "s"  # also for texts that begin like a formula or look like an error
        return cell

    def section(self, heading: str, style: str, lines: Sequence[tuple[str, str]]) -> None:
        """Write lines of two texts below a heading; nothing if there are none."""
        if lines:
            self.append([self.text("section", heading)])
            for left, right in lines:
                height = _row_height([(right, _LEGEND_WIDTHS["B"])])
                self.append([self.text(style, left), self.text("plain", right)], height)
            self.append()


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


def _save(
    book: Workbook,
    path: Path,
    bodies: Mapping[str, Iterable[str]],
    digests: Mapping[str, str],
    language: str,
) -> None:
    """Save a workbook without times of making."""
    about: Any = book
    about.properties.creator, about.properties.language = "discreet", language
    for name, digest in sorted(digests.items()):
        about.custom_doc_props.append(StringProperty(name=f"digest {name}", value=digest))
    names = {f"xl/worksheets/sheet{k}.xml": title for k, title in enumerate(book.sheetnames, 1)}
    placed = {name: bodies[title] for name, title in names.items() if title in bodies}
    with _StillArchive(path, placed) as archive:
        ExcelWriter(book, archive).write_data()


@dataclass(frozen=True, slots=True)
class _StubColumn:
    """A column beside the figures: the codes or the labels of a row variable."""

    heading: str  # what stands over it
    texts: Sequence[str]  # the text for each code
    variable: int  # which of the row variables
    indents: Sequence[int]  # how far each text is indented
    has_total: bool  # whether the first code is a total, in bold


def _text_cell(style: int, text: str) -> str:
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' s="{style}" t="inlineStr"><is><t{space}>{escape(text, quote=False)}</t></is></c>'


class _TableSheet:
    """The sheet with the figures of a table."""

    def __init__(self, layout: PageLayout, language: str, labels: bool) -> None:
        self.layout, self.table, self.language = layout, layout.table, language
        self.heads = headings(layout, language)
        self.titles = [self.table.title(language), *below_title(self.table, language), ""]
        self.remarks = footnotes(self.table)
        self.stubs = list(self._stub_columns(labels))
        self.stub_widths = [
            max(
                8,
                min(
                    max(map(len, (*stub.texts, stub.heading))) + 2 + 2 * max(stub.indents), _WIDEST
                ),
            )
            for stub in self.stubs
        ]
        self.top = len(self.titles) + len(self.heads)  # number of rows above the figures
        rows, columns = layout.shape
        check_shape("xlsx", self.top + rows, len(self.stubs) + columns, where=self.table.name)

    def _stub_columns(self, labelled: bool) -> Iterator[_StubColumn]:
        """The columns beside the figures: codes and labels of the row variables."""
        for k, at in enumerate(self.layout.rows):
            dimension, total = self.layout.dimension(at), has_total(self.table, at)
            title = dimension.title(self.language)
            labels = labels_at(self.table, at, self.language)
            levels = levels_at(self.table, at).tolist()
            if labelled and labels[1:] != dimension.codes[1:]:
                heading = f"{title} ({words(self.language).code})"
                yield _StubColumn(heading, dimension.codes, k, [0] * len(labels), total)
            shown = enumerate(labels if labelled else dimension.codes)
            texts = [text + mark(self.remarks.of_code(at, code)) for code, text in shown]
            yield _StubColumn(title, texts, k, levels, total)

    @cached_property
    def _depth(self) -> IntArray | None:
        """How deep each row can be folded under its totals; None with a single level."""
        depth = np.zeros(self.layout.shape[0], dtype=np.int64)
        for k, at in enumerate(self.layout.rows):
            depth += levels_at(self.table, at)[self.layout.row_codes[:, k]]
        return np.minimum(depth, _DEEPEST_OUTLINE) if int(depth.max()) >= _FOLDED else None

    def write(self, book: Workbook, name: str) -> tuple[str, Iterator[str]]:
        """Add the sheet with its headings; give its title and its body."""
        sheet: Any = book.create_sheet(name)
        stubs = len(self.stubs)
        widths = [*self.stub_widths, *[_NUMBER_WIDTH] * self.layout.shape[1]]
        letters = [get_column_letter(column) for column in range(1, len(widths) + 1)]
        lines = _SheetLines(sheet, dict(zip(letters, widths, strict=True)))
        if self._depth is not None:
            sheet.sheet_properties.outlinePr.summaryBelow = False
            sheet.sheet_format.outlineLevelRow = int(self._depth.max())
        sheet.freeze_panes = f"{get_column_letter(stubs + 1)}{self.top + 1}"
        sheet.page_setup.paperSize = _A4
        # Before which columns of figures a new page begins, where one page would be too small.
        figures, beside = self.layout.shape[1], sum(self.stub_widths)
        breaks: list[int] = []
        if beside + figures * _NUMBER_WIDTH > _PAGE_WIDTH:
            fitting = max(int((_PAGE_WIDTH - beside) // _NUMBER_WIDTH), _FEWEST_COLUMNS)
            breaks = page_starts(self.heads, figures, fitting)
        if breaks:
            sheet.sheet_properties.pageSetUpPr.fitToPage = False
            sheet.page_setup.scale = _SMALLEST_SCALE
            sheet.page_setup.pageOrder = "overThenDown"
            # Only the first page has the title.
            title = self.table.title(self.language)[:_FOOTER]
            sheet.oddFooter.left.text = title.replace("&", "&&")
            for column in breaks:
                sheet.col_breaks.append(Break(id=stubs + column))
        if breaks and stubs:
            sheet.print_title_cols = f"A:{get_column_letter(stubs)}"
        sheet.print_title_rows = f"{len(self.titles) + 1}:{self.top}"
        sheet.oddFooter.right.text = "&P / &N"
        for line, text in enumerate(self.titles):
            lines.append([lines.text("universe" if line else "title", text)] if text else [])
        sheet.merged_cells = _OrderedRanges()
        first = len(self.titles) + 1
        if len(self.heads) > 1:
            for letter in letters[:stubs]:
                sheet.merged_cells.add(f"{letter}{first}:{letter}{self.top}")
        for number, row in enumerate(self.heads):
            height = _row_height((h.text, h.width * _NUMBER_WIDTH) for h in row if h.height == 1)
            starts = {heading.column: heading.text + mark(heading.marks) for heading in row}
            over = [lines.text("stub", "" if number else stub.heading) for stub in self.stubs]
            columns = range(self.layout.shape[1])
            over += [lines.text("heading", starts.get(column, "")) for column in columns]
            lines.append(over, height)
            for heading in row:
                if heading.width * heading.height > 1:
                    left = letters[stubs + heading.column]
                    right = letters[stubs + heading.column + heading.width - 1]
                    low = first + number
                    sheet.merged_cells.add(f"{left}{low}:{right}{low + heading.height - 1}")
        return sheet.title, self._body(lines, letters)

    def _body(self, sheet: _SheetLines, letters: Sequence[str]) -> Iterator[str]:
        """The rows below the headings as XML, many at a time; then the footnotes."""
        folds = np.full(self.layout.shape[0], "", dtype=object)
        if self._depth is not None:
            levels = [f' outlineLevel="{k}"' for k in range(1, _DEEPEST_OUTLINE + 1)]
            folds = np.array(["", *levels], dtype=object)[self._depth]

        @cache
        def label(indent: int, total: bool) -> int:
            own = {"alignment": Alignment(indent=indent), "font": _font(bold=total)}
            return int(sheet.cell(**own).style_id)

        stub_cells = []
        for stub in self.stubs:
            cells = [
                _text_cell(
                    label(min(stub.indents[code], _DEEPEST_INDENT), stub.has_total and code == 0),
                    _one_line(text),
                )
                for code, text in enumerate(stub.texts)
            ]
            stub_cells.append(np.array(cells, dtype=object))
        for block in self.layout.blocks():
            codes = self.layout.row_codes[block.first : block.first + len(block.value)]
            pairs = zip(self.stubs, stub_cells, strict=True)
            beside = [texts[codes[:, stub.variable]] for stub, texts in pairs]
            rows = np.column_stack([*beside, self._figures(block, sheet)])
            lines = []
            for number, row in enumerate(rows.tolist(), block.first + self.top + 1):
                pieces = zip(letters, row, strict=True)
                inside = "".join([f'<c r="{letter}{number}"{text}' for letter, text in pieces])
                lines.append(f'<row r="{number}"{folds[number - self.top - 1]}>{inside}</row>')
            yield "".join(lines)
        for number, note in enumerate(self.remarks.notes, 1):
            at = self.top + self.layout.shape[0] + 1 + number
            text = f"{mark((number,))} {note.text(self.language)}"
            yield f'<row r="{at}"><c r="A{at}"{_text_cell(0, text)}</row>'

    def _figures(self, block: BodyRows, sheet: _SheetLines) -> TextArray:
        """The cell of each figure, from after its place on; intervals are texts."""
        decimals = np.zeros(block.value.size, dtype=np.int64)
        if block.value.dtype.kind == "f":
            decimals = np.broadcast_to(block.decimals, block.value.shape).ravel()
        values, status = block.value.ravel(), block.status.ravel()
        marks = self.remarks.of_block(self.layout, block.first, len(block.value))
        sets: list[tuple[int, ...]] = [()] if marks is None else marks.sets
        which = np.zeros(len(values), np.int64) if marks is None else marks.which.ravel()
        texts = np.empty(len(values), dtype=object)
        for number, numbers in enumerate(sets):
            part = which == number
            own = _figure_text(sheet, mark(numbers), self.language)
            texts[part] = figure_texts(values[part], status[part], own, decimals[part])
        for at, between in block.intervals(self.language):
            texts[at] = _text_cell(_suppressed(sheet), between + mark(sets[which[at]]))
        return texts.reshape(block.value.shape)


def _suppressed(sheet: _SheetLines) -> int:
    """Number of the style of suppressed figures."""
    return int(sheet.cell(alignment=Alignment(horizontal="right")).style_id)


def _figure_text(
    sheet: _SheetLines, marks: str, language: str
) -> Callable[[int | float, int, int], str]:
    """How the XML of a figure is made, from its value, status and decimals.

    Marks are printed by the number format, so that figures stay numbers.
    """
    hidden = {
        status: _text_cell(_suppressed(sheet), sign + marks) for status, sign in WITHOUT.items()
    }

    @cache
    def opened(status: int, decimals: int, spaces: int | None) -> str:
        own = number_format(status, decimals, marks, spaces=spaces)
        return f' s="{int(sheet.cell(number_format=own).style_id)}"><v>'

    def text(value: int | float, status: int, decimals: int) -> str:
        if status in hidden:
            return hidden[CellStatus(status)]
        own = opened(status, decimals, _spaces(value, decimals, language))
        return f"{own}{value!r}</v></c>"

    return text


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the table sheet row by row, then the legend sheet."""
    check_texts(table, options.language)
    sheet = _TableSheet(laid_out(table, options), options.language, options.labels)
    book = Workbook(write_only=True)
    title, body = sheet.write(book, words(options.language).table)
    lines = _SheetLines(book.create_sheet(words(options.language).legend), _LEGEND_WIDTHS)
    others = [one for one in LANGUAGES if one in table.titles and one != options.language]
    for language in (options.language, *others):
        text = words(language)
        lines.append([lines.text("title", table.title(language))])
        lines.append()
        signs = [(sign.symbol, sign.meaning) for sign in legend(table, language)]
        lines.section(text.legend, "symbol", signs)
        lines.section(text.notes, "plain", _note_lines(table, language))
        lines.section(text.provenance, "plain", provenance_lines(table, language))
    _save(book, path, {title: body}, table.provenance.digests, options.language)


def _note_lines(table: ProtectedTable, language: str) -> list[tuple[str, str]]:
    """Notes, then numbered footnotes."""
    lines = [("", note.text(language)) for note in printed_notes(table)]
    numbered = enumerate(footnotes(table).notes, 1)
    return lines + [(mark((number,)), note.text(language)) for number, note in numbered]


def write_many(
    tables: Sequence[ProtectedTable],
    target: Path,
    title: str,
    language: str,
    *,
    complete: bool | None,
    labels: bool,
) -> None:
    """Write the index, a sheet for each table, and their legend; see `write_workbook`."""
    names = [table.name for table in tables]
    problems = [
        Problem(f"two tables have the name {name!r}", "workbook", "give them different names")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if not names:
        problems = [Problem("a workbook needs a table", "workbook", "give it one or more")]
    raise_all(PublicationError, problems, code="workbook")
    text = words(language)
    sheets = []
    for table in tables:
        check_texts(table, language)
        layout = lay_out(table, complete=complete, limit=CELL_LIMIT)
        sheets.append(_TableSheet(layout, language, labels))
    size = sum(math.prod(sheet.layout.shape) for sheet in sheets)
    if size > CELL_LIMIT:
        message = f"a workbook holds at most {CELL_LIMIT:,} cells; these tables have {size:,}"
        hint = "write several workbooks, or csv or parquet instead"
        raise PublicationError(message, code="too-large", where="workbook", hint=hint)
    own_names = sheet_names(names, taken=(text.index, text.legend))
    book = Workbook(write_only=True)
    index: Any = book.create_sheet(text.index)
    lines = _SheetLines(index, _INDEX_WIDTHS)
    index.freeze_panes = "A4"
    lines.append([lines.text("title", title)])
    lines.append()
    heads = (text.sheet, text.title, text.universe, text.figures, text.cells, text.notes)
    lines.append([lines.text("stub", head[:1].upper() + head[1:]) for head in heads])
    for table, name in zip(tables, own_names, strict=True):
        link = lines.text("link", name)
        quoted = name.replace("'", "''")
        link.hyperlink = Hyperlink(ref="A1", location=f"'{quoted}'!A1", display=name)
        figures = ", ".join(figure_text(figure, language) for figure in table.figures)
        texts = (table.title(language), universe(table, language), figures)
        cells = [link, *(lines.text("plain", part) for part in texts)]
        for number in (table.grid_size, len(_note_lines(table, language))):
            own = number_format(CellStatus.published, 0, spaces=_spaces(number, 0, language))
            look = {"number_format": own, "alignment": Alignment(vertical="top")}
            cells.append(lines.cell(number, **look))
        pairs = zip((str(cell.value) for cell in cells), _INDEX_WIDTHS.values(), strict=True)
        lines.append(cells, _row_height(pairs))
    bodies = dict(sheet.write(book, name) for sheet, name in zip(sheets, own_names, strict=True))
    lines = _SheetLines(book.create_sheet(text.legend), _LEGEND_WIDTHS)
    signs = dict.fromkeys(sign for table in tables for sign in legend(table, language))
    # A dash that stands for more in one table than in another is explained for both.
    wider = {text.true_zero, text.rounded_zero} if text.zero in [s.meaning for s in signs] else ()
    shown = [(s.symbol, s.meaning) for s in signs if s.meaning not in wider]
    lines.section(text.legend, "symbol", shown)
    for table in tables:
        heading = f"{table.name}: {table.title(language)}"
        about = [*_note_lines(table, language), *provenance_lines(table, language)]
        lines.section(heading, "plain", about)
    with atomic_path(target) as temporary:
        _save(book, temporary, bodies, {}, language)


def sheet_names(names: Sequence[str], *, taken: Sequence[str] = ()) -> list[str]:
    """A name that spreadsheets allow for each table; all differ, whatever their case.

    >>> sheet_names(["T1", "t1", "Rents: 2024/25", "x" * 40])[1:]
    ['t1 (2)', 'Rents_ 2024_25', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    used = {_RESERVED, *(name.lower() for name in taken)}
    result = []
    for name in names:
        plain = _FORBIDDEN.sub("_", name).strip("' ") or "_"
        safe, number = plain[:_LONGEST_NAME], 1
        while safe.lower() in used:
            number += 1
            ending = f" ({number})"
            safe = plain[: _LONGEST_NAME - len(ending)] + ending
        used.add(safe.lower())
        result.append(safe)
    return result
