"""Lists of the largest contributions per cell, merged by order.

In: values and weights of records, or lists of finer cells. Out: per cell the k
largest, with the smallest and the largest value (confidential). The order of
contributions is total but for records that are alike, so that neither the order
of the records nor the way to merge can change a list.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_K", "Largest"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: At most so many contributions per cell.
LARGEST_K = 16
#: From this many lists on, they are merged by compiled loops; where these are loaded, always.
_COMPILED_FROM = 250_000
_LOOPS = "discreet.tabulation.compiled_largest"
_ENDS = 2


@dataclass(frozen=True, repr=False, eq=False)
class Largest:
    """The largest contributions of each cell (confidential).

    Args:
        k: Length of a list.
        lists: One row per cell: smallest value, largest value, the k largest
            contributions, and their weights if there are any; NaN where there is none.
            All that one record needs to look at lies side by side in memory.
    """

    k: int
    lists: FloatArray

    @classmethod
    def empty(cls, cells: int, k: int, *, weighted: bool) -> Largest:
        """Cells without contributions."""
        return cls(k, np.full((cells, _ENDS + k * (1 + weighted)), np.nan))

    @classmethod
    def of(
        cls, low: FloatArray, high: FloatArray, top: FloatArray, weights: FloatArray | None
    ) -> Largest:
        """From columns made elsewhere; a negative zero becomes a zero."""
        parts = [low[:, None], high[:, None], top, *([] if weights is None else [weights])]
        return cls(int(top.shape[1]), np.hstack(parts) + 0.0)

    @classmethod
    def joined(cls, parts: Sequence[Largest]) -> Largest:
        """The lists of several groups of cells, one after the other."""
        return cls(parts[0].k, np.concatenate([part.lists for part in parts]))

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def weighted(self) -> bool:
        """Whether contributions have weights."""
        return int(self.lists.shape[1]) > _ENDS + self.k

    @property
    def low(self) -> FloatArray:
        """The smallest value of each cell."""
        return self.lists[:, 0]

    @property
    def high(self) -> FloatArray:
        """The largest value of each cell."""
        return self.lists[:, 1]

    @property
    def top(self) -> FloatArray:
        """The largest contributions of each cell."""
        return self.lists[:, _ENDS : _ENDS + self.k]

    @property
    def weights(self) -> FloatArray | None:
        """The weights of the largest contributions."""
        return self.lists[:, _ENDS + self.k :] if self.weighted else None

    def of_cells(self, chosen: IntArray | npt.NDArray[np.bool_]) -> Largest:
        """The lists of some cells."""
        return Largest(self.k, self.lists[chosen])

    def shortened(self, k: int) -> Largest:
        """The first k contributions of each list."""
        if k == self.k:
            return self
        weights = None if self.weights is None else self.weights[:, :k]
        return Largest.of(self.low, self.high, self.top[:, :k], weights)

    def add_records(
        self, cells: IntArray, values: FloatArray, weights: FloatArray | None, *, compiled: bool
    ) -> None:
        """Take in records: each one's cell, value (NaN for none) and weight."""
        if compiled:
            from discreet.tabulation import compiled_largest as loops

            if weights is None:
                loops.add_values(cells, values, self.lists, self.k)
            else:
                loops.add_weighted_values(cells, values, weights, self.lists, self.k)
            return
        given = ~np.isnan(values)
        if not bool(given.all()):
            cells, values = cells[given], values[given]
            weights = None if weights is None else weights[given]
        self._widen(cells, values, values)
        self._take(cells, values + 0.0, weights)

    def add_lists(self, cells: IntArray, other: Largest) -> None:
        """Take in the lists of other cells: the place here of each, and the lists."""
        if len(other) >= _COMPILED_FROM or _LOOPS in sys.modules:
            from discreet.tabulation import compiled_largest as loops

            loops.add_lists(cells, other.lists, self.lists, self.k)
            return
        filled = ~np.isnan(other.high)
        self._widen(cells[filled], other.low[filled], other.high[filled])
        given = ~np.isnan(other.top)
        repeated = np.broadcast_to(cells[:, None], given.shape)[given]
        weights = other.weights
        self._take(repeated, other.top[given], None if weights is None else weights[given])

    def _widen(self, cells: IntArray, low: FloatArray, high: FloatArray) -> None:
        """Bring smallest and largest values up to date."""
        lowest, highest = self.low.copy(), self.high.copy()
        np.fmin.at(lowest, cells, low + 0.0)
        np.fmax.at(highest, cells, high + 0.0)
        self.lists[:, 0], self.lists[:, 1] = lowest, highest

    def _take(self, cells: IntArray, values: FloatArray, weights: FloatArray | None) -> None:
        """Merge contributions in, one place of the lists after the other."""
        kept = ~np.isnan(self.top)
        cells = np.concatenate([np.nonzero(kept)[0], cells])
        values = np.concatenate([self.top[kept], values])
        orders = [np.abs(values), values]
        if weights is not None and self.weights is not None:
            orders.insert(1, np.concatenate([self.weights[kept], weights]))
        for place in range(_ENDS, _ENDS + self.k):
            if not len(cells):
                return
            first = _first_of_each(cells, orders, len(self))
            at = cells[first]
            self.lists[at, place] = orders[-1][first]
            if self.weighted:
                self.lists[at, place + self.k] = orders[1][first]
            left = np.ones(len(cells), dtype=np.bool_)
            left[first] = False
            cells, orders = cells[left], [order[left] for order in orders]


def _first_of_each(cells: IntArray, orders: Sequence[FloatArray], size: int) -> IntArray:
    """For each cell that occurs, where its first contribution stands; of equals, any."""
    at: IntArray | None = None
    for order in orders:
        here = cells if at is None else cells[at]
        ranked = order if at is None else order[at]
        best = np.full(size, -np.inf)
        np.maximum.at(best, here, ranked)
        tied = np.flatnonzero(ranked == best[here])
        at = tied if at is None else at[tied]
    assert at is not None
    chosen = np.full(size, -1, dtype=np.int64)
    chosen[cells[at]] = at
    return chosen[chosen >= 0]
