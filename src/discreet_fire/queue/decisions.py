"""Decisions: on single outputs; approve, reject, ask for a change; each by a person, for good.

In: a submission as an officer saw it. Out: an entry of the record, with a reason. A decision names
the version it is about; if the submission changed since, nothing is decided. Approvals are bound to
what was decided on each output: whoever decides otherwise takes them back.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue.contents import check_contents, conflict_sentences
from discreet_fire.queue.database import intact, queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.links import check_links
from discreet_fire.queue.record import (
    ANSWERED,
    ASKED,
    LOG_HELD,
    NOT_RUN,
    SAID,
    OutputDecision,
    PartVerdict,
    Standing,
    events,
    standing,
)


def decide(
    queue: Queue,
    number: int,
    decisions: Mapping[int, OutputDecision],
    *,
    person: str,
    reason: str,
    version: int,
) -> Standing:
    """Decide on single outputs of a submission; approvals of before no longer count."""
    with queue.writing():
        who = _allowed(queue, number, person, version)
        check_contents(queue, number)
        current = standing_of(queue, number)
        chosen = _checked(decisions, current, f"submission {number}")
        exceptional = any(one[0] != PartVerdict.accept.value for one in chosen.values()) or any(
            one.verdict is not PartVerdict.accept for one in current.decisions.values()
        )
        needed = queue.settings.approvals if exceptional else current.needed
        payload: dict[str, object] = {
            "decisions": chosen,
            "needed": max(needed, current.needed),
        }
        queue.append("decided", person=who, reason=reason, submission=number, payload=payload)
        after = standing_of(queue, number)
        if not after.undecided:
            check_decided(queue, number, after)
        return after


def _checked(
    decisions: Mapping[int, OutputDecision], current: Standing, where: str
) -> dict[str, list[str]]:
    """Decisions as they are written down; an error if one is about nothing, or says no reason."""
    known = {one.number for one in current.parts}
    if not decisions:
        raise queue_error("no outputs given", "decision", where, "give the numbers of outputs")
    unknown = sorted(set(decisions) - known)
    if unknown:
        hint = "see: discreet fire queue show" if known else "decide on it as a whole"
        raise queue_error(f"output {unknown[0]} not found", "decision", where, hint)
    chosen = {}
    for at, one in sorted(decisions.items()):
        comment = plain_text(one.comment, "comment")
        if one.verdict is not PartVerdict.accept and not comment:
            message = "withheld outputs and exceptions need a comment"
            raise queue_error(message, "reason", f"{where}, output {at}", "say why")
        chosen[str(at)] = [one.verdict.value, comment]
    return chosen


def check_decided(queue: Queue, number: int, found: Standing) -> None:
    """Refuse what leaves outputs open, shows nothing, or gives away what is held back."""
    where = f"submission {number}"
    if found.undecided:
        open_ones = ", ".join(str(one.number) for one in found.undecided[:20])
        message = f"undecided outputs: {open_ones}"
        raise queue_error(message, "undecided", where, "decide on each output")
    if found.decisions and not found.shown:
        hint = "reject or return the submission"
        raise queue_error("all outputs are withheld", "no-output", where, hint)
    check_links(queue, number, found)


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

    It is about what was decided on each output; if nobody did, all are accepted alike.
    """
    with queue.writing():
        who = _allowed(queue, number, person, version)
        check_contents(queue, number)
        current = standing_of(queue, number)
        if current.question:
            message = f"the researcher has not answered yet: {current.question}"
            raise queue_error(message, "asked", f"submission {number}", "wait, or return it")
        check_decided(queue, number, current)
        conflicts = conflict_sentences(queue, number)
        if conflicts and not despite_conflicts:
            hint = "reject it, or approve it with --despite-conflicts and a reason"
            message = "; ".join(conflicts[:5])
            raise queue_error(message, "conflict", f"submission {number}", hint)
        payload: dict[str, object] = {"conflicts": conflicts, "decided": current.decided}
        queue.append("approved", person=who, reason=reason, submission=number, payload=payload)
        return standing_of(queue, number)


def reject(queue: Queue, number: int, *, person: str, reason: str, version: int) -> Standing:
    """Reject a submission for good."""
    return _end(queue, number, "rejected", person, reason, version)


def ask_for_change(
    queue: Queue, number: int, *, person: str, reason: str, version: int
) -> Standing:
    """Send a submission back; what the researcher changes is a new one."""
    return _end(queue, number, "change", person, reason, version)


def approve_subject(
    queue: Queue, number: int, *, person: str, reason: str, version: int
) -> Standing:
    """Approve a submission subject to a change: it is closed, and one in its place names it."""
    return _end(queue, number, "subject", person, reason, version)


def permit(queue: Queue, number: int, *, person: str, reason: str, version: int) -> Standing:
    """Permit a program that was not run, or whose log was kept back: handed in again unchanged,
    it names this one.
    """
    standing_of(queue, number)
    check_contents(queue, number)
    if not {NOT_RUN, LOG_HELD} & set(queue.rules(number)):
        message = "the program needs no permission"
        raise queue_error(message, "permit", f"submission {number}", "decide on its outputs")
    return _end(queue, number, "permitted", person, reason, version)


def ask(queue: Queue, number: int, *, person: str, text: str) -> Standing:
    """Ask the researcher something; until it is answered nobody approves."""
    with queue.writing():
        return _talk(queue, number, ASKED, _officer(queue, number, person), text)


def answer(queue: Queue, number: int, *, researcher: str, text: str) -> Standing:
    """Answer what was asked, as the researcher who handed the submission in."""
    with queue.writing():
        current = standing_of(queue, number)
        if not same_person(queue.told(number, "researcher"), researcher):
            message = "only the researcher of the submission can answer"
            raise queue_error(message, "unknown-person", plain_name(researcher))
        if not current.question:
            raise queue_error("no open question", "asked", f"submission {number}")
        return _talk(queue, number, ANSWERED, plain_name(researcher), text)


def say(queue: Queue, number: int, *, person: str, text: str) -> Standing:
    """Note something for the others who decide, without deciding."""
    with queue.writing():
        return _talk(queue, number, SAID, _officer(queue, number, person), text)


def _officer(queue: Queue, number: int, person: str) -> str:
    """The person, if they may talk about the submission: nobody does about their own."""
    who = queue.settings.person(person)
    standing_of(queue, number)
    check_not_own(queue, number, who)
    return who


def _talk(queue: Queue, number: int, kind: str, who: str, text: str) -> Standing:
    """An entry of a conversation, within a transaction."""
    current = standing_of(queue, number)
    if not current.state.open:
        message = f"the submission is closed: {current.state.value}"
        raise queue_error(message, "closed", f"submission {number}")
    queue.append(kind, person=who, reason=text, submission=number)
    return standing_of(queue, number)


def _end(queue: Queue, number: int, kind: str, person: str, reason: str, version: int) -> Standing:
    with queue.writing():
        who = _allowed(queue, number, person, version)
        queue.append(kind, person=who, reason=reason, submission=number)
        return standing_of(queue, number)


def standing_of(queue: Queue, number: int) -> Standing:
    """Where a submission stands."""
    known = 0 < number < 1 << 63  # what the database takes for a number
    history = list(events(queue.connection, number)) if known else []
    if not history:
        hint = "see: discreet fire queue list"
        raise queue_error("submission not found", "submission", str(number), hint)
    with intact(f"submission {number}"):
        return standing(history)


def check_version(found: Standing, number: int, version: int) -> None:
    """Refuse to act on what has changed since it was seen."""
    if found.version != version:
        message = "the submission changed since your last view"
        hint = f"run again: discreet fire queue show {number}"
        raise queue_error(message, "changed", f"submission {number}", hint)


def _allowed(queue: Queue, number: int, person: str, version: int) -> str:
    """The person, if they may decide on the submission now."""
    who = queue.settings.person(person)
    current = standing_of(queue, number)
    check_version(current, number, version)
    if not current.state.open:
        message = f"the submission is closed: {current.state.value}"
        raise queue_error(message, "closed", f"submission {number}")
    check_not_own(queue, number, who)
    return who


def check_not_own(queue: Queue, number: int, person: str) -> None:
    """Refuse to let somebody decide on, or release, what they handed in."""
    if same_person(queue.told(number, "researcher"), person):
        raise queue_error("you cannot decide on your own submission", "own-submission", person)
