"""What each case contributes to each group, in large data. CONFIDENTIAL.

In: values, groups and entities of records. Out: per group the number of cases, the largest
contributions and their sum, and a lower bound for how many cases differ from the commonest
value; all the same to the last bit whatever the order of the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe import compiled_cases
from discreet.output_checking.safe.sums import group_sums
from discreet.output_checking.safe.units import LEAST

__all__ = ["Shares", "Sorting", "cases_in", "contributions", "dense", "exact_sums"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NONE: IntArray = np.zeros(0, dtype=np.int64)
#: Numbers of entities may leave out so many more than there are records.
_GAPS = 2**16


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shares:
    """Contributions per group (confidential).

    Args:
        cases: How many cases there are.
        size: Sum of the sizes of their contributions.
        first: The largest.
        second: The second largest.
        differing: So many cases, at least, differ from the commonest value.
    """

    cases: IntArray
    size: FloatArray
    first: FloatArray
    second: FloatArray
    differing: IntArray

    def __repr__(self) -> str:
        return "<Shares: confidential>"


@dataclass(frozen=True, repr=False, eq=False)
class Sorting:
    """Records in the order of entities (confidential).

    Args:
        start: Where the records of each entity start in the order, and where the last end.
        order: Positions of records.
    """

    start: IntArray
    order: IntArray

    @classmethod
    def of(cls, entities: IntArray) -> Sorting:
        """Bring records into the order of entities."""
        return cls.by(*dense(entities))

    @classmethod
    def by(cls, who: IntArray, many: int) -> Sorting:
        """Bring records into the order of whole numbers below `many`."""
        start = np.zeros(many + 2, dtype=np.int64)
        order = np.empty(who.size, dtype=np.int64)
        compiled_cases.place(np.ascontiguousarray(who), start, order)
        return cls(start[:-1], order)

    def __repr__(self) -> str:
        return "<Sorting: confidential>"


def dense(keys: IntArray) -> tuple[IntArray, int]:
    """Whole numbers from 0 on in place of keys, and how many there may be.

    >>> who, many = dense(np.array([7, 10**12, 7, -3]))
    >>> who.tolist(), many
    ([0, 1, 0, 2], 3)
    """
    keys = np.ascontiguousarray(keys, dtype=np.int64)
    if not keys.size:
        return keys, 0
    low, high = int(keys.min()), int(keys.max())
    if high - low < 2 * keys.size + _GAPS and keys.size > _GAPS // 2:
        return (keys if low == 0 else keys - low), high - low + 1
    codes, first = numbered(keys)
    return codes, len(first)


def numbered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Keys numbered as they occur, and where each occurs first."""
    room = 2 ** math.ceil(math.log2(2 * keys.size + 2))
    table = np.full(room, -1, dtype=np.int64)
    codes, first = np.empty(keys.size, dtype=np.int64), np.empty(keys.size, dtype=np.int64)
    found = compiled_cases.number(keys, table, codes, first)
    return codes, first[:found]


def cases_in(codes: IntArray, groups: int, start: IntArray) -> IntArray:
    """How many entities there are per group; records of group -1 are left out.

    Args:
        codes: The group of each record, in the order of entities.
        groups: How many groups there are.
        start: Where the records of each entity start, and the last end.
    """
    cases = np.zeros(groups, dtype=np.int64)
    compiled_cases.count_cases(np.ascontiguousarray(codes), start, cases)
    return cases


def contributions(
    values: FloatArray,
    codes: IntArray | None,
    count: IntArray,
    *,
    amounts: FloatArray | None = None,
    start: IntArray | None = None,
    enough: int = 1,
) -> Shares:
    """What each case contributes to each group.

    Args:
        values: Values without NaN.
        codes: The group of each, none of them -1; None if all are in one.
        count: How many values there are per group.
        amounts: What records contribute, if it is not the value.
        start: Where the records of each entity start, and the last end, if they are in the
            order of entities; None if each record is another case.
        enough: So many differing cases need no further search.
    """
    values = np.ascontiguousarray(values)
    amounts = values if amounts is None else np.ascontiguousarray(amounts)
    codes = _NONE if codes is None else np.ascontiguousarray(codes)
    groups = count.size
    top, apart = np.zeros(2 * groups), np.zeros(groups, dtype=np.int64)
    if start is None:
        compiled_cases.add_alone(values, amounts, codes, enough, top, apart)
        cases, sizes, inside = count, np.abs(amounts), codes
    else:
        shift = _shifts(_largest(amounts, codes, groups))
        cases = np.zeros(groups, dtype=np.int64)
        sizes, inside = np.empty(values.size), np.empty(values.size, dtype=np.int64)
        made = compiled_cases.add_contributions(
            *(values, amounts, codes, start, np.ldexp(1.0, -shift), np.ldexp(1.0, shift)),
            *(enough, sizes, inside, cases, top, apart),
        )
        sizes, inside = sizes[:made], inside[:made]
    first = top[::2]
    return Shares(
        cases=cases,
        size=_sums(sizes, inside, first),
        first=first,
        second=top[1::2],
        differing=apart,
    )


def exact_sums(values: FloatArray, codes: IntArray | None, groups: int) -> FloatArray:
    """The sum of each group, as exact as if it were all there is.

    >>> exact_sums(np.array([1e40, 0.25, 0.5]), np.array([0, 1, 1]), 2).tolist()
    [1e+40, 0.75]
    """
    values = np.ascontiguousarray(values)
    codes = _NONE if codes is None else np.ascontiguousarray(codes)
    return _sums(values, codes, _largest(values, codes, groups))


def _largest(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    if not codes.size:
        return np.array([max(-float(values.min()), float(values.max()))])
    largest = np.zeros(groups)
    compiled_cases.add_largest(values, codes, largest)
    return largest


def _sums(values: FloatArray, codes: IntArray, largest: FloatArray) -> FloatArray:
    if not codes.size:
        return group_sums(values, None, 1)
    shift = _shifts(largest)
    large, small = np.zeros(largest.size, dtype=np.int64), np.zeros(largest.size, dtype=np.int64)
    compiled_cases.add_sums(values, codes, np.ldexp(1.0, -shift), large, small)
    whole = zip(large.tolist(), small.tolist(), shift.tolist(), strict=True)
    return np.array([math.ldexp((high << 32) + low, at - 64) for high, low, at in whole])


def _shifts(largest: FloatArray) -> IntArray:
    """As `shift_of`, for each group."""
    shift = np.maximum(np.frexp(largest)[1], LEAST)
    return np.where(largest > 0, shift, 0).astype(np.int64)
