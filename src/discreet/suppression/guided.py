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
from discreet.suppression.separation import Separator

__all__ = ["CheapestMoves", "guided_pattern", "pruned"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Cells move by at most so many levels; if that is too little, by as many as they can.
_NARROW = 1.0
_WIDE = 2.0**16
#: Moves of at most so much of a level are rounding.
_STILL = 1e-7
#: What a cell costs that the relaxation hides in full, as a share of its cost.
_LEAST = 0.02


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
        self._asked = 0
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

    def reaching(self, aims: Aims, at: int, price: FloatArray) -> BoolArray:
        """Which cells move if an aim is reached as cheaply as possible.

        Args:
            aims: All aims.
            at: Which of them.
            price: What hiding each cell costs; 0 for hidden ones.
        """
        for most in (_NARROW, _WIDE):
            moving = self._moved(aims, at, price, most)
            if moving is not None:
                return moving
        raise SuppressionError(
            "the solver found no way to move a sensitive cell",
            code="solver",
            hint="report this: hiding every cell protects it",
        )

    def _moved(self, aims: Aims, at: int, price: FloatArray, most: float) -> BoolArray | None:
        number, level = len(self.movable), float(aims.level[at])
        cell = int(aims.cell[at])
        moving = np.zeros(number, dtype=np.bool_)
        up = min(self.movable.high[cell] / level, 1.0)
        down = min(-self.movable.low[cell] / level, 1.0)
        side = int(aims.side[at])
        goals = [(cell + (0 if side > 0 else number), 1.0)]
        if not side:
            up = min(up, max(1.0 - down, 0.5))
            goals = [(cell, up), (cell + number, 1.0 - up)]
        room = np.concatenate([self.movable.high, -self.movable.low]) / level
        room = np.minimum(room, most)
        cost = np.concatenate([price, price]) / np.clip(room, 1e-6, 1.0)
        for column, goal in goals:
            if goal <= 0:
                continue
            found = self._solved(cost, room, (cell, cell + number), column, goal)
            if found is None:
                return None
            moving |= np.abs(found[:number] - found[number:]) > _STILL
        return moving

    def _solved(
        self, cost: FloatArray, room: FloatArray, own: tuple[int, int], column: int, goal: float
    ) -> FloatArray | None:
        every = np.arange(len(room), dtype=np.int32)
        low, high = np.zeros(len(room)), room.copy()
        high[list(own)] = 0.0
        low[column] = high[column] = goal
        self._solver.changeColsBounds(every.size, every, low, high)
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, cost[changed])
            self._cost = cost
        self._solver.run()
        if self._solver.getModelStatus() != self._status.kOptimal:
            return None
        return np.array(self._solver.getSolution().col_value, dtype=np.float64)


def guided_pattern(
    movable: Movable,
    separator: Separator,
    moves: CheapestMoves,
    x: FloatArray,
    start: BoolArray,
    until: float,
) -> BoolArray | None:
    """A pattern that hides some cells and what else every aim needs; None if out of time.

    Args:
        movable: The cells.
        separator: Tells which aims are reached.
        moves: Finds cheap ways for the others.
        x: How much of each cell the relaxation hides: such cells are cheaper.
        start: Cells to hide anyway.
        until: When to give up, by the monotonic clock.
    """
    hidden = start | movable.forced
    price = movable.cost * np.maximum(1.0 - x, _LEAST)
    for at in separator.open_at(hidden.astype(np.float64)):
        if time.monotonic() > until:
            return None
        if not separator.reaches(int(at), hidden.astype(np.float64)):
            free = np.where(hidden, 0.0, price)
            hidden = hidden | moves.reaching(separator.aims, int(at), free)
    return pruned(movable, separator, hidden, until)


def pruned(
    movable: Movable, separator: Separator, hidden: BoolArray, until: float
) -> BoolArray:
    """A pattern without the cells that no aim needs, dearest first.

    Args:
        movable: The cells.
        separator: Tells which aims are reached.
        hidden: Which of them are hidden.
        until: When to stop, by the monotonic clock.
    """
    x = hidden.astype(np.float64)
    for at in separator.open_at(x):
        if not separator.reaches(int(at), x):
            return hidden
    extra = np.flatnonzero(hidden & ~movable.forced)
    for cell in extra[np.argsort(-movable.cost[extra], kind="stable")]:
        if time.monotonic() > until:
            break
        x[cell] = 0.0
        if not all(separator.reaches(at, x) for at in separator.needing(int(cell))):
            x[cell] = 1.0
    return x > 0
