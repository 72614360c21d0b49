"""PxWebApi 1 over released tables, for clients that know no other, such as pxweb for R.

In: paths LANGUAGE/RELEASE/TABLE, and queries as that API has them. Out: its lists, metadata and
data, from the same cells as PxWebApi 2. Nothing can be changed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from discreet.errors import Problem
from discreet.publication.words import LANGUAGES
from discreet_service.problems import ServiceError
from discreet_service.releases.px_documents import json_bytes, json_px_metadata
from discreet_service.releases.px_queries import PxQuery, raise_selection
from discreet_service.service import Service
from discreet_service.web.pxweb import (
    WINDOW,
    ReadsReleases,
    calls_in_window,
    cells_at_once,
    px_answer,
    px_data,
)

router = APIRouter(prefix="/pxapi/v1", tags=["PxWebApi 1"])

#: Formats of the API → those of PxWebApi 2; what is called json there is json-px here.
FIRST_FORMATS: Mapping[str, str] = {
    "json": "json-px",
    "json-stat2": "json-stat2",
    "csv": "csv",
    "csv2": "csv",
    "px": "px",
    "xlsx": "xlsx",
    "html": "html",
}
_MOST = 1_000


@router.get("/{rest:path}")
def get_px_first(request: Request, service: ReadsReleases, rest: str) -> Response:
    """What PxWebApi 1 has under a path: languages, releases, tables, or a table's variables.

    With `?config` the limits, whatever the path.
    """
    if "config" in request.query_params:
        most = cells_at_once(service)
        calls = {"maxCalls": calls_in_window(service), "timeWindow": WINDOW}
        return JSONResponse({"maxValues": most, "maxCells": most, **calls, "CORS": False})
    parts = [part for part in rest.split("/") if part]
    if not parts:
        return JSONResponse([_entry(each, "l", each) for each in service.settings.languages])
    language = _spoken(parts[0])
    releases = service.releases.releases()
    if len(parts) == 1:
        return JSONResponse(
            [_entry(name, "l", each.title(language)) for name, each in releases.items()]
        )
    found = service.releases.release(parts[1])
    if len(parts) == 2:
        return JSONResponse(
            [_entry(name, "t", each.title(language)) for name, each in found.tables.items()]
        )
    name = _table(parts)
    whole = service.releases.table(name)
    kind = "application/json"
    return px_answer(
        request, service, name, kind, lambda: json_bytes(json_px_metadata(whole, language))
    )


async def _body(request: Request) -> Any:
    """The parsed body, whatever it is said to be: clients of this API say all kinds of things."""
    text = await request.body()
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        what = "a query is JSON"
        raise ServiceError(what, code="invalid-selection", where="body") from None


_JSON_BODY: dict[str, Any] = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.post("/{rest:path}", openapi_extra=_JSON_BODY)
def post_px_first(
    request: Request, service: ReadsReleases, rest: str, body: Annotated[Any, Depends(_body)]
) -> Response:
    """Cells of a released table, by a query of PxWebApi 1."""
    parts = [part for part in rest.split("/") if part]
    name = _table(parts)
    return px_data(request, service, name, _query(body, _spoken(parts[0]), service, name))


def _entry(name: str, kind: str, text: str) -> dict[str, str]:
    return {"id": name, "type": kind, "text": text}


def _spoken(language: str) -> str:
    if language.lower() not in LANGUAGES:
        what, hint = "there is no such language", f"known: {', '.join(LANGUAGES)}"
        raise ServiceError(what, code="not-found", where="language", hint=hint)
    return language.lower()


def _table(parts: list[str]) -> str:
    """The table among all that a path names."""
    if len(parts) != 3:
        what, hint = "there is no such table", "LANGUAGE/RELEASE/TABLE"
        raise ServiceError(what, code="not-found", where="path", hint=hint)
    return f"{parts[1]}.{parts[2]}"


def _query(body: Any, language: str, service: Service, table: str) -> PxQuery:
    """The query of a body; one that selects nothing of a variable leaves it at its total."""
    problems: list[Problem] = []
    given = body if isinstance(body, dict) else {}
    listed = given.get("query", [])
    values: dict[str, list[str]] = {}
    for at, entry in enumerate(listed[:_MOST] if isinstance(listed, list) else []):
        code, chosen = _chosen(entry, f"query[{at}]", problems)
        if code:
            values[code] = chosen
    if not isinstance(listed, list) or not isinstance(body, dict | None):
        problems.append(Problem("a query is needed", "query", '{"query": [], "response": {}}'))
    response = given.get("response")
    form = str((response if isinstance(response, dict) else {}).get("format", "px")).lower()
    if form not in FIRST_FORMATS:
        hint = f"known: {', '.join(FIRST_FORMATS)}"
        problems.append(Problem("there is no such format", "response.format", hint))
    raise_selection(problems)
    whole = service.releases.table(table)
    if whole.several_figures:
        values.setdefault(whole.dimensions[-1].name, ["*"])
    return PxQuery(values=values, language=language, format=FIRST_FORMATS[form])


def _chosen(entry: Any, where: str, problems: list[Problem]) -> tuple[str, list[str]]:
    """A variable, and the expressions that choose its codes."""
    selection = entry.get("selection") if isinstance(entry, dict) else None
    code = entry.get("code") if isinstance(entry, dict) else None
    values = selection.get("values") if isinstance(selection, dict) else None
    kind = str(selection.get("filter", "item")).lower() if isinstance(selection, dict) else ""
    texts = isinstance(values, list) and all(isinstance(each, str | int) for each in values)
    if not isinstance(code, str) or not texts or not values:
        problems.append(Problem("this names no variable and codes", where))
        return "", []
    named = [str(each) for each in values]
    if kind == "item":
        return code, [f"[{each}]" for each in named]
    if kind == "all":
        return code, named
    if kind == "top" and len(named) == 1 and named[0].isascii() and named[0].isdigit():
        return code, [f"bottom({named[0]})"]
    problems.append(
        Problem("there is no such filter", f"{where}.selection", "known: item, all, top")
    )
    return "", []
