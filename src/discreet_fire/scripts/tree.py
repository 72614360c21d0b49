"""The tree of a script in R or Python, in one form, and what its nodes bind and hand out.

In: nodes that a reader of the language made; that of Python is here. Out: their parts, roots and
texts, and the names that they give values to. Parts of a formatted text have the place of all of
it; a readable `getattr` is the part it takes. Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet_fire.texts import Lines

ASSIGNS = ("<-", "<<-", "=", ":=", "->", "->>")
PARTS = ("$", "@")


@dataclass(slots=True, eq=False)
class Node:
    """A part of a script.

    Both languages have names, numbers, texts, calls (the function first, then arguments with their
    names or None), places in brackets (``index``), ``binary`` (also assignments, ``<-``, and parts
    of objects, ``$``), ``unary``, ``function`` (what it gets by default, then its body; its names
    are those of its parameters), ``block``, ``paren``, ``if``, ``for`` (target, values, body),
    ``while``, ``repeat`` and ``missing``. Python has more.
    """

    kind: str
    value: str  # a name, text or operator
    start: int
    end: int
    parts: list[Node] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    stored: bool = False  # whether something is put there, so that it cannot be a call
    formatted: ast.AST | None = None  # what it is within a formatted text, whose place it has

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))

    @property
    def span(self) -> tuple[int, int]:
        """Span in the text."""
        return self.start, self.end

    @property
    def is_assignment(self) -> bool:
        """Whether it assigns."""
        return self.kind == "binary" and self.value in ASSIGNS

    @property
    def is_part(self) -> bool:
        """Whether it is a part of an object by its name."""
        return self.kind == "binary" and self.value in PARTS

    @property
    def sides(self) -> tuple[Node, Node]:
        """Target and value of an assignment."""
        left, right = self.parts
        return (right, left) if self.value[0] == "-" else (left, right)

    def arguments(self) -> Iterator[tuple[str | None, Node]]:
        """The arguments of a call with their names."""
        return zip(self.names, self.parts[1:], strict=True)

    @property
    def word(self) -> str:
        """The last word of the name of a function; empty if it has none."""
        node = self
        while node.kind == "binary" and node.value in (*PARTS, "::", ":::"):
            node = node.parts[1]
        return node.value if node.kind in ("name", "string", "word") else ""

    @property
    def text(self) -> str | None:
        """A text that is written out, perhaps in parts."""
        if self.kind == "string":
            return self.value
        if self.kind == "binary" and self.value == "+":
            texts = [part.text for part in self.parts]
            return None if None in texts else "".join(map(str, texts))
        return None

    @property
    def base(self) -> Node:
        """Beginning of ``object.part[0].part``."""
        node = self
        while node.kind == "index" or node.is_part or (node.kind, node.value) == ("unary", "*"):
            node = node.parts[0]
        return node

    @property
    def root(self) -> str:
        """The name at the beginning of ``name.part[0].part()``, or of ``names(name)[1]`` in R."""
        node = self.base
        while node.kind == "call" and (len(node.parts) > 1 or node.parts[0].is_part):
            node = node.parts[0 if node.parts[0].is_part else 1].base
        return node.value if node.kind in ("name", "string") else ""

    @property
    def roots(self) -> set[str]:
        """All names whose objects it may hand out: ``a`` and ``b`` in ``f(a, b).part``."""
        node = self.base
        if node.kind == "name":
            return {node.value}
        kinds = ("call", "holder", "dict", "if", "bound")
        if node.kind in kinds or node.value in ("and", "or", "<-"):
            return set[str]().union(*(part.roots for part in node.parts))
        return set()

    def bindings(self) -> Iterator[Binding]:
        """The names that it gives values to itself."""
        if self.is_assignment:
            yield from _stored_in(*self.sides)
        elif self.kind in ("for", "comprehension"):
            yield from _stored_in(self.parts[0], self.parts[1])
        elif self.kind == "function":
            yield from ((name, None, True) for name in self.names if name)
        elif self.kind in ("handler", "capture") and self.value:
            yield self.value, None, True

    def methods(self) -> list[Node]:
        """The methods of a class, also those that stand in an `if` or `try` of its body."""
        methods: list[Node] = []
        waiting = list(self.parts)
        while waiting:
            item = waiting.pop(0)
            if item.kind == "define":
                methods.append(item)
            elif item.kind != "class":
                waiting += item.parts
        return methods


#: A name, what it is given (None if that cannot be known), and whether the whole name is.
Binding = tuple[str, Node | None, bool]


def _stored_in(target: Node, value: Node | None) -> Iterator[Binding]:
    """The names that a target gives a value to."""
    if target.kind in ("name", "string"):
        yield target.value, value, True
    elif target.kind == "holder":
        values: Sequence[Node | None] = [value] * len(target.parts)
        plain = value is not None and value.kind == "holder" and len(value.parts) == len(values)
        if plain and value is not None and not any(p.kind == "unary" for p in target.parts):
            values = value.parts
        for part, inputs in zip(target.parts, values, strict=True):
            yield from _stored_in(part, inputs)
    elif target.kind == "unary":
        # `!!name := value` names a column by what `name` holds, which stays as it is.
        yield from _stored_in(target.parts[0], value) if target.value == "*" else ()
    else:
        first = target.base
        in_python = first.kind == "call" and target.stored
        for name in first.roots if in_python else filter(None, {target.root}):
            yield name, value, False


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
        Expr shown - value
        Import import - names
        ImportFrom from .module names
        If if - test body orelse
        For for - target iter body orelse
        AsyncFor for - target iter body orelse
        ExceptHandler handler .name type? body
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
        parts: list[Node] = []
        for key, content in ast.iter_fields(one):
            if isinstance(content, list):
                inside = [each for each in content if isinstance(each, ast.AST)]
                parts += [self.block(inside)] if key in _BODIES else self.all(inside)
            elif isinstance(content, ast.AST) and not isinstance(content, ast.expr_context):
                parts.append(self.node(content))
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
        for key in fields:
            content = getattr(one, key.rstrip("?"))
            if isinstance(content, str):
                parts.append(self.placed(one, "word", content))
            elif isinstance(content, list):
                parts += [self.block(content)] if key in _BODIES else self.all(content)
            elif content is not None or key[-1] == "?":
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
            word = inputs[1].text
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

    def _read_alias(self, one: ast.alias) -> Node:
        return self.placed(one, "alias", one.name, (), [one.asname])

    def _read_withitem(self, one: ast.withitem) -> Node:
        value, *target = self.all(filter(None, [one.context_expr, one.optional_vars]))
        if not target:
            return value
        return Node("binary", "<-", value.start, target[0].end, [*target, value])
