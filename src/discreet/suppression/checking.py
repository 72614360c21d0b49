"""A certificate from proofs: every stored solution is checked, none is believed.

In: a problem, the cells hidden in it and proofs – deviations of hidden cells. Out: a
`Certificate` of what the proofs show once each is found to fit all relations and bounds.
This takes seconds where solving for every cell would take days. CONFIDENTIAL.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.suppression.certificate import Certificate
from discreet.suppression.fitting import fitting
from discreet.suppression.hiding import Hiding, Proof
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.unknowns import Unknowns, unknowns_of

__all__ = ["certificate_of", "fitting"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


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
