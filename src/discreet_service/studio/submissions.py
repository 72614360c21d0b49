"""Submissions: researchers hand in programs, see where theirs stand, and fetch what is released.

In: programs, with logs of runs elsewhere (CONFIDENTIAL). Out: for each person their own ones alone:
states, comments once they are over, released files; nothing of findings, logs, or who decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from discreet_service.jobs.records import Job
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError, hint_in
from discreet_service.reviews import LOGS, packed
from discreet_service.service import Service
from discreet_service.settings import ReviewSettings
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.pages import FormPrincipal, back_to, page, words
from discreet_service.web.problem_pages import language_of
from discreet_service.web.submissions import released_response

router = APIRouter(prefix="/submissions", tags=["studio"], include_in_schema=False)

_Researcher = Annotated[Principal, Depends(principal_with(Permission.outputs_submit))]
_LONGEST = 200
#: What failed jobs may tell their owners: words of the pages, by the code of what failed.
_FAILURES = {"duplicate": "duplicate", "submission": "not_taken"}


@dataclass(frozen=True, kw_only=True, repr=False)
class SubmissionForm:
    """What a researcher filled in (confidential).

    Args:
        files: Names and contents that were sent: a program, an archive, or those of a folder.
        log: Name and content of a log; None without.
        data: The data on which it is to be run.
        main: Which do-file it is.
        project: What for.
    """

    files: tuple[tuple[str, bytes], ...] = ()
    log: tuple[str, bytes] | None = None
    data: str = ""
    main: str = ""
    project: str = ""

    def upload(self, settings: ReviewSettings) -> dict[str, Any]:
        """What is handed in: one content, its name, and which of its files are what.

        Args:
            settings: What the office says of uploads.
        """
        if not self.files:
            raise _wrong("there is no program", "file", "choose a do-file, or a folder with one")
        if sum(len(content) for _, content in self.files) > settings.upload_bytes:
            what = "this is larger than what is taken"
            raise ServiceError(what, code="too-large", limit=settings.upload_bytes)
        named = [name for name, _ in self.files if self.main in (name, name.rpartition("/")[2])]
        main = named[0] if len(named) == 1 else self.main
        told = {"main": main, "project": self.project, "data": self.data, "log": ""}
        (name, content), *others = self.files
        archive = not others and content.startswith(b"PK\x03\x04")
        if archive and self.log is not None:
            raise _wrong("a log stands in the archive or beside it, not both", "log",
                         "send the files of the folder as they are")  # fmt: skip
        if archive or (not others and self.log is None):
            return {**told, "content": content, "file": name}
        files = list(self.files)
        if self.log is not None:
            told["log"] = self.log[0]
            files = [one for one in files if one[0] != self.log[0]] + [self.log]
        return {**told, "content": packed(files), "file": "upload.zip"}


def _wrong(what: str, where: str, hint: str) -> ServiceError:
    return ServiceError(what, code="invalid-input", where=where, hint=hint)


async def _form_of(request: Request) -> SubmissionForm:
    """A dependency: the fields of the form, with its files."""
    form = await request.form()
    files = [await _sent(one) for name in ("files", "folder") for one in form.getlist(name)]
    log = await _sent(form.get("log"))
    return SubmissionForm(
        files=tuple(one for one in files if one is not None),
        log=log,
        data=_text(form, "data"),
        main=_text(form, "main"),
        project=_text(form, "project"),
    )


async def _sent(file: Any) -> tuple[str, bytes] | None:
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    return file.filename, await file.read()


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise _wrong(f"this has {_LONGEST} characters at most", name, "write less")
    return value.strip()


_Form = Annotated[SubmissionForm, Depends(_form_of)]


@router.get("")
def show_submissions(request: Request, service: ServiceDep, principal: _Researcher) -> Response:
    """One's own submissions, and a form for another one."""
    return _shown(request, service, principal, SubmissionForm())


@router.post("")
async def hand_in_form(
    request: Request, service: ServiceDep, principal: FormPrincipal, form: _Form
) -> Response:
    """Hand in a program; what is wrong with it is said at once, without a trace of it."""
    check_allowed(principal, Permission.outputs_submit)
    try:
        await run_in_threadpool(
            lambda: service.reviews.hand_in(principal, **form.upload(service.reviews.settings))
        )
    except ServiceError as error:
        if error.kind.status >= 500 or error.code == "not-found":
            raise
        return await run_in_threadpool(_shown, request, service, principal, form, error)
    return back_to("/submissions#mine")


@router.get("/{submission}")
def show_submission(
    submission: int, request: Request, service: ServiceDep, principal: _Researcher
) -> Response:
    """One of one's own submissions: where it stands, comments, and what was released."""
    own = service.reviews.own_one(principal, submission)
    language = language_of(request)
    title = f"{words('submission', language)['title']} {own.number}: {own.program}"
    return page(
        request,
        "submission",
        secret=True,
        title=title,
        own=own,
        states=words("review_states", language),
    )


@router.get("/{submission}/files/{file}")
def fetch_own_file(
    submission: int, file: str, service: ServiceDep, principal: _Researcher
) -> Response:
    """A file that was released of one's own submission."""
    return released_response(service.reviews.fetch(principal, submission, file), file)


def _shown(
    request: Request,
    service: Service,
    principal: Principal,
    form: SubmissionForm,
    error: ServiceError | None = None,
) -> Response:
    reviews, language = service.settings.reviews, language_of(request)
    if reviews is None:
        return page(request, "submissions", settings=None)
    problem: dict[str, str] = {}
    if error is not None:
        kind, hint = getattr(error.kind, language), hint_in(language, error.hint, error.code)
        problem = {"kind": kind, "what": error.what, "hint": hint}
    spoken = words("submissions", language)
    uploads = service.reviews.under_way(principal)
    return page(
        request,
        "submissions",
        status=200 if error is None else error.kind.status,
        secret=True,
        settings=reviews,
        form=form,
        problem=problem,
        logs=",".join(LOGS),
        own=service.reviews.own(principal),
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
    known = next((_FAILURES[code] for code in codes if code in _FAILURES), "failed")
    return spoken[known]
