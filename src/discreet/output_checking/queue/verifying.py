"""Is the queue what it was? The record, the files and the released folders.

In: a queue. Out: what is wrong, in words; nothing if all is as it was written.
"""

from __future__ import annotations

from collections import defaultdict

from discreet.output_checking.queue.contents import content_problems
from discreet.output_checking.queue.folder import Queue
from discreet.output_checking.queue.record import START, Event, events, head, seal
from discreet.output_checking.queue.releasing import folder_problem, target_of
from discreet.output_checking.queue.states import State, standing

__all__ = ["head_of", "verify"]


def verify(queue: Queue, *, known_head: str | None = None) -> list[str]:
    """All that is wrong with a queue.

    Args:
        queue: The queue.
        known_head: A digest that was noted elsewhere; the record must still hold it.

    Returns:
        One sentence for each thing; empty if there is none.
    """
    with queue.reading():
        (sound,) = queue.connection.execute("PRAGMA quick_check(1)").fetchone()
        found = [] if sound == "ok" else ["the database is damaged"]
        entries = list(events(queue.connection))
        record = _record_problems(queue, entries, known_head)
        found += record
        of_each = defaultdict(list)
        for event in entries:
            if event.submission is not None:
                of_each[event.submission].append(event)
        for number in [] if record else _numbers(queue):  # else nothing that it says counts
            found += _submission_problems(queue, number, of_each[number])
    return found


def head_of(queue: Queue) -> str:
    """The digest of the last entry, to be noted elsewhere."""
    return head(queue.connection)[1]


def _numbers(queue: Queue) -> list[int]:
    rows = queue.connection.execute(
        "SELECT id FROM submissions UNION SELECT submission FROM events "
        "WHERE submission IS NOT NULL ORDER BY 1"
    )
    return [int(row[0]) for row in rows]


def _record_problems(queue: Queue, entries: list[Event], known_head: str | None) -> list[str]:
    found, previous = [], START
    for at, event in enumerate(entries, 1):
        if event.seq != at or event.previous != previous:
            found.append(f"record: entries before number {event.seq} are missing or were added")
            break
        if seal(queue.record_key, event) != event.digest:
            found.append(f"record: entry {event.seq} was changed")
            break
        previous = event.digest
    if known_head is not None and all(event.digest != known_head for event in entries):
        found.append("record: it does not hold the entry that was noted")
    return found


def _submission_problems(queue: Queue, number: int, own: list[Event]) -> list[str]:
    where = f"submission {number}"
    problems = content_problems(queue, number, own)
    found = [f"{where}: {one}" for one in problems]
    if not own or own[0].kind != "submitted":
        return found
    now = standing(own)
    if now.state is State.released:
        problem = folder_problem(target_of(queue, now), now.intent, now.record)
        if problem:
            found.append(f"{where}: released folder: {problem}")
    elif now.state is State.releasing:
        found.append(f"{where}: a release was begun and not ended")
    return found
