"""Compiled loops over the records of each case. Loaded for large data only. CONFIDENTIAL.

In: values, groups and entities of records. Out: whom each record is about in a dense
numbering, the records of each entity one after another, and what each entity contributes
to each group. Places are unsigned: numba need not ask whether they count from the end.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from discreet.output_checking.safe.units import BASE

__all__ = [
    "add_alone",
    "add_contributions",
    "add_largest",
    "add_sums",
    "count_cases",
    "number",
    "place",
]

_WHOLE = types.Array(numba.int64, 1, "C", readonly=True)
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_INTS = numba.int64[::1]
_FLOATS = numba.float64[::1]
_LOWER = 2**32 - 1
_UNIT = 2.0**-64


@numba.njit(numba.int64(_WHOLE, _INTS, _INTS, _INTS), nogil=True, cache=True)
def number(keys: Any, table: Any, codes: Any, first: Any) -> Any:
    """Number keys in the order in which they occur; `table` is filled with -1."""
    mask = table.size - 1
    found = 0
    for at in range(keys.size):
        key = keys[at]
        mixed = (key ^ (key >> 32)) * np.int64(-7046029254386353131)
        slot = (mixed ^ (mixed >> 29)) & mask
        while table[slot] >= 0 and keys[first[table[slot]]] != key:
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = found
            first[found] = at
            found += 1
        codes[at] = table[slot]
    return found


@numba.njit(numba.void(_WHOLE, _INTS, _INTS), nogil=True, cache=True)
def place(who: Any, start: Any, order: Any) -> None:
    """Put positions of records into the order of `who`; `start` has two places more."""
    for at in range(who.size):
        start[np.uint64(who[at]) + np.uint64(2)] += 1
    for at in range(2, start.size):
        start[at] += start[at - 1]
    for at in range(who.size):
        begin = np.uint64(who[at]) + np.uint64(1)
        order[np.uint64(start[begin])] = at
        start[begin] += 1


@numba.njit(numba.void(_WHOLE, _WHOLE, _INTS), nogil=True, cache=True)
def count_cases(codes: Any, start: Any, cases: Any) -> None:
    """Count entities with a record in each group; records are in the order of entities."""
    seen = np.full(cases.size, -1)
    for who in range(start.size - 1):
        for at in range(start[who], start[who + 1]):
            code = codes[at]
            if code >= 0 and seen[np.uint64(code)] != who:
                seen[np.uint64(code)] = who
                cases[np.uint64(code)] += 1


@numba.njit(numba.void(_FLOATS, numba.uint64, numba.float64), nogil=True, cache=True)
def _rank(top: Any, code: Any, size: Any) -> None:
    """Keep the two largest sizes of a group."""
    first = np.uint64(2) * code
    if size > top[first]:
        top[first + np.uint64(1)] = top[first]
        top[first] = size
    elif size > top[first + np.uint64(1)]:
        top[first + np.uint64(1)] = size


@numba.njit(numba.void(_FLOATS, _INTS, _INTS, numba.uint64, numba.float64), nogil=True, cache=True)
def _vote(candidate: Any, lead: Any, apart: Any, code: Any, value: Any) -> None:
    """Pair off cases of different values: of each pair one differs from any one value."""
    if lead[code] == 0:
        candidate[code] = value
        lead[code] = 1
    elif candidate[code] == value:
        lead[code] += 1
    else:
        lead[code] -= 1
        apart[code] += 1


@numba.njit(
    numba.void(_VALUES, _VALUES, _WHOLE, numba.int64, _FLOATS, _INTS), nogil=True, cache=True
)
def add_alone(values: Any, amounts: Any, codes: Any, enough: Any, top: Any, apart: Any) -> None:
    """Largest amounts and different values where each record is another case."""
    candidate, lead = np.zeros(apart.size), np.zeros(apart.size, dtype=np.int64)
    grouped = codes.size > 0
    for at in range(values.size):
        code = np.uint64(codes[at]) if grouped else np.uint64(0)
        _rank(top, code, abs(amounts[at]))
        if apart[code] < enough:
            _vote(candidate, lead, apart, code, values[at])


@numba.njit(
    numba.int64(
        *(_VALUES, _VALUES, _WHOLE, _WHOLE, _VALUES, _VALUES, numba.int64),
        *(_FLOATS, _INTS, _INTS, _FLOATS, _INTS),
    ),
    nogil=True,
    cache=True,
)
def add_contributions(
    values: Any,
    amounts: Any,
    codes: Any,
    start: Any,
    scale: Any,
    back: Any,
    enough: Any,
    sizes: Any,
    groups: Any,
    cases: Any,
    top: Any,
    apart: Any,
) -> Any:
    """Sizes of the sums of each entity in each group, with the group; how many there are."""
    many = cases.size
    seen, touched = np.full(many, -1), np.zeros(many, dtype=np.int64)
    large, small = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    value, several = np.zeros(many), np.zeros(many, dtype=np.int64)
    candidate, lead = np.zeros(many), np.zeros(many, dtype=np.int64)
    grouped = codes.size > 0
    made = 0
    for who in range(start.size - 1):
        count = 0
        for at in range(start[who], start[who + 1]):
            code = np.uint64(codes[at]) if grouped else np.uint64(0)
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
            # The rounding of `group_sums`: carry first, then round once.
            carried = large[code] + (small[code] >> 32)
            size = abs((carried * BASE + (small[code] & _LOWER)) * _UNIT * back[code])
            sizes[made], groups[made] = size, code
            made += 1
            cases[code] += 1
            _rank(top, code, size)
            if apart[code] < enough:
                if several[code]:
                    apart[code] += 1
                else:
                    _vote(candidate, lead, apart, code, value[code])
    return made


@numba.njit(numba.void(_VALUES, _WHOLE, _FLOATS), nogil=True, cache=True)
def add_largest(values: Any, codes: Any, largest: Any) -> None:
    """The largest size per group."""
    grouped = codes.size > 0
    for at in range(values.size):
        code = np.uint64(codes[at]) if grouped else np.uint64(0)
        largest[code] = max(largest[code], abs(values[at]))


@numba.njit(numba.void(_VALUES, _WHOLE, _VALUES, _INTS, _INTS), nogil=True, cache=True)
def add_sums(values: Any, codes: Any, scale: Any, large: Any, small: Any) -> None:
    """Exact sums per group, in two whole numbers each."""
    grouped = codes.size > 0
    for at in range(values.size):
        code = np.uint64(codes[at]) if grouped else np.uint64(0)
        part = values[at] * scale[code] * BASE
        whole = np.floor(part)
        large[code] += np.int64(whole)
        small[code] += np.int64((part - whole) * BASE)
