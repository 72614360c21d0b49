"""`CanonicalQuery`: one form for all ways of asking for the same table. Public. Variables stand
sorted, each once; a filter is the coarsest level and codes that let the same records through; a
single code under `by` is a filter. Codes under `by` pick cells, they never change who is counted: a
total is that of all codes, but of those of a filter on the same variable.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from pydantic import TypeAdapter

from discreet.errors import Problem, nearest
from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries.grammar import FilterEntry, SpanningEntry, TableQuery, refused
from discreet_service.queries.measures import (
    COUNT_MEASURE,
    Measure,
    needed_variables,
    quantile_variable,
    read_measures,
)

_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class SpanningCodes:
    """A variable that spans a canonical table."""

    variable: str
    levels: tuple[int, ...]  # Numbers of the levels shown
    # The codes shown, in the order of the classification; None for all of the levels
    codes: tuple[str, ...] | None
    total: bool  # Whether the total of all codes is shown


@dataclass(frozen=True, kw_only=True)
class FilterCodes:
    """A condition of a canonical table."""

    variable: str
    level: int  # Number of the level of the codes
    codes: tuple[str, ...]  # The codes that are let through, in the order of the classification


@dataclass(frozen=True, kw_only=True)
class CanonicalQuery:
    """Canonical form of a query; equal for all spellings."""

    dataset: str  # The data set
    version: str
    unit: str  # What is counted
    by: tuple[SpanningCodes, ...]  # What spans the table, sorted by variable
    where: tuple[FilterCodes, ...]  # Which records count, sorted by variable
    measures: tuple[Measure, ...]  # The figures, sorted

    def flow(self, unit: CatalogueUnit) -> tuple[str, str] | None:
        """Origin and destination of a table of flows, by two geographies with the same areas.

        States beside municipalities are none: their cells are those of the municipalities.
        """
        names = sorted({*(one.variable for one in self.by), *(one.variable for one in self.where)})
        ends = [name for name in names if unit.variables[name].geography]
        if len(ends) != 2:
            return None
        trees = [unit.variables[name].tree for name in ends]
        first, second = ({*tree.leaves} - {tree.missing} for tree in trees)
        return (ends[0], ends[1]) if first == second else None

    def document(self) -> dict[str, Any]:
        """As plain values, for logs, jobs and digests."""
        lists = {name: [{**vars(one)} for one in getattr(self, name)]
                 for name in ("by", "where", "measures")}  # fmt: skip
        return {"dataset": self.dataset, "version": self.version, "unit": self.unit, **lists}

    @classmethod
    def of_document(cls, document: dict[str, Any]) -> CanonicalQuery:
        """The query of a document."""
        return _adapter().validate_python(document)

    def digest(self, key: bytes) -> str:
        """A keyed digest: who asked for what cannot be found by trial."""
        return hmac.digest(key, b"query 1\n" + self._content, "sha256").hex()

    @cached_property
    def _content(self) -> bytes:
        return json.dumps(self.document(), sort_keys=True, ensure_ascii=False).encode()


@cache
def _adapter() -> TypeAdapter[CanonicalQuery]:
    """What reads documents; it takes longer to make than to use."""
    return TypeAdapter(CanonicalQuery)


@dataclass(frozen=True, kw_only=True)
class AskedOrder:
    """Requested arrangement of a canonical table; it changes no figure."""

    by: tuple[str, ...]  # The variables in the order asked
    measures: tuple[Measure, ...]  # The figures in the order asked


def unit_of(query: TableQuery, version: DataVersion) -> CatalogueUnit:
    """The unit that a query counts."""
    if query.unit is None and len(version.units) == 1:
        return next(iter(version.units.values()))
    if query.unit is None:
        message, hint = "unit is missing", f"units: {', '.join(version.units)}"
        raise ServiceError(message, "invalid-query", "unit", hint)
    if query.unit not in version.units:
        message = f"unit {query.unit[:60]!r} not found"
        raise ServiceError(
            message, "invalid-query", "unit", nearest(query.unit, list(version.units))
        )
    return version.units[query.unit]


def canonical_query(query: TableQuery, version: DataVersion) -> tuple[CanonicalQuery, AskedOrder]:
    """The canonical form of a query, and its requested arrangement."""
    reader = _Reader(unit_of(query, version))
    measures = read_measures(query.measures, reader.unit, reader.problems)
    asked, classed = measures, quantile_variable(measures)
    if classed is not None and not reader.problems:
        # Quantiles are made of the counts of all classes: the table of these is what is asked for.
        query = query.model_copy(update={"by": [*query.by, SpanningEntry(variable=classed)]})
        measures = (COUNT_MEASURE,)
    filters = reader.filters(query.where)
    spanning = reader.spanning(query, filters)
    reader.check_columns()
    reader.check_measures(measures, [one.variable.name for one in spanning if len(one.shown) > 1])
    if reader.problems:
        codes = set(reader.codes)
        raise refused(reader.problems, codes.pop() if len(codes) == 1 else "invalid-query")
    by, where = _settled(spanning, filters, reader.unit.variables)
    found = CanonicalQuery(dataset=version.dataset, version=version.version, unit=reader.unit.name,
                           by=by, where=where, measures=tuple(sorted(measures)))  # fmt: skip
    shown = {one.variable for one in by}
    shown -= {classed}
    order = tuple(entry.variable for entry in query.by if entry.variable in shown)
    return found, AskedOrder(by=order, measures=asked)


@dataclass(frozen=True, kw_only=True)
class _Spanning:
    """A variable under `by`, and the positions of the codes that it shows."""

    variable: CatalogueVariable
    shown: tuple[int, ...]
    total: bool


class _Reader:
    def __init__(self, unit: CatalogueUnit) -> None:
        self.unit = unit
        self.problems: list[Problem] = []
        self.codes: list[str] = []
        self.named: dict[str, list[str]] = {}

    def wrong(self, what: str, where: str, hint: str = "", code: str = "invalid-query") -> None:
        self.problems.append(Problem(what, where, hint))
        self.codes.append(code)

    def variable(self, name: str, where: str, member: str) -> CatalogueVariable | None:
        """A variable by its name; each at most once in `by` and once in `where`."""
        found = self.unit.variables.get(name)
        if found is None:
            message = f"variable {name[:60]!r} not found"
            several = [n for n, each in self.unit.variables.items() if name in each.joined]
            hint = nearest(name, list(self.unit.variables))
            if several:
                hint = f"the variable has several classifications; use one of {', '.join(several)}"
            self.wrong(message, f"{where}.variable", hint, "unknown-variable")
            return None
        if member in self.named.setdefault(name, []):
            self.wrong(f"{name!r} occurs twice in {member}", where, "name it once")
            return None
        self.named[name].append(member)
        return found

    def level(self, variable: CatalogueVariable, given: int | str, where: str) -> int:
        number = variable.level_numbers.get(str(given), 0)
        if not number:
            hint = nearest(str(given), [level.name for level in variable.levels])
            self.wrong(f"{variable.name!r} has no level {str(given)[:60]!r}", where, hint)
        return number

    def positions(
        self, variable: CatalogueVariable, codes: Sequence[str], where: str
    ) -> tuple[int, ...]:
        index, tree = variable.tree.index, variable.tree
        unknown = [code for code in dict.fromkeys(codes) if not index.get(code)]
        for code in unknown[:_SHOWN]:
            hint = nearest(code, tree.codes[1:5_000])
            if code == tree.total:
                hint = "remove the variable, or request its total: totals"
            self.wrong(f"{variable.name!r} has no code {code[:60]!r}", where, hint, "unknown-code")
        if len(unknown) > _SHOWN:
            self.wrong(f"and {len(unknown) - _SHOWN:,} more codes", where, "", "unknown-code")
        return tuple(sorted({index[code] for code in codes if index.get(code)}))

    def filters(self, entries: Sequence[FilterEntry]) -> dict[str, tuple[int, ...]]:
        found = {}
        for at, entry in enumerate(entries):
            where = f"where[{at}]"
            variable = self.variable(entry.variable, where, "where")
            if variable is None:
                continue
            codes = self.positions(variable, entry.codes, f"{where}.codes")
            if entry.level is not None:
                number = self.level(variable, entry.level, f"{where}.level")
                self._check_level(variable, codes, [number] if number else [], where)
            elif codes and not variable.coarsest_with(codes):
                hint = "use codes of one level in a condition"
                self.wrong("the codes are on different levels", f"{where}.codes", hint)
            if codes:
                found[variable.name] = codes
        return found

    def _check_level(
        self, variable: CatalogueVariable, codes: Sequence[int], levels: Sequence[int], where: str
    ) -> None:
        """Codes that stand on none of the levels named."""
        off = [at for at in codes if not any(variable.stands_on(at, k) for k in levels)]
        if off and levels:
            message = f"code {variable.tree.codes[off[0]]!r} is not on this level"
            self.wrong(message, f"{where}.codes", "remove level, or correct it")

    def spanning(self, query: TableQuery, filters: dict[str, tuple[int, ...]]) -> list[_Spanning]:
        names = [entry.variable for entry in query.by]
        totals = [] if isinstance(query.totals, str) else query.totals
        for at, name in enumerate(totals):
            if name not in names:
                message = f"{name[:60]!r} is not a spanning variable of the table"
                self.wrong(message, f"totals[{at}]", nearest(name, names))
        found = []
        for at, entry in enumerate(query.by):
            where = f"by[{at}]"
            variable = self.variable(entry.variable, where, "by")
            if variable is None:
                continue
            total = query.totals == "all" or entry.variable in totals
            # The positions of the codes that a member of `by` shows.
            numbers = [self.level(variable, item, f"{where}.level") for item in entry.level or ()]
            numbers = [number for number in numbers if number]
            if entry.codes is not None:
                codes = self.positions(variable, entry.codes, f"{where}.codes")
                if entry.level is None and codes and not variable.coarsest_with(codes):
                    hint = "add the levels: level"
                    self.wrong("the codes are on different levels", f"{where}.codes", hint)
                self._check_level(variable, codes, numbers, where)
            else:
                cuts = [variable.cuts[k].tolist() for k in numbers or [variable.finest]]
                codes = tuple(sorted({at for cut in cuts for at in cut}))
            if entry.within is not None:
                around = self.positions(variable, entry.within, f"{where}.within")
                inside = variable.within(around)
                codes = tuple(at for at in codes if inside[at])
                if around and not codes:
                    hint = "use a finer level"
                    self.wrong(
                        "no code of this level is below these codes", f"{where}.within", hint
                    )
            shown = codes
            condition = filters.pop(entry.variable, None)
            # A filter that lets all through is none.
            if condition and variable.coarsest_cover(variable.leaves_within(condition))[0]:
                shown, total = self._picked(variable, shown, condition, total, where), False
            if shown:
                found.append(_Spanning(variable=variable, shown=shown, total=total))
        return found

    def _picked(
        self,
        variable: CatalogueVariable,
        shown: tuple[int, ...],
        condition: tuple[int, ...],
        total: bool,
        where: str,
    ) -> tuple[int, ...]:
        """What a filter leaves of the codes of its own variable; its codes are the totals."""
        inside, around = variable.within(condition), set(condition)
        left = {at for at in shown if inside[at]}
        if variable.above(around).intersection(shown) or not left:
            message = f"the codes of {variable.name!r} in where do not match those in by"
            self.wrong(message, where, "use a finer level in by, or coarser codes in where")
        return tuple(sorted(left | around if total else left))

    def check_columns(self) -> None:
        """Variables of one column, or alternatives: together they make categories of their own."""
        same: dict[tuple[str, str], list[str]] = {}
        for name in self.named:
            variable = self.unit.variables[name]
            same.setdefault(("column", variable.tree.source), []).append(name)
            for whole in variable.joined:
                same.setdefault(("variable", whole), []).append(name)
        for names in dict.fromkeys(tuple(sorted(item)) for item in same.values()):
            if len(names) > 1:
                message = f"{', '.join(map(repr, names))} describe the same and cannot be combined"
                hint = "query them separately"
                self.wrong(message, "by", hint)

    def check_measures(self, measures: Sequence[Measure], by: Sequence[str]) -> None:
        """Measures that need variables which do not span the table."""
        for at, measure in enumerate(measures):
            if any(problem.where.startswith(f"measures[{at}]") for problem in self.problems):
                continue
            for name in needed_variables(measure, self.unit):
                if name not in by:
                    message = f"{measure.name!r} needs the variable {name[:60]!r} in by"
                    self.wrong(message, f"measures[{at}]")


def _settled(
    spanning: Sequence[_Spanning],
    filters: dict[str, tuple[int, ...]],
    variables: Mapping[str, CatalogueVariable],
) -> tuple[tuple[SpanningCodes, ...], tuple[FilterCodes, ...]]:
    by, where = [], []
    for one in spanning:
        if len(one.shown) == 1:
            filters[one.variable.name] = one.shown
            continue
        # Whole levels by their numbers; other codes one by one.
        variable, shown, names = one.variable, set(one.shown), None
        levels = [number for number in range(1, len(variable.cuts))
                  if shown >= variable.members[number]]  # fmt: skip
        if set().union(*(variable.members[number] for number in levels)) != shown:
            levels = sorted({int(variable.tree.levels[at]) for at in one.shown})
            names = tuple(variable.tree.codes[at] for at in one.shown)
        by.append(
            SpanningCodes(
                variable=variable.name, levels=tuple(levels), codes=names, total=one.total
            )
        )
    for name, positions in filters.items():
        variable = variables[name]
        level, codes = variable.coarsest_cover(variable.leaves_within(positions))
        if level:
            names = tuple(variable.tree.codes[at] for at in codes)
            where.append(FilterCodes(variable=name, level=level, codes=names))
    return (
        tuple(sorted(by, key=lambda each: each.variable)),
        tuple(sorted(where, key=lambda each: each.variable)),
    )
