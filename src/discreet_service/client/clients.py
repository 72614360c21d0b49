"""`Client` and `AsyncClient`: the same functions, waiting or awaited. SECRET: the key, sent to the
address of the service only.
"""

from __future__ import annotations

import asyncio
import functools
import io
import ipaddress
import json
import random
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar
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
#: Answers after which it is worth while to ask again, how often, and how long to wait at most.
AGAIN, _RETRIES, _LONGEST_WAIT = (429, 503), 5, 60.0
#: What stands in an address; more goes into a body of JSON.
_LONGEST_ADDRESS = 6_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0

Table = pl.DataFrame | bytes
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


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


Progress = Callable[[ServiceJob], None]
#: Makes a frame of what was sent.
Opened = Callable[[bytes], Table]
#: How what a method makes is read.
_OPENED: Mapping[str, Opened] = {
    "table": table_of,
    "records": lambda content: pl.read_parquet(io.BytesIO(content)),
    **{"package": bytes, "report": bytes},
}


def _address(url: str) -> str:
    """The address of a service; keys are not sent over lines on which others read along."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host or found.userinfo:
        message, hint = "not an address of a service", "such as https://protect.example.org"
        raise ServiceError(message, "invalid-input", "url", hint)
    try:
        local = ipaddress.ip_address(found.host).is_loopback
    except ValueError:
        local = found.host in ("localhost", "testserver")
    if found.scheme == "http" and not local:
        message, hint = "unencrypted: use https", "https://…"
        raise ServiceError(message, "invalid-input", "url", hint)
    return str(found).rstrip("/")


class ServiceFunctions:
    """Functions of both clients, as somebody awaits them."""

    _kind: type[Any] = httpx.AsyncClient  # who makes requests

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "en",
        timeout: float = 300.0,
        transport: Any = None,
    ) -> None:
        self._url = _address(url)
        head = {"Accept-Language": language, "Accept-Encoding": "identity"}
        if key is not None:
            head["Authorization"] = f"Bearer {key.strip()}"
        self._http = self._kind(
            base_url=self._url, headers=head, timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._url}>"

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer: httpx.Response = await self._http.send(request)
        return answer

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _sent(self, path: str, method: str = "GET", **parts: Any) -> httpx.Response:
        """The answer to a request, which is sent again when the service says so."""
        request = self._http.build_request(method, path, **parts)
        for attempt in range(_RETRIES + 1):
            try:
                answer = await self._answer(request)
            except httpx.TransportError as error:
                message = f"the service cannot be reached ({type(error).__name__})"
                hint = "check the address"
                raise ServiceError(message, "data-not-ready", "url", hint) from None
            if answer.status_code not in AGAIN or attempt == _RETRIES:
                break
            await self._pause(pause_before_retry(answer, attempt))
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise error_of(answer)
        return answer

    async def protect_counts(
        self,
        cells: Any,
        parameter_set: str,
        version: str | None = None,
        *,
        n: str = "n",
        key: str = "key",
        weight: str | None = None,
        official: str | None = None,
    ) -> pl.DataFrame:
        """Protect counts; value and status, in the order of the cells."""
        names = {"n": n, "key": key, "weight": weight, "official": official}
        chosen = (pl.col(own).alias(known) for known, own in names.items() if own is not None)
        options = {"parameter_set": parameter_set, "version": version}
        rows = to_polars(cells).select(chosen)
        return frame_of(await self._protected("counts", rows, options))

    async def protect_values(
        self,
        cells: Any,
        value: str,
        parameter_set: str,
        version: str | None = None,
        *,
        figure: str | None = None,
    ) -> pl.DataFrame:
        """Protect sums or means; value and status, in the order of the cells."""
        options = {"parameter_set": parameter_set, "version": version}
        options |= {"value": value, "figure": figure}
        return frame_of(await self._protected("values", to_polars(cells), options))

    async def protect_table(
        self,
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
    ) -> Table:
        """Protect a table of cells: a frame, or the bytes of a format."""
        options = {"parameter_set": parameter_set, "version": version, "name": name}
        options |= {"language": language, "format": format}
        more = {"layout": layout, "classifications": classifications or {}}
        content = await self._protected(kind, to_polars(cells), options, more)
        return frame_of(content) if format is None else content

    async def _protected(
        self,
        kind: str,
        frame: pl.DataFrame,
        options: Mapping[str, str | None],
        more: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> bytes:
        """Send cells with their options in the address."""
        beside = {name: each for name, each in (more or {}).items() if each}
        texts = {name: json.dumps(each, ensure_ascii=False) for name, each in beside.items()}
        stated = {name: each for name, each in options.items() if each is not None}
        params = {"format": "arrow"} | stated
        path = path_of("protect", kind)
        return (await self._handed_in(path, "cells", frame, beside, texts, params)).content

    async def _handed_in(
        self,
        path: str,
        rows: str,
        frame: pl.DataFrame,
        asked: Mapping[str, Any],
        texts: Mapping[str, str],
        params: Mapping[str, str],
    ) -> httpx.Response:
        """Send rows; what is asked stands in the address if it is short, else beside the rows."""
        head = {"Idempotency-Key": secrets.token_hex(16), "Content-Type": ARROW}
        if len(quote("".join(texts.values()))) <= _LONGEST_ADDRESS:
            file = io.BytesIO()
            frame.write_ipc_stream(file, compression="uncompressed")
            content, params = file.getvalue(), {**params, **texts}
        else:
            whole = {**asked, rows: frame.to_dict(as_series=False)}
            content = json.dumps(whole, ensure_ascii=False, default=str).encode()
            head["Content-Type"] = "application/json"
        return await self._sent(path, "POST", params=params, headers=head, content=content)

    async def query(
        self,
        dataset: str,
        query: Mapping[str, Any],
        *,
        format: str | None = None,  # noqa: A002
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Table:
        """Query a table of a data set; waits for the job if the table is large."""
        head = {"Idempotency-Key": secrets.token_hex(16)}
        asked = {**query, "format": format or "parquet"}
        path, opened = path_of("datasets", dataset, "query"), table_of if format is None else bytes
        answer = await self._sent(path, "POST", json=asked, headers=head)
        return await self._opened(answer, opened, progress, timeout)

    async def run(
        self,
        /,
        name: str,
        cells: Any,
        request: Mapping[str, Any] | None = None,
        *,
        format: str | None = None,  # noqa: A002
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Table:
        """Apply a method to cells or to records; waits for the job if there is one."""
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
        texts = {"request": json.dumps(asked, ensure_ascii=False)}
        answer = await self._handed_in(path, kind, to_polars(cells), asked, texts, {})
        return await self._opened(answer, opened, progress, timeout)

    async def _opened(
        self,
        answer: httpx.Response,
        opened: Opened,
        progress: Progress | None,
        timeout: float | None,
    ) -> Table:
        """The table in an answer, or that of the job that makes one."""
        if answer.status_code != httpx.codes.ACCEPTED:
            return opened(answer.content)
        handed = ServiceJob.of(document_of(answer))
        done = await self.wait(handed.id, progress=progress, timeout=timeout)
        return opened(await self.result(done.id))

    async def check(self, dataset: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """Size of a query, and whether policies allow it."""
        path = path_of("datasets", dataset, "query:check")
        return document_of(await self._sent(path, "POST", json=query))

    async def document(self, /, *path: str, **query: str) -> dict[str, Any]:
        """A document of the interface: `document("releases", "census", query="age")`."""
        return document_of(await self._sent(path_of(*path), params=query))

    async def datasets(self) -> list[dict[str, Any]]:
        """List the data sets."""
        return list((await self.document("datasets"))["datasets"])

    async def dataset(self, dataset: str) -> dict[str, Any]:
        """Describe a data set."""
        return await self.document("datasets", dataset)

    async def parameter_sets(self) -> list[dict[str, Any]]:
        """List the parameter sets, without their content."""
        return list((await self.document("parameter-sets"))["parameter_sets"])

    async def job(self, number: str) -> ServiceJob:
        """State and progress of a job."""
        return ServiceJob.of({"id": number, **(await self.document("jobs", number))})

    async def cancel(self, number: str) -> ServiceJob:
        """Cancel a job."""
        answer = await self._sent(path_of("jobs", number), "DELETE")
        return ServiceJob.of({"id": number, **document_of(answer)})

    async def result(self, number: str) -> bytes:
        """The result of a job."""
        return (await self._sent(path_of("jobs", number, "result"))).content

    async def wait(
        self, number: str, *, progress: Progress | None = None, timeout: float | None = None
    ) -> ServiceJob:
        """Wait until a job is done; any other end is an error."""
        pause, until = _FIRST_PAUSE, None if timeout is None else time.monotonic() + timeout
        while True:
            found = await self.job(number)
            if progress is not None:
                progress(found)
            if found.ended:
                break
            if until is not None and time.monotonic() + pause > until:
                message = "the job has not ended yet"
                raise ServiceError(message, "result-not-ready", hint="wait again with its number")
            await self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if found.state != "done":
            code = "job-expired" if found.state == "expired" else "job-failed"
            raise ServiceError(f"the job is {found.state}", code, hint=f"its number is {found.id}")
        return found

    async def operation(
        self,
        name: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        media: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Call any endpoint by its operation id in the OpenAPI description.

        Answers of JSON are given as such, all others as bytes.
        """
        described = await self.document("openapi.json")
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
            message = f"the path needs {missing.args[0]!r}"
            raise ServiceError(message, "invalid-input", "path") from None
        content: bytes | None = None
        if body is not None:
            text = json.dumps(body, ensure_ascii=False) if media == "application/json" else body
            content = text.encode() if isinstance(text, str) else bytes(text)
        said = {**({"Content-Type": media} if content is not None else {}), **(headers or {})}
        answer = await self._sent(
            place, method, params=dict(query or {}), headers=said, content=content
        )
        kind = answer.headers.get("content-type", "").partition(";")[0]
        as_json = kind.endswith("json") and "ndjson" not in kind and answer.content
        return answer.json() if as_json else answer.content


class AsyncClient(ServiceFunctions):
    """The client for asyncio.

    >>> AsyncClient("https://protect.example.org", key="dsc_secret")
    <AsyncClient https://protect.example.org>
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()


class _WaitingFunctions(ServiceFunctions):
    """The same functions, in which nothing is left to be awaited."""

    _kind = httpx.Client

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer: httpx.Response = self._http.send(request)
        return answer

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)


def _waiting(
    function: Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Any, Given], Answer]:
    """A function of the waiting client."""

    @functools.wraps(function)
    def method(self: Client, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        try:
            function(self._functions, *given, **named).send(None)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        raise AssertionError

    return method


class Client:
    """A service, from Python.

    >>> Client("http://127.0.0.1:8077", key="dsc_secret")
    <Client http://127.0.0.1:8077>
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "en",
        timeout: float = 300.0,
        transport: Any = None,
    ) -> None:
        self._functions = _WaitingFunctions(
            url, key, language=language, timeout=timeout, transport=transport
        )

    def __repr__(self) -> str:
        return f"<Client {self._functions._url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._functions._http.close()

    protect_counts = _waiting(ServiceFunctions.protect_counts)
    protect_values = _waiting(ServiceFunctions.protect_values)
    protect_table = _waiting(ServiceFunctions.protect_table)
    run = _waiting(ServiceFunctions.run)
    query = _waiting(ServiceFunctions.query)
    check = _waiting(ServiceFunctions.check)
    document = _waiting(ServiceFunctions.document)
    datasets = _waiting(ServiceFunctions.datasets)
    dataset = _waiting(ServiceFunctions.dataset)
    parameter_sets = _waiting(ServiceFunctions.parameter_sets)
    job = _waiting(ServiceFunctions.job)
    cancel = _waiting(ServiceFunctions.cancel)
    result = _waiting(ServiceFunctions.result)
    wait = _waiting(ServiceFunctions.wait)
    operation = _waiting(ServiceFunctions.operation)
