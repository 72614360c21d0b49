"""Risk and quality of a data set: what was released of it, which parameters it uses, and what came
near a limit. Limits, and who came near one, are for those only to whom refusals are explained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from discreet_service.audit import LogVerdict
from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion, VersionRecord
from discreet_service.parameter_sets import ParameterSet, SetState
from discreet_service.permissions import Permission
from discreet_service.policies import (
    AskedTable,
    Box,
    LayerAxis,
    PolicyDocument,
    alerts,
    answers_by_end,
    near_limits,
    refusals_by_rule,
    released_sums,
)
from discreet_service.problems import ServiceError
from discreet_service.queries import said_in
from discreet_service.service import Service
from discreet_service.studio.verdicts import answers_verdict
from discreet_service.web import NavigationEntry, Visit, page, visit_with, words

router = APIRouter(prefix="/quality", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/quality", place=110, permissions=(Permission.quality_read,))

_Reader = Annotated[Visit, Depends(visit_with(Permission.quality_read))]
#: Shares of a limit from which on it is near, or used up.
_NEAR, _FULL = 0.75, 1.0
_ALERTS = 50


@router.get("")
def show_quality(visit: _Reader) -> Response:
    """The data versions that somebody may look at."""
    records = [
        record
        for record in visit.service.datasets.records()
        if visit.principal.may(Permission.quality_read, record.dataset)
    ]
    language = visit.language
    titles = {
        (record.dataset, record.version): said_in(record.facts["title"], language, record.dataset)
        for record in records
    }
    return page(visit, "quality", records=records, titles=titles)


@router.get("/{dataset}/{version}")
def show_dashboard(dataset: str, version: str, visit: _Reader, unit: str = "") -> Response:
    """Exposure that is left, cells released, refusals, alerts, and what came near a limit."""
    language = visit.language
    opened = visit.service.datasets.version(dataset, version)
    policy = visit.service.policies.policy(dataset, version)
    chosen = opened.units.get(unit) or next(iter(opened.units.values()))
    explains = visit.principal.may(Permission.refusals_explain, dataset)
    with visit.service.database.reading() as connection:
        shown: dict[str, Any] = {
            "sums": released_sums(connection, dataset, version),
            "ends": answers_by_end(connection, dataset, version),
            "refusals": refusals_by_rule(connection, dataset, version) if explains else {},
            "alerts": alerts(connection, dataset, version, _ALERTS) if explains else [],
            "near": near_limits(connection, policy, visit.service.clock()) if explains else [],
        }
    exposures = {one.name: _exposure_rows(visit.service, opened, one, policy, language)
                 for one in opened.units.values()}  # fmt: skip
    shares = [one["share"] for rows in exposures.values() for _, _, cells in rows
              for one in cells if one is not None]  # fmt: skip
    # What the columns are called: everywhere (empty), and each kind of place.
    named = {name: f"{chosen.variables[axis.variable].tree.title(language)}: {name}"
             for name, axis in _places(chosen, policy)}  # fmt: skip
    return page(
        visit,
        "dashboard",
        secret=True,
        title=f"{said_in(opened.description.dataset.title, language, dataset)} {version}",
        dataset=dataset,
        version=version,
        verdict=answers_verdict(
            max(shares, default=None),
            (len(shown["alerts"]), sum(one.share >= _NEAR for one in shown["near"]))
            if explains
            else None,
            language,
        ),
        parameters=used_parameters(visit, visit.service.datasets.record(dataset, version)),
        unit=chosen.name,
        places=["", *(named.get(level, level) for level in policy.exposure.levels)],
        rows=exposures[chosen.name],
        explains=explains,
        sparse=visit.service.answers.sparse_tables(opened),
        hides=policy.sparsity.then == "hide",
        verdicts=[item.value for item in LogVerdict],
        units={one.name: said_in(one.label, language, one.name) for one in opened.units.values()},
        **shown,
    )


def _exposure_rows(
    service: Service,
    version: DataVersion,
    unit: CatalogueUnit,
    policy: PolicyDocument,
    language: str,
) -> list[tuple[str, str, list[dict[str, Any] | None]]]:
    """Per variable and level, how much of the limits its counts have used, by kind of place."""
    # Everywhere, and in each kind of place that has a limit.
    kinds: dict[str, Box] = {"": (), **{name: (place,) for name, place in _places(unit, policy)}}
    axes = [(variable, axis) for variable in unit.variables.values() if not variable.geography
            for axis in _axes(variable)]  # fmt: skip
    table = AskedTable(
        dataset=version.dataset, version=version.version, unit=unit.name,
        by=(), where=(), cells=1, digest="", apart={},
    )  # fmt: skip
    targets: list[Box] = [(axis, *place) for _, axis in axes for place in kinds.values()]
    with service.database.reading() as connection:
        exposures = iter(service.policies.exposures(table, targets, connection))
    limits = {"": policy.exposure.everywhere, **policy.exposure.levels}
    rows = []
    for variable, axis in axes:
        cells: list[dict[str, Any] | None] = []
        used = dict(zip(kinds, exposures, strict=False))  # the next ones, one of each kind
        for place, limit in limits.items():
            if place not in used:
                cells.append(None)
                continue
            share = used[place] / limit
            grade = "full" if share >= _FULL else "near" if share >= _NEAR else "free"
            cells.append({"share": share, "exposure": used[place], "limit": limit, "grade": grade})
        rows.append((f"{variable.tree.title(language)} ({variable.name})", axis.level, cells))
    return rows


def _places(unit: CatalogueUnit, policy: PolicyDocument) -> Iterator[tuple[str, LayerAxis]]:
    for variable in unit.variables.values():
        if variable.geography:
            for axis in _axes(variable):
                if axis.level in policy.exposure.levels:
                    yield axis.level, axis


def _axes(variable: CatalogueVariable) -> list[LayerAxis]:
    return [
        LayerAxis(variable.name, level.name, level.codes, None, variable.geography)
        for level in variable.levels
    ]


def _states(visit: Visit, record: VersionRecord, one: ParameterSet) -> bool:
    """Whether the programme of a data version states the parameters of a set in use itself."""
    if one.state is not SetState.active or record.facts.get("parameters"):
        return False
    service = visit.service
    try:
        version = service.datasets.version(record.dataset, record.version)
        opened = service.parameter_sets.parameters(one.name, one.version)[1]
    except ServiceError:  # it cannot be opened, and answers nothing
        return False
    return version.parameters.perturbation_table == opened.perturbation_table


def _names(record: VersionRecord, one: ParameterSet) -> bool:
    named = record.facts.get("parameters") or {}
    return (named.get("statistic"), named.get("version")) == (one.name, one.version)


def used_parameters(visit: Visit, record: VersionRecord) -> str:
    """Which parameters a published data version uses, in words."""
    spoken = words("parameter_use", visit.language)
    for one in visit.service.parameter_sets.sets():
        if _names(record, one):
            return f"{one.name} {one.version}"
        if _states(visit, record, one):
            return spoken["same"].format(f"{one.name} {one.version}")
    return spoken["own"]


def users_of(visit: Visit, one: ParameterSet) -> tuple[list[str], list[str]]:
    """The published data versions that name a set, and those that state its parameters.

    Such as "census 2022-1".
    """
    records = [record for record in visit.service.datasets.records() if record.state == "published"]
    named = [f"{record.dataset} {record.version}" for record in records if _names(record, one)]
    stated = [f"{record.dataset} {record.version}"
              for record in records if _states(visit, record, one)]  # fmt: skip
    return named, stated
