"""Home: data sets and releases for readers, for staff also jobs, what waits for their decision, and
alerts; and the language of the pages.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Response

from discreet_service.jobs import JobState
from discreet_service.people import KINDS, ProposalState
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web import (
    LANGUAGE_COOKIE,
    OpenVisit,
    address,
    back_to,
    list_datasets,
    list_releases,
    own_place,
    page,
    words,
)

router = APIRouter(tags=["studio"], include_in_schema=False)

_YEAR = 365 * 24 * 3600


#: Who is told what is wrong.
_STAFF = (Permission.status_read, Permission.releases_publish, Permission.datasets_publish)
_NEWEST = 5


@router.get("/")
def show_home(visit: OpenVisit) -> Response:
    """The first page: what there is, and what waits for the one who looks."""
    service, principal, language = visit.service, visit.principal, visit.language
    datasets, releases = [], []
    if principal.may(Permission.catalogue_read):
        datasets = list_datasets(visit)["datasets"]
    if principal.may(Permission.releases_read):
        releases = list_releases(visit, language, 1, _NEWEST)["releases"]
    # What concerns the one who looks.
    known = principal.kind == "session"
    mine = known and principal.may(Permission.jobs_own)
    jobs = service.jobs.jobs(principal.name, size=_NEWEST).jobs if mine else ()
    failed = (
        service.jobs.jobs(principal.name, state=JobState.failed, size=_NEWEST).jobs if mine else ()
    )
    proposals = service.approvals.proposals(principal, ProposalState.open) if known else ()
    staff = known and any(map(principal.may, _STAFF))
    unserved = sorted(service.releases.refused().items()) if staff else []
    return page(
        visit,
        "home",
        datasets=datasets,
        releases=releases,
        example=first_table(service, principal),
        jobs=jobs,
        failed=failed,
        states=words("job_states", language),
        kinds=words("job_kinds", language),
        waiting=[one for one in proposals if one.proposer != principal.name],
        proposal_kinds={kind: getattr(facts, language) for kind, facts in KINDS.items()},
        staff=staff,
        # Names of folders only: places are nobody's business.
        unserved=[(PurePath(folder).name, why) for folder, why in unserved],
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
            chosen = [
                next((v for v in unit.variables.values() if v.geography is wanted), None)
                for wanted in (True, False)
            ]
            by = [f"{item.name}:{item.levels[0].name}" for item in chosen if item is not None]
            if by:
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
