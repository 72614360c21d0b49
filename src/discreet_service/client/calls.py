"""Calls: what is sent to the service for each function of a client, and how answers are read.

In: frames and words. Out: requests without addresses and keys, and from answers frames, bytes or
`ServiceError`s with everything that the service said.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx
import polars as pl

from discreet.errors import Problem
from discreet.operations import Operation
from discreet.tables import CellStatus, to_polars
from discreet_service.problems import PROBLEM_TYPES, TYPES_BASE, ServiceError

ARROW = "application/vnd.apache.arrow.stream"
_API = "/api/v1"
_STATUS = pl.Enum([status.name for status in CellStatus])
#: What stands in an address; more goes into a body of JSON.
_LONGEST_ADDRESS = 6_000
#: States in which nothing more happens to a job.
ENDED = ("done", "failed", "cancelled", "expired")
#: Answers after which it is worth while to ask again.
AGAIN = (429, 503)
_LONGEST_WAIT = 60.0

Answer = TypeVar("Answer")
TableKind = Literal["counts", "figures", "parts"]
Table = pl.DataFrame | bytes
#: Makes a frame of what was sent; with a format, the bytes are what was asked for.
Opened = Callable[[bytes, str | None], Table]


@dataclass(frozen=True, kw_only=True, repr=False)
class ServiceCall(Generic[Answer]):
    """One request, and how its answer is read. CONFIDENTIAL where it carries cells."""

    method: str  # of HTTP
    path: str  # where to
    read: Callable[[httpx.Response], Answer]  # reads the answer
    params: Mapping[str, str] = field(default_factory=dict)  # what stands in the address
    headers: Mapping[str, str] = field(default_factory=dict)  # further headers, without the key
    content: bytes | None = None  # the body

    def __repr__(self) -> str:
        return f"<ServiceCall {self.method} {self.path}>"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceJob:
    """How far a job is."""

    id: str  # its number
    state: str  # queued, running, done, failed, cancelled or expired
    facts: Mapping[str, Any]  # all that the service says of it

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in ENDED

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> ServiceJob:
        """The job of which the service tells."""
        return cls(
            id=str(told.get("id", told.get("job", ""))), state=str(told["state"]), facts=told
        )


# Cells ------------------------------------------------------------------------------------------


def counts_call(
    cells: Any, parameter_set: str, version: str | None, names: Mapping[str, str | None]
) -> ServiceCall[pl.DataFrame]:
    """Counts without variables."""
    chosen = {known: own for known, own in names.items() if own is not None}
    frame = to_polars(cells).select(pl.col(own).alias(known) for known, own in chosen.items())
    return _list_call("counts", frame, {"parameter_set": parameter_set, "version": version})


def values_call(
    cells: Any, value: str, parameter_set: str, version: str | None, figure: str | None
) -> ServiceCall[pl.DataFrame]:
    """Sums or means without variables."""
    said = {"parameter_set": parameter_set, "version": version, "value": value, "figure": figure}
    return _list_call("values", to_polars(cells), said)


def _list_call(
    kind: str, frame: pl.DataFrame, said: Mapping[str, str | None]
) -> ServiceCall[pl.DataFrame]:
    return ServiceCall(
        method="POST",
        path=f"{_API}/protect/{kind}",
        params={"format": "arrow", **_stated(said)},
        headers={"Content-Type": ARROW},
        content=_arrow(frame),
        read=_frame,
    )


def table_call(
    cells: Any,
    layout: Mapping[str, Any],
    kind: TableKind,
    classifications: Mapping[str, Any] | None,
    said: Mapping[str, str | None],
) -> ServiceCall[Table]:
    """A table of cells with variables."""
    form = said.get("format")
    frame, more = to_polars(cells), {"layout": layout, "classifications": classifications or {}}
    texts = {name: json.dumps(each, ensure_ascii=False) for name, each in more.items() if each}
    params = _stated({**said, "format": form or "arrow"})
    headers, content = {"Content-Type": ARROW}, b""
    if len(quote("".join(texts.values()))) <= _LONGEST_ADDRESS:
        params, content = {**params, **texts}, _arrow(frame)
    else:
        columns = frame.to_dict(as_series=False)
        said_beside = {name: each for name, each in more.items() if each}
        headers["Content-Type"] = "application/json"
        content = json.dumps(
            {**said_beside, "cells": columns}, ensure_ascii=False, default=str
        ).encode()
    return ServiceCall(
        method="POST",
        path=f"{_API}/protect/{kind}",
        params=params,
        headers=headers,
        content=content,
        read=_frame if form is None else _bytes,
    )


# Queries and jobs -------------------------------------------------------------------------------


def query_call(
    dataset: str, query: Mapping[str, Any], form: str | None, idempotency_key: str
) -> ServiceCall[Table | ServiceJob]:
    """A table of a data set; a job if it is large."""
    return ServiceCall(
        method="POST",
        path=f"{_API}/datasets/{quote(dataset, safe='')}/query",
        headers={"Content-Type": "application/json", "Idempotency-Key": idempotency_key},
        content=json.dumps({**query, "format": form or "parquet"}, ensure_ascii=False).encode(),
        read=_table_or_job(form, table_of),
    )


def _table_or_job(
    form: str | None, opened: Opened
) -> Callable[[httpx.Response], Table | ServiceJob]:
    """Reads an answer that is a table, or the job that makes it."""

    def read(answer: httpx.Response) -> Table | ServiceJob:
        if answer.status_code == httpx.codes.ACCEPTED:
            return ServiceJob.of(_document(answer))
        return opened(answer.content, form)

    return read


def operation_call(
    operation: Operation,
    cells: Any,
    request: Mapping[str, Any],
    form: str | None,
    idempotency_key: str,
) -> ServiceCall[Table | ServiceJob]:
    """A method over the cells of a table, or records; a job if there are many."""
    return _rows_call(
        f"{operation.address}{operation.ends[0]}",
        "records" if operation.on_records else "cells",
        cells,
        request,
        None if operation.answer == "report" else form,
        idempotency_key,
        OPENED[operation.answer],
    )


def _rows_call(
    path: str,
    name: str,
    rows: Any,
    request: Mapping[str, Any],
    form: str | None,
    idempotency_key: str,
    opened: Opened,
) -> ServiceCall[Table | ServiceJob]:
    """Rows with what is asked of them: in the address if it is short, else beside them."""
    frame, asked = to_polars(rows), dict(request)
    if opened is not report_of:
        asked["format"] = form or "parquet"
    text = json.dumps(asked, ensure_ascii=False)
    headers = {"Content-Type": ARROW, "Idempotency-Key": idempotency_key}
    params, content = {"request": text}, b""
    if len(quote(text)) <= _LONGEST_ADDRESS:
        content = _arrow(frame)
    else:
        params, headers["Content-Type"] = {}, "application/json"
        columns = frame.to_dict(as_series=False)
        content = json.dumps({**asked, name: columns}, ensure_ascii=False, default=str).encode()
    return ServiceCall(
        method="POST",
        path=f"{_API}/{path}",
        params=params,
        headers=headers,
        content=content,
        read=_table_or_job(form, opened),
    )


def check_call(dataset: str, query: Mapping[str, Any]) -> ServiceCall[dict[str, Any]]:
    """What a query comes to."""
    return ServiceCall(
        method="POST",
        path=f"{_API}/datasets/{quote(dataset, safe='')}/query:check",
        headers={"Content-Type": "application/json"},
        content=json.dumps(query, ensure_ascii=False).encode(),
        read=_document,
    )


def document_call(*path: str, method: str = "GET") -> ServiceCall[dict[str, Any]]:
    """Anything that is told as JSON."""
    return ServiceCall(method=method, path=_joined(path), read=_document)


def job_call(number: str, method: str = "GET") -> ServiceCall[ServiceJob]:
    """How far a job is, or its end."""

    def read(answer: httpx.Response) -> ServiceJob:
        document = _document(answer) if answer.content else {"state": "cancelled"}
        return ServiceJob.of({"id": number, **document})

    return ServiceCall(method=method, path=_joined(("jobs", number)), read=read)


def result_call(number: str) -> ServiceCall[bytes]:
    """What a job made."""
    return ServiceCall(method="GET", path=_joined(("jobs", number, "result")), read=_bytes)


# Answers ----------------------------------------------------------------------------------------


def _joined(path: tuple[str, ...]) -> str:
    return "/".join((_API, *(quote(part, safe="") for part in path)))


def _stated(said: Mapping[str, str | None]) -> dict[str, str]:
    return {name: each for name, each in said.items() if each is not None}


def _arrow(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc_stream(file, compression="uncompressed")
    return file.getvalue()


def _frame(answer: httpx.Response) -> pl.DataFrame:
    return _as_read(pl.read_ipc_stream(io.BytesIO(answer.content)))


def _as_read(frame: pl.DataFrame) -> pl.DataFrame:
    """Codes as texts, the status as one of those that there are."""
    kinds = {
        name: _STATUS if name == "status" else pl.String
        for name, dtype in frame.schema.items()
        if dtype == pl.Categorical or isinstance(dtype, pl.Enum) or name == "status"
    }
    return frame.with_columns(pl.col(name).cast(pl.String).cast(to) for name, to in kinds.items())


def table_of(content: bytes, form: str | None) -> Table:
    """A frame, or the bytes of a format that was asked for."""
    return content if form is not None else _as_read(pl.read_parquet(io.BytesIO(content)))


def records_of(content: bytes, form: str | None) -> Table:
    """A frame of records, or the bytes of a format that was asked for."""
    return content if form is not None else pl.read_parquet(io.BytesIO(content))


def report_of(content: bytes, form: str | None) -> Table:
    """A report, which is JSON whatever is asked for."""
    return content


#: How what a method makes is read.
OPENED: Mapping[str, Opened] = {"table": table_of, "records": records_of, "report": report_of}


def _bytes(answer: httpx.Response) -> bytes:
    return answer.content


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        document = answer.json()
    except ValueError:
        raise _unknown_answer(answer.status_code) from None
    if not isinstance(document, dict):
        raise _unknown_answer(answer.status_code)
    return document


def error_of(answer: httpx.Response) -> ServiceError:
    """The error of which an answer tells, with all that it says."""
    try:
        told = answer.json()
        code = str(told["type"]).removeprefix(TYPES_BASE)
        problems = [
            Problem(str(item["message"]), str(item["where"]), str(item["hint"]))
            for item in told["problems"]
        ]
        first = problems[0] if problems else Problem("")
        error = ServiceError(
            str(told["detail"]),
            code=code if code in PROBLEM_TYPES else "internal",
            where=first.where if len(problems) == 1 else "",
            hint=first.hint if len(problems) == 1 else "",
            problems=problems,
            rule=str(told.get("rule", "")),
            limit=told.get("limit"),
            actual=told.get("actual"),
            retry_after=told.get("retry_after"),
        )
        error.add_note(f"request {told['instance']}")
    except (ValueError, KeyError, TypeError):
        return _unknown_answer(answer.status_code)
    return error


def _unknown_answer(status: int) -> ServiceError:
    code = "overloaded" if status in (502, 503, 504) else "internal"
    hint = "look whether the address is that of a service, and ask its staff"
    return ServiceError(f"the service answered with status {status}", code=code, hint=hint)


def pause_before_retry(answer: httpx.Response, attempt: int) -> float:
    """Seconds to wait before a request is sent again: as long as the service says."""
    header = answer.headers.get("retry-after", "")
    wait = float(header) if header.isdigit() else 0.5 * 2.0**attempt
    # Callers who were refused together do not come back together.
    return min(wait, _LONGEST_WAIT) + random.random() * 0.2  # noqa: S311 - no secret
