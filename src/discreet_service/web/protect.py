"""Protect: cells that callers counted come in, protected cells go out.

In: a body with cells, streamed to a file that has no name (CONFIDENTIAL). Out: figures in the same
order, or a protected table. The work is done beside the event loop, a few calls at a time.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import IO, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import Problem
from discreet.release import Parameters
from discreet_service.audit import LogMode, LogVerdict
from discreet_service.cells import (
    BODY_TYPES,
    RESULT_TYPES,
    BodyKind,
    CellResult,
    HandedIn,
    Purpose,
    WatchedCells,
    body_kind,
    cells_result,
    chosen_format,
    protect_counts,
    protect_table,
    protect_values,
    read_body,
    table_result,
)
from discreet_service.operation import log_event
from discreet_service.parameter_sets import ParameterSet
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.access import ServiceDep, principal_with
from discreet_service.web.body_gate import BodyGate
from discreet_service.web.problem_pages import language_of

router = APIRouter(prefix="/api/v1/protect", tags=["cells"])

Kind = Literal["counts", "values", "figures", "parts"]
_Caller = Annotated[Principal, Depends(principal_with(Permission.cells_protect))]


_Text = Annotated[str, Field(max_length=200)]


class CellOptions(BaseModel):
    """What a call says besides its cells; in the address, or beside the cells in JSON."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    parameter_set: Annotated[_Text, Field(min_length=1)]  # the statistic of the parameters
    version: _Text | None = None  # their version; None for the one in use
    format: _Text | None = None  # format of the result; that of the header Accept if None
    language: Literal["en", "de"]  # "en" or "de", for notes and legend
    name: _Text = "table"  # name of the table
    #: Variables of a table of counts in the columns n and key
    by: list[Annotated[_Text, Field(min_length=1)]] = Field(default_factory=list, max_length=50)
    #: What the columns of a table are, as [cells] in a programme for cells
    layout: dict[str, Any] | None = None
    #: Code trees of some of its variables
    classifications: dict[str, Any] = Field(default_factory=dict)
    value: _Text = ""  # the value column of the parameters
    figure: Literal["sum", "mean"] | None = None  # sums or means; what is accurate if None


_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["cells"],
    "properties": {
        "parameter_set": {"type": "string"},
        "version": {"type": "string"},
        "cells": {
            "oneOf": [
                {"type": "array", "items": {"type": "object"}},
                {"type": "object", "additionalProperties": {"type": "array"}},
            ]
        },
        "format": {"type": "string", "enum": list(RESULT_TYPES)},
        "language": {"type": "string", "enum": ["en", "de"]},
        "name": {"type": "string"},
        "by": {"type": "array", "items": {"type": "string"}},
        "layout": {"type": "object"},
        "classifications": {"type": "object"},
        "value": {"type": "string"},
        "figure": {"type": "string", "enum": ["sum", "mean"]},
    },
    "additionalProperties": False,
}
#: What OpenAPI says of the body.
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            **{media: {"schema": {"type": "string", "format": "binary"}} for media in BODY_TYPES},
            "application/json": {"schema": _SCHEMA},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
}


@router.post("/counts", openapi_extra=_BODY)
async def protect_cell_counts(request: Request, service: ServiceDep, caller: _Caller) -> Response:
    """Counts: columns n and key, and where there are such, weight and official; order is kept.

    With variables (by=sex,age or a layout) the cells are a table, and come back as one.
    """
    return await _answered(request, service, caller, "counts", _counts)


@router.post("/values", openapi_extra=_BODY)
async def protect_cell_values(request: Request, service: ServiceDep, caller: _Caller) -> Response:
    """Sums or means of one value: total, largest contributions, count, key; order is kept."""
    return await _answered(request, service, caller, "values", _values)


@router.post("/figures", openapi_extra=_BODY)
async def protect_cell_figures(request: Request, service: ServiceDep, caller: _Caller) -> Response:
    """Key figures of a table of cells, with brackets where they are too uncertain."""
    return await _answered(request, service, caller, "figures", _table("figures"))


@router.post("/parts", openapi_extra=_BODY)
async def protect_table_parts(request: Request, service: ServiceDep, caller: _Caller) -> Response:
    """A table of cells without the parts that have too many small cells."""
    return await _answered(request, service, caller, "parts", _table("parts"))


# What is done -----------------------------------------------------------------------------------

_Made = tuple[CellResult, WatchedCells]
_Work = Callable[[Parameters, HandedIn, CellOptions, str], _Made]


def _counts(parameters: Parameters, cells: HandedIn, options: CellOptions, accept: str) -> _Made:
    if options.by or options.layout is not None:
        return _table("counts")(parameters, cells, options, accept)
    form = chosen_format(options.format, accept, table=False)
    made, asked = protect_counts(parameters, cells.frame)
    return cells_result(made, form, options.language), asked


def _values(parameters: Parameters, cells: HandedIn, options: CellOptions, accept: str) -> _Made:
    form = chosen_format(options.format, accept, table=False)
    made, asked = protect_values(parameters, cells.frame, options.value, options.figure)
    return cells_result(made, form, options.language), asked


def _table(purpose: Purpose) -> _Work:
    def work(parameters: Parameters, cells: HandedIn, options: CellOptions, accept: str) -> _Made:
        form = chosen_format(options.format, accept, table=True)
        layout = options.layout
        if layout is None:
            layout = {"by": list(options.by), "count": "n", "cell_key": "key"}
            if "weight" in cells.frame.columns:
                layout["weight"] = "weight"
        made, asked = protect_table(
            parameters,
            cells.frame,
            layout,
            purpose=purpose,
            name=options.name,
            trees=options.classifications,
        )
        return table_result(made, form, options.language), asked

    return work


async def _answered(
    request: Request, service: Service, caller: Principal, kind: Kind, work: _Work
) -> Response:
    body = body_kind(request.headers.get("content-type", ""))
    gate = BodyGate.of(request, service)
    async with gate.body(request, service) as file:
        return await gate.work(_made, request, service, caller, kind, work, file, body)


def _made(
    request: Request,
    service: Service,
    caller: Principal,
    kind: Kind,
    work: _Work,
    file: IO[bytes],
    body: BodyKind,
) -> Response:
    start = time.perf_counter()
    cells = read_body(file, body, service.settings.limits.cells_protect)
    options = _options(request, cells.members)
    used, parameters = service.parameter_sets.parameters(options.parameter_set, options.version)
    accept = request.headers.get("accept", "*/*")
    result, asked = work(parameters, cells, options, accept)
    service.metrics.stages.labels(stage="protect").observe(time.perf_counter() - start)
    service.metrics.cells.labels(mode="cells").inc(cells.frame.height)
    alarms = _alarms(service, caller, used, parameters, asked)
    _log(service, caller, kind, used, asked, alarms, result, start)
    headers = {"Discreet-Parameter-Set": used.subject, "Vary": "Accept"}
    return Response(result.content, media_type=result.media_type, headers=headers)


def _alarms(
    service: Service,
    caller: Principal,
    used: ParameterSet,
    parameters: Parameters,
    asked: WatchedCells,
) -> list[str]:
    found = service.key_watch.watch(
        caller.name, used.subject, asked.count, asked.key, parameters.grid
    )
    for alarm in found:
        service.metrics.alerts.labels(kind=alarm.kind).inc()
        log_event("alarm", kind=alarm.kind)
    return [f"alarm:{alarm.kind}" for alarm in found]


def _log(
    service: Service,
    caller: Principal,
    kind: Kind,
    used: ParameterSet,
    asked: WatchedCells,
    alarms: list[str],
    result: CellResult,
    start: float,
) -> None:
    """Write the call down: what for, and a keyed digest of its cells, by which it is recognised."""
    digest = hmac.new(service.key_for("cells"), digestmod="sha256")
    for column in (asked.count, asked.key):
        digest.update(np.ascontiguousarray(column).data)
    service.query_log.append(
        principal=caller.name,
        caller_key=caller.key,
        mode=LogMode.cells,
        verdict=LogVerdict.answered,
        query={"protect": kind, "parameter_set": used.name, "version": used.version},
        digest=digest.hexdigest(),
        parameters=used.digest,
        rules=alarms,
        cells=len(asked.count),
        milliseconds=int((time.perf_counter() - start) * 1000),
        bytes=len(result.content),
    )


# What a call says ---------------------------------------------------------------------------------


def _options(request: Request, members: Mapping[str, Any]) -> CellOptions:
    """What a call says, in its address and beside its cells; nothing twice, nothing unknown."""
    given: dict[str, Any] = dict(members)
    for name, text in request.query_params.multi_items():
        if name in given:
            raise _wrong("this is said twice", name)
        given[name] = text
        if name == "by":
            given[name] = text.split(",")
        elif name in ("layout", "classifications"):
            try:
                given[name] = json.loads(text)
            except (ValueError, RecursionError):
                raise _wrong("this is no JSON", name) from None
    given.setdefault("language", language_of(request))
    try:
        options = CellOptions.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_input=False, include_url=False, include_context=False)
        raise _refused(errors) from None
    if options.by and options.layout is not None:
        raise _wrong("the layout says this already", "by")
    return options


def _refused(told: list[Any]) -> ServiceError:
    known = CellOptions.model_fields
    problems = [
        Problem(item["msg"], ".".join(map(str, item["loc"])))
        if item["loc"] and item["loc"][0] in known
        else Problem("something is said that is not known here", "", f"known: {', '.join(known)}")
        for item in told[:20]
    ]
    message = (
        f"{len(problems)} things are wrong with this call" if problems[1:] else problems[0].what
    )
    return ServiceError(message, code="invalid-input", where=problems[0].where, problems=problems)


def _wrong(what: str, where: str) -> ServiceError:
    known = where in CellOptions.model_fields
    return ServiceError(what, code="invalid-input", where=where if known else "")
