"""Status: what everybody may know of the service, and how it is doing.

In: nothing. Out: limits, formats, languages; health; metrics without contents.
"""

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
from discreet_service.web.access import OpenToAll, ServiceDep, Visit, visit_with

router = APIRouter(tags=["status"])


@router.get("/api/v1/config", dependencies=[OpenToAll])
def get_config(service: ServiceDep) -> dict[str, Any]:
    """Limits, languages, formats and version: what a caller should know beforehand."""
    limits = service.settings.limits
    return {
        "name": service.settings.name,
        "version": __version__,
        "api": "v1",
        "languages": list(service.settings.languages),
        "formats": list(FORMATS),
        "limits": {
            "cells_instant": limits.cells_instant,
            "cells_job": limits.cells_job,
            "cells_protect": limits.cells_protect,
            "records_protect": limits.records_protect,
            "json_bytes": limits.json_bytes,
            "arrow_bytes": limits.arrow_bytes,
            "requests_per_second": limits.requests_per_second,
            "burst": limits.burst,
        },
        "keep_days": service.settings.jobs.keep_days,
        "problems": {code: kind.status for code, kind in PROBLEM_TYPES.items()},
    }


@router.get("/health/live", dependencies=[OpenToAll])
def get_live() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "live"}


@router.get("/health/ready", dependencies=[OpenToAll])
def get_ready(service: ServiceDep) -> dict[str, str]:
    """Whether the database answers, so that requests can be served."""
    try:
        with service.database.reading() as connection:
            connection.execute(sa.text("SELECT 1"))
    except (sa.exc.SQLAlchemyError, ServiceError):
        message = "the database does not answer"
        raise ServiceError(message, code="data-not-ready", retry_after=5) from None
    return {"status": "ready"}


@router.get("/metrics")
def get_metrics(visit: Annotated[Visit, Depends(visit_with(Permission.status_read))]) -> Response:
    """Figures about the service for Prometheus, without contents."""
    # Other figures are told where the database does not answer.
    with contextlib.suppress(ServiceError):
        for state, count in visit.service.jobs.counts().items():
            visit.service.metrics.jobs.labels(state=state).set(count)
    return Response(visit.service.metrics.page(), media_type=MEDIA_TYPE)
