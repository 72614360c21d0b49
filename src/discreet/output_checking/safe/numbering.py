"""Keys and texts of large data numbered as they occur. CONFIDENTIAL.

In: whole numbers, or a column of texts. Out: a number for each record, the same for equal
keys, and where each key occurs first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.output_checking.safe import compiled_cases

__all__ = ["numbered", "short_numbered"]

IntArray = npt.NDArray[np.int64]
#: Fills a table, numbers and first places; how many keys there are, or why it could not.
Fill = Callable[[IntArray, IntArray, IntArray], int]

#: A table of keys that is tried first.
_FEW = 2**12
_ALL_THERE = np.zeros(0, dtype=np.bool_)


def numbered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Keys numbered as they occur, and where each occurs first.

    >>> codes, first = numbered(np.array([7, 10**12, 7, -3]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    found = _filled(keys.size, lambda *room: int(compiled_cases.number(keys, *room)))
    assert found is not None  # a table of the second size has room for all
    return found


def short_numbered(
    column: pl.Series, place: IntArray | None = None
) -> tuple[IntArray, IntArray] | None:
    """As `numbered`, of texts that take at most 12 bytes each; None if one takes more.

    Args:
        column: The texts.
        place: Room for the numbers; new room if there is none.

    >>> short_numbered(pl.Series(["a longer text than that"]))
    >>> codes, first = short_numbered(pl.Series(["b", None, "b"]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    from discreet.output_checking.safe import compiled_texts

    laid_out = column.to_arrow(compat_level=pl.CompatLevel.newest())
    if str(laid_out.type) != "string_view":
        return None
    held = np.frombuffer(laid_out.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    views = held[laid_out.offset : laid_out.offset + len(column)]
    there = column.is_not_null().to_numpy() if column.null_count() else _ALL_THERE
    return _filled(
        len(column), lambda *room: int(compiled_texts.number_short(views, there, *room)), place
    )


def _filled(
    size: int, fill: Fill, place: IntArray | None = None
) -> tuple[IntArray, IntArray] | None:
    """Numbers and first places by a table that has room."""
    codes = np.empty(size, dtype=np.int64) if place is None else place
    first = np.empty(size, dtype=np.int64)
    least = 2 ** math.ceil(math.log2(2 * size + 2))
    # Most columns have few different keys, and a small table is near the processor.
    for room in (min(_FEW, least), least):
        found = fill(np.full(room, -1, dtype=np.int64), codes, first)
        if found >= 0:
            return codes, first[:found]
    return None
