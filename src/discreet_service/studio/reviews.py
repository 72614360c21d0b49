"""Reviews: the queue of a research data centre, and one submission from findings to release.
CONFIDENTIAL, for reviewers only, and never of their own submissions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from discreet_fire.finding_words import sentence_in
from discreet_fire.persons import same_person
from discreet_fire.queue import OutputDecision, PartVerdict, QueueRow, Standing, State
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.reviews import SubmissionReport
from discreet_service.studio.reviewed_outputs import SIZE, ReviewSheet, command_of
from discreet_service.web import (
    Cell,
    NavigationEntry,
    Visit,
    address,
    back_to,
    file_response,
    form_visit_with,
    list_page,
    page,
    path_to,
    visit_with,
    words,
)

router = APIRouter(prefix="/reviews", tags=["studio"], include_in_schema=False)

_Reviewer = Annotated[Visit, Depends(visit_with(Permission.outputs_review))]
_OutputsReviewForm = Annotated[Visit, Depends(form_visit_with(Permission.outputs_review))]
_Start = Annotated[int, Query(alias="from", ge=1, le=100_000)]
_FIELD = re.compile(r"(verdict|comment)-(\d{1,6})")
_VERDICTS = frozenset(one.value for one in PartVerdict)
_LONGEST_REASON = 2_000
#: Rows of a page of the queue, findings and sentences that are shown of one submission.
_ROWS, _FINDINGS, _SENTENCES = 50, 60, 20
#: States by which the queue is filtered: those that wait for somebody, one of them, or all.
_OPEN, _ALL = "open", "all"
_STATES = (_OPEN, *(one.value for one in State), _ALL)
#: Whose: all, those that wait for me, those in which I took part, and those in which I did not.
_WHOSE = ("all", "waiting", "mine", "others")


def waiting_submissions(visit: Visit) -> list[QueueRow]:
    """The submissions that wait for somebody's check, the riskiest first."""
    service, principal = visit.service, visit.principal
    if service.settings.reviews is None or not principal.may(Permission.outputs_review):
        return []
    return [row for row in service.reviews.rows(principal)
            if _is_whose(row, "waiting", principal.name)]  # fmt: skip


NAVIGATION = NavigationEntry(path="/reviews", place=100, permissions=(Permission.outputs_review,),
                             count=lambda visit: len(waiting_submissions(visit)))  # fmt: skip


@router.get("")
def show_reviews(
    visit: _Reviewer,
    state: Annotated[str, Query(max_length=20)] = _OPEN,
    whose: Annotated[str, Query(max_length=20)] = "all",
    number: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """The queue, the riskiest first."""
    if state not in _STATES or whose not in _WHOSE:
        raise ServiceError("unknown filter", "invalid-input", "state")
    if visit.service.settings.reviews is None:
        return page(visit, "no_queue", said_in="reviews")
    spoken, states = words("reviews", visit.language), words("review_states", visit.language)
    chosen = [
        row
        for row in visit.service.reviews.rows(visit.principal, every=state != _OPEN)
        if _in_state(row, state) and _is_whose(row, whose, visit.principal.name)
    ]
    first = (number - 1) * _ROWS
    rows = [
        (
            Cell(f"{row.number}: {row.program}", path_to("reviews", str(row.number))),
            *(row.researcher, row.project or "–"),
            [Cell(states[row.standing.state.value],
                  tag="good" * (row.standing.state is State.released)),
             *([Cell(spoken["drawn"], tag="")] if row.standing.drawn else ())],
            _found(row, spoken),
            [f"{len(row.standing.approvals)} {spoken['of']} {row.standing.needed}",
             *([Cell(f"({', '.join(sorted(row.standing.approvals))})", look="quiet")]
               if row.standing.approvals else ())],
        )
        for row in chosen[first : first + _ROWS]
    ]  # fmt: skip
    choices = {
        "state": {one: spoken.get(f"state_{one}") or states[one] for one in _STATES},
        "whose": {one: spoken[f"whose_{one}"] for one in _WHOSE},
    }
    columns = ("submission", "researcher", "project", "state", "found", "approvals")
    return list_page(visit, "reviews", columns, rows, fields={"state": state, "whose": whose},
                     choices=choices, term="approval", table="queue",
                     older=("number", len(chosen) > first + _ROWS and number + 1))  # fmt: skip


def _found(row: QueueRow, spoken: Mapping[str, str]) -> list[Cell | str]:
    some = [(at, count) for at, count in enumerate(row.risk) if count]
    counts: list[Cell | str] = [
        Cell(f"{count:,} {spoken[f'risk_{at}']}{',' * (at != some[-1][0])}",
             look="strong" if at < 3 else "")
        for at, count in some
    ]  # fmt: skip
    return counts or [spoken["clean"]]


def _in_state(row: QueueRow, state: str) -> bool:
    now = row.standing.state
    if state == _OPEN:
        return now.open or now is State.releasing
    return state in (_ALL, now.value)


def _is_whose(row: QueueRow, whose: str, name: str) -> bool:
    standing = row.standing
    decided = {one.person for one in standing.decisions.values()}
    took_part = any(same_person(one, name) for one in (*standing.approvals, *decided) if one)
    if whose == "waiting":
        approved = name in standing.approvals and standing.state is State.waiting
        return standing.state.open and not approved
    return whose == "all" or took_part == (whose == "mine")


@dataclass(frozen=True, kw_only=True)
class ReviewForm:
    """Content of the review form."""

    version: int = 0  # The version that they saw
    verdicts: Mapping[int, str] = field(default_factory=dict)  # Per output, what was chosen
    comments: Mapping[int, str] = field(default_factory=dict)  # Per output, what was written
    reason: str = ""  # Why, in general
    rest: bool = False  # Whether all others are accepted
    act: str = ""  # What is done with the submission
    despite: bool = False  # Whether differences to tables that are out already are accepted
    start: int = 1  # Where the page begins

    def decisions(self, report: SubmissionReport) -> dict[int, OutputDecision]:
        """New decisions that differ from the present ones."""
        standing = report.view.row.standing
        found: dict[int, OutputDecision] = {}
        for number, chosen in self.verdicts.items():
            if chosen not in _VERDICTS:
                raise ServiceError("unknown decision", "invalid-input", "outputs")
            decision = OutputDecision(
                verdict=PartVerdict(chosen), comment=self.comments.get(number, "").strip()
            )
            before = standing.decisions.get(number)
            if before is None or (before.verdict, before.comment) != (
                decision.verdict,
                decision.comment,
            ):
                found[number] = decision
        if self.rest:
            accepted = OutputDecision(verdict=PartVerdict.accept)
            for part in standing.parts:
                if part.number not in standing.decisions:
                    found.setdefault(part.number, accepted)
        if not found:
            hint = "decide on an output, or accept the others"
            message = "no new decisions"
            raise ServiceError(message, "invalid-input", "outputs", hint)
        return found


async def _form_of(request: Request) -> ReviewForm:
    """A dependency: the fields of a form that was sent; none is cut off."""
    form = await request.form()
    fields: dict[str, dict[int, str]] = {"verdict": {}, "comment": {}}
    for name, value in form.items():
        if (place := _FIELD.fullmatch(name)) and isinstance(value, str):
            if len(value) > _LONGEST_REASON:
                message = f"comments can have at most {_LONGEST_REASON:,} characters"
                raise ServiceError(message, "invalid-input", "comment")
            fields[place[1]][int(place[2])] = value
    told = {name: str(form.get(name, "")) for name in ("version", "reason", "act", "from")}
    if len(told["reason"]) > _LONGEST_REASON:
        message = f"reasons can have at most {_LONGEST_REASON:,} characters"
        raise ServiceError(message, "invalid-input", "reason")
    return ReviewForm(version=_whole(told["version"]), verdicts=fields["verdict"],
                      comments=fields["comment"], reason=told["reason"],
                      rest=form.get("rest") == "on", act=told["act"],
                      despite=form.get("despite") == "on",
                      start=max(_whole(told["from"]), 1))  # fmt: skip


_Form = Annotated[ReviewForm, Depends(_form_of)]


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


@router.get("/{submission}")
def show_review(submission: int, visit: _Reviewer, start: _Start = 1) -> Response:
    """A submission of somebody else, with all that was found in it. CONFIDENTIAL."""
    report = visit.service.reviews.report(visit.principal, submission)
    return _sheet(visit, report, ReviewForm(start=start))


@router.post("/{submission}/decide")
def decide_form(submission: int, visit: _OutputsReviewForm, form: _Form) -> Response:
    """Decide on single outputs."""
    report = visit.service.reviews.report(visit.principal, submission)
    try:
        _decided(visit, submission, form, report)
    except ServiceError as error:
        return _refused(visit, submission, form, error)
    return back_to(address(f"/reviews/{submission}", [("from", str(form.start))]))


def _decided(visit: Visit, submission: int, form: ReviewForm, report: SubmissionReport) -> Standing:
    """Decide on outputs; without a reason where nothing speaks against those that are accepted."""
    decisions, sheet = form.decisions(report), ReviewSheet(report)
    accepted = {number for number, one in decisions.items() if one.verdict is PartVerdict.accept}
    parts = [one for one in report.view.row.standing.parts if one.number in decisions]
    clean = accepted == decisions.keys() and all(map(sheet.is_clean, parts))
    return visit.service.reviews.decide(visit.principal, submission, decisions,
                                        reason=_reason(visit, form, clean=clean),
                                        version=form.version)  # fmt: skip


def _reason(visit: Visit, form: ReviewForm, *, clean: bool) -> str:
    """Why; that nothing was found is reason enough."""
    return form.reason.strip() or (words("review", visit.language)["reason_clean"] if clean else "")


@router.post("/{submission}/act")
def act_form(submission: int, visit: _OutputsReviewForm, form: _Form) -> Response:
    """Approve, reject, send back or release a submission; ask its researcher, or note something.

    Where nothing was found, all outputs are accepted and approved by one act, without a reason.
    """
    reviews, version, act = visit.service.reviews, form.version, form.act
    report = reviews.report(visit.principal, submission)
    clean = act in ("accept", "approve", "release") and ReviewSheet(report).nothing_found
    try:
        if act == "accept":
            if report.view.row.standing.undecided or not report.view.row.standing.decisions:
                version = _decided(visit, submission, replace(form, rest=True), report).version
            act = "approve"
        reviews.act(visit.principal, submission, act, version=version,
                    reason=_reason(visit, form, clean=clean),
                    despite_conflicts=form.despite)  # fmt: skip
    except ServiceError as error:
        return _refused(visit, submission, form, error)
    return back_to(f"/reviews/{submission}#state")


@router.get("/{submission}/files/{place}")
def fetch_submitted_file(submission: int, place: int, visit: _Reviewer) -> Response:
    """A file of a submission of somebody else, to be kept. CONFIDENTIAL."""
    name, content = visit.service.reviews.file(visit.principal, submission, place)
    return file_response(content, name.rpartition("/")[2])


@router.get("/{submission}/log")
def fetch_log(submission: int, visit: _Reviewer) -> Response:
    """The log of a submission of somebody else as it was written, to be kept. CONFIDENTIAL."""
    report = visit.service.reviews.report(visit.principal, submission)
    return file_response(report.log.encode(), f"submission-{submission}.log")


def _refused(visit: Visit, submission: int, form: ReviewForm, error: ServiceError) -> Response:
    """The page as it is now, with what speaks against it, and nothing that was written lost."""
    if error.kind.status >= 500 or error.code == "not-found":
        raise error
    return _sheet(visit, visit.service.reviews.report(visit.principal, submission), form, error)


def _sheet(
    visit: Visit, report: SubmissionReport, form: ReviewForm, error: ServiceError | None = None
) -> Response:
    sheet, language, row = ReviewSheet(report), visit.language, report.view.row
    standing = row.standing
    log, more_log = sheet.log_lines()
    last = form.start + SIZE
    return page(
        visit,
        "review",
        secret=True,
        title=f"{words('review', language)['title']} {row.number}: {row.program}",
        report=report,
        row=row,
        standing=standing,
        states=words("review_states", language),
        form=form,
        error=error,
        causes=sheet.causes(_FINDINGS),
        more_findings=max(len(report.view.findings) - _FINDINGS, 0),
        pairs=sheet.pairs(),
        now=sheet.differences()[0],
        commands={one.number: command_of(one) for one in standing.parts},
        nothing_found=sheet.nothing_found,
        most=_SENTENCES,
        said=lambda sentence: sentence_in(sentence, language),
        before=sheet.before() if form.start == 1 else (),
        outputs=[*sheet.outputs(form.start)],
        shown=range(form.start, last),
        earlier=max(form.start - SIZE, 1) if form.start > 1 else 0,
        later=last if last <= len(standing.parts) else 0,
        log=log,
        more_log=more_log,
        open=standing.state.open and report.decides,
        decidable=standing.state.open and report.decides and not report.damage,
        approved=visit.principal.name in standing.approvals,
        longest=_LONGEST_REASON,
    )
