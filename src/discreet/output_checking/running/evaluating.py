"""The value of an expression for all observations at once. CONFIDENTIAL.

In: a tree and a `Scope`. Out: a number or text, or an array with one per observation.
Missing values follow Stata: arithmetic with one gives `.`, comparisons take it as larger
than every number, `&` and `|` as true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.functions import function_of
from discreet.output_checking.running.scope import Scope, Texts, Value
from discreet.output_checking.running.syntax import (
    Binary,
    Function,
    Index,
    Name,
    Node,
    Number,
    Text,
    Unary,
    parsed,
)
from discreet.output_checking.running.values import MISSING, Floats, Mask, is_text, tidy

__all__ = ["DRAWN", "evaluate", "is_text", "number_of", "truth", "whole_column"]

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


def evaluate(expression: str | Node, scope: Scope) -> Value:
    """The value of an expression.

    Raises:
        DoError: A name is not found, or types do not go together.
    """
    tree = parsed(expression) if isinstance(expression, str) else expression
    with np.errstate(all="ignore"):
        return _value(tree, scope)


def truth(expression: str | Node, scope: Scope) -> Mask:
    """For which observations an expression holds: it is not 0; missing counts as true."""
    value = evaluate(expression, scope)
    if is_text(value):
        raise DoError("type mismatch", code=109)
    held = np.asarray(value) != 0
    return np.broadcast_to(held, (scope.rows,)).copy() if held.ndim == 0 else held


def number_of(expression: str, scope: Scope) -> float:
    """One number: the value of the first observation where it depends on them."""
    value = evaluate(expression, scope)
    if is_text(value):
        raise DoError("type mismatch", code=109)
    if isinstance(value, np.ndarray):
        return float(value[0]) if value.size else MISSING
    return float(value)


def whole_column(value: Value, rows: int) -> Floats | Texts:
    """A value for each observation."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str):
        column = np.empty(rows, dtype=object)
        column[:] = value
        return column
    return np.full(rows, value, dtype=np.float64)


def _value(node: Node, scope: Scope) -> Value:
    if isinstance(node, Number | Text):
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


def _gap(node: Node) -> bool:
    """Whether a missing value is written out."""
    return isinstance(node, Number) and node.value >= MISSING


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
    found: Value | None = scope.names.column(name)
    if found is None:
        found = scope.names.scalar(name)
    if found is None:
        raise DoError(f"{name} not found", code=111)
    return found


def _joined(sign: str, left: Value, right: Value) -> Value:
    texts = is_text(left), is_text(right)
    if sign in "&|":
        if any(texts):
            raise DoError("type mismatch", code=109)
        held = (
            np.not_equal(left, 0) & np.not_equal(right, 0)
            if sign == "&"
            else np.not_equal(left, 0) | np.not_equal(right, 0)
        )
        return _plain(held)
    if texts[0] != texts[1]:
        if sign == "*":
            return _copied(*((left, right) if texts[0] else (right, left)))
        raise DoError("type mismatch", code=109)
    if sign in _COMPARISONS:
        return _plain(_COMPARISONS[sign](left, right))
    if texts[0]:
        if sign != "+":
            raise DoError("type mismatch", code=109)
        return left + right  # type: ignore[operator]
    missing = np.greater_equal(left, MISSING) | np.greater_equal(right, MISSING)
    if missing.ndim == 0:
        return MISSING if missing else float(tidy(_ARITHMETIC[sign](np.float64(left), right)))
    found = tidy(_ARITHMETIC[sign](left, right))
    return np.where(missing, MISSING, found) if missing.any() else found


def _copied(text: Value, times: Value) -> Value:
    """A text as often as a number says: `"ab" * 2`."""

    def several(one: Any, number: Any) -> str:
        size = int(number) if number < MISSING else 0
        if size * len(one) > _LONGEST:
            error = DoError("a text is too long", code=198)
            error.untold = varying
            raise error
        return str(one) * max(size, 0)

    varying = not (isinstance(text, str) and isinstance(times, float))
    if not varying:
        return several(text, times)
    found: Value = np.frompyfunc(several, 2, 1)(text, times)
    return found


def _plain(held: Any) -> Value:
    """Yes and no as 1 and 0."""
    if isinstance(held, np.ndarray) and held.ndim:
        return held.astype(np.float64)
    return float(bool(held))


def _signed(sign: str, value: Value) -> Value:
    if is_text(value):
        raise DoError("type mismatch", code=109)
    if sign == "!":
        return _plain(np.equal(value, 0))
    missing = np.greater_equal(value, MISSING)
    if isinstance(value, np.ndarray):
        return np.where(missing, MISSING, -value)
    return MISSING if missing else -float(value)


def _called(node: Function, scope: Scope) -> Value:
    if node.name in ("r", "e", "s", "c"):
        found = scope.names.result(node.name, node.text)
        return MISSING if found is None else found
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
    if node.name in DRAWN:
        if id(node) not in scope.drawn:
            arguments = [_value(argument, scope) for argument in node.arguments]
            scope.drawn[id(node)] = function(scope, node.text, arguments)
        drawn: Value = scope.drawn[id(node)]
        return drawn
    return function(scope, node.text, [_value(argument, scope) for argument in node.arguments])


#: Functions whose draws are the same however often an expression is looked at.
DRAWN = frozenset(
    ("runiform", "uniform", "rnormal", "runiformint", "rbinomial", "rpoisson", "rchi2", "rt",
     "rgamma", "rbeta", "rexponential")
)  # fmt: skip


def _indexed(node: Index, scope: Scope) -> Value:
    if node.name in ("_b", "_se", "_coef"):
        return scope.names.element(node.name, node.text, ())
    column = scope.names.column(node.name)
    if column is None or len(node.at) != 1:
        at = tuple(number_of_value(_value(part, scope)) for part in node.at)
        element: Value = scope.names.element(node.name, node.text, at)
        return element
    wanted = _value(node.at[0], scope)
    if is_text(wanted):
        raise DoError("type mismatch", code=109)
    first, end = scope.bounds()
    row = np.trunc(np.asarray(wanted, dtype=np.float64))
    inside = (row >= 1) & (row <= end - first)
    at = np.where(inside, row - 1, 0).astype(np.int64) + first
    if not scope.rows:
        nothing: Value = column
        return nothing
    scope.names.referred(np.minimum(at, scope.rows - 1), inside)
    found = column[np.minimum(at, scope.rows - 1)]
    if scope.sequential == node.name and scope.renewed is not None:
        earlier = at < np.arange(scope.rows)
        found = np.where(earlier, scope.renewed[np.minimum(at, scope.rows - 1)], found)
    result = np.where(inside, found, "" if is_text(column) else MISSING)
    if result.ndim == 0:
        return str(result) if is_text(column) else float(result)
    whole: Value = result.astype(object) if is_text(column) else result
    return whole


def number_of_value(value: Value) -> float:
    """One number from a value that does not depend on observations."""
    if is_text(value) or isinstance(value, np.ndarray):
        raise DoError("type mismatch", code=109)
    return float(value)
