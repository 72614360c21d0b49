"""Databases in SQLite whose rows are added and never changed, and which survive any interruption.

In: a file and the form of its tables. Out: connections, and transactions that are on the disk
when they end. The queue and the ledger of answers are such files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PATIENCE", "AppendOnlyForm", "transaction"]

#: Seconds that one waits for others; looking through a large ledger takes some.
PATIENCE = 120.0


@dataclass(frozen=True, kw_only=True)
class AppendOnlyForm:
    """Tables of an append-only database."""

    application: int  # what tells it from other databases
    version: int  # of the form
    tables: Mapping[str, str]  # their columns
    refusal: str  # what the database says when a row would be changed

    def lay_out(self, path: Path, first: Sequence[tuple[str, Sequence[object]]] = ()) -> None:
        """Make a database."""
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            path.chmod(0o600)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            with transaction(connection):
                for name, columns in self.tables.items():
                    connection.execute(f"CREATE TABLE {name} ({columns}) STRICT")
                for statement, values in first:
                    connection.execute(statement, values)
                for name in self.tables:
                    for change in ("UPDATE", "DELETE"):
                        connection.execute(
                            f"CREATE TRIGGER {name}_{change.lower()} BEFORE {change} ON {name} "
                            f"BEGIN SELECT RAISE(ABORT, '{self.refusal}'); END"
                        )
                connection.execute(f"PRAGMA application_id = {self.application}")
                connection.execute(f"PRAGMA user_version = {self.version}")

    def connect(self, path: Path) -> tuple[sqlite3.Connection, tuple[int, int]]:
        """Open a database; with it come its application and version, which may be others."""
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection, (application, version)


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
