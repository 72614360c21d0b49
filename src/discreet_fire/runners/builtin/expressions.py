"""Expressions of do-files: from text to a tree, and its value for all records. CONFIDENTIAL.

In: the text of an expression after macros are expanded, and a `Scope`. Out: its value. Operators
bind as in Stata (`!`, `^`, sign, `* /`, `+ -`, comparisons, `&`, `|`). Missing values follow Stata:
arithmetic with one gives `.`, comparisons take it as larger than every number, `&` and `|` as true.
The scope notes what the expression used: the session judges it afterwards.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, TextArray
from discreet_fire.runners.builtin.data import DataSet
from discreet_fire.runners.builtin.syntax import (
    MISSING,
    DoError,
    UnsupportedError,
    Value,
    is_text,
    missing_code,
    required,
    text_column,
    tidy,
)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?(?![A-Za-z_0-9]))
  | (?P<missing>\.[a-z]?(?![A-Za-z_0-9.]))
  | (?P<text>`"(?:(?!"').)*"'|"[^"]*")
  | (?P<name>[A-Za-z_\u00a1-\uffff][A-Za-z_0-9\u00a1-\uffff]*)
  | (?P<sign>==|!=|~=|>=|<=|[-+*/^&|!~<>(),\[\]])
    )""",
    re.VERBOSE | re.DOTALL,
)
#: Signs of Stata as those of Python that bind alike.
_PYTHON = {"~=": "!=", "!": "~", "&": " and ", "|": " or ", "^": "**"}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.Gt: operator.gt,
    ast.LtE: operator.le, ast.GtE: operator.ge,
}  # fmt: skip
_COUNTED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: np.true_divide, ast.Pow: np.float_power,
}  # fmt: skip


@lru_cache(maxsize=2048)
def expression_tree(text: str) -> ast.expr:
    """The tree of an expression, as Python has it; names begin with an x.

    >>> ast.unparse(expression_tree("-a^2 == .5 & !inlist(b, 1)"))
    '-xa ** 2.0 == 0.5 and ~xinlist(xb, 1.0)'
    """
    parts, at = list[str](), 0
    while at < len(text.rstrip()):
        match = required(_TOKEN.match(text, at), "this expression cannot be read")
        word, at = match[str(match.lastgroup)], match.end()
        if match["number"]:
            word = repr(tidy(float(word.replace("d", "e").replace("D", "e"))))
        elif match["missing"]:
            word = repr(missing_code(word))
        elif match["text"]:
            word = repr(word[2:-2] if word[0] == "`" else word[1:-1])
        else:
            word = f"x{word}" if match["name"] else _PYTHON.get(word, word)
        parts.append(word)
    source = " ".join(parts)
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        raise DoError("invalid syntax in an expression") from None
    for node in ast.walk(tree):
        inner: ast.expr | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            inner = node.right
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            inner = node.operand
        if isinstance(inner, ast.BinOp):  # Stata and Python differ in what binds first
            bare = source.encode()[: inner.col_offset][-2:] != b"( "
            UnsupportedError.when(bare, "a^b^c and !a^b without brackets")
        chained = isinstance(node, ast.Compare) and len(node.ops) > 1
        UnsupportedError.when(chained, "a < b < c without brackets")
    return tree


@dataclass(repr=False)
class Scope:
    """Scope of an expression, and the values it has used (confidential)."""

    data: DataSet
    others: Mapping[str, Any] = field(default_factory=dict)  # variables with other values
    columns: set[str] = field(default_factory=set)  # variables read, but those free of data
    comparisons: list[tuple[Any, Any]] = field(default_factory=list)  # who holds, and how closely
    single: bool = False  # whether a variable was read that rests on single values

    def column(self, name: str) -> Any:
        """The values of a variable; None if there is none."""
        full = self.data.find(name)
        if full is None:
            return None
        variable = self.data.variables[full]
        if not variable.free:
            self.columns.add(full)
        self.single |= variable.single
        return self.others.get(full, variable.values)

    def compared(self, holds: Any, gaps: Any) -> None:
        """Note for whom a comparison holds, and how far its sides are apart (False: no numbers)."""
        if np.ndim(holds) and len(holds) == self.data.rows:
            self.comparisons.append((np.asarray(holds) != 0, gaps))


def evaluate(expression: str, scope: Scope) -> Value:
    """The value of an expression."""
    with np.errstate(all="ignore"):
        return _value(expression_tree(expression), scope)


def truth(expression: str, scope: Scope) -> BoolArray:
    """For which records an expression holds: it is not 0; missing counts as true."""
    value = evaluate(expression, scope)
    DoError.when(is_text(value), "type mismatch", 109)
    return np.broadcast_to(np.not_equal(value, 0), (scope.data.rows,)).copy()


def whole_column(value: Value, rows: int) -> FloatArray | TextArray:
    """A value for each record."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str):
        return text_column([value] * rows)
    return np.full(rows, value, dtype=np.float64)


def _value(node: ast.expr, scope: Scope) -> Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, float | str):
        return node.value
    if isinstance(node, ast.Name):
        return _named(node.id[1:], scope)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node.func.id[1:], node.args, scope)
    UnsupportedError.when(isinstance(node, ast.Subscript), "values of other records, as x[1]")
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, scope)
        DoError.when(is_text(value), "type mismatch", 109)
        if isinstance(node.op, ast.Invert):
            return _number(np.equal(value, 0))
        return _numeric(np.negative if isinstance(node.op, ast.USub) else np.positive, value)
    if isinstance(node, ast.BinOp):
        return _counted(node.op, _value(node.left, scope), _value(node.right, scope))
    if not isinstance(node, ast.Compare | ast.BoolOp):
        raise DoError("invalid syntax in an expression")
    parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.values
    values = [_value(part, scope) for part in parts]
    if isinstance(node, ast.Compare):
        text = _alike(values)
        holds = _number(_COMPARED[type(node.ops[0])](*values))
        if text or not any(map(is_gap, parts)):
            scope.compared(holds, not text and _gaps(*values))
        return holds
    DoError.when(any(map(is_text, values)), "type mismatch", 109)
    join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
    holds = _number(reduce(join, [np.not_equal(one, 0) for one in values]))
    scope.compared(holds, False)
    return holds


def is_gap(node: ast.expr) -> bool:
    """Whether a missing value or an empty text is written out."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value == "" or (isinstance(value, float) and value >= MISSING)


def _gaps(left: Value, right: Value) -> Any:
    missing = np.greater_equal(left, MISSING) | np.greater_equal(right, MISSING)
    return np.where(missing, np.inf, np.abs(np.subtract(left, right)))


def _number(value: Any) -> Value:
    """Results as 64-bit numbers, one or one per record."""
    value = np.asarray(value, dtype=np.float64)
    return value if value.ndim else float(value)


def _numeric(work: Callable[..., Any], *values: Any) -> Value:
    """What is worked out of numbers: missing where one of them is."""
    missing: Any = reduce(np.logical_or, [np.greater_equal(one, MISSING) for one in values])
    known = [np.where(missing, 1.0, one) for one in values]
    return _number(np.where(missing, MISSING, tidy(np.asarray(work(*known)))))


def _named(name: str, scope: Scope) -> Value:
    if name == "_pi":
        return float(np.pi)
    UnsupportedError.when(name in ("_n", "_N"), f"{name}, as records have no numbers")
    column: Value = required(scope.column(name), f"{name} not found", 111)
    return column


def _counted(sign: ast.operator, left: Value, right: Value) -> Value:
    work = _COUNTED[type(sign)]
    if _alike([left, right]):
        DoError.when(work is not operator.add, "type mismatch", 109)
        texts: Value = work(left, right)
        return texts
    return _numeric(work, left, right)


def _called(name: str, arguments: Sequence[ast.expr], scope: Scope) -> Value:
    if name not in FUNCTIONS:
        raise UnsupportedError(f"the function {name}()")
    function = FUNCTIONS[name]
    values = [_value(argument, scope) for argument in arguments]
    right = function.least <= len(values) <= (function.most or len(values))
    DoError.when(not right, f"{name}(): wrong number of arguments")
    DoError.when(not function.texts and any(map(is_text, values)), "type mismatch", 109)
    return function.of(scope, values)


# --- functions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Function:
    """A function: how its value is worked out, how many arguments it takes, texts among them."""

    of: Callable[[Scope, Sequence[Any]], Value]
    least: int = 1
    most: int | None = 1
    texts: bool = False


def _of_numbers(work: Callable[..., Any], least: int = 1, most: int = 1) -> _Function:
    """A function of numbers that is missing where an argument is."""
    return _Function(lambda _, values: _numeric(work, *values), least, most)


def _rounded(value: Any, unit: Any = 1.0) -> Any:
    return np.where(unit == 0, value, unit * np.floor(value / unit + 0.5))


def _extreme(choose: Callable[[Any, Any], Any], nothing: float) -> _Function:
    """The largest or smallest of several, without missing ones.

    A bound, as in `min(x, 5000)`, asks who lies beyond it, as a comparison does.
    """

    def call(scope: Scope, values: Sequence[Any]) -> Value:
        best: Any = np.full((), nothing)
        for value in values:
            best = choose(best, np.where(np.greater_equal(value, MISSING), nothing, value))
        columns = [one for one in values if np.ndim(one)]
        bounds = [one for one in values if not np.ndim(one)]
        if len(columns) == 1 and bounds:
            known = np.less(columns[0], MISSING)
            gaps = np.min([np.abs(columns[0] - bound) for bound in bounds], axis=0)
            scope.compared((best == columns[0]) | ~known, np.where(known, gaps, np.inf))
        return _number(tidy(best))

    return _Function(call, 1, None)


def _alike(values: Sequence[Any]) -> bool:
    """Whether values are texts; an error unless all of them are, or none."""
    DoError.when(len({is_text(value) for value in values}) > 1, "type mismatch", 109)
    return is_text(values[0])


def _missing(_: Scope, values: Sequence[Any]) -> Value:
    gaps = [np.equal(one, "") if is_text(one) else np.greater_equal(one, MISSING) for one in values]
    return _number(reduce(np.logical_or, gaps))


def _cond(_: Scope, values: Sequence[Any]) -> Value:
    DoError.when(is_text(values[0]), "type mismatch", 109)
    text = _alike(values[1:])
    chosen = np.where(np.not_equal(values[0], 0), values[1], values[2])
    if not text:
        return _number(chosen)
    return text_column(chosen) if chosen.ndim else str(chosen)


def _inrange(_: Scope, values: Sequence[Any]) -> Value:
    """Whether a value is in a range; a missing end leaves the range open."""
    value, low, high = values
    if _alike(values):
        below = np.equal(high, "") | np.less_equal(value, high)
        return _number(np.greater_equal(value, low) & below & np.not_equal(value, ""))
    above = np.greater_equal(low, MISSING) | np.greater_equal(value, low)
    below = np.greater_equal(high, MISSING) | np.less_equal(value, high)
    return _number(above & below & np.less(value, MISSING))


def _inlist(_: Scope, values: Sequence[Any]) -> Value:
    _alike(values)
    return _number(reduce(np.logical_or, [np.equal(values[0], other) for other in values[1:]]))


#: The functions of expressions, each with its name.
FUNCTIONS: Mapping[str, _Function] = MappingProxyType(
    {
        **{
            name: _of_numbers(getattr(np, name))
            for name in ["abs", "exp", "log", "log10", "sqrt", "floor", "ceil"]
        },
        "ln": _of_numbers(np.log),
        "int": _of_numbers(np.trunc),
        "round": _of_numbers(_rounded, 1, 2),
        "mod": _of_numbers(
            lambda x, by: np.where(by <= 0, MISSING, x - by * np.floor(x / by)), 2, 2
        ),
        "min": _extreme(np.minimum, np.inf),
        "max": _extreme(np.maximum, -np.inf),
        **dict.fromkeys(("missing", "mi"), _Function(_missing, 1, None, texts=True)),
        "cond": _Function(_cond, 3, 3, texts=True),
        "inrange": _Function(_inrange, 3, 3, texts=True),
        "inlist": _Function(_inlist, 2, None, texts=True),
    }
)
#: Functions that ask for values.
ASKING = frozenset(("inlist", "inrange"))
