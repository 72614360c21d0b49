"""`release_shares`: how many tables of a release are shown completely.

In: the `PartDecisions` of many tables. Out: shares of tables, for statements on quality
such as "98 % of the tables on municipality level are shown completely". Public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import SuppressionError
from discreet.suppression.parts.decisions import PartDecisions
from discreet.suppression.parts.names import PartLevel

__all__ = ["ReleaseShare", "release_shares"]

#: Whether it is the total, classification, depth turned round, name: finest levels first.
_Key = tuple[bool, int, int, str]
_WHOLE: _Key = (False, 0, 0, "")


@dataclass(frozen=True, kw_only=True)
class ReleaseShare:
    """How many tables are shown completely on a level.

    Args:
        tables: Number of tables that have the level.
        complete: Number of those with every part on it released.
        thinned: Number of those with some parts on it released.
        blocked: Number of those with none.
        names: language → name of the level; empty for tables as a whole.
    """

    tables: int
    complete: int
    thinned: int
    blocked: int
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def share_complete(self) -> float:
        """Share of the tables that are shown completely."""
        return self.complete / self.tables


def release_shares(
    decisions: Iterable[PartDecisions], variable: str | None = None
) -> tuple[ReleaseShare, ...]:
    """How many tables are shown completely, thinned and not at all.

    Args:
        decisions: The decisions on each table.
        variable: A spanning variable, to tell its levels apart, finest first; tables
            without it are left out. None for tables as a whole.

    >>> import polars as pl
    >>> from discreet import PartRules, Table, check_parts
    >>> tables = [
    ...     Table.from_cells(pl.DataFrame({"sex": ["Total", "m"], "n": n}), by=["sex"], count="n")
    ...     for n in ([9, 5], [3, 1], [8, 4])
    ... ]
    >>> logs = [check_parts(table, PartRules(max_share_small=0)) for table in tables]
    >>> [(share.tables, share.complete) for share in release_shares(logs)]
    [(3, 2)]
    >>> [(share.names["en"], share.complete) for share in release_shares(logs, "sex")]
    [('sex', 2), ('Total', 3)]
    """
    logs: list[Any] = list(decisions) if isinstance(decisions, Iterable) else [None]
    if not all(isinstance(log, PartDecisions) for log in logs):
        raise SuppressionError(
            "a list of PartDecisions is needed",
            code="argument",
            where="decisions",
            hint="hand in what check_parts made of each table",
        )
    found: dict[_Key, list[tuple[bool, bool]]] = {}
    names: dict[_Key, Mapping[str, str]] = {}
    for each in logs:
        for level, states in _states(each, variable):
            name = _name(level) if level else {}
            key = (level.total, level.tree, -level.depth, name["en"]) if level else _WHOLE
            names.setdefault(key, name)
            found.setdefault(key, []).append((all(states), any(states)))
    return tuple(
        ReleaseShare(
            tables=len(found[key]),
            complete=sum(whole for whole, _ in found[key]),
            thinned=sum(some and not whole for whole, some in found[key]),
            blocked=sum(not some for _, some in found[key]),
            names=names[key],
        )
        for key in sorted(found)
    )


def _states(
    decisions: PartDecisions, variable: str | None
) -> list[tuple[PartLevel | None, list[bool]]]:
    """Per level of the variable, which parts on it are released."""
    found: dict[int, tuple[PartLevel | None, list[bool]]] = {}
    for decision in decisions.parts:
        released = decision.action != "suppressed"
        if variable is None:
            found.setdefault(0, (None, []))[1].append(released)
            continue
        for level in decision.levels:
            if level.variable == variable:
                found.setdefault(level.number, (level, []))[1].append(released)
    return list(found.values())


def _name(level: PartLevel) -> Mapping[str, str]:
    return {"en": "Total", "de": "Insgesamt"} if level.total else level.names
