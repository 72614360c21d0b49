"""Attackers who know that values are whole numbers. CONFIDENTIAL.

In: a pattern whose cells are proven to be protected by deviations that may be fractions. Out:
the same verdicts, held against integer programs where fractions might be all there is:
not where whole moves were seen, nor in networks, whose corners are whole. Blocks with more
cells than `MOST_CELLS` are not tested; their number is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.problem.system import Relations, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    blocks_of,
    outer_bounds,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import Certificate
from discreet.protection.suppression.proof.circuits import independent_relations
from discreet.protection.suppression.proof.deviations import sure_moves
from discreet.solver import column_values, is_optimal, loaded_solver

#: Larger blocks are not tested, and beyond so many cells it is not even asked for networks.
MOST_CELLS = 100
_ASKED = 20_000
#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Cells move by at most so many levels.
_FAR = 1024.0


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
    names = ("protected", "whole", "low", "high")
    columns: dict[str, Any] = {name: getattr(certificate, name).copy() for name in names}
    untested = certificate.untested
    for block in blocks_of(known.part(most - least > TOLERANCE)):
        number = np.searchsorted(known.cells, block.cells)
        attacker = WholeAttacker(block, least[number], most[number])
        at = np.flatnonzero(block.sensitive)
        place = np.searchsorted(certificate.cells, block.cells[at])
        if attacker.network:
            columns["whole"][place] = True
        elif len(block) > MOST_CELLS:
            untested += at.size
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
        far = _FAR * max(float(levels[block.sensitive].max(initial=0.0)), 1.0)
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
        """How far a cell moves to a side in whole numbers."""
        if self._solver is None:
            matrix = self.block.relations.matrix
            self._solver = loaded_solver(
                matrix, self.low, self.high, mip_max_nodes=_NODES, mip_rel_gap=0.0
            )
            self._solver.setOptionValue("presolve", "choose")
            make_whole(self._solver, np.arange(len(self.block)))
        self._solver.changeColCost(at, -side)
        self._solver.run()
        known, moved = is_optimal(self._solver), np.rint(column_values(self._solver))
        self._solver.changeColCost(at, 0.0)
        moved, _, whole = sure_moves(self.block, moved) if known else (moved, False, False)
        return abs(float(moved[at])) if whole else None


def make_whole(solver: Any, columns: IntArray) -> None:
    """Let some columns be whole numbers only."""
    import highspy

    kinds = np.full(columns.size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(columns.size, columns.astype(np.int32), kinds)


def untested_notes(certificate: Certificate) -> tuple[str, ...]:
    """What was not looked at, in words; nothing if all was."""
    if not certificate.untested:
        return ()
    note = f"{certificate.untested:,} sensitive cells stand in blocks too large to be tested "
    return (note + "against attackers who know that values are whole numbers",)


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
    same = relations.coef[one] == relations.coef[other]
    return _two_sides(relations.row[one], relations.row[other], same, len(relations))


def _two_sides(one: IntArray, other: IntArray, apart: BoolArray, rows: int) -> bool:
    """Whether rows can be put on two sides so that some pairs are apart, the others together."""
    near: list[list[tuple[int, bool]]] = [[] for _ in range(rows)]
    for a, b, differ in zip(one.tolist(), other.tolist(), apart.tolist(), strict=True):
        near[a].append((b, differ))
        near[b].append((a, differ))
    side = [-1] * rows
    for begin in range(rows):
        if side[begin] >= 0:
            continue
        side[begin] = 0
        todo = [begin]
        while todo:
            row = todo.pop()
            for next_row, differ in near[row]:
                wanted = side[row] ^ int(differ)
                if side[next_row] < 0:
                    side[next_row] = wanted
                    todo.append(next_row)
                elif side[next_row] != wanted:
                    return False
    return True
