"""`PartJudgement`: which tables decide whether parts of an answer are hidden (P7).

In: a canonical query and one of its measures. Out: tables of everybody, by variables and levels,
and which of their parts stands for which part of the answer. No table stands for itself alone:

- What a filter fixes is a variable at its level: a slice of a table is judged as the table is.
- What a key figure counts by a condition of its own is a cell of a table by the columns of that
  condition, and is judged as that is; where the condition names no variable, by its own counts.
- What an index compares with is looked at even where the table shows its total only.
- What adds up to codes of another classification of the same column is judged as that is, too.

Public: classifications and figures of the catalogue alone are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from discreet.arrays import BoolArray
from discreet.microdata.filters import parse_filter
from discreet.release.programme.schema import FigureEntry
from discreet_service.datasets import CatalogueUnit, CatalogueVariable
from discreet_service.queries.canonical import CanonicalQuery, SpanningCodes
from discreet_service.queries.measures import COUNT_MEASURE, Measure, figure_entries
from discreet_service.queries.related_levels import reached_levels

#: A variable that judges, and for each level of an answer, the level of it that stands for it.
_Axis = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class PartJudgement:
    """A table that judges the parts of an answer."""

    # Its variables: those for the variables that span the answer, and then those for what is
    # fixed. With each, for every level of the answer, the level that stands for it.
    stands: tuple[_Axis, ...]
    measure: Measure  # What is counted

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Its variables with the deepest level of each, sorted by variable."""
        return tuple(sorted((name, max(levels)) for name, levels in self.stands))

    def query(self, asked: CanonicalQuery) -> CanonicalQuery:
        """The table as a query: of everybody, with all codes of all levels."""
        by = tuple(
            SpanningCodes(variable=name, levels=tuple(range(1, level + 1)), codes=None, total=True)
            for name, level in self.axes
        )
        return replace(asked, by=by, where=(), measures=(self.measure,))

    def for_answer(self, hidden: BoolArray) -> BoolArray:
        """Which parts of the answer are hidden, by those of this table; fixed ones come last."""
        names = [name for name, _ in self.axes]
        order = [names.index(name) for name, _ in self.stands]
        return hidden.transpose(order)[np.ix_(*(levels for _, levels in self.stands))]


def judgements_of(
    query: CanonicalQuery, measure: Measure, unit: CatalogueUnit
) -> Iterator[PartJudgement]:
    """The tables that judge an answer; a part is hidden if one of them says so."""
    entries = figure_entries((measure,), unit)
    based = _based(entries.values(), unit)
    yield from _judgements(query, unit, based, frozenset(), COUNT_MEASURE)
    columns = {one.tree.source for one in unit.variables.values()}
    for name, entry in entries.items():
        looked = parse_filter(entry.where).columns if entry.where else frozenset()
        if looked & columns:
            yield from _judgements(query, unit, based, looked & columns, COUNT_MEASURE)
        if looked - columns and entry.kind == "count":
            yield from _judgements(query, unit, based, frozenset(), Measure("figure", name))


def _based(entries: Iterable[FigureEntry], unit: CatalogueUnit) -> dict[str, int]:
    """Variables of which figures compare with one code, and the level of that."""
    found: dict[str, int] = {}
    for entry in entries:
        for name, code in (entry.base or {}).items():
            variable = unit.variables[name]
            at = variable.tree.index.get(code)
            level = variable.finest if at is None else int(variable.tree.levels[at])
            found[name] = max(found.get(name, 0), level)
    return found


def _judgements(
    query: CanonicalQuery,
    unit: CatalogueUnit,
    based: Mapping[str, int],
    columns: frozenset[str],
    measure: Measure,
) -> Iterator[PartJudgement]:
    """By all variables that stand for those of the answer."""
    asked = [(one.variable, tuple(range(max(one.levels) + 1))) for one in query.by]
    asked += [(one.variable, (one.level,)) for one in query.where]
    choices = []
    for name, levels in asked:
        least = based.get(name, 0)
        choices.append([*_standing(unit, name, [max(k, least) for k in levels], columns)])
    choices += [
        [(one.name, (one.finest,)) for one in _of_column(unit, column)]
        for column in sorted(columns - {unit.variables[name].tree.source for name, _ in asked})
    ]
    for stands in product(*choices):
        yield PartJudgement(stands=stands, measure=measure)


def _standing(
    unit: CatalogueUnit, name: str, levels: Sequence[int], columns: frozenset[str]
) -> Iterator[_Axis]:
    """The variables that stand for one: itself, and those of its column that it adds up to."""
    variable = unit.variables[name]
    same = _of_column(unit, variable.tree.source)
    if variable.tree.source in columns:
        yield from ((one.name, (one.finest,) * len(levels)) for one in same)
        return
    reached = [reached_levels(unit.variables, name, level) for level in levels]
    for one in same:
        found = tuple(each.get(one.name, 0) for each in reached)
        if any(found):
            yield one.name, found


def _of_column(unit: CatalogueUnit, column: str) -> list[CatalogueVariable]:
    return [one for one in unit.variables.values() if one.tree.source == column]
