"""Respondents who know their own values: singletons, and coalitions of them. CONFIDENTIAL.

In: a problem, a pattern, how many respondents each cell has, and who stands alone behind
which cells. Out: which sensitive cells lose their protection once a respondent, or several
who put together what they know, take the cells that are theirs alone as known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import TOLERANCE, component_labels
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.insider_proofs import (
    InsiderProofs,
    OpenAim,
    watched_insiders,
)
from discreet.protection.suppression.proof.insiders import Insiders

_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RespondentAudit:
    """What coalitions of respondents can find out (confidential)."""

    most: int  # how many respondents a coalition has at most
    coalitions: int  # how many coalitions were looked at
    left: int  # how many more there are that were not, because of the limit
    opened: IntArray  # sensitive cells that a coalition can compute exactly, though nobody else can
    #: Sensitive cells that a coalition can bound more closely than their protection levels allow;
    #: `opened` are among them
    weakened: IntArray
    names: tuple[str, ...]  # names of the opened cells

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

    @property
    def safe(self) -> bool:
        """Whether no coalition bounds a cell of others more closely than asked."""
        return not self.weakened.size and not self.left

    def lines(self) -> list[str]:
        """The same in words."""
        who = f"coalitions of up to {self.most} contributors" if self.most > 1 else "contributors"
        lines = [
            f"{self.coalitions:,} {who} who stand alone behind hidden cells: they compute "
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
    insiders: Insiders | None = None,
) -> RespondentAudit:
    """Find out which cells coalitions of respondents open.

    A single respondent knows all cells that he stands alone behind: those of `insiders`; without,
    each cell of one respondent has another one. A coalition knows the hidden cells whose
    respondents all belong to it. Looked at are all single ones, and all sets of hidden cells
    with at most `most` respondents together, of which each has a relation in common with
    another one, up to a limit: knowledge about cells far apart adds nothing to what each of its
    parts tells about its surroundings, but for rare cases.

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
    if insiders is None:
        alone = np.where(respondents == 1, np.arange(len(problem)), -1)
        insiders = Insiders(owner=alone.astype(np.int64))
    attacks = _CoalitionFindings(problem, hidden, insiders)
    attacks.look_at_single_ones()
    done, left = watched_insiders(insiders, hidden), 0
    for cells in _coalitions(problem.relations, hidden, respondents, most) if most > 1 else ():
        if cells.size == 1 and respondents[cells[0]] == 1:
            continue
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


#: Blocks of more hidden cells are not attacked as a whole: what is not proven counts as open.
_ATTACKED = 20_000


class _CoalitionFindings:
    """What coalitions found so far; each is an audit of one block of hidden cells."""

    def __init__(self, problem: SuppressionProblem, hidden: BoolArray, insiders: Insiders) -> None:
        self._problem, self._hidden, self._insiders = problem, hidden, insiders
        self._block = _blocks(problem.relations, hidden)
        self._parts: dict[int, tuple[SuppressionProblem, IntArray]] = {}
        before = certify(problem, hidden)
        self._firm, self._known, self.opened, self.weakened = (
            np.zeros(len(problem), dtype=np.bool_) for _ in range(4)
        )
        self._firm[before.cells[before.protected]] = True
        self._known[before.exact] = True

    def look_at_single_ones(self) -> None:
        """Note what each contributor learns who stands alone behind hidden cells."""
        if not (self._insiders.known & self._hidden).any() or not self._firm.any():
            return
        proofs = self._proofs()
        draft = proofs.draft
        step, price = np.ones(len(draft)), np.ones(len(draft))
        for failed in proofs.prove_by_hidden():
            cell = int(draft.unknowns.cells[failed.cell])
            if failed.insider is not None:
                self._attack(proofs, failed, (step, price))
                continue
            block = self._hidden & (self._block == self._block[cell])
            for insider, cells in self._insiders.behind(block):
                if not (cells == cell).any():
                    self._attack(proofs, replace(failed, insider=insider), (step, price))

    def _proofs(self) -> InsiderProofs:
        """What hidden cells may show to single contributors, for cells that others cannot open."""
        state = self._problem.state.copy()
        secondary = self._hidden & (state != CellState.primary)
        state[secondary] = CellState.secondary
        draft = DraftPattern(replace(self._problem, state=state))
        draft.hidden = self._hidden[draft.unknowns.cells]
        firm = self._firm[draft.unknowns.cells]
        draft.target[~np.concatenate([firm, firm])] = 0.0
        return InsiderProofs(draft, self._insiders)

    def _attack(
        self, proofs: InsiderProofs, failed: OpenAim, ways: tuple[FloatArray, FloatArray]
    ) -> None:
        """Find out whether an insider really opens a cell, and could have been kept from it."""
        cell = int(proofs.draft.unknowns.cells[failed.cell])
        if self.opened[cell]:
            return
        if int((self._block == self._block[cell]).sum()) > _ATTACKED:
            self.weakened[cell] = True
            return
        part, old = self._part_of(cell)
        near: BoolArray = old == cell
        assert failed.insider is not None
        verdict = certify(part, ~self._insiders.of(failed.insider)[old], near)
        if verdict.protected.all():
            return
        low, high = float(verdict.low[0]), float(verdict.high[0])
        if proofs.may_be_his(failed) and not proofs.possible(failed, *ways):
            return
        if high - low <= TOLERANCE:
            self.opened[cell] = True
        elif not proofs.enough(failed, low, high) and (
            proofs.possible(failed, *ways)
            or not any(
                low <= TOLERANCE - lower and high >= upper - TOLERANCE
                for lower, upper in proofs.other_ways(failed)
            )
        ):
            self.weakened[cell] = True

    def _part_of(self, cell: int) -> tuple[SuppressionProblem, IntArray]:
        """The block of a hidden cell as a problem, and the numbers of its cells."""
        label = int(self._block[cell])
        if label not in self._parts:
            self._parts[label] = _part(self._problem, self._block == label)
        return self._parts[label]

    def look(self, cells: IntArray) -> None:
        """Note what becomes of the others when some cells are known, and others of their owners."""
        known = np.zeros(len(self._problem), dtype=np.bool_)
        known[cells] = True
        for column in (self._insiders.owner, self._insiders.group):
            if column is not None:
                owners = np.unique(column[cells])
                known |= np.isin(column, owners[owners >= 0])
        part, old = self._part_of(int(cells[0]))
        rest = ~known[old]
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
    coalitions: set[tuple[int, ...]] = {(int(cell),) for cell in np.flatnonzero(small)}
    near = _neighbours(relations, small)
    while coalitions:
        for cells in sorted(coalitions):
            yield np.array(cells, dtype=np.int64)
        coalitions = {
            tuple(sorted((*cells, other)))
            for cells in coalitions
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
