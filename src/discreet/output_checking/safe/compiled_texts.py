"""The compiled numbering of short texts. Loaded for large data only. CONFIDENTIAL.

In: texts as Arrow lays them out, 16 bytes each: the length, and the text itself if it takes
at most 12 bytes. Out: a number for each, the same for equal texts.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

__all__ = ["LONG", "number_short"]

_VIEWS = types.Array(numba.uint64, 2, "C", readonly=True)
_THERE = types.Array(numba.boolean, 1, "C", readonly=True)
_INTS = numba.int64[::1]
_LENGTH = 2**32 - 1
_SHORT = 12
_MIXED, _AGAIN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F

#: Found instead of a number of texts where one of them is too long.
LONG = -2


@numba.njit(numba.int64(_VIEWS, _THERE, _INTS, _INTS, _INTS), nogil=True, cache=True)
def number_short(views: Any, there: Any, table: Any, codes: Any, first: Any) -> Any:
    """Number texts in the order in which they occur; `table` is filled with -1.

    What is not there has a number too; `there` is empty if all are. How many different ones
    there are; -1 if they would fill more than half of the table, `LONG` at a longer text.
    """
    mask = np.uint64(table.size - 1)
    missing: Any = np.int64(-1)
    found = 0
    for at in range(views.shape[0]):
        if there.size and not there[at]:
            if missing < 0:
                missing = found
                first[found] = at
                found += 1
            codes[at] = missing
            continue
        head, tail = views[at, 0], views[at, 1]
        if head & np.uint64(_LENGTH) > np.uint64(_SHORT):
            return np.int64(LONG)
        mixed = head * np.uint64(_MIXED)
        mixed = ((mixed ^ (mixed >> np.uint64(32))) + tail) * np.uint64(_AGAIN)
        slot = (mixed ^ (mixed >> np.uint64(29))) & mask
        code = table[slot]
        while code >= 0:
            known = np.uint64(first[np.uint64(code)])
            if views[known, 0] == head and views[known, 1] == tail:
                break
            slot = (slot + np.uint64(1)) & mask
            code = table[slot]
        if code < 0:
            if 2 * found >= table.size:
                return np.int64(-1)
            code = found
            table[slot], first[code] = code, at
            found += 1
        codes[at] = code
    return found
