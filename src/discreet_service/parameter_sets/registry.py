"""The registry of parameter sets. SECRET. A package is used if two persons agreed to, it is signed
by somebody who is trusted, and its file is to the byte the one they agreed on. One set of a
statistic is in use at a time; none comes back, nor an older one than was in use.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet.files import atomic_path, make_folder
from discreet.release import (
    LARGEST,
    Parameters,
    describe_package,
    is_older,
    key_id,
    open_parameters,
    public_bytes,
    read_signing_key,
    read_verify_key,
)
from discreet_fire.persons import same_person
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    PARAMETER_SETS,
    ServiceDatabase,
    change_rows,
    insert_row,
    record_of,
    row_of,
)
from discreet_service.people import Proposal
from discreet_service.problems import ServiceError
from discreet_service.settings import SettingsError


def parameter_signers(trusted: Sequence[Path], studio_key: Path | None) -> tuple[Path, ...]:
    """The public key files of those who may sign packages of parameters.

    >>> parameter_signers([], None)
    ()
    """
    if studio_key is None:
        return tuple(trusted)
    where = "studio_key_file"
    public = studio_key.with_suffix(".pub")
    own = public_bytes(read_signing_key(studio_key))
    if read_verify_key(public) != own:
        message, hint = "its .pub file belongs to another key", "discreet params keys studio"
        raise SettingsError(message, code="settings", where=where, hint=hint)
    if key_id(own) in {key_id(read_verify_key(item)) for item in trusted}:
        message = "the studio needs a separate key, not the key of policies or releases"
        hint = "run discreet params keys studio, and keep the key of the office off this machine"
        raise SettingsError(message, code="settings", where=where, hint=hint)
    return (*trusted, public)


_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_TABLE = PARAMETER_SETS.c


class SetState(StrEnum):
    """State of a parameter set."""

    proposed = "proposed"
    active = "active"
    retired = "retired"


@dataclass(frozen=True, kw_only=True, slots=True)
class ParameterSet:
    """Public facts about a parameter set."""

    name: str  # The statistic that it is for
    version: str
    digest: str  # Keyed digest of what is in it, as its header says
    file: str  # SHA-256 of the package
    signer: str  # The short name of the key that signed it
    state: SetState  # How far it is
    imported: int  # When it came, in milliseconds
    importer: str  # Who brought it
    activated: int | None  # When it came into use
    retired: int | None  # When it went out of use

    @property
    def subject(self) -> str:
        """Name in proposals and the audit trail."""
        return f"{self.name}@{self.version}"

    @classmethod
    def of(cls, row: sa.Row[Any]) -> ParameterSet:
        """The set of a row."""
        return record_of(cls, row, state=SetState(row.state), importer=row.imported_by)


class ParameterSets:
    """The parameter sets of a service. SECRET."""

    def __init__(
        self,
        database: ServiceDatabase,
        trail: AuditTrail,
        clock: Callable[[], int],
        *,
        folder: Path,
        package_key: Path | None,
        signers: Sequence[Path],
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._folder, self._package_key = folder, package_key
        self._signers = {key_id(read_verify_key(path)): path for path in signers}
        self._opened: dict[str, Parameters] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "<ParameterSets: secret>"

    # -- what there is -------------------------------------------------------

    def sets(self) -> tuple[ParameterSet, ...]:
        """All of them, by name and time."""
        order = sa.select(PARAMETER_SETS).order_by(_TABLE.name, _TABLE.imported_at, _TABLE.version)
        with self._database.reading() as connection:
            return tuple(ParameterSet.of(row) for row in connection.execute(order))

    def show(self, name: str, version: str) -> ParameterSet:
        """Describe a parameter set."""
        with self._database.reading() as connection:
            return self._found(connection, name, version)

    def parameters(self, name: str, version: str | None = None) -> tuple[ParameterSet, Parameters]:
        """A set that is in use, opened. SECRET."""
        every = self._database.remembered(
            ("parameter sets", name),
            lambda reading: [*map(ParameterSet.of, self._rows(reading, name))] or None,
        )
        active = [item for item in every or () if item.state is SetState.active]
        # Earlier versions of the service let several be in use: the last one holds.
        found = max(active, key=lambda each: each.activated or 0, default=None)
        if version is not None and (found is None or found.version != version):
            if any(item.version == version and item.activated is not None for item in every or ()):
                message, hint = "this version is retired", "use the version in use"
                raise ServiceError(message, "version-retired", "version", hint)
            found = None
        if found is None:
            raise _unknown()
        with self._lock:
            opened = self._opened.get(found.file)
            if opened is None:
                opened = self._opened[found.file] = self._open(found)
        return found, opened

    def draft(self, name: str, version: str) -> tuple[ParameterSet, Parameters]:
        """A set that is not in use yet, opened for those who decide about it. SECRET."""
        found = self.show(name, version)
        if found.state is not SetState.proposed:
            message = "only proposed sets can be viewed"
            raise ServiceError(message, "conflict", "version")
        return found, self._open(found)

    def _rows(self, connection: sa.Connection, name: str) -> Sequence[sa.Row[Any]]:
        """All versions of a statistic."""
        return connection.execute(sa.select(PARAMETER_SETS).where(_TABLE.name == name)).all()

    def _found(self, connection: sa.Connection, name: str, version: str) -> ParameterSet:
        row = row_of(connection, PARAMETER_SETS, name=name, version=version)
        if row is None:
            raise _unknown()
        return ParameterSet.of(row)

    # -- packages --------------------------------------------------------------

    def _path(self, file: str) -> Path:
        return self._folder / f"{file}.dcparams"

    def _open(self, found: ParameterSet) -> Parameters:
        """Open a package that is to the byte the one that was agreed on."""
        path, key = self._path(found.file), self._package_key
        if key is None:
            hint = "add package_key_file to its settings"
            message = "the service has no key for packages"
            raise ServiceError(message, "data-not-ready", "parameter_set", hint)
        try:
            self._check_file(found)
            opened = open_parameters(path, key=key, verify_key=self._signers[found.signer],
                                     statistic=found.name, version=found.version,
                                     signer=found.signer)  # fmt: skip
            self._check_file(found)
        except (DiscreetError, OSError, KeyError):
            # What is wrong with it is for staff, who ask by `discreet params verify`.
            message = "the package of this parameter set cannot be used"
            hint = (
                "the package is missing or changed, or its signer is no longer trusted: "
                "contact staff"
            )
            raise ServiceError(message, "data-not-ready", "parameter_set", hint) from None
        return opened

    def _check_file(self, found: ParameterSet) -> None:
        if hashlib.sha256(self._path(found.file).read_bytes()).hexdigest() != found.file:
            raise ServiceError("the file was changed", "data-not-ready")

    # -- changes -----------------------------------------------------------------

    def propose(self, connection: sa.Connection, package: bytes, person: str) -> ParameterSet:
        """Take a package in; it is not in use yet."""
        if len(package) > LARGEST:
            raise ServiceError("too large for a package", "too-large", limit=LARGEST)
        file = hashlib.sha256(package).hexdigest()
        make_folder(self._folder, 0o700)
        path = self._path(file)
        there = path.exists()
        with atomic_path(path, private=True) as temporary:
            temporary.write_bytes(package)
        try:
            try:
                header = describe_package(path).header
            except DiscreetError:
                message, hint = "not a package with a valid signature", "discreet params pack"
                raise ServiceError(message, "invalid-body", "body", hint) from None
            signer = header.signer_id or ""
            if signer not in self._signers:
                message = "the signer of the package is not trusted by this service"
                hint = "add the signer to trusted_signers in its settings"
                raise ServiceError(message, "invalid-body", "signer", hint)
            for where, word in (("statistic", header.statistic), ("version", header.version)):
                if not _WORD.fullmatch(word):
                    message = "use up to 80 letters, digits, dots, - and _"
                    raise ServiceError(message, "invalid-body", where)
            about: dict[str, Any] = {"name": header.statistic, "version": header.version}
            about |= {"digest": header.digest, "file": file, "signer": signer}
            times: dict[str, Any] = {"imported": self._clock(), "activated": None, "retired": None}
            found = ParameterSet(**about, **times, state=SetState.proposed, importer=person)
            self._check_succession(connection, found)
            self._open(found)
        except BaseException:
            if not there:
                path.unlink(missing_ok=True)
            raise
        brought = {"imported_at": found.imported, "imported_by": person}
        insert_row(connection, PARAMETER_SETS, **about, state=found.state.value, **brought)
        facts = {"version": found.version, "digest": file, "signer": found.signer}
        kind = AuditKind.parameters_imported
        self._trail.append(connection, kind, person, found.subject, facts)
        return found

    def _check_succession(self, connection: sa.Connection, found: ParameterSet) -> None:
        """No version twice, and none that is older than one that was in use."""
        for row in self._rows(connection, found.name):
            if row.version == found.version:
                message = "the version exists already"
                hint = "another package has another version"
                raise ServiceError(message, "conflict", "version", hint)
            if _was_newer(row, found.version):
                message = "a newer version was in use, or the order of the versions is unknown"
                hint = "pack the parameters with a higher version"
                raise ServiceError(message, "conflict", "version", hint)

    def activate(self, connection: sa.Connection, agreed: Proposal) -> str:
        """Bring a set into use as two persons agreed; the one that was in use ends by this."""
        found = self._found(connection, *agreed.subject.split("@"))
        if found.state is not SetState.proposed:
            message, hint = f"this set is already {found.state.value}", "import a new version"
            raise ServiceError(message, "conflict", "version", hint)
        if any(_was_newer(row, found.version) for row in self._rows(connection, found.name)):
            raise ServiceError("a newer version has been in use since", "conflict", "version")
        self._open(found)
        for row in self._rows(connection, found.name):
            if row.state == SetState.active.value:
                self._change(connection, ParameterSet.of(row), SetState.retired, agreed)
        self._change(connection, found, SetState.active, agreed)
        return found.file

    def retire(self, connection: sa.Connection, agreed: Proposal) -> str:
        """End the use of a set for good, as two persons agreed."""
        found = self._found(connection, *agreed.subject.split("@"))
        if found.state is SetState.retired:
            raise ServiceError("this set is already retired", "conflict", "version")
        self._change(connection, found, SetState.retired, agreed)
        return found.file

    def _change(
        self, connection: sa.Connection, found: ParameterSet, state: SetState, agreed: Proposal
    ) -> None:
        if not agreed.decider or same_person(agreed.proposer, agreed.decider):
            hint = "ask another person"
            raise ServiceError("a second person must approve", "second-person", hint=hint)
        column, kind = _CHANGES[state]
        key = {"name": found.name, "version": found.version, "state": found.state.value}
        values = {"state": state.value, column: self._clock()}
        if change_rows(connection, PARAMETER_SETS, key, **values) != 1:
            raise ServiceError("it has been changed since", "conflict", "version")
        persons = (agreed.proposer, agreed.decider)
        facts = {"version": found.version, "digest": found.file, "proposal": agreed.id,
                 "persons": persons}  # fmt: skip
        self._trail.append(connection, kind, agreed.decider, found.subject, facts)
        with self._lock:
            self._opened.pop(found.file, None)


#: How a state comes about: when, as the table has it, and what the trail says.
_CHANGES = {
    SetState.active: ("activated_at", AuditKind.parameters_activated),
    SetState.retired: ("retired_at", AuditKind.parameters_retired),
}


def _was_newer(row: sa.Row[Any], version: str) -> bool:
    """Whether another version was in use, and nothing tells that this one is newer."""
    return (
        row.version != version and row.activated_at is not None and is_older(version, row.version)
    )


def _unknown() -> ServiceError:
    message, hint = "unknown parameter set in use", "GET /api/v1/parameter-sets lists them"
    return ServiceError(message, "unknown-parameter-set", "parameter_set", hint)
