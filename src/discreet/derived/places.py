"""Places of cells: finding, joining and moving them without the complete grid. Public.

In: positions of codes, one array per spanning variable. Out: positions. No figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.errors import TableError

__all__ = ["Places", "find", "joined", "spread"]

IndexArray = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_NUMBERED = 2**63

#: Most cells that a share of a total, or an index, may have.
SPREAD_LIMIT = 50_000_000


@dataclass(frozen=True, eq=False)
class Places:
    """Where cells stand; the length is needed for tables without spanning variables."""

    index: tuple[IndexArray, ...]
    length: int

    def chosen(self, which: BoolArray | IntArray) -> Places:
        """Some of the places."""
        length = int(np.count_nonzero(which)) if which.dtype == np.bool_ else len(which)
        return Places(tuple(part[which] for part in self.index), length)

    def moved(self, to: Mapping[int, int]) -> Places:
        """The places with the codes of some variables exchanged."""
        index = list(self.index)
        for axis, position in to.items():
            index[axis] = np.full(self.length, position, dtype=np.int32)
        return Places(tuple(index), self.length)

    def __len__(self) -> int:
        return self.length


def _numbers(sizes: Sequence[int], several: Sequence[Places]) -> list[IntArray]:
    """A number for each place, the same for the same place; in the order of places."""
    if prod(sizes) < _NUMBERED:
        return [_flat(sizes, places) for places in several]
    number = np.zeros(sum(len(places) for places in several), dtype=np.int64)
    count = 1
    for axis, size in enumerate(sizes):
        if count * size >= _NUMBERED:
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            count = int(number.max(initial=0)) + 1
        number = number * size + np.concatenate([places.index[axis] for places in several])
        count *= size
    ends = np.cumsum([len(places) for places in several])[:-1]
    return list(np.split(number, ends))


def _flat(sizes: Sequence[int], places: Places) -> IntArray:
    """The numbers of places on a complete grid."""
    number = np.zeros(len(places), dtype=np.int64)
    for size, part in zip(sizes, places.index, strict=True):
        number *= size
        number += part
    return number


def find(sizes: Sequence[int], within: Places, wanted: Places) -> IntArray:
    """Where each wanted place stands among others; -1 where it does not."""
    known, numbers = _numbers(sizes, [within, wanted])
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    if len(known) == len(numbers) and np.array_equal(known, numbers):
        return np.arange(len(known), dtype=np.int64)
    order = None
    if not bool((known[1:] > known[:-1]).all()):  # tables mostly are in order
        order = np.argsort(known, kind="stable")
        known = known[order]
    at = np.searchsorted(known, numbers).clip(max=len(known) - 1)
    found = np.where(known[at] == numbers, at if order is None else order[at], -1)
    return found.astype(np.int64)


def joined(sizes: Sequence[int], several: Sequence[Places]) -> Places:
    """All places of several, each once, in order."""
    numbers = np.concatenate(_numbers(sizes, several))
    first = np.unique(numbers, return_index=True)[1]
    index = tuple(
        np.concatenate([places.index[axis] for places in several])[first]
        for axis in range(len(sizes))
    )
    return Places(index, len(first))


def spread(sizes: Sequence[int], places: Places, axes: Sequence[int], name: str) -> Places:
    """The places with every code of some variables.

    Args:
        sizes: Number of codes per variable.
        places: Different places, also without these variables.
        axes: The variables.
        name: What it is for, for the message.
    """
    widths = [sizes[axis] for axis in axes]
    each = prod(widths)
    length = len(places) * each
    if length > SPREAD_LIMIT:
        raise TableError(
            f"the figure would have {length:,} cells",
            code="grid-size",
            where=name,
            hint=f"at most {SPREAD_LIMIT:,} are possible: leave out a variable or a level",
        )
    index = [np.repeat(part, each) for part in places.index]
    for axis, codes in zip(axes, np.unravel_index(np.arange(each), widths), strict=True):
        index[axis] = np.tile(codes.astype(np.int32), len(places))
    return Places(tuple(index), length)
