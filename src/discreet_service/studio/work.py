"""Work: one's jobs, how far they are, and their results."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from discreet_service.jobs import JobState
from discreet_service.permissions import Permission
from discreet_service.web import (
    Cell,
    NavigationEntry,
    Part,
    Visit,
    back_to,
    form_visit_with,
    list_page,
    page,
    time_text,
    visit_with,
    words,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/jobs", place=30, permissions=(Permission.jobs_own,))

_Owner = Annotated[Visit, Depends(visit_with(Permission.jobs_own))]
_JobsOwnForm = Annotated[Visit, Depends(form_visit_with(Permission.jobs_own))]


@router.get("/jobs")
def show_jobs(visit: _Owner, cursor: Annotated[str, Query(max_length=60)] = "") -> Response:
    """One's jobs, the newest first."""
    jobs = visit.service.jobs.jobs(visit.principal.name, cursor=cursor)
    states, kinds = words("job_states", visit.language), words("job_kinds", visit.language)
    rows = [
        (
            Cell(f"{kinds.get(job.kind, job.kind)} {job.id[:8]}", f"/jobs/{job.id}"),
            (Cell(states[job.state.value], tag=""),
             f"{job.progress} %" if job.state is JobState.running else ""),
            time_text(job.created_at, visit.language),
            time_text(job.finished_at, visit.language),
        )
        for job in jobs.jobs
    ]  # fmt: skip
    build = Cell(words("jobs", visit.language)["build"], "/tables", look="button")
    return list_page(visit, "jobs", ("kind", "state", "created", "finished"), rows,
                     older=("cursor", jobs.cursor),
                     after=() if rows else [Part("buttons", values=[build])])  # fmt: skip


@router.get("/jobs/{job}")
def show_job(job: str, visit: _Owner) -> Response:
    """A job: how far it is, why it failed, or its result."""
    found = visit.service.jobs.job(job, visit.principal.name)
    language = visit.language
    problem = json.loads(found.problem) if found.problem else {}
    kinds = words("job_kinds", language)
    return page(
        visit,
        "job",
        title=f"{words('job', language)['title']}: {kinds.get(found.kind, found.kind)}",
        job=found,
        done=found.state is JobState.done,
        state=words("job_states", language)[found.state.value],
        problem=problem,
    )


@router.post("/jobs/{job}/cancel")
def stop_job(job: str, visit: _JobsOwnForm) -> Response:
    """Stop one's job."""
    found = visit.service.jobs.cancel(job, visit.principal.name)
    return back_to(f"/jobs/{found.id}")
