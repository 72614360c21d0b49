"""Whom records are about, and what each case contributes to each group. CONFIDENTIAL.

In: keys of entities; values, groups and amounts of records. Out: entities numbered, how many of
them are in each group; per group the number of cases, the sum of the sizes of their
contributions, the two largest, and a lower bound for how many cases differ from the commonest
value; all as exact as if the group were all there is, whatever the order of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.parallel import filled, in_parts, slices
from discreet_fire.statistics.sums import (
    BASE,
    FLOATS,
    INTS,
    NO_CODES,
    VALUES,
    WHOLE,
    exact_sums,
    loop,
    powers_above,
)

#: Numbers of entities may leave out so many more than there are records.
_GAPS = 2**16


@loop(numba.int64(WHOLE, INTS, INTS, INTS))
def _number(keys: Any, table: Any, codes: Any, first: Any) -> Any:
    """Number keys in the order in which they occur; `table` is filled with -1.

    How many different ones there are; -1 if they would fill more than half of the table.
    """
    mask = np.uint64(table.size - 1)
    count = 0
    for at in range(keys.size):
        key = keys[at]
        mixed = np.uint64(key ^ (key >> 32)) * np.uint64(0x9E3779B97F4A7C15)
        slot = (mixed ^ (mixed >> np.uint64(29))) & mask
        code = table[slot]
        while code >= 0 and keys[np.uint64(first[np.uint64(code)])] != key:
            slot = (slot + np.uint64(1)) & mask
            code = table[slot]
        if code < 0:
            if 2 * count >= table.size:
                return np.int64(-1)
            code = count
            table[slot], first[code] = code, at
            count += 1
        codes[at] = code
    return count


def numbered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Keys numbered as they occur, and where each occurs first.

    >>> codes, first = numbered(np.array([7, 10**12, 7, -3]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    keys = np.ascontiguousarray(keys, dtype=np.int64)
    codes, first = np.empty_like(keys), np.empty_like(keys)
    room = 2**12  # most columns have few different keys, and a small table is near the processor
    while (count := _number(keys, np.full(room, -1, dtype=np.int64), codes, first)) < 0:
        room *= 16
    return codes, first[:count]


@loop(numba.void(WHOLE, INTS, INTS))
def _place(who: Any, following: Any, order: Any) -> None:
    """Put positions of records where those of their number follow."""
    for at in range(who.size):
        number = np.uint64(who[at])
        order[np.uint64(following[number])] = at
        following[number] += 1


@loop([numba.void(WHOLE, WHOLE, INTS), numba.void(VALUES, WHOLE, FLOATS)])
def _gather(column: Any, order: Any, gathered: Any) -> None:
    for at in range(order.size):
        gathered[at] = column[np.uint64(order[at])]


@loop(numba.void(WHOLE, WHOLE, INTS))
def _count_cases(codes: Any, start: Any, cases: Any) -> None:
    """Count entities with a record in each group; records are in the order of entities."""
    seen = np.full(cases.size, -1)
    for who in range(start.size - 1):
        for at in range(start[who], start[who + 1]):
            code = codes[at]
            if code >= 0 and seen[np.uint64(code)] != who:
                seen[np.uint64(code)] = who
                cases[np.uint64(code)] += 1


@dataclass(frozen=True, repr=False, eq=False)
class EntityNumbers:
    """Whom each record is about, as numbers below `many`, some perhaps nobody's (confidential)."""

    who: IntArray
    many: int

    @classmethod
    def of(cls, keys: IntArray) -> EntityNumbers:
        """Number entities.

        >>> EntityNumbers.of(np.array([7, 10**12, 7, -3])).who.tolist()
        [0, 1, 0, 2]
        """
        if keys.size > _GAPS // 2:
            low, high = int(keys.min()), int(keys.max())
            if high - low < 2 * keys.size + _GAPS:
                return cls(np.ascontiguousarray(keys - low if low else keys), high - low + 1)
        who, first = numbered(keys)
        return cls(who, len(first))

    @cached_property
    def start(self) -> IntArray:
        """Where the records of each entity start, and the last ends, in the order of entities."""
        count = np.bincount(self.who, minlength=self.many)
        return np.concatenate([[0], np.cumsum(count)]).astype(np.int64)

    @cached_property
    def order(self) -> IntArray:
        """Positions of records in the order of entities."""
        order = np.empty(self.who.size, dtype=np.int64)
        _place(self.who, self.start[:-1].copy(), order)
        return order

    @property
    def there(self) -> int:
        """How many entities have records."""
        return int(np.count_nonzero(np.diff(self.start)))

    def gathered(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Codes or values of records in the order of entities."""
        column, gathered = np.ascontiguousarray(column), np.empty_like(column)
        parts = slices(self.order.size)
        in_parts(lambda part: _gather(column, self.order[part], gathered[part]), parts)
        return gathered

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """How many entities there are per group; codes are -1 for no group, and as `gathered`."""
        parts = _whole_entities(self.start)
        counts = filled(lambda part, room: _count_cases(codes, part, room), parts, groups)
        return np.asarray(counts.sum(axis=0))


def _whole_entities(start: IntArray) -> list[IntArray]:
    """Where entities start, in parts of about as many records, none of them cut."""
    ends = np.searchsorted(start, [part.stop for part in slices(int(start[-1]))[:-1]])
    return [start[low : high + 1] for low, high in pairwise([0, *ends.tolist(), start.size - 1])]


@loop(
    numba.int64(
        *(VALUES, VALUES, WHOLE, WHOLE, VALUES, VALUES, numba.int64),
        *(FLOATS, INTS, INTS, FLOATS, INTS),
    )
)
def _add_contributions(
    values: Any, amounts: Any, codes: Any, start: Any, scale: Any, back: Any, enough: Any,
    sizes: Any, groups: Any, cases: Any, top: Any, apart: Any,
) -> Any:  # fmt: skip
    """Sizes of the sums of each entity in each group, with the group; how many there are.

    Cases of different values are paired off: of each pair one differs from any one value.
    """
    many = cases.size
    seen, touched = np.full(many, -1), np.zeros(many, dtype=np.int64)
    large, small = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    value, several = np.zeros(many), np.zeros(many, dtype=np.int64)
    candidate, lead = np.zeros(many), np.zeros(many, dtype=np.int64)
    entries = 0
    for who in range(start.size - 1):
        begin, end = np.uint64(start[who]), np.uint64(start[who + 1])
        count = 0
        if end == begin + np.uint64(1):
            touched[0] = codes[begin] if codes.size else 0
            count = 1
        else:
            for at in range(begin, end):
                code = np.uint64(codes[at]) if codes.size else np.uint64(0)
                part = amounts[at] * scale[code] * BASE
                whole = np.floor(part)
                rest = np.int64((part - whole) * BASE)
                if seen[code] != who:
                    seen[code] = who
                    touched[count] = code
                    count += 1
                    large[code], small[code] = np.int64(whole), rest
                    value[code], several[code] = values[at], 0
                else:
                    large[code] += np.int64(whole)
                    small[code] += rest
                    several[code] |= value[code] != values[at]
        for at in range(count):
            code = np.uint64(touched[at])
            if end == begin + np.uint64(1):
                size, own, mixed = abs(amounts[begin]), values[begin], np.int64(0)
            else:
                # The rounding of `exact_sums`: carry first, then round once.
                carried = large[code] + (small[code] >> 32)
                size = abs((carried * BASE + (small[code] & (2**32 - 1))) * 2.0**-64 * back[code])
                own, mixed = value[code], several[code]
            sizes[entries], groups[entries] = size, code
            entries += 1
            cases[code] += 1
            first = np.uint64(2) * code
            second = first + np.uint64(1)
            if size > top[second]:
                if size > top[first]:
                    top[second], top[first] = top[first], size
                else:
                    top[second] = size
            if apart[code] < enough:
                if mixed:
                    apart[code] += 1
                elif lead[code] == 0:
                    candidate[code], lead[code] = own, 1
                elif candidate[code] == own:
                    lead[code] += 1
                else:
                    lead[code] -= 1
                    apart[code] += 1
    return entries


class CaseContributions(NamedTuple):
    """What cases contribute to each group (confidential).

    How many there are, the sum of their sizes, the largest, the second largest; and how many, at
    least, differ from the commonest value.
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
    are never -1, and None if all are in one group. So many differing entities as are enough need no
    further search.
    """
    sizes = np.abs(amounts)
    if codes is None:
        largest = np.array([sizes.max()])
    else:
        largest = np.zeros(groups)
        np.maximum.at(largest, codes, sizes)
    power = powers_above(largest)
    columns = [np.ascontiguousarray(one) for one in (values, amounts)]
    inner = NO_CODES if codes is None else np.ascontiguousarray(codes)
    about = np.ldexp(1.0, -power), np.ldexp(1.0, power), enough

    def inside(part: IntArray) -> tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]:
        records = int(part[-1] - part[0])
        sums, places = np.empty(records), np.empty(records, dtype=np.int64)
        top, (cases, apart) = np.zeros(2 * groups), np.zeros((2, groups), dtype=np.int64)
        count = _add_contributions(*columns, inner, part, *about, sums, places, cases, top, apart)
        return sums[:count], places[:count], cases, top, apart

    sums, places, cases, tops, apart = zip(*in_parts(inside, _whole_entities(start)), strict=True)
    top = np.sort(np.concatenate([one.reshape(-1, 2) for one in tops], axis=1), axis=1)
    return CaseContributions(
        cases=np.sum(cases, axis=0),
        size=exact_sums(np.concatenate(sums), np.concatenate(places), groups),
        first=top[:, -1],
        second=top[:, -2],
        differing=np.sum(apart, axis=0),
    )
