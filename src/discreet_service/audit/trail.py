"""The trail: who did what, each entry sealed with the one before; signed heads show a missing end.
CONFIDENTIAL: it names people. It never holds cells, keys or noise.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import TypeAdapter

from discreet.files import write_text
from discreet.release import key_id, public_bytes
from discreet_fire.persons import plain_name
from discreet_service.audit.kinds import AuditKind, facts_text, shown_text
from discreet_service.database import (
    AUDIT_ENTRIES,
    AUDIT_HEADS,
    RowPage,
    ServiceDatabase,
    insert_row,
    newest_rows,
)
from discreet_service.problems import ServiceError

#: What is signed begins with this: the signature is good for nothing else.
_PURPOSE = "discreet audit head 1"
_LONGEST_FILE = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedHead:
    """Signed head of the trail.

    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    >>> head = SignedHead.sign(key, seq=3, digest="ab", at=0)
    >>> head.is_signed_by([public_bytes(key)]), head.is_signed_by([bytes(32)])
    (True, False)
    """

    seq: int  # Number of the last entry; 0 for none
    digest: str
    at: int  # When this was signed, in milliseconds
    key_id: str  # Short name of the key that signs
    signature: str  # The signature, in hexadecimal digits

    @classmethod
    def sign(cls, key: Ed25519PrivateKey, *, seq: int, digest: str, at: int) -> Self:
        """Sign a head."""
        name = key_id(public_bytes(key))
        signature = key.sign(_signed(seq, digest, at, name)).hex()
        return cls(seq=seq, digest=digest, at=at, key_id=name, signature=signature)

    def is_signed_by(self, keys: Sequence[bytes]) -> bool:
        """Whether one of these public keys signed it."""
        for key in keys:
            if key_id(key) != self.key_id:
                continue
            try:
                message = _signed(self.seq, self.digest, self.at, self.key_id)
                Ed25519PublicKey.from_public_bytes(key).verify(
                    bytes.fromhex(self.signature), message
                )
            except (InvalidSignature, ValueError):
                return False
            return True
        return False

    def write(self, folder: Path) -> Path:
        """Write it to a folder; its file has the number of the entry in its name."""
        place = folder / f"head-{self.seq:012d}-{self.at}.json"
        values = {name: getattr(self, name) for name in self.__slots__}
        write_text(place, json.dumps(values, indent=1) + "\n")
        return place

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read one; whether it is genuine, `is_signed_by` tells."""
        try:
            with Path(path).open("rb") as file:
                return TypeAdapter(cls).validate_json(file.read(_LONGEST_FILE), strict=True)
        except (OSError, ValueError):
            hint, message = "use the files head-….json of the service", "not a signed checkpoint"
            message += " of an audit trail"
            raise ServiceError(message, "invalid-input", "head", hint) from None


def _signed(seq: int, digest: str, at: int, name: str) -> bytes:
    return json.dumps([_PURPOSE, seq, digest, at, name]).encode()


#: What the first entry is sealed with.
START = "0" * 64

_LONGEST_ABOUT = 500
_BATCH = 5_000
#: So many places where the trail is broken are told.
_MOST_TOLD = 20


#: The columns of an entry: all but the last are sealed in it.
_COLUMNS = tuple(column.name for column in AUDIT_ENTRIES.c)


def shown_entry(row: sa.Row[Any]) -> dict[str, Any]:
    """An entry as it is shown and exported."""
    times = {"at": utc(row.at), "milliseconds": row.at}
    return {"seq": row.seq, **times, **row._asdict(), **times, "facts": json.loads(row.facts)}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrailVerdict:
    """Whether the trail is as it was written."""

    entries: int  # How many entries there are
    digest: str  # Digest of the last
    heads: int  # How many signed heads were compared
    problems: tuple[str, ...]  # What is wrong, with the number of the entry

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for pages and files."""
        return {"entries": self.entries, "whole": self.whole, "heads": self.heads}


class AuditTrail:
    """The trail of a service."""

    def __init__(self, database: ServiceDatabase, key: bytes, clock: Callable[[], int]) -> None:
        self._database, self._key, self._clock = database, key, clock

    def append(
        self,
        connection: sa.Connection,
        kind: AuditKind,
        person: str,
        about: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write an act down; it stands there if the transaction ends well, as the act does."""
        name = plain_name(shown_text(person, "person"))
        place = shown_text(about, "about", _LONGEST_ABOUT)
        text = facts_text(kind, facts)
        self._database.serialise(connection)
        last, previous = _head(connection)
        parts = (last + 1, self._clock(), kind.value, name, place, text, previous)
        sealed = (*parts, _seal(self._key, parts))
        insert_row(connection, AUDIT_ENTRIES, **dict(zip(_COLUMNS, sealed, strict=True)))

    def head(self) -> tuple[int, str]:
        """Number and digest of the last entry."""
        with self._database.reading() as connection:
            return _head(connection)

    def sign_head(self, key: Ed25519PrivateKey, folder: Path, person: str) -> SignedHead:
        """Sign how far the trail went, and write it to a folder whose files are carried off."""
        with self._database.writing() as connection:
            self._database.serialise(connection)
            seq, digest = _head(connection)
            head = SignedHead.sign(key, seq=seq, digest=digest, at=self._clock())
            values = {name: getattr(head, name) for name in head.__slots__}
            insert_row(connection, AUDIT_HEADS, **values)
            facts = {"seq": seq, "digest": digest, "key_id": head.key_id}
            self.append(connection, kind=AuditKind.head_signed, person=person, facts=facts)
            # The file comes last: without it nothing was signed.
            head.write(folder)
        return head

    def last_signed(self) -> SignedHead | None:
        """The head that was signed last."""
        with self._database.reading() as connection:
            asked = sa.select(*_HEAD_COLUMNS).order_by(AUDIT_HEADS.c.id.desc()).limit(1)
            row = connection.execute(asked).first()
        return None if row is None else SignedHead(**row._asdict())

    def verify(self, heads: Sequence[SignedHead] = (), keys: Sequence[bytes] = ()) -> TrailVerdict:
        """Walk the whole trail, and say where it is not as it was written."""
        problems: list[str] = []
        with self._database.reading() as connection:
            kept = connection.execute(sa.select(*_HEAD_COLUMNS).order_by(AUDIT_HEADS.c.id))
            known = [*heads, *(SignedHead(**row._asdict()) for row in kept)]
            expected = {head.seq: START if head.seq == 0 else "" for head in known}
            seq, previous = 0, START
            frame = sa.select(AUDIT_ENTRIES).order_by(AUDIT_ENTRIES.c.seq)
            entries = connection.execute(frame.execution_options(yield_per=_BATCH))
            for row in map(tuple, entries):
                seq += 1
                if row[0] != seq:
                    problems.append(f"entry {seq}: missing or out of order")
                    seq = row[0]
                elif row[6] != previous:
                    problems.append(f"entry {seq}: not chained to the previous entry")
                if not hmac.compare_digest(row[7], _seal(self._key, row[:7])):
                    problems.append(f"entry {seq}: changed")
                previous = row[7]
                if seq in expected:
                    expected[seq] = previous
        for head in known:
            if keys and not head.is_signed_by(keys):
                problems.append(f"checkpoint {head.seq}: signed with an unknown key")
            elif head.seq > seq:
                problems.append(f"checkpoint {head.seq}: the trail ends earlier, at {seq}")
            elif expected[head.seq] != head.digest:
                problems.append(f"checkpoint {head.seq}: the entry differs")
        if len(problems) > _MOST_TOLD:
            problems[_MOST_TOLD:] = [f"and {len(problems) - _MOST_TOLD:,} more"]
        return TrailVerdict(
            entries=seq, digest=previous, heads=len(known), problems=tuple(problems)
        )

    def search(self, **wanted: Any) -> RowPage:
        """Entries by kind, person and what they are about, the newest first, as `newest_rows`."""
        with self._database.reading() as connection:
            return newest_rows(connection, AUDIT_ENTRIES, AUDIT_ENTRIES.c.seq, **wanted)

    def export(self) -> Iterator[str]:
        """The trail up to now as lines of JSON, in ASCII, oldest first."""
        last, _ = self.head()
        done = 0
        while done < last:
            # Each batch by itself: a slow reader holds no transaction open.
            number = AUDIT_ENTRIES.c.seq
            asked = sa.select(AUDIT_ENTRIES).where(number > done, number <= last)
            asked = asked.order_by(number).limit(_BATCH)
            with self._database.reading() as connection:
                rows = connection.execute(asked).all()
            if not rows:
                return
            for row in rows:
                yield json.dumps(shown_entry(row)) + "\n"
            done = rows[-1].seq


_HEAD_COLUMNS = tuple(AUDIT_HEADS.c[name] for name in SignedHead.__slots__)
#: Stands between the columns that are sealed; no entry holds it, for it does not show.
_BETWEEN = "\x1f"


def _seal(key: bytes, parts: Sequence[Any]) -> str:
    """The digest that an entry should have, of all its columns but that one in their order."""
    text = _BETWEEN.join(map(str, parts))
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def _head(connection: sa.Connection) -> tuple[int, str]:
    columns = AUDIT_ENTRIES.c
    asked = sa.select(columns.seq, columns.digest).order_by(columns.seq.desc()).limit(1)
    row = connection.execute(asked).first()
    return (0, START) if row is None else (row.seq, row.digest)


def utc(milliseconds: int) -> str:
    """A time as people and programs read it.

    >>> utc(1_800_000_000_123)
    '2027-01-15T08:00:00.123Z'
    """
    found = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{found:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
