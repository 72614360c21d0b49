"""The trail: who did what, each entry sealed with the one before; signed heads show a missing end.
The query log beside it: who asked for what, and what became of it. CONFIDENTIAL: both name people,
until rows of the log are pseudonymised. Neither holds cells, keys or noise. Texts that could be
taken for something else on a screen or in a file are refused.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import TypeAdapter

from discreet.files import write_text
from discreet.release import key_id, public_bytes
from discreet_fire.persons import plain_name
from discreet_service.database import (
    AUDIT_ENTRIES,
    AUDIT_HEADS,
    QUERY_LOG,
    RowPage,
    ServiceDatabase,
    Statement,
    WriteBatch,
    equal_to,
    insert_row,
    newest_rows,
)
from discreet_service.problems import ServiceError

#: What a fact can be.
FactValue = str | int | bool | None | Sequence[str]

_LONGEST_TEXT, _LONGEST_FACTS = 10_000, 50_000
#: Letters that show nothing, although they count as printable.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class AuditKind(StrEnum):
    """Everything that the trail tells of.

    Each kind names the facts that an entry of it must have; none has them by default.

    >>> AuditKind.role_granted.needs
    ('role', 'dataset')
    """

    needs: tuple[str, ...]

    def __new__(cls, value: str, needs: tuple[str, ...]) -> Self:
        """A kind of a name, with the facts it needs."""
        made = str.__new__(cls, value)
        made._value_, made.needs = value, needs
        return made

    login = ("login", ("method",))
    login_refused = ("login_refused", ("method",))
    logout = ("logout", ())
    user_created = ("user_created", ())
    user_disabled = ("user_disabled", ())
    user_enabled = ("user_enabled", ())
    password_reset = ("password_reset", ())
    password_changed = ("password_changed", ())
    role_granted = ("role_granted", ("role", "dataset"))
    role_withdrawn = ("role_withdrawn", ("role", "dataset"))
    key_created = ("key_created", ("key", "expires"))
    key_revoked = ("key_revoked", ("key",))

    proposed = ("proposed", ("kind", "proposal", "digest"))
    approved = ("approved", ("kind", "proposal", "digest"))
    rejected = ("rejected", ("kind", "proposal"))
    proposal_withdrawn = ("proposal_withdrawn", ("kind", "proposal"))
    proposal_expired = ("proposal_expired", ("kind", "proposal"))

    parameters_imported = ("parameters_imported", ("version", "digest", "signer"))
    parameters_activated = ("parameters_activated", ("version", "digest", "proposal"))
    parameters_retired = ("parameters_retired", ("version", "digest", "proposal"))
    policy_changed = ("policy_changed", ("version", "digest", "signer", "proposal"))
    dataset_published = ("dataset_published", ("version", "fingerprint"))
    dataset_retired = ("dataset_retired", ("version",))
    refusal_overridden = ("refusal_overridden", ("rule", "digest", "proposal"))
    refusal_explained = ("refusal_explained", ("digest",))

    programme_uploaded = ("programme_uploaded", ("digest",))
    release_published = ("release_published", ("digest",))
    publication_undone = ("publication_undone", ("digest",))
    outputs_submitted = ("outputs_submitted", ("digest",))
    output_decided = ("output_decided", ("decision",))
    outputs_released = ("outputs_released", ("digest",))
    outputs_fetched = ("outputs_fetched", ("file", "digest"))
    report_exported = ("report_exported", ("report", "digest"))
    design_exported = ("design_exported", ("version",))
    draft_signed = ("draft_signed", ("version", "signer"))
    draft_looked_at = ("draft_looked_at", ("version",))
    true_values_shown = ("true_values_shown", ("unit", "by", "cells"))
    job_released = ("job_released", ("kind", "digest", "bytes"))

    trail_verified = ("trail_verified", ("entries", "whole"))
    trail_exported = ("trail_exported", ("entries",))
    head_signed = ("head_signed", ("seq", "digest", "key_id"))
    log_read = ("log_read", ())
    log_pseudonymised = ("log_pseudonymised", ("before", "rows"))
    log_deleted = ("log_deleted", ("before", "rows"))


def facts_text(kind: AuditKind, facts: Mapping[str, Any] | None) -> str:
    """The facts of an entry as one text, the same for the same facts.

    >>> facts_text(AuditKind.login, {"method": "oidc"})
    '{"method":"oidc"}'
    >>> facts_text(AuditKind.login, {})
    Traceback (most recent call last):
        ...
    ValueError: an entry of the kind login needs: method
    """
    values = dict(facts or {})
    missing = [name for name in kind.needs if values.get(name) is None]
    if missing:
        # A mistake of the program, not of whoever asks.
        raise ValueError(f"an entry of the kind {kind.value} needs: {', '.join(missing)}")
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = shown_text(value, name)
        elif isinstance(value, list | tuple):
            values[name] = [shown_text(item, name) for item in value]
        elif value is not None and not isinstance(value, int):
            raise ValueError(f"{name}: facts are texts, whole numbers, true, false, lists of texts")
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) > _LONGEST_FACTS:
        raise ServiceError("too many facts", "invalid-input", "facts")
    return text


def shown_text(text: str, where: str, longest: int = _LONGEST_TEXT) -> str:
    r"""A text of which every character shows, on one line; an error if it is none.

    >>> shown_text("Zensus 2022", "about")
    'Zensus 2022'
    >>> shown_text("anna\n2 role_granted", "about")
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] about: this holds characters that ...
    """
    plain = unicodedata.normalize("NFC", text)
    if len(plain) > longest:
        raise ServiceError(f"longer than {longest:,} characters", "invalid-input", where)
    if not plain.isprintable() or _UNSEEN.search(plain):
        message, hint = "contains invisible or misleading characters", "write it on one line"
        raise ServiceError(message, "invalid-input", where, hint)
    return plain


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


_LONGEST_QUERY, _LONGEST_NAME = 200_000, 200
_ROW = Statement(sa.insert(QUERY_LOG), [one.name for one in QUERY_LOG.c if one.name != "id"])


class LogMode(StrEnum):
    """Kind of the request in a row."""

    cells = "cells"
    query = "query"
    check = "check"
    job = "job"
    release = "release"


class LogVerdict(StrEnum):
    """Outcome of a request."""

    answered = "answered"
    deferred = "deferred"
    refused = "refused"


def shown_query(row: sa.Row[Any]) -> dict[str, Any]:
    """A row of the log as it is shown."""
    parsed = {"query": json.loads(row.query), "rules": json.loads(row.rules)}
    return {**row._asdict(), **parsed, "at": utc(row.at)}


class QueryLog:
    """The log of queries."""

    def __init__(self, database: ServiceDatabase, key: bytes, clock: Callable[[], int]) -> None:
        self._database, self._key, self._clock = database, key, clock

    def append(self, **facts: Any) -> None:
        """Write a request down, before its answer goes out: the facts of `row`."""
        self._database.batched(partial(self.write, self.row(**facts)))

    def write(self, row: Mapping[str, Any], batch: WriteBatch) -> None:
        """Write a row together with what else a batch writes."""
        _ROW.change(batch.connection, **{**row, "at": self._clock()})

    @staticmethod
    def row(
        *,
        principal: str,
        mode: LogMode,
        verdict: LogVerdict,
        query: Mapping[str, Any],
        digest: str,
        caller_key: str = "",
        dataset: str = "",
        version: str = "",
        parameters: str = "",
        rules: Sequence[str] = (),
        cells: int = 0,
        milliseconds: int = 0,
        cache_hit: bool = False,
        bytes: int = 0,  # noqa: A002
    ) -> dict[str, Any]:
        """A request as it is written down."""
        names = {"principal": principal, "caller_key": caller_key, "dataset": dataset}
        names |= {"version": version, "digest": digest, "parameters": parameters}
        row: dict[str, Any] = {
            name: shown_text(text, name, _LONGEST_NAME) for name, text in names.items()
        }
        # A query as one text, in ASCII on one line.
        canonical = json.dumps(query, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if len(canonical) > _LONGEST_QUERY:
            # What is too long to be written down is told by its digest alone.
            canonical = json.dumps({"too_long": len(canonical)})
        row |= {"query": canonical, "rules": json.dumps([*rules])}
        row |= {"mode": mode.value, "verdict": verdict.value}
        row |= {"cells": cells, "milliseconds": milliseconds, "bytes": bytes}
        return row | {"cache_hit": cache_hit, "pseudonymised": False}

    def search(self, **wanted: Any) -> RowPage:
        """Rows by principal, data set, digest and verdict, the newest first, as `newest_rows`."""
        with self._database.reading() as connection:
            return newest_rows(connection, QUERY_LOG, QUERY_LOG.c.id, **wanted)

    def pseudonym(self, name: str) -> str:
        """Pseudonym that replaces a name after some time: stable, and secret without the key."""
        return "~" + hmac.digest(self._key, name.encode(), "sha256").hex()[:24]

    def pseudonymise(self, before: int, trail: AuditTrail, person: str) -> int:
        """Take names out of old rows; who asked several times is still one; how many rows."""
        columns, count = QUERY_LOG.c, 0
        old = sa.and_(columns.at < before, columns.pseudonymised.is_(False))
        names = sa.select(columns.principal, columns.caller_key).where(old).distinct()
        with self._database.writing() as connection:
            for principal, caller_key in connection.execute(names).all():
                one = equal_to(QUERY_LOG, principal=principal, caller_key=caller_key)
                values = {
                    "principal": self.pseudonym(principal),
                    "caller_key": self.pseudonym(caller_key) if caller_key else "",
                    "pseudonymised": True,
                }
                change = sa.update(QUERY_LOG).where(old, *one).values(**values)
                count += connection.execute(change).rowcount
            if count:
                facts = {"before": utc(before), "rows": count}
                trail.append(connection, AuditKind.log_pseudonymised, person, facts=facts)
        return count

    def delete(self, before: int, trail: AuditTrail, person: str) -> int:
        """Delete old rows, of which names were taken out before; how many."""
        old = sa.and_(QUERY_LOG.c.at < before, QUERY_LOG.c.pseudonymised)
        with self._database.writing() as connection:
            count = connection.execute(sa.delete(QUERY_LOG).where(old)).rowcount
            if count:
                facts = {"before": utc(before), "rows": count}
                trail.append(connection, AuditKind.log_deleted, person, facts=facts)
        return count
