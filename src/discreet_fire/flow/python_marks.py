"""What the names of a Python script stand for, by the rules of the catalogue.

In: the tree. Out: for each expression the full names it may be (``pd.crosstab`` is
``pandas.crosstab``) with their rules, and whether it tells nothing of the data.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow.script_marks import ScriptMarks
from discreet_fire.scripts import Binding, Node

_BUILTINS = frozenset(dir(builtins))
_OF_FILE = ("__name__", "__file__")
_SAFE = "discreet_fire.statistics."
_LARGE = ("pandas.*", "polars.*", "narwhals.*", "pathlib.*", "numpy.*", "scipy.*")
_MAKING = ("from_", "set_", "now", "today", "cwd", "home")
#: Modules that are known by their own rules wherever they are found.
_MODULES = frozenset(sys.stdlib_module_names) | {"builtins", "bltns"}


class PythonMarks(ScriptMarks):
    r"""The names of one script, and what its expressions tell.

    >>> from discreet_fire.scripts import read_python
    >>> text = "import pandas as pd\nn = 3\nt = pd.crosstab(a, b)"
    >>> marks = PythonMarks(read_python(text), ScriptPolicy.default("python"))
    >>> marks.aliases["pd"], [marks.clean(one.parts[0]) for one in marks.tree.parts[1:3]]
    ({'pandas'}, [True, False])
    """

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        super().__init__(tree, policy)
        classes = [node for node in self.nodes if node.kind == "class"]
        defined = [node for node in self.nodes if node.kind == "define"]
        #: Functions and classes of the script.
        self.own = {node.value: node for node in (*defined, *classes)}
        self.methods = {method.value for node in classes for method in node.methods()}
        #: What imports call modules and their parts.
        self.aliases: dict[str, set[str]] = {}
        self._import()
        self.bound = {*self.values, *self.aliases, *self.own}
        self._given = {*self.own, *(name for name, _, whole in self.bindings if whole)}
        self.settle()

    def _bound_by(self, node: Node) -> Iterator[Binding]:
        yield from node.bindings()
        if node.kind == "class":  # what it holds is not followed
            yield node.value, None, False
        function = node.parts[0] if node.kind == "call" else node
        method = self.policy.rule(f".{function.word}")
        if node.kind == "call" and function.is_part and method.role == "acts":
            # What is put into an object by its methods.
            for name in function.parts[0].roots:
                yield from ((name, value, False) for value in node.parts[1:])

    def _import(self) -> None:
        for node in self.nodes:
            for one in node.parts if node.kind in ("import", "from") else ():
                root = one.value.partition(".")[0]
                name, full = one.names[0] or root, one.value if one.names[0] else root
                if node.kind == "from":
                    dots = node.value if not node.value.strip(".") else f"{node.value}."
                    name, full = one.names[0] or one.value, f"{dots}{one.value}"
                self.aliases.setdefault(name, set()).add(full)

    # ------------------------------------------------------------ names and rules

    def resolved(self, node: Node) -> frozenset[str]:
        """The full names that an expression may stand for; none if it is no plain name."""
        if node.kind == "name":
            names = set(self.aliases.get(node.value, ()))
            if node.value == "__builtins__":
                return frozenset({"builtins"})
            if node.value in _BUILTINS:
                names.add(f"builtins.{node.value}")
            elif node.value not in self.bound:
                names.add(node.value)
            return frozenset(names)
        if node.kind == "if" or node.value in ("and", "or", "<-"):
            parts = node.parts[1 if node.kind == "if" or node.value == "<-" else 0 :]
            return frozenset[str]().union(*map(self.resolved, parts))
        if node.kind == "call" and "logging.getLogger" in self.resolved(node.parts[0]):
            return frozenset({"logging.Logger"})
        if not node.is_part:
            return frozenset()
        return frozenset(f"{base}.{node.parts[1].value}" for base in self.resolved(node.parts[0]))

    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        rules = [rule for name in sorted(self.resolved(function)) for rule in self.of_name(name)]
        if function.is_part:
            method = self.policy.rule(f".{function.parts[1].value}")
            known = [rule for rule in rules if rule.known]
            # A function of a module that a rule names as such; otherwise the method counts too.
            exact = [rule for rule in known if not rule.name.endswith(".*")]
            if exact:
                return exact
            if method.known and (not known or method.action is not Action.ALLOWED):
                return [*known, method]
            rules = rules or [method]
        return rules

    def of_name(self, name: str) -> list[CommandRule]:
        """The rules on a full name; within a whole module what a method of that name may not do
        counts too.
        """
        rule = self.policy.rule(name)
        method = self.policy.rule(f".{name.rpartition('.')[2]}")
        forbidden = method.action is Action.REFUSED or (method.known and method.role == "shows")
        return [rule, method] if rule.name.endswith(".*") and forbidden else [rule]

    def is_own(self, function: Node) -> bool:
        """Whether a function is one of this script."""
        if function.kind == "name":
            return function.value in self.own and not self.resolved(function)
        return function.is_part and function.parts[1].value in self.methods

    def is_safe(self, node: Node) -> bool:
        """Whether an expression is a call of a safe function."""
        if node.kind != "call":
            return False
        names = self.resolved(node.parts[0])
        rules = [self.policy.rule(name) for name in names if name.startswith(_SAFE)]
        safe = bool(rules) and len(rules) == len(names) and all(map(_gives_clean, rules))
        return safe and not self._rebound(node.parts[0])

    def _rebound(self, node: Node) -> bool:
        """Whether the script gives the name of a module to something else."""
        return node.base.value in self._given

    # ------------------------------------------------------------ what tells nothing

    def _clean_name(self, node: Node) -> bool:
        if alias := self.aliases.get(node.value):
            return all(map(self._is_clean, alias))
        return node.value in self.bound or node.value in _BUILTINS or node.value in _OF_FILE

    def _is_clean(self, name: str) -> bool:
        return all(map(_gives_clean, self.of_name(name)))

    def _clean_part(self, node: Node) -> bool:
        if full := self.resolved(node):
            return all(map(self._is_clean, full))
        return self.clean(node.parts[0])

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        if self.is_safe(node):
            return True
        if not all(map(self.clean, inputs)):
            return False
        if self.is_own(function):
            return False
        if full := self.resolved(function):
            return all(map(self._is_clean, full)) and not self._rebound(function)
        rule = self.policy.rule(f".{function.word}")
        method = function.is_part and rule.known and rule.action is not Action.REFUSED
        return method and self.clean(function.parts[0])


def _gives_clean(rule: CommandRule) -> bool:
    return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"
