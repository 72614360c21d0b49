"""`Flows`: cheap ways to move sensitive cells, many at once. CONFIDENTIAL.

In: every cell that may be hidden, costs, and which sensitive cells are still to be moved
up or down. Out: a solution – deviations that fit all relations – whose moved cells, once
hidden, protect those it moved far enough. One linear program per round; each starts
from the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.unknowns import Unknowns

__all__ = ["Flows"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: What reaching a level is worth, beside the price of the dearest cell.
_REWARD = 100.0
#: How far beyond its level a cell is moved, so that rounding cannot undo it.
_BEYOND = 1e-4
#: Smaller moves are the solver's rounding, not moves; before scaling.
_MOVED = 1e-6


class Flows:
    """Every movable cell as two variables, up and down, of one linear program.

    Args:
        unknowns: All cells that may be hidden.
        bounds: How far they can move at most, if known better than from the unknowns.
    """

    def __init__(
        self, unknowns: Unknowns, bounds: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        import highspy

        self._status = highspy.HighsModelStatus
        self.unknowns = unknowns
        low, high = bounds or (unknowns.low, unknowns.high)
        self.room = np.concatenate([high, -low])
        widest = float(self.room.max(initial=1.0))
        self.scale = 2.0 ** np.ceil(np.log2(max(widest / 2**20, 1.0)))
        self.solved = 0
        self._solver = self._loaded(highspy)

    def _loaded(self, highspy: Any) -> Any:
        links, number = self.unknowns.relations, len(self.unknowns)
        both = np.concatenate([links.cell.astype(np.int64), links.cell + np.int64(number)])
        row = np.concatenate([links.row, links.row])
        coef = np.concatenate([links.coef, -links.coef]).astype(np.float64)
        order = np.argsort(row, kind="stable")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = 2 * number, len(links)
        model.col_cost_ = np.zeros(2 * number)
        model.col_lower_, model.col_upper_ = np.zeros(2 * number), self.room / self.scale
        model.row_lower_ = model.row_upper_ = np.zeros(len(links))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = (2 * links.start).astype(np.int32)
        model.a_matrix_.index_ = both[order].astype(np.int32)
        model.a_matrix_.value_ = coef[order]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        return solver

    def move(self, up: FloatArray, down: FloatArray, price: FloatArray) -> FloatArray:
        """The cheapest deviations that move as many cells as possible.

        Args:
            up: How far each cell is to be moved up; 0 where it is not asked to.
            down: How far each is to be moved down; a cell has one wish at most.
            price: What moving a cell by one unit costs; 0 for hidden ones.
        """
        number = len(self.unknowns)
        wish = np.concatenate([up, down])
        against = np.concatenate([down, up]) > 0
        most = float(price.max(initial=0.0)) or 1.0
        asked = wish > 0
        beyond = wish * (1 + _BEYOND) + _BEYOND * self.scale
        room = np.where(asked, np.minimum(self.room, beyond), self.room)
        room[against] = 0.0
        cost = np.concatenate([price, price]) / most * self.scale
        cost[asked] = -_REWARD * number**0.5 / np.maximum(wish[asked] / self.scale, 1e-3)
        every = np.arange(2 * number, dtype=np.int32)
        self._solver.changeColsBounds(2 * number, every, np.zeros(2 * number), room / self.scale)
        self._solver.changeColsCost(2 * number, every, cost)
        self._solver.run()
        self.solved += 1
        if self._solver.getModelStatus() != self._status.kOptimal:
            raise SuppressionError(
                "the solver found no way to move the sensitive cells",
                code="solver",
                hint="report this: standing still is always possible",
            )
        found = np.array(self._solver.getSolution().col_value, dtype=np.float64)
        moved = found[:number] - found[number:]
        moved[np.abs(moved) < _MOVED] = 0.0
        return moved * self.scale
