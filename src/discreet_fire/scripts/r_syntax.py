"""The syntax tree of R scripts, by the precedence of R's operators.

In: the text of a script. Out: its top-level expressions with their places, and tokens that
say where they stand; blanks and comments are left out. Programs of researchers, no data.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from discreet_fire.scripts.tree import Node

_PARTS = re.compile(
    r"""
    (?P<blank>[ \t\f\u00a0]+|\#[^\r\n]*)
  | (?P<newline>\r\n|\n|\r)
  | (?P<raw>[rR](?P<quote>["'])(?P<dashes>-*)(?P<open>[\[({]))
  | (?P<number>0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?[Li]?
        |(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[Li]?)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<quoted>`(?:[^`\\]|\\.)+`)
  | (?P<name>(?:[^\W\d_]|\.(?!\d))[\w.]*|_(?!\w))
  | (?P<operator>%[^%\r\n]*%|<<-|->>|<-|->|\|>|:::|::|:=|==|!=|<=|>=|&&|\|\||\*\*
        |[-+*/^<>=!&|~?:$@,;(){}\[\]\\])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"""\\(?:(?:x(?=[0-9a-fA-F])|u(?=[0-9a-fA-F])|U)(?P<hex>(?<=x)[0-9a-fA-F]{1,2}|(?<=u)[0-9a-fA-F]{1,4}|(?<=U)[0-9a-fA-F]{1,8})|[uU]\{(?P<braced>[0-9a-fA-F]{1,8})\}
    |(?P<octal>[0-7]{1,3})|(?P<one>.))""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class RSyntaxError(Exception):
    """The text is no R, as far as can be read here."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what, self.at = what, at


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
    return _ESCAPE.sub(_sign, text) if "\\" in text else text


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
        match = _PARTS.match(text, at)
        if match is None:
            raise RSyntaxError("a sign that R does not know, or a quote that is not closed", at)
        kind, end = str(match.lastgroup), match.end()
        value = match.group()
        if match.group("raw"):
            close = _CLOSE[match.group("open")] + match.group("dashes") + match.group("quote")
            stop = text.find(close, end)
            if stop < 0:
                raise RSyntaxError("a raw string is not closed", at)
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
    parser = _RParser(tokens_of(text))
    nodes = []
    while (token := parser.peek()).kind != "end":
        if token.kind == "newline" or token.value == ";":
            parser.next()
            continue
        nodes.append(parser.expression(0))
        after = parser.peek()
        if after.kind not in ("newline", "end") and after.value != ";":
            raise RSyntaxError("something follows an expression that cannot", after.start)
    return nodes


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
        self.top = 0

    def peek(self) -> RToken:
        if not self.lines[-1]:
            self.skip()
        return self.tokens[self.at]

    def after_lines(self, at: int) -> RToken:
        """The first token from a place on that is no line end."""
        while self.tokens[at].kind == "newline":
            at += 1
        return self.tokens[at]

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
            raise RSyntaxError(f"{value!r} is missing", token.start)
        return token

    def expression(self, strength: int) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RSyntaxError("the code is nested too deeply to be read", self.peek().start)
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
            token = self.peek()
            if token.kind == "operator" and token.value in (",", close):
                node.parts.append(Node("missing", "", token.start, token.start))
                node.names.append(None)
            else:
                name = None
                after = self.after_lines(self.at + 1)
                if token.kind in ("name", "string") and (after.kind, after.value) == (
                    "operator",
                    "=",
                ):
                    name = self.next().value
                    self.next()
                empty = self.peek().value in (",", close) and self.peek().kind == "operator"
                at = self.peek().start
                value = Node("missing", "", at, at) if empty else self.argument()
                node.parts.append(value)
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
            return self.paren(token)
        if token.value == "{":
            return self.block(token)
        if token.value == "\\":
            return self._function(token)
        if token.value in _UNARY:
            self.skip()
            inner = self.expression(_UNARY[token.value])
            return Node("unary", token.value, token.start, inner.end, [inner])
        raise RSyntaxError("an expression is missing or not complete", token.start)

    def within(self, close: str) -> tuple[Node, int]:
        """An expression in brackets, in which line ends do not count, and where they end."""
        self.lines.append(False)
        inner = self.expression(0)
        self.peek()
        self.lines.pop()
        return inner, self.expect(close).end

    def paren(self, token: RToken) -> Node:
        inner, end = self.within(")")
        return Node("paren", "(", token.start, end, [inner])

    def block(self, token: RToken) -> Node:
        node = Node("block", "{", token.start, 0)
        self.lines.append(True)
        while (after := self.peek()).value != "}" or after.kind != "operator":
            if after.kind == "newline" or after.value == ";":
                self.next()
                continue
            if after.kind == "end":
                raise RSyntaxError("a brace is not closed", token.start)
            node.parts.append(self.expression(0))
            follows = self.peek()
            if follows.kind != "newline" and follows.value not in (";", "}"):
                raise RSyntaxError("something follows an expression that cannot", follows.start)
        self.lines.pop()
        node.end = self.tokens[self.at].end
        self.at += 1
        return node

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
            raise RSyntaxError("'in' is missing", name.start)
        self.lines.pop()
        values, _ = self.within(")")
        self.skip()
        body = self.expression(3)
        target = Node("name", name.value, name.start, name.end)
        return Node("for", "", token.start, body.end, [target, values, body])

    def _while(self, token: RToken) -> Node:
        condition = self.condition()
        body = self.expression(3)
        return Node("while", "", token.start, body.end, [condition, body])

    def _repeat(self, token: RToken) -> Node:
        self.skip()
        body = self.expression(3)
        return Node("repeat", "", token.start, body.end, [body])

    def _function(self, token: RToken) -> Node:
        opened = self.peek()
        if opened.value != "(":
            raise RSyntaxError("'(' is missing", opened.start)
        arguments = self.arguments(Node("name", "function", token.start, token.end), opened)
        self.skip()
        body = self.expression(3)
        node = Node("function", "", token.start, body.end, [*arguments.parts[1:], body])
        names = zip(arguments.names, arguments.parts[1:], strict=True)
        node.names = [name or (part.value if part.kind == "name" else "") for name, part in names]
        return node


_WORDS = ("if", "for", "while", "repeat", "function")
