"""Whom records are about, and what each case contributes to each group. CONFIDENTIAL.

In: keys of entities; values, groups and amounts of records. Out: entities numbered, how many of
them are in each group; per group the number of cases, the sum of the sizes of their
contributions, the two largest, and how many cases differ from the commonest value; all as exact
as if the group were all there is, whatever the order of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.statistics.sums import exact_sums, largest_of


def numbered(keys: IntArray) -> IntArray:
    """Keys numbered in their order.

    >>> numbered(np.array([7, 10**12, 7, -3])).tolist()
    [1, 2, 1, 0]
    """
    return EntityNumbers.of(keys).who


@dataclass(frozen=True, repr=False, eq=False)
class EntityNumbers:
    """Whom each record is about, as numbers; positions of records in the order of these, and where
    those of each start, and the last end (confidential).
    """

    who: IntArray
    order: IntArray
    start: IntArray

    @classmethod
    def of(cls, keys: IntArray) -> EntityNumbers:
        """Number entities."""
        order = pl.Series(keys).arg_sort().to_numpy()
        begins = _begins(keys[order])
        who = np.empty(len(keys), dtype=np.int64)
        who[order] = np.cumsum(begins) - 1
        return cls(who, order, np.append(np.flatnonzero(begins), len(keys)))

    def gathered(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Codes or values of records in the order of entities."""
        return column[self.order]

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """How many entities there are per group; codes are -1 for no group, and as `gathered`."""
        order, begins = _pairs(codes, self.start)
        return np.bincount(codes[order][begins] + 1, minlength=groups + 1)[1:].astype(np.int64)


def _begins(*ordered: IntArray) -> BoolArray:
    """Where something else begins in columns that are in order."""
    begins = np.zeros(len(ordered[0]), dtype=np.bool_)
    begins[:1] = True
    for column in ordered:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def _pairs(codes: IntArray, start: IntArray) -> tuple[IntArray, BoolArray]:
    """Of records in the order of entities: positions by group and entity, and
    where another pair begins.
    """
    small = codes.size and codes.max() < 2**15
    order = np.argsort(codes.astype(np.int16) if small else codes, kind="stable")
    who = np.repeat(np.arange(len(start) - 1), np.diff(start))[order]
    return order, _begins(codes[order], who)


class CaseContributions(NamedTuple):
    """What cases contribute to each group (confidential).

    How many there are, the sum of their sizes, the largest, the second largest; and how many
    differ from the commonest value.
    """

    cases: IntArray
    size: FloatArray
    first: FloatArray
    second: FloatArray
    differing: IntArray


def contributions(
    values: FloatArray,
    amounts: FloatArray,
    codes: IntArray | None,
    groups: int,
    start: IntArray,
    enough: int,
) -> CaseContributions:
    """What each entity contributes to each group.

    Records are in the order of entities, those of each begin at `start`; values have no NaN, codes
    are never -1, and None if all are in one group. So many differing entities as are enough need
    not be counted.
    """
    places = np.zeros(values.size, dtype=np.int64) if codes is None else codes
    mixed: BoolArray = np.zeros(values.size, dtype=np.bool_)
    if len(start) <= values.size:
        order, begins = _pairs(places, start)
        first = np.flatnonzero(begins)
        ordered, pair = values[order], np.cumsum(begins) - 1
        values, high = np.minimum.reduceat(ordered, first), np.maximum.reduceat(ordered, first)
        amounts, mixed = exact_sums(amounts[order], pair, len(first)), values != high
        places = places[order][first]
    sizes = np.abs(amounts)
    cases = np.bincount(places, minlength=groups)
    largest = largest_of(sizes, places, groups)
    # The second largest is the largest of all but one case that has the largest.
    leading = np.flatnonzero(sizes == largest[places])
    rest = sizes.copy()
    rest[leading[np.unique(places[leading], return_index=True)[1]]] = 0.0
    return CaseContributions(
        cases=cases,
        size=exact_sums(sizes, places, groups),
        first=largest,
        second=largest_of(rest, places, groups),
        differing=_differing(np.where(mixed, np.nan, values), places, cases, enough),
    )


def _differing(values: FloatArray, places: IntArray, cases: IntArray, enough: int) -> IntArray:
    """How many cases differ from the commonest value of their group, where they are not enough.

    Of so many cases as are enough, one has the commonest value if fewer differ from it.
    """
    differing, left = cases, np.arange(len(places))
    for _ in range(enough):
        if not left.size:
            break
        first = np.full(len(cases), -1)
        first[places[left[::-1]]] = left[::-1]
        there = first >= 0
        known = np.full(len(cases), np.nan)
        known[there] = values[first[there]]
        apart = np.bincount(places[values != known[places]], minlength=len(cases))
        differing = np.minimum(differing, apart)
        used = np.zeros(len(places), dtype=np.bool_)
        used[first[there]] = True
        left = left[~used[left]]
    return differing
