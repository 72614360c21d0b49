"""The headings over the columns of a table on a page.

In: `Layout`. Out: rows of headings, each over the columns it belongs to. Public.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.publication.cells import IntArray
from discreet.publication.footnotes import Footnotes, footnotes
from discreet.publication.labels import figure_line, is_figure, labels_at, levels_at
from discreet.publication.layout import Layout
from discreet.publication.words import words

__all__ = ["Heading", "headings"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading over some columns.

    Args:
        text: What it says.
        column: First column it stands over.
        width: Number of columns it stands over.
        height: Number of heading rows it takes.
        marks: Numbers of the remarks about it.
    """

    text: str
    column: int
    width: int
    height: int
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """One step from the top heading down to a column; the key tells neighbours apart."""

    key: tuple[int, int]
    text: str
    marks: tuple[int, ...] = ()


_Path = tuple[_Entry | None, ...]


def headings(layout: Layout, language: str = "en") -> list[list[Heading]]:
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
    layout: Layout, at: int, codes: IntArray, language: str, remarks: Footnotes
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

    def entry(code: int) -> _Entry:
        return _Entry((at, code), labels[code], remarks.of_code(at, code))

    result: dict[int, _Path] = {}
    for code in shown:
        chain = []
        step = code
        while step > 0 and not flat:
            chain.append(step)
            step = int(dimension.parents[step])
        path: list[_Entry | None] = [entry(part) for part in reversed(chain)]
        if code == 0 or flat:
            path = [entry(code)]
        elif code in above:
            path.append(_Entry((at, -code), together))
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
