"""What a Python script binds to names: by assignments, imports, definitions and loops.

In: the syntax tree. Out: pairs of names and the expressions they are bound to. Scopes are
not told apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

HOLDERS = (ast.Name, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.Starred, ast.BoolOp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PARTS = (ast.Attribute, ast.Subscript, ast.Starred)


class PythonBindings:
    r"""The bindings of one script.

    >>> made = PythonBindings(ast.parse("import os as o\nx = y = 3\nclass A:\n    v = x"))
    >>> made.aliases, sorted({name for name, _ in made.pairs}), sorted(made.own)
    ({'o': {'os'}}, ['A', 'v', 'x', 'y'], ['A'])
    """

    def __init__(self, tree: ast.Module) -> None:
        #: Full names that a name stands for.
        self.aliases: dict[str, set[str]] = {}
        #: What is bound to a name, from which expression; None if it cannot be known.
        self.pairs: list[tuple[str, ast.AST | None]] = []
        #: The same for whole names only, not for ``name.part = …``.
        self.direct: list[tuple[str, ast.AST | None]] = []
        self.own: dict[str, ast.AST] = {}
        self.methods: set[str] = set()
        #: Names of the objects of own classes within their methods.
        self.selves: set[str] = set()
        for node in ast.walk(tree):
            self._bind(node)
        self.functions = {name for name, node in self.own.items() if isinstance(node, _FUNCTIONS)}
        self.names = {name for name, _ in self.pairs} | set(self.aliases) | set(self.own)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, _FUNCTIONS):
            self.own[node.name] = node
        elif isinstance(node, ast.arg):
            self.pairs.append((node.arg, None))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self.pairs.append((node.name, None))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.pairs.append((node.rest, None))
        else:
            for target, value in _assigned(node):
                self._store(target, value)
            if isinstance(node, ast.Assign) and len(node.targets) > 1:
                # Names of one object: what is put into it by one is seen by the others.
                same = [item for item in node.targets if isinstance(item, ast.Name)]
                self.pairs.extend((a.id, b) for a in same for b in same if a is not b)

    def _class(self, node: ast.ClassDef) -> None:
        """A class holds what its body and its methods put into it."""
        self.own[node.name] = node
        inside = methods_of(node)
        self.methods |= {entry.name for entry in inside}
        self.selves |= {entry.args.args[0].arg for entry in inside if entry.args.args}
        self.pairs.extend((node.name, base) for base in node.bases)
        if node.keywords:
            # What its metaclass gives is not known.
            self.pairs.append((node.name, None))
        waiting: list[ast.AST] = list(node.body)
        while waiting:
            item = waiting.pop()
            self.pairs.extend((node.name, value) for _, value in _assigned(item))
            if not isinstance(item, _FUNCTIONS):
                waiting.extend(ast.iter_child_nodes(item))
        for method in inside:
            for item in ast.walk(method):
                for target, value in _assigned(item):
                    if isinstance(target, ast.Attribute):
                        self.pairs.append((node.name, value))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name in node.names:
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                self.aliases.setdefault(name.asname or name.name, set()).add(
                    f"{module}.{name.name}" if module.strip(".") else f"{module}{name.name}"
                )
            elif name.asname:
                self.aliases.setdefault(name.asname, set()).add(name.name)
            else:
                root = name.name.partition(".")[0]
                self.aliases.setdefault(root, set()).add(root)

    def _store(self, target: ast.AST, value: ast.AST | None) -> None:
        if isinstance(target, ast.Name):
            self.pairs.append((target.id, value))
            self.direct.append((target.id, value))
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[ast.expr | None] = [value] * len(target.elts)  # type: ignore[list-item]
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts)
            if same and not any(isinstance(elt, ast.Starred) for elt in target.elts):
                parts = list(value.elts)  # type: ignore[union-attr]
            for item, part in zip(target.elts, parts, strict=True):
                self._store(item, part)
        elif isinstance(target, ast.Starred):
            self._store(target.value, value)
        else:
            # Where something is put tells as much as what: ``flags[df.x.max()] = 1``.
            for name in roots_of(target):
                self.pairs.append((name, value))
                self.pairs.extend((name, place) for place in _places(target))


def methods_of(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    r"""The methods of a class, also those that stand in an `if` or `try` of its body.

    >>> [each.name for each in methods_of(ast.parse("class A:\n if b:\n  def f(): pass").body[0])]
    ['f']
    """
    methods: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, _FUNCTIONS):
            methods.append(item)
        elif not isinstance(item, ast.ClassDef):
            waiting += ast.iter_child_nodes(item)
    return methods


def attribute_of(node: ast.AST) -> tuple[ast.expr, str | None] | None:
    """Object and name of an attribute, also by `getattr`; the name is None if not readable.

    >>> attribute_of(ast.parse("getattr(df, 'to_' + 'csv')", mode="eval").body)[1]
    'to_csv'
    """
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    is_getattr = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if is_getattr and node.func.id == "getattr" and len(node.args) >= 2:  # type: ignore[attr-defined]
        name = text_of(node.args[1])  # type: ignore[attr-defined]
        return node.args[0], name  # type: ignore[attr-defined]
    return None


def word_of(function: ast.AST) -> str:
    """The last word of the name of a function; empty if it has none.

    >>> word_of(ast.parse("a.b", mode="eval").body)
    'b'
    """
    attribute = attribute_of(function)
    return str((attribute[1] if attribute else getattr(function, "id", "")) or "")


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """What a call is given, by place or by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def text_of(node: ast.AST) -> str | None:
    """A text that is written out, perhaps in parts.

    >>> text_of(ast.parse("'to_' + 'csv'", mode="eval").body)
    'to_csv'
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    return None


def root_of(node: ast.AST) -> str | None:
    """The name at the beginning of ``name.part[0].part``."""
    while isinstance(node, _PARTS):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def roots_of(node: ast.AST) -> set[str]:
    """All names whose objects an expression may hand out: ``a`` and ``b`` in ``f(a, b).part``.

    >>> sorted(roots_of(ast.parse("f(a).x[b]", mode="eval").body))
    ['a', 'f']
    """
    while isinstance(node, _PARTS):
        node = node.value
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Call):
        inside = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        return set[str]().union(*(roots_of(item) for item in inside))
    if isinstance(node, ast.NamedExpr):
        return {node.target.id} | roots_of(node.value)
    if isinstance(node, HOLDERS):
        return set[str]().union(
            *(roots_of(iter_child_node) for iter_child_node in ast.iter_child_nodes(node))
        )
    return set()


def _places(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, _PARTS):
        if isinstance(node, ast.Subscript):
            yield node.slice
        node = node.value


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        if node.value is not None:
            yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.Delete):
        yield from (
            (target, target.slice) for target in node.targets if isinstance(target, ast.Subscript)
        )
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
