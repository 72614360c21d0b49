"""Linear programs of attackers written apart: how far sums of unknowns can lie.

In: unknowns between bounds, and what is known of sums of them. Out: the largest and the smallest
value of another sum. Nothing here is shared with the library.
"""

from collections.abc import Iterable
from typing import Any

import highspy
import numpy as np

#: Unknowns, their coefficients, and between which values their sum lies.
KnownSum = tuple[Any, Any, float, float]


class BoundedSums:
    """What is known, as a program.

    Args:
        low: The least value of each unknown.
        high: The largest.
        sums: What is known of sums.
        whole: Whether all unknowns are whole numbers.
    """

    def __init__(
        self, low: np.ndarray, high: np.ndarray, sums: Iterable[KnownSum], *, whole: bool = False
    ) -> None:
        self._solver = highspy.Highs()
        for name, option in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}.items():
            self._solver.setOptionValue(name, option)
        self._solver.addVars(len(low), low, high)
        for at, coefs, least, most in sums:
            places = np.array(at, dtype=np.int32)
            factors = np.array(np.broadcast_to(coefs, len(places)), dtype=float)
            if len(places):
                self._solver.addRow(least, most, len(places), places, factors)
        if whole:
            every = np.arange(len(low), dtype=np.int32)
            self._solver.changeColsIntegrality(len(low), every, np.ones(len(low), dtype=np.uint8))
        self.solution = np.zeros(len(low))  # of the last sum that was bounded

    def farthest(self, at: Any, weights: Any, sense: int) -> float:
        """The largest (1) or smallest (-1) value of a sum; infinite where nothing bounds it."""
        places = np.array(at, dtype=np.int32)
        cost = np.array(np.broadcast_to(weights, len(places)), dtype=float)
        self._solver.changeColsCost(len(places), places, -sense * cost)
        self._solver.run()
        status, known = self._solver.getModelStatus(), highspy.HighsModelStatus
        found = np.array(self._solver.getSolution().col_value)
        self._solver.changeColsCost(len(places), places, np.zeros(len(places)))
        if status in (known.kUnbounded, known.kUnboundedOrInfeasible):
            return sense * np.inf
        assert status == known.kOptimal, f"the attack ended as {status}"
        self.solution = found
        return float(cost @ found[places])

    def interval(self, at: Any, weights: Any = 1.0) -> tuple[float, float]:
        """Between which values a sum lies."""
        return self.farthest(at, weights, -1), self.farthest(at, weights, 1)
