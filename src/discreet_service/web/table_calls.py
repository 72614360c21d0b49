"""Calls with tables: a body with cells or records, what is asked of them, and the job that does it.

In: requests. Out: what a call says, nothing of it twice; how the interface describes its body; and
jobs, whose inputs are sealed until they end.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import IO, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from discreet_service.cells import BODY_TYPES, HandedIn, RowLimit, body_kind, read_body
from discreet_service.jobs import Job
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.web.body_gate import BodyGate

#: What a call says in its address where the body is no JSON: one document.
_ASKED = "request"


def described_body(kind: type[BaseModel], rows: str = "cells") -> dict[str, Any]:
    """What OpenAPI says of the body."""
    stated = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    stated["required"] = [*stated.get("required", []), rows]
    row = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
    column = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
    stated["properties"][rows] = {
        "description": f"The {rows}, as rows or as columns",
        "anyOf": [
            {"type": "array", "items": row},
            {"type": "object", "additionalProperties": column},
        ],
    }
    content: dict[str, Any] = {
        media: {"schema": {"type": "string", "format": "binary"}} for media in BODY_TYPES
    }
    content["application/json"] = {"schema": stated}
    asked = {
        "name": _ASKED,
        "in": "query",
        "required": False,
        "description": f"Where the body is no JSON: all but the {rows}, as JSON",
        "schema": {"type": "string"},
    }
    return {"parameters": [asked], "requestBody": {"required": True, "content": content}}


def said_in_call(request: Request, members: Mapping[str, Any]) -> dict[str, Any]:
    """What a call says beside its rows, or in its address; nothing twice."""
    given: dict[str, Any] = dict(members)
    for name, text in request.query_params.multi_items():
        if name != _ASKED or given:
            message = "a call is described once: beside its rows, or in the address"
            raise ServiceError(message, code="invalid-input", where=_ASKED)
        try:
            given = dict(json.load(io.StringIO(text)))
        except (ValueError, TypeError, RecursionError):
            message = "this is no JSON object"
            raise ServiceError(message, code="invalid-input", where=_ASKED) from None
    return given


async def answered_from_body(
    request: Request,
    service: Service,
    limit: RowLimit | int,
    answer: Callable[[HandedIn], Response],
) -> Response:
    """Let the body of a call in when there is room for it, read it, and answer beside the loop."""
    body = body_kind(request.headers.get("content-type", ""))
    gate = BodyGate.of(request, service)

    def read(file: IO[bytes]) -> Response:
        return answer(read_body(file, body, limit))

    async with gate.body(request, service) as file:
        return await gate.work(read, file)


def hand_in_sealed(
    service: Service,
    principal: Principal,
    kind: str,
    operation: str,
    content: bytes,
    again: str | None = None,
) -> Job:
    """Seal an input, and hand in its job; an input that no job needs is deleted."""
    inputs = service.job_inputs
    name = inputs.put(content, owner=f"{kind} {principal.name}", again=again)
    try:
        job = service.jobs.submit(
            kind=kind,
            owner=principal.name,
            request={"input": name, "operation": operation},
            idempotency_key=again,
        )
    except ServiceError:
        if again is None:
            inputs.drop(name)
        raise
    if job.state.final:
        inputs.drop(name)
    return job


def accepted_job(job: Job) -> JSONResponse:
    """The answer that tells of a job."""
    return JSONResponse(job.told(), status_code=202, headers={"Location": f"/api/v1/jobs/{job.id}"})
