"""Conditions in one form: the same condition in other words has the same text.

In: a parsed filter. Out: a text that never depends on data. Order, repetition, brackets,
`not`, lists and the sides of a comparison make no difference. Unknown values stay unknown
under all of these, so that the same records pass.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.tabulation.filters import Filter

__all__ = ["condition_text", "plain_value"]

#: A comparison, or a kind with the sorted texts of its parts.
_Form = str | tuple[str, tuple[str, ...]]

_AND_OR: Mapping[type[ast.boolop], tuple[str, str]] = {
    ast.And: ("And", "Or"),
    ast.Or: ("Or", "And"),
}
#: Comparisons, and their opposites; the sides change places where a letter says so.
_STEPS: Mapping[type[ast.cmpop], tuple[tuple[str, bool], tuple[str, bool]]] = {
    ast.Lt: (("Lt", False), ("LtE", True)),
    ast.LtE: (("LtE", False), ("Lt", True)),
    ast.Gt: (("Lt", True), ("LtE", False)),
    ast.GtE: (("LtE", True), ("Lt", False)),
    ast.Eq: (("Eq", False), ("NotEq", False)),
    ast.NotEq: (("NotEq", False), ("Eq", False)),
    ast.Is: (("Is", False), ("IsNot", False)),
    ast.IsNot: (("IsNot", False), ("Is", False)),
}


def condition_text(parsed: Filter) -> str:
    """The text of a condition.

    Args:
        parsed: The condition.

    >>> from discreet.tabulation.filters import parse_filter
    >>> one, other = "not (sex == 1 or age <= 17)", "age > 17 and sex != 1.0"
    >>> condition_text(parse_filter(one)) == condition_text(parse_filter(other))
    True
    """
    return _text(_form(parsed._tree, parsed, turned=False))


def plain_value(value: Any) -> Any:
    """Whole numbers as such."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _form(node: ast.expr, parsed: Filter, *, turned: bool) -> _Form:
    """A condition, or what it is not."""
    if isinstance(node, ast.BoolOp):
        kind = _AND_OR[type(node.op)][turned]
        return _joined(kind, (_form(one, parsed, turned=turned) for one in node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _form(node.operand, parsed, turned=not turned)
    if isinstance(node, ast.Compare):
        sides = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        steps = (_step(a, operator, b, parsed, turned=turned) for a, operator, b in sides)
        return _joined("Or" if turned else "And", steps)
    return f"(Not {_term(node, parsed)})" if turned else _term(node, parsed)


def _step(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, parsed: Filter, *, turned: bool
) -> _Form:
    """One comparison; one with a list is one with each of its values."""
    if isinstance(operator, ast.In | ast.NotIn):
        negative = isinstance(operator, ast.NotIn) is not turned
        kind, joint = ("NotEq", "And") if negative else ("Eq", "Or")
        values = right.elts if isinstance(right, ast.List | ast.Tuple | ast.Set) else [right]
        return _joined(joint, (_compared(kind, left, one, parsed) for one in values))
    kind, exchanged = _STEPS[type(operator)][turned]
    first, second = (right, left) if exchanged else (left, right)
    return _compared(kind, first, second, parsed)


def _compared(kind: str, left: ast.expr, right: ast.expr, parsed: Filter) -> str:
    sides = [_term(left, parsed), _term(right, parsed)]
    one, other = sorted(sides) if kind in ("Eq", "NotEq") else sides
    return f"({kind} {one} {other})"


def _term(node: ast.expr, parsed: Filter) -> str:
    """A column or a value."""
    if parsed._is_column(node):
        return f"[{json.dumps(parsed._name(node))}]"
    value = node.id.lower() if isinstance(node, ast.Name) else ast.literal_eval(node)
    return json.dumps(plain_value(value))


def _joined(kind: str, parts: Iterable[_Form]) -> _Form:
    """Parts within parts of the same kind, each once and in order."""
    found: dict[str, _Form] = {}
    for part in parts:
        same = isinstance(part, tuple) and part[0] == kind
        found |= {one: one for one in part[1]} if same else {_text(part): part}
    return next(iter(found.values())) if len(found) == 1 else (kind, tuple(sorted(found)))


def _text(form: _Form) -> str:
    return form if isinstance(form, str) else f"({form[0]} {' '.join(form[1])})"
