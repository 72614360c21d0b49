"""The database of the queue: an append-only record that survives any interruption.

In: a folder (CONFIDENTIAL). Out: connections, transactions, a lock that ends with its process,
and errors in words of the officers with a code.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import OutputCheckError
from discreet_fire.append_only import PATIENCE, AppendOnlyForm


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
        raise _database_error(error, where) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(where) from None
        message = f"the queue cannot be read or written ({error.strerror})"
        raise queue_error(message, "queue-folder", where, "check the permissions") from None


@contextmanager
def intact(where: str) -> Iterator[None]:
    """Say in plain words that what was read is not what was written."""
    try:
        yield
    except (ValueError, TypeError, KeyError):
        hint = "run: discreet fire queue verify"
        raise queue_error("the log was changed", "queue-damaged", where, hint) from None


def _database_error(error: sqlite3.Error, where: str) -> OutputCheckError:
    text = str(error)
    if "full" in text:
        return _full(where)
    if "locked" in text or "busy" in text:
        hint = "try again; nothing was changed"
        return queue_error("another process is writing to the queue", "queue-busy", where, hint)
    if "readonly" in text or "unable to open" in text:
        hint = "check the permissions of the folder and its files"
        return queue_error("the queue cannot be written", "queue-folder", where, hint)
    if "never changed" in text:
        return queue_error("the log of the queue cannot be changed", "queue-record", where)
    if isinstance(error, sqlite3.IntegrityError):
        return queue_error("the log of the queue is inconsistent", "queue-record", where)
    hint = "keep the file, and restore the last backup next to it"
    return queue_error("the database of the queue is damaged", "queue-damaged", where, hint)


def _full(where: str) -> OutputCheckError:
    hint = "free disk space, and decide again; no decision was saved"
    return queue_error("the disk is full", "disk-full", where, hint)


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


def lay_out(path: Path) -> None:
    """Make the database of a new queue, in a file that is empty or missing."""
    kinds = ("events", "files", "findings", "universes")
    _FORM.lay_out(path, [(f"CREATE INDEX {kind}_of ON {kind} (submission)", ()) for kind in kinds])


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold a lock that several processes may hold; it ends with the process, however that ends."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
    finally:
        connection.close()


@contextmanager
def sole_lock(path: Path) -> Iterator[bool]:
    """Hold the lock alone, if nobody holds it.

    Yields:
        Whether it is held.
    """
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            yield False
            return
        yield True
    finally:
        connection.close()
