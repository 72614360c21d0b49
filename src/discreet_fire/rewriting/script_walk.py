"""One walk over the statements of a script in R or Python: what is shown, called and handed over.

In: the tree, and the marks of its names. Out: edits and findings, among them reviews where it
depends on data whether something is shown, and how often, and where single values are handed to
many records. A language says what its calls, values and statements do.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from discreet.files import texts_of
from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import SINGLE, ScriptMarks, grown
from discreet_fire.rewriting.changes import Language, ProgramNotes
from discreet_fire.scripts import Node

_WORD = re.compile(r"\w+")


class ScriptWalk(ABC):
    """Visits one script."""

    def __init__(self, marks: ScriptMarks, notes: ProgramNotes, language: Language) -> None:
        self.marks, self.notes = marks, notes
        self.wording = texts_of("discreet_fire.rewriting", "wording", language)["code"]
        #: How many conditions around a place depend on data.
        self.deciding = 0
        #: Where single values are handed to many records; frames named by values.
        self.spreads: list[Node] = []
        self.named: list[Node] = []
        #: The statement that is visited.
        self.statement = marks.tree
        #: Functions of the script that show something, also by others they call.
        self.speaking: set[str] = set()
        calls: dict[str, set[str]] = {}
        for name, words, shows in self._own_functions():
            calls.setdefault(name, set()).update(words)
            self.speaking |= {name} if shows else set()
        units = (([name], words) for name, words in calls.items())
        grown(self.speaking, units, lambda words: not self.speaking.isdisjoint(words))

    @abstractmethod
    def _own_functions(self) -> Iterator[tuple[str, Iterable[str], bool]]:
        """Functions of the script, the words of what they call, and whether that shows."""

    # ------------------------------------------------------------ the walk

    def visit(self, node: Node) -> None:
        """Visit a node as its kind says; in a block each part is a statement."""
        reader = getattr(self, f"_see_{node.kind}", None)
        (reader or self.see_parts)(node)

    def see_parts(self, node: Node, *, loose: bool = False) -> None:
        """Visit all parts, each under the conditions that it runs under."""
        jumps = self.marks.jumps.get(id(node), ())
        conditions, free = node.conditions(self.marks.decides(node))
        for part in node.parts:
            under = () if any(part is one for one in free) else conditions
            with self.under(*jumps, *under, loose=loose):
                self.visit(part)

    def _see_block(self, node: Node) -> None:
        outer = self.statement
        for part in node.parts:
            self.statement = part
            self.visit(part)
        self.statement = outer

    @contextmanager
    def under(self, *conditions: Node, loose: bool = False) -> Iterator[None]:
        """Visit something that runs under conditions, or nobody knows how often."""
        depends = loose or not all(map(self.marks.clean, conditions))
        self.deciding += depends
        yield
        self.deciding -= depends

    # ------------------------------------------------------------ what is noted

    def review(self, node: Node, rule: str, what: str) -> None:
        """Note what an officer looks at."""
        self.notes.find(rule, Severity.REVIEW, what, node.span)

    def branching(self, node: Node, name: str) -> None:
        """Review what is shown under a condition on data."""
        if self.deciding:
            self.review(node, "branch", f"{name}: whether or how often it runs depends on data")

    def judge_unstated(
        self, node: Node, rules: Sequence[CommandRule], inputs: Sequence[Node]
    ) -> None:
        """A call of which no rule states what it does, unless it gets numbers only."""
        unstated = [rule for rule in rules if rule.known and rule.risks is None]
        open_ = [rule for rule in unstated if rule.action.rank < Action.REVIEW.rank]
        if open_ and not all(map(_is_number, inputs)):
            message = f"no rule states what it does with values ({open_[0].name})"
            self.review(node, "call", message)

    def judge_columns(self, node: Node, place: Node) -> None:
        """Single values that become a column, and labels that are made of data."""
        if self.marks.spreads(node):
            self.spreads.append(place)
        if self.marks.labels(node):
            self.review(place, "label", "a label derives from data, and safe functions show labels")

    def note_shown(self, place: Node, shown: Iterable[Node]) -> None:
        """Note where a safe form is given single values."""
        if any(self.marks.has(one, SINGLE) for one in shown):
            self.spreads.append(place)

    def judge_shown(self, *, shown: bool) -> None:
        """Review what was noted, if any figure is shown, or the frame itself.

        What is picked elsewhere is told of where its name is first handed on, and not again.
        """
        reported: set[str] = set()
        moot = self.notes.taken_out()
        picked = self.marks.names_with(SINGLE)
        for node in self.spreads if shown else ():
            if moot(node.span):
                continue
            names = set(_WORD.findall(self.notes.text[slice(*node.span)])) & picked
            if not names or not names <= reported:
                message = "a single value is handed to many records; a safe figure could show it"
                self.review(node, "single", message)
            reported |= names
        places = [(edit.start, edit.end) for edit in self.notes.edits if edit.rule == "command"]
        for node in self.named:
            if any(first <= node.start and node.end <= last for first, last in places):
                message = (
                    "columns are called by values of data, and safe functions show their names"
                )
                self.review(node, "label", message)

    def wrap(self, span: tuple[int, int], text: str, name: str) -> None:
        """Put a safe call in place of an expression."""
        reason = "a safe function runs instead"
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, text, "command", name, Action.WRAPPED, reason)

    def load_safe_functions(self, start: int, line: str, name: str) -> None:
        """Put the line that loads the safe functions before the first statement."""
        reason = "the safe functions are loaded"
        self.notes.replace((start, start), line, "runtime", name, Action.WRAPPED, reason)


def _is_number(node: Node) -> bool:
    plain = ("number", "unary", "binary", "paren", "holder")
    return all(item.kind in plain for item in node.walk())
