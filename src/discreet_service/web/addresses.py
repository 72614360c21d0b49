"""Addresses of tables: a query as parameters, by=region:district&where.age=Y15-29&totals=none.
Codes with commas in them are named one by one: where.age=A&where.age=B.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import Problem, nearest
from discreet_service.queries import MEASURES, TableQuery, read_query, refused

_SINGLE = ("unit", "version", "format", "language")
_PREFIXES = ("where", "codes", "within")
_KNOWN = ("by", "measures", "totals", *_SINGLE, *(f"{each}.VARIABLE" for each in _PREFIXES))
_MOST = 200
_NUMBER = re.compile(r"\d?\.\d{1,6}")


def read_address(parameters: Sequence[tuple[str, str]]) -> TableQuery:
    """The query of an address; an error lists everything that is wrong.

    >>> query = read_address([("by", "region:1,sex"), ("where.age", "Y15-29"), ("totals", "none")])
    >>> query.by[0].level, query.where[0].codes, query.totals
    (['1'], ['Y15-29'], 'none')
    """
    problems = [Problem("too many parameters", "")] if len(parameters) > _MOST else []
    grouped: dict[str, list[str]] = {}
    for name, value in parameters[:_MOST]:
        grouped.setdefault(name, []).append(value)
    query: dict[str, Any] = {}
    spanning: dict[str, dict[str, Any]] = {}
    asides: list[tuple[str, str, list[str]]] = []
    for name, values in grouped.items():
        prefix, dot, variable = name.partition(".")
        if name == "by":
            for item in _items(values):
                of, _, level = item.partition(":")
                entry = spanning.setdefault(of, {"variable": of})
                if level:
                    entry.setdefault("level", []).append(level)
        elif name == "measures":
            query["measures"] = [_measure(item) for item in _items(values)]
        elif name == "totals":
            items = _items(values)
            query["totals"] = items[0] if items in (["all"], ["none"]) else items
        elif name in _SINGLE:
            if len(values) > 1:
                problems.append(Problem("given twice", name))
            query[name] = values[0]
        elif dot and variable and prefix in _PREFIXES:
            asides.append((prefix, variable, _items(values)))
        else:
            hint = nearest(name[:60], _KNOWN)
            problems.append(Problem("unknown parameter", name[:60], hint))
    conditions = []
    for prefix, variable, items in asides:
        if prefix == "where":
            conditions.append({"variable": variable, "codes": items})
        elif variable in spanning:
            spanning[variable][prefix] = items
        else:
            place = f"{prefix}.{variable}"[:60]
            problems.append(Problem("the variable is not in by", place))
    if problems:
        raise refused(problems)
    return read_query({**query, "by": list(spanning.values()), "where": conditions})


def address_of(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parameters of a query that is stated as in a body, each list item by item.

    >>> query = {"unit": "person", "measures": [{"mean": "rent"}],
    ...          "by": [{"variable": "sex"}, {"variable": "region", "level": ["1"]}],
    ...          "where": [{"variable": "age", "codes": ["a,b", "c"]}]}
    >>> again = read_address(address_of(query))
    >>> again == read_query(query)
    True
    """
    found = [(name, str(query[name])) for name in _SINGLE if name in query]
    asides = list[tuple[str, str]]()
    for one in query.get("by", ()):
        levels = [f":{level}" for level in one.get("level", ())] or [""]
        found += [("by", one["variable"] + level) for level in levels]
        asides += [
            (f"{name}.{one['variable']}", code)
            for name in ("codes", "within")
            for code in one.get(name, ())
        ]
    asides += [
        (f"where.{one['variable']}", code)
        for one in query.get("where", ())
        for code in one["codes"]
    ]
    for one in query.get("measures", ()):
        ((kind, of),) = ((name, of) for name, of in one.items() if name not in ("over", "at"))
        over = [":" + "+".join(map(str, one[name])) for name in ("over", "at") if name in one]
        found.append(("measures", of if kind == "figure" else ":".join([kind, of]) + "".join(over)))
    totals = query.get("totals", ())
    found += [("totals", one) for one in ([totals] if isinstance(totals, str) else totals)]
    return found + asides


def _items(values: Sequence[str]) -> list[str]:
    """What stands in a list: separated by commas, or named several times."""
    several = [item for value in values for item in value.split(",")] if len(values) == 1 else []
    return [item for item in (several or values) if item]


def _measure(item: str) -> Any:
    """A figure by its name; mean:rent, sum:area, share:count:sex+age, quantile:age:0.1+0.9."""
    kind, _, rest = item.partition(":")
    if not rest or kind not in MEASURES:
        return item
    if kind not in ("share", "quantile"):
        return {kind: rest}
    figure, _, behind = rest.partition(":")
    parts = [part for part in behind.split("+") if part]
    if kind == "share":
        return {"share": figure, "over": parts}
    numbers = [float(part) if _NUMBER.fullmatch(part) else part for part in parts]
    return {"quantile": figure, "at": numbers}
