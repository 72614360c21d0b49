"""What the names of an R script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each call the function's name, and for each expression
whether it is clean: made of constants only. Scopes are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.policies import Rule, ScriptPolicy
from discreet.output_checking.scripts.r_tree import Node

__all__ = ["ASSIGNS", "RNames", "arguments", "is_assignment"]

ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
_CONSTANTS = frozenset(
    (
        "TRUE",
        "FALSE",
        "NULL",
        "NA",
        "NA_integer_",
        "NA_real_",
        "NA_character_",
        "Inf",
        "NaN",
        "pi",
        "T",
        "F",
        "letters",
        "LETTERS",
        "month.name",
        "month.abb",
        "version",
    )
)
_CLEAN_KINDS = ("binary", "unary", "paren", "index", "missing", "if", "block")
_PIPES = ("|>", "%>%", "%T>%", "%<>%", "%$%")
_MODELS = frozenset({"lm", "glm"})


class RNames:
    """The names of one script.

    >>> from discreet.output_checking.scripts.r_tree import parse_r
    >>> tree = parse_r("p <- print; n <- 3; d <- read.csv('a')")
    >>> names = RNames(tree, ScriptPolicy.default("r"))
    >>> sorted(names.tainted), sorted(names.aliases["p"])
    (['d', 'p'], ['print'])
    """

    def __init__(self, tree: list[Node], policy: ScriptPolicy) -> None:
        self.policy = policy
        self.bindings: list[tuple[str, Node | None]] = []
        self.functions: set[str] = set()
        self.aliases: dict[str, set[str]] = {}
        self.tainted: set[str] = set()
        for top in tree:
            for node in top.walk():
                self._bind(node)
        self.bound = {name for name, _ in self.bindings}
        for _ in range(len(self.bindings) + 1):
            if not self._alias():
                break
        size = -1
        while size != (size := len(self.tainted)):
            for name, value in self.bindings:
                if value is None or not self.clean(value):
                    self.tainted.add(name)

    def _bind(self, node: Node) -> None:
        if is_assignment(node):
            target, value = node.parts if node.value[0] != "-" else reversed(node.parts)
            name = _root(target)
            if name and target.kind in ("name", "string"):
                self.bindings.append((name, value))
                if value.kind == "function":
                    self.functions.add(name)
            elif name:
                self.bindings.append((name, value))
        elif node.kind == "for":
            self.bindings.append((node.value, node.parts[0]))
        elif node.kind == "function":
            self.bindings.extend((name, None) for name in node.names if name)
        elif node.kind == "binary" and node.value == "%<>%" and (name := _root(node.parts[0])):
            self.bindings.append((name, None))

    def _alias(self) -> bool:
        """Follow functions that are given other names; whether anything was new."""
        before = sum(map(len, self.aliases.values()))
        for name, value in self.bindings:
            while value is not None and value.kind in ("paren", "block") and value.parts:
                value = value.parts[-1]
            found = set() if value is None else self.called(value)
            if any(self.policy.rule(each).known for each in found):
                self.aliases.setdefault(name, set()).update(found)
        return before != sum(map(len, self.aliases.values()))

    def called(self, function: Node) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            found = set(self.aliases.get(function.value, ()))
            alias = bool(found) or function.value in self.functions
            if not alias or self.policy.rule(function.value).known:
                found.add(function.value)
            return found
        if function.kind == "binary" and function.value in ("::", ":::"):
            package, name = function.parts[0].value, function.parts[1].value
            full = f"{package}::{name}"
            return {full} if self.policy.rule(full).known else {name}
        if function.kind == "paren":
            return self.called(function.parts[0])
        return set()

    def rules(self, function: Node) -> list[Rule]:
        """The rules on what an expression may be as a function."""
        return [self.policy.rule(name) for name in sorted(self.called(function))]

    def is_own(self, function: Node) -> bool:
        """Whether it is a function of this script."""
        known = function.kind == "name" and function.value in self.functions
        return known and not self.policy.rule(function.value).known

    def clean(self, node: Node) -> bool:
        """Whether an expression tells nothing of the data."""
        if node.kind in ("number", "string", "function"):
            return True
        if node.kind == "name":
            if node.value in self.tainted:
                return False
            return node.value in self.bound or node.value in _CONSTANTS
        if node.kind == "binary":
            if node.value in ("::", ":::") or node.value in _PIPES:
                return False
            if node.value in ("$", "@"):
                return self.clean(node.parts[0])
            if node.value == "~":
                return True
            if node.value in ASSIGNS:
                return self.clean(node.parts[0 if node.value[0] == "-" else 1])
        if node.kind == "call":
            rules = self.rules(node.parts[0])
            rebound = node.parts[0].value in self.bound
            gives = all(r.role == "clean" and r.action is Action.ALLOWED for r in rules)
            return bool(rules) and gives and not rebound and all(map(self.clean, node.parts[1:]))
        return node.kind in _CLEAN_KINDS and all(map(self.clean, node.parts))

    def is_model(self, node: Node) -> bool:
        """Whether a name holds models of least squares or generalised linear models only."""
        values = [value for name, value in self.bindings if name == node.value]
        return (
            node.kind == "name"
            and bool(values)
            and all(
                value is not None
                and value.kind == "call"
                and bool(found := self.called(value.parts[0]))
                and found <= _MODELS
                for value in values
            )
        )


def is_assignment(node: Node) -> bool:
    """Whether a node assigns."""
    return node.kind == "binary" and node.value in ASSIGNS


def arguments(node: Node) -> Iterator[tuple[str | None, Node]]:
    """The arguments of a call with their names."""
    return zip(node.names, node.parts[1:], strict=True)


def _root(node: Node) -> str:
    """The name that an assignment changes: ``x`` in ``names(x)[1]$a <- …``."""
    while node.kind not in ("name", "string"):
        if node.kind == "call":
            if len(node.parts) < 2:
                return ""
            node = node.parts[1]
        elif node.parts:
            node = node.parts[0]
        else:
            return ""
    return node.value
