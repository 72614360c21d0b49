"""`TableSystem`: the cells of tables of now and before as one system. CONFIDENTIAL.

Each cell of all tables stands in it once, with its value in whole units and all relations; values
that have changed since they were published are cells of their own. What rounding leaves over stands
in relations. Messages name cells, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure.named_cells import (
    CellNamer,
    LinkedCells,
    VariableCode,
    linked_cells,
    refuse_cells,
    table_relations,
)
from discreet.disclosure.relations import (
    Relations,
    stacked_relations,
    tidied_relations,
    with_equal_cells_merged,
)
from discreet.disclosure.verdicts import Gap
from discreet.errors import SuppressionError
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.disclosure.cells import CellSystem
    from discreet.disclosure.partitions import Partitions
    from discreet.disclosure.units import UnitSystem


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChangedCells(Confidential):
    """Cells with a value now and another one before (confidential)."""

    now: IntArray  # the cell with the value of now
    before: IntArray  # the cell with the value of before
    #: By which share of it attackers think that the value changed at most; NaN for any change
    share: FloatArray

    def __len__(self) -> int:
        return len(self.now)

    def renumbered(self, numbers: IntArray) -> ChangedCells:
        """A copy with other cell numbers; cells without a number are left out."""
        now, before = numbers[self.now], numbers[self.before]
        kept = (now >= 0) & (before >= 0) & (now != before)
        return ChangedCells(now=now[kept], before=before[kept], share=self.share[kept])

    def notes(self) -> list[str]:
        """Findings and assumptions in words, without values."""
        if not len(self):
            return []
        shares = np.unique(self.share[np.isfinite(self.share)]).tolist()
        known = " or ".join(f"{share:.0%}" for share in shares)
        thought = f"intruders are assumed to expect changes of up to {known}"
        free = "intruders are assumed to expect changes of any size"
        return [
            f"{len(self):,} values differ from those published before; their earlier suppressions "
            f"are cheap, and {thought if known else free}"
        ]


#: All values are those published before, or nothing was.
NO_CHANGES = ChangedCells(
    now=np.zeros(0, dtype=np.int64), before=np.zeros(0, dtype=np.int64), share=np.zeros(0)
)


def with_changed_apart(
    linked: LinkedCells,
    given: Sequence[IntArray],
    current: int,
    shares: Sequence[float | None],
    rounding: int,
    others: Mapping[int, BoolArray] = MappingProxyType({}),
) -> tuple[LinkedCells, ChangedCells]:
    """Cells of earlier tables with other values than now as cells of their own.

    The first `current` tables are those of now; `shares` belong to the others. Equal
    cells of two earlier tables that changed alike stay one cell. `others` says of some tables
    which cells have other records than now: so do equal values of theirs.
    """
    value = np.zeros(linked.number, dtype=np.int64)
    known = np.zeros(linked.number, dtype=np.bool_)
    changes = []
    for table, (own, units) in enumerate(zip(linked.cells, given, strict=True)):
        there = known[own]
        if table >= current:
            off = np.where(there, np.abs(units - value[own]), 0)
            other = there & others.get(table, False)
            # What differs by rounding is the same to all, unless others really changed.
            apart = off > 0 if (off > rounding).any() else off > rounding
            at = np.flatnonzero(apart | other)
            thought = shares[table - current]
            most = np.nan if thought is None else thought
            guesses = np.where((off[at] > rounding) | other[at], most, 0.0)
            changes.append((np.full(at.size, table), at, own[at], units[at], guesses))
        value[own[~there]], known[own] = units[~there], True
    if not any(at.size for _, at, *_ in changes):
        return linked, NO_CHANGES
    where, place, now, then, share = (np.concatenate(part) for part in zip(*changes, strict=True))
    pairs, first, number = np.unique(
        np.stack([now, then]), axis=1, return_index=True, return_inverse=True
    )
    number = number.reshape(-1) + linked.number
    least = np.full(pairs.shape[1], np.nan)
    np.fmin.at(least, number - linked.number, share)
    cells = [own.copy() for own in linked.cells]
    for table in np.unique(where).tolist():
        cells[table][place[where == table]] = number[where == table]
    every = np.concatenate([np.arange(linked.number), pairs[0]]).astype(np.int64)
    grown = LinkedCells(
        number=len(every),
        cells=tuple(cells),
        totals=linked.totals[every],
        names=linked.names.of(every, np.arange(len(every)) >= linked.number),
        filters=linked.filters[every],
    )
    return grown, ChangedCells(now=now[first], before=number[first], share=least)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableSystem(Confidential):
    """The cells of all tables as cells of a problem (confidential)."""

    cells: list[IntArray]  # per table, the problem cell of each of its cells; -1 for empty ones
    given: list[IntArray]  # per table, its values in units
    value: IntArray  # value of each problem cell in units
    relations: Relations  # the relations among them
    totals: IntArray  # for each, in how many variables it is no finest code
    names: Callable[[int], str]  # their names
    notes: list[str]  # what happened to values, in words
    changed: ChangedCells  # those that had another value when they were published before
    between: BoolArray  # cells that no table has, now or before: they stand between those of tables

    @classmethod
    def of(
        cls,
        tables: Sequence[Table],
        value: str | None,
        decimals: int,
        same: Mapping[VariableCode, VariableCode] | None,
        *,
        repair: bool,
        shares: Sequence[float | None],
        others: Mapping[int, BoolArray],
        empty: bool,
        rows: CellSystem | UnitSystem | None,
    ) -> TableSystem:
        """The cells of tables of now and, with what is thought of changes, of earlier ones.

        Cells without records take part only if `empty` ones are stored to do so, and readers do not
        know that they are empty.
        """
        units = [units_of(table, value, decimals) for table in tables]
        published = len(tables) - (0 if rows is None else len(rows.nobody))
        occupied = [
            (table.count != 0) | (own != 0) | (empty or at >= published)
            for at, (table, own) in enumerate(zip(tables, units, strict=True))
        ]
        if rows is not None:
            for there, own in zip(occupied, rows.possible, strict=False):
                there &= own
        rounding = 0 if value is None else 1
        linked, changed = with_changed_apart(
            linked_cells(tables, same), units, len(tables) - len(shares), shares, rounding, others
        )
        blocks = []
        lone: list[int] = []
        for table, whole, there, cells in zip(tables, units, occupied, linked.cells, strict=True):
            links, without = table_relations(table, there)
            blocks.append((links, cells[there]))
            lone += cells[there][without & (np.abs(whole[there]) > rounding)].tolist()
        message = "the total has a value, but none of its parts is there"
        hint = "supply the parts, or leave out their level everywhere"
        refuse_cells(lone, linked.names, message, "additivity", hint)
        relations = stacked_relations(linked.number, blocks)
        how: dict[str, Any] = {"rounding": rounding, "repair": repair, "names": linked.names}
        shared = shared_values(linked.number, linked.cells, units, **how)
        summed, relations, repaired = additive_values(relations, shared, **how)
        if rows is not None:
            relations = with_rows(relations, rows, linked.cells, occupied, summed)
        used = np.zeros(linked.number, dtype=np.bool_)
        for cells, there in zip(linked.cells, occupied, strict=True):
            used[cells[there]] = True
        # A total and its single part become one cell; those that take part are numbered anew.
        merged, relations = with_equal_cells_merged(relations)
        taken = np.zeros(relations.cells, dtype=np.bool_)
        taken[merged[used]] = True
        fresh = np.where(taken, np.cumsum(taken) - 1, -1)
        numbers, size = np.where(used, fresh[merged], -1), int(taken.sum())
        finest = np.zeros(size, dtype=np.int64)
        finest[numbers[used]] = np.flatnonzero(used)
        final = [np.where(numbers[cells] >= 0, numbers[cells], -1) for cells in linked.cells]
        totals = np.full(size, np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(totals, numbers[used], linked.totals[used])
        between = np.ones(size, dtype=np.bool_)
        for cells in final[:published]:
            between[cells[cells >= 0]] = False
        notes = []
        if int(used.sum()) > size:
            notes.append(f"{int(used.sum()) - size:,} totals of a single part count as that part")
        if anew := int((summed != shared)[used].sum()):
            notes.append(f"{anew:,} totals were recalculated in published decimals")
        if repaired:
            notes.append(f"{repaired:,} totals did not add up and were corrected")
        return cls(
            cells=final, given=units, value=summed[finest],
            relations=relations.renumbered(fresh, size), totals=totals,
            names=linked.names.of(finest), notes=notes,
            changed=changed.renumbered(numbers), between=between,
        )  # fmt: skip


def with_rows(
    relations: Relations,
    rows: CellSystem | UnitSystem,
    cells: Sequence[IntArray],
    occupied: Sequence[BoolArray],
    value: IntArray,
) -> Relations:
    """The relations with rows across tables; what rounding leaves over stands in the row."""
    across = rows.relations
    if not len(across):
        return relations
    there = np.concatenate(list(occupied))[across.cell]
    entries = np.concatenate(list(cells))[across.cell[there]], across.coef[there]
    links = Relations.of_entries(relations.cells, len(across), across.row[there], *entries)
    links = tidied_relations(links)
    return tidied_relations(relations.joined(replace(links, rhs=links.residuals(value))))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableCells(Confidential):
    """Positions of the cells of tables in a problem (confidential).

    Several cells of tables are one cell of a problem if they are the same cell of
    linked tables, or a total and its only part.
    """

    #: Per table, the problem cell of each of its cells; -1 for empty ones, which take no part
    cells: tuple[IntArray, ...]
    #: Per table, the values of its cells in units, as the problem has them
    values: tuple[IntArray, ...]
    notes: tuple[str, ...] = ()  # what users should know about how the problem was built, in words
    #: Per table published before, the problem cell of each of its cells
    before: tuple[IntArray, ...] = ()
    #: Cells that had another value when they were published before
    changed: ChangedCells = NO_CHANGES
    unexamined: tuple[Gap, ...] = ()  # what ties between the tables were not looked for
    #: Per table of now and then before, what its records say; None if that is what names say
    partitions: tuple[Partitions | None, ...] = ()

    def __len__(self) -> int:
        return len(self.cells)

    def hidden(self, pattern: BoolArray, table: int = 0) -> BoolArray:
        """Which cells of one table, numbered from 0, a pattern over the problem hides."""
        cells = self.cells[table]
        if not pattern.size:
            return np.zeros(len(cells), dtype=np.bool_)
        return np.where(cells >= 0, pattern[np.maximum(cells, 0)], False)

    def gathered(self, masks: Sequence[BoolArray], problem_cells: int) -> BoolArray:
        """Problem cells of which a cell is marked in any table, of now or before as well."""
        marked = np.zeros(problem_cells, dtype=np.bool_)
        for cells, mask in zip((*self.cells, *self.before), masks, strict=False):
            marked[cells[mask & (cells >= 0)]] = True
        return marked

    def listed(self, problem_cells: int) -> BoolArray:
        """Problem cells that stand in a table of now or before; others stand between them."""
        return self.gathered([cells >= 0 for cells in (*self.cells, *self.before)], problem_cells)

    def numbers(self, columns: Sequence[IntArray], problem_cells: int) -> IntArray:
        """One number for each problem cell, such as its respondents; the largest of its cells."""
        largest = np.zeros(problem_cells, dtype=np.int64)
        for cells, column in zip(self.cells, columns, strict=True):
            there = cells >= 0
            np.maximum.at(largest, cells[there], column[there])
        return largest


def rows_across(
    tables: Sequence[Table], records: Any, others: Collection[int] = (), *, counts: bool = True
) -> tuple[CellSystem | UnitSystem | None, tuple[Gap, ...]]:
    """Relations across tables beyond names, and gaps.

    `others` are the numbers of tables whose cells had other records when they were published.
    """
    alone = len(tables) < 2 and all(len(own.classifications) < 2 for own in tables[0].dimensions)
    if alone and (records is None or (tables[0].count != 0).all()):
        return None, ()
    from discreet.disclosure.cells import CellSystem, unexamined_by_name
    from discreet.disclosure.partitions import Partitions
    from discreet.disclosure.units import LinkedRecords

    if isinstance(records, LinkedRecords):
        linked = records.system(tables, others, counts=counts)
        return linked, linked.unexamined
    if records is None or len({table.unit for table in tables}) > 1:
        return None, unexamined_by_name(tables)
    partitions = records if isinstance(records, Partitions) else Partitions(records, tables)
    rows = CellSystem(partitions, tables, others)
    return rows, rows.unexamined


_LARGEST = 2.0**53


def units_of(table: Table, value: str | None, decimals: int) -> IntArray:
    """The values of a table in whole units of the last published decimal."""
    if value is None:
        units: IntArray = table.count * 10**decimals
        return units
    column = table.weight if value == "weight" else table.sums.get(value)
    if column is None:
        frame = ", ".join([*table.sums, *(["weight"] if table.weight is not None else [])])
        message = f"the table has no sums of {value!r}"
        hint = f"found: {frame}" if frame else f"tabulate with values=[{value!r}]"
        raise SuppressionError(message, code="missing-value", where=table.name, hint=hint)
    whole = np.rint(column * float(10**decimals))
    if not np.isfinite(whole).all() or (np.abs(whole) >= _LARGEST).any():
        message = "values are too large, or not numbers, for so many decimals"
        hint = "publish fewer decimals, or values in thousands"
        raise SuppressionError(message, code="values", where=f"{table.name}, {value}", hint=hint)
    return whole.astype(np.int64)


def recomputed_totals(relations: Relations, value: IntArray) -> IntArray:
    """Values with every total added up anew from its parts, finest first.

    Rows have one total (coefficient -1) and parts (1); a total of several takes the first.

    >>> links = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> recomputed_totals(links, np.array([6, 2, 3]))
    array([5, 2, 3])
    """
    result = value.copy()
    if not len(relations):
        return result
    totals, part = relations.totals, relations.coef >= 0
    first = np.full(relations.cells, -1, dtype=np.int64)
    rows = np.flatnonzero(totals >= 0)[::-1]
    first[totals[rows]] = rows
    for _ in range(len(relations) + 1):
        sums = np.zeros(len(relations), dtype=np.int64)
        np.add.at(sums, relations.row[part], result[relations.cell[part]])
        changed = np.where(first >= 0, sums[first] - relations.rhs[first], result)
        if np.array_equal(changed, result):
            return result
        result = changed
    raise SuppressionError(
        "totals and parts refer to each other in a circle", code="relations", where="relations"
    )


def shared_values(
    number: int,
    cells: Sequence[IntArray],
    values: Sequence[IntArray],
    *,
    rounding: int,
    repair: bool,
    names: CellNamer,
) -> IntArray:
    """One value for each cell; tables that share it must agree, but for rounding."""
    cell, value = np.concatenate(list(cells)), np.concatenate(list(values))
    repeated, first = np.unique(cell, return_index=True)
    shared = np.zeros(number, dtype=np.int64)
    shared[repeated] = value[first]
    apart = np.unique(cell[np.abs(value - shared[cell]) > rounding])
    if not repair:
        message = "tables give this cell different values"
        hint = "make them from the same records, or ask for the repair of values"
        refuse_cells(apart, names, message, "contradiction", hint)
    return shared


def additive_values(
    relations: Relations, value: IntArray, *, rounding: int, repair: bool, names: CellNamer
) -> tuple[IntArray, Relations, int]:
    """Whole values that fit the relations, these, and how many totals were put right.

    Totals are added up anew from their parts. Where linked tables add one total up from parts
    that were rounded apart, the small rest stands in the relation. `rounding` is 1 if the
    values given were rounded to units, 0 if they are exact; put right, with `repair`, are
    totals that are farther from the sum of their parts.
    """
    off = 2 * np.abs(relations.residuals(value)) > rounding * np.diff(relations.start)
    totals = relations.totals.copy()
    lacking = np.flatnonzero((totals < 0) & (np.diff(relations.start) > 0))
    totals[lacking] = relations.cell[relations.start[lacking]]
    wrong = np.unique(totals[off])
    hint = "correct the cells, or recalculate the totals (repair=True)"
    if not repair:
        refuse_cells(wrong, names, "the parts do not add up to the total", "additivity", hint)
    if not relations.residuals(value).any():
        return value, relations, 0
    result = recomputed_totals(relations, value)
    rest = relations.residuals(result)
    spread = recomputed_totals(relations, np.ones(len(value), dtype=np.int64))
    allowed = np.zeros(len(relations), dtype=np.int64)
    np.add.at(allowed, relations.row, rounding * np.abs(relations.coef) * spread[relations.cell])
    message = "the total is the sum of different parts, and these sums differ"
    hint = "correct the cells: recalculation cannot decide which parts are right"
    refuse_cells(
        np.unique(totals[2 * np.abs(rest) > allowed]), names, message, "contradiction", hint
    )
    return result, replace(relations, rhs=rest), len(wrong)
