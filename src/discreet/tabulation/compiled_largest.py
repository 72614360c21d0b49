"""The compiled loops for lists of the largest contributions.

Loaded on their own, so that tables without contributions do not wait for them.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from discreet.compiled import compiled

_INT = numba.int64
_FLOAT = numba.float64
_CELLS = numba.int64[::1]
_LISTS = numba.float64[:, ::1]
_VALUES = types.Array(numba.float64, 1, "C", readonly=True)


@compiled(numba.boolean(_FLOAT, _FLOAT, _FLOAT, _FLOAT), nogil=True)
def _before(value: Any, weight: Any, other: Any, other_weight: Any) -> Any:
    """Whether a contribution stands before another; an empty place (NaN) comes last."""
    size, other_size = abs(value), abs(other)
    if size != other_size:
        return not size < other_size
    if weight != other_weight:
        return weight > other_weight
    return value > other


@compiled(numba.void(_LISTS, _INT, _INT, _FLOAT, _FLOAT), nogil=True)
def _insert(lists: Any, cell: Any, k: Any, value: Any, weight: Any) -> None:
    """Put a contribution into its place; the caller knows that it stands before the last."""
    weighted = lists.shape[1] > 2 + k
    at = 1 + k
    while at > 2:
        other = lists[cell, at - 1]
        other_weight = lists[cell, at - 1 + k] if weighted else weight
        if not _before(value, weight, other, other_weight):
            break
        lists[cell, at] = other
        if weighted:
            lists[cell, at + k] = other_weight
        at -= 1
    lists[cell, at] = value
    if weighted:
        lists[cell, at + k] = weight


@compiled(numba.void(_CELLS, _VALUES, _LISTS, _INT), nogil=True)
def add_values(numbers: Any, values: Any, lists: Any, k: Any) -> None:
    """Take values into smallest, largest and the lists of the largest by size."""
    last = 1 + k
    for at in range(numbers.size):
        value = values[at] + 0.0  # makes zeros of negative zeros
        if value != value:
            continue
        cell = numbers[at]
        if not value >= lists[cell, 0]:
            lists[cell, 0] = value
        if not value <= lists[cell, 1]:
            lists[cell, 1] = value
        if _before(value, 0.0, lists[cell, last], 0.0):
            _insert(lists, cell, k, value, 0.0)


@compiled(numba.void(_CELLS, _VALUES, _VALUES, _LISTS, _INT), nogil=True)
def add_weighted_values(numbers: Any, values: Any, weights: Any, lists: Any, k: Any) -> None:
    """Add values with weights, which separate values of the same size."""
    last = 1 + k
    for at in range(numbers.size):
        value = values[at] + 0.0
        if value != value:
            continue
        cell, weight = numbers[at], weights[at]
        if not value >= lists[cell, 0]:
            lists[cell, 0] = value
        if not value <= lists[cell, 1]:
            lists[cell, 1] = value
        if _before(value, weight, lists[cell, last], lists[cell, last + k]):
            _insert(lists, cell, k, value, weight)


@compiled(numba.void(_CELLS, _LISTS, _LISTS, _INT), nogil=True)
def add_lists(numbers: Any, others: Any, lists: Any, k: Any) -> None:
    """Merge lists of other cells into those of their places here."""
    last = 1 + k
    weighted = lists.shape[1] > 2 + k
    for at in range(numbers.size):
        cell = numbers[at]
        if others[at, 0] != others[at, 0]:
            continue
        if not others[at, 0] >= lists[cell, 0]:
            lists[cell, 0] = others[at, 0]
        if not others[at, 1] <= lists[cell, 1]:
            lists[cell, 1] = others[at, 1]
        for place in range(2, 2 + k):
            value = others[at, place]
            if value != value:
                break
            weight = others[at, place + k] if weighted else 0.0
            other_weight = lists[cell, last + k] if weighted else 0.0
            if not _before(value, weight, lists[cell, last], other_weight):
                break
            _insert(lists, cell, k, value, weight)
