"""Footnotes: remarks about some cells of a table, and where their marks stand.

In: the cell notes of a `ProtectedTable`. Out: numbered remarks; for each code, and for
each cell, the numbers that stand at it. Public. A remark that names one variable marks
its heading; one that names several marks the cells; one that names none is about the
whole table and is printed with its other notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, PublicationError
from discreet.publication.cells import Cells, IntArray
from discreet.publication.layout import Layout
from discreet.tables import Note, ProtectedTable

__all__ = ["Footnotes", "Marks", "Remark", "footnotes", "mark", "whole_notes"]

_RAISED = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹\u02d2")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Remark:
    """A numbered remark and the cells it is about.

    Args:
        number: Number of its note, from 1.
        wanted: Per dimension, the position of a code; None for all.
    """

    number: int
    wanted: tuple[int | None, ...]

    def holds(self, cells: Cells) -> Mask:
        """Which cells it is about."""
        match = np.ones(len(cells), dtype=np.bool_)
        for part, code in zip(cells.index, self.wanted, strict=True):
            if code is not None:
                match &= part == code
        return match


@dataclass(frozen=True, slots=True)
class Footnotes:
    """The remarks of a table.

    Args:
        notes: The notes in the order of their numbers, from 1.
        remarks: Every place a note belongs to.
        headings: (dimension, code) → numbers of the notes about it alone.
    """

    notes: tuple[Note, ...]
    remarks: tuple[Remark, ...]
    headings: Mapping[tuple[int, int], tuple[int, ...]]

    def of_code(self, at: int, code: int) -> tuple[int, ...]:
        """Numbers of the notes that stand at the heading of a code."""
        return self.headings.get((at, code), ())

    def texts(self, marks: Marks, language: str) -> list[str]:
        """The notes of each set of numbers as one text; empty for the empty set."""
        return [
            " | ".join(self.notes[number - 1].text(language) for number in numbers)
            for numbers in marks.sets
        ]

    def of_block(self, layout: Layout, first: int, rows: int) -> Marks | None:
        """The marks in some rows of the body; None if there are none."""
        inner = [part for part in self.remarks if _named(part.wanted) > 1]
        marks = Marks(np.zeros((rows, layout.shape[1]), dtype=np.int64), [()])
        for remark in inner:
            down, across = layout.chosen(remark.wanted)
            marks.add(np.outer(down[first : first + rows], across), remark.number)
        return marks if len(marks.sets) > 1 else None

    def of_cells(self, cells: Cells) -> Marks:
        """All the notes about each cell, whether they stand at it or at a heading."""
        marks = Marks(np.zeros(len(cells), dtype=np.int64), [()])
        for remark in self.remarks:
            marks.add(remark.holds(cells), remark.number)
        return marks


@dataclass(slots=True)
class Marks:
    """For each cell, which of a few sets of numbers stands at it."""

    which: IntArray
    sets: list[tuple[int, ...]]

    def add(self, mask: Mask, number: int) -> None:
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
    places = _places(table)
    notes: list[Note] = []
    remarks, heads = [], dict[tuple[int, int], tuple[int, ...]]()
    for note, wanted in places:
        if not _named(wanted):
            continue
        if note not in notes:
            notes.append(note)
        number = notes.index(note) + 1
        remarks.append(Remark(number, wanted))
        if _named(wanted) == 1:
            at = next(k for k, code in enumerate(wanted) if code is not None)
            key = (at, wanted[at] or 0)
            if number not in heads.get(key, ()):
                heads[key] = (*heads.get(key, ()), number)
    return Footnotes(tuple(notes), tuple(remarks), heads)


def whole_notes(table: ProtectedTable) -> tuple[Note, ...]:
    """The cell notes that are about all cells."""
    return tuple(note for note, wanted in _places(table) if not _named(wanted))


def _named(wanted: Iterable[int | None]) -> int:
    return sum(code is not None for code in wanted)


def _places(table: ProtectedTable) -> list[tuple[Note, tuple[int | None, ...]]]:
    """Each note with the positions of its codes, per dimension; also of a figure."""
    problems, found = [], []
    sizes = {len(table.spanning), len(table.dimensions)}
    for number, remark in enumerate(table.cell_notes, 1):
        where = f"{table.name}, note {number}"
        if len(remark.codes) not in sizes:
            what = f"a note has {len(remark.codes)} codes; the table spans {min(sizes)} variables"
            problems.append(Problem(what, where, "give one code per variable; None for all"))
            continue
        codes = [*remark.codes, *[None] * (len(table.dimensions) - len(remark.codes))]
        wanted: list[int | None] = []
        for dimension, code in zip(table.dimensions, codes, strict=True):
            if code is not None and code not in dimension.index:
                hint = f"note the codes of {dimension.name} that are printed"
                problems.append(Problem(f"there is no code {code!r}", where, hint))
            wanted.append(None if code is None else dimension.index.get(code))
        found.append((remark.note, tuple(wanted)))
    if problems:
        raise PublicationError(
            problems[0].what,
            code="notes",
            where=problems[0].where,
            hint=problems[0].hint,
            problems=problems,
        )
    return found
