"""What a revision gives away: cells that hold nearly the same units as when first published.

In: the records that a table was first made of, and the corrected ones. Out: per cell by how many
units both differ, CONFIDENTIAL, and how many cells differ by few. A revision keeps the keys of the
first publication: who compares both sees in which cells something was corrected, and where it
was for few units, the two figures are about these few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.errors import MicrodataError, Problem, raise_all
from discreet.microdata import check_identifiers, open_frame, require_columns
from discreet.record_batches import collected
from discreet.tables import Spanning, Table
from discreet.tabulation import Query, tabulate

_UNIT = "discreet_unit"
_FEWEST = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class RevisedCells:
    """The cells of a table that hold other units after a revision."""

    table: str  # name of the table
    least: int  # from how many units on a difference counts as large enough
    changed: int  # number of cells that hold other units than before
    few: int  # how many of them differ by fewer than that
    #: Each changed cell by its codes, and by how many units it differs. CONFIDENTIAL
    units: pl.DataFrame

    def text(self) -> str:
        """The findings, without naming a cell."""
        if not self.changed:
            return f"{self.table}: all cells have the same units as before."
        sentence = f"{self.table}: the units of {self.changed:,} cells changed"
        return f"{sentence}; in {self.few:,} cells fewer than {self.least} units changed."

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        fields = {"table": self.table, "least": self.least}
        return {**fields, "changed": self.changed, "few": self.few}

    def __repr__(self) -> str:
        return f"<RevisedCells of {self.table}: {self.few:,} of {self.changed:,} by few units>"


def revised_cells(
    first: Any,
    revised: Any,
    by: Sequence[Spanning],
    *,
    id: str,  # noqa: A002 - the word users know
    least: int = 3,
    where: str | None = None,
    name: str = "table",
) -> RevisedCells:
    """Hold the records of a revision against those that a table was first made of.

    Args:
        first: The records as they were first published.
        revised: The corrected records.
        by: What spans the table, as for `tabulate`.
        id: The column that identifies a unit in both.
        least: By how many units a cell must differ, if it does.
        where: Which records count.
        name: Name of the table.

    >>> first = pl.DataFrame({"id": [1, 2, 3], "area": ["a", "a", "b"], "work": [1, 0, 1]})
    >>> later = first.with_columns(work=pl.Series([1, 1, 1]))
    >>> found = revised_cells(first, later, ["area", "work"], id="id")
    >>> found
    <RevisedCells of table: 4 of 4 by few units>
    """
    if isinstance(least, bool) or not isinstance(least, int) or least < _FEWEST:
        message, hint = "least must be at least 2", "least=3"
        raise MicrodataError(message, code="least", where="least", hint=hint)
    columns = [
        column for column in dict.fromkeys(Query(by=by, where=where).columns) if column != id
    ]
    sides = []
    for frame in (first, revised):
        opened = open_frame(frame)
        require_columns(opened, [id, *columns])
        check_identifiers(opened, [id])
        held = collected(opened.select(id, *columns))
        sides.append(held.select(pl.col(id).cast(pl.String).alias(_UNIT), *columns))
    old, new = sides
    problems = [
        Problem(
            f"the type changed from {old[item].dtype} to {new[item].dtype}",
            item,
            "read both files with the same options",
        )
        for item in columns
        if old[item].dtype != new[item].dtype
    ]
    raise_all(MicrodataError, problems, code="column-type")
    counts = []
    for own, other in (sides, sides[::-1]):
        changed = own.join(other, on=[_UNIT, *columns], how="anti", nulls_equal=True)
        counts.append(_cells(changed, by, where))
    there = next((count for count in counts if count is not None), None)
    if there is None:
        return RevisedCells(table=name, least=least, changed=0, few=0, units=pl.DataFrame())
    old, new = (there.clear() if count is None else count for count in counts)
    codes = [column for column in old.columns if column not in (_UNIT, "count")]
    both = old.join(new, on=[*codes, _UNIT], how="full", coalesce=True, suffix=" new")
    apart = pl.col("count").fill_null(0) != pl.col("count new").fill_null(0)
    units = both.filter(apart).group_by(codes).agg(units=pl.len()).sort(codes)
    few = units.filter(pl.col("units") < least).height
    return RevisedCells(table=name, least=least, changed=units.height, few=few, units=units)


def _cells(changed: pl.DataFrame, by: Sequence[Spanning], where: str | None) -> pl.DataFrame | None:
    """The cells that each changed unit is in; None if there is none."""
    if changed.is_empty():
        return None
    table: Table = tabulate(changed, by=[*by, _UNIT], where=where)
    total = table.dimensions[-1].codes[0]
    cells = table.to_polars().filter((pl.col("count") > 0) & (pl.col(_UNIT) != total))
    names = [dimension.name for dimension in table.dimensions]
    return cells.select(pl.col(names).cast(pl.String), "count")
