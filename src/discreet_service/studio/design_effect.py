"""Effects: what a design does to the figures of a chosen table.

In: designs (SECRET), a released table or the address of a table of a data set. Out: the quality to
be expected of its published counts, for who may see these; what it does to the true ones only for
who was given `values:see` on the data set, and each look stands in the trail. CONFIDENTIAL.

What is expected of true counts would tell them: it is worked out from published ones.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from discreet import perturb
from discreet.assessment import Quality, actual_quality, expected_quality, published_values
from discreet.protection.protocol import all_of
from discreet.tables import CellStatus, ProtectedTable, Table
from discreet.tabulation import Query
from discreet_service.audit import AuditKind, LogMode, LogVerdict
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, filter_texts, joint_filter, title_of
from discreet_service.studio.choices import TableChoices
from discreet_service.studio.design_figures import AssessedDesign
from discreet_service.web import Visit, admitted, check_allowed, note_query

#: Cells that are shown one by one.
SHOWN_CELLS = 100
_SHOWN = (CellStatus.published, CellStatus.zero_or_changed_to_zero)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DesignEffect:
    """What designs do to a table. CONFIDENTIAL."""

    title: str  # The table
    true: bool  # Whether true counts are behind it
    expected: Sequence[Quality]  # Per design, the quality to be expected
    # Per design, the quality of what is drawn; none without true counts
    actual: Sequence[Quality] = ()
    # Codes, true count and what each design makes of it; none without true counts
    cells: Sequence[tuple[Sequence[str], int, Sequence[int]]] = ()
    all_cells: int = 0  # How many cells there are

    def __repr__(self) -> str:
        return "<DesignEffect: confidential>"


def released_tables(visit: Visit, language: str) -> list[tuple[str, str]]:
    """Name and heading of the released tables of counts that somebody may see."""
    if not visit.principal.may(Permission.releases_read):
        return []
    listed = visit.service.releases.tables().values()
    return [(item.id, f"{item.release}: {item.title(language)}")
            for item in listed if not item.figures]  # fmt: skip


def may_see_true(principal: Principal, dataset: str = "") -> bool:
    """Whether somebody may see true values of a data set; no permission but this one implies it."""
    return principal.may(Permission.parameters_design) and principal.may(
        Permission.values_see, dataset
    )


def released_effect(
    visit: Visit, table: str, designs: Sequence[AssessedDesign], language: str
) -> DesignEffect:
    """What is to be expected of a released table."""
    check_allowed(visit.principal, Permission.releases_read)
    listed = visit.service.releases.listed(table)
    return _expected(listed.title(language), visit.service.releases.table(table), designs)


def _expected(title: str, table: ProtectedTable, designs: Sequence[AssessedDesign]) -> DesignEffect:
    counts = published_counts(table)
    return DesignEffect(
        title=title,
        true=False,
        expected=[expected_quality(design.table, counts) for design in designs],
        all_cells=sum(counts.values()),
    )


def published_counts(table: ProtectedTable) -> Mapping[int, int]:
    """Published count → number of cells, without zeros and without what is hidden."""
    if table.figures or table.value.dtype.kind != "i":
        raise ServiceError("this is no table of counts", code="invalid-input", where="table")
    shown = table.value[np.isin(table.status, _SHOWN) & (table.value > 0)]
    values, cells = np.unique(shown, return_counts=True)
    if not values.size:
        raise ServiceError("the table shows no counts", code="invalid-input", where="table")
    return dict(zip(values.tolist(), cells.tolist(), strict=True))


def dataset_effect(
    visit: Visit, place: str, designs: Sequence[AssessedDesign], language: Language, *, true: bool
) -> DesignEffect:
    """What is to be expected of a table of a data set; or what is done to its true counts."""
    dataset, pairs = _asked(place)
    check_allowed(visit.principal, Permission.parameters_design)
    check_allowed(visit.principal, Permission.values_see if true else Permission.query_run, dataset)
    version = visit.service.datasets.version(dataset, dict(pairs).get("version") or None)
    choices = TableChoices.of(version, pairs, strict=True)
    prepared = visit.service.answers.prepared(dataset, choices.query())
    prepared.plan.require()
    if prepared.plan.kind != "instant":
        what, hint = "this table is too large to look at here", "choose coarser levels"
        raise ServiceError(what, code="too-many-cells", where="table", hint=hint)
    title = title_of(prepared.query, choices.unit)[language]
    if true:
        # What designs do to true counts; that they were shown stands in the trail. CONFIDENTIAL.
        table = true_table(prepared)
        if not len(table):
            raise ServiceError("the table has no cells", code="invalid-input", where="table")
        _note(visit, prepared, len(table))
        drawn = [perturb(table, design.table) for design in designs]
        values = [published_values(table, item)[0] for item in drawn]
        labels = [dimension.labels(language) for dimension in table.dimensions]
        cells: list[tuple[Sequence[str], int, Sequence[int]]] = [
            (
                [told[part[at]] for told, part in zip(labels, table.index, strict=True)],
                int(table.count[at]),
                [int(value[at]) for value in values],
            )
            for at in range(min(len(table), SHOWN_CELLS))
        ]
        return DesignEffect(
            title=title,
            true=True,
            expected=[expected_quality(design.table, table) for design in designs],
            actual=[actual_quality(table, item) for item in drawn],
            cells=cells,
            all_cells=len(table),
        )
    return _expected(title, _answered(visit, prepared, language), designs)


def _asked(place: str) -> tuple[str, list[tuple[str, str]]]:
    """Data set and choices of an address of the table builder."""
    found = urlsplit(place.strip())
    parts = found.path.strip("/").split("/")
    if len(parts) not in (2, 3) or parts[0] != "tables" or parts[2:] not in ([], ["result"]):
        what, hint = "this is no address of a table", "copy it from the table builder: /tables/…"
        raise ServiceError(what, code="invalid-input", where="table", hint=hint)
    return unquote(parts[1]), parse_qsl(found.query, keep_blank_values=True, max_num_fields=1_000)


def _answered(visit: Visit, prepared: PreparedQuery, language: Language) -> ProtectedTable:
    """The protected table, as everybody would get it; asked for like any other."""
    start = time.perf_counter()
    verdict = admitted(visit, prepared, language, start)
    if not visit.service.answers.is_instant(prepared, verdict):
        what, hint = "this table is too large to look at here", "choose coarser levels"
        raise ServiceError(what, code="too-many-cells", where="table", hint=hint)
    answer = visit.service.answers.answer(prepared)
    note_query(visit.service, visit.principal, prepared, LogMode.query, LogVerdict.answered, start,
               kept=answer.cached)  # fmt: skip
    return answer.table


def true_table(prepared: PreparedQuery) -> Table:
    """The true counts of a query, with all totals. CONFIDENTIAL."""
    query, version = prepared.query, prepared.version
    unit = version.units[query.unit]
    trees = [
        unit.coarser.get((one.variable, max(one.levels)), unit.variables[one.variable].tree)
        for one in query.by
    ]
    schema = version.records(query.unit)[0].collect_schema()
    texts = filter_texts(query, version)
    asked = Query(by=trees, where=joint_filter(texts, schema), name="effect")
    return replace(version.counted(query.unit, [asked])[0], where=all_of(*texts))


def _note(visit: Visit, prepared: PreparedQuery, cells: int) -> None:
    query = prepared.query
    facts: dict[str, Any] = {
        "version": query.version,
        "unit": query.unit,
        "by": [f"{one.variable}:{','.join(map(str, one.levels))}" for one in query.by],
        "where": [one.variable for one in query.where],
        "cells": cells,
    }
    kind = AuditKind.true_values_shown
    with visit.service.database.writing() as connection:
        visit.service.trail.append(connection, kind, visit.principal.name, query.dataset, facts)
