"""Home: the work list of whoever logged in, their jobs with results, data sets and releases for
all; help with steps, signs and the glossary; and the language of the pages.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Query, Response

from discreet.publication import legend
from discreet_service.jobs import JobState
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.studio.choices import first_variables
from discreet_service.studio.work_list import last_acts, work_items
from discreet_service.web import (
    LANGUAGE_COOKIE,
    Cell,
    NavigationEntry,
    OpenVisit,
    Part,
    Visit,
    address,
    back_to,
    form_visit_with,
    list_datasets,
    list_page,
    list_releases,
    own_place,
    page,
    time_text,
    visit_with,
    words,
)

router = APIRouter(tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/jobs", place=30, permissions=(Permission.jobs_own,))

_Owner = Annotated[Visit, Depends(visit_with(Permission.jobs_own))]
_JobsOwnForm = Annotated[Visit, Depends(form_visit_with(Permission.jobs_own))]
_YEAR = 365 * 24 * 3600
_NEWEST, _UNDER_WAY = 5, 8


@router.get("/")
def show_home(visit: OpenVisit) -> Response:
    """The first page: what there is, and what waits for the one who looks."""
    service, principal = visit.service, visit.principal
    datasets, releases = [], []
    if principal.may(Permission.catalogue_read):
        datasets = list_datasets(visit)["datasets"]
    if principal.may(Permission.releases_read):
        releases = list_releases(visit, visit.language, 1, _NEWEST)["releases"]
    mine = principal.kind == "session"
    items = work_items(visit) if mine else []
    return page(
        visit,
        "home",
        datasets=datasets,
        releases=releases,
        example=first_table(service, principal),
        waiting=[one for one in items if one.waits],
        under_way=[one for one in items if not one.waits][:_UNDER_WAY],
        last=last_acts(visit) if mine else [],
    )


def first_table(service: Service, principal: Principal) -> str:
    """The address of a first table that is already chosen; empty if nothing can be asked."""
    for record in service.datasets.records():
        if record.state != "published" or not principal.may(Permission.query_run, record.dataset):
            continue
        try:
            version = service.datasets.version(record.dataset, record.version)
        except ServiceError:
            continue
        for unit in version.units.values():
            if by := [f"{one.name}:{one.levels[0].name}" for one in first_variables(unit)]:
                asked = [("unit", unit.name), ("by", ",".join(by))]
                return address(f"/tables/{record.dataset}", asked)
    return ""


@router.post("/language")
def choose_language(
    visit: OpenVisit,
    to: Annotated[Literal["en", "de"], Form()],
    back: Annotated[str, Form(max_length=8_001)] = "/",
) -> Response:
    """Keep the language that somebody chose, and go back to where they were."""
    response = back_to(own_place(back))
    response.set_cookie(LANGUAGE_COOKIE, to, max_age=_YEAR, secure=visit.service.settings.secure,
                        httponly=True, samesite="lax")  # fmt: skip
    return response


@router.get("/help")
def show_help(visit: OpenVisit) -> Response:
    """Help: tasks and glossary."""
    language = visit.language
    titles, texts = words("glossary_titles", language), words("glossary", language)
    return page(
        visit,
        "help",
        terms=sorted((titles[name], name, text) for name, text in texts.items()),
        signs=legend(None, language),
        example=first_table(visit.service, visit.principal),
    )


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
