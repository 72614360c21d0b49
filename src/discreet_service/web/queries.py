"""Queries: tables that somebody asks for, as files in the format that they want.

In: a query in the closed grammar, as JSON or in an address. Out: what it comes to, or the protected
table; for a large one a job. A table that has not changed is not sent again.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import WrapValidator

from discreet_service.audit.query_log import LogMode, LogVerdict
from discreet_service.operation.logs import log_event
from discreet_service.permissions import Permission, Principal
from discreet_service.policies.rules import Language
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, TableQuery, read_query
from discreet_service.queries.formats import AnswerFormat, asked_format, written_answer
from discreet_service.queries.jobs import file_name_of
from discreet_service.service import Service
from discreet_service.web.access import ServiceDep, principal_with
from discreet_service.web.addresses import read_address
from discreet_service.web.problem_pages import language_of

router = APIRouter(prefix="/api/v1/datasets", tags=["queries"])

#: Codes of one list that the log keeps.
_LOGGED_CODES = 200

_Query = Annotated[
    TableQuery,
    # Errors are those of the grammar: all at once, with their places.
    WrapValidator(lambda value, _: read_query(value)),
    Body(),
]
_Checker = Annotated[Principal, Depends(principal_with(Permission.query_check))]
_Asker = Annotated[Principal, Depends(principal_with(Permission.query_run))]
_KnownTag = Annotated[str | None, Header(alias="If-None-Match", max_length=2_000)]
_IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The protected table, in the format asked for"},
    202: {"description": "The table is large: a job makes it; Location names it"},
    304: {"description": "The table that you have is still the right one"},
}


@router.post("/{dataset}/query:check")
def check_query(
    dataset: str, query: _Query, request: Request, service: ServiceDep, principal: _Checker
) -> dict[str, Any]:
    """What a query comes to: cells with totals, exposure, what policies say, and its class.

    Nothing is counted for it that would not be counted for everybody, and nothing is given out.
    """
    start = time.perf_counter()
    prepared = service.answers.prepared(dataset, query)
    verdict = service.answers.verdict(prepared, principal)
    language = _language(query, request)
    outcome = LogVerdict.answered if verdict.allowed else LogVerdict.refused
    note_query(service, principal, prepared, LogMode.check, outcome, start)
    return {**prepared.plan.described(), "verdict": verdict.told(language)}


@router.post("/{dataset}/query", responses=_ANSWERS)
def run_query(
    dataset: str,
    query: _Query,
    request: Request,
    service: ServiceDep,
    principal: _Asker,
    known: _KnownTag = None,
    idempotency_key: _IdempotencyKey = None,
) -> Response:
    """The protected table of a query."""
    return _answered(dataset, query, request, service, principal, known, idempotency_key)


@router.get("/{dataset}/data", responses=_ANSWERS)
def get_data(
    dataset: str, request: Request, service: ServiceDep, principal: _Asker, known: _KnownTag = None
) -> Response:
    """The same for a query in the address.

    by=VARIABLE or by=VARIABLE:LEVEL, where.VARIABLE=CODE,CODE, codes.VARIABLE=CODE,CODE,
    within.VARIABLE=CODE, measures=count,mean:COLUMN, totals=all|none|VARIABLE, unit, version,
    format, language.
    """
    query = read_address(request.query_params.multi_items())
    return _answered(dataset, query, request, service, principal, known, None)


def _answered(
    dataset: str,
    query: TableQuery,
    request: Request,
    service: Service,
    principal: Principal,
    known: str | None,
    idempotency_key: str | None,
) -> Response:
    """The answer, nothing new, or a job."""
    start = time.perf_counter()
    form = asked_format(query.format, request.headers.get("accept", ""))
    language = _language(query, request)
    prepared = service.answers.prepared(dataset, query)
    try:
        verdict = service.answers.admit(prepared, principal, language)
    except ServiceError as error:
        note_query(service, principal, prepared, LogMode.query, LogVerdict.refused, start,
             rules=[error.rule] if error.rule else [error.code])  # fmt: skip
        raise
    tag = service.answers.etag(prepared, f"{form.name} {language}")
    headers = {
        "ETag": f'"{tag}"',
        "Vary": "Accept, Accept-Language, Authorization, Cookie",
        "Cache-Control": "private, no-cache",
        "Content-Language": language,
    }
    given = [each.strip().removeprefix("W/").strip('"') for each in (known or "").split(",")]
    if tag in given or "*" in given:
        note_query(
            service, principal, prepared, LogMode.query, LogVerdict.answered, start, kept=True
        )
        return Response(status_code=304, headers=headers)
    if not service.answers.is_instant(prepared, verdict):
        note_query(service, principal, prepared, LogMode.query, LogVerdict.deferred, start)
        return _deferred(service, principal, prepared, form, language, idempotency_key)
    answer = service.answers.answer(prepared)
    content = written_answer(answer.table, form, language, prepared.plan.geography)
    note_query(service, principal, prepared, LogMode.query, LogVerdict.answered, start,
         kept=answer.cached, size=len(content))  # fmt: skip
    shown = "attachment" if form.file else "inline"
    headers["Content-Disposition"] = f'{shown}; filename="{file_name_of(prepared, form)}"'
    return Response(content, media_type=form.media, headers=headers)


def _language(query: TableQuery, request: Request) -> Language:
    """The language that is asked for, or else preferred."""
    return query.language or ("de" if language_of(request) == "de" else "en")


def _deferred(
    service: Service,
    principal: Principal,
    prepared: PreparedQuery,
    form: AnswerFormat,
    language: str,
    idempotency_key: str | None,
) -> Response:
    """The job that makes a large answer."""
    job = service.jobs.submit(
        kind="query",
        owner=principal.name,
        request={**service.answers.document(prepared), "format": form.name, "language": language},
        idempotency_key=idempotency_key,
    )
    address = f"/api/v1/jobs/{job.id}"
    told = {
        "job": job.id,
        "state": job.state,
        "cells": prepared.plan.cells,
        "links": {"self": address, "events": f"{address}/events", "result": f"{address}/result"},
    }
    return JSONResponse(told, status_code=202, headers={"Location": address, "Retry-After": "2"})


def note_query(
    service: Service,
    principal: Principal,
    prepared: PreparedQuery,
    mode: LogMode,
    verdict: LogVerdict,
    start: float,
    *,
    rules: list[str] | None = None,
    kept: bool = False,
    size: int = 0,
) -> None:
    """Note who asked for what, and what became of it."""
    took = round((time.perf_counter() - start) * 1000)
    plan = prepared.plan
    # A query as the log keeps it: of long lists of codes the first ones, and how many.
    document = prepared.query.document()
    for entry in (*document["by"], *document["where"]):
        codes = entry["codes"]
        if codes is not None and len(codes) > _LOGGED_CODES:
            entry["codes"] = [*codes[:_LOGGED_CODES], f"and {len(codes) - _LOGGED_CODES} more"]
    service.query_log.append(
        principal=principal.name,
        caller_key=principal.key,
        mode=mode,
        verdict=verdict,
        query=document,
        digest=plan.asked.digest,
        dataset=plan.query.dataset,
        version=plan.query.version,
        parameters=prepared.version.fingerprint,
        rules=rules or [],
        cells=plan.cells,
        milliseconds=took,
        cache_hit=kept,
        bytes=size,
    )
    log_event("query", verdict=verdict.value, cells=plan.cells, milliseconds=took)
