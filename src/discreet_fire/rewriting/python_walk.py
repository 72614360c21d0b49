"""What each statement of a Python script calls, shows and hands over, and what stands in its place.

In: the tree, and what its expressions tell. Out: edits: safe calls for what would be shown,
refusals, which take a whole statement out or put an error in place of a part; findings.
"""

from __future__ import annotations

import ast
from collections import Counter

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import PythonMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, comment_words, newline_of
from discreet_fire.rewriting.r_walk import ScriptWalk
from discreet_fire.scripts import Node

_SAFE = "discreet_fire.statistics"
_RUNTIME = "import discreet_fire.scripts.runtime as fdz_safe"
_SHOWN_HINT = "use a safe function (describe, value_counts, crosstab, corr, summary of a model)"


class PythonWalk(ScriptWalk):
    """Visits one script; with `autoshow` a bare expression is shown, as in notebooks."""

    marks: PythonMarks

    def __init__(
        self, marks: PythonMarks, notes: ProgramNotes, language: Language, *, autoshow: bool
    ) -> None:
        #: What is taken out already.
        self.taken: set[tuple[int, int]] = set()
        names = (node for node in marks.nodes if node.kind == "name" and not node.stored)
        self._loads = Counter(node.value for node in names)
        self._simple = {
            node.parts[0].value: node.parts[1]
            for node in marks.nodes
            if node.is_assignment and node.parts[0].kind == "name"
        }
        super().__init__(marks, notes, language)
        self.autoshow = autoshow
        self.functions = 0

    def run(self) -> None:
        """Note all that is to be said and changed."""
        for node in self.marks.nodes:
            named = {*node.names} if node.kind in ("alias", "function") else {node.value}
            if "fdz_safe" in named and node.kind != "string":
                message = "the name fdz_safe belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, message, node.span)
        self.visit(self.marks.tree)
        if any("fdz_safe" in edit.after for edit in self.notes.edits):
            self._insert_import()

    def _insert_import(self) -> None:
        """Load the safe functions behind the docstring and imports from the future."""
        first = self.marks.tree.parts[0]
        for position, first in enumerate(self.marks.tree.parts):
            is_text = first.kind == "shown" and first.parts[0].kind in ("string", "number")
            future = (first.kind, first.value) == ("from", "__future__")
            if not (future or (position == 0 and is_text)):
                break
        decorated = first.kind == "define" and len(first.parts) > 1
        decorated = decorated or (first.kind == "class" and first.names[0] == "@")
        start = first.start
        if decorated:
            line, _ = self.notes.lines.place(first.parts[0].start)
            start = self.notes.lines.starts[line - 1]
        self.load_safe_functions(start, _RUNTIME + newline_of(self.notes.text), "fdz_safe")

    # ------------------------------------------------------------ statements

    def _see_shown(self, node: Node) -> None:
        """A bare expression, which notebooks show."""
        value = node.parts[0]
        self.visit(value)
        if self.marks.clean(value) or self.functions:
            return
        if value.kind == "call" and self._says_nothing(value.parts[0]):
            return
        safe = self.wrapped(value)
        if safe is not None and (self.autoshow or value.kind == "call"):
            self.put_safe(value, f"print({safe})")
        elif self.autoshow:
            message = "a bare expression shows what derives from data"
            self.refuse(node, "shown", "expression", message)
        else:
            message = "a bare expression on data; a notebook would show it"
            self.notes.find("bare", Severity.INFO, message, node.span)

    def _says_nothing(self, function: Node) -> bool:
        rules = self.marks.rules(function)
        quiet = all(rule.role in ("acts", "shows") for rule in rules if rule.known)
        return (
            function.word == "info"
            or self.marks.is_own(function)
            or (bool(rules) and quiet)
            or any(rule.action in (Action.REFUSED, Action.REVIEW) for rule in rules)
        )

    # ------------------------------------------------------------ definitions

    def _see_define(self, node: Node) -> None:
        """The body is read as code that any data may reach."""
        self.functions += 1
        self.see_parts(node)
        self.functions -= 1

    def _see_import(self, node: Node) -> None:
        for one in node.parts:
            self._judge_module(node, one.value)

    def _see_from(self, node: Node) -> None:
        for one in node.parts:
            if one.value == "*":
                message = "a star import hides which names there are"
                self.refuse(node, "import", node.value, message)
            else:
                self._judge_module(node, node.value, one.value)

    def _judge_module(self, node: Node, module: str, name: str = "*") -> None:
        whole = module if name == "*" else f"{module}.{name}"
        rule = self.marks.policy.rule(f"{module}.{name}")
        if module.startswith("discreet") and _SAFE not in (whole, module):
            self.refuse(node, "import", module, "only discreet_fire.statistics may be used")
        elif rule.action is Action.REFUSED and module != "builtins":
            self.refuse(node, "import", whole, rule.reason)
        elif not rule.known and not self._some(module) and not module.startswith("discreet"):
            hint = "submit its source, or add a rule for it"
            message = f"no rule for the module {module}; what it does is not known"
            self.notes.find("import", Severity.REVIEW, message, node.span, hint)

    def _some(self, module: str) -> bool:
        return any(name.startswith(f"{module}.") for name in self.marks.policy.rules)

    # ------------------------------------------------------------ calls

    def _see_call(self, node: Node) -> None:
        """A call: of which functions, and with what."""
        function, *inputs = node.parts
        rules = self.marks.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        own = self.marks.is_own(function)
        if function.kind == "name" and function.value == "getattr":
            message = "takes an attribute whose name cannot be read from the program"
            self.refuse(node, "getattr", "getattr", message)
        if self.marks.is_safe(node):
            self._judge_safe(node)
        elif worst is None and not own:
            self.review(node, "call", "calls a function that no name identifies")
        if worst is not None and not own and not self.marks.is_safe(node):
            self._judge(node, rules, worst)
        if function.is_part:
            self.visit(function.parts[0])
        elif function.kind != "name":
            self.visit(function)
        for value in inputs:
            self.visit(value)

    def _judge_safe(self, node: Node) -> None:
        """Safe functions keep to the rules of the centre."""
        if any(name in ("**", "limits") for name, _ in node.arguments()):
            message = "the rules are those of the centre, and options are written out"
            self.refuse(node, "limits", "limits", message)

    def _judge(self, node: Node, rules: list[CommandRule], worst: CommandRule) -> None:
        inputs = node.parts[1:]
        name = worst.name
        if worst.action is Action.REFUSED:
            self.refuse(node, "call", name, worst.reason)
        elif any(rule.role == "shows" for rule in rules) or (name == ".info" and inputs):
            self._judge_shown(node, inputs, name)
        elif worst.action is Action.REVIEW:
            message = worst.reason if worst.known else f"no rule for {name}; it may show anything"
            self.review(node, "call", f"{name}: {message}" if worst.known else message)
        elif any(rule.safe in ("histogram", "info") for rule in rules):
            safe = self.wrapped(node)
            if safe is None:
                self.refuse(node, "call", name, worst.reason)
            else:
                self.put_safe(node, f"print({safe})")

    def _judge_shown(self, node: Node, inputs: list[Node], name: str) -> None:
        wraps: list[tuple[Node, str]] = []
        for item in inputs:
            if self.marks.clean(item):
                continue
            parts = self.split(item) if name == "builtins.print" else None
            if parts is not None:
                wraps += [(item, parts[0]), *((held, held.value) for held in parts[1])]
                continue
            safe = self.wrapped(item)
            if safe is None:
                message = "shows what derives from data, or may"
                self.refuse(node, "shown", name, message, hint=_SHOWN_HINT)
                return
            wraps.append((item, safe))
        for item, safe in wraps:
            self.put_safe(item, safe)

    # ------------------------------------------------------------ values

    # ------------------------------------------------------------ safe calls

    def wrapped(self, node: Node) -> str | None:
        """The safe call for an expression, as text; for a name, the name itself."""
        if node.kind == "name":
            return node.value if self._held(node) is not None else None
        if node.kind != "call":
            return None
        function, *inputs = node.parts
        full = self.marks.resolved(function)
        if full and all("around" in self.marks.policy.rule(name).traits for name in full):
            # What `round` and `str` are put around.
            plain = bool(inputs) and not any(node.names) and all(map(self.marks.clean, inputs[1:]))
            return self.wrapped(inputs[0]) if plain and inputs[0].kind != "name" else None
        rules = self.marks.rules(function)
        safe = {rule.safe for rule in rules if rule.action is Action.WRAPPED}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        name, text = safe.pop(), self.notes.text
        if node.formatted is not None:  # whose place in a formatted text is not known
            assert isinstance(node.formatted, ast.Call)
            call = node.formatted
            before = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            inner = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
        else:
            inner = text[function.end : node.end].strip()
            before = text[node.start : function.end].removesuffix(function.word).rstrip()
            if not inner.startswith("(") or "#" in inner or "#" in before:
                return None
            before, inner = before.removesuffix(".").rstrip(), inner[1:-1].strip()
        if not full and not function.is_part:
            return None
        which = repr(function.word) if name == "statistic" else ""
        parts = [inner] if full else [before, which, inner]
        return f"fdz_safe.{name}({', '.join(filter(None, parts))})"

    def split(self, node: Node) -> tuple[str, list[Node]] | None:
        """The parts of a formatted text as arguments of `print`, with names whose values change.

        None if a part of it has no safe form.
        """
        if node.kind != "format":
            return None
        parts: list[str] = []
        held: list[Node] = []
        for value in node.parts:
            inner = value.parts[0] if value.kind == "formatted" else None
            if inner is None or self.marks.clean(value):
                parts.append(ast.unparse(ast.JoinedStr(values=[value.formatted])))  # type: ignore[list-item]
            elif (safe := self.wrapped(inner)) is not None:
                parts.append(safe)
                held += [inner] if inner.kind == "name" else []
            else:
                return None
        return ", ".join(parts), held

    def _held(self, node: Node) -> Node | None:
        """What a name holds, if it is bound once and used nowhere but here."""
        value = self._simple.get(node.value)
        once = len(self.marks.values.get(node.value, ())) == 1 and self._loads[node.value] == 1
        if value is None or not once or value.kind == "name":
            return None
        return value if self.wrapped(value) is not None else None

    def put_safe(self, node: Node, text: str) -> None:
        """Note the edit that puts a safe call in place of an expression."""
        if node.kind == "name":
            held = self._held(node)
            assert held is not None
            node, text = held, self.wrapped(held) or ""
        name = text.partition("fdz_safe.")[2].partition("(")[0]
        self.wrap(node.span, text, name)

    # ------------------------------------------------------------ what is noted

    def refuse(self, node: Node, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.notes.find(rule, Severity.REFUSED, f"{name}: {what}", node.span, hint)
        whole = self.statement.kind in ("shown", "import", "from", "delete")
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole = whole or node is self.statement or node.stored
        span = self.statement.span if whole else node.span
        if span in self.taken:
            return
        self.taken.add(span)
        after = f"fdz_safe.refused({name!r})"
        if whole:
            after = "pass"
            if self.notes.last_on_line(span[1]):
                after = f"pass  # {self.wording}: {comment_words(self.notes.text[slice(*span)])}"
        self.notes.replace(span, after, rule, name, Action.REFUSED, what)
