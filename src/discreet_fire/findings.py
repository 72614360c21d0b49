"""Findings: what a program or a log holds that an officer must know.

In: rules of the rewriter and the log sanitiser. Out: frozen notes with a place, in a
form for people and one for programs. A finding never quotes a figure of the data.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter
from typing import Any

from discreet.files import texts_of

__all__ = ["COPYING", "Finding", "FindingCause", "Severity", "causes", "gravest", "said_of"]

#: Findings on programs in SPSS and SAS that may put one record's values beside many records.
COPYING = frozenset(("carries", "picks", "record", "twice"))


class Severity(StrEnum):
    """Severity of a finding, from the mildest to the gravest.

    >>> Severity.INFO.rank < Severity.ERROR.rank, Severity("review").value
    (True, 'review')
    """

    INFO = "info"
    REVIEW = "review"
    REFUSED = "refused"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """The place in the order; larger is graver."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing found in a text, and where.

    >>> finding = Finding(rule="quote", severity=Severity.REVIEW, what="a quote is not closed",
    ...                   line=3, column=7, start=40, end=41)
    >>> print(finding)
    3:7 review [quote] a quote is not closed
    >>> finding.to_dict()["severity"]
    'review'
    """

    rule: str  # short stable name of the rule, for programs
    severity: Severity  # how much it matters
    what: str  # what was found, in one sentence, without any figure of the data
    line: int = 0  # line, counted from 1; 0 if it is about all of the text
    column: int = 1  # character within the line, counted from 1
    start: int = 0  # where the passage starts in the text, in characters from 0
    end: int = 0  # where it ends
    hint: str = ""  # what to do about it
    file: str = ""  # the file, if another than the one that was looked at

    def __str__(self) -> str:
        hint = f"\n  Hint: {self.hint}" if self.hint else ""
        return f"{self.line}:{self.column} {self.severity.value} [{self.rule}] {self.what}{hint}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values for JSON."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        if not self.file:
            del parts["file"]
        return {**parts, "severity": self.severity.value}


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingCause:
    """All findings of one cause: the same rule gives the same reason for several places."""

    rule: str  # short stable name of the rule
    severity: Severity  # how much it matters
    reason: str  # why, in one sentence
    #: The commands it is said of, with how often, in the order of their first places
    names: Mapping[str, int]
    hint: str  # what to do about it
    places: tuple[tuple[int, int], ...]  # line and column of each place, in their order
    #: The lines in each file, if it is of files that are handed in together
    files: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text()

    @property
    def count(self) -> int:
        """In how many places."""
        return len(self.places)

    def text(self, language: str = "en") -> str:
        """The cause on one line, with its hint below; its reason stays as it is."""
        words = texts_of("discreet_fire", "rewritten", language)
        severity = texts_of("discreet_fire", "severities", language)[self.severity.value]
        message, place = said_of(self.names, self.reason), ""
        if self.files:
            where = "; ".join(f"{name} {_few(lines)}" for name, lines in self.files.items())
            message = words["in_files"].format(
                what=message, n=self.count, files=len(self.files), where=where
            )
        else:
            place = "{}:{} ".format(*self.places[0])
            if self.count > 1:
                lines = _few([*dict.fromkeys(line for line, _ in self.places)])
                message = words["times"].format(what=message, n=self.count, lines=lines)
        hint = f"\n  {words['hint']}: {self.hint}" if self.hint else ""
        return f"{place}{severity} [{self.rule}] {message}{hint}"

    def to_dict(self) -> dict[str, Any]:
        """The cause as plain values for JSON."""
        files = {"files": {name: list(lines) for name, lines in self.files.items()}}
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "reason": self.reason,
            "names": dict(self.names),
            "hint": self.hint,
            "count": self.count,
            **(files if self.files else {"lines": [line for line, _ in self.places]}),
        }


def _few(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:_MOST_LINES]))
    return f"{shown}, …" if len(lines) > _MOST_LINES else shown


_MOST_LINES = 8
#: What is said of a command: ``graph bar: a curve may show its ends``.
_OF_COMMAND = re.compile(r"([\w.`'$]+(?:,? [\w()]+)?): (.+)", re.S)


def said_of(names: Mapping[str, int], reason: str) -> str:
    """A reason with the commands it is said of.

    >>> said_of({"save": 2, "file": 1}, "writes a file")
    'save (2), file: writes a file'
    """
    several = len(names) > 1
    listed = [f"{name} ({n})" if several and n > 1 else name for name, n in names.items()]
    return f"{', '.join(listed)}: {reason}" if listed else reason


def causes(findings: Iterable[Finding]) -> list[FindingCause]:
    """Findings by their causes, the gravest first, then in the order of their first places, with
    the lines in each file where findings name one.

    >>> at = {"rule": "command", "severity": Severity.REVIEW, "column": 1, "start": 0, "end": 1}
    >>> found = [Finding(what="file: writes", line=9, **at), Finding(what="save: writes", line=3,
    ...          **at), Finding(what="save: writes", line=5, **at)]
    >>> print(*causes(found))
    3:1 review [command] save (2), file: writes (3 times: lines 3, 5, 9)
    """
    grouped = defaultdict[tuple[Severity, str, str, str], list[tuple[int, int, int, str]]](list)
    order: dict[str, int] = {}  # of the files
    for one in findings:
        match = _OF_COMMAND.fullmatch(one.what)
        name, reason = match.groups() if match else ("", one.what)
        file = order.setdefault(one.file, len(order))
        key = (one.severity, one.rule, reason, one.hint)
        grouped[key].append((file, one.line, one.column, name))
    collected = []
    for (severity, rule, reason, hint), places in grouped.items():
        places.sort()
        lines = {
            name: tuple(line for at, line, *_ in places if at == file)
            for name, file in order.items()
            if name
        }
        cause = FindingCause(
            rule=rule,
            severity=severity,
            reason=reason,
            names=Counter(name for *_, name in places if name),
            hint=hint,
            places=tuple((line, column) for _, line, column, _ in places),
            files={name: listed for name, listed in lines.items() if listed},
        )
        collected.append((-severity.rank, places[0], reason, cause))
    return [cause for *_, cause in sorted(collected, key=itemgetter(0, 1, 2))]


def gravest(findings: Iterable[Finding]) -> Severity | None:
    """The gravest severity among findings; None if there are none.

    >>> gravest([]) is None
    True
    """
    ranks = [finding.severity for finding in findings]
    return max(ranks, key=lambda severity: severity.rank, default=None)
