"""`Knowledge`: what attackers know about cells before anything is published.

In: how far from the true value they can think a cell, as a share of it. Out: bounds of
every cell in units. The shares are public; the bounds are CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.problem import UNBOUNDED

__all__ = ["Knowledge"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The bounds that an attacker is said to know for each cell beforehand.

    A cell of value v lies between v - below·|v| and v + above·|v|, and at 0 or above
    in tables without negative values. Whatever the shares, the bounds leave room for
    the protection levels of the cell: else nothing could protect it.

    Args:
        below: Share of the value that the cell may be smaller; None for no bound.
        above: Share that it may be larger; None for no bound.
        negative: Whether attackers reckon with negative values; None: if there are any.

    >>> Knowledge(above=0.5).share_text
    'from 0 to 1.5 times the true value'
    """

    below: float | None = 1.0
    above: float | None = 1.0
    negative: bool | None = None

    def __post_init__(self) -> None:
        for name, share in (("below", self.below), ("above", self.above)):
            if share is not None and not 0 <= share < float("inf"):
                raise SuppressionError(
                    "the share is a number of at least 0, or None",
                    code="knowledge",
                    where=name,
                    hint="0.5 for half of the true value",
                )

    @property
    def share_text(self) -> str:
        """The bounds in words, for reports."""
        low = "any value" if self.below is None else f"{max(0.0, 1 - self.below):g}"
        if self.below is not None and self.below > 1:
            low = f"{1 - self.below:g}"
        high = "any value" if self.above is None else f"{1 + self.above:g} times the true value"
        return f"from {low} to {high}"

    def bounds(
        self, value: IntArray, lower: IntArray, upper: IntArray, sliding: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Lowest and highest value of each cell, in units.

        Args:
            value: The true values.
            lower: Lower protection levels; not above the value where none is negative.
            upper: Upper protection levels.
            sliding: Sliding protection levels.
        """
        signed = bool((value < 0).any()) if self.negative is None else self.negative
        low = -np.full(len(value), UNBOUNDED, dtype=np.int64)
        high = np.full(len(value), UNBOUNDED, dtype=np.int64)
        size = np.abs(value).astype(np.float64)
        if self.below is not None:
            low = np.maximum(value - np.ceil(np.minimum(self.below * size, UNBOUNDED)), low)
        if self.above is not None:
            high = np.minimum(value + np.ceil(np.minimum(self.above * size, UNBOUNDED)), high)
        low, high = low.astype(np.int64), high.astype(np.int64)
        low = np.minimum(low, value - lower)
        if not signed:
            low = np.maximum(low, 0)
        high = np.maximum(np.maximum(high, value + upper), low + sliding)
        return np.maximum(low, -UNBOUNDED), np.minimum(high, UNBOUNDED)
