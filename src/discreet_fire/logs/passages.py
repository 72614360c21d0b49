"""Passages known by their words wherever they stand: messages, paths, texts of a centre's list.

In: lines of a log (CONFIDENTIAL), rules. Out: cuts, and what a person must look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.files import texts_of
from discreet_fire.logs.claims import HIDDEN, LogCut, OutputForms, numeric
from discreet_fire.logs.rules import CleaningRules, Message
from discreet_fire.statistics import LANGUAGES

_FORM = OutputForms("passages")
_DRIVE = r"[A-Za-z]:[\\/]|\\\\[\w.$-]{1,64}\\"
_PATH_END = r"""[^\\/"'`:*?<>|\r\n]{1,80}"""
#: No reader looks at longer lines, for which patterns could take long.
LONGEST = 2_000
_FEW_WORDS = 12
#: What stands in place of output that is withheld as a whole, by language.
WITHHELD = {
    language: texts_of("discreet_fire.logs", "lines", language)["withheld"]
    for language in LANGUAGES
}


@dataclass(frozen=True)
class Passages:
    """Looks for known passages in lines."""

    rules: CleaningRules  # what to look for

    @cached_property
    def own(self) -> Passages:
        """The passages of the centre's own rules, with paths and secret parameters."""
        package = CleaningRules.default()
        own = tuple(
            message
            for message in self.rules.messages
            if message.everywhere or message not in package.messages
        )
        withheld = self.rules.withheld - package.withheld
        return Passages(replace(self.rules, messages=own, withheld=withheld))

    def in_output(self, text: str, line: int) -> Iterator[LogCut]:
        """Passages in a line of output."""
        yield from self._messages(text, line, self.rules.messages)
        yield from self.everywhere(text, line)

    def in_command(self, text: str, line: int) -> Iterator[LogCut]:
        """Passages in an echoed command, with numbers of observations."""
        yield from self._messages(
            text, line, (one for one in self.rules.messages if one.everywhere)
        )
        yield from self.everywhere(text, line)
        yield from observation_numbers(text, line)

    def reviews(self, text: str) -> Iterator[tuple[str, str]]:
        """Names of rules by which a person must look at a line, with the reason."""
        for message in self.rules.messages if self._near.search(text) else ():
            if message.review and message.may_be_in(text) and message.find.search(text):
                yield message.name, message.review

    def without_messages(self, text: str) -> str:
        """What is left of a line without the messages whose numbers have rules."""
        for message in self.rules.messages if self._near.search(text) else ():
            if message.may_be_in(text):
                text = message.find.sub("", text)
        return text

    def counts_only(self, text: str) -> bool:
        """Whether the figures of a line are those of messages, which have rules."""
        return not has_digits(self.without_messages(text))

    def knows(self, text: str) -> bool:
        """Whether a line consists of known messages and harmless words only."""
        if len(text) > LONGEST:
            return False
        if self._safe.fullmatch(text) is not None:
            return True
        left = self.without_messages(text)
        return left != text and not has_digits(left) and len(left.split()) <= _FEW_WORDS

    @cached_property
    def _near(self) -> re.Pattern[str]:
        """One pattern for the words near any message; it finds the place to start looking."""
        if any(not message.near for message in self.rules.messages):
            return re.compile("")
        words = {word for message in self.rules.messages for word in message.near}
        return re.compile("|".join(map(re.escape, sorted(words))))

    @cached_property
    def _safe(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in self.rules.safe))

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        roots = "|".join(re.escape(root) for root in self.rules.roots)
        return re.compile(
            rf"(?<![\w.])(?P<folder>(?:{_DRIVE}|(?:{roots}))(?:{_PATH_END}[\\/]){{0,30}})"
        )

    def everywhere(self, text: str, line: int) -> Iterator[LogCut]:
        """Texts of the centre's own list, and paths."""
        yield from self.own_texts(text, line)
        if "/" in text or "\\" in text:
            for match in self._paths.finditer(text):
                yield LogCut(line, *match.span("folder"), "path", put="<path>/", align="none")

    def own_texts(self, text: str, line: int) -> Iterator[LogCut]:
        """Texts of the centre's own list; not where what is put contains it and stands already."""
        for replacement in self.rules.replacements:
            find, put = replacement.find, replacement.put
            inside, at = put.find(find), text.find(find)
            while at >= 0:
                if not 0 <= inside <= at or not text.startswith(put, at - inside):
                    rule = f"own-list-{replacement.line}"
                    yield LogCut(line, at, at + len(find), rule, put=put, align="none")
                at = text.find(find, at + len(find))

    def _messages(self, text: str, line: int, some: Iterable[Message]) -> Iterator[LogCut]:
        for message in some if self._near.search(text) else ():
            if not (message.put and message.may_be_in(text)):
                continue
            for match in message.find.finditer(text):
                words = {name: value or "" for name, value in match.groupdict().items()}
                counts = [name for name in words if re.fullmatch(r"n\d*", name)]
                few = [name for name in counts if self.rules.few(numeric(words[name]))]
                put = message.put.format(**(words | dict.fromkeys(few, HIDDEN)))
                if (few or message.always) and put != match[0]:
                    yield LogCut(line, *match.span(), message.name, put=put, align="none")


def has_digits(text: str) -> bool:
    """Whether a text holds a digit, of any script."""
    return any(map(str.isdigit, text))


def observation_numbers(text: str, line: int) -> Iterator[LogCut]:
    """Numbers of observations in a command: ``in 17``, ``in 5/9``.

    >>> [cut.rule for cut in observation_numbers("replace x = 5 in 17", 0)]
    ['observation-number']
    >>> list(observation_numbers('foreach n in 1 2 { // "in 2010"', 0))
    []
    """
    if " in " not in text or _FORM.loops.search(text):
        return
    strings = [item.span() for item in _FORM.quoted.finditer(text)]
    for match in _FORM.qualifier.finditer(text):
        if not any(start < match.start() < end for start, end in strings):
            yield LogCut(line, *match.span("range"), "observation-number", align="none")
