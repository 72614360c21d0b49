"""Near tables: what may be asked in place of a table that was refused: of larger areas, on coarser
levels, by fewer variables. No record is looked at; rules that do may still refuse them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet_service.datasets import CatalogueUnit
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError
from discreet_service.queries.answers import Answers, PreparedQuery
from discreet_service.queries.canonical import FilterCodes, SpanningCodes
from discreet_service.queries.grammar import TableQuery, read_query
from discreet_service.queries.measures import Measure
from discreet_service.queries.presentation import title_of

#: So many tables are shown and looked at, each at most so many steps away.
_SHOWN, _LOOKED_AT, _STEPS = 3, 12, 3


@dataclass(frozen=True, kw_only=True, slots=True)
class NearTable:
    """A table that no rule refuses before anything is counted."""

    query: TableQuery
    cells: int  # Cells of its answer
    title: Mapping[str, str]  # Its heading by language

    def document(self, language: str) -> dict[str, Any]:
        """As plain values, for JSON."""
        query = self.query.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        return {"title": self.title[language], "cells": self.cells, "query": query}


def near_tables(answers: Answers, refused: PreparedQuery, principal: Principal) -> list[NearTable]:
    """Tables near one that was refused, the nearest first; none if none was found soon."""
    version, found, known = refused.version, list[NearTable](), set[str]()
    unit, layer = version.units[refused.query.unit], [_document(refused)]
    for _ in range(_STEPS):
        layer = [simpler for document in layer for simpler in _simpler(document, unit)]
        for document in layer:
            text = json.dumps(document, sort_keys=True)
            if text in known:
                continue
            known.add(text)
            if len(known) > _LOOKED_AT or len(found) == _SHOWN:
                return found
            try:
                query = read_query(document)
                prepared = answers.prepared(version.dataset, query)
            except ServiceError:  # a figure that needs what was left out
                continue
            kept = prepared.plan.kind != "refused"
            if kept and answers.verdict(prepared, principal).allowed:
                title = title_of(prepared.query, unit)
                found.append(NearTable(query=query, cells=prepared.plan.cells, title=title))
        if found:
            return found
    return found


def _document(prepared: PreparedQuery) -> dict[str, Any]:
    """A query as a body has it."""
    query, order = prepared.query, prepared.order
    by = [one for one in query.by if one.variable in order.by]
    totals = [one.variable for one in by if one.total]
    return {
        "unit": query.unit,
        "version": query.version,
        "by": [_spanning(one) for one in by],
        "where": [_filter(one) for one in query.where],
        "measures": [_measure(one) for one in order.measures],
        "totals": totals if 0 < len(totals) < len(by) else "all" if totals else "none",
    }


def _spanning(one: SpanningCodes) -> dict[str, Any]:
    codes = {} if one.codes is None else {"codes": [*one.codes]}
    return {"variable": one.variable, "level": [*one.levels], **codes}


def _filter(one: FilterCodes) -> dict[str, Any]:
    return {"variable": one.variable, "level": one.level, "codes": [*one.codes]}


def _measure(one: Measure) -> Any:
    if one.kind == "figure":
        return one.of
    if one.kind == "quantile":
        return {"quantile": one.of, "at": one.share}
    return {one.kind: one.of} | ({"over": [*one.over]} if one.over else {})


def _simpler(document: dict[str, Any], unit: CatalogueUnit) -> Iterator[dict[str, Any]]:
    """The queries that are one step simpler: first larger areas, then coarser levels."""
    by, where = document["by"], document["where"]
    conditions = sorted(where, key=lambda one: not unit.variables[one["variable"]].geography)
    for one in conditions:
        others = [other for other in where if other is not one]
        if wider := _wider(one, unit):
            yield {**document, "where": [*others, wider]}
    for one in sorted(by, key=lambda one: not unit.variables[one["variable"]].geography):
        deepest = max(one["level"])
        if deepest > 1:
            levels = [level for level in one["level"] if level < deepest] or [deepest - 1]
            coarser = {"variable": one["variable"], "level": levels}
            yield {**document, "by": [coarser if other is one else other for other in by]}
    for one in conditions:
        yield {**document, "where": [other for other in where if other is not one]}
    for one in by if len(by) > 1 else ():
        totals = document["totals"]
        if isinstance(totals, list):
            totals = [name for name in totals if name != one["variable"]] or "none"
        yield {**document, "by": [other for other in by if other is not one], "totals": totals}


def _wider(one: dict[str, Any], unit: CatalogueUnit) -> dict[str, Any] | None:
    """The same condition on the codes above; None if there is but the total."""
    variable, level = unit.variables[one["variable"]], one["level"] - 1
    if level < 1:
        return None
    tree, above = variable.tree, dict[str, None]()
    for code in one["codes"]:
        at = tree.index[code]
        while not variable.stands_on(at, level):
            at = tree.parents[at]
        above[tree.codes[at]] = None
    return {**one, "level": level, "codes": [*above]}
