"""Queries in one form: the same question asked in other words is the same query.

In: a safe command and its arguments. Out: a `RemoteQuery` with a canonical text: order,
repetition, brackets, `not`, lists and the sides of a comparison make no difference. The text never
depends on data: two filters that happen to choose the same records are different queries,
since being told that they are the same would be an answer too.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from discreet.errors import OutputCheckError
from discreet.microdata import Filter, parse_filter
from discreet_fire.catalogue import statistic_rows
from discreet_fire.statistics import SafeResult, parse_terms, safe_statistic

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

    >>> from discreet.microdata.filters import parse_filter
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
    forms: dict[str, _Form] = {}
    for part in parts:
        same = isinstance(part, tuple) and part[0] == kind
        forms |= {one: one for one in part[1]} if same else {_text(part): part}
    return next(iter(forms.values())) if len(forms) == 1 else (kind, tuple(sorted(forms)))


def _text(form: _Form) -> str:
    return form if isinstance(form, str) else f"({form[0]} {' '.join(form[1])})"


#: The commands that can be asked for.
COMMANDS: Mapping[str, Callable[..., SafeResult]] = MappingProxyType(
    {
        name: safe_statistic(row.statistic)
        for name, row in sorted(statistic_rows().items())
        if row.remote
    }
)

#: What the centre sets, not the researcher.
_FIXED = frozenset({"frame", "limits", "entity", "earlier"})
#: Lists in which the order says nothing.
_SETS = frozenset({"names", "terms", "statistics", "percent", "centiles", "of", "by"})
#: Arguments that name columns, beside conditions and terms.
_COLUMNS = frozenset({"names", "of", "by", "row", "column", "outcome", "weights", "cluster"})


@dataclass(frozen=True, kw_only=True)
class RemoteQuery:
    """A question to the data.

    >>> one = RemoteQuery.of("regress", outcome="y", terms=["x", "z"], where="age>17 and sex==1.0")
    >>> two = RemoteQuery.of("regress", outcome="y", terms=["z", "x"], where="1==sex and 17 < age")
    >>> one.text == two.text
    True
    """

    command: str  # the safe command
    arguments: Mapping[str, Any]  # what it is called with
    text: str  # the canonical form
    columns: frozenset[str]  # the columns that it names

    @classmethod
    def of(cls, command: str, **arguments: Any) -> RemoteQuery:
        """Bring a question into its one form."""
        if command not in COMMANDS:
            message, hint = "the command cannot be asked for", f"there are: {', '.join(COMMANDS)}"
            raise OutputCheckError(message, code="query", where=str(command), hint=hint)
        parameters = _parameters(command)
        defaults = {name: one.default for name, one in parameters.items()}
        for name in arguments:
            if name in _FIXED or name not in defaults:
                hint = f"{command} takes: {', '.join(sorted(defaults.keys() - _FIXED))}"
                message = (
                    "the argument is set by the centre" if name in _FIXED else "unknown argument"
                )
                raise OutputCheckError(message, code="query", where=str(name), hint=hint)
        missing = [name for name, value in defaults.items() if value is inspect.Parameter.empty]
        for name in missing:
            if name not in arguments and name not in _FIXED:
                raise OutputCheckError("the argument is missing", code="query", where=name)
        plain = {
            name: _checked(name, _plain(name, value, parameters[name]), parameters[name])
            for name, value in arguments.items()
        }
        changed = {
            name: value
            for name, value in plain.items()
            if defaults[name] is inspect.Parameter.empty
            or value != _plain(name, defaults[name], parameters[name])
        }
        if command == "tabulate" and "column" in changed and "percent" not in changed:
            first, second = sorted([str(changed["row"]), str(changed["column"])])
            changed |= {"row": first, "column": second}
        form, columns = dict(changed), []
        if "where" in form:
            condition = parse_filter(form["where"])
            form["where"] = condition_text(condition)
            columns += sorted(condition.columns)
        if "terms" in form:
            terms = parse_terms(form["terms"])
            factors_of = [
                [(a.name, a.levels, str(a.base), a.only) for a in one.factors] for one in terms
            ]
            form["terms"] = sorted({json.dumps(sorted(factors)) for factors in factors_of})
            columns += [factor.name for one in terms for factor in one.factors]
        for name in _COLUMNS & form.keys():
            columns += form[name] if isinstance(form[name], list) else [form[name]]
        text = json.dumps([command, form], sort_keys=True, ensure_ascii=False)
        frozen = MappingProxyType(changed)
        return cls(command=command, arguments=frozen, text=text, columns=frozenset(columns))

    def run(self, frame: Any, **fixed: Any) -> SafeResult:
        """The result on some records, with what the centre sets: limits, entity."""
        return COMMANDS[self.command](frame, **self.arguments, **fixed)


def _parameters(command: str) -> dict[str, inspect.Parameter]:
    """Arguments of a command; models share those of `regress`."""
    as_regress = command in ("logit", "probit")
    parameters = dict(inspect.signature(COMMANDS["regress" if as_regress else command]).parameters)
    if as_regress:
        parameters["weight_kind"] = parameters["weight_kind"].replace(default="pweight")
    return parameters


def _plain(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """Lists sorted, whole numbers as such, lists of one where one is meant without list."""
    many = "Sequence" in str(parameter.annotation)
    if many and isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple | set | frozenset):
        return plain_value(value)
    items = [plain_value(one) for one in value]
    if name == "statistics" and all(isinstance(one, str) for one in items):
        items = [word for one in items for word in one.split()]
    if not many and len(items) == 1:
        return items[0]
    simple = all(isinstance(one, str | int | float) for one in items)
    return (
        sorted(set(items), key=lambda one: (isinstance(one, str), one))
        if simple and name in _SETS
        else items
    )


def _checked(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """The argument, if it is of the kind that the command takes."""
    kind = str(parameter.annotation)
    items = value if isinstance(value, list) else [value]
    many = isinstance(value, list)
    number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in items)
    if kind == "bool":
        good, wanted = isinstance(value, bool), "true or false"
    elif "float" in kind:
        good, wanted = number and many is ("Sequence" in kind), "a number"
    else:
        good = all(isinstance(one, str) for one in items) and many is ("Sequence" in kind)
        wanted = "a text"
    if good or (value is None and parameter.default is None):
        return value
    wanted = f"a list of which each is {wanted}" if "Sequence" in kind else wanted
    raise OutputCheckError(f"the argument is not {wanted}", code="query", where=name)
