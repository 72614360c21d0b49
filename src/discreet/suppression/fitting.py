"""Fitting: whether deviations are a solution of what is published. CONFIDENTIAL.

In: hidden cells as a system, and deviations of some of them. Out: which of these move
hidden cells only, stay within their bounds and keep all relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.hiding import Proof
from discreet.suppression.unknowns import Unknowns

__all__ = ["Fit", "fitting"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


class Fit:
    """Holds deviations against what is published, and notes how far those that fit go.

    Args:
        known: The hidden cells as a system.
        low: How far down each cell was seen to move; changed.
        high: How far up; changed.
    """

    def __init__(self, known: Unknowns, low: FloatArray, high: FloatArray) -> None:
        first, order = known.relations.by_cell
        row, coef = known.relations.row[order], known.relations.coef[order].astype(np.float64)
        self.low, self.high = low, high
        self._system = (first, row, coef, np.zeros(max(len(known.relations), 1)))
        self._bounds = (known.low, known.high)

    def see(self, start: IntArray, cells: IntArray, moved: FloatArray) -> BoolArray:
        """Which of some deviations fit; their reach is noted.

        Args:
            start: Where each begins in `cells` and `moved`; one more than there are.
            cells: The cells that move.
            moved: By how much.
        """
        fits = np.zeros(len(start) - 1, dtype=np.bool_)
        _see(start, cells, moved, *self._system, *self._bounds, self.low, self.high, fits)
        return fits


def fitting(known: Unknowns, proofs: Sequence[Proof]) -> BoolArray:
    """Which proofs move hidden cells only, within their bounds, and fit all relations."""
    fit = Fit(known, np.zeros(len(known)), np.zeros(len(known)))
    fits = np.zeros(len(proofs), dtype=np.bool_)
    for at, proof in enumerate(proofs):
        ends = np.array([0, len(proof.cells)], dtype=np.int64)
        fits[at] = fit.see(ends, proof.cells, proof.moved)[0]
    return fits


@numba.njit(cache=True, nogil=True)
def _see(
    start: Any, cells: Any, moved: Any, first: Any, row: Any, coef: Any, miss: Any,
    least: Any, most: Any, low: Any, high: Any, fits: Any,
) -> None:  # fmt: skip
    for at in range(fits.size):
        some, far = cells[start[at] : start[at + 1]], moved[start[at] : start[at + 1]]
        largest = 0.0
        inside = some.size > 0
        for k in range(some.size):
            inside = inside and some[k] >= 0
            largest = max(largest, abs(far[k]))
        if not inside:
            continue
        allowed = _UNITS + _SHARE * largest
        beyond = _BEYOND + 0.1 * allowed
        for k in range(some.size):
            # What is no number is no proof either.
            inside = inside and least[some[k]] - far[k] <= beyond
            inside = inside and far[k] - most[some[k]] <= beyond
        fits[at] = inside and _kept(some, far, first, row, coef, miss, allowed)
        if fits[at]:
            for k in range(some.size):
                low[some[k]] = min(low[some[k]], far[k])
                high[some[k]] = max(high[some[k]], far[k])


@numba.njit(cache=True, nogil=True)
def _kept(
    cells: Any, moved: Any, first: Any, row: Any, coef: Any, miss: Any, allowed: float
) -> bool:
    """Whether moves keep all relations; `miss` is zero before and after."""
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] += coef[entry] * moved[k]
    kept = True
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            kept = kept and abs(miss[row[entry]]) <= allowed
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] = 0.0
    return kept
