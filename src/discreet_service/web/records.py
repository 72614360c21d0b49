"""Records: a file of records comes in, methods change it, and a file for others goes out.

In: a body with records, streamed to a file without a name (CONFIDENTIAL), and steps as a programme
for records has them. Out: the changed file, or a job where there are many; a study, CONFIDENTIAL,
for whoever sent the records. Nothing of what was handed in is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse

from discreet.microdata import Secret
from discreet.release import check_steps
from discreet_service.cells import (
    MOST_AT_ONCE,
    HandedIn,
    RecordsRequest,
    RowLimit,
    changed_records,
    check_number,
    packed,
    read_request,
    records_file,
    secret_of_records,
    studied_records,
    typed_columns,
)
from discreet_service.jobs import Job
from discreet_service.permissions import Permission, Principal
from discreet_service.service import Service
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.problem_pages import language_of
from discreet_service.web.table_calls import (
    accepted_job,
    answered_from_body,
    described_body,
    hand_in_sealed,
    said_in_call,
)

router = APIRouter(prefix="/api/v1/records", tags=["records"])

#: What records are called in JSON.
ROWS = "records"
_Protector = Annotated[Principal, Depends(principal_with(Permission.records_protect))]
_Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
_Work = Callable[[Service, Principal, pl.DataFrame, RecordsRequest, str | None], Response]


@router.post("/anonymise", openapi_extra=described_body(RecordsRequest, ROWS))
async def anonymise_file(
    request: Request, service: ServiceDep, principal: _Protector, again: _Key = None
) -> Response:
    """Change records by steps: swapping, PRAM, SAFE, recoding, ...; many records become a job.

    Draws come from a secret that the service derives for each person and name of a file.
    """
    return await _answered(request, service, principal, again, _changed)


@router.post("/study", openapi_extra=described_body(RecordsRequest, ROWS))
async def study_anonymised_file(
    request: Request, service: ServiceDep, principal: _Protector
) -> Response:
    """What steps do to tables of the records, and to the risk of those in them. For the caller."""
    return await _answered(request, service, principal, None, _studied)


async def _answered(
    request: Request, service: Service, principal: Principal, again: str | None, work: _Work
) -> Response:
    def answer(handed: HandedIn) -> Response:
        given: dict[str, Any] = said_in_call(request, handed.members)
        given.setdefault("language", language_of(request))
        asked = read_request(RecordsRequest, given)
        return work(service, principal, typed_columns(handed.frame), asked, again)

    limit = RowLimit(service.settings.limits.records_protect, ROWS)
    return await answered_from_body(request, service, limit, answer)


def secret_for(service: Service, owner: str, request: RecordsRequest) -> Secret:
    """The secret of somebody's file. SECRET."""
    return secret_of_records(service.key_for("records"), owner, request.name)


def _changed(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RecordsRequest,
    again: str | None,
) -> Response:
    if frame.height > MOST_AT_ONCE:
        check_allowed(principal, Permission.jobs_own)
        return accepted_job(hand_in_records(service, principal, frame, asked, again))
    records = changed_records(frame, asked, secret_for(service, principal.name, asked))
    return sent_file(records_file(records, asked))


def sent_file(file: Any) -> Response:
    """A file that was made, to be kept by nobody on the way."""
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{file.file_name}"',
    }
    return Response(file.content, media_type=file.media_type, headers=headers)


def _studied(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RecordsRequest,
    again: str | None,
) -> Response:
    del again
    check_number(frame.height, RowLimit(MOST_AT_ONCE, ROWS))
    study = studied_records(frame, asked, secret_for(service, principal.name, asked))
    return JSONResponse(study.described(), headers={"Cache-Control": "no-store"})


def hand_in_records(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RecordsRequest,
    again: str | None = None,
) -> Job:
    """Hand in a job that changes records, after their steps were looked at."""
    check_steps(frame, asked.steps, id=asked.id, drop=asked.drop, keep=asked.keep)
    return hand_in_sealed(service, principal, "records", packed(frame, asked), again)
