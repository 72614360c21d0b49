"""The state of a release folder, so that interrupted work can be taken up again.

In: protected tables, the files made of them, keyed digests of what they were made from. Out: the
same at a later run, from a folder that is locked while in use and holds nothing confidential: a
plain hash of rules or of data that are nearly known could be found by trial, so every digest is
keyed with the data and with a secret of the office.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from discreet.errors import MicrodataError, Problem, PublicationError
from discreet.files import (
    TEMPORARY_SUFFIX,
    atomic_path,
    check_writable,
    file_digest,
    lock_taken,
    make_folder,
    write_text,
)
from discreet.microdata import DatabaseTable, distant_records
from discreet.protection.protocol import COUNT
from discreet.protection.registry import clash, protection
from discreet.publication import cells_frame, described, rebuilt, with_cells, without_cells
from discreet.record_batches import collected
from discreet.release.programme.file import Programme
from discreet.release.state.seal import (
    FOLDER,
    SEAL,
    ReleaseSeal,
    SealKeys,
    is_as_made,
    is_plain,
    memory_differences,
    read_seal,
)
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.assessment import CountStatistics, QualityLog
    from discreet.microdata import Secret
    from discreet.protection.parts import PartDecisions
    from discreet.protection.protocol import AssessedTable
    from discreet.release.state.identity import EarlierIdentity


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder; take it away again if the work fails and leaves it empty."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        make_folder(folder)
        check_writable(folder)
        yield
    finally:
        for place in missing:
            if not place.exists():
                continue  # the disk may have been full half way down
            if any(place.iterdir()):
                break
            place.rmdir()


@contextmanager
def locked_folder(path: Path, out: Path) -> Iterator[None]:
    """Hold a lock that the system releases when the process ends, however it ends."""
    with path.open("ab") as file:
        # The lock is on the file that others find, not on one just removed.
        current = lock_taken(file.fileno()) and path.exists()
        if not current or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            message = "another run is writing to this folder"
            hint = "wait until it ends, or choose another folder"
            raise PublicationError(message, code="output-locked", where=str(out), hint=hint)
        try:
            yield
        finally:
            with suppress(PermissionError):  # where open files cannot be removed
                path.unlink(missing_ok=True)


_CONTEXT = b"discreet release 1"


class ReleaseKey:
    """The key of a release's digests; shows nothing of itself.

    >>> ReleaseKey(b"0" * 32, None)
    <ReleaseKey>
    """

    __slots__ = ("value",)

    def __init__(self, data: bytes, secret: Secret | None) -> None:
        extra = b"" if secret is None else secret.derive("discreet release digests 1")
        self.value = hmac.digest(data, _CONTEXT + extra, "sha256")

    @classmethod
    def of_data(
        cls,
        source: Path,
        secret: Secret | None,
        parts: ReleaseKey | None = None,
        *,
        also: Sequence[Path] = (),
    ) -> ReleaseKey:
        """The key for data in a file, a folder of files, or files matching a pattern."""
        paths = [source]
        if source.is_dir():
            paths = sorted(path for path in source.rglob("*") if path.is_file())
        elif not source.is_file():
            anchor = Path(source.anchor)
            pattern = str(source.relative_to(anchor))
            paths = sorted(path for path in anchor.glob(pattern) if path.is_file())
        if not paths:
            raise MicrodataError("no files here", code="no-data", where=str(source))
        digest = hashlib.sha256(b"" if parts is None else parts.value)
        for path in (*paths, *also):
            digest.update(bytes.fromhex(file_digest(path)))
        return cls(digest.digest(), secret)

    @classmethod
    def of_records(
        cls, records: Any, secret: Secret | None, parts: ReleaseKey | None = None
    ) -> ReleaseKey:
        """The key for data that are no file: records of a database or cluster, in any order."""
        if isinstance(source := distant_records(records), DatabaseTable):
            content = source.fingerprint()
        elif records.implementation.is_pyspark():
            from discreet.microdata import fingerprint

            content = fingerprint(records.to_native())
        else:
            frame = collected(records)
            names = sorted(frame.columns)
            content = frame.select(names).sort(names).write_csv().encode()
        before = b"" if parts is None else parts.value
        return cls(hashlib.sha256(before + content).digest(), secret)

    def digest(self, entry: Any) -> str:
        """The digest of an entry made of texts, numbers, lists and mappings."""
        text = json.dumps(entry, sort_keys=True, ensure_ascii=False, default=str)
        return hmac.new(self.value, text.encode(), "sha256").hexdigest()

    def __repr__(self) -> str:
        return "<ReleaseKey>"


_VERSION = 1

#: What is remembered of a table besides its digest and its files.
_MADE = ("cells", "table", "extras")

#: Tables with so many cells together are at hand until the release is written.
_AT_HAND = 2**22

Memory = dict[str, Any]


_OTHERWISE = "changed, or signed with other keys"
_RESTORE = (
    "check who changed it, and restore the folder; to rebuild everything that changed since "
    "signing, add --accept-changes or accept_changes=True"
)


class ReleaseState:
    """The memory of one release folder."""

    def __init__(
        self, out: Path, programme: str, seals: SealKeys | None = None, *, accept: bool = False
    ) -> None:
        self.out = out
        self.folder = out / FOLDER
        self.stage = self.folder / "stage"
        self.programme = programme
        self.seals = seals
        self.accept = accept
        #: What was not as it was sealed, and is made anew.
        self.accepted: list[Problem] = []
        self._taken_over: set[str] = set()
        self._memories: dict[str, Memory] = {}
        self._outlines: dict[str, ProtectedTable] = {}
        self._at_hand: dict[str, ProtectedTable] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Work in the folder alone; on failure leave only what was there before."""
        # A link in place of the memory would let a run remove files elsewhere.
        for folder in (self.folder, self.stage):
            if folder.is_symlink():
                message = "not a folder but a link"
                hint = "remove it, or choose another folder for the release"
                raise PublicationError(message, code="output-folder", where=str(folder), hint=hint)
        with (
            made_folder(self.out),
            made_folder(self.folder),
            locked_folder(self.folder / "lock", self.out),
        ):
            check_writable(self.out)
            self._memories = self._read()
            self._check_seals()
            self._clean()
            self.stage.mkdir(exist_ok=True)
            yield

    def _read(self) -> dict[str, Memory]:
        memories: dict[str, Memory] = {}
        for path in sorted(self.folder.glob("*.json")):
            try:
                memory = json.loads(path.read_text("utf-8"))
            except (ValueError, RecursionError):
                memory = None  # damaged: the table is made again, unless it was sealed
            if _is_memory(memory):
                memories[path.stem] = memory
            elif self.seals is not None:
                self.accepted.append(Problem("the state was changed", f"{FOLDER}/{path.name}"))
        others = {str(memory["programme"]) for memory in memories.values()} - {self.programme}
        if others:
            message = f"the folder contains the release of another programme ({min(others)})"
            hint = "choose another folder for this one"
            raise PublicationError(message, code="output-folder", where=str(self.out), hint=hint)
        return memories

    # -- seals -------------------------------------------------------------------

    def _check_seals(self) -> None:
        """Refuse a folder that is not as it was sealed; what is accepted is made anew."""
        found = self.accepted
        if self.seals is None:
            sealed = [name for name, memory in self._memories.items() if "seal" in memory]
            if sealed or (self.out / SEAL).exists():
                message = "the release is signed, but the programme has no key to check it"
                found.append(Problem(message, SEAL, "add the secret, or sign = … to [release]"))
        elif self._memories and not (
            (self.out / SEAL).exists()
            or any(self.folder.glob("*.seal"))
            or any("seal" in memory for memory in self._memories.values())
        ):  # there is a release here, and no trace of a seal
            message = "the release is not signed: it is very old, or lost its signature"
            found.append(Problem(message, SEAL))
        else:
            found += self._broken(self.seals)
        if found and not self.accept:
            many = f"{len(found)} parts of the release changed since signing"
            raise PublicationError(
                many if len(found) > 1 else found[0].what,
                code="release-seal",
                where=str(self.out if len(found) > 1 else self.out / found[0].where),
                hint=_RESTORE,
                problems=found,
            )
        for name, memory in list(self._memories.items()) if found else []:
            # Only which files are this programme's is kept of a memory that is not sealed.
            if self.seals is None or not self.seals.fits_entry(name, memory):
                self._write(name, {"digest": "", "files": {}, "planned": memory["planned"]})

    def _broken(self, seals: SealKeys) -> Iterator[Problem]:
        """What is not as it was sealed; what an interrupted run left half done is."""
        trusted: dict[str, Memory] = {}
        for name, memory in self._memories.items():
            cells = self._cells(name)
            if not seals.fits_entry(name, memory):
                yield Problem(f"the state was {_OTHERWISE}", f"{FOLDER}/{name}.json")
                continue
            trusted[name] = memory
            if memory.get("cells") and cells.exists() and not is_as_made(cells, memory["cells"]):
                yield Problem("the state was changed", f"{FOLDER}/{name}.parquet")
        wholes = []
        for path in (self.out / SEAL, *sorted(self.folder.glob("*.seal"))):
            whole = read_seal(path)
            if whole is not None and not (wrong := whole.wrong_for(seals)):
                wholes.append(whole)
            elif path.exists() or path.is_symlink():
                reason = wrong if whole is not None else "the signature file is damaged"
                yield Problem(reason, path.relative_to(self.out).as_posix())
        published = any((self.out / file).exists() for file in self.planned())
        if not wholes and published and not (self.out / SEAL).exists():
            yield Problem("the signature file is missing", SEAL)
        yield from self._changed_files(wholes, trusted)

    def _changed_files(
        self, wholes: Sequence[ReleaseSeal], trusted: Mapping[str, Memory]
    ) -> Iterator[Problem]:
        """Published files that hold something else than was sealed; those gone are made again."""
        listed = [whole.files for whole in wholes]
        self._taken_over = {file for files in listed for file in files}
        listed = listed or [memory["files"] for memory in trusted.values()]
        digests: dict[str, set[str]] = {}
        for files in listed:
            for file, digest in files.items():
                digests.setdefault(file, set()).add(digest)
        planned = dict.fromkeys(self.planned())
        for file in dict.fromkeys([*planned, *digests]):
            path, made = self.out / file, digests.get(file, set())
            if not path.exists() and not path.is_symlink():
                continue
            if file not in planned:
                yield Problem("the state of this file is missing", file)
            elif not made:
                yield Problem("the file has no valid signature", file)
            elif not any(is_as_made(path, digest) for digest in made):
                yield Problem("the file was changed", file)

    def problems(self) -> list[Problem]:
        """Reasons why a run would refuse the folder; nothing is written."""
        self._memories = self._read()
        return [*self.accepted, *(self._broken(self.seals) if self.seals is not None else ())]

    def _seal(self) -> str:
        """Write the seal of what is about to be published; gives its text."""
        assert self.seals is not None
        files = {
            f: made for memory in self._memories.values() for f, made in memory["files"].items()
        }
        memory = {}
        for name, each in self._memories.items():
            whole = self._whole(name, {**each, "planned": list(each["files"])})
            memory[f"{name}.json"] = hashlib.sha256(_text(whole)).hexdigest()
            if "cells" in each:
                memory[f"{name}.parquet"] = each["cells"]
        seal = ReleaseSeal.made(self.programme, files, memory, self.seals)
        # Published files are moved one by one: until all are, both seals are good.
        write_text(self.folder / f"{seal.identity}.seal", seal.text())
        return seal.text()

    def _clean(self) -> None:
        """Remove files that an interrupted run left half written."""
        for folder in (self.folder, self.stage):
            for left in folder.glob(f".*{TEMPORARY_SUFFIX}"):
                left.unlink(missing_ok=True)
        own = {*self.planned(), SEAL}
        for left in self.out.glob(f".*{TEMPORARY_SUFFIX}"):
            made_of, _, _ = left.name.removesuffix(TEMPORARY_SUFFIX)[1:].rpartition(".")
            if made_of in own:
                left.unlink(missing_ok=True)

    def planned(self) -> list[str]:
        """The files that are, or were to be, written by this programme."""
        return [name for memory in self._memories.values() for name in memory["planned"]]

    def check_free(self, names: Iterable[str]) -> None:
        """Raise an error if a file stands in the way that this programme did not write."""
        own = {*self.planned(), *self._taken_over}
        foreign = [name for name in names if name not in own and (self.out / name).exists()]
        if foreign:
            hint = "choose another folder, or move these files away"
            raise PublicationError(
                f"the folder contains {len(foreign)} files that are not part of this release",
                code="output-file",
                where=str(self.out),
                hint=hint,
                problems=[Problem("not part of this release", n, hint) for n in foreign],
            )

    # -- what there is -----------------------------------------------------------

    def names(self) -> list[str]:
        """The names under which something is remembered."""
        return list(self._memories)

    def holds(self, name: str, digest: str) -> bool:
        """Whether the protected table of this digest is here, undamaged."""
        memory = self._memories.get(name)
        if memory is None or memory["digest"] != digest:
            return False
        return is_as_made(self._cells(name), memory["cells"])

    def complete(self, name: str, digest: str, files: Sequence[str]) -> bool:
        """Whether exactly these files were made for this digest and still are as made."""
        memory = self._memories.get(name)
        if memory is None or memory["digest"] != digest or list(memory["files"]) != list(files):
            return False
        return all(
            any(is_as_made(place / file, made) for place in (self.stage, self.out))
            for file, made in memory["files"].items()
        )

    def files(self, name: str) -> dict[str, str]:
        """The files made of a table, with their SHA-256."""
        return dict(self._memories[name]["files"])

    def table(self, name: str) -> ProtectedTable:
        """A protected table."""
        import polars as pl

        if name in self._at_hand:
            return self._at_hand[name]
        return with_cells(self.outline(name), pl.read_parquet(self._cells(name)))

    def extras(self, name: str) -> dict[str, Any]:
        """Further facts stored with a protected table."""
        return dict(self._memories[name].get("extras", {}))

    def outline(self, name: str) -> ProtectedTable:
        """A protected table without its cells: titles, variables, provenance."""
        if name not in self._outlines:
            self._outlines[name] = rebuilt(self._memories[name]["table"])
        return self._outlines[name]

    # -- changes -----------------------------------------------------------------

    def put(self, table: ProtectedTable, digest: str, extras: Mapping[str, Any]) -> None:
        """Remember a protected table, and what goes with it as JSON takes it."""
        path = self._cells(table.name)
        self._at_hand.pop(table.name, None)
        if self.seals is not None and (before := self._memories.get(table.name)) is not None:
            self._write(table.name, {**before, "cells": ""})  # until the new cells are there
        with atomic_path(path) as temporary:
            cells_frame(table).write_parquet(temporary, compression="lz4", statistics=False)
        content = {
            "cells": file_digest(path),
            "table": described(table),
            "extras": dict(extras),
        }
        self._remember(table.name, digest, files={}, **content)
        self._outlines[table.name] = without_cells(table)
        if sum(map(len, self._at_hand.values())) + len(table) <= _AT_HAND:
            self._at_hand[table.name] = table

    def add_files(
        self,
        name: str,
        digest: str,
        files: Sequence[str],
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        """Remember files that now stand complete in the stage, and what else is given."""
        memory = self._memories.get(name, {})
        content = {key: memory[key] for key in _MADE if key in memory}
        if extras is not None:
            content["extras"] = dict(extras)
        made_now = {file: file_digest(self.stage / file) for file in files}
        self._remember(name, digest, files=made_now, **content)

    def publish(self) -> None:
        """Move every file from the stage to its place; remove those no longer wanted."""
        seal = None if self.seals is None else self._seal()
        for name, memory in self._memories.items():
            for file in memory["files"]:
                if (self.stage / file).exists():
                    (self.stage / file).replace(self.out / file)
            for file in set(memory["planned"]) - set(memory["files"]):
                (self.out / file).unlink(missing_ok=True)
            if memory["planned"] != list(memory["files"]):
                self._write(name, {**memory, "planned": list(memory["files"])})
        place = self.out / SEAL  # beside the files, when all are in their places
        if seal is None:
            place.unlink(missing_ok=True)
        elif place.is_symlink() or not place.exists() or place.read_text("utf-8") != seal:
            write_text(place, seal)
        for left in self.folder.glob("*.seal"):
            left.unlink()
        shutil.rmtree(self.stage)

    def forget(self, names: Iterable[str]) -> list[str]:
        """Remove tables and the files published of them; gives the names of the files."""
        removed = []
        for name in names:
            for file in self._memories[name]["planned"]:
                if (self.out / file).exists():
                    (self.out / file).unlink()
                    removed.append(file)
            self._drop(name)
        return removed

    def undo(self) -> None:
        """Forget what was made and never published; published files stay as they are."""
        for name, memory in list(self._memories.items()):
            if not any((self.out / file).exists() for file in memory["planned"]):
                self._drop(name)
        for path in self.folder.glob("*.parquet"):
            if path.stem not in self._memories:
                path.unlink()  # cells for whose memory there was no room
        shutil.rmtree(self.stage, ignore_errors=True)

    def _drop(self, name: str) -> None:
        self._memories.pop(name, None)
        self._outlines.pop(name, None)
        self._at_hand.pop(name, None)
        self._cells(name).unlink(missing_ok=True)
        self._path(name).unlink(missing_ok=True)

    def _remember(self, name: str, digest: str, *, files: dict[str, str], **content: Any) -> None:
        earlier = self._memories.get(name, {}).get("planned", [])
        planned = list(dict.fromkeys([*files, *earlier]))
        self._write(name, {"digest": digest, **content, "files": files, "planned": planned})

    def _write(self, name: str, memory: Memory) -> None:
        whole = self._whole(name, memory)
        write_text(self._path(name), _text(whole).decode())
        self._memories[name] = whole

    def _whole(self, name: str, memory: Memory) -> Memory:
        """What is remembered under a name as it stands in its file, sealed if there are keys."""
        known = {key: value for key, value in memory.items() if key != "seal"}
        whole = {"version": _VERSION, "programme": self.programme, **known}
        return whole if self.seals is None else {**whole, "seal": self.seals.entry(name, whole)}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _cells(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def __repr__(self) -> str:
        return f"<ReleaseState of {self.programme}: {len(self._memories)} entries>"


def _text(memory: Memory) -> bytes:
    """A memory as it stands in its file."""
    return to_json(memory) + b"\n"


@dataclass(frozen=True, kw_only=True, repr=False)
class EarlierTable:
    """A protected table of a finished release, and what is remembered with it."""

    folder: Path
    table: ProtectedTable
    extras: dict[str, Any]
    files: dict[str, str]
    digest: str
    number: int = 0
    identity: EarlierIdentity | None = None  # fingerprints of its cells; None if nobody names them

    @property
    def name(self) -> str:
        """Its name, with that of the release."""
        return f"{self.folder.name}/{self.table.name}"

    @property
    def about(self) -> dict[str, Any]:
        """Its figures and their records."""
        found: dict[str, Any] = self.extras["about"]
        return found

    @property
    def protect(self) -> str:
        """The method that it was protected by."""
        return str(self.about["protect"])

    @property
    def values(self) -> list[str]:
        """The figures of its cells."""
        return list(self.about["tells"])

    def is_related(self, programme: Programme, table: str) -> bool:
        """Whether a table is about the records of this one, as far as names tell."""
        single = len(programme.sources) == 1
        return single or programme.records_of(table) == self.about["from"]

    @property
    def entry(self) -> dict[str, Any]:
        """Determinants of its cells, for digests."""
        identity = {} if self.identity is None else {"identity": self.identity.mark}
        own = {"digest": self.digest, "about": self.about, "name": self.table.name}
        return {**own, **identity}

    def __repr__(self) -> str:
        return f"<EarlierTable {self.name}>"


def remembered_tables(out: Path, number: int = 0) -> dict[str, EarlierTable]:
    """The protected tables of a finished release by name; it stays as it is.

    Raises:
        PublicationError: If this is no release folder, or one that is damaged.
    """
    import polars as pl

    def refused(what: str, where: Path) -> PublicationError:
        hint = "give the folder of a release with its unchanged subfolder .discreet"
        return PublicationError(what, code="release-folder", where=str(where), hint=hint)

    tables = {}
    paths = sorted((out / FOLDER).glob("*.json"))
    if not paths:
        raise refused("no release in this folder", out)
    seal = read_seal(out / SEAL)
    if seal is None and (out / SEAL).exists():
        raise refused("the signature file of this release is damaged", out / SEAL)
    for name in [] if seal is None else memory_differences(out, seal):
        raise refused("changed since signing", out / name)
    for path in paths:
        cells = path.with_suffix(".parquet")
        try:
            memory = json.loads(path.read_text("utf-8"))
        except (ValueError, RecursionError):
            raise refused("the state of this release is damaged", path) from None
        if not _is_memory(memory):
            raise refused("another version made this release", path)
        if "table" not in memory:
            continue  # what is said about the release as a whole
        if not is_as_made(cells, memory["cells"]):
            raise refused("the state of this release is damaged", cells)
        table = with_cells(rebuilt(memory["table"]), pl.read_parquet(cells))
        facts = {name: memory[name] for name in ("extras", "files", "digest")}
        tables[table.name] = EarlierTable(folder=out, table=table, number=number, **facts)
    return tables


def _is_memory(memory: object) -> bool:
    """Whether this was written here: right version, and plain file names only."""
    if not isinstance(memory, dict) or memory.get("version") != _VERSION:
        return False
    planned, files = memory.get("planned"), memory.get("files")
    if not isinstance(planned, list) or not isinstance(files, dict) or "programme" not in memory:
        return False
    return all(is_plain(name) for name in [*planned, *files])


def table_statement(programme: Programme, table: str) -> dict[str, Any]:
    """Facts about a table that a release keeps for later releases."""
    entry = programme.tables[table]
    values = programme.tells(table)
    if not values:
        message = f"the method does not declare the content of {table!r}"
        raise PublicationError(message, code="protection", where="protect")
    period = programme.document.period
    stated = {} if period is None else {"period": period.name, "keys": period.keys}
    return {
        **stated,
        "protect": programme.method(table).name,
        "tells": list(values),
        "where": entry.where or "",
        "weight": entry.weight or "",
        "from": programme.records_of(table),
    }


def universe_of(about: Mapping[str, Any]) -> str:
    """Whom a table counts, by source and filter, from what a release remembers of it."""
    where = f" where {about['where']}" if about["where"] else ""
    return f"{about['from']}{where}"


def read_release(folder: Path, number: int = 0) -> list[EarlierTable]:
    """The tables of a finished release."""
    release = [*remembered_tables(folder, number).values()]
    for table in release:
        if "about" not in table.extras:
            message = "the release lacks the description of its tables"
            hint = "run its programme again with this version"
            raise PublicationError(message, code="release-folder", where=str(folder), hint=hint)
        protection(table.protect)  # what an unknown method tells is not known
    return release


def contradictions(programme: Programme, tables: Sequence[EarlierTable]) -> Iterator[Problem]:
    """Values that were published by one method and shall now be by another."""
    for before in tables:
        for name in programme.tables:
            own = programme.method(name)
            both = set(programme.tells(name)) & set(before.values)
            source, then = programme.source_of(name).name, before.about["from"]
            related = before.is_related(programme, name) or (
                then in programme.sources and programme.parts_of(then) == programme.parts_of(source)
            )
            if own.name == before.protect or not both or not related:
                continue
            frame = " and ".join(sorted("the counts" if item == COUNT else item for item in both))
            message = (
                f"{frame} were published with {protection(before.protect).manner} "
                f"({before.name}), now with {own.manner}"
            )
            hint = f"table {name!r}: {clash(own.name, before.protect)[0]}"
            yield programme.problem(("suppression", "earlier", before.number), message, hint)


_QUALITY = b"discreet release quality 1"


def sealed_quality(
    table: ProtectedTable,
    assessed: AssessedTable,
    decisions: PartDecisions | None,
    key: ReleaseKey,
    hidden: Iterable[CountStatistics] = (),
) -> str:
    """The statistics on one table, and on cells that it was protected without, sealed."""
    from discreet.assessment import QualityLog

    log = QualityLog()
    log.add(
        table.name,
        assessed.counts,
        table,
        ingredients=assessed.ingredients,
        figures=assessed.figures,
        decisions=decisions,
        hidden=hidden,
    )
    return base64.b64encode(log.sealed(_sealing_key(key))).decode("ascii")


def quality_of(
    extras: Mapping[str, Mapping[str, Any]], keys: Mapping[str, ReleaseKey]
) -> QualityLog:
    """The statistics on all tables of a release."""
    from discreet.assessment import QualityLog

    whole = QualityLog()
    for name, entry in extras.items():
        sealed = base64.b64decode(entry["quality"])
        whole = whole.merge(QualityLog.opened(sealed, _sealing_key(keys[name])))
    return whole


def _sealing_key(key: ReleaseKey) -> bytes:
    return hmac.new(key.value, _QUALITY, hashlib.sha256).digest()
