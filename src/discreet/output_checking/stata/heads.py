"""The words before the arguments: prefixes and the command itself.

In: one command as the scanner found it. Out: its prefixes (``quietly``, ``by x:``,
``if x``, ``else`` …) and its command word, each with its place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from discreet.output_checking.stata.conditions import condition_end
from discreet.output_checking.stata.model import Kind, Word
from discreet.output_checking.stata.names import canonical, prefix_kind
from discreet.output_checking.stata.scanning import Piece

__all__ = ["Head", "HeadReader", "first_end", "kind_of", "takes_block", "trimmed"]

_BLANK = re.compile(r"[\s\ufeff\u200b]+")
_LETTERS = re.compile(r"\w+")
_COMMAND = re.compile(r"[^\W\d]\w*")
_CLASS = re.compile(r"\.[^\W\d][\w.]*")
_MI = re.compile(r"\s*(?:esti?|estim\w*|xeq|pas\w*)\b")

#: Commands that a block in braces may follow.
_WITH_BLOCK = frozenset(
    (
        "if", "else", "while", "foreach", "forvalues", "quietly", "noisily", "capture", "by",
        "bysort", "frame", "mata", "python", "java", "break", "nobreak", "class",
    )
)  # fmt: skip


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
    """Reads prefixes and command word of one piece.

    Args:
        text: The whole text.
        piece: The command.
    """

    def __init__(self, text: str, piece: Piece) -> None:
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
            found = self._prefix(word)
            if found is None:
                head.command = word
                return head
            prefix, at = found
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


def first_end(piece: Piece, head: Head, end: int) -> int:
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
