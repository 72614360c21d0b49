"""Queries: what a query comes to, its protected table as a file, or for a large one a job. A table
that has not changed is not sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Response
from fastapi.responses import JSONResponse
from pydantic import WrapValidator

from discreet_service.audit import LogMode, LogVerdict
from discreet_service.database import WriteBatch
from discreet_service.operation import log_event
from discreet_service.permissions import Permission
from discreet_service.policies import Language, Verdict
from discreet_service.problems import ServiceError
from discreet_service.queries import (
    Answers,
    PreparedQuery,
    TableQuery,
    asked_format,
    file_name_of,
    near_tables,
    read_query,
    written_answer,
)
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.addresses import address_of, read_address
from discreet_service.web.etags import is_known
from discreet_service.web.kept_answers import KeptAnswer, KeptAnswers
from discreet_service.web.lists import address

router = APIRouter(prefix="/api/v1/datasets", tags=["queries"])

#: How long answers to the public are kept: of a version that is named, and of the latest one.
_STAYS, _FRESH = "max-age=86400, immutable", "max-age=300"
#: Rules that refuse a table for its form. Others refuse whoever asks, or for people in the data:
#: those refusals all read alike and take alike, so that nothing is said beside them.
_ANSWERABLE = {"P1", "P2", "P3", "P6", "too-many-cells"}
#: Codes of one list that the log keeps.
_LOGGED_CODES = 200

_Query = Annotated[
    TableQuery,
    # Errors are those of the grammar: all at once, with their places.
    WrapValidator(lambda value, _: read_query(value)),
    Body(),
]
_Checker = Annotated[Visit, Depends(visit_with(Permission.query_check))]
_Asker = Annotated[Visit, Depends(visit_with(Permission.query_run))]
_KnownTag = Annotated[str | None, Header(alias="If-None-Match", max_length=2_000)]
_IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The protected table, in the requested format"},
    202: {"description": "The table is large and runs as a job; see Location"},
    304: {"description": "The table is unchanged"},
}


@router.post("/{dataset}/query:check")
def check_query(dataset: str, query: _Query, visit: _Checker) -> dict[str, Any]:
    """Show the size of a query: cells with totals, averaging risk, verdict, whether it needs a job.

    Nothing is counted that is not public, and no result is returned.
    """
    start = time.perf_counter()
    prepared = visit.service.answers.prepared(dataset, query)
    verdict = visit.service.answers.verdict(prepared, visit.principal)
    language = query.language or visit.language
    outcome = LogVerdict.answered if verdict.allowed else LogVerdict.refused
    note_query(visit, prepared, LogMode.check, outcome, start)
    told = {**prepared.plan.described(), "verdict": verdict.told(language)}
    if not verdict.allowed or prepared.plan.kind == "refused":
        nearest = nearest_to(visit, prepared, verdict.names, language)
        told |= {} if nearest is None else {"nearest": nearest}
    return told


@router.post("/{dataset}/query", responses=_ANSWERS)
def run_query(
    dataset: str,
    query: _Query,
    visit: _Asker,
    known: _KnownTag = None,
    idempotency_key: _IdempotencyKey = None,
) -> Response:
    """The protected table of a query."""
    return _answered(dataset, query, visit, known, idempotency_key)


@router.get("/{dataset}/data", responses=_ANSWERS)
def get_data(dataset: str, visit: _Asker, known: _KnownTag = None) -> Response:
    """The protected table of a query in the address.

    by=VARIABLE or by=VARIABLE:LEVEL, where.VARIABLE=CODE,CODE, codes.VARIABLE=CODE,CODE,
    within.VARIABLE=CODE, measures=count,mean:COLUMN, totals=all|none|VARIABLE, unit, version,
    format, language.
    """
    query = read_address(visit.query_params.multi_items())
    return _answered(dataset, query, visit, known, None)


def _answered(
    dataset: str, query: TableQuery, visit: Visit, known: str | None, idempotency_key: str | None
) -> Response:
    start, changes = time.perf_counter(), visit.note_changes()
    form = asked_format(query.format, visit.headers.get("accept", ""))
    language = query.language or visit.language
    answers: Answers = visit.service.answers
    kept: KeptAnswers = visit.app.state.kept_answers
    prepared = answers.prepared(dataset, query)
    public = visit.principal.kind == "anonymous"
    if public:
        answers.require_instant(prepared)
    tag, instant = "", True
    content: bytes | None = None
    row: Mapping[str, Any] = {}

    def ready(verdict: Verdict) -> Callable[[WriteBatch], None]:
        """The content, and what the log says of it: it is written together with the release."""
        nonlocal tag, instant, content, row
        tag, cached = answers.etag(prepared, f"{form.name} {language}"), True
        has_it = is_known(known, tag)
        instant = has_it or answers.is_instant(prepared, verdict)
        if instant and not has_it and (content := kept.content(tag)) is None:
            answer = answers.answer(prepared)
            content = written_answer(answer.table, form, language, prepared.plan.geography)
            cached = answer.cached
        outcome = LogVerdict.answered if instant else LogVerdict.deferred
        row = log_row(visit, prepared, LogMode.query, outcome, start,
                      kept=instant and cached, size=len(content or b""))  # fmt: skip
        return partial(visit.service.query_log.write, row)

    verdict = admitted(visit, prepared, language, start, ready)
    if not row:  # it was released before
        visit.service.database.batched(ready(verdict))
    log_event("query", verdict=row["verdict"], cells=row["cells"], milliseconds=row["milliseconds"])
    if not instant:
        # The job that makes a large answer.
        wanted = {**answers.document(prepared), "format": form.name, "language": language}
        job = visit.submit("query", wanted, idempotency_key)
        address = f"/api/v1/jobs/{job.id}"
        told = {
            "job": job.id,
            "state": job.state,
            "cells": prepared.plan.cells,
            "links": {
                "self": address,
                "events": f"{address}/events",
                "result": f"{address}/result",
            },
        }
        return JSONResponse(told, 202, {"Location": address, "Retry-After": "2"})
    if content is not None:
        kept.put(tag, content)
    headers = {
        "ETag": f'"{tag}"',
        "Vary": "Accept, Accept-Language" + ("" if public else ", Authorization, Cookie"),
        "Cache-Control": "private, no-cache",
        "Content-Language": language,
    }
    if public:
        # What is open may be kept on the way; of a version that is named, it stays the same.
        named = query.version is not None
        headers["Cache-Control"] = "public, " + (_STAYS if named else _FRESH)
    shown = "attachment" if form.file else "inline"
    given = KeptAnswer(
        number=changes,
        principal=visit.principal,
        asked=prepared.plan.asked,
        row={**row, "milliseconds": 0, "cache_hit": True},
        language=language,
        tag=tag,
        headers=headers,
        place={"Content-Disposition": f'{shown}; filename="{file_name_of(prepared, form)}"'},
        media=form.media,
    )
    kept.keep(visit.scope, given)
    return given.response(content)


def admitted(
    visit: Visit,
    prepared: PreparedQuery,
    language: Language,
    start: float,
    ready: Callable[[Verdict], Callable[[WriteBatch], None]] | None = None,
) -> Verdict:
    """Let a query be answered; a refusal is noted and raised."""
    try:
        return visit.service.answers.admit(prepared, visit.principal, language, ready)
    except ServiceError as error:
        rules = [error.rule or error.code]
        note_query(visit, prepared, LogMode.query, LogVerdict.refused, start, rules=rules)
        error.nearest = nearest_to(visit, prepared, rules, language) or ()
        raise


def nearest_to(
    visit: Visit, prepared: PreparedQuery, rules: Collection[str], language: Language
) -> list[dict[str, Any]] | None:
    """Tables near one that rules refuse, each with its address; None if they look at people."""
    if prepared.plan.kind != "refused" and not _ANSWERABLE.intersection(rules):
        return None
    path = f"/api/v1/datasets/{prepared.query.dataset}/data"
    found = [
        one.document(language)
        for one in near_tables(visit.service.answers, prepared, visit.principal)
    ]
    return [{**one, "address": address(path, address_of(one["query"]))} for one in found]


def log_row(
    visit: Visit,
    prepared: PreparedQuery,
    mode: LogMode,
    verdict: LogVerdict,
    start: float,
    *,
    rules: list[str] | None = None,
    kept: bool = False,
    size: int = 0,
) -> Mapping[str, Any]:
    """Who asked for what, and what became of it, as a row of the log."""
    took, plan = round((time.perf_counter() - start) * 1000), prepared.plan
    # A query as the log keeps it: of long lists of codes the first ones, and how many.
    document = prepared.query.document()
    for entry in (*document["by"], *document["where"]):
        codes = entry["codes"]
        if codes is not None and len(codes) > _LOGGED_CODES:
            entry["codes"] = [*codes[:_LOGGED_CODES], f"and {len(codes) - _LOGGED_CODES} more"]
    return visit.service.query_log.row(
        principal=visit.principal.name,
        caller_key=visit.principal.key,
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


def note_query(
    visit: Visit,
    prepared: PreparedQuery,
    mode: LogMode,
    verdict: LogVerdict,
    start: float,
    **facts: Any,
) -> None:
    """Write the row of the log."""
    row = log_row(visit, prepared, mode, verdict, start, **facts)
    visit.service.database.batched(partial(visit.service.query_log.write, row))
    log_event("query", verdict=row["verdict"], cells=row["cells"], milliseconds=row["milliseconds"])
