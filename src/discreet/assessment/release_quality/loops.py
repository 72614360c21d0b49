"""The compiled loops behind the statistics on counts. Loaded for large tables only.

In: cells of a true and a protected table as arrays. Out: tallies. CONFIDENTIAL.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types

__all__ = ["compare", "walk"]

_INT = numba.int64
_MILLION = 10**6
_ZERO, _SUPPRESSED, _OFFICIAL = 1, 2, 4
_KINDS = 6


def _given(kind: Any, dimensions: int = 1) -> Any:
    """An array that is read only."""
    return types.Array(kind, dimensions, "C", readonly=True)


_INTS, _CODES, _BYTES = _given(numba.int64), _given(numba.int32), _given(numba.uint8)
_STATES = _given(numba.int8)
_INDEX, _TABLE = _given(numba.int32, 2), _given(numba.uint8, 2)
_MADE, _MADE_ROWS = numba.int64[::1], numba.int64[:, ::1]

_WALK = numba.boolean(
    *(_INDEX, _INTS, _INDEX, _INTS, _STATES),
    *(_INTS, _INTS, _INTS, _INTS, _BYTES),
    *(_MADE_ROWS, _MADE_ROWS, _MADE, _MADE, _MADE, _MADE),
)


@numba.njit(_WALK, nogil=True, cache=True)
def walk(
    ours: Any,
    count: Any,
    theirs: Any,
    value: Any,
    status: Any,
    strides: Any,
    steps: Any,
    first: Any,
    bounds: Any,
    hidden: Any,
    noise: Any,
    others: Any,
    states: Any,
    place: Any,
    part: Any,
    beside: Any,
) -> bool:
    """Look at true and published cells side by side, both in the order of their places.

    Args:
        ours: Per variable (row), the code of each true cell.
        count: True counts.
        theirs: Per variable, the code of each published cell.
        value: Published counts.
        status: Their states.
        strides: Per variable, what one code more adds to a place.
        steps: For all codes of all variables, what they add to the number of a part.
        first: Per variable, where its codes begin in `steps`.
        bounds: Lower bounds of the size classes, but for the first.
        hidden: Per part, whether it is suppressed.
        noise: Per group (part, size class) and noise from −K to K, the cells; added to.
        others: Per group, cells suppressed, official, changed to zero; relative errors.
        states: Per part and state, the published cells; added to.
        place: Of each published cell; filled in.
        part: Of each published cell; filled in.
        beside: One number: zeros that were changed; added to.

    Returns:
        False if this way does not work: cells out of order, noise above K, negative values.
    """
    variables, length, stored = ours.shape[0], count.size, value.size
    most = noise.shape[1] // 2
    before, before_published = -1, -1
    j = 0
    for i in range(length + 1):
        here, own_part = -1, 0
        if i < length:
            here = 0
            for v in range(variables):
                code = ours[v, i]
                here += code * strides[v]
                own_part += steps[first[v] + code]
            if here <= before:
                return False
            before = here
        matched = False
        while j < stored and not matched:
            same = i < length
            for v in range(variables):
                if same and theirs[v, j] != ours[v, i]:
                    same = False
            there, its_part = here, own_part
            if not same:
                there, its_part = 0, 0
                for v in range(variables):
                    there += theirs[v, j] * strides[v]
                    its_part += steps[first[v] + theirs[v, j]]
                if i < length and there > here:
                    break
                if value[j] != 0 and status[j] != _OFFICIAL:
                    beside[0] += 1
            if there <= before_published or value[j] < 0:
                return False
            before_published = there
            place[j], part[j] = there, its_part
            states[its_part * _KINDS + status[j]] += 1
            matched = same
            j += 1
        if i == length:
            break
        original = count[i]
        shown, state = 0, _SUPPRESSED if hidden[own_part] else _ZERO
        if matched:
            shown, state = value[j - 1], status[j - 1]
        if original <= 0:
            if shown != 0 and state != _OFFICIAL:
                beside[0] += 1
            continue
        group = own_part * (bounds.size + 1)
        for bound in bounds:
            group += original >= bound
        if state == _SUPPRESSED:
            others[group, 0] += 1
        elif state == _OFFICIAL:
            others[group, 1] += 1
        else:
            change = shown - original
            if change < -most or change > most:
                return False
            noise[group, change + most] += 1
            if shown == 0:
                others[group, 2] += 1
            if change != 0:
                others[group, 3] += abs(change) * _MILLION // original
    return True


_COMPARE = numba.void(
    *(_CODES, _INTS, _INTS, _INTS, _STATES),
    *(_INTS, _INTS, _BYTES, _INTS, _INTS, _TABLE),
    *(numba.boolean, numba.boolean, _MADE, numba.uint8[::1], _MADE),
)


@numba.njit(_COMPARE, nogil=True, cache=True)
def compare(
    codes: Any,
    place: Any,
    part: Any,
    value: Any,
    status: Any,
    to_total: Any,
    to_part: Any,
    role: Any,
    kind: Any,
    kind_of_total: Any,
    left_out: Any,
    secrets: Any,
    gaps: Any,
    sums: Any,
    marks: Any,
    found: Any,
) -> None:
    """Compare totals of one variable with the sums of the codes directly below them.

    Args:
        codes: The code that each cell has of the variable.
        place: The place of each cell.
        part: The table part of each cell.
        value: Published counts.
        status: Their states.
        to_total: Per code, the way from its place to that of its total.
        to_part: Per code, the way from its part to that of its total.
        role: Per code, 1 if it is part of a total, 2 if it is a total, 3 for both.
        kind: Per code, its column in `left_out`.
        kind_of_total: Per code, the column of its total.
        left_out: Per part and kind, whether such totals are left out.
        secrets: Whether any cell is suppressed.
        gaps: Whether any total is to be left out for its part.
        sums: A zero for each place; zeros again at the end.
        marks: The same; empty without secrets.
        found: Totals compared, that differ, sum of |difference|, largest; filled in.
    """
    missing = 0
    for i in range(codes.size):
        if role[codes[i]] & 1:
            row = place[i] + to_total[codes[i]]
            sums[row] += value[i]
            missing += value[i]
            if secrets and status[i] == _SUPPRESSED:
                marks[row] = 1
    for i in range(codes.size):
        code = codes[i]
        if role[code] & 2:
            row = place[i]
            total = sums[row]
            sums[row] = 0
            missing -= total
            if secrets:
                secret = marks[row] != 0 or status[i] == _SUPPRESSED
                marks[row] = 0
                if secret:
                    continue
            if gaps and left_out[part[i], kind[code]]:
                continue
            difference = abs(total - value[i])
            found[0] += 1
            found[1] += difference != 0
            found[2] += difference
            found[3] = max(found[3], difference)
    if missing == 0 and not secrets:
        return
    # What is left are sums whose total is zero, or not published.
    for i in range(codes.size):
        code = codes[i]
        if role[code] & 1:
            row = place[i] + to_total[code]
            total = sums[row]
            sums[row] = 0
            secret = False
            if secrets:
                secret = marks[row] != 0
                marks[row] = 0
            if total == 0 or secret:
                continue
            if gaps and left_out[part[i] + to_part[code], kind_of_total[code]]:
                continue
            found[0] += 1
            found[1] += 1
            found[2] += total
            found[3] = max(found[3], total)
