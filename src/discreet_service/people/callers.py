"""Callers: keys of programs and logins of browsers, and whom they stand for. SECRET: keys and
cookies; the database holds their digests. A key never may more than whom it belongs to, and ends
with them; a session ends after some hours, after some idle minutes, at logout, and whenever rights
or password change.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial

import sqlalchemy as sa

from discreet.confidential import without_values
from discreet_fire.persons import look_of, plain_name
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    API_KEYS,
    LOGIN_ATTEMPTS,
    SESSIONS,
    USERS,
    ServiceDatabase,
    change_rows,
    drop_rows,
    insert_row,
    record_of,
    row_of,
)
from discreet_service.people.oidc import LoginAttempt
from discreet_service.people.users import SYSTEM, UserAccount, grants_held
from discreet_service.permissions import ALL, Grant, Permission, Principal
from discreet_service.problems import ServiceError

#: dsc, the visible part, and 256 random bits.
_TOKEN = re.compile(r"dsc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_VISIBLE = re.compile(r"[0-9a-f]{12}")
_DAY = 86_400_000
_LONGEST_DAYS = 730
_MOST_KEYS, _MOST_GRANTS = 50, 100
#: Keys with their owners.
_KEYS = sa.select(API_KEYS, USERS.c.name.label("owner"), USERS.c.disabled).join(
    USERS, USERS.c.id == API_KEYS.c.user_id
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """Public facts about an API key."""

    id: str  # Its visible part
    name: str
    owner: str  # Whom it belongs to
    grants: tuple[Grant, ...]  # What it may, as long as its owner may
    created: int  # When it was made, in milliseconds
    expires: int  # When it ends
    last_used: int | None  # The hour in which it was used last; None if never
    revoked: int | None  # When it was taken back; None if it was not


@dataclass(frozen=True, kw_only=True, slots=True)
class NewApiKey:
    """A new key, which is shown this once."""

    key: ApiKey  # What may be shown later
    token: str = field(repr=False)  # The key itself. SECRET.


class ApiKeys:
    """All keys of a service."""

    def __init__(
        self, database: ServiceDatabase, trail: AuditTrail, clock: Callable[[], int]
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._used: dict[str, int] = {}  # In which hour keys were used last, as far as noted

    @without_values
    def principal(self, token: str) -> Principal | None:
        """Whom a key stands for; None if it is none, or no longer."""
        read = _TOKEN.fullmatch(token)
        if read is None:
            return None
        digest, now = _digest(token), self._clock()
        look = partial(self._stood_for, read[1], digest)
        found = self._database.remembered(("key", digest), look)
        if found is None or found.until is None or now >= found.until:
            return None
        hour = now - now % _HOUR
        if self._used.get(read[1], 0) < hour:
            self._used[read[1]] = hour
            # When it was used is worth no failure: a full disk keeps nobody from reading.
            with suppress(ServiceError), self._database.writing() as connection:
                change_rows(connection, API_KEYS, {"id": read[1]}, last_used_at=hour)
        return found

    @without_values
    def _stood_for(self, key: str, digest: bytes, connection: sa.Connection) -> Principal | None:
        """Whom a key stands for."""
        row = connection.execute(_KEYS.where(API_KEYS.c.id == key)).first()
        # Compared with nothing as well: the time tells not whether there is such a key.
        kept = bytes(32) if row is None else bytes.fromhex(row.digest)
        fits = hmac.compare_digest(digest, kept)
        if row is None or not fits or row.disabled or row.revoked_at is not None:
            return None
        held = grants_held(connection, row.user_id)
        # What the key may, and its owner still may.
        both = [
            Grant(one.role, other.dataset if one.dataset == ALL else one.dataset)
            for one in _read_grants(row.grants)
            for other in held
            if one.role == other.role and (ALL in (one.dataset, other.dataset) or one == other)
        ]
        grants = tuple(dict.fromkeys(both))
        until = int(row.expires_at)
        return Principal(name=row.owner, kind="key", grants=grants, key=row.id, until=until)

    @without_values
    def create(
        self,
        principal: Principal,
        *,
        name: str,
        grants: Sequence[Grant],
        owner: str = "",
        days: int = 365,
    ) -> NewApiKey:
        """Make a key: for oneself, or as an administrator for a system."""
        what_for = plain_name(name)
        if not 1 <= days <= _LONGEST_DAYS:
            raise ServiceError(
                f"the validity of a key must be 1 to {_LONGEST_DAYS} days", "invalid-input", "days"
            )
        if principal.key or principal.kind not in ("session", "local"):
            message, hint = "a key cannot create other keys", "log in, or rotate this one"
            raise ServiceError(message, "not-allowed", hint=hint)
        with self._database.writing() as connection:
            look = look_of(plain_name(owner or principal.name))
            user = row_of(connection, USERS, look=look, disabled=False)
            if user is None:
                raise ServiceError("user not found", "not-found", "owner")
            # Nobody makes a key by which they could act as another person.
            manages = user.kind == SYSTEM and principal.may(Permission.people_manage, ALL)
            if not (manages or principal.kind == "local" or user.name == principal.name):
                owners = "their owners, and by administrators for systems"
                raise ServiceError(f"keys are created by {owners}", "not-allowed", "owner")
            if not 0 < len(grants) <= _MOST_GRANTS:
                message = f"a key needs 1 to {_MOST_GRANTS} roles"
                raise ServiceError(message, "invalid-input", "grants")
            held = grants_held(connection, user.id)
            for at, grant in enumerate(grants):
                if grant not in held and Grant(grant.role) not in held:
                    message = "the owner of the key does not have this role"
                    raise ServiceError(message, "not-allowed", f"grants[{at}]")
            self._check_number(connection, user.id)
            own, until = tuple(dict.fromkeys(grants)), self._clock() + days * _DAY
            family, by = secrets.token_hex(16), principal.name
            key = self._insert(connection, user, what_for, own, until, family, by=by)
            facts = {"key": key.key.id, "owner": user.name, "expires": until}
            facts["grants"] = [*map(str, own)]
            self._trail.append(connection, AuditKind.key_created, principal.name, user.name, facts)
        return key

    @without_values
    def rotate(self, principal: Principal, key: str, overlap_hours: int = 24) -> NewApiKey:
        """A new key in place of one, which goes on for some hours; also asked for by itself.

        The new one may what the old one may, and lasts as long as that did from its beginning.
        """
        now = self._clock()
        with self._database.writing() as connection:
            row = self._to_change(connection, principal, key)
            if row.revoked_at is not None or now >= row.expires_at or row.successor is not None:
                message = "the key has expired or been replaced"
                raise ServiceError(message, "conflict", "id", "create a new one")
            until = now + row.expires_at - row.created_at
            user = connection.execute(sa.select(USERS).where(USERS.c.id == row.user_id)).one()
            self._check_number(connection, user.id)
            grants, by = _read_grants(row.grants), principal.name
            made = self._insert(connection, user, row.name, grants, until, row.family, by=by)
            ends = min(row.expires_at, now + overlap_hours * _HOUR)
            successor = made.key.id
            change_rows(connection, API_KEYS, {"id": row.id}, expires_at=ends, successor=successor)
            facts = {"key": successor, "expires": made.key.expires, "replaces": row.id}
            self._trail.append(connection, AuditKind.key_created, principal.name, user.name, facts)
        return made

    def revoke(self, principal: Principal, key: str) -> None:
        """Take a key back at once, with all that came of it by rotation."""
        with self._database.writing() as connection:
            row = self._to_change(connection, principal, key)
            family = {"family": row.family, "revoked_at": None}
            values = {"revoked_at": self._clock(), "revoked_by": principal.name}
            change_rows(connection, API_KEYS, family, **values)
            facts = {"key": row.id}
            self._trail.append(connection, AuditKind.key_revoked, principal.name, row.owner, facts)

    def listed(self, owner: str = "") -> tuple[ApiKey, ...]:
        """All keys, the newest first."""
        frame = _KEYS
        if owner:
            frame = frame.where(USERS.c.look == look_of(plain_name(owner)))
        frame = frame.order_by(API_KEYS.c.created_at.desc(), API_KEYS.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(frame).all()
        return tuple(record_of(ApiKey, row, grants=_read_grants(row.grants)) for row in rows)

    def _insert(
        self,
        connection: sa.Connection,
        user: sa.Row[tuple[object, ...]],
        name: str,
        grants: tuple[Grant, ...],
        expires: int,
        family: str,
        *,
        by: str,
    ) -> NewApiKey:
        number, now = secrets.token_hex(6), self._clock()
        token = f"dsc_{number}_{secrets.token_urlsafe(32)}"
        texts = {"digest": _digest(token).hex(), "name": name, "family": family, "created_by": by}
        times, listed = {"created_at": now, "expires_at": expires}, list(map(astuple, grants))
        insert_row(connection, API_KEYS, id=number, user_id=user.id, grants=json.dumps(listed),
                   **texts, **times)  # fmt: skip
        row = connection.execute(_KEYS.where(API_KEYS.c.id == number)).one()
        return NewApiKey(key=record_of(ApiKey, row, grants=grants), token=token)

    def _to_change(
        self, connection: sa.Connection, principal: Principal, key: str
    ) -> sa.Row[tuple[object, ...]]:
        """A key that somebody may change; for others it is as if there were none."""
        wanted = API_KEYS.c.id == (key if _VISIBLE.fullmatch(key) else "")
        row = connection.execute(_KEYS.where(wanted)).first()
        manages = principal.may(Permission.people_manage, ALL) and not principal.key
        # By a key, only that one itself.
        own = row is not None and row.owner == principal.name and principal.key in ("", row.id)
        if row is None or not (own or manages):
            raise ServiceError("key not found", "not-found", "id")
        return row

    def _check_number(self, connection: sa.Connection, user: str) -> None:
        usable = API_KEYS.c.revoked_at.is_(None) & (API_KEYS.c.expires_at > self._clock())
        counted = sa.select(sa.func.count()).where(API_KEYS.c.user_id == user, usable)
        if (connection.scalar(counted) or 0) >= _MOST_KEYS:
            message, hint = "the user has the maximum number of keys", "revoke a key first"
            raise ServiceError(message, "conflict", hint=hint, limit=_MOST_KEYS)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("ascii")).digest()


def _read_grants(text: str) -> tuple[Grant, ...]:
    return tuple(Grant(role, dataset) for role, dataset in json.loads(text))


_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")
_HOUR, _MINUTE = 3_600_000, 60_000
#: A request is noted once in so many milliseconds.
_NOTED = _MINUTE
_ATTEMPT_MINUTES = 10
_MOST_ATTEMPTS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginSession:
    """A login that lasts."""

    user: str  # Number of the user
    name: str  # Their name
    must_change: bool  # Whether they must change their password before anything else
    elsewhere: bool  # Whether they logged in at the office's provider
    ends: int  # When it ends at the latest, in milliseconds


class Sessions:
    """All logins of a service."""

    def __init__(
        self,
        database: ServiceDatabase,
        key: bytes,
        clock: Callable[[], int],
        *,
        hours: int = 8,
        idle_minutes: int = 30,
    ) -> None:
        self._database, self._key, self._clock = database, key, clock
        self._hours, self._idle = hours, idle_minutes * _MINUTE

    @without_values
    def start(self, account: UserAccount, replaced: str | None = None) -> str:
        """The cookie of a new session. SECRET."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            gone = SESSIONS.c.ends_at <= now
            if replaced is not None:
                gone = gone | (SESSIONS.c.digest == self._digest(replaced))
            connection.execute(sa.delete(SESSIONS).where(gone))
            times = {"created_at": now, "seen_at": now, "ends_at": now + self._hours * _HOUR}
            digest = self._digest(cookie)
            insert_row(connection, SESSIONS, digest=digest, user_id=account.id, **times)
        return cookie

    @without_values
    def principal(self, cookie: str) -> Principal | None:
        """User of a session cookie; None without one.

        Whoever must change their password first may do nothing yet.
        """
        found = self.session(cookie)
        if found is None:
            return None
        with self._database.reading() as connection:
            grants = () if found.must_change else grants_held(connection, found.user)
        return Principal(name=found.name, kind="session", grants=grants)

    @without_values
    def session(self, cookie: str) -> LoginSession | None:
        """The login that a cookie stands for; None if there is none."""
        if not _COOKIE.fullmatch(cookie):
            return None
        digest, now = self._digest(cookie), self._clock()
        with self._database.reading() as connection:
            row = connection.execute(
                sa.select(SESSIONS.c.seen_at, SESSIONS.c.ends_at, USERS)
                .join(USERS, USERS.c.id == SESSIONS.c.user_id)
                .where(SESSIONS.c.digest == digest, USERS.c.disabled.is_(False))
            ).first()
        if row is None or now >= row.ends_at or now - row.seen_at >= self._idle:
            return None
        if now - row.seen_at >= _NOTED:
            # A full disk or a busy database ends the session early, and harms nobody else.
            with suppress(ServiceError), self._database.writing() as connection:
                seen = sa.update(SESSIONS).where(SESSIONS.c.digest == digest).values(seen_at=now)
                connection.execute(seen.where(SESSIONS.c.seen_at < now))
        elsewhere = row.issuer is not None
        must = bool(row.one_time)
        return record_of(LoginSession, row, user=row.id, must_change=must, elsewhere=elsewhere)

    @without_values
    def csrf_token(self, cookie: str) -> str:
        """Token that forms must contain, so that no other page can send them."""
        return hmac.new(self._key, b"csrf\0" + cookie.encode(), hashlib.sha256).hexdigest()

    @without_values
    def check_csrf(self, cookie: str | None, token: str) -> None:
        """Raise an error if a form does not carry the token of its session."""
        if cookie is None or not hmac.compare_digest(
            self.csrf_token(cookie).encode(), token.encode("utf-8", "replace")
        ):
            message, hint = "the form has expired, or belongs to another site", "reload the page"
            raise ServiceError(message, "not-allowed", "csrf", hint)

    @without_values
    def log_out(self, cookie: str, trail: AuditTrail, *, everywhere: bool = False) -> int:
        """End a session as its owner asks, and write that down; how many ended."""
        session = self.session(cookie)
        if session is None:
            return 0
        ends = {"user_id": session.user} if everywhere else {"digest": self._digest(cookie)}
        with self._database.writing() as connection:
            ended = drop_rows(connection, SESSIONS, **ends)
            if ended:
                facts = {"everywhere": everywhere, "sessions": ended}
                trail.append(connection, AuditKind.logout, session.name, session.name, facts)
        return ended

    @without_values
    def keep_attempt(self, attempt: LoginAttempt) -> str:
        """Keep an attempt until the provider answers; the cookie to which it is bound. SECRET."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            connection.execute(sa.delete(LOGIN_ATTEMPTS).where(LOGIN_ATTEMPTS.c.ends_at <= now))
            waiting = connection.scalar(sa.select(sa.func.count()).select_from(LOGIN_ATTEMPTS))
            if (waiting or 0) >= _MOST_ATTEMPTS:
                raise ServiceError("too many open logins", "overloaded", retry_after=60)
            secret = {"state": attempt.state, "nonce": attempt.nonce, "verifier": attempt.verifier}
            times = {"begun_at": attempt.begun, "ends_at": now + _ATTEMPT_MINUTES * _MINUTE}
            insert_row(connection, LOGIN_ATTEMPTS, digest=self._digest(cookie), **secret, **times)
        return cookie

    @without_values
    def take_attempt(self, cookie: str) -> LoginAttempt:
        """The attempt that was kept, which can be taken only once."""
        digest = self._digest(cookie)
        with self._database.writing() as connection:
            row = row_of(connection, LOGIN_ATTEMPTS, digest=digest)
            drop_rows(connection, LOGIN_ATTEMPTS, digest=digest)
        if row is None or self._clock() >= row.ends_at:
            message = "the login was not started here, or has expired"
            raise ServiceError(message, "not-authenticated", hint="start the login again")
        return record_of(LoginAttempt, row, address="")

    def _digest(self, cookie: str) -> str:
        return hmac.new(self._key, b"cookie\0" + cookie.encode(), hashlib.sha256).hexdigest()
