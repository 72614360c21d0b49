"""Exact sums per group of large data, in threads. CONFIDENTIAL.

In: values, weights and groups of records. Out: sums, each as exact as if its group were all
there is, and the same to the last bit whatever the order of the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe import compiled_cases, compiled_weights
from discreet.output_checking.safe.sums import ends_of, group_sums
from discreet.output_checking.safe.threads import side_by_side, slices
from discreet.output_checking.safe.units import LEAST

__all__ = ["exact_sums", "largest_of", "shifts", "sums_of", "term_sums", "weighted_moments"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NONE: IntArray = np.zeros(0, dtype=np.int64)


def exact_sums(values: FloatArray, codes: IntArray | None, groups: int) -> FloatArray:
    """The sum of each group.

    >>> exact_sums(np.array([1e40, 0.25, 0.5]), np.array([0, 1, 1]), 2).tolist()
    [1e+40, 0.75]
    """
    if codes is None:
        return group_sums(values, None, 1)
    values, codes = np.ascontiguousarray(values), np.ascontiguousarray(codes)
    parts = [(values[part], codes[part]) for part in slices(values.size)]
    return sums_of(parts, largest_of(values, codes, groups))


def largest_of(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """The largest size of each group; without codes all are in one."""
    if not codes.size:
        low, high = ends_of(values)
        return np.array([max(-low, high)])

    def inside(part: slice) -> FloatArray:
        largest = np.zeros(groups)
        compiled_cases.add_largest(values[part], codes[part], largest)
        return largest

    found = side_by_side([partial(inside, part) for part in slices(values.size)])
    return np.asarray(np.max(found, axis=0))


def sums_of(parts: Sequence[tuple[FloatArray, IntArray]], largest: FloatArray) -> FloatArray:
    """Sums of several parts together, given the largest size in each group."""
    shift = shifts(largest)
    scale = np.ldexp(1.0, -shift)

    def inside(values: FloatArray, codes: IntArray) -> IntArray:
        whole = np.zeros((2, largest.size), dtype=np.int64)
        compiled_cases.add_sums(values, codes, scale, whole[0], whole[1])
        return whole

    return _rounded(side_by_side([partial(inside, *part) for part in parts]), shift)


def weighted_moments(
    values: FloatArray,
    weights: FloatArray,
    codes: IntArray | None,
    low: FloatArray,
    total: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum of weights, mean, and sum of weighted squared deviations of each group.

    Args:
        values: Values without NaN.
        weights: Weight of each.
        codes: The group of each; None if all are in one.
        low: The smallest value of each group, infinite without one.
        total: The sum of weights of each group, if known.

    >>> pair = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    >>> [x.tolist() for x in weighted_moments(*pair, None, np.array([1.0]))]
    [[3.0], [2.0], [6.0]]
    """
    values, weights = np.ascontiguousarray(values), np.ascontiguousarray(weights)
    inside = _NONE if codes is None else np.ascontiguousarray(codes)
    start = np.where(np.isfinite(low), low, 0.0)
    if total is None:
        most = largest_of(weights, inside, low.size)
        total = term_sums(compiled_weights.WEIGHT, values, weights, inside, start, most)
    divisor = np.where(total > 0, total, 1.0)
    mean = _deviations(compiled_weights.DEVIATION, values, weights, inside, start) / divisor + start
    return total, mean, _deviations(compiled_weights.SQUARE, values, weights, inside, mean)


def _deviations(
    kind: int, values: FloatArray, weights: FloatArray, codes: IntArray, centres: FloatArray
) -> FloatArray:
    """Sums of weighted deviations from a centre, or of their squares."""

    def most(part: slice) -> FloatArray:
        found, some = np.zeros(centres.size), (values[part], weights[part], codes[part])
        compiled_weights.find_largest(kind == compiled_weights.SQUARE, *some, centres, found)
        return found

    largest = np.max(side_by_side([partial(most, part) for part in slices(values.size)]), axis=0)
    return term_sums(kind, values, weights, codes, centres, largest)


def term_sums(
    kind: int,
    values: FloatArray,
    weights: FloatArray,
    codes: IntArray,
    centres: FloatArray,
    largest: FloatArray,
) -> FloatArray:
    """The sum of a term of weighted records per group.

    Args:
        kind: The term, as `compiled_weights` names it.
        values: Values without NaN.
        weights: Weight of each; empty if all weigh 1.
        codes: The group of each; empty if all are in one.
        centres: From where deviations are taken, for each group.
        largest: The largest size of the term in each group.
    """
    shift = shifts(largest)
    scale = np.ldexp(1.0, -shift)

    def inside(part: slice) -> IntArray:
        whole, some = np.zeros((2, centres.size), dtype=np.int64), (values[part], weights[part])
        compiled_weights.add_terms(kind, *some, codes[part], centres, scale, whole[0], whole[1])
        return whole

    return _rounded(side_by_side([partial(inside, part) for part in slices(values.size)]), shift)


def shifts(largest: FloatArray) -> IntArray:
    """As `shift_of`, for each group.

    >>> shifts(np.array([3.0, 8.0, 0.0])).tolist()
    [2, 4, 0]
    """
    shift = np.maximum(np.frexp(largest)[1], LEAST)
    return np.where(largest > 0, shift, 0).astype(np.int64)


def _rounded(parts: Sequence[IntArray], shift: IntArray) -> FloatArray:
    """Sums in two whole numbers each, rounded once."""
    whole = zip(*np.sum(parts, axis=0).tolist(), shift.tolist(), strict=True)
    return np.array([math.ldexp((high << 32) + low, at - 64) for high, low, at in whole])
