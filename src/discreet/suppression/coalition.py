"""What respondents can find out who know their own values. CONFIDENTIAL.

In: a problem, its hidden cells, how many respondents each has. Out: which sensitive
cells lose their protection once a respondent, or several who put together what they know,
take the cells that are theirs alone as known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.certificate import certify
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.relations import Relations
from discreet.suppression.unknowns import labels_of

__all__ = ["RespondentAudit", "audit_respondents"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RespondentAudit:
    """What coalitions of respondents can find out (confidential).

    Args:
        most: How many respondents a coalition has at most.
        coalitions: How many coalitions were looked at.
        left: How many more there are that were not, because of the limit.
        opened: Sensitive cells that a coalition can compute exactly, though nobody else can.
        weakened: Sensitive cells that a coalition can bound more closely than their
            protection levels allow; `opened` are among them.
        names: Names of the opened cells.
    """

    most: int
    coalitions: int
    left: int
    opened: IntArray
    weakened: IntArray
    names: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "most": self.most,
            "coalitions": self.coalitions,
            "left": self.left,
            "opened": len(self.opened),
            "weakened": len(self.weakened),
            "opened_cells": list(self.names),
        }

    def lines(self) -> list[str]:
        """The same in words."""
        lines = [
            f"{self.coalitions:,} coalitions of up to {self.most} respondents: they compute "
            f"{len(self.opened):,} cells of others exactly, and bound {len(self.weakened):,} "
            "more closely than asked."
        ]
        if self.left:
            lines.append(f"{self.left:,} further coalitions were not looked at.")
        return lines + [f"  {name}" for name in self.names[:_SHOWN]]

    def __repr__(self) -> str:
        return f"<RespondentAudit (confidential): {self.coalitions:,} coalitions>"


def audit_respondents(
    problem: SuppressionProblem,
    hidden: BoolArray,
    respondents: IntArray,
    *,
    most: int = 1,
    limit: int = 20_000,
) -> RespondentAudit:
    """Find out which cells coalitions of respondents open.

    A coalition knows the hidden cells whose respondents all belong to it. Looked at are
    all sets of hidden cells with at most `most` respondents together, of which each has
    a relation in common with another one: knowledge about cells far apart adds nothing
    to what each of its parts tells about its surroundings, but for rare cases.

    Args:
        problem: The cells, their levels and relations.
        hidden: Which of its cells are hidden.
        respondents: How many respondents each cell has.
        most: How many respondents there are in a coalition at most; 1: those alone in
            their cell.
        limit: How many coalitions to look at at most, those with few cells first.

    Two firms alone in their cells, and nothing else is hidden in the sum: each of them
    knows the other.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> zero = np.zeros(4, dtype=np.int64)
    >>> value, state = np.array([60, 10, 20, 30]), np.array([0, 1, 1, 0], dtype=np.int8)
    >>> problem = SuppressionProblem(value=value, cost=value, state=state, low=zero,
    ...     high=2 * value, lower=zero, upper=zero, sliding=zero, relations=sums)
    >>> audit_respondents(problem, problem.hidden, np.array([9, 1, 1, 7])).names
    ('cell 1', 'cell 2')
    """
    if most < 1 or len(respondents) != len(problem):
        raise SuppressionError(
            "coalitions have at least one respondent, and each cell a number of respondents",
            code="respondents",
        )
    attacks = _Attacks(problem, hidden)
    done = left = 0
    for cells in _coalitions(problem.relations, hidden, respondents, most):
        if done < limit:
            attacks.look(cells)
            done += 1
        else:
            left += 1
    opened = np.flatnonzero(attacks.opened).astype(np.int64)
    return RespondentAudit(
        most=most,
        coalitions=done,
        left=left,
        opened=opened,
        weakened=np.flatnonzero(attacks.weakened | attacks.opened).astype(np.int64),
        names=tuple(problem.name(int(at)) for at in opened),
    )


class _Attacks:
    """What coalitions found so far; each is an audit of one block of hidden cells."""

    def __init__(self, problem: SuppressionProblem, hidden: BoolArray) -> None:
        self._problem = problem
        self._block = _blocks(problem.relations, hidden)
        self._parts: dict[int, tuple[SuppressionProblem, IntArray]] = {}
        before = certify(problem, hidden)
        self._firm, self._known, self.opened, self.weakened = (
            np.zeros(len(problem), dtype=np.bool_) for _ in range(4)
        )
        self._firm[before.cells[before.protected]] = True
        self._known[before.exact] = True

    def look(self, cells: IntArray) -> None:
        """Note what becomes of the others when some cells are known."""
        label = int(self._block[cells[0]])
        if label not in self._parts:
            self._parts[label] = _part(self._problem, self._block == label)
        part, old = self._parts[label]
        rest = ~np.isin(old, cells)
        near: BoolArray = (part.state == CellState.primary) & rest
        if not near.any():
            return
        verdict = certify(part, rest, near)
        lost, exact = old[verdict.cells[~verdict.protected]], old[verdict.exact]
        self.weakened[lost[self._firm[lost]]] = True
        self.opened[exact[~self._known[exact]]] = True


def _blocks(relations: Relations, hidden: BoolArray) -> IntArray:
    """For each hidden cell its block, -1 for others."""
    among, cells = relations.among(hidden)
    block = np.full(relations.cells, -1, dtype=np.int64)
    block[cells] = labels_of(among)
    return block


def _part(problem: SuppressionProblem, chosen: BoolArray) -> tuple[SuppressionProblem, IntArray]:
    """The hidden cells of one block as a problem, in which all others are known."""
    relations, old = problem.relations.among(chosen)
    names = ("value", "cost", "state", "low", "high", "lower", "upper", "sliding")
    columns: dict[str, Any] = {name: getattr(problem, name)[old] for name in names}
    return SuppressionProblem(relations=relations, **columns), old


def _coalitions(
    relations: Relations, hidden: BoolArray, respondents: IntArray, most: int
) -> Iterator[IntArray]:
    """Sets of small hidden cells, single ones first; larger ones hang together by relations."""
    small = hidden & (respondents > 0) & (respondents <= most)
    found: set[tuple[int, ...]] = {(int(cell),) for cell in np.flatnonzero(small)}
    near = _neighbours(relations, small)
    while found:
        for cells in sorted(found):
            yield np.array(cells, dtype=np.int64)
        found = {
            tuple(sorted((*cells, other)))
            for cells in found
            for cell in cells
            for other in near.get(cell, ())
            if other not in cells and respondents[[*cells, other]].sum() <= most
        }


def _neighbours(relations: Relations, small: BoolArray) -> dict[int, set[int]]:
    """For each small cell, the other small cells of its relations."""
    near: dict[int, set[int]] = {}
    mine = np.flatnonzero(small[relations.cell])
    rows, cells = relations.row[mine], relations.cell[mine].astype(np.int64)
    cuts = np.flatnonzero(np.diff(rows)) + 1
    for group in np.split(cells, cuts):
        for one, other in combinations(group.tolist(), 2):
            near.setdefault(one, set()).add(other)
            near.setdefault(other, set()).add(one)
    return near
