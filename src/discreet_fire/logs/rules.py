"""The rules by which logs are cleaned, and evidence that a log was checked by such rules.

In: the TOML file of the package, a centre's file that extends it, a legacy list (``postFire.txt``);
the log and the limits of a run of our own, and the office's key. Out: frozen `CleaningRules`, and
`RunEvidence`, which holds for this log alone, byte by byte. Between two programs it is kept as a
mark signed with the key, which a researcher does not have: how a log looks is no evidence. An
office that names no key has one for each account, in a file that only this account can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from discreet.errors import DiscreetError, OutputCheckError, Problem
from discreet.microdata import Secret
from discreet.settings import Settings, Text, refused, setting_problems
from discreet_fire.catalogue import commands_with
from discreet_fire.logs.lines import (
    HIDDEN,
    LONGEST,
    LogCut,
    has_digits,
    numeric,
    observation_numbers,
)
from discreet_fire.statistics import SafeLimits
from discreet_fire.texts import read_source

#: A whole number in a pattern; it is bounded, so that no line takes long.
_COUNT = r"(?<![\d.,])\d(?:[\d,]{0,14}\d)?(?![\d]|[.,]\d)"
_LEGACY = "##"
_DRIVE = r"[A-Za-z]:[\\/]|\\\\[\w.$-]{1,64}\\"
_PATH_END = r"""[^\\/"'`:*?<>|\r\n]{1,80}"""
_FEW_WORDS = 12


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
    #: Words of which a line holds at least one, if it holds the message
    near: list[Text] = Field(default_factory=list)
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


class Notice(Settings):
    """Message of commands without information on the data."""

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
    """Rules for withholding from a log, and passages that are known by their words.

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
    @cache
    def default(cls) -> CleaningRules:
        """The rules of the package."""
        text = (files(__package__) / "rules.toml").read_text(encoding="utf-8")
        return _extended(cls(withheld=commands_with("log", "withheld")), text, "rules.toml")

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

    # ------------------------------------------------------------ passages

    @cached_property
    def own(self) -> CleaningRules:
        """The centre's own rules, with paths and secret parameters."""
        package = CleaningRules.default()
        own = (one for one in self.messages if one.everywhere or one not in package.messages)
        withheld = self.withheld - package.withheld
        return replace(self, messages=tuple(own), withheld=withheld)

    def in_output(self, text: str, line: int, *, command: bool = False) -> Iterator[LogCut]:
        """Passages in a line of output, or in an echoed command, with numbers of observations."""
        for message in self._possible(text):
            for match in message.find.finditer(text) if message.put else ():
                words = {name: value or "" for name, value in match.groupdict().items()}
                counts = [name for name in words if re.fullmatch(r"n\d*", name)]
                few = [name for name in counts if self.few(numeric(words[name]))]
                put = message.put.format(**(words | dict.fromkeys(few, HIDDEN)))
                told = (few or message.always) and put != match[0]
                if told and (message.everywhere or not command):
                    yield LogCut(line, *match.span(), message.name, put=put, align="none")
        yield from self.everywhere(text, line)
        yield from observation_numbers(text, line) if command else ()

    def reviews(self, text: str) -> Iterator[tuple[str, str]]:
        """Names of rules by which a person must look at a line, with the reason."""
        for message in self._possible(text):
            if message.review and message.find.search(text):
                yield message.name, message.review

    def without_messages(self, text: str) -> str:
        """Rest of a line without the messages whose numbers have rules."""
        for message in self._possible(text):
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
        if any(not message.near for message in self.messages):
            return re.compile("")
        words = {word for message in self.messages for word in message.near}
        return re.compile("|".join(map(re.escape, sorted(words))))

    @cached_property
    def _safe(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in self.safe))

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        roots = "|".join(re.escape(root) for root in self.roots)
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
        for replacement in self.replacements:
            find, put = replacement.find, replacement.put
            inside, at = put.find(find), text.find(find)
            while at >= 0:
                if not 0 <= inside <= at or not text.startswith(put, at - inside):
                    rule = f"own-list-{replacement.line}"
                    yield LogCut(line, at, at + len(find), rule, put=put, align="none")
                at = text.find(find, at + len(find))

    def _possible(self, text: str) -> Iterator[Message]:
        found = self._near.search(text)
        for one in self.messages if found else ():
            if not one.near or any(word in text for word in one.near):
                yield one


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


#: The part of a report that holds a mark.
MARK = "mark"
_SEAL = "seal"
_PURPOSE = "discreet: logs of checked runs"
_LARGEST = 50_000_000


def signing_key(file: Path | None) -> Secret | None:
    """The key that logs of runs are signed with."""
    if file is not None:
        return Secret.from_file(file)
    state = os.environ.get("XDG_STATE_HOME")
    try:
        folder = Path(state) if state else Path.home() / ".local" / "state"
        place = folder / "discreet" / "logs.key"
        if not place.exists():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            Secret.generate().write(place)
        return Secret.from_file(place)
    except (OSError, RuntimeError, DiscreetError):
        return None


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """A log was checked line by line as it was made, and by which limits."""

    sha256: str  # digest of the log
    minimum: int  # fewest cases behind a number
    percentile_cases: int  # fewest cases beyond a percentile
    residual_df: int  # fewest residual degrees of freedom of a model

    @classmethod
    def of(cls, log: str, limits: SafeLimits, *, checked: bool) -> RunEvidence | None:
        """The evidence of a run; None if not all that its log shows was checked.

        >>> RunEvidence.of("", SafeLimits(), checked=False) is None
        True
        """
        names = ("minimum", "percentile_cases", "residual_df")
        values = {name: getattr(limits, name) for name in names}
        return cls(sha256=_digest(log), **values) if checked else None

    def covers(self, log: str, rules: CleaningRules) -> bool:
        """Whether this log was checked by limits no looser than those of some rules.

        >>> evidence = RunEvidence.of("text", SafeLimits(), checked=True)
        >>> rules = CleaningRules.default()
        >>> evidence.covers("text", rules), evidence.covers("other text", rules)
        (True, False)
        """
        return (
            self.sha256 == _digest(log)
            and self.minimum >= rules.minimum
            and self.percentile_cases >= rules.percentile_cases
            and self.residual_df >= rules.residual_df
            # runs show skewness and kurtosis by what they tell, not by a number of cases
            and rules.moment_cases <= CleaningRules.default().moment_cases
        )

    def for_copy(self, cleaned: str) -> RunEvidence:
        """The evidence for what was left of the log when more was taken out."""
        return replace(self, sha256=_digest(cleaned))

    def mark(self, key: Secret) -> dict[str, Any]:
        """The mark to be kept beside the log, sealed."""
        text = json.dumps(asdict(self), sort_keys=True)
        seal = hmac.new(key.derive(_PURPOSE), text.encode(), hashlib.sha256).hexdigest()
        return {**asdict(self), _SEAL: seal}

    @classmethod
    def beside(cls, log: Path, key: Secret) -> RunEvidence | None:
        """The evidence in a report beside a log; None if there is none sealed with the key."""
        for report in (log.with_suffix(".run.json"), log.with_name(f"{log.name}.json")):
            try:
                large = report.stat().st_size > _LARGEST
                document = None if large else json.loads(report.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                continue
            mark = document.get(MARK) if isinstance(document, dict) else None
            names = cls.__dataclass_fields__
            if not isinstance(mark, dict) or mark.keys() != {*names, _SEAL}:
                continue
            if any(type(mark[one]) is not (str if one == "sha256" else int) for one in names):
                continue
            evidence = cls(**{name: mark[name] for name in names})
            own = evidence.mark(key)[_SEAL].encode()
            seal = mark[_SEAL] if isinstance(mark[_SEAL], str) else ""
            if hmac.compare_digest(own, seal.encode("utf-8", "replace")):
                return evidence
        return None


def _digest(log: str) -> str:
    return hashlib.sha256(log.encode("utf-8", "surrogatepass")).hexdigest()
