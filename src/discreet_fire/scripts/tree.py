"""The tree of a script in R or Python, in one form, and what its nodes bind and hand out.

In: the text of a script. Out: its nodes with their places, parts, roots and texts, and the names
that they give values to. R is read by the precedence of its operators, blanks and comments left
out; of Python the tree of its own parser is taken. Parts of a formatted text have the place of all
of it; a readable `getattr` is the part it takes. Programs of researchers, no data; nothing is run.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet_fire.catalogue import Forms, form_texts
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
        kinds = ("call", "holder", "dict", "if")
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


# Python -------------------------------------------------------------------------------------------

#: The operators that are told apart; all others give something new of what they get.
_OPERATORS = {ast.Add: "+", ast.And: "and", ast.Or: "or"}
#: For each class of `ast` the kind of its node, the value, and what are its parts.
_FORMS = {
    name: (kind, value, parts)
    for name, (kind, value, *parts) in form_texts(__package__)["python"].items()
}
_BODIES = ("body", "orelse", "finalbody")


_MAGIC = re.compile(r"^[ \t]*[%!]", re.MULTILINE)


def read_python(text: str) -> Node:
    r"""The block of a whole script.

    >>> code = "x = df.a[0]\nprint(x)"
    >>> [(node.kind, node.value) for node in read_python(code).parts]
    [('binary', '<-'), ('shown', '')]
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        starts = Lines(text).starts
        start = starts[min(max(error.lineno or 1, 1), len(starts)) - 1]
        at = min(start + max((error.offset or 1) - 1, 0), len(text))
        hint = "magics of notebooks (%, !) are not Python" if _MAGIC.search(text) else ""
        raise ReadingError("this is not Python: the code cannot be parsed here", at, hint) from None
    except (MemoryError, ValueError, OverflowError):  # as where it is nested too deeply
        raise RecursionError from None
    return _PythonReader(text).block(tree.body)


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
        parts = self.all(body)
        start, end = (parts[0].start, parts[-1].end) if parts else (0, 0)
        return Node("block", "", start, end, parts)

    def node(self, one: ast.AST) -> Node:
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
            value = _OPERATORS.get(type(content), "==") if value == ".op" else str(content or "")
        outer = self.formatted
        if kind == "format" and outer is None:
            self.formatted = self.span(one, ())
        parts: list[Node] = []
        for key in fields:
            content = getattr(one, key)
            if isinstance(content, str):
                parts.append(self.placed(one, "word", content))
            elif isinstance(content, list):
                parts += [self.block(content)] if key in _BODIES else self.all(content)
            elif content is not None:
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
        function = self._function(one, "", [self.block(one.body)])
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


# R ------------------------------------------------------------------------------------------------

_R_FORM = Forms(__package__, "r")
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class ReadingError(Exception):
    """The text is no program of its language, as far as can be read here."""

    def __init__(self, what: str, at: int, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.at, self.hint = what, at, hint


@dataclass(frozen=True, slots=True)
class RToken:
    """One token: a name (without backticks), number, string (its content), operator, newline or
    end.
    """

    kind: str
    value: str
    start: int
    end: int


def unescaped(text: str) -> str:
    r"""The content of a string, with its escapes read as R reads them.

    >>> unescaped(r"\x70r\u{69}nt\t\"")
    'print\t"'
    """
    return _R_FORM.escape.sub(_sign, text) if "\\" in text else text


def _sign(match: re.Match[str]) -> str:
    if number := match["hex"] or match["braced"]:
        code = int(number, 16)
    elif match["octal"]:
        code = int(match["octal"], 8)
    else:
        return _SIGNS.get(match["one"], match["one"])
    return chr(code) if code <= sys.maxunicode else "?"


def tokens_of(text: str) -> list[RToken]:
    """The tokens of a text, an end token last.

    >>> [token.value for token in tokens_of("x |> summary() # all")]
    ['x', '|>', 'summary', '(', ')', '', '']
    """
    tokens = []
    at = 0
    while at < len(text):
        match = _R_FORM.token.match(text, at)
        if match is None:
            raise ReadingError("a sign that R does not know, or a quote that is not closed", at)
        kind, end = str(match.lastgroup), match.end()
        value = match.group()
        if match.group("raw"):
            close = _CLOSE[match.group("open")] + match.group("dashes") + match.group("quote")
            stop = text.find(close, end)
            if stop < 0:
                raise ReadingError("a raw string is not closed", at)
            kind, value, end = "string", text[end:stop], stop + len(close)
        elif kind == "string":
            value = unescaped(value[1:-1])
        elif kind == "quoted":
            kind, value = "name", unescaped(value[1:-1])
        if kind != "blank":
            tokens.append(RToken(kind, value, at, end))
        at = end
    # Two of them, since the parser looks one token further.
    tokens += [RToken("end", "", at, at)] * 2
    return tokens


#: Operators with the strength on their left and on their right.
_BINARY = {
    "?": (1, 2), "=": (4, 3), ":=": (6, 5), "<-": (6, 5), "<<-": (6, 5), "->": (7, 8),
    "->>": (7, 8), "~": (9, 10), "||": (11, 12), "|": (11, 12), "&&": (13, 14), "&": (13, 14),
    "==": (17, 18), "!=": (17, 18), "<": (17, 18), ">": (17, 18), "<=": (17, 18), ">=": (17, 18),
    "+": (19, 20), "-": (19, 20), "*": (21, 22), "/": (21, 22), "|>": (23, 24), ":": (25, 26),
    "^": (30, 29), "**": (30, 29), "$": (35, 36), "@": (35, 36), "::": (37, 38), ":::": (37, 38),
}  # fmt: skip
_UNARY = {"-": 27, "+": 27, "!": 15, "~": 9, "?": 1}
_CALL = 35
_DEEPEST = 120


def parse_r(text: str) -> list[Node]:
    r"""The expressions of a script.

    >>> [(node.kind, node.value) for node in parse_r("x <- 1\nprint(x); if (x) y")]
    [('binary', '<-'), ('call', ''), ('if', '')]
    """
    return list(_RParser(tokens_of(text)).statements())


_PIPES = ("|>", "%>%", "%T>%", "%$%", "%<>%")


def read_r(text: str) -> Node:
    r"""The block of a whole script, with pipes as the calls that they stand for.

    >>> [(node.kind, node.value, len(node.parts)) for node in read_r("x |> f(1)\nx$a").parts]
    [('call', '|>', 3), ('binary', '$', 2)]
    """
    whole = Node("block", "", 0, len(text), parse_r(text))
    for node in reversed([*whole.walk()]):
        if node.kind != "binary" or node.value not in _PIPES:
            continue
        left, right = node.parts
        if right.kind == "call":
            parts, names = [right.parts[0], left, *right.parts[1:]], [None, *right.names]
        elif right.kind in ("name", "string") or right.value in ("::", ":::"):
            parts, names = [right, left], [None]
        else:
            continue
        call = Node("call", node.value, node.start, node.end, parts, names)
        if node.value == "%<>%":
            node.value, node.parts = "<-", [left, call]
        else:
            node.kind, node.parts, node.names = "call", parts, names
    return whole


class _RParser:
    def __init__(self, tokens: list[RToken]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        #: Whether line ends count, innermost last.
        self.lines = [True]

    def peek(self) -> RToken:
        if not self.lines[-1]:
            self.skip()
        return self.tokens[self.at]

    def next(self) -> RToken:
        token = self.peek()
        self.at += token.kind != "end"
        return token

    def skip(self) -> None:
        while self.tokens[self.at].kind == "newline":
            self.at += 1

    def expect(self, value: str) -> RToken:
        token = self.next()
        if token.kind != "operator" or token.value != value:
            raise ReadingError(f"{value!r} is missing", token.start)
        return token

    def expression(self, strength: int) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ReadingError("the code is nested too deeply to be read", self.peek().start)
        left = self.prefix()
        while True:
            token = self.peek()
            if token.kind != "operator":
                break
            if token.value in ("(", "["):
                if strength > _CALL:
                    break
                left = self.arguments(left, token)
                continue
            powers = (23, 24) if token.value[0] == "%" else _BINARY.get(token.value)
            if powers is None or powers[0] < strength:
                break
            self.next()
            self.skip()
            right = self.expression(powers[1])
            left = Node("binary", token.value, left.start, right.end, [left, right])
        self.depth -= 1
        return left

    def arguments(self, function: Node, opened: RToken) -> Node:
        """What a call or an index holds between its brackets."""
        self.next()
        after = self.tokens[self.at]
        double = opened.value == after.value == "[" and after.kind == "operator"
        double &= after.start == opened.end
        if double:
            self.next()
        close = ")" if opened.value == "(" else "]"
        node = Node("call" if close == ")" else "index", "[[" if double else "", function.start, 0)
        node.parts.append(function)
        self.lines.append(False)
        while True:
            token, name = self.peek(), None
            at = self.at + 1
            while self.tokens[at].kind == "newline":
                at += 1
            after = self.tokens[at]
            named = (after.kind, after.value) == ("operator", "=")
            if token.kind in ("name", "string") and named:
                name = self.next().value
                self.next()
            token = self.peek()
            empty = token.kind == "operator" and token.value in (",", close)
            missing = Node("missing", "", token.start, token.start)
            node.parts.append(missing if empty else self.argument())
            node.names.append(name)
            if self.peek().value != ",":
                break
            self.next()
        self.lines.pop()
        self.skip()
        node.end = self.expect(close).end
        if double:
            node.end = self.expect("]").end
        if len(node.parts) == 2 and node.parts[1].kind == "missing" and node.names[0] is None:
            node.parts.pop()
            node.names.pop()
        return node

    def argument(self) -> Node:
        """An expression between brackets: `=` gives a name there, `?` is an operator still."""
        value = self.expression(5)
        while (self.peek().kind, self.peek().value) == ("operator", "?"):
            self.next()
            self.skip()
            right = self.expression(5)
            value = Node("binary", "?", value.start, right.end, [value, right])
        return value

    def prefix(self) -> Node:
        token = self.next()
        if token.kind in ("number", "string"):
            return Node(token.kind, token.value, token.start, token.end)
        if token.kind == "name":
            reader = getattr(self, f"_{token.value}", None) if token.value in _WORDS else None
            if reader is not None and token.end - token.start == len(token.value):
                return reader(token)  # type: ignore[no-any-return]
            return Node("name", token.value, token.start, token.end)
        if token.value == "(":
            inner, end = self.within(")")
            return Node("paren", "(", token.start, end, [inner])
        if token.value == "{":
            return self.block(token)
        if token.value == "\\":
            return self._function(token)
        if token.value in _UNARY:
            self.skip()
            inner = self.expression(_UNARY[token.value])
            return Node("unary", token.value, token.start, inner.end, [inner])
        raise ReadingError("an expression is missing or not complete", token.start)

    def within(self, close: str) -> tuple[Node, int]:
        """An expression in brackets, in which line ends do not count, and where they end."""
        self.lines.append(False)
        inner = self.expression(0)
        self.peek()
        self.lines.pop()
        return inner, self.expect(close).end

    def block(self, token: RToken) -> Node:
        self.lines.append(True)
        parts = [*self.statements("}")]
        if self.peek().kind == "end":
            raise ReadingError("a brace is not closed", token.start)
        self.lines.pop()
        self.at += 1
        return Node("block", "{", token.start, self.tokens[self.at - 1].end, parts)

    def statements(self, close: str = "") -> Iterator[Node]:
        """Expressions up to a brace that closes, or to the end."""
        while (after := self.peek()).kind != "end":
            if after.value == close and after.kind == "operator":
                return
            if after.kind == "newline" or after.value == ";":
                self.next()
                continue
            yield self.expression(0)
            after = self.peek()
            ends = after.value == close if close else after.kind == "end"
            if not (ends or after.kind == "newline" or after.value == ";"):
                raise ReadingError("something follows an expression that cannot", after.start)

    def condition(self) -> Node:
        self.expect("(")
        inner, _ = self.within(")")
        self.skip()
        return inner

    def _if(self, token: RToken) -> Node:
        condition = self.condition()
        body = self.expression(3)
        node = Node("if", "", token.start, body.end, [condition, body])
        at = self.at
        if len(self.lines) > 1:
            self.skip()
        after = self.tokens[self.at]
        if after.kind == "name" and after.value == "else":
            self.at += 1
            self.skip()
            other = self.expression(3)
            node.parts.append(other)
            node.end = other.end
        else:
            self.at = at
        return node

    def _for(self, token: RToken) -> Node:
        self.expect("(")
        self.lines.append(False)
        name = self.next()
        if self.next().value != "in":
            raise ReadingError("'in' is missing", name.start)
        self.lines.pop()
        values, _ = self.within(")")
        self.skip()
        target = Node("name", name.value, name.start, name.end)
        return self.loop(token, target, values)

    def _while(self, token: RToken) -> Node:
        return self.loop(token, self.condition())

    def _repeat(self, token: RToken) -> Node:
        self.skip()
        return self.loop(token)

    def loop(self, token: RToken, *parts: Node) -> Node:
        body = self.expression(3)
        return Node(token.value, "", token.start, body.end, [*parts, body])

    def _function(self, token: RToken) -> Node:
        opened = self.peek()
        if opened.value != "(":
            raise ReadingError("'(' is missing", opened.start)
        arguments = self.arguments(Node("name", "function", token.start, token.end), opened)
        self.skip()
        body = self.expression(3)
        node = Node("function", "", token.start, body.end, [*arguments.parts[1:], body])
        names = zip(arguments.names, arguments.parts[1:], strict=True)
        node.names = [name or (part.value if part.kind == "name" else "") for name, part in names]
        return node


_WORDS = ("if", "for", "while", "repeat", "function")
