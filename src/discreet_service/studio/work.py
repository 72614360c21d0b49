"""Work: one's jobs, how far they are, and their results.

In: numbers of jobs. Out: pages that follow what happens; a job is shown to whoever handed it in.
"""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from discreet_service.jobs.records import JobState
from discreet_service.permissions import Permission, Principal
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.pages import FormPrincipal, back_to, page, words
from discreet_service.web.problem_pages import language_of

router = APIRouter(tags=["studio"], include_in_schema=False)

_Owner = Annotated[Principal, Depends(principal_with(Permission.jobs_own))]


@router.get("/jobs")
def show_jobs(
    request: Request,
    service: ServiceDep,
    principal: _Owner,
    cursor: Annotated[str, Query(max_length=60)] = "",
) -> Response:
    """One's jobs, the newest first."""
    found = service.jobs.jobs(principal.name, cursor=cursor)
    language = language_of(request)
    return page(
        request,
        "jobs",
        jobs=found.jobs,
        cursor=found.cursor,
        states=words("job_states", language),
        kinds=words("job_kinds", language),
    )


@router.get("/jobs/{job}")
def show_job(job: str, request: Request, service: ServiceDep, principal: _Owner) -> Response:
    """A job: how far it is, why it failed, or its result."""
    found = service.jobs.job(job, principal.name)
    language = language_of(request)
    problem = json.loads(found.problem) if found.problem else {}
    kinds = words("job_kinds", language)
    return page(
        request,
        "job",
        title=f"{words('job', language)['title']}: {kinds.get(found.kind, found.kind)}",
        job=found,
        done=found.state is JobState.done,
        state=words("job_states", language)[found.state.value],
        problem=problem,
    )


@router.post("/jobs/{job}/cancel")
def stop_job(job: str, service: ServiceDep, principal: FormPrincipal) -> Response:
    """Stop one's job."""
    check_allowed(principal, Permission.jobs_own)
    found = service.jobs.cancel(job, principal.name)
    return back_to(f"/jobs/{found.id}")
