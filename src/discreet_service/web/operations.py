"""Operations: rows come in (CONFIDENTIAL), and a result, a study or a job comes back, for each row
of `OPERATIONS` and for cells that are protected with the parameters of a statistic.
"""

from __future__ import annotations

import hmac
import io
import json
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Header, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from discreet.operations import OPERATIONS, Operation
from discreet_service.audit import LogMode, LogVerdict
from discreet_service.cells import (
    BODY_TYPES,
    LAYOUTS,
    CellsCall,
    HandedIn,
    ParameterRequest,
    Purpose,
    RowLimit,
    body_kind,
    check_number,
    chosen_format,
    packed,
    protect_cells,
    read_body,
    read_request,
    request_model,
)
from discreet_service.jobs import Job, JobOutput
from discreet_service.operation import log_event
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit, check_allowed, visit_with
from discreet_service.web.security import BodyGate

router = APIRouter(prefix="/api/v1")

_Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
#: What a call says in its address where the body is no JSON: one document.
_ASKED = "request"
#: Calls that protect cells with the parameters of a statistic: their names, and what they do.
_WITH_PARAMETERS: Mapping[Purpose, tuple[str, str]] = {
    "counts": (
        "protect_cell_counts",
        "Counts: columns n and key, and where there are such, weight and official; order is kept.\n"
        "\nWith variables (by=sex,age or a layout) the cells are a table, and come back as one.",
    ),
    "values": (
        "protect_cell_values",
        "Sums or means of one value: total, largest contributions, count, key; order is kept.",
    ),
    "figures": (
        "protect_cell_figures",
        "Key figures of a table of cells, with brackets where they are too uncertain.",
    ),
    "parts": (
        "protect_table_parts",
        "A table of cells without the parts that have too many small cells.",
    ),
}


def _add_operation(operation: Operation) -> None:
    """Add the endpoints of an operation: one that runs it, and one that studies what comes of
    it.
    """
    layout = LAYOUTS[operation.takes]
    allowed, most = Depends(visit_with(layout.permission)), f"{layout.rows}_protect"

    async def run(visit: Visit = allowed, again: _Key = None) -> Response:
        def answer(handed: HandedIn) -> Response:
            call = _call(visit, operation, handed)
            if call.size > operation.waits(call.settings):
                check_allowed(visit.principal, Permission.jobs_own)
                job = hand_in_operation(visit, call, again)
                headers = {"Location": f"/api/v1/jobs/{job.id}"}
                return JSONResponse(job.described(), status_code=202, headers=headers)
            return sent_file(call.output(), named=operation.on_records)

        return await _answered(visit, most, answer)

    async def study(visit: Visit = allowed) -> Response:
        def answer(handed: HandedIn) -> Response:
            check_number(handed.frame.height, RowLimit(operation.at_once, layout.rows))
            call = _call(visit, operation, handed).hurried()
            return JSONResponse(call.studied().described(), headers={"Cache-Control": "no-store"})

        return await _answered(visit, most, answer)

    words = operation.words(operation.name)
    ways: list[tuple[Any, str]] = [(run, words["run_call"])]
    if operation.study is not None:
        ways.append((study, words["study_call"]))
    tag = "records" if operation.on_records else operation.name
    asked = {
        "name": _ASKED,
        "in": "query",
        "required": False,
        "description": f"For bodies other than JSON: all but the {layout.rows}, as JSON",
        "schema": {"type": "string"},
    }
    described = {"parameters": [asked], **_body(request_model(operation), layout.rows)}
    for (endpoint, summary), end, name in zip(ways, operation.ends, operation.calls, strict=False):
        router.post(f"/{operation.address}{end}", name=name, description=summary, tags=[tag],
                    openapi_extra=described)(endpoint)  # fmt: skip


def _add_parameter_call(purpose: Purpose, name: str, summary: str) -> None:
    allowed = Depends(visit_with(Permission.cells_protect))

    async def protect(visit: Visit = allowed) -> Response:
        service, caller = visit.service, visit.principal

        def answer(handed: HandedIn) -> Response:
            # Protect cells with the parameters of a statistic, watch their keys, and log the call.
            start = time.perf_counter()
            # What a call says by name, in its address and beside its cells; nothing twice.
            stated: dict[str, Any] = dict(handed.members)
            for name, text in visit.query_params.multi_items():
                where = name if name in ParameterRequest.model_fields else ""
                if name in stated:
                    raise ServiceError("given twice", "invalid-input", where)
                stated[name] = text.split(",") if name == "by" else text
                if name in ("layout", "classifications"):
                    try:
                        stated[name] = json.loads(text)
                    except (ValueError, RecursionError):
                        raise ServiceError("not valid JSON", "invalid-input", where) from None
            stated.setdefault("language", visit.language)
            options = read_request(ParameterRequest, stated)
            used, parameters = service.parameter_sets.parameters(
                options.parameter_set, options.version
            )
            form = chosen_format(
                options.format,
                visit.headers.get("accept", "*/*"),
                table=options.is_table(purpose),
            )
            output, (count, key) = protect_cells(parameters, handed.frame, options, purpose, form)
            service.metrics.stages.labels(stage="protect").observe(time.perf_counter() - start)
            service.metrics.cells.labels(mode="cells").inc(handed.frame.height)
            alarms = service.key_watch.watch(caller.name, used.subject, count, key, parameters.grid)
            for alarm in alarms:
                service.metrics.alerts.labels(kind=alarm).inc()
                log_event("alarm", kind=alarm)
            digest = hmac.new(service.key_for("cells"), digestmod="sha256")
            for column in (count, key):
                digest.update(np.ascontiguousarray(column).data)
            service.query_log.append(
                principal=caller.name,
                caller_key=caller.key,
                mode=LogMode.cells,
                verdict=LogVerdict.answered,
                query={"protect": purpose, "parameter_set": used.name, "version": used.version},
                digest=digest.hexdigest(),
                parameters=used.digest,
                rules=[f"alarm:{alarm}" for alarm in alarms],
                cells=len(count),
                milliseconds=int((time.perf_counter() - start) * 1000),
                bytes=len(output.content or b""),
            )
            headers = {"Discreet-Parameter-Set": used.subject, "Vary": "Accept"}
            return Response(output.content, media_type=output.media_type, headers=headers)

        return await _answered(visit, "cells_protect", answer)

    router.post(f"/protect/{purpose}", name=name, description=summary, tags=["cells"],
                openapi_extra=_body(ParameterRequest))(protect)  # fmt: skip


def _body(kind: type[BaseModel], rows: str = "cells") -> dict[str, Any]:
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
    binary = {"schema": {"type": "string", "format": "binary"}}
    content = {**dict.fromkeys(BODY_TYPES, binary), "application/json": {"schema": stated}}
    return {"requestBody": {"required": True, "content": content}}


async def _answered(visit: Visit, most: str, answer: Callable[[HandedIn], Response]) -> Response:
    """Let the body of a call in when there is room for it, read it, and answer beside the loop."""
    body = body_kind(visit.headers.get("content-type", ""))
    gate: BodyGate = visit.app.state.body_gate
    limit = RowLimit(getattr(visit.service.settings.limits, most), most.partition("_")[0])
    async with gate.body(visit) as file:
        return await gate.work(lambda file: answer(read_body(file, body, limit)), file)


def sent_file(file: JobOutput, *, named: bool) -> Response:
    """A result, to be kept by nobody on the way; with its name it is a file to be kept."""
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    if named:
        headers["Content-Disposition"] = f'attachment; filename="{file.file_name}"'
    return Response(file.content, media_type=file.media_type, headers=headers)


def _call(visit: Visit, operation: Operation, handed: HandedIn) -> CellsCall:
    stated: dict[str, Any] = dict(handed.members)
    for name, text in visit.query_params.multi_items():
        if name != _ASKED or stated:
            message = "describe a call either with its rows or in the address"
            raise ServiceError(message, "invalid-input", _ASKED)
        try:
            stated = dict(json.load(io.StringIO(text)))
        except (ValueError, TypeError, RecursionError):
            raise ServiceError("not a JSON object", "invalid-input", _ASKED) from None
    stated.setdefault("language", visit.language)
    call = CellsCall.of(visit.service, visit.principal.name, operation, handed.frame, stated)
    if operation.answer != "table":  # a report has one form, records have those of their layout
        return call
    form = chosen_format(call.request.format, visit.headers.get("accept", "*/*"), table=True)
    written = call.request.model_copy(update={"format": form})
    return CellsCall.of(visit.service, visit.principal.name, operation, handed.frame, written)


def hand_in_operation(visit: Visit, call: CellsCall, again: str | None = None) -> Job:
    """Hand in a job that carries out an operation, after all that can be wrong was looked at.

    Its input is sealed; one that no job needs is deleted.
    """
    call.source()
    inputs, operation = visit.service.job_inputs, call.operation
    owner = f"{operation.job} {visit.principal.name}"
    name = inputs.put(packed(call.frame, call.request), owner=owner, again=again)
    try:
        wanted = {"input": name, "operation": operation.name}
        job = visit.submit(operation.job, wanted, again)
    except ServiceError:
        if again is None:
            inputs.drop(name)
        raise
    if job.state.final:
        inputs.drop(name)
    return job


for _operation in OPERATIONS.values():
    _add_operation(_operation)
for _purpose, (_name, _summary) in _WITH_PARAMETERS.items():
    _add_parameter_call(_purpose, _name, _summary)
