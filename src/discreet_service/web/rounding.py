"""Rounding: cells of a table of counts come in, rounded ones go out, or what these still tell.

In: a body with cells, streamed to a file that has no name (CONFIDENTIAL), base and method. Out: a
protected table, or a job where figures of a large table are rounded together; a study,
CONFIDENTIAL, for whoever sent the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse

from discreet.microdata import Secret
from discreet_service.cells import HandedIn, chosen_format, table_result
from discreet_service.cells.bodies import RowLimit, check_number
from discreet_service.cells.requests import packed, read_request
from discreet_service.cells.rounding import (
    MOST_TOGETHER,
    RoundingRequest,
    counted_table,
    rounded_cells,
    seed_of_table,
    studied_rounding,
)
from discreet_service.jobs.records import Job
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

router = APIRouter(prefix="/api/v1/protect", tags=["rounding"])

_Producer = Annotated[Principal, Depends(principal_with(Permission.tables_protect))]
_Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
_Work = Callable[[Service, Principal, pl.DataFrame, RoundingRequest, str | None], Response]


@router.post("/rounding", openapi_extra=described_body(RoundingRequest))
async def round_table_cells(
    request: Request, service: ServiceDep, principal: _Producer, again: _Key = None
) -> Response:
    """Round the counts of a table; large tables whose totals stay sums become a job.

    Random draws come from a seed that the service derives for each person and name of a table: the
    same table has the same figures whenever it is rounded.
    """
    return await _answered(request, service, principal, again, _rounded)


@router.post("/rounding/study", openapi_extra=described_body(RoundingRequest))
async def study_rounded_cells(
    request: Request, service: ServiceDep, principal: _Producer
) -> Response:
    """What rounding costs, and which counts anyone can still work out. For the caller only."""
    return await _answered(request, service, principal, None, _studied)


async def _answered(
    request: Request, service: Service, principal: Principal, again: str | None, work: _Work
) -> Response:
    def answer(handed: HandedIn) -> Response:
        asked = _asked(request, handed.members)
        return work(service, principal, handed.frame, asked, again)

    return await answered_from_body(request, service, service.settings.limits.cells_protect, answer)


def _asked(request: Request, members: Any) -> RoundingRequest:
    given = said_in_call(request, members)
    given.setdefault("language", language_of(request))
    asked = read_request(RoundingRequest, given)
    form = chosen_format(asked.format, request.headers.get("accept", "*/*"), table=True)
    return asked.model_copy(update={"format": form})


def seed_for(service: Service, owner: str, request: RoundingRequest) -> Secret:
    """The seed of somebody's table. SECRET.

    Args:
        service: The service.
        owner: Name of the person.
        request: What they ask.
    """
    return seed_of_table(service.key_for("rounding"), owner, request.name)


def _rounded(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RoundingRequest,
    again: str | None,
) -> Response:
    if asked.together and frame.height > MOST_TOGETHER:
        check_allowed(principal, Permission.jobs_own)
        return accepted_job(hand_in_rounding(service, principal, frame, asked, again))
    safe = rounded_cells(
        counted_table(frame, asked), asked, seed_for(service, principal.name, asked)
    )
    made = table_result(safe, asked.format or "json", asked.language)
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    return Response(made.content, media_type=made.media_type, headers=headers)


def _studied(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RoundingRequest,
    again: str | None,
) -> Response:
    del again
    check_number(frame.height, RowLimit(MOST_TOGETHER))
    study = studied_rounding(
        counted_table(frame, asked), asked, seed_for(service, principal.name, asked)
    )
    return JSONResponse(study.described(), headers={"Cache-Control": "no-store"})


def hand_in_rounding(
    service: Service,
    principal: Principal,
    frame: pl.DataFrame,
    asked: RoundingRequest,
    again: str | None = None,
) -> Job:
    """Hand in a job that rounds cells, after all that can be wrong was looked at.

    Args:
        service: The service.
        principal: Who asks.
        frame: The cells. CONFIDENTIAL.
        asked: What is asked of them.
        again: The same call with the same word is the same job.
    """
    counted_table(frame, asked)
    return hand_in_sealed(service, principal, "round", packed(frame, asked), again)
