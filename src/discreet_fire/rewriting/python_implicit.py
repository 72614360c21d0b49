"""What a Python script runs without calling it by name, judged like a call.

In: the tree and what its names stand for. Out: which functions and classes show something, and
reviews where data decide whether they run, or where nobody can tell: properties, constructors,
`with`, decorators, metaclasses, generators, objects that a function from elsewhere gets. Special
methods such as `__iter__` always go to review.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from discreet_fire.flow import grown
from discreet_fire.rewriting.python_replacements import PythonTexts
from discreet_fire.scripts import arguments_of, methods_of, root_of, text_of, word_of

# ruff: noqa: N802, N815

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
#: Names with underscores around them that reach nothing inside Python.
OPEN_WORDS = frozenset(
    ("__name__", "__file__", "__init__", "__version__", "__doc__", "__main__", "__all__")
)
#: Special methods that are judged where they run.
_JUDGED = OPEN_WORDS | {"__call__", "__enter__", "__exit__"}
#: What `with` runs; `contextlib.closing` runs `close`.
_WITH = frozenset(("__enter__", "__exit__", "close"))
_PROPERTIES = frozenset(("property", "cached_property", "setter", "getter", "deleter"))
#: Classes from elsewhere that run no method of another name than their special ones.
_QUIET_BASES = frozenset(("object", "ABC", "Generic", "NamedTuple", "Protocol"))


class ImplicitCalls(PythonTexts):
    """A visitor that knows what runs without being called by name."""

    def find_implicit_calls(self) -> None:
        """Find the functions and classes of the script that show something, or run one that does.

        A class shows if making an object of it does.
        """
        inside = []
        self.properties: set[str] = set()
        for node in (item for item in ast.walk(self.tree) if isinstance(item, _DEFINITIONS)):
            words = {_word(item) for item in node.decorator_list}
            if not isinstance(node, ast.ClassDef):
                self.properties |= {node.name} if words & _PROPERTIES else set()
                inside.append((node.name, *self._run_by(node)))
                continue
            words |= {_word(item) for item in [*node.bases, *(k.value for k in node.keywords)]}
            runs = [
                self._run_by(method) for method in methods_of(node) if method.name == "__init__"
            ]
            words = words.union(*(some for some, _ in runs))
            inside.append((node.name, words, any(shows for _, shows in runs)))
        self.find_speaking(inside)
        #: Names of objects with methods that show.
        self.objects = {
            node.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef) and any(map(self.speaks, methods_of(node)))
        }
        if self.objects:
            grown(self.objects, list(self._handed()), self._holds_object)
        #: Classes where they are named, and neither made nor handed over.
        self._named = {item for node in ast.walk(self.tree) for item in _classes_named(node)}
        self._judge_names()

    def speaks(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a function is one that shows."""
        return node.name in self.speaking

    def _run_by(self, node: ast.AST) -> tuple[set[str], bool]:
        """The words of all that a definition may run, and whether it shows something itself."""
        words: set[str] = set()
        shows = False
        for item in ast.walk(node):
            if isinstance(item, ast.Call):
                words.add(word_of(item.func))
                rules = self.names.rules(item.func)
                shows |= any(r.role == "shows" or r.safe in ("histogram", "info") for r in rules)
            elif isinstance(item, ast.Attribute) and item.attr in self.names.methods:
                words.add(item.attr)
            elif isinstance(item, ast.With | ast.AsyncWith):
                words |= _WITH
            elif isinstance(item, _DEFINITIONS):
                words |= {_word(one) for one in item.decorator_list}
            shows |= isinstance(item, ast.Raise) and "SystemExit" in ast.dump(item)
        return words, shows

    def _handed(self) -> Iterator[tuple[str, ast.AST | None]]:
        """Names with what is bound to them, put into them, or handed to them as arguments."""
        yield from self.names.bindings
        for node in ast.walk(self.tree):
            if isinstance(node, _FUNCTIONS):
                yield node.name, node
            if not isinstance(node, ast.Call):
                continue
            function = self.names.own.get(word_of(node.func))
            if function is not None:
                names = {item.arg for item in ast.walk(function) if isinstance(item, ast.arg)}
            else:
                names = {root_of(node.func) or ""} - set(self.names.aliases)
            yield from ((name, argument) for name in names for argument in arguments_of(node))

    def _holds_object(self, node: ast.AST) -> bool:
        names = (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
        return not self.objects.isdisjoint(names)

    # ------------------------------------------------------------ definitions

    def _judge_names(self) -> None:
        """Special methods that are no functions: a class, or a name that a pattern binds."""
        for node in ast.walk(self.tree):
            kinds = (ast.ClassDef, ast.MatchAs, ast.MatchStar, ast.ExceptHandler, ast.alias)
            name = getattr(node, "asname", None) or getattr(node, "name", None)
            name = getattr(node, "rest", name if isinstance(node, kinds) else None)
            if name and _is_special(name) and name not in OPEN_WORDS:
                self.review(node, "special", f"{name} runs without being called by name")

    def judge_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Functions of which nobody can tell when they run."""
        speaks = self.speaks(node)
        if _is_special(node.name) and (
            node.name not in _JUDGED or (speaks and node.name == "__call__")
        ):
            self.review(node, "special", f"{node.name} runs without being called by name")
        waits = (ast.Yield, ast.YieldFrom)
        lazy = isinstance(node, ast.AsyncFunctionDef) or any(
            isinstance(entry, waits) for entry in ast.walk(node)
        )
        if speaks and lazy:
            message = (
                f"{node.name} shows something, and runs on only where somebody takes its values"
            )
            self.review(node, "special", message)
        for item in node.decorator_list:
            if _word(item) in self.speaking:
                self.branching(item, _word(item))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class runs what its bases and metaclass say; a base from elsewhere runs its parts."""
        bases = [*node.bases, *(keyword.value for keyword in node.keywords), *node.decorator_list]
        for base in bases:
            if _word(base) in self.speaking:
                self.branching(node, node.name)
        if not all(map(self._is_quiet_base, node.bases)):
            for part in methods_of(node):
                if self.speaks(part) and not _is_special(part.name):
                    message = "shows something, and the class that it belongs to may run it"
                    self.review(part, "special", f"{part.name} {message}")
        self.generic_visit(node)

    def is_part_of_property(self, node: ast.expr) -> bool:
        """Whether a decorator says how a property of the script is changed: ``@x.setter``."""
        return _word(node) in _PROPERTIES and root_of(node) in self.properties

    def _is_quiet_base(self, node: ast.expr) -> bool:
        builtin = getattr(builtins, _word(node), None)
        error = isinstance(builtin, type) and issubclass(builtin, BaseException)
        return error or _word(node) in {*_QUIET_BASES, *self.names.own}

    # ------------------------------------------------------------ uses

    def judge_part(self, node: ast.AST, name: str) -> None:
        """A part of an object may be a property, which runs, or a method that is handed over."""
        if name not in self.speaking or name not in self.names.methods:
            return
        if name in self.properties:
            self.branching(node, name)
        else:
            self.review(node, "value", "hands over a function that shows")

    def judge_named_part(self, node: ast.Call) -> None:
        """The same for `getattr` and `hasattr`."""
        name = text_of(node.args[1]) if len(node.args) > 1 else None
        if name is not None:
            self.judge_part(node, name)
        elif self.properties & self.speaking:
            self.branching(node, word_of(node.func))

    def judge_objects(self, node: ast.Call) -> None:
        """A function from elsewhere may run any method of an object that it gets."""
        full = self.names.resolved(node.func)
        known = full and all(name.startswith("builtins.") for name in full)
        acts = not full and self.names.acts(word_of(node.func))
        if known or acts or self.names.is_own(node.func):
            return
        if any(map(self._holds_object, arguments_of(node))):
            self.review(node, "value", "hands over an object with methods that show")

    def hands_over(self, node: ast.Name) -> bool:
        """Whether a name is a function or a class that shows, and stands where others call it."""
        return node.id in self.speaking and id(node) not in self._named

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """`with` runs the ends of what it gets."""
        if not self.speaking.isdisjoint(_WITH):
            self.branching(node, "with")
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """A pattern takes parts of an object."""
        for name in node.kwd_attrs:
            self.judge_part(node, name)
        self.generic_visit(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """How often it runs is decided where somebody takes its values."""
        with self.under(loose=True):
            self.generic_visit(node)


def _word(node: ast.AST) -> str:
    """The last word of what a decorator or a base calls or names."""
    return word_of(node.func if isinstance(node, ast.Call) else node)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _classes_named(node: ast.AST) -> Iterator[int]:
    """Names of classes in annotations, bases, patterns and tests, by the ids of their nodes."""
    nodes = [getattr(node, part, None) for part in ("annotation", "returns", "cls")]
    if isinstance(node, ast.ClassDef):
        nodes += [*node.bases, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.ExceptHandler):
        nodes.append(node.type)
    elif isinstance(node, ast.Raise):
        nodes.append(node.exc)
    elif isinstance(node, ast.Attribute):
        nodes.append(node.value)
    elif isinstance(node, ast.Call) and word_of(node.func) in ("isinstance", "issubclass"):
        nodes += node.args[1:]
    for item in filter(None, nodes):
        parts = isinstance(item, ast.Tuple | ast.Subscript | ast.BinOp)
        inside = ast.walk(item) if parts else [item]
        yield from (id(one) for one in inside if isinstance(one, ast.Name))
