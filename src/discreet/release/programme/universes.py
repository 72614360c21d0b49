"""Which records a table counts.

In: sources as they stand in a programme. Out: places by which sources of the same records are
known. Nothing here has seen data.
"""

from __future__ import annotations

from discreet.microdata import is_url, shown_url
from discreet.release.programme.file import Programme


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
