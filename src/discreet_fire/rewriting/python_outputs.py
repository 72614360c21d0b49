"""What each statement of a Python script calls, shows and hands over.

In: the tree and what its names stand for. Out: edits and findings, among them reviews where
it depends on data whether something is shown, and how often.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.flow import failing
from discreet_fire.rewriting.changes import newline_of
from discreet_fire.rewriting.python_replacements import OPEN_WORDS, PROPERTIES, ImplicitCalls
from discreet_fire.scripts import arguments_of, attribute_of, root_of, roots_of, word_of

# ruff: noqa: N802, N815


_RUNTIME = "import discreet_fire.scripts.runtime as fdz_safe"
_SHOWN_HINT = "use a safe function (describe, value_counts, crosstab, corr, summary of a model)"


class PythonWalker(ImplicitCalls):
    """Visits one script."""

    def judge_safe(self, node: ast.Call) -> None:
        """Safe functions keep to the rules of the centre; names they get are constants."""
        self.shows_figures = True
        if any(keyword.arg in (None, "limits") for keyword in node.keywords):
            message = "the rules are those of the centre, and options are written out"
            self.refuse(node, "limits", "limits", message)
        elif any(isinstance(arg, ast.Starred) for arg in node.args):
            self.refuse(node, "limits", "arguments", "arguments are written out")
        others = [
            *node.args[1:],
            *(keyword.value for keyword in node.keywords if keyword.arg != "frame"),
        ]
        if not all(map(self.names.clean, others)):
            self.review(node, "label", "what it is asked for derives from data, or may")
        self.note_spread(node, lambda: any(map(self.picks.picks, node.args)))

    def judge_call_columns(self, node: ast.Call) -> None:
        """As columns; what a safe form shows must not be made of single values."""
        self.judge_columns(node, node)
        attribute = attribute_of(node.func)
        if attribute is not None and any(
            rule.action is Action.WRAPPED for rule in self.names.rules(node.func)
        ):
            frame = attribute[0]
            self.note_spread(node, lambda: self.picks.picks(frame))
            if any(map(self.picks.turns, [attribute[0], *node.args])):
                self.named.append(node)

    def generic_visit(self, node: ast.AST) -> None:
        """What it binds, and its parts, each under the conditions that it runs under."""
        targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
        for item in filter(None, [*targets, getattr(node, "optional_vars", None)]):
            self.judge_target(item, node.value if isinstance(node, ast.Assign) else None)
        if isinstance(node, ast.Assign | ast.AugAssign):
            self.judge_columns(node, node)
        jumps = self.names.flows.jumps.get(id(node), [])
        for child, conditions in self.names.flows.parts(node):
            if jumps or conditions:
                with self.under(*jumps, *conditions):
                    self.visit(child)
            else:
                self.visit(child)

    def _all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        """What is matched is assigned to."""
        self.in_pattern = True
        self.visit(node.pattern)
        self.in_pattern = False
        with self.under(node.guard):
            self._all([*([node.guard] if node.guard else []), *node.body])

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """How often it runs is not known."""
        self._all(
            [
                *node.args.defaults,
                *(kw_default for kw_default in node.args.kw_defaults if kw_default),
            ]
        )
        with self.under(loose=True):
            self.visit(node.body)

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        """Once something in its body may fail by data, all that follows is in question."""
        depends = False
        for item in node.body:
            with self.under(loose=depends):
                self.visit(item)
            one = ast.Try(body=[item], handlers=[], orelse=[], finalbody=[])
            depends = depends or not all(map(self.names.clean, failing(one)))
        with self.under(loose=depends):
            self._all(node.orelse)
        self._all([*node.handlers, *node.finalbody])

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """That an error occurred may tell of the data."""
        with self.under(loose=True):
            self.generic_visit(node)

    def run(self) -> None:
        """Note all that is to be said and changed."""
        for node in ast.walk(self.tree):
            name = getattr(node, "asname", None) or getattr(node, "name", None)
            bound = node.id if isinstance(node, ast.Name) else getattr(node, "arg", name)
            if bound == "fdz_safe":
                message = "the name fdz_safe belongs to the safe functions"
                self.notes.find("own-name", Severity.ERROR, message, self.span(node))
        self.plain = _parts_of_more(self.tree)
        self.shows_figures = False
        self.find_implicit_calls()
        #: Names of paths, perhaps.
        self.paths = {
            name
            for name, value in self.names.bindings
            if value is not None and any(map(self._is_path, ast.walk(value)))
        }
        self.visit(self.tree)
        safe = any(edit.rule == "command" for edit in self.notes.edits)
        self.judge_shown(shown=self.shows_figures or safe)
        if any("fdz_safe" in edit.after for edit in self.notes.edits):
            self._insert_import()

    def _insert_import(self) -> None:
        """Load the safe functions behind the docstring and imports from the future."""
        body = list(self.tree.body)
        first = body[0]
        for position, node in enumerate(body):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            first = node
            if not (future or (position == 0 and is_text)):
                break
        decorators = getattr(first, "decorator_list", [])
        start = self._offset(decorators[0].lineno, 0) if decorators else self.span(first)[0]
        newline = newline_of(self.notes.text)
        self.notes.replace(
            (start, start),
            _RUNTIME + newline,
            "runtime",
            "fdz_safe",
            Action.WRAPPED,
            "the safe functions are loaded",
        )

    # ------------------------------------------------------------ statements

    def visit(self, node: ast.AST) -> None:
        """Visit a node; the statement it belongs to is known meanwhile."""
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        before, self.statement = self.statement, node
        super().visit(node)
        self.statement = before

    def visit_Expr(self, node: ast.Expr) -> None:
        """A bare expression, which notebooks show."""
        value = node.value
        self.visit(value)
        if self.names.clean(value) or isinstance(value, ast.Yield | ast.Await | ast.YieldFrom):
            return
        if isinstance(value, ast.Call) and self._says_nothing(value.func):
            return
        if self.functions:
            return
        safe = self.wrapped(value)
        if self.autoshow and safe is not None:
            self.put_safe(value, f"print({safe})")
        elif self.autoshow:
            self.refuse(
                node, "shown", "expression", "a bare expression shows what derives from data"
            )
        elif safe is not None and isinstance(value, ast.Call):
            self.put_safe(value, f"print({safe})")
        else:
            message = "a bare expression on data; a notebook would show it"
            self.notes.find("bare", Severity.INFO, message, self.span(node))

    def _says_nothing(self, function: ast.expr) -> bool:
        rules = self.names.rules(function)
        if isinstance(function, ast.Attribute) and function.attr == "info":
            return True
        quiet = all(rule.role in ("acts", "shows") for rule in rules if rule.known)
        return (
            self.names.is_own(function)
            or (bool(rules) and quiet)
            or any(rule.action in (Action.REFUSED, Action.REVIEW) for rule in rules)
        )

    def visit_Assert(self, node: ast.Assert) -> None:
        """A message of an assertion is shown; that it fails tells something as well."""
        self.generic_visit(node)
        if not self.names.clean(node.test):
            self.review(node, "branch", "whether it fails depends on data")
        if node.msg is not None and not self.names.clean(node.msg):
            self.withhold(node.msg, "assert", "its message derives from data")

    def visit_Raise(self, node: ast.Raise) -> None:
        """Exceptions are shown with their arguments."""
        for value in (node.exc, node.cause):
            if value is None:
                continue
            self.visit(value)
            own = isinstance(value, ast.Name) and value.id in self.names.own
            if not (self.names.is_plain_error if own else self.names.clean)(value):
                self.withhold(value, "raise", "its message derives from data", "RuntimeError")
        self.branching(node, "raise")

    # ------------------------------------------------------------ definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The body is read as code that any data may reach."""
        self.functions += 1
        self.judge_definition(node)
        for item in node.decorator_list:
            changes = word_of(item) in PROPERTIES and root_of(item) in self.names.methods
            known = self.names.resolved(item) or changes  # as in ``@x.setter``
            if not known and not self.names.is_own(item):
                self.review(item, "decorator", "a decorator that no rule knows")
        self.generic_visit(node)
        self.functions -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    # ------------------------------------------------------------ expressions

    def visit_Call(self, node: ast.Call) -> None:
        """A call: of which functions, and with what."""
        attribute = attribute_of(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr":
            self._judge_getattr(node)
        rules = self.names.rules(node.func)
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        self.judge_texts(node)
        if word_of(node.func) in self.speaking and self.names.is_own(node.func):
            self.branching(node, word_of(node.func))
        self.judge_call_columns(node)
        if self.names.is_safe(node):
            worst = None
            self.judge_safe(node)
        elif self.names.is_own(node.func):
            worst = None
        elif worst is None and attribute is None:
            self.review(node, "call", "calls what no name tells")
        self._judge_reading(node)
        if attribute is not None and attribute[1] is None:
            message = "calls an attribute whose name cannot be read from the program"
            self.refuse(node, "getattr", "getattr", message)
        elif worst is not None:
            self._judge_call(node, rules, worst)
            self._judge_rest(node, worst)
        if attribute is not None:
            self.visit(attribute[0])
        elif not isinstance(node.func, ast.Name):
            self.visit(node.func)
        self._judge_word(node.func)
        for item in (*node.args, *node.keywords):
            self.visit(item)

    def _judge_rest(self, node: ast.Call, worst: CommandRule) -> None:
        """What no rule names, and what no rule states, beside rules on its parts."""
        if self.names.is_own(node.func):
            return
        for item in self._unknown(node.func) if worst.known else ():
            self.review(node, "call", f"no rule for {item}; it may show anything")
        attribute = attribute_of(node.func)
        arguments = arguments_of(node)
        if attribute is not None and not self.names.resolved(node.func):
            arguments.append(attribute[0])
        self.judge_unstated(node, self.names.facts(node.func), arguments)

    def _judge_getattr(self, node: ast.Call) -> None:
        attribute = attribute_of(node)
        if attribute is None or attribute[1] is None:
            message = "takes an attribute whose name cannot be read from the program"
            self.refuse(node, "getattr", "getattr", message)
            return
        for rule in self.names.rules(node):
            if rule.action is Action.REFUSED:
                self.refuse(node, "getattr", rule.name, rule.reason)
        if attribute[1].startswith("__"):
            self.refuse(node, "dunder", attribute[1], "reaches the inside of Python")

    def _judge_call(self, node: ast.Call, rules: list[CommandRule], worst: CommandRule) -> None:
        name = worst.name
        arguments = arguments_of(node)
        if worst.action is Action.REFUSED:
            self.refuse(node, "call", name, worst.reason)
        elif any(rule.name in ("builtins.open", ".open") for rule in rules) or (
            word_of(node.func) == "open" and worst.known
        ):
            self._judge_open(node, rules)
        elif self._renames_file(node):
            self.refuse(node, "call", name, "renames or replaces a file, or may")
        elif name == ".to_string" and (node.args or any(k.arg == "buf" for k in node.keywords)):
            self.refuse(node, "call", name, "writes to a file, or may")
        elif any(rule.role == "shows" for rule in rules) or (name == ".info" and arguments):
            self._judge_shown(node, arguments, name)
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

    def _judge_reading(self, node: ast.Call) -> None:
        """A place that derives from data tells it to whoever serves the place."""
        arguments = [argument for argument in arguments_of(node) if not self.names.clean(argument)]
        if arguments and self.names.does(node.func, "reads"):
            name = word_of(node.func)
            self.review(node, "place", f"{name}: the place it reads derives from data, or may")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Texts in parts."""
        self.judge_template(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Addresses of the network, and templates."""
        self.judge_template(node)
        if isinstance(node.value, str) and "://" in node.value:
            self.review(node, "address", "an address of the network")

    def _renames_file(self, node: ast.Call) -> bool:
        attribute = attribute_of(node.func)
        if attribute is None or attribute[1] not in ("rename", "replace") or len(node.args) != 1:
            return False
        if self.names.clean(attribute[0]):
            return True
        roots = roots_of(attribute[0])
        inside = (item for item in ast.walk(attribute[0]))
        return bool(roots & self.paths) or any(map(self._is_path, inside))

    def _is_path(self, node: ast.AST) -> bool:
        return any(name.startswith("pathlib.") for name in self.names.resolved(node))

    def _judge_open(self, node: ast.Call, rules: list[CommandRule]) -> None:
        """Files may be read; whatever may write is refused."""
        # A method of a path has the mode first; a function of a module may have it anywhere.
        is_method = isinstance(node.func, ast.Attribute)
        if is_method and self.names.resolved(node.func):
            known = all(rule.name == "builtins.open" for rule in rules)
            if not known and len(node.args) + len(node.keywords) > 1:
                self.refuse(node, "call", "open", "opens a file for writing, or may")
                return
            is_method = False
        modes = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
        modes += node.args[0 if is_method else 1 :][:1]
        starred = any(keyword.arg is None for keyword in node.keywords)
        starred |= any(isinstance(arg, ast.Starred) for arg in node.args)
        opener = any(keyword.arg == "opener" for keyword in node.keywords)
        plain = all(
            isinstance(mode, ast.Constant) and mode.value in ("r", "rt", "rb", "tr", "br")
            for mode in modes
        )
        if starred or opener or not plain:
            self.refuse(node, "call", "open", "opens a file for writing, or may")

    def _judge_shown(self, node: ast.Call, arguments: list[ast.expr], name: str) -> None:
        wraps: list[tuple[ast.expr, str]] = []
        for argument in arguments:
            if self.names.clean(argument):
                continue
            safe = self.wrapped(argument)
            parts = self.split(argument) if name == "builtins.print" else None
            if parts is not None and argument in node.args:
                wraps += [(argument, parts[0]), *((held, held.id) for held in parts[1])]
                continue
            if safe is None:
                message = "shows what derives from data, or may"
                self.refuse(node, "shown", name, message, hint=_SHOWN_HINT)
                return
            wraps.append((argument, safe))
        for argument, safe in wraps:
            self.put_safe(argument, safe)
        self.branching(node, name)

    def visit_Name(self, node: ast.Name) -> None:
        """A function handed over instead of called."""
        self._judge_word(node)
        if isinstance(node.ctx, ast.Load) and not self._is_alias(node):
            self._judge_value(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute that is taken, not called; it may be a property."""
        self._judge_word(node)
        followed = self._is_alias(node) and bool(self.names.resolved(node))
        if isinstance(node.ctx, ast.Load) and not followed:
            self._judge_value(node)
        if not isinstance(node.value, ast.Name):
            self.visit(node.value)
        else:
            self._judge_word(node.value)

    def _is_alias(self, node: ast.AST) -> bool:
        """Whether a name is only given another name, which is followed."""
        statement = self.statement
        simple = isinstance(statement, ast.Assign) and statement.value is node
        simple &= id(statement) not in self.in_classes
        return simple and all(isinstance(target, ast.Name) for target in statement.targets)  # type: ignore[union-attr]

    def _judge_value(self, node: ast.Name | ast.Attribute) -> None:
        full = self.names.resolved(node)
        rules = [rule for name in sorted(full) for rule in self.names.of_name(name)]
        if isinstance(node, ast.Attribute) and not full:
            if id(node) in self.plain and node.attr != "evidence":
                # A column of that name: only functions that are handed over are of interest.
                return
            rules = [self.names.policy.rule(f".{node.attr}")]
            if node.attr in self.names.methods:
                rules = []
        if isinstance(node, ast.Name) and node.id in self.speaking:
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

    def _unknown(self, node: ast.AST) -> list[str]:
        full = self.names.resolved(node) if root_of(node) in self.names.aliases else ()
        rules = self.names.policy
        return [
            name
            for name in sorted(full)
            if not (rules.rule(name).known or rules.rule(f"{name}.*").known or self._some(name))
        ]

    def _judge_word(self, node: ast.AST) -> None:
        word = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        inside = word.startswith("__") and word.endswith("__") and word not in OPEN_WORDS
        if inside:
            self.refuse(node, "dunder", word, "reaches the inside of Python")


def _is_odd_builtin(rule: CommandRule, full: frozenset[str]) -> bool:
    builtin = getattr(builtins, min(full, default="").rpartition(".")[2], None)
    error = isinstance(builtin, type) and issubclass(builtin, BaseException)
    return rule.name == "builtins.*" and callable(builtin) and not error


def _parts_of_more(tree: ast.AST) -> set[int]:
    """Attributes that are operands or have parts taken of them, so that none is handed over."""
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            parts.add(id(node.value))
        elif isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp):
            parts |= {id(iter_child_node) for iter_child_node in ast.iter_child_nodes(node)}
        elif isinstance(node, ast.For | ast.comprehension):
            parts.add(id(node.iter))
    return parts
