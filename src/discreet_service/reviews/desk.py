"""The desk: for reviewers all of a submission (CONFIDENTIAL), never of their own; for researchers
where theirs stand and what was released. Each act is in the trail and the queue's record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.errors import OutputCheckError
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue import (
    ANSWERED,
    ASKED,
    MANIFEST,
    SUMS,
    OutputDecision,
    Queue,
    QueueRow,
    QueueView,
    Standing,
    State,
    Submission,
    SubmittedFile,
    answer,
    approve,
    approve_subject,
    ask,
    ask_for_change,
    check_contents,
    confidential_figures,
    decide,
    events,
    folder_problem,
    links_if_held,
    links_of,
    listed,
    open_queue,
    reject,
    release,
    say,
    submit,
    submitted_files,
    target_of,
    view,
)
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.jobs import Job, JobContext, JobInputs, JobOutput, JobQueue
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError
from discreet_service.reviews.uploads import unpacked
from discreet_service.settings import ReviewSettings


def run_submission(context: JobContext) -> JobOutput:
    """Run a program and put it into the queue: the function of jobs of the kind "submission"."""
    settings: ReviewSettings | None = context.service.settings.reviews
    if settings is None:
        raise ServiceError("no review queue here", "not-found")
    asked, folder = context.job.asked(), context.folder
    content = context.service.job_inputs.get(asked["input"])
    bounds = {"most_bytes": settings.upload_bytes, "most_files": settings.upload_files}
    program = unpacked(content, asked["file"], asked["main"], asked.get("log", ""), **bounds)
    context.report(5, "running")
    handed = Submission(
        program=program.write(folder / "program"),
        main=None if program.alone or program.session is not None else program.main,
        researcher=context.job.owner,
        project=asked["project"],
        data=(settings.folder / settings.data[asked["data"]],) if asked["data"] else (),
        log=program.write_log(folder / "log"),
        unit=settings.units.get(asked["data"]),
        seconds=float(settings.seconds),
        replaces=asked.get("replaces"),
    )
    with open_queue(settings.queue) as queue:
        try:
            number = submit(queue, handed)
        except OutputCheckError as error:
            # An earlier attempt of this job had put it into the queue.
            text = error.where.removeprefix("submission ")
            known = error.code == "duplicate" and context.job.attempt > 1 and text.isdecimal()
            if not known:
                raise
            number = int(text)
    content = json.dumps({"submission": number}).encode()
    return JobOutput(file_name="submission.json", media_type="application/json", content=content)


KIND = "submission"
#: Codes of the queue, and what callers are told.
_CODES = {
    "changed": "changed-meanwhile",
    "unknown-person": "not-allowed",
    "own-submission": "not-allowed",
    "submission": "not-found",
    "reason": "invalid-input",
    "decision": "invalid-input",
    "queue-settings": "invalid-input",
    "queue-busy": "overloaded",
    "disk-full": "disk-full",
    **dict.fromkeys(("not-approved", "undecided", "linked", "conflict", "closed"), "conflict"),
    **dict.fromkeys(("no-output", "duplicate", "asked", "replaces"), "conflict"),
}
_TALK = {"ask": ask, "say": say}
_ENDS = {"reject": reject, "change": ask_for_change, "subject": approve_subject}
_OVER = frozenset((State.released, State.rejected, State.change, State.subject))


@dataclass(frozen=True, kw_only=True)
class OwnSubmission:
    """A submission as its researcher may see it."""

    number: int
    program: str  # The do-file
    project: str
    state: State  # Where it stands
    at: str  # When it was handed in
    # What reviewers say, once it is over: about what, the verdict, and why
    comments: tuple[tuple[str, str, str], ...]
    question: str  # What the researcher was asked and has not answered; empty if nothing
    talk: tuple[tuple[str, str], ...]  # What was asked and answered: the kind, and the text
    files: Mapping[str, int]  # What was released: name → bytes

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("output", "verdict", "comment")
        comments = [dict(zip(names, one, strict=True)) for one in self.comments]
        talk = [{"kind": kind, "text": text} for kind, text in self.talk]
        told = {"state": self.state.value, "comments": comments, "talk": talk}
        return {**vars(self), **told, "files": dict(self.files)}


@dataclass(frozen=True, kw_only=True, repr=False)
class SubmissionReport:
    """All of a submission, for a reviewer (confidential)."""

    view: QueueView  # Findings, conflicts, decisions and history
    outputs: Mapping[int, str]  # The text of each single output, by its number
    program: str  # The program as it was handed in
    rewritten: str  # As it ran
    log: str  # The log as it was written
    cleaned: str  # As it would be released
    links: tuple[str, ...]  # What gives away outputs that are held back, as sentences
    # The same for each output, if it alone were held back; empty if there are too many
    if_held: Mapping[int, Sequence[str]]
    files: tuple[SubmittedFile, ...]  # The files that its entry in the record seals
    # Which rules each output breaks, in figures; empty if the program did not run here
    figures: Sequence[Mapping[str, Any]]
    ran_here: bool  # Whether its program ran here; otherwise its log was handed in
    damage: tuple[str, ...]  # What is not as it was handed in; nothing of it is decided then
    decides: bool  # Whether the queue names the reviewer among those who decide


class ReviewDesk:
    """The desk of the review queue."""

    def __init__(
        self,
        settings: ReviewSettings | None,
        *,
        database: ServiceDatabase,
        trail: AuditTrail,
        jobs: JobQueue,
        inputs: JobInputs,
    ) -> None:
        self._settings, self._database, self._trail = settings, database, trail
        self._jobs, self._inputs = jobs, inputs

    @property
    def settings(self) -> ReviewSettings:
        """Settings of the office for it; an error without any."""
        if self._settings is None:
            raise ServiceError("no review queue here", "not-found")
        return self._settings

    @contextmanager
    def _queue(self) -> Iterator[Queue]:
        try:
            with open_queue(self.settings.queue) as queue:
                yield queue
        except OutputCheckError as error:
            raise _translated(error) from None

    # Researchers ------------------------------------------------------------------------------

    def hand_in(
        self,
        principal: Principal,
        content: bytes,
        *,
        file: str,
        main: str,
        project: str,
        data: str,
        log: str = "",
        replaces: int | None = None,
    ) -> Job:
        """Seal an upload, and let a worker run it."""
        settings = self.settings
        if data and data not in settings.data:
            message, hint = "data not found", f"data: {', '.join(settings.data)}"
            raise ServiceError(message, "invalid-input", "data", hint)
        if replaces is not None:
            self.own_one(principal, replaces)
        try:
            project = plain_text(project, "project")
        except OutputCheckError as error:
            raise _translated(error) from None
        bounds = {"most_bytes": settings.upload_bytes, "most_files": settings.upload_files}
        program = unpacked(content, file, main, log, **bounds)
        main = "" if program.session is not None else program.main
        if program.session is None and bool(data) == bool(log):
            message = "give either the data of the run, or the log of a run elsewhere"
            raise ServiceError(message, "invalid-input", "data")
        name = self._inputs.put(content, owner=f"{KIND} {principal.name}")
        asked = {"input": name, "file": file, "main": main, "project": project, "data": data,
                 "log": log, "replaces": replaces}  # fmt: skip
        try:
            job = self._jobs.submit(kind=KIND, owner=principal.name, request=asked)
            facts = {"digest": hashlib.sha256(content).hexdigest(), "data": data}
            kind, person = AuditKind.outputs_submitted, principal.name
            with self._database.writing() as connection:
                self._trail.append(connection, kind, person, job.id, facts)
        except ServiceError:
            self._inputs.drop(name)
            raise
        return job

    def under_way(self, principal: Principal) -> list[Job]:
        """One's own uploads that are not in the queue: still running, or failed."""
        jobs = self._jobs.jobs(principal.name).jobs
        return [one for one in jobs if one.kind == KIND and one.result_file is None]

    def own(self, principal: Principal) -> list[OwnSubmission]:
        """One's own submissions, the newest first."""
        with self._queue() as queue:
            rows = listed(queue, every=True, researcher=plain_name(principal.name))
            found = [_own(queue, row) for row in rows]
        return sorted(found, key=lambda one: -one.number)

    def own_one(self, principal: Principal, number: int) -> OwnSubmission:
        """One of one's own submissions; of others nobody is told that there are any."""
        submission = next((one for one in self.own(principal) if one.number == number), None)
        if submission is None:
            raise ServiceError("submission not found", "not-found", "submission")
        return submission

    def answer(self, principal: Principal, number: int, *, text: str) -> None:
        """Answer what reviewers asked about one's own submission."""
        self.own_one(principal, number)
        with self._database.writing() as connection, self._queue() as queue:
            answer(queue, number, researcher=principal.name, text=text)
            facts = {"digest": hashlib.sha256(text.encode()).hexdigest()}
            kind, about = AuditKind.outputs_submitted, f"submission {number}"
            self._trail.append(connection, kind, principal.name, about, facts)

    def fetch(self, principal: Principal, number: int, file: str) -> bytes:
        """A released file of one's own submission, as the record says it is."""
        if file not in self.own_one(principal, number).files:
            raise ServiceError("file not found", "not-found", "file")
        with self._queue() as queue:
            found = view(queue, number).row.standing
            target = target_of(queue, found)
            content = (target / file).read_bytes()
            # Looked at after it was read: what is sent is what was looked at.
            digest = hashlib.sha256(content).hexdigest()
            if folder_problem(target, found.intent, found.record) or (
                file not in (MANIFEST, SUMS) and digest != found.intent["outputs"][file]
            ):
                raise ServiceError("released files are missing or changed", "data-not-ready")
        kind, about = AuditKind.outputs_fetched, f"submission {number}"
        with self._database.writing() as connection:
            facts = {"file": file, "digest": digest}
            self._trail.append(connection, kind, principal.name, about, facts)
        return content

    # Reviewers --------------------------------------------------------------------------------

    def rows(self, principal: Principal, *, every: bool = False) -> list[QueueRow]:
        """Submissions of others, the riskiest first: nothing is told of findings in own ones."""
        with self._queue() as queue:
            rows = listed(queue, every=every)
        return [row for row in rows if not same_person(row.researcher, principal.name)]

    def report(self, principal: Principal, number: int) -> SubmissionReport:
        """All of a submission of somebody else. CONFIDENTIAL."""
        with self._queue() as queue:
            found = _of_others(queue, principal, number)
            store = queue.store(queue.told(number, "token"))
            home = store / "program"
            name = queue.told(number, "program")
            handed = next((one for one in sorted(home.rglob(name))), None)
            ran = next(iter(sorted(home.rglob(f"{name.removesuffix('.do')}_FiRe.do"))), None)
            logs = sorted(one for one in (store / "log").glob("*") if one.suffix != ".json")
            damage: tuple[str, ...] = ()  # what is not as it was handed in
            try:
                check_contents(queue, number)
            except OutputCheckError as error:
                if error.code != "queue-damaged":
                    raise
                damage = (error.what,)
            standing = found.row.standing
            return SubmissionReport(
                view=found,
                # What is not as it was handed in is not told from.
                outputs={} if damage else {
                    one.number: one.text(store / "outputs") for one in standing.parts
                },
                program=_text(handed),
                rewritten=_text(ran),
                log=_text(logs[0] if logs else None),
                cleaned="" if damage else "\n".join(_text(path) for path in found.outputs),
                links=() if damage else tuple(links_of(queue, number, standing)),
                if_held={} if damage else links_if_held(queue, number, standing),
                files=submitted_files(queue, number),
                figures=() if damage else confidential_figures(queue, number),
                ran_here=any((store / "log").glob("*.run.json")),
                damage=damage,
                decides=principal.name in queue.settings.persons,
            )  # fmt: skip

    def file(self, principal: Principal, number: int, place: int) -> tuple[str, bytes]:
        """A file of a submission of somebody else, as it was sealed. CONFIDENTIAL."""
        with self._queue() as queue:
            _of_others(queue, principal, number)
            files = submitted_files(queue, number)
            if not 0 <= place < len(files):
                raise ServiceError("file not found", "not-found", "file")
            one, store = files[place], queue.store(queue.told(number, "token"))
            folder = store / ("program" if one.role == "program" else "outputs")
            content = (folder / one.name).read_bytes() if (folder / one.name).is_file() else b""
            if hashlib.sha256(content).hexdigest() != one.sha256:
                message = "the file changed since its submission"
                raise ServiceError(message, "data-not-ready", "file")
            return one.name, content

    def decide(
        self,
        principal: Principal,
        number: int,
        decisions: Mapping[int, OutputDecision],
        *,
        reason: str,
        version: int,
    ) -> Standing:
        """Decide on single outputs."""
        words: dict[str, Any] = {"person": principal.name, "reason": reason, "version": version}
        done = partial(decide, number=number, decisions=decisions, **words)
        return self._act(principal, number, "decide", done)

    def act(
        self, principal: Principal, number: int, act: str, *, reason: str, version: int,
        despite_conflicts: bool = False,
    ) -> Standing:  # fmt: skip
        """Approve, reject, send back or release; ask its researcher, or note something."""
        words: dict[str, Any] = {"person": principal.name, "reason": reason, "version": version}

        def done(queue: Queue) -> Standing:
            if act in _TALK:
                return _TALK[act](queue, number, person=principal.name, text=reason)
            if act in _ENDS:
                return _ENDS[act](queue, number, **words)
            if act == "release":
                release(queue, number, **words)
                return view(queue, number).row.standing
            if act != "approve":
                raise ServiceError("unknown action", "invalid-input", "act")
            found = view(queue, number).row.standing
            # The version holds both together: what is decided now is what is approved.
            if found.version == version and found.parts and not found.decisions:
                raise ServiceError("no decisions on the outputs yet", "conflict", "outputs")
            return approve(queue, number, despite_conflicts=despite_conflicts, **words)

        return self._act(principal, number, act, done)

    def _act(
        self, principal: Principal, number: int, act: str, done: Callable[[Queue], Standing]
    ) -> Standing:
        """Do something, and write it down; what fails leaves nothing in the trail."""
        with self._database.writing() as connection, self._queue() as queue:
            found = done(queue)
            kind, facts = AuditKind.output_decided, {"decision": act, "digest": found.decided}
            if act == "release":
                kind, facts = AuditKind.outputs_released, {"digest": found.record}
            about = f"submission {number}"
            self._trail.append(connection, kind, principal.name, about, facts)
        return found


def _of_others(queue: Queue, principal: Principal, number: int) -> QueueView:
    """A submission in full, if it is not one's own."""
    found = view(queue, number)
    if same_person(found.row.researcher, principal.name):
        raise ServiceError("you cannot review your own submission", "not-allowed", "submission")
    return found


def _own(queue: Queue, row: QueueRow) -> OwnSubmission:
    found, history = row.standing, list(events(queue.connection, row.number))
    comments: list[tuple[str, str, str]] = []
    if found.state in _OVER:
        parts = [(one, found.decisions.get(one.number)) for one in found.parts]
        comments += [(one.title, own.verdict.value, own.comment) for one, own in parts if own]
        kinds = ("rejected", "change", "subject")
        comments += [("", one.kind, one.reason) for one in history if one.kind in kinds]
    files: dict[str, int] = {}
    if found.state is State.released:
        target = target_of(queue, found)
        names = (*found.intent["outputs"], MANIFEST, SUMS)
        there = [target / name for name in names if (target / name).is_file()]
        files = {path.name: path.stat().st_size for path in there}
    return OwnSubmission(
        number=row.number,
        program=row.program,
        project=row.project,
        state=found.state,
        at=history[0].at,
        comments=tuple(comments),
        question=found.question if found.state.open else "",
        talk=tuple((one.kind, one.reason) for one in history if one.kind in (ASKED, ANSWERED)),
        files=files,
    )


def _text(path: Any) -> str:
    return "" if path is None else path.read_bytes().decode("utf-8", "replace")


def _translated(error: OutputCheckError) -> ServiceError:
    """An error of the queue in the terms of the service, without places on the disk."""
    where = error.where if error.where.startswith("submission") else ""
    hint = "" if "discreet" in error.hint or "--" in error.hint else error.hint
    if error.code in _CODES:
        return ServiceError(error.what, _CODES[error.code], where, hint)
    message = "the review queue is not usable; contact its administrators"
    return ServiceError(message, "data-not-ready")
