"""What the names of a Python script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each expression the full names it may be (``pd.crosstab`` is
``pandas.crosstab``), and whether it is clean: made of constants and safe results only.
Scopes are not told apart: a name counts as data if it is data anywhere.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from discreet.output_checking.policy_rules import Action
from discreet.output_checking.scripts.policies import Rule, ScriptPolicy

__all__ = ["Names", "attribute_of"]

_BUILTINS = frozenset(dir(builtins))
_MOST_PARTS = 6
_MOST_ALIASES = 5_000
_OF_FILE = ("__name__", "__file__")
_SAFE = "discreet.output_checking.safe."
_PIECES = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Tuple, ast.List, ast.Set,
    ast.Dict, ast.Starred, ast.Slice, ast.Subscript, ast.JoinedStr, ast.FormattedValue,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.NamedExpr,
    ast.operator, ast.boolop, ast.cmpop, ast.unaryop, ast.expr_context, ast.keyword,
)  # fmt: skip
_HOLDERS = (ast.Name, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.Starred, ast.BoolOp)
_CONSTANT = (ast.Constant, ast.JoinedStr)


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
        #: Full names that a name stands for.
        self.aliases: dict[str, set[str]] = {}
        #: What is bound to a name, from which expression; None if it cannot be known.
        self.bindings: list[tuple[str, ast.AST | None]] = []
        self.direct: list[tuple[str, ast.AST | None]] = []
        self.own: dict[str, ast.AST] = {}
        self.methods: set[str] = set()
        self.tainted: set[str] = set()
        for node in ast.walk(tree):
            self._bind(node)
        self.bound = {name for name, _ in self.bindings} | set(self.aliases) | set(self.own)
        self._alias()
        self._spread()

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
            return frozenset()
        return frozenset(f"{base}.{attribute[1]}" for base in self.resolved(attribute[0]))

    def rules(self, node: ast.AST) -> list[Rule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        full = self.resolved(node)
        rules = [rule for name in sorted(full) for rule in self._of_name(name)]
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
            rules = known or rules or [method]
        return rules

    def _of_name(self, name: str) -> list[Rule]:
        """The rule on a full name; a method of a class of a module is judged as a method too."""
        rule = self.policy.rule(name)
        method = self.policy.rule(f".{name.rpartition('.')[2]}")
        if rule.name.endswith(".*") and method.action is Action.REFUSED:
            return [rule, method]
        return [rule]

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
        is_safe = bool(found) and all(name.startswith(_SAFE) for name in found)
        return is_safe and not self._rebound(node.func)

    def _rebound(self, node: ast.AST) -> bool:
        """Whether the script gives a meaning of its own to the name of a function."""
        root = _root(node)
        given = any(name == root and value is None for name, value in self.bindings)
        return root in self.own or given or any(name == root for name, _ in self.direct)

    def clean(self, node: ast.AST) -> bool:
        """Whether an expression tells nothing of the data."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            if node.id in self.tainted:
                return False
            if alias := self.aliases.get(node.id):
                return all(self._gives_clean(self.policy.rule(name)) for name in alias)
            return node.id in self.bound or node.id in _BUILTINS or node.id in _OF_FILE
        if isinstance(node, ast.Call):
            return self.is_safe(node) or self._clean_call(node)
        if isinstance(node, ast.Attribute):
            full = self.resolved(node)
            if full:
                return all(self._gives_clean(self.policy.rule(name)) for name in full)
            return self.clean(node.value) and not node.attr.startswith(("read", "open"))
        if isinstance(node, _PIECES):
            return all(self.clean(child) for child in ast.iter_child_nodes(node))
        return False

    @staticmethod
    def _gives_clean(rule: Rule) -> bool:
        return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"

    def _clean_call(self, node: ast.Call) -> bool:
        if not all(self.clean(each) for each in (*node.args, *node.keywords)):
            return False
        if self.is_own(node.func):
            return False
        full = self.resolved(node.func)
        if full:
            known = all(self._gives_clean(self.policy.rule(name)) for name in full)
            return known and not self._rebound(node.func)
        attribute = attribute_of(node.func)
        if attribute is None or attribute[1] is None or attribute[1].startswith(("read", "open")):
            return False
        rule = self.policy.rule(f".{attribute[1]}")
        return rule.known and rule.action is not Action.REFUSED and self.clean(attribute[0])

    def _bind(self, node: ast.AST) -> None:
        """Note what a node binds."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.own[node.name] = node
            if isinstance(node, ast.ClassDef):
                inside = (each for each in node.body if isinstance(each, ast.FunctionDef))
                self.methods |= {each.name for each in inside}
        elif isinstance(node, ast.arg):
            self.bindings.append((node.arg, None))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self.bindings.append((node.name, None))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.bindings.append((node.rest, None))
        else:
            for target, value in _assigned(node):
                self._store(target, value)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                self.aliases.setdefault(each.asname or each.name, set()).add(
                    f"{module}.{each.name}" if module.strip(".") else f"{module}{each.name}"
                )
            elif each.asname:
                self.aliases.setdefault(each.asname, set()).add(each.name)
            else:
                root = each.name.partition(".")[0]
                self.aliases.setdefault(root, set()).add(root)

    def _store(self, target: ast.AST, value: ast.AST | None) -> None:
        if isinstance(target, ast.Name):
            self.bindings.append((target.id, value))
            self.direct.append((target.id, value))
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[ast.expr | None] = [value] * len(target.elts)  # type: ignore[list-item]
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts)
            if same and not any(isinstance(each, ast.Starred) for each in target.elts):
                parts = list(value.elts)  # type: ignore[union-attr]
            for each, part in zip(target.elts, parts, strict=True):
                self._store(each, part)
        elif isinstance(target, ast.Starred):
            self._store(target.value, value)
        elif (root := _root(target)) is not None:
            self.bindings.append((root, value))

    def _alias(self) -> None:
        """Follow names that are assigned to names."""
        size = -1
        while size != (size := sum(map(len, self.aliases.values()))) and size < _MOST_ALIASES:
            for name, value in self.direct:
                if value is not None and (found := self.resolved(value)):
                    self.aliases.setdefault(name, set()).update(
                        each
                        for each in found
                        if each.count(".") <= _MOST_PARTS and self.policy.rule(each).known
                    )

    def _spread(self) -> None:
        """Find all names that may hold data."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        fixed = {name for name, _ in self.bindings} - {
            name for name, value in self.bindings if not isinstance(value, _CONSTANT)
        }
        size = -1
        while size != (size := len(self.tainted)):
            for name, value in self.bindings:
                if value is None or not self.clean(value):
                    self.tainted.add(name)
                if name in self.tainted and isinstance(value, _HOLDERS):
                    self.tainted |= {each.id for each in _names(value)} - fixed - set(self.own)
            for call in calls:
                self._taint_by_call(call, fixed)

    def _taint_by_call(self, call: ast.Call, fixed: set[str]) -> None:
        """A method with data makes its object data; own functions may fill what they get."""
        arguments = [*call.args, *(each.value for each in call.keywords)]
        if not all(self.clean(each) for each in arguments):
            attribute = attribute_of(call.func)
            root = _root(attribute[0]) if attribute else None
            is_module = bool(attribute and self.resolved(attribute[0]))
            if root in self.bound and not is_module and root not in self.own:
                self.tainted.add(str(root))
        if self.is_own(call.func) or not (self.resolved(call.func) or attribute_of(call.func)):
            for each in arguments:
                if isinstance(each, ast.Name) and each.id not in fixed and each.id not in self.own:
                    self.tainted.add(each.id)


def attribute_of(node: ast.AST) -> tuple[ast.expr, str | None] | None:
    """Object and name of an attribute, also by `getattr`; the name is None if not readable.

    >>> attribute_of(ast.parse("getattr(df, 'to_' + 'csv')", mode="eval").body)[1]
    'to_csv'
    """
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    is_getattr = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if is_getattr and node.func.id == "getattr" and len(node.args) >= 2:  # type: ignore[attr-defined]
        name = _text(node.args[1])  # type: ignore[attr-defined]
        return node.args[0], name  # type: ignore[attr-defined]
    return None


def _text(node: ast.AST) -> str | None:
    """A text that is written out, perhaps in parts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Targets with what is assigned to them."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        if node.value is not None:
            yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _root(node: ast.AST) -> str | None:
    """The name at the beginning of ``name.part[0].part``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _names(node: ast.AST) -> Iterator[ast.Name]:
    """Names that a display holds as they are."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, _HOLDERS):
        for child in ast.iter_child_nodes(node):
            yield from _names(child)
