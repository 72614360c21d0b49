"""Where in a TOML text each key stands.

In: the text of a programme that is known to be valid TOML. Out: key path → line
number, so that every mistake can be shown with its line. Nothing confidential.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_COMMA = re.compile(_BLANK.pattern + ",?")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"' + r"|'''.*?'{3,5}|'[^']*'", re.DOTALL
)
_PLAIN_VALUE = re.compile(r"[^,\]}#\n]*")


def dotted(path: Sequence[str | int]) -> str:
    """A key path as it is written in TOML.

    >>> dotted(("tables", "T 1", "by", 0))
    'tables."T 1".by[0]'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        shown = part if _BARE.fullmatch(part) else '"' + part.replace('"', '\\"') + '"'
        text += f".{shown}" if text else shown
    return text


class TomlStatement(NamedTuple):
    """A header of a section, or a key with its value, and the lines where it stands, from 0."""

    start: int
    stop: int
    section: KeyPath
    key: str | None  # None for a header


@dataclass(frozen=True)
class LineIndex:
    r"""The line of each key of a TOML text.

    >>> index = LineIndex.of("[tables.T1]\nby = [\n  'sex',\n]\n")
    >>> index.place(("tables", "T1", "by", 0))
    'line 3, tables.T1.by[0]'
    >>> index.place(("tables", "T1", "where"))
    'line 1, tables.T1.where'
    """

    #: Key path → line number, counted from 1
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    #: Headers and keys with their values, in order
    statements: Sequence[TomlStatement] = ()

    @classmethod
    def of(cls, text: str) -> LineIndex:
        """Read the text; it must be valid TOML."""
        scanner = _Scanner(text.replace("\r\n", "\n"))
        scanner.document()
        return cls(scanner.lines, scanner.statements)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> LineIndex:
        """The keys of a document that stands in no file: they have no lines."""
        return cls(dict.fromkeys(_paths(document), 0))

    def place(self, path: KeyPath) -> str:
        """Dotted key, with its line or that of the nearest key above it that is there."""
        starts = (path[:length] for length in range(len(path), 0, -1))
        line = next((self.lines[start] for start in starts if start in self.lines), 0)
        return f"line {line}, {dotted(path)}" if line else dotted(path)


def _paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    pairs = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, Mapping) else pairs:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


class _Scanner:
    """Walks through a valid TOML text and notes where keys begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.statements: list[TomlStatement] = []
        self.sizes: dict[KeyPath, int] = {}  # array of tables → how many there are so far
        self.starts = [match.end() for match in re.finditer(r"\n", text)]

    def document(self) -> None:
        table: KeyPath = ()
        while self.take(_BLANK) is not None and self.at < len(self.text):
            start, key = bisect_right(self.starts, self.at), None
            if self.text[self.at] == "[":
                table = self.header()
            else:
                key = self.pair(table)
            stop = bisect_right(self.starts, self.at) + 1
            self.statements.append(TomlStatement(start, stop, table, key))

    def take(self, pattern: re.Pattern[str]) -> str:
        """What stands here in a form; empty if something else does."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match[0] if match else ""

    def note(self, path: KeyPath, at: int) -> None:
        line = bisect_right(self.starts, at) + 1
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def header(self) -> KeyPath:
        start, brackets = self.at, 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        path: KeyPath = ()
        for part in self.key():
            path = (*path, part)
            if path in self.sizes:  # a path through an array of tables means its newest table
                path = (*path, self.sizes[path] - 1)
        if brackets == 2:
            array = path[:-1] if isinstance(path[-1], int) else path
            number = self.sizes.get(array, 0)
            self.sizes[array] = number + 1
            path = (*array, number)
        self.note(path, start)
        self.at += brackets
        return path

    def pair(self, table: KeyPath) -> str:
        start, key = self.at, self.key()
        path = (*table, *key)
        self.note(path, start)
        self.at += 1  # the equals sign
        self.value(path)
        return key[0]

    def key(self) -> list[str]:
        parts = []
        while True:
            self.take(_SPACE)
            part = self.take(_STRING) or self.take(_BARE)
            parts.append(tomllib.loads(f"k = {part}")["k"] if part[0] in "\"'" else part)
            self.take(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def value(self, path: KeyPath) -> None:
        self.take(_SPACE)
        opening = self.text[self.at]
        if opening not in "[{":
            _ = self.take(_STRING) or self.take(_PLAIN_VALUE)
            return
        self.at += 1
        number = 0
        while self.take(_BLANK) is not None and self.text[self.at] not in "]}":
            if opening == "{":
                self.pair(path)
            else:
                self.note((*path, number), self.at)
                self.value((*path, number))
                number += 1
            self.take(_COMMA)
        self.at += 1
