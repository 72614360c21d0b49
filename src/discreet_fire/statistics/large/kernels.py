"""Compiled loops over records, cases and short texts. Loaded for large data only. CONFIDENTIAL.

In: values, weights, groups and entities of records; texts as Arrow lays them out, 16 bytes each.
Out: whom each record is about in a dense numbering, the records of each entity one after
another, what each entity contributes to each group, per group the largest size and the exact
sum of one of four terms; the same number for equal texts. Places are unsigned: numba need not
ask whether they count from the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np
from numba import types

from discreet.compiled import compiled
from discreet_fire.statistics.parallel import BASE, BLOCK

_compiled = partial(compiled, nogil=True)
_WHOLE = types.Array(numba.int64, 1, "C", readonly=True)
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)
_INTS = numba.int64[::1]
_FLOATS = numba.float64[::1]
_MARKS = numba.uint64[::1]
_LOWER = 2**32 - 1
_UNIT = 2.0**-64
_MIXED = 0x9E3779B97F4A7C15


@_compiled(numba.int64(_WHOLE, _INTS, _INTS, _INTS))
def number(keys: Any, table: Any, codes: Any, first: Any) -> Any:
    """Number keys in the order in which they occur; `table` is filled with -1.

    How many different ones there are; -1 if they would fill more than half of the table.
    """
    mask = np.uint64(table.size - 1)
    count = 0
    for at in range(keys.size):
        key = keys[at]
        mixed = np.uint64(key ^ (key >> 32)) * np.uint64(_MIXED)
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


@_compiled(numba.void(_WHOLE, _INTS))
def count_codes(codes: Any, count: Any) -> None:
    """How many records each group has; those of group -1 are left out."""
    for at in range(codes.size):
        if codes[at] >= 0:
            count[np.uint64(codes[at])] += 1


@_compiled(numba.void(_WHOLE, numba.boolean[::1]))
def mark(who: Any, there: Any) -> None:
    """Mark the numbers that occur."""
    for at in range(who.size):
        there[np.uint64(who[at])] = True


@_compiled(numba.void(_WHOLE, _WHOLE, numba.int64, _MARKS, _INTS))
def count_marked(codes: Any, who: Any, words: Any, marks: Any, cases: Any) -> None:
    """Count entities with a record in each group; a bit is set where one was seen."""
    for at in range(codes.size):
        if codes[at] < 0:
            continue
        code = np.uint64(codes[at])
        word = np.uint64(who[at]) * np.uint64(words) + (code >> np.uint64(6))
        place = code & np.uint64(63)
        seen = marks[word]
        cases[code] += np.int64(np.uint64(1) - ((seen >> place) & np.uint64(1)))
        marks[word] = seen | (np.uint64(1) << place)


@_compiled(numba.void(_WHOLE, numba.int64, _INTS, _INTS))
def place(who: Any, first: Any, following: Any, order: Any) -> None:
    """Put positions of records, counted from `first`, where those of their number follow."""
    for at in range(who.size):
        number = np.uint64(who[at])
        order[np.uint64(following[number])] = first + at
        following[number] += 1


@_compiled([numba.void(_WHOLE, _WHOLE, _INTS), numba.void(_VALUES, _WHOLE, _FLOATS)])
def gather(given: Any, order: Any, found: Any) -> None:
    """Codes or values in another order."""
    for at in range(order.size):
        found[at] = given[np.uint64(order[at])]


@_compiled(numba.void(_WHOLE, _WHOLE, _INTS))
def count_cases(codes: Any, start: Any, cases: Any) -> None:
    """Count entities with a record in each group; records are in the order of entities."""
    seen = np.full(cases.size, -1)
    for who in range(start.size - 1):
        for at in range(start[who], start[who + 1]):
            code = codes[at]
            if code >= 0 and seen[np.uint64(code)] != who:
                seen[np.uint64(code)] = who
                cases[np.uint64(code)] += 1


@_compiled(numba.void(_FLOATS, numba.uint64, numba.float64))
def _rank(top: Any, code: Any, size: Any) -> None:
    """Keep the two largest sizes of a group."""
    first = np.uint64(2) * code
    if size > top[first]:
        top[first + np.uint64(1)] = top[first]
        top[first] = size
    elif size > top[first + np.uint64(1)]:
        top[first + np.uint64(1)] = size


@_compiled(numba.void(_FLOATS, _INTS, _INTS, numba.uint64, numba.float64))
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


@_compiled(numba.int64(_VALUES, _FLOATS))
def majority(values: Any, found: Any) -> Any:
    """The value that more than half have, if there is one, and how many were not paired off.

    A value is paired off with a different one; of a value of just half some are left, or none is.
    """
    candidate, lead = 0.0, np.int64(0)
    for at in range(values.size):
        if lead == 0:
            candidate = values[at]
        lead += 1 if values[at] == candidate else -1
    found[0] = candidate
    return lead


@_compiled(numba.void(_VALUES, _VALUES, _WHOLE, numba.int64, _FLOATS, _INTS))
def add_alone(values: Any, weights: Any, codes: Any, enough: Any, top: Any, apart: Any) -> None:
    """Largest amounts and different values where each record is another case."""
    candidate, lead = np.zeros(apart.size), np.zeros(apart.size, dtype=np.int64)
    weighted = weights.size > 0
    if codes.size == 0:
        group = np.uint64(0)
        rest = values.size - values.size % BLOCK
        for start in range(0, rest, BLOCK):
            larger, second = 0, top[1]
            for lane in range(BLOCK):
                record = np.uint64(start + lane)
                larger += (
                    abs(values[record] * weights[record]) if weighted else abs(values[record])
                ) > second
            if larger:
                for lane in range(BLOCK):
                    record = np.uint64(start + lane)
                    _rank(
                        top,
                        group,
                        abs(values[record] * weights[record] if weighted else values[record]),
                    )
        for at in range(rest, values.size):
            _rank(top, group, abs(values[at] * weights[at] if weighted else values[at]))
        at = 0
        while at < values.size and apart[0] < enough:
            _vote(candidate, lead, apart, group, values[at])
            at += 1
        return
    for at in range(values.size):
        code = np.uint64(codes[at])
        _rank(top, code, abs(values[at] * weights[at] if weighted else values[at]))
        if apart[code] < enough:
            _vote(candidate, lead, apart, code, values[at])


@_compiled(
    numba.int64(
        *(_VALUES, _VALUES, _WHOLE, _WHOLE, _VALUES, _VALUES, numba.int64),
        *(_FLOATS, _INTS, _INTS, _FLOATS, _INTS),
    )
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
    entries = 0
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
            sizes[entries], groups[entries] = size, code
            entries += 1
            cases[code] += 1
            _rank(top, code, size)
            if apart[code] < enough:
                if several[code]:
                    apart[code] += 1
                else:
                    _vote(candidate, lead, apart, code, value[code])
    return entries


@_compiled(
    numba.void(_VALUES, _VALUES, _WHOLE, numba.float64, numba.int64[:, ::1], numba.float64[:, ::1])
)
def add_records(values: Any, amounts: Any, who: Any, scale: Any, sums: Any, held: Any) -> None:
    """Add records to the entities they are about.

    `sums` and `held` are one memory, so that an entity is looked up in one place: two whole
    numbers of the exact sum, whether it has records (2: of several values), the value.
    """
    for at in range(values.size):
        entity = np.uint64(who[at])
        part = amounts[at] * scale * BASE
        whole = np.floor(part)
        sums[entity, 0] += np.int64(whole)
        sums[entity, 1] += np.int64((part - whole) * BASE)
        if sums[entity, 2] == 0:
            sums[entity, 2] = 1
            held[entity, 3] = values[at]
        elif held[entity, 3] != values[at]:
            sums[entity, 2] = 2


@_compiled(
    numba.int64(
        *(numba.int64[:, ::1], numba.float64[:, ::1], numba.float64, numba.int64),
        *(_FLOATS, _FLOATS, _INTS),
    )
)
def add_entities(
    sums: Any, held: Any, back: Any, enough: Any, sizes: Any, top: Any, apart: Any
) -> Any:
    """Sizes of what entities contribute to a single group; how many there are."""
    candidate, lead = np.zeros(1), np.zeros(1, dtype=np.int64)
    group = np.uint64(0)
    count = 0
    for at in range(sums.shape[0]):
        if sums[at, 2] == 0:
            continue
        carried = sums[at, 0] + (sums[at, 1] >> 32)
        size = abs((carried * BASE + (sums[at, 1] & _LOWER)) * _UNIT * back)
        sizes[count] = size
        count += 1
        _rank(top, group, size)
        if apart[0] < enough:
            if sums[at, 2] > 1:
                apart[0] += 1
            else:
                _vote(candidate, lead, apart, group, held[at, 3])
    return count


@_compiled(numba.void(_VALUES, _WHOLE, _FLOATS))
def add_largest(values: Any, codes: Any, largest: Any) -> None:
    """The largest size per group."""
    for at in range(values.size):
        code = np.uint64(codes[at])
        largest[code] = max(largest[code], abs(values[at]))


@_compiled(numba.void(_VALUES, _WHOLE, _VALUES, _INTS, _INTS))
def add_sums(values: Any, codes: Any, scale: Any, large: Any, small: Any) -> None:
    """Exact sums per group, in two whole numbers each."""
    for at in range(values.size):
        code = np.uint64(codes[at])
        part = values[at] * scale[code] * BASE
        whole = np.floor(part)
        large[code] += np.int64(whole)
        small[code] += np.int64((part - whole) * BASE)


#: The terms: weight, size of value times weight, weighted distance from a centre and its square.
WEIGHT, AMOUNT, DEVIATION, SQUARE = 0, 1, 2, 3


@_compiled(numba.float64(numba.int64, numba.float64, numba.float64, numba.float64), inline="always")
def _term(kind: Any, value: Any, weight: Any, centre: Any) -> Any:
    if kind == WEIGHT:
        return weight
    if kind == AMOUNT:
        return abs(value * weight)
    away = value - centre
    return weight * away if kind == DEVIATION else weight * (away * away)


@_compiled(numba.void(numba.boolean, _VALUES, _VALUES, _WHOLE, _VALUES, _FLOATS))
def find_largest(
    square: Any, values: Any, weights: Any, codes: Any, centres: Any, largest: Any
) -> None:
    """The largest size of a weighted distance, or of its square, per group."""
    if codes.size == 0:
        centre, most = centres[0], largest[0]
        rest = values.size - values.size % BLOCK
        for start in range(0, rest, BLOCK):
            larger = 0
            for lane in range(BLOCK):
                record = np.uint64(start + lane)
                away = values[record] - centre
                larger += abs(weights[record] * (away * away if square else away)) > most
            if larger:
                for lane in range(BLOCK):
                    record = np.uint64(start + lane)
                    away = values[record] - centre
                    most = max(most, abs(weights[record] * (away * away if square else away)))
        for at in range(rest, values.size):
            away = values[at] - centre
            most = max(most, abs(weights[at] * (away * away if square else away)))
        largest[0] = most
        return
    for at in range(values.size):
        code = np.uint64(codes[at])
        away = values[at] - centres[code]
        size = abs(weights[at] * (away * away if square else away))
        largest[code] = max(largest[code], size)


@_compiled(numba.void(numba.int64, _VALUES, _VALUES, _WHOLE, _VALUES, _VALUES, _INTS, _INTS))
def add_terms(
    kind: Any,
    values: Any,
    weights: Any,
    codes: Any,
    centres: Any,
    scale: Any,
    large: Any,
    small: Any,
) -> None:
    """Exact sums of a term per group, in two whole numbers each."""
    weighted = weights.size > 0
    if codes.size == 0:
        centre, factor = centres[0], scale[0]
        high, low = np.int64(0), np.int64(0)
        for at in range(values.size):
            part = _term(kind, values[at], weights[at] if weighted else 1.0, centre) * factor * BASE
            whole = np.floor(part)
            high += np.int64(whole)
            low += np.int64((part - whole) * BASE)
        large[0] += high
        small[0] += low
        return
    for at in range(values.size):
        code = np.uint64(codes[at])
        part = (
            _term(kind, values[at], weights[at] if weighted else 1.0, centres[code])
            * scale[code]
            * BASE
        )
        whole = np.floor(part)
        large[code] += np.int64(whole)
        small[code] += np.int64((part - whole) * BASE)


_VIEWS = types.Array(numba.uint64, 2, "C", readonly=True)
_THERE = types.Array(numba.boolean, 1, "C", readonly=True)
_LENGTH = 2**32 - 1
_SHORT = 12
_TEXT_MIXED, _AGAIN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F

#: Found instead of a number of texts where one of them is too long.
LONG = -2


@_compiled(numba.int64(_VIEWS, _THERE, _INTS, _INTS, _INTS))
def number_short(views: Any, there: Any, table: Any, codes: Any, first: Any) -> Any:
    """Number texts in the order in which they occur; `table` is filled with -1.

    What is not there has a number too; `there` is empty if all are. How many different ones
    there are; -1 if they would fill more than half of the table, `LONG` at a longer text.
    """
    mask = np.uint64(table.size - 1)
    missing: Any = np.int64(-1)
    count = 0
    for at in range(views.shape[0]):
        if there.size and not there[at]:
            if missing < 0:
                missing = count
                first[count] = at
                count += 1
            codes[at] = missing
            continue
        head, tail = views[at, 0], views[at, 1]
        if head & np.uint64(_LENGTH) > np.uint64(_SHORT):
            return np.int64(LONG)
        mixed = head * np.uint64(_TEXT_MIXED)
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
            if 2 * count >= table.size:
                return np.int64(-1)
            code = count
            table[slot], first[code] = code, at
            count += 1
        codes[at] = code
    return count
