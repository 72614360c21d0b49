"""`Ingredient`: a protected figure with what key figures need to know. CONFIDENTIAL.

In: the cells of a `Table` and what the cell-key method made of them. Out: true values
and the noise that was to be expected, for the guards on key figures: brackets and
signs. Only `protected` may be published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray
from discreet.errors import TableError
from discreet.tables import Dimension, ProtectedTable


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Ingredient:
    """A protected figure, cell by cell, beside its originals (confidential).

    Args:
        protected: The figure as it may be published.
        index: Per spanning variable, the position of each cell's code. The cells are
            those of the true table; all others are zero, before and after.
        value: The protected value of each cell; 0 where it is suppressed. Counts are
            rounded as published, for all digits of a weighted one can give it away; means
            are not, for they are quotients of published figures.
        original: The true value of each cell.
        deviation: The standard deviation of the noise that the cell could have got:
            of its possible noise, not its actual one. What is bracketed can be seen:
            deviations of counts are those of the row that the protected value has.
        suppressed: Which cells are not published.
    """

    protected: ProtectedTable
    index: tuple[npt.NDArray[np.int32], ...]
    value: FloatArray
    original: FloatArray
    deviation: FloatArray
    suppressed: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        lengths = {len(self.value), len(self.original), len(self.deviation), len(self.suppressed)}
        lengths |= {len(part) for part in self.index}
        if len(lengths) > 1:
            raise TableError("the columns of an ingredient differ in length", code="ingredient")
        if len(self.protected.figures) > 1:
            raise TableError("an ingredient is a single figure", code="ingredient")

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The spanning variables."""
        return self.protected.dimensions

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Ingredient {self.protected.name} (confidential): {len(self):,} cells>"
