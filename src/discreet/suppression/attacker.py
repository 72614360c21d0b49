"""`Attacker`: an LP solver that asks how far hidden cells can move. CONFIDENTIAL.

In: `Unknowns`. Out: solutions – values of all hidden cells that fit everything that is
published – for any wish about some of them. Warm: each question starts from the last answer,
which stays a solution, so the primal simplex method has few steps to go. Relations that
follow from others are left out; answers are held against all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.elimination import independent
from discreet.suppression.relations import Relations
from discreet.suppression.unknowns import Unknowns

__all__ = ["Attacker", "loaded_solver"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: The solver's name for the primal simplex method.
_PRIMAL = 4
#: What an answer may miss the relations by, before scaling.
_ROUGH = 1e-5


def loaded_solver(links: Relations, low: FloatArray, high: FloatArray) -> Any:
    """A solver that holds the relations among some cells, with no wish yet.

    Args:
        links: The relations.
        low: The lower bound of each cell.
        high: The upper bound of each cell.
    """
    import highspy

    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = links.cells, len(links)
    model.col_cost_ = np.zeros(links.cells)
    model.col_lower_, model.col_upper_ = low, high
    model.row_lower_ = model.row_upper_ = np.zeros(len(links))
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = links.start.astype(np.int32)
    model.a_matrix_.index_ = links.cell.astype(np.int32)
    model.a_matrix_.value_ = links.coef.astype(np.float64)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    solver.passModel(model)
    return solver


class Attacker:
    """All hidden cells of a block as variables of one linear program.

    Args:
        unknowns: The hidden cells.
        low: Bounds to use instead of those of the unknowns, if tighter ones are known.
        high: The same for the upper side.
    """

    def __init__(
        self, unknowns: Unknowns, low: FloatArray | None = None, high: FloatArray | None = None
    ) -> None:
        import highspy

        self._status = highspy.HighsModelStatus
        self.unknowns = unknowns
        self.solved = 0
        self.low = unknowns.low if low is None else low
        self.high = unknowns.high if high is None else high
        widest = float(max(np.abs(self.low).max(initial=1), np.abs(self.high).max(initial=1)))
        #: Numbers are kept near one, where the solver's tolerances make sense.
        self.scale = 2.0 ** np.ceil(np.log2(max(widest, 1.0) / 2**20)) if widest > 2**20 else 1.0
        self._solver = loaded_solver(
            independent(unknowns.relations), self.low / self.scale, self.high / self.scale
        )
        self._cost = np.zeros(len(unknowns))

    def ask(self, wish: FloatArray) -> FloatArray:
        """The solution that makes the sum of wish × deviation largest."""
        changed = np.flatnonzero(wish != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, -wish[changed])
            self._cost = wish.copy()
        self._solver.run()
        if not self.solved:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self.solved += 1
        if self._solver.getModelStatus() != self._status.kOptimal:
            # Going on from the last solution may lead nowhere by rounding.
            self._solver.clearSolver()
            self._solver.run()
        if self._solver.getModelStatus() != self._status.kOptimal:
            raise SuppressionError(
                "the solver found no answer to an attack",
                code="solver",
                hint="report this: true values always fit what is published",
            )
        found = np.array(self._solver.getSolution().col_value, dtype=np.float64) * self.scale
        self._check(found)
        return found

    def _check(self, found: FloatArray) -> None:
        """A solution that does not fit what is published proves nothing."""
        links = self.unknowns.relations
        miss = np.zeros(len(links))
        np.add.at(miss, links.row, links.coef * found[links.cell])
        off = max(
            float(np.abs(miss).max(initial=0)),
            float((self.low - found).max(initial=0)),
            float((found - self.high).max(initial=0)),
        )
        if off > _ROUGH * self.scale:
            raise SuppressionError(
                "an answer of the solver does not fit the relations",
                code="solver",
                hint="report this: the numbers of the table are too far apart",
            )

    def lowest(self, at: int) -> FloatArray:
        """A solution with the smallest value of one cell."""
        return self._farthest(at, -1.0)

    def highest(self, at: int) -> FloatArray:
        """A solution with the largest value of one cell."""
        return self._farthest(at, 1.0)

    def reach(self, at: int) -> tuple[FloatArray, FloatArray]:
        """Solutions with the smallest and the largest value of one cell."""
        return self.lowest(at), self.highest(at)

    def _farthest(self, at: int, side: float) -> FloatArray:
        wish = np.zeros(len(self.unknowns))
        wish[at] = side
        return self.ask(wish)
