"""Attackers on a block of hidden cells: how far each of them can move. CONFIDENTIAL.

An `Attacker` moves cells by fractions, a `WholeAttacker` by whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.disclosure.deviations import sure_moves
from discreet.disclosure.elimination import independent_relations
from discreet.disclosure.relations import Relations, component_labels
from discreet.disclosure.unknowns import TOLERANCE, Unknowns
from discreet.errors import SuppressionError
from discreet.solver import column_values, is_optimal, loaded_solver

#: The solver's name for the primal simplex method.
_PRIMAL = 4
#: The solver's tolerance, in numbers near one.
_FINE = 1e-9


class Attacker:
    """All hidden cells of a block as variables of one linear program.

    Bounds stand in for those of the unknowns, if tighter ones are known; no cell is moved
    farther than `most`.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        most: float = np.inf,
    ) -> None:
        self.unknowns = unknowns
        self.solved = 0
        low = unknowns.low if low is None else low
        high = unknowns.high if high is None else high
        self.low, self.high = np.maximum(low, -most), np.minimum(high, most)
        #: Whether some cell could move farther than it is allowed to here.
        self.narrowed = bool((low < -most).any() or (high > most).any())
        #: Whether the last answer is a proof, and one in whole numbers.
        self.proven = self.whole = False
        widest = float(max(np.abs(self.low).max(initial=1), np.abs(self.high).max(initial=1)))
        #: Numbers are kept near one, where the solver's tolerances make sense.
        self.scale = 2.0 ** np.ceil(np.log2(max(widest, 1.0) / 2**20)) if widest > 2**20 else 1.0
        self._solver = loaded_solver(
            independent_relations(unknowns.relations).matrix,
            self.low / self.scale,
            self.high / self.scale,
            primal_feasibility_tolerance=_FINE,
        )
        self._cost = np.zeros(len(unknowns))

    def ask(self, wish: FloatArray) -> FloatArray:
        """The solution that makes the sum of wish × deviation largest; what is sure of it.

        The answer of the solver is put right in whole numbers, or cut by what it misses.
        """
        changed = np.flatnonzero(wish != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, -wish[changed])
            self._cost = wish.copy()
        self._solver.run()
        if not self.solved:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self.solved += 1
        if not is_optimal(self._solver):
            # Going on from the last solution may lead nowhere by rounding.
            self._solver.clearSolver()
            self._solver.run()
        if not is_optimal(self._solver):
            message = "the solver found no answer to an attack"
            hint = "report this: true values always fit what is published"
            raise SuppressionError(message, code="solver", hint=hint)
        moves = column_values(self._solver) * self.scale
        sure, self.proven, self.whole = sure_moves(self.unknowns, moves)
        return sure

    def farthest(self, at: int, side: float) -> FloatArray:
        """A solution with the largest value of one cell, the smallest if the side is negative."""
        wish = np.zeros(len(self.unknowns))
        wish[at] = side
        return self.ask(wish)


#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Cells move by at most so many levels.
_FAR = 1024.0
#: With more cells it is not even asked for networks.
_ASKED = 20_000
#: A larger coefficient makes it hard to find the farthest whole number.
LARGE = 100


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
        """Movement of one cell down and up, and whether it is enough; None if unknown."""
        up, down = self._farthest(at, 1.0), self._farthest(at, -1.0)
        if up is None or down is None:
            return None
        return -down, up, bool(self.block.protected(-down, up, at))

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
        if self.widest > LARGE:
            most = np.ceil(max(block.lower[at], block.upper[at], block.sliding[at]))
            self._solver.changeColBounds(at, max(low, -most), min(high, most))
        self._solver.changeColCost(at, -side)
        for presolve in ("off", "choose") if self.widest > LARGE else ("choose",):
            self._solver.setOptionValue("presolve", presolve)
            self._solver.run()
            if is_optimal(self._solver):
                break
        known, moved = is_optimal(self._solver), np.rint(column_values(self._solver))
        if self.widest > LARGE:
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
    size, row = len(relations), relations.row
    turned = np.where(relations.coef[one] == relations.coef[other], size, 0)
    sides = [[row[one], row[other] + turned], [row[one] + size, row[other] + size - turned]]
    label = component_labels(Relations.of_pairs(2 * size, np.concatenate(sides, axis=1).T))
    return not bool((label[:size] == label[size:]).any())
