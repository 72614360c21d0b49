"""Intervals of hidden values that anyone can work out, and that may be published. CONFIDENTIAL.

In: a problem with the tables behind it, and which cells are hidden. Out: lowest and highest
values that rest on nothing but what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.problem.linked_tables import ProblemSource, TableCells
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.attacker import published_intervals


def public_intervals(
    problem: SuppressionProblem,
    members: TableCells,
    sources: Sequence[ProblemSource],
    hidden: BoolArray,
    *,
    smallest: float,
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest value of each cell by published values only, in units.

    Bounds known beforehand follow true values. No hidden value is below `smallest`, unless
    some can be negative.
    """
    negative = _signed(problem, members, sources)
    low, high = (problem.value.astype(np.float64) for _ in range(2))
    low[hidden], high[hidden] = published_intervals(
        problem.relations, problem.value, hidden, negative=negative, smallest=smallest
    )
    return low, high


def _signed(
    problem: SuppressionProblem, members: TableCells, sources: Sequence[ProblemSource]
) -> BoolArray:
    """Which cells can be negative: those of values of which some are."""
    signed = np.full(len(problem), bool((problem.value < 0).any()))
    cells: dict[Any, list[IntArray]] = {}
    for (_, primary), own in zip(sources, members.cells, strict=True):
        cells.setdefault(getattr(primary, "value", None), []).append(own[own >= 0])
    for parts in cells.values() if len(cells) > 1 else ():
        every = np.concatenate(parts)
        signed[every] = (problem.value[every] < 0).any()
    return signed
