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

__all__ = ["fitting"]

BoolArray = npt.NDArray[np.bool_]

#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


def fitting(known: Unknowns, proofs: Sequence[Proof]) -> BoolArray:
    """Which proofs move hidden cells only, within their bounds, and fit all relations."""
    fits = np.zeros(len(proofs), dtype=np.bool_)
    first, order = known.relations.by_cell
    row, coef = known.relations.row[order], known.relations.coef[order].astype(np.float64)
    miss = np.zeros(max(len(known.relations), 1))
    for at, proof in enumerate(proofs):
        if not proof.cells.size or proof.cells.min() < 0:
            continue
        outside = max(
            float((known.low[proof.cells] - proof.moved).max()),
            float((proof.moved - known.high[proof.cells]).max()),
        )
        allowed = _UNITS + _SHARE * float(np.abs(proof.moved).max())
        worst = _worst(proof.cells, proof.moved, first, row, coef, miss)
        fits[at] = outside <= _BEYOND + 0.1 * allowed and worst <= allowed
    return fits


@numba.njit(cache=True, nogil=True)
def _worst(cells: Any, moved: Any, first: Any, row: Any, coef: Any, miss: Any) -> float:
    """The largest amount by which moves miss a relation; `miss` is zero before and after."""
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] += coef[entry] * moved[k]
    worst = 0.0
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            worst = max(worst, abs(miss[row[entry]]))
    for k in range(cells.size):
        for entry in range(first[cells[k]], first[cells[k] + 1]):
            miss[row[entry]] = 0.0
    return worst
