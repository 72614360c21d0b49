"""API keys: what programs show instead of a login.

In: a key. Out: the person or system it belongs to, with the part of their roles that the key has.
SECRET: the key itself, which is shown once; the database holds its digest. A key never may more
than whom it belongs to, and ends with them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from discreet.confidential import without_values
from discreet_fire.persons import look_of, plain_name
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import API_KEYS, USERS, ServiceDatabase, record_of
from discreet_service.people.users import SYSTEM, grants_held
from discreet_service.permissions import ALL, Grant, Permission, Principal
from discreet_service.problems import ServiceError

#: dsc, the visible part, and 256 random bits.
_TOKEN = re.compile(r"dsc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_VISIBLE = re.compile(r"[0-9a-f]{12}")
_HOUR, _DAY = 3_600_000, 86_400_000
#: Milliseconds for which what a key may do is remembered; how many keys are.
_REMEMBERED, _MOST_REMEMBERED = 5_000, 4_096
_LONGEST_DAYS, _LONGEST_OVERLAP = 730, 168
_MOST_KEYS, _MOST_GRANTS = 50, 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """What may be shown of a key."""

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
    """All keys of a service.

    >>> import tempfile
    >>> from discreet_service.people.users import Users
    >>> local = Principal(name="local", kind="local", grants=(Grant("admin"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = ServiceDatabase.open(f"sqlite:///{folder}/service.db")
    ...     database.lay_out()
    ...     trail = AuditTrail(database, bytes(32), lambda: 0)
    ...     users, keys = Users(database, trail, lambda: 0), ApiKeys(database, trail, lambda: 0)
    ...     account = users.add(local, "backend", "system")
    ...     users.grant(local, "backend", Grant("service"))
    ...     new = keys.create(local, name="tests", grants=[Grant("service")], owner="backend")
    ...     print(keys.principal(new.token).name, keys.principal("dsc_made_up"))
    ...     database.close()
    backend None
    """

    def __init__(
        self, database: ServiceDatabase, trail: AuditTrail, clock: Callable[[], int]
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[int, int, Principal]] = OrderedDict()

    @without_values
    def principal(self, token: str) -> Principal | None:
        """Whom a key stands for; None if it is none, or no longer."""
        read = _TOKEN.fullmatch(token)
        if read is None:
            return None
        digest, now = _digest(token), self._clock()
        with self._lock:
            until, expires, known = self._known.get(digest, (0, 0, None))
        if known is not None and until - _REMEMBERED <= now < until and now < expires:
            return known
        with self._database.reading() as connection:
            row = connection.execute(
                sa.select(API_KEYS, USERS.c.name.label("owner"), USERS.c.disabled)
                .join(USERS, USERS.c.id == API_KEYS.c.user_id)
                .where(API_KEYS.c.id == read[1])
            ).first()
            # Compared with nothing as well: the time tells not whether there is such a key.
            kept = bytes(32) if row is None else bytes.fromhex(row.digest)
            fits = hmac.compare_digest(digest, kept)
            if row is None or not fits or row.disabled or row.revoked_at is not None:
                return None
            if now >= row.expires_at:
                return None
            held = grants_held(connection, row.user_id)
        grants = _both(_read_grants(row.grants), held)
        found = Principal(name=row.owner, kind="key", grants=grants, key=row.id)
        with self._lock:
            self._known[digest] = (now + _REMEMBERED, row.expires_at, found)
            while len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        self._note_use(row.id, row.last_used_at, now)
        return found

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
        _check_days(days)
        if principal.key or principal.kind not in ("session", "local"):
            what, hint = "a key makes no other keys", "log in, or rotate this one"
            raise ServiceError(what, code="not-allowed", hint=hint)
        with self._database.writing() as connection:
            user = _owner(connection, owner or principal.name)
            _check_may_make(principal, user)
            _check_grants(grants, grants_held(connection, user.id))
            self._check_number(connection, user.id)
            key = self._insert(
                connection,
                user,
                what_for,
                tuple(dict.fromkeys(grants)),
                self._clock() + days * _DAY,
                secrets.token_hex(16),
                by=principal.name,
            )
            self._trail.append(
                connection,
                AuditKind.key_created,
                principal.name,
                user.name,
                {
                    "key": key.key.id,
                    "owner": user.name,
                    "grants": [f"{grant.role}@{grant.dataset}" for grant in key.key.grants],
                    "expires": key.key.expires,
                },
            )
        return key

    @without_values
    def rotate(self, principal: Principal, key: str, overlap_hours: int = 24) -> NewApiKey:
        """A new key in place of one, which goes on for some hours; also asked for by itself.

        The new one may what the old one may, and lasts as long as that did from its beginning.
        """
        if not 0 <= overlap_hours <= _LONGEST_OVERLAP:
            message = f"the overlap lies between 0 and {_LONGEST_OVERLAP} hours"
            raise ServiceError(message, code="invalid-input", where="overlap_hours")
        now = self._clock()
        with self._database.writing() as connection:
            row = self._to_change(connection, principal, key)
            if row.revoked_at is not None or now >= row.expires_at or row.successor is not None:
                message = "this key is over, or has a successor"
                raise ServiceError(message, code="conflict", where="id", hint="make a new one")
            until = now + row.expires_at - row.created_at
            user = connection.execute(sa.select(USERS).where(USERS.c.id == row.user_id)).one()
            self._check_number(connection, user.id)
            grants = _read_grants(row.grants)
            made = self._insert(
                connection, user, row.name, grants, until, row.family, by=principal.name
            )
            connection.execute(
                sa.update(API_KEYS)
                .where(API_KEYS.c.id == row.id)
                .values(
                    expires_at=min(row.expires_at, now + overlap_hours * _HOUR),
                    successor=made.key.id,
                )
            )
            self._trail.append(
                connection,
                AuditKind.key_created,
                principal.name,
                user.name,
                {"key": made.key.id, "expires": made.key.expires, "replaces": row.id},
            )
        self.forget()
        return made

    def revoke(self, principal: Principal, key: str) -> None:
        """Take a key back at once, with all that came of it by rotation.

        Other processes of the service follow within seconds.
        """
        now = self._clock()
        with self._database.writing() as connection:
            row = self._to_change(connection, principal, key)
            connection.execute(
                sa.update(API_KEYS)
                .where(API_KEYS.c.family == row.family, API_KEYS.c.revoked_at.is_(None))
                .values(revoked_at=now, revoked_by=principal.name)
            )
            self._trail.append(
                connection, AuditKind.key_revoked, principal.name, row.owner, {"key": row.id}
            )
        self.forget()

    def listed(self, owner: str = "") -> tuple[ApiKey, ...]:
        """All keys, the newest first."""
        frame = sa.select(API_KEYS, USERS.c.name.label("owner")).join(
            USERS, USERS.c.id == API_KEYS.c.user_id
        )
        if owner:
            frame = frame.where(USERS.c.look == look_of(plain_name(owner)))
        frame = frame.order_by(API_KEYS.c.created_at.desc(), API_KEYS.c.id)
        with self._database.reading() as connection:
            return tuple(_shown(row) for row in connection.execute(frame))

    def forget(self) -> None:
        """Look everything up anew."""
        with self._lock:
            self._known.clear()

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
        connection.execute(
            sa.insert(API_KEYS).values(
                id=number,
                digest=_digest(token).hex(),
                user_id=user.id,
                name=name,
                family=family,
                grants=json.dumps([[grant.role, grant.dataset] for grant in grants]),
                created_at=now,
                created_by=by,
                expires_at=expires,
            )
        )
        key = ApiKey(
            id=number,
            name=name,
            owner=user.name,
            grants=grants,
            created=now,
            expires=expires,
            last_used=None,
            revoked=None,
        )
        return NewApiKey(key=key, token=token)

    def _to_change(
        self, connection: sa.Connection, principal: Principal, key: str
    ) -> sa.Row[tuple[object, ...]]:
        """A key that somebody may change; for others it is as if there were none."""
        row = connection.execute(
            sa.select(API_KEYS, USERS.c.name.label("owner"))
            .join(USERS, USERS.c.id == API_KEYS.c.user_id)
            .where(API_KEYS.c.id == (key if _VISIBLE.fullmatch(key) else ""))
        ).first()
        manages = principal.may(Permission.people_manage, ALL) and not principal.key
        # By a key, only that one itself.
        own = row is not None and row.owner == principal.name and principal.key in ("", row.id)
        if row is None or not (own or manages):
            raise ServiceError("there is no such key", code="not-found", where="id")
        return row

    def _check_number(self, connection: sa.Connection, user: str) -> None:
        there = connection.execute(
            sa.select(sa.func.count())
            .select_from(API_KEYS)
            .where(
                API_KEYS.c.user_id == user,
                API_KEYS.c.revoked_at.is_(None),
                API_KEYS.c.expires_at > self._clock(),
            )
        ).scalar_one()
        if there >= _MOST_KEYS:
            what, hint = "this user has as many keys as there can be", "revoke one first"
            raise ServiceError(what, code="conflict", hint=hint, limit=_MOST_KEYS)

    def _note_use(self, key: str, before: int | None, now: int) -> None:
        hour = now - now % _HOUR
        if before is not None and before >= hour:
            return
        try:
            with self._database.writing() as connection:
                connection.execute(
                    sa.update(API_KEYS).where(API_KEYS.c.id == key).values(last_used_at=hour)
                )
        except ServiceError:
            # When it was used is worth no failure: a full disk keeps nobody from reading.
            return


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("ascii")).digest()


def _owner(connection: sa.Connection, name: str) -> sa.Row[tuple[object, ...]]:
    look = look_of(plain_name(name))
    found = connection.execute(
        sa.select(USERS).where(USERS.c.look == look, USERS.c.disabled.is_(False))
    ).first()
    if found is None:
        raise ServiceError("there is no such user", code="not-found", where="owner")
    return found


def _check_may_make(principal: Principal, user: sa.Row[tuple[object, ...]]) -> None:
    """Nobody makes a key by which they could act as another person."""
    if principal.kind == "local" or user.name == principal.name:
        return
    if user.kind == SYSTEM and principal.may(Permission.people_manage, ALL):
        return
    message = "keys are made by those to whom they belong, and by administrators for systems"
    raise ServiceError(message, code="not-allowed", where="owner")


def _check_days(days: int) -> None:
    if not 1 <= days <= _LONGEST_DAYS:
        message = f"a key lasts 1 to {_LONGEST_DAYS} days"
        raise ServiceError(message, code="invalid-input", where="days")


def _check_grants(wanted: Sequence[Grant], held: Sequence[Grant]) -> None:
    if not 0 < len(wanted) <= _MOST_GRANTS:
        message = f"a key has 1 to {_MOST_GRANTS} roles"
        raise ServiceError(message, code="invalid-input", where="grants")
    for at, grant in enumerate(wanted):
        if grant not in held and Grant(grant.role) not in held:
            message = "the owner of the key does not have this role"
            raise ServiceError(message, code="not-allowed", where=f"grants[{at}]")


def _both(wanted: Sequence[Grant], held: Sequence[Grant]) -> tuple[Grant, ...]:
    """What a key may and its owner still may."""
    found = [
        Grant(one.role, other.dataset if one.dataset == ALL else one.dataset)
        for one in wanted
        for other in held
        if one.role == other.role and (ALL in (one.dataset, other.dataset) or one == other)
    ]
    return tuple(dict.fromkeys(found))


def _read_grants(text: str) -> tuple[Grant, ...]:
    return tuple(Grant(role, dataset) for role, dataset in json.loads(text))


def _shown(row: sa.Row[tuple[object, ...]]) -> ApiKey:
    return record_of(ApiKey, row, grants=_read_grants(row.grants))
