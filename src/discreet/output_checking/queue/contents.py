"""What belongs to a submission, and whether it still is what was handed in.

In: a queue and the number of a submission. Out: digests, and what is wrong in words.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

from discreet.output_checking.queue.errors import intact, queue_error
from discreet.output_checking.queue.folder import Queue
from discreet.output_checking.queue.record import Event, events, seal

__all__ = ["check_contents", "content_digest", "content_problems", "digest_of"]

#: All that belongs to a submission.
_CONTENT = {
    "submissions": "SELECT * FROM submissions WHERE id = ?",
    "files": "SELECT * FROM files WHERE submission = ? ORDER BY rowid",
    "findings": "SELECT * FROM findings WHERE submission = ? ORDER BY rowid",
    "universes": "SELECT * FROM universes WHERE submission = ? ORDER BY rowid",
}


def content_digest(connection: sqlite3.Connection, number: int) -> str:
    """The digest of all that belongs to a submission, which its entry in the record seals.

    Args:
        connection: To the database.
        number: Of the submission.
    """
    found = hashlib.sha256()
    for table, query in _CONTENT.items():
        rows = connection.execute(query, (number,))
        for row in rows:
            plain = [value.hex() if isinstance(value, bytes) else value for value in row]
            found.update(json.dumps([table, *plain]).encode())
    return found.hexdigest()


def content_problems(queue: Queue, number: int, own: list[Event]) -> list[str]:
    """What of a submission is not what was handed in.

    Args:
        queue: The queue.
        number: The submission.
        own: Its entries in the record.
    """
    if not own or own[0].kind != "submitted":
        return ["the record does not say that it was handed in"]
    found = []
    if own[0].facts.get("content") != content_digest(queue.connection, number):
        found.append("what belongs to it was changed")
    row = queue.connection.execute(
        "SELECT token FROM submissions WHERE id = ?", (number,)
    ).fetchone()
    rows = queue.connection.execute(
        "SELECT role, name, sha256 FROM files WHERE submission = ?", (number,)
    )
    for role, name, digest in rows.fetchall() if row is not None else ():
        path = queue.store(row[0]) / ("program" if role == "program" else "outputs") / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif digest_of(path) != digest:
            found.append(f"{name} was changed")
    return found


def check_contents(queue: Queue, number: int) -> None:
    """Refuse to go on with a submission that is not what was handed in and decided on.

    Args:
        queue: The queue.
        number: The submission.
    """
    where = f"submission {number}"
    with intact(where):
        own = list(events(queue.connection, number))
        found = content_problems(queue, number, own)
        if any(seal(queue.record_key, event) != event.digest for event in own):
            found.append("an entry of the record was changed or added")
    if found:
        what = f"it is not what was handed in: {'; '.join(found[:5])}"
        hint = "do not decide on it; look at: discreet fire queue verify"
        raise queue_error(what, "queue-damaged", where, hint)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
