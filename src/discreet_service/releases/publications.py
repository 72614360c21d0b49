"""Publications: a draft takes the place of a release, once and wholly. Agreement, entry and task
are written together, then folders are switched; what was begun is completed or taken back.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.files import kept_on_disk, lock_taken, make_folder, told_if_full, write_text
from discreet.release import SEAL, read_seal
from discreet_service.audit import AuditKind, AuditTrail, FactValue
from discreet_service.database import (
    PUBLICATIONS,
    ServiceDatabase,
    change_rows,
    drop_rows,
    put_row,
    row_of,
)
from discreet_service.people import Approvals, Proposal, ProposalKind
from discreet_service.permissions import Principal
from discreet_service.problems import ServiceError
from discreet_service.releases.catalogue import ReleaseCatalogue, earlier
from discreet_service.releases.drafts import ReleaseDraft, read_draft
from discreet_service.releases.programmes import ProgrammeShelf, StoredProgramme
from discreet_service.releases.release import ServedRelease, UnservedFolderError, open_release

#: Who takes a publication back, in the trail.
SYSTEM = "service"

_LOCK = ".publications.lock"
_PATIENCE, _LOOK = 30.0, 0.05
_LEFT = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.new(?:\.old)?")
#: Stands for a release that has no seal that can be read.
_DAMAGED = "damaged"
_EXCHANGE, _HERE = 2, -100


class Publications:
    """The publications of a service."""

    def __init__(
        self,
        database: ServiceDatabase,
        trail: AuditTrail,
        clock: Callable[[], int],
        *,
        catalogue: ReleaseCatalogue,
        drafts: ProgrammeShelf,
        approvals: Approvals,
    ) -> None:
        self._database, self._trail, self._clock = database, trail, clock
        self._catalogue, self._drafts, self._approvals = catalogue, drafts, approvals
        approvals.register(ProposalKind.release_publication, self._agreed)

    def origin(self, release: str, seal: str) -> Mapping[str, Any]:
        """Origin of a release; empty if it was not published here."""
        with self._database.reading() as connection:
            row = row_of(connection, PUBLICATIONS, release=release, seal=seal)
        origin: Mapping[str, Any] = {} if row is None else json.loads(row.origin)
        return origin

    def published_of(self, programme: str) -> list[tuple[str, str, str]]:
        """Releases that were last published of a programme: name, draft, short name of the seal."""
        columns = PUBLICATIONS.c
        asked = sa.select(columns.release, columns.draft, columns.seal).where(
            columns.programme == programme
        )
        with self._database.reading() as connection:
            rows = connection.execute(asked.order_by(columns.release)).all()
        return [(row.release, row.draft, row.seal) for row in rows]

    def propose(
        self,
        connection: sa.Connection,
        draft: ReleaseDraft,
        programme: StoredProgramme,
        *,
        principal: Principal,
        reason: str,
        dataset: str,
    ) -> Proposal:
        """Propose to put a draft in the place of a release; a second person decides."""
        subject = f"{draft.release.id}:{programme.id}/{draft.summary['draft']}"
        kind, digest = ProposalKind.release_publication, self._digest(draft, programme)
        return self._approvals.propose(
            connection, kind, subject, digest, principal, reason, dataset
        )

    def _agreed(self, connection: sa.Connection, proposal: Proposal) -> str:
        """Write down, together, who publishes what, and what is to be done; `finish` does it.

        Gives the digest of what it is by now; nothing is written down of another.
        """
        draft, programme = self.proposed(proposal)
        digest = self._digest(draft, programme)
        if digest != proposal.digest:
            return digest
        persons = (proposal.proposer, self._approvals.proposal(connection, proposal.id).decider)
        new, summary = draft.release, draft.summary
        there, served = _identity(self._catalogue.shelf / new.id), self._served(new.id)
        last = row_of(connection, PUBLICATIONS, release=new.id)
        known = there, _identity(earlier(self._catalogue.shelf / new.id))
        if (last is not None and last.begun) or (served and served not in known):
            message, hint = "the release has been replaced since", "check the changes again"
            raise ServiceError(message, "changed-meanwhile", "release", hint)
        origin = {"dataset": programme.dataset, "programme": programme.digest}
        facts: dict[str, FactValue] = {**origin}
        facts |= {"version": str(summary.get("version", "")), "proposal": proposal.id}
        facts |= {"digest": new.identity, "signer": new.signer, "persons": persons}
        origin |= {name: summary.get(name, "") for name in ("version", "parameters")}
        kind = AuditKind.release_published
        self._trail.append(connection, kind, persons[-1], new.id, facts)
        seals = {"seal": new.identity, "replaces": there}
        put_row(connection, PUBLICATIONS, {"release": new.id}, programme=programme.id, **seals,
                draft=str(summary["draft"]), origin=json.dumps(origin, sort_keys=True),
                at=self._clock(), begun=True)  # fmt: skip
        return digest

    def proposed(self, proposal: Proposal) -> tuple[ReleaseDraft, StoredProgramme]:
        """The draft that somebody proposes to publish, and its programme."""
        release, _, place = proposal.subject.partition(":")
        number, _, draft = place.partition("/")
        folder = self._drafts.draft(number, draft)
        return read_draft(folder, self._catalogue.keys, release), self._drafts.get(number)

    def _digest(self, draft: ReleaseDraft, programme: StoredProgramme) -> str:
        """The digest of a draft in the place of what readers get now."""
        new = draft.release
        parts = (new.id, new.identity, self._served(new.id), programme.id, programme.digest)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def finish(self) -> None:
        """Put in their place the files of what was begun, after whoever is just doing so."""
        if not self._begun():
            return
        with self._alone(_PATIENCE):
            try:
                self._settle_begun()
            except OSError:
                message = "the publication is logged, but the files cannot be moved"
                hint = "the service tries again; staff should check the folder of releases"
                raise ServiceError(message, "data-not-ready", hint=hint, retry_after=60) from None

    def settle(self) -> list[str]:
        """Complete what was begun and not done, or take it back; the releases concerned.

        What somebody is just doing is left to them.
        """
        shelf = self._catalogue.shelf
        if not (self._begun() or _left(shelf) or [*shelf.glob(".*.earlier")]):
            return []
        with contextlib.suppress(_BusyShelfError), self._alone(0):
            done = self._settle_begun()
            for folder in _left(shelf):  # killed before anything was written down
                shutil.rmtree(folder, ignore_errors=True)
            for name, release in self._catalogue.releases().items():
                if release.files.folder == shelf / name:  # no embargo keeps another one
                    shutil.rmtree(earlier(shelf / name), ignore_errors=True)
            return done
        return []

    # -- steps -------------------------------------------------------------------

    def _served(self, release: str) -> str:
        """The short name of the seal of what readers get now; empty if nothing."""
        self._catalogue.look_again()
        found = self._catalogue.releases().get(release)
        return "" if found is None else found.identity

    def _begun(self) -> list[sa.Row[Any]]:
        order = sa.select(PUBLICATIONS).where(PUBLICATIONS.c.begun).order_by(PUBLICATIONS.c.release)
        with self._database.reading() as connection:
            return list(connection.execute(order).all())

    def _settle_begun(self) -> list[str]:
        rows = self._begun()
        for row in rows:
            # Bring one publication to its end, from wherever it was left.
            shelf = self._catalogue.shelf
            place, beside = shelf / row.release, (shelf / f".{row.release}.new")
            if _identity(place) != row.seal and _identity(place) in ("", row.replaces):
                if self._made_ready(row, beside):
                    switch(beside, place)
                elif not place.exists() and aside(beside).exists():
                    aside(beside).rename(place)
            for folder in (beside, aside(beside)):
                self._keep_earlier(place, folder)
            kept_on_disk(shelf)
            # Write down that nothing is left to be done; and that it was taken back, if so.
            mine = {"release": row.release, "seal": row.seal, "begun": True}
            with self._database.writing() as connection:
                if _identity(place) == row.seal:
                    change_rows(connection, PUBLICATIONS, mine, begun=False)
                elif drop_rows(connection, PUBLICATIONS, **mine):
                    kind, facts = AuditKind.publication_undone, {"digest": row.seal}
                    self._trail.append(connection, kind, SYSTEM, row.release, facts)
            for folder in (beside, aside(beside)):
                shutil.rmtree(folder, ignore_errors=True)
            self._catalogue.look_again()
        return [row.release for row in rows]

    def _keep_earlier(self, place: Path, folder: Path) -> None:
        """Keep what was read until now for as long as what took its place is under embargo."""
        keys, now = self._catalogue.keys, self._clock()
        with contextlib.suppress(UnservedFolderError):
            waits = open_release(place, keys).public_from > now
            if waits and open_release(folder, keys, place.name).public_from <= now:
                shutil.rmtree(earlier(place), ignore_errors=True)
                folder.rename(earlier(place))

    def _made_ready(self, row: sa.Row[Any], beside: Path) -> bool:
        """Whether the files to be published are there, whole; made anew of the draft if need be."""
        keys = self._catalogue.keys
        try:
            if open_release(beside, keys, row.release).identity == row.seal:
                return True
        except UnservedFolderError:
            pass
        try:
            draft = read_draft(self._drafts.draft(row.programme, row.draft), keys, row.release)
            if draft.release.identity != row.seal:
                return False
            kept_on_disk(prepared(draft.release, self._catalogue.shelf, keys))
        except (ServiceError, UnservedFolderError):
            return False
        return True

    # -- one at a time ---------------------------------------------------------------

    @contextlib.contextmanager
    def _alone(self, patience: float) -> Iterator[None]:
        """Hold the shelf; who dies lets go of it."""
        make_folder(self._catalogue.shelf)
        path = self._catalogue.shelf / _LOCK
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            until = time.monotonic() + patience
            while not lock_taken(descriptor):
                if time.monotonic() >= until:
                    raise _BusyShelfError("another publication is in progress",
                                          code="overloaded", retry_after=30)  # fmt: skip
                time.sleep(_LOOK)
            yield
        finally:
            os.close(descriptor)


class _BusyShelfError(ServiceError):
    """Somebody else is publishing."""


def _identity(place: Path) -> str:
    """The short name of the seal in a folder; empty if there is no folder."""
    seal = read_seal(place / SEAL)
    if seal is not None:
        return seal.identity
    return _DAMAGED if place.exists() else ""


def _left(shelf: Path) -> list[Path]:
    return [path for path in shelf.glob(".*.new*") if _LEFT.fullmatch(path.name)]


def prepared(draft: ServedRelease, shelf: Path, keys: tuple[bytes, ...]) -> Path:
    """A folder beside the releases with all that is published of a draft, found whole."""
    beside = shelf / f".{draft.id}.new"
    with told_if_full(shelf):
        shutil.rmtree(beside, ignore_errors=True)
        make_folder(beside)
        try:
            # The published files of a draft, each on the disk; the seal last.
            for name in draft.published:
                with draft.files.opened(name) as file, (beside / name).open("xb") as copy:
                    shutil.copyfileobj(file, copy, 1 << 20)
                    copy.flush()
                    os.fsync(copy.fileno())
            write_text(beside / SEAL, draft.seal.text())
            open_release(beside, keys, draft.id)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    return beside


def switch(beside: Path, place: Path) -> None:
    """Put a folder in the place of another, which stands beside it afterwards.

    Where the system can, there is no moment in which there is neither.
    """
    if not place.exists():
        beside.rename(place)
        return
    if sys.platform == "linux":
        call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if call is not None:
            names = (os.fsencode(beside), os.fsencode(place))
            if call(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0:
                return
            if ctypes.get_errno() not in (errno.ENOSYS, errno.EINVAL):
                raise OSError(ctypes.get_errno(), "the folders cannot be exchanged")
    old = aside(beside)
    place.rename(old)
    beside.rename(place)
    old.rename(beside)


def aside(beside: Path) -> Path:
    """Temporary place of the old folder, if the system cannot exchange two folders at once."""
    return beside.with_name(f"{beside.name}.old")
