"""`Withheld`: why single cells of a protected table are hidden, and what may be said of them.

In: places of hidden cells, the kind of rule that hides each, intervals instead of blanks.
Out: the same beside the cells of a table. Public: no true value, no parameter of a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import TableError
from discreet.tables.dimension import Dimension, IndexArray

if TYPE_CHECKING:
    from discreet.tables.protected import Note

__all__ = ["Withheld"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Withheld:
    """Reasons and intervals of hidden cells, one entry per cell.

    Args:
        index: Per spanning variable, the position of each cell's code.
        reason: Number of its reason in `reasons`, from 1; 0 where none is said.
        reasons: The reasons: `kind` is the code that files print.
        low: The smallest value that anyone can think possible; NaN where nothing is
            said, minus infinity where there is none. None if no intervals are published.
        high: The largest one.
    """

    index: tuple[IndexArray, ...]
    reason: npt.NDArray[np.int8]
    reasons: tuple[Note, ...] = ()
    low: FloatArray | None = None
    high: FloatArray | None = None

    def __post_init__(self) -> None:
        columns: list[Any] = [*self.index, self.reason]
        columns += [part for part in (self.low, self.high) if part is not None]
        if len({len(part) for part in columns}) > 1 or (self.low is None) != (self.high is None):
            raise TableError("the columns of hidden cells differ in length", code="table")

    def __len__(self) -> int:
        return len(self.reason)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that files have for it."""
        return ("reason", *(() if self.low is None else ("low", "high")))

    def beside(
        self, dimensions: Sequence[Dimension], index: Sequence[IndexArray], shown: BoolArray
    ) -> dict[str, Any]:
        """Its columns beside cells: code of the reason, low, high; null for other cells.

        Args:
            dimensions: The spanning variables.
            index: Positions of the cells' codes.
            shown: Which cells show a number.
        """
        import polars as pl

        own, wanted = (self._flat(dimensions, part) for part in (self.index, index))
        order = np.argsort(own, kind="stable")
        at = np.minimum(np.searchsorted(own[order], wanted), max(len(own) - 1, 0))
        found = np.zeros(len(wanted), dtype=np.bool_)
        if len(own):
            at = order[at]
            found = (own[at] == wanted) & ~shown
        codes = pl.Series([None, *(note.kind for note in self.reasons)], dtype=pl.String)
        which = np.where(found, self.reason[at] if len(own) else 0, 0)
        columns = {"reason": codes.gather(which.astype(np.int64))}
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound is not None:
                told = np.full(len(wanted), np.nan)
                told[found] = bound[at[found]]
                told[~np.isfinite(told)] = np.nan
                columns[name] = pl.Series(told, dtype=pl.Float64).fill_nan(None)
        return columns

    def renumbered(self, places: Sequence[IndexArray]) -> Withheld:
        """The same after codes were left out that none of its cells has.

        Args:
            places: Per spanning variable, the new position of each old one.
        """
        index = [place[part] for place, part in zip(places, self.index, strict=True)]
        return replace(self, index=tuple(index))

    def _flat(self, dimensions: Sequence[Dimension], index: Sequence[IndexArray]) -> Any:
        flat = np.zeros(len(index[0]) if index else 1, dtype=np.int64)
        for dimension, part in zip(dimensions, index, strict=True):
            flat = flat * len(dimension) + part
        return flat

    def __repr__(self) -> str:
        return f"<Withheld: {len(self):,} cells>"
