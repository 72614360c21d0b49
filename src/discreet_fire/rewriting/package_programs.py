"""What is alike in programs of SPSS and SAS: what is found in them, and how it is written.

In: the text of a program, its reader and a policy. Out: a `Rewriting`. A part of a command, and the
words in it, are judged by the catalogue; what becomes a comment, and which programs it runs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from discreet.files import texts_of
from discreet_fire.catalogue import Action, CommandRule, PackagePolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.called_files import SUFFIX, CalledFile
from discreet_fire.rewriting.changes import (
    Language,
    ProgramNotes,
    Rewriting,
    comment_words,
    newline_of,
)
from discreet_fire.scripts import PackageSyntaxError, PackageToken, SasStatement, SpssCommand

_Statement = TypeVar("_Statement", SpssCommand, SasStatement)

_NETWORK = re.compile(r"^['\"]?\s*(?:\\\\|//|[a-z]{2,}:/)", re.I)
_PLACE = re.compile(r"^(?!.*(?:^|[\\/])\.\.(?:[\\/]|$))[^:*?|<>&!]+$")
_MOST_WORDS = 160
#: What is found, by the rule that finds it; `finding_words.toml` has the German.
SAID = {
    "unknown": "{name}: no rule for it; it may show anything",
    "part": "{name}: {part} is not permitted",
    "part-unknown": "{name}: no rule for {part} in it",
    "runtime": "{name}: what it is about is known at run time only, so no safe macro can check it",
    "statistic": "{name}: a table holds a statistic that no rule knows as safe",
    "list": "{name}: write each variable by its name, so that a safe macro can check it",
    "temporary": "{name}: a temporary choice of records cannot be checked: use FILTER BY",
    "split": "{name}: under SPLIT FILE no safe macro checks each group",
    "reason": "{name}: {reason}",
    "called": "{name}: the file it runs is not in the submission",
    "network": "{name}: names a place of the network",
    "record": "{name}: takes a value from another record, or one record by its number",
    "carries": "{name}: carries a value from record to record",
    "picks": "{name}: gives single values to many records",
    "tells": "{name}: a message about a wrong value may quote it",
    "text": "{name}: makes program text out of pieces",
    "reserved": "names that begin with fire_ belong to the safe macros",
    "macro": "the macro {name} has the name of a command, or is called without !",
    "shown": "{name}: shows a value that comes from data",
    "decides": "{name}: what runs depends on data",
    "holds": "{name}: holds a value that comes from data",
    "function": "{name}: the function {part} reaches files, the system, or is not known",
    "dataset": "{name}: name the data set with data=, so that a safe macro can check it",
    "twice": "{name}: the same record may be written several times, and count several times",
    "quotes": "{name}: a quotation mark in a comment is read differently within a macro",
    "unclosed": "{name}: a quotation mark is not closed, so that its end is not certain",
    "syntax": "the program cannot be read: {what}",
}
#: A passage: a command, a statement, or its start and end.
_Where = SpssCommand | SasStatement | tuple[int, int]
_SEVERITY = {Action.REVIEW: Severity.REVIEW, Action.REFUSED: Severity.REFUSED}


@dataclass(kw_only=True)
class PackageProgram(ProgramNotes, ABC, Generic[_Statement]):
    """A program in SPSS or SAS, with findings and edits as they are made."""

    policy: PackagePolicy  # the rules
    language: Language  # of what is written and told
    folder: Path | None  # where the program lies; other programs in it, or below, may be run
    calls: list[CalledFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.newline = newline_of(self.text)
        self.wording = texts_of("discreet_fire.rewriting", "wording", self.language)["code"]

    def rewritten(self, parse: Callable[[str], Sequence[_Statement]]) -> Rewriting:
        """Judge all statements."""
        try:
            statements = parse(self.text)
        except PackageSyntaxError as error:
            span = (error.at, error.at)
            self.find("syntax", Severity.ERROR, SAID["syntax"].format(what=error.what), span)
        else:
            self.judge(statements)
        return self.rewriting()

    @abstractmethod
    def judge(self, statements: Sequence[_Statement]) -> None:
        """Note all that is to be said and changed."""

    def check_reserved(self, statement: SpssCommand | SasStatement) -> None:
        """Names of the safe macros may not be given by a program."""
        named = (one.upper.lstrip("!%&_") for one in statement.tokens if one.kind != "text")
        if any(name.startswith("FIRE_") for name in named):
            self.find("reserved", Severity.ERROR, SAID["reserved"], _span(statement))

    def say(self, kind: str, action: Action, where: _Where, name: str = "", **filled: str) -> None:
        """Note a finding; what is refused must be taken out by the caller."""
        what = SAID[kind].format(name=name, **filled)
        self.find(kind, _SEVERITY[action], what, _span(where))

    def review_network(self, where: _Where, name: str, tokens: Iterable[PackageToken]) -> None:
        """Note texts that are addresses of the network."""
        if any(token.kind == "text" and _NETWORK.match(token.text) for token in tokens):
            self.review("network", where, name)

    def review(self, kind: str, where: _Where, name: str = "", **filled: str) -> None:
        """Note what an officer looks at."""
        self.say(kind, Action.REVIEW, where, name, **filled)

    def change(
        self,
        kind: str,
        where: _Where,
        after: str,
        rule: CommandRule,
        action: Action = Action.WRAPPED,
    ) -> None:
        """Note what stands in place of a passage that a rule is about."""
        self.replace(_span(where), after, kind, rule.name, action, rule.reason)

    def comment(self, span: tuple[int, int], end: str) -> str:
        """The words of a comment in place of a passage."""
        words = comment_words(self.text[slice(*span)]).replace(end, " ").strip()
        words = words.replace("*/", "* /").replace("/*", "/ *")
        return f"{self.wording}: {words[:_MOST_WORDS].rstrip(' .')}"

    def called(self, command: str, span: tuple[int, int]) -> str | None:
        """The name to run in place of a file; None if that is not in the submission."""
        place = self.text[slice(*span)].strip("'\"").strip()
        stem, dot, suffix = place.rpartition(".")
        if not dot or not _PLACE.match(place) or place.startswith(("/", "\\", "~")):
            return None
        target = None if self.folder is None else self.folder / place.replace("\\", "/")
        if target is None or not target.is_file() or target.is_symlink():
            return None
        start, end = span
        self.calls.append(
            CalledFile(
                command=command,
                path=place,
                start=start,
                end=end,
                written=place,
                action=Action.WRAPPED,
                target=target,
            )
        )
        return place if stem.endswith(SUFFIX) else f"{stem}{SUFFIX}{dot}{suffix}"

    def rewriting(self) -> Rewriting:
        """The new text, with the programs that it runs."""
        return replace(super().rewriting(), calls=tuple(self.calls))


def _span(where: _Where) -> tuple[int, int]:
    return where if isinstance(where, tuple) else (where.start, where.end)
