"""Calls: one request to the service, what is in its answer, and what its errors say."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import polars as pl

from discreet.errors import Problem
from discreet.tables import CellStatus
from discreet_service.problems import PROBLEM_TYPES, TYPES_BASE, ServiceError

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
    """How far a job is."""

    id: str  # its number
    state: str  # queued, running, done, failed, cancelled or expired
    facts: Mapping[str, Any]  # all that the service says of it

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in ("done", "failed", "cancelled", "expired")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> ServiceJob:
        """The job of which the service tells."""
        number = str(facts.get("id", facts.get("job", "")))
        return cls(id=number, state=str(facts["state"]), facts=facts)


def path_of(*parts: str) -> str:
    """The path of an endpoint, whatever its parts are called.

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
    """The error of which an answer tells, with all that it says."""
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
