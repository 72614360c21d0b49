"""Which conditions decide what a Python script changes.

In: the syntax tree and its bindings. Out: for each condition the names that are changed only if
it holds, or as often as it holds: ``for v in df.x: n += 1`` counts the records, and reads none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from discreet.output_checking.scripts.python_bindings import Bindings, attribute_of, roots_of

__all__ = ["Flows", "failing"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEFT = (*_LOOPS, *_FUNCTIONS)
_TRIES = (ast.Try, ast.TryStar)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Flows:
    r"""The flow of control through one script.

    Args:
        tree: The script.
        bindings: Its names.
        acts: Whether a method of a name changes its object.

    >>> tree = ast.parse("n = 0\nfor v in d:\n    n += 1")
    >>> flows = Flows(tree, Bindings(tree), {"append"}.__contains__)
    >>> [sorted(names) for _, names in flows.under]
    [['n', 'v']]
    """

    def __init__(self, tree: ast.Module, bindings: Bindings, acts: Callable[[str], bool]) -> None:
        self.bindings, self.acts = bindings, acts
        #: Conditions under which a loop or function is left early.
        self.jumps: dict[ast.AST, list[ast.AST]] = {}
        #: Conditions, and what is changed under them.
        self.under: list[tuple[ast.AST, set[str]]] = []
        #: Names that are changed by functions that are handed over: how often is not known.
        self.loose: set[str] = set()
        self._find_jumps(tree, [])
        self._changed: dict[str, set[str]] = {}
        self._changed = self._changes()
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.loose |= self._below(node)
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
                word = node.id if isinstance(node, ast.Name) else node.attr
                if isinstance(node.ctx, ast.Load):
                    self.loose |= self._changed.get(word, set())
        self._visit(tree, ())

    def _find_jumps(self, node: ast.AST, frames: list[tuple[str, ast.AST]]) -> None:
        """Note what guards each `break`, `continue` and `return`."""
        kind = ""
        if isinstance(node, ast.Break | ast.Continue):
            kind = "loop"
        elif isinstance(node, ast.Return):
            kind = "function"
        elif isinstance(node, ast.Raise) and any(each == "try" for each, _ in frames):
            # An error that is caught leaves a loop as `break` does.
            kind = "loop"
        if kind:
            guards: list[ast.AST] = []
            for each, what in reversed(frames):
                if each == kind:
                    self.jumps.setdefault(what, []).extend(guards)
                    break
                if each == "condition":
                    guards.append(what)
            return
        for child, conditions in _children(node):
            inner = frames
            if isinstance(node, _LOOPS):
                inner = [*inner, ("loop", node)]
            elif isinstance(node, _FUNCTIONS):
                inner = [*inner, ("function", node)]
            elif isinstance(node, _TRIES):
                inner = [*inner, ("try", node)]
            self._find_jumps(child, [*inner, *(("condition", each) for each in conditions)])

    def _changes(self) -> dict[str, set[str]]:
        """The names that each function of the script changes, also by others it calls."""
        own = [node for node in self.bindings.own.values() if isinstance(node, _FUNCTIONS)]
        for node in self.bindings.own.values():
            if isinstance(node, ast.ClassDef):
                own.extend(each for each in node.body if isinstance(each, _FUNCTIONS))
        changed: dict[str, set[str]] = {}
        calls: dict[str, set[str]] = {}
        for node in own:
            changed.setdefault(node.name, set()).update(self._below(node))
            calls.setdefault(node.name, set()).update(_called(node))
        size = -1
        while size != (size := sum(map(len, changed.values()))):
            for name, others in calls.items():
                for other in others & set(changed):
                    changed[name] |= changed[other]
        return changed

    def _below(self, node: ast.AST) -> set[str]:
        return {name for each in ast.walk(node) for name in self._changed_by(each)}

    def _changed_by(self, node: ast.AST) -> Iterator[str]:
        """The names that a node itself changes."""
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield from roots_of(node.value)
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Call):
            attribute = attribute_of(node.func)
            word = attribute[1] if attribute else getattr(node.func, "id", None)
            if attribute and word and self.acts(word):
                yield from roots_of(attribute[0])
            elif word == "next":
                yield from (name for each in node.args for name in roots_of(each))
            yield from self._changed.get(str(word), ())

    def _visit(self, node: ast.AST, conditions: tuple[set[str], ...]) -> None:
        for name in self._changed_by(node):
            for each in conditions:
                each.add(name)
        if isinstance(node, _LEFT):
            conditions = (*conditions, *self._sets(self.jumps.get(node, [])))
        inner: tuple[set[str], ...] | None = None
        for child, under in _children(node):
            if under and inner is None:
                inner = (*conditions, *self._sets(under))
            self._visit(child, inner if under and inner is not None else conditions)

    def _sets(self, conditions: list[ast.AST]) -> tuple[set[str], ...]:
        made = [(each, set[str]()) for each in conditions]
        self.under.extend(made)
        return tuple(names for _, names in made)


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The parts of a node, each with the conditions under which it runs."""
    conditions: list[ast.AST] = []
    free: set[int] = set()
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        conditions, free = [node.test], {id(node.test)}
    elif isinstance(node, ast.For | ast.AsyncFor):
        conditions, free = [node.iter], {id(node.iter)}
    elif isinstance(node, ast.BoolOp):
        conditions, free = list(node.values[:-1]), {id(node.values[0])}
    elif isinstance(node, _COMPREHENSIONS):
        for part in node.generators:
            conditions += [part.iter, *part.ifs]
        free = {id(node.generators[0].iter)}
    elif isinstance(node, ast.Match):
        conditions, free = [node.subject], {id(node.subject)}
    elif isinstance(node, ast.match_case) and node.guard is not None:
        conditions, free = [node.guard], {id(node.guard)}
    elif isinstance(node, _TRIES):
        conditions = list(failing(node))
    for child in ast.iter_child_nodes(node):
        yield child, [] if id(child) in free else conditions


def failing(node: ast.Try | ast.TryStar) -> Iterator[ast.expr]:
    """The expressions that decide whether the body of a `try` fails.

    Args:
        node: The statement.
    """
    for statement in node.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.stmt):
                inside = ast.iter_child_nodes(each)
                yield from (part for part in inside if isinstance(part, ast.expr))


def _called(node: ast.AST) -> set[str]:
    """The names of what is called below a node."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            attribute = attribute_of(each.func)
            word = attribute[1] if attribute else getattr(each.func, "id", None)
            found.add(str(word))
    return found
