"""Status: limits, formats, languages; health; metrics without contents."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Response

from discreet._version import __version__
from discreet.publication import FORMATS
from discreet_service.operation import MEDIA_TYPE
from discreet_service.permissions import Permission
from discreet_service.problems import PROBLEM_TYPES, ServiceError
from discreet_service.web.access import OpenVisit, Visit, visit_with

router = APIRouter(tags=["status"])
#: Limits that a caller should know.
_LIMITS = (
    *("cells_instant", "cells_job", "cells_protect", "records_protect"),
    *("json_bytes", "arrow_bytes", "requests_per_second", "burst"),
)


@router.get("/api/v1/config")
def get_config(visit: OpenVisit) -> dict[str, Any]:
    """Limits, languages, formats and version of the service."""
    settings = visit.service.settings
    return {
        "name": settings.name,
        "version": __version__,
        "api": "v1",
        "languages": list(settings.languages),
        "formats": list(FORMATS),
        "limits": {name: getattr(settings.limits, name) for name in _LIMITS},
        "keep_days": settings.jobs.keep_days,
        "problems": {code: kind.status for code, kind in PROBLEM_TYPES.items()},
    }


@router.get("/health/live")
def get_live(_: OpenVisit) -> dict[str, str]:
    """Whether the process runs."""
    return {"status": "live"}


@router.get("/health/ready")
def get_ready(visit: OpenVisit) -> dict[str, str]:
    """Whether the database is reachable, so that requests can be served."""
    try:
        with visit.service.database.reading() as connection:
            connection.execute(sa.text("SELECT 1"))
    except (sa.exc.SQLAlchemyError, ServiceError):
        message = "the database does not respond"
        raise ServiceError(message, "data-not-ready", retry_after=5) from None
    return {"status": "ready"}


@router.get("/metrics")
def get_metrics(visit: Annotated[Visit, Depends(visit_with(Permission.status_read))]) -> Response:
    """Metrics for Prometheus, without contents."""
    # Other figures are told where the database does not answer.
    with contextlib.suppress(ServiceError):
        for state, count in visit.service.jobs.counts().items():
            visit.service.metrics.jobs.labels(state=state).set(count)
    return Response(visit.service.metrics.page(), media_type=MEDIA_TYPE)
