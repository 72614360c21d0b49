"""Stretches of a text that hold no command words: strings, macros, comments.

In: offsets. Out: small tuples that the scanner makes and the tokens are filled around.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Span", "SpanKind"]

SpanKind = Literal["string", "macro", "comment", "continuation"]


class Span(NamedTuple):
    """A string, macro, comment or continuation, from `start` up to `end`."""

    kind: SpanKind
    start: int
    end: int
