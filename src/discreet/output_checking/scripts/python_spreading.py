"""Find all names of a Python script that may hold data.

In: the names of a script and the flow through it. Out: the names that are not clean. Each
expression is looked at again only when a name in it turns out to hold data.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.output_checking.scripts.python_bindings import (
    HOLDERS,
    attribute_of,
    roots_of,
)
from discreet.output_checking.scripts.python_flows import Flows

if TYPE_CHECKING:
    from discreet.output_checking.scripts.python_names import Names

__all__ = ["spread"]

_VIEWS = ("items", "values", "get", "setdefault", "pop")
_CONSTANT = (ast.Constant, ast.JoinedStr)


def spread(names: Names, flows: Flows) -> None:
    """Add to the tainted names of a script until nothing is missing.

    Args:
        names: The names; those that hold data are added to `tainted`.
        flows: What is changed under which conditions.
    """
    _Spreading(names, flows).run()


class _Spreading:
    def __init__(self, names: Names, flows: Flows) -> None:
        self.names = names
        self.waiting: list[str] = []
        #: Expressions with the names that hold data if the expression does.
        self.units: list[tuple[ast.AST, frozenset[str]]] = []
        #: Names of objects that other names hold too.
        self.held: dict[str, set[str]] = defaultdict(set)
        pairs = names.bindings
        self.fixed = {name for name, _ in pairs} - {
            name for name, value in pairs if not isinstance(value, _CONSTANT)
        }
        self.fixed -= set(names.own)
        for name, value in pairs:
            if value is None:
                self.taint([name])
                continue
            self.units.append((value, frozenset({name})))
            if isinstance(value, ast.Attribute) and names.acts(value.attr):
                self.taint(self.fillable(roots_of(value) & names.bound - set(names.aliases)))
            if isinstance(value, HOLDERS):
                self.held[name] |= self.fillable(_names(value))
            elif isinstance(value, ast.Subscript) or self.is_view(value):
                self.held[name] |= self.fillable(roots_of(value))
        for condition, changed in flows.under:
            targets = frozenset(changed & names.bound - set(names.aliases))
            if targets:
                self.units.append((condition, targets))
        self.taint(flows.loose & names.bound - set(names.aliases))
        for node in ast.walk(names.tree):
            if isinstance(node, ast.Call):
                self.call(node)

    def fillable(self, found: Iterable[str]) -> set[str]:
        """Names of what something can be put into."""
        return set(found) - self.fixed - self.names.functions

    def call(self, call: ast.Call) -> None:
        """A method with data makes its object data; own functions may fill what they get."""
        names = self.names
        arguments = [*call.args, *(each.value for each in call.keywords)]
        attribute = attribute_of(call.func)
        targets: set[str] = set()
        full = names.resolved(call.func)
        if attribute is not None and not names.resolved(attribute[0]):
            targets |= {each for each in roots_of(attribute[0]) if not names.aliases.get(each)}
        if full and any(rule.role == "acts" for rule in names.rules(call.func)):
            targets |= {name for each in arguments for name in roots_of(each)}
        out = [each.value for each in call.keywords if each.arg == "out"]
        targets |= {name for each in out for name in roots_of(each)}
        targets = self.fillable(targets & names.bound)
        if targets:
            self.units.extend((each, frozenset(targets)) for each in arguments)
        if targets and out and attribute is not None:
            self.units.append((attribute[0], frozenset(targets)))
        if names.is_own(call.func) or not (full or attribute):
            plain = {each.id for each in arguments if isinstance(each, ast.Name)}
            self.taint(self.fillable(plain & names.bound))
        if any(self.is_function(each) for each in arguments):
            # A function that is handed over may fill what is handed over beside it.
            plain = {each.id for each in arguments if isinstance(each, ast.Name)}
            self.taint(self.fillable(plain & names.bound - set(names.aliases)))
        for each in arguments:
            # A method that fills its object is handed over: ``map(found.append, df.x)``.
            if isinstance(each, ast.Attribute) and names.acts(each.attr):
                self.taint(self.fillable(roots_of(each) & names.bound))

    def is_function(self, node: ast.AST) -> bool:
        """Whether an expression is a function of the script."""
        own = isinstance(node, ast.Name) and node.id in self.names.functions
        return own or isinstance(node, ast.Lambda)

    @staticmethod
    def is_view(node: ast.AST) -> bool:
        """Whether an expression hands out the parts of an object as they are."""
        attribute = attribute_of(node.func) if isinstance(node, ast.Call) else None
        return attribute is not None and attribute[1] in _VIEWS

    def taint(self, found: Iterable[str]) -> None:
        new = set(found) - self.names.tainted
        self.names.tainted |= new
        self.waiting.extend(sorted(new))

    def run(self) -> None:
        mentioned: dict[str, list[int]] = defaultdict(list)
        done = [False] * len(self.units)
        for place, (value, targets) in enumerate(self.units):
            if not self.names.clean(value):
                done[place] = True
                self.taint(targets)
                continue
            for name in {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}:
                mentioned[name].append(place)
        while self.waiting:
            name = self.waiting.pop()
            self.taint(self.held.get(name, ()))
            for place in mentioned.get(name, ()):
                value, targets = self.units[place]
                if not done[place] and not self.names.clean(value):
                    done[place] = True
                    self.taint(targets)


def _names(node: ast.AST) -> set[str]:
    """Names that a display holds as they are."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, HOLDERS):
        return set[str]().union(*(_names(child) for child in ast.iter_child_nodes(node)))
    return set()
