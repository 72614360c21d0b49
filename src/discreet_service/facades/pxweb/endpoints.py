"""PxWebApi 2 over released tables; nothing can be changed here. Errors are problem documents with
its status codes: 400, 403 (too many cells), 404, 429.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from fastapi.responses import JSONResponse, Response

from discreet._version import __version__
from discreet.publication import LANGUAGES
from discreet_service.facades import json_bytes
from discreet_service.facades.pxweb.documents import (
    code_list,
    csv_text,
    json_px,
    json_px_metadata,
    json_stat,
    table_entry,
)
from discreet_service.facades.pxweb.queries import (
    PX_FORMATS,
    PxQuery,
    default_positions,
    level_lists,
    opened_query,
    query_of,
    saved_query,
    selection_of,
)
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.releases import MEDIA_TYPES, Selection, select, written
from discreet_service.service import Service
from discreet_service.web import (
    Content,
    OpenVisit,
    TokenBuckets,
    Visit,
    caller_address,
    conditional,
    etag_of,
    visit_with,
)

router = APIRouter(prefix="/pxapi/v2", tags=["PxWebApi 2"])

#: Seconds of the window in which calls are counted, as /config has it.
_WINDOW = 10
_API = "2.0.0"
_PAGE, _MOST_PAGE = 20, 100_000
_NAMES = {"en": "English", "de": "Deutsch"}
_JSON = "application/json"


async def _in_window(
    visit: Annotated[Visit, Depends(visit_with(Permission.releases_read))],
) -> Visit:
    """A visit, unless the caller asks too often."""
    state, principal, calls = visit.app.state, visit.principal, _calls(visit.service)
    if not hasattr(state, "px_calls"):
        state.px_calls = TokenBuckets(
            per_second=calls / _WINDOW, burst=calls, clock=visit.service.clock
        )
    anonymous = principal.kind == "anonymous"
    who = caller_address(visit) if anonymous else f"{principal.kind} {principal.name}"
    if wait := state.px_calls.wait(who):
        message = f"limit: {calls} calls in {_WINDOW} seconds"
        raise ServiceError(message, "rate-limited", retry_after=wait, limit=calls)
    return visit


def _calls(service: Service) -> int:
    """Calls of one caller in a window; never more than the service lets anybody make."""
    return max(1, int(service.settings.limits.anonymous_per_second * _WINDOW))


Reader = Annotated[Visit, Depends(_in_window)]


def _language(visit: Visit) -> str:
    languages, wanted = visit.service.settings.languages, visit.query_params.get("lang", "").lower()
    if wanted and wanted not in LANGUAGES:
        hint = f"known: {', '.join(languages)}"
        raise ServiceError("unknown language", "invalid-selection", "lang", hint)
    return wanted or languages[0]


def _base(visit: Visit) -> str:
    return f"{visit.service.settings.base_url}{router.prefix}"


def _most(visit: Visit) -> int:
    """Cells that may be asked for at once."""
    return visit.service.settings.limits.cells_instant


@router.get("/config")
def get_px_config(visit: OpenVisit) -> dict[str, Any]:
    """Limits, languages and formats of this API."""
    languages = visit.service.settings.languages
    return {
        "apiVersion": _API,
        "appVersion": __version__,
        "languages": [
            {"id": language, "label": _NAMES.get(language, language)} for language in languages
        ],
        "defaultLanguage": languages[0],
        "maxDataCells": _most(visit),
        "maxCallsPerTimeWindow": _calls(visit.service),
        "timeWindow": _WINDOW,
        "license": "",
        "sourceReferences": [
            {"language": language, "text": visit.service.settings.name} for language in languages
        ],
        "defaultDataFormat": PX_FORMATS[0],
        "dataFormats": list(PX_FORMATS),
        "features": [
            {"id": "CORS", "params": [{"key": "enabled", "value": "False"}]},
            {"id": "savedQueries", "params": [{"key": "enabled", "value": "True"}]},
        ],
    }


@router.get("/tables")
def list_px_tables(
    visit: Reader,
    query: Annotated[str, Query(max_length=500)] = "",
    past_days: Annotated[int | None, Query(alias="pastDays", ge=1, le=100_000)] = None,
    page: Annotated[int, Query(alias="pageNumber", ge=1, le=10_000_000)] = 1,
    size: Annotated[int, Query(alias="pageSize", ge=1, le=_MOST_PAGE)] = _PAGE,
) -> dict[str, Any]:
    """List released tables, page by page; `query` keeps those that contain all its words."""
    language, base, service = _language(visit), _base(visit), visit.service
    words = [word.strip("*").casefold() for word in query.split()]
    tables = [
        table
        for table in service.releases.tables().values()
        if all(word in table.searched for word in words)
    ]
    if past_days is not None:
        now = datetime.fromtimestamp(service.clock() / 1000, UTC).date()
        first = (now - timedelta(days=past_days)).isoformat()
        tables = [item for item in tables if item.updated and item.updated[:10] >= first]
    pages = max(1, math.ceil(len(tables) / size))
    if page > pages:
        message = f"the last page is {pages:,}"
        raise ServiceError(message, "not-found", "pageNumber", limit=pages, actual=page)
    releases = service.releases.releases()
    titles = {name: release.title(language) for name, release in releases.items()}

    def link(kind: str, number: int) -> dict[str, str]:
        address = f"{base}/tables?lang={language}&pageNumber={number}&pageSize={size}"
        return {"rel": kind, "hreflang": language, "href": address}

    beside = [link("next", page + 1)] if page < pages else []
    return {
        "language": language,
        "tables": [
            table_entry(item, language, base, titles.get(item.release, item.release))
            for item in tables[(page - 1) * size : page * size]
        ],
        "page": {
            "pageNumber": page,
            "pageSize": size,
            "totalElements": len(tables),
            "totalPages": pages,
            "links": [*beside, *([link("previous", page - 1)] if page > 1 else [])],
        },
        "links": [link("self", page)],
    }


@router.get("/tables/{table}")
def get_px_table(visit: Reader, table: str) -> Response:
    """Summary of one released table."""
    language, listed = _language(visit), visit.service.releases.listed(table)
    title = visit.service.releases.release(listed.release).title(language)
    entry = table_entry(listed, language, _base(visit), title)
    return _answer(visit, table, {"language": language, **entry})


@router.get("/tables/{table}/metadata")
def get_px_metadata(visit: Reader, table: str) -> Response:
    """All variables and codes of a released table, as JSON-stat 2 or json-px."""
    language, whole = _language(visit), visit.service.releases.table(table)
    lower = {name.lower(): value for name, value in visit.query_params.items()}
    form = lower.get("outputformat", PX_FORMATS[0]).lower()
    if form not in ("json-stat2", "json-px"):
        message, hint = "metadata formats: json-stat2, json-px", "outputFormat=json-stat2"
        raise ServiceError(message, "invalid-selection", "outputFormat", hint)
    saved = opened_query(lower["savedquery"]) if lower.get("savedquery") else None
    if saved is not None and saved["tableId"] != table:
        message = "the saved query belongs to another table"
        raise ServiceError(message, "invalid-selection", "savedQuery")
    parameters = visit.query_params.multi_items()
    named = [item for item in parameters if item[0].lower().startswith("codelist")]
    lists = PxQuery.of_parameters(named, language)

    def content() -> bytes:
        if form == "json-px":
            return json_bytes(json_px_metadata(whole, language))
        if saved is not None:
            selection = _meant(visit, saved)[1]
        elif lists.codelists:
            every = replace(lists, values={one.name: ["*"] for one in whole.dimensions})
            selection = selection_of(every, whole, table, most=whole.grid_size)
        else:
            default = lower.get("defaultselection", "").lower() == "true"
            most = _most(visit) if default else whole.grid_size
            selection = select(whole, default_positions(whole, most), most=whole.grid_size)
        return json_bytes(json_stat(selection, table, language, _base(visit), data=False))

    return _answer(visit, table, content)


@router.get("/tables/{table}/defaultselection")
def get_px_default_selection(visit: Reader, table: str) -> Response:
    """The codes that are shown if nothing is selected."""
    whole = visit.service.releases.table(table)
    chosen = default_positions(whole, _most(visit))
    names = [dimension.name for dimension in whole.dimensions]
    across = names[-1:] if whole.several_figures else []
    selection = [
        (one.name, None, [one.codes[at] for at in chosen[one.name]]) for one in whole.dimensions
    ]
    stub = [name for name in names if name not in across]
    return _answer(visit, table, _selected(visit, selection, across, stub))


def _selected(
    visit: Visit,
    selection: Sequence[tuple[str, str | None, list[str]]],
    heading: Sequence[str],
    stub: Sequence[str],
) -> dict[str, Any]:
    """A selection as it is told: variables with their lists of codes and codes."""
    names = ("variableCode", "codelist", "valueCodes")
    return {
        "language": _language(visit),
        "selection": [dict(zip(names, one, strict=True)) for one in selection],
        "placement": {"heading": list(heading), "stub": list(stub)},
        "links": [],
    }


@router.get("/tables/{table}/data")
def get_px_data(visit: Reader, table: str) -> Response:
    """Cells of a released table; suppressed cells have no number."""
    parameters, language = visit.query_params.multi_items(), visit.service.settings.languages[0]
    return _data(visit, table, PxQuery.of_parameters(parameters, language))


@router.post("/tables/{table}/data")
def post_px_data(visit: Reader, table: str, body: Annotated[Any, Body()] = None) -> Response:
    """Cells of a released table, with the selection in the body."""
    language = visit.service.settings.languages[0]
    return _data(visit, table, PxQuery.of_body(body, dict(visit.query_params), language))


def _data(visit: Visit, table: str, query: PxQuery) -> Response:
    """The cells that a query means, in its format."""
    whole, form, language = visit.service.releases.table(table), query.format, query.language
    selection = selection_of(query, whole, table, most=_most(visit))
    media = MEDIA_TYPES.get(form, _JSON)

    def content() -> Content:
        names = [dimension.name for dimension in whole.dimensions]
        if form == "json-stat2":
            stub, heading = ([names.index(one) for one in part]
                             for part in (query.stub, query.heading))  # fmt: skip
            left = [at for at in selection.shown if at not in (*stub, *heading)]
            order = [at for at in (*stub, *left, *heading) if at in selection.shown]
            return json_bytes(json_stat(selection, table, language, _base(visit), order=order))
        if form == "json-px":
            return json_bytes(json_px(selection, query))
        if form == "csv":
            return csv_text(selection, query)
        shown = selection.as_table()
        options: dict[str, Any] = {"labels": query.texts != "UseCodes"} if form != "parquet" else {}
        if form != "parquet":
            there = {dimension.name for dimension in shown.dimensions}
            for side, placed in (("rows", query.stub), ("columns", query.heading)):
                if kept := [name for name in placed if name in there]:
                    options[side] = kept
        return written(shown, form, language, **options)

    name = "" if media == _JSON else f"{table}.{form}"
    return _answer(visit, table, content, query, media=media, name=name)


@router.get("/codelists/{codelist}")
def get_px_code_list(visit: Reader, codelist: str) -> Response:
    """The codes of one level of a variable."""
    language, releases = _language(visit), visit.service.releases
    table, _, rest = codelist.partition("~")
    every = releases.table(table).dimensions if table in releases.tables() else ()
    name = rest.rpartition("~")[0]
    variable = next((item for item in every if item.name == name), None)
    listed = None if variable is None else level_lists(table, variable).get(codelist)
    if variable is None or listed is None:
        raise ServiceError("code list not found", "not-found", "codelist")
    return _answer(visit, table, code_list(listed, variable, language, _base(visit)))


@router.post("/savedqueries", status_code=201)
def save_px_query(visit: Reader, body: Annotated[Any, Body()] = None) -> JSONResponse:
    """Save a query. The service stores nothing: the number contains the query."""
    number, query = saved_query(body, _language(visit))
    _meant(visit, query)
    saved = _saved(visit, number, query)
    return JSONResponse(saved, status_code=201, headers={"Location": saved["links"][0]["href"]})


@router.get("/savedqueries/{query}")
def get_px_saved_query(visit: Reader, query: str) -> dict[str, Any]:
    """A saved query, as it was saved."""
    return _saved(visit, query, opened_query(query))


@router.get("/savedqueries/{query}/data")
def run_px_saved_query(visit: Reader, query: str) -> Response:
    """The cells of a saved query; the address may name another language or format."""
    saved = opened_query(query)
    return _data(visit, str(saved["tableId"]), query_of(saved, dict(visit.query_params)))


@router.get("/savedqueries/{query}/selection")
def get_px_saved_selection(visit: Reader, query: str) -> Response:
    """The codes that a saved query selects, without expressions."""
    saved = opened_query(query)
    wanted, meant = _meant(visit, saved)
    names = [dimension.name for dimension in meant.table.dimensions]
    selection = [
        (names[at], wanted.codelists.get(names[at]), meant.codes(at)) for at in meant.shown
    ]
    selected = _selected(visit, selection, wanted.heading, wanted.stub)
    return _answer(visit, str(saved["tableId"]), selected)


def _meant(visit: Visit, saved: Mapping[str, Any]) -> tuple[PxQuery, Selection]:
    name, wanted = str(saved["tableId"]), query_of(saved, {})
    table = visit.service.releases.table(name)
    return wanted, selection_of(wanted, table, name, most=_most(visit))


def _saved(visit: Visit, number: str, query: Mapping[str, Any]) -> dict[str, Any]:
    place, language = f"{_base(visit)}/savedqueries/{number}", str(query["language"])
    return {
        "language": language,
        "id": number,
        "savedQuery": {"id": number, **query},
        "links": [
            {"rel": "self", "hreflang": language, "href": place},
            {"rel": "data", "hreflang": language, "href": f"{place}/data"},
        ],
    }


def _answer(
    visit: Visit,
    table: str,
    content: dict[str, Any] | Callable[[], Content],
    *parts: object,
    media: str = _JSON,
    name: str = "",
) -> Response:
    """A response that is the same until the release changes."""
    release = visit.service.releases.identity(table)
    language = visit.headers.get("accept-language", "")[:20]
    etag = etag_of(release, visit.url.path, sorted(visit.query_params.multi_items()), parts)
    body = content if callable(content) else partial(json_bytes, content)
    return conditional(visit, etag_of(etag, language), media, body, name=name)
