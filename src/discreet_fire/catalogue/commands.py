"""Stata commands: their names, how each is read, where figures go, what safe statistics show.

In: ``stata.toml``. Out: names and facts. A word is written as in a program; commands of Stata may
be shortened as far as Stata itself allows, those of users may not. Nothing here is confidential.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from discreet_fire.catalogue.rules import shipped

#: What the names of safe commands start with.
SAFE = "fdz"


@dataclass(frozen=True, kw_only=True)
class StatisticRow:
    """What one safe statistic shows."""

    statistic: str  # its function in `discreet_fire.statistics`
    #: Who looks at samples that leave few out: "checked" by the runner, the "model" itself, or
    #: nobody, as only their number is "counted"
    sample: Literal["checked", "model", "counted"]
    #: Whom a ledger is told it is about: all variables in "cells", "each" variable by itself, in
    #: "groups" if there are some, in "pairs", all "together", a "model" with the categories of its
    #: factors
    universes: Literal["cells", "each", "groups", "pairs", "together", "model"]
    #: What numbers over groups of records it shows, which are held against those of all other
    #: outputs: of "cells" that variables span, of "variables" with those who have a value, of one
    #: "sample", or others that are "unfollowed", which is said in a finding. "nothing": none at all
    groups: Literal["nothing", "cells", "variables", "sample", "unfollowed"]
    remote: bool  # whether it may be asked for in remote analysis


@cache
def stata_catalogue() -> Mapping[str, Any]:
    """The document with all that is known of Stata commands."""
    return tomllib.loads(shipped("stata"))


@cache
def _names() -> tuple[dict[str, str], frozenset[str]]:
    """Every word that stands for a command, with the full name; and the commands of users."""
    names, also = stata_catalogue()["names"], stata_catalogue()["also"]
    words: dict[str, str] = {}
    for written in names["stata"].split():
        shortest = max((at for at, sign in enumerate(written, 1) if sign.isupper()), default=0)
        name = written.lower()
        words |= {name[:length]: name for length in range(shortest or len(name), len(name))}
        words[name] = name
    users = names["users"].split()
    return words | dict(zip(users, users, strict=True)) | also, frozenset(users)


@cache
def values_of(fact: str) -> Mapping[str, str]:
    """The commands for which something holds, each with what it is.

    >>> values_of("option")["levelsof"], "regress" in values_of("option")
    ('values', False)
    """
    content = stata_catalogue()["facts"][fact]
    lists = {"true": content} if isinstance(content, str) else content
    return {name: value for value, names in lists.items() for name in names.split()}


@cache
def commands_with(fact: str, *values: str) -> frozenset[str]:
    """The commands for which something holds, with one of these values where some are named.

    >>> sorted(commands_with("calls")), sorted(commands_with("data", "models"))
    (['do', 'include', 'run'], ['coefplot'])
    """
    known = values_of(fact)
    if not set(values) <= set(known.values()):
        raise ValueError(f"{fact}: it has no value {values}")
    return frozenset(name for name, value in known.items() if not values or value in values)


@cache
def statistic_rows() -> Mapping[str, StatisticRow]:
    """All rows of safe statistics, by the full name of their command."""
    rows = stata_catalogue()["statistics"].items()
    return {name: StatisticRow(**fields) for name, fields in rows}


def statistic_row(name: str) -> StatisticRow | None:
    """The row of a command by its full name; None for what has no safe statistic.

    >>> statistic_row("tabulate").universes, statistic_row("list")
    ('cells', None)
    """
    return statistic_rows().get(name)


@cache
def meanings() -> Mapping[str, tuple[str, str | None]]:
    """The full name of every word that stands for a command, and its kind as a prefix.

    >>> meanings()["qui"], meanings()["su"]
    (('quietly', 'bare'), ('summarize', None))
    """
    return {word: (name, prefix_kind(name)) for word, name in _names()[0].items()}


def canonical(word: str) -> str | None:
    """The full name of the command that `word` stands for.

    Stata tells capitals from small letters, and so does this.

    >>> canonical("su"), canonical("summarize"), canonical("ta"), canonical("s")
    ('summarize', 'summarize', 'tabulate', None)
    >>> canonical("xtreg"), canonical("xtre"), canonical("List")
    ('xtreg', None, None)
    """
    return _names()[0].get(word)


def is_community(name: str) -> bool:
    """Whether a command is written by users and not part of Stata.

    >>> is_community("reghdfe"), is_community("regress")
    (True, False)
    """
    return name in _names()[1]


def prefix_kind(name: str) -> str | None:
    """How a prefix stands before its command; None for what is no prefix.

    >>> prefix_kind("quietly"), prefix_kind("bysort"), prefix_kind("if"), prefix_kind("list")
    ('bare', 'colon', 'condition', None)
    """
    return values_of("prefix").get(name)
