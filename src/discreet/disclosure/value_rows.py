"""`ValueRows`: which values of cells add up to others, such as home and foreign turnover.

In each cell that has all values of a relation, stated or found in records or cells, these add up.
CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure.named_cells import LinkedCells, refuse_cells
from discreet.disclosure.verdicts import Gap
from discreet.tables import (
    COUNT,
    NEAR,
    Table,
    ValueRelation,
    found_relations,
    independent,
    near_relations,
    pairs_apart,
)

#: A value that has no such cell, and one that has it empty.
ABSENT, EMPTY = -2, -1


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ValueColumn(Confidential):
    """One value of all linked cells (confidential)."""

    unit: float  # the unit to which it is rounded; 0 for numbers of records, which are exact
    cell: IntArray  # the number of each cell among those of the value, or why there is none
    true: FloatArray  # its true value
    before: IntArray  # the same as `cell` for what was published before
    told: FloatArray  # its value then
    own: BoolArray  # which cells stand in tables of now
    parts: FloatArray  # of how many finest cells each is the sum; 1 where it is not there


class ValueRows(Confidential):
    """Several values cell by cell, and the relations between them (confidential).

    Args:
        columns: The values by name.
        linked: The cells.
        tables: The tables that have them.
        stated: Relations that are stated; they must hold, but for rounding.
        records: What the tables were counted from.
        within: How near values may be to a multiple of each other to count as such; None: not
            looked for.
    """

    def __init__(
        self,
        columns: Mapping[str, ValueColumn],
        linked: LinkedCells,
        tables: Iterable[Table],
        stated: Sequence[ValueRelation] = (),
        records: Any = None,
        within: float | None = NEAR,
    ) -> None:
        self.columns, self._linked, self._near = dict(columns), linked, within
        self.true = {name: column.true for name, column in self.columns.items()}
        self.stated = [item for item in stated if set(item.values) <= set(self.columns)]
        self._records = np.zeros(linked.number)  # of each cell, or their weight
        for table, cells in zip(tables, linked.cells, strict=True):
            for number in (table.count, *([] if table.weight is None else [table.weight])):
                np.maximum.at(self._records, cells, np.asarray(number, dtype=np.float64))
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
        return tuple(value for value in self.columns if value in known)

    def notes(self, names: Sequence[str]) -> list[str]:
        """Notes for users on relations among some values."""
        own = [relation for relation in self.relations if set(relation.values) <= set(names)]
        return [
            f"{item.text}{'' if item in self.stated else ' holds in the data and'} "
            "is known to readers"
            for item in own
        ]

    def _there(self, names: Sequence[str]) -> BoolArray:
        there: BoolArray = np.all([self.columns[name].cell > ABSENT for name in names], axis=0)
        return there

    def _room(self, relation: ValueRelation, true: Mapping[str, FloatArray]) -> FloatArray:
        """Per cell, by how much it may miss a relation: totals may be sums of rounded parts."""
        room = relation.room(true, self._records)
        for name, factor in relation.coefs:
            room += abs(factor) * self.columns[name].unit / 2 * self.columns[name].parts
        return room

    def _check(self) -> None:
        """Refuse stated relations that do not hold in the data, but for rounding."""
        for item in self.stated:
            wrong = self._there(item.values) & ~self._holding(item)
            wrong &= np.all([self.columns[name].own for name in item.values], axis=0)
            message = f"the relation {item.text} does not hold in this cell"
            hint = "correct the relation or the values; it may miss no more than rounding does"
            refuse_cells(np.flatnonzero(wrong), self._linked.names, message, "relations", hint)

    def _look(self, records: Any) -> dict[ValueRelation, BoolArray]:
        """The relations that hold in the records; and in cells, by filter and values these have.

        Where cells are few, more hold in them than anybody knows; what does cannot be told.
        """
        names = list(self.columns)
        units = {name: own.unit for name, own in self.columns.items()}
        masks = {item: self._holding(item) for item in self._of_records(records)}
        having = np.stack([self.columns[name].cell > ABSENT for name in names], axis=1)
        groups = np.unique(np.column_stack([self._linked.filters, having.astype(np.int32)]), axis=0)
        for filtered, *pattern in sorted(groups.tolist(), key=lambda group: -sum(group[1:])):
            own = [name for name, there in zip(names, pattern, strict=True) if there]
            if len(own) < 2:
                continue
            group = self._there(own) & (self._linked.filters == filtered)
            columns = {name: self.columns[name].true[group] for name in own}
            parts = np.max([self.columns[name].parts[group] for name in own], axis=0)
            found = found_relations(columns, units, parts)
            if records is None and self._near is not None:
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
        room = self._room(relation, self.true)
        return relation.within(self.true, room) & self._there(relation.values)

    def _of_records(self, records: Any) -> list[ValueRelation]:
        """The relations of value columns that hold in all records."""
        if records is None or self._near is None:
            return []
        from discreet.disclosure.units import sources_of
        from discreet.tabulation import column_relations

        columns = [name for name in self.columns if name not in (COUNT, "weight")]
        counted = next((name for name in ("weight", COUNT) if name in self.columns), None)
        found = []
        for source in sources_of(records):
            known = set(source.collect_schema().names())
            own = [name for name in columns if name in known]
            for item in column_relations(source, own, count=counted, share=self._near):
                relation = item if set(item.values) <= set(self.columns) else item.without_count()
                if len(relation.values) > 1:
                    found.append(relation)
        return found
