"""The parts of a statement that rules look at: its code, and what its strings expand.

In: statements. Out: the text after the command word, with strings and comments blanked,
and the macros inside the strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.output_checking.stata.model import DoFile, Kind, Statement, Why
from discreet.output_checking.taints import expansions

__all__ = ["CONDITION", "UNTOUCHED", "Part", "pieces", "statements_of"]

#: Readings that stay as they are: what they may run is told, and not changed.
UNTOUCHED = frozenset((
    Why.IN_STRING, Why.AFTER_SEMICOLON, Why.CONTINUED_STRING, Why.BLOCK_IN_COMMENT,
    Why.COMMENT_TO_SEMICOLON, Why.DOCUMENT_TEXT,
))  # fmt: skip

#: A condition: figures in it are used, and not shown.
CONDITION = re.compile(r"\b(?:if|in)\b(?:[^,()]|\((?:[^()]|\([^()]*+\))*+\))*+")
_FIRST = re.compile(r"\s*([\w`'$]+)")


def pieces(statement: Statement, start: int, end: int) -> tuple[str, str]:
    """The code of a part of a statement, strings and comments blanked, and what is expanded
    inside the strings.
    """
    text = statement.source
    if not statement.spans:
        return text[start:end], ""
    outside = []
    inside = []
    at = start
    for kind, first, last in statement.spans:
        if first < at or last > end or kind == "macro":
            continue
        outside += [text[at:first], " " * (last - first)]
        if kind == "string":
            inside.append(expansions(text[first:last]))
        at = last
    outside.append(text[at:end])
    return "".join(outside), " ".join(inside)


def statements_of(dofile: DoFile) -> Iterator[Statement]:
    """The commands of a do-file, and those of its other readings."""
    for statement in dofile.statements:
        if statement.readings:
            yield from _with_readings(statement)
        elif statement.kind is Kind.COMMAND:
            yield statement


def _with_readings(statement: Statement) -> Iterator[Statement]:
    if statement.kind is Kind.COMMAND:
        yield statement
    for reading in statement.readings:
        if reading.why not in UNTOUCHED:
            yield from _with_readings(reading.statement)


class Part:
    """What a statement says after its command word; worked out when someone asks.

    Args:
        statement: The statement.
    """

    __slots__ = ("_pieces", "name", "start", "statement")

    def __init__(self, statement: Statement) -> None:
        command = statement.command
        self.statement = statement
        self.name = (command.canonical or command.text) if command is not None else ""
        #: Where it starts.
        self.start = command.end if command is not None else statement.start
        self._pieces: tuple[str, str] | None = None

    def _split(self) -> tuple[str, str]:
        if self._pieces is None:
            self._pieces = pieces(self.statement, self.start, self.statement.end)
        return self._pieces

    @property
    def by_macro(self) -> bool:
        """Whether the command word has a macro."""
        return self.statement.command is not None and self.statement.command.has_macro

    @property
    def outside(self) -> str:
        """The code, strings and comments blanked."""
        return self._split()[0]

    @property
    def inside(self) -> str:
        """What the strings expand."""
        return self._split()[1]

    def inside_without(self, left_out: re.Pattern[str]) -> str:
        """What the strings expand, but for those within some parts of the code.

        Args:
            left_out: What to leave out of the code, such as conditions.
        """
        if not self.inside:
            return ""
        gone = [found.span() for found in left_out.finditer(self.outside)]
        source = self.statement.source
        return " ".join(
            expansions(source[first:last])
            for kind, first, last in self.statement.spans
            if kind == "string" and first >= self.start
            if not any(start <= first - self.start < end for start, end in gone)
        )

    @property
    def word(self) -> str:
        """The second word of the command."""
        word = _FIRST.match(self.outside)
        return word.group(1) if word else ""

    def expands(self) -> bool:
        """Whether there is any macro in it."""
        text, start, end = self.statement.source, self.start, self.statement.end
        return text.find("`", start, end) >= 0 or text.find("$", start, end) >= 0
