"""`Knowledge`: what readers are said to know beforehand of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import SuppressionError

#: The attacker knows nothing about a cell beyond this, in units.
UNBOUNDED = 2**53


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The bounds that an attacker is said to know for each cell beforehand.

    A cell of value v lies between v - below·|v| and v + above·|v|, and at 0 or above
    in tables without negative values; what every reader knows comes on top.
    Knowledge that is stated is taken as it is: sensitive cells to which it leaves no room
    are refused. Where none is stated, the shares below give way to protection levels.

    Args:
        below: Share of the value that the cell may be smaller; None for no bound.
        above: Share that it may be larger; None for no bound.
        negative: Whether attackers reckon with negative values; None: if there are any.
        rules: Whether they know the number of a minimum frequency, below which sensitive
            counts lie.

    >>> Knowledge(above=0.5).share_text
    'from 0 to 1.5 times the true value'
    """

    below: float | None = 1.0
    above: float | None = 1.0
    negative: bool | None = None
    rules: bool = True

    def __post_init__(self) -> None:
        for name, share in (("below", self.below), ("above", self.above)):
            if share is not None and not 0 <= share < float("inf"):
                message = "the share is a number of at least 0, or None"
                hint = "0.5 for half of the true value"
                raise SuppressionError(message, code="knowledge", where=name, hint=hint)

    @property
    def share_text(self) -> str:
        """The bounds in words, for reports."""
        low = "any value" if self.below is None else f"{max(0.0, 1 - self.below):g}"
        if self.below is not None and self.below > 1:
            low = f"{1 - self.below:g}"
        high = "any value" if self.above is None else f"{1 + self.above:g} times the true value"
        return f"from {low} to {high}"

    def signed(self, value: IntArray) -> bool:
        """Whether attackers reckon with negative values."""
        return bool((value < 0).any()) if self.negative is None else self.negative

    def bounds(self, value: IntArray) -> tuple[IntArray, IntArray]:
        """Lowest and highest value of each cell, in units, by the shares alone."""
        low = -np.full(len(value), UNBOUNDED, dtype=np.int64)
        high = np.full(len(value), UNBOUNDED, dtype=np.int64)
        size = np.abs(value).astype(np.float64)
        if self.below is not None:
            low = np.maximum(value - np.ceil(np.minimum(self.below * size, UNBOUNDED)), low)
        if self.above is not None:
            high = np.minimum(value + np.ceil(np.minimum(self.above * size, UNBOUNDED)), high)
        if not self.signed(value):
            low = np.maximum(low, 0)
        return low.astype(np.int64), high.astype(np.int64)
