"""Values that add up to others, such as home and foreign turnover, as one problem. CONFIDENTIAL.

In each cell that has all values of a relation, stated or found in records or cells, these add up.
Who knows a relation works out one of its values from the others; alone, the problem of each value
is blind to that. What a relation leaves open is a cell of nobody, with bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from discreet.arrays import FloatArray, IntArray, starts
from discreet.confidential import Confidential
from discreet.disclosure import (
    ABSENT,
    EMPTY,
    UNBOUNDED,
    Knowledge,
    LinkedCells,
    Relations,
    TableCells,
    ValueColumn,
    ValueRows,
    VariableCode,
    linked_cells,
    recomputed_totals,
    tidied_relations,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import (
    COLUMNS,
    LEVELS,
    CellState,
    Demands,
    Earlier,
    SuppressionProblem,
    columns_between,
)
from discreet.protection.suppression.settings import InsiderAim
from discreet.tables import (
    COUNT,
    NEAR,
    Table,
    ValueRelation,
)


class SharedOptions(TypedDict, total=False):
    """Options of both `suppress` and `audit`; see there."""

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


#: Costs above these would not be exact in sums.
_DEAREST = 2**40


@dataclass(kw_only=True, repr=False, eq=False)
class ValueCells(Confidential):
    """One value over all its tables, with its own problem (confidential)."""

    value: str | None  # the value column; None for counts
    problem: SuppressionProblem  # all its cells
    members: TableCells  # which cells of the tables they stand for
    tables: tuple[Table, ...]  # the tables, those published before last
    current: bool = True  # whether any of them is published now

    @property
    def name(self) -> str:
        """Name of the value in relations."""
        return COUNT if self.value is None else self.value

    @property
    def cells(self) -> tuple[IntArray, ...]:
        """Per table, the problem cell of each of its cells."""
        return (*self.members.cells, *self.members.before)

    @property
    def unit(self) -> float:
        """The unit to which its values are rounded; 0 for numbers of records, which are exact."""
        return 0.0 if self.value is None else 10.0**-self.problem.decimals


class RelatedValues(ValueRows):
    """Several values with the problem of each, and the relations between them. CONFIDENTIAL."""

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
        self._costs_in_units = costs_in_units
        self.values = {value.name: value for value in values}
        tables = {id(table): table for value in values for table in value.tables}
        linked = linked_cells(list(tables.values()), same)
        numbers = dict(zip(tables, linked.cells, strict=True))
        columns = {value.name: _column_of(value, numbers, linked) for value in values}
        super().__init__(columns, linked, tables.values(), stated, records, within=related_within)

    # -- one problem ---------------------------------------------------------------

    def joined(self, names: Sequence[str]) -> tuple[SuppressionProblem, TableCells]:
        """One problem of some of the values: what hangs together by relations."""
        own = [self.values[name] for name in names]
        decimals = max(item.problem.decimals for item in own)
        scales = [10 ** (decimals - item.problem.decimals) for item in own]
        first = starts([len(item.problem) for item in own])
        size = int(first[-1])
        finer = [
            scaled_columns(item.problem, scale, item.name, costs_in_units=self._costs_in_units)
            for item, scale in zip(own, scales, strict=True)
        ]
        columns = {name: np.concatenate([part[name] for part in finer]) for name in COLUMNS}
        links = Relations.of(size, [])
        for piece, at, scale in zip(own, first, scales, strict=False):
            block = piece.problem.relations.renumbered(np.arange(len(piece.problem)) + at, size)
            links = links.joined(replace(block, rhs=block.rhs * scale))
        offsets = dict(zip(names, first.tolist(), strict=False))
        between: list[str] = []
        for relation in self.relations:
            if not set(relation.values) <= set(names):
                continue
            for now in (True, False):
                every = {name: self.columns[name] for name in relation.values}
                cells = {n: c.cell if now else c.before for n, c in every.items()}
                true = {n: c.true if now else c.told for n, c in every.items()}
                there = self._there(relation.values)
                there &= relation.within(true, self._room(relation, true))
                there &= self.found.get(relation, there)
                places = np.stack([np.where(there, cells[n], -1) for n, _ in relation.coefs])
                which, at = np.nonzero(places >= 0)
                rows, row = np.unique(at, return_inverse=True)
                shift, factor = np.array([(offsets[n], own) for n, own in relation.coefs]).T
                cell, size = places[which, at] + shift[which], len(columns["value"])
                more = Relations.of_entries(size, rows.size, row, cell, factor[which])
                # What rounding leaves over stands on the right-hand side.
                more = replace(more, rhs=more.residuals(columns["value"]))
                if not relation.exact:
                    room = self._room(relation, true)[rows] * 10**decimals
                    more = _with_room(more, room, columns)
                    between += [
                        f"{relation.text}: {self._linked.names(at)}" for at in rows.tolist()
                    ]
                links = links.renumbered(np.arange(links.cells), more.cells).joined(more)

        def named(at: int) -> str:  # with its value: ``turnover: region=01``
            number = int(np.searchsorted(first, at, side="right")) - 1
            if number == len(own):
                return between[at - int(first[-1])]
            return f"{own[number].name}: {own[number].problem.name(at - int(first[number]))}"

        problem = SuppressionProblem(
            **columns,
            relations=tidied_relations(links),
            decimals=decimals,
            name=named,
            title=own[0].problem.title,
        )
        notes = dict.fromkeys(note for item in own for note in item.members.notes)
        return problem, TableCells(
            cells=tuple(
                np.where(cells >= 0, cells + at, -1)
                for piece, at in zip(own, first.tolist(), strict=False)
                for cells in piece.members.cells
            ),
            values=tuple(part for item in own for part in item.members.values),
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


def _column_of(
    part: ValueCells, numbers: Mapping[int, IntArray], linked: LinkedCells
) -> ValueColumn:
    """One value of all linked cells; what was published before adds up too."""
    (cell, true), (before, told) = (
        _cells_of(part, numbers, linked, early) for early in (False, True)
    )
    own = np.zeros(linked.number, dtype=np.bool_)
    for table in part.tables[: len(part.members.cells)] if part.current else ():
        own[numbers[id(table)]] = True
    links = part.problem.relations
    finest = np.ones(len(part.problem), dtype=np.int64)
    with suppress(SuppressionError):  # totals in a circle: no rounding adds up
        plain = replace(links, rhs=np.zeros(len(links), dtype=np.int64))
        finest = recomputed_totals(plain, finest)
    parts = np.ones(len(cell))  # of how many finest cells each is the sum; 1 where it is not there
    parts[cell >= 0] = np.maximum(finest[cell[cell >= 0]], 1)
    return ValueColumn(
        unit=part.unit, cell=cell, true=true, before=before, told=told, own=own, parts=parts
    )


def _cells_of(
    part: ValueCells, numbers: Mapping[int, IntArray], linked: LinkedCells, early: bool
) -> tuple[IntArray, FloatArray]:
    """For each linked cell that of one value's problem, or why there is none; its true value.

    Where tables of now and earlier ones have the cell, `early` says which of them count.
    """
    cell = np.full(linked.number, ABSENT, dtype=np.int64)
    true = np.full(linked.number, np.nan)
    pairs = list(zip(part.tables, part.cells, strict=True))
    split = len(part.members.cells)
    ordered = [*pairs[:split], *pairs[split:]] if early else [*pairs[split:], *pairs[:split]]
    for table, own in ordered:
        at = numbers[id(table)]
        cell[at] = np.maximum(own, EMPTY)
        column: Any = table.count
        if part.value is not None:
            column = table.weight if part.value == "weight" else table.sums[part.value]
        true[at] = column
    return cell, true


def scaled_columns(
    problem: SuppressionProblem, scale: int, name: str, *, costs_in_units: bool
) -> dict[str, Any]:
    """The columns of the problem of a value in a unit that is so many times as fine."""
    if scale > 1 and float(np.abs(problem.value).max(initial=0)) * scale >= UNBOUNDED:
        message = "values that add up differ too much in size and decimals"
        hint = "publish fewer decimals, or all of them with the same number"
        raise SuppressionError(message, code="values", where=name, hint=hint)
    dear = int(problem.cost.max(initial=0)) * scale > _DEAREST
    columns = {name: getattr(problem, name) for name in COLUMNS}
    for name in ("value", *LEVELS, *(["cost"] if costs_in_units and not dear else [])):
        columns[name] = columns[name] * scale
    # What has no level must not be known to the last digit that is published.
    bare = (problem.lower == 0) & (problem.upper == 0) & (problem.sliding == 0)
    columns["sliding"][bare & (problem.state == CellState.primary) & (scale > 1)] = 1
    far = UNBOUNDED // scale
    for name in ("low", "high"):
        bound = columns[name]
        exact = np.clip(bound, -far, far) * scale
        columns[name] = np.where(np.abs(bound) > far, np.sign(bound) * UNBOUNDED, exact)
    return columns


def stated_relations(stated: Sequence[str | ValueRelation]) -> list[ValueRelation]:
    """Relations as they are given: as texts, or read already."""
    texts = [stated] if isinstance(stated, str) else stated
    return [text if isinstance(text, ValueRelation) else ValueRelation.read(text) for text in texts]


def unpublished_values(
    published: Sequence[tuple[Table, str | None]], stated: Sequence[ValueRelation]
) -> dict[int, dict[str | None, Any]]:
    """Unpublished values in the relations, by identity of the table."""
    names = {COUNT if value is None else value for _, value in published}
    values: dict[int, dict[str | None, Any]] = {}
    for relation in stated:
        for name in set(relation.values) - names:
            value = None if name == COUNT else name
            for table, other in published:
                own = values.setdefault(id(table), {})
                if (COUNT if other is None else other) in relation.values and value not in own:
                    own[value] = Demands.of_nobody(value, table)
    return values
