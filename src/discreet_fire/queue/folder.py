"""A queue: a folder that only the centre can read, with an append-only record in a database.

In: the path of the folder, and an officer's choice when it is made: who decides, how many must
agree, what is drawn for control. Out: `Queue`, which the other modules work on, `QueueSettings`,
errors in words of the officers with a code. The record says what happened to submissions, each
entry sealed with the one before by a chain of HMAC digests, in which a changed, missing or added
entry shows; the `Standing` of a submission follows from its entries alone. CONFIDENTIAL.

    queue.sqlite   the record          queue.key   what it is sealed with
    queue.lock     who is at work      store/      the files of submissions
    released/      what was released, unless another place is named
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from discreet.disclosure import LARGEST_MINIMUM
from discreet.errors import OutputCheckError
from discreet.microdata import Secret
from discreet_fire.append_only import PATIENCE, AppendOnlyForm, transaction
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue.parts import OutputPart
from discreet_fire.statistics import SafeLimits
from discreet_fire.units import UnitKey

#: Entries of a conversation, which decide nothing.
ASKED, ANSWERED, SAID = "asked", "answered", "said"
TALK = frozenset((ASKED, ANSWERED, SAID))
#: The finding that keeps a program from being run until an officer permits it.
NOT_RUN = "not-run"
#: The finding that keeps a log back until an officer permits its program.
LOG_HELD = "log-held"
#: What the first entry is sealed with.
START = "0" * 64


@dataclass(frozen=True)
class Event:
    """One entry of the record."""

    seq: int  # its number, from 1 without gaps
    submission: int | None  # what it is about; None for the queue itself
    kind: str  # what happened
    person: str  # who did it
    reason: str  # why
    at: str  # when, in UTC
    payload: str  # further facts as JSON
    previous: str  # digest of the entry before
    digest: str  # digest of this one

    @property
    def facts(self) -> dict[str, Any]:
        """The further facts."""
        facts: dict[str, Any] = json.loads(self.payload)
        return facts


def seal(key: bytes, event: Event) -> str:
    """The digest that an entry should have."""
    parts = [event.seq, event.submission, event.kind, event.person, event.reason, event.at]
    text = json.dumps([*parts, event.payload, event.previous], ensure_ascii=False)
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def head(connection: sqlite3.Connection) -> tuple[int, str]:
    """Number and digest of the last entry."""
    row = connection.execute("SELECT seq, digest FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, START) if row is None else (int(row[0]), str(row[1]))


def events(connection: sqlite3.Connection, submission: int | None = None) -> Iterator[Event]:
    """Entries in order: all of them, or those about a submission."""
    wanted, values = ("", ()) if submission is None else (" WHERE submission = ?", (submission,))
    for row in connection.execute(f"SELECT * FROM events{wanted} ORDER BY seq", values):  # noqa: S608
        yield Event(*row)


class State(StrEnum):
    """The state of a submission."""

    waiting = "waiting"
    approved = "approved"
    releasing = "releasing"
    released = "released"
    rejected = "rejected"
    change = "change"
    #: Approved subject to a change; what is handed in in its place names it.
    subject = "subject"
    #: Its program may be run, once it is handed in again in its place.
    permitted = "permitted"

    @property
    def open(self) -> bool:
        """Whether it can still be decided on."""
        return self in (State.waiting, State.approved)

    @property
    def replaceable(self) -> bool:
        """Whether another submission may take its place."""
        return self in (State.change, State.subject, State.rejected, State.permitted)


class PartVerdict(StrEnum):
    """Decision on one output."""

    accept = "accept"
    #: It is not released.
    hold = "hold"
    #: It is released although a rule or a link to what is held back speaks against it.
    exception = "exception"


@dataclass(frozen=True, kw_only=True)
class OutputDecision:
    """Decision of an officer on one output, with the reason."""

    verdict: PartVerdict  # what is decided
    comment: str = ""  # why; needed unless it is simply accepted. The researcher reads it
    person: str = ""  # who; filled in when it is taken down


@dataclass(frozen=True, kw_only=True)
class Standing:
    """State of a submission."""

    state: State = State.waiting
    version: int = 0  # number of the last entry about it: what a decision must refer to
    #: Who approved, and which conflicts each accepted
    approvals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needed: int = 1  # how many must approve
    drawn: bool = False  # whether it was drawn for control by hand
    #: The facts of the release that was begun or done
    intent: Mapping[str, Any] = field(default_factory=dict)
    record: str = ""  # the digest of the entry that began the release
    releaser: str = ""  # who began it
    #: Its single outputs; empty if it was handed in before there were any
    parts: tuple[OutputPart, ...] = ()
    #: What was decided on single outputs, by their number
    decisions: Mapping[int, OutputDecision] = field(default_factory=dict)
    question: str = ""  # what the researcher was asked and has not answered; empty if nothing

    @cached_property
    def decided(self) -> str:
        """Digest of the outputs with what was decided on each: what approvals are bound to."""
        verdicts = {number: one.verdict.value for number, one in self.decisions.items()}
        plain = [[one.number, one.file, one.sha256, verdicts.get(one.number)] for one in self.parts]
        return hashlib.sha256(json.dumps(plain).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def undecided(self) -> tuple[OutputPart, ...]:
        """Outputs on which nobody decided; none if nobody decided on single ones at all."""
        if not self.decisions:
            return ()
        return tuple(one for one in self.parts if one.number not in self.decisions)

    @property
    def held(self) -> tuple[OutputPart, ...]:
        """Outputs that are held back."""
        return tuple(one for one in self.parts if self.verdict(one) is PartVerdict.hold)

    @property
    def shown(self) -> tuple[OutputPart, ...]:
        """Outputs that are released once all is approved."""
        return tuple(one for one in self.parts if self.verdict(one) is not PartVerdict.hold)

    def verdict(self, part: OutputPart) -> PartVerdict:
        """Decision on an output; without single decisions all are accepted alike."""
        decision = self.decisions.get(part.number)
        return PartVerdict.accept if decision is None else decision.verdict


def standing(events: Iterable[Event]) -> Standing:
    """State of a submission after these entries."""
    current = Standing()
    for event in events:
        current = replace(current, version=event.seq, **_change(current, event))
    return current


def _change(current: Standing, event: Event) -> dict[str, Any]:
    """What an entry changes."""
    kind, facts = event.kind, event.facts
    if kind == "submitted":
        parts = tuple(OutputPart.from_dict(one) for one in facts.get("parts", ()))
        return {"parts": parts, "drawn": bool(facts["drawn"]), **_needed(facts)}
    if kind == "decided":
        decisions = {
            int(number): OutputDecision(
                verdict=PartVerdict(verdict), comment=str(comment), person=event.person
            )
            for number, (verdict, comment) in facts["decisions"].items()
        }
        return {"decisions": {**current.decisions, **decisions}, "approvals": {}, **_needed(facts)}
    if kind == "approved":
        approvals = dict(current.approvals)
        if facts.get("decided", current.decided) == current.decided:
            approvals[event.person] = tuple(facts["conflicts"])
        enough = len(approvals) >= current.needed
        return {"approvals": approvals, "state": State.approved if enough else State.waiting}
    if kind == "intent":
        begun = {"intent": facts, "record": event.digest, "releaser": event.person}
        return {"state": State.releasing, **begun}
    if kind == "withdrawn":
        return {"state": State.approved, "intent": {}, "record": ""}
    if kind in TALK:
        return {"question": {ASKED: event.reason, ANSWERED: ""}.get(kind, current.question)}
    return {"state": State(kind)}


def _needed(facts: Mapping[str, Any]) -> dict[str, Any]:
    needed = int(facts["needed"])
    return {"needed": needed, "state": State.waiting if needed else State.approved}


def queue_error(
    what: str, code: str = "queue", where: str = "", hint: str = ""
) -> OutputCheckError:
    """An error of the queue."""
    return OutputCheckError(what, code=code, where=where, hint=hint)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Say errors of the database and the disk in plain words."""
    try:
        yield
    except sqlite3.Error as error:
        what, code, hint = next(told for word, told in _ERRORS.items() if word in str(error))
        raise queue_error(what, code, where, hint) from None
    except OSError as error:
        what, code, hint = _FULL
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            what = f"the queue cannot be read or written ({error.strerror})"
            code, hint = "queue-folder", "check the permissions"
        raise queue_error(what, code, where, hint) from None


@contextmanager
def intact(where: str) -> Iterator[None]:
    """Say in plain words that what was read is not what was written."""
    try:
        yield
    except (ValueError, TypeError, KeyError):
        hint = "run: discreet fire queue verify"
        raise queue_error("the log was changed", "queue-damaged", where, hint) from None


_BUSY = ("another process is writing to the queue", "queue-busy", "try again; nothing was changed")
_CLOSED = (
    "the queue cannot be written",
    "queue-folder",
    "check the permissions of the folder and its files",
)
_FULL = (
    "the disk is full",
    "disk-full",
    "free disk space, and decide again; no decision was saved",
)
#: What errors of the database mean, by words in them: message, code and hint.
_ERRORS = {
    "full": _FULL,
    "locked": _BUSY,
    "busy": _BUSY,
    "readonly": _CLOSED,
    "unable to open": _CLOSED,
    "never changed": ("the log of the queue cannot be changed", "queue-record", ""),
    "constraint": ("the log of the queue is inconsistent", "queue-record", ""),
    "": (
        "the database of the queue is damaged",
        "queue-damaged",
        "keep the file, and restore the last backup next to it",
    ),
}


VERSION = 2
#: What tells a queue from other databases: the letters "DiQu".
_APPLICATION = 0x44695175

_TABLES = {
    "events": "seq INTEGER PRIMARY KEY, submission INTEGER, kind TEXT NOT NULL, "
    "person TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, payload TEXT NOT NULL, "
    "previous TEXT NOT NULL, digest TEXT NOT NULL UNIQUE",
    "submissions": "id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, "
    "researcher TEXT NOT NULL, project TEXT NOT NULL, program TEXT NOT NULL, "
    "fingerprint TEXT NOT NULL",
    "files": "submission INTEGER NOT NULL REFERENCES submissions, role TEXT NOT NULL, "
    "name TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL, "
    "UNIQUE (submission, role, name)",
    "findings": "submission INTEGER NOT NULL REFERENCES submissions, stage TEXT NOT NULL, "
    "file TEXT NOT NULL, line INTEGER NOT NULL, severity TEXT NOT NULL, rule TEXT NOT NULL, "
    "what TEXT NOT NULL, hint TEXT NOT NULL",
    "universes": "submission INTEGER NOT NULL REFERENCES submissions, name TEXT NOT NULL, "
    "label TEXT NOT NULL, count INTEGER NOT NULL, sums BLOB NOT NULL, marks BLOB NOT NULL",
}


_FORM = AppendOnlyForm(
    application=_APPLICATION,
    version=VERSION,
    tables=_TABLES,
    refusal="the record is never changed",
)


def connect(path: Path) -> sqlite3.Connection:
    """Open the database of a queue; its file must exist."""
    connection, (application, version) = _FORM.connect(path)
    if (application, version) == (_APPLICATION, VERSION):
        return connection
    connection.close()
    if application != _APPLICATION:
        hint = "create a queue with: discreet fire queue init"
        raise queue_error("not a queue", "queue-damaged", str(path), hint)
    hint = "use the version of discreet that created it"
    message = f"the queue has format version {version}; this program needs version {VERSION}"
    raise queue_error(message, "queue-version", str(path), hint)


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """Settings of a queue.

    >>> QueueSettings(persons=("Anna", "Ben"), approvals=2, clean_approvals=1).rate
    0.1
    """

    persons: tuple[str, ...]  # who may decide
    approvals: int = 1  # how many different persons must approve before release: 2 for four eyes
    clean_approvals: int = 1  # the same for outputs without anything to look at that were not drawn
    rate: float = 0.1  # share of clean outputs that are drawn for control by hand
    #: Fewest units behind a figure, and by which two of them may differ
    minimum: int = SafeLimits().minimum

    def __post_init__(self) -> None:
        object.__setattr__(self, "persons", tuple(plain_name(name) for name in self.persons))
        if not self.persons:
            raise _wrong("no reviewers given", "", "add them with --person")
        for at, name in enumerate(self.persons):
            if any(same_person(name, other) for other in self.persons[:at]):
                raise _wrong("a person is given twice", name)
        if not 1 <= self.approvals <= 2:
            raise _wrong("one or two persons must approve", "approvals")
        if not 0 <= self.clean_approvals <= self.approvals:
            message = "clean outputs cannot need more approvals than others"
            raise _wrong(message, "clean approvals")
        if not 0 <= self.rate <= 1:
            raise _wrong("the drawn share must be between 0 and 1", "rate")
        if not 2 <= self.minimum <= LARGEST_MINIMUM:
            raise _wrong(f"the minimum must be between 2 and {LARGEST_MINIMUM}", "minimum")
        if self.approvals > len(self.persons):
            raise _wrong("four eyes need two persons", "", "add them with --person")

    def person(self, name: str) -> str:
        """The person of this name, as written in the settings."""
        person = plain_name(name)
        if person not in self.persons:
            hint = "known: " + ", ".join(self.persons)
            raise queue_error("unknown reviewer", "unknown-person", person, hint)
        return person


def _wrong(message: str, where: str, hint: str = "") -> Exception:
    return queue_error(message, "queue-settings", where, hint)


#: Files of a release beside the outputs.
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
RESERVED = frozenset((MANIFEST.casefold(), SUMS.casefold()))


class SubmittedFile(NamedTuple):
    """A file that the record seals."""

    role: str  # "program" or "output"
    name: str  # its path
    sha256: str  # its digest
    size: int  # its bytes


class Queue:
    """An open queue (confidential).

    >>> import tempfile
    >>> queue = Queue.create(Path(tempfile.mkdtemp()) / "q", QueueSettings(persons=("Anna",)))
    >>> queue.settings.persons
    ('Anna',)
    >>> queue.close()
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, secret: Secret) -> None:
        self.folder = folder
        self.connection = connection
        self.record_key = secret.derive("discreet: record of a review queue")
        self.units = UnitKey(secret)
        self._draw_key = secret.derive("discreet: drawing outputs for control")

    @classmethod
    def create(cls, folder: str | os.PathLike[str], settings: QueueSettings) -> Queue:
        """Make a new queue."""
        place = Path(folder)
        with translated(str(place)):
            new = not place.exists() or (place.is_dir() and not any(place.iterdir()))
            if place.is_symlink() or not new:
                hint = "name a new folder"
                raise queue_error("the folder exists already", "queue-exists", str(place), hint)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.chmod(0o700)
            for name in ("store", "released"):
                (place / name).mkdir(mode=0o700)
            secret = Secret.generate()
            secret.write(place / "queue.key")
            kinds = ("events", "files", "findings", "universes")
            more = [(f"CREATE INDEX {kind}_of ON {kind} (submission)", ()) for kind in kinds]
            _FORM.lay_out(place / "queue.sqlite", more)
            queue = cls(place, connect(place / "queue.sqlite"), secret)
        with queue.writing():
            queue._set(settings, settings.persons[0], "the queue was created")
        return queue

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Queue:
        """Open a queue as it is; `open_queue` also puts right what an interruption left."""
        place = Path(folder)
        path = place / "queue.sqlite"
        if not path.is_file():
            hint = "create one with: discreet fire queue init"
            raise queue_error("no queue in this folder", "queue-missing", str(place), hint)
        with translated(str(path)), intact(str(path)):
            secret = Secret.from_file(place / "queue.key")
            queue = cls(place, connect(path), secret)
            try:
                _ = queue.settings
            except BaseException:
                queue.close()
                raise
        return queue

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Queue (confidential)>"

    # --- settings ------------------------------------------------------------------

    @property
    def settings(self) -> QueueSettings:
        """Present settings of the queue."""
        newest = "SELECT * FROM events WHERE kind = 'settings' ORDER BY seq DESC LIMIT 1"
        with translated(str(self.folder)):
            row = self.connection.execute(newest).fetchone()
        if row is not None and seal(self.record_key, last := Event(*row)) == last.digest:
            with suppress(ValueError, TypeError, KeyError):
                return QueueSettings(**last.facts)
        message = "the settings of the queue cannot be read"
        hint = "is queue.key the key that the queue was created with?"
        raise queue_error(message, "queue-damaged", str(self.folder), hint)

    def add_person(self, name: str, *, by: str, reason: str) -> None:
        """Let another person decide."""
        with self.writing():
            now = self.settings
            person = now.person(by)
            if any(same_person(name, other) for other in now.persons):
                message = "a person with the same or a similar name exists"
                raise queue_error(message, "queue-settings", plain_name(name))
            self._set(replace(now, persons=(*now.persons, name)), person, reason)

    def _set(self, settings: QueueSettings, person: str, reason: str) -> None:
        self.append("settings", person=person, reason=reason, payload=asdict(settings))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the queue, whatever others write meanwhile."""
        where = str(self.folder)
        with translated(where), intact(where):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")

    # --- writing -------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all or nothing, and on the disk when it ends."""
        where = str(self.folder)
        with translated(where), intact(where), transaction(self.connection):
            yield

    @contextmanager
    def at_work(self, *, alone: bool = False) -> Iterator[bool]:
        """Tell others that files of the queue are being written; several may do so at once.

        The lock ends with the process, however that ends.

        Yields:
            Whether this is so: alone only if nobody else is at work.
        """
        patience = 0 if alone else PATIENCE
        place = self.folder / "queue.lock"
        with (
            translated(str(self.folder)),
            closing(sqlite3.connect(place, timeout=patience, isolation_level=None)) as lock,
        ):
            held = True
            try:
                lock.execute("BEGIN EXCLUSIVE" if alone else "BEGIN")
                lock.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as error:
                held = False
                if not alone or "locked" not in str(error):
                    raise
            yield held

    def append(
        self,
        kind: str,
        *,
        person: str,
        reason: str,
        submission: int | None = None,
        payload: dict[str, object] | None = None,
    ) -> str:
        """Add an entry to the record, within `writing`; its digest."""
        if not reason.strip():
            raise queue_error("a reason is required", "reason", "", "add --reason")
        last, previous = head(self.connection)
        event = Event(
            seq=last + 1,
            submission=submission,
            kind=kind,
            person=person,
            reason=plain_text(reason, "reason"),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            payload=json.dumps(payload or {}, ensure_ascii=False, sort_keys=True),
            previous=previous,
            digest="",
        )
        event = replace(event, digest=seal(self.record_key, event))
        values = tuple(vars(event).values())
        self.connection.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?)", values)
        return event.digest

    def drawn(self, fingerprint: str, rate: float) -> bool:
        """Whether an output is drawn for control: keyed, and the same each time."""
        digest = hmac.new(self._draw_key, fingerprint.encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:8], "big") < rate * 2.0**64

    def store(self, token: str) -> Path:
        """The folder of the files of a submission."""
        return self.folder / "store" / token

    def told(self, number: int, column: str) -> Any:
        """The entry of a submission; None if there is none."""
        query = f"SELECT {column} FROM submissions WHERE id = ?"  # noqa: S608 - of this program
        row = self.connection.execute(query, (number,)).fetchone()
        return None if row is None else row[0]

    def outputs(self, number: int) -> dict[str, str]:
        """The outputs of a submission, with their digests."""
        query = "SELECT name, sha256 FROM files WHERE submission = ? AND role = 'output'"
        return dict(self.connection.execute(f"{query} ORDER BY name", (number,)).fetchall())

    def files(self, number: int) -> list[SubmittedFile]:
        """All files of a submission, as they were sealed."""
        query = "SELECT role, name, sha256, size FROM files WHERE submission = ? ORDER BY rowid"
        return [SubmittedFile(*row) for row in self.connection.execute(query, (number,))]


def submitted_files(queue: Queue, number: int) -> tuple[SubmittedFile, ...]:
    """The files of a submission, as they were sealed."""
    return tuple(queue.files(number))
