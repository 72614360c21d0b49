"""Respondents who know their own values: alone, in pairs, and in coalitions. CONFIDENTIAL.

Which sensitive cells lose their protection once a respondent, or several who put together what they
know, take the cells that are theirs alone as known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import TOLERANCE, Gap, Insiders, component_labels, opened_by_pairs
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.insider_proofs import (
    InsiderProofs,
    OpenAim,
)
from discreet.protection.suppression.settings import InsiderAim

_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RespondentAudit:
    """Audit of coalitions of respondents (confidential)."""

    most: int  # how many respondents a coalition has at most
    coalitions: int  # how many coalitions were looked at
    left: int  # how many more there are that were not, because of the limit
    opened: IntArray  # sensitive cells that a coalition can compute exactly, though nobody else can
    #: Sensitive cells that a coalition can bound more closely than their protection levels allow;
    #: `opened` are among them
    weakened: IntArray
    names: tuple[str, ...]  # names of the opened cells
    share: float = 1.0  # the share of the protection levels that is judged; 0: the exact figure
    #: The largest share of the levels of which nobody is seen to come nearer
    nearest: float = 1.0

    @property
    def holds(self) -> InsiderAim:
        """The strongest aim that holds: "levels", a share of them, "exact", or "off" for none."""
        whole = math.floor(100 * self.nearest + 1e-6) / 100
        return "off" if self.opened.size else "levels" if whole >= 1 else whole or "exact"

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "most": self.most,
            "insiders": {0.0: "exact", 1.0: "levels"}.get(self.share, self.share),
            "holds": self.holds,
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

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Coalitions that were not examined."""
        return (Gap("coalitions", str(self.most), self.left),) if self.left else ()

    def lines(self) -> list[str]:
        """As lines of text."""
        who = f"coalitions of up to {self.most} contributors" if self.most > 1 else "contributors"
        lines = [
            f"{self.coalitions:,} {who} who alone make up suppressed cells compute "
            f"{len(self.opened):,} cells of others exactly and bound {len(self.weakened):,} "
            "more closely than asked."
        ]
        words = {"exact": "no figure of others is computed exactly", "off": "nothing"}
        if (holds := self.holds) != "levels":
            told = words[holds] if isinstance(holds, str) else f"{holds} of the levels"
            lines.append(f"Against them holds: {told}.")
        return lines + [f"  {name}" for name in self.names[:_SHOWN]]

    def __repr__(self) -> str:
        return f"<RespondentAudit (confidential): {self.coalitions:,} coalitions>"


def audit_respondents(
    problem: SuppressionProblem,
    hidden: BoolArray,
    respondents: IntArray,
    *,
    most: int = 1,
    limit: int = 100_000,
    insiders: Insiders | None = None,
) -> RespondentAudit:
    """Find out which cells coalitions of respondents open.

    A single respondent knows all cells that he stands alone behind: those of `insiders`; without,
    each cell of one respondent has another one. A coalition knows the hidden cells whose
    respondents all belong to it. Looked at are all single ones, and all sets of hidden cells of
    a block with at most `most` respondents together, up to a limit. Which cells two lone ones
    compute exactly is seen beyond the limit, too, whether or not they share a relation.

    Two firms alone in their cells, and nothing else is hidden in the sum: each of them
    knows the other.

    >>> from discreet.disclosure import Relations
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
        insiders = Insiders.each_apart(respondents)
    attacks = _CoalitionFindings(problem, hidden, insiders)
    attacks.look_at_single_ones()
    done, left = sum(1 for _ in insiders.behind(hidden)), 0
    if most > 1:
        # What two lone ones compute exactly.
        opened, left = opened_by_pairs(
            problem.relations, hidden, [own for _, own in insiders.behind(hidden)]
        )
        attacks.opened |= opened & attacks.aims & ~attacks.exact
        number = 0
        for cells in _coalitions(attacks.block, hidden, respondents, most):
            if done >= limit or attacks.attacked >= _MOST_ATTACKED:
                break
            attacks.look(cells)
            done, number = done + 1, number + 1
        left = max(left, _number_of_coalitions(attacks.block, hidden, respondents, most) - number)
    found = np.flatnonzero(attacks.opened).astype(np.int64)
    return RespondentAudit(
        most=most,
        coalitions=done,
        left=left,
        opened=found,
        weakened=np.flatnonzero(attacks.weakened | attacks.opened).astype(np.int64),
        names=tuple(problem.name(int(at)) for at in found),
        nearest=attacks.nearest,
    )


#: Blocks of more hidden cells are not attacked as a whole: what is not proven counts as open.
_ATTACKED = 20_000
#: So many coalitions are attacked, where the moves that protect cells need some of theirs.
_MOST_ATTACKED = 20_000


class _CoalitionFindings:
    """What coalitions found so far; each is an audit of one block of hidden cells."""

    def __init__(self, problem: SuppressionProblem, hidden: BoolArray, insiders: Insiders) -> None:
        self._problem, self._hidden, self._insiders = problem, hidden, insiders
        among, cells = problem.relations.among(hidden)
        #: For each hidden cell its block, -1 for others
        self.block = np.full(len(problem), -1, dtype=np.int64)
        self.block[cells] = component_labels(among)
        self.attacked = 0
        #: The largest share of the levels of which nobody is seen to come nearer.
        self.nearest = 1.0
        self.aims: BoolArray = problem.state == CellState.primary
        before = certify(problem, hidden)
        #: Cells that others can neither open nor narrow, and those that they know exactly
        self._firm, self.exact, self.opened, self.weakened = (
            np.zeros(len(problem), dtype=np.bool_) for _ in range(4)
        )
        self._firm[before.cells[before.protected]] = True
        self.exact[before.exact] = True
        self._parts: dict[int, tuple[SuppressionProblem, IntArray]] = {}

    def look_at_single_ones(self) -> None:
        """Note what each contributor learns who stands alone behind hidden cells."""
        if not (self._insiders.known & self._hidden).any() or not self._firm.any():
            return
        proofs = self._proofs()
        draft = proofs.draft
        ways = np.ones(len(draft)), np.ones(len(draft))
        for failed in proofs.prove_by_hidden():
            cell = int(draft.unknowns.cells[failed.cell])
            if failed.insider is not None:
                self._attack(proofs, failed, ways)
                continue
            block = self._hidden & (self.block == self.block[cell])
            for insider, cells in self._insiders.behind(block):
                if not (cells == cell).any():
                    self._attack(proofs, replace(failed, insider=insider), ways)

    def _proofs(self) -> InsiderProofs:
        """What hidden cells may show to single contributors, for cells that others cannot open."""
        state = self._problem.state.copy()
        state[self._hidden & ~self.aims] = CellState.secondary
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
        if int((self.block == self.block[cell]).sum()) > _ATTACKED:
            self.weakened[cell] = True
            self.nearest = 0.0
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
            own = [far for far in proofs.distances(failed) if far]
            reached = (max(high if far > 0 else -low, 0.0) / abs(far) for far in own)
            self.nearest = min([self.nearest, *reached])

    def _part_of(self, cell: int) -> tuple[SuppressionProblem, IntArray]:
        """The block of a hidden cell as a problem, in which all others are known; its cells."""
        label = int(self.block[cell])
        if label not in self._parts:
            relations, old = self._problem.relations.among(self.block == label)
            part = SuppressionProblem(relations=relations, **self._problem.columns_at(old))
            self._parts[label] = part, old
        return self._parts[label]

    def look(self, cells: IntArray) -> None:
        """Note what becomes of the others when some cells are known, and others of their owners."""
        known = np.zeros(len(self._problem), dtype=np.bool_)
        known[cells] = True
        for column in (self._insiders.owner, self._insiders.group):
            if column is not None:
                owners = np.unique(column[cells])
                known |= np.isin(column, owners[owners >= 0])
        if self._harmless(int(self.block[cells[0]]), known):
            return
        part, old = self._part_of(int(cells[0]))
        rest = ~known[old]
        near: BoolArray = (part.state == CellState.primary) & rest
        if not near.any():
            return
        self.attacked += 1
        verdict = certify(part, rest, near)
        lost, exact = old[verdict.cells[~verdict.protected]], old[verdict.exact]
        self.weakened[lost[self._firm[lost]]] = True
        if self._firm[lost].any():
            self.nearest = 0.0  # how near coalitions come is not worked out
        self.opened[exact[~self.exact[exact]]] = True

    def _harmless(self, block: int, known: BoolArray) -> bool:
        """Whether moves without the known cells protect all others of a block that are firm."""
        aims, using, bare = self._moves
        mine = set(np.flatnonzero(known).tolist())
        needed = {aim for cell in mine for aim in using.get(cell, ())}
        return all(
            cell in mine or any(mine.isdisjoint(move) for move in moves)
            for cell, moves in (aims[at] for at in needed | bare.get(block, set()))
        )

    @cached_property
    def _moves(
        self,
    ) -> tuple[list[tuple[int, list[frozenset[int]]]], dict[int, list[int]], dict[int, set[int]]]:
        """Checked moves of hidden cells that protect sensitive ones.

        Aims – a cell, and the cells of moves that prove it; by cell, the aims whose first move
        needs it; by block, its aims without a move.
        """
        aims: list[tuple[int, list[frozenset[int]]]] = []
        using: dict[int, list[int]] = {}
        bare: dict[int, set[int]] = {}

        def note(cell: int, moves: list[frozenset[int]]) -> None:
            for at in moves[0] if moves else ():
                using.setdefault(at, []).append(len(aims))
            if not moves:
                bare.setdefault(int(self.block[cell]), set()).add(len(aims))
            aims.append((cell, moves))

        firm = self._firm & ~self.exact
        for cell in np.flatnonzero(self._hidden & self.aims & ~firm & ~self.exact).tolist():
            note(cell, [])
        if firm.any():
            proofs = self._proofs()
            proofs.prove_by_hidden()
            proofs.check()
            cells = proofs.draft.unknowns.cells
            for aim in proofs.aims:
                if aim.insider is None and firm[cells[aim.cell]]:
                    moves = [proofs.proofs[at].cells for at in aim.proofs]
                    note(int(cells[aim.cell]), [frozenset(cells[move].tolist()) for move in moves])
        return aims, using, bare


def _small(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> Iterator[IntArray]:
    """The small hidden cells of each block that has some, smallest blocks first."""
    small = np.flatnonzero(hidden & (respondents > 0) & (respondents <= most))
    small = small[np.argsort(block[small], kind="stable")]
    groups = np.split(small, np.flatnonzero(np.diff(block[small])) + 1)
    yield from sorted((group for group in groups if group.size), key=len)


def _coalitions(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> Iterator[IntArray]:
    """Sets of small hidden cells of a block with few respondents; single lone cells left out."""
    for cells in _small(block, hidden, respondents, most):
        for size in range(1, most + 1):
            for some in combinations(cells.tolist(), size):
                together = int(respondents[list(some)].sum())
                if together <= most and not (size == together == 1):
                    yield np.array(some, dtype=np.int64)


def _number_of_coalitions(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> int:
    """How many of these there are."""
    number = 0
    for cells in _small(block, hidden, respondents, most):
        ways = [1, *([0] * most)]  # sets by how many respondents they have
        for size in respondents[cells].tolist():
            ways = [n + (ways[at - size] if at >= size else 0) for at, n in enumerate(ways)]
        number += sum(ways) - 1 - int((respondents[cells] == 1).sum())
    return number
