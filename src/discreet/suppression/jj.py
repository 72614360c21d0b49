"""Files in the `.jj` form: a suppression problem as cells and relations.

In: a text file, perhaps gzipped, with its values, costs, protection levels, bounds and
sums. Out: a `SuppressionProblem`; and back. CONFIDENTIAL: such a file holds true values.
"""

from __future__ import annotations

import gzip
import os
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.files import write_text
from discreet.suppression.problem import UNBOUNDED, CellState, SuppressionProblem
from discreet.suppression.relations import Relations

__all__ = ["read_jj", "write_jj"]

_STATES = {
    "s": CellState.free,
    "u": CellState.primary,
    "z": CellState.fixed,
    "m": CellState.secondary,
}
_LETTERS = {state: letter for letter, state in _STATES.items()}
_FIELDS = 9
_MOST_DECIMALS = 9
_SHOWN = 20


def read_jj(path: str | os.PathLike[str]) -> SuppressionProblem:
    """Read a problem.

    Args:
        path: The file; `.gz` is taken too.

    >>> read_jj("none.jj")
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [jj-file] none.jj: the file cannot be read (No such
    file or directory)
    """
    place = Path(path)
    lines = _lines(place)
    number = _whole(lines, 1, place)
    if len(lines) < number + 3:
        raise _wrong(place, f"the file ends before its {number:,} cells and their relations")
    cells = [line.split() for line in lines[2 : number + 2]]
    problems = _malformed(cells)
    relations = _whole(lines, number + 2, place)
    rows = lines[number + 3 : number + 3 + relations]
    if len(rows) < relations:
        problems.append(Problem("the file ends before its last relation", place.name))
    if problems:
        raise _wrong(place, problems[0].what, problems)
    return _problem(cells, rows, place)


def _lines(place: Path) -> list[str]:
    try:
        data = place.read_bytes()
        text = (gzip.decompress(data) if place.suffix == ".gz" else data).decode("utf-8-sig")
    except OSError as error:
        what = f"the file cannot be read ({error.strerror or 'damaged'})"
        raise SuppressionError(what, code="jj-file", where=str(place)) from None
    except (UnicodeDecodeError, EOFError):
        raise _wrong(place, "the file is not a text") from None
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _wrong(place: Path, what: str, problems: list[Problem] | None = None) -> SuppressionError:
    hint = "a .jj file holds a 0, the number of cells, the cells, the number of sums, the sums"
    listed = shortened(problems, _SHOWN) if problems else ()
    return SuppressionError(what, code="jj-file", where=str(place), hint=hint, problems=listed)


def _whole(lines: list[str], at: int, place: Path) -> int:
    text = lines[at].split()[0] if at < len(lines) else ""
    if not text.isdigit():
        raise _wrong(place, f"a number is missing on line {at + 1}")
    return int(text)


def _malformed(cells: list[list[str]]) -> list[Problem]:
    problems = []
    for at, fields in enumerate(cells):
        where = f"line {at + 3}"
        if len(fields) != _FIELDS:
            what = f"a cell has {_FIELDS} fields, this one has {len(fields)}"
            problems.append(Problem(what, where))
        elif fields[0] != str(at):
            problems.append(Problem("cells are not numbered from 0 upwards", where))
        elif fields[3] not in _STATES:
            problems.append(Problem("this status is not known", where, "known: s, u, z, m"))
    return problems


def _problem(cells: list[list[str]], rows: list[str], place: Path) -> SuppressionProblem:
    try:
        table = [[Decimal(fields[at]) for at in (1, 4, 5, 6, 7, 8)] for fields in cells]
        costs = [max(0, round(Decimal(fields[2]))) for fields in cells]
        finite = all(number.is_finite() for numbers in table for number in numbers)
    except (InvalidOperation, ValueError, OverflowError):
        finite = False
    if not finite:
        raise _wrong(place, "a cell holds something that is not a number")
    digits = max((_digits(number) for numbers in table for number in numbers), default=0)
    units = 10 ** min(digits, _MOST_DECIMALS)
    columns = [_units(table, at, units) for at in range(6)]
    value, low, high, lower, upper, sliding = columns
    return SuppressionProblem(
        value=value,
        cost=np.array(costs, dtype=np.int64),
        state=np.array([_STATES[fields[3]] for fields in cells], dtype=np.int8),
        low=low,
        high=high,
        lower=lower,
        upper=upper,
        sliding=sliding,
        relations=_relations(rows, len(cells), units, place),
        decimals=min(digits, _MOST_DECIMALS),
        title=place.name.split(".")[0],
    )


def _digits(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _units(table: list[list[Decimal]], at: int, units: int) -> npt.NDArray[np.int64]:
    whole = (round(numbers[at] * units) for numbers in table)
    return np.array([min(max(n, -UNBOUNDED), UNBOUNDED) for n in whole], dtype=np.int64)


def _relations(rows: list[str], cells: int, units: int, place: Path) -> Relations:
    """`rhs k : cell (coef) cell (coef) …`, one a line."""
    start, cell, coef, rhs = [0], list[int](), list[int](), list[int]()
    for at, row in enumerate(rows):
        head, colon, body = row.partition(":")
        parts = body.replace("(", " ").replace(")", " ").split()
        try:
            right, width = head.split()
            rhs.append(round(Decimal(right) * units))
            cell += [int(text) for text in parts[::2]]
            coef += [int(text) for text in parts[1::2]]
            fits = bool(colon) and len(parts) == 2 * int(width)
        except (ValueError, InvalidOperation):
            fits = False
        if not fits or not all(0 <= number < cells for number in cell[start[-1] :]):
            raise _wrong(place, f"relation {at + 1} is not of the form 'rhs k : cell (±1) …'")
        start.append(len(cell))
    return Relations(
        cells=cells,
        start=np.array(start, dtype=np.int64),
        cell=np.array(cell, dtype=np.int32),
        coef=np.array(coef, dtype=np.int64),
        rhs=np.array(rhs, dtype=np.int64),
    )


def write_jj(problem: SuppressionProblem, path: str | os.PathLike[str]) -> Path:
    """Write a problem, readable by its owner only: it holds true values.

    Reading it back gives the same problem. Secondary suppressions have status m.
    """

    def number(units: int) -> str:
        return (
            str(Decimal(int(units)).scaleb(-problem.decimals)) if problem.decimals else str(units)
        )

    columns = (problem.low, problem.high, problem.lower, problem.upper, problem.sliding)
    lines = ["0", str(len(problem))]
    for at in range(len(problem)):
        letter = _LETTERS[CellState(int(problem.state[at]))]
        rest = " ".join(number(int(column[at])) for column in columns)
        lines.append(f"{at} {number(int(problem.value[at]))} {problem.cost[at]} {letter} {rest}")
    links = problem.relations
    lines.append(str(len(links)))
    for row in range(len(links)):
        low, high = links.start[row : row + 2]
        entries = zip(links.cell[low:high], links.coef[low:high], strict=True)
        body = " ".join(f"{cell} ({coef})" for cell, coef in entries)
        lines.append(f"{number(int(links.rhs[row]))} {high - low} : {body}")
    write_text(path, "\n".join(lines) + "\n", private=True)
    return Path(path)
