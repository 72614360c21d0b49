"""Kept answers: the bytes of answers that a caller was given before, given again without a look at
the table. Rights, policies and rates are asked every time, in the batch that notes the question.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet_service.audit import LogVerdict
from discreet_service.database import WriteBatch
from discreet_service.last_used import LastUsed
from discreet_service.operation import log_event
from discreet_service.permissions import Principal
from discreet_service.policies import AskedTable, Language, Verdict
from discreet_service.service import Service
from discreet_service.web.etags import is_known
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
