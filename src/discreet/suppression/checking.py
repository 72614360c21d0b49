"""A certificate from proofs: every stored solution is checked, none is believed.

In: a problem, the cells hidden in it and proofs – deviations of hidden cells. Out: a
`Certificate` of what the proofs show once each is found to fit all relations and bounds.
This takes seconds where solving for every cell would take days. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.certificate import Certificate
from discreet.suppression.hiding import Hiding, Proof
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.unknowns import Unknowns, unknowns_of

__all__ = ["certificate_of", "fitting"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6


def certificate_of(hiding: Hiding) -> Certificate:
    """What the stored proofs show about the cells hidden now.

    Cells that they do not show to be protected count as unprotected, though they may
    well be: the certificate is on the safe side.
    """
    problem, hidden = hiding.problem, hiding.mask()
    known = unknowns_of(problem, hidden)
    number = np.full(len(problem), -1, dtype=np.int64)
    number[known.cells] = np.arange(len(known))
    needed = np.unique(hiding.proven[hiding.proven >= 0])
    proofs = [hiding.proofs[int(at)] for at in needed]
    moved = [Proof(cells=number[hiding.unknowns.cells[p.cells]], moved=p.moved) for p in proofs]
    low, high = np.zeros(len(known)), np.zeros(len(known))
    for proof, fits in zip(moved, fitting(known, moved), strict=True):
        if fits:
            low[proof.cells] = np.minimum(low[proof.cells], proof.moved)
            high[proof.cells] = np.maximum(high[proof.cells], proof.moved)
    return _verdicts(problem, known, low, high, hiding.solved)


def _verdicts(
    problem: SuppressionProblem, known: Unknowns, low: FloatArray, high: FloatArray, solved: int
) -> Certificate:
    at = np.flatnonzero(known.sensitive)
    cells = known.cells[at]
    return Certificate(
        cells=cells,
        protected=known.protected(low, high)[at],
        low=low[at],
        high=high[at],
        shown=np.setdiff1d(problem.primary, cells),
        solved=solved,
    )


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
