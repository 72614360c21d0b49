"""What a release consists of, for people and programs.

In: the tables and files of a release. Out: `ReleaseSummary`, and what release.json says of
a table. Public: shapes, file names and keyed digests, no figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Name of the file that lists what a release consists of.
MANIFEST = "release.json"


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """One table of a release."""

    name: str
    title: str  # its heading in the main language
    source: str  # the source whose records it counts; empty if there is one source only
    by: tuple[str, ...]  # its spanning variables
    figures: tuple[str, ...]  # its key figures; none for a plain count
    cells: int  # number of cells of the complete grid
    digests: Mapping[str, str]  # the digests of its provenance
    files: Mapping[str, str]  # name of file → SHA-256 of its content
    fresh: bool  # whether it was made in this run

    def described(self) -> dict[str, Any]:
        """As it stands in release.json."""
        return {
            "name": self.name,
            "title": self.title,
            **({"from": self.source} if self.source else {}),
            "by": list(self.by),
            "figures": list(self.figures),
            "cells": self.cells,
            "digests": dict(self.digests),
            "files": dict(self.files),
        }


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """Contents of a release, and actions of this run.

    >>> place = Path("release")
    >>> print(ReleaseSummary(out=place, tables=(), report=place / "index.html",
    ...                      manifest=place / "release.json").text())
    0 tables with 0 cells are in release: 0 new, 0 unchanged.
    Overview: release/index.html
    """

    out: Path  # the release folder
    tables: tuple[ReleasedTable, ...]  # its tables, in the order of the programme
    report: Path  # the page about the release in the main language
    manifest: Path  # the file that lists everything
    #: Files of tables that the programme no longer asks for, now removed
    removed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # what should be put right although it is not an error
    seal: str = ""  # its fingerprint, to compare or to publish elsewhere; empty without
    signer: str = ""  # the short name of the key that signed it; empty where nobody signed it
    #: What the releases of all periods tell together, for the office
    checks: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """Number of cells of all tables."""
        return sum(table.cells for table in self.tables)

    @property
    def files(self) -> int:
        """Number of files of all tables."""
        return sum(len(table.files) for table in self.tables)

    @property
    def fresh(self) -> int:
        """Number of tables made in this run; the others were there already."""
        return sum(table.fresh for table in self.tables)

    def text(self) -> str:
        """The summary for people."""
        kept = len(self.tables) - self.fresh
        lines = [
            f"{len(self.tables)} tables with {self.cells:,} cells are in {self.out}: "
            f"{self.fresh} new, {kept} unchanged."
        ]
        width = max((len(table.name) for table in self.tables), default=0)
        lines += [
            f"  {table.name:<{width}}  {table.cells:>11,} cells  {table.title}"
            for table in self.tables
        ]
        lines += [f"  removed: {file}" for file in self.removed]
        lines += [f"  {sentence}" for sentence in self.checks]
        lines += [f"  fingerprint {self.seal}"] if self.seal else []
        lines += [f"  signed with key {self.signer}"] if self.signer else []
        return "\n".join([*lines, f"Overview: {self.report}"])

    def described(self) -> dict[str, Any]:
        """The summary for programs."""
        return {
            "out": str(self.out),
            "report": str(self.report),
            "manifest": str(self.manifest),
            "cells": self.cells,
            "tables": [{**table.described(), "fresh": table.fresh} for table in self.tables],
            "removed": list(self.removed),
            **({"checks": list(self.checks)} if self.checks else {}),
            **({"seal": self.seal, "signer": self.signer or None} if self.seal else {}),
            "warnings": list(self.warnings),
        }
