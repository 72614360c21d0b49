"""Conversations: what a client says for each of its functions, as steps: a call, or seconds to
wait. Whoever makes the steps hands each answer back; the end is what the function gives.
"""

from __future__ import annotations

import io
import json
import random
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx
import polars as pl
from pydantic import ValidationError

from discreet.errors import Problem, nearest
from discreet.operations import OPERATIONS
from discreet.settings import setting_problems
from discreet.tables import CellStatus, to_polars
from discreet_service.problems import PROBLEM_TYPES, TYPES_BASE, ServiceError, refuse

ARROW = "application/vnd.apache.arrow.stream"
_STATUS = pl.Enum([status.name for status in CellStatus])
#: Answers after which it is worth while to ask again.
AGAIN = (429, 503)
_LONGEST_WAIT = 60.0

Table = pl.DataFrame | bytes


@dataclass(frozen=True, kw_only=True, repr=False)
class ServiceCall:
    """One request. CONFIDENTIAL where it carries cells."""

    method: str = "GET"  # of HTTP
    path: str  # where to
    params: Mapping[str, str] = field(default_factory=dict)  # what stands in the address
    headers: Mapping[str, str] = field(default_factory=dict)  # further headers, without the key
    content: bytes | None = None  # the body

    def __repr__(self) -> str:
        return f"<ServiceCall {self.method} {self.path}>"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceJob:
    """State and progress of a job."""

    id: str  # its number
    state: str  # queued, running, done, failed, cancelled or expired
    facts: Mapping[str, Any]  # all that the service says of it

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self.state in ("done", "failed", "cancelled", "expired")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> ServiceJob:
        """Read a job from an answer of the service."""
        number = str(facts.get("id", facts.get("job", "")))
        return cls(id=number, state=str(facts["state"]), facts=facts)


def path_of(*parts: str) -> str:
    """The path of an endpoint with its parameters filled in.

    >>> path_of("jobs", "a/b")
    '/api/v1/jobs/a%2Fb'
    """
    return "/".join(("/api/v1", *(quote(part, safe="") for part in parts)))


def arrow_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as a body. CONFIDENTIAL as the frame is."""
    file = io.BytesIO()
    frame.write_ipc_stream(file, compression="uncompressed")
    return file.getvalue()


def frame_of(content: bytes) -> pl.DataFrame:
    """The frame of protected cells in Arrow."""
    return _as_read(pl.read_ipc_stream(io.BytesIO(content)))


def _as_read(frame: pl.DataFrame) -> pl.DataFrame:
    kinds = {
        name: _STATUS if name == "status" else pl.String
        for name, dtype in frame.schema.items()
        if dtype == pl.Categorical or isinstance(dtype, pl.Enum) or name == "status"
    }
    return frame.with_columns(pl.col(name).cast(pl.String).cast(to) for name, to in kinds.items())


def table_of(content: bytes) -> pl.DataFrame:
    """The frame of a protected table."""
    return _as_read(pl.read_parquet(io.BytesIO(content)))


def records_of(content: bytes) -> pl.DataFrame:
    """The frame of records."""
    return pl.read_parquet(io.BytesIO(content))


def document_of(answer: httpx.Response) -> dict[str, Any]:
    """The document of an answer in JSON."""
    try:
        document = answer.json()
    except ValueError:
        raise _unknown_answer(answer.status_code) from None
    if not isinstance(document, dict):
        raise _unknown_answer(answer.status_code)
    return document


def error_of(answer: httpx.Response) -> ServiceError:
    """The error in an answer, with all its problems."""
    try:
        document = answer.json()
        code = str(document["type"]).removeprefix(TYPES_BASE)
        problems = [
            Problem(str(item["message"]), str(item["where"]), str(item["hint"]))
            for item in document["problems"]
        ]
        only = problems[0] if len(problems) == 1 else Problem("")
        error = ServiceError(
            str(document["detail"]),
            code=code if code in PROBLEM_TYPES else "internal",
            where=only.where,
            hint=only.hint,
            problems=problems,
            rule=str(document.get("rule", "")),
            limit=document.get("limit"),
            actual=document.get("actual"),
            retry_after=document.get("retry_after"),
        )
        error.nearest = document.get("nearest") or ()
        error.add_note(f"request {document['instance']}")
    except (ValueError, KeyError, TypeError):
        return _unknown_answer(answer.status_code)
    return error


def _unknown_answer(status: int) -> ServiceError:
    code = "overloaded" if status in (502, 503, 504) else "internal"
    hint = "check the address of the service, and contact its staff"
    return ServiceError(f"the service answered with status {status}", code, hint=hint)


def pause_before_retry(answer: httpx.Response, attempt: int) -> float:
    """Seconds to wait before a request is sent again: as long as the service says."""
    header = answer.headers.get("retry-after", "")
    wait = float(header) if header.isdigit() else 0.5 * 2.0**attempt
    # Callers who were refused together do not come back together.
    return min(wait, _LONGEST_WAIT) + random.random() * 0.2  # noqa: S311 - no secret


Answer = TypeVar("Answer")
Conversation = Generator[ServiceCall | float, Any, Answer]
Progress = Callable[[ServiceJob], None]
#: Makes a frame of what was sent.
Opened = Callable[[bytes], Table]
#: How what a method makes is read.
_OPENED: Mapping[str, Opened] = {
    **{"table": table_of, "records": records_of, "package": bytes, "report": bytes},
}
_RETRIES = 5
#: What stands in an address; more goes into a body of JSON.
_LONGEST_ADDRESS = 6_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0


def _sent(call: ServiceCall) -> Conversation[httpx.Response]:
    for attempt in range(_RETRIES + 1):
        answer: httpx.Response = yield call
        if answer.status_code not in AGAIN or attempt == _RETRIES:
            break
        yield pause_before_retry(answer, attempt)
    if answer.status_code >= httpx.codes.BAD_REQUEST:
        raise error_of(answer)
    return answer


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
    chosen = (pl.col(own).alias(known) for known, own in names.items() if own is not None)
    options = {"parameter_set": parameter_set, "version": version}
    rows = to_polars(cells).select(chosen)
    return frame_of((yield from _protected("counts", rows, options)))


def protect_values(
    cells: Any,
    value: str,
    parameter_set: str,
    version: str | None = None,
    *,
    figure: str | None = None,
) -> Conversation[pl.DataFrame]:
    """Protect sums or means; value and status, in the order of the cells."""
    options = {"parameter_set": parameter_set, "version": version, "value": value, "figure": figure}
    return frame_of((yield from _protected("values", to_polars(cells), options)))


def protect_table(
    cells: Any,
    layout: Mapping[str, Any],
    parameter_set: str,
    version: str | None = None,
    *,
    kind: Literal["counts", "figures", "parts"] = "counts",
    name: str | None = None,
    classifications: Mapping[str, Any] | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    language: str | None = None,
) -> Conversation[Table]:
    """Protect a table of cells: a frame, or the bytes of a format."""
    options = {"parameter_set": parameter_set, "version": version, "name": name}
    options |= {"language": language, "format": format}
    more = {"layout": layout, "classifications": classifications or {}}
    content = yield from _protected(kind, to_polars(cells), options, more)
    return frame_of(content) if format is None else content


def _protected(
    kind: str,
    frame: pl.DataFrame,
    options: Mapping[str, str | None],
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> Conversation[bytes]:
    """Send cells with their options in the address, and more there if it is short, else beside."""
    beside = {name: each for name, each in (more or {}).items() if each}
    texts = {name: json.dumps(each, ensure_ascii=False) for name, each in beside.items()}
    stated = {name: each for name, each in options.items() if each is not None}
    fits = len(quote("".join(texts.values()))) <= _LONGEST_ADDRESS
    call = ServiceCall(
        method="POST",
        path=path_of("protect", kind),
        params={"format": "arrow"} | stated | (texts if fits else {}),
        headers={"Content-Type": ARROW if fits else "application/json"},
        content=arrow_bytes(frame) if fits else _with_rows(beside, "cells", frame),
    )
    return (yield from _sent(call)).content


def _with_rows(document: Mapping[str, Any], name: str, frame: pl.DataFrame) -> bytes:
    """A document with rows as columns. CONFIDENTIAL as the rows are."""
    whole = {**document, name: frame.to_dict(as_series=False)}
    return json.dumps(whole, ensure_ascii=False, default=str).encode()


def query(
    dataset: str,
    query: Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002
    progress: Progress | None = None,
    timeout: float | None = None,
) -> Conversation[Table]:
    """Query a table of a data set; waits for the job if the table is large."""
    asked = json.dumps({**query, "format": format or "parquet"}, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(16)}
    path, opened = path_of("datasets", dataset, "query"), table_of if format is None else bytes
    return (yield from _opened(path, {}, headers, asked, opened, progress, timeout))


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
    """Apply a method to the cells of a table or to records; waits for the job if there is one."""
    if name not in OPERATIONS:
        hint = f"methods: {', '.join(OPERATIONS)}"
        raise ServiceError("unknown method", "invalid-input", "name", hint)
    operation, asked = OPERATIONS[name], dict(request or {})
    section = operation.section
    if section:
        known = operation.settings.model_fields
        own = {key: options.pop(key) for key in list(options) if key in known}
        if own or section in asked:
            stated = {**asked.pop(section, {}), **own}
            try:
                operation.settings.model_validate(stated)
            except ValidationError as error:
                refuse(setting_problems(error, [section], list(known)))
            asked |= operation.placed(stated)
    asked |= options
    if operation.answer == "package":  # which is a ZIP file of records in a format
        asked.setdefault("format", format or "csv")
    elif operation.answer != "report":  # which is JSON whatever is asked for
        asked["format"] = format or "parquet"
    opened = _OPENED[operation.answer] if format is None else bytes
    path = f"/api/v1/{operation.address}{operation.ends[0]}"
    kind = "records" if operation.on_records else "cells"
    # What is asked stands in the address if it is short, else beside the rows.
    frame, text = to_polars(cells), json.dumps(asked, ensure_ascii=False)
    fits = len(quote(text)) <= _LONGEST_ADDRESS
    content = arrow_bytes(frame) if fits else _with_rows(asked, kind, frame)
    headers = {"Content-Type": ARROW if fits else "application/json"}
    headers["Idempotency-Key"] = secrets.token_hex(16)
    params = {"request": text} if fits else {}
    return (yield from _opened(path, params, headers, content, opened, progress, timeout))


def _opened(
    path: str,
    params: Mapping[str, str],
    headers: Mapping[str, str],
    content: bytes,
    opened: Opened,
    progress: Progress | None,
    timeout: float | None,
) -> Conversation[Table]:
    """Make a call that is answered with a table, or with a job that makes one."""
    call = ServiceCall(method="POST", path=path, params=params, headers=headers, content=content)
    answer = yield from _sent(call)
    if answer.status_code != httpx.codes.ACCEPTED:
        return opened(answer.content)
    handed = ServiceJob.of(document_of(answer))
    done = yield from wait(handed.id, progress=progress, timeout=timeout)
    return opened((yield from result(done.id)))


def check(dataset: str, query: Mapping[str, Any]) -> Conversation[dict[str, Any]]:
    """Size of a query, and whether policies allow it."""
    call = ServiceCall(
        method="POST",
        path=path_of("datasets", dataset, "query:check"),
        headers={"Content-Type": "application/json"},
        content=json.dumps(query, ensure_ascii=False).encode(),
    )
    return document_of((yield from _sent(call)))


def document(*path: str, **query: str) -> Conversation[dict[str, Any]]:
    """A document of the interface: `document("releases", "census", query="age")`."""
    return document_of((yield from _sent(ServiceCall(path=path_of(*path), params=query))))


def datasets() -> Conversation[list[dict[str, Any]]]:
    """List the data sets."""
    return list((yield from document("datasets"))["datasets"])


def dataset(dataset: str) -> Conversation[dict[str, Any]]:
    """Describe a data set."""
    return (yield from document("datasets", dataset))


def parameter_sets() -> Conversation[list[dict[str, Any]]]:
    """List the parameter sets, without their content."""
    return list((yield from document("parameter-sets"))["parameter_sets"])


def job(number: str) -> Conversation[ServiceJob]:
    """State and progress of a job."""
    return ServiceJob.of({"id": number, **(yield from document("jobs", number))})


def cancel(number: str) -> Conversation[ServiceJob]:
    """Cancel a job."""
    call = ServiceCall(method="DELETE", path=path_of("jobs", number))
    return ServiceJob.of({"id": number, **document_of((yield from _sent(call)))})


def result(number: str) -> Conversation[bytes]:
    """The result of a job."""
    return (yield from _sent(ServiceCall(path=path_of("jobs", number, "result")))).content


def wait(
    number: str, *, progress: Progress | None = None, timeout: float | None = None
) -> Conversation[ServiceJob]:
    """Wait until a job is done; any other end is an error."""
    pause, until = _FIRST_PAUSE, None if timeout is None else time.monotonic() + timeout
    while True:
        found = yield from job(number)
        if progress is not None:
            progress(found)
        if found.ended:
            break
        if until is not None and time.monotonic() + pause > until:
            message = "the job has not ended yet"
            raise ServiceError(message, "result-not-ready", hint="wait again with its number")
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
    if found.state != "done":
        code = "job-expired" if found.state == "expired" else "job-failed"
        raise ServiceError(f"the job is {found.state}", code, hint=f"its number is {found.id}")
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
    """Call any endpoint by its operation id in the OpenAPI description.

    Answers of JSON are given as such, all others as bytes.
    """
    described = yield from document("openapi.json")
    found = {
        operation["operationId"]: (method.upper(), path)
        for path, item in described["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and "operationId" in operation
    }
    if name not in found:
        hint = nearest(name[:60], list(found))
        raise ServiceError("unknown operation", "invalid-input", "name", hint)
    method, place = found[name]
    parts = {part: quote(value, safe="") for part, value in (path or {}).items()}
    try:
        place = place.format_map(parts)
    except KeyError as missing:
        raise ServiceError(f"the path needs {missing.args[0]!r}", "invalid-input", "path") from None
    content: bytes | None = None
    if body is not None:
        text = json.dumps(body, ensure_ascii=False) if media == "application/json" else body
        content = text.encode() if isinstance(text, str) else bytes(text)
    said = {**({"Content-Type": media} if content is not None else {}), **(headers or {})}
    call = ServiceCall(
        method=method, path=place, params=dict(query or {}), headers=said, content=content
    )
    answer = yield from _sent(call)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    as_json = kind.endswith("json") and "ndjson" not in kind and answer.content
    return answer.json() if as_json else answer.content
