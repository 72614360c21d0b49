"""`Ingredient`: a protected figure with what key figures need to know. CONFIDENTIAL.

In: the cells of a `Table` and what the cell-key method made of them. Out: true values
and the noise that was to be expected, for the guards on key figures: brackets and
signs. Only `protected` may be published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray, quotient
from discreet.errors import TableError
from discreet.tables.dimension import Dimension
from discreet.tables.protected import ProtectedTable

#: The noise that each cell would have with one key, given as its place on the grid from 0 to 1.
Draw = Callable[[float], FloatArray]

#: The name of the cell key itself.
CELL_KEY = "cell key"

_STEPS = 512


def correlation(
    one: Mapping[str, Draw], other: Mapping[str, Draw], cells: tuple[IntArray, IntArray]
) -> FloatArray:
    """Correlation of the noise of two figures with the same keys, from −1 to 1.

    Taken over keys spread evenly on the grid, for each key that either is drawn with.
    """
    sums = np.zeros((3, len(cells[0])), dtype=np.float64)  # variances and covariance
    for name in {**one, **other}:
        mean, product = np.zeros((2, sums.shape[1])), np.zeros_like(sums)
        for step in range(_STEPS):
            noise = [
                draws[name]((step + 0.5) / _STEPS)[at] if name in draws else np.zeros(len(at))
                for draws, at in zip((one, other), cells, strict=True)
            ]
            mean += noise
            product += (noise[0] * noise[0], noise[1] * noise[1], noise[0] * noise[1])
        mean, product = mean / _STEPS, product / _STEPS
        sums += product - (mean[0] * mean[0], mean[1] * mean[1], mean[0] * mean[1])
    size = np.sqrt(np.maximum(sums[0], 0.0) * np.maximum(sums[1], 0.0))
    return np.clip(quotient(sums[2], size), -1.0, 1.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class GateReport:
    """Effect of the gate of a value column on a table. CONFIDENTIAL."""

    cells: int  # cells that rest on a single or dominating contribution, by the rule of the column
    failed: int  # of these, cells whose best guess is within p % too often: hidden
    #: Cells hidden with them: published counts that leave open whether there are one or two
    #: contributors, and cells whose figure would open a hidden one by subtraction
    beside: int
    shown: int  # cells of the rule that are shown
    #: Of those shown, the share whose figure is within p % of the largest contribution, once the
    #: second largest is subtracted
    near: float
    chance: float  # the largest chance of a best guess among those shown
    p_percent: float  # what p is


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Ingredient:
    """A protected figure, cell by cell, beside its originals (confidential)."""

    protected: ProtectedTable  # the figure as it may be published
    #: Per spanning variable, the position of each cell's code. The cells are those of the true
    #: table; all others are zero, before and after
    index: tuple[npt.NDArray[np.int32], ...]
    #: The protected value of each cell; 0 where it is suppressed. Counts are rounded as published,
    #: for all digits of a weighted one can give it away; means are not, for they are quotients of
    #: published figures
    value: FloatArray
    original: FloatArray  # the true value of each cell
    #: The standard deviation of the noise that the cell could have got: of its possible noise, not
    #: its actual one. What is bracketed can be seen: deviations of counts are those of the row that
    #: the protected value has
    deviation: FloatArray
    suppressed: npt.NDArray[np.bool_]  # which cells are not published
    #: The cell keys that its noise was drawn with, or derived from, if they are known
    keys: IntArray | None = None
    #: Per key, by its name, the noise that the cells could have got: "cell key" for the key itself,
    #: other names for keys derived from it
    draws: Mapping[str, Draw] = field(default_factory=dict)
    #: How near its figures come to single contributions, where that was looked at
    gate: GateReport | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.value), len(self.original), len(self.deviation), len(self.suppressed)}
        lengths |= {len(part) for part in self.index}
        lengths |= set() if self.keys is None else {len(self.keys)}
        if len(lengths) > 1:
            raise TableError("the columns of an ingredient differ in length", code="ingredient")
        if len(self.protected.figures) > 1:
            raise TableError("an ingredient must be a single figure", code="ingredient")

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The spanning variables."""
        return self.protected.dimensions

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Ingredient {self.protected.name} (confidential): {len(self):,} cells>"
