"""The tokens of a statement: words, numbers, strings, macros, signs, comments, blanks.

In: the text and the stretches that the scanner found. Out: tokens that cover the
statement without a hole. They are made when someone asks, as most statements are never
looked at so closely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from discreet.output_checking.stata.spans import Span, SpanKind

__all__ = ["Token", "TokenKind", "tokens_of"]

TokenKind = SpanKind | Literal["word", "number", "operator", "blank"]

_PLAIN = re.compile(
    r"(?P<blank>[\s\ufeff\u200b]+)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<operator>[=!<>~]=|&&|\|\||##|[\s\S])"
)


class Token(NamedTuple):
    """The smallest part of a statement."""

    kind: TokenKind
    start: int
    end: int
    text: str


def tokens_of(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[Token, ...]:
    """The tokens from `start` to `end`, given the stretches between them.

    >>> [token.text for token in tokens_of("su x1 if y>=2.5", 0, 15, ())]
    ['su', ' ', 'x1', ' ', 'if', ' ', 'y', '>=', '2.5']
    """
    return tuple(_tokens(text, start, end, spans))


def _tokens(text: str, start: int, end: int, spans: Sequence[Span]) -> Iterator[Token]:
    at = start
    for kind, first, last in spans:
        if first < at or last > end:
            continue
        yield from _plain(text, at, first)
        yield Token(kind, first, last, text[first:last])
        at = last
    yield from _plain(text, at, end)


def _plain(text: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a stretch without strings, macros and comments."""
    for match in _PLAIN.finditer(text, start, end):
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        yield Token(kind, match.start(), match.end(), match.group())
