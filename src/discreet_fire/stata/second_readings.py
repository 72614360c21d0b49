"""Second readings: texts that may be commands although they first look like something else.

In: a statement as it was read first, and a way to read parts of it again. Out: readings in
which a known command is run. Each part is read again once at most for each reason, so
that no text makes this slow.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

from discreet_fire.catalogue import SAFE, canonical, commands_where, is_community, prefix_kind
from discreet_fire.stata.blocks import BODIES
from discreet_fire.stata.prefixes import Head, HeadReader
from discreet_fire.stata.scanner import ScannedCommand
from discreet_fire.stata.statements import DoStatement, Reading, Why, Word

_WORD = re.compile(r"[^\S\r\n]*([^\W\d]\w*|[`$!])")
_LINE_END = re.compile(r"[\r\n]|\Z")
_NEW_LINE = re.compile(r"\r\n|\n|\r")
_PASTED = re.compile(r"[.>][^\S\r\n]+")
_DEFINED = re.compile(r"[\s\d.]*(?:\+\+|--)?[\w`'${}]*\s*=?\s*(?:`?\"+)?\s*")
_QUOTES_BEHIND = re.compile(r"[\s\"']*\Z")
_IN = re.compile(r"\s+\S+\s+in\s")
_LISTED = re.compile(r"[^\W\d]\w*")
_BACKSLASH = re.compile(r"\\")
#: What may stand between a macro that is part of a condition and the command.
_VALUE = re.compile(r"[\d.=<>!~&|+*/^()\s-]+")
_MACROS_AT_MOST = 8

#: Commands whose text may be run as a command later.
DEFINERS = commands_where(lambda row: row.reading.text == "defines")
#: Commands whose text lists words that may be commands.
LISTERS = commands_where(lambda row: row.reading.text == "lists")
#: Commands that take a command within quotes.
TEXT_RUNNERS = commands_where(lambda row: row.reading.text == "runs")


class PartReader(Protocol):
    """What reads a part of a text again."""

    text: str

    @property
    def semicolons(self) -> bool:
        """Whether ``;`` ends commands at present."""

    def again(
        self, start: int, end: int, *, loose: bool = False, semicolons: bool | None = None
    ) -> list[DoStatement]:
        """The statements between two places."""


def with_readings(statement: DoStatement, found: tuple[Reading, ...]) -> DoStatement:
    """The statement with further readings."""
    return statement._replace(readings=(*statement.readings, *found))


def second(
    parser: PartReader, start: int, end: int, why: Why, *, loose: bool = False
) -> tuple[Reading, ...]:
    """The known commands of a part."""
    return tuple(
        Reading(why=why, statement=one)
        for one in parser.again(
            start, end, loose=loose, semicolons=why is Why.AFTER_SEMICOLON or None
        )
        if one.command is not None and one.command.canonical is not None
    )


def of_star_comment(
    parser: PartReader, start: int, end: int, joins: list[int]
) -> tuple[Reading, ...]:
    """Readings of a comment that starts with ``*``: its further lines, and after ``*/``."""
    text = parser.text
    readings: list[Reading] = []
    close = text.find("*/", start, end)
    if close >= 0 and text.find("/*", start, close) < 0:
        line = _LINE_END.search(text, close, end)
        stop = line.start() if line else end
        readings += second(parser, close + 2, stop, Why.STRAY_CLOSE)
    for line in _NEW_LINE.finditer(text, start, end):
        place = line.end()
        if starts_with_command(text, place, end):
            after = _LINE_END.search(text, place, end)
            stop = after.start() if after else end
            why = Why.CONTINUED_COMMENT if place in joins else Why.BLOCK_IN_COMMENT
            if parser.semicolons:
                why = Why.COMMENT_TO_SEMICOLON
            readings += second(parser, place, stop, why)
    return tuple(readings)


def starts_with_command(text: str, at: int, end: int) -> bool:
    """Whether a line begins with a known command, or with what may stand for one."""
    word = _WORD.match(text, at, end)
    return word is not None and (word[1] in "`$!" or canonical(word[1]) is not None)


def of_command(
    parser: PartReader, reader: HeadReader, head: Head, piece: ScannedCommand
) -> tuple[Reading, ...]:
    """Readings of a command, all reasons but those of comments and blocks."""
    name = head.command.canonical if head.command else None
    readings = list(_of_word(parser, reader, head, piece))
    if name is not None and piece.deep_colons and prefix_kind(name) == "colon":
        readings += second(parser, piece.deep_colons[0] + 1, piece.end, Why.AFTER_COLON)
    if piece.inner is not None:
        readings += second(parser, piece.inner + 1, piece.end, Why.IN_BRACES)
    if piece.unclosed or piece.joins:
        readings += _of_open_strings(parser, head, piece)
    if piece.semicolons and BODIES.get(name or "") != "block" and not _is_mi(head):
        readings += second(parser, piece.semicolons[0] + 1, piece.end, Why.AFTER_SEMICOLON)
    if parser.semicolons or head.prefixes:
        readings += _among_semicolons(parser, head, piece)
    return tuple(readings)


def _of_word(
    parser: PartReader, reader: HeadReader, head: Head, piece: ScannedCommand
) -> Iterator[Reading]:
    """Readings that the command word, or its absence, gives rise to."""
    command = head.command
    if command is None:
        pasted = _PASTED.match(parser.text, piece.start, piece.end)
        if pasted:
            yield from second(parser, pasted.end(), piece.end, Why.PASTED)
        return
    name = command.canonical
    if name is None:
        if command.has_macro:
            yield from _after_macro(parser, reader, command.end, piece.end)
        colons = _behind(piece.colons, command) or _behind(piece.deep_colons, command)
        if colons:
            yield from second(parser, colons[0] + 1, piece.end, Why.AFTER_COLON)
    elif is_community(name) and not name.startswith(SAFE):  # may be a prefix
        for colon in _behind(piece.colons, command)[:1]:
            yield from second(parser, colon + 1, piece.end, Why.AFTER_COLON)
    elif name in DEFINERS or name in TEXT_RUNNERS or name in LISTERS:
        yield from _in_strings(parser, name, command.end, piece)


def _behind(places: list[int], command: Word) -> list[int]:
    """The places behind a command word: colons in front of it belong to its prefixes."""
    return places[bisect_left(places, command.end) :]


def _is_mi(head: Head) -> bool:
    """Whether semicolons part commands behind ``mi xeq:``."""
    return any(prefix.canonical == "mi" for prefix in head.prefixes)


def _after_macro(parser: PartReader, reader: HeadReader, at: int, end: int) -> Iterator[Reading]:
    """The first word behind macros that may be empty, or may be prefixes."""
    for _ in range(_MACROS_AT_MOST):
        at = reader.skip(at)
        word = reader.word(at)
        if word is None:
            value = _VALUE.match(parser.text, at, end)
            if value is None and at not in reader.spans:
                return
            at = value.end() if value else reader.spans[at]
            continue
        if not word.has_macro:
            if word.canonical is not None:
                yield from second(parser, at, end, Why.AFTER_MACRO)
            return
        at = word.end


def _in_strings(parser: PartReader, name: str, at: int, piece: ScannedCommand) -> Iterator[Reading]:
    """Texts that may be run as commands later."""
    text = parser.text
    if name in LISTERS or name in DEFINERS:
        places = _given(text, name, at, piece.end)
    else:
        strings = [span for span in piece.spans if span.kind == "string" and span.start >= at]
        places = [(span.start, span.end) for span in strings]
        places = [(_behind_quotes(text, first, last), last - 1) for first, last in places]
    for first, last in places:
        word = _LISTED.match(text, first, last)
        if word and canonical(word.group()) is not None:
            for one in parser.again(first, last)[:1]:
                yield Reading(why=Why.IN_STRING, statement=one)


def _given(text: str, name: str, at: int, end: int) -> list[tuple[int, int]]:
    """The places of texts that a macro is given."""
    if name == "foreach":
        listed = _IN.match(text, at, end)
        words = _LISTED.finditer(text, listed.end(), end) if listed else ()
        return [(word.start(), word.end()) for word in words]
    defined = _DEFINED.match(text, at, end)
    start = defined.end() if defined else at
    behind = _QUOTES_BEHIND.search(text, max(start, end - 8), end)
    return [(start, behind.start() if behind else end)]


def gives_command(text: str, name: str, at: int, end: int) -> bool:
    """Whether a text that a macro is given starts with a command.

    >>> gives_command('local c "list x"', "local", 5, 16), gives_command("local c x", "local", 5, 9)
    (True, False)
    """
    words = (_LISTED.match(text, *place) for place in _given(text, name, at, end))
    return any(word is not None and canonical(word.group()) is not None for word in words)


def _behind_quotes(text: str, at: int, end: int) -> int:
    while at < end and text[at] in '`" ':
        at += 1
    return at


def _of_open_strings(parser: PartReader, head: Head, piece: ScannedCommand) -> Iterator[Reading]:
    """Commands that a quote without end hides, and lines that a string goes on over."""
    first = head.command.start if head.command else -1
    if piece.unclosed:
        for reading in second(parser, piece.start, piece.end, Why.OPEN_QUOTE, loose=True):
            command = reading.statement.command
            if command is not None and command.start != first:
                yield reading
    for place in piece.joins:
        if starts_with_command(parser.text, place, piece.end):
            line = _LINE_END.search(parser.text, place, piece.end)
            stop = line.start() if line else piece.end
            yield from second(parser, place, stop, Why.CONTINUED_STRING)


def _among_semicolons(parser: PartReader, head: Head, piece: ScannedCommand) -> Iterator[Reading]:
    """Commands behind ``;`` in a string, and behind the backslashes of ``for``."""
    text = parser.text
    for kind, start, end in piece.spans:
        if kind == "string":
            sign = text.find(";", start, end)
            if sign >= 0 and parser.semicolons:
                for one in parser.again(sign + 1, end - 1, semicolons=True):
                    if one.command is not None and one.command.canonical is not None:
                        yield Reading(why=Why.AFTER_SEMICOLON, statement=one)
    if any(prefix.canonical == "for" for prefix in head.prefixes):
        places = [sign.end() for sign in _BACKSLASH.finditer(text, piece.start, piece.end)]
        for start, end in pairwise([*places, piece.end + 1]):
            yield from second(parser, start, end - 1, Why.AFTER_COLON)
