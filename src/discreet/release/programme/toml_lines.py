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
from typing import Any

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_PLAIN_VALUE = re.compile(r"[^,\]}#\n]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\]|\\.)*"'),
    re.compile(r"'[^']*'"),
)


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

    @classmethod
    def of(cls, text: str) -> LineIndex:
        """Read the text; it must be valid TOML."""
        scanner = _Scanner(text.replace("\r\n", "\n"))
        scanner.document()
        return cls(scanner.found)

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
        self.found: dict[KeyPath, int] = {}
        self.sizes: dict[KeyPath, int] = {}
        self.starts = [match.end() for match in re.finditer(r"\n", text)]

    def document(self) -> None:
        table: KeyPath = ()
        while self.skip(_BLANK) < len(self.text):
            table = self.header() if self.text[self.at] == "[" else self.pair(table)

    def skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def note(self, path: KeyPath) -> None:
        line = bisect_right(self.starts, self.at) + 1
        for length in range(1, len(path) + 1):
            self.found.setdefault(path[:length], line)

    def header(self) -> KeyPath:
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        path: KeyPath = ()
        for part in self.key():
            path = self.last_of((*path, part))
        if brackets == 2:
            array = path[:-1] if isinstance(path[-1], int) else path
            number = self.sizes.get(array, 0)
            self.sizes[array] = number + 1
            path = (*array, number)
        self.note(path)
        self.at += brackets
        return path

    def last_of(self, path: KeyPath) -> KeyPath:
        """A path through an array of tables means its newest table."""
        return (*path, self.sizes[path] - 1) if path in self.sizes else path

    def pair(self, table: KeyPath) -> KeyPath:
        start = self.at
        path = (*table, *self.key())
        end, self.at = self.at, start
        self.note(path)
        self.at = end + 1  # behind the equals sign
        self.value(path)
        return table

    def key(self) -> list[str]:
        parts = []
        while True:
            self.skip(_SPACE)
            start = self.at
            if self.text[start] in "\"'":
                self.string()
                parts.append(tomllib.loads(f"k = {self.text[start : self.at]}")["k"])
            else:
                self.skip(_BARE)
                parts.append(self.text[start : self.at])
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def string(self) -> None:
        for pattern in _STRINGS:
            if match := pattern.match(self.text, self.at):
                self.at = match.end()
                return

    def value(self, path: KeyPath) -> None:
        self.skip(_SPACE)
        if self.text[self.at] == "[":
            self.array(path)
        elif self.text[self.at] == "{":
            self.inline_table(path)
        elif self.text[self.at] in "\"'":
            self.string()
        else:
            self.skip(_PLAIN_VALUE)

    def array(self, path: KeyPath) -> None:
        self.at += 1
        number = 0
        while self.text[self.skip(_BLANK)] != "]":
            self.note((*path, number))
            self.value((*path, number))
            number += 1
            if self.text[self.skip(_BLANK)] == ",":
                self.at += 1
        self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.text[self.skip(_BLANK)] != "}":
            self.pair(path)
            if self.text[self.skip(_BLANK)] == ",":
                self.at += 1
        self.at += 1
