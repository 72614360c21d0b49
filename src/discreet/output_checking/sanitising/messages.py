"""Passages that are known by their words, wherever they stand: messages, paths, own lists.

In: one line of a log. Out: cuts. Patterns match the line as a reader sees it, across wraps
and markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from discreet.output_checking.sanitising.claims import HIDDEN, Cut, numeric
from discreet.output_checking.sanitising.rules import CleaningRules, Message, Replacement

__all__ = ["Passages", "observation_numbers"]

_DRIVE = r"[A-Za-z]:[\\/]|\\\\[\w.$-]{1,64}\\"
_PATH_END = r"""[^\\/"'`:*?<>|\r\n]{1,80}"""
_QUALIFIER = re.compile(
    r"(?<![\w.$`'])in\s{1,9}(?P<range>-?(?:\d{1,15}|[fFlL])(?:\s?/\s?-?(?:\d{1,15}|[fFlL]))?)"
    r"(?![\w.(]|\s+[\d.])"
)
_LOOPS = re.compile(r"\b(foreach|forvalues|forv\w*)\b")
_LONGEST = 2_000
_FEW_WORDS = 12
_QUOTED = re.compile(r'"[^"\n]*"')


@dataclass(frozen=True)
class Passages:
    """Looks for known passages in lines.

    Args:
        rules: What to look for.
    """

    rules: CleaningRules

    def in_output(self, text: str, line: int) -> Iterator[Cut]:
        """Passages in a line of output."""
        if self._near.search(text):
            yield from self._messages(text, line, self.rules.messages)
        yield from self.everywhere(text, line)

    def in_command(self, text: str, line: int) -> Iterator[Cut]:
        """Passages in an echoed command."""
        if self._near.search(text):
            own = tuple(message for message in self.rules.messages if message.everywhere)
            yield from self._messages(text, line, own)
        yield from self.everywhere(text, line)

    def reviews(self, text: str) -> Iterator[tuple[str, str]]:
        """Names of rules by which a person must look at a line, with the reason."""
        for message in self._reviewing:
            if message.may_be_in(text) and message.find.search(text):
                yield message.name, message.review

    def knows(self, text: str) -> bool:
        """Whether a line consists of known messages and harmless words only."""
        if len(text) > _LONGEST:
            return False
        if self._safe.fullmatch(text) is not None:
            return True
        if not self._near.search(text):
            return False
        spans = [
            found.span()
            for message in self.rules.messages
            if message.may_be_in(text)
            for found in message.find.finditer(text)
        ]
        if not spans:
            return False
        left = "".join(
            letter for at, letter in enumerate(text) if not any(a <= at < b for a, b in spans)
        )
        return not any(map(str.isdigit, left)) and len(left.split()) <= _FEW_WORDS

    @cached_property
    def _near(self) -> re.Pattern[str]:
        """One pattern for the words near any message; it finds the place to start looking."""
        if any(not message.near for message in self.rules.messages):
            return re.compile("")
        words = {word for message in self.rules.messages for word in message.near}
        return re.compile("|".join(map(re.escape, sorted(words))))

    @cached_property
    def _reviewing(self) -> tuple[Message, ...]:
        return tuple(message for message in self.rules.messages if message.review)

    @cached_property
    def _safe(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in self.rules.safe))

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        roots = "|".join(re.escape(root) for root in self.rules.roots)
        return re.compile(
            rf"(?<![\w.])(?P<folder>(?:{_DRIVE}|(?:{roots}))(?:{_PATH_END}[\\/]){{0,30}})"
        )

    def everywhere(self, text: str, line: int) -> Iterator[Cut]:
        """Texts of the centre's own list, and paths."""
        for replacement in self.rules.replacements:
            yield from _replaced(text, line, replacement)
        if "/" in text or "\\" in text:
            for found in self._paths.finditer(text):
                yield Cut(line, *found.span("folder"), "path", put="<path>/", align="none")

    def _messages(self, text: str, line: int, some: tuple[Message, ...]) -> Iterator[Cut]:
        for message in some:
            if not (message.put and message.may_be_in(text)):
                continue
            for found in message.find.finditer(text):
                put = self._put(message, found)
                if put is not None and put != found[0]:
                    yield Cut(line, *found.span(), message.name, put=put, align="none")

    def _put(self, message: Message, found: re.Match[str]) -> str | None:
        """The message without its small numbers; None if it may stay."""
        words = {name: value or "" for name, value in found.groupdict().items()}
        counts = [name for name in words if name[0] == "n" and name[1:].isdecimal() | (name == "n")]
        few = [name for name in counts if self.rules.few(numeric(words[name]))]
        if not few and not message.always:
            return None
        return message.put.format(**(words | dict.fromkeys(few, HIDDEN)))


def _replaced(text: str, line: int, replacement: Replacement) -> Iterator[Cut]:
    """Every place of a text; not where what is put there contains it and stands already."""
    find, put = replacement.find, replacement.put
    inside = put.find(find)
    at = text.find(find)
    while at >= 0:
        done = inside >= 0 and at >= inside and text.startswith(put, at - inside)
        if not done:
            rule = f"own-list-{replacement.line}"
            yield Cut(line, at, at + len(find), rule, put=put, align="none")
        at = text.find(find, at + len(find))


def observation_numbers(text: str, line: int) -> Iterator[Cut]:
    """Numbers of observations in a command: ``in 17``, ``in 5/9``.

    >>> [cut.rule for cut in observation_numbers("replace x = 5 in 17", 0)]
    ['observation-number']
    >>> list(observation_numbers('foreach n in 1 2 { // "in 2010"', 0))
    []
    """
    if " in " not in text or _LOOPS.search(text):
        return
    strings = [found.span() for found in _QUOTED.finditer(text)]
    for found in _QUALIFIER.finditer(text):
        if not any(start < found.start() < end for start, end in strings):
            yield Cut(line, *found.span("range"), "observation-number", align="none")
