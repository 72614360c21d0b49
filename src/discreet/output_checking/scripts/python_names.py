"""What the names of a Python script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each expression the full names it may be (``pd.crosstab`` is
``pandas.crosstab``), and whether it is clean: made of constants and safe results only.
Scopes are not told apart: a name counts as data if it is data anywhere.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys

from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.policies import Rule, ScriptPolicy
from discreet.output_checking.scripts.python_bindings import (
    Bindings,
    attribute_of,
    root_of,
    roots_of,
    text_of,
)
from discreet.output_checking.scripts.python_flows import Flows
from discreet.output_checking.scripts.python_spreading import spread

__all__ = ["Names"]

_BUILTINS = frozenset(dir(builtins))
_MOST_PARTS = 6
_MOST_ALIASES = 5_000
_OF_FILE = ("__name__", "__file__")
_SAFE = "discreet.output_checking.safe."
_LOGGER = frozenset({"logging.Logger"})
_FOLLOWED = (
    ast.Name, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Call,
)  # fmt: skip
_LARGE = ("pandas.*", "polars.*", "narwhals.*", "pathlib.*", "numpy.*", "scipy.*")
_MAKING = ("from_", "set_", "now", "today", "cwd", "home")
#: Modules that are known by their own rules wherever they are found.
_MODULES = frozenset(sys.stdlib_module_names) | {"builtins", "bltns"}
_PIECES = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Tuple, ast.List, ast.Set,
    ast.Dict, ast.Starred, ast.Slice, ast.Subscript, ast.JoinedStr, ast.FormattedValue,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.NamedExpr,
    ast.operator, ast.boolop, ast.cmpop, ast.unaryop, ast.expr_context, ast.keyword,
)  # fmt: skip


class Names:
    r"""The names of one script.

    >>> tree = ast.parse("import pandas as pd\nf = pd.crosstab\nn = 3\nt = f(a, b)")
    >>> names = Names(tree, ScriptPolicy.default("python"))
    >>> names.resolved(ast.parse("f", mode="eval").body), sorted(names.tainted)
    (frozenset({'pandas.crosstab'}), ['f', 't'])
    """

    def __init__(self, tree: ast.Module, policy: ScriptPolicy) -> None:
        self.policy = policy
        self.tree = tree
        self.made = Bindings(tree)
        self.aliases = self.made.aliases
        self.bindings = self.made.pairs
        self.own, self.methods = self.made.own, self.made.methods
        self.functions = self.made.functions
        self.bound = self.made.names
        self.tainted: set[str] = set()
        #: What each name is bound to.
        self.values: dict[str, list[ast.AST | None]] = {}
        for name, value in self.bindings:
            self.values.setdefault(name, []).append(value)
        self._whole = {name for name, _ in self.made.direct}
        self._given = {name for name, value in self.bindings if value is None}
        self._alias()
        self.flows = Flows(tree, self.made, self.acts)
        spread(self, self.flows)

    def resolved(self, node: ast.AST) -> frozenset[str]:
        """The full names that an expression may stand for; none if it is no plain name."""
        if isinstance(node, ast.Name):
            found = set(self.aliases.get(node.id, ()))
            if node.id == "__builtins__":
                return frozenset({"builtins"})
            if node.id in _BUILTINS:
                found.add(f"builtins.{node.id}")
            elif node.id not in self.bound:
                found.add(node.id)
            return frozenset(found)
        if isinstance(node, ast.IfExp):
            return self.resolved(node.body) | self.resolved(node.orelse)
        if isinstance(node, ast.BoolOp):
            return frozenset[str]().union(*(self.resolved(each) for each in node.values))
        if isinstance(node, ast.NamedExpr):
            return self.resolved(node.value)
        attribute = attribute_of(node)
        if attribute is None or attribute[1] is None:
            if isinstance(node, ast.Call) and "logging.getLogger" in self.resolved(node.func):
                return _LOGGER
            return frozenset()
        return frozenset(f"{base}.{attribute[1]}" for base in self.resolved(attribute[0]))

    def rules(self, node: ast.AST) -> list[Rule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        full = self.resolved(node)
        rules = [rule for name in sorted(full) for rule in self.of_name(name)]
        attribute = attribute_of(node)
        if attribute is not None and attribute[1] is not None:
            method = self.policy.rule(f".{attribute[1]}")
            known = [rule for rule in rules if rule.known]
            # A function of a module that a rule names as such; otherwise the method counts too.
            exact = [rule for rule in known if not rule.name.endswith(".*")]
            if exact:
                return exact
            if method.known and (not known or method.action is not Action.ALLOWED):
                return [*known, method]
            rules = rules or [method]
        return rules

    def of_name(self, name: str) -> list[Rule]:
        """The rules on a full name; what a rule on a whole module covers is judged further.

        A method of a class of a module is judged as a method too, a module that another one
        has loaded (``platform.subprocess``) as itself, and ``module.print`` as `print`.
        """
        rule = self.policy.rule(name)
        if not rule.name.endswith(".*"):
            return [rule]
        parts = name.split(".")
        found = [rule]
        method = self.policy.rule(f".{parts[-1]}")
        if method.action is Action.REFUSED:
            found.append(method)
        elif rule.name in _LARGE and len(parts) > 2 and parts[-2][:1].isupper():
            # A method of a class of a large package: ``polars.DataFrame.serialize``.
            unknown = not method.known and not parts[-1].startswith(_MAKING)
            found += [method] if unknown else []
        for place in range(rule.name.count("."), len(parts) - 1):
            part = parts[place].strip("_")
            if part in _MODULES and part != parts[0]:
                found.append(self.policy.rule(".".join([part, *parts[place + 1 :]])))
        builtin = self.policy.rule(f"builtins.{parts[-1]}")
        shows = builtin.role == "shows" or builtin.name == "builtins.open"
        if not builtin.name.endswith("*") and (builtin.action is Action.REFUSED or shows):
            found.append(builtin)
        return found

    def acts(self, method: str) -> bool:
        """Whether a method changes its object."""
        return self.policy.rule(f".{method}").role == "acts"

    def is_own(self, node: ast.AST) -> bool:
        """Whether a function is one of this script."""
        if isinstance(node, ast.Name):
            return node.id in self.own and not self.resolved(node)
        attribute = attribute_of(node)
        return attribute is not None and attribute[1] in self.methods

    def is_safe(self, node: ast.AST) -> bool:
        """Whether an expression is a call of a safe function."""
        if not isinstance(node, ast.Call):
            return False
        found = self.resolved(node.func)
        rules = [self.policy.rule(name) for name in found if name.startswith(_SAFE)]
        is_safe = bool(rules) and len(rules) == len(found) and all(map(self._gives_clean, rules))
        return is_safe and not self._rebound(node.func)

    def _rebound(self, node: ast.AST) -> bool:
        """Whether the script gives a meaning of its own to the name of a function."""
        root = root_of(node)
        return root in self.own or root in self._given or root in self._whole

    def clean(self, node: ast.AST) -> bool:
        """Whether an expression tells nothing of the data."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            if node.id in self.tainted:
                return False
            if alias := self.aliases.get(node.id):
                return all(self._clean_name(name) for name in alias)
            return node.id in self.bound or node.id in _BUILTINS or node.id in _OF_FILE
        if isinstance(node, ast.Call):
            return self.is_safe(node) or self._clean_call(node)
        if isinstance(node, ast.Attribute):
            full = self.resolved(node)
            if full:
                return all(self._clean_name(name) for name in full)
            if isinstance(node.value, ast.Name) and node.value.id in self.functions:
                return False
            return self.clean(node.value) and not node.attr.startswith(("read", "open"))
        if isinstance(node, _PIECES):
            return all(self.clean(child) for child in ast.iter_child_nodes(node))
        return False

    @staticmethod
    def _gives_clean(rule: Rule) -> bool:
        return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"

    def _clean_name(self, name: str) -> bool:
        if name.rpartition(".")[2].startswith(("read", "open")):
            return False
        return all(map(self._gives_clean, self.of_name(name)))

    def is_plain_error(self, node: ast.AST) -> bool:
        """Whether an expression is an error class of this script that says what it is given."""
        found = self.own.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, ast.ClassDef) or node.id in self.tainted:  # type: ignore[attr-defined]
            return False
        quiet = all(isinstance(each, ast.Pass | ast.Expr) for each in found.body)
        return quiet and not found.keywords and all(
            isinstance(each, ast.Name) and (each.id in _BUILTINS or self.is_plain_error(each))
            for each in found.bases
        )  # fmt: skip

    def _clean_call(self, node: ast.Call) -> bool:
        if not all(self.clean(each) for each in (*node.args, *node.keywords)):
            return False
        if self.is_own(node.func):
            return self.is_plain_error(node.func)
        full = self.resolved(node.func)
        if full:
            known = all(self._clean_name(name) for name in full) or self._clean_method(node.func)
            return known and not self._rebound(node.func)
        attribute = attribute_of(node.func)
        if attribute is None or attribute[1] is None or attribute[1].startswith(("read", "open")):
            return False
        rule = self.policy.rule(f".{attribute[1]}")
        if attribute[1] in ("format", "format_map") and not _plain_template(attribute[0]):
            return False
        return rule.known and rule.action is not Action.REFUSED and self.clean(attribute[0])

    def _clean_method(self, function: ast.expr) -> bool:
        """Whether it is a method of a clean value of a module: ``sys.version.split``."""
        whole = isinstance(function, ast.Attribute) and all(
            rule.name.endswith(".*") and rule.action is Action.ALLOWED
            for name in self.resolved(function)
            for rule in self.of_name(name)
        )
        if not whole or not isinstance(function, ast.Attribute):
            return False
        return self._gives_clean(self.policy.rule(f".{function.attr}")) and self.clean(
            function.value
        )

    def _alias(self) -> None:
        """Follow names that are assigned to names."""
        waiting: dict[str, list[int]] = {}
        pairs = self.made.direct
        todo = list(range(len(pairs) - 1, -1, -1))
        for place, (_, value) in enumerate(pairs):
            for each in roots_of(value) if isinstance(value, _FOLLOWED) else ():
                waiting.setdefault(each, []).append(place)
        count = 0
        while todo and count < _MOST_ALIASES:
            name, value = pairs[todo.pop()]
            if value is None or not (found := self.resolved(value)):
                continue
            new = {
                each
                for each in found
                if each.count(".") <= _MOST_PARTS and self.policy.rule(each).known
            } - self.aliases.get(name, set())
            if new:
                self.aliases.setdefault(name, set()).update(new)
                count += len(new)
                todo.extend(waiting.get(name, ()))


def _plain_template(node: ast.AST) -> bool:
    """Whether a template takes its arguments as they are, not parts of them: ``{0.part}``."""
    text = text_of(node)
    return text is not None and not re.search(r"\{[^{}:!]*[.\[][^{}]*\}", text)
