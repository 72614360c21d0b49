"""What to count: spanning variables, filter, weight and value columns.

In: what the caller asked for. Out: frozen descriptions that the two ways to the
base cube share. Nothing here has seen data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import narwhals as nw

from discreet.classifications import Classification
from discreet.errors import Problem, TableError, raise_all
from discreet.microdata import Filter, parse_filter
from discreet.tables import COLUMNS, Spanning, check_by
from discreet.tabulation.measures import LARGEST_K


@dataclass(frozen=True, slots=True)
class CubeAxis:
    """One axis of the base cube: a column as it is, or cut into intervals."""

    column: str  # column of the data
    #: Bounds of the intervals; None for the values themselves
    bounds: tuple[float, ...] | None = None
    #: Level columns, coarsest first, whose last filled one holds the code; empty where one column
    #: does
    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, tree: Classification) -> CubeAxis:
        """The axis that holds the leaf codes of a classification."""
        if tree.column is None and tree.level_columns:
            return cls(tree.level_columns[-1], levels=tuple(tree.level_columns))
        return cls(tree.source, tree.bounds)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that the axis reads."""
        return self.levels or (self.column,)


@dataclass(frozen=True)
class SpanningVariable:
    """A spanning variable: its classifications, or none for the values found."""

    name: str
    trees: tuple[Classification, ...]

    @classmethod
    def of(cls, item: Spanning) -> SpanningVariable:
        """From a column name, a classification, or several that do not nest."""
        if isinstance(item, str):
            return cls(item, ())
        trees = (item,) if isinstance(item, Classification) else tuple(item)
        return cls(trees[0].name, trees)

    @property
    def axes(self) -> tuple[CubeAxis, ...]:
        """The axes of the base cube that the variable needs."""
        if not self.trees:
            return (CubeAxis(self.name),)
        return tuple(CubeAxis.of(tree) for tree in self.trees)


@dataclass(frozen=True, kw_only=True)
class Query:
    """One table to be counted.

    Args:
        by: The spanning variables: column names, classifications, or lists of
            classifications of one variable that do not nest.
        where: Which records count: a filter text or a narwhals expression.
        weight: Column of weights.
        values: Columns to sum.
        contributions: How many of the largest contributions to each value column are
            wanted, up to 16; or how many per column.
        name: Name of the table.

    >>> Query(by=["sex", "age"], where="rent > 500").columns
    ('sex', 'age', 'rent')
    """

    by: Sequence[Spanning]
    where: str | nw.Expr | None = None
    weight: str | None = None
    values: Sequence[str] = ()
    contributions: int | Mapping[str, int] = 0
    name: str = "table"

    @cached_property
    def variables(self) -> tuple[SpanningVariable, ...]:
        """The spanning variables, checked."""
        check_by(self.by, self.name, self.name)
        variables = tuple(SpanningVariable.of(item) for item in self.by)
        self._check_types()
        self._check_values([variable.name for variable in variables])
        self._check_contributions()
        return variables

    def _check_types(self) -> None:
        """Texts where names are, lists where lists are, a condition where one is."""
        listed = isinstance(self.values, Sequence) and not isinstance(self.values, str)
        wrong = {
            "name": (not isinstance(self.name, str), "the name of a table must be a text", ""),
            "weight": (
                not isinstance(self.weight, str | None),
                "weight must be the name of a column",
                'write weight="…"',
            ),
            "values": (
                not listed or not all(isinstance(name, str) for name in self.values),
                "values must be a list",
                'write values=["rent"]',
            ),
            "where": (
                not isinstance(self.where, str | nw.Expr | None),
                "where must be a filter text or a narwhals expression",
                "write where=\"sex == 'w'\", or build it with narwhals.col",
            ),
        }
        for name, (is_wrong, message, hint) in wrong.items():
            if is_wrong:
                raise TableError(message, code=name, where=name, hint=hint)

    def _check_values(self, names: Sequence[str]) -> None:
        """Each column of sums needs a name of its own in the table."""
        clashes = [name for name in dict.fromkeys(self.values) if name in (*COLUMNS, *names)]
        problems = [
            Problem(
                f"a column of sums cannot be called {name!r}, a name already used in the table",
                "values",
                "rename the column",
            )
            for name in clashes
        ]
        raise_all(TableError, problems, code="values", where=self.name)

    def _check_contributions(self) -> None:
        """Numbers of contributions that can be had, of columns that are summed."""
        wanted: Any = self.contributions
        named = isinstance(wanted, Mapping)
        listed: dict[Any, Any] = dict(wanted) if named else {"contributions": wanted}
        problems = [
            Problem(
                f"contributions must be a whole number from 0 to {LARGEST_K}",
                str(name),
                "write contributions=2",
            )
            for name, k in listed.items()
            if isinstance(k, bool) or not isinstance(k, Integral) or not 0 <= int(k) <= LARGEST_K
        ]
        absent = [name for name in listed if name not in self.values] if named else []
        if not named and not problems and wanted and not self.values:
            absent = ["contributions"]
        hint = 'add the value columns: values=["rent"]'
        problems += [
            Problem("contributions need value columns", str(name), hint) for name in absent
        ]
        raise_all(TableError, problems, code="contributions", where=self.name)

    @cached_property
    def largest(self) -> dict[str, int]:
        """Per value column whose largest contributions are wanted, how many."""
        if isinstance(self.contributions, Mapping):
            numbers = dict(self.contributions)
        else:
            numbers = dict.fromkeys(self.values, self.contributions)
        return {
            name: int(numbers[name]) for name in dict.fromkeys(self.values) if numbers.get(name)
        }

    @cached_property
    def axes(self) -> tuple[CubeAxis, ...]:
        """All axes that the table needs, each once."""
        every = (axis for variable in self.variables for axis in variable.axes)
        return tuple(dict.fromkeys(every))

    @cached_property
    def filter(self) -> Filter | None:
        """The parsed filter, if it is a text."""
        return parse_filter(self.where) if isinstance(self.where, str) and self.where else None

    def condition(self, schema: Any) -> nw.Expr | None:
        """The filter as an expression for data of this schema."""
        if self.filter is not None:
            self.filter.check(schema)
            return self.filter.to_narwhals(schema)
        return self.where if self.where is not None and not isinstance(self.where, str) else None

    @property
    def where_text(self) -> str:
        """The filter in words, as far as it has any."""
        if self.where is None or isinstance(self.where, str):
            return self.where or ""
        return "an expression"

    @property
    def opaque(self) -> bool:
        """Whether the filter is an expression, which may look at any column."""
        return self.where is not None and not isinstance(self.where, str)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that the query names."""
        columns = [column for axis in self.axes for column in axis.columns]
        columns += sorted(self.filter.columns) if self.filter else []
        columns += [self.weight] if self.weight else []
        return tuple(dict.fromkeys([*columns, *self.values]))


#: A joint cube may have so many possible cells, whatever the number of records …
_FEW_CELLS = 2**16
#: … or this share of the records.
_SHARE = 8
_UNKNOWN_SIZE = 64


@dataclass
class QueryGroup:
    """Queries answered from one base cube."""

    where: Any  # the filter that all share
    weight: str | None  # the weight that all share
    axes: dict[CubeAxis, None] = field(default_factory=dict)  # axes of the cube
    values: dict[str, None] = field(default_factory=dict)  # columns summed in the cube
    #: Per column, how many of the largest contributions the cube has
    largest: dict[str, int] = field(default_factory=dict)
    members: list[int] = field(default_factory=list)  # positions of the queries

    def take(self, at: int, query: Query) -> None:
        """Add a query."""
        self.axes.update(dict.fromkeys(query.axes))
        self.values.update(dict.fromkeys(query.values))
        for name, k in query.largest.items():
            self.largest[name] = max(k, self.largest.get(name, 0))
        self.members.append(at)


def plan(
    queries: Sequence[Query], *, records: int | None, sizes: Mapping[CubeAxis, int]
) -> list[QueryGroup]:
    """Group the queries, widest first."""
    limit = max(_FEW_CELLS, (records or 0) // _SHARE)
    groups: list[QueryGroup] = []
    order = sorted(range(len(queries)), key=lambda at: (-len(queries[at].axes), at))
    for at in order:
        query = queries[at]
        # Filters are told apart: texts by what they say, expressions by identity.
        where = id(query.where) if query.opaque else query.where or ""
        fitting = [one for one in groups if (one.where, one.weight) == (where, query.weight)]
        homes = [one for one in fitting if one.axes.keys() >= {*query.axes}]
        homes = homes or [
            one
            for one in fitting
            if math.prod(sizes.get(a, _UNKNOWN_SIZE) for a in {*one.axes, *query.axes}) <= limit
        ]
        if not homes:
            homes = [QueryGroup(where, query.weight)]
            groups += homes
        homes[0].take(at, query)
    return groups
