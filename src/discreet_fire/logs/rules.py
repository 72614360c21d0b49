"""The rules by which logs are cleaned: limits, messages, the centre's own replacements.

In: the TOML file of the package, a centre's file that extends it, a legacy list
(``postFire.txt``). Out: frozen `CleaningRules`.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError, Problem
from discreet_fire.catalogue import commands_where
from discreet_fire.statistics import LANGUAGES
from discreet_fire.texts import read_source

#: A whole number in a pattern; it is bounded, so that no line takes long.
_COUNT = r"(?<![\d.,])\d(?:[\d,]{0,14}\d)?(?![\d]|[.,]\d)"
_LIMITS = {
    "minimum": (1, 10**6),
    "percentile_cases": (1, 10**6),
    "residual_df": (0, 10**6),
    "moment_cases": (1, 10**6),
}
_LISTS = ("withheld", "safe", "roots")
_MESSAGE_KEYS = {"name", "near", "find", "put", "always", "everywhere", "review"}
_PARTS = ("limits", "message", "notice", "language", "own_first", *_LISTS)
_LEGACY = "##"


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of Stata that tells a number of cases."""

    name: str  # name of the rule
    near: tuple[str, ...]  # words of which a line holds at least one, if it holds the message
    find: re.Pattern[str]  # the message; groups whose names start with n are the numbers
    put: str  # what is put if a number is too small; ``{n}`` is the number or its sign
    always: bool = False  # withhold it whatever the numbers are
    everywhere: bool = False  # look for it in commands too
    review: str = ""  # what a person must look at, if the message is left

    def may_be_in(self, text: str) -> bool:
        """Whether a line holds one of the words near the message."""
        for word in self.near:
            if word in text:
                return True
        return not self.near


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What some commands say that tells nothing about the data."""

    commands: frozenset[str]  # the commands; other ones can print the same and mean something else
    #: What they say, with single blanks, as a whole. A group ``told`` is a name: what it holds that
    #: does not stand in the command goes. A group ``n`` is a number of cases: if it is too small,
    #: all goes
    forms: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A text of the centre's list and what is put in its place."""

    find: str
    put: str
    line: int


@dataclass(frozen=True, kw_only=True)
class CleaningRules:
    """What is withheld from a log.

    >>> CleaningRules.default().minimum
    3
    """

    minimum: int  # fewest cases behind a number
    percentile_cases: int  # a percentile q needs n·min(q, 1 − q) of at least this
    residual_df: int  # fewest residual degrees of freedom of a model
    moment_cases: int  # fewest cases behind skewness and kurtosis
    messages: tuple[Message, ...]  # messages with numbers of cases
    withheld: frozenset[str]  # commands whose output is withheld as a whole
    safe: tuple[re.Pattern[str], ...]  # lines that are known to tell nothing about the data
    notices: tuple[Notice, ...]  # what single commands say that tells nothing about the data
    roots: tuple[str, ...]  # beginnings of paths of servers
    language: str  # language of what is written and told: "en" or "de"
    own_first: bool  # whether the centre's own list comes before all other rules
    replacements: tuple[Replacement, ...] = ()  # the centre's own list

    @classmethod
    def default(cls) -> CleaningRules:
        """The rules of the package."""
        return _default()

    @classmethod
    def read(cls, *paths: str | os.PathLike[str]) -> CleaningRules:
        """The rules of the package, changed and extended by files of the centre."""
        rules = cls.default()
        for path in paths:
            rules = rules.extended(path)
        return rules

    def extended(self, path: str | os.PathLike[str]) -> CleaningRules:
        """These rules, changed and extended by a file of the centre, as `read` takes it."""
        place = Path(path)
        source = read_source(place)
        if place.suffix.lower() == ".toml":
            return _extended(self, _parsed(source.text, place.name), place.name)
        more = tuple(_legacy(source.text, place.name))
        return replace(self, replacements=self.replacements + more)

    def few(self, count: float | None) -> bool:
        """Whether a number of cases is too small to be shown; none at all is not."""
        return count is not None and 0 < count < self.minimum


@cache
def _default() -> CleaningRules:
    name = "rules.toml"
    text = (files(__package__) / name).read_text(encoding="utf-8")
    empty = CleaningRules(
        minimum=3,
        percentile_cases=3,
        residual_df=10,
        moment_cases=10,
        messages=(),
        withheld=commands_where(lambda row: row.log == "withheld"),
        safe=(),
        notices=(),
        roots=(),
        language="en",
        own_first=False,
    )
    return _extended(empty, _parsed(text, name), name)


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _error("this is not a TOML file", name, str(error)) from None
    except RecursionError:
        raise _error("the file is nested too deeply", name) from None


def _extended(rules: CleaningRules, document: dict[str, Any], name: str) -> CleaningRules:
    problems = _unknown(document)
    if problems:
        raise _error("the rules cannot be used", name, problems=problems)
    limits: dict[str, Any] = document.get("limits", {})
    own = [_message(entry, name) for entry in document.get("message", [])]
    names = {message.name for message in own}
    kept = tuple(message for message in rules.messages if message.name not in names)
    return replace(
        rules,
        **limits,
        messages=kept + tuple(own),
        withheld=rules.withheld | set(document.get("withheld", [])),
        safe=rules.safe + tuple(_pattern(text, name) for text in document.get("safe", [])),
        notices=rules.notices + tuple(_notice(one, name) for one in document.get("notice", [])),
        roots=rules.roots + tuple(document.get("roots", [])),
        language=document.get("language", rules.language),
        own_first=document.get("own_first", rules.own_first),
    )


def _unknown(document: dict[str, Any]) -> list[Problem]:
    """What does not belong into a file of rules."""
    problems = [
        Problem("there is no such part", key, f"parts: {', '.join(_PARTS)}")
        for key in document
        if key not in _PARTS
    ]
    if document.get("language", "en") not in LANGUAGES:
        problems.append(Problem(f"is one of {', '.join(LANGUAGES)}", "language"))
    if type(document.get("own_first", False)) is not bool:
        problems.append(Problem("is true or false", "own_first"))
    limits = document.get("limits", {})
    if not isinstance(limits, dict):
        return [*problems, Problem("is a table: [limits]", "limits")]
    for key, value in limits.items():
        low, high = _LIMITS.get(key, (0, -1))
        if high < 0:
            problems.append(Problem("there is no such limit", key, f"limits: {', '.join(_LIMITS)}"))
        elif type(value) is not int or not low <= value <= high:
            problems.append(Problem(f"is a whole number from {low} to {high}", key))
    for key in _LISTS:
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            problems.append(Problem("is a list of texts", key))
    problems.extend(_unknown_notices(document.get("notice", [])))
    messages = document.get("message", [])
    if not isinstance(messages, list) or not all(isinstance(entry, dict) for entry in messages):
        return [*problems, Problem("is a list of tables: [[message]]", "message")]
    for number, entry in enumerate(messages, 1):
        problems.extend(_unknown_message(entry, f"message {number}"))
    return problems


def _unknown_notices(notices: object) -> list[Problem]:
    if not isinstance(notices, list) or not all(isinstance(entry, dict) for entry in notices):
        return [Problem("is a list of tables: [[notice]]", "notice")]
    return [
        Problem("has two lists of texts, 'commands' and 'forms'", f"notice {number}")
        for number, entry in enumerate(notices, 1)
        if entry.keys() != {"commands", "forms"}
        or not all(isinstance(some, list) and some for some in entry.values())
        or not all(isinstance(text, str) for some in entry.values() for text in some)
    ]


def _notice(entry: dict[str, Any], name: str) -> Notice:
    forms = tuple(_pattern(text, name) for text in entry["forms"])
    return Notice(commands=frozenset(entry["commands"]), forms=forms)


def _unknown_message(entry: dict[str, Any], where: str) -> list[Problem]:
    problems = [
        Problem(f"there is no {key!r} in a message", where, f"keys: {', '.join(_MESSAGE_KEYS)}")
        for key in sorted(set(entry) - _MESSAGE_KEYS)
    ]
    problems += [
        Problem(f"{key!r} is missing or no text", where)
        for key in ("name", "find")
        if not isinstance(entry.get(key), str) or not entry[key]
    ]
    for key, kind in (("put", str), ("review", str), ("always", bool), ("everywhere", bool)):
        if not isinstance(entry.get(key, kind()), kind):
            problems.append(Problem(f"{key!r} is of the wrong kind", where))
    near = entry.get("near", [])
    if not isinstance(near, list) or not all(isinstance(word, str) and word for word in near):
        problems.append(Problem("'near' is a list of words", where))
    if not problems and not (entry.get("put") or entry.get("review")):
        problems.append(Problem("says neither what to put nor what to review", where))
    return problems


def _message(entry: dict[str, Any], name: str) -> Message:
    pattern = _pattern(entry["find"], name)
    put = entry.get("put", "")
    try:
        put.format(**dict.fromkeys(pattern.groupindex, ""))
    except (KeyError, IndexError, ValueError):
        message = f"message {entry['name']}: 'put' names a group that 'find' does not have"
        raise _error(message, name) from None
    near = tuple(entry.get("near", ()))
    return Message(**{**entry, "near": near, "find": pattern, "put": put})


def _pattern(text: str, name: str) -> re.Pattern[str]:
    """A pattern in which ``<n>`` stands for a number of cases."""
    named = re.sub(r"<(n\d?)>", lambda found: f"(?P<{found[1]}>{_COUNT})", text)
    try:
        return re.compile(named.replace("<NUM>", _COUNT))
    except re.error as error:
        raise _error(f"a pattern is wrong: {error}", name, text) from None


def _legacy(text: str, name: str) -> list[Replacement]:
    """Pairs of lines that start with ``##``: what to find, what to put."""
    marked: list[tuple[int, str]] = []
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if line.startswith(_LEGACY):
            marked.append((number, line[len(_LEGACY) :]))
        elif line.strip():
            raise _error(f"a line does not start with {_LEGACY}", f"{name}, line {number}")
    if len(marked) % 2:
        message = "the last text to find has no text to put"
        hint = f"add a line that starts with {_LEGACY}"
        raise _error(message, f"{name}, line {marked[-1][0]}", hint)
    replacements = []
    for (number, find), (_, put) in zip(marked[::2], marked[1::2], strict=True):
        if not find.strip():
            raise _error("the text to find is empty", f"{name}, line {number}")
        replacements.append(Replacement(find=find, put=put, line=number))
    return replacements


def _error(
    message: str, where: str, hint: str = "", problems: list[Problem] | None = None
) -> OutputCheckError:
    return OutputCheckError(
        message, code="cleaning-rules", where=where, hint=hint, problems=problems or ()
    )
