"""The desk: for reviewers all of a submission (CONFIDENTIAL), never of their own; for researchers
where theirs stand and what was released. Each act is in the trail and the queue's record. Uploads
are one do-file or a zip archive from anywhere: their names are safe on every system, their contents
of bounded size, and nothing of them is run or opened here.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
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
from discreet_fire.research_session import MANIFEST as SESSION_MANIFEST
from discreet_fire.research_session import SUMS as SESSION_SUMS
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.jobs import Job, JobContext, JobInputs, JobOutput, JobQueue
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError
from discreet_service.settings import ReviewSettings

_LONGEST_NAME, _DEEPEST = 100, 6
_SUFFIX = ".do"
#: How names of logs end.
LOGS = (".log", ".smcl", ".txt")
#: Names that are devices on some systems.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_STRANGE = frozenset('<>:"|?*\\')
_PIECE = 2**16


@dataclass(frozen=True, kw_only=True, repr=False)
class UploadedProgram:
    """A program as it was handed in (confidential)."""

    files: Mapping[str, bytes]  # Contents by path, with slashes
    main: str  # Which of them is the program
    log: str = ""  # Which of them is the log of a run elsewhere; empty if it is to be run here
    # The folder of a session of the researcher; None if it is a program
    session: PurePosixPath | None = None

    @property
    def alone(self) -> bool:
        """Whether the program is one file."""
        return len(self.files) == (2 if self.log else 1)

    def write(self, folder: Path) -> Path:
        """Write it into a new folder; the path to hand on: the file itself if there is one only."""
        folder.mkdir(mode=0o700)
        for name, content in self.files.items():
            if name != self.log:
                _write(folder / name, content)
        if self.session is not None:
            return folder / self.session
        return folder / self.main if self.alone else folder

    def write_log(self, folder: Path) -> Path | None:
        """Write the log into a new folder; None if there is none."""
        if not self.log:
            return None
        path = folder / PurePosixPath(self.log).name
        _write(path, self.files[self.log])
        return path


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Files of a folder as one archive, to be handed in as such.

    >>> unpacked(packed([("a.do", b"count")]), "up.zip", most_bytes=1_000, most_files=1).main
    'a.do'
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(_safe_name(name)), content)
    return made.getvalue()


def unpacked(
    content: bytes, name: str, main: str = "", log: str = "", *, most_bytes: int, most_files: int
) -> UploadedProgram:
    """The files of an upload; an error for anything that is not plain.

    >>> unpacked(b"count", "a.do", most_bytes=10, most_files=1).main
    'a.do'
    """
    if len(content) > most_bytes:
        raise _refused("larger than the limit", code="too-large")
    if content.startswith(b"PK\x03\x04"):
        files = _archive(content, most_bytes, most_files)
    else:
        files = {_safe_name(name): content}
    session = None if main or log else _session(files)
    if session is not None:
        return UploadedProgram(files=files, main=str(session / SESSION_MANIFEST), session=session)
    programs = sorted(one for one in files if one.lower().endswith(_SUFFIX))
    if main and main not in programs:
        raise _refused("do-file not found in the archive", "main")
    if not main and len(programs) != 1:
        message = "several do-files in the archive" if programs else "no do-file in the archive"
        hint = (
            "state the do-file to run" if programs else "submit a .do file or a .zip file with one"
        )
        raise _refused(message, "main" if programs else "file", hint)
    if log and (log not in files or not log.lower().endswith(LOGS)):
        hint = f"logs need the suffix {' or '.join(LOGS)}"
        raise _refused("log not found in the archive", "log", hint)
    return UploadedProgram(files=files, main=main or programs[0], log=log)


def _session(files: Mapping[str, bytes]) -> PurePosixPath | None:
    """The folder that a session of a researcher handed in, if there is one."""
    folders = [
        PurePosixPath(one).parent for one in files if PurePosixPath(one).name == SESSION_MANIFEST
    ]
    whole = [one for one in folders if str(one / SESSION_SUMS) in files]
    return whole[0] if len(whole) == 1 else None


def _archive(content: bytes, most_bytes: int, most_files: int) -> dict[str, bytes]:
    """The files of an archive, read no further than they may go."""
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    left = most_bytes
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > 2 * most_files:
                raise _refused("too many files in the archive", code="too-large")
            for entry in entries:
                if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise _refused("the archive contains links or special files")
                if entry.flag_bits & 1:
                    raise _refused("the archive has a password")
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise _refused("unsupported compression of the archive")
                name = _safe_name(entry.filename.removesuffix("/"))
                if entry.is_dir():
                    continue
                # Refuse two names that are one on some systems, and a file where a folder is.
                folded = unicodedata.normalize("NFKC", name).casefold()
                parents = {folded.rsplit("/", n)[0] for n in range(1, folded.count("/") + 1)}
                if folded in seen or f"{folded}/" in seen or parents & seen:
                    raise _refused("two of its files have the same name")
                seen.add(folded)
                seen.update(f"{one}/" for one in parents)
                with archive.open(entry) as opened:
                    # What an entry holds, whatever it says of its size.
                    found = bytearray()
                    while piece := opened.read(_PIECE):
                        found += piece
                        if len(found) > left:
                            raise _refused("unpacked, larger than the limit", code="too-large")
                    files[name] = bytes(found)
                left -= len(files[name])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError):
        raise _refused("not a readable zip archive") from None
    except RuntimeError:
        raise _refused("the archive has a password") from None
    if len(files) > most_files:
        raise _refused("too many files in the archive", code="too-large")
    return files


def _safe_name(name: str) -> str:
    """A path within a folder, safe on every system."""
    plain = unicodedata.normalize("NFC", name)
    parts = plain.split("/")
    if (
        not plain
        or len(plain) > _LONGEST_NAME
        or len(parts) > _DEEPEST
        or not plain.isprintable()
        or bool(_STRANGE.intersection(plain))
        or any(
            not one or one.startswith(".") or one != one.strip(" .") or _DEVICE.fullmatch(one)
            for one in parts
        )
    ):
        hint = (
            f"use at most {_LONGEST_NAME} letters and digits, {_DEEPEST - 1} folders, "
            "and no links or parent folders"
        )
        raise _refused("an invalid file name", hint=hint)
    return plain


def _refused(
    what: str, where: str = "file", hint: str = "", code: str = "invalid-input"
) -> ServiceError:
    return ServiceError(what, code, where, hint)


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
        if replaces is not None and not self.own_one(principal, replaces).state.replaceable:
            message, hint = "only returned submissions can be replaced", "submit it as a new one"
            raise ServiceError(message, "conflict", "replaces", hint)
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
