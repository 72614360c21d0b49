"""Home: the work list of whoever logged in, data sets and releases for all; and the language of
the pages.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Response

from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.studio.work_list import last_acts, work_items
from discreet_service.web import (
    LANGUAGE_COOKIE,
    OpenVisit,
    address,
    back_to,
    list_datasets,
    list_releases,
    own_place,
    page,
)

router = APIRouter(tags=["studio"], include_in_schema=False)

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
