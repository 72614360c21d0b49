"""Records kept in a store: a file per column, sorted by place, ready to be counted. CONFIDENTIAL.

In: the folder of a store. Out: the columns of its current version, mapped into memory.

    CURRENT              name of the version, SHA-256 digest of its manifest
    version-…/           read only; the last version and the one before are kept
      manifest.json      records, columns, grid; length and SHA-256 digest of each file
      N.codes.arrow      a code per record, 1, 2 or 4 bytes; of "nested" columns, per area
      N.values.arrow     the value that each code stands for
      N.offsets.arrow    of the column that sorts: the first record of each of its codes
      N.plain.arrow      numbers with more than 65,536 different values, as they are
      N.given.arrow      of such numbers, which are not missing, where some are
      key.arrow          record keys on their grid

Files are uncompressed Arrow. What sorts the records has no column of codes: an area is a range
of records. A version is complete before it is named, and each file is held against its digest
before it is used, so nobody sees a part of one, or what was changed since.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import MicrodataError
from discreet.files import file_digest, make_folder, told_if_full, write_text
from discreet.key_check import KeyCheck
from discreet.keygrid import KeyGrid
from discreet.microdata.distant_frames import KeyedBefore

POINTER, MANIFEST, KEY, VERSION = "CURRENT", "manifest.json", "key.arrow", "version-"
_FORMAT = 1
#: Records that are decoded at a time.
_PART = 2**18


def bad_store(folder: Path, what: str, hint: str = "") -> MicrodataError:
    """The error for a folder that is no store, or none to be trusted."""
    hint = hint or "build it again with discreet store build"
    return MicrodataError(what, code="store", where=str(folder), hint=hint)


def _damaged(folder: Path) -> MicrodataError:
    return bad_store(folder, "not a store, or its files are damaged or changed")


class VersionFiles:
    """The files of a version while it is written."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.about: dict[str, dict[str, Any]] = {}

    def add(self, name: str, column: pl.Series) -> None:
        """Write a column; of numbers that are all there, it is known where they lie."""
        path, rows = self.place / name, max(len(column), 1)
        with told_if_full(path):
            frame = column.rechunk().to_frame("x")
            frame.write_ipc(path, compression="uncompressed", record_batch_size=rows)
        path.chmod(0o600)
        _flush(path)
        about: dict[str, Any] = {"length": path.stat().st_size, "sha256": file_digest(path)}
        if column.dtype.is_numeric() and not column.null_count() and len(column):
            array = column.to_numpy()
            at = _place_of(array, path)
            about |= {"offset": at, "rows": len(array), "dtype": array.dtype.str}
        self.about[name] = about


def _place_of(array: Any, path: Path) -> int:
    """Where the numbers lie in a file: after its head."""
    head, at = np.memmap(path, np.uint8, "r")[: 2**16].tobytes(), -1
    while (at := head.find(array[:64].tobytes(), at + 1)) >= 0:
        held = np.memmap(path, np.uint8, "r")[at : at + array.nbytes]
        if held.size == array.nbytes and np.array_equal(held, array.view(np.uint8)):
            return at
    raise AssertionError(path.name)


def publish(folder: Path, write: Callable[[VersionFiles], Mapping[str, Any]]) -> None:
    """Write a version and, once it is safe on disk, make it the current one."""
    import fcntl

    make_folder(folder, 0o700)
    others = [path.name for path in folder.iterdir()]
    if POINTER not in others and any(not name.startswith((VERSION, ".")) for name in others):
        raise bad_store(folder, "the folder is not empty and not a store", "choose another folder")
    with os.fdopen(os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            message = "another process is building this store"
            raise bad_store(folder, message, "wait until that is done") from None
        before = _pointer(folder)["version"] if (folder / POINTER).is_file() else None
        place = Path(tempfile.mkdtemp(prefix=VERSION, dir=folder))  # mode 0700
        try:
            files = VersionFiles(place)
            whole = {**write(files), "format": _FORMAT, "files": files.about}
            manifest = json.dumps(whole, sort_keys=True, ensure_ascii=False)
            write_text(place / MANIFEST, manifest, private=True)
            _flush(place)
            digest = hashlib.sha256(manifest.encode()).hexdigest()
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        _flush(folder)
        text = json.dumps({"version": place.name, "sha256": digest})
        write_text(folder / POINTER, text, private=True)
        _flush(folder)
        for old in folder.glob(f"{VERSION}*"):
            if old.name not in (place.name, before):
                shutil.rmtree(old, ignore_errors=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _pointer(folder: Path) -> dict[str, str]:
    """Name and digest of the current version."""
    try:
        document = json.loads((folder / POINTER).read_bytes())
        version, digest = str(document["version"]), str(document["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(folder) from None
    if not version.startswith(VERSION) or Path(version).name != version:
        raise _damaged(folder)
    return {"version": version, "sha256": digest}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class StoredRecords(KeyedBefore):
    """The current version of a store (confidential)."""

    folder: Path  # the store
    place: Path  # the folder of the version
    manifest: Mapping[str, Any]  # what it holds
    _mapped: dict[str, Any] = field(default_factory=dict)
    _checked: set[str] = field(default_factory=set)
    _values: dict[str, pl.Series] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> StoredRecords:
        """Open a store. While new versions are published, the one that is current now."""
        for _ in range(8):
            pointer = _pointer(folder)
            place = folder / pointer["version"]
            try:
                content = (place / MANIFEST).read_bytes()
                if hashlib.sha256(content).hexdigest() != pointer["sha256"]:
                    raise _damaged(folder)
                manifest = json.loads(content)
                if manifest["format"] != _FORMAT:
                    raise bad_store(folder, "another version of discreet made this store")
                records = cls(folder=folder, place=place, manifest=manifest)
                # Every file is mapped: this version stays when later ones replace it.
                for name, about in manifest["files"].items():
                    if (place / name).stat().st_size != about["length"]:
                        raise _damaged(folder)
                    records._mapped[name] = np.memmap(place / name, np.uint8, "r")
                return records
            except FileNotFoundError:
                if pointer == _pointer(folder):
                    raise _damaged(folder) from None
            except (KeyError, ValueError, TypeError, AttributeError):
                raise _damaged(folder) from None
        raise bad_store(folder, "the store changed repeatedly during reading", "try again")

    def _file(self, name: str) -> Any:
        """What is in a file, once it was held against its digest."""
        content = self._mapped[name]
        if name not in self._checked:
            digest = hashlib.sha256(content).hexdigest()
            if digest != self.manifest["files"][name]["sha256"]:
                raise _damaged(self.folder)
            self._checked.add(name)
        return content

    def array(self, name: str) -> Any:
        """The numbers in a file, where they lie."""
        content, about = self._file(name), self.manifest["files"][name]
        if "offset" not in about:
            return pl.read_ipc(io.BytesIO(content)).to_series().to_numpy()
        dtype = np.dtype(about["dtype"])
        end = about["offset"] + about["rows"] * dtype.itemsize
        return np.asarray(content[about["offset"] : end]).view(dtype)

    def check(self) -> None:
        """Hold all files against their digests."""
        for name in self.manifest["files"]:
            self._file(name)

    def key_check(self, column: str, grid: KeyGrid, *, allowed: bool) -> KeyCheck:
        """Result of the key test when the store was built."""
        tested = self.manifest["keys"]
        if column != self.record_key or tested["grid"] != grid.size:
            message = "the store was built with other record keys or another key grid"
            raise bad_store(self.folder, message)
        check = KeyCheck(
            grid=grid,
            records=tested["records"],
            points=tested["points"],
            faults=tuple(tested["faults"]),
            fits=tested["fits"] and KeyGrid(tested["fits"]),
            unsuitable_allowed=allowed,
        )
        check.raise_faults(column)
        return check

    @property
    def manifest_file(self) -> Path:
        """The manifest of this version, with the digest of every file."""
        return self.place / MANIFEST

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.manifest["records"])

    @property
    def record_key(self) -> str | None:
        """The column of record keys."""
        name: str | None = self.manifest["record_key"]
        return name

    @property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """Type of each column."""
        columns: Mapping[str, Mapping[str, Any]] = self.manifest["columns"]
        return columns

    @property
    def sorted_by(self) -> str:
        """The column that sorts the records."""
        return next(name for name, about in self.columns.items() if about["kind"] == "sorted")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The columns and their types."""
        types = {name: self.values(name).dtype for name in self.columns}
        return types if self.record_key is None else {**types, self.record_key: pl.Int64()}

    @cached_property
    def keys(self) -> IntArray:
        """The record keys."""
        keys: IntArray = self.array(KEY)
        return keys

    @cached_property
    def offsets(self) -> IntArray:
        """The first record of each area, and the number of records."""
        offsets: IntArray = self.array(f"{self.columns[self.sorted_by]['at']}.offsets.arrow")
        return offsets

    def values(self, name: str) -> pl.Series:
        """The value that each code of a column stands for; none of a plain one."""
        if name not in self._values:
            content = self._file(f"{self.columns[name]['at']}.values.arrow")
            self._values[name] = pl.read_ipc(io.BytesIO(content)).to_series()
        return self._values[name]

    def codes(self, name: str) -> Any:
        """The codes of a column: one per record, or per area."""
        return self.array(f"{self.columns[name]['at']}.codes.arrow")

    def areas(self, start: int, stop: int) -> IntArray:
        """The area of each of some records."""
        first = int(np.searchsorted(self.offsets, start, side="right")) - 1
        last = int(np.searchsorted(self.offsets, stop, side="left"))
        edges: IntArray = np.clip(self.offsets[first : last + 1], start, stop)
        sizes: Any = edges[1:] - edges[:-1]
        return np.repeat(np.arange(first, last, dtype=np.int64), sizes)

    def decoded(self, name: str, start: int, stop: int) -> pl.Series:
        """The values of some records."""
        if name == self.record_key:
            return pl.Series(name, self.keys[start:stop])
        about = self.columns[name]
        if about["kind"] == "plain":
            numbers = pl.Series(name, self.array(f"{about['at']}.plain.arrow")[start:stop])
            if not about["missing"]:
                return numbers
            present = pl.Series(self.array(f"{about['at']}.given.arrow")[start:stop] == 1)
            return pl.select(pl.when(present).then(numbers).alias(name)).to_series()
        if about["kind"] == "coded":
            codes = self.codes(name)[start:stop]
        else:
            areas = self.areas(start, stop)
            codes = areas if about["kind"] == "sorted" else self.codes(name)[areas]
        return self.values(name).gather(codes).alias(name)

    def frame(self, columns: Sequence[str], start: int, stop: int) -> pl.DataFrame:
        """Some columns of some records."""
        return pl.DataFrame({name: self.decoded(name, start, stop) for name in columns})

    def fetched(self, columns: Sequence[str], most: int | None) -> Iterator[pl.DataFrame]:
        """The records, part by part."""
        count = self.records if most is None else min(most, self.records)
        for start in range(0, max(count, 1), _PART):
            yield self.frame(columns, start, min(start + _PART, count))
