"""Cells that no pattern can protect, and why. CONFIDENTIAL, but for the names it gives.

In: a `Hiding` before any work. Out: nothing, or a `SuppressionError` that names all
cells that stay unprotected even if every cell that may be hidden is hidden.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.suppression.certificate import certify
from discreet.suppression.covering import cover
from discreet.suppression.hiding import Hiding
from discreet.suppression.unknowns import TOLERANCE

__all__ = ["check_bounds", "check_possible", "cover_all", "refuted"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: With more cells than these that may move, bounds alone decide before work begins.
_EXACT_LIMIT = 3_000
_SHOWN = 20

_BOUNDS = "what an attacker is said to know about it is narrower than its protection levels"
_NEIGHBOURS = "cells that must be published leave it no room"


def refuted(hiding: Hiding) -> IntArray:
    """Sensitive cells that bounds show to be impossible to protect."""
    known = hiding.unknowns
    return known.cells[known.sensitive & ~known.protected(-hiding.down, hiding.up)]


def check_bounds(hiding: Hiding) -> None:
    """Raise an error that names the cells that bounds show to be impossible to protect."""
    lost = refuted(hiding)
    if lost.size:
        raise _impossible(hiding, lost)


def check_possible(hiding: Hiding) -> None:
    """Raise an error that names the cells that cannot be protected, if there are any.

    Where protection upwards is short, sliding levels are turned downwards. Very large
    problems are checked by bounds only; what these miss shows during the work.
    """
    check_bounds(hiding)
    if len(hiding) > _EXACT_LIMIT:
        return
    _settle(hiding, hiding.unknowns.cells[hiding.unknowns.sensitive])


def cover_all(
    hiding: Hiding,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    factor: FloatArray | None = None,
) -> None:
    """Cover tasks as `cover` does; raise an error that names cells that cannot be protected."""
    failed = cover(hiding, tasks, over, tell, factor=factor)
    if failed:
        cells = np.unique(np.array(failed, dtype=np.int64) % len(hiding))
        _settle(hiding, hiding.unknowns.cells[cells])
        again = np.concatenate([cells, cells + len(hiding)])
        if cover(hiding, np.intersect1d(hiding.open, again), over, factor=factor):
            raise SuppressionError(
                "the solver found no way to move some sensitive cells",
                code="solver",
                where=hiding.problem.title,
                hint="report this: an attack on the whole table could move them",
            )


def _settle(hiding: Hiding, cells: IntArray) -> None:
    """Find out by attacks how far cells can go if everything is hidden; adjust the tasks."""
    watched = np.zeros(len(hiding.problem), dtype=np.bool_)
    watched[cells] = True
    full = hiding.mask(np.ones(len(hiding), dtype=np.bool_))
    everything = certify(hiding.problem, full, watched)
    if len(everything.unprotected):
        raise _impossible(hiding, everything.unprotected)
    at = hiding.at(everything.cells)
    known = hiding.unknowns
    sliding = known.sliding[at] > known.upper[at] + known.lower[at]
    turned = sliding & (everything.high < hiding.target[at] - TOLERANCE)
    if turned.any():
        hiding.turn_down(at[turned], everything.high[turned])


def _impossible(hiding: Hiding, cells: IntArray) -> SuppressionError:
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
