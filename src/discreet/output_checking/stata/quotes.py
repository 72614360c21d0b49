"""Strings and macros: where they end.

In: the text and the place of an opening quote. Out: the place behind the closing one.
Macros count before strings, as Stata puts in their contents first. No text makes this
slow or deep: quotes inside quotes are counted on a stack, once for each line.
"""

from __future__ import annotations

import re

__all__ = ["Quotes"]

_SIMPLE_MACRO = re.compile(r"`[^`\"'\r\n]*+'")
_MARK = re.compile(r"`\"|\"'|`|'")
_LINE_END = re.compile(r"[\r\n]")
_STRING = re.compile(r"\"(?:[^\"`\r\n]++|`[^`\"'\r\n]*+')*+\"")
_IN_STRING = re.compile(r"[\"`\r\n]")
_IN_COMPOUND = re.compile(r"`\"|\"'|[`\r\n]")
_JOIN = re.compile(r"(?<=[ \t])///[^\r\n]*")
_NEW_LINE = re.compile(r"\r\n|\n|\r")
_DELIMIT = re.compile(r"[ \t]*#[ \t]*d")
_DOLLAR = re.compile(r"\$+(?:\{[^{}\"\r\n]*\}|\w+)?")


class Quotes:
    """Ends of strings and macros in one text.

    Args:
        text: The text.
        limit: Where the part that is looked at ends.
    """

    def __init__(self, text: str, limit: int) -> None:
        self.text = text
        self.limit = limit
        self.semicolons = False
        #: Starts of strings that are never closed.
        self.unclosed: list[int] = []
        #: Starts of lines that go on with a string of the line before, after ``///``.
        self.joins: list[int] = []
        self._matched = (0, 0)
        self._closing: dict[int, int] = {}
        #: From where on no simple, and no compound, string closes while ``;`` ends commands.
        self._no_close = [limit + 1, limit + 1]

    def line_end(self, at: int) -> int:
        """The end of the line, before the characters that end it."""
        found = _LINE_END.search(self.text, at, self.limit)
        return found.start() if found else self.limit

    def macro_end(self, at: int) -> int | None:
        """The place behind a macro that opens with a back quote; None if it never closes."""
        simple = _SIMPLE_MACRO.match(self.text, at, self.limit)
        if simple:
            return simple.end()
        if not self._matched[0] <= at < self._matched[1]:
            self._match_line(at)
        return self._closing.get(at)

    def dollar_end(self, at: int) -> int:
        """The place behind a global macro."""
        found = _DOLLAR.match(self.text, at, self.limit)
        return found.end() if found else at + 1

    def _match_line(self, at: int) -> None:
        """Find the partner of every back quote from here to the end of the line."""
        end = self.line_end(at)
        self._matched, self._closing = (at, end), {}
        stack: list[int] = []  # macros by their place, compound strings as -1
        for mark in _MARK.finditer(self.text, at, end):
            sign = mark.group()
            if sign == '`"':
                stack.append(-1)
            elif sign == "`":
                stack.append(mark.start())
            elif stack:
                if stack[-1] >= 0:
                    self._closing[stack.pop()] = mark.end()
                elif sign == "\"'":
                    stack.pop()

    def string_end(self, at: int) -> int:
        """The place behind a string; it ends with its line if it is never closed."""
        simple = _STRING.match(self.text, at, self.limit)
        if simple:
            return simple.end()
        return self._walk(at, at + 1, compound=False)

    def compound_end(self, at: int) -> int:
        """The place behind a compound string, which may hold others."""
        return self._walk(at, at + 2, compound=True)

    def _walk(self, start: int, at: int, *, compound: bool) -> int:
        pattern = _IN_COMPOUND if compound else _IN_STRING
        depth, line = 1, start
        if self.semicolons and start > self._no_close[compound]:
            return self._open(start)
        while found := pattern.search(self.text, at, self.limit):
            sign, at = found.group(), found.end()
            if sign == "`":
                at = self.macro_end(found.start()) or at
            elif sign == '`"':
                depth += 1
            elif sign in "\r\n":
                joined = self._next_line(line, found.start())
                if joined is None:
                    return self._open(start, found.start())
                at = line = joined
            else:
                depth -= 1
                if depth == 0:
                    return at
        self._no_close[compound] = min(self._no_close[compound], start)
        return self._open(start, self.limit)

    def _next_line(self, line: int, end: int) -> int | None:
        """The start of the next line if the string goes on there."""
        new = _NEW_LINE.match(self.text, end, self.limit)
        behind = new.end() if new else end + 1
        if self.semicolons:
            return None if _DELIMIT.match(self.text, behind, self.limit) else behind
        if _JOIN.search(self.text, line, end):
            self.joins.append(behind)
            return behind
        return None

    def _open(self, start: int, end: int | None = None) -> int:
        """A string without end: in its line all of it, among semicolons only its quote."""
        self.unclosed.append(start)
        if end is None or self.semicolons:
            return start + 1
        return end
