"""Where a command ends: the scanner that knows comments, strings, macros and braces.

In: the text and the first character of a command. Out: its end, the stretches in it that
are no words, and the colons, semicolons and braces outside of all brackets. The time
needed grows as the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from discreet.output_checking.stata.quotes import Quotes
from discreet.output_checking.stata.spans import Span, SpanKind

__all__ = ["Piece", "Scanner"]

_SIGN = re.compile(r"[\"`$/{}()\[\]:;\r\n]")
_MARK = re.compile(r"/\*|\*/")
_NEW_LINE = re.compile(r"\r\n|\n|\r")
_DELIMIT = re.compile(r"[ \t]*#[ \t]*d(?:e|el|eli|elim|elimi|elimit)?\b")
_LAST_ON_LINE = re.compile(r"[^\S\r\n]*(?:$|(?=[\r\n;])|//|/\*)")
_IN_STAR = re.compile(r"\"[^\"\r\n]*\"|/\*|(?<=\s)//")
_IN_STAR_SEMICOLON = re.compile(r"/\*|;|[\r\n](?=[ \t]*#[ \t]*d)")
_BEFORE_SLASHES = frozenset(" \t\r\n\f\v")
_OPENER = re.compile(
    r"(?:(?:cap|capt|captu|captur|capture|qui|quie|quiet|quietl|quietly|n|no|noi|nois|noisi"
    r"|noisil|noisily|else|nobreak|break)\b[\s:]*)*"
    r"(?:if|else|foreach|forv|forva|forval|forvalu|forvalue|forvalues|while|frames?|mata|python"
    r"|java|class|cap|capt|captu|captur|capture|qui|quie|quiet|quietl|quietly|n|no|noi|nois"
    r"|noisi|noisil|noisily|by|bys|byso|bysor|bysort|nobreak|break|\{)(?!\w)"
)


class Piece:
    """One command as the scanner finds it."""

    __slots__ = (
        "braces",
        "brackets",
        "colons",
        "deep_colons",
        "end",
        "inner",
        "joins",
        "open_macro",
        "opener",
        "opens",
        "semicolons",
        "spans",
        "start",
        "unclosed",
    )  # fmt: skip

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.opens = False
        #: Whether its first words are of a kind that a block follows.
        self.opener: bool | None = None
        self.brackets = 0
        #: Open braces that are no block, and where the first of them was.
        self.braces = 0
        self.inner: int | None = None
        self.spans: list[Span] = []
        self.colons: list[int] = []
        self.deep_colons: list[int] = []
        self.semicolons: list[int] = []
        self.unclosed: tuple[int, ...] = ()
        #: A back quote outside of strings that opens a macro which never closes.
        self.open_macro: int | None = None
        self.joins: tuple[int, ...] = ()

    @property
    def odd(self) -> bool:
        """Whether something in it is not closed, or may end sooner."""
        return bool(self.unclosed or self.joins or self.open_macro is not None)


class Scanner:
    """Finds the ends of commands and comments in a text.

    Args:
        text: The text.
        limit: Where the part that is looked at ends.
        start: Where it begins.
        flat: Read comments as if they did not nest, and open ones as plain characters.
        loose: Read double quotes as plain characters.
    """

    def __init__(
        self, text: str, limit: int, *, start: int = 0, flat: bool = False, loose: bool = False
    ) -> None:
        self.text = text
        self.limit = limit
        self.flat = flat
        self.loose = loose
        self.quotes = Quotes(text, limit)
        self.semicolons = False
        #: Start of a block comment that is never closed.
        self.open_comment: int | None = None
        self._last_close = text.rfind("*/", start, limit) if flat else -1
        self._handlers: dict[str, Callable[[Piece, int], int]] = {
            '"': self._quote, "`": self._back_quote, "$": self._dollar, "/": self._slash,
            "{": self._open_brace, "}": self._close_brace, "(": self._open, "[": self._open,
            ")": self._close, "]": self._close, ":": self._colon, ";": self._semicolon,
            "\r": self._line_end, "\n": self._line_end,
        }  # fmt: skip

    def set_semicolons(self, on: bool) -> None:
        """Let ``;`` end commands, or line ends."""
        self.semicolons = self.quotes.semicolons = on

    def set_limit(self, limit: int) -> None:
        """Look no further than this."""
        self.limit = self.quotes.limit = limit

    # --- comments -------------------------------------------------------------------------

    def block_comment_end(self, at: int) -> int:
        """The place behind a comment that starts with ``/*``; such comments nest."""
        if self.flat:
            close = self.text.find("*/", at + 2, self.limit) if at < self._last_close else -1
            return close + 2 if close >= 0 else at + 2
        depth = 0
        for mark in _MARK.finditer(self.text, at, self.limit):
            depth += 1 if mark.group() == "/*" else -1
            if depth == 0:
                return mark.end()
        if self.open_comment is None:
            self.open_comment = at
        return self.limit

    def star_comment_end(self, at: int) -> tuple[int, list[int]]:
        """The end of a comment that starts with ``*``, and the starts of its further lines."""
        joins: list[int] = []
        pattern = _IN_STAR_SEMICOLON if self.semicolons else _IN_STAR
        start, end = at, self._star_stop(at)
        while found := pattern.search(self.text, at + 1 if at == start else at, end):
            sign, at = found.group(), found.end()
            if sign == "/*":
                at = self.block_comment_end(found.start())
                end = end if at <= end else self._star_stop(at)
            elif sign in ";\r\n":
                return found.start(), joins
            elif sign == "//":
                if self.text[at : at + 1] != "/":
                    return end, joins
                at = self.next_line(end)
                joins.append(at)
                end = self._star_stop(at)
        return end, joins

    def _star_stop(self, at: int) -> int:
        """How far a comment with ``*`` can reach at most."""
        return self.limit if self.semicolons else self.quotes.line_end(at)

    def next_line(self, at: int) -> int:
        """The place behind the next line end."""
        found = _NEW_LINE.search(self.text, at, self.limit)
        return found.end() if found else self.limit

    def slash_comment(self, at: int) -> Span | None:
        """The comment or continuation that starts at a slash, if one does."""
        text, kind = self.text, "comment"
        if text.startswith("/*", at):
            end = self.block_comment_end(at)
        elif text.startswith("//", at) and (at == 0 or text[at - 1] in _BEFORE_SLASHES):
            end = self.quotes.line_end(at)
            if text.startswith("///", at):
                kind, end = "continuation", self.next_line(end)
        else:
            return None
        place: SpanKind = "continuation" if kind == "continuation" else "comment"
        return Span(place, at, end)

    # --- commands -------------------------------------------------------------------------

    def piece(self, start: int, *, plain: bool = False) -> Piece:
        """The command that starts here; if `plain`, braces in its midst open no block."""
        piece, at = Piece(start), start
        piece.opener = False if plain else None
        text, limit, search, handlers = self.text, self.limit, _SIGN.search, self._handlers
        piece.end = -1
        while found := search(text, at, limit):
            at = found.start()
            at = handlers[text[at]](piece, at)
            if piece.end >= 0:
                break
        else:
            piece.end = limit
        quotes = self.quotes
        if quotes.unclosed or quotes.joins:
            piece.unclosed, piece.joins = tuple(quotes.unclosed), tuple(quotes.joins)
            quotes.unclosed, quotes.joins = [], []
        return piece

    def _quote(self, piece: Piece, at: int) -> int:
        if self.loose:
            return at + 1
        return self._span(piece, "string", at, self.quotes.string_end(at))

    def _back_quote(self, piece: Piece, at: int) -> int:
        if self.text.startswith('"', at + 1):
            if self.loose:
                return at + 2
            return self._span(piece, "string", at, self.quotes.compound_end(at))
        end = self.quotes.macro_end(at)
        if end is None:
            piece.open_macro = at if piece.open_macro is None else piece.open_macro
            return at + 1
        return self._span(piece, "macro", at, end)

    def _dollar(self, piece: Piece, at: int) -> int:
        return self._span(piece, "macro", at, self.quotes.dollar_end(at))

    @staticmethod
    def _span(piece: Piece, kind: SpanKind, start: int, end: int) -> int:
        if end > start + 1:
            piece.spans.append(Span(kind, start, end))
        return end

    def _slash(self, piece: Piece, at: int) -> int:
        span = self.slash_comment(at)
        if span is None:
            return at + 1
        piece.spans.append(span)
        return span.end

    @staticmethod
    def _open(piece: Piece, at: int) -> int:
        piece.brackets += 1
        return at + 1

    @staticmethod
    def _close(piece: Piece, at: int) -> int:
        piece.brackets = max(piece.brackets - 1, 0)
        return at + 1

    @staticmethod
    def _colon(piece: Piece, at: int) -> int:
        (piece.deep_colons if piece.brackets else piece.colons).append(at)
        return at + 1

    def _semicolon(self, piece: Piece, at: int) -> int:
        if self.semicolons:
            piece.end = at
        elif not piece.brackets:
            piece.semicolons.append(at)
        return at + 1

    def _line_end(self, piece: Piece, at: int) -> int:
        if not self.semicolons or _DELIMIT.match(self.text, at + 1, self.limit):
            piece.end = at
        return at + 1

    def _open_brace(self, piece: Piece, at: int) -> int:
        last = _LAST_ON_LINE.match(self.text, at + 1, self.limit) is not None
        if piece.opener is None:
            piece.opener = _OPENER.match(self.text, piece.start, at) is not None
        opener = piece.opener and not piece.braces
        if (last and not piece.brackets) or (opener and (last or not piece.brackets)):
            piece.end, piece.opens = at + 1, True
        elif not piece.brackets:
            piece.braces += 1
            piece.inner = at if piece.inner is None else piece.inner
        return at + 1

    def _close_brace(self, piece: Piece, at: int) -> int:
        if piece.brackets:
            return at + 1
        if piece.braces:
            piece.braces -= 1
            return at + 1
        piece.end = at
        return at
