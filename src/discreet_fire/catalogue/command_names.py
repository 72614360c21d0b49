"""The names of Stata commands: what a word in a program stands for.

In: a word as it is written. Out: the full name of the command, or None. Commands of Stata
may be shortened as far as Stata itself allows, commands written by users may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from discreet_fire.catalogue.commands import command_table


@cache
def _words() -> dict[str, str]:
    """Every word that stands for a command, with the full name."""
    table = command_table()
    words: dict[str, str] = {}
    for name, shortest in table.shortest.items():
        words |= {name[:length]: name for length in range(len(shortest), len(name))}
    words |= {name: name for name, row in table.rows.items() if row.origin != "rare"}
    return words | dict(table.also)


@cache
def meanings() -> Mapping[str, tuple[str, str | None]]:
    """The full name of every word that stands for a command, and its kind as a prefix.

    >>> meanings()["qui"], meanings()["su"]
    (('quietly', 'bare'), ('summarize', None))
    """
    return {word: (name, prefix_kind(name)) for word, name in _words().items()}


def canonical(word: str) -> str | None:
    """The full name of the command that `word` stands for.

    Stata tells capitals from small letters, and so does this.

    >>> canonical("su"), canonical("summarize"), canonical("ta"), canonical("s")
    ('summarize', 'summarize', 'tabulate', None)
    >>> canonical("xtreg"), canonical("xtre"), canonical("List")
    ('xtreg', None, None)
    """
    return _words().get(word)


def command_names() -> frozenset[str]:
    """The full names of all commands that are known.

    >>> "regress" in command_names(), "reg" in command_names()
    (True, False)
    """
    return frozenset(_words().values())


def is_community(name: str) -> bool:
    """Whether a command is written by users and not part of Stata.

    >>> is_community("reghdfe"), is_community("regress")
    (True, False)
    """
    row = command_table().rows.get(name)
    return row is not None and row.origin == "users"


def prefix_kind(name: str) -> str | None:
    """How a prefix stands before its command; None for what is no prefix.

    >>> prefix_kind("quietly"), prefix_kind("bysort"), prefix_kind("if"), prefix_kind("list")
    ('bare', 'colon', 'condition', None)
    """
    row = command_table().rows.get(name)
    return None if row is None or row.reading.prefix == "none" else row.reading.prefix


def is_prefix(name: str) -> bool:
    """Whether the full name of a command is that of a prefix.

    >>> is_prefix("capture"), is_prefix("regress")
    (True, False)
    """
    return prefix_kind(name) is not None
