"""What is judged alike in scripts of any language, and where nodes of a Python tree stand.

In: what names stand for, and nodes. Out: findings and safe calls in place of expressions.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from discreet.files import texts_of
from discreet_fire.catalogue import Action, ScriptRule
from discreet_fire.findings import Severity
from discreet_fire.flow import Names, SingleValues
from discreet_fire.rewriting.changes import Language, ProgramNotes
from discreet_fire.texts import Lines


class PythonSpans:
    """Spans of nodes.

    >>> tree = ast.parse("x = 'ä' + y")
    >>> PythonSpans("x = 'ä' + y", Lines("x = 'ä' + y")).of(tree.body[0].value.right)
    (10, 11)
    """

    def __init__(self, text: str, lines: Lines) -> None:
        self.text = text
        self.starts = lines.starts
        #: Of lines with letters outside ASCII: where each byte of UTF-8 stands in the text.
        self._places: dict[int, list[int]] = {}
        self._plain = text.isascii()

    def of(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node."""
        line = getattr(node, "lineno", None)
        if line is None:
            return 0, 0
        start = self._offset(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def _offset(self, line: int, column: int) -> int:
        """The tree counts bytes of UTF-8 within a line."""
        start = self.starts[line - 1]
        if self._plain:
            return start + column
        if line not in self._places:
            end = self.starts[line] if line < len(self.starts) else len(self.text)
            offsets = [
                place for place in range(start, end) for _ in self.text[place].encode("utf-8")
            ]
            self._places[line] = [*offsets, end]
        places = self._places[line]
        return places[column] if column < len(places) else start + column


_Node = TypeVar("_Node")


class ScriptJudge(ABC, Generic[_Node]):
    """Judges one script of any language."""

    def __init__(
        self,
        names: Names[_Node],
        picks: SingleValues[_Node],
        notes: ProgramNotes,
        language: Language,
    ) -> None:
        self._names, self.picks, self.notes = names, picks, notes
        self.wording = texts_of("discreet_fire.rewriting", "wording", language)["code"]
        #: How many conditions around a place depend on data.
        self.deciding = 0
        #: Single values that are handed to many records, and frames named by values.
        self.spreads: list[_Node] = []
        self.named: list[_Node] = []
        #: Functions of the script that show something.
        self.speaking: set[str] = set()

    @abstractmethod
    def span(self, node: _Node) -> tuple[int, int]:
        """Where a node starts and ends in the text."""

    @abstractmethod
    def numbers(self, node: _Node) -> bool:
        """Whether an expression is made of numbers only."""

    def find_speaking(self, inside: Iterable[tuple[str, Iterable[str], bool]]) -> None:
        """Find the functions that show something, also by others they call.

        Functions come with the words of what they call, and whether that shows something.
        """
        calls: dict[str, set[str]] = {}
        for name, words, shows in inside:
            calls.setdefault(name, set()).update(words)
            self.speaking |= {name} if shows else set()
        size = -1
        while size != (size := len(self.speaking)):
            self.speaking |= {name for name, words in calls.items() if words & self.speaking}

    def review(self, node: _Node, rule: str, what: str) -> None:
        """Note what an officer looks at."""
        self.notes.find(rule, Severity.REVIEW, what, self.span(node))

    def branching(self, node: _Node, name: str) -> None:
        """Review what is shown under a condition on data."""
        if self.deciding:
            self.review(node, "branch", f"{name}: whether or how often it runs depends on data")

    @contextmanager
    def under(self, *conditions: _Node | None, loose: bool = False) -> Iterator[None]:
        """Visit something that runs under conditions, or nobody knows how often."""
        depends = any(
            condition is not None and not self._names.clean(condition) for condition in conditions
        )
        self.deciding += depends or loose
        yield
        self.deciding -= depends or loose

    def judge_unstated(
        self, node: _Node, rules: Sequence[ScriptRule], given: Sequence[_Node]
    ) -> None:
        """A call of which no rule states what it does, unless it gets numbers only."""
        unstated = [rule for rule in rules if rule.known and rule.risks is None]
        open_ = [rule for rule in unstated if rule.action.rank < Action.REVIEW.rank]
        if open_ and not all(map(self.numbers, given)):
            message = f"no rule states what it does with values ({open_[0].name})"
            self.review(node, "call", message)

    def judge_columns(self, node: _Node, place: _Node) -> None:
        """Single values that become a column, and labels that are made of data."""
        if self.picks.spreads(node):
            self.spreads.append(place)
        if self.picks.labels(node):
            self.review(place, "label", "a label derives from data, and safe functions show labels")

    def judge_shown(self, *, shown: bool) -> None:
        """Review what was noted, if any figure is shown, or the frame itself."""
        for node in self.spreads if shown else ():
            message = "a single value is handed to many records; a safe figure could show it"
            self.review(node, "single", message)
        places = [(edit.start, edit.end) for edit in self.notes.edits if edit.rule == "command"]
        for node in self.named:
            start, end = self.span(node)
            if any(first <= start and end <= last for first, last in places):
                message = (
                    "columns are called by values of data, and safe functions show their names"
                )
                self.review(node, "label", message)

    def wrap(self, span: tuple[int, int], text: str, name: str) -> None:
        """Put a safe call in place of an expression."""
        reason = "a safe function runs instead"
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, text, "command", name, Action.WRAPPED, reason)
