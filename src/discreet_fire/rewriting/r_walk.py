"""What each expression of a script prints, calls and hands over: the common walk, and that of R.

In: the tree, and what its expressions tell. Out: edits and findings. A language says what its
calls, values and statements do.
"""

from __future__ import annotations

from discreet.files import texts_of
from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import RMarks, ScriptMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, comment_words, newline_of
from discreet_fire.scripts import Node

#: Without the variable R looks in the root folder, where no script can put a file of that name.
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"


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


class RWalk(ScriptWalk):
    """Visits one script."""

    marks: RMarks

    def __init__(self, marks: RMarks, notes: ProgramNotes, language: Language) -> None:
        #: Bodies of `if` and loops, which are whole expressions.
        self.bodies: set[int] = set()
        super().__init__(marks, notes, language)

    def run(self) -> None:
        """Note all that is to be said and changed."""
        tree = self.marks.tree
        for node in tree.parts:
            self.statement = node
            self.visit(node)
            self._printed(node)
        used = any("fdz_" in edit.after for edit in self.notes.edits)
        if used or any(node.value.startswith("fdz_") for node in self.marks.nodes):
            line = _RUNTIME + newline_of(self.notes.text)
            self.load_safe_functions(tree.parts[0].start, line, "fdz")

    def _refuse(self, node: Node, name: str, message: str, hint: str = "") -> None:
        """Take a whole expression out, or put an error in place of a part of one."""
        self.notes.find("call", Severity.REFUSED, f"{name}: {message}", node.span, hint)
        after = f'stop("{self.wording}")'
        if self._is_whole(node):
            after = "invisible(NULL)"
            if node is self.statement and self.notes.last_on_line(node.end):
                after += f"  # {self.wording}: {comment_words(self.notes.text[slice(*node.span)])}"
        self.notes.replace(node.span, after, "call", name, Action.REFUSED, message)

    def _is_whole(self, node: Node) -> bool:
        return node is self.statement or id(node) in self.bodies

    # ------------------------------------------------------------ what R prints by itself

    def _printed(self, node: Node) -> None:
        if node.kind == "block" and node.parts:
            self._printed(node.parts[-1])
            return
        if node.span in self.notes.spans or self._silent(node):
            return
        safe = self._wrapped(node)
        if safe is not None:
            self._wrap(node, safe)
            return
        message = "R prints the value of this line, which derives from data, or may"
        self.notes.find("printed", Severity.REFUSED, message, node.span, _HINT)
        for at, text in ((node.start, "invisible("), (node.end, ")")):
            self.notes.replace((at, at), text, "printed", "value", Action.REFUSED, message)

    def _silent(self, node: Node) -> bool:
        if node.kind == "if" or self._has(node, "passes"):
            return all(map(self._silent, node.parts[1:]))
        if node.kind == "block" and node.parts:
            return self._silent(node.parts[-1])
        return self._quiet(node) or self.marks.clean(node)

    def _quiet(self, node: Node) -> bool:
        if node.is_assignment or node.kind in ("for", "while", "repeat", "function"):
            return True
        if node.kind == "block":
            return not node.parts or self._quiet(node.parts[-1])
        if node.kind == "if" or self._has(node, "passes"):
            return all(map(self._quiet, node.parts[1:]))
        if node.kind == "index":
            # Assignments of data.table within its brackets print nothing.
            return any(part.value == ":=" for part in node.parts[1:] if part.kind == "binary")
        if node.kind != "call":
            return False
        rules = self.marks.rules(node.parts[0])
        if any(rule.name == "options" for rule in rules):
            # Without a value it shows what the option is.
            return len(node.parts) > 1 and None not in node.names
        acts = bool(rules) and all(rule.role in ("acts", "shows") for rule in rules)
        # What is refused is taken out anyway.
        return acts or any(rule.action is Action.REFUSED for rule in rules)

    def _has(self, node: Node, trait: str) -> bool:
        rules = self.marks.rules(node.parts[0]) if node.kind == "call" else []
        return any(trait in rule.traits for rule in rules)

    def _wrapped(self, node: Node) -> str | None:
        text = self.notes.text
        if self.marks.is_model(node):
            return f"fdz_summary({text[slice(*node.span)]})"
        if node.kind != "call":
            return None
        function = node.parts[0]
        if self._has(node, "around") and not node.value:
            dirty = [part for part in node.parts[1:] if not self.marks.clean(part)]
            return self._wrapped(dirty[0]) if len(dirty) == 1 else None
        rules = self.marks.rules(function)
        safe = {rule.safe for rule in rules}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        return text[node.start : function.start] + safe.pop() + text[function.end : node.end]

    def _wrap(self, node: Node, safe: str) -> None:
        name = safe[safe.rindex("fdz_") :].partition("(")[0]
        self.wrap(node.span, safe, name)

    # ------------------------------------------------------------ all parts of the tree

    def _see_if(self, node: Node) -> None:
        self.bodies |= {id(part) for part in node.parts[0 if node.kind == "repeat" else 1 :]}
        self.see_parts(node)

    _see_for = _see_while = _see_repeat = _see_if

    def _see_binary(self, node: Node) -> None:
        if node.value[0] == "%" and node.value not in self.marks.listed["operators"]:
            self.review(node, "call", f"no rule for the operator {node.value}")
        self.see_parts(node)

    def _see_call(self, node: Node) -> None:
        function, *inputs = node.parts
        own = self.marks.is_own(function)
        rules = [] if own else self.marks.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is not None:
            self._judge(node, inputs, rules, worst)
        elif function.kind not in ("name", "function") and not own:
            self.review(node, "call", "calls a function that no name identifies")
        if function.kind not in ("name", "string") and function.value not in ("::", ":::"):
            self.visit(function)
        for item in inputs:
            self.visit(item)

    def _judge(
        self, node: Node, inputs: list[Node], rules: list[CommandRule], worst: CommandRule
    ) -> None:
        dirty = [item for item in inputs if not self.marks.clean(item)]
        if worst.action is Action.REFUSED:
            self._refuse(node, worst.name, worst.reason)
        elif any(rule.role == "shows" for rule in rules):
            shown = [safe for item in dirty if (safe := self._wrapped(item)) is not None]
            plain = worst.name in ("print", "show", "cat") and self._is_whole(node)
            if dirty and len(shown) == len(dirty) and plain:
                self._wrap(node, shown[0] if len(shown) == 1 else f"{{ {'; '.join(shown)} }}")
            elif dirty:
                self._refuse(node, worst.name, "shows what derives from data, or may", _HINT)
        elif worst.action is Action.REVIEW:
            unknown = f"no rule for {worst.name}; it may show anything"
            self.review(node, "call", worst.reason if worst.known else unknown)
        elif worst.name in ("library", "require"):
            self._package(node, inputs)

    def _package(self, node: Node, inputs: list[Node]) -> None:
        name = inputs[0].value if inputs and inputs[0].kind in ("name", "string") else ""
        if len(inputs) > 1 or not name:
            self.review(node, "call", "the name of the package may derive from data")
        rule = self.marks.policy.rule(f"{name}::*")
        if name and not rule.known and name not in self.marks.listed["packages"]:
            message = f"no rule for the package {name}; what it does is not known"
            self.review(node, "package", message)
        if rule.known and rule.action is Action.REFUSED:
            self.bodies.add(id(node))
            self._refuse(node, name, rule.reason)
