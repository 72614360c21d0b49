"""Suppression: cells of a table come in, and a job hides cells or audits hidden ones.

In: a body with cells, streamed to a file that has no name (CONFIDENTIAL), and rules (SECRET); both
are sealed until the job ends, and gone then. Out: a job, whose result is a protected table or an
audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import JSONResponse

from discreet_service.cells import BodyKind, body_kind, chosen_format, read_body
from discreet_service.cells.requests import packed, read_request
from discreet_service.cells.suppression import SuppressionRequest, judged_cells
from discreet_service.jobs.records import Job
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.access import ServiceDep, principal_with
from discreet_service.web.body_gate import BodyGate
from discreet_service.web.problem_pages import language_of
from discreet_service.web.table_calls import (
    accepted_job,
    described_body,
    hand_in_sealed,
    said_in_call,
)

router = APIRouter(prefix="/api/v1", tags=["suppression"])

_Producer = Annotated[Principal, Depends(principal_with(Permission.tables_protect))]
_Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


@router.post("/suppress", status_code=202, openapi_extra=described_body(SuppressionRequest))
async def suppress_table_cells(
    request: Request, service: ServiceDep, principal: _Producer, again: _Key = None
) -> JSONResponse:
    """Hide sensitive cells of a table, and others with them: a job of the kind "suppress"."""
    return await _handed_in(request, service, principal, "suppress", again)


@router.post("/audit", status_code=202, openapi_extra=described_body(SuppressionRequest))
async def audit_table_cells(
    request: Request, service: ServiceDep, principal: _Producer, again: _Key = None
) -> JSONResponse:
    """Find out what hidden cells of a table still tell: a job of the kind "audit".

    The body has the true cells, and a column that says which of them are hidden.
    """
    return await _handed_in(request, service, principal, "audit", again)


async def _handed_in(
    request: Request, service: Service, principal: Principal, kind: str, again: str | None
) -> JSONResponse:
    body = body_kind(request.headers.get("content-type", ""))
    gate = BodyGate.of(request, service)
    async with gate.body(request, service) as file:
        return await gate.work(_job, request, service, principal, kind, again, file, body)


def _job(
    request: Request,
    service: Service,
    principal: Principal,
    kind: str,
    again: str | None,
    file: IO[bytes],
    body: BodyKind,
) -> JSONResponse:
    """Look at all that can be wrong, seal it, and hand in the job."""
    cells = read_body(file, body, service.settings.limits.cells_protect)
    asked = _asked(request, cells.members, kind)
    job = hand_in_cells(service, principal, kind, cells.frame, asked, again)
    return accepted_job(job)


def hand_in_cells(
    service: Service,
    principal: Principal,
    kind: str,
    frame: pl.DataFrame,
    asked: SuppressionRequest,
    again: str | None = None,
) -> Job:
    """Seal cells and what is asked of them, and hand in the job.

    Args:
        service: The service.
        principal: Who asks.
        kind: "suppress" or "audit".
        frame: The cells. CONFIDENTIAL.
        asked: What is asked of them.
        again: The same call with the same word is the same job.
    """
    judged_cells(frame, asked)
    return hand_in_sealed(service, principal, kind, packed(frame, asked), again)


def _asked(request: Request, members: Mapping[str, Any], kind: str) -> SuppressionRequest:
    """What a call says beside its cells, or in its address; nothing twice."""
    given = said_in_call(request, members)
    given.setdefault("language", language_of(request))
    asked = read_request(SuppressionRequest, given)
    if (kind == "audit") != (asked.hidden is not None):
        what = "an audit says which cells are hidden, and nothing else does"
        raise ServiceError(what, code="invalid-input", where="hidden")
    if kind == "suppress":
        form = chosen_format(asked.format, request.headers.get("accept", "*/*"), table=True)
        return asked.model_copy(update={"format": form})
    return asked
