"""From marks to cells: which cells each mark is about, and whether marks agree.

In: `Marks` and the cells of a table. Out: per cell the status and the numbers that marks
give it (confidential); or one error with everything that contradicts itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.rules.marks import NUMBERS, STATUSES, Mark, Marks
from discreet.rules.places import Places

__all__ = ["Marked", "mark_cells", "raise_marks"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SHOWN = 20
_WORDS = {
    "cost": "costs",
    "lower": "lower protection levels",
    "upper": "upper protection levels",
    "sliding": "sliding protection levels",
    "low": "lower bounds",
    "high": "upper bounds",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Marked:
    """What marks say, cell by cell (confidential).

    Args:
        status: Number of the status in `STATUSES`; -1 for none.
        numbers: Per kind of number, its value; NaN for none.
        named: Cells that a mark names one by one.
    """

    status: npt.NDArray[np.int8]
    numbers: dict[str, FloatArray]
    named: BoolArray

    def are(self, status: str) -> BoolArray:
        """The cells with this status."""
        found: BoolArray = self.status == STATUSES.index(status)
        return found


def mark_cells(places: Places, marks: Marks, *, ignore_unmatched: bool = False) -> Marked:
    """What marks say about each cell.

    Args:
        places: The cells of the table.
        marks: The marks.
        ignore_unmatched: Let marks pass whose codes or cells do not occur.
    """
    cells, origin, problems = _matched(places, marks)
    if problems and not ignore_unmatched:
        raise_marks(marks.source, problems)
    given = np.array(
        [-1 if mark.status is None else STATUSES.index(mark.status) for mark in marks],
        dtype=np.float64,
    )
    size = len(places.table)
    given[given < 0] = np.nan
    status, clash = _spread(size, cells, given[origin])
    conflicts = [
        Problem("marks give this cell different statuses", places.name(int(at))) for at in clash
    ]
    numbers = {}
    for name in NUMBERS:
        column = np.array([_or_nan(mark.number(name)) for mark in marks], dtype=np.float64)
        numbers[name], clash = _spread(size, cells, column[origin])
        conflicts += [
            Problem(f"marks give this cell different {_WORDS[name]}", places.name(int(at)))
            for at in clash
        ]
    wrong = np.flatnonzero(numbers["low"] > numbers["high"])
    conflicts += [
        Problem("its lower bound is above its upper bound", places.name(int(at))) for at in wrong
    ]
    if conflicts:
        raise_marks(marks.source, conflicts)
    width = len(places.table.dimensions)
    single = np.array([len(mark.cells) == width for mark in marks], dtype=np.bool_)
    named = np.zeros(size, dtype=np.bool_)
    named[cells[single[origin]]] = True
    return Marked(
        status=np.nan_to_num(status, nan=-1).astype(np.int8), numbers=numbers, named=named
    )


def raise_marks(source: str, problems: Sequence[Problem]) -> None:
    """Raise one error that lists what is wrong with the marks."""
    several = len(problems) > 1
    raise SuppressionError(
        f"{len(problems):,} problems with marks" if several else problems[0].what,
        code="marks",
        where=source if several else problems[0].where,
        hint="" if several else problems[0].hint,
        problems=shortened(problems, _SHOWN) if several else (),
    )


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _spread(size: int, cells: IntArray, given: FloatArray) -> tuple[FloatArray, IntArray]:
    """One number per cell, and the cells that would get different ones."""
    said = ~np.isnan(given)
    cells, given = cells[said], given[said]
    result = np.full(size, np.nan)
    result[cells] = given
    clash: IntArray = np.unique(cells[result[cells] != given])
    return result, clash


def _matched(places: Places, marks: Marks) -> tuple[IntArray, IntArray, list[Problem]]:
    """Pairs of cells and marks, and the marks that fit no cell."""
    dimensions = places.table.dimensions
    problems: list[Problem] = []
    full: list[int] = []
    positions: list[list[int]] = []
    cells, origin = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for at, mark in enumerate(marks):
        where = mark.where or f"{marks.source}, number {at + 1}"
        unknown = list(_unknown(places, mark, where))
        problems += unknown
        if unknown:
            continue
        if len(mark.cells) == len(dimensions):
            full.append(at)
            positions.append([each.index[mark.cells[each.name]] for each in dimensions])
            continue
        here = _all_of(places, mark)
        if not len(here):
            problems.append(_absent(mark, where))
        cells.append(here)
        origin.append(np.full(len(here), at, dtype=np.int64))
    index = np.array(positions, dtype=np.int64).reshape(len(full), len(dimensions)).T
    found = places.find(places.numbers(list(index), len(full)))
    for number in (full[absent] for absent in np.flatnonzero(found < 0)):
        mark = marks.marks[number]
        problems.append(_absent(mark, mark.where or f"{marks.source}, number {number + 1}"))
    cells.append(found[found >= 0])
    origin.append(np.array(full, dtype=np.int64)[found >= 0])
    return np.concatenate(cells), np.concatenate(origin), problems


def _unknown(places: Places, mark: Mark, where: str) -> Iterator[Problem]:
    dimensions = {dimension.name: dimension for dimension in places.table.dimensions}
    for name, code in mark.cells.items():
        if name not in dimensions:
            hint = f"its variables are {', '.join(dimensions)}"
            yield Problem(f"the table has no variable {name!r}", where, hint)
        elif code not in dimensions[name].index:
            hint = f"the total is {dimensions[name].total!r}"
            yield Problem(f"variable {name!r} has no code {code!r}", where, hint)


def _absent(mark: Mark, where: str) -> Problem:
    codes = ", ".join(f"{name}={code}" for name, code in mark.cells.items())
    hint = 'empty cells need no mark; unmatched="ignore" lets such marks pass'
    return Problem(f"the table has no cell {codes}", where, hint)


def _all_of(places: Places, mark: Mark) -> IntArray:
    """The cells with the codes of a mark."""
    table = places.table
    keep = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        if dimension.name in mark.cells:
            keep &= part == dimension.index[mark.cells[dimension.name]]
    return np.flatnonzero(keep).astype(np.int64)
