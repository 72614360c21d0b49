"""Installation: a new service on the disk, keys for its first callers, its trail looked at. SECRET:
what is shown once is shown once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import make_folder, toml_value, write_text
from discreet.microdata import Secret
from discreet.release import read_verify_key, write_key_pair
from discreet_service.audit import SignedHead
from discreet_service.permissions import ROLES, Grant, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings

#: Who does what is done by command, on the machine itself.
LOCAL = Principal(name="local", kind="local", grants=(Grant("admin"),))
_SETTINGS = """\
# The protection service of this office; see docs/service/operation.md.
name = {name}
package_key_file = "package.key"
trusted_signers = ["office.pub"]
signing_key_file = "trail.key"
"""
_FOLDERS = ("datasets", "releases", "parameters")


@dataclass(frozen=True, kw_only=True)
class NewService:
    """A service that was made."""

    settings: Path  # Its SERVICE.toml.
    person: str  # The first administrator
    password: str  # Their one-time password. SECRET.

    def text(self) -> str:
        """The report as text."""
        return (
            f"A new service is in {self.settings.parent}.\nFirst administrator: {self.person}, "
            f"one-time password {self.password}\nThe password is valid for one day and shown "
            f"only once. Start with:\n  discreet serve {self.settings}"
        )

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "settings": str(self.settings),
            "person": self.person,
            "one_time_password": self.password,
        }

    def __repr__(self) -> str:
        return f"<NewService {self.settings}>"


def new_service(folder: Path, person: str, *, name: str = "Statistical office") -> NewService:
    """Make a new service."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ServiceError("a new service needs a separate folder", "conflict", str(folder))
    make_folder(folder, 0o700)
    for item in _FOLDERS:
        make_folder(folder / item, 0o700)
    Secret.generate().write(folder / "service.secret")
    Secret.generate().write(folder / "package.key")
    write_key_pair(folder / "office")
    write_key_pair(folder / "trail")
    settings = folder / "SERVICE.toml"
    write_text(settings, _SETTINGS.format(name=toml_value(name)), private=True)
    with opened(settings) as service:
        password = service.users.first_administrator(person)
    return NewService(settings=settings, person=person, password=password)


@contextmanager
def opened(settings: Path) -> Iterator[Service]:
    """A service whose parts are used by command."""
    service = Service(ServiceSettings.read(settings))
    try:
        yield service
    finally:
        service.close()


def grants_of(roles: Sequence[str]) -> tuple[Grant, ...]:
    """Grants as people write them.

    >>> grants_of(["reader", "requester@census"])
    (Grant(role='reader', dataset='*'), Grant(role='requester', dataset='census'))
    """
    grants = tuple(map(Grant.of, roles))
    for grant in grants:
        if grant.role not in ROLES:
            hint = f"roles: {', '.join(ROLES)}"
            raise ServiceError(f"unknown role {grant.role!r}", "invalid-input", "role", hint)
    return grants


def new_key(
    settings: Path, person: str, roles: Sequence[str], days: int
) -> tuple[str, dict[str, Any]]:
    """A key for a system, which is made known if it is not; the key is shown once. SECRET."""
    grants = grants_of(roles)
    with opened(settings) as service:
        if person not in {account.name for account in service.users.accounts()}:
            service.users.add(LOCAL, person, "system")
        for grant in grants:
            service.users.grant(LOCAL, person, grant)
        key = service.api_keys.create(
            LOCAL, name="created by command", grants=grants, owner=person, days=days
        )
    held = list(map(str, grants))
    return key.token, {"id": key.key.id, "owner": person, "grants": held, "days": days}


def verified_trail(settings: Path, heads: Sequence[Path]) -> tuple[str, dict[str, Any]]:
    """Result of verifying the audit trail."""
    with opened(settings) as service:
        signing = service.settings.signing_key_file
        public = None if signing is None else signing.with_suffix(".pub")
        keys = [] if public is None or not public.exists() else [read_verify_key(public)]
        verdict = service.trail.verify([SignedHead.read(path) for path in heads], keys)
    described = {**verdict.facts, "problems": list(verdict.problems)}
    lines = [f"{verdict.entries:,} entries, {verdict.heads} signed checkpoints:"]
    lines += [f"  {problem}" for problem in verdict.problems] or ["  the audit trail is complete"]
    return os.linesep.join(lines), described
