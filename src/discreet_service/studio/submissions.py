"""Submissions: each researcher hands in programs (CONFIDENTIAL), sees where their own stand, and
fetches what is released; nothing of findings, logs, or who decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Response, UploadFile
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from discreet_fire.queue import State
from discreet_service.jobs import Job
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.reviews import LOGS, OwnSubmission, packed
from discreet_service.settings import ReviewSettings
from discreet_service.web import (
    NavigationEntry,
    Visit,
    back_to,
    file_response,
    form_visit_with,
    page,
    sent,
    visit_with,
    words,
)

router = APIRouter(prefix="/submissions", tags=["studio"], include_in_schema=False)


def _asked(visit: Visit) -> int:
    """How many of one's own submissions wait for an answer, or to be revised."""
    if visit.service.settings.reviews is None:
        return 0
    return sum(bool(one.question) or one.state in (State.change, State.subject)
               for one in visit.service.reviews.own(visit.principal))  # fmt: skip


NAVIGATION = NavigationEntry(path="/submissions", place=90, count=_asked,
                             permissions=(Permission.outputs_submit,))  # fmt: skip

_Researcher = Annotated[Visit, Depends(visit_with(Permission.outputs_submit))]
_OutputsSubmitForm = Annotated[Visit, Depends(form_visit_with(Permission.outputs_submit))]
_Text = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True)]
_SENT_BACK = (State.change, State.subject, State.rejected)
#: What failed jobs may tell their owners: words of the pages, by the code of what failed.
_FAILURES = {"duplicate": "duplicate", "submission": "not_taken"}


class SubmissionForm(BaseModel, hide_input_in_errors=True):
    """Content of the submission form (confidential)."""

    # A program, an archive, or the files of a folder
    files: Annotated[list[UploadFile], Field(repr=False)] = []
    folder: Annotated[list[UploadFile], Field(repr=False)] = []
    log: Annotated[UploadFile | None, Field(repr=False)] = None  # None without
    data: _Text = ""  # The data on which it is to be run
    main: _Text = ""  # Which do-file it is
    project: _Text = ""
    # One's own submission in whose place it is handed in; 0 if there is none
    replaces: Annotated[int, BeforeValidator(lambda text: text or 0), Field(ge=0, lt=2**31)] = 0

    def upload(self, settings: ReviewSettings) -> dict[str, Any]:
        """Upload: content, name, and the role of each file."""
        files = [(str(one.filename), one.file.read()) for one in (*self.files, *self.folder)]
        if not files:
            raise _wrong("program is missing", "file", "choose a do-file, or a folder with one")
        if sum(len(content) for _, content in files) > settings.upload_bytes:
            message = "larger than the limit"
            raise ServiceError(message, "too-large", limit=settings.upload_bytes)
        named = [name for name, _ in files if self.main in (name, name.rpartition("/")[2])]
        upload: dict[str, Any] = {"main": named[0] if len(named) == 1 else self.main}
        upload |= {"project": self.project, "data": self.data, "log": ""}
        upload["replaces"] = self.replaces or None
        (name, content), *others = files
        archive = not others and content.startswith(b"PK\x03\x04")
        if archive and self.log is not None:
            raise _wrong("a log can be inside or outside the archive, not both", "log",
                         "send the files of the folder unchanged")  # fmt: skip
        if archive or (not others and self.log is None):
            return {**upload, "content": content, "file": name}
        if self.log is not None:
            upload["log"] = str(self.log.filename)
            files = [one for one in files if one[0] != upload["log"]]
            files.append((upload["log"], self.log.file.read()))
        return {**upload, "content": packed(files), "file": "upload.zip"}


def _wrong(what: str, where: str, hint: str) -> ServiceError:
    return ServiceError(what, "invalid-input", where, hint)


@router.get("")
def show_submissions(
    visit: _Researcher, replaces: Annotated[int, Query(ge=1, lt=2**31)] | None = None
) -> Response:
    """One's own submissions, and a form for another one."""
    return _shown(visit, SubmissionForm(replaces=replaces or 0))


@router.post("")
async def hand_in_form(
    visit: _OutputsSubmitForm, form: Annotated[SubmissionForm, Depends(sent(SubmissionForm))]
) -> Response:
    """Hand in a program; what is wrong with it is said at once, without a trace of it."""
    try:
        await run_in_threadpool(
            lambda: visit.service.reviews.hand_in(
                visit.principal, **form.upload(visit.service.reviews.settings)
            )
        )
    except ServiceError as error:
        if error.kind.status >= 500 or error.code == "not-found":
            raise
        return await run_in_threadpool(_shown, visit, form, error)
    return back_to("/submissions#mine")


@router.get("/{submission}")
def show_submission(submission: int, visit: _Researcher) -> Response:
    """One of one's own submissions: where it stands, comments, and what was released."""
    return _own_page(visit, visit.service.reviews.own_one(visit.principal, submission))


@router.post("/{submission}/answer")
def answer_form(
    submission: int, visit: _OutputsSubmitForm, text: Annotated[str, Form(max_length=2_000)] = ""
) -> Response:
    """Answer what reviewers asked about one's own submission."""
    try:
        visit.service.reviews.answer(visit.principal, submission, text=text)
    except ServiceError as error:
        if error.kind.status >= 500 or error.code == "not-found":
            raise
        return _own_page(
            visit, visit.service.reviews.own_one(visit.principal, submission), error, text
        )
    return back_to(f"/submissions/{submission}#talk")


def _own_page(
    visit: Visit, own: OwnSubmission, error: ServiceError | None = None, written: str = ""
) -> Response:
    language = visit.language
    return page(
        visit,
        "submission",
        secret=True,
        title=f"{words('submission', language)['title']} {own.number}: {own.program}",
        own=own,
        error=error,
        written=written,
        states=words("review_states", language),
    )


@router.get("/{submission}/files/{file}")
def fetch_own_file(submission: int, file: str, visit: _Researcher) -> Response:
    """A file that was released of one's own submission."""
    return file_response(visit.service.reviews.fetch(visit.principal, submission, file), file)


def _shown(visit: Visit, form: SubmissionForm, error: ServiceError | None = None) -> Response:
    reviews, language = visit.service.settings.reviews, visit.language
    if reviews is None:
        return page(visit, "submissions", settings=None)
    spoken, own = words("submissions", language), visit.service.reviews.own(visit.principal)
    uploads = visit.service.reviews.under_way(visit.principal)
    return page(
        visit,
        "submissions",
        secret=True,
        settings=reviews,
        form=form,
        error=error,
        logs=",".join(LOGS),
        own=own,
        replaced=[one for one in own if one.state in _SENT_BACK],
        uploads=[(one, _said_of(one, spoken)) for one in uploads],
        running=any(not one.state.final for one in uploads),
        states=words("review_states", language),
        job_states=words("job_states", language),
    )


def _said_of(job: Job, spoken: Mapping[str, str]) -> str:
    """Why an upload failed, as far as its owner may know: never what a program wrote."""
    if not job.problem:
        return ""
    codes = [str(one.get("code")) for one in json.loads(job.problem).get("problems", ())]
    return spoken[next((_FAILURES[code] for code in codes if code in _FAILURES), "failed")]
