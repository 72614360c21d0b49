"""SDMX REST 2 over released tables, to be read by its clients. Nothing can be changed here.

In: queries of structures and data. Out: structures as SDMX-JSON 2, data as SDMX-CSV or SDMX-JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import nearest
from discreet.publication import LANGUAGES, ListedCells
from discreet_service.facades import json_bytes, updated_of
from discreet_service.facades.sdmx.queries import (
    ALL_DIMENSIONS,
    SdmxQuery,
    csv_bytes,
    wanted_cells,
    wanted_columns,
)
from discreet_service.facades.sdmx.structures import (
    AGENCY,
    ATTRIBUTES,
    STATUS,
    VERSION,
    SdmxTable,
    dataflow,
    flow_ids,
    message,
    named,
    status_lists,
    urn,
)
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web import ServiceDep, conditional, etag_of, principal_with

router = APIRouter(prefix="/sdmx/v2", tags=["SDMX"])

Reader = Annotated[Principal, Depends(principal_with(Permission.releases_read))]

_KINDS = {
    "dataflow": "dataflows",
    "datastructure": "dataStructures",
    "codelist": "codelists",
    "conceptscheme": "conceptSchemes",
}
_PREFIXES = {"codelist": "CL_", "conceptscheme": "CS_"}
_ITEMS = ("codelist", "conceptscheme")
_USERS = {"parents": ("datastructure",), "ancestors": ("datastructure", "dataflow")}
_REFERENCES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "dataflow": {"children": ("datastructure",), "descendants": ("datastructure", *_ITEMS)},
    "datastructure": {"parents": ("dataflow",), "ancestors": ("dataflow",), "children": _ITEMS},
    "codelist": _USERS,
    "conceptscheme": _USERS,
}
_RELATIONS = ("none", "all", "parents", "parentsandsiblings", "ancestors", "children")
_SAME = {"descendants": "children", "parentsandsiblings": "parents"}
_DETAILS = (
    *("full", "raw", "allstubs", "allcompletestubs", "referencestubs"),
    *("referencecompletestubs", "referencepartial"),
)
#: Tables whose structures are given at once; lists of dataflows have no end.
_MOST_TABLES = 50
_MOST_CELLS = 1_000_000
_CURRENT = ("*", "~", "+", VERSION, "1+.0", "1.0+", "latest", "all", "")
_STRUCTURE_TYPE = "application/vnd.sdmx.structure+json"
_DATA_TYPE = "application/vnd.sdmx.data+csv"
_JSON_TYPE = "application/vnd.sdmx.data+json"
_JSON_TYPES = (_JSON_TYPE, "application/json")
#: Media types of data → their versions; SDMX-CSV where anything will do.
_OFFERED: Mapping[str, tuple[str, ...]] = {
    _DATA_TYPE: ("", "1.0.0", "1.0", "2.0.0", "2.0"),
    **dict.fromkeys(("*/*", "text/csv", "text/*", "application/*", "application/json"), ("",)),
    _JSON_TYPE: ("", "2.0.0", "2.0"),
}
_NO_DATE = "1970-01-01T00:00:00Z"
_FILTER = re.compile(r"c\[(.+)\]", re.DOTALL)
_NUMBERS = {
    "firstNObservations": ("first", 1),
    "lastNObservations": ("last", 1),
    "offset": ("offset", 0),
    "limit": ("limit", 1),
}
_TEXTS = {
    "attributes": "attributes",
    "measures": "measures",
    "dimensionAtObservation": "at_observation",
}


def _language(request: Request, service: Service) -> str:
    """The first language of the header that there is, else that of the service."""
    for part in request.headers.get("accept-language", "").split(",")[:20]:
        spoken = part.strip()[:2].lower()
        if spoken in LANGUAGES:
            return spoken
    return service.settings.languages[0]


def _parts(rest: str, names: tuple[str, ...]) -> dict[str, str]:
    """The parts of a path, with * for those that are not there."""
    parts = rest.strip("/").split("/") if rest.strip("/") else []
    if len(parts) > len(names):
        reason = f"the address has {len(parts)} parts, at most {len(names)} are known"
        raise ServiceError(reason, code="invalid-query", where="path", hint="/".join(names))
    return {name: (parts[at] if at < len(parts) else "*") for at, name in enumerate(names)}


def _check_version(version: str) -> None:
    if not any(part in _CURRENT for part in version.split(",")):
        what, hint = "there is no such version", f"write {VERSION} or ~"
        raise ServiceError(what, code="not-found", where="version", hint=hint)


def _of_agency(agency: str) -> bool:
    return any(part in ("*", "all", AGENCY) for part in agency.split(","))


def _accepted(request: Request, kind: str, others: tuple[str, ...]) -> str:
    """The version of a format that the caller takes; empty for any."""
    header = request.headers.get("accept", "*/*")
    for part in header.lower().split(",")[:50]:
        name, _, rest = part.strip().partition(";")
        version = re.search(r"version=([0-9.]+)", rest)
        if name.strip() == kind:
            return version[1] if version else ""
        if name.strip() in ("*/*", *others):
            return ""
    what, hint = "this format is not offered", f"offered: {kind}"
    raise ServiceError(what, code="unsupported-format", where="accept", hint=hint)


# -- structures ---------------------------------------------------------------------


@router.get("/structure/{rest:path}")
def get_sdmx_structure(request: Request, service: ServiceDep, _: Reader, rest: str) -> Response:
    """Dataflows, data structures, code lists, concept schemes: SDMX-JSON 2."""
    version = _accepted(request, _STRUCTURE_TYPE, ("application/json", "application/*"))
    if version not in ("", "2.0.0", "2.0", "2.1.0", "2.1"):
        what, hint = "this version is not offered", "offered: 2.0.0"
        raise ServiceError(what, code="unsupported-format", where="accept", hint=hint)
    parts = _parts(rest, ("type", "agency", "id", "version", "item"))
    kind = parts["type"].lower()
    kinds = tuple(_KINDS) if kind in ("*", "structure") else (kind,)
    if kinds[0] not in _KINDS:
        hint = nearest(kind, list(_KINDS))
        raise ServiceError(
            "there are no such structures", code="not-found", where="type", hint=hint
        )
    _check_version(parts["version"])
    references = request.query_params.get("references", "none").lower()
    detail = request.query_params.get("detail", "full").lower()
    _check_word(
        "references",
        references,
        (
            *_KINDS,
            "none",
            "all",
            "parents",
            "ancestors",
            "children",
            "descendants",
            "parentsandsiblings",
        ),
    )
    _check_word("detail", detail, _DETAILS)
    language = _language(request, service)
    releases = service.releases.releases()
    seals = sorted(release.identity for release in releases.values())
    etag = etag_of(rest, references, detail, language, *seals)
    dates = [release.date for release in releases.values() if release.date]
    prepared = updated_of(max(dates, default="")) or _NO_DATE

    def made() -> bytes:
        content = _structures(service, kinds, parts, references, language)
        if detail in ("allstubs", "allcompletestubs"):
            content = {name: [_stub(item) for item in found] for name, found in content.items()}
        return json_bytes(message(content, language, prepared))

    return conditional(request, service, etag, f"{_STRUCTURE_TYPE}; version=2.0.0", made)


def _check_word(where: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        hint = nearest(given[:60], known)
        raise ServiceError("this word is not known", code="invalid-query", where=where, hint=hint)


def _stub(structure: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("id", "agencyID", "version", "name", "names", "structure")
    return {name: structure[name] for name in kept if name in structure}


def _flows(service: Service) -> Mapping[str, str]:
    """Identifier of each dataflow → table; kept as long as the tables are the same."""
    return service.releases.derived(flow_ids)


def _structures(
    service: Service,
    kinds: tuple[str, ...],
    parts: Mapping[str, str],
    references: str,
    language: str,
) -> dict[str, list[Any]]:
    """The structures asked for, and those they refer to or that refer to them."""
    flows = _flows(service)
    wanted = {part for part in parts["id"].split(",") if part not in ("*", "all")}
    found: dict[str, dict[str, Any]] = {name: {} for name in _KINDS}
    if _of_agency(parts["agency"]):
        for kind in kinds:
            own = [flow for flow in flows if not wanted or _meant(kind, flow, wanted)]
            also = _also(kind, references)
            opened = [entry for entry in (kind, *also) if entry != "dataflow"]
            if opened and len(own) > _MOST_TABLES:
                reason = f"structures of at most {_MOST_TABLES} tables are given at once"
                hint = "name one, or ask for dataflows without references"
                raise ServiceError(
                    reason, code="too-many-cells", limit=_MOST_TABLES, actual=len(own), hint=hint
                )
            for flow in own:
                exact = wanted if kind in _PREFIXES else set()
                _add(service, found, flow, kind, language, exact)
                for item in also:
                    _add(service, found, flow, item, language, set())
            if kind == "codelist" or "codelist" in also:
                for states in status_lists(language):
                    if kind != "codelist" or not wanted or states["id"] in wanted:
                        found["codelist"][states["id"]] = states
    content = {_KINDS[kind]: list(each.values()) for kind, each in found.items() if each}
    if not content and (wanted or not _of_agency(parts["agency"])):
        raise ServiceError("there are no such structures", code="not-found", where="id")
    return content


def _meant(kind: str, flow: str, wanted: set[str]) -> bool:
    """Whether one of the names can be something of a table."""
    if kind not in _PREFIXES:
        return flow in wanted
    start = f"{_PREFIXES[kind]}{flow}"
    return any(item == start or item.startswith(f"{start}_") for item in wanted)


def _also(kind: str, references: str) -> tuple[str, ...]:
    """Further kinds of structures that a reference asks for."""
    if references in _KINDS:
        return (references,)
    if references == "all":
        return tuple(item for item in _KINDS if item != kind)
    known = _REFERENCES[kind]
    return known.get(references) or known.get(_SAME.get(references, ""), ())


def _add(
    service: Service,
    found: dict[str, dict[str, Any]],
    flow: str,
    kind: str,
    language: str,
    exact: set[str],
) -> None:
    """Add one kind of structures of a table."""
    name = _flows(service)[flow]
    if kind == "dataflow":
        found[kind][flow] = dataflow(flow, service.releases.listed(name), language)
        return
    table = SdmxTable(flow=flow, table=service.releases.table(name))
    if kind == "datastructure":
        made = [table.data_structure(language)]
    elif kind == "conceptscheme":
        made = [table.concept_scheme(language)]
    else:
        made = list(table.code_lists(language))
    found[kind] |= {item["id"]: item for item in made if not exact or item["id"] in exact}


# -- data ---------------------------------------------------------------------------


@router.get("/data/{rest:path}")
def get_sdmx_data(request: Request, service: ServiceDep, _: Reader, rest: str) -> Response:
    """Observations of a released table: SDMX-CSV 2.0 or 1.0, SDMX-JSON 2.0."""
    kind, csv = _data_format(request)
    parts = _parts(rest, ("context", "agency", "id", "version", "key"))
    if parts["context"].lower() not in ("dataflow", "datastructure", "*"):
        what, hint = "data are found by their dataflow", "/data/dataflow/DISCREET/ID/1.0/KEY"
        raise ServiceError(what, code="not-found", where="context", hint=hint)
    _check_version(parts["version"])
    flow = _one_flow(service, parts)
    name, language = _flows(service)[flow], _language(request, service)
    query = _query(request, parts["key"], csv)
    updated_after = request.query_params.get("updatedAfter", "")
    if updated_after and service.releases.listed(name).updated[:10] < updated_after[:10]:
        raise ServiceError("nothing has changed since then", code="not-found")
    table = SdmxTable(flow=flow, table=service.releases.table(name))
    most = min(_MOST_CELLS, service.settings.limits.cells_job)
    cells = wanted_cells(query, table, most=most)
    etag = etag_of(service.releases.identity(name), query, language, kind)
    if kind == _JSON_TYPE:
        prepared = updated_of(service.releases.listed(name).updated) or _NO_DATE

        def made() -> bytes:
            return json_bytes(data_message(query, table, cells, language, prepared))

        return conditional(request, service, etag, f"{kind}; version=2.0.0", made)
    return conditional(
        request,
        service,
        etag,
        f"{_DATA_TYPE}; version={csv}.0; charset=utf-8",
        lambda: csv_bytes(query, table, cells, language),
        name=f"{flow}.csv",
    )


def _data_format(request: Request) -> tuple[str, str]:
    """The first media type of Accept that is offered, and the version of SDMX-CSV."""
    for part in request.headers.get("accept", "*/*").lower().split(",")[:50]:
        name, _, rest = part.strip().partition(";")
        match = re.search(r"version=([0-9.]+)", rest)
        version = match[1] if match else ""
        if name.strip() in _OFFERED and version in _OFFERED[name.strip()]:
            kind = _JSON_TYPE if name.strip() in _JSON_TYPES else _DATA_TYPE
            return kind, "1.0" if version.startswith("1.") else "2.0"
    what, hint = "this format is not offered", f"offered: {_DATA_TYPE}, {_JSON_TYPE};version=2.0.0"
    raise ServiceError(what, code="unsupported-format", where="accept", hint=hint)


def _one_flow(service: Service, parts: Mapping[str, str]) -> str:
    """The dataflow that is named: one, for structures differ."""
    flows = _flows(service)
    named = flows if parts["id"] in ("*", "all") else parts["id"].split(",")
    found = [item for item in named if item in flows] if _of_agency(parts["agency"]) else []
    if not found:
        raise ServiceError("there is no such dataflow", code="not-found", where="id")
    if len(found) > 1:
        what, hint = "data of one dataflow are given at once", "/data/dataflow/DISCREET/ID/1.0"
        raise ServiceError(what, code="invalid-query", where="id", hint=hint)
    return found[0]


def _query(request: Request, key: str, csv: str) -> SdmxQuery:
    """What the parameters of an address say."""
    filters: dict[str, list[str]] = {}
    told: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        match = _FILTER.fullmatch(name)
        if match is not None:
            filters.setdefault(match[1], []).append(value)
        elif name in _NUMBERS:
            member, least = _NUMBERS[name]
            if not re.fullmatch(r"\d{1,9}", value) or int(value) < least:
                what = f"a whole number of at least {least} is needed"
                raise ServiceError(what, code="invalid-query", where=name)
            told[member] = int(value)
        elif name in _TEXTS:
            told[_TEXTS[name]] = value
        elif name == "includeHistory" and value.lower() == "false":
            continue
        elif name != "updatedAfter":
            known = ["c[DIMENSION]", *_NUMBERS, *_TEXTS, "updatedAfter"]
            what, hint = "this parameter is not offered", nearest(name[:60], known)
            raise ServiceError(what, code="invalid-query", where=name[:60], hint=hint)
    return SdmxQuery(key=key, filters=filters, csv=csv, **told)


_SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/master/"
    "data-message/tools/schemas/2.0.0/sdmx-json-data-schema.json"
)


def data_message(
    query: SdmxQuery, table: SdmxTable, cells: ListedCells, language: str, prepared: str
) -> dict[str, Any]:
    """Observations as a message of SDMX-JSON."""
    frame = wanted_columns(query, table, cells, language)
    along = query.at_observation
    if along and along not in (*table.dimensions, ALL_DIMENSIONS):
        reason = "there is no such dimension"
        raise ServiceError(reason, code="invalid-query", where="dimensionAtObservation")
    inner = [along] if along in table.dimensions else list(table.dimensions)
    outer = [name for name in table.dimensions if name not in inner]
    columns = {name: _dimension(table, frame, at, language)
               for at, name in enumerate(table.dimensions)}  # fmt: skip
    attributes = {
        name: _attribute(frame, name, language) for name in ATTRIBUTES if name in frame.columns
    }
    structure = {
        "links": [{"rel": "dataflow", "urn": urn("Dataflow", table.flow)}],
        "dimensions": {
            "dataSet": [],
            "series": [columns[name][0] for name in outer],
            "observation": [columns[name][0] for name in inner],
        },
        "measures": {"observation": _measures(frame, language)},
        "attributes": {
            "dataSet": [],
            "series": [],
            "observation": [attribute[0] for attribute in attributes.values()],
        },
        "dataSets": [0],
    }
    told = _told(frame, [places for _, places in attributes.values()])
    numbers = {name: places for name, (_, places) in columns.items()}
    content = {"structures": [structure], "dataSets": [_data_set(outer, inner, numbers, told)]}
    return message(content, language, prepared, schema=_SCHEMA)


def _dimension(
    table: SdmxTable, frame: pl.DataFrame, at: int, language: str
) -> tuple[dict[str, Any], list[int]]:
    """A dimension with the codes that occur, and the number of each observation's code."""
    name = table.dimensions[at]
    given = frame[name].to_list()
    there = set(given)
    codes = [code for code in table.codes(at, language) if code["id"] in there]
    place = {each["id"]: k for k, each in enumerate(codes)}
    told = {"id": name, **named(table.titles(at), language), "keyPosition": at, "values": codes}
    return told, [place[code] for code in given]


def _attribute(
    frame: pl.DataFrame, name: str, language: str
) -> tuple[dict[str, Any], list[int | None]]:
    """An attribute with the values that occur, and the number of each observation's value."""
    texts, codelist = ATTRIBUTES[name]
    given = frame[name].to_list()
    values = list(dict.fromkeys(item for item in given if item is not None))
    place = {each: k for k, each in enumerate(values)}
    known: Mapping[str, Any] = STATUS[codelist] if codelist else {}
    shown = [
        {"id": value, **named(known[value], language)} if codelist else {"value": value}
        for value in values
    ]
    told = {"id": name, **named(texts, language), "values": shown}
    return told, [None if item is None else place[item] for item in given]


def _measures(frame: pl.DataFrame, language: str) -> list[dict[str, Any]]:
    if "OBS_VALUE" not in frame.columns:
        return []
    return [{"id": "OBS_VALUE", **named({"en": "Value", "de": "Wert"}, language)}]


def _told(frame: pl.DataFrame, attributes: Sequence[Sequence[int | None]]) -> list[list[Any]]:
    """What is told of each observation: its value, and the numbers of its attributes."""
    values = []
    if "OBS_VALUE" in frame.columns:
        values = [[_number(item) for item in frame["OBS_VALUE"].to_list()]]
    lines = [*values, *attributes]
    return [list(item) for item in zip(*lines, strict=True)] if lines else [[]] * frame.height


def _number(value: Any) -> Any:
    """A value as JSON has it, with the digits that are published."""
    if value is None or isinstance(value, int):
        return value
    found = float(value)
    return int(found) if found.is_integer() and "." not in str(value) else found


def _data_set(
    outer: Sequence[str],
    inner: Sequence[str],
    numbers: Mapping[str, Sequence[int]],
    told: Sequence[list[Any]],
) -> dict[str, Any]:
    """The observations under their keys; in series where some dimensions stand outside."""

    def keys(names: Sequence[str]) -> list[str]:
        return [":".join(map(str, item)) for item in zip(*(numbers[n] for n in names), strict=True)]

    observed = dict.fromkeys(("structure",), 0) | {"action": "Information"}
    if not outer:
        return {**observed, "observations": dict(zip(keys(inner), told, strict=True))}
    series: dict[str, dict[str, Any]] = {}
    for key, own, each in zip(keys(outer), keys(inner), told, strict=True):
        series.setdefault(key, {"observations": {}})["observations"][own] = each
    return {**observed, "series": series}
