"""Which tables share a pass over the records.

In: queries. Out: groups of queries, each answered from one base cube. Tables
share a cube when they count the same records with the same weights, and when
the joint cube stays small beside the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.tabulation.query import Axis, Query

__all__ = ["Group", "plan"]

#: A joint cube may have so many possible cells, whatever the number of records …
_SMALL = 2**16
#: … or this share of the records.
_SHARE = 8
_UNKNOWN_SIZE = 64


@dataclass
class Group:
    """Queries answered from one base cube.

    Args:
        where: The filter that all share.
        weight: The weight that all share.
        axes: Axes of the cube.
        values: Columns summed in the cube.
        largest: Per column, how many of the largest contributions the cube has.
        members: Positions of the queries.
    """

    where: Any
    weight: str | None
    axes: dict[Axis, None] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)
    members: list[int] = field(default_factory=list)

    def take(self, at: int, query: Query) -> None:
        """Add a query."""
        self.axes.update(dict.fromkeys(query.axes))
        self.values.update(dict.fromkeys(query.values))
        for name, k in query.largest.items():
            self.largest[name] = max(k, self.largest.get(name, 0))
        self.members.append(at)


def plan(
    queries: Sequence[Query], *, records: int | None, sizes: Mapping[Axis, int]
) -> list[Group]:
    """Group the queries, widest first.

    Args:
        queries: What to count.
        records: Number of records, if known.
        sizes: Number of values per axis, as far as known.
    """
    limit = max(_SMALL, (records or 0) // _SHARE)
    groups: list[Group] = []
    order = sorted(range(len(queries)), key=lambda at: (-len(queries[at].axes), at))
    for at in order:
        query = queries[at]
        home = _home(groups, query, limit, sizes)
        if home is None:
            home = Group(_same(query), query.weight)
            groups.append(home)
        home.take(at, query)
    return groups


def _same(query: Query) -> Any:
    """What tells filters apart: texts by what they say, expressions by identity."""
    return id(query.where) if query.opaque else query.where or ""


def _home(
    groups: Sequence[Group], query: Query, limit: int, sizes: Mapping[Axis, int]
) -> Group | None:
    fitting = [
        group for group in groups if group.where == _same(query) and group.weight == query.weight
    ]
    for group in fitting:
        if all(axis in group.axes for axis in query.axes):
            return group
    for group in fitting:
        cells = 1
        for axis in {**group.axes, **dict.fromkeys(query.axes)}:
            cells *= sizes.get(axis, _UNKNOWN_SIZE)
        if cells <= limit:
            return group
    return None
