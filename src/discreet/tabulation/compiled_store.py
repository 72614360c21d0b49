"""The compiled loops that count records of a store. Loaded for stores only."""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from discreet.compiled import compiled

_INT = numba.int64
_SUMS = numba.int64[::1]
_NUMBERS = numba.int32[::1]
_KEYS = types.Array(numba.int64, 1, "C", readonly=True)
_TABLE = types.Array(numba.int32, 1, "C", readonly=True)
_ADD = [
    numba.void(types.Array(kind, 1, "C", readonly=True), _TABLE, _NUMBERS)
    for kind in (numba.uint8, numba.uint16, numba.uint32, numba.int32)
]


@compiled(numba.void(_KEYS, _TABLE, _INT, _INT, _NUMBERS), nogil=True)
def start_areas(offsets: Any, table: Any, area: Any, start: Any, numbers: Any) -> None:
    """Begin the numbers of cells with what the areas of the records add to them."""
    stop = start + numbers.size
    at = start
    while at < stop:
        last = min(offsets[area + 1], stop)
        for place in range(at - start, last - start):
            numbers[place] = table[area]
        at = max(at, last)
        area += 1


@compiled(_ADD, nogil=True)
def add_table(codes: Any, table: Any, numbers: Any) -> None:
    """Add what the codes of one column add to the numbers of cells."""
    for at in range(codes.size):
        numbers[at] += table[codes[at]]


@compiled(
    [
        numba.void(
            *(_KEYS, _TABLE, _INT, _INT, types.Array(one, 1, "C", readonly=True), _TABLE),
            *(types.Array(other, 1, "C", readonly=True), _TABLE, _KEYS, _INT, _INT, _SUMS, _SUMS),
        )
        for one in (numba.uint8, numba.uint16)
        for other in (numba.uint8, numba.uint16)
    ],
    nogil=True,
)
def count_codes(
    offsets: Any,
    areas: Any,
    area: Any,
    start: Any,
    codes: Any,
    table: Any,
    others: Any,
    other: Any,
    keys: Any,
    modulus: Any,
    lanes: Any,
    counts: Any,
    sums: Any,
) -> None:
    """Count records by area and two columns, and add their keys, in one pass.

    Each cell has 2^lanes places that take turns: a record need not wait for the one before.
    """
    whole = numba.uint64  # loops over numbers that cannot be negative are twice as fast
    spare, shift = (counts.size >> lanes) - 1, whole(lanes)
    turn = (whole(1) << shift) - whole(1)
    at = 0
    while at < codes.size:
        last = min(offsets[area + 1] - start, codes.size)
        base = areas[area]
        for record in range(whole(at), whole(max(at, last))):
            cell = whole(min(base + table[codes[record]] + other[others[record]], spare))
            place = (cell << shift) | (record & turn)
            counts[place] += 1
            total = sums[place] + keys[record] - modulus
            sums[place] = total + (modulus & (total >> 63))
        at = max(at, last)
        area += 1


@compiled(numba.void(_NUMBERS, _SUMS), nogil=True)
def count(numbers: Any, counts: Any) -> None:
    """Count records; those that a filter leaves out go into the last place."""
    spare = counts.size - 1
    for cell in numbers:
        counts[numba.uint64(min(cell, spare))] += 1


@compiled(numba.void(_NUMBERS, _KEYS, _INT, _SUMS, _SUMS), nogil=True)
def count_keys(numbers: Any, keys: Any, modulus: Any, counts: Any, sums: Any) -> None:
    """Count records and add their keys; one subtraction keeps each sum on the grid."""
    spare = counts.size - 1
    for at in range(numbers.size):
        cell = numba.uint64(min(numbers[at], spare))  # one that cannot be negative
        counts[cell] += 1
        total = sums[cell] + keys[at] - modulus
        sums[cell] = total + (modulus & (total >> 63))  # a branch could not be foreseen
