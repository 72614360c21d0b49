"""A table laid out on a page: its variables down and across, its headings and footnotes.

In: `ProtectedTable`. Out: `PageLayout`, the shown combinations of codes for rows and columns
with the body in blocks of rows; rows of headings, each over the columns it belongs to;
numbered remarks and where their marks stand. Public. What a cell of the shown rows and
columns is that is not stored, the table says; on parts it lacks, it is unknown. A remark
that names one variable marks its heading; one that names several marks the cells; one that
names none is about the whole table and is printed with its other notes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import (
    BoolArray,
    CellIndex,
    FloatArray,
    IntArray,
    SmallIntArray,
    TextArray,
    find_sorted,
)
from discreet.errors import Problem, PublicationError, raise_all
from discreet.publication.cells import ListedCells, ValueArray, flat_keys, is_complete, stored_cells
from discreet.publication.formats import CELL_LIMIT, WriteOptions
from discreet.publication.notation import figure_texts, interval_texts, symbol
from discreet.publication.vocabulary import figure_line, is_figure, labels_at, levels_at, words
from discreet.tables import FIGURE, CellStatus, Dimension, Note, ProtectedTable


@dataclass(frozen=True, slots=True)
class BodyRows:
    """Some rows of the body."""

    first: int  # number of the first row
    value: ValueArray  # published values, rows × columns
    status: SmallIntArray  # their status, rows × columns
    decimals: int | IntArray  # digits after the decimal point of all cells, or of each
    #: Intervals to be printed in the place of cells, flat; None for none
    bounds: tuple[FloatArray, FloatArray] | None = None

    def intervals(self, language: str | None) -> Iterator[tuple[int, str]]:
        """Which cells, in flat order, have an interval in their place, and its text."""
        if self.bounds is not None:
            decimals = np.broadcast_to(self.decimals, self.value.shape).ravel()
            at, texts = interval_texts(self.bounds, decimals, language)
            yield from zip(at.tolist(), texts, strict=True)

    def texts(self, text: Callable[[int | float, int, int], str]) -> TextArray:
        """A text for each cell, made of its value, its status and its number of decimals."""
        decimals = self.decimals if isinstance(self.decimals, int) else self.decimals.ravel()
        cells = figure_texts(self.value.ravel(), self.status.ravel(), text, decimals)
        return cells.reshape(self.value.shape)

    def symbols(self, language: str) -> TextArray:
        """Each cell as printed, or its interval."""
        texts = self.texts(partial(symbol, language=language))
        for at, text in self.intervals(language):
            texts.flat[at] = text
        return texts


@dataclass(frozen=True, kw_only=True)
class PageLayout:
    """A table on a page."""

    table: ProtectedTable
    rows: tuple[int, ...]  # positions of the variables that go down
    columns: tuple[int, ...]  # positions of the variables that go across
    row_codes: IntArray  # per shown row, the position of each row variable's code
    column_codes: IntArray  # per shown column, the position of each column variable's code

    @property
    def shape(self) -> tuple[int, int]:
        """Number of body rows and columns."""
        return len(self.row_codes), len(self.column_codes)

    def dimension(self, at: int) -> Dimension:
        """The spanning variable at a position of the table."""
        return self.table.dimensions[at]

    def blocks(self, rows: int = 2_000) -> Iterator[BodyRows]:
        """The body, so many rows at a time."""
        table = self.table
        cells = stored_cells(table)
        # For each cell, the row and the column it stands in; -1 if that is not shown.
        places = []
        for variables, codes in ((self.rows, self.row_codes), (self.columns, self.column_codes)):
            sizes = [len(table.dimensions[at]) for at in variables]
            known = flat_keys(sizes, list(codes.T.astype(np.int32)), len(codes))
            keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
            places.append(find_sorted(known, keys))
        down, across = places
        shown = np.flatnonzero((down >= 0) & (across >= 0))
        order = shown[np.argsort(down[shown], kind="stable")]
        for first in range(0, len(self.row_codes), rows):
            last = min(first + rows, len(self.row_codes))
            low, high = np.searchsorted(down[order], [first, last])
            part = order[low:high]
            place = (down[part] - first, across[part])
            shape = (last - first, len(self.column_codes))
            index, size = self.places(first, last)
            value: Any = np.zeros(shape, dtype=cells.value.dtype)
            value[place] = cells.value[part]
            status = table.absent(index, size)
            status[~table.known(index, size)] = CellStatus.suppressed  # shown as unknown
            status = status.reshape(shape)
            status[place] = cells.status[part]
            decimals: int | IntArray = table.figure_decimals()
            if table.several_figures:
                figures = np.array([figure.decimals for figure in table.figures], dtype=np.int64)
                decimals = figures[index[-1]].reshape(shape)
            bounds = None
            if table.withheld is not None and table.withheld.instead:
                bounds = table.withheld.printed(table.dimensions, index, size)
            yield BodyRows(first, value, status, decimals, bounds)

    def places(self, first: int, last: int) -> tuple[list[Any], int]:
        """The codes of all cells of some rows, and how many these are."""
        shape = (last - first, len(self.column_codes))
        index: list[Any] = [None] * len(self.table.dimensions)
        for k, at in enumerate(self.rows):
            index[at] = np.repeat(self.row_codes[first:last, k], shape[1])
        for k, at in enumerate(self.columns):
            index[at] = np.tile(self.column_codes[:, k], shape[0])
        return index, shape[0] * shape[1]


def _matching(index: Iterable[Any], wanted: Sequence[int | None], size: int) -> BoolArray:
    """Which of so many cells have the codes wanted, given the codes of each variable."""
    match = np.ones(size, dtype=np.bool_)
    for part, code in zip(index, wanted, strict=True):
        if code is not None:
            match &= part == code
    return match


def arrange(
    table: ProtectedTable,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the variables that go down and across.

    By default the last variable goes across, and a single one down. Several figures go
    across, over the codes of the last variable, unless they are placed by name.
    """
    names = [dimension.name for dimension in table.dimensions]
    variables = f"variables: {', '.join(names)}" if names else "the table has no variables"
    problems = []
    for where, placed in (("rows", rows), ("columns", columns)):
        if isinstance(placed, str):
            message = "expected a list of names, got a text"
            problems.append(Problem(message, where, variables))
            continue
        lost = [name for name in placed or () if name not in names]
        problems += [Problem(f"variable {name!r} not found", where, variables) for name in lost]
    if not problems:
        times = Counter([*(rows or ()), *(columns or ())])
        wrong = [f"variable {name!r} is placed twice" for name in times if times[name] > 1]
        if rows is not None and columns is not None:
            known = {*times, *([FIGURE] if table.several_figures else [])}
            wrong += [
                f"variable {name!r} is missing in the layout" for name in names if name not in known
            ]
        problems = [Problem(message, "rows and columns", variables) for message in wrong]
    many = "the layout does not match the table"
    raise_all(PublicationError, problems, code="layout", many=many)
    unplaced = table.several_figures and FIGURE not in (*(rows or ()), *(columns or ()))
    free = [FIGURE] if unplaced else []
    rest = [name for name in names if name not in free]
    if rows is None and columns is None:
        split = max(len(rest) - 1, min(len(rest), 1))
        rows, columns = rest[:split], rest[split:]
    elif rows is None:
        rows = [name for name in rest if name not in (columns or ())]
    elif columns is None:
        columns = [name for name in rest if name not in rows]
    down, across = rows or (), (*free, *(columns or ()))
    return tuple(names.index(n) for n in down), tuple(names.index(n) for n in across)


def lay_out(
    table: ProtectedTable,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    complete: bool | None = None,
    keep: Sequence[BoolArray] | None = None,
    limit: int | None = None,
) -> PageLayout:
    """Lay a table out."""
    down, across = arrange(table, rows, columns)
    masks = [np.ones(len(d), np.bool_) for d in table.dimensions] if keep is None else list(keep)
    whole = is_complete(table, complete) or keep is not None
    cells = None if whole else stored_cells(table)

    def check(size: int) -> None:
        if limit is not None and size > limit:
            message = f"a page or workbook holds at most {limit:,} cells; this table has {size:,}"
            hint = "write csv or parquet instead, or publish fewer codes"
            raise PublicationError(message, code="too-large", where=table.name, hint=hint)

    def shown(variables: Sequence[int]) -> IntArray:
        """The combinations of codes to show: all, or those of the cells and the totals."""
        if not variables:
            return np.zeros((1, 0), dtype=np.int64)
        if cells is None:
            grid = np.meshgrid(*(np.flatnonzero(masks[at]) for at in variables), indexing="ij")
            return np.stack([part.ravel() for part in grid], axis=1).astype(np.int64)
        sizes = [len(table.dimensions[at]) for at in variables]
        keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
        parts = CellIndex(tuple(sizes)).positions(np.unique(np.append(keys, 0)))
        return np.stack(parts, axis=1).astype(np.int64)

    if whole:
        check(math.prod(int(mask.sum()) for mask in masks))
    layout = PageLayout(
        table=table, rows=down, columns=across, row_codes=shown(down), column_codes=shown(across)
    )
    check(math.prod(layout.shape))
    return layout


def laid_out(table: ProtectedTable, options: WriteOptions) -> PageLayout:
    """Lay a table out as the options say, as far as a page or a workbook holds it."""
    rows, columns = options.rows, options.columns
    return lay_out(table, rows=rows, columns=columns, complete=options.complete, limit=CELL_LIMIT)


_RAISED = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹\u02d2")

#: Per dimension, the position of a code that a remark is about; None for all.
_Place = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class CellRemark:
    """A numbered remark and the cells it is about."""

    number: int  # number of its note, from 1
    wanted: _Place

    def holds(self, cells: ListedCells) -> BoolArray:
        """Which cells it is about."""
        return _matching(cells.index, self.wanted, len(cells))


@dataclass(frozen=True, slots=True)
class Footnotes:
    """The remarks of a table."""

    notes: tuple[Note, ...]  # the notes in the order of their numbers, from 1
    remarks: tuple[CellRemark, ...]  # every place a note belongs to
    #: (dimension, code) → numbers of the notes about it alone
    headings: Mapping[tuple[int, int], tuple[int, ...]]

    def of_code(self, at: int, code: int) -> tuple[int, ...]:
        """Numbers of the notes that stand at the heading of a code."""
        return self.headings.get((at, code), ())

    def of_block(self, layout: PageLayout, first: int, rows: int) -> FootnoteMarks | None:
        """The marks in some rows of the body; None if there are none."""
        marks = FootnoteMarks(np.zeros((rows, layout.shape[1]), dtype=np.int64), [()])
        codes = layout.row_codes[first : first + rows]
        for remark in self.remarks:
            if _named(remark.wanted) > 1:
                wanted = [remark.wanted[at] for at in layout.rows]
                down = _matching(codes.T, wanted, rows)
                wanted = [remark.wanted[at] for at in layout.columns]
                across = _matching(layout.column_codes.T, wanted, layout.shape[1])
                marks.add(np.outer(down, across), remark.number)
        return marks if len(marks.sets) > 1 else None

    def of_cells(self, cells: ListedCells) -> FootnoteMarks:
        """All the notes about each cell, whether they stand at it or at a heading."""
        marks = FootnoteMarks(np.zeros(len(cells), dtype=np.int64), [()])
        for remark in self.remarks:
            marks.add(remark.holds(cells), remark.number)
        return marks

    def column(self, cells: ListedCells, language: str) -> dict[str, pl.Series]:
        """The column of notes about each cell, null where there are none; nothing without notes."""
        if not self.remarks:
            return {}
        marks = self.of_cells(cells)
        texts = [
            " | ".join(self.notes[number - 1].text(language) for number in numbers) or None
            for numbers in marks.sets
        ]
        return {"note": pl.Series(texts, dtype=pl.String).gather(marks.which)}


@dataclass(slots=True)
class FootnoteMarks:
    """For each cell, which of a few sets of numbers stands at it."""

    which: IntArray
    sets: list[tuple[int, ...]]

    def add(self, mask: BoolArray, number: int) -> None:
        """Add a number to the set of each cell of a mask."""
        before = self.which.copy()
        for old in np.unique(before[mask]).tolist():
            if number in self.sets[old]:
                continue
            joint = (*self.sets[old], number)
            if joint not in self.sets:
                self.sets.append(joint)
            self.which[mask & (before == old)] = self.sets.index(joint)

    def printed(self, text: Callable[[Sequence[int]], str]) -> TextArray:
        """The text of the marks at each cell."""
        return np.array([text(numbers) for numbers in self.sets], object)[self.which]


def mark(numbers: Sequence[int]) -> str:
    """Numbers of notes as raised figures.

    >>> mark((1, 12))
    '¹˒¹²'
    """
    return ",".join(map(str, numbers)).translate(_RAISED)


def footnotes(table: ProtectedTable) -> Footnotes:
    """The remarks of a table; a place that it does not have is an error."""
    notes: list[Note] = []
    remarks, heads = [], dict[tuple[int, int], tuple[int, ...]]()
    for note, wanted in _mark_places(table):
        if not _named(wanted):
            continue
        if note not in notes:
            notes.append(note)
        number = notes.index(note) + 1
        remarks.append(CellRemark(number, wanted))
        if _named(wanted) == 1:
            ((at, code),) = ((at, code) for at, code in enumerate(wanted) if code is not None)
            if number not in heads.get((at, code), ()):
                heads[at, code] = (*heads.get((at, code), ()), number)
    return Footnotes(tuple(notes), tuple(remarks), heads)


def whole_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The cell notes that are about all cells."""
    return tuple(note for note, wanted in _mark_places(table) if not _named(wanted))


def _named(wanted: _Place) -> int:
    return sum(code is not None for code in wanted)


def _mark_places(table: ProtectedTable) -> list[tuple[Note, _Place]]:
    """Each note with the positions of its codes, per dimension; also of a figure."""
    problems, mark_places = [], []
    sizes = {len(table.spanning), len(table.dimensions)}
    for number, remark in enumerate(table.cell_notes, 1):
        where, width = f"{table.name}, note {number}", len(remark.codes)
        if width not in sizes:
            message = f"a note has {width} codes, the table {min(sizes)} variables"
            problems.append(Problem(message, where, "give one code per variable; None for all"))
            continue
        codes = [*remark.codes, *[None] * (len(table.dimensions) - width)]
        wanted: list[int | None] = []
        for dimension, code in zip(table.dimensions, codes, strict=True):
            if code is not None and code not in dimension.index:
                hint = f"use printed codes of {dimension.name}"
                problems.append(Problem(f"code {code!r} not found", where, hint))
            wanted.append(None if code is None else dimension.index.get(code))
        mark_places.append((remark.note, tuple(wanted)))
    raise_all(PublicationError, problems, code="notes")
    return mark_places


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading over some columns."""

    text: str  # what it says
    column: int  # first column it stands over
    width: int  # number of columns it stands over
    height: int  # number of heading rows it takes
    marks: tuple[int, ...] = ()  # numbers of the remarks about it


def page_starts(heads: Sequence[Sequence[Heading]], columns: int, fitting: int) -> list[int]:
    """The first column of each printed page but the first, where so many columns fit on one.

    Pages end between groups of columns where they can be half full at least.
    """
    groups: Sequence[Heading] = next((row for row in heads if len(row) > 1), [])
    ends = {heading.column for heading in groups}
    starts, first = [], 0
    while first + fitting < columns:
        full = range(first + fitting, first + fitting // 2, -1)
        first = next((column for column in full if column in ends), first + fitting)
        starts.append(first)
    return starts


#: One step from the top heading down to a column: variable, code, text, numbers of notes.
_Step = tuple[int, int, str, tuple[int, ...]]
_Path = tuple[_Step | None, ...]


def headings(layout: PageLayout, language: str = "en") -> list[list[Heading]]:
    """The rows of headings over the columns, from the top.

    The first row names the variables; then each variable has a row per level, in
    which a code stands over everything below it. Figures need no name over them; if
    they come first, the names stand below each.
    """
    table = layout.table
    width = len(layout.column_codes)
    if not layout.columns:
        return [[Heading(figure_line(table, language) or words(language).value, 0, 1, 1)]]
    remarks = footnotes(table)
    paths = [
        _paths(layout, at, layout.column_codes[:, k], language, remarks)
        for k, at in enumerate(layout.columns)
    ]
    whole = [tuple(itertools.chain(*parts)) for parts in zip(*paths, strict=True)]
    depth = len(whole[0])
    rows: list[list[Heading]] = []
    for row in range(depth):  # neighbours with the same path down to a row share a heading
        rows.append([])
        column = 0
        for prefix, group in itertools.groupby(whole, key=lambda path: path[: row + 1]):
            over = len(list(group))
            if (step := prefix[row]) is not None:
                below = whole[column][row + 1 :]
                height = 1 + len(list(itertools.takewhile(lambda part: part is None, below)))
                rows[-1].append(Heading(step[2], column, over, height, step[3]))
            column += over
    named = [at for at in layout.columns if not is_figure(table, at)]
    if not named:
        return rows
    titles = " / ".join(layout.dimension(at).title(language) for at in named)
    if is_figure(table, layout.columns[0]):
        names = [Heading(titles, above.column, above.width, 1) for above in rows[0]]
        return [rows[0], names, *rows[1:]]
    return [[Heading(titles, 0, width, 1)], *rows]


def _paths(
    layout: PageLayout, at: int, codes: IntArray, language: str, remarks: Footnotes
) -> list[_Path]:
    """For each column, the headings from the top level down; None extends the one above.

    A code that is shown with parts below it stands over them and over itself; its
    own column is headed with the word for "together".
    """
    dimension, flat = layout.dimension(at), is_figure(layout.table, at)
    labels, levels = labels_at(layout.table, at, language), levels_at(layout.table, at)
    shown = {int(code) for code in codes}
    depth = max(1, max(int(levels[code]) for code in shown))
    above = set() if flat else {int(dimension.parents[code]) for code in shown}
    result: dict[int, _Path] = {}
    for code in shown:
        chain = [code]
        while not flat and code > 0 and (parent := int(dimension.parents[chain[0]])) > 0:
            chain.insert(0, parent)
        path: list[_Step | None] = [
            (at, part, labels[part], remarks.of_code(at, part)) for part in chain
        ]
        if code in above and code > 0:
            path.append((at, -code, words(language).together, ()))
        result[code] = tuple(path + [None] * (depth - len(path)))
    return [result[int(code)] for code in codes]
