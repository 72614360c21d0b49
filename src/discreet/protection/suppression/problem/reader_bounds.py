"""`bounds_of`: what attackers know of cells beforehand, and the levels left. CONFIDENTIAL.

In: the cells of a problem with what is asked for them, what attackers are said to know, and
how the tables are published. Out: lowest and highest values, and protection levels cut at
what every reader knows for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.protection.suppression.problem.demands import CellDemands, CombinedCells, Demands
from discreet.protection.suppression.problem.parameters import Knowledge, Reader
from discreet.protection.suppression.problem.system import UNBOUNDED, CellState, Confidential
from discreet.protection.suppression.problem.unknowns import Unknowns, outer_bounds


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellBounds(Confidential):
    """What attackers know of each cell beforehand, and the levels that this leaves
    (confidential).
    """

    low: IntArray  # lowest value, in units
    high: IntArray  # highest value
    lower: IntArray  # lower protection levels: nobody can be made to think what he knows is wrong
    upper: IntArray  # upper protection levels
    sliding: IntArray  # sliding protection levels


def bounds_of(
    system: CombinedCells,
    demands: Sequence[Demands],
    asked: CellDemands,
    knowledge: Knowledge | None,
    reader: Reader,
) -> CellBounds:
    """What attackers know of each cell beforehand: what is said of them, and what readers know.

    Protection levels end at what every reader knows. Shares that nobody stated give way
    to what is left of them; stated knowledge, also cell by cell, never does.
    """
    value, shares = system.value, knowledge or Knowledge()
    least, most = _certain(system, demands, asked, shares, reader)
    below, above = _room(system, asked, least, most)
    lower, upper = np.minimum(asked.lower, below), np.minimum(asked.upper, above)
    sliding = np.minimum(asked.sliding, below + above)
    low, high = shares.bounds(value)
    if knowledge is None:
        if not shares.signed(value):
            high[value == 0] = int(value.max(initial=0))
        low = np.minimum(low, value - lower)
        high = np.maximum(np.maximum(high, value + upper), np.maximum(low, least) + sliding)
    told_low = _stated_bounds(system, [demand.low for demand in demands], np.maximum)
    told_high = _stated_bounds(system, [demand.high for demand in demands], np.minimum)
    low = np.where(np.isfinite(told_low), told_low, low).astype(np.int64)
    high = np.where(np.isfinite(told_high), told_high, high).astype(np.int64)
    return CellBounds(
        low=np.maximum(low, least),
        high=np.minimum(high, most),
        lower=lower,
        upper=upper,
        sliding=sliding,
    )


def _certain(
    system: CombinedCells,
    demands: Sequence[Demands],
    wanted: CellDemands,
    shares: Knowledge,
    reader: Reader,
) -> tuple[IntArray, IntArray]:
    """What every reader knows of hidden cells: no less than, and no more than.

    Who sees zeros printed knows that a hidden cell is none, unless some sensitive one is. Who
    knows the rule of minimum frequency knows that sensitive counts are below its number; and,
    told which cells are sensitive, that the others are not. None of this excludes a true value.
    """
    value, primary = system.value, wanted.state == CellState.primary
    signed = shares.signed(value)
    hidden_zero = ((value == 0) & (wanted.state != CellState.fixed)).any()
    ones = reader.zero_cells == "fixed" and not signed and not hidden_zero
    least = np.full(len(value), reader.one if ones else -UNBOUNDED if signed else 0, np.int64)
    stated = _stated_bounds(system, [demand.at_most for demand in demands], np.minimum)
    bounded = primary & np.isfinite(stated) & shares.rules
    most = np.where(bounded, stated, UNBOUNDED).astype(np.int64)
    if reader.counts and reader.reasons != "none" and shares.rules:
        spared = _stated_bounds(system, [demand.at_least for demand in demands], np.maximum)
        applies = ~bounded if reader.reasons == "rule" else ~primary
        applies &= np.isfinite(spared)
        least[applies] = np.maximum(least[applies], spared[applies].astype(np.int64))
    return np.minimum(least, value), np.maximum(most, value)


def _room(
    system: CombinedCells, demands: CellDemands, least: IntArray, most: IntArray
) -> tuple[IntArray, IntArray]:
    """How far below and above its value readers can think each cell, were all but zeros hidden.

    A total of two cells that are 1 at least is 2 at least. What must be published for other
    reasons does not count: a cell that it opens is refused.
    """
    value = system.value
    below, above = value - least, most - value
    hidden = (demands.state != CellState.fixed) | (value != 0)
    levels = max(
        int(level.max(initial=0)) for level in (demands.lower, demands.upper, demands.sliding)
    )
    # So far is as good as any distance, and sums of such numbers are exact.
    far = 4 * int(np.abs(value).max(initial=0)) + 2 * levels + 1
    links, cells = system.relations.among(hidden)
    widest = int(np.diff(links.start).max(initial=0))
    if not demands.state.size or not levels or far * widest > 2**52:
        return below, above
    nothing = np.zeros(len(cells))
    low, high = outer_bounds(
        Unknowns(
            cells=cells,
            relations=links,
            low=-np.minimum(below[cells], far).astype(np.float64),
            high=np.minimum(above[cells], far).astype(np.float64),
            lower=nothing,
            upper=nothing,
            sliding=nothing,
            sensitive=nothing > 0,
        )
    )
    below[cells] = np.minimum(below[cells], np.rint(-low).astype(np.int64))
    above[cells] = np.minimum(above[cells], np.rint(high).astype(np.int64))
    return below, above


def _stated_bounds(
    system: CombinedCells, bounds: Sequence[FloatArray], tighter: np.ufunc
) -> FloatArray:
    """Bounds given by hand, the tightest of each cell; infinite where there are none."""
    loose = -np.inf if tighter is np.maximum else np.inf
    stated_bounds = np.full(len(system.value), loose)
    for cells, bound in zip(system.cells, bounds, strict=True):
        there = np.isfinite(bound) & (cells >= 0)
        tighter.at(stated_bounds, cells[there], np.rint(bound[there]))
    return stated_bounds
