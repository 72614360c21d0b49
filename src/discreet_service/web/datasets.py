"""Data sets: titles, units, variables, levels and codes that can be asked about, in two languages.
Nothing here tells of records: neither how many there are, nor which codes occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query

from discreet.errors import nearest
from discreet_service.audit import utc
from discreet_service.datasets import CatalogueUnit, CatalogueVariable, DataVersion, VersionRecord
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.queries import said_in
from discreet_service.web.access import Visit, visit_with

router = APIRouter(prefix="/api/v1", tags=["datasets"])

#: Codes per page.
MOST_CODES = 1_000

_Reader = Annotated[Visit, Depends(visit_with(Permission.catalogue_read))]
_Publisher = Annotated[Visit, Depends(visit_with(Permission.datasets_publish))]
_Version = Annotated[str | None, Query(max_length=64, description="A version; the latest if none")]
_Unit = Annotated[str | None, Query(max_length=64, description="The unit; the first if none")]
LanguageParameter = Annotated[
    Literal["en", "de"] | None, Query(description="Language of labels; Accept-Language if none")
]


@router.get("/datasets")
def list_datasets(visit: _Reader, language: LanguageParameter = None) -> dict[str, Any]:
    """List the data sets that can be queried."""
    spoken = language or visit.language
    latest: dict[str, VersionRecord] = {}
    for record in visit.service.datasets.records():
        if record.state == "published":
            latest.setdefault(record.dataset, record)
    may = visit.principal.may
    found = [latest[name] for name in sorted(latest) if may(Permission.catalogue_read, name)]
    return {"datasets": [_summary(record, spoken) for record in found]}


@router.get("/datasets/{dataset}")
def get_dataset(dataset: str, visit: _Reader, language: LanguageParameter = None) -> dict[str, Any]:
    """A data set with its versions, latest first."""
    spoken = language or visit.language
    latest = visit.service.datasets.record(dataset)
    records = visit.service.datasets.records(dataset)
    versions = [{"version": one.version, "state": one.state, **_times(one)} for one in records]
    return {**_summary(latest, spoken), "versions": versions}


@router.get("/datasets/{dataset}/versions/{version}")
def get_dataset_version(
    dataset: str, version: str, visit: _Reader, language: LanguageParameter = None
) -> dict[str, Any]:
    """A version with its units, their variables, values and key figures."""
    spoken = language or visit.language
    record = visit.service.datasets.record(dataset, version)
    dataset_version = _summary(record, spoken) | {"state": record.state}
    if record.state == "published":
        opened = visit.service.datasets.version(dataset, version)
        dataset_version["units"] = [_unit(unit, spoken) for unit in opened.units.values()]
    return dataset_version


@router.get("/datasets/{dataset}/variables")
def list_variables(
    dataset: str,
    visit: _Reader,
    version: _Version = None,
    unit: _Unit = None,
    language: LanguageParameter = None,
) -> dict[str, Any]:
    """List the variables of a unit with their levels."""
    opened = visit.service.datasets.version(dataset, version)
    found = _asked_unit(opened, unit)
    spoken = language or visit.language
    variables = [_variable(variable, spoken) for variable in found.variables.values()]
    return {"dataset": opened.dataset, "version": opened.version, "unit": found.name,
            "variables": variables}  # fmt: skip


@router.get("/datasets/{dataset}/variables/{variable}/codelist")
def list_codes(
    dataset: str,
    variable: str,
    visit: _Reader,
    version: _Version = None,
    unit: _Unit = None,
    level: Annotated[
        str | None, Query(max_length=200, description="Filter: codes of this level")
    ] = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    size: Annotated[int, Query(ge=1, le=MOST_CODES)] = MOST_CODES,
    language: LanguageParameter = None,
) -> dict[str, Any]:
    """List the codes of a variable, page by page, in the order of its classification."""
    opened = visit.service.datasets.version(dataset, version)
    found = _asked_variable(opened, variable, unit)
    positions: Sequence[int] = range(len(found.tree))
    if level is not None:
        number = found.level_numbers.get(level, 0)
        if not number:
            hint = nearest(level, [item.name for item in found.levels])
            message = f"{variable[:60]!r} has no level {level[:60]!r}"
            raise ServiceError(message, "not-found", "level", hint)
        positions = found.cuts[number].tolist()
    spoken, start = language or visit.language, (page - 1) * size
    return {
        "dataset": opened.dataset,
        "version": opened.version,
        "variable": found.name,
        "level": level,
        "page": page,
        "size": size,
        "pages": max(-(-len(positions) // size), 1),
        "total": len(positions),
        "codes": [_code(found, at, spoken) for at in positions[start : start + size]],
    }


@router.post("/datasets/{dataset}/versions/{version}:publish")
def publish_dataset_version(dataset: str, version: str, visit: _Publisher) -> dict[str, Any]:
    """Check a version and open it for queries.

    Problems are reported to people who may publish it.
    """
    record = visit.service.datasets.publish(dataset, version, visit.principal.name)
    return {"dataset": dataset, "version": version, "state": record.state}


@router.post("/datasets/{dataset}/versions/{version}:retire")
def retire_dataset_version(dataset: str, version: str, visit: _Publisher) -> dict[str, Any]:
    """Close a version for queries."""
    record = visit.service.datasets.retire(dataset, version, visit.principal.name)
    return {"dataset": dataset, "version": version, "state": record.state}


def _summary(record: VersionRecord, language: str) -> dict[str, Any]:
    facts: Mapping[str, Any] = record.facts
    return {
        "id": record.dataset,
        "version": record.version,
        "title": said_in(facts["title"], language, record.dataset),
        "titles": facts["title"],
        "description": said_in(facts.get("description") or {}, language),
        "source": said_in(facts.get("source") or {}, language),
        **_times(record),
        "units": [
            {"name": unit["name"], "label": said_in(unit["label"], language, unit["name"])}
            for unit in facts["units"]
        ],
    }


def _times(record: VersionRecord) -> dict[str, Any]:
    """What a version is about, since when it is there, and with what it is protected."""
    published = utc(record.published_at).partition("T")[0]
    return {"period": record.facts.get("period"), "published": published,
            "parameters": record.facts.get("parameters")}  # fmt: skip


def _named(texts: Mapping[str, str], language: str, name: str) -> dict[str, Any]:
    """What something is called in a language, and in all."""
    return {"label": said_in(texts, language, name), "labels": dict(texts)}


def _unit(unit: CatalogueUnit, language: str) -> dict[str, Any]:
    return {
        "name": unit.name,
        **_named(unit.label, language, unit.name),
        "variables": [_variable(variable, language) for variable in unit.variables.values()],
        "values": [
            {
                "column": column,
                **_named(value.label, language, column),
                "unit": said_in(value.unit, language),
                "measures": [*(["sum"] if value.sums else []), *(["mean"] if value.means else [])],
            }
            for column, value in unit.values.items()
        ],
        "figures": [
            {
                "name": name,
                "kind": figure.kind,
                **_named(figure.title, language, name),
                "unit": said_in(figure.unit, language),
            }
            for name, figure in unit.figures.items()
        ],
    }


def _variable(variable: CatalogueVariable, language: str) -> dict[str, Any]:
    tree = variable.tree
    return {
        "name": variable.name,
        "label": tree.title(language),
        "labels": {item: tree.title(item) for item in ("en", "de")},
        "geography": variable.geography,
        "codes": len(tree),
        "total": tree.total,
        "levels": [
            {"number": level.number, "name": level.name, "codes": level.codes}
            for level in variable.levels
        ],
    }


def _code(variable: CatalogueVariable, at: int, language: str) -> dict[str, Any]:
    tree = variable.tree
    code = tree.codes[at]
    return {
        "code": code,
        "label": tree.label(code, language),
        "labels": {item: tree.label(code, item) for item in ("en", "de")},
        "level": int(tree.levels[at]),
        "parent": tree.parent(code),
    }


def _asked_unit(version: DataVersion, name: str | None) -> CatalogueUnit:
    if name is None:
        return next(iter(version.units.values()))
    if name not in version.units:
        hint = nearest(name, list(version.units))
        raise ServiceError(f"unit {name[:60]!r} not found", "not-found", "unit", hint)
    return version.units[name]


def _asked_variable(version: DataVersion, name: str, unit: str | None) -> CatalogueVariable:
    """A variable of a unit; of the first unit that has it if none is named."""
    units = [_asked_unit(version, unit)] if unit is not None else list(version.units.values())
    for item in units:
        if name in item.variables:
            return item.variables[name]
    known = list(dict.fromkeys(variable for each in units for variable in each.variables))
    message, hint = f"variable {name[:60]!r} not found", nearest(name, known)
    raise ServiceError(message, "unknown-variable", "variable", hint)
