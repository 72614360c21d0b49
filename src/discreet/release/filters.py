"""Which records count: filters of tables and figures, joined.

In: filters as they stand in a programme. Out: one filter, by which counts are found again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.release.document import TableEntry

if TYPE_CHECKING:
    from discreet.tables import Table

__all__ = ["UNIVERSE", "Counts", "all_of", "figure_filter"]

#: The filter of the universe: every record.
UNIVERSE = ""

#: Filter → the table of the records that pass it.
Counts: TypeAlias = Mapping[str, "Table"]


def all_of(*filters: str | None) -> str:
    """The filter that asks for several at once.

    >>> all_of("age >= 18", None, "sex == 'm' or sex == 'w'")
    "(age >= 18) and (sex == 'm' or sex == 'w')"
    """
    given = [text.strip() for text in filters if text and text.strip()]
    return given[0] if len(given) == 1 else " and ".join(f"({text})" for text in given)


def figure_filter(table: TableEntry, figure: str) -> str:
    """Which records count for one figure of a table."""
    return all_of(table.where, table.figures[figure].where)
