"""What respondents know themselves: sums that a lone one of them could work out.

In: a problem and how many respondents each cell has. Out: the same problem with further,
artificial cells: sums of sensitive cells of one relation, which must not be known either.
CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.relations import Relations

__all__ = ["guard_respondents"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: Share of the sum by which it must stay uncertain at least.
_SHARE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """The sensitive cells of each relation: entries of relations, row by row."""

    entries: IntArray
    row: IntArray
    size: IntArray


def guard_respondents(
    problem: SuppressionProblem,
    respondents: IntArray,
    *,
    owner: IntArray | None = None,
    singletons: bool = True,
    multiples: bool = True,
    minimum: int = 0,
) -> tuple[SuppressionProblem, IntArray]:
    """Protect the sums of sensitive cells that a respondent among them could undo.

    If two sensitive cells are all that is hidden in a relation, their sum is known, and
    the only respondent of one of them knows the other. So the sum becomes a cell of its
    own that must be hidden well enough too: a third cell of the relation has to be hidden.

    Args:
        problem: The problem.
        respondents: How many respondents each cell has, in its order.
        owner: For cells with one respondent, a number for who it is; others -1. Without,
            each of them has another one.
        singletons: Look at relations where a single respondent is left with a cell of
            another single respondent.
        multiples: And with a cell of several.
        minimum: And where the sensitive cells together have fewer respondents than this.

    Returns:
        The problem with artificial cells at its end, and their numbers.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> zero = np.zeros(4, dtype=np.int64)
    >>> value, state = np.array([60, 10, 20, 30]), np.array([0, 1, 1, 0], dtype=np.int8)
    >>> problem = SuppressionProblem(value=value, cost=value, state=state, low=zero,
    ...     high=2 * value, lower=zero, upper=zero, sliding=zero, relations=sums)
    >>> guarded, added = guard_respondents(problem, np.array([9, 1, 1, 7]))
    >>> added, guarded.value[added], guarded.name(4)
    (array([4]), array([30]), 'the sum of cell 1 and cell 2')
    """
    for column in (respondents, owner):
        if column is not None and len(column) != len(problem):
            raise SuppressionError(
                "there is one number of respondents for each cell", code="respondents"
            )
    groups = _groups(problem)
    left, single = _left_over(problem, groups, respondents, owner)
    chosen = left & (single & singletons | ~single & multiples)
    chosen |= (groups.size > 0) & (_joint(problem, groups, respondents, owner) < minimum)
    chosen &= groups.size > 1
    return _with_sums(problem, groups, np.flatnonzero(chosen).astype(np.int64))


def _groups(problem: SuppressionProblem) -> _Groups:
    links = problem.relations
    sensitive = problem.state == CellState.primary
    entries = np.flatnonzero(sensitive[links.cell]).astype(np.int64)
    row = links.row[entries]
    return _Groups(entries=entries, row=row, size=np.bincount(row, minlength=len(links)))


def _owners(
    problem: SuppressionProblem, groups: _Groups, respondents: IntArray, owner: IntArray | None
) -> IntArray:
    """Who owns each entry: the only respondent of its cell, or -1."""
    cell = problem.relations.cell[groups.entries].astype(np.int64)
    alone = respondents[cell] == 1
    own = cell if owner is None else np.where(owner[cell] >= 0, owner[cell], -2 - cell)
    return np.where(alone, own, np.int64(-1))


def _left_over(
    problem: SuppressionProblem, groups: _Groups, respondents: IntArray, owner: IntArray | None
) -> tuple[BoolArray, BoolArray]:
    """Rows where one respondent knows all sensitive cells but one; whether that is single.

    Rows where a respondent knows all of them count as well: their sum is his own.
    """
    rows = len(problem.relations)
    own = _owners(problem, groups, respondents, owner)
    known = own != -1
    pairs = np.stack([groups.row[known], own[known]])
    _, group, number = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    most = np.zeros(rows, dtype=np.int64)
    np.maximum.at(most, groups.row[known], number[group.reshape(-1)])
    alone = np.bincount(groups.row[known], minlength=rows)
    left = (most > 0) & (groups.size - most <= 1)
    return left, left & (alone == groups.size)


def _joint(
    problem: SuppressionProblem, groups: _Groups, respondents: IntArray, owner: IntArray | None
) -> IntArray:
    """How many respondents the sensitive cells of each row have together."""
    rows = len(problem.relations)
    own = _owners(problem, groups, respondents, owner)
    known = own != -1
    joint = np.zeros(rows, dtype=np.int64)
    cells = problem.relations.cell[groups.entries[~known]]
    np.add.at(joint, groups.row[~known], respondents[cells])
    different = np.unique(np.stack([groups.row[known], own[known]]), axis=1)
    np.add.at(joint, different[0], 1)
    return joint


def _with_sums(
    problem: SuppressionProblem, groups: _Groups, rows: IntArray
) -> tuple[SuppressionProblem, IntArray]:
    """The problem with a further cell and relation for the sensitive cells of some rows."""
    links, before = problem.relations, len(problem)
    added = before + np.arange(len(rows), dtype=np.int64)
    if not len(rows):
        return problem, added
    place = np.full(len(links), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    mine = place[groups.row] >= 0
    row = place[groups.row[mine]]
    cell, coef = links.cell[groups.entries[mine]], links.coef[groups.entries[mine]]
    value = np.zeros(len(rows), dtype=np.int64)
    np.add.at(value, row, coef * problem.value[cell])
    sign = np.where(value < 0, -1, 1)
    coef, value = coef * sign[row], value * sign
    level = np.maximum(np.ceil(_SHARE * value), 1).astype(np.int64)
    room = {}
    for name, other in (("low", "high"), ("high", "low")):
        bound = np.zeros(len(rows), dtype=np.int64)
        own, opposite = getattr(problem, name)[cell], getattr(problem, other)[cell]
        np.add.at(bound, row, np.where(coef > 0, own, -opposite))
        room[name] = bound
    nothing = np.zeros(len(rows), dtype=np.int64)
    columns = {"value": value, "lower": nothing, "upper": level, "sliding": nothing, **room}
    columns["cost"] = np.ones(len(rows), dtype=np.int64)
    columns["state"] = np.full(len(rows), CellState.primary, dtype=np.int8)
    columns["high"] = np.maximum(room["high"], value + level)
    grown: dict[str, Any] = {
        name: np.concatenate([getattr(problem, name), own]) for name, own in columns.items()
    }
    names = _Names(problem.name, before, row, cell.astype(np.int64))
    relations = _extended(links, before + len(rows), added, row, cell, coef)
    return replace(problem, relations=relations, name=names, **grown), added


def _extended(
    links: Relations,
    cells: int,
    added: IntArray,
    row: IntArray,
    cell: npt.NDArray[np.int32],
    coef: IntArray,
) -> Relations:
    numbers = np.concatenate([np.arange(len(added)), row])
    order = np.argsort(numbers, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(added)))])
    sums = Relations(
        cells=cells,
        start=start.astype(np.int64),
        cell=np.concatenate([added, cell])[order].astype(np.int32),
        coef=np.concatenate([-np.ones(len(added), dtype=np.int64), coef])[order],
        rhs=np.zeros(len(added), dtype=np.int64),
    )
    return replace(links, cells=cells).joined(sums)


class _Names:
    """Names of cells, artificial ones by their parts."""

    def __init__(
        self, name: Callable[[int], str], before: int, row: IntArray, cell: IntArray
    ) -> None:
        self._name, self._before, self._row, self._cell = name, before, row, cell

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        if at < self._before:
            return self._name(at)
        parts = [self._name(int(cell)) for cell in self._cell[self._row == at - self._before]]
        return "the sum of " + " and ".join(parts)
