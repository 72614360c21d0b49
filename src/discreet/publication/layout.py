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
from typing import Any

import numpy as np

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
from discreet.publication.notation import figure_texts, interval_texts
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
        cells = stored_cells(self.table)
        down = _places(self.table, self.rows, self.row_codes, cells)
        across = _places(self.table, self.columns, self.column_codes, cells)
        shown = np.flatnonzero((down >= 0) & (across >= 0))
        order = shown[np.argsort(down[shown], kind="stable")]
        for first in range(0, len(self.row_codes), rows):
            last = min(first + rows, len(self.row_codes))
            low, high = np.searchsorted(down[order], [first, last])
            part = order[low:high]
            place = (down[part] - first, across[part])
            shape = (last - first, len(self.column_codes))
            value: Any = np.zeros(shape, dtype=cells.value.dtype)
            status = self._absent(first, last)
            value[place] = cells.value[part]
            status[place] = cells.status[part]
            bounds = self._bounds(first, last)
            yield BodyRows(first, value, status, self._decimals(first, last), bounds)

    def _bounds(self, first: int, last: int) -> tuple[FloatArray, FloatArray] | None:
        """The intervals to be printed in some rows."""
        said = self.table.withheld
        if said is None or not said.instead:
            return None
        index, size = self.places(first, last)
        return said.printed(self.table.dimensions, index, size)

    def places(self, first: int, last: int) -> tuple[list[Any], int]:
        """The codes of all cells of some rows, and how many these are."""
        shape = (last - first, len(self.column_codes))
        index: list[Any] = [None] * len(self.table.dimensions)
        for k, at in enumerate(self.rows):
            index[at] = np.repeat(self.row_codes[first:last, k], shape[1])
        for k, at in enumerate(self.columns):
            index[at] = np.tile(self.column_codes[:, k], shape[0])
        return index, shape[0] * shape[1]

    def _absent(self, first: int, last: int) -> SmallIntArray:
        """What the cells of some rows are where they are not stored."""
        table, shape = self.table, (last - first, len(self.column_codes))
        if table.parts is None and not table.figures and not table.suppressed_parts:
            return np.full(shape, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
        index, size = self.places(first, last)
        status = table.absent(index, size)
        status[~table.known(index, size)] = CellStatus.suppressed  # shown as unknown
        return status.reshape(shape)

    def _decimals(self, first: int, last: int) -> int | IntArray:
        """Digits after the decimal point in some rows."""
        table, shape = self.table, (last - first, len(self.column_codes))
        if not table.several_figures:
            return table.figure_decimals()
        decimals = np.array([figure.decimals for figure in table.figures], dtype=np.int64)
        at = len(table.dimensions) - 1
        if at in self.columns:
            decimal = decimals[self.column_codes[:, self.columns.index(at)]]
        else:
            decimal = decimals[self.row_codes[first:last, self.rows.index(at)]][:, np.newaxis]
        return np.broadcast_to(decimal, shape)

    def chosen(self, wanted: Sequence[int | None]) -> tuple[BoolArray, BoolArray]:
        """Which rows and which columns belong to some codes."""
        return (
            _matching(self.row_codes.T, [wanted[at] for at in self.rows], self.shape[0]),
            _matching(self.column_codes.T, [wanted[at] for at in self.columns], self.shape[1]),
        )


def _matching(index: Iterable[Any], wanted: Sequence[int | None], size: int) -> BoolArray:
    """Which of so many cells have the codes wanted, given the codes of each variable."""
    match = np.ones(size, dtype=np.bool_)
    for part, code in zip(index, wanted, strict=True):
        if code is not None:
            match &= part == code
    return match


def _places(
    table: ProtectedTable, variables: Sequence[int], codes: IntArray, cells: ListedCells
) -> IntArray:
    """For each cell, the row (or column) it stands in; -1 if that is not shown."""
    sizes = [len(table.dimensions[at]) for at in variables]
    known = flat_keys(sizes, list(codes.T.astype(np.int32)), len(codes))
    keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
    return find_sorted(known, keys)


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
    _check_names(names, rows, columns, free=table.several_figures)
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


def _check_names(
    names: Sequence[str],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    *,
    free: bool,
) -> None:
    found = f"variables: {', '.join(names)}" if names else "this table has no variables"
    problems = []
    for where, given in (("rows", rows), ("columns", columns)):
        if isinstance(given, str):
            problems.append(Problem("a list of names is needed, not a text", where))
            continue
        lost = [name for name in given or () if name not in names]
        problems += [Problem(f"there is no variable {name!r}", where, found) for name in lost]
    if not problems:
        placed = Counter([*(rows or ()), *(columns or ())])
        wrong = [f"variable {name!r} is placed twice" for name in placed if placed[name] > 1]
        if rows is not None and columns is not None:
            known = {*placed, *([FIGURE] if free else [])}
            wrong += [f"variable {name!r} is not placed" for name in names if name not in known]
        problems += [Problem(what, "rows and columns") for what in wrong]
    if problems:
        first = problems[0]
        message = first.what if len(problems) == 1 else "the layout does not fit the table"
        hint = first.hint or found
        raise PublicationError(
            message, code="layout", where=first.where, hint=hint, problems=problems
        )


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
    if limit is not None and whole:
        _check_limit(math.prod(int(mask.sum()) for mask in masks), limit, table.name)
    cells = None if whole else stored_cells(table)
    layout = PageLayout(
        table=table,
        rows=down,
        columns=across,
        row_codes=_shown(table, down, masks, cells),
        column_codes=_shown(table, across, masks, cells),
    )
    if limit is not None:
        _check_limit(math.prod(layout.shape), limit, table.name)
    return layout


def laid_out(table: ProtectedTable, options: WriteOptions) -> PageLayout:
    """Lay a table out as the options say, as far as a page or a workbook holds it."""
    return lay_out(
        table,
        rows=options.rows,
        columns=options.columns,
        complete=options.complete,
        limit=CELL_LIMIT,
    )


def _check_limit(size: int, limit: int, name: str) -> None:
    if size > limit:
        message = f"a page or workbook holds at most {limit:,} cells; this table has {size:,}"
        hint = "write csv or parquet instead, or publish fewer codes"
        raise PublicationError(message, code="too-large", where=name, hint=hint)


def _shown(
    table: ProtectedTable,
    variables: Sequence[int],
    masks: Sequence[BoolArray],
    cells: ListedCells | None,
) -> IntArray:
    """The combinations of codes to show: all, or those of the cells and the totals."""
    if not variables:
        return np.zeros((1, 0), dtype=np.int64)
    if cells is None:
        kept = [np.flatnonzero(masks[at]) for at in variables]
        grid = np.meshgrid(*kept, indexing="ij")
        return np.stack([part.ravel() for part in grid], axis=1).astype(np.int64)
    sizes = [len(table.dimensions[at]) for at in variables]
    keys = flat_keys(sizes, [cells.index[at] for at in variables], len(cells))
    parts = CellIndex(tuple(sizes)).positions(np.unique(np.append(keys, 0)))
    return np.stack(parts, axis=1).astype(np.int64)


_RAISED = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹\u02d2")


@dataclass(frozen=True, slots=True)
class CellRemark:
    """A numbered remark and the cells it is about."""

    number: int  # number of its note, from 1
    wanted: tuple[int | None, ...]  # per dimension, the position of a code; None for all

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

    def texts(self, marks: FootnoteMarks, language: str) -> list[str]:
        """The notes of each set of numbers as one text; empty for the empty set."""
        return [
            " | ".join(self.notes[number - 1].text(language) for number in numbers)
            for numbers in marks.sets
        ]

    def of_block(self, layout: PageLayout, first: int, rows: int) -> FootnoteMarks | None:
        """The marks in some rows of the body; None if there are none."""
        inner = [part for part in self.remarks if _named(part.wanted) > 1]
        marks = FootnoteMarks(np.zeros((rows, layout.shape[1]), dtype=np.int64), [()])
        for remark in inner:
            down, across = layout.chosen(remark.wanted)
            marks.add(np.outer(down[first : first + rows], across), remark.number)
        return marks if len(marks.sets) > 1 else None

    def of_cells(self, cells: ListedCells) -> FootnoteMarks:
        """All the notes about each cell, whether they stand at it or at a heading."""
        marks = FootnoteMarks(np.zeros(len(cells), dtype=np.int64), [()])
        for remark in self.remarks:
            marks.add(remark.holds(cells), remark.number)
        return marks


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


def mark(numbers: Sequence[int]) -> str:
    """Numbers of notes as raised figures.

    >>> mark((1, 12))
    '¹˒¹²'
    """
    return ",".join(map(str, numbers)).translate(_RAISED)


def footnotes(table: ProtectedTable) -> Footnotes:
    """The remarks of a table; a place that it does not have is an error."""
    places = _mark_places(table)
    notes: list[Note] = []
    remarks, heads = [], dict[tuple[int, int], tuple[int, ...]]()
    for note, wanted in places:
        if not _named(wanted):
            continue
        if note not in notes:
            notes.append(note)
        number = notes.index(note) + 1
        remarks.append(CellRemark(number, wanted))
        if _named(wanted) == 1:
            at = next(k for k, code in enumerate(wanted) if code is not None)
            key = (at, wanted[at] or 0)
            if number not in heads.get(key, ()):
                heads[key] = (*heads.get(key, ()), number)
    return Footnotes(tuple(notes), tuple(remarks), heads)


def whole_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The cell notes that are about all cells."""
    return tuple(note for note, wanted in _mark_places(table) if not _named(wanted))


def _named(wanted: Iterable[int | None]) -> int:
    return sum(code is not None for code in wanted)


def _mark_places(table: ProtectedTable) -> list[tuple[Note, tuple[int | None, ...]]]:
    """Each note with the positions of its codes, per dimension; also of a figure."""
    problems, mark_places = [], []
    sizes = {len(table.spanning), len(table.dimensions)}
    for number, remark in enumerate(table.cell_notes, 1):
        where = f"{table.name}, note {number}"
        if len(remark.codes) not in sizes:
            message = (
                f"a note has {len(remark.codes)} codes; the table spans {min(sizes)} variables"
            )
            problems.append(Problem(message, where, "give one code per variable; None for all"))
            continue
        codes = [*remark.codes, *[None] * (len(table.dimensions) - len(remark.codes))]
        wanted: list[int | None] = []
        for dimension, code in zip(table.dimensions, codes, strict=True):
            if code is not None and code not in dimension.index:
                hint = f"note the codes of {dimension.name} that are printed"
                problems.append(Problem(f"there is no code {code!r}", where, hint))
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


@dataclass(frozen=True, slots=True)
class _HeadingEntry:
    """One step from the top heading down to a column; the key tells neighbours apart."""

    key: tuple[int, int]
    text: str
    marks: tuple[int, ...] = ()


_Path = tuple[_HeadingEntry | None, ...]


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
    rows = [_runs(whole, row, depth) for row in range(depth)]
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
    dimension, together = layout.dimension(at), words(language).together
    labels, levels = labels_at(layout.table, at, language), levels_at(layout.table, at)
    flat = is_figure(layout.table, at)
    shown = {int(code) for code in codes}
    depth = max(1, max(int(levels[code]) for code in shown))
    above = set() if flat else {int(dimension.parents[code]) for code in shown}

    def entry(code: int) -> _HeadingEntry:
        return _HeadingEntry((at, code), labels[code], remarks.of_code(at, code))

    result: dict[int, _Path] = {}
    for code in shown:
        chain = []
        step = code
        while step > 0 and not flat:
            chain.append(step)
            step = int(dimension.parents[step])
        path: list[_HeadingEntry | None] = [entry(part) for part in reversed(chain)]
        if code == 0 or flat:
            path = [entry(code)]
        elif code in above:
            path.append(_HeadingEntry((at, -code), together))
        result[code] = tuple(path + [None] * (depth - len(path)))
    return [result[int(code)] for code in codes]


def _runs(paths: Sequence[_Path], row: int, depth: int) -> list[Heading]:
    """The headings of one row: neighbours with the same path down to it share one."""
    found = []
    column = 0
    for prefix, group in itertools.groupby(paths, key=lambda path: path[: row + 1]):
        width = sum(1 for _ in group)
        entry = prefix[row]
        if entry is not None:
            path = paths[column]
            height = 1
            while row + height < depth and path[row + height] is None:
                height += 1
            found.append(Heading(entry.text, column, width, height, entry.marks))
        column += width
    return found
