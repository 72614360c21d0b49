"""A reader who knows what records can be alike: which sums of them printed sums leave one value.

Written apart from the product: programs over all kinds of records, no kind of which is negative.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, milp

#: Ends that lie no further apart are one value.
_ONE_VALUE = 1e-3


def single_valued(asked: np.ndarray, printed: LinearConstraint, *, whole: bool) -> np.ndarray:
    """Which sums of records (rows over kinds of records) can have one value only.

    Each solution counts for all sums: two that differ in a sum show that it is not known.
    """
    low, high = np.full(len(asked), np.inf), np.full(len(asked), -np.inf)
    for at, wish in enumerate(asked):
        for sign in (1, -1):
            if high[at] - low[at] >= _ONE_VALUE:
                break
            end = milp(sign * wish, constraints=printed, integrality=int(whole))
            if end.status == 3:  # a hidden total has no upper end
                high[at] = np.inf
                break
            assert end.status == 0
            values = asked @ (np.rint(end.x) if whole else end.x)
            np.minimum(low, values, out=low)
            np.maximum(high, values, out=high)
    return high - low < _ONE_VALUE
