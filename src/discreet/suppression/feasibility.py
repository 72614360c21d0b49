"""Cells that no pattern can protect, and why. CONFIDENTIAL, but for the names it gives.

In: a `Hiding` before any work. Out: nothing, or a `SuppressionError` that names all
cells that stay unprotected even if every cell that may be hidden is hidden.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.suppression.certificate import certify
from discreet.suppression.hiding import Hiding
from discreet.suppression.unknowns import TOLERANCE

__all__ = ["check_possible", "impossible", "refuted"]

IntArray = npt.NDArray[np.int64]

#: With more cells than these that may move, bounds alone decide before work begins.
_EXACT_LIMIT = 30_000
_SHOWN = 20

_BOUNDS = "what an attacker is said to know about it is narrower than its protection levels"
_NEIGHBOURS = "cells that must be published leave it no room"


def refuted(hiding: Hiding) -> IntArray:
    """Sensitive cells that bounds show to be impossible to protect."""
    known = hiding.unknowns
    return known.cells[known.sensitive & ~known.protected(-hiding.down, hiding.up)]


def check_possible(hiding: Hiding) -> None:
    """Raise an error that names the cells that cannot be protected, if there are any.

    Where protection upwards is short, sliding levels are turned downwards. Very large
    problems are checked by bounds only; what these miss shows during the work.
    """
    lost = refuted(hiding)
    if lost.size:
        raise impossible(hiding, lost)
    sliding = hiding.unknowns.sliding > hiding.unknowns.upper + hiding.unknowns.lower
    if len(hiding) > _EXACT_LIMIT:
        return
    everything = certify(hiding.problem, hiding.mask(np.ones(len(hiding), dtype=np.bool_)))
    if len(everything.unprotected):
        raise impossible(hiding, everything.unprotected)
    at = hiding.at(everything.cells)
    turned = sliding[at] & (everything.high < hiding.target[at] - TOLERANCE)
    if turned.any():
        hiding.turn_down(at[turned], everything.high[turned])


def impossible(hiding: Hiding, cells: IntArray) -> SuppressionError:
    """The error for cells of the problem that cannot be protected."""
    known = hiding.unknowns
    at = hiding.at(cells)
    narrow = ~known.protected(known.low, known.high)[at]
    problems = [
        Problem(_BOUNDS if tight else _NEIGHBOURS, hiding.problem.name(int(cell)))
        for cell, tight in zip(cells, narrow, strict=True)
    ]
    return SuppressionError(
        f"{len(cells):,} sensitive cells cannot be protected by any pattern",
        code="infeasible",
        where=hiding.problem.title,
        hint="let more cells be hidden, widen the bounds said to be known, or merge categories",
        problems=shortened(problems, _SHOWN),
    )
