"""Respondents who know their own values: singletons, and coalitions of them. CONFIDENTIAL.

In: a problem and how many respondents each cell has. Out: the problem with sums that a
single respondent could undo as further sensitive cells, as far as any pattern can protect
them; and, for a pattern, which sensitive cells lose their protection once a respondent, or
several who put together what they know, take the cells that are theirs alone as known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, IntArray, starts
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import (
    component_labels,
    outer_bounds,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import certify

#: Share of the sum by which it must stay uncertain at least.
_SHARE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class _RelationGroups:
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

    Looked at are relations where a single respondent is left with a cell of another one
    (`singletons`) or of several (`multiples`), and where the sensitive cells together have fewer
    respondents than a minimum. Owners are numbers of the only respondents, -1 for other cells;
    without, each is another one. Gives the problem with artificial cells at its end, and these.

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
    own = _owners(problem, groups, respondents, owner)
    left, single = _left_over(groups, own)
    chosen = left & (single & singletons | ~single & multiples)
    chosen |= (groups.size > 0) & (_joint(problem, groups, respondents, own) < minimum)
    chosen &= groups.size > 1
    return _with_sums(problem, groups, np.flatnonzero(chosen).astype(np.int64))


def _groups(problem: SuppressionProblem) -> _RelationGroups:
    links = problem.relations
    sensitive = problem.state == CellState.primary
    entries = np.flatnonzero(sensitive[links.cell]).astype(np.int64)
    row = links.row[entries]
    return _RelationGroups(entries=entries, row=row, size=np.bincount(row, minlength=len(links)))


def _owners(
    problem: SuppressionProblem,
    groups: _RelationGroups,
    respondents: IntArray,
    owner: IntArray | None,
) -> IntArray:
    """Who owns each entry: the only respondent of its cell, or -1."""
    cell = problem.relations.cell[groups.entries].astype(np.int64)
    alone = respondents[cell] == 1
    own = cell if owner is None else np.where(owner[cell] >= 0, owner[cell], -2 - cell)
    return np.where(alone, own, np.int64(-1))


def _left_over(groups: _RelationGroups, own: IntArray) -> tuple[BoolArray, BoolArray]:
    """Rows where one respondent knows all sensitive cells but one; whether that is single.

    Rows where a respondent knows all of them count as well: their sum is his own.
    """
    rows, known = len(groups.size), own != -1
    pairs = np.stack([groups.row[known], own[known]])
    _, group, number = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    most = np.zeros(rows, dtype=np.int64)
    np.maximum.at(most, groups.row[known], number[group.reshape(-1)])
    alone = np.bincount(groups.row[known], minlength=rows)
    left = (most > 0) & (groups.size - most <= 1)
    return left, left & (alone == groups.size)


def _joint(
    problem: SuppressionProblem, groups: _RelationGroups, respondents: IntArray, own: IntArray
) -> IntArray:
    """How many respondents the sensitive cells of each row have together."""
    known = own != -1
    joint = np.zeros(len(groups.size), dtype=np.int64)
    cells = problem.relations.cell[groups.entries[~known]]
    np.add.at(joint, groups.row[~known], respondents[cells])
    different = np.unique(np.stack([groups.row[known], own[known]]), axis=1)
    np.add.at(joint, different[0], 1)
    return joint


def _with_sums(
    problem: SuppressionProblem, groups: _RelationGroups, rows: IntArray
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
    names = _SumNames(problem.name, before, row, cell.astype(np.int64))
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
    sums = Relations(
        cells=cells,
        start=starts(np.bincount(numbers, minlength=len(added))),
        cell=np.concatenate([added, cell])[order].astype(np.int32),
        coef=np.concatenate([-np.ones(len(added), dtype=np.int64), coef])[order],
        rhs=np.zeros(len(added), dtype=np.int64),
    )
    return replace(links, cells=cells).joined(sums)


class _SumNames:
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


#: With more cells than these, bounds alone decide which sums can be protected.
_EXACT_LIMIT = 30_000


def with_singleton_sums(
    problem: SuppressionProblem, respondents: IntArray
) -> tuple[SuppressionProblem, int]:
    """The problem with the sums that a single respondent could undo.

    The number says how many sums were left out because nothing can protect them.
    """
    grown, added = guard_respondents(problem, respondents)
    if not len(added):
        return problem, 0
    lost = _never_protected(grown, added)
    return (_without(grown, lost), len(lost)) if len(lost) else (grown, 0)


def _never_protected(problem: SuppressionProblem, added: IntArray) -> IntArray:
    """Those of the sums that stay open even if every cell that may be hidden is hidden."""
    all_hidden: BoolArray = problem.state != CellState.fixed
    wanted = np.zeros(len(problem), dtype=np.bool_)
    wanted[added] = True
    if int(all_hidden.sum()) <= _EXACT_LIMIT:
        return certify(problem, all_hidden, wanted).unprotected
    known = unknowns_of(problem, all_hidden, wanted)
    open_cells = known.sensitive & ~known.protected(*outer_bounds(known))
    return known.cells[open_cells]


def _without(problem: SuppressionProblem, cells: IntArray) -> SuppressionProblem:
    """The problem without some of the cells and the relations that these stand in."""
    keep = np.ones(len(problem), dtype=np.bool_)
    keep[cells] = False
    links = problem.relations
    rows = np.ones(len(links), dtype=np.bool_)
    rows[links.row[~keep[links.cell]]] = False
    relations = links.rows(rows).renumbered(np.cumsum(keep) - 1, int(keep.sum()))
    old, named = np.flatnonzero(keep), problem.name
    name = lambda at: named(int(old[at]))  # noqa: E731
    return replace(problem, relations=relations, name=name, **problem.columns_at(old))


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

    With `most` = 1 these are respondents alone in their cell; those with few cells come first,
    up to a limit.

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
    attacks = _CoalitionFindings(problem, hidden)
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


class _CoalitionFindings:
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
    block[cells] = component_labels(among)
    return block


def _part(problem: SuppressionProblem, chosen: BoolArray) -> tuple[SuppressionProblem, IntArray]:
    """The hidden cells of one block as a problem, in which all others are known."""
    relations, old = problem.relations.among(chosen)
    return SuppressionProblem(relations=relations, **problem.columns_at(old)), old


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
