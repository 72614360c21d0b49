"""Good patterns near a fractional one: flows where it points to, then pruning. CONFIDENTIAL.

In: the movable cells, how much of each a relaxation hides, and cells to hide anyway. Out: a
pattern that reaches every aim, without cells that are not needed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.cuts import Aims, Movable
from discreet.suppression.separation import Separator, Way

__all__ = ["CheapestMoves", "Guide"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Cells move by at most so many levels; if that is too little, by as many as they can.
_NARROW = 1.0
_WIDE = 2.0**16
#: Moves of at most so much of a level are rounding.
_STILL = 1e-7
#: What a cell costs that the relaxation hides in full, as a share of its cost.
_LEAST = 0.02
#: What moving a hidden cell costs, so that ways need few cells.
_HIDDEN = 1e-3


class CheapestMoves:
    """Every movable cell as two variables, up and down, of one warm linear program.

    Args:
        movable: The cells.
    """

    def __init__(self, movable: Movable) -> None:
        import highspy

        self._status = highspy.HighsModelStatus
        self.movable = movable
        number = len(movable)
        self._cost = np.zeros(2 * number)
        self._room = np.zeros(2 * number)
        self._asked = -1
        self._solver = self._loaded(highspy)

    def _loaded(self, highspy: Any) -> Any:
        links, number = self.movable.unknowns.relations, len(self.movable)
        both = np.concatenate([links.cell.astype(np.int64), links.cell + np.int64(number)])
        coef = np.concatenate([links.coef, -links.coef]).astype(np.float64)
        order = np.argsort(np.concatenate([links.row, links.row]), kind="stable")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = 2 * number, len(links)
        model.col_cost_ = model.col_lower_ = model.col_upper_ = np.zeros(2 * number)
        model.row_lower_ = model.row_upper_ = np.zeros(len(links))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = (2 * links.start).astype(np.int32)
        model.a_matrix_.index_ = both[order].astype(np.int32)
        model.a_matrix_.value_ = coef[order]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("presolve", "off")
        solver.passModel(model)
        return solver

    def way(self, aims: Aims, at: int, price: FloatArray) -> Way | None:
        """The cheapest way to reach an aim; None if there is none.

        Args:
            aims: All aims.
            at: Which of them.
            price: What moving each cell by all it can costs; infinite for published ones.
        """
        shown = ~np.isfinite(price)
        price = np.where(shown, 0.0, price)
        for most in (_NARROW, _WIDE):
            room = np.concatenate([self.movable.high, -self.movable.low]) / aims.level[at]
            room = np.minimum(room, most)
            moved = self._moved(aims, at, price, np.where(np.tile(shown, 2), 0.0, room))
            if moved is not None:
                break
        else:
            return None
        number = len(self.movable)
        need = np.divide(moved, room, out=np.zeros(2 * number), where=moved > _STILL)
        need = np.maximum(need[:number], need[number:])
        need[self.movable.forced] = 0.0
        return Way.of(need)

    def _moved(self, aims: Aims, at: int, price: FloatArray, room: FloatArray) -> FloatArray | None:
        """How far each cell moves up and down, in levels."""
        number, cell, side = len(self.movable), int(aims.cell[at]), int(aims.side[at])
        cost = np.concatenate([price, price]) / np.clip(room, 1e-6, 1.0)
        up = 1.0 if side > 0 else 0.0
        if not side:
            # An interval as wide as asked for, as even as the cell can move.
            high, low = room[cell], room[cell + number]
            up = min(high, max(0.5, 1.0 - low))
        farthest = np.zeros(2 * number)
        for column, goal in ((cell, up), (cell + number, 1.0 - up)):
            if goal > 0:
                found = self._solved(cost, room, (cell, cell + number), column, goal)
                if found is None:
                    return None
                both = np.minimum(found[:number], found[number:])
                np.maximum(farthest, found - np.tile(both, 2), out=farthest)
        return farthest

    def _solved(
        self, cost: FloatArray, room: FloatArray, own: tuple[int, int], column: int, goal: float
    ) -> FloatArray | None:
        high = room.copy()
        high[list(own)] = 0.0
        high[column] = goal
        wider = np.flatnonzero(high != self._room).astype(np.int32)
        if wider.size:
            self._solver.changeColsBounds(wider.size, wider, np.zeros(wider.size), high[wider])
            self._room = high
        if self._asked >= 0:
            self._solver.changeColBounds(self._asked, 0.0, float(high[self._asked]))
        self._solver.changeColBounds(column, goal, goal)
        self._asked = column
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, cost[changed])
            self._cost = cost
        self._solver.run()
        if self._solver.getModelStatus() != self._status.kOptimal:
            return None
        return np.array(self._solver.getSolution().col_value, dtype=np.float64)


class Guide:
    """The search for good patterns; keeps a way to reach each aim.

    Args:
        separator: Has the cells and aims, and learns these ways.
    """

    def __init__(self, separator: Separator) -> None:
        self._separator = separator
        self.movable = movable = separator.movable
        self.aims = aims = separator.aims
        self._moves = CheapestMoves(movable)
        self._ways: list[Way | None] = [None] * len(aims)
        self._needing: list[set[int]] = [set() for _ in range(len(movable))]

    def pattern(self, x: FloatArray, start: BoolArray, until: float) -> BoolArray | None:
        """A pattern that hides some cells and what else every aim needs, without idle cells.

        Args:
            x: How much of each cell the relaxation hides: such cells are cheaper.
            start: Cells to hide first.
            until: When to give up, by the monotonic clock; then the answer is None.
        """
        hidden = start | self.movable.forced
        price = self.movable.cost * np.maximum(1.0 - x, _LEAST)
        for at in range(len(self.aims)):
            if time.monotonic() > until:
                return None
            way = self._ways[at]
            if way is None or not hidden[way.cells].all():
                way = self._moves.way(self.aims, at, np.where(hidden, _HIDDEN * price, price))
                if way is None:
                    raise SuppressionError(
                        "the solver found no way to move a sensitive cell",
                        code="solver",
                        hint="report this: hiding every cell protects it",
                    )
                self._keep(at, way)
                hidden[way.cells] = True
        return self._pruned(hidden, until)

    def _keep(self, at: int, way: Way) -> None:
        old = self._ways[at]
        for cell in old.cells.tolist() if old is not None else ():
            self._needing[cell].discard(at)
        for cell in way.cells.tolist():
            self._needing[cell].add(at)
        self._ways[at] = way
        self._separator.learn(at, way)

    def _pruned(self, hidden: BoolArray, until: float) -> BoolArray:
        """The pattern without the cells that no aim needs, dearest first."""
        cells = np.flatnonzero(hidden)
        among = self.movable.part(hidden)
        moves = CheapestMoves(among)
        place = np.cumsum(hidden) - 1
        aims = Aims(cell=place[self.aims.cell], side=self.aims.side, level=self.aims.level)
        left = np.ones(len(cells), dtype=np.bool_)
        extra = np.flatnonzero(~among.forced)
        for cell in extra[np.argsort(-among.cost[extra], kind="stable")]:
            if time.monotonic() > until:
                break
            left[cell] = False
            price = np.where(left, among.cost, np.inf)
            for at in sorted(self._needing[cells[cell]]):
                way = moves.way(aims, at, price)
                if way is None:
                    left[cell] = True
                    break
                self._keep(at, Way(cells[way.cells], way.need))
        return _chosen(len(hidden), cells[left])


def _chosen(number: int, cells: IntArray) -> BoolArray:
    chosen = np.zeros(number, dtype=np.bool_)
    chosen[cells] = True
    return chosen
