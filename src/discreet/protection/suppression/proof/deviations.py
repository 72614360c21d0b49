"""`DeviationCheck`: what deviations of hidden cells prove, exactly if possible. CONFIDENTIAL.

In: hidden cells, and deviations from any source: circuits, joint moves, answers of a solver.
Out: how far they surely show each cell to move. A deviation that is whole, or becomes so
when multiplied with a small number, is held against all relations and bounds without any
rounding. Of others, what they miss is taken off how far they go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.unknowns import Unknowns

#: Deviations are made whole by multiplying with one of the first so many numbers.
_MULTIPLES = 12
#: What lies farther from a whole number is none.
_NEAR_WHOLE = 0.005
#: Larger numbers are not exact in doubles.
_EXACT = 2.0**53
#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


class DeviationCheck:
    """Holds deviations against what is published, and notes in `low` and `high` how far they go.

    `whole_low` and `whole_high` note the same for deviations in whole numbers only.
    """

    def __init__(self, known: Unknowns, low: FloatArray, high: FloatArray) -> None:
        first, order = known.relations.by_cell
        row, coef = known.relations.row[order], known.relations.coef[order]
        rows = max(len(known.relations), 1)
        self.low, self.high = low, high
        self.whole_low, self.whole_high = np.zeros(len(known)), np.zeros(len(known))
        self._system = (first, row, coef, np.zeros(rows, dtype=np.int64), np.zeros(rows))
        self._bounds = (known.low, known.high)

    def see(self, start: Any, cells: Any, moved: FloatArray) -> BoolArray:
        """Which of some deviations fit; their reach is noted.

        Each begins at its `start` in `cells` and `moved`, which has one entry more.
        """
        fits = np.zeros(len(start) - 1, dtype=np.bool_)
        _see(
            start, cells, moved, *self._system, *self._bounds, self.low, self.high,
            self.whole_low, self.whole_high, fits,
        )  # fmt: skip
        return fits


def sure_moves(known: Unknowns, moved: FloatArray) -> tuple[FloatArray, bool, bool]:
    """What is sure of deviations of all hidden cells; whether that is anything, and all whole."""
    low, high = np.zeros(len(known)), np.zeros(len(known))
    fit = DeviationCheck(known, low, high)
    every = np.arange(len(known), dtype=np.int64)
    fits = bool(fit.see(np.array([0, len(known)], dtype=np.int64), every, moved)[0])
    sure = low + high
    whole = fits and bool((fit.whole_low + fit.whole_high == sure).all())
    return sure, fits, whole


@compiled
def _see(
    start: Any, cells: Any, moved: Any, first: Any, row: Any, coef: Any, sums: Any, miss: Any,
    least: Any, most: Any, low: Any, high: Any, whole_low: Any, whole_high: Any, fits: Any,
) -> None:  # fmt: skip
    for at in range(fits.size):
        some, far = cells[start[at] : start[at + 1]], moved[start[at] : start[at + 1]]
        inside = some.size > 0
        for k in range(some.size):
            # What is no number is no proof either.
            inside = inside and some[k] >= 0 and abs(far[k]) < np.inf
        if not inside:
            continue
        multiple = _multiple(some, far, first, row, coef, sums, least, most)
        if multiple > 0:
            fits[at] = True
            for k in range(some.size):
                step = np.rint(multiple * far[k])
                low[some[k]] = min(low[some[k]], step / multiple)
                high[some[k]] = max(high[some[k]], step / multiple)
                if multiple == 1:
                    whole_low[some[k]] = min(whole_low[some[k]], step)
                    whole_high[some[k]] = max(whole_high[some[k]], step)
            continue
        off = _missed(some, far, first, row, coef, miss, least, most)
        fits[at] = off < np.inf
        if fits[at]:
            for k in range(some.size):
                low[some[k]] = min(low[some[k]], far[k] + off)
                high[some[k]] = max(high[some[k]], far[k] - off)


@compiled
def _multiple(
    cells: Any, moved: Any, first: Any, row: Any, coef: Any, sums: Any, least: Any, most: Any
) -> int:
    """What makes deviations whole numbers that keep all relations and bounds; 0 for nothing."""
    for multiple in range(1, _MULTIPLES + 1):
        whole = True
        for k in range(cells.size):
            far = multiple * moved[k]
            step = np.rint(far)
            whole = abs(far - step) <= _NEAR_WHOLE and abs(step) <= _EXACT
            whole = whole and multiple * least[cells[k]] <= step <= multiple * most[cells[k]]
            if not whole:
                break
        if whole and _kept(cells, moved, multiple, first, row, coef, sums):
            return multiple
    return 0


@compiled
def _kept(
    cells: Any, moved: Any, multiple: int, first: Any, row: Any, coef: Any, sums: Any
) -> bool:
    """Whether whole moves keep all relations; `sums` are zero before and after."""
    for k in range(cells.size):
        step = np.int64(np.rint(multiple * moved[k]))
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            sums[row[entry]] += coef[entry] * step
    kept = True
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            kept = kept and sums[row[entry]] == 0
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            sums[row[entry]] = 0
    return kept


@compiled
def _missed(
    cells: Any, moved: Any, first: Any, row: Any, coef: Any, miss: Any, least: Any, most: Any
) -> float:
    """By how much deviations are out in all; 0 for next to nothing, infinite if too much."""
    largest = 0.0
    for k in range(cells.size):
        largest = max(largest, abs(moved[k]))
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] += coef[entry] * moved[k]
    allowed = _UNITS + _SHARE * largest
    worst, off, fits = 0.0, 0.0, True
    for k in range(cells.size):
        beyond = max(least[cells[k]] - moved[k], moved[k] - most[cells[k]], 0.0)
        fits = fits and beyond <= _BEYOND + 0.1 * allowed
        worst, off = max(worst, beyond), off + beyond
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            short = abs(miss[row[entry]])
            fits = fits and short <= allowed
            worst, off = max(worst, short), off + short
            miss[row[entry]] = 0.0
    if not fits:
        return np.inf
    return off if worst > _UNITS else 0.0
