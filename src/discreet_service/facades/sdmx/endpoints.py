"""SDMX REST 2 over released tables: structures as SDMX-JSON 2, data as SDMX-CSV or SDMX-JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from discreet.errors import nearest
from discreet.publication import ListedCells
from discreet_service.facades import json_bytes, updated_of
from discreet_service.facades.sdmx.queries import (
    ALL_DIMENSIONS,
    SdmxQuery,
    wanted_cells,
    wanted_columns,
)
from discreet_service.facades.sdmx.structures import (
    AGENCY,
    ATTRIBUTES,
    VERSION,
    SdmxTable,
    code_list,
    dataflow,
    flow_ids,
    listed_codes,
    message,
    named,
    urn,
)
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.web import Visit, chosen_language, conditional, etag_of, visit_with

router = APIRouter(prefix="/sdmx/v2", tags=["SDMX"])

Reader = Annotated[Visit, Depends(visit_with(Permission.releases_read))]

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
_SAME = {"descendants": "children", "parentsandsiblings": "parents"}
_RELATIONS = ("none", "all", "parents", "ancestors", "children", *_SAME)
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


def _parts(rest: str, names: tuple[str, ...]) -> dict[str, str]:
    parts = rest.strip("/").split("/") if rest.strip("/") else []
    if len(parts) > len(names):
        reason = f"the address has {len(parts)} parts; at most {len(names)} are allowed"
        raise ServiceError(reason, "invalid-query", "path", "/".join(names))
    return {name: (parts[at] if at < len(parts) else "*") for at, name in enumerate(names)}


def _check_version(version: str) -> None:
    if not any(part in _CURRENT for part in version.split(",")):
        what, hint = "version not found", f"write {VERSION} or ~"
        raise ServiceError(what, "not-found", "version", hint)


def _of_agency(agency: str) -> bool:
    return any(part in ("*", "all", AGENCY) for part in agency.split(","))


def _media_types(visit: Visit) -> Iterator[tuple[str, str]]:
    for part in visit.headers.get("accept", "*/*").lower().split(",")[:50]:
        name, _, rest = part.strip().partition(";")
        version = re.search(r"version=([0-9.]+)", rest)
        yield name.strip(), version[1] if version else ""


@router.get("/structure/{rest:path}")
def get_sdmx_structure(visit: Reader, rest: str) -> Response:
    """Dataflows, data structures, code lists, concept schemes: SDMX-JSON 2."""
    service, anything = visit.service, ("*/*", "application/json", "application/*")
    versions = (version if name == _STRUCTURE_TYPE else "" for name, version in _media_types(visit)
                if name in (_STRUCTURE_TYPE, *anything))  # fmt: skip
    version = next(versions, None)
    if version is None:
        what, hint = "format not available", f"offered: {_STRUCTURE_TYPE}"
        raise ServiceError(what, "unsupported-format", "accept", hint)
    if version not in ("", "2.0.0", "2.0", "2.1.0", "2.1"):
        what, hint = "version not available", "offered: 2.0.0"
        raise ServiceError(what, "unsupported-format", "accept", hint)
    parts = _parts(rest, ("type", "agency", "id", "version", "item"))
    kind = parts["type"].lower()
    kinds = tuple(_KINDS) if kind in ("*", "structure") else (kind,)
    if kinds[0] not in _KINDS:
        hint = nearest(kind, list(_KINDS))
        raise ServiceError("structures not found", "not-found", "type", hint)
    _check_version(parts["version"])
    references = visit.query_params.get("references", "none").lower()
    detail = visit.query_params.get("detail", "full").lower()
    for where, given, words in (
        ("references", references, (*_KINDS, *_RELATIONS)),
        ("detail", detail, _DETAILS),
    ):
        if given not in words:
            hint = nearest(given[:60], words)
            raise ServiceError("unknown word", "invalid-query", where, hint)
    language = chosen_language(visit.service, "", visit)
    releases = service.releases.releases()
    seals = sorted(release.identity for release in releases.values())
    etag = etag_of(rest, references, detail, language, *seals)
    dates = [release.date for release in releases.values() if release.date]
    prepared = updated_of(max(dates, default="")) or _NO_DATE

    def body() -> bytes:
        content = _structures(visit, kinds, parts, references, language)
        if detail in ("allstubs", "allcompletestubs"):
            kept = ("id", "agencyID", "version", "name", "names", "structure")
            content = {
                kind: [{name: item[name] for name in kept if name in item} for item in items]
                for kind, items in content.items()
            }
        return json_bytes(message(content, language, prepared))

    return conditional(visit, etag, f"{_STRUCTURE_TYPE}; version=2.0.0", body)


def _flows(visit: Visit) -> Mapping[str, str]:
    return visit.service.releases.derived(flow_ids)


def _structures(
    visit: Visit,
    kinds: tuple[str, ...],
    parts: Mapping[str, str],
    references: str,
    language: str,
) -> dict[str, list[Any]]:
    flows, releases = _flows(visit), visit.service.releases
    wanted = {part for part in parts["id"].split(",") if part not in ("*", "all")}
    found: dict[str, dict[str, Any]] = {name: {} for name in _KINDS}
    for kind in kinds if _of_agency(parts["agency"]) else ():
        own = [flow for flow in flows if not wanted or _meant(kind, flow, wanted)]
        asked = (kind, *_also(kind, references))
        opened = [item for item in asked if item != "dataflow"]
        if opened and len(own) > _MOST_TABLES:
            reason = f"too many tables: the limit is {_MOST_TABLES}"
            hint, most = "select one, or request dataflows without references", _MOST_TABLES
            raise ServiceError(reason, "too-many-cells", "", hint, limit=most, actual=len(own))
        exact = wanted if kind in _PREFIXES else set()
        for flow in own:
            if "dataflow" in asked:
                listed = releases.listed(flows[flow])
                found["dataflow"][flow] = dataflow(flow, listed, language)
            if opened:
                table = SdmxTable(flow=flow, table=releases.table(flows[flow]))
            for item in opened:
                only = exact if item == kind else set()
                found[item] |= {
                    one["id"]: one
                    for one in table.structures(item, language)
                    if not only or one["id"] in only
                }
        for one in ATTRIBUTES.values() if "codelist" in asked else ():
            if one.codes and (kind != "codelist" or not wanted or one.codelist in wanted):
                found["codelist"][one.codelist] = code_list(one, language)
    content = {_KINDS[kind]: list(each.values()) for kind, each in found.items() if each}
    if not content and (wanted or not _of_agency(parts["agency"])):
        raise ServiceError("structures not found", "not-found", "id")
    return content


def _meant(kind: str, flow: str, wanted: set[str]) -> bool:
    if kind not in _PREFIXES:
        return flow in wanted
    start = f"{_PREFIXES[kind]}{flow}"
    return any(item == start or item.startswith(f"{start}_") for item in wanted)


def _also(kind: str, references: str) -> tuple[str, ...]:
    if references in _KINDS:
        return (references,)
    if references == "all":
        return tuple(item for item in _KINDS if item != kind)
    known = _REFERENCES[kind]
    return known.get(references) or known.get(_SAME.get(references, ""), ())


@router.get("/data/{rest:path}")
def get_sdmx_data(visit: Reader, rest: str) -> Response:
    """Observations of a released table: SDMX-CSV 2.0 or 1.0, SDMX-JSON 2.0."""
    service = visit.service
    for form, version in _media_types(visit):
        if version in _OFFERED.get(form, ()):
            break
    else:
        what = "format not available"
        hint = f"offered: {_DATA_TYPE}, {_JSON_TYPE};version=2.0.0"
        raise ServiceError(what, "unsupported-format", "accept", hint)
    kind = _JSON_TYPE if form in _JSON_TYPES else _DATA_TYPE
    csv = "1.0" if version.startswith("1.") else "2.0"
    parts = _parts(rest, ("context", "agency", "id", "version", "key"))
    if parts["context"].lower() not in ("dataflow", "datastructure", "*"):
        what, hint = "the dataflow is missing", "/data/dataflow/DISCREET/ID/1.0/KEY"
        raise ServiceError(what, "not-found", "context", hint)
    _check_version(parts["version"])
    # The dataflow that is named: one, for structures differ.
    flows, agency = _flows(visit), _of_agency(parts["agency"])
    listed = flows if parts["id"] in ("*", "all") else parts["id"].split(",")
    flow, *others = [item for item in listed if item in flows and agency] or [""]
    if not flow:
        raise ServiceError("dataflow not found", "not-found", "id")
    if others:
        what, hint = "request one dataflow at a time", "/data/dataflow/DISCREET/ID/1.0"
        raise ServiceError(what, "invalid-query", "id", hint)
    name, language = flows[flow], chosen_language(visit.service, "", visit)
    query = _query(visit, parts["key"], csv)
    updated_after = visit.query_params.get("updatedAfter", "")
    if updated_after and service.releases.listed(name).updated[:10] < updated_after[:10]:
        raise ServiceError("no changes since then", "not-found")
    conditions = service.releases.release(service.releases.listed(name).release).conditions
    table = SdmxTable(flow=flow, table=service.releases.table(name), conditions=conditions)
    most = min(_MOST_CELLS, service.settings.limits.cells_job)
    cells = wanted_cells(query, table, most=most)
    etag = etag_of(service.releases.identity(name), query, language, kind)
    if kind == _JSON_TYPE:
        prepared = updated_of(service.releases.listed(name).updated) or _NO_DATE

        def body() -> bytes:
            return json_bytes(data_message(query, table, cells, language, prepared))

        return conditional(visit, etag, f"{kind}; version=2.0.0", body)

    def lines() -> bytes:
        frame = wanted_columns(query, table, cells, language)
        return frame.write_csv(line_terminator="\r\n").encode("utf-8")

    media = f"{_DATA_TYPE}; version={csv}.0; charset=utf-8"
    return conditional(visit, etag, media, lines, name=f"{flow}.csv")


def _query(visit: Visit, key: str, csv: str) -> SdmxQuery:
    filters: dict[str, list[str]] = {}
    stated: dict[str, Any] = {}
    for name, value in visit.query_params.multi_items():
        match = _FILTER.fullmatch(name)
        if match is not None:
            filters.setdefault(match[1], []).append(value)
        elif name in _NUMBERS:
            member, least = _NUMBERS[name]
            if not re.fullmatch(r"\d{1,9}", value) or int(value) < least:
                what = f"must be a whole number of at least {least}"
                raise ServiceError(what, "invalid-query", name)
            stated[member] = int(value)
        elif name in _TEXTS:
            stated[_TEXTS[name]] = value
        elif name == "includeHistory" and value.lower() == "false":
            continue
        elif name != "updatedAfter":
            known = ["c[DIMENSION]", *_NUMBERS, *_TEXTS, "updatedAfter"]
            what, hint = "parameter not available", nearest(name[:60], known)
            raise ServiceError(what, "invalid-query", name[:60], hint)
    return SdmxQuery(key=key, filters=filters, csv=csv, **stated)


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
        raise ServiceError("unknown dimension", "invalid-query", "dimensionAtObservation")
    inner = [along] if along in table.dimensions else list(table.dimensions)
    outer = [name for name in table.dimensions if name not in inner]
    columns = {name: _dimension(table, frame, at, language)
               for at, name in enumerate(table.dimensions)}  # fmt: skip
    attributes = {
        name: _attribute(frame, name, language) for name in ATTRIBUTES if name in frame.columns
    }
    measures = []
    if "OBS_VALUE" in frame.columns:
        measures = [{"id": "OBS_VALUE", **named({"en": "Value", "de": "Wert"}, language)}]
    structure = {
        "links": [{"rel": "dataflow", "urn": urn("Dataflow", table.flow)}],
        "dimensions": {
            "dataSet": [],
            "series": [columns[name][0] for name in outer],
            "observation": [columns[name][0] for name in inner],
        },
        "measures": {"observation": measures},
        "attributes": {
            "dataSet": [],
            "series": [],
            "observation": [attribute[0] for attribute in attributes.values()],
        },
        "dataSets": [0],
    }
    # What is said of each observation: its value, and the numbers of its attributes.
    values = [[_number(item) for item in frame["OBS_VALUE"].to_list()]] if measures else []
    lines = [*values, *[places for _, places in attributes.values()]]
    facts = [list(item) for item in zip(*lines, strict=True)] if lines else [[]] * frame.height

    def keys(names: Sequence[str]) -> list[str]:
        places = zip(*(columns[name][1] for name in names), strict=True)
        return [":".join(map(str, item)) for item in places]

    whole: dict[str, Any] = {"structure": 0, "action": "Information"}
    if not outer:
        whole["observations"] = dict(zip(keys(inner), facts, strict=True))
    else:
        series: dict[str, dict[str, Any]] = {}
        for key, own, fact in zip(keys(outer), keys(inner), facts, strict=True):
            series.setdefault(key, {"observations": {}})["observations"][own] = fact
        whole["series"] = series
    content = {"structures": [structure], "dataSets": [whole]}
    return message(content, language, prepared, schema=_SCHEMA)


def _dimension(
    table: SdmxTable, frame: pl.DataFrame, at: int, language: str
) -> tuple[dict[str, Any], list[int]]:
    own = table.listed[at]
    column = frame[own.name].to_list()
    there = set(column)
    codes = [code for code in listed_codes(own, language) if code["id"] in there]
    place = {code["id"]: k for k, code in enumerate(codes)}
    facts = {"id": own.name, **named(own.titles, language), "keyPosition": at, "values": codes}
    return facts, [place[code] for code in column]


def _attribute(
    frame: pl.DataFrame, name: str, language: str
) -> tuple[dict[str, Any], list[int | None]]:
    own, column = ATTRIBUTES[name], frame[name].to_list()
    values = list(dict.fromkeys(item for item in column if item is not None))
    place: dict[Any, int] = {value: k for k, value in enumerate(values)}
    known = {code["id"]: code for code in listed_codes(own, language)}
    shown = [known[value] if known else {"value": value} for value in values]
    facts = {"id": name, **named(own.titles, language), "values": shown}
    return facts, [place.get(item) for item in column]


def _number(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    found = float(value)
    return int(found) if found.is_integer() and "." not in str(value) else found
