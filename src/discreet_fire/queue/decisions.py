"""Decisions: approve, reject, ask for a change; each by a person, with a reason, for good.

In: a submission as an officer saw it. Out: an entry of the record. A decision names the
version it is about; if the submission changed since, nothing is decided.
"""

from __future__ import annotations

from discreet_fire.persons import same_person
from discreet_fire.queue.contents import check_contents, conflicts_now, universes_in
from discreet_fire.queue.database import intact, queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.record import Standing, events, standing


def approve(
    queue: Queue,
    number: int,
    *,
    person: str,
    reason: str,
    version: int,
    despite_conflicts: bool = False,
) -> Standing:
    """Approve a submission; with four eyes it takes two persons.

    Args:
        queue: The queue.
        number: The submission.
        person: Who decides.
        reason: Why.
        version: Of the submission, as it was seen.
        despite_conflicts: Accept differences to tables that are out already.
    """
    with queue.writing():
        who = _allowed(queue, number, person, version)
        check_contents(queue, number)
        conflicts = conflicts_now(queue, universes_in(queue, number), without=number)
        if conflicts and not despite_conflicts:
            hint = "reject it, or approve with --despite-conflicts and say why"
            what = "; ".join(map(str, conflicts[:5]))
            raise queue_error(what, "conflict", f"submission {number}", hint)
        payload: dict[str, object] = {"conflicts": list(map(str, conflicts))}
        queue.append("approved", person=who, reason=reason, submission=number, payload=payload)
        return standing_of(queue, number)


def reject(queue: Queue, number: int, *, person: str, reason: str, version: int) -> Standing:
    """Reject a submission for good.

    Args:
        queue: The queue.
        number: The submission.
        person: Who decides.
        reason: Why.
        version: Of the submission, as it was seen.
    """
    return _end(queue, number, "rejected", person, reason, version)


def ask_for_change(
    queue: Queue, number: int, *, person: str, reason: str, version: int
) -> Standing:
    """Send a submission back; what the researcher changes is a new one.

    Args:
        queue: The queue.
        number: The submission.
        person: Who decides.
        reason: What is to be changed.
        version: Of the submission, as it was seen.
    """
    return _end(queue, number, "change", person, reason, version)


def _end(queue: Queue, number: int, kind: str, person: str, reason: str, version: int) -> Standing:
    with queue.writing():
        who = _allowed(queue, number, person, version)
        queue.append(kind, person=who, reason=reason, submission=number)
        return standing_of(queue, number)


def standing_of(queue: Queue, number: int) -> Standing:
    """Where a submission stands."""
    known = 0 < number < 1 << 63  # what the database takes for a number
    found = list(events(queue.connection, number)) if known else []
    if not found:
        hint = "see: discreet fire queue list"
        raise queue_error("there is no such submission", "submission", str(number), hint)
    with intact(f"submission {number}"):
        return standing(found)


def check_version(found: Standing, number: int, version: int) -> None:
    """Refuse to act on what has changed since it was seen."""
    if found.version != version:
        what = "the submission has changed since you looked at it"
        hint = f"look again: discreet fire queue show {number}"
        raise queue_error(what, "changed", f"submission {number}", hint)


def _allowed(queue: Queue, number: int, person: str, version: int) -> str:
    """The person, if they may decide on the submission now."""
    who = queue.settings.person(person)
    found = standing_of(queue, number)
    check_version(found, number, version)
    if not found.state.open:
        what = f"the submission is closed: {found.state.value}"
        raise queue_error(what, "closed", f"submission {number}")
    check_not_own(queue, number, who)
    return who


def check_not_own(queue: Queue, number: int, person: str) -> None:
    """Refuse to let somebody decide on, or release, what they handed in."""
    if same_person(queue.told(number, "researcher"), person):
        raise queue_error("nobody decides on what they handed in", "own-submission", person)
