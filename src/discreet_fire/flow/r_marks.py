"""What the names of an R script stand for, by the rules of the catalogue.

In: the tree. Out: for each call the rules on its function, and the marks of `ScriptMarks`. Scopes
are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow.script_marks import ScriptMarks
from discreet_fire.scripts import (
    Node,
)

_OUTWARD = ("<<-", "->>")
_FOLLOWED = ("name", "string", "paren", "block", "if", "binary")
_NAMED = ("FUN", "f", ".f", "fn")
_MOST = 10**9


class RMarks(ScriptMarks):
    """The names of one script, and the marks of its expressions.

    >>> from discreet_fire.scripts import read_r
    >>> tree = read_r("p <- print; n <- 3; d <- read.csv('a'); d$m <- max(d$x)")
    >>> marks = RMarks(tree, ScriptPolicy.default("r"))
    >>> sorted(marks.aliases["p"]), [marks.clean(one.parts[0]) for one in tree.parts[:3]]
    (['print'], [False, True, False])
    >>> marks.spreads(tree.parts[3])
    True
    """

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        super().__init__(tree, policy)
        #: Words by what is known of them.
        self.listed = policy.words
        self.functions = {
            name for name, value, whole in self.bindings
            if whole and value is not None and value.kind == "function"
        }  # fmt: skip
        self._models: dict[str, bool] = {}
        self.bound = set(self.values)
        self.follow_aliases(_followed, self._functions_in, _MOST)
        #: Methods, which run without being called by name.
        self.own_methods = {name for name in self.functions if self._generic(name)}
        self.settle((), self.bound)

    def _generic(self, name: str) -> bool:
        """Whether a function is a method of one that has a rule, of an operator or of a group."""
        parts = name.split(".")
        if self.policy.rule(name).known:
            return False
        stems = {".".join(parts[:place]) for place in range(1, len(parts))}
        own = self.listed["syntax"] | self.listed["groups"] | self.listed["texts"]
        return any(item in own or self.policy.rule(item).known for item in stems)

    def _functions_in(self, value: Node) -> set[str]:
        functions = self._meant(value)
        return functions if any(self.policy.rule(item).known for item in functions) else set()

    def _meant(self, value: Node) -> set[str]:
        """The functions that the value of an expression may be."""
        while value.kind in ("paren", "block") and value.parts:
            value = value.parts[-1]
        if value.kind == "if":
            return set[str]().union(*map(self._meant, value.parts[1:]))
        return self.called(value)

    def called(self, function: Node) -> set[str]:
        """Names of the functions that an expression may be."""
        if function.kind in ("name", "string"):
            names = set(self.aliases.get(function.value, ()))
            alias = bool(names) or function.value in self.functions
            if not alias or self.policy.rule(function.value).known:
                names.add(function.value)
            return names
        if function.kind == "binary" and function.value in ("::", ":::"):
            package, name = (part.value for part in function.parts)
            full = f"{package}::{name}"
            return {full} if self.policy.rule(full).known else {name}
        return self.called(function.parts[0]) if function.kind == "paren" else set()

    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on what an expression may be as a function."""
        return [self.policy.rule(name) for name in sorted(self.called(function))]

    def facts(self, function: Node) -> list[CommandRule]:
        """The same: each rule states what a call may do with values, or it may do anything."""
        return self.rules(function)

    def has_trait(self, node: Node, trait: str) -> bool:
        """Whether a rule states this of a function or part."""
        return any(trait in rule.traits for rule in self.rules(node))

    def is_own(self, function: Node) -> bool:
        """Whether it is a function of this script."""
        known = function.kind == "name" and function.value in self.functions
        return known and not self.policy.rule(function.value).known

    def is_model(self, node: Node) -> bool:
        """Whether a name holds models of least squares or generalised linear models only."""
        if node.kind != "name" or node.value not in self.values:
            return False
        if node.value not in self._models:
            self._models[node.value] = all(
                value is not None and value.kind == "call"
                and bool(rules := self.rules(value.parts[0]))
                and all("model" in rule.traits for rule in rules)
                for value in self.values[node.value]
            )  # fmt: skip
        return self._models[node.value]

    # ------------------------------------------------------------ what is clean

    def _clean_name(self, node: Node, held: bool) -> bool:
        return not held and (node.value in self.bound or node.value in self.listed["constants"])

    def _knows_operator(self, sign: str) -> bool:
        if sign in ("::", ":::", "|>"):
            return False
        return sign[0] != "%" or (sign in self.listed["operators"] and sign not in (
            "%>%", "%T>%", "%<>%", "%$%"))  # fmt: skip

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        rules = self.rules(function)
        gives = all(one.role == "clean" and one.action is Action.ALLOWED for one in rules)
        plain = bool(rules) and gives and function.value not in self.bound and not node.value
        return plain and all(map(self.clean, inputs))

    # ------------------------------------------------------------ what is changed

    def decides(self, node: Node) -> bool:
        """Whether the first argument of a call decides how often the others run."""
        return node.kind == "call" and self.policy.rule(node.parts[0].word).may("decides")

    def _effects(self, node: Node) -> Iterable[str]:
        return ()

    def _loose(self) -> set[str]:
        functions = (node for node in self.nodes if node.kind == "function")
        return {
            name for function in functions for item in function.walk()
            if item.kind == "binary" and item.value in _OUTWARD
            for name, _, _ in item.bindings()
        }  # fmt: skip

    # ------------------------------------------------------------ single values and labels

    def _names_picking(self, function: Node, name: str | None, node: Node) -> bool:
        named = node.kind == "name" or (node.kind == "string" and name in _NAMED)
        return named and any(rule.known and rule.may("picks") for rule in self.rules(node))

    def _chosen_into(self, target: Node, value: Node) -> bool:
        """What is chosen from a vector: where it is one value, all records get it."""
        chosen = value.kind == "index" and self._selects(value)
        return chosen and not (target.kind == "index" and self._selects(target))

    def _selects(self, node: Node) -> bool:
        place = node.parts[1] if len(node.parts) > 1 else node
        return place.kind not in ("index", "missing") and self.is_choice(place)

    def _names_columns(self, call: Node) -> bool:
        rules = self.rules(call.parts[0])
        if any("schema" in rule.traits for rule in rules):
            return True
        plain = bool(rules) and all(rule.role == "clean" for rule in rules)
        return plain and not any(self.has(one, 2) for one in call.parts[1:])


def _followed(value: Node) -> Iterator[str]:
    if value.kind in _FOLLOWED:
        yield from (item.value for item in value.walk() if item.kind in ("name", "string"))
