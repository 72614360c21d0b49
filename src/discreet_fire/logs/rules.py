"""The rules by which logs are cleaned: limits, messages, the centre's own replacements.

In: the TOML file of the package, a centre's file that extends it, a legacy list
(``postFire.txt``). Out: frozen `CleaningRules`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from discreet.errors import OutputCheckError, Problem
from discreet.settings import Settings, Text, refused, setting_problems
from discreet_fire.catalogue import commands_with
from discreet_fire.texts import read_source

#: A whole number in a pattern; it is bounded, so that no line takes long.
_COUNT = r"(?<![\d.,])\d(?:[\d,]{0,14}\d)?(?![\d]|[.,]\d)"
_LEGACY = "##"


def _pattern(text: Any) -> Any:
    """A pattern in which ``<n>`` stands for a number of cases."""
    if not isinstance(text, str):
        return text
    named = re.sub(r"<(n\d?)>", lambda name: f"(?P<{name[1]}>{_COUNT})", text)
    try:
        return re.compile(named.replace("<NUM>", _COUNT))
    except re.error as error:
        raise refused(f"the pattern is wrong: {error}", text) from None


Form = Annotated[re.Pattern[str], BeforeValidator(_pattern)]
Limit = Annotated[int, Field(ge=1, le=10**6)]


class Message(Settings):
    """A message of Stata that tells a number of cases."""

    name: Text  # name of the rule
    near: list[Text] = Field(
        default_factory=list
    )  # words of which a line holds at least one, if it holds the message
    find: Form  # the message; groups whose names start with n are the numbers
    put: str = ""  # what is put if a number is too small; ``{n}`` is the number or its sign
    always: bool = False  # withhold it whatever the numbers are
    everywhere: bool = False  # look for it in commands too
    review: str = ""  # what a person must look at, if the message is left

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.put or self.review):
            raise refused("says neither what to put nor what to review")
        try:
            self.put.format(**dict.fromkeys(self.find.groupindex, ""))
        except (KeyError, IndexError, ValueError):
            raise refused("'put' names a group that 'find' does not have") from None
        return self

    def may_be_in(self, text: str) -> bool:
        """Whether a line holds one of the words near the message."""
        for word in self.near:
            if word in text:
                return True
        return not self.near


class Notice(Settings):
    """What some commands say that tells nothing about the data."""

    #: The commands; other ones can print the same and mean something else
    commands: Annotated[list[str], Field(min_length=1)]
    #: What they say, with single blanks, as a whole. A group ``told`` is a name: what it holds that
    #: does not stand in the command goes. A group ``n`` is a number of cases: if it is too small,
    #: all goes
    forms: Annotated[list[Form], Field(min_length=1)]
    #: What stands in a name whatever the data are
    plain: list[Form] = Field(default_factory=list)


class _Limits(Settings):
    minimum: Limit | None = None
    percentile_cases: Limit | None = None
    residual_df: Annotated[int, Field(ge=0, le=10**6)] | None = None
    moment_cases: Limit | None = None


class _RulesFile(Settings):
    """A file of rules; what it leaves out stays as it is."""

    limits: _Limits = _Limits()
    message: list[Message] = Field(default_factory=list)
    notice: list[Notice] = Field(default_factory=list)
    withheld: list[str] = Field(default_factory=list)
    safe: list[Form] = Field(default_factory=list)
    roots: list[str] = Field(default_factory=list)
    language: Literal["en", "de"] | None = None
    own_first: bool | None = None


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

    minimum: int = 3  # fewest cases behind a number
    percentile_cases: int = 3  # a percentile q needs n·min(q, 1 − q) of at least this
    residual_df: int = 10  # fewest residual degrees of freedom of a model
    moment_cases: int = 10  # fewest cases behind skewness and kurtosis
    messages: tuple[Message, ...] = ()  # messages with numbers of cases
    withheld: frozenset[str]  # commands whose output is withheld as a whole
    safe: tuple[re.Pattern[str], ...] = ()  # lines that are known to tell nothing about the data
    notices: tuple[Notice, ...] = ()  # what single commands say that tells nothing about the data
    roots: tuple[str, ...] = ()  # beginnings of paths of servers
    language: str = "en"  # language of what is written and told: "en" or "de"
    own_first: bool = False  # whether the centre's own list comes before all other rules
    replacements: tuple[Replacement, ...] = ()  # the centre's own list

    @classmethod
    def default(cls) -> CleaningRules:
        """The rules of the package."""
        return _default()

    @classmethod
    def read(cls, *paths: str | os.PathLike[str]) -> CleaningRules:
        """The rules of the package, changed and extended by files of the centre.

        The texts of a legacy list go first, unless a file of rules behind it says otherwise.
        """
        rules = cls.default()
        for path in map(Path, paths):
            text = read_source(path).text
            if path.suffix.lower() == ".toml":
                rules = _extended(rules, text, path.name)
            else:
                more = tuple(_legacy(text, path.name))
                replacements = rules.replacements + more
                rules = replace(rules, replacements=replacements, own_first=True)
        return rules

    def few(self, count: float | None) -> bool:
        """Whether a number of cases is too small to be shown; none at all is not."""
        return count is not None and 0 < count < self.minimum


@cache
def _default() -> CleaningRules:
    text = (files(__package__) / "rules.toml").read_text(encoding="utf-8")
    return _extended(CleaningRules(withheld=commands_with("log", "withheld")), text, "rules.toml")


def _extended(rules: CleaningRules, text: str, name: str) -> CleaningRules:
    try:
        own = _RulesFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _error("this is not a TOML file", name, str(error)) from None
    except RecursionError:
        raise _error("the file is nested too deeply", name) from None
    except ValidationError as error:
        problems = setting_problems(error)
        raise _error("the rules cannot be used", name, problems=problems) from None
    names = {message.name for message in own.message}
    kept = [message for message in rules.messages if message.name not in names]
    return replace(
        rules,
        **own.limits.model_dump(exclude_none=True),
        messages=(*kept, *own.message),
        withheld=rules.withheld | set(own.withheld),
        safe=(*rules.safe, *own.safe),
        notices=(*rules.notices, *own.notice),
        roots=(*rules.roots, *own.roots),
        language=own.language or rules.language,
        own_first=rules.own_first if own.own_first is None else own.own_first,
    )


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
    message: str, where: str, hint: str = "", problems: Sequence[Problem] = ()
) -> OutputCheckError:
    return OutputCheckError(
        message, code="cleaning-rules", where=where, hint=hint, problems=problems
    )
