"""What belongs to a submission: its files as they were handed in, and its universes.

In: a queue and the number of a submission (CONFIDENTIAL). Out: digests, what is wrong in words,
and conflicts with what is released, or being released, at this moment.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet_fire.ledger import (
    Conflict,
    LedgerUniverse,
    MarkIndex,
    Marks,
    ReleasedUniverses,
    conflicts_with,
    double_differences,
)
from discreet_fire.linked_tables import ShownTable
from discreet_fire.queue.database import intact, queue_error
from discreet_fire.queue.folder import Queue
from discreet_fire.queue.linked_submissions import TABLES, shown_by
from discreet_fire.queue.record import Event, events, seal, standing


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
        return ["the record does not say that it was handed in"]
    problems = []
    if own[0].facts.get("content") != content_digest(queue.connection, number):
        problems.append("what belongs to it was changed")
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
            problems.append("what its tables show was changed")
    return problems


def check_contents(queue: Queue, number: int) -> None:
    """Refuse to go on with a submission that is not what was handed in and decided on."""
    where = f"submission {number}"
    with intact(where):
        own = list(events(queue.connection, number))
        problems = content_problems(queue, number, own)
        if any(seal(queue.record_key, event) != event.digest for event in own):
            problems.append("an entry of the record was changed or added")
    if problems:
        message = f"it is not what was handed in: {'; '.join(problems[:5])}"
        hint = "do not decide on it; look at: discreet fire queue verify"
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


#: Universes that are released, or about to be: of an intent that was not withdrawn.
_OUT = """
SELECT submission, name, label, count, sums, marks FROM universes
WHERE submission IS NOT ? AND submission IN (
    SELECT submission FROM events WHERE kind IN ('intent', 'withdrawn') GROUP BY submission
    HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
)
ORDER BY submission, rowid
"""
_RELEASED = """
SELECT submission FROM events WHERE kind IN ('intent', 'withdrawn') GROUP BY submission
HAVING sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END) > 0
"""


def put_universes(queue: Queue, number: int, universes: Sequence[LedgerUniverse]) -> None:
    """Take down whom a submission is about, within a transaction."""
    for one in universes:
        sketch = one.sums.astype("<i8").tobytes(), one.marks.astype("<u4").tobytes()
        row = (number, one.table, one.label, one.count, *sketch)
        queue.connection.execute("INSERT INTO universes VALUES (?,?,?,?,?,?)", row)


def universes_in(queue: Queue, number: int) -> list[LedgerUniverse]:
    """Whom a submission is about."""
    query = "SELECT name, label, count, sums, marks FROM universes WHERE submission = ?"
    rows = queue.connection.execute(f"{query} ORDER BY rowid", (number,))
    with intact(f"submission {number}"):
        return [_universe(*row) for row in rows]


def shown_universes(queue: Queue, number: int) -> list[LedgerUniverse]:
    """Whom a submission is about, without outputs that are held back."""
    held = _held_tables(queue, number)
    return [one for one in universes_in(queue, number) if not held(one.table)]


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


#: Submissions of which something was decided output by output.
_DECIDED = "SELECT DISTINCT submission FROM events WHERE kind = 'decided'"


def released_universes(queue: Queue, without: int | None = None) -> ReleasedUniverses:
    """All universes that were released, or are about to be, but those of one submission."""
    singly = {number for (number,) in queue.connection.execute(_DECIDED)}
    rows = queue.connection.execute(_OUT, (without,)).fetchall()
    held = {number: _held_tables(queue, number) for number in singly & {row[0] for row in rows}}
    rows = [row for row in rows if row[0] not in held or not held[row[0]](row[1])]
    size = queue.settings.minimum
    data = b"".join(row[4] for row in rows)
    return ReleasedUniverses(
        names=[f"{row[1]}: {row[2]}" if row[2] else row[1] for row in rows],
        releases=np.array([row[0] for row in rows], dtype=np.int64),
        counts=np.array([row[3] for row in rows], dtype=np.int64),
        sums=np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(-1, 2, 2 * size - 1),
        marks=MarkIndex.of([_marks(row[5]) for row in rows]),
    )


def conflicts_now(
    queue: Queue, universes: Sequence[LedgerUniverse], without: int | None = None
) -> list[Conflict]:
    """Conflicts of universes with all that is released at this moment, but by one submission."""
    return conflicts_known(queue, universes, without)[0]


def conflicts_known(
    queue: Queue, universes: Sequence[LedgerUniverse], without: int | None = None
) -> tuple[list[Conflict], bool]:
    """The same, and whether differences of differences were all looked at."""
    with intact(str(queue.folder)):
        shelf = released_universes(queue, without)
    size = queue.settings.minimum
    conflicts = set(conflicts_with(universes, shelf, size=size))
    universes_known = {one.universe for one in conflicts}
    more, complete = double_differences(universes, shelf, size=size)
    conflicts |= {one for one in more if one.universe not in universes_known}
    return sorted(conflicts), complete


#: Findings of what is released that name a submission.
_NAMED = """
SELECT submission, what FROM findings WHERE rule = 'linked-tables' AND submission IS NOT ?1
AND instr(what || '; ' || hint, 'submission ' || ?1 || ', ') > 0
"""


def conflict_sentences(queue: Queue, number: int) -> list[str]:
    """What of a submission that is shown conflicts with all that is released at this moment."""
    conflicts = conflicts_now(queue, shown_universes(queue, number), without=number)
    out = released_numbers(queue)
    rows = queue.connection.execute(_NAMED, (number,)).fetchall()
    later = [
        f"released as {other}, with this one: {conflict}"
        for other, conflict in rows
        if other in out
    ]
    return [*map(str, conflicts), *later]


def released_numbers(queue: Queue) -> frozenset[int]:
    """The submissions that are released, or about to be."""
    return frozenset(number for (number,) in queue.connection.execute(_RELEASED))


def tables_of_others(queue: Queue) -> dict[int, tuple[list[ShownTable], list[str]]]:
    """What all submissions show that are released or may still be, without what is held back."""
    tables = {}
    released = released_numbers(queue)
    for number, token in queue.connection.execute("SELECT id, token FROM submissions").fetchall():
        path = queue.store(token) / TABLES
        with intact(f"submission {number}"):
            open_now = standing(events(queue.connection, number)).state.open
        if (open_now or number in released) and path.is_file():
            held = _held_tables(queue, number)
            tables[number] = shown_by(path, number, lambda name, held=held: not held(name))
    return tables


def _universe(table: str, label: str, count: int, sums: bytes, marks: bytes) -> LedgerUniverse:
    return LedgerUniverse(
        table=table,
        label=label,
        count=count,
        sums=np.frombuffer(sums, dtype="<i8").astype(np.int64).reshape(2, -1),
        marks=_marks(marks),
    )


def _marks(data: bytes) -> Marks:
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)
