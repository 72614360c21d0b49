"""Queries of SAS that put values of some records, or of groups, beside those of others.

In: the tokens of a statement of PROC SQL. Out: whether it joins tables, or gives records figures
of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from discreet_fire.scripts import PackageToken
from discreet_fire.texts import words

_SUMMARIES = words(
    """AVG COUNT CSS CV FREQ MAX MEAN MEDIAN MIN N NMISS PRT RANGE STD STDERR SUM SUMWGT T USS
    VAR"""
)
_BEHIND_FROM = words("WHERE GROUP HAVING ORDER")


def copies_values(tokens: Sequence[PackageToken]) -> bool:
    """Whether a query joins tables or subqueries, or gives records figures of their groups."""
    named = [token.upper for token in tokens]
    if "JOIN" in named or named.count("SELECT") > 1:
        return True
    if "SELECT" not in named or "FROM" not in named:
        return False
    start, at = named.index("SELECT") + 1, named.index("FROM")
    behind = [n for n in range(at, len(named)) if named[n] in _BEHIND_FROM]
    end = behind[0] if behind else len(named)
    if len(_parts(tokens[at + 1 : end])) > 1:
        return True
    items = _parts(tokens[start:at])
    plain = [item for item in items if not _summarises(item)]
    if len(plain) == len(items):
        return False
    groups = {named[n] for n in range(end, len(named)) if "GROUP" in named[end:n]}
    return any(item[-1].upper not in groups for item in plain if item)


def _summarises(item: Sequence[PackageToken]) -> bool:
    pairs = pairwise(item)
    return any(one.upper in _SUMMARIES and behind.text == "(" for one, behind in pairs)


def _parts(tokens: Sequence[PackageToken]) -> list[list[PackageToken]]:
    """What stands between commas, outside of parentheses."""
    parts: list[list[PackageToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
