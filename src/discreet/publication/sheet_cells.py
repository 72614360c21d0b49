"""Cells and styles of workbooks, and saving them so that equal tables give equal bytes.

In: texts and published numbers. Out: styled cells for `openpyxl`. Public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.writer.excel import ExcelWriter
from openpyxl.xml.constants import ARC_CORE

from discreet.publication.notation import OFFICIAL, ZERO
from discreet.tables import CellStatus

__all__ = [
    "OrderedRanges",
    "SheetLines",
    "Styles",
    "number_format",
    "one_line",
    "row_height",
    "save",
]

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

    Args:
        texts: Each text and the width of its cell, in characters.

    >>> row_height([("a", 10)]), row_height([("a text of some length", 10)])
    (None, 45.0)
    """
    lines = max((math.ceil(len(text) * _WIDE / width) for text, width in texts), default=1)
    return min(lines * _LINE_HEIGHT, _HIGHEST) if lines > 1 else None


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
    """Save a workbook without times of making.

    Args:
        book: The workbook; its sheets hold the lines above the figures.
        path: Where to write.
        bodies: Title of a sheet → the XML of its further rows, piece by piece. Writing
            these as text takes a tenth of the time of cell objects.
    """
    properties: Any = book.properties
    properties.creator = "discreet"
    names = {f"xl/worksheets/sheet{k}.xml": title for k, title in enumerate(book.sheetnames, 1)}
    placed = {name: bodies[title] for name, title in names.items() if title in bodies}
    with _StillArchive(path, placed) as archive:
        ExcelWriter(book, archive).write_data()
