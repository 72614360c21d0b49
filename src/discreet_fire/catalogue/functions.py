"""What functions tell of single records: those of `egen`, `collapse` and expressions.

In: ``functions.toml``, a row for each. Out: the row of a function, the strictest one for a function
that has none. Nothing here is confidential.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args, get_type_hints


@dataclass(frozen=True, kw_only=True)
class StatisticFacts:
    """The row of a function of `egen`, or of a statistic of `collapse`.

    Args:
        copies: Whether it gives the value of "one" record or two to others, or one where that
            makes up nearly all that is "added", or "nothing" of the kind.
        ordered: Whether it hangs on the order of the records.
        groups: Whether `by` may stand before it.
        options: Options that it takes.
    """

    copies: Literal["one", "added", "nothing"]
    ordered: bool
    groups: bool
    options: str


@dataclass(frozen=True, kw_only=True)
class FunctionTable:
    """All functions.

    Args:
        statistics: Those of `egen` and `collapse`.
        asking: Those of expressions that ask for values, as `inlist()` does.
        drawing: Those that draw random numbers.
        naming: Those that are names of stored values.
        plain: All others.
    """

    statistics: Mapping[str, StatisticFacts]
    asking: frozenset[str]
    drawing: frozenset[str]
    naming: frozenset[str]
    plain: frozenset[str]


#: What is taken of a function without a row.
_UNKNOWN = StatisticFacts(copies="one", ordered=True, groups=False, options="")
_PERCENTILE = re.compile(r"p\d+\Z")


def statistic_facts(name: str) -> StatisticFacts:
    """The row of a function of `egen` or a statistic of `collapse`, percentiles among them.

    >>> statistic_facts("mean").copies, statistic_facts("p99").copies, statistic_facts("x").copies
    ('added', 'one', 'one')
    """
    statistics = function_table().statistics
    return statistics.get("pctile" if _PERCENTILE.match(name) else name, _UNKNOWN)


@cache
def function_table() -> FunctionTable:
    """The functions that the runner knows."""
    text = files("discreet_fire.catalogue").joinpath("functions.toml").read_text("utf-8")
    return read_functions(tomllib.loads(text))


def read_functions(document: Mapping[str, Any]) -> FunctionTable:
    """The functions of a document.

    Raises:
        ValueError: Something is missing, stands twice or is not understood.
    """
    kinds = get_type_hints(StatisticFacts)
    classes = ("asking", "drawing", "naming", "plain")
    if document.keys() != {"statistics", "expressions"}:
        raise ValueError("functions.toml has statistics and expressions")
    if document["expressions"].keys() != set(classes):
        raise ValueError(f"expressions are {', '.join(classes)}")
    statistics = {}
    for name, fields in document["statistics"].items():
        if fields.keys() != kinds.keys():
            differ = ", ".join(sorted(fields.keys() ^ kinds.keys()))
            raise ValueError(f"{name}: {differ} is missing or not known")
        for key, kind in kinds.items():
            known = get_args(kind)
            if not (fields[key] in known if known else type(fields[key]) is kind):
                raise ValueError(f"{name}: {key} may not be {fields[key]!r}")
        statistics[name] = StatisticFacts(**fields)
    lists = [str(document["expressions"][one]).split() for one in classes]
    listed = [name for names in lists for name in names]
    if len(set(listed)) < len(listed):
        raise ValueError("a function of expressions stands twice")
    parts = dict(zip(classes, map(frozenset, lists), strict=True))
    return FunctionTable(statistics=statistics, **parts)


def check_function_names(listed: Iterable[str], known: Iterable[str]) -> None:
    """The functions of the runner and those of the catalogue must agree.

    Raises:
        ValueError: They differ.
    """
    if differ := set(listed) ^ set(known):
        raise ValueError(f"runner and catalogue differ in functions: {', '.join(sorted(differ))}")
