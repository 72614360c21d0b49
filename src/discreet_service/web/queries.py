"""Queries: what a query comes to, its protected table as a file, or for a large one a job. A table
that has not changed is not sent again; bytes that a caller was given before are given without a
look at the table. Rights, policies and rates are asked every time, in the batch that notes it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, Header, Response
from fastapi.responses import JSONResponse
from pydantic import WrapValidator
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import Problem, nearest
from discreet_service.audit import LogMode, LogVerdict
from discreet_service.database import WriteBatch
from discreet_service.last_used import LastUsed
from discreet_service.operation import log_event
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import AskedTable, Language, Verdict
from discreet_service.problems import ServiceError
from discreet_service.queries import (
    MEASURES,
    Answers,
    PreparedQuery,
    TableQuery,
    asked_format,
    file_name_of,
    near_tables,
    read_query,
    refused,
    written_answer,
)
from discreet_service.service import Service
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.etags import is_known
from discreet_service.web.pages import address
from discreet_service.web.security import address_key

#: Bytes of all contents that are kept, of the largest, and of what callers were given.
_MOST_CONTENT, _LARGEST, _MOST_CALLS = 50 * 2**20, 5 * 2**20, 25 * 2**20
#: Bytes of one of these beside its query, about.
_OF_CALL = 4_000
_START, _END = "/api/v1/datasets/", "/data"
#: Headers that determine an answer.
_TELLING = (b"authorization", b"accept", b"accept-language")
#: Digest of who asks, and how they ask.
_Call = tuple[bytes, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptAnswer:
    """Stored answer to a caller, valid until something changes."""

    number: int  # The number of changes then
    principal: Principal
    asked: AskedTable  # As policies see it
    row: Mapping[str, Any]  # For the query log
    language: Language
    tag: str  # Names the content
    headers: Mapping[str, str]  # With which it goes out
    place: Mapping[str, str]  # More of them for those who do not have it
    media: str  # The media type of the content

    def response(self, content: bytes | None) -> Response:
        """Response: the content, or None for callers who have it."""
        if content is None:
            return Response(status_code=304, headers={**self.headers})
        headers = {**self.headers, **self.place}
        return Response(content, media_type=self.media, headers=headers)


class KeptAnswers:
    """Stored answers: contents by tag, and tags by caller and address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._contents = LastUsed[str, bytes](_MOST_CONTENT, len)
        self._calls = LastUsed[_Call, KeptAnswer](_MOST_CALLS, _held)

    def content(self, tag: str) -> bytes | None:
        """The bytes of an answer; None if they are not kept."""
        return self._contents.get(tag)

    def put(self, tag: str, content: bytes) -> None:
        """Keep the bytes of an answer; those used last stay."""
        if len(content) <= _LARGEST:
            self._contents.put(tag, content)

    def keep(self, scope: Scope, answer: KeptAnswer) -> None:
        """Keep what somebody was given: the public, or a key of which the end is known."""
        call = _call(scope)
        known = answer.principal.until is not None or answer.principal.kind == "anonymous"
        if call is not None and known:
            self._calls.put(call, answer)

    def found(self, scope: Scope) -> KeptAnswer | None:
        """Stored answer for the same caller and request."""
        call = _call(scope)
        answer = None if call is None else self._calls.get(call)
        if answer is None:
            return None
        if answer.principal.until is None:
            somebody = self._service.somebody(address_key(scope["client"][0]))
            return replace(answer, principal=somebody)
        return answer if self._service.clock() < answer.principal.until else None

    def noted(
        self, answer: KeptAnswer, row: Mapping[str, Any], batch: WriteBatch
    ) -> Verdict | None:
        """Present verdict of the policies; None if something has changed."""
        if batch.number != answer.number:
            return None
        verdict = self._service.policies.look(answer.asked, answer.principal, batch)
        if verdict.repeat:
            if not verdict.allowed:
                names = json.dumps(verdict.names[:1])
                row = {**row, "verdict": LogVerdict.refused.value, "rules": names, "bytes": 0}
            self._service.query_log.write(row, batch)
        return verdict if verdict.repeat else None


def _held(answer: KeptAnswer) -> int:
    return _OF_CALL + 2 * len(answer.row["query"])


def _call(scope: Scope) -> _Call | None:
    """Who asks, and how; None of what is not kept: a login, or headers that come twice."""
    path = scope["path"]
    if scope["method"] != "GET" or not (path.startswith(_START) and path.endswith(_END)):
        return None
    told = [(name, value) for name, value in scope["headers"] if name in (*_TELLING, b"cookie")]
    headers = dict(told)
    if len(headers) < len(told) or b"cookie" in headers:
        return None
    who, *how = (headers.get(name, b"") for name in _TELLING)
    return hashlib.sha256(who).digest(), *how, path.encode(), scope["query_string"]


class _Gate:
    """ASGI middleware that gives answers that are kept, and hands on all other requests."""

    def __init__(self, app: ASGIApp, service: Service, kept: KeptAnswers) -> None:
        self._app, self._service, self._kept = app, service, kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = self._kept.found(scope) if scope["type"] == "http" else None
        response = None if answer is None else await self._given(answer, scope)
        await (self._app if response is None else response)(scope, receive, send)

    async def _given(self, answer: KeptAnswer, scope: Scope) -> Response | None:
        told = dict(scope["headers"]).get(b"if-none-match")
        known = told is not None and is_known(told.decode("latin-1"), answer.tag)
        content = None if known else self._kept.content(answer.tag)
        if content is None and not known:
            return None
        row = {**answer.row, "bytes": len(content or b"")}
        verdict = await asyncio.wrap_future(
            self._service.database.submit(partial(self._kept.noted, answer, row))
        )
        if verdict is None:
            return None
        log_event("query", verdict=row["verdict"], cells=row["cells"], milliseconds=0)
        for rule in verdict.names:
            self._service.metrics.refusals.labels(rule=rule).inc()
        verdict.require(answer.language)
        if not known:
            self._service.metrics.cells.labels(mode="query").inc(row["cells"])
            self._service.metrics.cache_hits.inc()
        return answer.response(content)


def add_kept_answers(app: FastAPI, service: Service) -> None:
    """Let an application give answers again that it has given before."""
    app.state.kept_answers = KeptAnswers(service)
    app.add_middleware(_Gate, service=service, kept=app.state.kept_answers)


_SINGLE = ("unit", "version", "format", "language")
_PREFIXES = ("where", "codes", "within")
_KNOWN = ("by", "measures", "totals", *_SINGLE, *(f"{each}.VARIABLE" for each in _PREFIXES))
_MOST = 200
_NUMBER = re.compile(r"\d?\.\d{1,6}")


def read_address(parameters: Sequence[tuple[str, str]]) -> TableQuery:
    """The query of an address; an error lists everything that is wrong.

    >>> query = read_address([("by", "region:1,sex"), ("where.age", "Y15-29"), ("totals", "none")])
    >>> query.by[0].level, query.where[0].codes, query.totals
    (['1'], ['Y15-29'], 'none')
    """
    problems = [Problem("too many parameters", "")] if len(parameters) > _MOST else []
    grouped: dict[str, list[str]] = {}
    for name, value in parameters[:_MOST]:
        grouped.setdefault(name, []).append(value)
    query: dict[str, Any] = {}
    spanning: dict[str, dict[str, Any]] = {}
    asides: list[tuple[str, str, list[str]]] = []
    for name, values in grouped.items():
        prefix, dot, variable = name.partition(".")
        if name == "by":
            for item in _items(values):
                of, _, level = item.partition(":")
                entry = spanning.setdefault(of, {"variable": of})
                if level:
                    entry.setdefault("level", []).append(level)
        elif name == "measures":
            query["measures"] = [_measure(item) for item in _items(values)]
        elif name == "totals":
            items = _items(values)
            query["totals"] = items[0] if items in (["all"], ["none"]) else items
        elif name in _SINGLE:
            if len(values) > 1:
                problems.append(Problem("given twice", name))
            query[name] = values[0]
        elif dot and variable and prefix in _PREFIXES:
            asides.append((prefix, variable, _items(values)))
        else:
            hint = nearest(name[:60], _KNOWN)
            problems.append(Problem("unknown parameter", name[:60], hint))
    conditions = []
    for prefix, variable, items in asides:
        if prefix == "where":
            conditions.append({"variable": variable, "codes": items})
        elif variable in spanning:
            spanning[variable][prefix] = items
        else:
            place = f"{prefix}.{variable}"[:60]
            problems.append(Problem("the variable is not in by", place))
    if problems:
        raise refused(problems)
    return read_query({**query, "by": list(spanning.values()), "where": conditions})


def address_of(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parameters of a query that is stated as in a body, each list item by item.

    >>> query = {"unit": "person", "measures": [{"mean": "rent"}],
    ...          "by": [{"variable": "sex"}, {"variable": "region", "level": ["1"]}],
    ...          "where": [{"variable": "age", "codes": ["a,b", "c"]}]}
    >>> again = read_address(address_of(query))
    >>> again == read_query(query)
    True
    """
    found = [(name, str(query[name])) for name in _SINGLE if name in query]
    asides = list[tuple[str, str]]()
    for one in query.get("by", ()):
        levels = [f":{level}" for level in one.get("level", ())] or [""]
        found += [("by", one["variable"] + level) for level in levels]
        asides += [
            (f"{name}.{one['variable']}", code)
            for name in ("codes", "within")
            for code in one.get(name, ())
        ]
    asides += [
        (f"where.{one['variable']}", code)
        for one in query.get("where", ())
        for code in one["codes"]
    ]
    for one in query.get("measures", ()):
        ((kind, of),) = ((name, of) for name, of in one.items() if name not in ("over", "at"))
        over = [":" + "+".join(map(str, one[name])) for name in ("over", "at") if name in one]
        found.append(("measures", of if kind == "figure" else ":".join([kind, of]) + "".join(over)))
    totals = query.get("totals", ())
    found += [("totals", one) for one in ([totals] if isinstance(totals, str) else totals)]
    return found + asides


def _items(values: Sequence[str]) -> list[str]:
    """What stands in a list: separated by commas, or named several times."""
    several = [item for value in values for item in value.split(",")] if len(values) == 1 else []
    return [item for item in (several or values) if item]


def _measure(item: str) -> Any:
    """A figure by its name; mean:rent, sum:area, share:count:sex+age, quantile:age:0.1+0.9."""
    kind, _, rest = item.partition(":")
    if not rest or kind not in MEASURES:
        return item
    if kind not in ("share", "quantile"):
        return {kind: rest}
    figure, _, behind = rest.partition(":")
    parts = [part for part in behind.split("+") if part]
    if kind == "share":
        return {"share": figure, "over": parts}
    numbers = [float(part) if _NUMBER.fullmatch(part) else part for part in parts]
    return {"quantile": figure, "at": numbers}


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
