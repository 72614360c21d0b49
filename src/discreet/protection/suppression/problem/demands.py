"""`Demands`: what is asked for each cell of one table, and of several together. CONFIDENTIAL.

In: what primary rules found, a mask of sensitive cells, or an earlier pattern. Out: per
cell whether it must be hidden, must be published or is hidden already, its protection
levels, cost and bounds, in units. Where tables share a cell the strictest demand holds;
contradictions are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.changed_values import (
    ChangedCells,
    with_old_pattern_cheap,
)
from discreet.protection.suppression.problem.parameters import (
    Cost,
    distances_to_sensitive,
    whole_costs,
)
from discreet.protection.suppression.problem.system import CellState, Confidential, Relations
from discreet.protection.suppression.problem.table_relations import refuse_cells, units_of
from discreet.tables import CellStatus, ProtectedTable, Table

#: Levels are rounded up to whole units; so little is rounding of doubles.
_SLACK = 1e-6
_LEVELS = ("lower", "upper", "sliding")


@runtime_checkable
class PrimaryFindings(Protocol):
    """What primary rules found: any object with these columns, one entry per cell.

    It may also have `fixed` (cells that must be published), `secondary` (cells that are
    hidden already), `cost`, `low` and `high` (given by hand; NaN where not), `at_most`,
    `at_least` and `opens` (what readers infer who know the rules; see `discreet.rules.Primary`).
    """

    @property
    def sensitive(self) -> BoolArray:
        """Which cells must be hidden."""

    @property
    def lower(self) -> FloatArray:
        """Lower protection levels, in the unit of the value."""

    @property
    def upper(self) -> FloatArray:
        """Upper protection levels."""

    @property
    def sliding(self) -> FloatArray:
        """Sliding protection levels."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Earlier:
    """A table that was published before, with its pattern (confidential).

    Args:
        table: Its true values.
        hidden: Which of its cells were hidden: one boolean per cell, or the table as
            it was published.
        primary: Which of them are sensitive, with their protection levels: these are
            protected once more, against both tables together.
        change: Values may have changed since: last period, or a revision. By which share of
            a value attackers think at most that it changed; None for any change.
    """

    table: Table
    hidden: BoolArray | ProtectedTable
    primary: PrimaryFindings | BoolArray | None = None
    change: float | None = 0.1

    def __post_init__(self) -> None:
        if self.change is not None and not 0 <= self.change < float("inf"):
            message = "the share of a change is a number of at least 0, or None"
            hint = "0.1 for a tenth of the value"
            raise SuppressionError(message, code="earlier", where="change", hint=hint)

    def __repr__(self) -> str:
        return f"<Earlier (confidential): {self.table.name}>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Demands(Confidential):
    """What is asked for each cell of one table, levels in units (confidential)."""

    sensitive: BoolArray
    fixed: BoolArray
    secondary: BoolArray
    lower: IntArray
    upper: IntArray
    sliding: IntArray
    cost: FloatArray
    low: FloatArray
    high: FloatArray
    at_most: FloatArray
    at_least: FloatArray

    @classmethod
    def of(cls, asked: PrimaryFindings | BoolArray | None, table: Table, units: int) -> Demands:
        """The demands of primary rules, or of a mask, on the cells of a table; None: no cell."""
        size = len(table)
        none = np.zeros(size, dtype=np.bool_)
        if asked is None or isinstance(asked, np.ndarray):
            mask = none if asked is None else _mask(asked, table)
            levels = dict.fromkeys(_LEVELS, np.zeros(size, dtype=np.int64))
            asked = None
        else:
            if not isinstance(asked, PrimaryFindings):
                raise SuppressionError(
                    "sensitive cells are given as a mask or as what primary rules found",
                    code="primary",
                    where=table.name,
                    hint="one boolean per cell of the table",
                )
            mask = _mask(asked.sensitive, table)
            levels = {name: _units(getattr(asked, name), units, mask, table) for name in _LEVELS}
        return cls(
            sensitive=mask,
            fixed=_mask(getattr(asked, "fixed", none), table),
            secondary=_mask(getattr(asked, "secondary", none), table),
            **levels,
            cost=_given(asked, "cost", table),
            low=_given(asked, "low", table) * units,
            high=_given(asked, "high", table) * units,
            at_most=np.where(mask, _given(asked, "at_most", table) * units, np.nan),
            at_least=_given(asked, "at_least", table) * units,
        )

    @classmethod
    def before(cls, earlier: Earlier, units: int) -> Demands:
        """The demands of a table published before: what is known stays known."""
        hidden = earlier.hidden
        if isinstance(hidden, ProtectedTable):
            hidden = hidden_in(earlier.table, hidden)
        hidden = _mask(hidden, earlier.table)
        own = cls.of(earlier.primary, earlier.table, units)
        return replace(own, sensitive=own.sensitive & hidden, fixed=~hidden, secondary=hidden)


def _mask(mask: Any, table: Table) -> BoolArray:
    array = np.asarray(mask)
    if array.shape != (len(table),) or array.dtype != np.bool_:
        message = "a mask has one boolean for each cell of its table"
        hint = "in the order of the cells of the table"
        raise SuppressionError(message, code="primary", where=table.name, hint=hint)
    return array


def _column(column: Any, table: Table) -> FloatArray:
    array = np.asarray(column, dtype=np.float64)
    if array.shape != (len(table),):
        message = "protection levels and costs have one entry for each cell"
        raise SuppressionError(message, code="primary", where=table.name)
    return array


def _units(level: Any, units: int, mask: BoolArray, table: Table) -> IntArray:
    column = np.where(mask, _column(level, table), 0.0)
    if not np.isfinite(column).all() or (column < 0).any() or (column * units >= 2.0**53).any():
        message = "protection levels of sensitive cells are numbers of at least 0"
        raise SuppressionError(message, code="primary", where=table.name)
    return np.ceil(column * units - _SLACK).astype(np.int64)


def _given(judged: Any, name: str, table: Table) -> FloatArray:
    column = getattr(judged, name, None)
    return np.full(len(table), np.nan) if column is None else _column(column, table)


def hidden_in(table: Table, published: ProtectedTable) -> BoolArray:
    """Which cells of a table are hidden in what was published of it, over the same variables."""
    names = [dimension.name for dimension in published.spanning]
    own = [dimension.name for dimension in table.dimensions]
    if sorted(names) != sorted(own) or published.several_figures:
        message = "what was published is not this table: its variables or figures differ"
        hint = f"variables needed: {', '.join(own)}"
        raise SuppressionError(message, code="earlier", where=published.name, hint=hint)
    index = []
    for dimension in published.spanning:
        at = own.index(dimension.name)
        codes = table.dimensions[at].codes
        place = np.array([dimension.index.get(code, -1) for code in codes], dtype=np.int32)
        index.append(place[table.index[at]])
    listed = np.ones(len(table), dtype=np.bool_)
    for part in index:
        listed &= part >= 0
    # What is not listed is not known, but for empty cells: their codes are left out.
    unlisted = np.where(occupied(table), CellStatus.suppressed, CellStatus.published)
    status = unlisted.astype(np.int8)
    places = [part[listed] for part in index]
    status[listed] = _status(published, places, int(listed.sum()))
    hidden: BoolArray = status == CellStatus.suppressed
    return hidden


def occupied(table: Table) -> BoolArray:
    """Which cells have records, or a value."""
    filled: BoolArray = table.count != 0
    for column in table.sums.values():
        filled |= column != 0
    return filled


def _status(
    published: ProtectedTable, index: list[npt.NDArray[np.int32]], length: int
) -> npt.NDArray[np.int8]:
    """The status of cells at places of the published table."""
    at = CellIndex.of(published.spanning).find(published.index, index, (published.stored, length))
    status = published.absent(index, length)
    status[at >= 0] = published.status[at[at >= 0]]
    return status


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CombinedCells(Confidential):
    """The cells of all tables as cells of a problem (confidential)."""

    cells: list[IntArray]  # per table, the problem cell of each of its cells; -1 for empty ones
    given: list[IntArray]  # per table, its values in units
    value: IntArray  # value of each problem cell in units
    relations: Relations  # the relations among them
    totals: IntArray  # for each, in how many variables it is no finest code
    names: Callable[[int], str]  # their names
    notes: list[str]  # what happened to values, in words
    changed: ChangedCells  # those that had another value when they were published before


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellDemands(Confidential):
    """What is asked for each cell, levels in units (confidential)."""

    state: npt.NDArray[np.int8]
    lower: IntArray
    upper: IntArray
    sliding: IntArray


def merged_demands(
    system: CombinedCells, demands: Sequence[Demands], zero_cells: str
) -> CellDemands:
    """What all tables together ask for each cell: the strictest of them."""
    size = len(system.value)
    sensitive, fixed, before = (np.zeros(size, dtype=np.bool_) for _ in range(3))
    levels = {name: np.zeros(size, dtype=np.int64) for name in _LEVELS}
    empty = sum(
        int((demand.sensitive & (cells < 0)).sum())
        for cells, demand in zip(system.cells, demands, strict=True)
    )
    if empty:
        message = f"{empty:,} sensitive cells are empty"
        hint = "everyone knows which cells can have no records; mark zeros of records only"
        raise SuppressionError(message, code="empty-cells", hint=hint)
    for cells, demand in zip(system.cells, demands, strict=True):
        there = cells >= 0
        sensitive[cells[demand.sensitive]] = True
        fixed[cells[demand.fixed & there]] = True
        before[cells[demand.secondary & there]] = True
        for name, level in levels.items():
            np.maximum.at(level, cells[demand.sensitive], getattr(demand, name)[demand.sensitive])
    message = "the cell must be published and must be hidden"
    hint = "it, or a cell equal to it, is published in another table or marked to be"
    refuse_cells(
        np.flatnonzero(fixed & (sensitive | before)), system.names, message, "contradiction", hint
    )
    state = np.full(size, CellState.free, dtype=np.int8)
    if zero_cells == "fixed":
        state[system.value == 0] = CellState.fixed
    state[fixed] = CellState.fixed
    state[before] = CellState.secondary
    state[sensitive] = CellState.primary
    return CellDemands(state=state, **levels)


def costs_of(
    rule: Cost,
    system: CombinedCells,
    demands: Sequence[Demands],
    tables: Sequence[Table],
    asked: CellDemands,
) -> tuple[IntArray, bool]:
    """What hiding each cell costs, and whether costs were made coarser to fit."""
    if rule.of == "unity":
        size = np.ones(len(system.value))
    elif rule.of == "distance":
        size = distances_to_sensitive(rule, system.relations, asked.state == CellState.primary)
    elif rule.of == "value":
        size = np.abs(system.value).astype(np.float64)
    else:
        size = _sizes(rule.of, system, tables)
    costs, coarser = whole_costs(rule, size, system.totals)
    for cells, demand in zip(system.cells, demands, strict=True):
        stated = np.isfinite(demand.cost) & (cells >= 0)
        costs[cells[stated]] = np.maximum(np.rint(demand.cost[stated]), 0).astype(np.int64)
    hidden = np.isin(asked.state, (CellState.primary, CellState.secondary))
    return with_old_pattern_cheap(costs, system.changed, hidden), coarser


def _sizes(column: str, system: CombinedCells, tables: Sequence[Table]) -> FloatArray:
    """Records of each cell, or the size of another value column."""
    size = np.zeros(len(system.value))
    for cells, table in zip(system.cells, tables, strict=True):
        there = cells >= 0
        own = table.count if column == "count" else np.abs(units_of(table, column, 0))
        size[cells[there]] = own[there]
    return size
