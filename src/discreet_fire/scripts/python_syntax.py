"""The tree of a Python script, in the form that R scripts have too.

In: the text of a script, and what `ast` reads in it. Out: one block of nodes with their places.
Parts of a formatted text have the place of all of it; a readable `getattr` is the part it takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from discreet_fire.scripts.tree import Node, text_of
from discreet_fire.texts import Lines

# ruff: noqa: N802

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "^", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&",
    ast.BitXor: "xor", ast.MatMult: "%*%", ast.And: "and", ast.Or: "or", ast.Not: "!",
    ast.Invert: "!", ast.USub: "-", ast.UAdd: "+", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "%in%", ast.NotIn: "%in%", ast.Is: "==",
    ast.IsNot: "!=",
}  # fmt: skip
_HOLDERS = (ast.Tuple, ast.List, ast.Set)


def read_python(text: str, tree: ast.Module | None = None) -> Node:
    r"""The block of a whole script.

    >>> code = "x = df.a[0]\nprint(x)"
    >>> [(node.kind, node.value) for node in read_python(code).parts]
    [('binary', '<-'), ('shown', '')]
    """
    return _Reader(text).block((tree or ast.parse(text)).body)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [*Lines(text).starts, len(text)]
        self.ascii = text.isascii()
        self.formatted: tuple[int, int] | None = None

    def place(self, line: int, column: int) -> int:
        """The tree counts bytes of UTF-8 within a line."""
        start, end = self.starts[line - 1 : line + 1]
        if self.ascii:
            return start + column
        return start + len(self.text[start:end].encode("utf-8")[:column].decode("utf-8"))

    def placed(
        self, one: ast.AST, kind: str, value: str = "", parts: Iterable[Node] = (),
        names: Sequence[str | None] = (),
    ) -> Node:  # fmt: skip
        """A node with the place of one of the tree, or of its parts."""
        inside = [*parts]
        stored = isinstance(getattr(one, "ctx", None), ast.Store | ast.Del)
        if self.formatted is not None:
            node = Node(kind, value, *self.formatted, inside, [*names], stored)
            node.formatted = one
            return node
        where: Any = one
        if hasattr(one, "lineno"):
            start = self.place(where.lineno, where.col_offset)
            end = self.place(where.end_lineno, where.end_col_offset)
        else:
            start, end = (inside[0].start, inside[-1].end) if inside else (0, 0)
        return Node(kind, value, start, end, inside, [*names], stored)

    def all(self, nodes: Iterable[ast.AST]) -> list[Node]:
        """All of some nodes."""
        return [self.node(one) for one in nodes]

    def some(self, one: ast.AST | None) -> Node:
        """A node that may be missing."""
        return Node("missing", "", 0, 0) if one is None else self.node(one)

    def block(self, body: Sequence[ast.AST]) -> Node:
        """Statements."""
        parts = self.all(body)
        start, end = (parts[0].start, parts[-1].end) if parts else (0, 0)
        return Node("block", "", start, end, parts)

    def node(self, one: ast.AST) -> Node:
        """One node."""
        reader = getattr(self, f"_{type(one).__name__}", None)
        if reader is not None:
            return reader(one)  # type: ignore[no-any-return]
        if isinstance(one, ast.pattern):
            node = self.placed(one, "pattern", "", self.all(ast.iter_child_nodes(one)))
            for name in filter(None, (getattr(one, key, None) for key in ("name", "rest"))):
                node.parts.append(self.placed(one, "capture", name))
            return node
        children = (child for child in ast.iter_child_nodes(one) if not _is_sign(child))
        return self.placed(one, "other", "", self.all(children))

    # ------------------------------------------------------------ expressions

    def _Name(self, one: ast.Name) -> Node:
        return self.placed(one, "name", one.id)

    def _Constant(self, one: ast.Constant) -> Node:
        text = isinstance(one.value, str)
        return self.placed(one, "string" if text else "number", str(one.value))

    def _Attribute(self, one: ast.Attribute) -> Node:
        return self.placed(one, "binary", "$", [self.node(one.value), self._word(one, one.attr)])

    def _word(self, one: ast.AST, word: str) -> Node:
        return self.placed(one, "word", word)

    def _Subscript(self, one: ast.Subscript) -> Node:
        place = one.slice
        several = isinstance(place, ast.Tuple) and place.elts
        places = place.elts if several and isinstance(place, ast.Tuple) else [place]
        return self.placed(one, "index", "[", self.all([one.value, *places]))

    def _Slice(self, one: ast.Slice) -> Node:
        return self.placed(one, "slice", "", self.all(ast.iter_child_nodes(one)))

    def _Call(self, one: ast.Call) -> Node:
        function, inputs = self.node(one.func), self.all(one.args)
        if function.kind == "name" and function.value == "getattr" and len(inputs) > 1:
            word = text_of(inputs[1])
            if word is not None:
                return self.placed(one, "binary", "$", [inputs[0], self._word(one, word)])
        named = self.all(keyword.value for keyword in one.keywords)
        names = [*(None for _ in inputs), *(keyword.arg or "**" for keyword in one.keywords)]
        return self.placed(one, "call", "", [function, *inputs, *named], names)

    def _BinOp(self, one: ast.BinOp) -> Node:
        parts = self.all([one.left, one.right])
        return self.placed(one, "binary", _OPERATORS[type(one.op)], parts)

    def _BoolOp(self, one: ast.BoolOp) -> Node:
        whole, *rest = self.all(one.values)
        for part in rest:
            whole = self.placed(one, "binary", _OPERATORS[type(one.op)], [whole, part])
        return whole

    def _Compare(self, one: ast.Compare) -> Node:
        """The third part is looked at only if the first comparison holds."""
        values = self.all([one.left, *one.comparators])
        whole: Node | None = None
        for at, sign in enumerate(one.ops):
            part = self.placed(one, "binary", _OPERATORS[type(sign)], values[at : at + 2])
            whole = part if whole is None else self.placed(one, "binary", "and", [whole, part])
        assert whole is not None
        return whole

    def _UnaryOp(self, one: ast.UnaryOp) -> Node:
        return self.placed(one, "unary", _OPERATORS[type(one.op)], [self.node(one.operand)])

    def _Starred(self, one: ast.Starred) -> Node:
        return self.placed(one, "unary", "*", [self.node(one.value)])

    def _NamedExpr(self, one: ast.NamedExpr) -> Node:
        return self.placed(one, "binary", "<-", self.all([one.target, one.value]))

    def _IfExp(self, one: ast.IfExp) -> Node:
        return self.placed(one, "if", "", self.all([one.test, one.body, one.orelse]))

    def _Tuple(self, one: ast.Tuple | ast.List | ast.Set) -> Node:
        return self.placed(one, "holder", type(one).__name__, self.all(one.elts))

    _List = _Set = _Tuple

    def _Dict(self, one: ast.Dict) -> Node:
        pairs = zip(one.keys, one.values, strict=True)
        return self.placed(one, "dict", "", [self.some(item) for pair in pairs for item in pair])

    def _JoinedStr(self, one: ast.JoinedStr) -> Node:
        outer = self.formatted
        if outer is None:
            self.formatted = self.placed(one, "format").span
        node = self.placed(one, "format", "", self.all(one.values))
        self.formatted = outer
        node.formatted = one
        return node

    def _FormattedValue(self, one: ast.FormattedValue) -> Node:
        more = [self.node(one.format_spec)] if one.format_spec else []
        return self.placed(one, "formatted", "", [self.node(one.value), *more])

    def _Lambda(self, one: ast.Lambda) -> Node:
        return self._function(one, "lambda", [self.node(one.body)])

    def _function(
        self, one: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef, name: str, body: list[Node]
    ) -> Node:
        inputs = one.args
        every = [*inputs.posonlyargs, *inputs.args, *filter(None, [inputs.vararg]),
                 *inputs.kwonlyargs, *filter(None, [inputs.kwarg])]  # fmt: skip
        first = [*(item.annotation for item in every), *inputs.defaults, *inputs.kw_defaults]
        first.append(getattr(one, "returns", None))
        parts = [*self.all(item for item in first if item is not None), *body]
        return self.placed(one, "function", name, parts, [item.arg for item in every])

    def _comprehension(
        self, one: ast.expr, last: Node, generators: Sequence[ast.comprehension], kind: str
    ) -> Node:
        for part in reversed(generators):
            for test in reversed(part.ifs):
                last = self.placed(one, "if", "", [self.node(test), last])
            last = self.placed(
                one, "comprehension", kind, [*self.all([part.target, part.iter]), last]
            )
        return last

    def _ListComp(self, one: ast.ListComp | ast.SetComp) -> Node:
        return self._comprehension(one, self.node(one.elt), one.generators, "list")

    _SetComp = _ListComp

    def _GeneratorExp(self, one: ast.GeneratorExp) -> Node:
        return self._comprehension(one, self.node(one.elt), one.generators, "generator")

    def _DictComp(self, one: ast.DictComp) -> Node:
        last = self.placed(one, "dict", "", self.all([one.key, one.value]))
        return self._comprehension(one, last, one.generators, "list")

    # ------------------------------------------------------------ statements

    def _Expr(self, one: ast.Expr) -> Node:
        return self.placed(one, "shown", "", [self.node(one.value)])

    def _Assign(self, one: ast.Assign) -> Node:
        value = self.node(one.value)
        for target in reversed(one.targets):
            value = self.placed(one, "binary", "<-", [self.node(target), value])
        return value

    def _AugAssign(self, one: ast.AugAssign) -> Node:
        return self.placed(one, "binary", "<-", self.all([one.target, one.value]))

    def _AnnAssign(self, one: ast.AnnAssign) -> Node:
        note, target = self.node(one.annotation), self.node(one.target)
        if one.value is None:
            return self.placed(one, "other", "", [note, target])
        assigned = self.placed(one, "binary", "<-", [target, self.node(one.value)])
        return self.placed(one, "other", "", [note, assigned])

    def _Delete(self, one: ast.Delete) -> Node:
        return self.placed(one, "delete", "", self.all(one.targets))

    def _FunctionDef(self, one: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        defined = self._function(one, one.name, [self.block(one.body)])
        defined.value = "async" if isinstance(one, ast.AsyncFunctionDef) else ""
        return self.placed(one, "define", one.name, [*self.all(one.decorator_list), defined])

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, one: ast.ClassDef) -> Node:
        named = self.all(keyword.value for keyword in one.keywords)
        parts = [*self.all(one.decorator_list), *self.all(one.bases), *named, self.block(one.body)]
        names: list[str | None] = [
            *("@" for _ in one.decorator_list), *(None for _ in one.bases),
            *(keyword.arg or "**" for keyword in one.keywords), "",
        ]  # fmt: skip
        return self.placed(one, "class", one.name, parts, names)

    def _Import(self, one: ast.Import) -> Node:
        parts = [self.placed(item, "alias", item.name, (), [item.asname]) for item in one.names]
        return self.placed(one, "import", "", parts)

    def _ImportFrom(self, one: ast.ImportFrom) -> Node:
        node = self._Import(one)  # type: ignore[arg-type]
        node.kind, node.value = "from", "." * one.level + (one.module or "")
        return node

    def _Return(self, one: ast.Return) -> Node:
        return self.placed(one, "return", "", self.all(filter(None, [one.value])))

    def _Raise(self, one: ast.Raise) -> Node:
        return self.placed(one, "raise", "", self.all(filter(None, [one.exc, one.cause])))

    def _Assert(self, one: ast.Assert) -> Node:
        return self.placed(one, "assert", "", self.all(filter(None, [one.test, one.msg])))

    def _Break(self, one: ast.stmt) -> Node:
        return self.placed(one, "jump")

    _Continue = _Break

    def _Yield(self, one: ast.Yield | ast.YieldFrom | ast.Await) -> Node:
        return self.placed(one, "yield", type(one).__name__, self.all(filter(None, [one.value])))

    _YieldFrom = _Await = _Yield

    def _If(self, one: ast.If) -> Node:
        parts = [self.node(one.test), self.block(one.body), self.block(one.orelse)]
        return self.placed(one, "if", "", parts)

    def _While(self, one: ast.While) -> Node:
        parts = [self.node(one.test), self.block(one.body), self.block(one.orelse)]
        return self.placed(one, "while", "", parts)

    def _For(self, one: ast.For | ast.AsyncFor) -> Node:
        parts = [*self.all([one.target, one.iter]), self.block(one.body), self.block(one.orelse)]
        return self.placed(one, "for", "", parts)

    _AsyncFor = _For

    def _With(self, one: ast.With | ast.AsyncWith) -> Node:
        parts = []
        for item in one.items:
            value = self.node(item.context_expr)
            if item.optional_vars is not None:
                target = self.node(item.optional_vars)
                value = Node("binary", "<-", value.start, target.end, [target, value])
            parts.append(value)
        return self.placed(one, "with", "", [*parts, self.block(one.body)])

    _AsyncWith = _With

    def _Try(self, one: ast.Try) -> Node:
        parts = [self.block(one.body), *self.all(one.handlers)]
        return self.placed(
            one, "try", "", [*parts, self.block(one.orelse), self.block(one.finalbody)]
        )

    _TryStar = _Try

    def _ExceptHandler(self, one: ast.ExceptHandler) -> Node:
        parts = [self.some(one.type), self.block(one.body)]
        return self.placed(one, "handler", one.name or "", parts)

    def _Match(self, one: ast.Match) -> Node:
        return self.placed(one, "match", "", [self.node(one.subject), *self.all(one.cases)])

    def _match_case(self, one: ast.match_case) -> Node:
        parts = [self.node(one.pattern), self.some(one.guard), self.block(one.body)]
        return self.placed(one, "case", "", parts)


def _is_sign(node: ast.AST) -> bool:
    return isinstance(node, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop)
