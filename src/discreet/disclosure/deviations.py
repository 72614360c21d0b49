"""Deviations of hidden cells, and how far they surely show these to move. CONFIDENTIAL.

A `DeviationCheck` holds deviations from any source – exchanges of units, answers of a solver –
against all relations and bounds, without rounding where they are whole or become so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges
from discreet.confidential import Confidential
from discreet.disclosure.unknowns import Unknowns

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
#: Moves of cells that are looked at together.
_AT_ONCE = 2**20


@dataclass(frozen=True, kw_only=True, repr=False)
class Proof(Confidential):
    """By how much which hidden cells, ascending, move so that all relations hold (confidential)."""

    cells: IntArray
    moved: FloatArray


@dataclass(repr=False, eq=False)
class Reach(Confidential):
    """Largest known movements of cells, also in whole numbers (confidential)."""

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
        """Known movements of some cells."""
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
        self.reach = Reach.none(len(known)) if reach is None else reach
        self._known = known

    def see_all(self, proofs: Sequence[Proof]) -> BoolArray:
        """Which proofs fit, with their cells numbered as here; their reach is noted."""
        sizes = np.array([len(proof.cells) for proof in proofs], dtype=np.int64)
        fits = np.zeros(len(proofs), dtype=np.bool_)
        first = np.flatnonzero(np.diff(np.cumsum(sizes) // _AT_ONCE)) + 1
        for some in np.split(np.arange(len(proofs)), first):
            chosen = [proofs[at] for at in some.tolist()]
            proof = np.repeat(np.arange(len(chosen)), sizes[some])
            cells = np.concatenate([np.zeros(0, dtype=np.int64), *(one.cells for one in chosen)])
            moved = np.concatenate([np.zeros(0), *(one.moved for one in chosen)])
            fits[some] = self._see(len(chosen), proof, cells, moved)
        return fits

    def _see(self, size: int, proof: IntArray, cells: IntArray, moved: FloatArray) -> BoolArray:
        """Which of so many deviations fit, with the deviation of each cell that moves."""
        # What is no number is no proof either.
        wrong = (cells < 0) | ~np.isfinite(moved)
        waiting = np.bincount(proof, minlength=size) > 0
        waiting[proof[wrong]] = False
        fits, low, high = np.zeros(size, dtype=np.bool_), self._known.low, self._known.high
        for multiple in range(1, _FACTORS + 1):
            at = np.flatnonzero(waiting[proof])
            if not at.size:
                break
            own, some, far = proof[at], cells[at], multiple * moved[at]
            step = np.rint(far)
            out = (np.abs(far - step) > _NEAR_WHOLE) | (np.abs(step) > _EXACT)
            out |= (step < multiple * low[some]) | (step > multiple * high[some])
            whole = waiting & (np.bincount(own[out], minlength=size) == 0)
            kept = whole[own]
            own, some, step = own[kept], some[kept], step[kept]
            missed, sums = self._missed(own, some, step.astype(np.int64))
            whole[missed[sums != 0]] = False
            kept = whole[own]
            self._note(some[kept], step[kept] / multiple, whole=multiple == 1)
            fits, waiting = fits | whole, waiting & ~whole
        at = np.flatnonzero(waiting[proof])
        own, some, far = proof[at], cells[at], moved[at]
        beyond = np.maximum(np.maximum(low[some] - far, far - high[some]), 0.0)
        missed, short = self._missed(own, some, far)
        short, largest, worst = np.abs(short), np.zeros(size), np.zeros(size)
        np.maximum.at(largest, own, np.abs(far))
        np.maximum.at(worst, own, beyond)
        np.maximum.at(worst, missed, short)
        allowed = _UNITS + _SHARE * largest
        waiting[own[beyond > _BEYOND + 0.1 * allowed[own]]] = False
        waiting[missed[short > allowed[missed]]] = False
        off = np.bincount(own, beyond, size) + np.bincount(missed, short, size)
        off = np.where(worst > _UNITS, off, 0.0)[own]
        kept = waiting[own]
        np.minimum.at(self.reach.low, some[kept], (far + off)[kept])
        np.maximum.at(self.reach.high, some[kept], (far - off)[kept])
        return fits | waiting

    def _missed(self, proof: IntArray, cells: IntArray, moved: Any) -> tuple[IntArray, Any]:
        """By how much deviations miss each relation of their cells, with the deviation of each."""
        links = self._known.relations
        first, order = links.by_cell
        width = first[cells + 1] - first[cells]
        entry = order[ranges(first[cells], width)]
        keys, place = np.unique(
            np.repeat(proof, width) * max(len(links), 1) + links.row[entry], return_inverse=True
        )
        sums = np.zeros(len(keys), dtype=moved.dtype)
        np.add.at(sums, place, links.coef[entry] * np.repeat(moved, width))
        return keys // max(len(links), 1), sums

    def _note(self, cells: IntArray, moved: FloatArray, *, whole: bool) -> None:
        """Note moves of some cells."""
        reach = self.reach
        for low, high in (
            (reach.low, reach.high), (reach.whole_low, reach.whole_high),
        )[: 1 + whole]:  # fmt: skip
            np.minimum.at(low, cells, moved)
            np.maximum.at(high, cells, moved)


def sure_moves(known: Unknowns, moved: FloatArray) -> tuple[FloatArray, bool, bool]:
    """Guaranteed deviations of all hidden cells; whether there are any, and all whole."""
    check = DeviationCheck(known)
    fits = check.see_all([Proof(cells=np.arange(len(known), dtype=np.int64), moved=moved)])
    reach = check.reach
    sure = reach.low + reach.high
    return sure, bool(fits[0]), bool(fits[0] and (reach.whole_low + reach.whole_high == sure).all())
