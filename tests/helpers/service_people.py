"""People of a service, for tests: a clock that is set, passwords that are quick to try."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from discreet_service.audit.trail import AuditTrail
from discreet_service.database import ServiceDatabase
from discreet_service.database.schema import METADATA
from discreet_service.people.approvals import Approvals
from discreet_service.people.callers import ApiKeys, Sessions
from discreet_service.people.users import PasswordCost, UserAccount, Users
from discreet_service.permissions import Grant, Principal
from discreet_service.problems import ServiceError

QUICK = PasswordCost(log_n=10, p=1)
#: Acts for nobody in particular.
LOCAL = Principal(name="local", kind="local", grants=(Grant("admin"),))
KEY = b"k" * 32


class SetClock:
    """A clock that goes on when it is told to, or by a step whenever it is asked."""

    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self.now, self.step = now, 0

    def __call__(self) -> int:
        self.now += self.step
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += int(seconds * 1000)

    def later(self, *, seconds: int = 0, minutes: int = 0, hours: int = 0, days: int = 0) -> None:
        self.pass_by(seconds + 60 * (minutes + 60 * (hours + 24 * days)))


def at_once(*acts: Callable[[], object]) -> None:
    """Do all of these at the same time; what one of them raises is raised."""
    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(act) for act in acts]:
            done.result()


def code_of(act: Callable[..., object], *given: object, **named: object) -> str:
    """The code of the error that something is refused with."""
    with pytest.raises(ServiceError) as found:
        act(*given, **named)
    return str(found.value.code)


@dataclass
class PeopleOfService:
    """The parts of a service that know people."""

    database: ServiceDatabase
    clock: SetClock
    trail: AuditTrail
    users: Users
    keys: ApiKeys
    sessions: Sessions
    approvals: Approvals

    @classmethod
    def of(cls, database: ServiceDatabase) -> PeopleOfService:
        clock = SetClock()
        trail = AuditTrail(database, KEY, clock)
        return cls(
            database=database,
            clock=clock,
            trail=trail,
            users=Users(database, trail, clock, QUICK),
            keys=ApiKeys(database, trail, clock),
            sessions=Sessions(database, KEY, clock),
            approvals=Approvals(database, trail, clock),
        )

    def person(self, name: str, *grants: Grant, kind: str = "person") -> UserAccount:
        """Somebody with roles."""
        self.users.add(LOCAL, name, kind)
        for grant in grants:
            self.users.grant(LOCAL, name, grant)
        return self.users.account(name)

    def logged_in(self, name: str, *grants: Grant) -> Principal:
        """Somebody with roles who has logged in."""
        cookie = self.sessions.start(self.person(name, *grants))
        found = self.sessions.principal(cookie)
        assert found is not None
        return found

    def everything_kept(self) -> str:
        """All that stands in the database, as one text."""
        tables = map(sa.select, METADATA.sorted_tables)
        with self.database.reading() as connection:
            return repr([list(connection.execute(table)) for table in tables])

    def acts(self) -> list[str]:
        """The kinds of acts in the trail, in their order."""
        found = [re.search(r'"kind":\s*"([^"]+)"', line) for line in self.trail.export()]
        return [each[1] for each in found if each is not None]
