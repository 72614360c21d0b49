"""A queue: a folder that only the centre can read.

In: the path of the folder. Out: `Queue`, which the other modules work on. CONFIDENTIAL.

    queue.sqlite   the record          queue.key   what it is sealed with
    queue.lock     who is at work      store/      the files of submissions
    released/      what was released, unless another place is named
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from discreet.files import TEMPORARY_SUFFIX
from discreet.microdata import Secret
from discreet_fire.append_only import transaction
from discreet_fire.ledger import UnitKey
from discreet_fire.persons import plain_name, plain_text, same_person
from discreet_fire.queue import database
from discreet_fire.queue.database import intact, queue_error, translated
from discreet_fire.queue.record import Event, head, last_settings, seal
from discreet_fire.queue.settings import QueueSettings

#: Files of a release beside the outputs.
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
RESERVED = frozenset((MANIFEST.casefold(), SUMS.casefold()))


class Queue:
    """An open queue (confidential).

    >>> import tempfile
    >>> queue = Queue.create(Path(tempfile.mkdtemp()) / "q", QueueSettings(persons=("Anna",)))
    >>> queue.settings.persons
    ('Anna',)
    >>> queue.close()
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, secret: Secret) -> None:
        self.folder = folder
        self.connection = connection
        self.record_key = secret.derive("discreet: record of a review queue")
        self.units = UnitKey(secret)
        self._draw_key = secret.derive("discreet: drawing outputs for control")

    @classmethod
    def create(cls, folder: str | os.PathLike[str], settings: QueueSettings) -> Queue:
        """Make a new queue."""
        place = Path(folder)
        with translated(str(place)):
            new = not place.exists() or (place.is_dir() and not any(place.iterdir()))
            if place.is_symlink() or not new:
                hint = "name a new folder"
                raise queue_error("the folder exists already", "queue-exists", str(place), hint)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.chmod(0o700)
            for name in ("store", "released"):
                (place / name).mkdir(mode=0o700)
            secret = Secret.generate()
            secret.write(place / "queue.key")
            database.lay_out(place / "queue.sqlite")
            queue = cls(place, database.connect(place / "queue.sqlite"), secret)
        why, facts = "the queue was created", settings.to_dict()
        with queue.writing():
            queue.append("settings", person=settings.persons[0], reason=why, payload=facts)
        return queue

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Queue:
        """Open a queue as it is; `open_queue` also puts right what an interruption left."""
        place = Path(folder)
        path = place / "queue.sqlite"
        if not path.is_file():
            hint = "create one with: discreet fire queue init"
            raise queue_error("no queue in this folder", "queue-missing", str(place), hint)
        with translated(str(path)), intact(str(path)):
            secret = Secret.from_file(place / "queue.key")
            queue = cls(place, database.connect(path), secret)
            try:
                _ = queue.settings
            except BaseException:
                queue.close()
                raise
        return queue

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Queue (confidential)>"

    # --- settings ------------------------------------------------------------------

    @property
    def settings(self) -> QueueSettings:
        """How the queue works now."""
        with translated(str(self.folder)):
            last = last_settings(self.connection)
        if last is not None and seal(self.record_key, last) == last.digest:
            with suppress(ValueError, TypeError, KeyError):
                return QueueSettings.from_dict(last.facts)
        message = "the settings of the queue cannot be read"
        hint = "is queue.key the key that the queue was created with?"
        raise queue_error(message, "queue-damaged", str(self.folder), hint)

    def add_person(self, name: str, *, by: str, reason: str) -> None:
        """Let another person decide."""
        with self.writing():
            now = self.settings
            person = now.person(by)
            if any(same_person(name, other) for other in now.persons):
                message = "a person with the same or a similar name exists"
                raise queue_error(message, "queue-settings", plain_name(name))
            facts = {**now.to_dict(), "persons": [*now.persons, plain_name(name)]}
            self.append("settings", person=person, reason=reason, payload=facts)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the queue, whatever others write meanwhile."""
        where = str(self.folder)
        with translated(where), intact(where):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")

    # --- writing -------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all or nothing, and on the disk when it ends."""
        where = str(self.folder)
        with translated(where), intact(where), transaction(self.connection):
            yield

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Tell others that files of the queue are being written."""
        with translated(str(self.folder)), database.shared_lock(self.folder / "queue.lock"):
            yield

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nobody writes files, and nobody else will until the block ends."""
        with translated(str(self.folder)), database.sole_lock(self.folder / "queue.lock") as held:
            yield held

    def append(
        self,
        kind: str,
        *,
        person: str,
        reason: str,
        submission: int | None = None,
        payload: dict[str, object] | None = None,
    ) -> str:
        """Add an entry to the record, within `writing`; its digest."""
        if not reason.strip():
            raise queue_error("a reason is required", "reason", "", "add --reason")
        last, previous = head(self.connection)
        event = Event(
            seq=last + 1,
            submission=submission,
            kind=kind,
            person=person,
            reason=plain_text(reason, "reason"),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            payload=json.dumps(payload or {}, ensure_ascii=False, sort_keys=True),
            previous=previous,
            digest="",
        )
        digest = seal(self.record_key, event)
        values = (*list(vars(event).values())[:-1], digest)
        self.connection.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?)", values)
        return digest

    def drawn(self, fingerprint: str, rate: float) -> bool:
        """Whether an output is drawn for control: keyed, and the same each time."""
        digest = hmac.new(self._draw_key, fingerprint.encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:8], "big") < rate * 2.0**64

    def store(self, token: str) -> Path:
        """The folder of the files of a submission."""
        return self.folder / "store" / token

    def told(self, number: int, column: str) -> Any:
        """What is written of a submission; None if there is none."""
        query = f"SELECT {column} FROM submissions WHERE id = ?"  # noqa: S608 - of this program
        row = self.connection.execute(query, (number,)).fetchone()
        return None if row is None else row[0]

    def rules(self, number: int) -> set[str]:
        """The rules of the findings about a submission."""
        query = "SELECT rule FROM findings WHERE submission = ?"
        return {rule for (rule,) in self.connection.execute(query, (number,))}

    def outputs(self, number: int) -> dict[str, str]:
        """The outputs of a submission, with their digests."""
        query = "SELECT name, sha256 FROM files WHERE submission = ? AND role = 'output'"
        return dict(self.connection.execute(f"{query} ORDER BY name", (number,)).fetchall())

    def files(self, number: int) -> list[tuple[str, str, str, int]]:
        """All files of a submission: role, name, digest, size."""
        query = "SELECT role, name, sha256, size FROM files WHERE submission = ? ORDER BY rowid"
        return list(self.connection.execute(query, (number,)).fetchall())

    def sweep(self) -> None:
        """Remove folders that an interruption left; nobody is at work."""
        known = {row[0] for row in self.connection.execute("SELECT token FROM submissions")}
        for path in (self.folder / "store").iterdir():
            if path.name not in known:
                shutil.rmtree(path)

    def interrupted(self) -> bool:
        """Whether there may be something to put right."""
        (open_ones,) = self.connection.execute(
            "SELECT coalesce(sum(CASE kind WHEN 'intent' THEN 1 ELSE -1 END), 0) FROM events "
            "WHERE kind IN ('intent', 'released', 'withdrawn')"
        ).fetchone()
        (count,) = self.connection.execute("SELECT count(*) FROM submissions").fetchone()
        more = len(list((self.folder / "store").iterdir())) > count
        return int(open_ones) > 0 or more or bool(left_over(self.folder / "released"))


def left_over(folder: Path) -> list[Path]:
    """Folders of releases that were begun and never appeared."""
    return sorted(folder.glob(f".release-*{TEMPORARY_SUFFIX}"))
