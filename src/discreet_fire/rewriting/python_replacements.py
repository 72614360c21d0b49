"""What a Python script gets instead: safe calls, refusals, places to review.

In: nodes of the tree, and what names stand for. Out: edits and findings: the text of a safe call
where there is one for an expression that would be shown; refusals of modules and of code in
texts (``df.query("…")``, ``df.agg("mean")``, ``smf.ols("y ~ x", df)``), reviews where a text
cannot be read, and where nobody can tell whether something runs that is not called by name: a class
with a method that shows something, generators. Special methods such as `__iter__` always go to
review.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from discreet_fire.catalogue import Action
from discreet_fire.findings import Severity
from discreet_fire.flow import PythonNames, PythonPicks
from discreet_fire.rewriting.changes import Language, ProgramNotes, ScriptJudge, comment_words
from discreet_fire.scripts import attribute_of, methods_of, text_of, word_of

_SAFE = "discreet_fire.statistics"


class PythonNotes(ScriptJudge[ast.AST], ast.NodeVisitor):
    """A visitor that notes safe calls, refusals and reviews.

    With `autoshow` a bare expression is shown, as in notebooks.
    """

    def __init__(
        self, names: PythonNames, notes: ProgramNotes, *, language: Language, autoshow: bool
    ) -> None:
        super().__init__(names, PythonPicks(names), notes, language)
        self.tree, self.names = names.tree, names
        self.autoshow = autoshow
        self._starts = [*notes.lines.starts, len(notes.text)]
        self._ascii = notes.text.isascii()
        self.statement: ast.stmt | None = None
        self.functions = 0
        self.in_pattern = False
        #: What is taken out already.
        self.taken: set[tuple[int, int]] = set()
        classes = (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))
        #: Statements in classes: their names are reached by objects, which are not followed.
        self.in_classes = {id(item) for node in classes for item in node.body}
        #: The formatted text that a part of one is in, since places inside are not known.
        self._texts: dict[int, ast.AST] = {}
        for text in (n for n in ast.walk(self.tree) if isinstance(n, ast.JoinedStr)):
            if id(text) not in self._texts:
                self._texts |= dict.fromkeys(map(id, ast.walk(text)), text)
        loads = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name))
        self._loads = Counter(n.id for n in loads if isinstance(n.ctx, ast.Load))
        self._simple = {
            node.targets[0].id: node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        }

    def numbers(self, node: ast.AST) -> bool:
        """Whether an expression is made of numbers only."""
        plain = (ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.Tuple, ast.List, ast.Load)
        inside = (item for item in ast.walk(node) if not isinstance(item, plain))
        return all(isinstance(x, ast.Constant) and not isinstance(x.value, str) for x in inside)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node starts and ends in the text."""
        line = getattr(node, "lineno", None)
        if line is None:
            return 0, 0
        start = self._offset(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def _offset(self, line: int, column: int) -> int:
        """The tree counts bytes of UTF-8 within a line."""
        start, end = self._starts[line - 1 : line + 1]
        if self._ascii:
            return start + column
        before = self.notes.text[start:end].encode("utf-8")[:column]
        return start + len(before.decode("utf-8"))

    def visit_Import(self, node: ast.Import) -> None:
        """Modules by their names."""
        for name in node.names:
            self._judge_module(node, name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Names of modules."""
        module = "." * node.level + (node.module or "")
        for name in node.names:
            rule = self.names.policy.rule(f"{module}.{name.name}")
            if name.name == "*":
                self.refuse(node, "import", module, "a star import hides which names there are")
            elif rule.role == "shows" and id(node) in self.in_classes:
                self.refuse(node, "import", rule.name, "hands over a function that shows")
            else:
                self._judge_module(node, module, name.name)

    def _judge_module(self, node: ast.stmt, module: str, name: str = "") -> None:
        whole = f"{module}.{name}".rstrip(".")
        if name:
            module, _, name = whole.rpartition(".")
        else:
            module = whole
        rules = self.names.of_name(f"{module}.{name}") if name else []
        rules.append(self.names.policy.rule(f"{module}.{name or '*'}"))
        inner = self.names.policy.rule(f"{name.strip('_')}.*")
        own = self.names.policy.rules.get(f"{module}.{name}.*")
        if inner.action is Action.REFUSED and own is None and name:
            # A module that another one has loaded: ``from platform import subprocess``.
            rules.append(inner)
        rule = max(rules, key=lambda each: (each.known, each.action.rank))
        if module.startswith("discreet"):
            if f"{module}.{name}" != _SAFE and module != _SAFE:
                message = "only discreet_fire.statistics may be used"
                self.refuse(node, "import", module, message)
            elif rule.action is Action.REFUSED:
                self.refuse(node, "import", f"{module}.{name}".rstrip("."), rule.reason)
        elif rule.action is Action.REFUSED and (
            module != "builtins" or id(node) in self.in_classes
        ):
            self.refuse(node, "import", f"{module}.{name}".rstrip("."), rule.reason)
        elif not rule.known and not self._some(module):
            hint = "give its source to review, or add a rule for it"
            message = f"no rule for the module {module}; what it does is not known"
            self.notes.find("import", Severity.REVIEW, message, self.span(node), hint)

    def _some(self, module: str) -> bool:
        return any(name.startswith(f"{module}.") for name in self.names.policy.rules)

    # ------------------------------------------------------------ safe calls

    def wrapped(self, node: ast.AST) -> str | None:
        """The safe call for an expression, as text; for a name, the name itself."""
        if isinstance(node, ast.Name):
            return node.id if self._held(node) is not None else None
        if not isinstance(node, ast.Call):
            return None
        if (within := self._inner(node)) is not None:
            return None if isinstance(within, ast.Name) else self.wrapped(within)
        full = self.names.resolved(node.func)
        rules = self.names.rules(node.func)
        safe = {rule.safe for rule in rules if rule.action is Action.WRAPPED}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        if id(node) in self._texts:
            return self._written(node, safe.pop())
        start, end = self.span(node)
        function = self.span(node.func)[1]
        inner = self.notes.text[function:end].strip()
        if not inner.startswith("(") or "#" in inner:
            return None
        inner = inner[1:-1].strip()
        if full:
            return f"fdz_safe.{safe.pop()}({inner})"
        return self._method(node.func, start, function, safe.pop(), inner)

    def split(self, node: ast.expr) -> tuple[str, list[ast.Name]] | None:
        """The parts of a formatted text as arguments of `print`, with names whose values change.

        None if a part of it has no safe form.
        """
        if not isinstance(node, ast.JoinedStr):
            return None
        parts: list[str] = []
        held: list[ast.Name] = []
        for value in node.values:
            inner = value.value if isinstance(value, ast.FormattedValue) else None
            if inner is None or self.names.clean(value):
                parts.append(ast.unparse(ast.JoinedStr(values=[value])))
            elif (safe := self.wrapped(inner)) is not None:
                parts.append(safe)
                held += [inner] if isinstance(inner, ast.Name) else []
            else:
                return None
        return ", ".join(parts), held

    def _inner(self, node: ast.Call) -> ast.expr | None:
        """What `round` and `str` are put around."""
        full = self.names.resolved(node.func)
        around = bool(full) and all(self.names.has(name, "around") for name in full)
        plain = around and bool(node.args) and not node.keywords
        if not plain or not all(map(self.names.clean, node.args[1:])):
            return None
        return node.args[0]

    def _written(self, node: ast.Call, safe: str) -> str | None:
        """The safe call for a part of a formatted text, whose place in the text is not known."""
        arguments = [ast.unparse(arg) for arg in node.args]
        arguments += [ast.unparse(keyword) for keyword in node.keywords]
        if not self.names.resolved(node.func):
            if not isinstance(node.func, ast.Attribute):
                return None
            first = [ast.unparse(node.func.value)]
            arguments = [
                *first,
                *([repr(node.func.attr)] if safe == "statistic" else []),
                *arguments,
            ]
        return f"fdz_safe.{safe}({', '.join(arguments)})"

    def _method(
        self, function: ast.expr, start: int, end: int, safe: str, inner: str
    ) -> str | None:
        if not isinstance(function, ast.Attribute):
            return None
        text = self.notes.text[start:end]
        before = text.removesuffix(function.attr).rstrip()
        if before + function.attr == text or "#" in text or not before.endswith("."):
            before = text[: -len(function.attr)].rstrip() if text.endswith(function.attr) else ""
        if not before.endswith(".") or "#" in text:
            return None
        parts = [before.removesuffix(".").rstrip()]
        if safe == "statistic":
            parts.append(repr(function.attr))
        return f"fdz_safe.{safe}({', '.join([*parts, *([inner] if inner else [])])})"

    def _held(self, node: ast.Name) -> ast.expr | None:
        """What a name holds, if it is bound once and used nowhere but here."""
        value = self._simple.get(node.id)
        once = len(self.names.values.get(node.id, ())) == 1 and self._loads[node.id] == 1
        if value is None or not once or isinstance(value, ast.Name):
            return None
        return value if self.wrapped(value) is not None else None

    def put_safe(self, node: ast.AST, text: str) -> None:
        """Note the edit that puts a safe call in place of an expression."""
        target: ast.AST = node
        if isinstance(node, ast.Name):
            held = self._held(node)
            assert held is not None
            target, text = held, self.wrapped(held) or ""
        name = text.partition("fdz_safe.")[2].partition("(")[0]
        self.wrap(self.span(target), text, name)

    # ------------------------------------------------------------ targets

    def judge_target(self, target: ast.AST, value: ast.AST | None = None) -> None:
        """Modules and the environment must stay as they are, but for their settings."""
        if isinstance(target, ast.Tuple | ast.List):
            for elt in target.elts:
                self.judge_target(elt)
        elif isinstance(target, ast.Starred):
            self.judge_target(target.value)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            full = self.names.resolved(target.value)
            modules = {"builtins"}.union(*self.names.aliases.values())
            if not full & modules and not any("." in name for name in full):
                return
            whole = self.names.resolved(target) or full
            settings = all(self.names.policy.rule(name).role == "acts" for name in whole)
            plain = value is not None and (
                isinstance(value, ast.Attribute | ast.Lambda) or self.names.clean(value)
            )
            if not settings or not plain:
                message = "changes a module, its functions or the environment"
                self.refuse(self.statement or target, "monkeypatch", "assignment", message)

    # ------------------------------------------------------------ what is noted

    def withhold(self, node: ast.AST, rule: str, what: str, kind: str = "") -> None:
        """Put a text without figures in place of a message."""
        span = self.span(node)
        self.notes.find(rule, Severity.REFUSED, f"{rule}: {what}", span)
        text = f'{kind}("{self.wording}")' if kind else f'"{self.wording}"'
        self.notes.replace(span, text, rule, rule, Action.REFUSED, what)

    def refuse(self, node: ast.AST, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.notes.find(rule, Severity.REFUSED, f"{name}: {what}", self.span(node), hint)
        statement = self.statement
        whole = isinstance(statement, ast.Expr | ast.Import | ast.ImportFrom | ast.Delete)
        whole |= node is statement
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole |= self.in_pattern
        whole |= isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        place: ast.AST = statement if whole and statement is not None else node
        if not whole:
            place = self._texts.get(id(node), node)
        span = self.span(place)
        if span in self.taken:
            return
        self.taken.add(span)
        after = f"fdz_safe.refused({name!r})"
        if whole:
            after = "pass"
            if self.notes.last_on_line(span[1]):
                after = f"pass  # {self.wording}: {comment_words(self.notes.text[slice(*span)])}"
        self.notes.replace(span, after, rule, name, Action.REFUSED, what)


_CALLED = re.compile(r"([@\w.]+)\s*\(")
_HIDDEN = re.compile(r"[\])]\s*\(|__")
_EVIDENCE = re.compile(r"[{(][^{}()]*evidence")
_DEEPEST = 6
#: A name that is bound more often than this is not followed.
_MOST = 50


class PythonTexts(PythonNotes):
    """Judges texts that are run."""

    def judge_texts(self, node: ast.Call) -> None:
        """Judge the texts that a call runs, if it runs any."""
        if self.names.does(node.func, "code"):
            for argument in self._arguments(node, ("expr", "formula", "formula_like")):
                for item in self._readable(argument):
                    text = None if item is None else self._code_of(item)
                    if text is None:
                        message = "code in a text that cannot be read from the program"
                        self.review(node, "text", message)
                    else:
                        self._judge_text(node, text)
        if self.names.does(node.func, "runs"):
            for argument in self._arguments(node, ("func", "aggfunc")):
                self._judge_named(node, argument)

    @staticmethod
    def _arguments(node: ast.Call, keys: tuple[str, ...]) -> Iterator[ast.expr]:
        """The argument that counts: the first, or one by its name."""
        word = word_of(node.func)
        if node.args and word not in ("pivot_table", "crosstab"):
            yield node.args[0]
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in keys:
                yield keyword.value
            elif word not in ("agg", "aggregate"):
                continue
            elif isinstance(keyword.value, ast.Tuple) and len(keyword.value.elts) == 2:
                yield keyword.value.elts[1]
            elif isinstance(keyword.value, ast.Constant) and keyword.arg != "axis":
                yield keyword.value

    def _readable(self, node: ast.AST, depth: int = 0) -> Iterator[ast.AST | None]:
        """What an expression may be, by the names it is bound to; None where it is not known."""
        if isinstance(node, ast.Name) and not self.names.resolved(node):
            values = self.names.values.get(node.id, [])
            if node.id in self.names.own and not values:
                yield node
            elif not values or depth > _DEEPEST or len(values) > _MOST or None in values:
                yield None
            else:
                for item in values:
                    yield from self._readable(item or node, depth + 1)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            for item in node.elts:
                yield from self._readable(item, depth)
        elif isinstance(node, ast.Dict):
            for item in node.values:
                yield from self._readable(item, depth)
        elif isinstance(node, ast.DictComp):
            yield from self._readable(node.value, depth)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield from self._readable(node.elt, depth)
        elif isinstance(node, ast.IfExp):
            yield from self._readable(node.body, depth)
            yield from self._readable(node.orelse, depth)
        else:
            yield node

    # ------------------------------------------------------------ names of functions

    def _judge_named(self, node: ast.Call, argument: ast.expr) -> None:
        for item in self._readable(argument):
            text = None if item is None else text_of(item)
            if text is not None:
                rule = self.names.policy.rule(f".{text}")
                if rule.action is Action.REFUSED or rule.role == "shows":
                    self.refuse(node, "text", rule.name, rule.reason)
                elif not rule.known:
                    self.review(node, "text", f"no rule for the function that a text names: {text}")
            elif item is None or not self._is_function(item):
                self.review(node, "text", "which function runs cannot be read from the program")

    def _is_function(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            full = self.names.resolved(node)
            rules = self.names.rules(node)
            known = bool(rules) and all(rule.known for rule in rules)
            return known or node.attr in self.names.methods or not (full or self.names.clean(node))
        if isinstance(node, ast.Lambda | ast.Name):
            return True
        if isinstance(node, ast.Call):
            full = self.names.resolved(node.func)
            return bool(full) and full <= {"functools.partial"}
        return isinstance(node, ast.Constant)

    # ------------------------------------------------------------ code

    def _code_of(self, node: ast.AST, depth: int = 0) -> str | None:
        """Code that is written out, perhaps in parts; None where a part cannot be read."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if depth > _DEEPEST:
            return None
        parts: list[ast.AST | None] = []
        joint = ""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [node.left, node.right]
        elif isinstance(node, ast.JoinedStr):
            parts = list(node.values)
        elif isinstance(node, ast.FormattedValue):
            parts = [node.value]
        elif isinstance(node, ast.Name | ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp):
            joint, parts = " ", list(self._readable(node))
            parts = [None] if parts == [node] else parts
        elif isinstance(node, ast.Call) and (attribute := attribute_of(node.func)) is not None:
            # Texts that are joined: what stands between them keeps names apart.
            between = text_of(attribute[0])
            if attribute[1] == "join" and between is not None and len(node.args) == 1:
                joint, parts = between, list(self._readable(node.args[0]))
        texts = [None if part is None else self._code_of(part, depth + 1) for part in parts]
        found_all = [text for text in texts if text is not None]
        return joint.join(found_all) if parts and len(found_all) == len(texts) else None

    def _judge_text(self, node: ast.Call, text: str) -> None:
        text = re.sub(r"`[^`]*`", "x", text)
        if _HIDDEN.search(text):
            self.review(node, "text", "code in a text calls what no name tells")
        for match in _CALLED.finditer(text):
            word = match.group(1).replace("@", "")
            parts = word.split(".")
            numpy = parts[0] not in self.names.bound or parts[0] in self.names.aliases
            plain = self.names.policy.words["formulas"]
            if word in plain or (numpy and parts[0] in ("np", "numpy") and parts[-1] in plain):
                continue
            self._judge_word_of_text(node, word)

    def _judge_word_of_text(self, node: ast.Call, word: str) -> None:
        try:
            function = ast.parse(word.strip("."), mode="eval").body
        except SyntaxError:
            self.review(node, "text", "code in a text calls what no name tells")
            return
        rules = self.names.rules(function)
        if word.startswith("."):
            rules = [self.names.policy.rule(f".{word.rpartition('.')[2]}")]
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is None or self.names.is_own(function):
            self.review(node, "text", "code in a text calls a function of this script")
        elif worst.action is Action.REFUSED or any(rule.role == "shows" for rule in rules):
            self.refuse(node, "text", worst.name, worst.reason)
        elif worst.action is Action.REVIEW:
            self.review(node, "text", f"no rule for a function that a text calls: {worst.name}")

    def judge_template(self, node: ast.AST) -> None:
        """Templates that reach into a result: ``"{0.evidence}".format(result)``."""
        text = text_of(node)
        if text is not None and _EVIDENCE.search(text):
            self.refuse(node, "text", "evidence", "true values stay inside the centre")


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Names with underscores around them that reach nothing inside Python.
OPEN_WORDS = frozenset(
    ("__name__", "__file__", "__init__", "__version__", "__doc__", "__main__", "__all__")
)
#: Special methods that nothing is told of unless they show something.
_JUDGED = OPEN_WORDS | {"__call__", "__enter__", "__exit__"}
PROPERTIES = frozenset(("property", "cached_property", "setter", "getter", "deleter"))


class ImplicitCalls(PythonTexts):
    """A visitor that knows what runs without being called by name.

    Methods that show something run as properties, by `with`, by decorators, metaclasses, patterns
    and functions from elsewhere; so a class that has one is looked at as a whole, once.
    """

    def find_implicit_calls(self) -> None:
        """Find the functions of the script that show something, or run one that does."""
        functions = (node for node in ast.walk(self.tree) if isinstance(node, _FUNCTIONS))
        self.find_speaking((node.name, *self._run_by(node)) for node in functions)
        for node in ast.walk(self.tree):
            # Special methods that are no functions: a class, or a name that a pattern binds.
            kinds = (ast.ClassDef, ast.MatchAs, ast.MatchStar, ast.ExceptHandler, ast.alias)
            name = getattr(node, "asname", None) or getattr(node, "name", None)
            name = getattr(node, "rest", name if isinstance(node, kinds) else None)
            if name and _is_special(name) and name not in OPEN_WORDS:
                self.review(node, "special", f"{name} runs without being called by name")

    def _run_by(self, node: ast.AST) -> tuple[set[str], bool]:
        words: set[str] = set()
        shows = False
        for item in ast.walk(node):
            if isinstance(item, ast.Call):
                words.add(word_of(item.func))
                rules = self.names.rules(item.func)
                shows |= any(r.role == "shows" or r.safe in ("histogram", "info") for r in rules)
            shows |= isinstance(item, ast.Raise) and "SystemExit" in ast.dump(item)
        return words, shows

    def judge_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Functions of which nobody can tell when they run."""
        if _is_special(node.name) and node.name not in _JUDGED:
            self.review(node, "special", f"{node.name} runs without being called by name")
        waits = (ast.Yield, ast.YieldFrom)
        lazy = isinstance(node, ast.AsyncFunctionDef) or any(
            isinstance(entry, waits) for entry in ast.walk(node)
        )
        if node.name in self.speaking and lazy:
            message = "shows something, and runs on only where somebody takes its values"
            self.review(node, "special", f"{node.name} {message}")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class with a method that shows something is looked at."""
        named = [method.name for method in methods_of(node) if method.name in self.speaking]
        if named:
            message = "shows something, and may run without being called by name"
            self.review(node, "special", f"{node.name}.{named[0]} {message}")
        self.generic_visit(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """How often it runs is decided where somebody takes its values."""
        with self.under(loose=True):
            self.generic_visit(node)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
