"""What belongs to a submission: its files as they were handed in, and what they show.

In: a queue and the number of a submission (CONFIDENTIAL). Out: digests, what is wrong in words,
what it shows, and conflicts with what is released, or being released, at this moment.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet_fire.linked_tables import (
    MORE,
    ShownCounts,
    ShownSums,
    ShownTable,
    difference_findings,
    linked_findings,
    read_tables,
)
from discreet_fire.queue.database import intact, queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.linked_submissions import TABLES, shown_by
from discreet_fire.queue.record import Event, events, seal, standing
from discreet_fire.statistics import SafeLimits


@dataclass(frozen=True, kw_only=True)
class SubmittedFile:
    """A file that the record seals."""

    role: str  # "program" or "output"
    name: str  # its path
    sha256: str  # its digest
    size: int  # its bytes


#: All that belongs to a submission.
_CONTENT = {
    "submissions": "SELECT * FROM submissions WHERE id = ?",
    "files": "SELECT * FROM files WHERE submission = ? ORDER BY rowid",
    "findings": "SELECT * FROM findings WHERE submission = ? ORDER BY rowid",
    # Of submissions of before; whom later ones are about is in their tables.
    "universes": "SELECT * FROM universes WHERE submission = ? ORDER BY rowid",
}


def content_digest(connection: sqlite3.Connection, number: int) -> str:
    """The digest of all that belongs to a submission, which its entry in the record seals."""
    digest = hashlib.sha256()
    for table, query in _CONTENT.items():
        rows = connection.execute(query, (number,))
        for row in rows:
            plain = [value.hex() if isinstance(value, bytes) else value for value in row]
            digest.update(json.dumps([table, *plain]).encode())
    return digest.hexdigest()


def content_problems(queue: Queue, number: int, own: list[Event]) -> list[str]:
    """What of a submission is not what was handed in."""
    if not own or own[0].kind != "submitted":
        return ["the log lacks the submission"]
    problems = []
    if own[0].facts.get("content") != content_digest(queue.connection, number):
        problems.append("its files or data changed")
    token = queue.told(number, "token")
    query = "SELECT role, name, sha256 FROM files WHERE submission = ?"
    rows = queue.connection.execute(query, (number,)).fetchall()
    for role, name, digest in rows if token is not None else ():
        path = queue.store(token) / ("program" if role == "program" else "outputs") / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif digest_of(path) != digest:
            problems.append(f"{name} was changed")
    sealed = own[0].facts.get("tables")
    if sealed is not None and token is not None:
        path = queue.store(token) / TABLES
        if not path.is_file() or digest_of(path) != sealed:
            problems.append("its table data changed")
    return problems


def check_contents(queue: Queue, number: int) -> None:
    """Refuse to go on with a submission that is not what was handed in and decided on."""
    where = f"submission {number}"
    with intact(where):
        own = list(events(queue.connection, number))
        problems = content_problems(queue, number, own)
        if any(seal(queue.record_key, event) != event.digest for event in own):
            problems.append("an entry of the log was changed or added")
    if problems:
        message = f"the submission changed: {'; '.join(problems[:5])}"
        hint = "do not decide on it; run: discreet fire queue verify"
        raise queue_error(message, "queue-damaged", where, hint)


def submitted_files(queue: Queue, number: int) -> tuple[SubmittedFile, ...]:
    """The files of a submission, as they were sealed."""
    names = ("role", "name", "sha256", "size")
    return tuple(
        SubmittedFile(**dict(zip(names, row, strict=True)))  # type: ignore[arg-type]
        for row in queue.files(number)
    )


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


#: Submissions that are released, or about to be: of an intent that was not withdrawn.
_RELEASED = """
SELECT submission FROM events WHERE kind IN ('intent', 'withdrawn') GROUP BY submission
HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
"""


def _held_tables(queue: Queue, number: int) -> Callable[[str], bool]:
    """Says of a table whether only outputs that are held back show it."""
    with intact(f"submission {number}"):
        current = standing(events(queue.connection, number))
    held, shown = current.held, current.shown

    def is_held(table: str) -> bool:
        return any(one.covers(table) for one in held) and not any(
            one.covers(table) for one in shown
        )

    return is_held


#: What a submission and others give away together, as it was found when either came in.
_OWN = "SELECT what FROM findings WHERE rule = 'difference' AND submission = ?"
_NAMED = """
SELECT submission, what FROM findings WHERE rule IN ('linked-tables', 'difference')
AND submission IS NOT ?1 AND instr(what || '; ' || hint, 'submission ' || ?1 || ', ') > 0
"""
#: Submissions of which something was decided output by output.
_DECIDED = "SELECT DISTINCT submission FROM events WHERE kind = 'decided'"
#: How findings name the submission of a table.
_SUBMISSION = re.compile(r"\bsubmission (\d+), ")
#: Seconds that tables are held against released ones for once more.
_SECONDS = 10.0


def conflict_sentences(queue: Queue, number: int) -> list[str]:
    """What of a submission that is shown conflicts with all that is released at this moment."""
    out = released_numbers(queue) - {number}
    named = queue.connection.execute(_NAMED, (number,)).fetchall()
    later = [(other, what) for other, what in named if other in out]
    decided = {one for (one,) in queue.connection.execute(_DECIDED)}
    own = [what for (what,) in queue.connection.execute(_OWN, (number,))]
    partly = any(one in decided or stopped(queue, one) for one in (number, *out))
    if partly or any(MORE in what for what in own):
        anew, complete = _found_anew(queue, number, out)
        own = anew if complete else [*own, *anew]
        later = [(other, what) for other, what in later if not _is_difference(queue, other, what)]
    sentences = []
    for what in own:
        others = sorted(set(map(int, _SUBMISSION.findall(what))))
        if others and out.issuperset(others):
            sentences.append(f"{what}, released as {' and '.join(map(str, others))}")
    return [*sentences, *(f"released as {other}, with this one: {what}" for other, what in later)]


def _is_difference(queue: Queue, number: int, what: str) -> bool:
    return (what,) in queue.connection.execute(_OWN, (number,)).fetchall()


def _found_anew(queue: Queue, number: int, out: Iterable[int]) -> tuple[list[str], bool]:
    """What is shown of a submission gives away with what is released; whether that is all."""
    shown = {one: shown_tables(queue, one) for one in (number, *sorted(out))}
    tables, _ = shown.pop(number) or ([], [])
    earlier = [one for other in shown.values() if other is not None for one in other[0]]
    limits, until = SafeLimits(minimum=queue.settings.minimum), time.monotonic() + _SECONDS
    together, complete = difference_findings(tables, limits=limits, earlier=earlier, until=until)
    if stopped(queue, number) or any(stopped(queue, one) for one in shown):
        together += linked_findings(tables, limits=limits, earlier=earlier, until=until)
    return [one.what.replace(f"submission {number}, ", "") for one in together], complete


def stopped(queue: Queue, number: int) -> bool:
    """Whether a submission has no outputs, or its run ended with an error."""
    query = "SELECT count(*) FROM files WHERE submission = ? AND role = 'output'"
    failed = "SELECT count(*) FROM findings WHERE submission = ? AND stage = 'run'"
    outputs = queue.connection.execute(query, (number,)).fetchone()[0]
    errors = queue.connection.execute(f"{failed} AND severity = 'error'", (number,)).fetchone()[0]
    return not outputs or bool(errors)


def released_numbers(queue: Queue) -> frozenset[int]:
    """The submissions that are released, or about to be."""
    return frozenset(number for (number,) in queue.connection.execute(_RELEASED))


def tables_of_others(queue: Queue) -> dict[int, tuple[list[ShownTable], list[str]]]:
    """What all submissions show that are released or may still be, without what is held back.

    One that stopped is no witness until it is released.
    """
    tables = {}
    released = released_numbers(queue)
    for (number,) in queue.connection.execute("SELECT id FROM submissions").fetchall():
        with intact(f"submission {number}"):
            open_now = standing(events(queue.connection, number)).state.open
        if number in released or (open_now and not stopped(queue, number)):
            shown = shown_tables(queue, number)
            if shown is not None:
                tables[number] = shown
    return tables


def shown_tables(queue: Queue, number: int) -> tuple[list[ShownTable], list[str]] | None:
    """What a submission shows, without what is held back; None if nobody knows."""
    path = queue.store(queue.told(number, "token")) / TABLES
    if not path.is_file():
        return None
    held = _held_tables(queue, number)
    return shown_by(path, number, lambda name: not held(name))


def all_tables(queue: Queue, number: int) -> list[ShownCounts]:
    """The cells and records of all tables of a submission, held back or not."""
    path = queue.store(queue.told(number, "token")) / TABLES
    tables = read_tables(path.read_bytes())[0] if path.is_file() else []
    return [one.place if isinstance(one, ShownSums) else one for one in tables]
