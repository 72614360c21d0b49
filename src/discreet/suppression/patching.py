"""Patching: what small linear programs around open cells show about a pattern. CONFIDENTIAL.

In: the hidden cells of a pattern of any origin, and how far they were seen to move. Out:
the same, farther, by deviations of hidden cells near each open one. Every one of them is
held against all relations and bounds. Cells that cannot move within a patch stay open.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.suppression.covering import PATCH, flow_for, prove_hidden
from discreet.suppression.fitting import fitting
from discreet.suppression.hiding import Hiding
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.unknowns import TOLERANCE, Unknowns

__all__ = ["patched"]

FloatArray = npt.NDArray[np.float64]

#: The largest patch.
_LARGEST = 8 * PATCH


def patched(
    problem: SuppressionProblem, unknowns: Unknowns, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """How far hidden cells were seen to move after work on patches, and how much it took.

    Args:
        problem: The problem.
        unknowns: Its hidden cells.
        low: How far each was seen to move down, at most 0.
        high: How far up.
    """
    hiding = Hiding(problem, unknowns)
    hiding.halve()
    safe = unknowns.protected(low, high)
    hiding.target[np.concatenate([safe, safe])] = 0.0
    reach = np.concatenate([high, -low])
    hiding.target[reach >= hiding.target - 0.5 * TOLERANCE] = 0.0
    prove_hidden(hiding, _never)
    step, price = np.ones(len(hiding)), np.zeros(len(hiding))
    for task in hiding.open:
        if hiding.proven[task] < 0:
            found = flow_for(hiding, int(task), step, price, largest=_LARGEST)
            if found is not None:
                hiding.take_all(*found)
    low, high = low.copy(), high.copy()
    for proof, fits in zip(hiding.proofs, fitting(unknowns, hiding.proofs), strict=True):
        if fits:
            low[proof.cells] = np.minimum(low[proof.cells], proof.moved)
            high[proof.cells] = np.maximum(high[proof.cells], proof.moved)
    return low, high, hiding.solved


def _never() -> bool:
    return False
