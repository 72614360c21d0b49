"""Conversations: what a client says for each of its functions, and what it makes of the answers.

In: frames and words. Out: steps, one after the other: a call, or seconds to wait. Whoever makes the
steps, waiting or awaiting, hands each answer back; the end is what the function gives.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import polars as pl
from pydantic import ValidationError

from discreet.errors import nearest
from discreet.operations import OPERATIONS
from discreet.settings import setting_problems
from discreet_service.cells import refused_call
from discreet_service.client import calls
from discreet_service.client.calls import AGAIN, Opened, ServiceCall, ServiceJob, Table, TableKind
from discreet_service.problems import ServiceError

Answer = TypeVar("Answer")
Conversation = Generator[ServiceCall[Any] | float, Any, Answer]
Progress = Callable[[ServiceJob], None]
_RETRIES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_DESCRIPTION = ServiceCall(
    method="GET", path="/api/v1/openapi.json", read=lambda answer: answer.json()
)


def _sent(call: ServiceCall[Answer]) -> Conversation[Answer]:
    """Make a call, again where the service says so."""
    for attempt in range(_RETRIES + 1):
        answer: httpx.Response = yield call
        if answer.status_code not in AGAIN or attempt == _RETRIES:
            break
        yield calls.pause_before_retry(answer, attempt)
    if answer.status_code >= httpx.codes.BAD_REQUEST:
        raise calls.error_of(answer)
    return call.read(answer)


def protect_counts(
    cells: Any,
    parameter_set: str,
    version: str | None = None,
    *,
    n: str = "n",
    key: str = "key",
    weight: str | None = None,
    official: str | None = None,
) -> Conversation[pl.DataFrame]:
    """Protect counts; value and status, in the order of the cells."""
    names = {"n": n, "key": key, "weight": weight, "official": official}
    return (yield from _sent(calls.counts_call(cells, parameter_set, version, names)))


def protect_values(
    cells: Any,
    value: str,
    parameter_set: str,
    version: str | None = None,
    *,
    figure: str | None = None,
) -> Conversation[pl.DataFrame]:
    """Protect sums or means; value and status, in the order of the cells."""
    return (yield from _sent(calls.values_call(cells, value, parameter_set, version, figure)))


def protect_table(
    cells: Any,
    layout: Mapping[str, Any],
    parameter_set: str,
    version: str | None = None,
    *,
    kind: TableKind = "counts",
    name: str | None = None,
    classifications: Mapping[str, Any] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    language: str | None = None,
) -> Conversation[Table]:
    """Protect a table of cells: a frame, or the bytes of a format."""
    said = {"parameter_set": parameter_set, "version": version, "name": name}
    said |= {"language": language, "format": format}
    return (yield from _sent(calls.table_call(cells, layout, kind, classifications, said)))


def query(
    dataset: str,
    query: Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002
    progress: Progress | None = None,
    timeout: float | None = None,
) -> Conversation[Table]:
    """Ask for a table of a data set; of a large one the job is waited for."""
    call = calls.query_call(dataset, query, format, secrets.token_hex(16))
    return (yield from _opened(call, calls.table_of, format, progress, timeout))


def run(
    name: str,
    cells: Any,
    request: Mapping[str, Any] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    progress: Progress | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Conversation[Table]:
    """Carry out a method over the cells of a table, or records; a job is waited for."""
    if name not in OPERATIONS:
        hint = f"methods: {', '.join(OPERATIONS)}"
        raise ServiceError("there is no such method", code="invalid-input", where="name", hint=hint)
    operation, said = OPERATIONS[name], dict(request or {})
    section = operation.section
    if section:
        known = operation.settings.model_fields
        own = {key: options.pop(key) for key in list(options) if key in known}
        if own or section in said:
            stated = {**said.pop(section, {}), **own}
            try:
                operation.settings.model_validate(stated)
            except ValidationError as error:
                raise refused_call(setting_problems(error, [section], list(known))) from None
            said |= operation.placed(stated)
    call = calls.operation_call(
        operation, cells, {**said, **options}, format, secrets.token_hex(16)
    )
    return (yield from _opened(call, calls.OPENED[operation.answer], format, progress, timeout))


def round_table(
    cells: Any,
    request: Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002
    progress: Progress | None = None,
    timeout: float | None = None,
) -> Conversation[Table]:
    """Round a table of counts: `run("rounding", …)`."""
    return (
        yield from run(
            "rounding", cells, request, format=format, progress=progress, timeout=timeout
        )
    )


def anonymise_records(
    records: Any,
    request: Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002
    progress: Progress | None = None,
    timeout: float | None = None,
) -> Conversation[Table]:
    """Change records by steps: `run("anonymise", …)`."""
    return (
        yield from run(
            "anonymise", records, request, format=format, progress=progress, timeout=timeout
        )
    )


def _opened(
    call: ServiceCall[Table | ServiceJob],
    opened: Opened,
    form: str | None,
    progress: Progress | None,
    timeout: float | None,
) -> Conversation[Table]:
    """Make a call that is answered with a table, or with a job that makes one."""
    found = yield from _sent(call)
    if not isinstance(found, ServiceJob):
        return found
    done = yield from wait(found.id, progress=progress, timeout=timeout)
    return opened((yield from result(done.id)), form)


def check(dataset: str, query: Mapping[str, Any]) -> Conversation[dict[str, Any]]:
    """What a query comes to, and whether it would be answered."""
    return (yield from _sent(calls.check_call(dataset, query)))


def datasets() -> Conversation[list[dict[str, Any]]]:
    """The data sets there are."""
    return list((yield from _sent(calls.document_call("datasets")))["datasets"])


def dataset(dataset: str) -> Conversation[dict[str, Any]]:
    """One of them."""
    return (yield from _sent(calls.document_call("datasets", dataset)))


def parameter_sets() -> Conversation[list[dict[str, Any]]]:
    """The parameter sets there are, without what is in them."""
    return list((yield from _sent(calls.document_call("parameter-sets")))["parameter_sets"])


def job(number: str) -> Conversation[ServiceJob]:
    """How far a job is."""
    return (yield from _sent(calls.job_call(number)))


def cancel(number: str) -> Conversation[ServiceJob]:
    """End a job."""
    return (yield from _sent(calls.job_call(number, "DELETE")))


def result(number: str) -> Conversation[bytes]:
    """What a job made."""
    return (yield from _sent(calls.result_call(number)))


def wait(
    number: str, *, progress: Progress | None = None, timeout: float | None = None
) -> Conversation[ServiceJob]:
    """Wait until a job is done; an error if it ends in another way."""
    pause, until = _FIRST_PAUSE, None if timeout is None else time.monotonic() + timeout
    while True:
        found = yield from job(number)
        if progress is not None:
            progress(found)
        if found.ended:
            break
        if until is not None and time.monotonic() + pause > until:
            message = "the job has not ended yet"
            raise ServiceError(message, code="result-not-ready", hint="wait again by its number")
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
    if found.state != "done":
        code = "job-expired" if found.state == "expired" else "job-failed"
        hint = f"its number is {found.id}"
        raise ServiceError(f"the job is {found.state}", code=code, hint=hint)
    return found


def operation(
    name: str,
    *,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    body: Any = None,
    media: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Conversation[Any]:
    """Any operation of the interface, by the name that its description gives it.

    Answers of JSON are given as such, all others as bytes.
    """
    described = yield from _sent(_DESCRIPTION)
    method, place = _place_of(described, name)
    parts = {part: quote(value, safe="") for part, value in (path or {}).items()}
    try:
        place = place.format_map(parts)
    except KeyError as missing:
        message = f"the path needs {missing.args[0]!r}"
        raise ServiceError(message, code="invalid-input", where="path") from None
    content: bytes | None = None
    if body is not None:
        text = json.dumps(body, ensure_ascii=False) if media == "application/json" else body
        content = text.encode() if isinstance(text, str) else bytes(text)
    said = {**({"Content-Type": media} if content is not None else {}), **(headers or {})}
    call: ServiceCall[Any] = ServiceCall(
        method=method,
        path=place,
        params=dict(query or {}),
        headers=said,
        content=content,
        read=_read,
    )
    return (yield from _sent(call))


def _place_of(described: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Method and path of an operation."""
    found = {
        told["operationId"]: (method.upper(), path)
        for path, item in described["paths"].items()
        for method, told in item.items()
        if isinstance(told, dict) and "operationId" in told
    }
    if name not in found:
        hint = nearest(name[:60], list(found))
        message = "the interface has no such operation"
        raise ServiceError(message, code="invalid-input", where="name", hint=hint)
    return found[name]


def _read(answer: httpx.Response) -> Any:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if kind.endswith("json") and "ndjson" not in kind and answer.content:
        return answer.json()
    return answer.content
