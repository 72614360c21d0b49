"""Findings of the parser, with line and column; very many of one kind are only counted.

In: places in a text. Out: findings in the order of the text.
"""

from __future__ import annotations

from collections import Counter

from discreet.output_checking.findings import Finding, Severity
from discreet.output_checking.texts import Lines

__all__ = ["MOST_OF_A_RULE", "Notes"]

#: So many findings of one kind are listed; the others are counted.
MOST_OF_A_RULE = 100


class Notes:
    """Gathers the findings about one text.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: list[Finding] = []
        self._counted: Counter[str] = Counter()
        self._lines: Lines | None = None

    def add(
        self, rule: str, what: str, start: int, end: int, severity: Severity = Severity.REVIEW
    ) -> None:
        """Note a finding."""
        self._counted[rule] += 1
        if self._counted[rule] > MOST_OF_A_RULE:
            return
        if self._lines is None:
            self._lines = Lines(self.text)
        self._found.append(self._lines.finding(rule, severity, what, start, end))

    def sorted(self) -> tuple[Finding, ...]:
        """All findings in the order of the text."""
        for rule, count in list(self._counted.items()):
            if count > MOST_OF_A_RULE:
                words = f"there are {count - MOST_OF_A_RULE:,} more findings of the kind {rule}"
                self.add("more-findings", words, 0, 0)
        return tuple(sorted(self._found, key=lambda one: (one.start, one.rule)))
