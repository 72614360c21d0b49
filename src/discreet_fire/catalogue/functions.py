"""What functions tell of single records: those of `egen`, `collapse` and expressions.

In: ``functions.toml``, a row for each. Out: the row of a function, the strictest one for a function
that has none. Nothing here is confidential.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from discreet_fire.catalogue.facts import check_keys, document, row_of


@dataclass(frozen=True, kw_only=True)
class StatisticFacts:
    """The row of a function of `egen`, or of a statistic of `collapse`."""

    #: Whether it gives the value of "one" record or two to others, or one where that makes up
    #: nearly all that is "added", or "nothing" of the kind
    copies: Literal["one", "added", "nothing"]
    ordered: bool  # whether it hangs on the order of the records
    groups: bool  # whether `by` may stand before it
    options: str  # options that it takes
    #: Whether `collapse` gives the value at an "end" of each group, of any type, another "value" of
    #: it, or a "number" of a type of its own
    gives: Literal["end", "value", "number"]
    without: str  # kinds of weights with which it has no meaning in `collapse`


@dataclass(frozen=True, kw_only=True)
class FunctionTable:
    """All functions."""

    statistics: Mapping[str, StatisticFacts]  # those of `egen` and `collapse`
    asking: frozenset[str]  # those of expressions that ask for values, as `inlist()` does
    drawing: frozenset[str]  # those that draw random numbers
    naming: frozenset[str]  # those that are names of stored values
    plain: frozenset[str]  # all others


#: What is taken of a function without a row.
_UNKNOWN = StatisticFacts(
    copies="one", ordered=True, groups=False, options="", gives="number",
    without="aweight fweight iweight pweight",
)  # fmt: skip
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
    return read_functions(document("functions.toml"))


def read_functions(told: Mapping[str, Any]) -> FunctionTable:
    """The functions of a document.

    Raises:
        ValueError: Something is missing, stands twice or is not understood.
    """
    classes = ("asking", "drawing", "naming", "plain")
    check_keys("functions.toml", told, {"statistics", "expressions"})
    check_keys("expressions", told["expressions"], set(classes))
    statistics = {
        name: row_of(name, StatisticFacts, fields) for name, fields in told["statistics"].items()
    }
    lists = [str(told["expressions"][one]).split() for one in classes]
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
