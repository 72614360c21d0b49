"""Audit: who did what, who asked for what, and whether the record of it is whole.

In: questions of auditors. Out: entries of the trail and rows of the query log, page by page, the
trail as a file, and the verdict on its chain. Auditors look; what they do is itself written down.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from discreet.release import public_bytes, read_signing_key
from discreet_service.audit import AuditKind, FactValue, LogVerdict, SignedHead
from discreet_service.operation import log_event
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit, visit_with

router = APIRouter(prefix="/api/v1", tags=["audit"])

AuditReader = Annotated[Visit, Depends(visit_with(Permission.audit_read))]
Verifier = Annotated[Visit, Depends(visit_with(Permission.audit_verify))]
LogReader = Annotated[Visit, Depends(visit_with(Permission.log_read))]

_Word = Annotated[str, Query(max_length=500)]
_Cursor = Annotated[int | None, Query(ge=1, lt=2**63)]
_Size = Annotated[int, Query(ge=1, le=1000)]
_Since = Annotated[AwareDatetime | None, Query(description="From then on: 2026-01-31T00:00:00Z")]
_Until = Annotated[AwareDatetime | None, Query(description="Before then")]

#: The walk over the chain takes a core for some seconds: one at a time.
_WALK = threading.Lock()


class HeadBody(BaseModel):
    """A signed head that was kept elsewhere: a file head-….json of the service."""

    model_config = ConfigDict(extra="forbid")
    seq: Annotated[int, Field(ge=0, lt=2**63)]  # Number of the last entry
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    at: Annotated[int, Field(ge=0, lt=2**63)]  # When it was signed, in milliseconds
    key_id: Annotated[str, Field(max_length=60)]  # Short name of the key
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class VerificationBody(BaseModel):
    """Heads with which the trail is compared."""

    model_config = ConfigDict(extra="forbid")
    heads: Annotated[list[HeadBody], Field(max_length=5000)]


@router.get("/audit")
def search_audit(
    visit: AuditReader,
    kind: AuditKind | None = None,
    person: _Word = "",
    about: _Word = "",
    since: _Since = None,
    until: _Until = None,
    cursor: _Cursor = None,
    size: _Size = 100,
) -> dict[str, Any]:
    """Entries of the trail, the newest first."""
    page = visit.service.trail.search(
        kind=kind,
        person=person,
        about=about,
        since=_milliseconds(since),
        until=_milliseconds(until),
        cursor=cursor,
        size=size,
    )
    return {"entries": [entry.told() for entry in page.entries], "next": page.cursor}


@router.get("/audit:verify")
def verify_audit(visit: Verifier) -> dict[str, Any]:
    """Walk the trail, and say where it is not as it was written; heads kept here are compared."""
    return _verified(visit, ())


@router.post("/audit:verify")
def compare_audit(body: VerificationBody, visit: Verifier) -> dict[str, Any]:
    """The same, compared with heads that the auditor kept: they show a missing end."""
    return _verified(visit, [SignedHead(**one.model_dump()) for one in body.heads])


def _verified(visit: Visit, heads: tuple[()] | list[SignedHead]) -> dict[str, Any]:
    if not _WALK.acquire(blocking=False):
        raise ServiceError("the trail is being verified already", code="overloaded", retry_after=10)
    try:
        place = visit.service.settings.signing_key_file
        keys = [] if place is None else [public_bytes(read_signing_key(place))]
        verdict = visit.service.trail.verify(heads, keys)
    finally:
        _WALK.release()
    visit.service.metrics.chain.set(verdict.whole)
    log_event("trail verified", whole=verdict.whole, entries=verdict.entries)
    facts: dict[str, FactValue] = {"entries": verdict.entries, "whole": verdict.whole}
    facts["heads"] = verdict.heads
    _write_down(visit, AuditKind.trail_verified, facts)
    return {
        "whole": verdict.whole,
        "entries": verdict.entries,
        "digest": verdict.digest,
        "heads": verdict.heads,
        "problems": list(verdict.problems),
    }


@router.get(
    "/audit/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}}},
)
def export_audit(visit: AuditReader) -> StreamingResponse:
    """The whole trail, one entry a line, oldest first; the last one tells of this export."""
    seq, _ = visit.service.trail.head()
    _write_down(visit, AuditKind.trail_exported, {"entries": seq})
    headers = {
        "Content-Disposition": 'attachment; filename="audit.jsonl"',
        "Cache-Control": "no-store",
    }
    lines = visit.service.trail.export()
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


@router.get("/log")
def search_log(
    visit: LogReader,
    principal: _Word = "",
    dataset: _Word = "",
    digest: _Word = "",
    verdict: LogVerdict | None = None,
    since: _Since = None,
    until: _Until = None,
    cursor: _Cursor = None,
    size: _Size = 100,
) -> dict[str, Any]:
    """Rows of the query log, the newest first. Old ones name pseudonyms, one for each caller."""
    page = visit.service.query_log.search(
        principal=principal,
        dataset=dataset,
        digest=digest,
        verdict=verdict,
        since=_milliseconds(since),
        until=_milliseconds(until),
        cursor=cursor,
        size=size,
    )
    if cursor is None:
        # Whoever looks up people leaves a trace; the next pages belong to the first.
        facts: dict[str, FactValue] = {
            "principal": principal,
            "dataset": dataset,
            "rows": len(page.rows),
        }
        _write_down(visit, AuditKind.log_read, facts)
    return {"rows": [row.told() for row in page.rows], "next": page.cursor}


def _write_down(visit: Visit, kind: AuditKind, facts: Mapping[str, FactValue]) -> None:
    with visit.service.database.writing() as connection:
        visit.service.trail.append(connection, kind, visit.principal.name, facts=facts)


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
