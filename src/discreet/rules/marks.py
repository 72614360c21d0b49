"""`Marks`: what people decided about single cells, before any method does. CONFIDENTIAL.

In: codes with a status, costs, levels or bounds, from a programme or an a-priori file;
the cells of a table. Out: `Marks`, to be handed to `primary`; per cell the status and
the numbers that they give it; or one error with everything that contradicts itself.
Marks are as confidential as what they rest on. `read_bounds`: between which values the public
knows cells to lie, from a file; a bound that is forgotten is a wrong "safe".
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules.evidence import CellLookup
from discreet.rules.protocol import is_number

#: What a mark can make of a cell.
Status = Literal["unsafe", "safe", "protected", "secondary"]
STATUSES = ("unsafe", "safe", "protected", "secondary")

#: The numbers a mark can carry.
NUMBERS = ("cost", "lower", "upper", "sliding", "low", "high")
_NOT_NEGATIVE = ("cost", "lower", "upper", "sliding")
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Mark:
    """Decision about a cell, or about all cells with some codes (confidential).

    Args:
        cells: Code per variable; a variable that is left out stands for all its codes, so
            a total is named by its code.
        status: "unsafe": sensitive, whatever the rules say; "safe": not sensitive, whatever
            they say; "protected": must be published; "secondary": is hidden already.
        cost: What hiding it costs.
        lower: Lower protection level of a sensitive cell, in place of that of the rules.
        upper: Upper protection level.
        sliding: Sliding protection level.
        low: What attackers know beforehand: the value is no smaller.
        high: No larger.
        where: Where the mark was found, for messages: "line 3".
    """

    cells: Mapping[str, str]
    status: Status | None = None
    cost: float | None = None
    lower: float | None = None
    upper: float | None = None
    sliding: float | None = None
    low: float | None = None
    high: float | None = None
    where: str = ""

    def number(self, name: str) -> float | None:
        """One of its numbers."""
        value: float | None = getattr(self, name)
        return value

    def __repr__(self) -> str:
        codes = ", ".join(f"{name}={code}" for name, code in self.cells.items())
        return f"<Mark (confidential): {codes or 'all cells'}>"


@dataclass(frozen=True, repr=False)
class Marks:
    """Marks of the cells of one table (confidential).

    Args:
        marks: The marks. No two may say different things of one cell.
        source: Where they come from, for messages: a file or a key of a programme.

    >>> Marks([Mark(cells={"region": "01", "sex": "Total"}, status="protected")])
    <Marks (confidential): 1>
    """

    marks: Sequence[Mark] = field(default=())
    source: str = "marks"

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", tuple(self.marks))
        problems = [
            Problem(flaw, getattr(mark, "where", "") or f"{self.source}, number {at}")
            for at, mark in enumerate(self.marks, 1)
            for flaw in _wrong(mark)
        ]
        raise_marks(self.source, problems, "{} marks are wrong")

    @classmethod
    def of(cls, given: Marks | Sequence[Mark] | None) -> Marks:
        """Marks as they are given, or none."""
        if given is None:
            return cls()
        return given if isinstance(given, Marks) else cls(given)

    def __iter__(self) -> Iterator[Mark]:
        return iter(self.marks)

    def __len__(self) -> int:
        return len(self.marks)

    def __repr__(self) -> str:
        return f"<Marks (confidential): {len(self):,}>"


def _wrong(mark: Any) -> Iterator[str]:
    if not isinstance(mark, Mark):
        yield "not a Mark"
        return
    cells: Any = mark.cells
    if not isinstance(cells, Mapping):
        yield "cells must map variables to codes"
    if mark.status is not None and mark.status not in STATUSES:
        yield f"status must be one of {', '.join(STATUSES)}"
    numbers = {name: mark.number(name) for name in NUMBERS if mark.number(name) is not None}
    if mark.status is None and not numbers:
        yield "the mark has no status, level, bound or cost"
    wrong = [name for name, value in numbers.items() if not is_number(value)]
    yield from (f"{name} must be a number" for name in wrong)
    if wrong:
        return
    for name in _NOT_NEGATIVE:
        if not 0 <= (mark.number(name) or 0) < math.inf:
            yield f"{name} must be finite and at least 0"
    if mark.low is not None and mark.high is not None and mark.low > mark.high:
        yield "low is above high"


_WORDS = {
    "cost": "costs",
    "lower": "lower protection levels",
    "upper": "upper protection levels",
    "sliding": "sliding protection levels",
    "low": "lower bounds",
    "high": "upper bounds",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MarkedCells:
    """Marks of cells, one entry per cell (confidential)."""

    status: npt.NDArray[np.int8]  # number of the status in `STATUSES`; -1 for none
    numbers: dict[str, FloatArray]  # per kind of number, its value; NaN for none
    named: BoolArray  # cells that a mark names one by one

    def are(self, status: str) -> BoolArray:
        """The cells with this status."""
        mask: BoolArray = self.status == STATUSES.index(status)
        return mask


def mark_cells(places: CellLookup, marks: Marks, *, ignore_unmatched: bool = False) -> MarkedCells:
    """Apply marks to cells; marks for missing codes or cells may be ignored."""
    cells, origin, problems = _matched(places, marks)
    if not ignore_unmatched:
        raise_marks(marks.source, problems)
    kinds = [None if mark.status is None else STATUSES.index(mark.status) for mark in marks]
    stated = np.array([_or_nan(kind) for kind in kinds], dtype=np.float64)
    size = len(places.table)
    status, clash = _spread(size, cells, stated[origin])
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
    raise_marks(marks.source, conflicts)
    width = len(places.table.dimensions)
    single = np.array([len(mark.cells) == width for mark in marks], dtype=np.bool_)
    named = np.zeros(size, dtype=np.bool_)
    named[cells[single[origin]]] = True
    return MarkedCells(
        status=np.nan_to_num(status, nan=-1).astype(np.int8), numbers=numbers, named=named
    )


def raise_marks(
    source: str, problems: Sequence[Problem], many: str = "{:,} problems with marks"
) -> None:
    """Raise one error that lists what is wrong with the marks, if anything is."""
    raise_all(SuppressionError, problems, code="marks", many=many, where=source, most=_SHOWN)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _spread(size: int, cells: IntArray, stated: FloatArray) -> tuple[FloatArray, IntArray]:
    """One number per cell, and the cells that would get different ones."""
    known = ~np.isnan(stated)
    cells, stated = cells[known], stated[known]
    result = np.full(size, np.nan)
    result[cells] = stated
    clash: IntArray = np.unique(cells[result[cells] != stated])
    return result, clash


def _matched(places: CellLookup, marks: Marks) -> tuple[IntArray, IntArray, list[Problem]]:
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
            positions.append(
                [dimension.index[mark.cells[dimension.name]] for dimension in dimensions]
            )
            continue
        keep = np.ones(len(places.table), dtype=np.bool_)
        for dimension, part in zip(dimensions, places.table.index, strict=True):
            if dimension.name in mark.cells:
                keep &= part == dimension.index[mark.cells[dimension.name]]
        here = np.flatnonzero(keep).astype(np.int64)
        if not len(here):
            problems.append(_absent(mark, where))
        cells.append(here)
        origin.append(np.full(len(here), at, dtype=np.int64))
    index = np.array(positions, dtype=np.int64).reshape(len(full), len(dimensions)).T
    matches = places.find(places.numbers(list(index), len(full)))
    for number in (full[absent] for absent in np.flatnonzero(matches < 0)):
        mark = marks.marks[number]
        problems.append(_absent(mark, mark.where or f"{marks.source}, number {number + 1}"))
    cells.append(matches[matches >= 0])
    origin.append(np.array(full, dtype=np.int64)[matches >= 0])
    return np.concatenate(cells), np.concatenate(origin), problems


def _unknown(places: CellLookup, mark: Mark, where: str) -> Iterator[Problem]:
    dimensions = {dimension.name: dimension for dimension in places.table.dimensions}
    for name, code in mark.cells.items():
        if name not in dimensions:
            hint = f"its variables are {', '.join(dimensions)}"
            yield Problem(f"variable {name!r} not found in the table", where, hint)
        elif code not in dimensions[name].index:
            near = get_close_matches(code, dimensions[name].codes, cutoff=0.5)
            hint = f"near codes: {', '.join(map(repr, near))}; " if near else ""
            hint += f"the total is {dimensions[name].total!r}"
            yield Problem(f"variable {name!r} has no code {code!r}", where, hint)


def _absent(mark: Mark, where: str) -> Problem:
    codes = ", ".join(f"{name}={code}" for name, code in mark.cells.items())
    hint = 'empty cells need no mark; unmatched="ignore" lets such marks pass'
    return Problem(f"cell {codes} not found in the table", where, hint)


_BOUNDS = ("low", "high")
#: The column that says which value a row is about.
_VALUE = "value"


def read_bounds(
    path: str | os.PathLike[str], variables: Sequence[str], *, value: str | None = None
) -> Marks:
    r"""Read what the public knows of single cells.

    Args:
        path: A CSV file. Columns: spanning variables of the table – one that is left out, or
            empty in a row, stands for all its codes –, `low` and `high` in the unit of the
            value (empty: no bound), and perhaps `value`, the value column a row is about.
        variables: The spanning variables of the table.
        value: The value that is published; None for counts ("count" in the file).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "known.csv"
    >>> _ = file.write_text("branch,low,high\nmining,0,500\nTotal,900,\n")
    >>> read_bounds(file, ["branch"])
    <Marks (confidential): 2>
    """
    place = Path(path)
    try:
        text = place.read_text("utf-8-sig")
    except OSError as error:
        message = f"the file of known bounds cannot be read ({error.strerror})"
        raise SuppressionError(message, code="known", where=str(place)) from None
    except UnicodeDecodeError:
        message, hint = "the file of known bounds is not UTF-8 text", "save it as CSV UTF-8"
        raise SuppressionError(message, code="known", where=str(place), hint=hint) from None
    rows = list(csv.reader(io.StringIO(text), delimiter=_separator(text)))
    header = [name.strip() for name in rows[0]] if rows else []
    problems = list(_wrong_header(header, variables))
    raise_all(SuppressionError, problems, code="known", many="{} columns", where=place.name)
    marks: list[Mark] = []
    wrong: list[Problem] = []
    own = "count" if value is None else value
    for line, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        read = _row(dict(zip(header, cells, strict=False)), len(cells) != len(header))
        if isinstance(read, str):
            wrong.append(Problem(read, f"line {line}"))
        elif read.pop(_VALUE, own) in (own, ""):
            low, high = (float(read[name]) if read.get(name) else None for name in _BOUNDS)
            codes = {name: code for name, code in read.items() if code and name not in _BOUNDS}
            marks.append(Mark(cells=codes, low=low, high=high, where=f"line {line}"))
    where = place.name
    raise_all(SuppressionError, wrong, code="known", many="{} rows", where=where, most=_SHOWN)
    return Marks(marks, place.name)


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _wrong_header(header: Sequence[str], variables: Sequence[str]) -> Iterator[Problem]:
    if not set(header) & set(_BOUNDS):
        yield Problem("the file needs a column low or high", "line 1")
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            yield Problem(f"column {name!r} occurs twice", "line 1")
        if name not in (*variables, *_BOUNDS, _VALUE):
            hint = f"columns: {', '.join([*variables, _VALUE, *_BOUNDS])}"
            yield Problem(f"variable {name!r} not found in the table", "line 1", hint)


def _row(cells: dict[str, str], ragged: bool) -> dict[str, str] | str:
    """The texts of a row, or what is wrong with it; numbers are not quoted."""
    if ragged:
        return "the row has another number of columns than the first one"
    read = {name: cell.strip() for name, cell in cells.items()}
    numbers = []
    for name in _BOUNDS:
        if read.get(name):
            try:
                numbers.append(float(read[name]))
            except ValueError:
                return f"{name} is not a number; write it like 1234.5"
            if not math.isfinite(numbers[-1]):
                return f"{name} is not a number; leave it empty for no bound"
    if not numbers:
        return "the row needs low or high"
    if len(numbers) == len(_BOUNDS) and numbers[0] > numbers[1]:
        return "low is above high"
    return read
