"""True tables that wait until all are counted that their parts are tied to.

In: the counts of tables, as they come. Out: the same, one table at a time. CONFIDENTIAL on both
sides: what is too much for memory waits in a file without a name, which goes with the process,
encrypted under a key that only this process ever has.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from io import SEEK_END, BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.files import TEMPORARY_SUFFIX
from discreet.protection.protocol import Counts
from discreet.tables import Dimension

#: Tables with so many cells together wait in memory.
_AT_HAND = 2**21


class WaitingTables(Mapping[str, Counts]):
    """The counts of tables that wait, by name of the table; read anew each time (confidential)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[str, Counts | tuple[int, int]] = {}
        self._file: IO[bytes] | None = None
        self._cipher = AESGCM(AESGCM.generate_key(128))
        self._dimensions: list[Dimension] = []
        #: What is done with tables when they are read
        self.changes: dict[str, Callable[[Counts], Counts]] = {}

    def put(self, name: str, counts: Counts) -> None:
        """Let a table wait."""
        at_hand = [own for own in self._entries.values() if not isinstance(own, tuple)]
        if sum(len(table) for own in (*at_hand, counts) for table in own.values()) <= _AT_HAND:
            self._entries[name] = counts
            return
        if self._file is None:
            suffix = TEMPORARY_SUFFIX
            self._file = TemporaryFile(dir=self._folder, prefix=".", suffix=suffix)  # noqa: SIM115
        packed, start = BytesIO(), self._file.seek(0, SEEK_END)
        _Packing(packed, self._dimensions).dump(dict(counts))
        self._file.write(self._cipher.encrypt(_nonce(start), packed.getbuffer(), None))
        self._entries[name] = start, self._file.tell() - start

    def taken(self, names: Collection[str]) -> WaitingTables:
        """Some of the tables, which wait no longer."""
        some = copy(self)
        some._entries = {name: self._entries.pop(name) for name in names}
        return some

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()

    def __getitem__(self, name: str) -> Counts:
        counts = self._entries[name]
        if isinstance(counts, tuple):
            assert self._file is not None
            start, length = counts
            self._file.seek(start)
            packed = self._cipher.decrypt(_nonce(start), self._file.read(length), None)
            counts = _Unpacking(BytesIO(packed), self._dimensions).load()
        return self.changes[name](counts) if name in self.changes else counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<WaitingTables (confidential): {len(self)} tables>"


def _nonce(start: int) -> bytes:
    """One for each place of the file, in which nothing is written twice."""
    return start.to_bytes(12, "little")


class _Packing(pickle.Pickler):
    """Tables without their variables, which stay; whole numbers take the bytes they need."""

    def __init__(self, file: BytesIO, dimensions: list[Dimension]) -> None:
        super().__init__(file, protocol=5)
        self._dimensions = dimensions

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, Dimension):
            return None
        self._dimensions.append(obj)
        return len(self._dimensions) - 1

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, MappingProxyType):
            return _read_only, (dict(obj),)
        if isinstance(obj, np.ndarray) and obj.dtype.kind == "i" and obj.size:
            least, most = np.min_scalar_type(obj.min()), np.min_scalar_type(obj.max())
            small = np.promote_types(least, most)
            if small.itemsize < obj.itemsize:
                return _widened, (obj.astype(small), obj.dtype)
        return NotImplemented


def _read_only(columns: dict[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(columns)


def _widened(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return array.astype(dtype)


class _Unpacking(pickle.Unpickler):
    """The tables again."""

    def __init__(self, file: BytesIO, dimensions: list[Dimension]) -> None:
        super().__init__(file)
        self._dimensions = dimensions

    def persistent_load(self, pid: int) -> Dimension:
        return self._dimensions[pid]
