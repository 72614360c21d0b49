"""Sessions: logins that last some hours, and attempts to log in elsewhere.

In: the value of a cookie. Out: who it stands for. SECRET: the value itself; the database holds a
keyed digest only. A session ends after some hours, after some minutes without a request, at
logout, and whenever the user's rights or password change.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from discreet.confidential import without_values
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import LOGIN_ATTEMPTS, SESSIONS, USERS, ServiceDatabase
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
    """All logins of a service.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = ServiceDatabase.open(f"sqlite:///{folder}/service.db")
    ...     database.lay_out()
    ...     sessions = Sessions(database, bytes(32), lambda: 0)
    ...     print(sessions.principal("nobody's cookie"))
    ...     database.close()
    None
    """

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
            connection.execute(
                sa.insert(SESSIONS).values(
                    digest=self._digest(cookie),
                    user_id=account.id,
                    created_at=now,
                    seen_at=now,
                    ends_at=now + self._hours * _HOUR,
                )
            )
        return cookie

    @without_values
    def principal(self, cookie: str) -> Principal | None:
        """Who a cookie stands for; None if nobody.

        Whoever must change their password first may do nothing yet.
        """
        found = self._find(cookie)
        if found is None:
            return None
        with self._database.reading() as connection:
            grants = () if found.must_change else grants_held(connection, found.user)
        return Principal(name=found.name, kind="session", grants=grants)

    @without_values
    def session(self, cookie: str) -> LoginSession | None:
        """The login that a cookie stands for; None if there is none."""
        return self._find(cookie)

    @without_values
    def csrf_token(self, cookie: str) -> str:
        """What forms must carry, so that no other page can send them."""
        return hmac.new(self._key, b"csrf\0" + cookie.encode(), hashlib.sha256).hexdigest()

    @without_values
    def check_csrf(self, cookie: str | None, token: str) -> None:
        """Raise an error if a form does not carry the token of its session."""
        if cookie is None or not hmac.compare_digest(
            self.csrf_token(cookie).encode(), token.encode("utf-8", "replace")
        ):
            what, hint = "the form is out of date, or of another site", "open the page again"
            raise ServiceError(what, code="not-allowed", where="csrf", hint=hint)

    @without_values
    def log_out(self, cookie: str, trail: AuditTrail, *, everywhere: bool = False) -> int:
        """End a session as its owner asks, and write that down; how many ended."""
        session = self.session(cookie)
        if session is None:
            return 0
        own = SESSIONS.c.digest == self._digest(cookie)
        gone = sa.delete(SESSIONS).where(SESSIONS.c.user_id == session.user if everywhere else own)
        with self._database.writing() as connection:
            ended = int(connection.execute(gone).rowcount)
            if ended:
                trail.append(
                    connection,
                    AuditKind.logout,
                    session.name,
                    session.name,
                    {"everywhere": everywhere, "sessions": ended},
                )
        return ended

    def end_all(self, user: str) -> int:
        """End all sessions of a user; how many there were."""
        with self._database.writing() as connection:
            gone = connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.user_id == user))
            return int(gone.rowcount)

    @without_values
    def keep_attempt(self, attempt: LoginAttempt) -> str:
        """Keep an attempt until the provider answers; the cookie to which it is bound. SECRET."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            connection.execute(sa.delete(LOGIN_ATTEMPTS).where(LOGIN_ATTEMPTS.c.ends_at <= now))
            waiting = connection.execute(
                sa.select(sa.func.count()).select_from(LOGIN_ATTEMPTS)
            ).scalar_one()
            if waiting >= _MOST_ATTEMPTS:
                message = "too many logins have been begun"
                raise ServiceError(message, code="overloaded", retry_after=60)
            connection.execute(
                sa.insert(LOGIN_ATTEMPTS).values(
                    digest=self._digest(cookie),
                    state=attempt.state,
                    nonce=attempt.nonce,
                    verifier=attempt.verifier,
                    begun_at=attempt.begun,
                    ends_at=now + _ATTEMPT_MINUTES * _MINUTE,
                )
            )
        return cookie

    @without_values
    def take_attempt(self, cookie: str) -> LoginAttempt:
        """The attempt that was kept, which can be taken only once."""
        digest = self._digest(cookie)
        with self._database.writing() as connection:
            row = connection.execute(
                sa.select(LOGIN_ATTEMPTS).where(LOGIN_ATTEMPTS.c.digest == digest)
            ).first()
            connection.execute(sa.delete(LOGIN_ATTEMPTS).where(LOGIN_ATTEMPTS.c.digest == digest))
        if row is None or self._clock() >= row.ends_at:
            message = "no login was begun here, or too long ago"
            raise ServiceError(message, code="not-authenticated", hint="begin the login again")
        return LoginAttempt(
            state=row.state, nonce=row.nonce, verifier=row.verifier, begun=row.begun_at
        )

    def _find(self, cookie: str) -> LoginSession | None:
        if not _COOKIE.fullmatch(cookie):
            return None
        digest, now = self._digest(cookie), self._clock()
        with self._database.reading() as connection:
            row = connection.execute(
                sa.select(
                    SESSIONS.c.seen_at,
                    SESSIONS.c.ends_at,
                    USERS.c.id,
                    USERS.c.name,
                    USERS.c.one_time,
                    USERS.c.issuer,
                )
                .join(USERS, USERS.c.id == SESSIONS.c.user_id)
                .where(SESSIONS.c.digest == digest, USERS.c.disabled.is_(False))
            ).first()
        if row is None or now >= row.ends_at or now - row.seen_at >= self._idle:
            return None
        if now - row.seen_at >= _NOTED:
            self._note(digest, now)
        return LoginSession(
            user=row.id,
            name=row.name,
            must_change=bool(row.one_time),
            elsewhere=row.issuer is not None,
            ends=row.ends_at,
        )

    def _note(self, digest: str, now: int) -> None:
        try:
            with self._database.writing() as connection:
                connection.execute(
                    sa.update(SESSIONS)
                    .where(SESSIONS.c.digest == digest, SESSIONS.c.seen_at < now)
                    .values(seen_at=now)
                )
        except ServiceError:
            # A full disk or a busy database ends the session early, and harms nobody else.
            return

    def _digest(self, cookie: str) -> str:
        return hmac.new(self._key, b"cookie\0" + cookie.encode(), hashlib.sha256).hexdigest()
