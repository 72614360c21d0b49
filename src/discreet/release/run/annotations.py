"""What is said of a protected table: title, who is counted, remarks, name, date, digests.

In: a protected table, and what a programme says of it. Out: the table with its remarks.
Public, free of true values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from discreet.release.programme.file import Programme
from discreet.release.programme.schema import TableEntry
from discreet.tables import CellNote, Note, ProtectedTable


def universe_of(programme: Programme, entry: TableEntry) -> Mapping[str, str]:
    """Who is counted; a filter that is not put into words is printed as written."""
    stated = dict.fromkeys(programme.languages, entry.where) if entry.where else {}
    return entry.universe or stated


def annotated(
    programme: Programme,
    name: str,
    protected: ProtectedTable,
    notes: tuple[Note, ...],
    digests: Mapping[str, str],
) -> ProtectedTable:
    """The table as it is published: with title, remarks, name, date of release and digests.

    Args:
        programme: The programme.
        name: The name of the table.
        protected: The table as its method gives it.
        notes: What the method says to readers besides.
        digests: The digests to print: none that could be guessed.
    """
    entry = programme.tables[name]
    provenance = dataclasses.replace(
        protected.provenance, time=programme.document.date or "", digests=dict(digests)
    )
    titled = dataclasses.replace(
        protected,
        name=name,
        titles=entry.title,
        universe=universe_of(programme, entry),
        notes=(*protected.notes, *notes),
        provenance=provenance,
    )
    return _with_remarks(entry, titled)


def _with_remarks(entry: TableEntry, protected: ProtectedTable) -> ProtectedTable:
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


def _all_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts in which English is never missing, for it stands for all other languages."""
    return {"en": next(iter(texts.values())), **texts}
