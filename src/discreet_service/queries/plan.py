"""`QueryPlan`: how large an answer is, and what it exposes, before anything is counted.

In: a canonical query and the classifications of its version. Out: cells with totals, exposure,
and whether it is answered at once, by a job, or not at all. Public: no record is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.assessment import exposure_of
from discreet_service.datasets import CatalogueVariable, DataVersion
from discreet_service.policies import AskedFilter, AskedLevel, AskedTable, AskedVariable
from discreet_service.problems import ServiceError
from discreet_service.queries.canonical import CanonicalQuery, FilterCodes, SpanningCodes
from discreet_service.settings import LimitSettings

PlanClass = Literal["instant", "job", "refused"]


@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """What a query comes to."""

    query: CanonicalQuery
    cells: int  # Cells of the answer, totals and figures counted
    spanned: int  # The same for one figure
    exposure: float  # By how many independent figures its total can be estimated from it
    kind: PlanClass  # "instant", "job" or "refused"
    limit: int  # Above how many cells it would be another kind; the largest for refused ones
    asked: AskedTable  # The table as policies see it

    @property
    def geography(self) -> frozenset[str]:
        """The variables of the table that tell where."""
        return frozenset(one.name for one in self.asked.by if one.geography)

    def require(self) -> None:
        """Raise an error if so many cells are not answered at all."""
        if self.kind == "refused":
            raise ServiceError(
                f"this table has {self.cells:,} cells; at most {self.limit:,} are answered",
                code="too-many-cells",
                where="by",
                hint="ask for coarser levels, fewer codes or fewer variables",
                limit=self.limit,
                actual=self.cells,
            )

    def described(self) -> dict[str, Any]:
        """The same as JSON takes it."""
        return {
            "cells": self.cells,
            "exposure": round(self.exposure, 6),
            "class": self.kind,
            "limit": self.limit,
            "variables": list(self.asked.variables),
            "query": self.query.document(),
            "digest": self.asked.digest,
        }


def plan_of(
    query: CanonicalQuery,
    version: DataVersion,
    limits: LimitSettings,
    *,
    key: bytes,
    spelling: str = "",
) -> QueryPlan:
    """What a query comes to."""
    unit = version.units[query.unit]
    by = tuple(_asked_variable(one, unit.variables[one.variable]) for one in query.by)
    where = tuple(_asked_filter(one, unit.variables[one.variable]) for one in query.where)
    spanned = math.prod(one.shown for one in by)
    cells = spanned * len(query.measures)
    kind, limit = _class(cells, limits)
    # The exposure by the variables that are no geography, each with all codes of its levels.
    sizes: dict[str, list[int]] = {}
    for name, levels in _levels(query).items():
        variable = unit.variables[name]
        if not variable.geography:
            sizes[name] = [variable.level(number).codes for number in levels]
    return QueryPlan(
        query=query,
        cells=cells,
        spanned=spanned,
        exposure=float(exposure_of(list(sizes.values()))),
        kind=kind,
        limit=limit,
        asked=AskedTable(
            dataset=query.dataset,
            version=query.version,
            unit=query.unit,
            by=by,
            where=where,
            cells=cells,
            digest=query.digest(key),
            spelling=spelling,
        ),
    )


def _class(cells: int, limits: LimitSettings) -> tuple[PlanClass, int]:
    if cells <= limits.cells_instant:
        return "instant", limits.cells_instant
    if cells <= limits.cells_job:
        return "job", limits.cells_job
    return "refused", limits.cells_job


def _asked_variable(one: SpanningCodes, variable: CatalogueVariable) -> AskedVariable:
    """A spanning variable as policies see it: each code on one level."""
    tree, seen, levels = variable.tree, set[str](), []
    wanted = None if one.codes is None else set(one.codes)
    for number in one.levels:
        level, shown = variable.level(number), variable.codes_of(number)
        if wanted is not None:
            depth = tree.levels
            shown = tuple(c for c in shown if c in wanted and depth[tree.index[c]] == number)
        own = tuple(code for code in shown if code not in seen)
        seen.update(own)
        whole = wanted is None and len(own) == level.codes
        levels.append(
            AskedLevel(
                name=level.name, size=level.codes, codes=None if whole else tuple(sorted(own))
            )
        )
    return AskedVariable(
        name=one.variable, levels=tuple(levels), total=one.total, geography=variable.geography
    )


def _asked_filter(one: FilterCodes, variable: CatalogueVariable) -> AskedFilter:
    level = variable.level(one.level)
    return AskedFilter(
        variable=one.variable,
        level=level.name,
        codes=tuple(sorted(one.codes)),
        size=level.codes,
        geography=variable.geography,
    )


def _levels(query: CanonicalQuery) -> Mapping[str, tuple[int, ...]]:
    spanned = {one.variable: one.levels for one in query.by}
    return {**spanned, **{one.variable: (one.level,) for one in query.where}}
