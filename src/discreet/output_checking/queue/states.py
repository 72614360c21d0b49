"""Where a submission stands: worked out from the record alone.

In: the entries about a submission. Out: its `Standing`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from discreet.output_checking.queue.record import Event

__all__ = ["Standing", "State", "standing"]


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
    """Where a submission stands after these entries.

    Args:
        events: All entries about it, in order.
    """
    state, version, needed, drawn, record, releaser = State.waiting, 0, 1, False, "", ""
    approvals: dict[str, tuple[str, ...]] = {}
    intent: dict[str, Any] = {}
    for event in events:
        version = event.seq
        facts = event.facts
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
