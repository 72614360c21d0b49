"""Cells of tables by the names of variables and codes: which are one, and which add up to which.

Cells at the same codes of all variables, those a table lacks at their total, under the same filter,
have one number. Every total is the sum of its parts, on every level. Cells that do not occur are
zeros that everyone knows and stand in no relation. Messages name cells, never values. CONFIDENTIAL.

`ValueRows`: in each cell that has all values of a relation, stated or found in records or cells,
such as home and foreign turnover, these add up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray, find_sorted
from discreet.confidential import Confidential
from discreet.disclosure.relations import Relations
from discreet.disclosure.verdicts import Gap
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.tables import (
    COUNT,
    NEAR,
    Dimension,
    ProtectedTable,
    Table,
    ValueRelation,
    found_relations,
    independent,
    near_relations,
    pairs_apart,
    within,
)

#: A code of a variable.
VariableCode: TypeAlias = tuple[str, str]

CellNamer: TypeAlias = Callable[[int], str]

_TERM = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[\w.]+))\s*==\s*"
    r"(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*"
)

_AND = re.compile(r"and\b")

_SHOWN = 20


def refuse_cells(
    cells: Sequence[int] | IntArray, names: CellNamer, what: str, code: str, hint: str
) -> None:
    """Raise one error that names all the cells, if there are any."""
    problems = [Problem(what, names(int(at)), hint) for at in cells]
    many = "{:,} cells: " + what.replace("{", "{{").replace("}", "}}")
    raise_all(SuppressionError, problems, code=code, many=many, where="", most=_SHOWN)


class CellNames:
    """Gives cells names for messages: ``region=01, sex=m``; totals are left out.

    A variable is its name and the codes that all tables together use, the total first.
    """

    def __init__(
        self,
        variables: Sequence[tuple[str, Sequence[str]]],
        codes: Sequence[PositionArray],
        filters: Sequence[tuple[str, str]],
        before: BoolArray | None = None,
    ) -> None:
        self._variables = tuple(variables)
        self._codes = tuple(codes)
        self._filters = tuple(filters)
        self._before = before

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        places = [part[at] for part in self._codes]
        named = [
            f"{name}={codes[code]}"
            for (name, codes), code in zip(self._variables, places[1:], strict=True)
            if code > 0
        ]
        unit, where = self._filters[places[0]]
        whole = (f"{unit}: " if unit else "") + (", ".join(named) or "total")
        whole += f" where {where}" if where else ""
        then = self._before is not None and self._before[at]
        return f"{whole} (as published before)" if then else whole

    def of(self, cells: IntArray, before: BoolArray | None = None) -> CellNames:
        """The names of some of the cells, numbered anew; perhaps with values of `before`."""
        if before is None and self._before is not None:
            before = self._before[cells]
        codes = [part[cells] for part in self._codes]
        return CellNames(self._variables, codes, self._filters, before)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedCells(Confidential):
    """The cells of several tables, each of them once (confidential)."""

    number: int  # how many different cells there are
    cells: tuple[IntArray, ...]  # per table, the number of each of its cells
    totals: IntArray  # for each cell, in how many variables it is no finest code
    names: CellNames  # their names
    filters: PositionArray  # for each cell, which units it counts and which filter these pass


def linked_cells(
    tables: Sequence[Table], same: Mapping[VariableCode, VariableCode] | None = None
) -> LinkedCells:
    """Number the cells of tables so that cells in common have one number.

    Variables are told apart by name, codes by text, records by their unit. A filter that only
    picks single codes of variables, such as ``sex == 'm'``, is the same as these codes. `same` has
    codes that mean the same as codes of another variable:
    ``{("industry_new", "C"): ("industry_old", "A")}``.
    """
    variables = _variables(tables)
    rests, picked = _filters(tables)
    kinds = [(table.unit, rest) for table, rest in zip(tables, rests, strict=True)]
    filters = sorted(set(kinds))
    each = zip(tables, kinds, strict=True)
    columns = [
        np.concatenate([np.full(len(own), filters.index(rest), np.int32) for own, rest in each])
    ]
    for name, numbers in variables.items():
        parts = []
        for table, fixed in zip(tables, picked, strict=True):
            part = np.zeros(len(table), dtype=np.int32)
            for dimension, index in zip(table.dimensions, table.index, strict=True):
                if dimension.name == name:
                    part = np.array([numbers[code] for code in dimension.codes], np.int32)[index]
            if name in fixed:
                part = np.where(part == 0, np.int32(numbers[fixed[name]]), part)
            parts.append(part)
        columns.append(np.concatenate(parts))
    _translate(dict(zip(variables, columns[1:], strict=True)), variables, same or {})
    sizes = [len(filters), *map(len, variables.values())]
    keys, _ = CellIndex(tuple(sizes)).joined(columns)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.full(len(first), np.iinfo(np.int64).max, dtype=np.int64)
    cells = tuple(
        part.astype(np.int64)
        for part in np.split(number, np.cumsum([len(table) for table in tables])[:-1])
    )
    for table, own in zip(tables, cells, strict=True):
        above = np.zeros(len(table), dtype=np.int64)
        for dimension, part in zip(table.dimensions, table.index, strict=True):
            above += ~dimension.is_leaf[part]
        np.minimum.at(totals, own, above)
    named = [(name, tuple(codes)) for name, codes in variables.items()]
    return LinkedCells(
        number=len(first),
        cells=cells,
        totals=totals,
        names=CellNames(named, [part[first] for part in columns], filters),
        filters=columns[0][first],
    )


def _variables(tables: Sequence[Table]) -> dict[str, dict[str, int]]:
    """Every variable once, with the number of each code of all tables; that of totals is 0."""
    variables: dict[str, dict[str, int]] = {}
    problems = []
    for dimension in (own for table in tables for own in table.dimensions):
        known = variables.setdefault(dimension.name, {dimension.total: 0})
        total = next(iter(known))
        if dimension.total != total:
            message = f"the variable has two totals, {total!r} and {dimension.total!r}"
            hint = "give the classifications one total code, with with_total"
            problems.append(Problem(message, dimension.name, hint))
        for code in dimension.codes[1:]:
            known.setdefault(code, len(known))
    raise_all(SuppressionError, problems, code="totals")
    return variables


def _filters(tables: Sequence[Table]) -> tuple[list[str], list[dict[str, str]]]:
    """Per table what is left of its filter, and the codes that its filter picks."""
    #: Column of the records → the variable with its finest codes, and these
    columns = {
        tree.source: (dimension.name, frozenset(tree.leaves))
        for table in tables
        for dimension in table.dimensions
        for tree in dimension.classifications
        if tree.bounds is None and not (tree.level_columns and tree.column is None)
    }
    rests, picked = [], []
    for table in tables:
        fixed: dict[str, str] = {}
        left = []
        for column, code in _terms(table.where):
            name, leaves = columns.get(column, ("", frozenset()))
            if code in leaves and name not in fixed:
                fixed[name] = code
            else:
                left.append(f"{column} == {code!r}")
        plain = " ".join(table.where.split())
        rests.append(" and ".join(sorted(left)) if fixed or left else plain)
        picked.append(fixed)
    return rests, picked


def _terms(where: str) -> list[tuple[str, str]]:
    """Column and code of each condition, if the filter only asks for single codes."""
    terms, at = [], 0
    while match := _TERM.match(where, at):
        code = match["single"] if match["single"] is not None else match["double"]
        terms.append((match["quoted"] or match["plain"], code))
        if match.end() == len(where):
            return terms
        joint = _AND.match(where, match.end())
        if not joint:
            return []
        at = joint.end()
    return []


def _translate(
    columns: Mapping[str, PositionArray],
    variables: Mapping[str, Mapping[str, int]],
    same: Mapping[VariableCode, VariableCode],
) -> None:
    """Put codes that mean the same in the place of each other."""
    problems = [
        Problem(f"unknown code {code!r}", name)
        for pair in same.items()
        for name, code in pair
        if code not in variables.get(name, ())
    ]
    raise_all(SuppressionError, problems, code="same")
    for (name, code), (other, meant) in same.items():
        match = (columns[name] == variables[name][code]) & (columns[other] == 0)
        columns[name][match] = 0
        columns[other][match] = variables[other][meant]


def code_positions(
    known: Sequence[Dimension], dimensions: Sequence[Dimension], index: Sequence[Any]
) -> list[PositionArray]:
    """Per known variable, where the code of each cell stands in it; -1 for codes it lacks."""
    own = {each.name: (each.codes, part) for each, part in zip(dimensions, index, strict=False)}
    parts = []
    for dimension in known:
        codes, part = own[dimension.name]
        parts.append(np.array([dimension.index.get(c, -1) for c in codes], dtype=np.int32)[part])
    return parts


#: Dimensions, index and number of cells.
Cells: TypeAlias = tuple[Sequence[Dimension], Sequence[Any], int]


def places_in(known: Cells, wanted: Cells) -> IntArray:
    """Positions of wanted cells among known ones of the same variables, -1 for missing ones.

    Cells are given by their dimensions, their index and their number.
    """
    dimensions, index, stored = known
    parts = code_positions(dimensions, *wanted[:2])
    there = np.all([np.ones(wanted[2], dtype=np.bool_), *(part >= 0 for part in parts)], axis=0)
    places = [np.maximum(part, 0) for part in parts]
    found = CellIndex.of(dimensions).find(index, places, (stored, wanted[2]))
    return np.where(there, found, -1)


def figures_shown(
    published: ProtectedTable, table: Table, decimals: int
) -> tuple[IntArray, IntArray]:
    """Positions of the cells of a table in earlier publications, -1 for none; their units."""
    known = (published.dimensions, published.index, published.stored)
    place = places_in(known, (table.dimensions, table.index, len(table)))
    units = np.rint(published.value * 10.0**decimals).astype(np.int64)
    shown = np.zeros(len(table), dtype=np.int64)
    shown[place >= 0] = units[place[place >= 0]]
    return place, shown


def relations_of(dimensions: Sequence[Dimension], index: Sequence[PositionArray]) -> Relations:
    """The relations of one table: per variable, per parent code, per breakdown.

    A parent without children among the cells stands in no relation as a total; if it
    occurs, so does at least one child, unless the table lacks the part of the children.
    """
    size = len(index[0]) if index else 1
    grid = CellIndex.of(dimensions).require(error=SuppressionError)
    flat = grid.numbers(index, size)
    order = np.argsort(flat, kind="stable")
    known = flat[order]
    rows, cells, coefs = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    number = 0
    for dimension, part, stride in zip(dimensions, index, grid.strides, strict=True):
        child = np.flatnonzero(part > 0)
        code = part[child]
        parent = flat[child] + (dimension.parents[code].astype(np.int64) - code) * stride
        at = find_sorted(known, parent)
        present = at >= 0
        child, code, total = child[present], code[present], order[at[present]]
        breakdowns = len(dimension.classifications)
        groups, row = np.unique(total * breakdowns + dimension.breakdown[code], return_inverse=True)
        rows += [number + np.arange(groups.size), number + row]
        cells += [groups // breakdowns, child]
        coefs += [np.full(groups.size, -1), np.ones(child.size, dtype=np.int64)]
        number += groups.size
    entries = (np.concatenate(parts) for parts in (rows, cells, coefs))
    return Relations.of_entries(size, number, *entries)


def table_relations(table: Table, occupied: BoolArray) -> tuple[Relations, BoolArray]:
    """The relations among the occupied cells of a table, and which of these lack all their parts.

    Rows of totals whose parts the table does not have all stand for nothing and are left out.
    """
    index = [part[occupied] for part in table.index]
    size = int(occupied.sum())
    relations = relations_of(table.dimensions, index)
    total = relations.cell[relations.start[:-1]]
    child = relations.cell[relations.start[:-1] + 1]
    keep = np.zeros(len(relations), dtype=np.bool_)
    lone = np.zeros(size, dtype=np.bool_)
    for at, dimension in enumerate(table.dimensions):
        moving = index[at][total] != index[at][child]
        for breakdown in range(len(dimension.classifications)):
            whole = _has_parts(table, index, at, breakdown)
            own = moving & (dimension.breakdown[index[at][child]] == breakdown)
            keep |= own & whole[total]
            summed = np.zeros(size, dtype=np.bool_)
            summed[total[own]] = True
            lone |= whole & ~summed
    return relations.rows(keep), lone


def _has_parts(table: Table, index: Sequence[PositionArray], at: int, breakdown: int) -> BoolArray:
    """Which cells are totals along one variable all of whose parts the table can have."""
    dimension = table.dimensions[at]
    children = np.flatnonzero((dimension.breakdown == breakdown) & (dimension.parents >= 0))
    above = np.zeros(len(dimension), dtype=np.bool_)
    above[dimension.parents[children]] = True
    whole: BoolArray = above[index[at]]
    levels = dimension.level_numbers[children]
    for number in np.unique(levels).tolist() if table.parts is not None else ():
        own = children[levels == number]
        lower = [*index]
        lower[at] = np.full(len(whole), own[0], dtype=np.int32)  # on the level of these parts
        there = within(table.dimensions, lower, len(whole), table.parts)
        whole &= there | ~np.isin(index[at], dimension.parents[own])
    return whole


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
