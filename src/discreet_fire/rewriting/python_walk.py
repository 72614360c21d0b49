"""What each statement of a Python script calls, shows and hands over, and what stands in its place.

In: the tree, and the marks of its names. Out: edits: safe calls for what would be shown, refusals,
which take a whole statement out or put an error in place of a part. Findings, among them reviews
where it depends on data whether something is shown, and how often, where nobody can tell whether
something runs that is not called by name (a class with a method that shows something, generators),
and where code in a text (``df.query("…")``) cannot be read. Special methods such as `__iter__`
always go to review.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import TURNED, PythonMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, comment_words, newline_of
from discreet_fire.rewriting.script_walk import ScriptWalk
from discreet_fire.scripts import (
    Node,
    read_python,
)

_CALLED = re.compile(r"([@\w.]+)\s*\(")
_HIDDEN = re.compile(r"[\])]\s*\(|__")
_EVIDENCE = re.compile(r"[{(][^{}()]*evidence")
_QUOTED = re.compile(r"`[^`]*`")
_DEEPEST = 6
#: A name that is bound more often than this is not followed.
_MOST = 50


_SAFE = "discreet_fire.statistics"
_RUNTIME = "import discreet_fire.scripts.runtime as fdz_safe"
_SHOWN_HINT = "use a safe function (describe, value_counts, crosstab, corr, summary of a model)"
#: Names with underscores around them that reach nothing inside Python.
_OPEN_WORDS = frozenset(
    ("__name__", "__file__", "__init__", "__version__", "__doc__", "__main__", "__all__")
)
#: Special methods that nothing is told of unless they show something.
_JUDGED = _OPEN_WORDS | {"__call__", "__enter__", "__exit__"}
_PROPERTIES = frozenset(("property", "cached_property", "setter", "getter", "deleter"))
_MODES = ("r", "rt", "rb", "tr", "br")


class PythonWalk(ScriptWalk):
    """Visits one script; with `autoshow` a bare expression is shown, as in notebooks."""

    marks: PythonMarks

    def __init__(
        self, marks: PythonMarks, notes: ProgramNotes, language: Language, *, autoshow: bool
    ) -> None:
        self.in_pattern = False
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
        classes = (node for node in marks.nodes if node.kind == "class")
        #: Statements in classes: their names are reached by objects, which are not followed.
        self.in_classes = {id(item) for node in classes for item in node.parts[-1].parts}
        self.plain = set(_parts_of_more(marks.nodes))
        self.shows_figures = False
        #: Names of paths, perhaps.
        self.paths = {
            name for name, value, _ in marks.bindings
            if value is not None and any(map(self._is_path, value.walk()))
        }  # fmt: skip

    def _own_functions(self) -> Iterator[tuple[str, Iterable[str], bool]]:
        for node in self.marks.nodes:
            if node.kind == "define":
                calls = [item.parts[0] for item in node.walk() if item.kind == "call"]
                rules = [rule for function in calls for rule in self.marks.rules(function)]
                shows = any(r.role == "shows" or r.safe in ("histogram", "info") for r in rules)
                leaves = (item for item in node.walk() if item.kind == "raise")
                shows = shows or any(n.value == "SystemExit" for x in leaves for n in x.walk())
                yield node.value, (one.word for one in calls), shows

    def run(self) -> None:
        """Note all that is to be said and changed."""
        for node in self.marks.nodes:
            named = {*node.names} if node.kind in ("alias", "function") else {node.value}
            if "fdz_safe" in named and node.kind != "string":
                message = "the name fdz_safe belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, message, node.span)
            for name in named if node.kind in ("class", "capture", "handler", "alias") else ():
                # Special methods that are no functions: a class, or a name that a pattern binds.
                if name and _is_special(name) and name not in _OPEN_WORDS:
                    self.review(node, "special", f"{name} runs without being called by name")
        self.visit(self.marks.tree)
        safe = any(edit.rule == "command" for edit in self.notes.edits)
        self.judge_shown(shown=self.shows_figures or safe)
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
        if self.marks.clean(value) or value.kind == "yield" or self.functions:
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

    def _see_assert(self, node: Node) -> None:
        """A message of an assertion is shown; that it fails tells something as well."""
        self.see_parts(node)
        if not self.marks.clean(node.parts[0]):
            self.review(node, "branch", "whether it fails depends on data")
        for message in node.parts[1:]:
            if not self.marks.clean(message):
                self.withhold(message, "assert", "its message derives from data")

    def _see_raise(self, node: Node) -> None:
        """Exceptions are shown with their arguments."""
        for value in node.parts:
            self.visit(value)
            own = value.kind == "name" and value.value in self.marks.own
            if not (self.marks.is_plain_error if own else self.marks.clean)(value):
                self.withhold(value, "raise", "its message derives from data", "RuntimeError")
        self.branching(node, "raise")

    def _see_try(self, node: Node) -> None:
        """Once something in its body may fail by data, all that follows is in question."""
        body, *handlers, other, final = node.parts
        depends, outer = False, self.statement
        for item in body.parts:
            self.statement = item
            with self.under(loose=depends):
                self.visit(item)
            one = Node("block", "", item.start, item.end, [item])
            depends = depends or not all(map(self.marks.clean, one.failing()))
        self.statement = outer
        with self.under(loose=depends):
            self.visit(other)
        for part in (*handlers, final):
            self.visit(part)

    def _see_handler(self, node: Node) -> None:
        """That an error occurred may tell of the data."""
        self.see_parts(node, loose=True)

    def _see_comprehension(self, node: Node) -> None:
        """How often a generator runs is decided where somebody takes its values."""
        self._judge_target(node.parts[0])
        self.see_parts(node, loose=node.value == "generator")

    def _see_for(self, node: Node) -> None:
        self._judge_target(node.parts[0])
        self.see_parts(node)

    def _see_delete(self, node: Node) -> None:
        for target in node.parts:
            self._judge_target(target)
        self.see_parts(node)

    def _see_pattern(self, node: Node) -> None:
        """What is matched is assigned to."""
        outer, self.in_pattern = self.in_pattern, True
        self.see_parts(node)
        self.in_pattern = outer

    # ------------------------------------------------------------ definitions

    def _see_function(self, node: Node) -> None:
        """How often a lambda runs is not known."""
        for part in node.parts[:-1]:
            self.visit(part)
        with self.under(*self.marks.jumps.get(id(node), ()), loose=node.value == "lambda"):
            self.visit(node.parts[-1])

    def _see_define(self, node: Node) -> None:
        """The body is read as code that any data may reach."""
        self.functions += 1
        *decorators, function = node.parts
        if _is_special(node.value) and node.value not in _JUDGED:
            self.review(node, "special", f"{node.value} runs without being called by name")
        lazy = function.value == "async" or any(
            (item.kind, item.value) == ("yield", "lazy") for item in function.walk()
        )
        if node.value in self.speaking and lazy:
            message = "shows something, and continues only where its values are taken"
            self.review(node, "special", f"{node.value} {message}")
        for item in decorators:
            # As in ``@x.setter``.
            changes = item.word in _PROPERTIES and item.base.value in self.marks.methods
            known = self.marks.resolved(item) or changes
            if not known and not self.marks.is_own(item):
                self.review(item, "decorator", "a decorator that no rule knows")
        self.see_parts(node)
        self.functions -= 1

    def _see_class(self, node: Node) -> None:
        """A class with a method that shows something is looked at, once.

        It may run as a property, by `with`, by decorators, metaclasses, patterns and functions from
        elsewhere.
        """
        named = [one.value for one in node.methods() if one.value in self.speaking]
        if named:
            message = "shows something, and may run without being called by name"
            self.review(node, "special", f"{node.value}.{named[0]} {message}")
        self.see_parts(node)

    def _see_import(self, node: Node) -> None:
        for one in node.parts:
            self._judge_module(node, one.value)

    def _see_from(self, node: Node) -> None:
        for one in node.parts:
            rule = self.marks.policy.rule(f"{node.value}.{one.value}")
            if one.value == "*":
                message = "a star import hides which names there are"
                self.refuse(node, "import", node.value, message)
            elif rule.role == "shows" and id(node) in self.in_classes:
                self.refuse(node, "import", rule.name, "hands over a function that shows")
            else:
                self._judge_module(node, node.value, one.value)

    def _judge_module(self, node: Node, module: str, name: str = "") -> None:
        whole = f"{module}.{name}".rstrip(".")
        module, name = whole, ""
        if node.kind == "from":
            module, _, name = whole.rpartition(".")
        rules = self.marks.of_name(whole) if name else []
        rules.append(self.marks.policy.rule(f"{module}.{name or '*'}"))
        inner = self.marks.policy.rule(f"{name.strip('_')}.*")
        own = self.marks.policy.rules.get(f"{module}.{name}.*")
        if inner.action is Action.REFUSED and own is None and name:
            # A module that another one has loaded: ``from platform import subprocess``.
            rules.append(inner)
        rule = max(rules, key=lambda one: (one.known, one.action.rank))
        refused = rule.action is Action.REFUSED
        if module.startswith("discreet") and _SAFE not in (whole, module):
            self.refuse(node, "import", module, "only discreet_fire.statistics may be used")
        elif refused and (module != "builtins" or id(node) in self.in_classes):
            self.refuse(node, "import", whole, rule.reason)
        elif not rule.known and not self._some(module) and not module.startswith("discreet"):
            hint = "give its source to review, or add a rule for it"
            message = f"no rule for the module {module}; what it does is not known"
            self.notes.find("import", Severity.REVIEW, message, node.span, hint)

    def _some(self, module: str) -> bool:
        return any(name.startswith(f"{module}.") for name in self.marks.policy.rules)

    # ------------------------------------------------------------ what is given to names

    def _see_binary(self, node: Node) -> None:
        if node.is_part:
            self._see_part(node)
            return
        if node.is_assignment:
            self._judge_target(node.parts[0], node.parts[1])
            self.judge_columns(node, node)
        self.judge_template(node)
        self.see_parts(node)

    def _judge_target(self, target: Node, value: Node | None = None) -> None:
        """Modules and the environment must stay as they are, but for their settings."""
        if target.kind == "holder" or target.kind == "unary":
            for part in target.parts:
                self._judge_target(part)
        elif target.kind == "index" or target.is_part:
            full = self.marks.resolved(target.parts[0])
            modules = {"builtins"}.union(*self.marks.aliases.values())
            if not full & modules and not any("." in name for name in full):
                return
            whole = self.marks.resolved(target) or full
            settings = all(self.marks.policy.rule(name).role == "acts" for name in whole)
            plain = value is not None and (
                value.is_part or value.kind == "function" or self.marks.clean(value)
            )
            if not settings or not plain:
                message = "changes a module, its functions or the environment"
                self.refuse(self.statement, "monkeypatch", "assignment", message)

    # ------------------------------------------------------------ calls

    def _see_call(self, node: Node) -> None:
        """A call: of which functions, and with what."""
        function, *inputs = node.parts
        rules = self.marks.rules(function)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        own = self.marks.is_own(function)
        self.judge_texts(node)
        if function.kind == "name" and function.value == "getattr":
            message = "takes an attribute whose name cannot be read from the program"
            self.refuse(node, "getattr", "getattr", message)
        if function.word in self.speaking and own:
            self.branching(node, function.word)
        self.judge_columns(node, node)
        if function.is_part and any(rule.action is Action.WRAPPED for rule in rules):
            self.note_shown(node, function.parts[:1])
            if any(self.marks.has(one, TURNED) for one in (function.parts[0], *inputs)):
                self.named.append(node)
        if self.marks.is_safe(node):
            self._judge_safe(node)
        elif worst is None and not own:
            self.review(node, "call", "calls a function that no name identifies")
        dirty = [item for item in inputs if not self.marks.clean(item)]
        if dirty and self.marks.does(function, "reads"):
            # A place that derives from data tells it to whoever serves the place.
            name = function.word
            self.review(node, "place", f"{name}: the place it reads derives from data, or may")
        if worst is not None and not own and not self.marks.is_safe(node):
            self._judge(node, rules, worst)
            for item in self._unknown(function) if worst.known else ():
                self.review(node, "call", f"no rule for {item}; it may show anything")
            inside = [] if self.marks.resolved(function) else function.parts[:1]
            self.judge_unstated(node, self.marks.facts(function), [*inputs, *inside])
        if function.is_part:
            self.visit(function.parts[0])
        elif function.kind != "name":
            self.visit(function)
        self._judge_word(function)
        for value in inputs:
            self.visit(value)

    def _judge_safe(self, node: Node) -> None:
        """Safe functions keep to the rules of the centre; names they get are constants."""
        self.shows_figures = True
        pairs = [*node.arguments()]
        if any(name in ("**", "limits") for name, _ in pairs):
            message = "the rules are those of the centre, and options are written out"
            self.refuse(node, "limits", "limits", message)
        elif any(value.kind == "unary" and value.value == "*" for _, value in pairs):
            self.refuse(node, "limits", "arguments", "arguments are written out")
        first = 1 if pairs and pairs[0][0] is None else 0
        others = [value for name, value in pairs[first:] if name != "frame"]
        if not all(map(self.marks.clean, others)):
            self.review(node, "label", "what it is asked for derives from data, or may")
        self.note_shown(node, (value for name, value in pairs if name is None))

    def _judge(self, node: Node, rules: list[CommandRule], worst: CommandRule) -> None:
        function, *inputs = node.parts
        name = worst.name
        if worst.action is Action.REFUSED:
            self.refuse(node, "call", name, worst.reason)
        elif any(rule.name in ("builtins.open", ".open") for rule in rules) or (
            function.word == "open" and worst.known
        ):
            self._judge_open(node, rules)
        elif self._renames_file(node):
            self.refuse(node, "call", name, "renames or replaces a file, or may")
        elif name == ".to_string" and (node.names[:1] == [None] or "buf" in node.names):
            self.refuse(node, "call", name, "writes to a file, or may")
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
                self.branching(node, name)

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
        self.branching(node, name)

    def _renames_file(self, node: Node) -> bool:
        function = node.parts[0]
        if function.word not in ("rename", "replace") or not function.is_part:
            return False
        thing = function.parts[0]
        if node.names.count(None) != 1:
            return False
        inside = any(map(self._is_path, thing.walk()))
        return self.marks.clean(thing) or inside or bool(thing.roots & self.paths)

    def _is_path(self, node: Node) -> bool:
        return any(name.startswith("pathlib.") for name in self.marks.resolved(node))

    def _judge_open(self, node: Node, rules: list[CommandRule]) -> None:
        """Files may be read; whatever may write is refused."""
        # A method of a path has the mode first; a function of a module may have it anywhere.
        function, pairs = node.parts[0], [*node.arguments()]
        full = self.marks.resolved(function)
        method = function.is_part and not full
        known = all(rule.name == "builtins.open" for rule in rules)
        wrong = function.is_part and bool(full) and not known and len(pairs) > 1
        free = [value for name, value in pairs if name is None]
        modes = [value for name, value in pairs if name == "mode"]
        modes += free[0 if method else 1 :][:1]
        starred = any(value.kind == "unary" and value.value == "*" for value in free)
        starred = starred or any(name in ("**", "opener") for name, _ in pairs)
        plain = all(mode.kind == "string" and mode.value in _MODES for mode in modes)
        if wrong or starred or not plain:
            self.refuse(node, "call", "open", "opens a file for writing, or may")

    # ------------------------------------------------------------ values

    def _see_string(self, node: Node) -> None:
        """Addresses of the network, and templates."""
        self.judge_template(node)
        if "://" in node.value:
            self.review(node, "address", "an address of the network")

    def _see_name(self, node: Node) -> None:
        """A function handed over instead of called."""
        self._judge_word(node)
        if not node.stored and not self._is_alias(node):
            self._judge_value(node)

    def _see_part(self, node: Node) -> None:
        """An attribute that is taken, not called; it may be a property."""
        self._judge_word(node)
        followed = self._is_alias(node) and bool(self.marks.resolved(node))
        if not node.stored and not followed:
            self._judge_value(node)
        if node.parts[0].kind == "name":
            self._judge_word(node.parts[0])
        else:
            self.visit(node.parts[0])

    def _is_alias(self, node: Node) -> bool:
        """Whether a name is only given another name, which is followed."""
        statement = self.statement
        plain = id(statement) not in self.in_classes
        while statement.is_assignment:
            plain = plain and statement.parts[0].kind == "name"
            statement = statement.parts[1]
        return plain and statement is node and statement is not self.statement

    def _judge_value(self, node: Node) -> None:
        full = self.marks.resolved(node)
        word = node.value if node.kind == "name" else node.parts[1].value
        rules = [rule for name in sorted(full) for rule in self.marks.of_name(name)]
        if node.is_part and not full:
            if id(node) in self.plain and word != "evidence":
                # A column of that name: only functions that are handed over are of interest.
                return
            rules = [] if word in self.marks.methods else [self.marks.policy.rule(f".{word}")]
        if node.kind == "name" and word in self.speaking:
            self.review(node, "value", "hands over a function that shows")
        for rule in rules:
            whole = id(node) not in self.plain
            if (whole and rule.name in self._unknown(node)) or _is_odd_builtin(rule, full):
                self.review(node, "value", f"hands over what no rule names: {min(full)}")
            harmless = rule.name == "builtins.*" or not rule.known
            shows = rule.role == "shows" or rule.name == ".info"
            if rule.action is Action.REFUSED and not harmless:
                self.refuse(node, "value", rule.name, rule.reason)
            elif shows and (full or rule.name == ".write"):
                self.refuse(node, "value", rule.name, "hands over a function that shows")
            elif shows:
                self.review(node, "value", f"{rule.name}: may hand over a function that shows")

    def _unknown(self, node: Node) -> list[str]:
        known = node.base.value in self.marks.aliases
        rule = self.marks.policy.rule
        return [
            name for name in sorted(self.marks.resolved(node) if known else ())
            if not (rule(name).known or rule(f"{name}.*").known or self._some(name))
        ]  # fmt: skip

    def _judge_word(self, node: Node) -> None:
        word = node.value if node.kind == "name" else node.word
        if _is_special(word) and word not in _OPEN_WORDS:
            self.refuse(node, "dunder", word, "reaches the inside of Python")

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

    def withhold(self, node: Node, rule: str, what: str, kind: str = "") -> None:
        """Put a text without figures in place of a message."""
        self.notes.find(rule, Severity.REFUSED, f"{rule}: {what}", node.span)
        text = f'{kind}("{self.wording}")' if kind else f'"{self.wording}"'
        self.notes.replace(node.span, text, rule, rule, Action.REFUSED, what)

    def refuse(self, node: Node, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.notes.find(rule, Severity.REFUSED, f"{name}: {what}", node.span, hint)
        whole = self.statement.kind in ("shown", "import", "from", "delete")
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole = whole or node is self.statement or node.stored or self.in_pattern
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

    # ------------------------------------------------------------ texts that are run

    def judge_texts(self, node: Node) -> None:
        """Judge the texts that a call runs, if it runs any."""
        if self.marks.does(node.parts[0], "code"):
            for inputs in self._inputs(node, ("expr", "formula", "formula_like")):
                for item in self._readable(inputs):
                    text = None if item is None else self._code_of(item)
                    if text is None:
                        message = "code in a text that cannot be read from the program"
                        self.review(node, "text", message)
                    else:
                        self._judge_text(node, text)
        if self.marks.does(node.parts[0], "runs"):
            for inputs in self._inputs(node, ("func", "aggfunc")):
                self._judge_named(node, inputs)

    @staticmethod
    def _inputs(node: Node, keys: tuple[str, ...]) -> Iterator[Node]:
        """The argument that counts: the first, or one by its name."""
        word, named = node.parts[0].word, [pair for pair in node.arguments() if pair[0]]
        if node.names[:1] == [None] and word not in ("pivot_table", "crosstab"):
            yield node.parts[1]
        for name, value in named:
            if name == "**" or name in keys:
                yield value
            elif word in ("agg", "aggregate"):
                if value.kind == "holder" and len(value.parts) == 2:
                    yield value.parts[1]
                elif value.kind in ("string", "number") and name != "axis":
                    yield value

    def _readable(self, node: Node, depth: int = 0) -> Iterator[Node | None]:
        """What an expression may be, by the names it is bound to; None where it is not known."""
        if node.kind == "name" and not self.marks.resolved(node):
            values = self.marks.values.get(node.value, [])
            if node.value in self.marks.own and not values:
                yield node
            elif not values or depth > _DEEPEST or len(values) > _MOST or None in values:
                yield None
            else:
                for item in values:
                    yield from self._readable(item or node, depth + 1)
        elif node.kind in ("holder", "dict", "if", "comprehension"):
            first = {"dict": slice(1, None, 2), "holder": slice(None), "comprehension": slice(2, 3)}
            for item in node.parts[first.get(node.kind, slice(1, None))]:
                yield from self._readable(item, depth)
        else:
            yield node

    def _judge_named(self, node: Node, inputs: Node) -> None:
        for item in self._readable(inputs):
            text = None if item is None else item.text
            if text is not None:
                rule = self.marks.policy.rule(f".{text}")
                if rule.action is Action.REFUSED or rule.role == "shows":
                    self.refuse(node, "text", rule.name, rule.reason)
                elif not rule.known:
                    self.review(node, "text", f"no rule for the function that a text names: {text}")
            elif item is None or not self._is_function(item):
                self.review(node, "text", "which function runs cannot be read from the program")

    def _is_function(self, node: Node) -> bool:
        if node.is_part:
            rules = self.marks.rules(node)
            known = bool(rules) and all(rule.known for rule in rules)
            free = not (self.marks.resolved(node) or self.marks.clean(node))
            return known or node.word in self.marks.methods or free
        if node.kind == "call":
            full = self.marks.resolved(node.parts[0])
            return bool(full) and full <= {"functools.partial"}
        return node.kind in ("function", "name", "number")

    def _code_of(self, node: Node, depth: int = 0) -> str | None:
        """Code that is written out, perhaps in parts; None where a part cannot be read."""
        if node.kind in ("string", "number"):
            return node.value
        if depth > _DEEPEST:
            return None
        parts: list[Node | None] = []
        joint = ""
        if node.kind in ("format", "formatted") or (node.kind, node.value) == ("binary", "+"):
            parts = [*node.parts[: 1 if node.kind == "formatted" else None]]
        elif node.kind in ("name", "holder", "comprehension"):
            joint, parts = " ", list(self._readable(node))
            parts = [None] if parts == [node] else parts
        elif node.kind == "call" and node.parts[0].word == "join" and node.parts[0].is_part:
            # Texts that are joined: what stands between them keeps names apart.
            between = node.parts[0].parts[0].text
            if between is not None and len(node.parts) == 2:
                joint, parts = between, list(self._readable(node.parts[1]))
        texts = [None if part is None else self._code_of(part, depth + 1) for part in parts]
        return None if not texts or None in texts else joint.join(map(str, texts))

    def _judge_text(self, node: Node, text: str) -> None:
        text = _QUOTED.sub("x", text)
        if _HIDDEN.search(text):
            self.review(node, "text", "code in a text calls a function that no name identifies")
        for match in _CALLED.finditer(text):
            word = match.group(1).replace("@", "")
            parts = word.split(".")
            numpy = parts[0] not in self.marks.bound or parts[0] in self.marks.aliases
            plain = self.marks.policy.words["formulas"]
            if word in plain or (numpy and parts[0] in ("np", "numpy") and parts[-1] in plain):
                continue
            self._judge_word_of_text(node, word)

    def _judge_word_of_text(self, node: Node, word: str) -> None:
        try:
            function = read_python(word.strip(".")).parts[0].parts[0]
        except (SyntaxError, IndexError):
            self.review(node, "text", "code in a text calls a function that no name identifies")
            return
        rules = self.marks.rules(function)
        if word.startswith("."):
            rules = [self.marks.policy.rule(f".{word.rpartition('.')[2]}")]
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is None or self.marks.is_own(function):
            self.review(node, "text", "code in a text calls a function of this script")
        elif worst.action is Action.REFUSED or any(rule.role == "shows" for rule in rules):
            self.refuse(node, "text", worst.name, worst.reason)
        elif worst.action is Action.REVIEW:
            self.review(node, "text", f"no rule for a function that a text calls: {worst.name}")

    def judge_template(self, node: Node) -> None:
        """Templates that reach into a result: ``"{0.evidence}".format(result)``."""
        text = node.text
        if text is not None and _EVIDENCE.search(text):
            self.refuse(node, "text", "evidence", "true values stay inside the centre")


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_odd_builtin(rule: CommandRule, full: frozenset[str]) -> bool:
    builtin = getattr(builtins, min(full, default="").rpartition(".")[2], None)
    error = isinstance(builtin, type) and issubclass(builtin, BaseException)
    return rule.name == "builtins.*" and callable(builtin) and not error


def _parts_of_more(nodes: Iterable[Node]) -> Iterator[int]:
    """Attributes that are operands or have parts taken of them, so that none is handed over."""
    for node in nodes:
        if node.kind == "index" or node.is_part or (node.kind == "unary" and node.value != "*"):
            yield id(node.parts[0])
        elif node.kind == "binary" and node.value not in ("and", "or", "<-"):
            yield from map(id, node.parts)
        elif node.kind in ("for", "comprehension"):
            yield id(node.parts[1])
