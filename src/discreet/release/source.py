"""Where the records of a programme come from, and how each kind of unit gets its keys.

In: the entries of a programme. Out: one `Source` per kind of unit: the main one, which
[data] and [keys] describe, and those of [sources.*]. Nothing here has seen data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.release.document import (
    DataEntry,
    Document,
    KeysEntry,
    RecordsEntry,
    SourceKeysEntry,
)
from discreet.release.lines import KeyPath

__all__ = ["MAIN", "Source", "key_column", "key_line", "sources_of"]

#: Name of the main source, unless [data] gives it one.
MAIN = "data"

#: The column that keys are put in, unless they are inherited from a column of another name.
_MADE = "record_key"


@dataclass(frozen=True, kw_only=True)
class Source:
    """The records of one kind of unit.

    Args:
        name: What tables and other sources call it.
        main: Whether it is the one of [data] and [keys].
        path: The key of its section.
        records: Where its records are.
        keys_path: The key of what says how they get their record keys.
        keys: How they get their record keys.
        official: Which of its figures are published as they are.
    """

    name: str
    main: bool
    path: KeyPath
    records: RecordsEntry
    keys_path: KeyPath
    keys: SourceKeysEntry
    official: str | None = None

    @property
    def place(self) -> KeyPath:
        """The key that names the file or database."""
        return (*self.path, "source" if self.records.source else "database")

    @property
    def secret_place(self) -> KeyPath:
        """The key that names the secret."""
        return (*self.keys_path, "secret_file" if self.keys.secret_file else "secret_env")

    @property
    def called(self) -> str:
        """What messages call its records."""
        return "the data have" if self.main else f"the records of {self.name!r} have"


def sources_of(document: Document) -> dict[str, Source]:
    """All sources of a programme by name, the main one first."""
    data, keys = document.data or DataEntry(), document.keys or KeysEntry()
    main = Source(
        name=data.name or MAIN,
        main=True,
        path=("data",),
        records=data,
        keys_path=("keys",),
        keys=SourceKeysEntry(
            column=keys.column,
            id=keys.id,
            secret_file=keys.secret_file,
            secret_env=keys.secret_env,
        ),
        official=document.defaults.official,
    )
    others = {
        name: Source(
            name=name,
            main=False,
            path=("sources", name),
            records=entry,
            keys_path=("sources", name, "keys"),
            keys=entry.keys or SourceKeysEntry(),
            official=entry.official,
        )
        for name, entry in document.sources.items()
    }
    return {main.name: main, **{n: other for n, other in others.items() if n != main.name}}


def key_line(sources: Mapping[str, Source], name: str) -> list[str]:
    """A source and those its keys come from, up to one that has keys of its own.

    Where keys go round in a circle, the last name is one that stands before.
    """
    line = [name]
    while (parts := sources[line[-1]].keys.inherit) in sources:
        assert parts is not None
        line.append(parts)
        if parts in line[:-1]:
            break
    return line


def key_column(sources: Mapping[str, Source], name: str) -> str:
    """The column that holds the keys of a source, there or to be made."""
    return sources[key_line(sources, name)[-1]].keys.column or _MADE
