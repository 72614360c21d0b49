"""Operations: cells or records come in, and a result, a study or a job comes back.

In: a body with cells, streamed to a file that has no name (CONFIDENTIAL), and what is asked of
them; sealed until its job ends, where there is one. Out: what each row of `OPERATIONS` makes; a
study is CONFIDENTIAL, for whoever sent the cells.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse

from discreet.operations import OPERATIONS, Operation
from discreet_service.cells import (
    LAYOUTS,
    CellsCall,
    HandedIn,
    RowLimit,
    check_number,
    chosen_format,
    packed,
    request_model,
)
from discreet_service.jobs import Job, JobOutput
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

router = APIRouter(prefix="/api/v1")

_Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


def add_operation(operation: Operation, to: APIRouter = router) -> None:
    """Add the endpoints of an operation: one that runs it, and one that studies what comes of
    it.
    """
    layout = LAYOUTS[operation.takes]
    allowed = Depends(principal_with(layout.permission))

    def limit_of(service: Service) -> RowLimit:
        return RowLimit(getattr(service.settings.limits, f"{layout.rows}_protect"), layout.rows)

    async def run(
        request: Request,
        service: ServiceDep,
        principal: Principal = allowed,
        again: _Key = None,
    ) -> Response:
        def answer(handed: HandedIn) -> Response:
            call = _call(request, service, principal, operation, handed)
            if call.size > operation.waits(call.settings):
                check_allowed(principal, Permission.jobs_own)
                return accepted_job(hand_in_operation(service, principal, call, again))
            return sent_file(call.output(), named=operation.on_records)

        return await answered_from_body(request, service, limit_of(service), answer)

    async def study(
        request: Request, service: ServiceDep, principal: Principal = allowed
    ) -> Response:
        def answer(handed: HandedIn) -> Response:
            check_number(handed.frame.height, RowLimit(operation.at_once, layout.rows))
            call = _call(request, service, principal, operation, handed).hurried()
            return JSONResponse(call.studied().described(), headers={"Cache-Control": "no-store"})

        return await answered_from_body(request, service, limit_of(service), answer)

    words = operation.words(operation.name)
    ways: list[tuple[Any, str]] = [(run, words["run_call"])]
    if operation.study is not None:
        ways.append((study, words["study_call"]))
    for (endpoint, summary), end, name in zip(ways, operation.ends, operation.calls, strict=False):
        to.add_api_route(
            f"/{operation.address}{end}",
            endpoint,
            methods=["POST"],
            name=name,
            description=summary,
            tags=["records" if operation.on_records else operation.name],
            openapi_extra=described_body(request_model(operation), layout.rows),
        )


def sent_file(file: JobOutput, *, named: bool) -> Response:
    """A result, to be kept by nobody on the way; with its name it is a file to be kept."""
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    if named:
        headers["Content-Disposition"] = f'attachment; filename="{file.file_name}"'
    return Response(file.content, media_type=file.media_type, headers=headers)


def _call(
    request: Request, service: Service, principal: Principal, operation: Operation, handed: HandedIn
) -> CellsCall:
    """What a call says beside its cells, or in its address; nothing twice."""
    said: dict[str, Any] = said_in_call(request, handed.members)
    said.setdefault("language", language_of(request))
    call = CellsCall.of(service, principal.name, operation, handed.frame, said)
    if operation.answer != "table":  # a report has one form, records have those of their layout
        return call
    form = chosen_format(call.request.format, request.headers.get("accept", "*/*"), table=True)
    written = call.request.model_copy(update={"format": form})
    return CellsCall.of(service, principal.name, operation, handed.frame, written)


def hand_in_operation(
    service: Service, principal: Principal, call: CellsCall, again: str | None = None
) -> Job:
    """Hand in a job that carries out an operation, after all that can be wrong was looked at."""
    call.source()
    content, operation = packed(call.frame, call.request), call.operation
    return hand_in_sealed(service, principal, operation.job, operation.name, content, again)


for _operation in OPERATIONS.values():
    add_operation(_operation)
