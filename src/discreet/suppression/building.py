"""`build_problem`: from tables and their sensitive cells to one system. CONFIDENTIAL.

In: one or several tables, what primary rules found in them, what was published before.
Out: a `SuppressionProblem` over all their cells, each of them once, and `Members`, which
says what a pattern means for each table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.additivity import (
    additive,
    refuse,
    shared_values,
    table_relations,
    units_of,
)
from discreet.suppression.costs import Cost, distances, whole_costs
from discreet.suppression.demands import Demands, Earlier, Judged
from discreet.suppression.folding import folded, stacked
from discreet.suppression.knowledge import Knowledge
from discreet.suppression.linking import Code, Linked, link
from discreet.suppression.members import Members
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.relations import Relations
from discreet.tables import Table

__all__ = ["Source", "build_problem"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
#: A table with what primary rules found in it.
Source = tuple[Table, Judged | BoolArray | None]

_MOST_DECIMALS = 9


def build_problem(
    tables: Sequence[Source] | Source,
    *,
    value: str | None = None,
    decimals: int = 0,
    cost: str | Cost = "value",
    knowledge: Knowledge | None = None,
    zero_cells: Literal["fixed", "partners"] = "fixed",
    earlier: Sequence[Earlier] = (),
    same: Mapping[Code, Code] | None = None,
    repair: bool = False,
    title: str = "",
) -> tuple[SuppressionProblem, Members]:
    """Make one problem of tables, those that share cells together.

    Args:
        tables: Tables, each with what `primary` found or a mask of sensitive cells;
            or one of them.
        value: The value column that is published; None for counts, "weight" for sums
            of weights.
        decimals: Digits after the decimal point that are published.
        cost: What hiding a cell costs: "value", "count", "unity", "distance", the name of a
            value column, or a `Cost`.
        knowledge: What attackers know beforehand; a value between 0 and twice the true
            one unless given.
        zero_cells: Whether cells of value 0 that have records may be hidden to protect
            others ("partners") or stay published ("fixed").
        earlier: Tables published before: their cells stay published or hidden.
        same: Codes that mean the same as a code of another variable.
        repair: Add up totals anew that are no sum of their parts.
        title: Name of the problem; that of the first table unless given.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7, 3, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> problem, members = build_problem((table, np.array([False, True, False])))
    >>> problem
    <SuppressionProblem table (confidential): 3 cells, 1 relations, 1 sensitive>
    >>> members.hidden(problem.hidden)
    array([False,  True, False])
    """
    sources = _sources(tables)
    if zero_cells not in ("fixed", "partners"):
        raise SuppressionError("zero_cells is fixed or partners", code="zero-cells")
    if not 0 <= decimals <= _MOST_DECIMALS:
        raise SuppressionError("decimals lie between 0 and 9", code="decimals")
    units = 10**decimals
    listed = [table for table, _ in sources] + [before.table for before in earlier]
    demands = [Demands.of(asked, table, units) for table, asked in sources]
    demands += [Demands.before(before, units) for before in earlier]
    system = _system(listed, value, decimals, same, repair)
    cells = _merged(system, demands, zero_cells)
    rule = Cost.read(cost)
    costs, coarser = whole_costs(rule, _sizes(rule, system, listed, units), system.totals)
    costs = _given_costs(system, demands, costs)
    low, high, capped = _bounds(system, demands, cells, knowledge or Knowledge())
    problem = SuppressionProblem(
        value=system.value,
        cost=np.where(cells.state == CellState.primary, np.maximum(costs, 0), costs),
        state=cells.state,
        low=low,
        high=high,
        lower=capped.lower,
        upper=cells.upper,
        sliding=cells.sliding,
        relations=system.relations,
        decimals=decimals,
        name=system.names,
        title=title or listed[0].name,
    )
    notes = (
        *system.notes,
        f"attackers are taken to know each value {(knowledge or Knowledge()).share_text}",
        *(["costs were made coarser to stay exact in sums"] if coarser else []),
        *([f"{capped.number:,} lower levels were cut at 0"] if capped.number else []),
    )
    problem.check()
    return problem, _members(system, listed[: len(sources)], notes)


def _sources(tables: Any) -> list[Source]:
    listed = [tables] if isinstance(tables, tuple) and isinstance(tables[0], Table) else tables
    sound = all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Table) for item in listed
    )
    if not listed or not sound:
        raise SuppressionError(
            "tables are given in pairs: a table, and its sensitive cells",
            code="tables",
            hint="build_problem([(table, primary), …])",
        )
    return list(listed)


# -- cells, values and relations ----------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _System:
    """Cells of all tables after folding; `cells` has -1 for empty ones."""

    cells: list[IntArray]
    given: list[IntArray]
    value: IntArray
    relations: Relations
    totals: IntArray
    names: Callable[[int], str]
    notes: list[str]


def _system(
    tables: Sequence[Table],
    value: str | None,
    decimals: int,
    same: Mapping[Code, Code] | None,
    repair: bool,
) -> _System:
    given = [units_of(table, value, decimals) for table in tables]
    occupied = [(table.count != 0) | (own != 0) for table, own in zip(tables, given, strict=True)]
    linked = link(tables, same)
    rounding = 0 if value is None else 1
    relations = _relations(tables, given, occupied, linked, rounding)
    shared = shared_values(
        linked.number,
        linked.cells,
        given,
        rounding=rounding,
        repair=repair,
        names=linked.names,
    )
    summed, relations, repaired = additive(
        relations, shared, rounding=rounding, repair=repair, names=linked.names
    )
    used = np.zeros(linked.number, dtype=np.bool_)
    for cells, there in zip(linked.cells, occupied, strict=True):
        used[cells[there]] = True
    numbers, relations, kept = _numbered(relations, used)
    final = [np.where(numbers[cells] >= 0, numbers[cells], -1) for cells in linked.cells]
    totals = np.full(len(kept), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(totals, numbers[used], linked.totals[used])
    notes = []
    if int(used.sum()) > len(kept):
        notes.append(f"{int(used.sum()) - len(kept):,} totals of a single part count as that part")
    if (summed != shared)[used].any():
        changed = int((summed != shared)[used].sum())
        notes.append(f"{changed:,} totals were added up anew in published decimals")
    if repaired:
        notes.append(f"{repaired:,} totals were no sum of their parts and were put right")
    return _System(
        cells=final,
        given=given,
        value=summed[kept],
        relations=relations,
        totals=totals,
        names=linked.names.of(kept),
        notes=notes,
    )


def _relations(
    tables: Sequence[Table],
    given: Sequence[IntArray],
    occupied: Sequence[BoolArray],
    linked: Linked,
    rounding: int,
) -> Relations:
    blocks = []
    lone: list[int] = []
    for table, own, there, cells in zip(tables, given, occupied, linked.cells, strict=True):
        relations, without = table_relations(table, there)
        blocks.append((relations, cells[there]))
        lone += cells[there][without & (np.abs(own[there]) > rounding)].tolist()
    what = "the total has a value, but none of its parts is there"
    hint = "hand in the parts, or leave out their level everywhere"
    refuse(lone, linked.names, what, "additivity", hint)
    return stacked(linked.number, blocks)


def _numbered(relations: Relations, used: BoolArray) -> tuple[IntArray, Relations, IntArray]:
    """Fold, and number the cells that take part.

    Returns:
        The new number of each cell (-1: none), the relations, and for each new cell one
        of the old ones, the finest.
    """
    numbers, relations = folded(relations)
    kept = np.zeros(relations.cells, dtype=np.bool_)
    kept[numbers[used]] = True
    fresh = np.where(kept, np.cumsum(kept) - 1, -1)
    result = np.where(used, fresh[numbers], -1)
    size = int(kept.sum())
    finest = np.zeros(size, dtype=np.int64)
    finest[result[used]] = np.flatnonzero(used)
    moved = Relations(
        cells=size,
        start=relations.start,
        cell=fresh[relations.cell].astype(np.int32),
        coef=relations.coef,
        rhs=relations.rhs,
    )
    return result, moved, finest


def _members(system: _System, tables: Sequence[Table], notes: Sequence[str]) -> Members:
    number = len(tables)
    values = [
        np.where(cells >= 0, system.value[np.maximum(cells, 0)], 0) if system.value.size else own
        for cells, own in zip(system.cells[:number], system.given, strict=False)
    ]
    return Members(
        names=tuple(table.name for table in tables),
        cells=tuple(system.cells[:number]),
        values=tuple(values),
        differences=tuple(
            now - own for now, own in zip(values, system.given[:number], strict=True)
        ),
        name=system.names,
        notes=tuple(notes),
    )


# -- what is asked for the cells ----------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Merged:
    state: npt.NDArray[np.int8]
    lower: IntArray
    upper: IntArray
    sliding: IntArray
    number: int = 0


def _merged(system: _System, demands: Sequence[Demands], zero_cells: str) -> _Merged:
    """What all tables together ask for each cell."""
    size = len(system.value)
    sensitive, fixed, before = (np.zeros(size, dtype=np.bool_) for _ in range(3))
    levels = {name: np.zeros(size, dtype=np.int64) for name in ("lower", "upper", "sliding")}
    for cells, demand in zip(system.cells, demands, strict=True):
        if (demand.sensitive & (cells < 0)).any():
            raise SuppressionError(
                f"{int((demand.sensitive & (cells < 0)).sum()):,} sensitive cells are empty",
                code="empty-cells",
                hint="everyone knows which cells can have no records; mark zeros of records only",
            )
        there = cells >= 0
        sensitive[cells[demand.sensitive]] = True
        fixed[cells[demand.fixed & there]] = True
        before[cells[demand.secondary & there]] = True
        for name, level in levels.items():
            own = getattr(demand, name)[demand.sensitive]
            np.maximum.at(level, cells[demand.sensitive], own)
    what = "the cell must be published and must be hidden"
    hint = "it is published in another table or marked by hand; or equal to a cell that is"
    clash = np.flatnonzero(fixed & (sensitive | before))
    refuse(clash, system.names, what, "contradiction", hint)
    state = np.full(size, CellState.free, dtype=np.int8)
    if zero_cells == "fixed":
        state[system.value == 0] = CellState.fixed
    state[fixed] = CellState.fixed
    state[before] = CellState.secondary
    state[sensitive] = CellState.primary
    return _Merged(state=state, **levels)


def _bounds(
    system: _System, demands: Sequence[Demands], cells: _Merged, knowledge: Knowledge
) -> tuple[IntArray, IntArray, _Merged]:
    """What attackers know beforehand; bounds given by hand count before general ones."""
    value = system.value
    signed = bool((value < 0).any()) if knowledge.negative is None else knowledge.negative
    lower = cells.lower if signed else np.minimum(cells.lower, np.maximum(value, 0))
    low, high = knowledge.bounds(value, lower, cells.upper, cells.sliding)
    for place, demand in zip(system.cells, demands, strict=True):
        for given, bound, tighter in ((demand.low, low, np.maximum), (demand.high, high, np.minimum)):
            told = np.isfinite(given) & (place >= 0)
            at, limit = place[told], np.rint(given[told]).astype(np.int64)
            bound[at] = limit if tighter is None else limit
    capped = _Merged(
        state=cells.state,
        lower=lower,
        upper=cells.upper,
        sliding=cells.sliding,
        number=int((lower != cells.lower).sum()),
    )
    return low, high, capped


def _sizes(
    rule: Cost, system: _System, tables: Sequence[Table], units: int
) -> FloatArray:
    """What costs follow: values, records, another column, or distances; for each cell."""
    size = len(system.value)
    if rule.of == "unity":
        return np.ones(size)
    if rule.of == "distance":
        return np.ones(size)
    total = np.zeros(size)
    for cells, table in zip(system.cells, tables, strict=True):
        there = cells >= 0
        if rule.of == "value":
            own = np.abs(system.value[cells[there]]).astype(np.float64)
        elif rule.of == "count":
            own = table.count[there].astype(np.float64)
        else:
            own = np.abs(units_of(table, rule.of, 0)[there]).astype(np.float64)
        total[cells[there]] = own
    return total


def _given_costs(
    system: _System, demands: Sequence[Demands], costs: IntArray
) -> IntArray:
    result = costs.copy()
    for cells, demand in zip(system.cells, demands, strict=True):
        told = np.isfinite(demand.cost) & (cells >= 0)
        result[cells[told]] = np.maximum(np.rint(demand.cost[told]), 0).astype(np.int64)
    return result
