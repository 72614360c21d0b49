"""Jobs: hand them in, look how far they are, fetch their results, stop them. A job is seen by
whoever handed it in; staff sees that it is there, and never its result.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from discreet_service.jobs import Job, JobQueue, JobState, kind_of, shown_event
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.web.access import (
    Visit,
    check_allowed,
    known_visit,
    needs,
    visit_with,
)
from discreet_service.web.etags import is_known

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

#: Seconds between two looks for events, between two signs of life, and of one stream in all: who
#: reads on begins a new one, and says anew who they are.
_LOOK, _HEARTBEAT, _LONGEST = 0.5, 15.0, 600.0
#: Streams at once, of all and of one caller.
_MOST_STREAMS, _MOST_OF_ONE = 80, 5
#: How many are open, by caller.
_STREAMS: Counter[str] = Counter()
_NUMBER = re.compile(r"[0-9]{1,9}")
_RANGE = re.compile(r"bytes=([0-9]{1,18})?-([0-9]{1,18})?")
_STREAM = "text/event-stream"


class JobBody(BaseModel, extra="forbid"):
    """A job that is wanted."""

    kind: Annotated[str, Field(max_length=40, examples=["query"])]  # What is to be done
    request: dict[str, Any]  # What for, as the kind wants it


@needs(Permission.jobs_own)
def job_viewer(request: Request) -> Visit:
    """A dependency: who may see jobs, their own, or, as staff, that there are any."""
    visit = known_visit(request)
    if not visit.principal.may(Permission.status_read):
        check_allowed(visit.principal, Permission.jobs_own)
    return visit


Owner = Annotated[Visit, Depends(visit_with(Permission.jobs_own))]
Viewer = Annotated[Visit, Depends(job_viewer)]


@router.post("", status_code=202)
def create_job(body: JobBody, _: Owner) -> JSONResponse:
    """Submit a job. Each kind has an endpoint of its own, which returns the job."""
    kind_of(body.kind)
    message, hint = (
        "jobs of this kind have their own endpoint",
        "use that endpoint; it returns the job",
    )
    raise ServiceError(message, "invalid-input", "kind", hint)


@router.get("")
def list_jobs(
    visit: Viewer,
    state: JobState | None = None,
    everybody: Annotated[bool, Query(description="Jobs of all users, for staff")] = False,
    cursor: Annotated[str, Query(max_length=60)] = "",
    size: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """List one's own jobs, newest first."""
    if everybody:
        check_allowed(visit.principal, Permission.status_read)
    owner = None if everybody else visit.principal.name
    page = visit.service.jobs.jobs(owner, state=state, cursor=cursor, size=size)
    return {
        "jobs": [_shown(job, visit.principal) for job in page.jobs],
        "next": page.cursor or None,
    }


@router.get("/{job}")
def get_job(job: str, visit: Viewer, response: Response) -> dict[str, Any]:
    """The state and progress of a job."""
    found = visit.service.jobs.job(
        job, None if visit.principal.may(Permission.status_read) else visit.principal.name
    )
    if not found.state.final:
        response.headers["Retry-After"] = "2"
    return _shown(found, visit.principal)


@router.delete("/{job}")
def cancel_job(job: str, visit: Viewer) -> JSONResponse:
    """Cancel a job; a running one stops within seconds. Completed steps are kept."""
    staff = visit.principal.may(Permission.limits_manage)
    found = visit.service.jobs.cancel(job, None if staff else visit.principal.name)
    status = 200 if found.state.final else 202
    return JSONResponse(_shown(found, visit.principal), status_code=status)


@router.get(
    "/{job}/result",
    response_class=FileResponse,
    responses={206: {"description": "A part of the result"}},
)
def get_job_result(job: str, visit: Owner) -> Response:
    """The result of a job, or a part of it by `Range`; results are kept for some weeks."""
    found, place = visit.service.jobs.result(job, visit.principal.name)
    # Whoever lost a right has lost what it gave.
    check_allowed(visit.principal, kind_of(found.kind).permission, _dataset_of(found.asked()))
    size, digest = found.result_bytes or 0, str(found.result_digest)
    _check_range(visit, size)
    headers = {
        "ETag": f'"{digest}"',
        "Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(digest)).decode()}:",
        "Cache-Control": "private, no-cache",
    }
    if is_known(visit.headers.get("if-none-match"), digest):
        return Response(status_code=304, headers=headers)
    return FileResponse(place, headers=headers, media_type=found.media_type,
                        filename=found.file_name, stat_result=place.stat())  # fmt: skip


@router.get(
    "/{job}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {_STREAM: {}}}, 204: {"description": "Nothing more will happen"}},
)
async def stream_job_events(
    job: str,
    visit: Owner,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """What happens to a job, as server-sent events, until it ends.

    Who was cut off sends `Last-Event-ID` and misses nothing; browsers do so by themselves.
    """
    after = 0
    if last_event_id:
        if not _NUMBER.fullmatch(last_event_id):
            raise ServiceError("not the number of an event", "invalid-input", "Last-Event-ID")
        after = int(last_event_id)
    found = await run_in_threadpool(visit.service.jobs.job, job, visit.principal.name)
    events = await run_in_threadpool(visit.service.jobs.events, job, after)
    if found.state.final and not events:
        return Response(status_code=204)
    owner = visit.principal.name
    # Each stream holds a connection.
    for count, most in ((_STREAMS[owner], _MOST_OF_ONE), (_STREAMS.total(), _MOST_STREAMS)):
        if count >= most:
            message, hint = "too many streams are open", "poll the job instead"
            raise ServiceError(message, "rate-limited", hint=hint, limit=most, retry_after=10)
    content = _event_lines(visit.service.jobs, found.id, owner, after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(content, media_type=_STREAM, headers=headers)


async def _event_lines(queue: JobQueue, job: str, owner: str, after: int) -> AsyncIterator[str]:
    now = asyncio.get_running_loop().time
    until, spoken = now() + _LONGEST, now()
    if _STREAMS[owner] >= _MOST_OF_ONE or _STREAMS.total() >= _MOST_STREAMS:
        return  # of many that began at once, some were let in too soon
    _STREAMS[owner] += 1
    try:
        yield "retry: 2000\n\n"
        while now() < until:
            try:
                # The state first: the events of a job that has ended are all there.
                found = await run_in_threadpool(queue.job, job, owner)
                events = await run_in_threadpool(queue.events, job, after)
            except ServiceError:
                # The database is away, or the job: whoever asks anew is told.
                return
            for event in events:
                spoken, after = now(), event.seq
                said = json.dumps(shown_event(event))
                yield f"id: {event.seq}\nevent: {event.kind}\ndata: {said}\n\n"
            if found.state.final:
                return
            if now() - spoken >= _HEARTBEAT:
                spoken = now()
                yield ": still there\n\n"
            await asyncio.sleep(_LOOK)
    finally:
        _STREAMS[owner] -= 1
        if not _STREAMS[owner]:
            del _STREAMS[owner]


def _shown(job: Job, principal: Principal) -> dict[str, Any]:
    place, told = f"{router.prefix}/{job.id}", job.described()
    told["links"] = {"self": place}
    if job.owner != principal.name:
        # Staff looks after the queue, not into it.
        return {**told, "owner": job.owner} | {"result": None, "problem": None}
    told["links"]["events"] = f"{place}/events"
    if job.state is JobState.done:
        told["links"]["result"] = f"{place}/result"
    return told


def _dataset_of(asked: dict[str, Any]) -> str:
    dataset = asked.get("dataset", "")
    return dataset if isinstance(dataset, str) else ""


def _check_range(request: Request, size: int) -> None:
    """Refuse a part that is not there; what is no simple range is as if it had not been said."""
    header = request.headers.get("range")
    if header is None:
        return
    match = _RANGE.fullmatch(header.strip())
    first, last = (match[1], match[2]) if match else (None, None)
    senseless = first is not None and last is not None and int(last) < int(first)
    if (first is None and last is None) or senseless:
        headers = request.scope["headers"]
        request.scope["headers"] = [item for item in headers if item[0].lower() != b"range"]
    elif (first is not None and int(first) >= size) or (first is None and int(last or 0) == 0):
        raise ServiceError("the range exceeds the result", "no-such-range", "range", limit=size)
