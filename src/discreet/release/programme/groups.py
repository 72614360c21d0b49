"""Which records a table counts, and which tables must be protected together.

In: filters and tables as they stand in a programme. Out: joined filters, by which counts
are found again; groups of suppressed tables that may share cells, and what each table
tells. Nothing here has seen data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.release.programme.file import Programme
from discreet.release.programme.schema import COUNT, TableEntry

if TYPE_CHECKING:
    from discreet.tables import Table

__all__ = [
    "UNIVERSE",
    "Counts",
    "all_of",
    "figure_filter",
    "groups",
    "place_of",
    "places_of",
    "quantities",
]

_MEAN = "mean"


def quantities(programme: Programme, table: str) -> frozenset[str]:
    """What a table tells of its cells: value columns, or the number of records.

    Means stand beside a count that can be worked out with them. Figures that are not
    printed are ingredients of others, so they count too.
    """
    entry = programme.tables[table]
    if entry.suppressed:
        return frozenset(entry.values)
    if not entry.figures:
        return frozenset({COUNT})
    told: set[str] = set()
    for figure in entry.figures.values():
        if figure.counted:
            told.add(figure.of or COUNT)
            told |= {COUNT} if figure.kind == _MEAN else set()
    return frozenset(told)


def place_of(programme: Programme, source: str) -> str:
    """Where the records of a source are: two sources can be the same records."""
    records = programme.sources[source].records
    name = records.source or records.database or ""
    place = str(programme.file(name).resolve())
    return "\n".join([place, records.table or "", records.query or ""])


def places_of(programme: Programme) -> dict[str, str]:
    """Where the records of each table are, as words that differ where records do."""
    places = {name: place_of(programme, name) for name in programme.sources}
    return {name: places[programme.source_of(name).name] for name in programme.tables}


def groups(programme: Programme) -> tuple[tuple[str, ...], ...]:
    """Suppressed tables that may share cells: of the same records, a value and weights.

    A table of several values joins the groups of all of them. Which cells are shared is
    known once the tables are there; tables of a group may turn out to have none in common.
    """
    places = places_of(programme)
    leader: dict[tuple[str, ...], str] = {}
    label = {name: name for name in programme.suppressed}
    for name in programme.suppressed:
        entry = programme.tables[name]
        for value in entry.values:
            first = leader.setdefault((places[name], entry.weight or "", value), name)
            old, new = label[name], label[first]
            if old != new:
                label = {each: new if own == old else own for each, own in label.items()}
    return tuple(
        tuple(name for name, own in label.items() if own == each)
        for each in dict.fromkeys(label.values())
    )


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
