"""Templates of tables: the empty layouts in a workbook or text file, as offices draw them.

In: an .xlsx or .csv file with titles, headings and stubs. Out: one `TableTemplate` for each
layout: its title, the texts of headings and stubs line by line, and where each stands. Public:
a template holds no figures; numbers and signs where figures go are left aside.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, PublicationError

#: Signs that stand where figures go.
_PLACES = re.compile(r"[-–—.…x*#/·0-9 ,()%]*|\.{2,}|n/?a", re.IGNORECASE)
#: A layout has at most so many rows, columns and lines of headings.
_MOST_ROWS, _MOST_COLUMNS, _MOST_HEADINGS = 20_000, 2_000, 8
#: Lines of text that head columns of stubs.
_MOST_STUBS = 4


@dataclass(frozen=True, slots=True)
class TemplateText:
    """A text and the cell that it stands in, such as "Sheet1!B3"."""

    text: str
    place: str


@dataclass(frozen=True, kw_only=True)
class TableTemplate:
    """The layout of one table.

    Args:
        sheet: The sheet that it stands in; the name of a text file.
        title: Its title, as far as it has one.
        headings: The lines of headings, each with its texts from left to right.
        stubs: The columns of stubs, each with its texts from top to bottom.
        corner: Texts above the stubs: names of what stands below them.
    """

    sheet: str
    title: str
    headings: tuple[tuple[TemplateText, ...], ...]
    stubs: tuple[tuple[TemplateText, ...], ...]
    corner: tuple[TemplateText, ...]


def read_templates(path: str | os.PathLike[str]) -> list[TableTemplate]:
    r"""The layouts of a file, sheet by sheet; empty rows stand between those of one sheet.

    Args:
        path: The file, .xlsx or .csv.

    Raises:
        PublicationError: If it cannot be read, or holds no layout.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "T.csv"
    >>> _ = file.write_text("People by region\nRegion,male,female\nNorth,,\nSouth,,\n")
    >>> (found,) = read_templates(file)
    >>> found.title, [each.text for each in found.headings[0]], found.stubs[0][1].place
    ('People by region', ['male', 'female'], 'T!A4')
    """
    file = Path(path)
    readers = {".xlsx": _workbook, ".csv": _text_file}
    if file.suffix.lower() not in readers:
        what, hint = "templates are workbooks or text files", "give an .xlsx or .csv file"
        raise PublicationError(what, code="template", where=str(file), hint=hint)
    try:
        sheets = list(readers[file.suffix.lower()](file))
    except DiscreetError:
        raise
    except Exception as error:  # whatever readers of damaged workbooks raise
        what = f"the template cannot be read ({type(error).__name__})"
        raise PublicationError(what, code="template", where=str(file)) from None
    found = [each for name, rows in sheets for each in _templates(name, rows)]
    if not found:
        what = "there is no layout of a table in this file"
        hint = "a layout has headings across, stubs down, and empty cells between them"
        raise PublicationError(what, code="template", where=str(file), hint=hint)
    return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """A filled cell; `spread` for the rest of a merged one, which repeats its first."""

    text: str
    place: str
    spread: bool = False


_Row = Mapping[int, _Cell]


def _workbook(file: Path) -> Iterator[tuple[str, list[_Row]]]:
    from openpyxl import load_workbook

    book = load_workbook(file, data_only=True)
    for sheet in book.worksheets:
        if sheet.max_row > _MOST_ROWS or sheet.max_column > _MOST_COLUMNS:
            what = f"a layout has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns"
            raise PublicationError(what, code="template", where=f"{file}, {sheet.title}")
        rows: list[dict[int, _Cell]] = [{} for _ in range(sheet.max_row)]
        for down, row in enumerate(sheet.iter_rows()):
            for across, cell in enumerate(row):
                text = "" if cell.value is None else _plain(cell.value)
                if text:
                    place = f"{sheet.title}!{cell.coordinate}"
                    rows[down][across] = _Cell(text, place)
        for merged in sheet.merged_cells.ranges:
            first = rows[merged.min_row - 1].get(merged.min_col - 1)
            for down in range(merged.min_row - 1, merged.max_row) if first else ():
                for across in range(merged.min_col - 1, merged.max_col):
                    if (down, across) != (merged.min_row - 1, merged.min_col - 1):
                        rows[down][across] = _Cell(first.text, first.place, spread=True)
        yield sheet.title, list(rows)


def _text_file(file: Path) -> Iterator[tuple[str, list[_Row]]]:
    content = file.read_bytes()
    text = content.decode("utf-8-sig")
    first = max(";,\t", key=text.count)
    rows = []
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=first), 1):
        if number > _MOST_ROWS or len(row) > _MOST_COLUMNS:
            what = f"a layout has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns"
            raise PublicationError(what, code="template", where=str(file))
        rows.append(
            {
                at: _Cell(_plain(each), f"{file.stem}!{_letters(at)}{number}")
                for at, each in enumerate(row)
                if each.strip()
            }
        )
    yield file.stem, list(rows)


def _letters(column: int) -> str:
    """The letters of a column.

    >>> _letters(0), _letters(25), _letters(26), _letters(701)
    ('A', 'Z', 'AA', 'ZZ')
    """
    found = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


def _plain(value: Any) -> str:
    """The text of a cell on one line."""
    whole = isinstance(value, float) and value.is_integer()
    return re.sub(r"\s+", " ", str(int(value) if whole else value)).strip()


def _is_place(text: str) -> bool:
    """Whether a figure would go there, rather than a heading."""
    return _PLACES.fullmatch(text) is not None


def _templates(sheet: str, rows: Sequence[_Row]) -> Iterator[TableTemplate]:
    """The layouts of a sheet; lines of one text are titles of what follows."""
    title = ""
    for block in _blocks(rows):
        lines = list(block)
        left = min(min(row) for row in lines)
        while lines and left in lines[0] and _single(lines[0]):
            told = next(iter(lines.pop(0).values())).text
            # The first line is the title; others below it name units and the like.
            title = title or told
        found = _template(sheet, title, lines) if len(lines) > 1 else None
        if found is not None:
            yield found
            title = ""


def _blocks(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    block: list[_Row] = []
    for row in [*rows, {}]:
        if row:
            block.append(row)
        elif block:
            yield block
            block = []


def _single(row: _Row) -> bool:
    return sum(not each.spread for each in row.values()) == 1 and not _is_place(
        next(iter(row.values())).text
    )


def _template(sheet: str, title: str, lines: Sequence[_Row]) -> TableTemplate | None:
    """Headings, stubs and corner of a block; None if it has no headings or no stubs."""
    width = max(max(row) for row in lines) + 1
    height = 0
    while height < len(lines) and height < _MOST_HEADINGS and _is_heading(lines, height, width):
        height += 1
    body = lines[height:]
    stubs = sorted({at for row in body for at, each in row.items() if not _is_place(each.text)})
    left = 0
    while left in stubs or (left < min(stubs, default=0) and left < _MOST_STUBS):
        left += 1
    if not height or not body or not stubs or left >= width:
        return None
    headings = tuple(
        tuple(
            TemplateText(each.text, each.place)
            for at, each in sorted(row.items())
            if at >= left and not each.spread
        )
        for row in lines[:height]
    )
    columns = tuple(
        tuple(
            TemplateText(row[at].text, row[at].place)
            for row in body
            if at in row and not row[at].spread
        )
        for at in range(left)
    )
    corner = [row[at] for row in lines[:height] for at in range(left) if at in row]
    return TableTemplate(
        sheet=sheet,
        title=title,
        headings=tuple(each for each in headings if each),
        stubs=tuple(each for each in columns if each),
        corner=tuple(TemplateText(e.text, e.place) for e in corner if not e.spread),
    )


def _is_heading(lines: Sequence[_Row], at: int, width: int) -> bool:
    """Whether texts stand where the figures of lower lines go."""
    row = lines[at]
    texts = {column for column, each in row.items() if not _is_place(each.text)}
    if not at:
        return True
    # Numbers are headings (years, classes) only where nothing stands before them.
    if not texts:
        return 0 not in row and bool(row)
    # Stubs stand at the left, with places for figures behind them.
    return texts != set(range(len(texts))) or len(texts) == width
