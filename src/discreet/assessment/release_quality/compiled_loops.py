"""The compiled loops behind the statistics on counts. Loaded for large tables only.

In: cells of a true and a protected table as arrays. Out: tallies. CONFIDENTIAL.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from discreet.assessment.release_quality.tallies import MILLION, SIZE_CLASSES
from discreet.compiled import compiled
from discreet.tables import CellStatus

_tuple: Any = types.Tuple
_MILLION = MILLION
_SIZES = SIZE_CLASSES[1:]
_ZERO = int(CellStatus.zero_or_changed_to_zero)
_SUPPRESSED, _OFFICIAL = int(CellStatus.suppressed), int(CellStatus.official)


def _given(kind: Any, dimensions: int = 1) -> Any:
    """An array that is read only."""
    return types.Array(kind, dimensions, "C", readonly=True)


_INTS, _CODES, _BYTES = _given(numba.int64), _given(numba.int32), _given(numba.uint8)
_STATES = _given(numba.int8)
_INDEX, _TABLE = _given(numba.int32, 2), _given(numba.uint8, 2)
_MADE, _MADE_ROWS = numba.int64[::1], numba.int64[:, ::1]


@compiled(
    numba.void(_INDEX, _INTS, _INTS, _INTS, _MADE, _MADE),
    nogil=True,
    error_model="numpy",
)
def number(index: Any, strides: Any, steps: Any, first: Any, place: Any, part: Any) -> None:
    """Give each cell the number of its place, and of its part."""
    for variable in range(index.shape[0]):
        stride, offset = strides[variable], first[variable]
        for at in range(index.shape[1]):
            code = index[variable, at]
            place[at] += code * stride
            part[at] += steps[offset + code]


@compiled(
    numba.boolean(_INTS, _INTS, _INTS, _STATES, _MADE_ROWS),
    nogil=True,
    error_model="numpy",
)
def in_order(place: Any, part: Any, value: Any, status: Any, states: Any) -> bool:
    """Count published cells per part and state; False if they are out of order or negative."""
    before, least = -1, 0
    for at in range(place.size):
        if place[at] <= before:
            return False
        before = place[at]
        least = min(least, value[at])
        states[part[at], status[at]] += 1
    return bool(least == 0)


@compiled(nogil=True, error_model="numpy")
def _group(part: Any, original: Any) -> Any:
    """The number of a part and size class."""
    group = part * (len(_SIZES) + 1)
    for bound in _SIZES:
        group += original >= bound
    return group


_TRUE = _tuple([_INTS, _INTS, _INTS])
_PUBLISHED = _tuple([_INTS, _INTS, _STATES])


@compiled(
    numba.boolean(_TRUE, _PUBLISHED, _BYTES, _MADE_ROWS, _MADE_ROWS, _MADE),
    nogil=True,
    error_model="numpy",
)
def tally(true: Any, published: Any, hidden: Any, noise: Any, others: Any, beside: Any) -> bool:
    """Look at true and published cells side by side, both in the order of their places.

    Returns:
        False if this way does not work: cells out of order, noise above K.
    """
    places, parts, counts = true
    where, value, status = published
    most = noise.shape[1] // 2
    before, j = -1, 0
    for i in range(places.size):
        if places[i] <= before:
            return False
        before = places[i]
        while j < where.size and where[j] < before:
            beside[0] += value[j] != 0 and status[j] != _OFFICIAL
            j += 1
        shown, state = 0, _SUPPRESSED if hidden[parts[i]] else _ZERO
        if j < where.size and where[j] == before:
            shown, state = value[j], status[j]
            j += 1
        original = counts[i]
        if original <= 0:
            beside[0] += shown != 0 and state != _OFFICIAL
            continue
        group = _group(parts[i], original)
        if state == _SUPPRESSED:
            others[group, 0] += 1
        elif state == _OFFICIAL:
            others[group, 1] += 1
        else:
            change = shown - original
            if change < -most or change > most:
                return False
            noise[group, change + most] += 1
            others[group, 2] += shown == 0
            # Both are whole and small, so the quotient falls on the right side of each number.
            others[group, 3] += int(float(abs(change) * _MILLION) / original)
    for k in range(j, where.size):
        beside[0] += value[k] != 0 and status[k] != _OFFICIAL
    return True


@compiled(nogil=True, error_model="numpy")
def _add_up(
    codes: Any,
    place: Any,
    value: Any,
    status: Any,
    to_total: Any,
    role: Any,
    secrets: Any,
    sums: Any,
    marks: Any,
) -> Any:
    """Add each cell to the place of its total; the sum of all of them."""
    every = 0
    for i in range(codes.size):
        # Codes that are part of no total add nothing, at their own place: no branch to guess.
        counts = role[codes[i]] & 1
        row, share = place[i] + to_total[codes[i]], value[i] * counts
        sums[row] += share
        every += share
        if secrets and counts and status[i] == _SUPPRESSED:
            marks[row] = 1
    return every


@compiled(nogil=True, error_model="numpy")
def _totals(
    stored: Any, role: Any, kind: Any, left_out: Any, secrets: Any, gaps: Any, sums: Any, marks: Any
) -> Any:
    """Compare each published total with the sum at its place, which is taken away.

    Returns:
        Totals compared, that differ, sum of |difference|, largest; what was taken away.
    """
    codes, place, part, value, status = stored
    compared, differ, absolute, largest, taken = 0, 0, 0, 0, 0
    for i in range(codes.size):
        code = codes[i]
        if not role[code] & 2:
            continue
        row = place[i]
        total = sums[row]
        sums[row] = 0
        taken += total
        if secrets:
            secret = marks[row] != 0 or status[i] == _SUPPRESSED
            marks[row] = 0
            if secret:
                continue
        if gaps and left_out[part[i], kind[code]]:
            continue
        difference = abs(total - value[i])
        compared += 1
        differ += difference != 0
        absolute += difference
        largest = max(largest, difference)
    return compared, differ, absolute, largest, taken


@compiled(nogil=True, error_model="numpy")
def _rest(
    stored: Any, family: Any, left_out: Any, secrets: Any, gaps: Any, sums: Any, marks: Any
) -> Any:
    """Sums whose total is zero or not published: how many, sum, largest. None is left."""
    codes, place, part, _, _ = stored
    to_total, to_part, _, _, kind_of_total = family
    compared, absolute, largest = 0, 0, 0
    for i in range(codes.size):
        code = codes[i]
        row = place[i] + to_total[code]
        total = sums[row]
        if secrets:
            secret = marks[row] != 0
            marks[row] = 0
            if secret:
                sums[row] = 0
                continue
        if total == 0:
            continue
        sums[row] = 0
        if gaps and left_out[part[i] + to_part[code], kind_of_total[code]]:
            continue
        compared += 1
        absolute += total
        largest = max(largest, total)
    return compared, absolute, largest


_STORED = _tuple([_CODES, _INTS, _INTS, _INTS, _STATES])
_FAMILY = _tuple([_INTS, _INTS, _BYTES, _INTS, _INTS])
_COMPARE = numba.void(
    *(_STORED, _FAMILY, _TABLE, numba.boolean, numba.boolean),
    *(_MADE, numba.uint8[::1], _MADE),
)


@compiled(_COMPARE, nogil=True, error_model="numpy")
def compare(
    stored: Any,
    family: Any,
    left_out: Any,
    secrets: Any,
    gaps: Any,
    sums: Any,
    marks: Any,
    found: Any,
) -> None:
    """Compare totals of one variable with the sums of the codes directly below them.

    Args:
        stored: Per published cell its code of the variable, place, part, value and state.
        family: Per code, the way from its place to that of its total; the same for parts;
            1 if it is part of a total, 2 if it is a total, 3 for both; its column in
            `left_out`; the column of its total.
        left_out: Per part and column, whether such totals are left out.
        secrets: Whether any cell is suppressed.
        gaps: Whether any total is to be left out for its part.
        sums: A zero for each place; zeros again at the end.
        marks: The same; empty without secrets.
        found: Totals compared, that differ, sum of |difference|, largest; filled in.
    """
    codes, place, _, value, status = stored
    to_total, _, role, kind, _ = family
    every = _add_up(codes, place, value, status, to_total, role, secrets, sums, marks)
    compared, differ, absolute, largest, taken = _totals(
        stored, role, kind, left_out, secrets, gaps, sums, marks
    )
    if taken != every or secrets:
        more, beyond, most = _rest(stored, family, left_out, secrets, gaps, sums, marks)
        compared, differ, absolute = compared + more, differ + more, absolute + beyond
        largest = max(largest, most)
    found[:] = (compared, differ, absolute, largest)
