"""`repaired`: totals of a problem added up anew from their parts. CONFIDENTIAL.

In: a `SuppressionProblem` whose totals need not be the sums of their parts. Out: one whose
totals are, by the cells that are no total of anything, and by how much each cell changed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.files import write_text
from discreet.suppression.problem import SuppressionProblem

__all__ = ["repaired", "write_differences"]

IntArray = npt.NDArray[np.int64]

_SHOWN = 20


def repaired(problem: SuppressionProblem) -> tuple[SuppressionProblem, IntArray]:
    """The problem with its totals added up anew.

    Bounds known beforehand move with the value of their cell; a lower bound of 0 stays.

    Args:
        problem: The problem; a `SuppressionError` names totals that different parts make
            different, so that no adding up helps.

    Returns:
        The problem, and by how many units each of its cells differs from before.
    """
    value = _added_up(problem)
    changed = value - problem.value
    natural = (problem.low == 0) & (value >= 0)
    low = np.where(natural, 0, problem.low + changed)
    other = replace(problem, value=value, low=low, high=problem.high + changed)
    wrong = np.flatnonzero(other.relations.residuals(value))
    if wrong.size:
        raise _contradicted(problem, wrong)
    return other, changed


def write_differences(problem: SuppressionProblem, path: str | os.PathLike[str]) -> int:
    """List the relations that do not add up; CONFIDENTIAL, readable by its owner only.

    Args:
        problem: The problem.
        path: A CSV file: the total of each such relation, and its value less the sum of
            its parts.

    Returns:
        How many they are.
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
                value[cell] = _sum_of(problem, row, cell, value)
                known[cell] = True
                ready.append(cell)
    if not known.all():
        what = "the total is part of itself"
        raise _refused(problem, what, np.flatnonzero(~known))
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


def _sum_of(problem: SuppressionProblem, row: int, total: int, value: IntArray) -> int:
    links = problem.relations
    at = np.arange(links.start[row], links.start[row + 1])
    at = at[links.cell[at] != total]
    return int(links.coef[at] @ value[links.cell[at]]) - int(links.rhs[row])


def _contradicted(problem: SuppressionProblem, rows: IntArray) -> SuppressionError:
    what = "different parts give the total different sums"
    return _refused(problem, what, np.unique(_named(problem, rows)))


def _named(problem: SuppressionProblem, rows: IntArray) -> IntArray:
    """The cell that names each of some relations: its total, or else the first in it."""
    total = _totals(problem)[0][rows]
    first = problem.relations.cell[problem.relations.start[:-1][rows]]
    return np.where(total >= 0, total, first)


def _refused(problem: SuppressionProblem, what: str, cells: IntArray) -> SuppressionError:
    hint = "correct the cells: adding up anew does not help"
    problems = [Problem(what, problem.name(int(at)), hint) for at in cells]
    return SuppressionError(
        what if len(problems) == 1 else f"{len(problems):,} cells: {what}",
        code="not-additive",
        where=problems[0].where if len(problems) == 1 else problem.title,
        hint=hint,
        problems=shortened(problems, _SHOWN),
    )
