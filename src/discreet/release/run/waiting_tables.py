"""True tables that wait until all are counted that their parts are tied to.

In: the counts of tables, as they come. Out: the same, one table at a time. CONFIDENTIAL on both
sides: what is too much for memory waits in a file without a name, which goes with the process,
encrypted under a key that only this process ever has.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from io import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.files import TEMPORARY_SUFFIX
from discreet.protection.protocol import Counts
from discreet.tables import Dimension, Table

#: Tables with so many cells together wait in memory.
_AT_HAND = 2**21

#: Where counts stand in the file, how long they are, and what spans each of them.
_Place = tuple[int, int, dict[str, tuple[Dimension, ...]]]


class WaitingTables(Mapping[str, Counts]):
    """The counts of tables that wait, by name of the table; read anew each time (confidential)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[str, Counts | _Place] = {}
        self._file: IO[bytes] | None = None
        self._cipher = AESGCM(AESGCM.generate_key(128))
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
        packed = pickle.dumps({where: _packed(table) for where, table in counts.items()}, 5)
        start = self._file.seek(0, SEEK_END)  # where nothing was written before
        length = self._file.write(self._cipher.encrypt(start.to_bytes(12), packed, None))
        spanning = {where: table.dimensions for where, table in counts.items()}
        self._entries[name] = start, length, spanning

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
            start, length, spanning = counts
            self._file.seek(start)
            sealed = self._file.read(length)
            packed = pickle.loads(self._cipher.decrypt(start.to_bytes(12), sealed, None))  # noqa: S301
            counts = {where: _unpacked(packed[where], own) for where, own in spanning.items()}
        return self.changes[name](counts) if name in self.changes else counts

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # nothing is read for that

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<WaitingTables (confidential): {len(self)} tables>"


def _packed(table: Table) -> dict[str, object]:
    """A table without its variables; positions of codes take the bytes they need."""
    small = [
        part.astype(np.min_scalar_type(len(dimension)))
        for dimension, part in zip(table.dimensions, table.index, strict=True)
    ]
    columns = {"sums": dict(table.sums), "contributions": dict(table.contributions)}
    return vars(table) | columns | {"dimensions": (), "index": small}


def _unpacked(content: dict[str, object], dimensions: tuple[Dimension, ...]) -> Table:
    """The table again."""
    table = object.__new__(Table)
    vars(table).update(content, dimensions=dimensions)
    vars(table)["index"] = tuple(part.astype(np.int32) for part in table.index)
    return table
