"""Programmes: hand in, check, run, compare, publish. A draft is published in two steps: the first
says what readers will see changed, the second repeats the word that the first gave.
"""

from __future__ import annotations

import hmac
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, Field, StringConstraints

from discreet.errors import Problem
from discreet.files import write_text
from discreet_service.audit import AuditKind, utc
from discreet_service.datasets import DataVersion
from discreet_service.jobs import Job
from discreet_service.permissions import ALL, Permission
from discreet_service.problems import ServiceError
from discreet_service.releases import (
    LARGEST,
    ReleaseDraft,
    ServedRelease,
    StoredProgramme,
    checked,
    compared,
    opened_inputs,
    read_draft,
    shelf_of,
)
from discreet_service.service import Service
from discreet_service.web.access import Visit, check_allowed, visit_with
from discreet_service.web.etags import file_response
from discreet_service.web.security import raw_body, read_small

router = APIRouter(prefix="/api/v1/programmes", tags=["programmes"])

Producer = Annotated[Visit, Depends(visit_with(Permission.programmes_run))]
Publisher = Annotated[Visit, Depends(visit_with(Permission.releases_publish))]
_TYPES = ("application/toml", "text/plain", "text/x-toml", "application/octet-stream", "")
#: The file of the public report on quality.
QUALITY = "quality.json"
_TOML = raw_body("application/toml", "")


class PublicationRequest(BaseModel, extra="forbid"):
    """Body of a publication: draft, name, and the word of the first step."""

    draft: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    release: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    confirm: Annotated[str, Field(max_length=100, description="given by the first step")] = ""
    reason: Annotated[str, Field(max_length=10_000, description="for the second person")] = ""


def _entry(record: StoredProgramme) -> dict[str, Any]:
    told = {name: getattr(record, name) for name in ("id", "owner", "dataset")}
    told |= {"version": record.version or None, "uploaded": utc(record.uploaded_at)}
    return {**told, "digest": record.digest}


def programme_of(
    visit: Visit, number: str, permission: Permission = Permission.programmes_run
) -> StoredProgramme:
    """A programme over a data set that somebody may do this with; else there is none."""
    record = shelf_of(visit.service).get(number)
    if not visit.principal.may(permission, record.dataset):
        raise ServiceError("programme not found", "not-found", "programme")
    return record


@router.post("", status_code=201, openapi_extra=_TOML)
async def upload_programme(visit: Producer) -> JSONResponse:
    """Hand in a programme: TOML that names a data set and the tables wanted of it.

    Files, keys, parameters and rules are those of the data set: a programme that names any is
    refused, and every such place is told with its line.
    """
    text = await _text_of(visit)
    record = await run_in_threadpool(take_programme, visit, text)
    return JSONResponse(_entry(record), 201, {"Location": f"{router.prefix}/{record.id}"})


async def _text_of(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _TYPES:
        message, hint = "a programme must be TOML", "Content-Type: application/toml"
        raise ServiceError(message, "unsupported-media-type", "content-type", hint)
    return await read_small(request, LARGEST, "the programme is too long")


def take_programme(visit: Visit, text: bytes) -> StoredProgramme:
    """Keep a programme that somebody hands in, and write that down."""
    asked = checked(text)
    check_allowed(visit.principal, Permission.programmes_run, asked["dataset"])
    visit.service.datasets.record(asked["dataset"], asked.get("version") or None)
    shelf = shelf_of(visit.service)
    record = shelf.put(text, visit.principal.name)
    try:
        facts = {"digest": record.digest, "dataset": record.dataset}
        visit.note(AuditKind.programme_uploaded, record.id, facts)
    except BaseException:
        shelf.drop(record.id)
        raise
    return record


@router.get("")
def list_programmes(
    visit: Producer,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    size: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """List the programmes of the caller's data sets, latest first."""
    found = [
        item
        for item in shelf_of(visit.service).every()
        if visit.principal.may(Permission.programmes_run, item.dataset)
    ]
    return {
        "page": page,
        "size": size,
        "total": len(found),
        "programmes": [_entry(item) for item in found[(page - 1) * size : page * size]],
    }


@router.get("/{programme}")
def get_programme(visit: Producer, programme: str) -> dict[str, Any]:
    """One programme and its drafts."""
    record = programme_of(visit, programme)
    return {**_entry(record), "drafts": shelf_of(visit.service).drafts(record.id)}


@router.get("/{programme}/text")
def get_programme_text(visit: Producer, programme: str) -> PlainTextResponse:
    """The text of a programme, as it was submitted."""
    record = programme_of(visit, programme)
    return PlainTextResponse(shelf_of(visit.service).text(record.id), media_type="application/toml")


@router.post(":validate", openapi_extra=_TOML)
async def validate_text(visit: Producer) -> dict[str, Any]:
    """Whether a text would be a programme that can be run; nothing is kept."""
    text = await _text_of(visit)
    return await run_in_threadpool(check_text, visit, text)


def check_text(visit: Visit, text: bytes) -> dict[str, Any]:
    """Problems of the text of a programme; nothing is stored."""
    asked: dict[str, Any] = {}
    try:
        asked = checked(text)
        check_allowed(visit.principal, Permission.programmes_run, asked["dataset"])
        version = visit.service.datasets.version(asked["dataset"], asked.get("version") or None)
    except ServiceError as error:
        if error.code in ("too-large", "data-not-ready", "overloaded", "internal"):
            raise
        return _verdict(str(asked.get("dataset", "")), None, {}, error.problems)
    with tempfile.TemporaryDirectory(prefix="programme-") as folder:
        place = Path(folder) / "programme.toml"
        write_text(place, text.decode("utf-8-sig"), private=True)
        return _validated(visit, place, version)


@router.post("/{programme}:validate")
def validate_programme(visit: Producer, programme: str) -> dict[str, Any]:
    """Check a programme; reports all problems at once, with lines."""
    record = programme_of(visit, programme)
    version = visit.service.datasets.version(record.dataset, record.version or None)
    return _validated(visit, shelf_of(visit.service).file(record.id), version)


def _validated(visit: Visit, place: Path, version: DataVersion) -> dict[str, Any]:
    prices: dict[str, dict[str, Any]] = {}
    try:
        inputs = opened_inputs(place, version)
        for one, prepared in visit.service.answers.programme(inputs, version):
            judged = visit.service.answers.verdict(prepared, visit.principal)
            refusal, method = judged.error(visit.language), inputs.programme.method(one.table)
            table = {"table": one.table, "cells": 0, "allowed": True, "text": "", "exposure": 0.0,
                     "method": method.name, "margin": method.margin(inputs, one.table),
                     "rules": judged.told(visit.language)["rules"]}  # fmt: skip
            price = prices.setdefault(one.table, table)
            price["cells"] += prepared.plan.cells
            price["exposure"] = max(price["exposure"], round(prepared.plan.exposure, 6))
            if refusal is not None:
                price |= {"allowed": False, "text": refusal.what}
    except ServiceError as error:
        if error.code != "invalid-input":
            raise
        return _verdict(version.dataset, version.version, {}, error.problems)
    return _verdict(version.dataset, version.version, prices, ())


def _verdict(
    dataset: str, version: str | None, prices: Mapping[str, Any], problems: Sequence[Problem]
) -> dict[str, Any]:
    told = [{"where": one.where, "message": one.what, "hint": one.hint} for one in problems]
    return {"valid": not problems, "dataset": dataset, "version": version, "tables": [*prices],
            "prices": [*prices.values()], "problems": told}  # fmt: skip


@router.post("/{programme}:run", status_code=202)
def run_programme_job(
    visit: Producer,
    programme: str,
    key: Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)] = None,
) -> JSONResponse:
    """Create a draft of a release: a job of the kind "programme", with the number of the draft.

    The policies of the data set apply to its tables as to queries; then they count as released.
    """
    job = begin_run(visit, programme, key)
    return JSONResponse(job.described(), 202, {"Location": f"/api/v1/jobs/{job.id}"})


def begin_run(visit: Visit, programme: str, key: str | None = None) -> Job:
    """Hand in the job that makes a draft, if the policies admit all of its tables."""
    record = programme_of(visit, programme)
    version = visit.service.datasets.version(record.dataset, record.version or None)
    inputs = opened_inputs(shelf_of(visit.service).file(record.id), version)
    visit.service.answers.admit_programme(inputs, version, visit.principal, visit.language)
    return visit.submit("programme", {"programme": record.id, "digest": record.digest}, key)


@router.get("/{programme}/drafts/{draft}")
def compare_draft(
    visit: Producer, programme: str, draft: str, release: Annotated[str, Query(max_length=64)] = ""
) -> dict[str, Any]:
    """A draft, and the differences that readers would see to the release of that name."""
    record = programme_of(visit, programme)
    found = draft_of(visit.service, record.id, draft, release or "draft")
    before = visit.service.releases.releases().get(release) if release else None
    files = found.release.published
    return {
        **{name: each for name, each in found.summary.items() if name != "judged"},
        "files": sorted(files),
        "quality": json.loads(found.release.files.read(QUALITY)) if QUALITY in files else None,
        "release": release or None,
        "published": None if before is None else before.identity,
        "changes": _changes(visit.service, record, found, before),
    }


def _changes(
    service: Service, record: StoredProgramme, found: ReleaseDraft, before: ServedRelease | None
) -> list[dict[str, Any]]:
    if before is None:
        return compared(found.release, None)
    origin = service.publications.origin(before.id, before.identity)
    made_of = {**found.summary, "programme": record.digest}
    if origin.get("dataset") != record.dataset:
        origin = {}
    return compared(found.release, before, made_of=made_of, was_made_of=origin)


@router.get("/{programme}/drafts/{draft}/files/{file}")
def download_draft_file(visit: Producer, programme: str, draft: str, file: str) -> Response:
    """A file of a draft, as it would be published; it must not be cached."""
    record = programme_of(visit, programme)
    found = draft_of(visit.service, record.id, draft)
    if file not in found.release.published:
        raise ServiceError("file not found", "not-found", "file")
    return file_response(found.release.files.read(file), file)


def draft_of(service: Service, programme: str, draft: str, name: str = "draft") -> ReleaseDraft:
    """A draft of a programme, as a release of some name."""
    return read_draft(shelf_of(service).draft(programme, draft), service.releases.keys, name)


@router.post("/{programme}:publish")
def publish_programme(
    visit: Publisher, programme: str, asked: Annotated[PublicationRequest, Body()]
) -> dict[str, Any]:
    """Propose to publish a draft, in two steps; a second person publishes it.

    Without `confirm` the answer lists the changes and a word to confirm them. With that word and
    a reason, the proposal is made. The draft replaces the release when a second person approves.
    """
    record = programme_of(visit, programme, Permission.releases_publish)
    draft = draft_of(visit.service, record.id, asked.draft, asked.release)
    before = visit.service.releases.releases().get(asked.release)
    word = confirmation(visit, record.id, draft, asked.release)
    told: dict[str, Any] = {"release": asked.release, "seal": draft.release.identity}
    told |= {"replaces": None if before is None else before.identity, "published": False}
    if not asked.confirm:
        changes = _changes(visit.service, record, draft, before)
        warnings = draft.summary.get("warnings", [])
        return {**told, "confirm": word, "changes": changes, "warnings": warnings}
    if not hmac.compare_digest(asked.confirm.encode(), word.encode()):
        message = "preview or release changed since the last view"
        hint = "request again without confirm, and check the changes"
        raise ServiceError(message, "changed-meanwhile", "confirm", hint)
    visit.service.check_publishable(draft)
    about = draft.summary
    judged = about.get("judged") or ["a preview of an earlier version of the service"]
    if not visit.service.policies.released(about["dataset"], about["version"], judged):
        message, hint = "the policies do not allow the tables of this preview", "run it again"
        raise ServiceError(message, "refused-by-policy", "draft", hint)
    alike = before is None or _origin(visit.service, before) == record.dataset
    both, who = record.dataset if alike else "", visit.principal
    with visit.service.database.writing() as connection:
        made = visit.service.publications.propose(
            connection, draft, record, principal=who, reason=asked.reason, dataset=both
        )
    return {**told, "proposal": made.id, "digest": made.digest}


def confirmation(visit: Visit, programme: str, draft: ReleaseDraft, release: str) -> str:
    """The word that stands for a draft in the place of a release, for one person who may do so."""
    before = visit.service.releases.releases().get(release)
    if before is not None:
        check_changeable(visit, before)
    old = "" if before is None else before.identity
    parts = (programme, release, draft.release.identity, old, visit.principal.name)
    key = visit.service.key_for("publication of releases")
    return hmac.new(key, "\0".join(parts).encode(), "sha256").hexdigest()[:32]


def check_changeable(visit: Visit, release: ServedRelease) -> None:
    """Raise an error unless somebody may put something else in the place of a release.

    Who publishes one data set does not publish over another; where nobody knows of which a
    release is, it takes somebody who publishes all.
    """
    origin = _origin(visit.service, release) or ALL
    if not visit.principal.may(Permission.releases_publish, origin):
        message, hint = "the release belongs to other data", "choose another name"
        raise ServiceError(message, "not-allowed", "release", hint)


def _origin(service: Service, release: ServedRelease) -> str:
    """The data set that a release was made of; empty if nobody knows."""
    origin: str = service.publications.origin(release.id, release.identity).get("dataset", "")
    return origin
