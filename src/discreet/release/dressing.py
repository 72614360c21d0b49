"""What is printed with a protected table: who is counted, remarks, name, date, digests.

In: a protected table and what a programme says of it. Out: the table with all of that.
Public.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from discreet.release.document import TableEntry
from discreet.release.programme import Programme
from discreet.tables import CellNote, Note, ProtectedTable

__all__ = ["remarked", "signed", "universe_of"]


def universe_of(programme: Programme, entry: TableEntry) -> Mapping[str, str]:
    """Who is counted; a filter that is not put into words is printed as written."""
    stated = dict.fromkeys(programme.languages, entry.where) if entry.where else {}
    return entry.universe or stated


def remarked(entry: TableEntry, protected: ProtectedTable) -> ProtectedTable:
    """The table with the remarks that the programme makes about its cells.

    A remark on a code that is not listed would tell that it occurs: it is left out.
    """
    if not entry.notes:
        return protected
    listed = {dimension.name: dimension.index for dimension in protected.dimensions}
    remarks = tuple(
        CellNote(
            tuple(remark.cells.get(name) for name in listed),
            Note("cells", _all_texts(remark.text)),
        )
        for remark in entry.notes
        if all(code in listed[name] for name, code in remark.cells.items())
    )
    return dataclasses.replace(protected, cell_notes=(*protected.cell_notes, *remarks))


def signed(
    programme: Programme, name: str, protected: ProtectedTable, digests: Mapping[str, str]
) -> ProtectedTable:
    """The table with its name, the date of release, and digests that cannot be guessed."""
    time = programme.document.date or ""
    provenance = dataclasses.replace(protected.provenance, time=time, digests=dict(digests))
    return dataclasses.replace(protected, name=name, provenance=provenance)


def _all_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts in which English is never missing, for it stands for all other languages."""
    return {"en": next(iter(texts.values())), **texts}
