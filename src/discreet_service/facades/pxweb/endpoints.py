"""PxWebApi 2 over released tables, to be read by clients of PxWeb. Nothing can be changed here.

In: requests as the specification has them. Out: its documents. Errors are problem documents with
its status codes: 400, 403 (too many cells), 404, 429.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from discreet._version import __version__
from discreet.publication import LANGUAGES
from discreet.tables import Dimension
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
    DEFAULT_FORMAT,
    PX_FORMATS,
    PxQuery,
    default_positions,
    find_level_list,
    opened_query,
    query_of,
    saved_query,
    selection_of,
)
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.releases import MEDIA_TYPES, ListedTable, Selection, select, written
from discreet_service.service import Service
from discreet_service.web import (
    Content,
    OpenToAll,
    ServiceDep,
    caller_address,
    conditional,
    etag_of,
    principal_with,
)

router = APIRouter(prefix="/pxapi/v2", tags=["PxWebApi 2"])

#: Seconds of the window in which calls are counted, as /config has it.
WINDOW = 10
_API = "2.0.0"
_PAGE, _MOST_PAGE = 20, 100_000
_NAMES = {"en": "English", "de": "Deutsch"}
_JSON = "application/json"
_OWN_TYPES = {"json-stat2": _JSON, "json-px": _JSON, "csv": MEDIA_TYPES["csv"]}
_SUFFIXES = {"json-stat2": "", "json-px": ""}

Reader = Annotated[Principal, Depends(principal_with(Permission.releases_read))]


def _in_window(request: Request, service: ServiceDep, principal: Reader) -> Service:
    """The service, unless the caller asks too often."""
    state = request.app.state
    if not hasattr(state, "px_windows"):
        state.px_windows = CallWindows(calls_in_window(service), WINDOW, service.clock)
    windows: CallWindows = state.px_windows
    anonymous = principal.kind == "anonymous"
    who = caller_address(request) if anonymous else f"{principal.kind} {principal.name}"
    if wait := windows.wait(who):
        calls = calls_in_window(service)
        message = f"at most {calls} calls can be made in {WINDOW} seconds"
        raise ServiceError(message, code="rate-limited", retry_after=wait, limit=calls)
    return service


def calls_in_window(service: Service) -> int:
    """Calls of one caller in a window; never more than the service lets anybody make."""
    return max(1, int(service.settings.limits.anonymous_per_second * WINDOW))


ReadsReleases = Annotated[Service, Depends(_in_window)]


def _language(request: Request, service: Service) -> str:
    """The language asked for; the first of the service if none is."""
    given = request.query_params.get("lang", "").lower()
    if given and given not in LANGUAGES:
        hint = f"known: {', '.join(service.settings.languages)}"
        message = "there is no such language"
        raise ServiceError(message, code="invalid-selection", where="lang", hint=hint)
    return given or service.settings.languages[0]


def _base(service: Service) -> str:
    return f"{service.settings.base_url}{router.prefix}"


def cells_at_once(service: Service) -> int:
    """Cells that may be asked for at once."""
    return service.settings.limits.cells_instant


@router.get("/config", dependencies=[OpenToAll])
def get_px_config(service: ServiceDep) -> dict[str, Any]:
    """Limits, languages and formats of this API."""
    languages = service.settings.languages
    return {
        "apiVersion": _API,
        "appVersion": __version__,
        "languages": [
            {"id": language, "label": _NAMES.get(language, language)} for language in languages
        ],
        "defaultLanguage": languages[0],
        "maxDataCells": cells_at_once(service),
        "maxCallsPerTimeWindow": calls_in_window(service),
        "timeWindow": WINDOW,
        "license": "",
        "sourceReferences": [
            {"language": language, "text": service.settings.name} for language in languages
        ],
        "defaultDataFormat": DEFAULT_FORMAT,
        "dataFormats": list(PX_FORMATS),
        "features": [
            {"id": "CORS", "params": [{"key": "enabled", "value": "False"}]},
            {"id": "savedQueries", "params": [{"key": "enabled", "value": "True"}]},
        ],
    }


@router.get("/tables")
def list_px_tables(
    request: Request,
    service: ReadsReleases,
    query: Annotated[str, Query(max_length=500)] = "",
    past_days: Annotated[int | None, Query(alias="pastDays", ge=1, le=100_000)] = None,
    page: Annotated[int, Query(alias="pageNumber", ge=1, le=10_000_000)] = 1,
    size: Annotated[int, Query(alias="pageSize", ge=1, le=_MOST_PAGE)] = _PAGE,
) -> dict[str, Any]:
    """Released tables, page by page; those that contain all words of the query."""
    language, base = _language(request, service), f"{_base(service)}/tables"
    tables = found_tables(service, query, past_days)
    pages = max(1, math.ceil(len(tables) / size))
    if page > pages:
        message = f"there are {pages:,} pages"
        raise ServiceError(message, code="not-found", where="pageNumber", limit=pages, actual=page)
    releases = service.releases.releases()
    titles = {name: release.title(language) for name, release in releases.items()}
    shown = tables[(page - 1) * size : page * size]

    def link(kind: str, number: int) -> dict[str, str]:
        address = f"{base}?lang={language}&pageNumber={number}&pageSize={size}"
        return {"rel": kind, "hreflang": language, "href": address}

    beside = [("next", page + 1)] if page < pages else []
    beside += [("previous", page - 1)] if page > 1 else []
    return {
        "language": language,
        "tables": [
            table_entry(item, language, _base(service), titles.get(item.release, item.release))
            for item in shown
        ],
        "page": {
            "pageNumber": page,
            "pageSize": size,
            "totalElements": len(tables),
            "totalPages": pages,
            "links": [link(*item) for item in beside],
        },
        "links": [link("self", page)],
    }


def found_tables(service: Service, query: str, past_days: int | None = None) -> list[ListedTable]:
    """The tables that contain all words of a query, and are young enough."""
    from datetime import UTC, datetime, timedelta

    words = [word.strip("*").casefold() for word in query.split()]
    tables = [
        table
        for table in service.releases.tables().values()
        if all(word in table.searched for word in words)
    ]
    if past_days is None:
        return tables
    now = datetime.fromtimestamp(service.clock() / 1000, UTC).date()
    first = (now - timedelta(days=past_days)).isoformat() if past_days < 700_000 else ""
    return [item for item in tables if item.updated and item.updated[:10] >= first]


@router.get("/tables/{table}")
def get_px_table(request: Request, service: ReadsReleases, table: str) -> Response:
    """One released table in short."""
    language, listed = _language(request, service), service.releases.listed(table)
    title = service.releases.release(listed.release).title(language)

    def made() -> bytes:
        entry = table_entry(listed, language, _base(service), title)
        return json_bytes({"language": language, **entry})

    return px_answer(request, service, table, _JSON, made)


@router.get("/tables/{table}/metadata")
def get_px_metadata(request: Request, service: ReadsReleases, table: str) -> Response:
    """All variables and codes of a released table: JSON-stat 2, or json-px."""
    language, found = _language(request, service), service.releases.table(table)
    lower = {name.lower(): value for name, value in request.query_params.items()}
    form = lower.get("outputformat", DEFAULT_FORMAT).lower()
    if form not in ("json-stat2", "json-px"):
        what, hint = "metadata come as json-stat2 or json-px", "outputFormat=json-stat2"
        raise ServiceError(what, code="invalid-selection", where="outputFormat", hint=hint)
    saved = opened_query(lower["savedquery"]) if lower.get("savedquery") else None
    if saved is not None and saved["tableId"] != table:
        what = "the saved query is about another table"
        raise ServiceError(what, code="invalid-selection", where="savedQuery")
    lists = PxQuery.of_parameters(
        [
            multi_item
            for multi_item in request.query_params.multi_items()
            if multi_item[0].lower()[:8] == "codelist"
        ],
        language,
    )

    def made() -> bytes:
        if form == "json-px":
            return json_bytes(json_px_metadata(found, language))
        wanted = {dimension.name: list(range(len(dimension))) for dimension in found.dimensions}
        if lower.get("defaultselection", "").lower() == "true":
            wanted = default_positions(found, cells_at_once(service))
        selection = select(found, wanted, most=found.grid_size)
        if saved is not None:
            selection = _meant(service, saved)[1]
        elif lists.codelists:
            every = {dimension.name: ["*"] for dimension in found.dimensions}
            asked = replace(lists, values=every)
            size = found.grid_size
            selection = selection_of(asked, found, table, most=size, first=size)
        return json_bytes(json_stat(selection, table, language, _base(service), data=False))

    return px_answer(request, service, table, _JSON, made)


@router.get("/tables/{table}/defaultselection")
def get_px_default_selection(request: Request, service: ReadsReleases, table: str) -> Response:
    """What is given of a released table if nothing is selected."""
    language, found = _language(request, service), service.releases.table(table)

    def made() -> bytes:
        chosen = default_positions(found, cells_at_once(service))
        names = [dimension.name for dimension in found.dimensions]
        across = names[-1:] if found.several_figures else []
        return json_bytes(
            {
                "language": language,
                "selection": [
                    {
                        "variableCode": item.name,
                        "codelist": None,
                        "valueCodes": [item.codes[at] for at in chosen[item.name]],
                    }
                    for item in found.dimensions
                ],
                "placement": {
                    "heading": across,
                    "stub": [name for name in names if name not in across],
                },
                "links": [],
            }
        )

    return px_answer(request, service, table, _JSON, made)


@router.get("/tables/{table}/data")
def get_px_data(request: Request, service: ReadsReleases, table: str) -> Response:
    """Cells of a released table; what was hidden has no number here either."""
    given = request.query_params.multi_items()
    query = PxQuery.of_parameters(given, service.settings.languages[0])
    return px_data(request, service, table, query)


@router.post("/tables/{table}/data")
def post_px_data(
    request: Request, service: ReadsReleases, table: str, body: Annotated[Any, Body()] = None
) -> Response:
    """The same with the selection in the body."""
    query = PxQuery.of_body(body, dict(request.query_params), service.settings.languages[0])
    return px_data(request, service, table, query)


def px_data(request: Request, service: Service, table: str, query: PxQuery) -> Response:
    """The cells that a query means, in its format."""
    found = service.releases.table(table)
    most = cells_at_once(service)
    selection = selection_of(query, found, table, most=most, first=most)
    form = PX_FORMATS[query.format]
    media_type = _OWN_TYPES[query.format] if form is None else MEDIA_TYPES[form]
    suffix = _SUFFIXES.get(query.format, f".{query.format}")
    name = f"{table}{suffix}" if suffix else ""

    def made() -> Content:
        if query.format == "json-stat2":
            order = _order(selection, query)
            base = _base(service)
            return json_bytes(json_stat(selection, table, query.language, base, order=order))
        if query.format == "json-px":
            return json_bytes(json_px(selection, query))
        if form is None:
            return csv_text(selection, query)
        return written(selection.as_table(), form, query.language, **_placed(selection, query))

    return px_answer(request, service, table, media_type, made, query, name=name)


def _order(selection: Selection, query: PxQuery) -> list[int] | None:
    """The dimensions as they are placed; None for the order of the table."""
    if not query.stub and not query.heading:
        return None
    names = [dimension.name for dimension in selection.table.dimensions]
    stub = [names.index(item) for item in query.stub]
    heading = [names.index(item) for item in query.heading]
    left = [at for at in selection.shown if at not in (*stub, *heading)]
    return [at for at in (*stub, *left, *heading) if at in selection.shown]


def _placed(selection: Selection, query: PxQuery) -> dict[str, Any]:
    """What writers of pages and files are told of placement and labels."""
    form = PX_FORMATS[query.format]
    told: dict[str, Any] = {"labels": query.texts != "UseCodes"} if form != "parquet" else {}
    if form not in ("px", "xlsx", "html"):
        return told
    there = [dimension.name for dimension in selection.as_table().dimensions]
    rows = [name for name in query.stub if name in there]
    columns = [name for name in query.heading if name in there]
    return told | ({"rows": rows} if rows else {}) | ({"columns": columns} if columns else {})


@router.get("/codelists/{codelist}")
def get_px_code_list(request: Request, service: ReadsReleases, codelist: str) -> Response:
    """The codes of one level of a variable."""
    language = _language(request, service)
    table, _, rest = codelist.partition("~")
    if table not in service.releases.tables():
        raise _no_list()
    variable = _variable(service, table, rest.rpartition("~")[0])
    if variable is None or find_level_list(table, variable, codelist) is None:
        raise _no_list()
    base = _base(service)

    def made() -> bytes:
        return json_bytes(code_list(table, variable, codelist, language, base))

    return px_answer(request, service, table, _JSON, made)


def _variable(service: Service, table: str, name: str) -> Dimension | None:
    every = service.releases.table(table).dimensions
    return next((item for item in every if item.name == name), None)


def _no_list() -> ServiceError:
    return ServiceError("there is no such list of codes", code="not-found", where="codelist")


@router.post("/savedqueries", status_code=201)
def save_px_query(
    request: Request, service: ReadsReleases, body: Annotated[Any, Body()] = None
) -> JSONResponse:
    """Save a query. Nothing is kept for it: its number holds all of it."""
    number, query = saved_query(body, _language(request, service))
    _meant(service, query)
    told = _saved(service, number, query)
    return JSONResponse(told, status_code=201, headers={"Location": told["links"][0]["href"]})


@router.get("/savedqueries/{query}")
def get_px_saved_query(service: ReadsReleases, query: str) -> dict[str, Any]:
    """A saved query, as it was saved."""
    return _saved(service, query, opened_query(query))


@router.get("/savedqueries/{query}/data")
def run_px_saved_query(request: Request, service: ReadsReleases, query: str) -> Response:
    """The cells that a saved query means; the address may name another language or format."""
    saved = opened_query(query)
    wanted = query_of(saved, dict(request.query_params))
    return px_data(request, service, str(saved["tableId"]), wanted)


@router.get("/savedqueries/{query}/selection")
def get_px_saved_selection(request: Request, service: ReadsReleases, query: str) -> Response:
    """The codes that a saved query means, without expressions."""
    saved = opened_query(query)
    wanted, found = _meant(service, saved)
    language = _language(request, service)
    names = [dimension.name for dimension in found.table.dimensions]

    def made() -> bytes:
        selection = [
            {
                "variableCode": names[at],
                "codelist": wanted.codelists.get(names[at]),
                "valueCodes": found.codes(at),
            }
            for at in found.shown
        ]
        placement = {"heading": list(wanted.heading), "stub": list(wanted.stub)}
        return json_bytes(
            {"language": language, "selection": selection, "placement": placement, "links": []}
        )

    return px_answer(request, service, str(saved["tableId"]), _JSON, made)


def _meant(service: Service, saved: Mapping[str, Any]) -> tuple[PxQuery, Selection]:
    """What a saved query means; an error if it means nothing."""
    name, most = str(saved["tableId"]), cells_at_once(service)
    wanted = query_of(saved, {})
    table = service.releases.table(name)
    return wanted, selection_of(wanted, table, name, most=most, first=most)


def _saved(service: Service, number: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a saved query."""
    place, language = f"{_base(service)}/savedqueries/{number}", str(query["language"])
    return {
        "language": language,
        "id": number,
        "savedQuery": {"id": number, **query},
        "links": [
            {"rel": "self", "hreflang": language, "href": place},
            {"rel": "data", "hreflang": language, "href": f"{place}/data"},
        ],
    }


def px_answer(
    request: Request,
    service: Service,
    table: str,
    media_type: str,
    content: Callable[[], Content],
    *parts: object,
    name: str = "",
) -> Response:
    """A response that is the same until the release changes."""
    release = service.releases.identity(table)
    language = request.headers.get("accept-language", "")[:20]
    etag = etag_of(release, request.url.path, sorted(request.query_params.multi_items()), parts)
    return conditional(request, service, etag_of(etag, language), media_type, content, name=name)


_MOST = 65_536


class CallWindows:
    """Counts calls in a sliding window.

    >>> windows = CallWindows(2, 10, lambda: 0)
    >>> windows.wait("anna"), windows.wait("anna"), windows.wait("anna"), windows.wait("otto")
    (0, 0, 10, 0)
    """

    def __init__(
        self, calls: int, seconds: int, clock: Callable[[], int], most: int = _MOST
    ) -> None:
        self._calls, self._length = calls, seconds * 1000
        self._clock, self._most = clock, most
        self._made: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, who: str) -> int:
        """Count a call; the seconds to wait if there are too many, and then it is not counted."""
        now = self._clock()
        with self._lock:
            made = self._made.pop(who, None) or deque(maxlen=self._calls)
            while made and now - made[0] >= self._length:
                made.popleft()
            self._made[who] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
            if len(made) < self._calls:
                made.append(now)
                return 0
            return max(1, math.ceil((self._length - (now - made[0])) / 1000))
