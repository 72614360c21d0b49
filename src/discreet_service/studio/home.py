"""Home: where everybody starts, and the language of the pages.

In: requests of anybody. Out: data sets and releases for readers; for staff also their jobs, what
waits for their decision, and alerts.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request, Response

from discreet_service.web.access import OpenToAll, ServiceDep
from discreet_service.web.pages import back_to, page
from discreet_service.web.problem_pages import LANGUAGE_COOKIE

router = APIRouter(tags=["studio"], include_in_schema=False)

#: A place of our own: neither another host nor anything that browsers take for one.
_OWN = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,8000}")
_YEAR = 365 * 24 * 3600


@router.get("/", dependencies=[OpenToAll])
def show_home(request: Request) -> Response:
    """The first page."""
    return page(request, "home")


@router.post("/language", dependencies=[OpenToAll])
def choose_language(
    service: ServiceDep,
    to: Annotated[Literal["en", "de"], Form()],
    back: Annotated[str, Form(max_length=8_001)] = "/",
) -> Response:
    """Keep the language that somebody chose, and go back to where they were."""
    response = back_to(back if _OWN.fullmatch(back) else "/")
    response.set_cookie(
        LANGUAGE_COOKIE,
        to,
        max_age=_YEAR,
        secure=service.settings.secure,
        httponly=True,
        samesite="lax",
    )
    return response
