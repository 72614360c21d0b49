"""The record: what happened to submissions, each entry sealed with the one before.

In: entries. Out: a chain of HMAC digests, in which a changed, missing or added entry shows, and
the `Standing` of a submission, worked out from its entries alone. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: What the first entry is sealed with.
START = "0" * 64

_COLUMNS = ("seq", "submission", "kind", "person", "reason", "at", "payload", "previous", "digest")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One entry of the record.

    Args:
        seq: Its number, from 1 without gaps.
        submission: What it is about; None for the queue itself.
        kind: What happened.
        person: Who did it.
        reason: Why.
        at: When, in UTC.
        payload: Further facts as JSON.
        previous: Digest of the entry before.
        digest: Digest of this one.
    """

    seq: int
    submission: int | None
    kind: str
    person: str
    reason: str
    at: str
    payload: str
    previous: str
    digest: str

    @property
    def facts(self) -> dict[str, Any]:
        """The further facts."""
        found: dict[str, Any] = json.loads(self.payload)
        return found


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

    @property
    def open(self) -> bool:
        """Whether it can still be decided on."""
        return self in (State.waiting, State.approved)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a submission stands.

    Args:
        state: Its state.
        version: Number of the last entry about it: what a decision must refer to.
        approvals: Who approved, and which conflicts each accepted.
        needed: How many must approve.
        drawn: Whether it was drawn for control by hand.
        intent: The facts of the release that was begun or done.
        record: The digest of the entry that began the release.
        releaser: Who began it.
    """

    state: State
    version: int
    approvals: dict[str, tuple[str, ...]]
    needed: int
    drawn: bool
    intent: dict[str, Any]
    record: str
    releaser: str


def standing(events: Iterable[Event]) -> Standing:
    """Where a submission stands after these entries."""
    state, version, needed, drawn, record, releaser = State.waiting, 0, 1, False, "", ""
    approvals: dict[str, tuple[str, ...]] = {}
    intent: dict[str, Any] = {}
    for event in events:
        version, facts = event.seq, event.facts
        if event.kind == "submitted":
            needed, drawn = int(facts["needed"]), bool(facts["drawn"])
            state = State.waiting if needed else State.approved
        elif event.kind == "approved":
            approvals[event.person] = tuple(facts["conflicts"])
            state = State.approved if len(approvals) >= needed else State.waiting
        elif event.kind == "intent":
            state, intent, record, releaser = State.releasing, facts, event.digest, event.person
        elif event.kind == "withdrawn":
            state, intent, record = State.approved, {}, ""
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
    )
