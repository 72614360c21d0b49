"""Queries in one form: the same question asked in other words is the same query.

In: a safe command and its arguments. Out: a `Query` with a canonical text. The text never
depends on data: two filters that happen to choose the same records are different queries,
since being told that they are the same would be an answer too.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from discreet.errors import OutputCheckError
from discreet.output_checking import safe
from discreet.output_checking.safe.results import SafeResult
from discreet.tabulation.filters import Filter, parse_filter

__all__ = ["COMMANDS", "Query"]

#: The commands that can be asked for.
COMMANDS: Mapping[str, Callable[..., SafeResult]] = MappingProxyType(
    {
        "centile": safe.centile,
        "correlate": safe.correlate,
        "count": safe.count,
        "logit": safe.logit,
        "probit": safe.probit,
        "pwcorr": safe.pwcorr,
        "regress": safe.regress,
        "summarize": safe.summarize,
        "tabstat": safe.tabstat,
        "table": safe.table,
        "tabulate": safe.tabulate,
    }
)

#: What the centre sets, not the researcher.
_FIXED = frozenset({"frame", "limits", "entity", "earlier"})
#: Lists in which the order says nothing.
_SETS = frozenset({"names", "terms", "statistics", "percent", "centiles", "of", "by"})
_FLIPPED: Mapping[type[ast.cmpop], str] = MappingProxyType({ast.Gt: "Lt", ast.GtE: "LtE"})


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question to the data.

    Args:
        command: The safe command.
        arguments: What it is called with.
        text: The canonical form.

    >>> one = Query.of("regress", outcome="y", terms=["x", "z"], where="age>17 and sex == 1.0")
    >>> two = Query.of("regress", outcome="y", terms=["z", "x"], where="1 == sex and 17 < age")
    >>> one.text == two.text
    True
    """

    command: str
    arguments: Mapping[str, Any]
    text: str

    @classmethod
    def of(cls, command: str, **arguments: Any) -> Query:
        """Bring a question into its one form.

        Args:
            command: A safe command, as in `COMMANDS`.
            arguments: Its arguments by name, without the frame.
        """
        if command not in COMMANDS:
            hint = f"there are: {', '.join(COMMANDS)}"
            raise OutputCheckError(
                "the command cannot be asked for", code="query", where=str(command), hint=hint
            )
        defaults = _defaults(command)
        for name in arguments:
            if name in _FIXED or name not in defaults:
                hint = f"{command} takes: {', '.join(sorted(defaults.keys() - _FIXED))}"
                what = "the argument is set by the centre" if name in _FIXED else "is no argument"
                raise OutputCheckError(what, code="query", where=str(name), hint=hint)
        missing = [name for name, value in defaults.items() if value is inspect.Parameter.empty]
        for name in missing:
            if name not in arguments and name not in _FIXED:
                what = "the argument is missing"
                raise OutputCheckError(what, code="query", where=name)
        plain = {name: _plain(name, value) for name, value in arguments.items()}
        changed = {
            name: value
            for name, value in plain.items()
            if defaults[name] is inspect.Parameter.empty or value != _plain(name, defaults[name])
        }
        if command == "tabulate" and "column" in changed and "percent" not in changed:
            first, second = sorted([str(changed["row"]), str(changed["column"])])
            changed |= {"row": first, "column": second}
        form = dict(changed)
        if "where" in form:
            form["where"] = _condition(parse_filter(form["where"]))
        text = json.dumps([command, form], sort_keys=True, ensure_ascii=False)
        return cls(command=command, arguments=MappingProxyType(changed), text=text)

    def run(self, frame: Any, **fixed: Any) -> SafeResult:
        """The result on some records.

        Args:
            frame: The records.
            fixed: What the centre sets: limits, entity.
        """
        return COMMANDS[self.command](frame, **self.arguments, **fixed)


def _defaults(command: str) -> dict[str, Any]:
    """Arguments with their defaults; models share those of `regress`."""
    source = "regress" if command in ("logit", "probit") else command
    found = {
        name: one.default for name, one in inspect.signature(COMMANDS[source]).parameters.items()
    }
    if source != command:
        found["weight_kind"] = "pweight"
    return found


def _plain(name: str, value: Any) -> Any:
    """Lists sorted, whole numbers as such."""
    if name in _SETS and isinstance(value, str):
        value = value.split() if name == "statistics" else [value]
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain("", one) for one in value]
        return sorted(set(items), key=_in_order) if name in _SETS else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    what = "an argument is a text, a number, or a list of them"
    raise OutputCheckError(what, code="query", where=name)


def _in_order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _condition(parsed: Filter) -> str:
    return _form(parsed._tree, parsed)


def _form(node: ast.expr, parsed: Filter) -> str:
    """A condition in prefix form; operands sorted where the order says nothing."""
    if isinstance(node, ast.BoolOp):
        kind = type(node.op).__name__
        return _joined(kind, [_form(one, parsed) for one in _flat(node, type(node.op))])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"(Not {_form(node.operand, parsed)})"
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        steps = [
            _step(left, operator, right, parsed)
            for left, operator, right in zip(sides, node.ops, node.comparators, strict=False)
        ]
        return _joined("And", steps)
    if parsed._is_column(node):
        return f"[{json.dumps(parsed._name(node))}]"
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return f"{{{' '.join(sorted({_form(one, parsed) for one in node.elts}))}}}"
    value = ast.literal_eval(node) if not isinstance(node, ast.Name) else node.id.lower()
    return json.dumps(_plain("where", value))


def _flat(node: ast.BoolOp, kind: type[ast.boolop]) -> list[ast.expr]:
    found: list[ast.expr] = []
    for one in node.values:
        inside = isinstance(one, ast.BoolOp) and isinstance(one.op, kind)
        found += _flat(one, kind) if inside and isinstance(one, ast.BoolOp) else [one]
    return found


def _joined(kind: str, parts: list[str]) -> str:
    unique = sorted(set(parts))
    return unique[0] if len(unique) == 1 else f"({kind} {' '.join(unique)})"


def _step(left: ast.expr, operator: ast.cmpop, right: ast.expr, parsed: Filter) -> str:
    one, other = _form(left, parsed), _form(right, parsed)
    kind = type(operator).__name__
    if type(operator) in _FLIPPED:
        return f"({_FLIPPED[type(operator)]} {other} {one})"
    if kind in ("Eq", "NotEq"):
        one, other = sorted([one, other])
    return f"({kind} {one} {other})"
