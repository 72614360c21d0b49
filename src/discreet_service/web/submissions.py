"""Submissions: researchers hand in programs (CONFIDENTIAL) and fetch what was released of their
own; reviewers see all of one, and decide.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from discreet_fire.queue import OutputDecision, PartVerdict, Standing
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit, visit_with
from discreet_service.web.etags import file_response
from discreet_service.web.security import raw_body, read_small

router = APIRouter(prefix="/api/v1/submissions", tags=["submissions"])

Researcher = Annotated[Visit, Depends(visit_with(Permission.outputs_submit))]
Reviewer = Annotated[Visit, Depends(visit_with(Permission.outputs_review))]
_Name = Annotated[str, Query(max_length=200)]
_Text = Annotated[str, StringConstraints(max_length=2_000)]


class OutputVerdict(BaseModel, extra="forbid"):
    """Decision on one output."""

    output: Annotated[int, Field(ge=1, le=10_000)]
    verdict: Literal["accept", "hold", "exception"]
    comment: _Text = ""


class OutputVerdicts(BaseModel, extra="forbid"):
    """Decisions on some outputs of a submission, as it was seen."""

    version: Annotated[int, Field(ge=1)]
    reason: _Text
    outputs: Annotated[list[OutputVerdict], Field(min_length=1, max_length=1_000)]


class ReviewAct(BaseModel, extra="forbid"):
    """Action on a submission, as it was seen."""

    act: Literal["approve", "reject", "change", "subject", "release", "ask", "say"]
    version: Annotated[int, Field(ge=1)]
    reason: _Text
    despite_conflicts: bool = False


@router.post("", status_code=202, openapi_extra=raw_body())
async def hand_in_submission(
    visit: Researcher,
    file: _Name,
    data: _Name = "",
    main: _Name = "",
    project: _Name = "",
    log: _Name = "",
    replaces: Annotated[int | None, Query(ge=1)] = None,
) -> JSONResponse:
    """Hand in a do-file, or a zip archive with one: it is run, cleaned and put into the queue.

    With the name of a log in the archive in place of data, it ran elsewhere. With the number of
    one's own submission that was sent back, it is in its place.
    """
    most = visit.service.reviews.settings.upload_bytes
    content = await read_small(visit, most, "larger than the limit")
    hand_in = partial(visit.service.reviews.hand_in, visit.principal, content, file=file, data=data,
                      main=main, project=project, log=log, replaces=replaces)  # fmt: skip
    job = await run_in_threadpool(hand_in)
    return JSONResponse({"job": job.id, "state": job.state.value}, status_code=202)


@router.get("/mine")
def list_own_submissions(visit: Researcher) -> dict[str, Any]:
    """List one's own submissions: state, comments and released files."""
    found = visit.service.reviews.own(visit.principal)
    under_way = visit.service.reviews.under_way(visit.principal)
    return {
        "submissions": [one.to_dict() for one in found],
        "under_way": [{"job": one.id, "state": one.state.value} for one in under_way],
    }


@router.get("/mine/{submission}/files/{file}")
def fetch_released_file(visit: Researcher, submission: int, file: str) -> Response:
    """A released file of one's own submission."""
    return file_response(visit.service.reviews.fetch(visit.principal, submission, file), file)


@router.get("")
def list_submissions(visit: Reviewer, every: bool = False) -> dict[str, Any]:
    """List the submissions of all researchers, riskiest first."""
    rows = visit.service.reviews.rows(visit.principal, every=every)
    return {"submissions": [row.to_dict() for row in rows]}


@router.get("/{submission}")
def get_submission(visit: Reviewer, submission: int) -> JSONResponse:
    """A whole submission, for reviewers. CONFIDENTIAL."""
    report = visit.service.reviews.report(visit.principal, submission)
    names = ("program", "rewritten", "log", "cleaned", "links", "damage")
    told = {**report.view.to_dict(), **{name: getattr(report, name) for name in names}}
    told["outputs"] = [
        {**one, "text": report.outputs.get(one["output"], "")} for one in told.pop("parts")
    ]
    return JSONResponse(told, headers={"Cache-Control": "no-store"})


@router.post("/{submission}:decide")
def decide_on_outputs(
    visit: Reviewer, submission: int, asked: Annotated[OutputVerdicts, Body()]
) -> dict[str, Any]:
    """Decide on single outputs; earlier approvals become void."""
    chosen = {
        one.output: OutputDecision(verdict=PartVerdict(one.verdict), comment=one.comment)
        for one in asked.outputs
    }
    if len(chosen) < len(asked.outputs):
        raise ServiceError("an output is given twice", "invalid-input", "outputs")
    found = visit.service.reviews.decide(
        visit.principal, submission, chosen, reason=asked.reason, version=asked.version
    )
    return _told(found)


@router.post("/{submission}:act")
def act_on_submission(
    visit: Reviewer, submission: int, asked: Annotated[ReviewAct, Body()]
) -> dict[str, Any]:
    """Approve, reject, send back or release a submission; ask its researcher, or add a note."""
    words = asked.model_dump(include={"reason", "version", "despite_conflicts"})
    return _told(visit.service.reviews.act(visit.principal, submission, asked.act, **words))


def _told(found: Standing) -> dict[str, Any]:
    return {
        "state": found.state.value,
        "version": found.version,
        "approvals": sorted(found.approvals),
        "needed": found.needed,
        "undecided": [one.number for one in found.undecided],
    }
