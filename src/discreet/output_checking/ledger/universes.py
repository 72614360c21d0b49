"""Universes: the sets of units that the cells of an output are about.

In: records (CONFIDENTIAL) and how a table is made of them. Out: one universe for the table
and one for each category that it shows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from numpy.typing import NDArray

from discreet.errors import OutputCheckError
from discreet.output_checking.ledger.powers import Sums, sums_of

if TYPE_CHECKING:
    from discreet.output_checking.ledger.units import UnitKey

__all__ = ["Universe", "read_universe", "universe", "universes_of"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Universe:
    """Whom one figure of an output is about (confidential, but for its names).

    Args:
        table: The output, such as its line and command.
        label: The category, such as ``sex = 1``; empty for the whole table.
        count: How many units.
        sums: Their power sums.
    """

    table: str
    label: str = ""
    count: int = field(repr=False)
    sums: Sums = field(repr=False)

    @property
    def name(self) -> str:
        """Table and category."""
        return f"{self.table}: {self.label}" if self.label else self.table

    def __repr__(self) -> str:
        return f"<Universe {self.name}>"


def universe(
    units: Sequence[Any] | NDArray[Any], *, key: UnitKey, size: int, table: str, label: str = ""
) -> Universe:
    """The universe of some units.

    Args:
        units: Identifiers, as often as they come.
        key: What digests are made with.
        size: The minimum of the ledger.
        table: The output.
        label: The category.
    """
    digests = key.digests(units)
    return Universe(table=table, label=label, count=len(digests), sums=sums_of(digests, size))


def universes_of(
    frame: pl.DataFrame,
    *,
    unit: str,
    by: Sequence[str] = (),
    key: UnitKey,
    size: int,
    table: str,
    cells: bool = False,
) -> list[Universe]:
    """The universes of a table: of all its records, of each category, and of each cell.

    Categories of fewer units than the minimum are withheld in output and left out here.

    Args:
        frame: The records that are in the table.
        unit: Column of whom a record is about.
        by: The variables that span the table.
        key: What digests are made with.
        size: The minimum of the ledger.
        table: The output.
        cells: Whether cells of several variables count, too.
    """
    for name in (unit, *by):
        if name not in frame.columns:
            raise OutputCheckError(
                "the records have no such column", code="ledger-units", where=name
            )
    whole = universe(frame[unit].to_list(), key=key, size=size, table=table)
    return [whole, *_parts(frame, unit, by, key, size, table, cells=cells)]


def _parts(
    frame: pl.DataFrame,
    unit: str,
    by: Sequence[str],
    key: UnitKey,
    size: int,
    table: str,
    *,
    cells: bool,
) -> Iterator[Universe]:
    groups = [[name] for name in by] + ([list(by)] if cells and len(by) > 1 else [])
    for names in groups:
        for codes, rows in frame.group_by(names, maintain_order=True):
            label = ", ".join(f"{a} = {b}" for a, b in zip(names, codes, strict=True))
            found = universe(rows[unit].to_list(), key=key, size=size, table=table, label=label)
            if found.count >= size:
                yield found


def read_universe(
    path: str | os.PathLike[str], *, unit: str | None, key: UnitKey, size: int
) -> Universe:
    """The universe in a file of identifiers, for outputs made elsewhere. CONFIDENTIAL.

    Args:
        path: A ``.csv`` or ``.parquet`` file with one column, or with the column `unit`.
        unit: Column of whom a record is about.
        key: What digests are made with.
        size: The minimum of the ledger.
    """
    place = Path(path)
    suffix = place.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        hint = "give a .csv or .parquet file"
        raise OutputCheckError("no file of units", code="ledger-units", where=place.name, hint=hint)
    try:
        csv = suffix == ".csv"
        frame = pl.read_csv(place, infer_schema=False) if csv else pl.read_parquet(place)
    except (OSError, pl.exceptions.PolarsError):
        what = "the file of units cannot be read"
        raise OutputCheckError(what, code="ledger-units", where=place.name) from None
    if unit is None and frame.width != 1:
        what = "the file has several columns"
        hint = "say which one tells units apart, with --unit"
        raise OutputCheckError(what, code="ledger-units", where=place.name, hint=hint)
    column = frame.columns[0] if unit is None else unit
    return universes_of(frame, unit=column, key=key, size=size, table=place.stem)[0]
