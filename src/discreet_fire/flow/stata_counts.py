"""Counts of a do-file that are the cells of a table, or differ by a group.

In: statements in their order, with what stands around them. Out: the counts that tell more
together than alone. ``count if a == 1`` and ``count if a == 1 & b == 2`` give the size of the
group between them, and a loop of counts is a table of which no cell was judged with the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from discreet_fire.flow.stata_conditions import Surroundings, names_in, names_that_move
from discreet_fire.flow.stata_values import StatementParts

#: What a log shows of counts: a table made count by count, and a group as a difference.
OF_LOOP = "counts of a loop, which are the cells of a table"
NESTED = "a group as the difference of two counts"
CONDITION = re.compile(r"\bif\b(.*)", re.DOTALL)
#: Missing values of one variable after the other are no cells of one table.
OF_MISSING = re.compile(r"!?mi(?:ssing)?\(`?\w+'?|`?\w+'?(?:[=!~]=|[<>]=?)\.")
_RESULT = re.compile(r"\br\(N\)")
_GIVEN = re.compile(r"\s*([A-Za-z_]\w*)\s*=?")


def atoms(condition: str) -> frozenset[str]:
    """The single comparisons of a condition, without blanks and brackets around them.

    >>> sorted(atoms("(a == 1) & b==2"))
    ['a==1', 'b==2']
    """
    parts = re.split(r"[&|]", re.sub(r"\s", "", condition))
    return frozenset(part.strip("()") for part in parts if part.strip("()"))


def related_counts(
    placed: Sequence[tuple[StatementParts, Surroundings]], moving: Set[str]
) -> dict[int, str]:
    """What counts show together with others, by the place of their statement."""
    counts: dict[int, str] = {}
    before: list[frozenset[str]] = []
    for part, around in _shown_counts(placed):
        condition = CONDITION.search(part.statement.source[part.start : part.statement.end])
        counters = names_that_move(part, around.all, moving)
        own = atoms(condition[1]) if condition else frozenset()
        if all(map(OF_MISSING.fullmatch, own)):
            continue
        if not counters.isdisjoint(names_in(part.outside)):
            counts[part.statement.start] = OF_LOOP
        elif any(one < own or own < one for one in before):
            counts[part.statement.start] = NESTED
        before.append(own)
    return counts


def _shown_counts(
    placed: Iterable[tuple[StatementParts, Surroundings]],
) -> Iterator[tuple[StatementParts, Surroundings]]:
    """Counts whose result a log shows: by themselves, or by a statement that takes it up."""
    quiet: tuple[StatementParts, Surroundings] | None = None
    holders: set[str] = set()
    for part, around in placed:
        prefixes = {prefix.canonical for prefix in part.statement.prefixes}
        if part.name == "count":
            quiet, holders = (part, around), set()
            if "noisily" in prefixes or not prefixes & {"quietly", "capture"}:
                yield part, around
                quiet = None
        elif quiet is not None and part.name not in ("if", "while", "assert"):
            text = part.statement.source[part.start : part.statement.end]
            if not _RESULT.search(text) and holders.isdisjoint(re.findall(r"\w+", text)):
                continue
            match = _GIVEN.match(part.outside)
            if part.name in ("local", "global", "scalar") and match is not None:
                holders.add(match[1])
            else:
                yield quiet
                quiet = None
