"""Which records a table counts.

In: filters, tables and sources as they stand in a programme. Out: joined filters, by which
counts are found again, and places by which sources of the same records are known. Nothing
here has seen data.
"""

from __future__ import annotations

from discreet.microdata import is_url, shown_url
from discreet.release.programme.file import Programme
from discreet.release.programme.schema import TableEntry


def place_of(programme: Programme, source: str) -> str:
    """Where the records of a source are: two sources can be the same records."""
    records = programme.sources[source].records
    name = records.address or ""
    place = shown_url(name) if is_url(name) else str(programme.file(name).resolve())
    return "\n".join([place, records.table or "", records.query or ""])


def places_of(programme: Programme) -> dict[str, str]:
    """Where the records of each table are, as words that differ where records do."""
    places = {name: place_of(programme, name) for name in programme.sources}
    return {name: places[programme.source_of(name).name] for name in programme.tables}


#: The filter of the universe: every record.
UNIVERSE = ""


def all_of(*filters: str | None) -> str:
    """The filter that asks for several at once.

    >>> all_of("age >= 18", None, "sex == 'm' or sex == 'w'")
    "(age >= 18) and (sex == 'm' or sex == 'w')"
    """
    texts = [text.strip() for text in filters if text and text.strip()]
    return texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)


def figure_filter(table: TableEntry, figure: str) -> str:
    """Which records count for one figure of a table."""
    return all_of(table.where, table.figures[figure].where)
