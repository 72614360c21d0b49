"""Sweeps: what waves alone show about a pattern of any origin. CONFIDENTIAL.

In: a `SuppressionProblem` and the cells hidden in it. Out: how far each cell was seen to
move up and down, by deviations of hidden cells that were held against all relations and
bounds. Far cheaper than linear programs where a hundred thousand cells are hidden.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.suppression.leaves import Leaves, leaves_of
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.projecting import BAND, Effort, sums_of
from discreet.suppression.unknowns import TOLERANCE, Unknowns
from discreet.suppression.waves import COLUMNS, aims_of, exact_waves, reached, waves

__all__ = ["Sweep", "swept"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SEED = 21
#: Which share of the cells each of the first waves is to move, and how often the rest is tried.
_WISHED, _TURNS = 0.35, 6
#: Smaller moves are none, in units; a wave that misses a relation by more proves nothing.
_NO_MOVE, _MISSED = 1e-9, 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Sweep:
    """How far the hidden cells were seen to move (confidential).

    Args:
        low: Down, at most 0.
        high: Up, at least 0.
        waves: By how many waves.
    """

    low: FloatArray
    high: FloatArray
    waves: int


def swept(problem: SuppressionProblem, hidden: BoolArray, unknowns: Unknowns) -> Sweep | None:
    """Move as many sensitive cells as waves can; None where totals are no sums of leaves.

    Args:
        problem: The problem.
        hidden: Which of its cells are hidden.
        unknowns: These cells.
    """
    leaves = leaves_of(problem)
    watched = np.flatnonzero(unknowns.sensitive)
    if leaves is None or not len(leaves) or not watched.size:
        return None
    sweep = Sweep(low=np.zeros(len(unknowns)), high=np.zeros(len(unknowns)), waves=0)
    levels = np.maximum(unknowns.lower, unknowns.upper)
    aims = aims_of(
        leaves, unknowns.cells[watched], np.maximum(levels, 0.5 * unknowns.sliding)[watched]
    )
    sums = sums_of(leaves, ~hidden, Effort())
    draw = np.random.default_rng(_SEED)
    still = np.ones(len(aims), dtype=np.bool_)
    made, columns = 0, COLUMNS
    wished = draw.random((len(aims), columns)) < _WISHED
    near = 0.9
    for _ in range(_TURNS):
        start = draw.uniform(-near, near, (len(leaves), columns)) * aims.room[:, None]
        moved = exact_waves(sums, aims, waves(sums, aims, wished, start))
        far = reached(aims, moved) >= aims.want[:, None] - TOLERANCE
        for column in moved.T:
            made += _see(problem, unknowns, leaves, column, sweep)
        before = int(still.sum())
        still &= ~np.logical_or.reduce(far, axis=1)
        if not still.any() or int(still.sum()) == before:
            break
        columns, near = BAND, 0.1
        wished = np.repeat(still[:, None], columns, axis=1)
    return Sweep(low=sweep.low, high=sweep.high, waves=made)


def _see(
    problem: SuppressionProblem,
    unknowns: Unknowns,
    leaves: Leaves,
    column: FloatArray,
    sweep: Sweep,
) -> int:
    """Note a wave and its mirror image if they fit all that is published."""
    moved = leaves.moves(column)[unknowns.cells]
    moved[np.abs(moved) < _NO_MOVE] = 0.0
    room = np.minimum(-unknowns.low, unknowns.high)
    far = np.abs(moved) > room
    moved *= np.min(room[far] / np.abs(moved[far]), initial=1.0)
    links = unknowns.relations
    miss = np.bincount(links.row, links.coef * moved[links.cell], len(links))
    if not np.abs(miss).max(initial=0.0) <= _MISSED:  # no number is no proof either
        return 0
    np.minimum(sweep.low, -np.abs(moved), out=sweep.low)
    np.maximum(sweep.high, np.abs(moved), out=sweep.high)
    return 1
