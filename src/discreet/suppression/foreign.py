"""Tables with blanks from anywhere: what everyone can work out about the blanks.

In: published cells – a `ProtectedTable`, or a frame with nulls – whoever hid some of them.
Out: `Blanks`, an interval for each hidden cell. No true value is needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.classifications import Classification
from discreet.errors import SuppressionError
from discreet.suppression.adding import relations_of
from discreet.suppression.intervals import published_intervals
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Blanks", "audit_published"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Blanks:
    """The hidden cells of a published table, each with its interval.

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

    def names(self) -> list[str]:
        """Names of the cells that anyone can compute."""
        found = []
        for at in np.flatnonzero(self.exact):
            pairs = zip(self.dimensions, self.index, strict=True)
            codes = [f"{each.name}={each.codes[part[at]]}" for each, part in pairs if part[at]]
            found.append(", ".join(codes) or "total")
        return found

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
        }

    def text(self) -> str:
        """The verdict in words."""
        lines = [f"{len(self):,} cells are hidden; anyone can compute {int(self.exact.sum()):,}."]
        return "\n".join([*lines, *(f"  {name}" for name in self.names()[:20])])

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
    low, high = published_intervals(relations, units, hidden, negative=negative, rounding=rounding)
    scale = 10.0**decimals
    return Blanks(
        dimensions=tuple(dimensions),
        index=tuple(part[hidden] for part in index),
        low=low / scale,
        high=high / scale,
        exact=low == high,
        seconds=time.monotonic() - began,
    )


_Cells = tuple[Sequence[Dimension], Sequence[npt.NDArray[np.int32]], IntArray, BoolArray]


def _of_table(table: ProtectedTable, decimals: int) -> _Cells:
    if table.several_figures or any(not figure.summed for figure in table.figures):
        raise SuppressionError(
            "only counts and sums add up; this table has other figures",
            code="figures",
            where=table.name,
        )
    index, value, status = table.cells()
    hidden = status == CellStatus.suppressed
    return table.dimensions, index, np.rint(value * 10.0**decimals).astype(np.int64), hidden


def _of_frame(frame: Any, by: Any, value: str, decimals: int) -> _Cells:
    """Cells of a frame; a count stands in for the values while codes are read."""
    import polars as pl

    from discreet.tables.cells import to_polars

    cells = to_polars(frame)
    if by is None or value not in cells.columns:
        raise SuppressionError(
            "name the spanning variables and the column of values",
            code="missing-column",
            where=value,
            hint=f"columns found: {', '.join(cells.columns)}",
        )
    if not cells[value].dtype.is_numeric():
        raise SuppressionError(
            "the column of values holds no numbers; hidden cells are null",
            code="values",
            where=value,
        )
    ordered = cells.with_row_index("discreet row", offset=1)
    table = Table.from_cells(ordered, by=by, count="discreet row")
    numbers = cells[value].cast(pl.Float64).gather(table.count - 1)
    hidden = numbers.is_null().to_numpy()
    units = np.rint(numbers.fill_null(0.0).to_numpy() * 10.0**decimals).astype(np.int64)
    return table.dimensions, table.index, units, hidden
