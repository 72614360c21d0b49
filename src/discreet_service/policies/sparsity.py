"""Sparsity: how many small cells, and rows in which one category has all (P7).

In: perturbed cells. Out: shares, and which parts of a table are hidden for them; nothing else is
kept. Since the cells are perturbed, the decision tells no more than the table would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, IntArray, PositionArray

if TYPE_CHECKING:
    from discreet_service.policies.document import SparsityPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class SparsityShares:
    """How sparse a perturbed table is."""

    cells: int  # Cells that are not empty
    small: float  # The share of small ones among them
    single: float  # The largest share, over variables, of rows in which one category has all

    @classmethod
    def of(cls, counts: IntArray, small: int, judged: Sequence[bool]) -> SparsityShares:
        """How sparse a table is.

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
        """Whether this is too sparse to be shown."""
        if self.cells < limits.least_cells:
            return False
        return self.small > limits.share_small or self.single > limits.share_single


def hidden_parts(
    counts: IntArray,
    levels: Sequence[Sequence[PositionArray]],
    judged: Sequence[bool],
    limits: SparsityPolicy,
    unknown: BoolArray | None = None,
) -> BoolArray:
    """Which parts of a table are hidden: those that are too sparse, with all that are finer.

    What is coarser than a part that is shown is thus shown itself, and a part that is hidden is no
    sum of parts that are shown. Whether a part is hidden depends on its own levels alone and on no
    others that a table has beside them, so that it is the same in all tables.

    >>> from discreet_service.policies.document import SparsityPolicy
    >>> limits = SparsityPolicy(small=3, share_small=0.4, share_single=1, least_cells=4)
    >>> counts = np.array([[20, 11, 9], [11, 10, 1], [9, 1, 8]])
    >>> codes = [np.array([0]), np.array([1, 2])]
    >>> hidden_parts(counts, [codes, codes], [True, True], limits).tolist()
    [[False, False], [False, True]]
    """
    parts = np.zeros([len(level) for level in levels], dtype=np.bool_)
    for part in product(*(range(len(level)) for level in levels)):
        cells = np.ix_(*(each[level] for each, level in zip(levels, part, strict=True)))
        tells = [bool(level) and each for level, each in zip(part, judged, strict=True)]
        sparse = SparsityShares.of(counts[cells], limits.small, tells).exceeds(limits)
        parts[part] = sparse or (unknown is not None and bool(unknown[cells].all()))
    for axis in range(parts.ndim):
        parts = np.logical_or.accumulate(parts, axis=axis)
    return parts
