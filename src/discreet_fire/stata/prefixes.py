"""The words before the arguments: prefixes and the command itself.

In: one command as the scanner found it. Out: its prefixes (``quietly``, ``by x:``,
``if x``, ``else`` …) and its command word, each with its place. The condition of ``if`` ends
at the first word that can no longer belong to it: after something that has a value only an
operator may follow.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet_fire.catalogue import canonical, commands_where, prefix_kind
from discreet_fire.stata.scanner import ScannedCommand
from discreet_fire.stata.statements import Kind, Word

_BLANK = re.compile(r"[\s\ufeff\u200b]+")
_VALUE = re.compile(r"(?:\.[a-z]\b|[\w.#@]+)")
_OPERATOR = re.compile(r"[=!<>~&|+\-*/^]+")
#: What starts a word, a string or a macro: behind a value it is no longer the condition.
_STARTS = re.compile(r"[\w\"`$.,:]")
_BRACKET = re.compile(r"[()\[\]\"`$]")


def condition_end(text: str, at: int, end: int, spans: Mapping[int, int]) -> int:
    """The place behind a condition, blanks after it included.

    >>> text = "x[1] == 2 & inlist(y, 3) list z"
    >>> text[condition_end(text, 0, len(text), {}):]
    'list z'
    """
    has_value = False
    while at < end:
        blank = _BLANK.match(text, at, end)
        if blank:
            at = blank.end()
            if at >= end:
                break
        sign = text[at]
        if sign == "/" and at in spans:
            at = spans[at]
            continue
        if sign == "{" or (has_value and not _goes_on(text, at, end)):
            break
        at, has_value = _part(text, at, end, spans, has_value)
    return at


def _goes_on(text: str, at: int, end: int) -> bool:
    """Whether a sign behind a value belongs to the same condition."""
    return text[at] in "([" or _STARTS.match(text, at, end) is None


def _part(
    text: str, at: int, end: int, spans: Mapping[int, int], has_value: bool
) -> tuple[int, bool]:
    """The end of an operand, with what is joined to it, or of an operator."""
    operator = None if at in spans else _OPERATOR.match(text, at, end)
    if operator:
        return operator.end(), False
    start = at
    while at < end:
        if at in spans:
            if text[at] == "/":
                break
            at = spans[at]
        elif text[at] in "([":
            at = _closed(text, at, end, spans)
        elif value := _VALUE.match(text, at, end):
            at = value.end()
        else:
            break
    return (at, True) if at > start else (start + 1, has_value)


def _closed(text: str, at: int, end: int, spans: Mapping[int, int]) -> int:
    """The place behind the bracket that closes the one here."""
    depth = 0
    while match := _BRACKET.search(text, at, end):
        at = match.start()
        if at in spans:
            at = spans[at]
            continue
        at += 1
        if match.group() in "([":
            depth += 1
        elif match.group() in ")]":
            depth -= 1
            if depth == 0:
                return at
    return end


_LETTERS = re.compile(r"\w+")
_COMMAND = re.compile(r"[^\W\d]\w*")
_CLASS = re.compile(r"\.[^\W\d][\w.]*")
_MI = re.compile(r"\s*(?:esti?|estim\w*|xeq|pas\w*)\b")

#: Commands that a block in braces may follow.
_WITH_BLOCK = commands_where(lambda row: row.reading.block)


def takes_block(command: Word) -> bool:
    """Whether a block in braces may follow the command."""
    return command.canonical in _WITH_BLOCK or command.has_macro


@dataclass(slots=True)
class Head:
    """Prefixes and command of one statement."""

    prefixes: list[Word] = field(default_factory=list)
    command: Word | None = None
    #: Whether a comment that starts with ``*`` stands where a command is expected.
    starred: bool = False


class HeadReader:
    """Reads prefixes and command word of one piece."""

    def __init__(self, text: str, piece: ScannedCommand) -> None:
        self.text = text
        self.piece = piece
        self.end = piece.end - 1 if piece.opens else piece.end
        self.spans = {start: end for _, start, end in piece.spans} if piece.spans else {}

    def read(self, at: int) -> Head:
        """Prefixes and command from `at` on."""
        head = Head()
        while True:
            at = self.skip(at)
            word = self.word(at)
            if word is None:
                head.starred = self.text.startswith("*", at) and at < self.end
                if head.prefixes and not head.starred and at >= self.end:
                    head.command = head.prefixes.pop()
                return head
            prefix_end = self._prefix(word)
            if prefix_end is None:
                head.command = word
                return head
            prefix, at = prefix_end
            head.prefixes.append(prefix)

    def skip(self, at: int) -> int:
        """The next character that is neither blank nor comment."""
        while at < self.end:
            blank = _BLANK.match(self.text, at, self.end)
            if blank:
                at = blank.end()
            elif self.text[at] == "/" and at in self.spans:
                at = self.spans[at]
            else:
                break
        return at

    def word(self, at: int) -> Word | None:
        """The word here: letters and macros without a blank between, or a sign of its own."""
        text, end = self.text, self.end
        plain = _COMMAND.match(text, at, end)
        if plain:
            last = plain.end()
            name = plain.group()
            if last >= end or text[last] not in "`$/":
                return tuple.__new__(Word, (name, at, last, canonical(name), False, None, None))
            if text[last] == "/":
                return self._parted(name, at, last)
        last = self._word_end(at)
        if last > at and not text[at].isdigit():
            return Word(text=text[at:last], start=at, end=last, has_macro=True)
        if at < end and text[at] == "!":
            return Word(text="!", start=at, end=at + 1, canonical="shell")
        dotted = _CLASS.match(text, at, end)
        if dotted:
            return Word(text=dotted.group(), start=at, end=dotted.end())
        return None

    def _parted(self, name: str, at: int, last: int) -> Word:
        """A word that a comment parts, ``li/* */st``, if the parts make a command."""
        rest = _LETTERS.match(self.text, self.spans.get(last, self.end), self.end)
        whole = canonical(name + rest.group()) if rest else None
        if rest is None or whole is None:
            return Word(name, at, last, canonical(name))
        return Word(self.text[at : rest.end()], at, rest.end(), whole)

    def _word_end(self, at: int) -> int:
        """The end of letters and macros that stand together."""
        text, end = self.text, self.end
        while at < end:
            letters = _LETTERS.match(text, at, end)
            if letters:
                at = letters.end()
            elif text[at] == "$" or (text[at] == "`" and not text.startswith('"', at + 1)):
                if at not in self.spans and text[at] == "`":
                    break
                at = self.spans.get(at, at + 1)
            else:
                break
        return min(at, end)

    def _prefix(self, word: Word) -> tuple[Word, int] | None:
        """The word as a prefix, and where its command starts; None if it is the command."""
        kind = prefix_kind(word.canonical) if word.canonical else None
        if kind is None:
            return None
        if kind == "bare":
            return self._bare(word)
        if kind == "condition":
            return self._condition(word)
        if kind == "word":
            after = self.skip(word.end)
            return (word, after) if self.word(after) and after < self.end else None
        return self._with_colon(word)

    def _bare(self, word: Word) -> tuple[Word, int] | None:
        after = self.skip(word.end)
        colon = after if self.text.startswith(":", after) and after < self.end else None
        if colon is not None:
            after = self.skip(colon + 1)
        if after >= self.end:
            return None
        return _with(word, None, colon), after

    def _condition(self, word: Word) -> tuple[Word, int] | None:
        after = self.skip(word.end)
        if word.canonical != "else":
            after = self.skip(condition_end(self.text, after, self.end, self.spans))
            if after < self.end and self.text[after] in ",:":
                after = self.skip(after + 1)
        if after >= self.end:
            return None
        arguments = (word.end, after) if word.canonical != "else" else None
        return _with(word, arguments, None), after

    def _with_colon(self, word: Word) -> tuple[Word, int] | None:
        if word.canonical == "mi" and not _MI.match(self.text, word.end, self.end):
            return None
        place = bisect_left(self.piece.colons, word.end)
        if place >= len(self.piece.colons):
            return None
        colon = self.piece.colons[place]
        return _with(word, (word.end, colon), colon), colon + 1


def _with(word: Word, arguments: tuple[int, int] | None, colon: int | None) -> Word:
    """The word as a prefix with its arguments."""
    return word._replace(arguments=arguments, colon=colon)


def kind_of(text: str, start: int, head: Head) -> Kind:
    """What a statement is, by its first words."""
    if head.command is not None or head.prefixes:
        return Kind.COMMAND
    sign = text[start]
    return Kind.DATA if sign.isdigit() or sign in "-.+" else Kind.OTHER


def first_end(piece: ScannedCommand, head: Head, end: int) -> int:
    """The end of the first of the commands behind ``mi xeq:``."""
    if piece.semicolons and any(prefix.canonical == "mi" for prefix in head.prefixes):
        body = head.prefixes[-1].colon or piece.start
        return next((at for at in piece.semicolons if at > body), end)
    return end


def trimmed(text: str, start: int, end: int) -> int:
    """The end without blanks."""
    while end > start + 1 and text[end - 1].isspace():
        end -= 1
    return end
