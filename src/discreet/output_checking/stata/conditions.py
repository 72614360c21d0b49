"""Where the condition of ``if`` ends and the command behind it starts.

In: the text of an expression as Stata writes it. Out: the place of the first word that
can no longer belong to it: after something that has a value only an operator may follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["condition_end"]

_BLANK = re.compile(r"[\s\ufeff\u200b]+")
_VALUE = re.compile(r"(?:\.[a-z]\b|[\w.#@]+)")
_OPERATOR = re.compile(r"[=!<>~&|+\-*/^]+")
#: What starts a word, a string or a macro: behind a value it is no longer the condition.
_STARTS = re.compile(r"[\w\"`$.,:]")
_BRACKET = re.compile(r"[()\[\]\"`$]")


def condition_end(text: str, at: int, end: int, spans: Mapping[int, int]) -> int:
    """The place behind a condition, blanks after it included.

    Args:
        text: The whole text.
        at: Where the condition starts.
        end: Where the statement ends.
        spans: Ends of strings, macros and comments by their start.

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
    while found := _BRACKET.search(text, at, end):
        at = found.start()
        if at in spans:
            at = spans[at]
            continue
        at += 1
        if found.group() in "([":
            depth += 1
        elif found.group() in ")]":
            depth -= 1
            if depth == 0:
                return at
    return end
