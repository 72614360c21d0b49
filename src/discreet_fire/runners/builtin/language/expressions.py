"""Expressions of do-files: from text to a tree, and its value for all observations. CONFIDENTIAL.

In: the text of an expression after macros are expanded, and a `Scope`. Out: a tree of
`ExpressionNode`s, in which operators bind as in Stata (`!`, `^`, sign, `* /`, `+ -`,
comparisons, `&`, `|`; equal ones from left to right), and its value: a number or text, or an
array with one per observation. Missing values follow Stata: arithmetic with one gives `.`,
comparisons take it as larger than every number, `&` and `|` as true.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from discreet.arrays import BoolArray, FloatArray, TextArray
from discreet_fire.catalogue import function_table
from discreet_fire.runners.builtin.language.calls import past_quotes
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.function_frames import typed, yes_or_no
from discreet_fire.runners.builtin.language.functions import function_of
from discreet_fire.runners.builtin.language.scope import Scope, Value
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    code_of,
    is_text,
    text_column,
    tidy,
)


class ExpressionNode:
    """Part of an expression."""


@dataclass(frozen=True, slots=True)
class NumberLiteral(ExpressionNode):
    """A number, also a missing value."""

    value: float


@dataclass(frozen=True, slots=True)
class TextLiteral(ExpressionNode):
    """A text in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(ExpressionNode):
    """A variable, scalar, `_n`, `_N`, …; with time-series operators in front, if any."""

    name: str


@dataclass(frozen=True, slots=True)
class Index(ExpressionNode):
    """A value of another observation, or an element: `x[_n-1]`, `_b[x]`, `A[1,2]`."""

    name: str
    at: tuple[ExpressionNode, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Function(ExpressionNode):
    """A function and its arguments; `text` is what stands between the brackets."""

    name: str
    arguments: tuple[ExpressionNode, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Unary(ExpressionNode):
    """A sign or a negation."""

    sign: str
    inner: ExpressionNode


@dataclass(frozen=True, slots=True)
class Binary(ExpressionNode):
    """Two parts and what joins them."""

    sign: str
    left: ExpressionNode
    right: ExpressionNode


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
_NAMED = _DATES | function_table().naming


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = required(_TOKEN.match(text, at), "this expression cannot be read", code=198)
        kind = str(match.lastgroup)
        start = match.start(kind)
        stop = match.end()
        word = match.group(kind)
        if kind == "compound":
            stop = past_quotes(text, start)
            kind, word = "text", text[start + 2 : stop - 2]
        elif kind == "text":
            word = word[1:-1]
        tokens.append(_Token(kind, _SAME.get(word, word) if kind == "sign" else word, start, stop))
        at = stop
        before = tokens[-2].text if len(tokens) > 1 else ""
        # `_b[1.sex#c.age]` and `td(31jan2020)`: what stands inside is no expression.
        sign = {"[": "]", "(": ")"}.get(word, "") if kind == "sign" else ""
        close = text.find(sign, at) if sign else -1
        if before in (_COEFFICIENTS if sign == "]" else _DATES) and close > at:
            tokens.append(_Token("name", text[at:close].strip(), at, close))
            at = close
    return tokens


class _ExpressionReader:
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

    def accept(self, *signs: str) -> str:
        """The sign that comes next, if it is one of these: it is taken; else nothing."""
        text = self.next() if self.next() in signs else ""
        self.at += bool(text)
        return text

    def wrong(self) -> DoError:
        return DoError("invalid syntax in an expression", code=198)

    def take(self, sign: str) -> None:
        if not self.accept(sign):
            raise self.wrong()

    def whole(self) -> ExpressionNode:
        level = self.level(0)
        if self.at < len(self.tokens):
            raise self.wrong()
        return level

    def level(self, level: int) -> ExpressionNode:
        if level == len(_LEVELS):
            return self.signed()
        left = self.level(level + 1)
        while sign := self.accept(*_LEVELS[level]):
            left = Binary(sign, left, self.level(level + 1))
        return left

    def signed(self) -> ExpressionNode:
        if sign := self.accept("-", "+"):
            self.deeper()
            inner = self.signed()
            self.depth -= 1
            return inner if sign == "+" else Unary("-", inner)
        return self.power()

    def power(self) -> ExpressionNode:
        left = self.negated()
        while self.accept("^"):
            minus = False
            while sign := self.accept("-", "+"):
                minus ^= sign == "-"
            right = self.negated()
            left = Binary("^", left, Unary("-", right) if minus else right)
        return left

    def negated(self) -> ExpressionNode:
        if self.accept("!"):
            self.deeper()
            minus = self.accept("-")
            inner: ExpressionNode = self.negated()
            self.depth -= 1
            return Unary("!", Unary("-", inner) if minus else inner)
        return self.single()

    def deeper(self) -> None:
        self.depth += 1
        DoError.when(self.depth > _DEEPEST, "an expression is nested too deeply", code=130)

    def single(self) -> ExpressionNode:
        if self.at >= len(self.tokens):
            raise self.wrong()
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return NumberLiteral(tidy(float(token.text.replace("d", "e").replace("D", "e"))))
        if token.kind == "missing":
            return NumberLiteral(code_of(token.text) or 0.0)
        if token.kind == "text":
            return TextLiteral(token.text)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            self.deeper()
            inner = self.level(0)
            self.take(")")
            self.depth -= 1
            return inner
        raise self.wrong()

    def named(self, token: _Token) -> ExpressionNode:
        follows = self.tokens[self.at] if self.at < len(self.tokens) else None
        if follows is None or follows.start != token.end:
            return Name(token.text)
        if follows.text == "(" and follows.kind == "sign":
            if token.text in _NAMED:
                return Function(token.text, (), self.inside("(", ")"))
            return Function(token.text, *self.listed("(", ")"))
        if follows.text == "[" and follows.kind == "sign":
            if token.text in _COEFFICIENTS:
                return Index(token.text, (), self.inside("[", "]"))
            return Index(token.text, *self.listed("[", "]"))
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

    def listed(self, opening: str, closing: str) -> tuple[tuple[ExpressionNode, ...], str]:
        start = self.tokens[self.at].end
        self.take(opening)
        self.deeper()
        nodes: list[ExpressionNode] = []
        if self.next() != closing:
            nodes.append(self.level(0))
            while self.accept(","):
                nodes.append(self.level(0))
        text = self.text[start : self.tokens[self.at].start] if self.at < len(self.tokens) else ""
        self.take(closing)
        self.depth -= 1
        return tuple(nodes), text.strip()


@lru_cache(maxsize=2048)
def expression_tree(text: str) -> ExpressionNode:
    """The tree of an expression.

    >>> expression_tree("-2^2")
    Unary(sign='-', inner=Binary(sign='^', left=NumberLiteral(value=2.0),
        right=NumberLiteral(value=2.0)))
    """
    return _ExpressionReader(text).whole()


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.true_divide,
    "^": np.float_power,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
#: The longest text that copies may make.
_LONGEST = 1_000_000
_CONSTANTS = {"_pi": np.pi}
_TRUTHS = frozenset((*_COMPARISONS, "&", "|"))


def evaluate(expression: str | ExpressionNode, scope: Scope) -> Value:
    """The value of an expression."""
    tree = expression_tree(expression) if isinstance(expression, str) else expression
    with np.errstate(all="ignore"):
        return _value(tree, scope)


def truth(expression: str | ExpressionNode, scope: Scope) -> BoolArray:
    """For which observations an expression holds: it is not 0; missing counts as true."""
    value = evaluate(expression, scope)
    held = np.asarray(numeric(value)) != 0
    return np.broadcast_to(held, (scope.rows,)).copy() if held.ndim == 0 else held


def number_of(expression: str, scope: Scope) -> float:
    """One number: the value of the first observation where it depends on them."""
    value = evaluate(expression, scope)
    DoError.when(is_text(value), "type mismatch", code=109)
    if isinstance(value, np.ndarray):
        return float(value[0]) if value.size else MISSING
    return float(value)


def numeric(value: Value, otherwise: str = "type mismatch") -> float | FloatArray:
    """The same value; an error if it is a text."""
    DoError.when(is_text(value), otherwise, code=109)
    return cast("float | FloatArray", value)


def number_column(value: Value, rows: int, otherwise: str = "type mismatch") -> FloatArray:
    """A number for each observation; an error if the value is a text."""
    return np.asarray(whole_column(numeric(value, otherwise), rows), dtype=np.float64)


def whole_column(value: Value, rows: int) -> FloatArray | TextArray:
    """A value for each observation."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str):
        return text_column([value] * rows)
    return np.full(rows, value, dtype=np.float64)


def _value(node: ExpressionNode, scope: Scope) -> Value:
    if isinstance(node, NumberLiteral | TextLiteral):
        return node.value
    if isinstance(node, Name):
        return _named(node.name, scope)
    if isinstance(node, Binary):
        left, right = _value(node.left, scope), _value(node.right, scope)
        if node.sign == "*" and is_text(left) != is_text(right):
            scope.names.may_fail()
        joined = _joined(node.sign, left, right)
        if node.sign in _TRUTHS and not (_gap(node.left) or _gap(node.right)):
            scope.names.told_apart(joined, node.sign in _COMPARISONS and _gaps(left, right))
        return joined
    if isinstance(node, Unary):
        return _signed(node.sign, _value(node.inner, scope))
    if isinstance(node, Function):
        return _called(node, scope)
    if isinstance(node, Index):
        return _indexed(node, scope)
    raise UnsupportedError("this kind of expression")


def _gap(node: ExpressionNode) -> bool:
    """Whether a missing value is written out."""
    return isinstance(node, NumberLiteral) and node.value >= MISSING


def _gaps(left: Value, right: Value) -> Any:
    """How far two sides of a comparison are apart; False if they are no numbers."""
    if is_text(left) or is_text(right):
        return False
    missing = np.greater_equal(left, MISSING) | np.greater_equal(right, MISSING)
    return np.where(missing, np.inf, np.abs(np.subtract(left, right)))


def _named(name: str, scope: Scope) -> Value:
    if name == "_n":
        scope.names.ordered()
        return scope.position()
    if name == "_N":
        scope.names.counted()
        return scope.number()
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if "." in name:
        operators, _, variable = name.rpartition(".")
        shifted: Value = scope.names.shifted(operators, variable)
        return shifted
    if name == "_rc":
        code = scope.names.result("c", "rc")
        return code if code is not None else 0.0
    value: Value | None = scope.names.column(name)
    if value is None:
        value = scope.names.scalar(name)
    if value is None:
        raise DoError(f"{name} not found", code=111)
    return value


def _joined(sign: str, left: Value, right: Value) -> Value:
    texts = is_text(left), is_text(right)
    if sign in "&|":
        DoError.when(any(texts), "type mismatch", code=109)
        join = np.logical_and if sign == "&" else np.logical_or
        return yes_or_no(join(np.not_equal(left, 0), np.not_equal(right, 0)))
    if texts[0] != texts[1]:
        if sign == "*":
            return _copied(*((left, right) if texts[0] else (right, left)))
        raise DoError("type mismatch", code=109)
    if sign in _COMPARISONS:
        return yes_or_no(_COMPARISONS[sign](left, right))
    if texts[0]:
        DoError.when(sign != "+", "type mismatch", code=109)
        return left + right  # type: ignore[operator]
    missing = np.greater_equal(left, MISSING) | np.greater_equal(right, MISSING)
    if missing.ndim == 0:
        return MISSING if missing else float(tidy(_ARITHMETIC[sign](np.float64(left), right)))
    result = tidy(_ARITHMETIC[sign](left, right))
    return np.where(missing, MISSING, result) if missing.any() else result


def _copied(text: Value, times: Value) -> Value:
    """A text as often as a number says: `"ab" * 2`."""

    def several(one: Any, number: Any) -> str:
        size = int(number) if number < MISSING else 0
        if size * len(one) > _LONGEST:
            error = DoError("a text is too long", code=198)
            error.redacted = varying
            raise error
        return str(one) * max(size, 0)

    varying = not (isinstance(text, str) and isinstance(times, float))
    if not varying:
        return several(text, times)
    value: Value = np.frompyfunc(several, 2, 1)(text, times)
    return value


def _signed(sign: str, value: Value) -> Value:
    DoError.when(is_text(value), "type mismatch", code=109)
    if sign == "!":
        return yes_or_no(np.equal(value, 0))
    missing = np.greater_equal(value, MISSING)
    if isinstance(value, np.ndarray):
        return np.where(missing, MISSING, -value)
    return MISSING if missing else -float(value)


def _called(node: Function, scope: Scope) -> Value:
    if node.name in ("r", "e", "s", "c"):
        result = scope.names.result(node.name, node.text)
        return MISSING if result is None else result
    if node.name == "scalar":
        value = scope.names.scalar(node.text)
        if value is None:
            raise DoError("scalar not found", code=111)
        return value
    function = function_of(node.name)
    if function is None:
        if scope.names.column(node.name) is not None:
            raise DoError(f"{node.name} is no function", code=133)
        raise UnsupportedError(f"function {node.name}()")
    if node.name in _DRAWN and id(node) in scope.drawn:
        drawn: Value = scope.drawn[id(node)]
        return drawn
    made = function(scope, node.text, [_value(argument, scope) for argument in node.arguments])
    if node.name in _DRAWN:
        scope.drawn[id(node)] = made
    return made


#: Functions whose draws are the same however often an expression is looked at.
_DRAWN = function_table().drawing


def _indexed(node: Index, scope: Scope) -> Value:
    if node.name in ("_b", "_se", "_coef"):
        return scope.names.element(node.name, node.text, ())
    column = scope.names.column(node.name)
    if column is None or len(node.at) != 1:
        at = tuple(number_of_value(_value(part, scope)) for part in node.at)
        element: Value = scope.names.element(node.name, node.text, at)
        return element
    wanted = _value(node.at[0], scope)
    first, end = scope.bounds()
    row = np.trunc(np.asarray(numeric(wanted), dtype=np.float64))
    inside = (row >= 1) & (row <= end - first)
    at = np.where(inside, row - 1, 0).astype(np.int64) + first
    if not scope.rows:
        nothing: Value = column
        return nothing
    scope.names.referred(np.minimum(at, scope.rows - 1), inside)
    picked = column[np.minimum(at, scope.rows - 1)]
    if scope.sequential == node.name and scope.renewed is not None:
        earlier = at < np.arange(scope.rows)
        picked = np.where(earlier, scope.renewed[np.minimum(at, scope.rows - 1)], picked)
    return typed(np.where(inside, picked, "" if is_text(column) else MISSING), column)


def number_of_value(value: Value) -> float:
    """One number from a value that does not depend on observations."""
    DoError.when(is_text(value) or isinstance(value, np.ndarray), "type mismatch", code=109)
    return float(value)
