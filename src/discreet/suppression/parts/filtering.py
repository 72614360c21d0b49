"""Which spanning variables a filter speaks of.

In: the text of a table's filter. Out: the places of the variables that it names. Public.
"""

from __future__ import annotations

from discreet.errors import FilterError
from discreet.tables import Dimension, Table
from discreet.tabulation.filters import parse_filter

__all__ = ["named_variables"]


def named_variables(table: Table) -> tuple[int, ...]:
    """The spanning variables whose columns the filter names, as far as it can be read."""
    if not table.where:
        return ()
    try:
        columns = parse_filter(table.where).columns
    except FilterError:  # a description in words; it then counts as naming none
        return ()
    return tuple(
        at
        for at, dimension in enumerate(table.dimensions)
        if not columns.isdisjoint(_columns(dimension))
    )


def _columns(dimension: Dimension) -> set[str]:
    """The names that a filter may know a variable by."""
    names = {dimension.name}
    for tree in dimension.classifications:
        names |= {tree.column or tree.name, *tree.level_columns}
    return names
