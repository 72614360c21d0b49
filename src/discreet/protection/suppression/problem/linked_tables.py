"""`build_problem`: one problem for one table or several linked ones. CONFIDENTIAL.

In: tables, what primary rules found in them, what was published before. Out: a
`SuppressionProblem` over all their cells, each of them once, and `TableCells`, which says
which cells of which table a cell of the problem stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.changed_values import (
    NO_CHANGES,
    ChangedCells,
    changes_note,
    with_changed_apart,
    with_changes_known,
)
from discreet.protection.suppression.problem.demands import (
    CombinedCells,
    Demands,
    Earlier,
    PrimaryFindings,
    costs_of,
    merged_demands,
)
from discreet.protection.suppression.problem.equal_cells import (
    LinkedCells,
    VariableCode,
    linked_cells,
    stacked_relations,
    with_equal_cells_merged,
)
from discreet.protection.suppression.problem.parameters import Cost, Knowledge, Reader
from discreet.protection.suppression.problem.reader_bounds import bounds_of
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    Relations,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.table_relations import (
    additive_values,
    refuse_cells,
    shared_values,
    table_relations,
    units_of,
)
from discreet.tables import Table


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableCells(Confidential):
    """Where the cells of tables stand in a problem (confidential).

    Several cells of tables are one cell of a problem if they are the same cell of
    linked tables, or a total and its only part.
    """

    names: tuple[str, ...]  # names of the tables, in the order given
    #: Per table, the problem cell of each of its cells; -1 for empty ones, which take no part
    cells: tuple[IntArray, ...]
    #: Per table, the values of its cells in units, as the problem has them
    values: tuple[IntArray, ...]
    #: Per table, by how many units these differ from the values given; rounding, or repairs that
    #: were asked for
    differences: tuple[IntArray, ...]
    name: Callable[[int], str]  # gives the name of a problem cell
    notes: tuple[str, ...] = ()  # what users should know about how the problem was built, in words
    #: Per table published before, the problem cell of each of its cells
    before: tuple[IntArray, ...] = ()
    #: Cells that had another value when they were published before
    changed: ChangedCells = NO_CHANGES

    def __len__(self) -> int:
        return len(self.cells)

    def hidden(self, pattern: BoolArray, table: int = 0) -> BoolArray:
        """Which cells of one table, numbered from 0, a pattern over the problem hides."""
        if not 0 <= table < len(self.cells):
            raise SuppressionError(f"there is no table {table}", code="members")
        cells = self.cells[table]
        if not pattern.size:
            return np.zeros(len(cells), dtype=np.bool_)
        return np.where(cells >= 0, pattern[np.maximum(cells, 0)], False)

    def gathered(self, masks: tuple[BoolArray, ...], problem_cells: int) -> BoolArray:
        """Problem cells of which a cell is marked in any table; the way back."""
        marked = np.zeros(problem_cells, dtype=np.bool_)
        for cells, mask in zip(self.cells, masks, strict=True):
            marked[cells[mask & (cells >= 0)]] = True
        return marked

    def numbers(self, columns: tuple[IntArray, ...], problem_cells: int) -> IntArray:
        """One number for each problem cell, such as its respondents; the largest of its cells."""
        largest = np.zeros(problem_cells, dtype=np.int64)
        for cells, column in zip(self.cells, columns, strict=True):
            there = cells >= 0
            np.maximum.at(largest, cells[there], column[there])
        return largest


#: A table with what primary rules found in it.
ProblemSource = tuple[Table, PrimaryFindings | BoolArray | None]

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
    zero_cells: Literal["fixed", "partners"] = "fixed",
    earlier: Sequence[Earlier] = (),
    same: Mapping[VariableCode, VariableCode] | None = None,
    repair: bool = False,
    reasons: Literal["rule", "kind", "none"] = "none",
    title: str = "",
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
            one unless given. What every reader knows is added, see `Reader`.
        zero_cells: Whether cells of value 0 that have records may be hidden to protect
            others ("partners") or stay published ("fixed"); of counts, all stored ones.
        earlier: Tables published before: their cells stay published or hidden; those whose
            values have changed since are cells of their own, hidden again if that is cheap.
        same: Codes that mean the same as a code of another variable.
        repair: Add up totals anew that are no sum of their parts.
        reasons: What is told of hidden cells besides: the "rule", the "kind", or "none".
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
    _check_options(zero_cells, decimals)
    options: dict[str, Any] = {"decimals": decimals, "cost": cost, "knowledge": knowledge}
    options |= {"zero_cells": zero_cells, "repair": repair, "title": title, "same": same}
    options["reasons"] = reasons
    problem, members = joint_problem(_sources(tables, value), earlier, value=value, **options)
    problem = with_changes_known(problem, members.changed)
    problem.check()
    return problem, members


def joint_problem(
    sources: Sequence[ProblemSource],
    earlier: Sequence[Earlier],
    *,
    value: str | None,
    decimals: int,
    cost: str | Cost,
    knowledge: Knowledge | None,
    same: Mapping[VariableCode, VariableCode] | None,
    zero_cells: Literal["fixed", "partners"] = "fixed",
    repair: bool = False,
    reasons: Literal["rule", "kind", "none"] = "none",
    title: str = "",
) -> tuple[SuppressionProblem, TableCells]:
    """The same, unchecked, and without what attackers think of values that have changed."""
    listed = [table for table, _ in sources] + [before.table for before in earlier]
    units = 10**decimals
    demands = [Demands.of(primary, table, units) for table, primary in sources]
    demands += [Demands.before(before, units) for before in earlier]
    shares = [before.change for before in earlier]
    empty = value in COUNTS and (
        zero_cells == "partners"
        or any(
            bool((demand.secondary & (table.count == 0)).any())
            for demand, table in zip(demands, listed, strict=True)
        )
    )
    how: dict[str, Any] = {"repair": repair, "shares": shares, "empty": empty}
    system = _system(listed, value, decimals, same, **how)
    merged = merged_demands(system, demands, zero_cells)
    costs, coarser = costs_of(Cost.read(cost), system, demands, listed, merged)
    reader = reader_of(value, decimals, zero_cells, reasons)
    bounds = bounds_of(system, demands, merged, knowledge, reader)
    problem = SuppressionProblem(
        value=system.value, cost=costs, state=merged.state, **vars(bounds),
        relations=system.relations, decimals=decimals, name=system.names,
        title=title or listed[0].name,
    )  # fmt: skip
    levels = ("lower", "upper", "sliding")
    cut = np.any([getattr(problem, name) != getattr(merged, name) for name in levels], axis=0)
    judged = any(np.isfinite(demand.at_most).any() for demand in demands)
    notes = [_SHARES.format((knowledge or Knowledge()).share_text)]
    notes += reader_notes(reader, problem, judged=judged)
    notes += [*_notes(int(cut.sum()), coarser=coarser), *changes_note(system.changed)]
    return problem, _members(system, listed[: len(sources)], notes)


def reader_of(
    value: str | None,
    decimals: int,
    zero_cells: Literal["fixed", "partners"],
    reasons: Literal["rule", "kind", "none"],
) -> Reader:
    """Who reads tables of a value that are published so."""
    one = 10**decimals if value is None else 1
    return Reader(zero_cells=zero_cells, reasons=reasons, one=one, counts=value in COUNTS)


def _check_options(zero_cells: str, decimals: int) -> None:
    if zero_cells not in ("fixed", "partners"):
        raise SuppressionError("zero_cells is fixed or partners", code="zero-cells")
    if not 0 <= decimals <= _MOST_DECIMALS:
        raise SuppressionError("decimals lie between 0 and 9", code="decimals")


_SHARES = "attackers are taken to know of each value that it lies {}"


def _notes(cut: int, *, coarser: bool) -> list[str]:
    """What was changed, in words."""
    notes = []
    if coarser:
        notes.append("costs were made coarser to stay exact in sums")
    if cut:
        message = "sensitive cells have protection levels that end at what readers know"
        notes.append(f"{cut:,} {message}")
    return notes


def reader_notes(reader: Reader, problem: SuppressionProblem, *, judged: bool) -> list[str]:
    """What readers are taken to know of hidden cells, in words."""
    hidden = problem.state != CellState.fixed
    notes = []
    if hidden.any() and int(problem.low[hidden].min()) >= reader.one:
        notes.append("readers are taken to know that hidden cells are not zero: zeros are shown")
    elif reader.zero_cells == "partners":
        notes.append("readers are taken to know that zeros may be hidden too")
    if judged:
        message = "to know the number of a minimum frequency, below which sensitive counts lie"
        reasons = "" if reader.reasons == "none" else ", and from the reasons which those are"
        notes.append(f"readers are taken {message}{reasons}")
    return notes


def _sources(tables: Any, value: str | None) -> list[ProblemSource]:
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


# -- cells, values and relations ----------------------------------------------


def _system(
    tables: Sequence[Table],
    value: str | None,
    decimals: int,
    same: Mapping[VariableCode, VariableCode] | None,
    *,
    repair: bool,
    shares: Sequence[float | None],
    empty: bool,
) -> CombinedCells:
    """The cells of tables of now and, with what is thought of changes, of earlier ones.

    Cells without records take part only if `empty` ones are stored to do so.
    """
    units = [units_of(table, value, decimals) for table in tables]
    occupied = [
        (table.count != 0) | (own != 0) | empty for table, own in zip(tables, units, strict=True)
    ]
    rounding = 0 if value is None else 1
    linked, changed = with_changed_apart(
        linked_cells(tables, same), units, len(tables) - len(shares), shares, rounding
    )
    relations = _relations(tables, units, occupied, linked, rounding)
    how: dict[str, Any] = {"rounding": rounding, "repair": repair, "names": linked.names}
    shared = shared_values(linked.number, linked.cells, units, **how)
    summed, relations, repaired = additive_values(relations, shared, **how)
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
        anew = int((summed != shared)[used].sum())
        notes.append(f"{anew:,} totals were added up anew in published decimals")
    if repaired:
        notes.append(f"{repaired:,} totals were no sum of their parts and were put right")
    return CombinedCells(
        cells=final,
        given=units,
        value=summed[kept],
        relations=relations,
        totals=totals,
        names=linked.names.of(kept),
        notes=notes,
        changed=changed.renumbered(numbers),
    )


def _relations(
    tables: Sequence[Table],
    units: Sequence[IntArray],
    occupied: Sequence[BoolArray],
    linked: LinkedCells,
    rounding: int,
) -> Relations:
    blocks = []
    lone: list[int] = []
    for table, own, there, cells in zip(tables, units, occupied, linked.cells, strict=True):
        relations, without = table_relations(table, there)
        blocks.append((relations, cells[there]))
        lone += cells[there][without & (np.abs(own[there]) > rounding)].tolist()
    message = "the total has a value, but none of its parts is there"
    hint = "hand in the parts, or leave out their level everywhere"
    refuse_cells(lone, linked.names, message, "additivity", hint)
    return stacked_relations(linked.number, blocks)


def _numbered(relations: Relations, used: BoolArray) -> tuple[IntArray, Relations, IntArray]:
    """Fold, and number the cells that take part.

    Returns:
        The new number of each cell (-1: none), the relations, and for each new cell one
        of the old ones, the finest.
    """
    numbers, relations = with_equal_cells_merged(relations)
    kept = np.zeros(relations.cells, dtype=np.bool_)
    kept[numbers[used]] = True
    fresh = np.where(kept, np.cumsum(kept) - 1, -1)
    result = np.where(used, fresh[numbers], -1)
    size = int(kept.sum())
    finest = np.zeros(size, dtype=np.int64)
    finest[result[used]] = np.flatnonzero(used)
    return result, relations.renumbered(fresh, size), finest


def _members(system: CombinedCells, tables: Sequence[Table], notes: Sequence[str]) -> TableCells:
    number = len(tables)
    values = [
        np.where(cells >= 0, system.value[np.maximum(cells, 0)], 0) if system.value.size else own
        for cells, own in zip(system.cells[:number], system.given, strict=False)
    ]
    return TableCells(
        names=tuple(table.name for table in tables),
        cells=tuple(system.cells[:number]),
        values=tuple(values),
        differences=tuple(now - own for now, own in zip(values, system.given, strict=False)),
        name=system.names,
        notes=(*system.notes, *notes),
        before=tuple(system.cells[number:]),
        changed=system.changed,
    )
