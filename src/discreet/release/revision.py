"""`check_revision`: whether a published period can be revised without telling of few units.

In: the programme with the corrected records, and the records that were first published. Out: per
table how many cells hold other units than before, and how many by few. CONFIDENTIAL.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from discreet.assessment import RevisedCells, revised_cells
from discreet.release.programme.variables import spanning_variables
from discreet.release.run.inputs import open_inputs


@dataclass(frozen=True, kw_only=True)
class RevisionCheck:
    """What a revision of a release would tell by its differences."""

    tables: list[RevisedCells]  # per table of the source
    left_out: list[str]  # tables of other sources, which were not looked at

    @property
    def few(self) -> int:
        """Number of cells that differ by few units."""
        return sum(table.few for table in self.tables)

    def text(self) -> str:
        """What was found, and what to do about it; no cell is named."""
        lines = [table.text() for table in self.tables]
        if self.left_out:
            lines.append(f"Not examined, because of other records: {', '.join(self.left_out)}.")
        if self.few:
            lines.append(
                "The values of both publications disclose these few units. Collect more "
                "corrections, correct the next period only, or omit these tables."
            )
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """The same as plain values."""
        tables = [table.described() for table in self.tables]
        return {"few": self.few, "tables": tables, "left_out": self.left_out}


def check_revision(
    programme: str | os.PathLike[str],
    first: str | os.PathLike[str],
    *,
    id: str,  # noqa: A002 - the word users know
    source: str | None = None,
    least: int = 3,
    show_values: bool = False,
) -> RevisionCheck:
    """Hold the corrected records of a programme against those that were first published.

    A revision keeps record keys, so figures of cells without corrections stay as they are. Where
    few units were corrected, the two figures of a cell tell of them.

    Args:
        programme: The programme, with the corrected records.
        first: The file of the records of the first publication.
        id: The column that identifies a unit.
        source: The source that was corrected; the main one if None.
        least: By how many units a cell must differ, if it does.
        show_values: Whether errors may quote the first wrong value of a column.
    """
    inputs = open_inputs(programme, show_values=show_values)
    name = inputs.programme.known_source(source)
    before = open_inputs(programme, show_values=show_values, data={name: first})
    records, found, left_out = inputs.records[name], [], []
    for table, entry in inputs.programme.tables.items():
        if inputs.programme.source_of(table).name != name:
            left_out.append(table)
            continue
        spanning = spanning_variables(inputs.programme, entry.by or [], inputs.trees, records)
        found.append(
            revised_cells(
                before.records[name],
                records,
                list(spanning.values()),
                id=id,
                least=least,
                where=entry.where or None,
                name=table,
            )
        )
    return RevisionCheck(tables=found, left_out=left_out)
