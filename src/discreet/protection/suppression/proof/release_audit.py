"""Audits of what is published already: tables with blanks from anywhere, and several releases.

`Blanks` of published cells, whoever hid some of them, need no true value; of releases that anyone
can lay side by side it is said which hidden cells of one the others show or let work out
(CONFIDENTIAL).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.demands import (
    Demands,
    Earlier,
    KnownZeros,
    earlier_with_empty_cells,
    hides_empty_cells,
    zeros_of,
)
from discreet.protection.suppression.problem.linked_tables import COUNTS, joint_problem
from discreet.protection.suppression.problem.parameters import Knowledge
from discreet.protection.suppression.problem.table_relations import VariableCode, relations_of
from discreet.protection.suppression.proof.audit import Audit, audit_problem, told_reasons
from discreet.protection.suppression.proof.certificate import published_intervals
from discreet.protection.suppression.proof.joint_cubes import linked_with_earlier
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Blanks(Judged):
    """The hidden cells of a published table, each with its interval.

    Its verdict is never "safe": a published table does not say which cells are sensitive.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each hidden cell's code.
        low: The smallest value that fits everything published.
        high: The largest; infinite where nothing bounds it.
        exact: Cells that anyone can compute.
        seconds: How long it took.
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[npt.NDArray[np.int32], ...]
    low: FloatArray
    high: FloatArray
    exact: BoolArray
    seconds: float

    def __len__(self) -> int:
        return len(self.low)

    @property
    def judgement(self) -> DisclosureVerdict:
        """What anyone can compute, and what the table alone does not say."""
        several = [one.name for one in self.dimensions if len(one.classifications) > 1]
        gaps = [Gap("levels", number=len(self))]
        if several:
            gaps.append(Gap("breakdowns", ", ".join(several), len(several)))
        return DisclosureVerdict.of(self.names(), gaps)

    def names(self) -> list[str]:
        """Names of the cells that anyone can compute."""
        names = []
        for at in np.flatnonzero(self.exact):
            pairs = zip(self.dimensions, self.index, strict=True)
            codes = [
                f"{dimension.name}={dimension.codes[part[at]]}"
                for dimension, part in pairs
                if part[at]
            ]
            names.append(", ".join(codes) or "total")
        return names

    def to_polars(self) -> pl.DataFrame:
        """The hidden cells: codes, low, high, exact; no bound is null."""
        import polars as pl

        columns: dict[str, Any] = {
            dimension.name: pl.Series(dimension.codes, dtype=pl.String).gather(part)
            for dimension, part in zip(self.dimensions, self.index, strict=True)
        }
        for name, bound in (("low", self.low), ("high", self.high)):
            columns[name] = pl.Series(np.where(np.isfinite(bound), bound, np.nan)).fill_nan(None)
        return pl.DataFrame({**columns, "exact": self.exact})

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            "hidden": len(self),
            "exact": int(self.exact.sum()),
            "exact_cells": self.names(),
            "seconds": round(self.seconds, 3),
            **self.judgement.described(),
        }

    def text(self) -> str:
        """The verdict in words."""
        lines = [f"{len(self):,} cells are hidden; anyone can compute {int(self.exact.sum()):,}."]
        lines += [f"  {name}" for name in self.names()[:20]]
        return "\n".join([*lines, *self.judgement.lines()])

    def __repr__(self) -> str:
        return f"<Blanks: {len(self):,} hidden cells>"


def audit_published(
    published: Any,
    by: Sequence[str | Classification | Sequence[Classification]] | None = None,
    *,
    value: str = "value",
    decimals: int = 0,
    negative: bool = False,
    rounding: float = 0.0,
    zero_cells: KnownZeros = "fixed",
) -> Blanks:
    """Work out between which values the hidden cells of a published table lie.

    Args:
        published: A `ProtectedTable`, or a frame with one row per cell, null in the hidden
            ones. Cells that are not listed are zero.
        by: The spanning variables of a frame: names or classifications.
        value: Its column of values.
        decimals: Digits after the decimal point that are published.
        negative: Whether values may be below 0.
        rounding: By how many units of the last digit a published value may be off: 0.5
            where each was rounded on its own.
        zero_cells: "partners" if zeros may be hidden as well; else a hidden value is taken
            to be one unit or more, unless the table itself says or shows otherwise.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "value": [18, 9, 7, None]})
    >>> audit_published(frame, ["sex"]).to_polars().rows()
    [('d', 2.0, 2.0, True)]
    """
    began = time.monotonic()
    if isinstance(published, ProtectedTable):
        dimensions, index, units, hidden = _of_table(published, decimals)
    else:
        dimensions, index, units, hidden = _of_frame(published, by, value, decimals)
    relations = relations_of(dimensions, index)
    zeros = zeros_of([published]) if isinstance(published, ProtectedTable) else zero_cells
    smallest = 0.0 if "partners" in (zeros, zero_cells) else max(0.0, 1.0 - rounding)
    how: dict[str, Any] = {"negative": negative, "rounding": rounding}
    try:
        low, high = published_intervals(relations, units, hidden, smallest=smallest, **how)
    except SuppressionError:
        if negative or not smallest:
            raise
        # Some hidden cell must be zero for the published ones to add up.
        low, high = published_intervals(relations, units, hidden, **how)
    scale = 10.0**decimals
    return Blanks(
        dimensions=tuple(dimensions),
        index=tuple(part[hidden] for part in index),
        low=low / scale,
        high=high / scale,
        exact=low == high,
        seconds=time.monotonic() - began,
    )


_CellArrays = tuple[Sequence[Dimension], Sequence[npt.NDArray[np.int32]], IntArray, BoolArray]


def _of_table(table: ProtectedTable, decimals: int) -> _CellArrays:
    if table.several_figures or any(not figure.summed for figure in table.figures):
        message = "only counts and sums add up; this table has other figures"
        raise SuppressionError(message, code="figures", where=table.name)
    index, value, status = table.cells()
    hidden = status == CellStatus.suppressed
    return table.dimensions, index, np.rint(value * 10.0**decimals).astype(np.int64), hidden


def _of_frame(frame: Any, by: Any, value: str, decimals: int) -> _CellArrays:
    """Cells of a frame; a count stands in for the values while codes are read."""
    import polars as pl

    from discreet.tables import to_polars

    cells = to_polars(frame)
    if by is None or value not in cells.columns:
        message = "name the spanning variables and the column of values"
        hint = f"columns found: {', '.join(cells.columns)}"
        raise SuppressionError(message, code="missing-column", where=value, hint=hint)
    if not cells[value].dtype.is_numeric():
        message = "the column of values holds no numbers; hidden cells are null"
        raise SuppressionError(message, code="values", where=value)
    ordered = cells.with_row_index("discreet row", offset=1)
    table = Table.from_cells(ordered, by=by, count="discreet row")
    numbers = cells[value].cast(pl.Float64).gather(table.count - 1)
    hidden = numbers.is_null().to_numpy()
    units = np.rint(numbers.fill_null(0.0).to_numpy() * 10.0**decimals).astype(np.int64)
    return table.dimensions, table.index, units, hidden


def check_releases(
    releases: Sequence[Earlier],
    *,
    value: str | None = None,
    decimals: int = 0,
    knowledge: Knowledge | None = None,
    same: Mapping[VariableCode, VariableCode] | None = None,
    records: Any = None,
) -> Audit:
    """Say what tables that were protected apart tell together.

    Args:
        releases: Tables with what each of them hides, and its sensitive cells if known;
            without, every cell that one of them hides counts as sensitive. The newest comes
            last; values of others may have changed since.
        value: The value column that was published; None for counts.
        decimals: Digits that were published.
        knowledge: What attackers know beforehand.
        same: Codes that mean the same as a code of another variable.
        records: What all tables were counted from: cells that are the same records, or add up,
            are known whatever columns are called. Without, cells are known by name.

    Returns:
        An `Audit` of all their cells; hidden are those that no release shows.

    >>> import polars as pl
    >>> from discreet import Table
    >>> def counts(**codes):
    ...     return Table.from_cells(pl.DataFrame(codes), by=[next(iter(codes))], count="n")
    >>> old = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> new = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> first = Earlier(table=old, hidden=np.array([False, True, True, False]))
    >>> second = Earlier(table=new, hidden=np.array([False, True, False, True]))
    >>> check_releases([first, second]).opened
    ('region=N', 'region=S', 'region=W')
    """
    if value in COUNTS and any(hides_empty_cells(each.table, each.hidden) for each in releases):
        releases = [earlier_with_empty_cells(release) for release in releases]
    *before, last = releases
    demands = [Demands.before(item, 10**decimals) for item in (last, *before)]
    if all(release.primary is None for release in releases):  # what is hidden counts as sensitive
        demands = [replace(own, sensitive=own.secondary) for own in demands]
    shown = [item.hidden for item in releases if isinstance(item.hidden, ProtectedTable)]
    problem, members = joint_problem(
        [last.table], demands, before, value=value, decimals=decimals, knowledge=knowledge,
        same=same, zero_cells=zeros_of(shown), reasons=told_reasons(shown), records=records,
        strict=False,
    )  # fmt: skip
    hidden = ~members.gathered([own.fixed for own in demands], len(problem))
    # Combinations of other data are others.
    linked = (
        [] if len(members.changed) else linked_with_earlier(members, [last.table], [value], before)
    )
    found = audit_problem(problem, hidden, tables=linked)
    return replace(found, gaps=(*members.unexamined, *found.gaps))
