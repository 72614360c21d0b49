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

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "^", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&",
    ast.BitXor: "xor", ast.MatMult: "%*%", ast.And: "and", ast.Or: "or", ast.Not: "!",
    ast.Invert: "!", ast.USub: "-", ast.UAdd: "+", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "%in%", ast.NotIn: "%in%", ast.Is: "==",
    ast.IsNot: "!=",
}  # fmt: skip
#: For each class of `ast` the kind of its node, the value (``.op`` and the like are taken from it),
#: and what are its parts; a part with a question mark may be missing, others are left out then.
_FORMS = {
    name: (kind, value, parts)
    for name, kind, value, *parts in map(str.split, """
        Name name .id
        Attribute binary $ value attr
        Slice slice - lower upper step
        BinOp binary .op left right
        UnaryOp unary .op operand
        Starred unary * value
        NamedExpr binary <- target value
        AugAssign binary <- target value
        IfExp if - test body orelse
        Tuple holder - elts
        List holder - elts
        Set holder - elts
        FormattedValue formatted - value format_spec
        JoinedStr format - values
        Yield yield lazy value
        YieldFrom yield lazy value
        Await yield - value
        Expr shown - value
        Delete delete - targets
        Import import - names
        ImportFrom from .module names
        Return return - value
        Raise raise - exc cause
        Assert assert - test msg
        Break jump -
        Continue jump -
        If if - test body orelse
        While while - test body orelse
        For for - target iter body orelse
        AsyncFor for - target iter body orelse
        With with - items body
        AsyncWith with - items body
        Try try - body handlers orelse finalbody
        TryStar try - body handlers orelse finalbody
        ExceptHandler handler .name type? body
        Match match - subject cases
        match_case case - pattern guard? body
    """.strip().splitlines())
}  # fmt: skip
_BODIES = ("body", "orelse", "finalbody")


def read_python(text: str, tree: ast.Module | None = None) -> Node:
    r"""The block of a whole script.

    >>> code = "x = df.a[0]\nprint(x)"
    >>> [(node.kind, node.value) for node in read_python(code).parts]
    [('binary', '<-'), ('shown', '')]
    """
    return _PythonReader(text).block((tree or ast.parse(text)).body)


class _PythonReader:
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

    def span(self, one: Any, parts: Sequence[Node]) -> tuple[int, int]:
        """Where a node stands, or else its parts."""
        if self.formatted is not None:
            return self.formatted
        if hasattr(one, "lineno"):
            start = self.place(one.lineno, one.col_offset)
            return start, self.place(one.end_lineno, one.end_col_offset)
        return (parts[0].start, parts[-1].end) if parts else (0, 0)

    def placed(
        self, one: ast.AST, kind: str, value: str = "", parts: Iterable[Node] = (),
        names: Sequence[str | None] = (),
    ) -> Node:  # fmt: skip
        """A node with the place of one of the tree, or of its parts."""
        inside = [*parts]
        stored = isinstance(getattr(one, "ctx", None), ast.Store | ast.Del)
        whole = self.formatted is not None or kind == "format"
        place = self.span(one, inside)
        return Node(kind, value, *place, inside, [*names], stored, one if whole else None)

    def all(self, nodes: Iterable[ast.AST | None]) -> list[Node]:
        """All of some nodes, those that are missing too."""
        return [Node("missing", "", 0, 0) if one is None else self.node(one) for one in nodes]

    def block(self, body: Sequence[ast.AST]) -> Node:
        """Statements."""
        parts = self.all(body)
        start, end = (parts[0].start, parts[-1].end) if parts else (0, 0)
        return Node("block", "", start, end, parts)

    def node(self, one: ast.AST) -> Node:
        """One node."""
        name = type(one).__name__
        if (form := _FORMS.get(name)) is not None:
            return self._by_form(one, *form)
        reader = getattr(self, f"_read_{name.lower()}", None)
        if reader is not None:
            return reader(one)  # type: ignore[no-any-return]
        inside = ast.iter_child_nodes(one)
        signs = ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop
        parts = self.all(child for child in inside if not isinstance(child, signs))
        if not isinstance(one, ast.pattern):
            return self.placed(one, "other", "", parts)
        names = filter(None, (getattr(one, key, None) for key in ("name", "rest")))
        parts += [self.placed(one, "capture", name) for name in names]
        return self.placed(one, "pattern", "", parts)

    def _by_form(self, one: ast.AST, kind: str, value: str, fields: Sequence[str]) -> Node:
        if value[0] == ".":
            content = getattr(one, value[1:])
            value = _OPERATORS[type(content)] if value == ".op" else str(content or "")
        outer = self.formatted
        if kind == "format" and outer is None:
            self.formatted = self.span(one, ())
        parts: list[Node] = []
        for field in fields:
            content = getattr(one, field.rstrip("?"))
            if isinstance(content, str):
                parts.append(self.placed(one, "word", content))
            elif isinstance(content, list):
                parts += [self.block(content)] if field in _BODIES else self.all(content)
            elif content is not None or field[-1] == "?":
                parts += self.all([content])
        node = self.placed(one, kind, "" if value == "-" and kind != "unary" else value, parts)
        self.formatted = outer
        if isinstance(one, ast.ImportFrom):
            node.value = "." * one.level + node.value
        return node

    # ------------------------------------------------------------ expressions

    def _read_constant(self, one: ast.Constant) -> Node:
        text = isinstance(one.value, str)
        return self.placed(one, "string" if text else "number", str(one.value))

    def _read_subscript(self, one: ast.Subscript) -> Node:
        place = one.slice
        places = place.elts if isinstance(place, ast.Tuple) and place.elts else [place]
        return self.placed(one, "index", "[", self.all([one.value, *places]))

    def _read_call(self, one: ast.Call) -> Node:
        function, *inputs = self.all([one.func, *one.args])
        if function.kind == "name" and function.value == "getattr" and len(inputs) > 1:
            word = text_of(inputs[1])
            if word is not None:
                return self.placed(one, "binary", "$", [inputs[0], self.placed(one, "word", word)])
        named = self.all(keyword.value for keyword in one.keywords)
        names = [*(None for _ in inputs), *(keyword.arg or "**" for keyword in one.keywords)]
        return self.placed(one, "call", "", [function, *inputs, *named], names)

    def _read_boolop(self, one: ast.BoolOp) -> Node:
        whole, *rest = self.all(one.values)
        for part in rest:
            whole = self.placed(one, "binary", _OPERATORS[type(one.op)], [whole, part])
        return whole

    def _read_compare(self, one: ast.Compare) -> Node:
        """The third part is looked at only if the first comparison holds."""
        values = self.all([one.left, *one.comparators])
        whole: Node | None = None
        for at, sign in enumerate(one.ops):
            part = self.placed(one, "binary", _OPERATORS[type(sign)], values[at : at + 2])
            whole = part if whole is None else self.placed(one, "binary", "and", [whole, part])
        assert whole is not None
        return whole

    def _read_dict(self, one: ast.Dict) -> Node:
        pairs = zip(one.keys, one.values, strict=True)
        return self.placed(one, "dict", "", self.all(item for pair in pairs for item in pair))

    def _read_lambda(self, one: ast.Lambda) -> Node:
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

    def _read_listcomp(self, one: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Node:
        return self._comprehension(one, self.node(one.elt))

    _read_setcomp = _read_generatorexp = _read_listcomp

    def _read_dictcomp(self, one: ast.DictComp) -> Node:
        return self._comprehension(
            one, self.placed(one, "dict", "", self.all([one.key, one.value]))
        )

    def _comprehension(
        self, one: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, last: Node
    ) -> Node:
        kind = "generator" if isinstance(one, ast.GeneratorExp) else "list"
        for part in reversed(one.generators):
            for test in reversed(part.ifs):
                last = self.placed(one, "if", "", [self.node(test), last])
            parts = [*self.all([part.target, part.iter]), last]
            last = self.placed(one, "comprehension", kind, parts)
        return last

    # ------------------------------------------------------------ statements

    def _read_assign(self, one: ast.Assign) -> Node:
        value = self.node(one.value)
        for target in reversed(one.targets):
            value = self.placed(one, "binary", "<-", [self.node(target), value])
        return value

    def _read_annassign(self, one: ast.AnnAssign) -> Node:
        note, target = self.all([one.annotation, one.target])
        if one.value is not None:
            target = self.placed(one, "binary", "<-", [target, self.node(one.value)])
        return self.placed(one, "other", "", [note, target])

    def _read_functiondef(self, one: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        kind = "async" if isinstance(one, ast.AsyncFunctionDef) else ""
        function = self._function(one, kind, [self.block(one.body)])
        return self.placed(one, "define", one.name, [*self.all(one.decorator_list), function])

    _read_asyncfunctiondef = _read_functiondef

    def _read_classdef(self, one: ast.ClassDef) -> Node:
        named = [keyword.value for keyword in one.keywords]
        parts = [*self.all([*one.decorator_list, *one.bases, *named]), self.block(one.body)]
        names: list[str | None] = [
            *("@" for _ in one.decorator_list), *(None for _ in one.bases),
            *(keyword.arg or "**" for keyword in one.keywords), "",
        ]  # fmt: skip
        return self.placed(one, "class", one.name, parts, names)

    def _read_global(self, one: ast.Global | ast.Nonlocal) -> Node:
        return self.placed(one, "global", "", (), [*one.names])

    _read_nonlocal = _read_global

    def _read_alias(self, one: ast.alias) -> Node:
        return self.placed(one, "alias", one.name, (), [one.asname])

    def _read_withitem(self, one: ast.withitem) -> Node:
        value, *target = self.all(filter(None, [one.context_expr, one.optional_vars]))
        if not target:
            return value
        return Node("binary", "<-", value.start, target[0].end, [*target, value])
