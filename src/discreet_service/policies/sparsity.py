"""Sparsity: how many small cells, and rows in which one category has all (P7).

In: perturbed inner cells. Out: shares; nothing else is kept. Since the cells are perturbed, the
decision tells no more than the table would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.arrays import IntArray

if TYPE_CHECKING:
    from discreet_service.policies.document import SparsityPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class SparsityShares:
    """How sparse a perturbed table is.

    Args:
        cells: Cells that are not empty.
        small: The share of small ones among them.
        single: The largest share, over variables, of rows in which one category has all.
    """

    cells: int
    small: float
    single: float

    @classmethod
    def of(cls, counts: IntArray, small: int, judged: Sequence[bool]) -> SparsityShares:
        """How sparse a table is.

        Args:
            counts: Its perturbed inner cells, an axis for each variable.
            small: Counts up to this are small.
            judged: For each axis, whether its categories tell something; geography does not.

        >>> import numpy as np
        >>> SparsityShares.of(np.array([[9, 0], [3, 8]]), 3, [False, True])
        SparsityShares(cells=3, small=0.3333333333333333, single=0.5)
        """
        there = counts > 0
        cells = int(there.sum())
        few = int((there & (counts <= small)).sum())
        single = 0.0
        for axis, tells in enumerate(judged):
            if not tells or counts.shape[axis] < 2:
                continue
            filled = there.sum(axis=axis)
            rows = int((filled > 0).sum())
            if rows:
                single = max(single, int((filled == 1).sum()) / rows)
        return cls(cells=cells, small=few / cells if cells else 0.0, single=single)

    def exceeds(self, limits: SparsityPolicy) -> bool:
        """Whether this is too sparse to be shown.

        Args:
            limits: What the policy says.
        """
        if self.cells < limits.least_cells:
            return False
        return self.small > limits.share_small or self.single > limits.share_single
