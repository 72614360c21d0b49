"""Formats of answers: which one `format=…` or Accept asks for, and the bytes that the writers of
the library make.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.errors import DiscreetError, nearest
from discreet.publication import suffix_of, write
from discreet.tables import ProtectedTable
from discreet_service.jobs import JobContext, JobOutput
from discreet_service.problems import ServiceError
from discreet_service.queries.answers import Answers, PreparedQuery


def run_query(context: JobContext) -> JobOutput:
    """Make the table of a query, and write it in its format."""
    request = context.job.asked()
    answers: Answers = context.service.answers
    prepared = answers.again_of(request)
    form = ANSWER_FORMATS[request["format"]]
    context.report(5, "counting")
    table = answers.answer(prepared).table
    context.report(80, "writing")
    place = write_answer(table, form, request["language"], prepared.plan.geography, context.folder)
    return JobOutput(file_name=file_name_of(prepared, form), media_type=form.media, path=place)


def file_name_of(prepared: PreparedQuery, form: AnswerFormat) -> str:
    """A name for the file of an answer, of letters that every system takes."""
    query, digest = prepared.query, prepared.plan.asked.digest[:12]
    return f"{query.dataset}-{query.unit}-{digest}{form.suffix}"


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A format of answers."""

    name: str  # What callers call it
    writer: str  # What the library calls it
    media: str  # Its media type
    file: bool  # Whether it is a file to keep rather than a page to read

    @property
    def suffix(self) -> str:
        """File suffix."""
        return suffix_of(self.writer)


_ROWS = (
    AnswerFormat("json-stat2", "json-stat", "application/json", file=False),
    AnswerFormat("csv", "csv", "text/csv; charset=utf-8", file=True),
    AnswerFormat(
        "xlsx",
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        file=True,
    ),
    AnswerFormat("parquet", "parquet", "application/vnd.apache.parquet", file=True),
    AnswerFormat("px", "px", "text/x-pcaxis", file=True),
    AnswerFormat("sdmx-csv", "sdmx-csv", "application/vnd.sdmx.data+csv", file=True),
    AnswerFormat("html", "html", "text/html; charset=utf-8", file=False),
    AnswerFormat("json", "json", "application/json", file=False),
)
#: The formats of answers by name; the first is the usual one.
ANSWER_FORMATS: Mapping[str, AnswerFormat] = {row.name: row for row in _ROWS}
_OTHER_NAMES = {"json-stat": "json-stat2", "jsonstat": "json-stat2"}
_OTHER_MEDIA = {
    "application/vnd.json-stat+json": "json-stat2",
    "application/vnd.json-stat": "json-stat2",
    "application/json-stat": "json-stat2",
    "application/parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/x-pcaxis": "px",
}
_MEDIA = {**{row.media.partition(";")[0]: row.name for row in reversed(_ROWS)}, **_OTHER_MEDIA}
#: A file system that is no disk, and up to how many cells are written there.
_IN_MEMORY, _SMALL = Path("/dev/shm"), 50_000  # noqa: S108 - a folder of its own is made there
_QUALITY = re.compile(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*\Z")
_RANGES = {"*/*": "json-stat2", "application/*": "json-stat2", "text/*": "csv"}


def accepted(accept: str, names: Mapping[str, str]) -> str:
    """The name of the media type that a header Accept likes best; empty if it knows none.

    >>> accepted("text/html;q=0.4, text/csv", {"text/html": "page", "text/csv": "table"})
    'table'
    """
    best, chosen = 0.0, ""
    for part in accept.split(",")[:50]:
        media, *options = part.split(";")
        name = names.get(media.strip().lower(), "")
        matches = filter(None, map(_QUALITY.match, options))
        quality = next((min(float(match[1]), 1.0) for match in matches), 1.0)
        if name and quality > best:
            best, chosen = quality, name
    return chosen


def asked_format(named: str | None, accept: str) -> AnswerFormat:
    """The format that a caller wants: the one named, else the one that they like best.

    >>> asked_format(None, "text/html;q=0.4, text/csv").name, asked_format("px", "").name
    ('csv', 'px')
    """
    if named is not None:
        name = _OTHER_NAMES.get(named, named)
        if name not in ANSWER_FORMATS:
            message, hint = f"unknown format {named[:40]!r}", nearest(named, list(ANSWER_FORMATS))
            raise ServiceError(message, "unsupported-format", "format", hint)
        return ANSWER_FORMATS[name]
    name = accepted(accept, {**_MEDIA, **_RANGES})
    if name or not accept.strip():
        return ANSWER_FORMATS[name or "json-stat2"]
    hint = f"formats: {', '.join(ANSWER_FORMATS)}"
    message = "no accepted format is available"
    raise ServiceError(message, "unsupported-format", "accept", hint)


def write_answer(
    table: ProtectedTable,
    form: AnswerFormat,
    language: str,
    geography: frozenset[str],
    folder: Path,
    *,
    at_once: bool = False,
) -> Path:
    """Write a table as a file of a format, and give its path."""
    options: dict[str, Any] = {"language": language, "at_once": at_once}
    if form.writer == "json-stat":
        options["geo"] = [item.name for item in table.spanning if item.name in geography]
    place = folder / f"{table.name}{suffix_of(form.writer)}"
    try:
        return write(table, place, format=form.writer, **options)
    except DiscreetError as error:
        if error.code != "too-large":
            raise
        message, hint = f"{form.name} cannot store this many cells", "request csv or parquet"
        raise ServiceError(message, "too-many-cells", "format", hint) from None


def written_answer(
    table: ProtectedTable, form: AnswerFormat, language: str, geography: frozenset[str]
) -> bytes:
    """The bytes of a table in a format."""
    small = table.stored <= _SMALL and _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK)
    with TemporaryDirectory(prefix="discreet-answer-", dir=_IN_MEMORY if small else None) as folder:
        place = Path(folder)
        return write_answer(table, form, language, geography, place, at_once=True).read_bytes()
