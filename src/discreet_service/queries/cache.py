"""`AnswerCache`: protected tables that were made before, on disk and in memory, for the service
only. Files are sealed with a key; names of files tell nothing without it.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import re
import tempfile
import threading
from pathlib import Path

import polars as pl

from discreet.files import make_folder
from discreet.publication import cells_frame, described, rebuilt, with_cells
from discreet.tables import ProtectedTable
from discreet_service.last_used import LastUsed

_SEAL = hashlib.sha256().digest_size
_LENGTH = 8
_SUFFIX = ".table"
_NAME = re.compile(r"[0-9a-f]{64}")
#: Bytes of all tables in memory, about, and of the largest that goes there.
_MOST_HELD, _LARGEST_HELD = 100 * 2**20, 10 * 2**20
#: Bytes of a table without cells and codes, and of a code with its label; measured.
_OF_TABLE, _OF_CODE = 8_000, 200
#: The part of the room that a process may fill before it counts again what all have written.
_UNCOUNTED = 20


class AnswerCache:
    """Protected tables by keyed digest: those used last stay.

    >>> from tempfile import mkdtemp
    >>> from discreet.publication.examples import census_example
    >>> cache = AnswerCache(Path(mkdtemp()), b"key")
    >>> cache.put("0" * 64, census_example())
    >>> cache.get("0" * 64), cache.get("1" * 64)
    (<ProtectedTable T1: sex × age, 18 cells>, None)
    """

    def __init__(self, folder: Path, key: bytes, most_bytes: int = 2 * 10**9) -> None:
        make_folder(folder, 0o700)
        self.folder, self.most_bytes = folder, most_bytes
        self._key = key
        self._held = LastUsed[str, ProtectedTable](_MOST_HELD, _held_by)
        self._uncounted = most_bytes
        self._lock = threading.Lock()

    def get(self, digest: str) -> ProtectedTable | None:
        """A table that was made before; None if there is none that can be trusted."""
        if (held := self._held.get(digest)) is not None:
            return held
        path = self._path(digest)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        table = self._opened(digest, content)
        if table is None:
            path.unlink(missing_ok=True)
            return None
        try:
            os.utime(path)
        except OSError:  # somebody else has just let go of it
            return table
        self._remember(digest, table)
        return table

    def put(self, digest: str, table: ProtectedTable, *, on_disk: bool = True) -> None:
        """Keep a table. A disk that is full keeps none, and that is no error."""
        self._remember(digest, table)
        if not on_disk:
            return
        about = json.dumps(described(table), ensure_ascii=False).encode()
        cells = io.BytesIO()
        cells_frame(table).write_ipc_stream(cells, compression="zstd")
        content = len(about).to_bytes(_LENGTH, "big") + about + cells.getvalue()
        content = self._seal(digest, content) + content
        if len(content) > self.most_bytes // 4:
            return
        try:
            self._write(digest, content)
        except OSError:
            return
        with self._lock:
            self._uncounted += len(content)
            full = self._uncounted > self.most_bytes // _UNCOUNTED
            self._uncounted = 0 if full else self._uncounted
        if full:
            self._make_room()

    def _write(self, digest: str, content: bytes) -> None:
        """Write a file, whole or not at all; what a crash of the machine leaves has no seal."""
        handle, name = tempfile.mkstemp(prefix=f".{digest}.", suffix=".tmp", dir=self.folder)
        try:
            os.close(handle)
            Path(name).write_bytes(content)
            Path(name).replace(self._path(digest))
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _path(self, digest: str) -> Path:
        assert _NAME.fullmatch(digest), "a fingerprint needs 64 hexadecimal digits"
        return self.folder / f"{digest}{_SUFFIX}"

    def _seal(self, digest: str, content: bytes) -> bytes:
        return hmac.digest(self._key, b"answer 2\n" + digest.encode() + content, "sha256")

    def _opened(self, digest: str, content: bytes) -> ProtectedTable | None:
        seal, content = content[:_SEAL], content[_SEAL:]
        if not hmac.compare_digest(seal, self._seal(digest, content)):
            return None
        end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
        about = json.loads(content[_LENGTH:end])
        return with_cells(rebuilt(about), pl.read_ipc_stream(io.BytesIO(content[end:])))

    def _remember(self, digest: str, table: ProtectedTable) -> None:
        if _held_by(table) <= _LARGEST_HELD:
            self._held.put(digest, table)

    def _make_room(self) -> None:
        """Remove the files that were used longest ago."""
        found = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            try:
                status = path.stat()
            except OSError:  # somebody else has just let go of it
                continue
            found.append((status.st_mtime_ns, path, status.st_size))
        total = sum(size for *_, size in found)
        for _, path, size in sorted(found, key=lambda each: each[0]):
            if total <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _held_by(table: ProtectedTable) -> int:
    """The bytes that a table takes in memory, about."""
    numbers = sum(part.nbytes for part in (*table.index, table.value, table.status))
    return numbers + _OF_CODE * sum(len(dimension) for dimension in table.dimensions) + _OF_TABLE
