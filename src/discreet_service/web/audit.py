"""Audit: who did what, who asked for what, and whether the record of it is whole. Auditors look;
what they do is itself written down.
"""

from __future__ import annotations

import threading
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, Field

from discreet_service.audit import AuditKind, LogVerdict, SignedHead, shown_entry, shown_query
from discreet_service.jobs import verify_trail
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit, visit_with

router = APIRouter(prefix="/api/v1", tags=["audit"])

AuditReader = Annotated[Visit, Depends(visit_with(Permission.audit_read))]
Verifier = Annotated[Visit, Depends(visit_with(Permission.audit_verify))]
LogReader = Annotated[Visit, Depends(visit_with(Permission.log_read))]

_Word = Annotated[str, Field(max_length=500)]

#: The walk over the chain takes a core for some seconds: one at a time.
_WALK = threading.Lock()


class HeadBody(BaseModel, extra="forbid"):
    """A signed head that was kept elsewhere: a file head-….json of the service."""

    seq: Annotated[int, Field(ge=0, lt=2**63)]  # Number of the last entry
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    at: Annotated[int, Field(ge=0, lt=2**63)]  # When it was signed, in milliseconds
    key_id: Annotated[str, Field(max_length=60)]  # Short name of the key
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class VerificationBody(BaseModel, extra="forbid"):
    """Heads with which the trail is compared."""

    heads: Annotated[list[HeadBody], Field(max_length=5000)]


class _TrailSearch(BaseModel):
    """Which rows are wanted: a page of them, the newest first."""

    since: Annotated[
        AwareDatetime | None, Field(description="From then on: 2026-01-31T00:00:00Z")
    ] = None
    until: Annotated[AwareDatetime | None, Field(description="Before then")] = None
    cursor: Annotated[int | None, Field(ge=1, lt=2**63)] = None
    size: Annotated[int, Field(ge=1, le=1000)] = 100

    def terms(self) -> dict[str, Any]:
        """The same with times in milliseconds."""
        times = {"since": self.since, "until": self.until}
        return dict(self) | {
            name: None if time is None else round(time.timestamp() * 1000)
            for name, time in times.items()
        }


class AuditSearch(_TrailSearch):
    """Which entries of the trail are wanted."""

    kind: AuditKind | None = None
    person: _Word = ""
    about: _Word = ""


class LogSearch(_TrailSearch):
    """Which rows of the query log are wanted."""

    principal: _Word = ""
    dataset: _Word = ""
    digest: _Word = ""
    verdict: LogVerdict | None = None


@router.get("/audit")
def search_audit(visit: AuditReader, wanted: Annotated[AuditSearch, Query()]) -> dict[str, Any]:
    """Entries of the audit trail, newest first."""
    page = visit.service.trail.search(**wanted.terms())
    return {"entries": [shown_entry(row) for row in page.rows], "next": page.cursor}


@router.get("/audit:verify")
def verify_audit(visit: Verifier) -> dict[str, Any]:
    """Verify the audit trail against the heads kept here; name the first changed entry."""
    return _verified(visit, ())


@router.post("/audit:verify")
def compare_audit(body: VerificationBody, visit: Verifier) -> dict[str, Any]:
    """Verify the audit trail against heads that an auditor kept: they show a missing end, too."""
    return _verified(visit, [SignedHead(**one.model_dump()) for one in body.heads])


def _verified(visit: Visit, heads: tuple[()] | list[SignedHead]) -> dict[str, Any]:
    if not _WALK.acquire(blocking=False):
        raise ServiceError("a verification is already in progress", "overloaded", retry_after=10)
    try:
        verdict = verify_trail(visit.service, heads, visit.principal.name)
    finally:
        _WALK.release()
    return {**verdict.facts, "digest": verdict.digest, "problems": list(verdict.problems)}


@router.get(
    "/audit/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}}},
)
def export_audit(visit: AuditReader) -> StreamingResponse:
    """Export the trail, one entry per line, oldest first; the last one records this export."""
    seq, _ = visit.service.trail.head()
    visit.note(AuditKind.trail_exported, facts={"entries": seq})
    name = 'attachment; filename="audit.jsonl"'
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return StreamingResponse(visit.service.trail.export(), 200, headers, "application/x-ndjson")


@router.get("/log")
def search_log(visit: LogReader, wanted: Annotated[LogSearch, Query()]) -> dict[str, Any]:
    """Rows of the query log, newest first. Old rows contain a pseudonym for each caller."""
    page = visit.service.query_log.search(**wanted.terms())
    if wanted.cursor is None:
        # Whoever looks up people leaves a trace; the next pages belong to the first.
        facts = {"principal": wanted.principal, "dataset": wanted.dataset}
        visit.note(AuditKind.log_read, facts={**facts, "rows": len(page.rows)})
    return {"rows": [shown_query(row) for row in page.rows], "next": page.cursor}
