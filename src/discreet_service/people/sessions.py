"""Sessions: a cookie (SECRET) in, who it stands for out. A session ends after some hours, after
some idle minutes, at logout, and whenever rights or password change.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa

from discreet.confidential import without_values
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    LOGIN_ATTEMPTS,
    SESSIONS,
    USERS,
    ServiceDatabase,
    drop_rows,
    insert_row,
    record_of,
    row_of,
)
from discreet_service.people.oidc import LoginAttempt
from discreet_service.people.users import UserAccount, grants_held
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError

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
