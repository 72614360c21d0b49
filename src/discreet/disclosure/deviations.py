"""Deviations of hidden cells, and how far they surely show these to move. CONFIDENTIAL.

A `DeviationCheck` holds deviations from any source – exchanges of units, answers of a solver –
against all relations and bounds, without rounding where they are whole or become so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.confidential import Confidential
from discreet.disclosure.unknowns import Unknowns
from discreet.kernels import compiled

#: Deviations are made whole by multiplying with one of the first so many numbers.
_FACTORS = 12
#: What lies farther from a whole number is none.
_NEAR_WHOLE = 0.005
#: Larger numbers are not exact in doubles.
_EXACT = 2.0**53
#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False)
class Proof(Confidential):
    """By how much which hidden cells, ascending, move so that all relations hold (confidential)."""

    cells: IntArray
    moved: FloatArray


@dataclass(repr=False, eq=False)
class Reach(Confidential):
    """How far cells were seen to move down and up, and how far in whole numbers (confidential)."""

    low: FloatArray
    high: FloatArray
    whole_low: FloatArray
    whole_high: FloatArray

    @classmethod
    def none(cls, cells: int) -> Reach:
        """No cell was seen to move."""
        return cls(*(np.zeros(cells) for _ in range(4)))

    def see(self, moved: FloatArray, *, whole: bool = False) -> None:
        """Note moves of all cells."""
        for low, high in ((self.low, self.high), (self.whole_low, self.whole_high))[: 1 + whole]:
            np.minimum(low, moved, out=low)
            np.maximum(high, moved, out=high)

    def at(self, cells: IntArray) -> Reach:
        """What was seen of some cells."""
        return Reach(*(column[cells] for column in vars(self).values()))

    def put(self, cells: IntArray, other: Reach) -> None:
        """Take what was seen of some cells."""
        for own, column in zip(vars(self).values(), vars(other).values(), strict=True):
            own[cells] = column

    def cap(self, low: FloatArray, high: FloatArray) -> None:
        """Nothing moves beyond bounds that hold for sure, whatever a solver answered."""
        for column in (self.low, self.whole_low):
            np.maximum(column, low, out=column)
        for column in (self.high, self.whole_high):
            np.minimum(column, high, out=column)


class DeviationCheck:
    """Holds deviations against what is published, and notes how far they go."""

    def __init__(self, known: Unknowns, reach: Reach | None = None) -> None:
        first, order = known.relations.by_cell
        row, coef = known.relations.row[order], known.relations.coef[order]
        rows = max(len(known.relations), 1)
        self.reach = Reach.none(len(known)) if reach is None else reach
        self._system = (first, row, coef, np.zeros(rows, dtype=np.int64), np.zeros(rows))
        self._bounds = (known.low, known.high)

    def see(self, start: Any, cells: Any, moved: FloatArray) -> BoolArray:
        """Which of some deviations fit; their reach is noted.

        Each begins at its `start` in `cells` and `moved`, which has one entry more.
        """
        fits = np.zeros(len(start) - 1, dtype=np.bool_)
        seen = tuple(vars(self.reach).values())
        _see(start, cells, moved, self._system, self._bounds, seen, fits)
        return fits

    def see_all(self, proofs: Sequence[Proof]) -> BoolArray:
        """Which proofs fit, with their cells numbered as here; their reach is noted."""
        cells = np.concatenate([np.zeros(0, dtype=np.int64), *(proof.cells for proof in proofs)])
        moved = np.concatenate([np.zeros(0), *(proof.moved for proof in proofs)])
        return self.see(starts([len(proof.cells) for proof in proofs]), cells, moved)


def sure_moves(known: Unknowns, moved: FloatArray) -> tuple[FloatArray, bool, bool]:
    """What is sure of deviations of all hidden cells; whether that is anything, and all whole."""
    check = DeviationCheck(known)
    fits = check.see_all([Proof(cells=np.arange(len(known), dtype=np.int64), moved=moved)])
    reach = check.reach
    sure = reach.low + reach.high
    return sure, bool(fits[0]), bool(fits[0] and (reach.whole_low + reach.whole_high == sure).all())


@compiled
def _see(
    start: Any, cells: Any, moved: Any, system: Any, bounds: Any, reach: Any, fits: Any
) -> None:
    first, row, coef, sums, miss = system
    least, most = bounds
    low, high, whole_low, whole_high = reach
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
    for multiple in range(1, _FACTORS + 1):
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
