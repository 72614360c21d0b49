"""`Primary`: which cells are sensitive, why, and how well they are to be hidden.

In: judgements of rules and marks. Out: one entry per cell of a table. CONFIDENTIAL: that
a cell is sensitive, and how far, says something about its contributors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.rules.reasons import Reason

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables import Table

__all__ = ["Primary", "Verdict"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Verdict(IntEnum):
    """What rules and marks say about a cell; numbers as in suppression problems."""

    free = 0
    sensitive = 1
    fixed = 2
    secondary = 3


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Primary:
    """Verdicts on the cells of a table, in their order (confidential).

    Args:
        table: Name of the table.
        value: The value column; None for counts.
        verdict: `Verdict` of each cell: sensitive cells must be hidden, fixed ones must be
            published, secondary ones are hidden already.
        reason: `Reason` of each sensitive cell: that of the first rule that marks it.
        rules: Which cells each rule marks, rules × cells, in the order of the rules and
            before marks.
        lower: Lower protection levels, in the unit of the value; 0 where none is asked for.
        upper: Upper protection levels.
        sliding: Sliding protection levels.
        cost: What marks say hiding a cell costs; NaN where they say nothing.
        low: What marks say attackers know beforehand: no smaller; NaN for nothing.
        high: No larger.
    """

    table: str
    value: str | None
    verdict: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    rules: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    cost: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        columns = (self.reason, self.lower, self.upper, self.sliding, self.cost)
        lengths = {len(column) for column in (*columns, self.low, self.high)}
        if lengths | {self.rules.shape[1]} != {len(self.verdict)}:
            raise SuppressionError("the columns of the primaries differ in length", code="primary")

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def sensitive(self) -> BoolArray:
        """Cells that must be hidden."""
        return self._are(Verdict.sensitive)

    @property
    def fixed(self) -> BoolArray:
        """Cells that must be published."""
        return self._are(Verdict.fixed)

    @property
    def secondary(self) -> BoolArray:
        """Cells that are hidden already."""
        return self._are(Verdict.secondary)

    def _are(self, verdict: Verdict) -> BoolArray:
        found: BoolArray = self.verdict == verdict
        return found

    def numbers(self) -> dict[str, int]:
        """How many cells are sensitive for which reason, by code of the reason."""
        counts = np.bincount(self.reason[self.sensitive], minlength=len(Reason))
        return {reason.code: int(counts[reason]) for reason in Reason if counts[reason]}

    def to_polars(self, table: Table) -> pl.DataFrame:
        """The verdicts beside the cells of their table, as a frame. CONFIDENTIAL.

        Args:
            table: The table that was judged.
        """
        import polars as pl

        if len(table) != len(self):
            raise SuppressionError(
                "these are the primaries of another table", code="primary", where=table.name
            )
        codes = {
            dimension.name: pl.Series(dimension.codes, dtype=pl.String).gather(part)
            for dimension, part in zip(table.dimensions, table.index, strict=True)
        }
        reasons = pl.Series([reason.code for reason in Reason])
        return pl.DataFrame(
            {
                **codes,
                "verdict": pl.Series([each.name for each in Verdict]).gather(self.verdict),
                "reason": reasons.gather(self.reason),
                "lower": self.lower,
                "upper": self.upper,
                "sliding": self.sliding,
            }
        )

    def __repr__(self) -> str:
        return f"<Primary {self.table} (confidential): {len(self):,} cells>"
