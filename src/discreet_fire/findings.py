"""Findings: what a program or a log holds that an officer must know.

In: rules of the rewriter and the log sanitiser. Out: frozen notes with a place, in a
form for people and one for programs. A finding never quotes a figure of the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Finding", "Severity", "gravest"]


class Severity(StrEnum):
    """How much a finding matters, from the mildest to the gravest.

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

    Args:
        rule: Short stable name of the rule, for programs.
        severity: How much it matters.
        what: What was found, in one sentence, without any figure of the data.
        line: Line, counted from 1.
        column: Character within the line, counted from 1.
        start: Where the passage starts in the text, in characters from 0.
        end: Where it ends.
        hint: What to do about it.

    >>> finding = Finding(rule="quote", severity=Severity.REVIEW, what="a quote is not closed",
    ...                   line=3, column=7, start=40, end=41)
    >>> print(finding)
    3:7 review [quote] a quote is not closed
    >>> finding.to_dict()["severity"]
    'review'
    """

    rule: str
    severity: Severity
    what: str
    line: int
    column: int
    start: int
    end: int
    hint: str = ""

    def __str__(self) -> str:
        hint = f"\n  Hint: {self.hint}" if self.hint else ""
        return f"{self.line}:{self.column} {self.severity.value} [{self.rule}] {self.what}{hint}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values for JSON."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {**parts, "severity": self.severity.value}


def gravest(findings: Iterable[Finding]) -> Severity | None:
    """The gravest severity among findings; None if there are none.

    >>> gravest([]) is None
    True
    """
    ranks = [finding.severity for finding in findings]
    return max(ranks, key=lambda severity: severity.rank, default=None)
