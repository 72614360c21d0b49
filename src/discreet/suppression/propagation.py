"""How far hidden cells can move, seen relation by relation: bounds from outside.

In: `Unknowns`. Out: per cell an interval that holds every value an attacker can
think possible. What is too narrow here is surely not protected; what is wide
enough is not yet proven. CONFIDENTIAL.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.suppression.unknowns import Unknowns

__all__ = ["outer_bounds"]

FloatArray = npt.NDArray[np.float64]

_ROUNDS = 100


def outer_bounds(unknowns: Unknowns) -> tuple[FloatArray, FloatArray]:
    """Bounds of each cell, tightened until no relation tightens them further."""
    low, high = unknowns.low.copy(), unknowns.high.copy()
    links = unknowns.relations
    _tighten(links.start, links.cell, links.coef.astype(np.float64), low, high, _ROUNDS)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


@numba.njit(cache=True, nogil=True)
def _tighten(start: Any, cell: Any, coef: Any, low: Any, high: Any, rounds: int) -> None:
    for _ in range(rounds):
        changed = False
        for row in range(start.size - 1):
            least = 0.0
            most = 0.0
            for k in range(start[row], start[row + 1]):
                a, b = coef[k] * low[cell[k]], coef[k] * high[cell[k]]
                least += min(a, b)
                most += max(a, b)
            for k in range(start[row], start[row + 1]):
                at = cell[k]
                a, b = coef[k] * low[at], coef[k] * high[at]
                below = -(most - max(a, b)) / coef[k]
                above = -(least - min(a, b)) / coef[k]
                if coef[k] < 0:
                    below, above = above, below
                if below > low[at]:
                    low[at] = below
                    changed = True
                if above < high[at]:
                    high[at] = above
                    changed = True
        if not changed:
            return
