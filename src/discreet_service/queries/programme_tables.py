"""Programme tables as policies judge them: each as the queries that it answers, one for each
universe and classification (CONFIDENTIAL). What policies cannot judge is not made.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import BoolArray
from discreet.errors import Problem
from discreet.microdata import Filter, parse_filter
from discreet.protection.protocol import all_of
from discreet.release import Inputs, KeyPath, Programme
from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries.counts import interval_parts
from discreet_service.queries.grammar import FilterEntry, SpanningEntry, TableQuery


@dataclass(frozen=True, kw_only=True)
class ProgrammeQuery:
    """A query that a table of a programme answers."""

    table: str  # Its name
    where: str  # Its place in the programme
    query: TableQuery
    figures: int  # How many figures of the table have this universe


def programme_queries(inputs: Inputs, version: DataVersion) -> list[ProgrammeQuery]:
    """The queries that a programme answers; an error lists all that is no query."""
    queries: list[ProgrammeQuery] = []
    problems: list[Problem] = []
    programme = inputs.programme
    for name in programme.tables:
        source = programme.source_of(name).name
        unit = next((item for item in version.units.values() if item.source == source), None)
        if unit is None:
            message, hint = f"the data set has no unit of the source {source!r}", "another source"
            problems.append(programme.problem(("tables", name, "from"), message, hint))
            continue
        queries += _queries_of(programme, name, unit, version, problems)
    if problems:
        many = "policies cannot evaluate this programme"
        raise ServiceError.of(problems, many, code="invalid-input")
    return queries


def _queries_of(
    programme: Programme,
    name: str,
    unit: CatalogueUnit,
    version: DataVersion,
    problems: list[Problem],
) -> Iterator[ProgrammeQuery]:
    entry, path = programme.tables[name], ("tables", name)
    choices = []
    for variable in entry.by or ():
        # A variable as the data set offers it: itself, or each of its classifications.
        known, every = unit.variables.get(variable), unit.variables.values()
        choices.append([known] if known else [one for one in every if variable in one.joined])
        if not choices[-1]:
            message = f"the data set has no variable {variable!r} of {unit.name}"
            hint = "add it to variables in DATASET.toml"
            problems.append(programme.problem((*path, "by"), message, hint))
    usual = version.entry(unit.name).where or ""
    universes: dict[str, tuple[KeyPath, int]] = {} if entry.figures else {"": (path, 1)}
    for figure, each in entry.figures.items():
        place, number = universes.get(each.where or "", ((*path, "figures", figure), 0))
        universes[each.where or ""] = place, number + 1
    for own, (place, number) in universes.items():
        text = all_of(_beyond_usual(entry.where or "", usual), own)
        try:
            filters = conditions_of(text, unit, version)
        except ServiceError as error:
            problems.append(programme.problem((*place, "where"), error.what, error.hint))
            continue
        where = programme.problem(place, "").where
        for chosen in itertools.product(*choices):
            by = [
                SpanningEntry(variable=one.name, level=list(range(1, one.finest + 1)))
                for one in chosen
            ]
            query = TableQuery(unit=unit.name, by=by, where=filters, version=version.version)
            yield ProgrammeQuery(table=name, where=where, query=query, figures=number)


def _beyond_usual(where: str, usual: str) -> str:
    """What a filter asks for beyond that of the data set, which `all_of` put before it.

    >>> _beyond_usual(all_of("age >= 0", "sex == 'm'"), "age >= 0")
    "sex == 'm'"
    """
    if not usual or where == usual:
        return "" if usual else where
    return where.removeprefix(f"({usual}) and (").removesuffix(")")


def conditions_of(text: str, unit: CatalogueUnit, version: DataVersion) -> list[FilterEntry]:
    """The filter of a programme as conditions of a query; an error if it is none."""
    if not text.strip():
        return []
    schema = version.records(unit.name)[0].collect_schema()
    by_column: dict[str, list[Filter]] = {}
    for part in parse_filter(text).parts():
        if len(part.columns) != 1:
            raise _no_query("a condition uses several variables")
        by_column.setdefault(next(iter(part.columns)), []).append(part)
    return [
        condition
        for column, parts in by_column.items()
        for condition in _condition(column, parts, unit, schema)
    ]


def _condition(
    column: str, parts: Sequence[Filter], unit: CatalogueUnit, schema: Mapping[str, Any]
) -> list[FilterEntry]:
    for variable in unit.variables.values():
        if variable.tree.source != column:
            continue
        leaves = _leaves(variable, parts, schema)
        if leaves is None:
            continue
        level, positions = variable.coarsest_cover(leaves)
        codes = [variable.tree.codes[at] for at in positions]
        if not codes:
            raise _no_query(f"no code of {variable.name!r} fits the filter")
        return [FilterEntry(variable=variable.name, codes=codes, level=level)] if level else []
    raise _no_query(f"the filter on {column!r} does not use codes of an available variable")


def filter_text(
    variable: CatalogueVariable, codes: Sequence[str], schema: Mapping[str, Any]
) -> str:
    """The condition of a programme that lets codes of a variable through, as `conditions_of` reads.

    Intervals are ranges of their numbers, other codes a list of the finest ones.
    """
    tree = variable.tree
    column = tree.source if tree.source.isidentifier() else f"`{tree.source}`"
    leaves = variable.leaves_within([tree.index[code] for code in codes])
    chosen = [tree.codes[at] for at in np.flatnonzero(leaves).tolist()]
    parts = [f"{column} is null"] if tree.missing in chosen else []
    values = [code for code in chosen if code != tree.missing]
    if tree.bounds is not None:
        parts += interval_parts(tree, {*values}, column)
    elif values:
        text = str(schema[tree.source]).startswith(("String", "Categorical", "Enum"))
        values = [repr(code) if text else code.capitalize() for code in values]
        parts.insert(0, f"{column} in [{', '.join(values)}]" if values[1:]
                     else f"{column} == {values[0]}")  # fmt: skip
    return parts[0] if len(parts) == 1 else " or ".join(f"({part})" for part in parts)


def _no_query(what: str) -> ServiceError:
    hint = "filter by codes of variables of the data set; groups of codes must be in its policy"
    return ServiceError(what, "invalid-input", hint=hint)


def _leaves(
    variable: CatalogueVariable, parts: Sequence[Filter], schema: Mapping[str, Any]
) -> BoolArray | None:
    tree = variable.tree
    mask = np.zeros(len(tree), dtype=np.bool_)
    positions = np.flatnonzero(tree.is_leaf).tolist()
    whole = str(schema[tree.source]).startswith(("Int", "UInt"))
    literals = [each for part in parts for each in part.literals if isinstance(each, int | float)]
    number = 0
    for at in positions:
        values: list[Any] = [tree.codes[at]]
        if tree.codes[at] == tree.missing:
            values = [None]
        elif tree.bounds is not None:
            # Values of an interval, some between every two at which a comparison may change.
            low = tree.bounds[number]
            high = tree.bounds[number + 1]
            edges = [item for item in (low, high) if math.isfinite(item)]
            inner = sorted({*edges, *(literal for literal in literals if low <= literal < high)})
            step = 1 if whole else 0.5
            tried = {*inner, *(item - step for item in inner), *(item + step for item in inner)}
            tried |= {(one + other) / 2 for one, other in itertools.pairwise(inner)}
            if whole:
                tried = {float(math.floor(item)) for item in tried}
            values = sorted(item for item in tried if low <= item < high) or [low]
            number += 1
        passed = _passed(values, parts, tree.source, schema)
        if passed.any() != passed.all():
            return None
        mask[at] = bool(passed.all())
    return mask


def _passed(
    values: Sequence[Any], parts: Sequence[Filter], column: str, schema: Mapping[str, Any]
) -> BoolArray:
    kind = str(schema[column])
    text = kind.startswith(("String", "Categorical", "Enum"))
    series = pl.Series(column, list(values), dtype=pl.String if text else None, strict=False)
    if not text:
        dtype = {"Boolean": pl.Boolean}.get(kind, pl.Float64)
        if series.dtype == pl.String and dtype == pl.Boolean:
            series = series == "true"
        series = series.cast(dtype, strict=False)
    frame = nw.from_native(series.to_frame(), eager_only=True)
    mask = np.ones(len(values), dtype=np.bool_)
    for part in parts:
        try:
            own = frame.select(own=part.to_narwhals(frame.schema)).to_native()["own"]
        except (pl.exceptions.PolarsError, nw.exceptions.NarwhalsError, TypeError):
            raise _no_query(f"the filter does not fit the values of {column!r}") from None
        mask &= own.fill_null(value=False).to_numpy()
    return mask
