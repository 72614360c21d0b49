"""The database of the queue: an append-only record that survives any interruption.

In: a folder. Out: connections, transactions, and a lock that ends with its process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.output_checking.queue.errors import queue_error

__all__ = ["VERSION", "connect", "lay_out", "shared_lock", "sole_lock", "transaction"]

VERSION = 2
#: What tells a queue from other databases: the letters "DiQu".
_APPLICATION = 0x44695175
#: Seconds that one waits for others; looking through a large ledger takes some.
_PATIENCE = 120.0

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


def connect(path: Path) -> sqlite3.Connection:
    """Open the database of a queue.

    Args:
        path: Its file; it must exist.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
    )
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            hint = "make a queue with: discreet fire queue init"
            raise queue_error("this is no queue", "queue-damaged", str(path), hint)
        if version != VERSION:
            hint = "use the version of discreet that made it"
            what = f"the queue has form {version}; this program knows form {VERSION}"
            raise queue_error(what, "queue-version", str(path), hint)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def lay_out(path: Path) -> None:
    """Make the database of a new queue.

    Args:
        path: Its file, which is empty or missing.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection):
            for name, columns in _TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({columns}) STRICT")
                for change in ("UPDATE", "DELETE"):
                    connection.execute(
                        f"CREATE TRIGGER {name}_{change.lower()} BEFORE {change} ON {name} "
                        "BEGIN SELECT RAISE(ABORT, 'the record is never changed'); END"
                    )
            connection.execute("CREATE INDEX events_of ON events (submission)")
            connection.execute("CREATE INDEX files_of ON files (submission)")
            connection.execute("CREATE INDEX findings_of ON findings (submission)")
            connection.execute("CREATE INDEX universes_of ON universes (submission)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    finally:
        connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block, or nothing; others wait until it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold a lock that several processes may hold; it ends with the process, however that ends.

    Args:
        path: The file of the lock.
    """
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
    finally:
        connection.close()


@contextmanager
def sole_lock(path: Path) -> Iterator[bool]:
    """Hold the lock alone, if nobody holds it.

    Args:
        path: The file of the lock.

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
