"""`build_problem`: one problem for one table or several linked ones. CONFIDENTIAL.

A `SuppressionProblem` has each cell of all tables once, and `TableCells` says which cells of which
table a cell of the problem stands for. Where tables share a cell the strictest demand holds;
contradictions are refused by name. Protection levels end at what every reader knows for certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import (
    UNBOUNDED,
    UNPUBLISHED,
    Knowledge,
    KnownZeros,
    Relations,
    TableCells,
    TableSystem,
    Unknowns,
    VariableCode,
    outer_bounds,
    refuse_cells,
    rows_across,
    units_of,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import (
    LEVELS,
    CellState,
    Demands,
    Earlier,
    PrimaryFindings,
    SuppressionProblem,
    with_changes_known,
)
from discreet.tables import Table

#: Costs are cut off here, so that sums of millions of them are exact.
_DEAREST = 2**40
#: Transformed costs are spread over so many whole numbers, so that small ones do not tie.
_FINENESS = 10**9
_FARTHEST = 5


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of hiding a cell.

    Args:
        of: ``"value"`` – the size of its value; ``"count"`` – its records; ``"unity"`` –
            1; ``"distance"`` – how far it stands from the next sensitive cell; or the
            name of a value column of the tables.
        power: Costs are raised to this power, 0 stands for log(1 + cost): below 1, few
            large cells are preferred to many small ones less strongly.
        totals: Factor for each variable in which the cell is a total; above 1, inner
            cells are hidden rather than totals.
        distance: Costs at the distances 1, 2, … of neighbours; the last for all beyond
            and for totals.

    >>> Cost(of="count", totals=2).totals
    2
    """

    of: str = "value"
    power: float = 1.0
    totals: float = 1.0
    distance: tuple[int, ...] = (1, 2, 3, 4, 5)

    def __post_init__(self) -> None:
        near = 0 < len(self.distance) <= _FARTHEST and min(self.distance) >= 1
        for where, sound, message in (
            ("power", 0 <= self.power <= 4, "the power lies between 0 and 4"),
            ("totals", 0 < self.totals <= 1000, "the factor for totals lies above 0, up to 1000"),
            ("distance", near, "there are 1 to 5 costs of distances, whole numbers from 1 on"),
            ("of", self.of, "a cost is value, count, unity, distance or a value column"),
        ):
            if not sound:
                raise SuppressionError(message, code="cost", where=where)

    @classmethod
    def read(cls, cost: str | Cost) -> Cost:
        """A cost, or the one of that name."""
        return cost if isinstance(cost, Cost) else cls(of=cost)


#: A table with what primary rules found in it.
ProblemSource: TypeAlias = tuple[Table, PrimaryFindings | BoolArray | None]

_MOST_DECIMALS = 9
#: Values of which the number of records, or the sum of their weights, is published.
COUNTS = (None, "weight")


def build_problem(
    tables: Sequence[ProblemSource] | ProblemSource,
    *,
    value: str | None = None,
    decimals: int = 0,
    cost: str | Cost = "value",
    knowledge: Knowledge | None = None,
    zero_cells: KnownZeros = "fixed",
    earlier: Sequence[Earlier] = (),
    same: Mapping[VariableCode, VariableCode] | None = None,
    repair: bool = False,
    reasons: Literal["rule", "kind", "none"] = "none",
    title: str = "",
    records: Any = None,
    strict: bool = True,
) -> tuple[SuppressionProblem, TableCells]:
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
            one unless given. What every reader knows is added: whether zeros are shown, say.
        zero_cells: Whether cells of value 0 that have records may be hidden to protect
            others ("partners") or stay published ("fixed"); of counts, all stored ones.
        earlier: Tables published before: their cells stay published or hidden; those whose
            values have changed since are cells of their own, hidden again if that is cheap.
        same: Codes that mean the same as a code of another variable.
        repair: Add up totals anew that are no sum of their parts.
        reasons: What is told of hidden cells besides: the "rule", the "kind", or "none".
        title: Name of the problem; that of the first table unless given.
        records: What the tables were counted from, or their `discreet.disclosure.Partitions`:
            cells that are the same records, or add up, are known whatever columns are called.
            Without, cells are known by name, and `TableCells.unexamined` says what that misses.
        strict: Whether it is a contradiction that one table shows what another one hides.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7, 3, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> problem, members = build_problem((table, np.array([False, True, False])))
    >>> problem
    <SuppressionProblem table (confidential): 3 cells, 1 relations, 1 sensitive>
    >>> members.hidden(problem.hidden)
    array([False,  True, False])
    """
    if zero_cells not in ("fixed", "partners"):
        raise SuppressionError("zero_cells is fixed or partners", code="zero-cells")
    if not 0 <= decimals <= _MOST_DECIMALS:
        raise SuppressionError("decimals lie between 0 and 9", code="decimals")
    if value in COUNTS and knowledge is not None:
        knowledge = replace(knowledge, negative=None)  # nobody takes a count for a negative one
    sources = problem_sources(tables, value)
    listed = [*(table for table, _ in sources), *(item.table for item in earlier)]
    demands = [*(Demands.of(asked, own) for own, asked in sources), *map(Demands.before, earlier)]
    demands = [own.in_units(10**decimals, t) for own, t in zip(demands, listed, strict=True)]
    shares = [item.change for item in earlier]
    others = {
        at: item.others
        for at, item in enumerate(earlier, len(sources))
        if item.others is not None and item.others.any()
    }
    hidden_zeros = (
        bool((table.count[demand.secondary if strict else slice(None)] == 0).any())
        for demand, table in zip(demands, listed, strict=True)
    )
    empty = value in COUNTS and (zero_cells == "partners" or any(hidden_zeros))
    rows, unexamined = rows_across(listed, records, others, counts=value is None)
    published = len(listed)
    for nobody in () if rows is None else rows.nobody:
        own = Demands.of_nobody(value, nobody).in_units(10**decimals, nobody)
        unbounded = np.full(len(nobody), np.nan)
        demands.append(own if strict else replace(own, low=unbounded, high=unbounded))
        listed.append(nobody)
        shares.append(None)
    system = TableSystem.of(
        listed, value, decimals, same, repair=repair, shares=shares, others=others, empty=empty,
        rows=rows,
    )  # fmt: skip
    for at in range(published, len(listed)):  # some of these cells are in tables
        demands[at] = demands[at].among(system.between[system.cells[at]])
    asked = _merged_demands(system, demands, zero_cells, strict=strict)
    costs, coarser = _costs(Cost.read(cost), system, demands, listed, asked["state"])
    one = 10**decimals if value is None else 1
    reader = {"zeros": zero_cells, "one": one, "reasons": reasons if value in COUNTS else "none"}
    problem = SuppressionProblem(
        value=system.value, cost=costs, state=asked["state"],
        **_reader_bounds(system, demands, asked, knowledge, **reader), relations=system.relations,
        decimals=decimals, name=system.names, title=title or listed[0].name,
    )  # fmt: skip
    cut = np.any([getattr(problem, name) != asked[name] for name in LEVELS], axis=0)
    notes = [
        *system.notes,
        "readers are assumed to know of each value that it lies "
        + (knowledge or Knowledge()).share_text,
    ]
    hidden = (problem.state != CellState.fixed) & ~system.between
    if hidden.any() and int(problem.low[hidden].min()) >= one:
        notes.append("readers can infer that suppressed cells are not zero: zeros are shown")
    elif zero_cells == "partners":
        notes.append("readers are assumed to know that zeros may be suppressed")
    if any(np.isfinite(demand.at_most).any() for demand in demands):
        message = "to know the number of a minimum frequency, below which sensitive counts lie"
        told = "" if reasons == "none" else ", and from the reasons which those are"
        notes.append(f"readers are taken {message}{told}")
    if coarser:
        notes.append("costs were made coarser to stay exact in sums")
    if cut.any():
        message = "sensitive cells have protection levels that end at what readers know"
        notes.append(f"{int(cut.sum()):,} {message}")
    notes += system.changed.notes()
    number = len(sources)
    notes += [] if rows is None else rows.doubts
    values = [
        np.where(cells >= 0, system.value[np.maximum(cells, 0)], 0) if system.value.size else own
        for cells, own in zip(system.cells[:number], system.given, strict=False)
    ]
    members = TableCells(
        cells=tuple(system.cells[:number]),
        values=tuple(values),
        notes=tuple(notes),
        before=tuple(system.cells[number:published]),
        changed=system.changed,
        unexamined=unexamined,
        partitions=(None,) * published if rows is None else tuple(rows.records[:published]),
    )
    problem = with_changes_known(problem, members.changed)
    problem.check()
    return problem, members


def problem_sources(tables: Any, value: str | None) -> list[ProblemSource]:
    """Pairs of a table and what was found in it, once they are sound."""
    listed = [tables] if isinstance(tables, tuple) and isinstance(tables[0], Table) else tables
    sound = all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Table) for item in listed
    )
    if not listed or not sound:
        message = "tables are given in pairs: a table, and its sensitive cells"
        raise SuppressionError(message, code="tables", hint="build_problem([(table, primary), …])")
    for table, primary in listed:
        if getattr(primary, "value", value) != value:
            message = "the sensitive cells were found for another value"
            hint = f"judged: {primary.value or 'counts'}; to be published: {value or 'counts'}"
            raise SuppressionError(message, code="value", where=table.name, hint=hint)
    return list(listed)


# -- what is asked for them, and what readers know ------------------------------------

#: What it costs to hide again what was hidden with another value, as a share of its cost.
_AGAIN = 0.1


def _merged_demands(
    system: TableSystem, demands: Sequence[Demands], zero_cells: KnownZeros, *, strict: bool
) -> dict[str, Any]:
    """State and levels of each cell, as all tables together ask for: the strictest of them."""
    size = len(system.value)
    masks = {name: np.zeros(size, dtype=np.bool_) for name in ("sensitive", "fixed", "secondary")}
    levels = {name: np.zeros(size, dtype=np.int64) for name in LEVELS}
    empty = 0
    for cells, demand in zip(system.cells, demands, strict=True):
        there = cells >= 0
        empty += int((demand.sensitive & ~there).sum())
        for name, mask in masks.items():
            mask[cells[getattr(demand, name) & there]] = True
        mine = demand.sensitive & there
        for name, level in levels.items():
            np.maximum.at(level, cells[mine], getattr(demand, name)[mine].astype(np.int64))
    sensitive, fixed, before = masks.values()
    if strict and empty:
        message = f"{empty:,} sensitive cells are empty"
        hint = "everyone knows which cells can have no records; mark zeros of records only"
        raise SuppressionError(message, code="empty-cells", hint=hint)
    if strict:
        message = "the cell must be published and must be suppressed"
        hint = "it, or a cell equal to it, is published in another table or marked to be"
        both = np.flatnonzero(fixed & (sensitive | before))
        refuse_cells(both, system.names, message, "contradiction", hint)
    state = np.full(size, CellState.free, dtype=np.int8)
    if zero_cells == "fixed":
        state[system.value == 0] = CellState.fixed
    state[before] = CellState.secondary
    state[fixed] = CellState.fixed
    state[sensitive] = CellState.primary
    return {"state": state, **levels}


def _costs(
    rule: Cost,
    system: TableSystem,
    demands: Sequence[Demands],
    tables: Sequence[Table],
    state: Any,
) -> tuple[IntArray, bool]:
    """What hiding each cell costs, and whether costs were made coarser to fit.

    What was hidden before with another value is hidden again rather than other cells.
    """
    if rule.of == "unity":
        size = np.ones(len(system.value))
    elif rule.of == "distance":
        size = distances_to_sensitive(rule, system.relations, state == CellState.primary)
    elif rule.of == "value":
        size = np.abs(system.value).astype(np.float64)
    else:
        size = np.zeros(len(system.value))
        for cells, table in zip(system.cells, tables, strict=True):
            if rule.of not in ("count", *table.sums) and table.name == UNPUBLISHED:
                continue  # of nobody, and hidden at no cost
            own = table.count if rule.of == "count" else np.abs(units_of(table, rule.of, 0))
            size[cells[cells >= 0]] = own[cells >= 0]
    costs, coarser = whole_costs(rule, size, system.totals)
    for cells, demand in zip(system.cells, demands, strict=True):
        stated = np.isfinite(demand.cost) & (cells >= 0)
        costs[cells[stated]] = np.maximum(np.rint(demand.cost[stated]), 0).astype(np.int64)
    hidden = np.isin(state, (CellState.primary, CellState.secondary))
    again = system.changed.now[hidden[system.changed.before]]
    costs[again] = np.maximum(np.rint(costs[again] * _AGAIN), 1).astype(np.int64)
    return costs, coarser


def whole_costs(rule: Cost, size: FloatArray, totals: IntArray) -> tuple[IntArray, bool]:
    """Costs in whole numbers of at least 1, and whether they had to be made coarser to fit.

    They follow the size of each cell, and in how many variables it is a total.
    """
    cost = size
    plain = rule.power == 1 and rule.totals == 1
    if rule.power != 1:
        cost = np.log1p(size) if rule.power == 0 else np.power(size, rule.power)
    cost = cost * np.power(float(rule.totals), totals.astype(np.float64))
    most = float(cost.max(initial=0.0))
    if not plain and most > 0:
        cost = cost * (_FINENESS / most)
    coarser = plain and most > _DEAREST
    if coarser:
        cost = cost * (_DEAREST / most)
    return np.maximum(np.rint(cost), 1).astype(np.int64), coarser


def distances_to_sensitive(rule: Cost, relations: Relations, sensitive: BoolArray) -> FloatArray:
    """Distance of each cell to the next sensitive one in its relations.

    Parts of a total are neighbours in the order of their codes. A total, and a part
    of a relation without a sensitive cell, is as far as can be.
    """
    farthest = len(rule.distance)
    width = np.diff(relations.start)
    place = np.arange(relations.cell.size) - np.repeat(relations.start[:-1], width)
    part = relations.coef > 0
    marked = sensitive[relations.cell] & part
    steps = np.full(relations.cell.size, farthest, dtype=np.int64)
    for step in range(farthest - 1, -1, -1):
        near = np.zeros(relations.cell.size, dtype=np.bool_)
        for shift in (-step, step):
            at = place + shift
            there = (at >= 0) & (at < np.repeat(width, width))
            index = np.flatnonzero(there) + shift
            near[there] |= marked[index]
        steps[near & part] = max(step, 1)
    nearest = np.full(relations.cells, farthest, dtype=np.int64)
    np.minimum.at(nearest, relations.cell, steps)
    return np.array(rule.distance, dtype=np.float64)[nearest - 1]


def _reader_bounds(
    system: TableSystem,
    demands: Sequence[Demands],
    asked: Mapping[str, Any],
    knowledge: Knowledge | None,
    **reader: Any,
) -> dict[str, Any]:
    """What attackers know of each cell beforehand, and the levels that this leaves.

    Protection levels end at what every reader knows: nobody can be made to think that it is wrong.
    Shares that nobody stated give way to what is left of them; stated knowledge, also cell by cell,
    never does.
    """
    value, shares = system.value, knowledge or Knowledge()
    least, most = _certain(system, demands, asked["state"], shares, **reader)
    below, above = _room(system, asked, least, most)
    lower, upper = np.minimum(asked["lower"], below), np.minimum(asked["upper"], above)
    sliding = np.minimum(asked["sliding"], below + above)
    low, high = shares.bounds(value)
    if knowledge is None:
        if not shares.signed(value):
            high[value == 0] = int(value.max(initial=0))
        low = np.minimum(low, value - lower)
        high = np.maximum(np.maximum(high, value + upper), np.maximum(low, least) + sliding)
        times = int(np.abs(system.relations.coef).max(initial=1))
        if times > 1:  # levels of units are so many times as large in their parts
            high = np.maximum(high, value + times * int(max(upper.max(), sliding.max())))
    told_low = _stated_bounds(system, [demand.low for demand in demands], np.maximum)
    told_high = _stated_bounds(system, [demand.high for demand in demands], np.minimum)
    low = np.where(np.isfinite(told_low), told_low, low).astype(np.int64)
    high = np.where(np.isfinite(told_high), told_high, high).astype(np.int64)
    levels = {"lower": lower, "upper": upper, "sliding": sliding}
    return {"low": np.maximum(low, least), "high": np.minimum(high, most), **levels}


def _certain(
    system: TableSystem,
    demands: Sequence[Demands],
    state: Any,
    shares: Knowledge,
    *,
    zeros: KnownZeros,
    one: int,
    reasons: str,
) -> tuple[IntArray, IntArray]:
    """What every reader knows of hidden cells: no less than, and no more than.

    `one` is the smallest number above 0 that can be published, in units.

    Who sees zeros printed knows that a hidden cell is none, unless some sensitive one is. Who
    knows the rule of minimum frequency knows that sensitive counts are below its number; and,
    told which cells are sensitive, that the others are not. None of this excludes a true value.
    """
    value, primary = system.value, state == CellState.primary
    signed = shares.signed(value)
    hidden_zero = ((value == 0) & (state != CellState.fixed) & ~system.between).any()
    ones = zeros == "fixed" and not signed and not hidden_zero
    least = np.full(len(value), one if ones else -UNBOUNDED if signed else 0, np.int64)
    least[system.between] = -UNBOUNDED if signed else 0  # nobody sees where these are zero
    stated = _stated_bounds(system, [demand.at_most for demand in demands], np.minimum)
    bounded = primary & np.isfinite(stated) & shares.rules
    most = np.where(bounded, stated, UNBOUNDED).astype(np.int64)
    if reasons != "none" and shares.rules:
        spared = _stated_bounds(system, [demand.at_least for demand in demands], np.maximum)
        applies = ~bounded if reasons == "rule" else ~primary
        applies &= np.isfinite(spared)
        least[applies] = np.maximum(least[applies], spared[applies].astype(np.int64))
    return np.minimum(least, value), np.maximum(most, value)


def _room(
    system: TableSystem, asked: Mapping[str, Any], least: IntArray, most: IntArray
) -> tuple[IntArray, IntArray]:
    """How far below and above its value readers can think each cell, were all but zeros hidden.

    A total of two cells that are 1 at least is 2 at least. What must be published for other
    reasons does not count: a cell that it opens is refused.
    """
    value = system.value
    below, above = value - least, most - value
    hidden = (asked["state"] != CellState.fixed) | (value != 0)
    levels = max(int(asked[name].max(initial=0)) for name in LEVELS)
    # So far is as good as any distance, and sums of such numbers are exact.
    far = 4 * int(np.abs(value).max(initial=0)) + 2 * levels + 1
    links, cells = system.relations.among(hidden)
    widest = int(np.diff(links.start).max(initial=0))
    if not value.size or not levels or far * widest > 2**52:
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
    system: TableSystem, bounds: Sequence[FloatArray], tighter: np.ufunc
) -> FloatArray:
    """Bounds given by hand, the tightest of each cell; infinite where there are none."""
    loose = -np.inf if tighter is np.maximum else np.inf
    stated_bounds = np.full(len(system.value), loose)
    for cells, bound in zip(system.cells, bounds, strict=True):
        there = np.isfinite(bound) & (cells >= 0)
        tighter.at(stated_bounds, cells[there], np.rint(bound[there]))
    return stated_bounds
