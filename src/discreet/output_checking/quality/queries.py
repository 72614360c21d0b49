"""Queries in one form: the same question asked in other words is the same query.

In: a safe command and its arguments. Out: a `Query` with a canonical text. The text never
depends on data: two filters that happen to choose the same records are different queries,
since being told that they are the same would be an answer too.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from discreet.errors import OutputCheckError
from discreet.output_checking import safe
from discreet.output_checking.quality.conditions import condition_text, plain_value
from discreet.output_checking.safe.models.terms import Term, parse_terms
from discreet.output_checking.safe.results import SafeResult
from discreet.tabulation.filters import parse_filter

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
#: Arguments that name columns, beside conditions and terms.
_COLUMNS = frozenset({"names", "of", "by", "row", "column", "outcome", "weights", "cluster"})


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question to the data.

    Args:
        command: The safe command.
        arguments: What it is called with.
        text: The canonical form.
        columns: The columns that it names.

    >>> one = Query.of("regress", outcome="y", terms=["x", "z"], where="age>17 and sex == 1.0")
    >>> two = Query.of("regress", outcome="y", terms=["z", "x"], where="1 == sex and 17 < age")
    >>> one.text == two.text
    True
    """

    command: str
    arguments: Mapping[str, Any]
    text: str
    columns: frozenset[str]

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
        parameters = _parameters(command)
        defaults = {name: one.default for name, one in parameters.items()}
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
            form["terms"] = sorted({_term_text(one) for one in terms})
            columns += [factor.name for one in terms for factor in one.factors]
        for name in _COLUMNS & form.keys():
            columns += form[name] if isinstance(form[name], list) else [form[name]]
        text = json.dumps([command, form], sort_keys=True, ensure_ascii=False)
        asked = MappingProxyType(changed)
        return cls(command=command, arguments=asked, text=text, columns=frozenset(columns))

    def run(self, frame: Any, **fixed: Any) -> SafeResult:
        """The result on some records.

        Args:
            frame: The records.
            fixed: What the centre sets: limits, entity.
        """
        return COMMANDS[self.command](frame, **self.arguments, **fixed)


def _parameters(command: str) -> dict[str, inspect.Parameter]:
    """Arguments of a command; models share those of `regress`."""
    source = "regress" if command in ("logit", "probit") else command
    found = dict(inspect.signature(COMMANDS[source]).parameters)
    if source != command:
        found["weight_kind"] = found["weight_kind"].replace(default="pweight")
    return found


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
    return sorted(set(items), key=_in_order) if simple and name in _SETS else items


def _checked(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """The argument, if it is of the kind that the command takes."""
    kind = str(parameter.annotation)
    items = value if isinstance(value, list) else [value]
    many = isinstance(value, list)
    number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in items)
    if kind == "bool":
        good, what = isinstance(value, bool), "true or false"
    elif "float" in kind:
        good, what = number and many is ("Sequence" in kind), "a number"
    else:
        good = all(isinstance(one, str) for one in items) and many is ("Sequence" in kind)
        what = "a text"
    if good or (value is None and parameter.default is None):
        return value
    what = f"a list of which each is {what}" if "Sequence" in kind else what
    raise OutputCheckError(f"the argument is not {what}", code="query", where=name)


def _term_text(term: Term) -> str:
    factors = [(one.name, one.levels, str(one.base), one.only) for one in term.factors]
    return json.dumps(sorted(factors))


def _in_order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
