"""Values that add up to others, such as home and foreign turnover, as one problem. CONFIDENTIAL.

In: the problem of each value over its tables, and relations between the values, as stated or
as found in the cells. Out: one problem of all their cells – in each cell that has all values
of a relation these add up – and where the cells of the tables stand in it. Who knows a
relation works out one of its values from the others; alone, each problem is blind to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.equal_cells import (
    LinkedCells,
    VariableCode,
    linked_cells,
    tidied_relations,
)
from discreet.protection.suppression.problem.linked_tables import TableCells
from discreet.protection.suppression.problem.system import (
    UNBOUNDED,
    CellState,
    Confidential,
    Relations,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.table_relations import (
    recomputed_totals,
    refuse_cells,
)
from discreet.tables import Table, ValueRelation, found_relations, independent

#: A value that has no such cell, and one that has it empty.
_ABSENT, _EMPTY = -2, -1
#: What counts are called in relations.
COUNT = "count"
#: Costs above these would not be exact in sums.
_DEAREST = 2**40
#: Unpublished values are thought to be at most so many times as large as the largest.
_FAR = 16.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ValueCells(Confidential):
    """One value over all its tables, with its own problem (confidential)."""

    value: str | None  # the value column; None for counts
    problem: SuppressionProblem  # all its cells
    members: TableCells  # which cells of the tables they stand for
    tables: tuple[Table, ...]  # the tables, those published before last
    current: bool = True  # whether any of them is published now

    @property
    def name(self) -> str:
        """What relations call it."""
        return COUNT if self.value is None else self.value

    @property
    def cells(self) -> tuple[IntArray, ...]:
        """Per table, the problem cell of each of its cells."""
        return (*self.members.cells, *self.members.before)

    @property
    def unit(self) -> float:
        """The unit to which its values are rounded; 0 for numbers of records, which are exact."""
        return 0.0 if self.value is None else 10.0**-self.problem.decimals


class RelatedValues:
    """Several values cell by cell, and the relations between them. CONFIDENTIAL."""

    def __init__(
        self,
        values: Sequence[ValueCells],
        stated: Sequence[ValueRelation] = (),
        same: Mapping[VariableCode, VariableCode] | None = None,
        *,
        costs_in_units: bool = True,
    ) -> None:
        self._costs_in_units = costs_in_units
        self.values = {value.name: value for value in values}
        tables = {id(table): table for value in values for table in value.tables}
        self._linked = linked_cells(list(tables.values()), same)
        numbers = dict(zip(tables, self._linked.cells, strict=True))
        now, before = (
            [_cells_of(value, numbers, self._linked, early) for value in values]
            for early in (False, True)
        )
        self._cell = {value.name: cell for value, (cell, _) in zip(values, now, strict=True)}
        self._true = {value.name: true for value, (_, true) in zip(values, now, strict=True)}
        # What was published before adds up too, also where it has changed since.
        self._before = {value.name: cell for value, (cell, _) in zip(values, before, strict=True)}
        self._told = {value.name: true for value, (_, true) in zip(values, before, strict=True)}
        self._own = {value.name: _of_sources(value, numbers, self._linked) for value in values}
        self._parts = {
            value.name: _number_of_parts(value, self._cell[value.name]) for value in values
        }
        self.stated = [item for item in stated if set(item.values) <= set(self.values)]
        self._check()
        #: Relation → the cells it holds for, for those that were found.
        self.found: dict[ValueRelation, BoolArray] = self._look()

    @property
    def relations(self) -> tuple[ValueRelation, ...]:
        """All relations, stated and found, that some cell has all values of."""
        every = (*self.stated, *self.found)
        return tuple(item for item in every if self._there(item.values).any())

    def related_to(self, name: str) -> tuple[str, ...]:
        """The values that hang together with one of them by relations, itself included."""
        known = {name}
        while True:
            more = {
                n
                for relation in self.relations
                if known & {*relation.values}
                for n in relation.values
            }
            if more <= known:
                return tuple(value for value in self.values if value in known)
            known |= more

    def notes(self, names: Sequence[str]) -> list[str]:
        """What users should know of the relations among some values."""
        own = [relation for relation in self.relations if set(relation.values) <= set(names)]
        return [
            f"{item.text}{'' if item in self.stated else ' holds in the data and'} "
            "is known to attackers"
            for item in own
        ]

    def _there(self, names: Sequence[str]) -> BoolArray:
        """Which cells have all of these values."""
        there: BoolArray = np.all([self._cell[name] > _ABSENT for name in names], axis=0)
        return there

    def _room(self, relation: ValueRelation) -> FloatArray:
        """Per cell, what rounding may make of a relation: totals may be sums of rounded parts."""
        room = np.zeros(self._linked.number)
        for name, factor in relation.coefs:
            room += abs(factor) * self.values[name].unit / 2 * self._parts[name]
        return room

    def _check(self) -> None:
        """Refuse stated relations that do not hold in the data, but for rounding."""
        for item in self.stated:
            wrong = ~item.within(self._true, self._room(item)) & self._there(item.values)
            wrong &= np.all([self._own[name] for name in item.values], axis=0)
            message = f"the relation {item.text} does not hold in this cell"
            hint = "correct the relation or the values; it may miss no more than rounding does"
            refuse_cells(np.flatnonzero(wrong), self._linked.names, message, "relations", hint)

    def _look(self) -> dict[ValueRelation, BoolArray]:
        """The relations that hold in the cells, filter by filter and by the values they have."""
        names = list(self.values)
        units = {name: cells.unit for name, cells in self.values.items()}
        having = np.stack([self._cell[name] > _ABSENT for name in names], axis=1)
        groups = np.unique(np.column_stack([self._linked.filters, having.astype(np.int32)]), axis=0)
        masks: dict[ValueRelation, BoolArray] = {}
        for filtered, *pattern in sorted(groups.tolist(), key=lambda group: -sum(group[1:])):
            own = [name for name, there in zip(names, pattern, strict=True) if there]
            if len(own) < 2:
                continue
            group = self._there(own) & (self._linked.filters == filtered)
            columns = {name: self._true[name][group] for name in own}
            parts = np.max([self._parts[name][group] for name in own], axis=0)
            for relation in found_relations(columns, units, parts):
                there = self._there(relation.values)
                holds = relation.within(self._true, self._room(relation)) & there
                # Where it holds in all cells it is known; else where it was found.
                cells = there if holds[there].all() else group
                masks[relation] = masks.get(relation, np.zeros_like(there)) | cells
        news: dict[ValueRelation, BoolArray] = {}
        for relation, cells in masks.items():
            known = [*self.stated, *(old for old, there in news.items() if (cells <= there).all())]
            if independent([relation], known):
                news[relation] = cells
        return news

    # -- one problem ---------------------------------------------------------------

    def joined(self, names: Sequence[str]) -> tuple[SuppressionProblem, TableCells]:
        """One problem of some of the values: what hangs together by relations."""
        own = [self.values[name] for name in names]
        decimals = max(item.problem.decimals for item in own)
        scales = [10 ** (decimals - item.problem.decimals) for item in own]
        first = starts([len(item.problem) for item in own])
        size = int(first[-1])
        columns = _stacked_columns(own, scales, self._costs_in_units)
        links = Relations.of(size, [])
        for piece, at, scale in zip(own, first, scales, strict=False):
            block = piece.problem.relations.renumbered(np.arange(len(piece.problem)) + at, size)
            links = links.joined(replace(block, rhs=block.rhs * scale))
        offsets = dict(zip(names, first.tolist(), strict=False))
        for relation in self.relations:
            if set(relation.values) <= set(names):
                for cells, true in ((self._cell, self._true), (self._before, self._told)):
                    rows = self._rows(relation, cells, true)
                    links = links.joined(_entries(relation, rows, cells, offsets, columns["value"]))
        problem = SuppressionProblem(
            **columns,
            relations=tidied_relations(links),
            decimals=decimals,
            name=_ValueNames(own, first),
            title=own[0].problem.title,
        )
        notes = dict.fromkeys(note for item in own for note in item.members.notes)
        return problem, TableCells(
            names=tuple(name for item in own for name in item.members.names),
            cells=tuple(
                np.where(cells >= 0, cells + at, -1)
                for piece, at in zip(own, first.tolist(), strict=False)
                for cells in piece.members.cells
            ),
            values=tuple(part for item in own for part in item.members.values),
            differences=tuple(part for item in own for part in item.members.differences),
            name=problem.name,
            notes=(*notes, *self.notes(names)),
        )

    def _rows(
        self,
        relation: ValueRelation,
        cells: Mapping[str, IntArray],
        true: Mapping[str, FloatArray],
    ) -> IntArray:
        """The cells in which a relation ties values together."""
        there = self._there(relation.values) & relation.within(true, self._room(relation))
        if relation in self.found:
            there &= self.found[relation]
        return np.flatnonzero(
            there & np.any([cells[name] >= 0 for name in relation.values], axis=0)
        )


def _entries(
    relation: ValueRelation,
    rows: IntArray,
    places: Mapping[str, IntArray],
    offsets: Mapping[str, int],
    value: IntArray,
) -> Relations:
    """A relation cell by cell; what rounding leaves over stands on the right-hand side."""
    cells, coefs = [], []
    for name, factor in relation.coefs:
        cell = places[name][rows]
        cells.append(np.where(cell >= 0, cell + offsets[name], -1))
        coefs.append(np.full(rows.size, factor, dtype=np.int64))
    cell, coef = np.stack(cells, axis=1), np.stack(coefs, axis=1)
    known = cell >= 0
    links = Relations(
        cells=len(value),
        start=starts(known.sum(axis=1)),
        cell=cell[known].astype(np.int32),
        coef=coef[known],
        rhs=np.zeros(rows.size, dtype=np.int64),
    )
    return replace(links, rhs=links.residuals(value))


def _cells_of(
    part: ValueCells, numbers: Mapping[int, IntArray], linked: LinkedCells, early: bool
) -> tuple[IntArray, FloatArray]:
    """For each linked cell that of one value's problem, or why there is none; its true value.

    Where tables of now and earlier ones have the cell, `early` says which of them count.
    """
    cell = np.full(linked.number, _ABSENT, dtype=np.int64)
    true = np.full(linked.number, np.nan)
    pairs = list(zip(part.tables, part.cells, strict=True))
    split = len(part.members.cells)
    ordered = [*pairs[:split], *pairs[split:]] if early else [*pairs[split:], *pairs[:split]]
    for table, own in ordered:
        at = numbers[id(table)]
        cell[at] = np.maximum(own, _EMPTY)
        column: Any = table.count
        if part.value is not None:
            column = table.weight if part.value == "weight" else table.sums[part.value]
        true[at] = column
    return cell, true


def _of_sources(
    part: ValueCells, numbers: Mapping[int, IntArray], linked: LinkedCells
) -> BoolArray:
    """Which linked cells one value has in tables of now."""
    own = np.zeros(linked.number, dtype=np.bool_)
    for table in part.tables[: len(part.members.cells)] if part.current else ():
        own[numbers[id(table)]] = True
    return own


def _number_of_parts(part: ValueCells, cell: IntArray) -> FloatArray:
    """For each linked cell, of how many finest cells it is the sum; 1 where it is not there."""
    links = part.problem.relations
    plain = replace(links, rhs=np.zeros(len(links), dtype=np.int64))
    parts = np.ones(len(part.problem), dtype=np.int64)
    with suppress(SuppressionError):  # totals in a circle: no rounding adds up
        parts = recomputed_totals(plain, parts)
    numbers = np.ones(len(cell))
    numbers[cell >= 0] = np.maximum(parts[cell[cell >= 0]], 1)
    return numbers


def _stacked_columns(
    own: Sequence[ValueCells], scales: Sequence[int], costs_in_units: bool
) -> dict[str, Any]:
    """The columns of all problems in one unit, one after the other."""
    columns: dict[str, list[IntArray]] = {}
    for part, scale in zip(own, scales, strict=True):
        problem = part.problem
        if scale > 1 and float(np.abs(problem.value).max(initial=0)) * scale >= UNBOUNDED:
            message = "values that add up differ too much in size and decimals"
            hint = "publish fewer decimals, or all of them with the same number"
            raise SuppressionError(message, code="values", where=part.name, hint=hint)
        dear = int(problem.cost.max(initial=0)) * scale > _DEAREST
        sliding = problem.sliding.copy()
        # What has no level must not be known to the last digit that is published.
        bare = (problem.lower == 0) & (problem.upper == 0) & (sliding == 0)
        sliding[bare & (problem.state == CellState.primary) & (scale > 1)] = 1
        scaled: dict[str, Any] = {
            "value": problem.value * scale,
            "cost": problem.cost * (scale if costs_in_units and not dear else 1),
            "lower": problem.lower * scale,
            "upper": problem.upper * scale,
            "sliding": sliding * scale,
            "state": problem.state,
        }
        for name in ("low", "high"):
            bound = np.clip(
                getattr(problem, name).astype(np.float64) * scale, -UNBOUNDED, UNBOUNDED
            )
            exact = np.abs(bound) < UNBOUNDED
            scaled[name] = np.where(
                exact, getattr(problem, name) * np.where(exact, scale, 1), bound.astype(np.int64)
            )
        for name, column in scaled.items():
            columns.setdefault(name, []).append(column)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def stated_relations(stated: Sequence[str | ValueRelation]) -> list[ValueRelation]:
    """Relations as they are given: as texts, or read already."""
    texts = [stated] if isinstance(stated, str) else stated
    return [text if isinstance(text, ValueRelation) else ValueRelation.read(text) for text in texts]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class UnpublishedValue(Confidential):
    """What primary rules find in a value that no table publishes: every cell is hidden."""

    value: str | None
    sensitive: BoolArray
    secondary: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    cost: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, value: str | None, table: Table) -> UnpublishedValue:
        """The value in a table: attackers know its sign, if it has one, and nothing else."""
        if value is not None and value not in table.sums:
            message = f"a relation names {value!r}, which the table does not have"
            hint = f"tabulate with values=[…, {value!r}]: who knows the relation knows of it"
            raise SuppressionError(message, code="relations", where=table.name, hint=hint)
        column = np.asarray(table.count if value is None else table.sums[value], dtype=np.float64)
        nothing = np.zeros(len(table))
        most = np.full(len(table), _FAR * max(1.0, float(np.abs(column).max(initial=0.0))))
        return cls(
            value=value,
            sensitive=np.zeros(len(table), dtype=np.bool_),
            secondary=np.ones(len(table), dtype=np.bool_),
            lower=nothing,
            upper=nothing,
            sliding=nothing,
            cost=nothing,
            low=-most if (column < 0).any() else nothing,
            high=most,
        )


def unpublished_values(
    published: Sequence[tuple[Table, str | None]], stated: Sequence[ValueRelation]
) -> dict[int, dict[str | None, Any]]:
    """What else the relations are about: by identity of the table, values that none publishes."""
    names = {COUNT if value is None else value for _, value in published}
    values: dict[int, dict[str | None, Any]] = {}
    for relation in stated:
        for name in set(relation.values) - names:
            value = None if name == COUNT else name
            for table, other in published:
                own = values.setdefault(id(table), {})
                if (COUNT if other is None else other) in relation.values and value not in own:
                    own[value] = UnpublishedValue.of(value, table)
    return values


class _ValueNames:
    """Names of cells, each with its value: ``turnover: region=01``."""

    def __init__(self, values: Sequence[ValueCells], first: IntArray) -> None:
        self._values, self._first = tuple(values), first

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        number = int(np.searchsorted(self._first, at, side="right")) - 1
        own = self._values[number]
        return f"{own.name}: {own.problem.name(at - int(self._first[number]))}"
