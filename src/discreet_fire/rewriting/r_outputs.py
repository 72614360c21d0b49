"""What each expression of an R script prints, calls and hands over.

In: the tree and what its names stand for. Out: edits and findings; code in texts, functions
given by name and single values are looked at within calls.
"""

from __future__ import annotations

import re

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import (
    RNames,
    RPicks,
    arguments,
    is_assignment,
    root_of,
    sides,
)
from discreet_fire.rewriting.changes import (
    Language,
    ProgramNotes,
    ScriptJudge,
    comment_words,
    newline_of,
)
from discreet_fire.scripts import RNode, RSyntaxError, parse_r

#: Where a call stands: in an expression, as the body of `if`, or as a statement.
PART, BODY, WHOLE = 0, 1, 2
_NAMED = ("FUN", "f", ".f", "fn", ".fns")
#: Without the variable R looks in the root folder, where no script can put a file of that name.
_RUNTIME = 'source(file.path(Sys.getenv("DISCREET_R"), "discreet_safe.R"))'
_HINT = "use summary, table, mean, sd, cor or quantile, which have safe forms"
_CONTROL = ("if", "while", "for", "repeat")
_UNREAD = "code in a text that cannot be read from the program"


class RWalker(ScriptJudge[RNode]):
    """Visits one script."""

    def __init__(self, names: RNames, notes: ProgramNotes, language: Language) -> None:
        super().__init__(names, RPicks(names), notes, language)
        self.names = names
        inside = []
        for name, value in names.bindings:
            if value is not None and value.kind == "function":
                functions = [node.parts[0] for node in value.walk() if node.kind == "call"]
                called = {function.value for function in functions}.union(
                    *map(names.called, functions)
                )
                if "UseMethod" in called:
                    called |= self._methods(name, value)
                shows = any(names.policy.rule(item).role == "shows" for item in called)
                inside.append((name, called, shows))
        self.find_speaking(inside)

    def _methods(self, name: str, generic: RNode) -> set[str]:
        texts = {node.value for node in generic.walk() if node.kind == "string"}
        starts = tuple(f"{item}." for item in {name, *texts})
        return {function for function in self.names.functions if function.startswith(starts)}

    def span(self, node: RNode) -> tuple[int, int]:
        """Where a node starts and ends in the text."""
        return node.start, node.end

    def numbers(self, node: RNode) -> bool:
        """Whether an expression is made of numbers only."""
        return all(item.kind in ("number", "unary", "binary", "paren") for item in node.walk())

    def run(self, tree: list[RNode]) -> None:
        """Note all that is to be said and changed."""
        self._judge_names(tree)
        for node in tree:
            self._visit(node, WHOLE)
            self._printed(node)
        used = any("fdz_" in edit.after for edit in self.notes.edits)
        self.judge_shown(shown=used)
        if tree and (used or any(n.value.startswith("fdz_") for top in tree for n in top.walk())):
            start = tree[0].start
            line = _RUNTIME + newline_of(self.notes.text)
            reason = "the safe functions are loaded"
            self.notes.replace((start, start), line, "runtime", "fdz", Action.WRAPPED, reason)

    def _refuse(self, node: RNode, name: str, message: str, statement: int, hint: str = "") -> None:
        """Take a whole expression out, or put an error in place of a part of one."""
        span = (node.start, node.end)
        self.notes.find("call", Severity.REFUSED, f"{name}: {message}", span, hint)
        after = f'stop("{self.wording}")'
        if statement:
            after = "invisible(NULL)"
            if statement == WHOLE and self.notes.last_on_line(node.end):
                after += f"  # {self.wording}: {comment_words(self.notes.text[slice(*span)])}"
        self.notes.replace(span, after, "call", name, Action.REFUSED, message)

    # ------------------------------------------------------------ names

    def _judge_names(self, tree: list[RNode]) -> None:
        """Names that must keep their meaning, and functions that run without being called."""
        for name in sorted(self.names.bound):
            message = ""
            if name.startswith(("fdz_", ".fdz")):
                message = f"the name {name} belongs to the safe functions"
            elif name in self.names.listed["syntax"]:
                message = f"the name {name} belongs to R itself, and to what is written in here"
            if message:
                place = next(node for top in tree for node in top.walk() if _binds(node, name))
                span = (place.start, place.start)
                self.notes.find("own-name", Severity.ERROR, message, span, "choose another name")
        for node in (item for top in tree for item in top.walk()):
            if node.kind == "name" and node.value.startswith(".fdz"):
                message = f"the name {node.value} belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, message, (node.start, node.end))
            if is_assignment(node) and (name := sides(node)[0].value) in self.names.own_methods:
                self.review(node, "special", f"{name} runs without being called")

    # ------------------------------------------------------------ what R prints by itself

    def _printed(self, node: RNode) -> None:
        if node.kind == "block" and node.parts:
            self._printed(node.parts[-1])
            return
        if node.kind == "if" and not self.names.clean(node.parts[0]) and not self._quiet(node):
            self.review(node, "branch", "which value R prints depends on data")
        if (node.start, node.end) in self.notes.spans or self._silent(node):
            return
        safe = self._wrapped(node)
        if safe is not None:
            self._wrap(node, safe)
            return
        message = "R prints the value of this line, which derives from data, or may"
        self.notes.find("printed", Severity.REFUSED, message, (node.start, node.end), _HINT)
        for at, text in ((node.start, "invisible("), (node.end, ")")):
            self.notes.replace((at, at), text, "printed", "value", Action.REFUSED, message)

    def _silent(self, node: RNode) -> bool:
        if node.kind == "if" or self._passes(node):
            return all(self._silent(part) for part in node.parts[1:])
        if node.kind == "block" and node.parts:
            return self._silent(node.parts[-1])
        return self._quiet(node) or self.names.clean(node)

    def _quiet(self, node: RNode) -> bool:
        if is_assignment(node) or node.kind in ("for", "while", "repeat", "function"):
            return True
        if node.kind == "block":
            return not node.parts or self._quiet(node.parts[-1])
        if node.kind == "if" or self._passes(node):
            return all(self._quiet(part) for part in node.parts[1:])
        if node.kind == "index":
            # Assignments of data.table within its brackets print nothing.
            return any(part.value == ":=" for part in node.parts[1:] if part.kind == "binary")
        if node.kind != "call":
            return False
        rules = self.names.rules(node.parts[0])
        if any(rule.name == "options" for rule in rules):
            # Without a value it shows what the option is.
            return len(node.parts) > 1 and None not in node.names
        acts = bool(rules) and all(rule.role in ("acts", "shows") for rule in rules)
        # What is refused is taken out anyway.
        return acts or any(rule.action is Action.REFUSED for rule in rules)

    def _passes(self, node: RNode) -> bool:
        return node.kind == "call" and self.names.has(node.parts[0], "passes")

    def _wrapped(self, node: RNode) -> str | None:
        text = self.notes.text
        if self.names.is_model(node):
            return f"fdz_summary({text[node.start : node.end]})"
        call = node
        if node.kind == "binary" and node.value in ("|>", "%>%"):
            call = node.parts[1]
        if call.kind != "call":
            return None
        function = call.parts[0]
        if node is call and self.names.has(function, "around"):
            dirty = [part for part in call.parts[1:] if not self.names.clean(part)]
            return self._wrapped(dirty[0]) if len(dirty) == 1 else None
        rules = self.names.rules(function)
        safe = {rule.safe for rule in rules}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        return text[node.start : function.start] + safe.pop() + text[function.end : node.end]

    def _wrap(self, node: RNode, safe: str) -> None:
        if any(map(self.picks.turns, node.parts if node.kind != "name" else [node])):
            self.named.append(node)
        name = safe[safe.rindex("fdz_") :].partition("(")[0]
        self.wrap((node.start, node.end), safe, name)

    # ------------------------------------------------------------ all parts of the tree

    def _visit(self, node: RNode, statement: int = PART) -> None:
        if node.kind == "call":
            self._call(node, statement)
        elif node.kind == "name":
            self._value(node, statement)
        elif node.kind == "string":
            if "://" in node.value:
                self.review(node, "address", "an address of the network")
        elif node.kind == "block":
            for part in node.parts:
                self._visit(part, WHOLE)
        elif node.kind in _CONTROL:
            self._control(node)
        elif node.kind == "binary":
            self._binary(node, statement)
        else:
            with self.under(*self.names.flows.jumps.get(id(node), ())):
                for part in node.parts:
                    # A default runs where a function first uses it, if it does.
                    default = node.kind == "function" and part is not node.parts[-1]
                    if part.kind != "name" or node.kind not in ("unary", "index"):
                        with self.under(loose=default):
                            self._visit(part)

    def _control(self, node: RNode) -> None:
        """What runs only under a condition tells that it holds."""
        first = () if node.kind == "repeat" else (node.parts[0],)
        for item in first:
            self._visit(item)
        with self.under(*first, *self.names.flows.jumps.get(id(node), ())):
            for item in node.parts[len(first) :]:
                self._visit(item, BODY)

    def _binary(self, node: RNode, statement: int) -> None:
        left, right = node.parts
        plain = right.kind in ("name", "string")
        if node.value in ("$", "@"):
            self._visit(left)
            if not plain:
                self._visit(right)
        elif node.value in ("::", ":::"):
            self._value(node, statement)
        elif is_assignment(node):
            self._assignment(node)
        elif node.value in ("|>", "%>%", "%T>%", "%$%", "%<>%"):
            with self.under(loose=right.kind == "call" and self.names.is_own(right.parts[0])):
                self._visit(left)
            if right.kind == "call":
                self._call(right, statement, piped=left, whole=node)
                return
            self._value(right, statement, whole=node)
            if not plain:
                self._visit(right)
        else:
            if node.value[0] == "%" and node.value not in self.names.listed["operators"]:
                self.review(node, "call", f"no rule for the operator {node.value}")
            # Names in formulas, sums and comparisons are columns, not functions.
            for each, conditions in self.names.flows.parts(node):
                if each.kind != "name":
                    with self.under(*conditions):
                        self._visit(each)

    def _assignment(self, node: RNode) -> None:
        target, value = sides(node)
        simple = target.kind in ("name", "string")
        known = self.names.policy.rule(target.value).known
        is_function = value.kind == "function" or any(r.known for r in self.names.rules(value))
        if simple and known and is_function:
            self.review(target, "own-name", f"gives {target.value} a meaning of its own")
        if not simple:
            self._visit(target)
            if any(
                fit is not None and fit.kind == "call" and self.names.has(fit.parts[0], "model")
                for fit in self.names.values.get(root_of(target), [])
            ):
                self.review(node, "model", "changes a fitted model, which is shown as if fitted")
        self.judge_columns(node, node)
        # A function that is only given another name is followed.
        if not (simple and value.kind in ("name", "binary") and self.names.called(value)):
            self._visit(value)

    def _value(self, node: RNode, statement: int = PART, whole: RNode | None = None) -> None:
        shows = "hands over a function that shows"
        if node.kind == "name":
            if node.value in self.speaking and not statement:
                self.review(whole or node, "value", shows)
            if node.value in self.names.bound and node.value not in self.names.aliases:
                return
        for rule in self.names.rules(node):
            refused = rule.action is Action.REFUSED
            if refused or (rule.known and rule.role == "shows"):
                self._refuse(whole or node, rule.name, rule.reason if refused else shows, statement)

    def _call(
        self,
        node: RNode,
        statement: int = PART,
        *,
        piped: RNode | None = None,
        whole: RNode | None = None,
    ) -> None:
        function = node.parts[0]
        place = whole or node
        nodes = [*node.parts[1:], *([piped] if piped is not None else [])]
        own = self.names.is_own(function)
        rules = [] if own else self.names.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is not None:
            self._judge(place, nodes, rules, worst, statement)
            self.judge_unstated(place, rules, nodes)
        elif function.kind not in ("name", "function") and not own:
            self.review(place, "call", "calls what no name tells")
        self._judge_given(node, place, piped, rules, statement)
        if own and function.value in self.speaking:
            self.branching(place, function.value)
        if function.kind not in ("name", "string") and function.value not in ("::", ":::"):
            self._visit(function)
        named = self.names.rules(function)
        runs_others = not named or any(not one.known or one.runs is not None for one in named)
        for argument, conditions in list(self.names.flows.parts(node))[1:]:
            if argument.kind == "string" and runs_others and len(nodes) > 1:
                # The name of a function as a text: ``sapply(x, "print")``.
                rule = self.names.policy.rule(argument.value)
                if rule.action is Action.REFUSED or rule.role == "shows":
                    message = f"a text that is the name of a function: {argument.value}"
                    self.review(place, "text", message)
            # How often a function that is handed over runs is not known, nor whether one of this
            # script uses its arguments: they run where it first does.
            loose = (
                own
                or argument.kind == "function"
                or (argument.kind == "unary" and argument.value == "~")
            )
            with self.under(*conditions, loose=loose):
                self._visit(argument)

    def _judge(
        self,
        node: RNode,
        given: list[RNode],
        rules: list[CommandRule],
        worst: CommandRule,
        statement: int,
    ) -> None:
        dirty = [item for item in given if not self.names.clean(item)]
        if worst.action is Action.REFUSED:
            self._refuse(node, worst.name, worst.reason, statement)
        elif any(rule.role == "shows" for rule in rules):
            shown = [safe for item in dirty if (safe := self._wrapped(item)) is not None]
            plain = worst.name in ("print", "show", "cat") and bool(statement)
            if dirty and len(shown) == len(dirty) and plain:
                self._wrap(node, shown[0] if len(shown) == 1 else f"{{ {'; '.join(shown)} }}")
            elif dirty:
                message = "shows what derives from data, or may"
                self._refuse(node, worst.name, message, statement, hint=_HINT)
                return
            self.branching(node, worst.name)
        elif worst.action is Action.REVIEW:
            unknown = f"no rule for {worst.name}; it may show anything"
            self.review(node, "call", worst.reason if worst.known else unknown)
        elif worst.name in ("library", "require"):
            self._package(node, given)
        elif worst.name in ("UseMethod", "NextMethod") and given and given[0].kind == "string":
            rule = self.names.policy.rule(given[0].value)
            own = any(function.startswith(f"{rule.name}.") for function in self.names.functions)
            if rule.action is Action.REFUSED or rule.role == "shows":
                message = "hands its arguments to a function that shows"
                self._refuse(node, rule.name, message, statement)
            elif not rule.known and not own:
                self.review(node, "call", f"hands its arguments to {rule.name}; no rule for it")
        elif worst.name == "options" and dirty:
            self.review(node, "call", "options: a setting derives from data, or may")
        elif dirty and "reads" in (worst.risks or ()):
            message = f"{worst.name}: the place it reads derives from data, or may"
            self.review(node, "place", message)

    def _package(self, node: RNode, given: list[RNode]) -> None:
        name = given[0].value if given and given[0].kind in ("name", "string") else ""
        if len(given) > 1 or not name:
            self.review(node, "call", "the name of the package may derive from data")
        rule = self.names.policy.rule(f"{name}::*")
        if name and not rule.known and name not in self.names.listed["packages"]:
            message = f"no rule for the package {name}; what it does is not known"
            self.review(node, "package", message)
        if rule.known and rule.action is Action.REFUSED:
            self._refuse(node, name, rule.reason, BODY)

    # ------------------------------------------------------------ what is handed over

    def _judge_given(
        self,
        node: RNode,
        place: RNode,
        piped: RNode | None,
        rules: list[CommandRule],
        statement: int,
    ) -> None:
        """Functions that a call runs, and code that it takes as a text."""
        before = [] if piped is None else [piped]
        for rule in rules:
            if rule.runs is not None:
                self._judge_running(node, place, rule.runs - len(before), statement)
        if any("code" in (rule.risks or ()) for rule in rules):
            pairs = [*((None, entry) for entry in before), *arguments(node)]
            chosen = [value for name, value in pairs if name in ("formula", "object", "x")]
            free = [value for name, value in pairs if name is None]
            # A pipe may put something else first; what looks like code is judged anywhere.
            chosen += free[:1] + [entry for entry in free[1:] if re.search(r"[(~]", entry.value)]
            for item in chosen:
                self._judge_formula(item, place, statement)
        wrapped = any(rule.action is Action.WRAPPED for rule in rules)
        shown = [*node.parts[1:], *before] if wrapped else []
        self.note_spread(place, lambda: any(map(self.picks.picks, shown)))
        self.judge_columns(node, place)

    def _judge_running(self, node: RNode, place: RNode, position: int, statement: int) -> None:
        """The function that a call runs can be read."""
        named = [value for name, value in arguments(node) if name in _NAMED]
        free = [value for name, value in arguments(node) if name is None]
        for item in named or (free[position : position + 1] if position >= 0 else []):
            rule = self.names.policy.rule(item.value)
            text = item.kind == "string" and item.value not in self.names.functions
            if text and (rule.action is Action.REFUSED or rule.role == "shows"):
                self._refuse(place, rule.name, rule.reason, statement)
            elif not self._readable(item):
                self.review(place, "text", "which function runs cannot be read from the program")

    def _readable(self, node: RNode) -> bool:
        """Whether an expression is a function that is judged where it stands."""
        names = self.names
        known = names.policy.rule(node.value).known or node.value in names.listed["syntax"]
        if node.kind == "string":
            return known or node.value in names.functions
        if node.kind == "name":
            if node.value in names.functions or names.aliases.get(node.value):
                return True
            return node.value not in names.bound and (known or node.value[:1] == "%")
        if node.kind in ("binary", "unary"):
            return node.value in ("::", ":::", "~")
        if node.kind == "paren":
            return self._readable(node.parts[0])
        makes = node.kind == "call" and names.has(node.parts[0], "makes")
        return makes or node.kind == "function"

    # ------------------------------------------------------------ code in texts

    def _judge_formula(self, node: RNode, place: RNode, statement: int) -> None:
        text = node.kind == "call" and self.names.has(node.parts[0], "text")
        if node.kind in ("name", "call", "paren", "if", "index") and not self.names.clean(node):
            if text and not self.names.does(node.parts[0], "code"):
                self.review(place, "text", _UNREAD)
        elif node.kind == "string":
            self._judge_text(node.value, place, statement)
        elif text and any("(" in item for item in self._texts(node)):
            self.review(place, "text", _UNREAD)
        elif node.kind == "name":
            for value in self.names.values.get(node.value, []):
                if value is not None and value.kind in ("string", "call"):
                    self._judge_formula(value, place, statement)

    def _texts(self, node: RNode, depth: int = 0) -> list[str]:
        texts = []
        for item in node.walk():
            if item.kind == "string":
                texts.append(item.value)
            elif item.kind == "name" and depth < 4:
                for value in self.names.values.get(item.value, []):
                    texts += self._texts(value, depth + 1) if value is not None else []
        return texts

    def _judge_text(self, text: str, place: RNode, statement: int) -> None:
        try:
            tree = parse_r(text)
        except RSyntaxError:
            self.review(place, "text", "code in a text that cannot be read")
            return
        calls = (node for top in tree for node in top.walk() if node.kind == "call")
        for item in calls:
            rules = self.names.rules(item.parts[0])
            worst = max(rules, key=lambda rule: rule.action.rank, default=None)
            if worst and "term" in worst.traits and worst.name not in self.names.bound:
                continue
            if worst is None or worst.action is Action.REVIEW:
                self.review(place, "text", "code in a text calls what no rule names")
            elif worst.action is Action.REFUSED or worst.role == "shows":
                self._refuse(place, worst.name, worst.reason, statement)


def _binds(node: RNode, name: str) -> bool:
    if is_assignment(node):
        return any(item.value == name for item in sides(node)[0].walk())
    return node.value == name or name in node.names
