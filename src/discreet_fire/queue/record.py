"""The record: what happened to submissions, each entry sealed with the one before.

In: entries. Out: a chain of HMAC digests, in which a changed, missing or added entry shows, and
the `Standing` of a submission with what was decided on each of its outputs, worked out from its
entries alone. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from discreet_fire.queue.parts import OutputPart

#: Entries of a conversation, which decide nothing.
ASKED, ANSWERED, SAID = "asked", "answered", "said"
TALK = frozenset((ASKED, ANSWERED, SAID))
#: The finding that keeps a program from being run until an officer permits it.
NOT_RUN = "not-run"
#: The finding that keeps a log back until an officer permits its program.
LOG_HELD = "log-held"
#: What the first entry is sealed with.
START = "0" * 64

_COLUMNS = ("seq", "submission", "kind", "person", "reason", "at", "payload", "previous", "digest")


@dataclass(frozen=True, kw_only=True)
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
    if submission is None:
        rows = connection.execute("SELECT * FROM events ORDER BY seq")
    else:
        query = "SELECT * FROM events WHERE submission = ? ORDER BY seq"
        rows = connection.execute(query, (submission,))
    for row in rows:
        yield Event(**dict(zip(_COLUMNS, row, strict=True)))


def last_settings(connection: sqlite3.Connection) -> Event | None:
    """The entry with the settings that hold now."""
    query = "SELECT * FROM events WHERE kind = 'settings' ORDER BY seq DESC LIMIT 1"
    row = connection.execute(query).fetchone()
    return None if row is None else Event(**dict(zip(_COLUMNS, row, strict=True)))


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
    """What is decided on one output."""

    accept = "accept"
    #: It is not released.
    hold = "hold"
    #: It is released although a rule or a link to what is held back speaks against it.
    exception = "exception"


@dataclass(frozen=True, kw_only=True)
class OutputDecision:
    """What somebody decided on one output, and why."""

    verdict: PartVerdict  # what is decided
    comment: str = ""  # why; needed unless it is simply accepted. The researcher reads it
    person: str = ""  # who; filled in when it is taken down


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a submission stands."""

    state: State
    version: int  # number of the last entry about it: what a decision must refer to
    approvals: dict[str, tuple[str, ...]]  # who approved, and which conflicts each accepted
    needed: int  # how many must approve
    drawn: bool  # whether it was drawn for control by hand
    intent: dict[str, Any]  # the facts of the release that was begun or done
    record: str  # the digest of the entry that began the release
    releaser: str  # who began it
    #: Its single outputs; empty if it was handed in before there were any
    parts: tuple[OutputPart, ...]
    decisions: Mapping[int, OutputDecision]  # what was decided on single outputs, by their number
    decided: str  # digest of the outputs with what was decided on each: what approvals are bound to
    question: str  # what the researcher was asked and has not answered; empty if nothing

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
        """What becomes of an output; without decisions on single ones all are accepted alike."""
        decision = self.decisions.get(part.number)
        return PartVerdict.accept if decision is None else decision.verdict


def decided_digest(parts: Iterable[OutputPart], decisions: Mapping[int, OutputDecision]) -> str:
    """The digest of outputs with what was decided on each."""
    plain = [
        [one.number, one.file, one.sha256, decisions[one.number].verdict.value]
        if one.number in decisions
        else [one.number, one.file, one.sha256, None]
        for one in parts
    ]
    return hashlib.sha256(json.dumps(plain).encode("utf-8", "surrogatepass")).hexdigest()


def standing(events: Iterable[Event]) -> Standing:
    """Where a submission stands after these entries."""
    state, version, needed, drawn, record, releaser = State.waiting, 0, 1, False, "", ""
    approvals: dict[str, tuple[str, ...]] = {}
    intent: dict[str, Any] = {}
    parts: tuple[OutputPart, ...] = ()
    decisions: dict[int, OutputDecision] = {}
    decided, question = decided_digest(parts, decisions), ""
    for event in events:
        version, facts = event.seq, event.facts
        if event.kind == "submitted":
            needed, drawn = int(facts["needed"]), bool(facts["drawn"])
            parts = tuple(OutputPart.from_dict(one) for one in facts.get("parts", ()))
            decided = decided_digest(parts, decisions)
            state = State.waiting if needed else State.approved
        elif event.kind == "decided":
            decisions |= _decisions(event)
            decided, needed, approvals = decided_digest(parts, decisions), int(facts["needed"]), {}
            state = State.waiting if needed else State.approved
        elif event.kind == "approved":
            if facts.get("decided", decided) == decided:
                approvals[event.person] = tuple(facts["conflicts"])
            state = State.approved if len(approvals) >= needed else State.waiting
        elif event.kind == "intent":
            state, intent, record, releaser = State.releasing, facts, event.digest, event.person
        elif event.kind == "withdrawn":
            state, intent, record = State.approved, {}, ""
        elif event.kind in TALK:
            question = {ASKED: event.reason, ANSWERED: ""}.get(event.kind, question)
        else:
            state = State(event.kind)
    return Standing(
        state=state,
        version=version,
        approvals=approvals,
        needed=needed,
        drawn=drawn,
        intent=intent,
        record=record,
        releaser=releaser,
        parts=parts,
        decisions=decisions,
        decided=decided,
        question=question,
    )


def _decisions(event: Event) -> dict[int, OutputDecision]:
    return {
        int(number): OutputDecision(
            verdict=PartVerdict(verdict), comment=str(comment), person=event.person
        )
        for number, (verdict, comment) in event.facts["decisions"].items()
    }
