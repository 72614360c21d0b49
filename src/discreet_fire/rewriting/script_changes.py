"""Changes of a script, by place, and what an officer is told of them.

In: spans in characters, and nodes of a Python tree. Out: `Edit`s that do not overlap, and
`Finding`s.
"""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from discreet_fire.catalogue.script_policy import ScriptRule
from discreet_fire.catalogue.verdicts import Action
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow.engine import Names, SingleValues
from discreet_fire.rewriting.do_files import Edit, Language, Rewriting
from discreet_fire.texts import Lines

#: What is written in place of code that may not run.
_WORDING = {
    "en": "FDZ: not permitted in remote execution",
    "de": "FDZ: in der Datenfernverarbeitung nicht erlaubt",
}


_REST = re.compile(r"[ \t\f]*(?:#|[\r\n]|\Z)")


@dataclass(kw_only=True)
class ScriptNotes:
    """Edits and findings of one text, as they are found.

    Args:
        text: The whole text.
        lines: Where its lines start.
    """

    text: str = field(repr=False)
    lines: Lines
    edits: list[Edit] = field(default_factory=list)
    spans: set[tuple[int, int]] = field(default_factory=set)
    findings: dict[tuple[int, int, str, str], Finding] = field(default_factory=dict)

    def find(
        self, rule: str, severity: Severity, what: str, span: tuple[int, int], hint: str = ""
    ) -> None:
        """Note a finding, once for each place."""
        found = self.lines.finding(rule, severity, what, *span, hint)
        self.findings.setdefault((*span, rule, what), found)

    def give_up_syntax(self, what: str, at: int, hint: str = "") -> None:
        """Note that the text cannot be parsed, in place of all edits."""
        self.edits.clear()
        hint = hint or "correct the script; nothing was written"
        self.find("syntax", Severity.ERROR, what, (at, at), hint)

    def give_up_deep(self) -> None:
        """Note that the text is too much to read, in place of all edits."""
        self.edits.clear()
        what = "the code is nested too deeply to be read"
        self.find("too-deep", Severity.ERROR, what, (0, 0), "write it in smaller parts")

    def last_on_line(self, end: int) -> bool:
        """Whether nothing but blanks or a comment follows on the line."""
        return _REST.match(self.text, end) is not None

    def replace(
        self, span: tuple[int, int], after: str, rule: str, name: str, action: Action, reason: str
    ) -> None:
        """Note an edit."""
        start, end = span
        self.spans.add(span)
        self.edits.append(
            Edit(
                start=start,
                end=end,
                before=self.text[start:end],
                after=after,
                rule=rule,
                command=name,
                action=action,
                reason=reason,
                line=self.lines.place(start)[0],
            )
        )

    def rewriting(self) -> Rewriting:
        """The new text, with the outermost of nested edits; the graver of two in one place."""
        kept: list[Edit] = []
        # An insertion goes before what is replaced in the same place.
        order = sorted(self.edits, key=lambda e: (e.start, e.end > e.start, -e.end, -e.action.rank))
        for edit in order:
            if not kept or edit.start >= kept[-1].end:
                kept.append(edit)
            elif kept[-1].action is Action.WRAPPED and edit.action is Action.REFUSED:
                # A safe call holds its arguments as they were written.
                after = kept[-1].after.replace(edit.before, edit.after) if edit.before else ""
                kept[-1] = kept[-1]._replace(after=after or kept[-1].after)
        parts = []
        at = 0
        for edit in kept:
            parts += [self.text[at : edit.start], edit.after]
            at = edit.end
        parts.append(self.text[at:])
        found = sorted(self.findings.values(), key=lambda f: (f.start, -f.severity.rank, f.rule))
        return Rewriting(text="".join(parts), edits=tuple(kept), findings=tuple(found))


def comment_words(text: str) -> str:
    r"""Code as words of a comment in one line.

    >>> comment_words("print(\n    df)\n")
    'print( df)'
    """
    words = " ".join(text.split())
    return "".join(each if each.isprintable() else "?" for each in words)


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
        #: Of the statement asked for last: the formatted text that each part of it is in.
        self._asked: ast.stmt | None = None
        self._texts: dict[int, ast.AST] = {}

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
            found = [place for place in range(start, end) for _ in self.text[place].encode("utf-8")]
            self._places[line] = [*found, end]
        places = self._places[line]
        return places[column] if column < len(places) else start + column

    def outside_texts(self, node: ast.AST, statement: ast.stmt | None) -> ast.AST:
        """The formatted text a node is in, since places inside are not known; or the node."""
        if statement is None:
            return node
        if statement is not self._asked:
            self._asked, self._texts = statement, {}
            for each in ast.walk(statement):
                if isinstance(each, ast.JoinedStr) and id(each) not in self._texts:
                    self._texts |= {id(part): each for part in ast.walk(each)}
        return self._texts.get(id(node), node)


_Node = TypeVar("_Node")


class ScriptJudge(ABC, Generic[_Node]):
    """Judges one script of any language.

    Args:
        names: What its names stand for.
        picks: What it puts into columns and labels.
        notes: Where edits and findings go.
        language: Of the wording.
    """

    def __init__(
        self,
        names: Names[_Node],
        picks: SingleValues[_Node],
        notes: ScriptNotes,
        language: Language,
    ) -> None:
        self._names, self.picks, self.notes = names, picks, notes
        self.wording = _WORDING[language]
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

    def find_speaking(self, calls: Mapping[str, set[str]], shows: set[str]) -> None:
        """Find the functions that show something, also by others they call."""
        size = -1
        while size != (size := len(shows)):
            shows |= {name for name, inside in calls.items() if inside & shows}
        self.speaking = shows

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
        depends = any(each is not None and not self._names.clean(each) for each in conditions)
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
            what = f"no rule states what it does with values ({open_[0].name})"
            self.review(node, "call", what)

    def judge_columns(self, node: _Node, place: _Node) -> None:
        """Single values that become a column, and labels that are made of data."""
        if self.picks.spreads(node):
            self.spreads.append(place)
        if self.picks.labels(node):
            self.review(place, "label", "a label derives from data, and safe functions show labels")

    def judge_shown(self, *, shown: bool) -> None:
        """Review what was noted, if any figure is shown, or the frame itself."""
        for node in self.spreads if shown else ():
            what = "a single value is handed to many records; a safe figure could show it"
            self.review(node, "single", what)
        places = [(each.start, each.end) for each in self.notes.edits if each.rule == "command"]
        for node in self.named:
            start, end = self.span(node)
            if any(first <= start and end <= last for first, last in places):
                what = "columns are called by values of data, and safe functions show their names"
                self.review(node, "label", what)

    def wrap(self, span: tuple[int, int], text: str, name: str) -> None:
        """Put a safe call in place of an expression."""
        reason = "a safe function runs instead"
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, text, "command", name, Action.WRAPPED, reason)
