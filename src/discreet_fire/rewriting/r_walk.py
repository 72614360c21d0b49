"""What each expression of an R script prints, calls and hands over.

In: the tree, and the marks of its names. Out: edits and findings; code in texts, functions given by
name and single values are looked at within calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import TURNED, RMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, comment_words, newline_of
from discreet_fire.rewriting.script_walk import ScriptWalk
from discreet_fire.scripts import (
    Node,
    RSyntaxError,
    parse_r,
)

_NAMED = ("FUN", "f", ".f", "fn", ".fns")
#: Without the variable R looks in the root folder, where no script can put a file of that name.
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"
_UNREAD = "code in a text that cannot be read from the program"
_LIKE_CODE = re.compile(r"[(~]")
_MOST_NAMES = 4


class RWalk(ScriptWalk):
    """Visits one script."""

    marks: RMarks

    def __init__(self, marks: RMarks, notes: ProgramNotes, language: Language) -> None:
        #: Bodies of `if` and loops, which are whole expressions.
        self.bodies: set[int] = set()
        super().__init__(marks, notes, language)

    def _own_functions(self) -> Iterator[tuple[str, Iterable[str], bool]]:
        rule = self.marks.policy.rule
        for name, value, _ in self.marks.bindings:
            if value is None or value.kind != "function":
                continue
            functions = [node.parts[0] for node in value.walk() if node.kind == "call"]
            called = {one.value for one in functions}.union(*map(self.marks.called, functions))
            if "UseMethod" in called:
                texts = {node.value for node in value.walk() if node.kind == "string"}
                starts = tuple(f"{item}." for item in {name, *texts})
                called |= {one for one in self.marks.functions if one.startswith(starts)}
            yield name, called, any(rule(item).role == "shows" for item in called)

    def run(self) -> None:
        """Note all that is to be said and changed."""
        tree = self.marks.tree
        self._judge_names()
        for node in tree.parts:
            self.statement = node
            self.visit(node)
            self._printed(node)
        used = any("fdz_" in edit.after for edit in self.notes.edits)
        self.judge_shown(shown=used)
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

    # ------------------------------------------------------------ names

    def _judge_names(self) -> None:
        """Names that must keep their meaning, and functions that run without being called."""
        for name in sorted(self.marks.bound):
            message = ""
            if name.startswith(("fdz_", ".fdz")):
                message = f"the name {name} belongs to the safe functions"
            elif name in self.marks.listed["syntax"]:
                message = f"the name {name} belongs to R itself, and to what is written in here"
            if message:
                place = next(node for node in self.marks.nodes if _binds(node, name))
                span = (place.start, place.start)
                self.notes.find("own-name", Severity.ERROR, message, span, "choose another name")
        for node in self.marks.nodes:
            if node.kind == "name" and node.value.startswith(".fdz"):
                message = f"the name {node.value} belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, message, node.span)
            if node.is_assignment and (name := node.sides[0].value) in self.marks.own_methods:
                self.review(node, "special", f"{name} runs without being called")

    # ------------------------------------------------------------ what R prints by itself

    def _printed(self, node: Node) -> None:
        if node.kind == "block" and node.parts:
            self._printed(node.parts[-1])
            return
        if node.kind == "if" and not self.marks.clean(node.parts[0]) and not self._quiet(node):
            self.review(node, "branch", "which value R prints depends on data")
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
        return node.kind == "call" and self.marks.has_trait(node.parts[0], trait)

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
        if any(self.marks.has(part, TURNED) for part in node.parts or [node]):
            self.named.append(node)
        name = safe[safe.rindex("fdz_") :].partition("(")[0]
        self.wrap(node.span, safe, name)

    # ------------------------------------------------------------ all parts of the tree

    def _see_string(self, node: Node) -> None:
        if "://" in node.value:
            self.review(node, "address", "an address of the network")

    def _see_name(self, node: Node) -> None:
        shows = "hands over a function that shows"
        if node.kind == "name":
            if node.value in self.speaking and not self._is_whole(node):
                self.review(node, "value", shows)
            if node.value in self.marks.bound and node.value not in self.marks.aliases:
                return
        for rule in self.marks.rules(node):
            refused = rule.action is Action.REFUSED
            if refused or (rule.known and rule.role == "shows"):
                self._refuse(node, rule.name, rule.reason if refused else shows)

    def _see_function(self, node: Node) -> None:
        """A default runs where the function first uses it, if it does."""
        with self.under(*self.marks.jumps.get(id(node), ())):
            for part in node.parts:
                with self.under(loose=part is not node.parts[-1]):
                    self.visit(part)

    def _see_if(self, node: Node) -> None:
        """What runs only under a condition tells that it holds."""
        self.bodies |= {id(part) for part in node.parts[0 if node.kind == "repeat" else 1 :]}
        self.see_parts(node)

    _see_for = _see_while = _see_repeat = _see_if

    def _see_index(self, node: Node) -> None:
        """Names in brackets and after signs are data, not functions."""
        for part in node.parts:
            if part.kind != "name":
                self.visit(part)

    _see_unary = _see_index

    def _see_binary(self, node: Node) -> None:
        left, right = node.parts
        if node.is_part:
            self.visit(left)
            if right.kind not in ("name", "string"):
                self.visit(right)
        elif node.value in ("::", ":::"):
            self._see_name(node)
        elif node.is_assignment:
            self._assignment(node)
        else:
            if node.value[0] == "%" and node.value not in self.marks.listed["operators"]:
                self.review(node, "call", f"no rule for the operator {node.value}")
            # Names in formulas, sums and comparisons are columns, not functions.
            conditions, _ = node.conditions()
            for part in node.parts:
                if part.kind != "name":
                    with self.under(*(() if part is left else conditions)):
                        self.visit(part)

    def _assignment(self, node: Node) -> None:
        target, value = node.sides
        simple = target.kind in ("name", "string")
        known = self.marks.policy.rule(target.value).known
        is_function = value.kind == "function" or any(r.known for r in self.marks.rules(value))
        if simple and known and is_function:
            self.review(target, "own-name", f"gives {target.value} a meaning of its own")
        if not simple:
            self.visit(target)
            fits = self.marks.values.get(target.root, [])
            if any(fit is not None and self._has(fit, "model") for fit in fits):
                self.review(node, "model", "changes a fitted model, which is shown as if fitted")
        self.judge_columns(node, node)
        # A function that is only given another name is followed.
        if not (simple and value.kind in ("name", "binary") and self.marks.called(value)):
            self.visit(value)

    def _see_call(self, node: Node) -> None:
        function, *inputs = node.parts
        own = self.marks.is_own(function)
        rules = [] if own else self.marks.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is not None:
            self._judge(node, inputs, rules, worst)
            self.judge_unstated(node, rules, inputs)
        elif function.kind not in ("name", "function") and not own:
            self.review(node, "call", "calls a function that no name identifies")
        self._judge_given(node, rules)
        if own and function.value in self.speaking:
            self.branching(node, function.value)
        if function.kind not in ("name", "string") and function.value not in ("::", ":::"):
            self.visit(function)
        named = self.marks.rules(function)
        runs_others = not named or any(not one.known or one.runs is not None for one in named)
        conditions, free = node.conditions(self.marks.decides(node))
        for item in inputs:
            if item.kind == "string" and runs_others and len(inputs) > 1:
                # The name of a function as a text: ``sapply(x, "print")``.
                rule = self.marks.policy.rule(item.value)
                if rule.action is Action.REFUSED or rule.role == "shows":
                    message = f"a text that is the name of a function: {item.value}"
                    self.review(node, "text", message)
            # How often a function that is handed over runs is not known, nor whether one of this
            # script uses its arguments: they run where it first does.
            loose = own or item.kind == "function" or (item.kind, item.value) == ("unary", "~")
            under = () if any(item is one for one in free) else conditions
            with self.under(*under, loose=loose):
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
                return
            self.branching(node, worst.name)
        elif worst.action is Action.REVIEW:
            unknown = f"no rule for {worst.name}; it may show anything"
            self.review(node, "call", worst.reason if worst.known else unknown)
        elif worst.name in ("library", "require"):
            self._package(node, inputs)
        elif worst.name in ("UseMethod", "NextMethod") and inputs and inputs[0].kind == "string":
            rule = self.marks.policy.rule(inputs[0].value)
            own = any(name.startswith(f"{rule.name}.") for name in self.marks.functions)
            if rule.action is Action.REFUSED or rule.role == "shows":
                self._refuse(node, rule.name, "hands its arguments to a function that shows")
            elif not rule.known and not own:
                self.review(node, "call", f"hands its arguments to {rule.name}; no rule for it")
        elif worst.name == "options" and dirty:
            self.review(node, "call", "options: a setting derives from data, or may")
        elif dirty and "reads" in (worst.risks or ()):
            message = f"{worst.name}: the place it reads derives from data, or may"
            self.review(node, "place", message)

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

    # ------------------------------------------------------------ what is handed over

    def _judge_given(self, node: Node, rules: list[CommandRule]) -> None:
        """Functions that a call runs, and code that it takes as a text."""
        pairs = [*node.arguments()]
        free = [value for name, value in pairs if name is None]
        for rule in rules:
            if rule.runs is not None:
                named = [value for name, value in pairs if name in _NAMED]
                for item in named or free[rule.runs : rule.runs + 1]:
                    self._judge_running(node, item)
        if any("code" in (rule.risks or ()) for rule in rules):
            chosen = [value for name, value in pairs if name in ("formula", "object", "x")]
            # A pipe may put something else first; what looks like code is judged anywhere.
            piped = 2 if node.value else 1
            chosen += free[:piped]
            chosen += [item for item in free[piped:] if _LIKE_CODE.search(item.value)]
            for item in chosen:
                self._judge_formula(item, node)
        if any(rule.action is Action.WRAPPED for rule in rules):
            self.note_shown(node, node.parts[1:])
        self.judge_columns(node, node)

    def _judge_running(self, node: Node, item: Node) -> None:
        """The function that a call runs can be read."""
        rule = self.marks.policy.rule(item.value)
        text = item.kind == "string" and item.value not in self.marks.functions
        if text and (rule.action is Action.REFUSED or rule.role == "shows"):
            self._refuse(node, rule.name, rule.reason)
        elif not self._readable(item):
            self.review(node, "text", "which function runs cannot be read from the program")

    def _readable(self, node: Node) -> bool:
        """Whether an expression is a function that is judged where it stands."""
        marks = self.marks
        known = marks.policy.rule(node.value).known or node.value in marks.listed["syntax"]
        if node.kind == "string":
            return known or node.value in marks.functions
        if node.kind == "name":
            if node.value in marks.functions or marks.aliases.get(node.value):
                return True
            return node.value not in marks.bound and (known or node.value[:1] == "%")
        if node.kind in ("binary", "unary"):
            return node.value in ("::", ":::", "~")
        if node.kind == "paren":
            return self._readable(node.parts[0])
        return node.kind == "function" or self._has(node, "makes")

    # ------------------------------------------------------------ code in texts

    def _judge_formula(self, node: Node, place: Node) -> None:
        text = self._has(node, "text")
        if node.kind in ("name", "call", "paren", "if", "index") and not self.marks.clean(node):
            if text and not self.marks.does(node.parts[0], "code"):
                self.review(place, "text", _UNREAD)
        elif node.kind == "string":
            self._judge_text(node.value, place)
        elif text and any("(" in item for item in self._texts(node)):
            self.review(place, "text", _UNREAD)
        elif node.kind == "name":
            for value in self.marks.values.get(node.value, []):
                if value is not None and value.kind in ("string", "call"):
                    self._judge_formula(value, place)

    def _texts(self, node: Node, depth: int = 0) -> Iterator[str]:
        for item in node.walk():
            if item.kind == "string":
                yield item.value
            elif item.kind == "name" and depth < _MOST_NAMES:
                for value in self.marks.values.get(item.value, []):
                    yield from self._texts(value, depth + 1) if value is not None else ()

    def _judge_text(self, text: str, place: Node) -> None:
        try:
            tree = parse_r(text)
        except RSyntaxError:
            self.review(place, "text", "code in a text that cannot be read")
            return
        for item in (node for top in tree for node in top.walk() if node.kind == "call"):
            rules = self.marks.rules(item.parts[0])
            worst = max(rules, key=lambda rule: rule.action.rank, default=None)
            if worst and "term" in worst.traits and worst.name not in self.marks.bound:
                continue
            if worst is None or worst.action is Action.REVIEW:
                self.review(place, "text", "code in a text calls what no rule names")
            elif worst.action is Action.REFUSED or worst.role == "shows":
                self._refuse(place, worst.name, worst.reason)


def _binds(node: Node, name: str) -> bool:
    if node.is_assignment:
        return any(item.value == name for item in node.sides[0].walk())
    return node.value == name or name in node.names
