"""What several tables ask for the same cells, as one demand for each. CONFIDENTIAL.

In: the cells of a problem and the demands of each table. Out: one state, one set of
levels, bounds and one cost for each cell; contradictions are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.additivity import refuse, units_of
from discreet.suppression.costs import Cost, distances, whole_costs
from discreet.suppression.demands import Demands
from discreet.suppression.knowledge import Knowledge
from discreet.suppression.problem import CellState
from discreet.suppression.relations import Relations
from discreet.tables import Table

__all__ = ["Asked", "System", "bounds_of", "costs_of", "merged"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class System:
    """The cells of all tables as cells of a problem (confidential).

    Args:
        cells: Per table, the problem cell of each of its cells; -1 for empty ones.
        given: Per table, its values in units.
        value: Value of each problem cell in units.
        relations: The relations among them.
        totals: For each, in how many variables it is no finest code.
        names: Their names.
        notes: What happened to values, in words.
    """

    cells: list[IntArray]
    given: list[IntArray]
    value: IntArray
    relations: Relations
    totals: IntArray
    names: Callable[[int], str]
    notes: list[str]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Asked:
    """What is asked for each cell, levels in units (confidential)."""

    state: npt.NDArray[np.int8]
    lower: IntArray
    upper: IntArray
    sliding: IntArray


def merged(system: System, demands: Sequence[Demands], zero_cells: str) -> Asked:
    """What all tables together ask for each cell: the strictest of them."""
    size = len(system.value)
    sensitive, fixed, before = (np.zeros(size, dtype=np.bool_) for _ in range(3))
    levels = {name: np.zeros(size, dtype=np.int64) for name in ("lower", "upper", "sliding")}
    empty = sum(
        int((demand.sensitive & (cells < 0)).sum())
        for cells, demand in zip(system.cells, demands, strict=True)
    )
    if empty:
        raise SuppressionError(
            f"{empty:,} sensitive cells are empty",
            code="empty-cells",
            hint="everyone knows which cells can have no records; mark zeros of records only",
        )
    for cells, demand in zip(system.cells, demands, strict=True):
        there = cells >= 0
        sensitive[cells[demand.sensitive]] = True
        fixed[cells[demand.fixed & there]] = True
        before[cells[demand.secondary & there]] = True
        for name, level in levels.items():
            np.maximum.at(level, cells[demand.sensitive], getattr(demand, name)[demand.sensitive])
    what = "the cell must be published and must be hidden"
    hint = "it, or a cell equal to it, is published in another table or marked to be"
    refuse(np.flatnonzero(fixed & (sensitive | before)), system.names, what, "contradiction", hint)
    state = np.full(size, CellState.free, dtype=np.int8)
    if zero_cells == "fixed":
        state[system.value == 0] = CellState.fixed
    state[fixed] = CellState.fixed
    state[before] = CellState.secondary
    state[sensitive] = CellState.primary
    return Asked(state=state, **levels)


def bounds_of(
    system: System, demands: Sequence[Demands], asked: Asked, knowledge: Knowledge
) -> tuple[IntArray, IntArray, IntArray]:
    """What attackers know of each cell beforehand; bounds given by hand go first.

    Returns:
        Lowest and highest values, and the lower levels: without negative values no cell
        can be thought to be further below its value than 0 is.
    """
    value = system.value
    signed = bool((value < 0).any()) if knowledge.negative is None else knowledge.negative
    lower = asked.lower if signed else np.minimum(asked.lower, np.maximum(value, 0))
    low, high = knowledge.bounds(value, lower, asked.upper, asked.sliding)
    told_low = _told(system, [demand.low for demand in demands], np.maximum)
    told_high = _told(system, [demand.high for demand in demands], np.minimum)
    low = np.where(np.isfinite(told_low), told_low, low).astype(np.int64)
    high = np.where(np.isfinite(told_high), told_high, high).astype(np.int64)
    return low, high, lower


def _told(system: System, given: Sequence[FloatArray], tighter: np.ufunc) -> FloatArray:
    """Bounds given by hand, the tightest of each cell; infinite where there are none."""
    loose = -np.inf if tighter is np.maximum else np.inf
    told = np.full(len(system.value), loose)
    for cells, bound in zip(system.cells, given, strict=True):
        there = np.isfinite(bound) & (cells >= 0)
        tighter.at(told, cells[there], np.rint(bound[there]))
    return told


def costs_of(
    rule: Cost, system: System, demands: Sequence[Demands], tables: Sequence[Table], asked: Asked
) -> tuple[IntArray, bool]:
    """What hiding each cell costs, and whether costs were made coarser to fit."""
    if rule.of == "unity":
        size = np.ones(len(system.value))
    elif rule.of == "distance":
        size = distances(rule, system.relations, asked.state == CellState.primary)
    elif rule.of == "value":
        size = np.abs(system.value).astype(np.float64)
    else:
        size = _sizes(rule.of, system, tables)
    costs, coarser = whole_costs(rule, size, system.totals)
    for cells, demand in zip(system.cells, demands, strict=True):
        told = np.isfinite(demand.cost) & (cells >= 0)
        costs[cells[told]] = np.maximum(np.rint(demand.cost[told]), 0).astype(np.int64)
    return costs, coarser


def _sizes(column: str, system: System, tables: Sequence[Table]) -> FloatArray:
    """Records of each cell, or the size of another value column."""
    size = np.zeros(len(system.value))
    for cells, table in zip(system.cells, tables, strict=True):
        there = cells >= 0
        own = table.count if column == "count" else np.abs(units_of(table, column, 0))
        size[cells[there]] = own[there]
    return size
