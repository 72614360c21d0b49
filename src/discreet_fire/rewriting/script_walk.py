"""One walk over the statements of a script in R or Python: what is shown, called and handed over.

In: the tree, and what its expressions tell. Out: edits and findings. A language says what its
calls, values and statements do.
"""

from __future__ import annotations

from discreet.files import texts_of
from discreet_fire.catalogue import Action
from discreet_fire.findings import Severity
from discreet_fire.flow import ScriptMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes
from discreet_fire.scripts import Node


class ScriptWalk:
    """Visits one script."""

    def __init__(self, marks: ScriptMarks, notes: ProgramNotes, language: Language) -> None:
        self.marks, self.notes = marks, notes
        self.wording = texts_of("discreet_fire.rewriting", "wording", language)["code"]
        #: The statement that is visited.
        self.statement = marks.tree

    def visit(self, node: Node) -> None:
        """Visit a node as its kind says; in a block each part is a statement."""
        reader = getattr(self, f"_see_{node.kind}", None)
        (reader or self.see_parts)(node)

    def see_parts(self, node: Node) -> None:
        """Visit all parts."""
        for part in node.parts:
            self.visit(part)

    def _see_block(self, node: Node) -> None:
        outer = self.statement
        for part in node.parts:
            self.statement = part
            self.visit(part)
        self.statement = outer

    def _see_string(self, node: Node) -> None:
        if "://" in node.value:
            self.review(node, "address", "an address of the network")

    def review(self, node: Node, rule: str, what: str) -> None:
        """Note what an officer looks at."""
        self.notes.find(rule, Severity.REVIEW, what, node.span)

    def wrap(self, span: tuple[int, int], text: str, name: str) -> None:
        """Put a safe call in place of an expression."""
        reason = "a safe function runs instead"
        self.notes.find("wrapped", Severity.INFO, f"{name}: {reason}", span)
        self.notes.replace(span, text, "command", name, Action.WRAPPED, reason)

    def load_safe_functions(self, start: int, line: str, name: str) -> None:
        """Put the line that loads the safe functions before the first statement."""
        reason = "the safe functions are loaded"
        self.notes.replace((start, start), line, "runtime", name, Action.WRAPPED, reason)
