"""Attackers who know that values are whole numbers. CONFIDENTIAL.

Verdicts of deviations that may be fractions are held against integer programs where fractions
might be all there is: not where whole moves were seen, nor in networks, whose corners are whole. Of
blocks with more cells than `MOST_CELLS`, only the surroundings of a cell move: what these do not
prove is a gap, unless relations have large coefficients and levels are far larger than their steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import (
    Gap,
    Relations,
    independent_relations,
)
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    blocks_of,
    outer_bounds,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import Certificate
from discreet.protection.suppression.proof.deviations import sure_moves
from discreet.solver import column_values, is_optimal, loaded_solver

#: So many cells move at most, and beyond so many it is not even asked for networks.
MOST_CELLS = 100
_ASKED = 20_000
#: Of so many cells in large blocks the surroundings are searched for whole moves.
_SEARCHED = 300
#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Cells move by at most so many levels.
_FAR = 1024.0
#: A larger coefficient makes it hard to find the farthest whole number.
_LARGE = 100
#: Where levels are so many steps of whole numbers, these say next to nothing.
_STEPS = 2.0


def held_in_whole_numbers(
    problem: SuppressionProblem, hidden: BoolArray, certificate: Certificate
) -> Certificate:
    """The certificate in which cells count as open that no whole numbers protect."""
    left = np.flatnonzero(certificate.protected & ~certificate.whole)
    if not left.size:
        return certificate
    watched = np.zeros(len(problem), dtype=np.bool_)
    watched[certificate.cells[left]] = True
    known = unknowns_of(problem, hidden, watched)
    least, most = outer_bounds(known)
    columns = certificate.columns()
    untested, searched = certificate.untested, 0
    for block in blocks_of(known.part(most - least > TOLERANCE)):
        number = np.searchsorted(known.cells, block.cells)
        attacker = WholeAttacker(block, least[number], most[number])
        at = np.flatnonzero(block.sensitive)
        place = np.searchsorted(certificate.cells, block.cells[at])
        if attacker.network:
            columns["whole"][place] = True
        elif len(block) > MOST_CELLS:
            fine = _finely(block)
            columns["whole"][place[fine[at]]] = True
            for cell, own in zip(at[~fine[at]].tolist(), place[~fine[at]].tolist(), strict=True):
                searched += 1
                near = _around(block, cell)
                part = block.part(near)
                close = WholeAttacker(part, least[number][near], most[number][near])
                reach = close.reached(int(near[:cell].sum())) if searched <= _SEARCHED else None
                columns["whole"][own] = moved = reach is not None and reach[2]
                untested += not moved
        else:
            for cell, own in zip(at.tolist(), place.tolist(), strict=True):
                reach = attacker.reached(cell)
                untested += reach is None
                if reach is not None:
                    columns["whole"][own] = columns["protected"][own] = reach[2]
                    if not reach[2]:
                        columns["low"][own], columns["high"][own] = reach[:2]
    return replace(certificate, **columns, untested=int(untested))


class WholeAttacker:
    """The hidden cells of a block as whole numbers in one program."""

    def __init__(self, block: Unknowns, low: FloatArray, high: FloatArray) -> None:
        self.block = block
        levels = np.maximum.reduce([block.lower, block.upper, block.sliding])
        self.widest = int(np.abs(block.relations.coef).max(initial=1))
        far = _FAR * max(float(levels[block.sensitive].max(initial=0.0)), 1.0) * self.widest
        self.low = np.ceil(np.maximum(low, -far) - TOLERANCE)
        self.high = np.floor(np.minimum(high, far) + TOLERANCE)
        self.network = len(block) <= _ASKED and is_network(independent_relations(block.relations))
        self._solver: Any = None

    def reached(self, at: int) -> tuple[float, float, bool] | None:
        """How far one cell moves down and up, and whether that is enough; None if not known."""
        up, down = self._farthest(at, 1.0), self._farthest(at, -1.0)
        if up is None or down is None:
            return None
        block = self.block
        wide = up + down >= block.sliding[at] - TOLERANCE
        enough = up >= block.upper[at] - TOLERANCE and down >= block.lower[at] - TOLERANCE
        return -down, up, bool(wide and enough)

    def _farthest(self, at: int, side: float) -> float | None:
        """How far a cell moves to a side in whole numbers.

        With large coefficients it is enough to know that it moves as far as it must.
        """
        if self._solver is None:
            matrix = self.block.relations.matrix
            self._solver = loaded_solver(
                matrix, self.low, self.high, mip_max_nodes=_NODES, mip_rel_gap=0.0
            )
            make_whole(self._solver, np.arange(len(self.block)))
        block, low, high = self.block, self.low[at], self.high[at]
        if self.widest > _LARGE:
            most = np.ceil(max(block.lower[at], block.upper[at], block.sliding[at]))
            self._solver.changeColBounds(at, max(low, -most), min(high, most))
        self._solver.changeColCost(at, -side)
        for presolve in ("off", "choose") if self.widest > _LARGE else ("choose",):
            self._solver.setOptionValue("presolve", presolve)
            self._solver.run()
            if is_optimal(self._solver):
                break
        known, moved = is_optimal(self._solver), np.rint(column_values(self._solver))
        if self.widest > _LARGE:
            _balance(block.relations, moved)
        self._solver.changeColCost(at, 0.0)
        self._solver.changeColBounds(at, low, high)
        moved, _, whole = sure_moves(self.block, moved) if known else (moved, False, False)
        return abs(float(moved[at])) if whole else None


def _balance(links: Relations, moved: FloatArray) -> None:
    """Let cells that stand in one relation only take what rounding left over there, the last."""
    first, order = links.by_cell
    once = order[first[:-1][np.diff(first) == 1]][::-1]
    once = once[np.abs(links.coef[once]) == 1]
    rows, at = np.unique(links.row[once], return_index=True)
    entry = once[at]
    missed = links.residuals(moved.astype(np.int64))[rows]
    moved[links.cell[entry]] -= links.coef[entry] * missed


def make_whole(solver: Any, columns: IntArray) -> None:
    """Let some columns be whole numbers only."""
    import highspy

    kinds = np.full(columns.size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(columns.size, columns.astype(np.int32), kinds)


def untested_gaps(certificate: Certificate) -> tuple[Gap, ...]:
    """What was not examined; nothing if all was."""
    return (Gap("whole-numbers", "", certificate.untested),) if certificate.untested else ()


def _finely(block: Unknowns) -> BoolArray:
    """For which cells whole numbers are steps that are small beside their levels.

    Of relations with large coefficients alone: 1,000 thousands are about a million euros.
    """
    links = block.relations
    size = np.bincount(links.row, np.abs(links.coef), minlength=len(links))
    step = np.ones(len(block))
    np.maximum.at(step, links.cell, size[links.row] / np.abs(links.coef))
    levels = np.maximum.reduce([block.lower, block.upper, block.sliding])
    fine: BoolArray = levels >= _STEPS * step
    return fine if size.max(initial=0) > _LARGE else np.zeros_like(fine)


def _around(block: Unknowns, cell: int) -> BoolArray:
    """A cell and those nearest to it by relations, as many as move at most."""
    links = block.relations
    near = np.zeros(len(block), dtype=np.bool_)
    near[cell] = True
    while True:
        rows = np.zeros(len(links), dtype=np.bool_)
        rows[links.row[near[links.cell]]] = True
        more = np.unique(links.cell[rows[links.row] & ~near[links.cell]])
        room = MOST_CELLS - int(near.sum())
        if not more.size or room <= 0:
            return near
        near[more[:room]] = True


def is_network(relations: Relations) -> bool:
    """Whether each cell stands in two relations at most, on opposite sides once signs are turned.

    Whatever such relations allow with whole bounds, whole numbers do as well.

    >>> rows = [[(0, 1), (1, 1)], [(2, 1), (3, 1)], [(0, 1), (2, 1)], [(1, 1), (3, 1)]]
    >>> is_network(Relations.of(4, rows))
    True
    >>> is_network(Relations.of(3, [[(0, 1), (1, 1)], [(1, 1), (2, 1)], [(0, 1), (2, 1)]]))
    False
    """
    if not len(relations) or (np.abs(relations.coef) != 1).any():
        return not len(relations)
    first, by_cell = relations.by_cell
    width = np.diff(first)
    if width.max() > 2:
        return False
    twice = np.flatnonzero(width == 2)
    one, other = by_cell[first[twice]], by_cell[first[twice] + 1]
    # Rows on two sides: apart where a cell has one sign in both, else together.
    near: list[list[tuple[int, int]]] = [[] for _ in range(len(relations))]
    apart = (relations.coef[one] == relations.coef[other]).astype(int).tolist()
    pairs = zip(relations.row[one].tolist(), relations.row[other].tolist(), apart, strict=True)
    for a, b, differ in pairs:
        near[a].append((b, differ))
        near[b].append((a, differ))
    side: dict[int, int] = {}
    for begin in range(len(near)):
        todo = [] if begin in side else [begin]
        side.setdefault(begin, 0)
        while todo:
            row = todo.pop()
            for next_row, differ in near[row]:
                if next_row not in side:
                    side[next_row] = side[row] ^ differ
                    todo.append(next_row)
                elif side[next_row] != side[row] ^ differ:
                    return False
    return True
