"""Problem pages: errors as RFC 9457 documents, or as a page for people. Words of an unexpected
exception stay inside: the gate of `security` tells of those, and logs their type and place.
"""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from discreet.errors import DiscreetError, Problem
from discreet_service.policies import Language
from discreet_service.problems import (
    MEDIA_TYPE,
    PROBLEM_TYPES,
    ServiceError,
    problem_document,
    repairable,
)
from discreet_service.web.plugins import facades

#: What the framework refuses by itself.
_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
#: Keeps the language that somebody chose on a page.
LANGUAGE_COOKIE = "discreet-language"
_MACHINES = ("/api/", "/health/", "/metrics/")


def language_of(request: Request) -> Language:
    """The language that the caller prefers, of those there are: chosen on a page, or generally."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen not in ("en", "de") or _for_machines(request.url.path):
        chosen = request.headers.get("accept-language", "").strip()[:2].lower()
    return "de" if chosen == "de" else "en"


def _for_machines(path: str) -> bool:
    own = (f"/{facade.router.prefix.split('/')[1]}/" for facade in facades().values())
    return f"{path}/".startswith((*_MACHINES, *own))


def problem_response(request: Request, error: DiscreetError) -> Response:
    """The response that tells of an error."""
    # The number by which staff finds a request in the log.
    number = str(getattr(request.state, "number", "unknown"))
    document = problem_document(repairable(error), number, language_of(request))
    headers = {"Cache-Control": "no-store"}
    if document["status"] == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="discreet"'
    if "retry_after" in document:
        headers["Retry-After"] = str(document["retry_after"])
    if _for_machines(request.url.path) or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse(document, document["status"], headers, MEDIA_TYPE)
    place = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    text = _page(document, language_of(request), place if request.method == "GET" else "/")
    return HTMLResponse(text, document["status"], headers)


def _page(told: dict[str, Any], language: str, place: str) -> str:
    words = {name: html.escape(str(told[name])) for name in ("title", "detail", "instance")}
    hints = [html.escape(item["hint"]) for item in told["problems"] if item["hint"]]
    listed = "".join(f"<li>{hint}</li>" for hint in hints)
    home, enter = ("Startseite", "Anmelden") if language == "de" else ("Home", "Log in")
    onward = quote(place, safe="", errors="replace")  # paths may hold bytes that are no text
    login = f' · <a href="/login?next={onward}">{enter}</a>' if told["status"] == 401 else ""
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{words["title"]}</title>'
        '<link rel="icon" href="/static/icon.svg">'
        '<link rel="stylesheet" href="/static/service.css"></head><body>'
        '<main id="content">'
        f"<h1>{words['title']}</h1><p>{words['detail']}</p><ul>{listed}</ul>"
        f'<p><a href="/">{home}</a>{login}</p>'
        f"<p><small>{words['instance']}</small></p></main></body></html>"
    )


def add_problem_pages(app: FastAPI) -> None:
    """Let an application tell of all errors in this way."""

    @app.exception_handler(DiscreetError)
    def told(request: Request, error: DiscreetError) -> Response:
        return problem_response(request, error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        # What pydantic found wrong, without quoting what was sent.
        problems = []
        for item in error.errors():
            steps = (str(part) for part in item["loc"] if part not in ("body", "query", "path"))
            message = str(item["msg"]).partition(", input")[0]
            if item["type"] == "json_invalid":
                message = "the body is not JSON"
            problems.append(Problem(message, ".".join(steps)))
        many = f"{len(problems)} problems with this request"
        wrong = ServiceError.of(problems[:20], many, code="invalid-input")
        return problem_response(request, wrong)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        code = _BY_STATUS.get(error.status_code, "invalid-input")
        kind = PROBLEM_TYPES[code]
        return problem_response(request, ServiceError(kind.en, code=code, hint=kind.hint_en))

    @app.exception_handler(ClientDisconnect)
    def left(request: Request, _: ClientDisconnect) -> Response:
        # Nobody is there who could be told, and nothing of ours failed.
        error = ServiceError("the body is incomplete", "invalid-body", "body")
        return problem_response(request, error)
