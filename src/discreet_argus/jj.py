"""Files in the `.jj` form: a suppression problem as cells and relations. CONFIDENTIAL.

In: a text file, perhaps gzipped, with values, costs, protection levels, bounds and sums.
Out: a `SuppressionProblem`; and back. Such a file holds true values. Its totals need not be
the sums of their parts: they can be added up anew, and differences written down.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import Problem, SuppressionError, raise_all, shortened
from discreet.files import write_text
from discreet.protection.suppression import UNBOUNDED, CellState, Relations, SuppressionProblem

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
    """
    place = Path(path)
    try:
        data = place.read_bytes()
        text = (gzip.decompress(data) if place.suffix == ".gz" else data).decode("utf-8-sig")
    except OSError as error:
        message = f"the file cannot be read ({error.strerror or 'damaged'})"
        raise SuppressionError(message, code="jj-file", where=str(place)) from None
    except (UnicodeDecodeError, EOFError):
        raise _wrong(place, "the file is not a text") from None
    lines = [line for line in (line.strip() for line in text.splitlines()) if line]
    number = _whole(lines, 1, place)
    if len(lines) < number + 3:
        raise _wrong(place, f"the file ends before its {number:,} cells and their relations")
    cells = [line.split() for line in lines[2 : number + 2]]
    problems = []
    for at, fields in enumerate(cells):
        where = f"line {at + 3}"
        if len(fields) != _FIELDS:
            message = f"expected {_FIELDS} fields per cell, got {len(fields)}"
            problems.append(Problem(message, where))
        elif fields[0] != str(at):
            problems.append(Problem("cells are not numbered from 0 upwards", where))
        elif fields[2].startswith("-") and fields[2].strip("-0.") != "":
            message = f"the cost of cell {fields[0]} is negative"
            problems.append(Problem(message, where, "costs must be at least 0"))
        elif fields[3] not in _STATES:
            problems.append(Problem("unknown status", where, "known: s, u, z, m"))
    relations = _whole(lines, number + 2, place)
    rows = lines[number + 3 : number + 3 + relations]
    if len(rows) < relations:
        problems.append(Problem("the file ends before its last relation", place.name))
    if problems:
        raise _wrong(place, problems[0].what, problems)
    try:
        table = [[Decimal(fields[at]) for at in (1, 4, 5, 6, 7, 8)] for fields in cells]
        costs = [round(Decimal(fields[2])) for fields in cells]
        finite = all(one.is_finite() for numbers in table for one in numbers)
    except (InvalidOperation, ValueError, OverflowError):
        finite = False
    if not finite:
        raise _wrong(place, "a cell has a field that is not a number")
    digits = max((_digits(one) for numbers in table for one in numbers), default=0)
    decimals = min(digits, _MOST_DECIMALS)
    columns: dict[str, Any] = {}
    for at, name in enumerate(("value", "low", "high", "lower", "upper", "sliding")):
        units = (round(numbers[at] * 10**decimals) for numbers in table)
        bounded = [min(max(unit, -UNBOUNDED), UNBOUNDED) for unit in units]
        columns[name] = np.array(bounded, dtype=np.int64)
    return SuppressionProblem(
        **columns,
        cost=np.array(costs, dtype=np.int64),
        state=np.array([_STATES[fields[3]] for fields in cells], dtype=np.int8),
        relations=_relations(rows, len(cells), 10**decimals, place),
        decimals=decimals,
        title=place.name.split(".")[0],
    )


def _wrong(place: Path, what: str, problems: list[Problem] | None = None) -> SuppressionError:
    hint = "a .jj file contains a 0, the number of cells, the cells, the number of sums, the sums"
    listed = shortened(problems, _SHOWN) if problems else ()
    return SuppressionError(what, code="jj-file", where=str(place), hint=hint, problems=listed)


def _whole(lines: list[str], at: int, place: Path) -> int:
    text = lines[at].split()[0] if at < len(lines) else ""
    if not text.isdigit():
        raise _wrong(place, f"a number is missing on line {at + 1}")
    return int(text)


def _digits(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


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
        scaled = Decimal(int(units)).scaleb(-problem.decimals)
        return str(scaled) if problem.decimals else str(units)

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


def repaired_problem(problem: SuppressionProblem) -> tuple[SuppressionProblem, IntArray]:
    """The problem with its totals added up anew, and by how many units each cell differs.

    Bounds known beforehand move with the value of their cell; a lower bound of 0 stays. A
    `SuppressionError` names totals that different parts make different.
    """
    value = _added_up(problem)
    changed = value - problem.value
    natural = (problem.low == 0) & (value >= 0)
    low = np.where(natural, 0, problem.low + changed)
    other = replace(problem, value=value, low=low, high=problem.high + changed)
    wrong = np.flatnonzero(other.relations.residuals(value))
    message = "different parts give the total different sums"
    _refuse(problem, message, np.unique(_named(problem, wrong)))
    return other, changed


def write_differences(problem: SuppressionProblem, path: str | os.PathLike[str]) -> int:
    """List the relations that do not add up; CONFIDENTIAL, readable by its owner only.

    The CSV file has the total of each, and its value less the sum of its parts. Gives how many.
    """
    residuals = problem.relations.residuals(problem.value)
    rows = np.flatnonzero(residuals)
    lines = ["cell,difference"]
    for row, cell in zip(rows, _named(problem, rows), strict=True):
        units = Decimal(-int(residuals[row])).scaleb(-problem.decimals)
        lines.append(f'"{problem.name(int(cell))}",{units:f}')
    write_text(path, "\n".join(lines) + "\n", private=True)
    return len(rows)


def _added_up(problem: SuppressionProblem) -> IntArray:
    """Values, each total by the first of its relations whose parts are all known."""
    links = problem.relations
    total, waiting = _totals(problem)
    above: dict[int, list[int]] = {}
    for row in np.flatnonzero(total >= 0).tolist():
        for cell in links.cell[links.start[row] : links.start[row + 1]].tolist():
            if cell != total[row]:
                above.setdefault(cell, []).append(row)
    value = problem.value.copy()
    leaf = np.ones(len(problem), dtype=np.bool_)
    leaf[total[total >= 0]] = False
    known = leaf.copy()
    ready = np.flatnonzero(leaf).tolist()
    while ready:
        for row in above.get(ready.pop(), ()):
            waiting[row] -= 1
            cell = int(total[row])
            if not waiting[row] and not known[cell]:
                at = np.arange(links.start[row], links.start[row + 1])
                at = at[links.cell[at] != cell]
                value[cell] = int(links.coef[at] @ value[links.cell[at]]) - int(links.rhs[row])
                known[cell] = True
                ready.append(cell)
    _refuse(problem, "the total is part of itself", np.flatnonzero(~known))
    return value


def _totals(problem: SuppressionProblem) -> tuple[IntArray, IntArray]:
    """The total of each relation, -1 where it has none, and how many parts it has."""
    links = problem.relations
    row = links.row[links.coef == -1]
    single = np.bincount(row, minlength=len(links)) == 1
    single &= np.bincount(links.row[links.coef < 0], minlength=len(links)) == 1
    total = np.full(len(links), -1, dtype=np.int64)
    total[row] = links.cell[links.coef == -1]
    total[~single] = -1
    return total, np.diff(links.start).astype(np.int64) - 1


def _named(problem: SuppressionProblem, rows: IntArray) -> IntArray:
    """The cell that names each of some relations: its total, or else the first in it."""
    total = _totals(problem)[0][rows]
    first = problem.relations.cell[problem.relations.start[:-1][rows]]
    return np.where(total >= 0, total, first)


def _refuse(problem: SuppressionProblem, what: str, cells: IntArray) -> None:
    """Raise an error if there are such cells."""
    hint = "correct the cells; recalculated totals do not help"
    problems = [Problem(what, problem.name(int(at)), hint) for at in cells]
    many = f"{{:,}} cells: {what}"
    raise_all(SuppressionError, problems, code="not-additive", many=many, where=problem.title,
              most=_SHOWN)  # fmt: skip
