"""Values that add up to others, such as home and foreign turnover, as one problem. CONFIDENTIAL.

In each cell that has all values of a relation, stated or found in records or cells, these add up.
Who knows a relation works out one of its values from the others; alone, the problem of each value
is blind to that. What a relation leaves open is a cell of nobody, with bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.confidential import Confidential
from discreet.disclosure import (
    UNBOUNDED,
    Gap,
    Knowledge,
    LinkedCells,
    Relations,
    TableCells,
    VariableCode,
    linked_cells,
    recomputed_totals,
    refuse_cells,
    tidied_relations,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.demands import Earlier, StatedFindings
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    columns_between,
)
from discreet.protection.suppression.settings import InsiderAim
from discreet.tables import (
    COUNT,
    NEAR,
    Table,
    ValueRelation,
    found_relations,
    independent,
)


class SharedOptions(TypedDict, total=False):
    """What `suppress` and `audit` can both be told; see there."""

    value: str | None
    decimals: int
    knowledge: Knowledge | None
    same: Mapping[VariableCode, VariableCode] | None
    relations: Sequence[str | ValueRelation]
    repair: bool
    insiders: InsiderAim | None
    earlier: Sequence[Earlier]
    accept: Sequence[str]
    records: Any
    related_within: float | None


#: A value that has no such cell, and one that has it empty.
_ABSENT, _EMPTY = -2, -1
#: Costs above these would not be exact in sums.
_DEAREST = 2**40


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
        records: Any = None,
        related_within: float | None = NEAR,
    ) -> None:
        self._costs_in_units, self._near = costs_in_units, related_within
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
        self._records = _records_of(tables.values(), self._linked)
        self._check()
        #: What was not looked for.
        self.unexamined: list[Gap] = []
        #: Relation → the cells it holds for, for those that were found.
        self.found: dict[ValueRelation, BoolArray] = self._look(records)

    @property
    def relations(self) -> tuple[ValueRelation, ...]:
        """All relations, stated and found, that some cell has all values of."""
        every = (*self.stated, *self.found)
        return tuple(item for item in every if self._there(item.values).any())

    def related_to(self, name: str) -> tuple[str, ...]:
        """The values that hang together with one of them by relations, itself included."""
        known, news = set[str](), {name}
        while news - known:
            known |= news
            news = {n for each in self.relations if known & {*each.values} for n in each.values}
        return tuple(value for value in self.values if value in known)

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

    def _room(self, relation: ValueRelation, true: Mapping[str, FloatArray]) -> FloatArray:
        """Per cell, by how much it may miss a relation: totals may be sums of rounded parts."""
        room = relation.room(true, self._records)
        for name, factor in relation.coefs:
            room += abs(factor) * self.values[name].unit / 2 * self._parts[name]
        return room

    def _check(self) -> None:
        """Refuse stated relations that do not hold in the data, but for rounding."""
        for item in self.stated:
            wrong = self._there(item.values) & ~self._holding(item)
            wrong &= np.all([self._own[name] for name in item.values], axis=0)
            message = f"the relation {item.text} does not hold in this cell"
            hint = "correct the relation or the values; it may miss no more than rounding does"
            refuse_cells(np.flatnonzero(wrong), self._linked.names, message, "relations", hint)

    def _look(self, records: Any) -> dict[ValueRelation, BoolArray]:
        """The relations that hold in the records; and in cells, by filter and values these have.

        Where cells are few, more hold in them than anybody knows; what does cannot be told.
        """
        names = list(self.values)
        units = {name: cells.unit for name, cells in self.values.items()}
        masks = {item: self._holding(item) for item in self._of_records(records)}
        having = np.stack([self._cell[name] > _ABSENT for name in names], axis=1)
        groups = np.unique(np.column_stack([self._linked.filters, having.astype(np.int32)]), axis=0)
        for filtered, *pattern in sorted(groups.tolist(), key=lambda group: -sum(group[1:])):
            own = [name for name, there in zip(names, pattern, strict=True) if there]
            if len(own) < 2:
                continue
            group = self._there(own) & (self._linked.filters == filtered)
            columns = {name: self._true[name][group] for name in own}
            parts = np.max([self._parts[name][group] for name in own], axis=0)
            found = found_relations(columns, units, parts)
            if records is None and self._near is not None:
                from discreet.tables import near_relations, pairs_apart

                found += pairs_apart(near_relations(columns, self._near, rounded=False), found)
                if int(group.sum()) < len(own):
                    self.unexamined.append(Gap("values", ", ".join(own), len(own)))
            for relation in found:
                there, holds = self._there(relation.values), self._holding(relation)
                # Where it holds in all cells it is known; else where it was found.
                cells = there if holds[there].all() else group
                masks[relation] = masks.get(relation, np.zeros_like(there)) | cells
        news: dict[ValueRelation, BoolArray] = {}
        for relation, cells in masks.items():
            known = [*self.stated, *(old for old, there in news.items() if (cells <= there).all())]
            if relation in known:
                continue
            exact = [item for item in known if item.exact]
            if not relation.exact or independent([relation], exact):
                news[relation] = cells
        return news

    def _holding(self, relation: ValueRelation) -> BoolArray:
        """The cells with all values of a relation in which it holds, but for rounding."""
        room = self._room(relation, self._true)
        return relation.within(self._true, room) & self._there(relation.values)

    def _of_records(self, records: Any) -> list[ValueRelation]:
        """The relations of value columns that hold in all records."""
        if records is None or self._near is None:
            return []
        from discreet.disclosure import sources_of
        from discreet.tabulation import column_relations

        columns = [name for name in self.values if name not in (COUNT, "weight")]
        counted = next((name for name in ("weight", COUNT) if name in self.values), None)
        found = []
        for source in sources_of(records):
            known = set(source.collect_schema().names())
            own = [name for name in columns if name in known]
            for item in column_relations(source, own, count=counted, share=self._near):
                relation = item if set(item.values) <= set(self.values) else item.without_count()
                if len(relation.values) > 1:
                    found.append(relation)
        return found

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
        between: list[str] = []
        for relation in self.relations:
            if not set(relation.values) <= set(names):
                continue
            for cells, true in ((self._cell, self._true), (self._before, self._told)):
                there = self._there(relation.values)
                there &= relation.within(true, self._room(relation, true))
                there &= self.found.get(relation, there)
                having = np.any([cells[name] >= 0 for name in relation.values], axis=0)
                rows = np.flatnonzero(there & having)
                places = {name: cells[name][rows] for name, _ in relation.coefs}
                more = Relations.of_entries(
                    len(columns["value"]),
                    rows.size,
                    np.concatenate([np.flatnonzero(own >= 0) for own in places.values()]),
                    np.concatenate([own[own >= 0] + offsets[n] for n, own in places.items()]),
                    np.concatenate(
                        [np.full((places[n] >= 0).sum(), factor) for n, factor in relation.coefs]
                    ),
                )
                # What rounding leaves over stands on the right-hand side.
                more = replace(more, rhs=more.residuals(columns["value"]))
                if not relation.exact:
                    room = self._room(relation, true)[rows] * 10**decimals
                    more = _with_room(more, room, columns)
                    between += [
                        f"{relation.text}: {self._linked.names(at)}" for at in rows.tolist()
                    ]
                links = links.renumbered(np.arange(links.cells), more.cells).joined(more)
        problem = SuppressionProblem(
            **columns,
            relations=tidied_relations(links),
            decimals=decimals,
            name=_value_names(own, first, between),
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
            unexamined=tuple(
                dict.fromkeys(
                    [*(gap for item in own for gap in item.members.unexamined), *self.unexamined]
                )
            ),
            partitions=tuple(
                known
                for item in own
                for known in item.members.partitions[: len(item.members.cells)]
            ),
        )


def _with_room(links: Relations, room: FloatArray, columns: dict[str, Any]) -> Relations:
    """The relations with a cell of nobody in each, which says by how much it is missed.

    Puts these cells at the end of the columns of a problem.
    """
    missed, number = links.rhs, len(links)
    most = np.maximum(np.floor(np.minimum(room, UNBOUNDED)).astype(np.int64), np.abs(missed))
    for name, column in columns_between(missed, -most, most).items():
        columns[name] = np.concatenate([columns[name], column])
    own = np.arange(number)
    return Relations.of_entries(
        links.cells + number,
        number,
        np.concatenate([links.row, own]),
        np.concatenate([links.cell, links.cells + own]),
        np.concatenate([links.coef, np.full(number, -1)]),
    )


def _records_of(tables: Iterable[Table], linked: LinkedCells) -> FloatArray:
    """How many records each linked cell has, or their weight."""
    records = np.zeros(linked.number)
    for table, cells in zip(tables, linked.cells, strict=True):
        np.maximum.at(records, cells, table.count.astype(np.float64))
        if table.weight is not None:
            np.maximum.at(records, cells, np.asarray(table.weight, dtype=np.float64))
    return records


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
                    own[value] = StatedFindings.of_nobody(value, table)
    return values


def _value_names(
    values: Sequence[ValueCells], first: IntArray, between: Sequence[str]
) -> Callable[[int], str]:
    """Names of cells, each with its value: ``turnover: region=01``."""

    def named(at: int) -> str:
        number = int(np.searchsorted(first, at, side="right")) - 1
        if number == len(values):
            return between[at - int(first[-1])]
        own = values[number]
        return f"{own.name}: {own.problem.name(at - int(first[number]))}"

    return named
