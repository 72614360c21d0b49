"""Which codes a protected table lists.

In: a `ProtectedTable` whose code lists may come from the data. Out: the same table
without codes that are listed only because a record carries them. Public.

A code that is listed because it occurs, and shows nothing but zeros, would tell that
its zeros are changed ones. Codes that were stated beforehand are always listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.tables.dimension import Dimension, IndexArray
from discreet.tables.parts import level_numbers
from discreet.tables.protected import ProtectedTable

__all__ = ["listed_codes", "without_unpublished"]

BoolArray = npt.NDArray[np.bool_]


def without_unpublished(table: ProtectedTable) -> ProtectedTable:
    """Leave out found codes with nothing but zeros, there and on all codes below them.

    Suppressed cells stay listed: that they are unknown must be seen.
    """
    keeps = [
        listed_codes(dimension, _used(table, at)) for at, dimension in enumerate(table.dimensions)
    ]
    if all(bool(keep.all()) for keep in keeps):
        return table
    cells = np.ones(table.stored, dtype=np.bool_)
    places = [(np.cumsum(keep) - 1).astype(np.int32) for keep in keeps]
    index: list[Any] = []
    for keep, place, part in zip(keeps, places, table.index, strict=True):
        cells &= keep[part]
        index.append(place[part])
    dimensions = [
        dimension.restricted(keep) for dimension, keep in zip(table.dimensions, keeps, strict=True)
    ]
    return replace(
        table,
        dimensions=tuple(dimensions),
        index=tuple(part[cells] for part in index),
        value=table.value[cells],
        status=table.status[cells],
        withheld=None if table.withheld is None else table.withheld.renumbered(places),
    )


def _used(table: ProtectedTable, at: int) -> IndexArray:
    """The codes of one variable with stored cells, or on suppressed parts, which are not."""
    hidden = sorted({part[at] for part in table.suppressed_parts})
    if not hidden:
        return table.index[at]
    unknown = np.flatnonzero(np.isin(level_numbers(table.dimensions[at]), hidden))
    return np.concatenate([table.index[at], unknown.astype(np.int32)])


def listed_codes(dimension: Dimension, used: IndexArray) -> BoolArray:
    """The codes to list: stated ones, those with a figure, and what stands above them."""
    keep = ~dimension.found
    if bool(keep.all()):
        return keep
    keep[used] = True
    for level in range(int(dimension.levels.max()), 0, -1):
        here = keep & (dimension.levels == level)
        keep[dimension.parents[here]] = True
    return keep
