"""`ServedRelease`: one release, found whole and signed. Public. Every file is held against the
digest in the signed seal when it is opened: a folder that changes is never served half.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars as pl

from discreet.errors import DiscreetError
from discreet.publication import FORMATS, rebuilt, suffix_of, with_cells
from discreet.release import (
    FOLDER,
    MANIFEST,
    SEAL,
    ReleaseSeal,
    differences,
    is_plain,
    key_id,
    read_seal,
)
from discreet.tables import ProtectedTable
from discreet_service.problems import ServiceError

#: The media type of each format.
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "exact": "application/vnd.apache.parquet",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html; charset=utf-8",
    "px": "application/x-pc-axis; charset=utf-8",
    "json-stat": "application/json",
    "sdmx-csv": "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
}


def written(table: ProtectedTable, form: str, language: str, **options: Any) -> IO[bytes]:
    """A file of a table, open for reading.

    >>> from discreet.publication.examples import census_example
    >>> with written(census_example(), "csv", "en", labels=False) as file:
    ...     file.readline().strip()
    b'sex,age,value,status,symbol'
    """
    with tempfile.TemporaryDirectory(prefix="discreet-table-") as folder:
        path = Path(folder) / f"table{suffix_of(form)}"
        table.write(path, format=FORMATS[form].name, language=language, **options)
        return path.open("rb")  # stays readable when its name is gone


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_EXACT = f".{FORMATS['exact'].suffixes[0]}"
_METADATA = "discreet-table-1"
_PIECE = 1 << 20


class UnservedFolderError(DiscreetError):
    """A folder that is no release, or none that may be served; for staff, names no places."""


def _unserved(what: str, hint: str = "") -> UnservedFolderError:
    return UnservedFolderError(what, code="release-folder", hint=hint)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedTable:
    """Entry of a table in the list."""

    id: str  # Its name among all tables of the service
    release: str  # The release that it is part of
    name: str  # Its name there
    titles: Mapping[str, str]  # language → heading
    # Name and headings (language → text) of its spanning variables
    variables: tuple[tuple[str, Mapping[str, str]], ...]
    figures: tuple[str, ...]  # Its figures; none for a count
    cells: int  # Number of cells of the complete grid
    updated: str  # Date of the release; empty if none is stated
    files: tuple[str, ...]  # Its published files
    searched: str  # Small letters of all texts, for searching

    def title(self, language: str) -> str:
        """The heading in a language, else in another."""
        return self.titles.get(language) or next(iter(self.titles.values()), self.name)

    def variable_titles(self, language: str) -> list[str]:
        """The headings of the variables."""
        return [
            texts.get(language) or next(iter(texts.values()), name)
            for name, texts in self.variables
        ]


@dataclass
class SealedFiles:
    """The files of a folder, opened only if they are as they were sealed."""

    folder: Path
    digests: Mapping[str, str]  # Path inside the folder → SHA-256
    #: Whether a file was found changed: the folder must be looked at again.
    doubtful: bool = False
    _known: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self, name: str) -> io.BufferedReader:
        """An open file, its content checked; what is read from it later is the same file.

        Raises:
            ServiceError: There is no such file, or it is not as it was sealed.
        """
        digest = self.digests.get(name)
        if digest is None:
            raise ServiceError("file not found", "not-found", "file")
        try:
            descriptor = os.open(self.folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            raise self._changed() from None
        file = os.fdopen(descriptor, "rb")
        try:
            self._check(name, digest, file)
        except BaseException:
            file.close()
            raise
        return file

    def _check(self, name: str, digest: str, file: io.BufferedReader) -> None:
        state = os.fstat(file.fileno())
        mark = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        with self._lock:
            if self._known.get(name) == mark:
                return
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise self._changed()
        file.seek(0)
        with self._lock:
            self._known[name] = mark

    def read(self, name: str) -> bytes:
        """The content of a file that fits into memory."""
        with self.opened(name) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise self._changed()
        return data

    def _changed(self) -> ServiceError:
        self.doubtful = True
        message = "the release is being replaced, or is not valid"
        return ServiceError(message, "data-not-ready", retry_after=1)


@dataclass(frozen=True, kw_only=True)
class ServedRelease:
    """A release that was found whole."""

    id: str  # Its name here: that of its folder
    seal: ReleaseSeal
    signer: str  # The short name of the key that signed it
    manifest: Mapping[str, Any]  # Its list of everything, release.json.
    files: SealedFiles
    tables: Mapping[str, ListedTable]  # Its tables by name, in the order of the programme

    @property
    def identity(self) -> str:
        """The short name of its seal, which no other release has."""
        return self.seal.identity

    @property
    def languages(self) -> tuple[str, ...]:
        """Its languages, the main one first."""
        return tuple(self.manifest["languages"])

    @property
    def date(self) -> str:
        """Its date; empty if none is stated."""
        return str(self.manifest.get("date") or "")

    @property
    def embargo(self) -> str:
        """When it becomes public, with its time zone; empty for at once."""
        return str(self.manifest.get("embargo") or "")

    @property
    def conditions(self) -> dict[str, str]:
        """From when on, and by whom, it may be passed on, as far as it is stated."""
        stated = {name: self.manifest.get(name) for name in ("embargo", "redistribution")}
        return {name: str(text) for name, text in stated.items() if text}

    @property
    def public_from(self) -> float:
        """Time of publication in milliseconds since 1970; 0 for at once."""
        return datetime.fromisoformat(self.embargo).timestamp() * 1000 if self.embargo else 0.0

    @property
    def cells(self) -> int:
        """Number of cells of all tables."""
        return sum(table.cells for table in self.tables.values())

    def title(self, language: str) -> str:
        """Its heading in a language, else in another."""
        titles = self.manifest["title"]
        return str(titles.get(language) or next(iter(titles.values()), self.id))

    @cached_property
    def published(self) -> Mapping[str, str]:
        """Published file → SHA-256; what the release remembers is none of them."""
        return dict(self.seal.files)

    def listed(self, name: str) -> ListedTable:
        """Entry of a table."""
        if name not in self.tables:
            raise ServiceError("table not found", "not-found", "table")
        return self.tables[name]

    def read_table(self, name: str) -> ProtectedTable:
        """A table as it was protected."""
        sources = _sources(self.files, name)
        if sources is None:
            raise ServiceError("table not found", "not-found", "table")
        cells, about = sources
        data = self.files.read(cells)
        return with_cells(_outline(self.files, about), pl.read_parquet(io.BytesIO(data)))

    def __repr__(self) -> str:
        return f"<ServedRelease {self.id}: {len(self.tables):,} tables>"


def _sources(files: SealedFiles, name: str) -> tuple[str, str] | None:
    """The file of a table's cells, and that of everything else; the same if it is exact.

    None if no file leaves nothing out: the table has files to download, and no more.
    """
    exact = f"{name}{_EXACT}"
    if exact in files.digests:
        return exact, exact
    cells, about = f"{FOLDER}/{name}.parquet", f"{FOLDER}/{name}.json"
    return (cells, about) if cells in files.digests and about in files.digests else None


def _outline(files: SealedFiles, name: str) -> ProtectedTable:
    """A table without its cells, out of the file of everything else."""
    data = files.read(name)
    if name.endswith(_EXACT):
        return rebuilt(json.loads(pl.read_parquet_metadata(io.BytesIO(data))[_METADATA]))
    return rebuilt(json.loads(data)["table"])


def open_release(folder: Path, keys: Sequence[bytes], name: str = "") -> ServedRelease:
    """A release, if it is whole and signed by somebody who is trusted.

    Raises:
        UnservedFolderError: Why it is not served.
    """
    called = name or folder.name
    if not _ID.fullmatch(called):
        raise _unserved("not the name of a release", "use letters, digits, - and _")
    seal = read_seal(folder / SEAL)
    if seal is None:
        raise _unserved("the release is not signed, or its signature file is damaged")
    signer = next((key for key in keys if not seal.wrong_for_public(key)), None)
    if signer is None:
        hint = "add the public key to trusted_signers; sign with sign = … in [release]"
        raise _unserved("the signer of the release is not trusted", hint)
    found = differences(folder, seal)
    if found.missing or found.changed or found.extra:
        wrong = len(found.missing) + len(found.changed) + len(found.extra)
        raise _unserved(f"{wrong:,} files are missing, changed or extra")
    remembered = seal.memory if (folder / FOLDER).is_dir() else {}
    files = SealedFiles(
        folder, {**seal.files, **{f"{FOLDER}/{name}": made for name, made in remembered.items()}}
    )
    if MANIFEST not in files.digests:
        raise _unserved("the release has no list of files (release.json)")
    manifest: Mapping[str, Any] = json.loads(files.read(MANIFEST))
    if manifest.get("format") != "discreet-release" or manifest.get("format_version") != 1:
        raise _unserved("another version made the release")
    tables = {table.name: table for table in _listed(called, files, manifest)}
    return ServedRelease(
        id=called, seal=seal, signer=key_id(signer), manifest=manifest, files=files, tables=tables
    )


def _listed(release: str, files: SealedFiles, manifest: Mapping[str, Any]) -> Iterator[ListedTable]:
    languages = manifest["languages"]
    for entry in manifest["tables"]:
        name = entry["name"]
        if not is_plain(name):
            raise _unserved("a table has a name that is not a file name")
        sources = _sources(files, name)
        if sources is None:
            continue
        table = _outline(files, sources[1])
        titles = table.titles or {language: table.title(language) for language in languages}
        variables = tuple(
            (one.name, {language: one.title(language) for language in languages})
            for one in table.spanning
        )
        texts = [release, name, *titles.values(), *(figure.name for figure in table.figures)]
        for variable, headings in variables:
            texts += [variable, *headings.values()]
        for figure in table.figures:
            texts += figure.titles.values()
        yield ListedTable(
            id=f"{release}.{name}",
            release=release,
            name=name,
            titles=titles,
            variables=variables,
            figures=tuple(figure.name for figure in table.figures),
            cells=entry["cells"],
            updated=str(manifest.get("date") or ""),
            files=tuple(entry["files"]),
            searched="\n".join(texts).casefold(),
        )
