"""Users and their roles. A name that looks like another is no new person; nobody grants anything to
themselves, and nobody who manages people may also touch parameters or data.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from discreet.confidential import without_values
from discreet.errors import DiscreetError
from discreet_fire.persons import look_of, plain_name
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    LOGIN_DELAYS,
    SESSIONS,
    USER_GRANTS,
    USERS,
    ServiceDatabase,
    change_rows,
    drop_rows,
    equal_to,
    insert_row,
    put_row,
    record_of,
    row_of,
)
from discreet_service.people.oidc import OidcIdentity
from discreet_service.permissions import ALL, ROLES, Grant, Permission, Principal
from discreet_service.problems import ServiceError

#: Least and greatest number of characters.
SHORTEST, LONGEST = 12, 256
_FEWEST_DIFFERENT = 6
_SALT, _DIGEST = 16, 32
#: So many are stretched at once, since each takes memory, and so many more may wait: whoever floods
#: the login is not to hold all threads of the service.
_AT_ONCE, _ADMITTED = threading.BoundedSemaphore(2), threading.BoundedSemaphore(8)
#: Letters and figures of one-time passwords: none looks like another.
_CLEAR = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, kw_only=True, slots=True)
class PasswordCost:
    """Cost parameters of scrypt."""

    log_n: int = 16  # Binary logarithm of the blocks in memory; 16 are 64 MiB
    r: int = 8  # Size of a block
    p: int = 2  # Passes

    def __post_init__(self) -> None:
        # Read back from the database, so bounded: nobody makes the service stretch for ever.
        if not (10 <= self.log_n <= 18 and self.r == 8 and 1 <= self.p <= 4):
            raise ServiceError("the cost of passwords is out of range", "internal")


_COST = PasswordCost()


@without_values
def kept_password(password: str, cost: PasswordCost) -> str:
    """The form in which a password is kept. SECRET.

    >>> kept = kept_password("quiet rivers run", PasswordCost(log_n=10, p=1))
    >>> password_fits("quiet rivers run", kept, PasswordCost(log_n=10, p=1))
    True
    """
    salt = secrets.token_bytes(_SALT)
    digest = _stretched(password, salt, cost)
    parts = (base64.b64encode(part).decode("ascii") for part in (salt, digest))
    return "$".join(("scrypt", str(cost.log_n), str(cost.r), str(cost.p), *parts))


@without_values
def password_fits(password: str, kept: str | None, cost: PasswordCost) -> bool:
    """Whether a password is the one that is kept.

    >>> password_fits("anything", None, PasswordCost(log_n=10, p=1))
    False
    """
    found = None if kept is None else _read(kept)
    used, salt, digest = found or (cost, bytes(_SALT), bytes(_DIGEST))
    return hmac.compare_digest(_stretched(password, salt, used), digest) and found is not None


def cost_of(kept: str) -> PasswordCost | None:
    """The cost with which a password was stretched."""
    found = _read(kept)
    return None if found is None else found[0]


def one_time_password() -> str:
    """A new password to be used once, of 98 random bits.

    >>> len(one_time_password())
    23
    """
    parts = ("".join(secrets.choice(_CLEAR) for _ in range(5)) for _ in range(4))
    return "-".join(parts)


@without_values
def check_password(password: str, name: str) -> None:
    """Raise an error if a new password is easy to guess.

    >>> check_password("anna-anna-anna", "anna")
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] password: ...
    """
    plain = _plain(password)
    hint = f"use {SHORTEST} to {LONGEST} characters, such as several words"
    if not SHORTEST <= len(plain) <= LONGEST or len(password) > 2 * LONGEST:
        message = "the password is too short or too long"
    elif len(set(plain.casefold())) < _FEWEST_DIFFERENT or plain.isdigit():
        message = "the password is easy to guess: it has few different characters"
    elif name.casefold() in plain.casefold():
        message = "the password is easy to guess: it contains the name of the user"
    else:
        return
    raise ServiceError(message, "invalid-input", "password", hint)


def _plain(password: str) -> str:
    return unicodedata.normalize("NFKC", password)


def _stretched(password: str, salt: bytes, cost: PasswordCost) -> bytes:
    # Longer ones are cut: they were refused when set, so that they cannot fit.
    secret = _plain(password[: 2 * LONGEST]).encode("utf-8", "replace")
    n = 1 << cost.log_n
    memory = 256 * n * cost.r
    if not _ADMITTED.acquire(blocking=False):
        raise ServiceError("too many simultaneous logins", "overloaded", retry_after=2)
    try:
        with _AT_ONCE:
            return hashlib.scrypt(
                secret, salt=salt, n=n, r=cost.r, p=cost.p, maxmem=memory, dklen=_DIGEST
            )
    finally:
        _ADMITTED.release()


def _read(kept: str) -> tuple[PasswordCost, bytes, bytes] | None:
    try:
        kind, log_n, r, p, salt, digest = kept.split("$")
        cost = PasswordCost(log_n=int(log_n), r=int(r), p=int(p))
        found = cost, base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True)
    except (ValueError, ServiceError):
        return None
    right = kind == "scrypt" and len(found[1]) == _SALT and len(found[2]) == _DIGEST
    return found if right else None


PERSON, SYSTEM = "person", "system"
#: Roles that keys of systems may have: none that agrees to anything.
SYSTEM_ROLES = frozenset(("reader", "requester", "service"))
#: Roles that stand beside no other but reading.
_APART = frozenset(("admin", "auditor"))
_HERE, _ELSEWHERE = "local", "oidc"
_ONE_TIME_HOURS = 24
_RESERVED = frozenset(("anonymous", "local", "system", "service", "nobody", "public"))
_HOUR, _DAY = 3_600_000, 86_400_000
_LONGEST_DATASET = 100
#: Failures that are free, and the longest delay in seconds: for one name from one address, and
#: for one name from anywhere. The second does not hold where the user logged in before: nobody is
#: to be kept out by others.
_FREE_HERE, _LONGEST_HERE = 3, 900
_FREE_ANYWHERE, _LONGEST_ANYWHERE = 10, 30
_KNOWN_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class UserAccount:
    """A user."""

    id: str  # Their number
    name: str  # Their name
    kind: str  # "person" or "system"
    grants: tuple[Grant, ...]  # Their roles
    elsewhere: bool  # Whether they log in at the office's provider
    must_change: bool  # Whether their password was a one-time one
    disabled: bool  # Whether they are shut out
    created: int  # When they were made known, in milliseconds


class Users:
    """All users of a service."""

    def __init__(
        self,
        database: ServiceDatabase,
        trail: AuditTrail,
        clock: Callable[[], int],
        cost: PasswordCost | None = None,
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._cost = cost or _COST

    def accounts(self) -> tuple[UserAccount, ...]:
        """All users by name."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(USERS).order_by(USERS.c.name)).all()
            return tuple(_account(connection, row) for row in rows)

    def account(self, name: str) -> UserAccount:
        """One user."""
        with self._database.reading() as connection:
            return _account(connection, _row(connection, name))

    def name_of(self, user: str) -> str:
        """The name of a user."""
        with self._database.reading() as connection:
            found = connection.scalar(sa.select(USERS.c.name).where(USERS.c.id == user))
        if found is None:
            raise ServiceError("user not found", "not-found", "id")
        return str(found)

    def first_administrator(self, name: str) -> str:
        """Make the first administrator; their one-time password, shown once. SECRET."""
        password = one_time_password()
        kept = kept_password(password, self._cost)
        with self._database.writing() as connection:
            if row_of(connection, USER_GRANTS, role="admin") is not None:
                message, hint = "an administrator exists already", "administrators add other users"
                raise ServiceError(message, "conflict", hint=hint)
            number = self._insert(connection, name, PERSON, by="local", password=kept)
            self._add_grant(connection, number, Grant("admin"), _HERE, by="local")
            facts = {**Grant("admin").facts, "first": True}
            self._trail.append(connection, AuditKind.user_created, "local", name, facts)
        return password

    def add(self, principal: Principal, name: str, kind: str = PERSON) -> UserAccount:
        """Make a user known, without any role."""
        _check_manager(principal)
        with self._database.writing() as connection:
            self._insert(connection, name, kind, by=principal.name)
            facts = {"kind": kind}
            self._trail.append(connection, AuditKind.user_created, principal.name, name, facts)
            return _account(connection, _row(connection, name))

    def grant(self, principal: Principal, name: str, grant: Grant) -> None:
        """Give a user a role; their logins end, and they log in anew."""
        _check_manager(principal, name)
        if grant.role not in ROLES:
            hint = f"roles: {', '.join(ROLES)}"
            raise ServiceError("unknown role", "invalid-input", "role", hint)
        data = grant.dataset
        if not 0 < len(data) <= _LONGEST_DATASET or not data.isprintable() or data != data.strip():
            what, hint = "not the name of a data set", "use * for all data sets"
            raise ServiceError(what, "invalid-input", "dataset", hint)
        with self._database.writing() as connection:
            user = _row(connection, name)
            if user.kind == SYSTEM and grant.role not in SYSTEM_ROLES:
                message = "a system cannot have this role"
                hint = f"roles of systems: {', '.join(sorted(SYSTEM_ROLES))}"
                raise ServiceError(message, "conflict", "role", hint)
            held = grants_held(connection, user.id)
            if grant in held:
                return
            _check_apart((*held, grant))
            self._add_grant(connection, user.id, grant, _HERE, by=principal.name)
            drop_rows(connection, SESSIONS, user_id=user.id)
            kind, by = AuditKind.role_granted, principal.name
            self._trail.append(connection, kind, by, user.name, grant.facts)

    def withdraw(self, principal: Principal, name: str, grant: Grant) -> None:
        """Take a role away; it ends at once."""
        _check_manager(principal, name)
        with self._database.writing() as connection:
            user = _row(connection, name)
            if not drop_rows(connection, USER_GRANTS, user_id=user.id, source=_HERE, **grant.facts):
                message = "the role was not granted here"
                hint = "withdraw roles of groups at the login provider"
                raise ServiceError(message, "not-found", "role", hint)
            drop_rows(connection, SESSIONS, user_id=user.id)
            kind, by = AuditKind.role_withdrawn, principal.name
            self._trail.append(connection, kind, by, user.name, grant.facts)

    def set_disabled(self, principal: Principal, name: str, *, disabled: bool) -> None:
        """Shut a user out, with all keys, or let them in again."""
        _check_manager(principal, name)
        with self._database.writing() as connection:
            user = _row(connection, name)
            change_rows(connection, USERS, {"id": user.id}, disabled=disabled)
            drop_rows(connection, SESSIONS, user_id=user.id)
            kind = AuditKind.user_disabled if disabled else AuditKind.user_enabled
            self._trail.append(connection, kind, principal.name, user.name, {})

    @without_values
    def reset_password(self, principal: Principal, name: str) -> str:
        """A one-time password for a user, shown once; it is good for a day. SECRET."""
        _check_manager(principal, name)
        password = one_time_password()
        kept = kept_password(password, self._cost)
        with self._database.writing() as connection:
            user = _row(connection, name)
            if user.kind != PERSON or user.issuer is not None:
                raise ServiceError("the user has no password", "conflict", "name")
            self._set_password(connection, user.id, kept, one_time=True)
            self._trail.append(connection, AuditKind.password_reset, principal.name, user.name, {})
        return password

    @without_values
    def login(self, name: str, password: str, address: str) -> UserAccount:
        """The user with a name and a password; one error for all that is wrong."""
        failures = self._count_attempt(name, address)
        wanted = {"look": _typed_look(name), "kind": PERSON, "disabled": False, "issuer": None}
        with self._database.reading() as connection:
            user = row_of(connection, USERS, **wanted)
        fits = password_fits(password, None if user is None else user.password, self._cost)
        until = None if user is None else user.password_until
        if user is None or not fits or (until is not None and self._clock() >= until):
            message, hint = "name or password is wrong", "ask the administrators for a new password"
            raise ServiceError(message, "not-authenticated", hint=hint)
        weak = cost_of(user.password) != self._cost
        kept = kept_password(password, self._cost) if weak else None
        with self._database.writing() as connection:
            here, anywhere, known = _attempt_digests(name, address)
            connection.execute(
                sa.delete(LOGIN_DELAYS).where(LOGIN_DELAYS.c.digest.in_((here, anywhere)))
            )
            until = self._clock() + _KNOWN_DAYS * _DAY
            put_row(connection, LOGIN_DELAYS, {"digest": known}, failures=0, next_at=until)
            if kept is not None:
                change_rows(connection, USERS, {"id": user.id}, password=kept)
            facts = {"method": "password", "failures_before": failures}
            self._trail.append(connection, AuditKind.login, user.name, user.name, facts)
            return _account(connection, user)

    @without_values
    def change_password(self, name: str, old: str, new: str, address: str) -> UserAccount:
        """Change one's own password; all logins end."""
        check_password(new, name)
        if new == old:
            raise ServiceError("the new password is the old one", "invalid-input", "password")
        account = self.login(name, old, address)
        kept = kept_password(new, self._cost)
        with self._database.writing() as connection:
            self._set_password(connection, account.id, kept, one_time=False)
            self._trail.append(connection, AuditKind.password_changed, name, name, {})
            return _account(connection, _row(connection, name))

    def arrive(self, identity: OidcIdentity) -> UserAccount:
        """The user whom the office's provider let in; their roles are those of their groups."""
        refusal, message = "", "the groups of this login have no role"
        with self._database.writing() as connection:
            found = row_of(connection, USERS, issuer=identity.issuer, subject=identity.subject)
            if found is None:
                if not identity.grants:
                    raise ServiceError(message, "not-allowed", hint="ask the administrators")
                _check_apart(identity.grants)
                # A name that somebody has is never taken over, whatever the provider says.
                self._insert(connection, identity.name, PERSON, by=_ELSEWHERE, identity=identity)
                found = _row(connection, identity.name)
                kind, facts = AuditKind.user_created, {"kind": PERSON, "source": _ELSEWHERE}
                self._trail.append(connection, kind, found.name, found.name, facts)
            self._take_over_grants(connection, found, identity.grants)
            account = _account(connection, found)
            try:
                _check_apart(account.grants)
            except ServiceError as error:
                refusal = error.what
            refusal = refusal if account.grants else message
            refusal = "this user is disabled" if account.disabled else refusal
            if not refusal:
                kind, facts = AuditKind.login, {"method": "oidc"}
                self._trail.append(connection, kind, account.name, account.name, facts)
        # Out here: what the provider took away stays away.
        if refusal:
            raise ServiceError(refusal, "not-allowed", hint="ask the administrators")
        return account

    def _take_over_grants(
        self, connection: sa.Connection, user: sa.Row[tuple[object, ...]], grants: Sequence[Grant]
    ) -> None:
        held = set(grants_held(connection, user.id, _ELSEWHERE))
        if held == set(grants):
            return
        drop_rows(connection, USER_GRANTS, user_id=user.id, source=_ELSEWHERE)
        for grant in sorted(set(grants)):
            self._add_grant(connection, user.id, grant, _ELSEWHERE, by=_ELSEWHERE)
        drop_rows(connection, SESSIONS, user_id=user.id)
        for kind, changed in (
            (AuditKind.role_granted, set(grants) - held),
            (AuditKind.role_withdrawn, held - set(grants)),
        ):
            for grant in sorted(changed):
                facts = {**grant.facts, "source": _ELSEWHERE}
                self._trail.append(connection, kind, _ELSEWHERE, user.name, facts)

    def _insert(
        self,
        connection: sa.Connection,
        name: str,
        kind: str,
        *,
        by: str,
        password: str | None = None,
        identity: OidcIdentity | None = None,
    ) -> str:
        plain = plain_name(name)
        look = look_of(plain)
        if not look or look.partition(" ")[0] in _RESERVED:
            raise ServiceError("the name is reserved for the service", "invalid-input", "name")
        if row_of(connection, USERS, look=look) is not None:
            message = "a user with the same or a similar name exists"
            raise ServiceError(message, "conflict", "name", "choose another name")
        number = secrets.token_hex(16)
        provider: dict[str, str | None] = {"issuer": None, "subject": None}
        if identity is not None:
            provider = {"issuer": identity.issuer, "subject": identity.subject}
        insert_row(connection, USERS, id=number, name=plain, look=look, kind=kind, **provider,
                   **self._kept(password, one_time=password is not None), disabled=False,
                   created_at=self._clock(), created_by=by)  # fmt: skip
        return number

    def _add_grant(
        self, connection: sa.Connection, user: str, grant: Grant, source: str, *, by: str
    ) -> None:
        stated = {"user_id": user, **grant.facts, "source": source, "granted_by": by}
        insert_row(connection, USER_GRANTS, **stated, granted_at=self._clock())

    def _set_password(
        self, connection: sa.Connection, user: str, kept: str, *, one_time: bool
    ) -> None:
        change_rows(connection, USERS, {"id": user}, **self._kept(kept, one_time=one_time))
        drop_rows(connection, SESSIONS, user_id=user)

    def _kept(self, password: str | None, *, one_time: bool) -> dict[str, Any]:
        until = self._clock() + _ONE_TIME_HOURS * _HOUR if one_time else None
        return {"password": password, "one_time": one_time, "password_until": until}

    def _count_attempt(self, name: str, address: str) -> int:
        """Count an attempt before it is looked at, so that many at once do not get through."""
        now, most = self._clock(), 0
        here, anywhere, known = _attempt_digests(name, address)
        with self._database.writing() as connection:
            connection.execute(sa.delete(LOGIN_DELAYS).where(LOGIN_DELAYS.c.next_at < now - _DAY))
            digests = LOGIN_DELAYS.c.digest.in_((here, anywhere, known))
            there = connection.execute(sa.select(LOGIN_DELAYS).where(digests))
            rows = {row.digest: row for row in there}
            counted = [(here, _FREE_HERE, _LONGEST_HERE)]
            if known not in rows:
                counted.append((anywhere, _FREE_ANYWHERE, _LONGEST_ANYWHERE))
            for digest, free, longest in counted:
                row = rows.get(digest)
                if row is not None and now < row.next_at:
                    message = "too many attempts to log in under this name"
                    wait = -((now - row.next_at) // 1000)
                    raise ServiceError(message, "rate-limited", retry_after=wait)
                failures = 0 if row is None else row.failures
                over, most = failures + 1 - free, max(most, failures)
                delay = 0 if over < 0 else min(longest, 1 << min(over, 20))
                values = {"failures": failures + 1, "next_at": now + delay * 1000}
                put_row(connection, LOGIN_DELAYS, {"digest": digest}, **values)
        return most


def grants_held(connection: sa.Connection, user: str, source: str = "") -> tuple[Grant, ...]:
    """The roles that a user has now; from anywhere, if no source is stated."""
    wanted = {"user_id": user} | ({"source": source} if source else {})
    rows = connection.execute(sa.select(USER_GRANTS).where(*equal_to(USER_GRANTS, **wanted)))
    return tuple(sorted({Grant(row.role, row.dataset) for row in rows}))


def _row(connection: sa.Connection, name: str) -> sa.Row[tuple[object, ...]]:
    row = row_of(connection, USERS, look=look_of(plain_name(name)))
    if row is None:
        raise ServiceError("user not found", "not-found", "name")
    return row


def _account(connection: sa.Connection, row: sa.Row[tuple[object, ...]]) -> UserAccount:
    return record_of(
        UserAccount,
        row,
        grants=grants_held(connection, row.id),
        elsewhere=row.issuer is not None,
        must_change=bool(row.one_time),
    )


def _typed_look(name: str) -> str:
    try:
        return look_of(plain_name(name))
    except DiscreetError:
        return ""


def _attempt_digests(name: str, address: str) -> tuple[str, str, str]:
    """Under what an attempt is counted, whether there is such a user or not.

    One for the name from this address, one for it from anywhere, and one that says that this
    user was let in from this address before.
    """

    def digest(*parts: str) -> str:
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()

    look = _typed_look(name) or digest(name)
    return digest("here", look, address), digest("anywhere", look), digest("known", look, address)


def _check_manager(principal: Principal, name: str = "") -> None:
    """Who manages people does so in person, and not for themselves."""
    if not principal.may(Permission.people_manage, ALL):
        raise ServiceError(f"this needs {Permission.people_manage}", "not-allowed")
    if principal.key or principal.kind not in ("session", "local"):
        message, hint = "log in to manage users; keys cannot do it", "log in"
        raise ServiceError(message, "not-allowed", hint=hint)
    if name and principal.kind != "local" and _typed_look(name) == look_of(principal.name):
        message, hint = "you cannot change your own rights", "ask another administrator"
        raise ServiceError(message, "second-person", hint=hint)


def _check_apart(grants: Sequence[Grant]) -> None:
    roles = {grant.role for grant in grants} - {"reader"}
    for role in sorted(_APART & roles):
        if roles != {role}:
            message = f"role {role} cannot be combined with other roles"
            raise ServiceError(message, "conflict", "role", "choose another user")
