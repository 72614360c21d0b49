"""Expressions of do-files: from text to a tree.

In: the text of an expression after macros are expanded. Out: a tree of `Node`s. Operators
bind as in Stata: `!`, `^`, sign, `* /`, `+ -`, comparisons, `&`, `|`; equal ones from left
to right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.values import code_of, tidy

__all__ = ["Binary", "Function", "Index", "Name", "Node", "Number", "Text", "Unary", "parsed"]


class Node:
    """Part of an expression."""


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number, also a missing value."""

    value: float


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A text in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable, scalar, `_n`, `_N`, …; with time-series operators in front, if any."""

    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """A value of another observation, or an element: `x[_n-1]`, `_b[x]`, `A[1,2]`."""

    name: str
    at: tuple[Node, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function and its arguments; `text` is what stands between the brackets."""

    name: str
    arguments: tuple[Node, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A sign or a negation."""

    sign: str
    inner: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two parts and what joins them."""

    sign: str
    left: Node
    right: Node


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?(?![A-Za-z_0-9]))
  | (?P<missing>\.[a-z]?(?![A-Za-z_0-9.]))
  | (?P<compound>`")
  | (?P<text>"[^"]*")
  | (?P<name>(?:[LFDSlfds]\d*\.)*[A-Za-z_\u00a1-\uffff][A-Za-z_0-9\u00a1-\uffff]*)
  | (?P<sign>==|!=|~=|>=|<=|[-+*/^&|!~<>(),\[\]])
    )""",
    re.VERBOSE,
)
_COEFFICIENTS = frozenset(("_b", "_se", "_coef"))
_SAME = {"~=": "!=", "~": "!"}
_COMPARED = frozenset(("==", "!=", ">", "<", ">=", "<="))
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset("|"),
    frozenset("&"),
    _COMPARED,
    frozenset("+-"),
    frozenset("*/"),
)
_DEEPEST = 200
#: Functions whose argument is a date as it is written.
_DATES = frozenset(("td", "tm", "tq", "tw", "th"))
#: Functions whose arguments are names, not values.
_NAMED = _DATES | {"r", "e", "c", "s", "scalar", "matrix"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    found = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if not match:
            raise DoError("this expression cannot be read", code=198)
        kind = str(match.lastgroup)
        start = match.start(kind)
        stop = match.end()
        word = match.group(kind)
        if kind == "compound":
            stop = _compound_end(text, start)
            kind, word = "text", text[start + 2 : stop - 2]
        elif kind == "text":
            word = word[1:-1]
        found.append(_Token(kind, _SAME.get(word, word) if kind == "sign" else word, start, stop))
        at = stop
        before = found[-2].text if len(found) > 1 else ""
        # `_b[1.sex#c.age]` and `td(31jan2020)`: what stands inside is no expression.
        sign = {"[": "]", "(": ")"}.get(word, "") if kind == "sign" else ""
        close = text.find(sign, at) if sign else -1
        if before in (_COEFFICIENTS if sign == "]" else _DATES) and close > at:
            found.append(_Token("name", text[at:close].strip(), at, close))
            at = close
    return found


def _compound_end(text: str, start: int) -> int:
    depth, at = 0, start
    while at < len(text):
        if text.startswith('`"', at):
            depth, at = depth + 1, at + 2
        elif text.startswith("\"'", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    raise DoError("quotes do not match", code=132)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def next(self) -> str:
        """The sign that comes next, or nothing."""
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "sign":
            return self.tokens[self.at].text
        return ""

    def wrong(self) -> DoError:
        return DoError("invalid syntax in an expression", code=198)

    def take(self, sign: str) -> None:
        if self.next() != sign:
            raise self.wrong()
        self.at += 1

    def whole(self) -> Node:
        found = self.level(0)
        if self.at < len(self.tokens):
            raise self.wrong()
        return found

    def level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.signed()
        left = self.level(level + 1)
        while self.next() in _LEVELS[level]:
            sign = self.next()
            self.at += 1
            left = Binary(sign, left, self.level(level + 1))
        return left

    def signed(self) -> Node:
        if self.next() in ("-", "+"):
            sign = self.next()
            self.at += 1
            self.deeper()
            inner = self.signed()
            self.depth -= 1
            return inner if sign == "+" else Unary("-", inner)
        return self.power()

    def power(self) -> Node:
        left = self.negated()
        while self.next() == "^":
            self.at += 1
            minus = False
            while self.next() in ("-", "+"):
                minus ^= self.next() == "-"
                self.at += 1
            right = self.negated()
            left = Binary("^", left, Unary("-", right) if minus else right)
        return left

    def negated(self) -> Node:
        if self.next() == "!":
            self.at += 1
            self.deeper()
            minus = self.next() == "-"
            if minus:
                self.at += 1
            inner: Node = self.negated()
            self.depth -= 1
            return Unary("!", Unary("-", inner) if minus else inner)
        return self.single()

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise DoError("an expression is nested too deeply", code=130)

    def single(self) -> Node:
        if self.at >= len(self.tokens):
            raise self.wrong()
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return Number(tidy(float(token.text.replace("d", "e").replace("D", "e"))))
        if token.kind == "missing":
            return Number(code_of(token.text) or 0.0)
        if token.kind == "text":
            return Text(token.text)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            self.deeper()
            inner = self.level(0)
            self.take(")")
            self.depth -= 1
            return inner
        raise self.wrong()

    def named(self, token: _Token) -> Node:
        follows = self.tokens[self.at] if self.at < len(self.tokens) else None
        if follows is None or follows.start != token.end:
            return Name(token.text)
        if follows.text == "(" and follows.kind == "sign":
            if token.text in _NAMED:
                return Function(token.text, (), self.inside("(", ")"))
            arguments, text = self.listed("(", ")")
            return Function(token.text, arguments, text)
        if follows.text == "[" and follows.kind == "sign":
            if token.text in _COEFFICIENTS:
                return Index(token.text, (), self.inside("[", "]"))
            arguments, text = self.listed("[", "]")
            return Index(token.text, arguments, text)
        return Name(token.text)

    def inside(self, opening: str, closing: str) -> str:
        """The text in brackets, as it stands."""
        start = self.tokens[self.at].end
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "sign":
                depth += (token.text == opening) - (token.text == closing)
            if not depth:
                return self.text[start : token.start].strip()
        raise self.wrong()

    def listed(self, opening: str, closing: str) -> tuple[tuple[Node, ...], str]:
        start = self.tokens[self.at].end
        self.take(opening)
        self.deeper()
        found: list[Node] = []
        if self.next() != closing:
            found.append(self.level(0))
            while self.next() == ",":
                self.at += 1
                found.append(self.level(0))
        text = self.text[start : self.tokens[self.at].start] if self.at < len(self.tokens) else ""
        self.take(closing)
        self.depth -= 1
        return tuple(found), text.strip()


@lru_cache(maxsize=2048)
def parsed(text: str) -> Node:
    """The tree of an expression.

    >>> parsed("-2^2")
    Unary(sign='-', inner=Binary(sign='^', left=Number(value=2.0), right=Number(value=2.0)))

    Raises:
        DoError: The text is no expression.
    """
    return _Reader(text).whole()
