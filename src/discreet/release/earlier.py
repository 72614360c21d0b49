"""Releases that were published before: their tables with hidden cells stay as they are.

In: folders of releases. Out: their tables, with what is said of them. Public, until their
true values are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import Problem, PublicationError
from discreet.release.groups import quantities
from discreet.release.programme import Programme
from discreet.release.shelf import Remembered, remembered_tables
from discreet.release.suppression_entries import COUNT

__all__ = ["EarlierTable", "about", "clashes", "read_release", "related"]


@dataclass(frozen=True, kw_only=True, repr=False)
class EarlierTable:
    """A table of a finished release.

    Args:
        folder: The release.
        kept: The table as it was published, and what is remembered with it.
        number: Which of the releases it belongs to.
    """

    folder: Path
    kept: Remembered
    number: int = 0

    @property
    def name(self) -> str:
        """Its name, with that of the release."""
        return f"{self.folder.name}/{self.kept.table.name}"

    @property
    def about(self) -> dict[str, Any]:
        """What it tells, and of which records."""
        found: dict[str, Any] = self.kept.extras["about"]
        return found

    @property
    def suppressed(self) -> bool:
        """Whether it has hidden cells, rather than noise."""
        return bool(self.about["protect"] == "suppress")

    @property
    def values(self) -> list[str]:
        """What it tells of its cells."""
        return list(self.about["tells"])

    @property
    def entry(self) -> dict[str, Any]:
        """What determines its cells, for digests."""
        return {"digest": self.kept.digest, "about": self.about, "name": self.kept.table.name}

    def __repr__(self) -> str:
        return f"<EarlierTable {self.name}>"


def about(programme: Programme, table: str) -> dict[str, Any]:
    """What a release remembers of a table, for those that come later."""
    entry = programme.tables[table]
    told = quantities(programme, table)
    ordered = entry.values if entry.suppressed else sorted(told)
    return {
        "protect": "suppress" if entry.suppressed else "noise",
        "tells": ordered,
        "where": entry.where or "",
        "weight": entry.weight or "",
        "from": programme.source_of(table).name,
    }


def read_release(folder: Path, number: int = 0) -> list[EarlierTable]:
    """The tables of a finished release.

    Args:
        folder: The release folder.
        number: Which of several releases it is.
    """
    found = []
    for kept in remembered_tables(folder):
        if "about" not in kept.extras:
            raise PublicationError(
                "this release does not say what its tables are about",
                code="release-folder",
                where=str(folder),
                hint="make it once more from its programme, with this version",
            )
        found.append(EarlierTable(folder=folder, kept=kept, number=number))
    return found


def clashes(programme: Programme, tables: Sequence[EarlierTable]) -> Iterator[Problem]:
    """Values that were published with noise and shall now be hidden, or the other way round."""
    for before in tables:
        opposed = programme.noisy if before.suppressed else programme.suppressed
        for name in opposed:
            both = quantities(programme, name) & set(before.values)
            if not both or not related(programme, name, before):
                continue
            told = " and ".join(sorted("the counts" if each == COUNT else each for each in both))
            how = ("hidden cells", "noise") if before.suppressed else ("noise", "hidden cells")
            what = f"{told} were published with {how[0]} ({before.name}), and now with {how[1]}"
            hint = f"table {name!r}: noise around hidden values opens them"
            yield programme.problem(("suppression", "earlier", before.number), what, hint)


def related(programme: Programme, table: str, before: EarlierTable) -> bool:
    """Whether a table is about the records of an earlier one, as far as names tell."""
    single = len(programme.sources) == 1
    return single or programme.source_of(table).name == before.about["from"]
